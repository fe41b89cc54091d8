//! An observer that hashes all it sees.

use ndnweir_core::units::Time;
use ndnweir_sim::observer::{ConsumerId, Delivery, LinkId, Observer, PathId, Snapshot};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Hashes every observation, by its debug form.
#[derive(Default)]
pub struct Digest {
    hasher: DefaultHasher,
}

impl Digest {
    fn add(&mut self, what: &dyn std::fmt::Debug) {
        format!("{what:?}").hash(&mut self.hasher);
    }
    pub fn get(&self) -> u64 {
        self.hasher.finish()
    }
}

impl Observer for Digest {
    fn delivered(&mut self, delivery: &Delivery) {
        self.add(delivery);
    }
    fn completed(&mut self, at: Time, consumer: ConsumerId) {
        self.add(&(at, consumer));
    }
    fn path(&mut self, path: PathId, links: &[LinkId]) {
        self.add(&(path, links));
    }
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.add(snapshot);
    }
}

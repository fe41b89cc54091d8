//! Observers: one hashes all it sees, one keeps what tests look at.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_sim::network::Network;
use ndnweir_sim::observer::{ConsumerId, Delivery, DirectedLinkId, FlowEvent, NodeId, Observer, PathId, Snapshot};
use ndnweir_sim::{Outcome, RunOptions, run};
use ndnweir_state::State;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Hashes every observation, by its debug form.
#[derive(Default, ndnweir_state::Value)]
pub struct Digest {
    hash: u64,
}

impl Digest {
    fn add(&mut self, what: &dyn std::fmt::Debug) {
        let mut hasher = DefaultHasher::new();
        (self.hash, format!("{what:?}")).hash(&mut hasher);
        self.hash = hasher.finish();
    }
    pub fn get(&self) -> u64 {
        self.hash
    }
}

impl Observer for Digest {
    fn delivered(&mut self, delivery: &Delivery) {
        self.add(delivery);
    }
    fn completed(&mut self, at: Time, consumer: ConsumerId) {
        self.add(&(at, consumer));
    }
    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        self.add(&(path, links));
    }
    fn flow(&mut self, at: Time, consumer: ConsumerId, event: FlowEvent) {
        self.add(&(at, consumer, event));
    }
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.add(snapshot);
    }
    fn scheme_event(&mut self, at: Time, node: NodeId, key: &'static str, id: u64, value: f64) {
        self.add(&(at, node, key, id, value));
    }
    fn state(&mut self) -> Option<&mut dyn State> {
        Some(self)
    }
}

/// Records deliveries, paths and switches.
#[derive(Default)]
pub struct Recorder {
    pub deliveries: Vec<Delivery>,
    /// Paths that Data took, in the order in which they were first used.
    pub paths: Vec<(PathId, Vec<DirectedLinkId>)>,
    /// When a router moved traffic, and which.
    pub switches: Vec<(Time, u32)>,
}

impl Observer for Recorder {
    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        self.paths.push((path, links.to_vec()));
    }
    fn scheme_event(&mut self, at: Time, node: NodeId, key: &'static str, _: u64, _: f64) {
        if key == "switch" {
            self.switches.push((at, node.0));
        }
    }
}

impl Recorder {
    /// Of the first `count` segments those that never arrived.
    pub fn missing(&self, count: u64) -> Vec<u64> {
        (0..count).filter(|segment| self.deliveries.iter().all(|d| d.arrival.segment != *segment)).collect()
    }

    /// The last delivery until `at`.
    pub fn last(&self, at: Time) -> &Delivery {
        self.deliveries.iter().rfind(|d| d.at <= at).expect("something was delivered")
    }

    /// The links of the last Data until `at`.
    pub fn last_links(&self, at: Time) -> &[DirectedLinkId] {
        let last = self.last(at).path;
        &self.paths.iter().find(|(path, _)| *path == last).expect("its path was reported").1
    }
}

/// Runs a network with seed 1, and checks packet accounting.
pub fn simulate(network: &Network, scheme: &Scheme, options: RunOptions) -> (Outcome, Recorder) {
    let mut recorder = Recorder::default();
    let outcome = run(network, scheme, 1, &mut recorder, options).unwrap();
    outcome.check().unwrap();
    (outcome, recorder)
}

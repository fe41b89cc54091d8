//! What a driver with real names and payloads reads from the tables, and the log of their uses.

use super::Node;
use super::extras::Extras;
use crate::keyed::HashKey;
use crate::shares::{FaceClass, ShareLimits};
use crate::uses::Use;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;

impl Node {
    /// Turns the log of uses on (see [`crate::uses`]), before traffic flows.
    pub fn log_uses(&mut self) {
        self.out.log_uses();
        self.extras.set(Extras::LOGS, true);
    }

    /// Bounds every face's share of the PIT, whose limit then counts downstreams instead of names.
    pub(crate) fn share_pit(&mut self, limits: ShareLimits) {
        self.pit.share(limits);
    }

    /// Sets the class and group of a face, which determine its share of the PIT.
    pub(crate) fn share_face(&mut self, face: FaceId, class: FaceClass, group: u128) {
        self.pit.share_face(face, class, group);
    }

    /// Sets the hash key, before there are faces.
    pub(crate) fn set_hash_key(&mut self, key: HashKey) {
        self.pit.set_hash(key.numbers(1));
        self.cs.set_hash(key.numbers(2));
        self.dead.set_hash(key.numbers(3));
        self.flow_hash = key.numbers(4);
    }

    /// The uses of names and payloads since the last call, in order.
    pub fn drain_uses(&mut self) -> impl Iterator<Item = Use> + '_ {
        self.out.drain_uses()
    }

    /// Whether an Interest for this name is pending.
    pub fn is_pending(&self, name: NameId) -> bool {
        self.pit.find(name).is_ok()
    }

    /// Whether an Interest for this name was sent by `face` with this nonce, and is pending.
    pub fn was_sent_with(&self, name: NameId, face: FaceId, nonce: u32) -> bool {
        let sent = |slot| self.pit.sent(slot).iter().any(|record| record.face == face && record.nonce == nonce);
        self.pit.find(name).is_ok_and(sent)
    }

    /// Whether an Interest for this name was sent by `face`, and is pending.
    pub fn was_sent_to(&self, name: NameId, face: FaceId) -> bool {
        self.pit.find(name).is_ok_and(|slot| self.pit.sent(slot).iter().any(|record| record.face == face))
    }

    /// The tag of the Data that the content store would answer an Interest for this name with.
    pub fn stored(&self, now: Time, name: NameId, must_be_fresh: bool) -> Option<u32> {
        self.cs.serves().then(|| self.cs.peek(name, must_be_fresh, now)).flatten()
    }

    /// Puts a Data into the content store, if there is one, without answering anyone.
    pub fn store(&mut self, now: Time, data: &Packet) {
        if self.cs.admits() {
            self.insert_into_store(now, data);
        }
    }

    /// Changes how many packets the content store may hold, whether it takes Data in, and whether it answers. What
    /// exceeds the limit is evicted, the least recently used first.
    pub fn set_cache(&mut self, packets: usize, admits: bool, serves: bool) {
        self.cs.configure(packets, admits, serves);
        self.note_parts();
        while self.cs.is_too_full() && self.evict() {}
    }

    /// Evicts the least recently used Data from the content store. Whether there was one.
    pub fn evict(&mut self) -> bool {
        let evicted = self.cs.evict();
        self.log_evicted(evicted)
    }

    /// Removes the Data of a name from the content store. Whether it was there.
    pub fn erase(&mut self, name: NameId) -> bool {
        let erased = self.cs.remove(name);
        self.log_evicted(erased)
    }

    fn log_evicted(&mut self, evicted: Option<(NameId, u32)>) -> bool {
        if let Some((name, tag)) = evicted {
            self.out.log(|| Use::Evicted(name, tag));
        }
        evicted.is_some()
    }

    #[inline]
    pub(super) fn insert_into_store(&mut self, now: Time, data: &Packet) {
        let replaced = self.cs.insert(data, now);
        self.log_evicted(replaced);
        self.out.log(|| Use::Stored(data.name, data.tag));
    }
}

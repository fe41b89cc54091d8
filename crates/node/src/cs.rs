//! The content store, with least-recently-used eviction.
//!
//! It keeps Data as they would leave a producer: without header fields, [`flags::FROM_CACHE`] and
//! [`flags::LINK_RETRANSMITTED`], and without the mark unless the scheme says to replay it. A cached copy does not
//! cross the congested link, so its mark is a false signal.
//!
//! Names are interned, so a lookup is for one exact name. A driver with real names resolves `CanBePrefix` before it
//! interns: it keeps its own ordered name tree, picks the stored name that the Interest's name is a prefix of, and
//! hands that name's id to the node; if nothing is stored it interns the Interest's name as it is and, when a Data with
//! a longer name arrives, hands it in under the id of each pending name that it satisfies.

use crate::index::{Index, MAX_SLOTS};
use crate::keyed::NumberHash;
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Packet, flags};
use ndnweir_core::scheme::CachedMarks;
use ndnweir_core::units::{Duration, Time};

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Stored {
    packet: Packet,
    /// From this instant on it is not fresh.
    stale: Time,
    newer: u32,
    older: u32,
}

/// The store.
#[derive(Clone, Debug, ndnweir_state::State)]
#[repr(C)]
pub(crate) struct ContentStore {
    /// Whether Data are taken in, and whether Interests are answered; both need room.
    admits: bool,
    serves: bool,
    slots: Vec<Stored>,
    /// Slots that [`ContentStore::evict`] emptied.
    free: Vec<u32>,
    index: Index,
    newest: u32,
    oldest: u32,
    limit: usize,
    replay: bool,
}

impl ContentStore {
    /// A store of at most `limit` packets, which keeps their marks if `marks` requires it.
    pub(crate) fn new(limit: usize, marks: CachedMarks) -> ContentStore {
        let limit = limit.min(MAX_SLOTS);
        ContentStore {
            slots: Vec::new(),
            free: Vec::new(),
            index: Index::new(),
            newest: NIL,
            oldest: NIL,
            limit,
            replay: marks == CachedMarks::Replay,
            admits: limit > 0,
            serves: limit > 0,
        }
    }

    /// Whether a search in it ends.
    pub(crate) fn is_sound(&self) -> bool {
        self.index.is_sound()
    }

    /// Changes the hash function; the store must be empty.
    pub(crate) fn set_hash(&mut self, hash: NumberHash) {
        self.index.set_hash(hash);
    }

    /// From now on it holds at most `limit` packets, and admits and answers accordingly. What exceeds the limit stays
    /// until [`ContentStore::evict`] is called; see [`ContentStore::is_too_full`].
    pub(crate) fn configure(&mut self, limit: usize, admits: bool, serves: bool) {
        self.limit = limit.min(MAX_SLOTS);
        (self.admits, self.serves) = (admits && limit > 0, serves && limit > 0);
    }

    /// Whether it holds more than it may.
    pub(crate) fn is_too_full(&self) -> bool {
        self.len() > self.limit
    }

    /// Whether Data are taken in.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        self.admits
    }

    /// Whether Interests are answered.
    #[inline]
    pub(crate) fn serves(&self) -> bool {
        self.serves
    }

    /// Packets stored.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The Data of a name, if it is there (and fresh, if `must_be_fresh`).
    pub(crate) fn get(&mut self, name: NameId, must_be_fresh: bool, now: Time) -> Option<Packet> {
        let slot = self.index.find(name, |slot| self.slots[slot as usize].packet.name == name).ok()?;
        let stored = &self.slots[slot as usize];
        if must_be_fresh && stored.stale <= now {
            return None;
        }
        let packet = stored.packet;
        self.unlink(slot);
        self.link_newest(slot);
        Some(packet)
    }

    /// Whether the Data of a name is there (and fresh, if `must_be_fresh`), without counting as use; with its tag.
    pub(crate) fn peek(&self, name: NameId, must_be_fresh: bool, now: Time) -> Option<u32> {
        let slot = self.index.find(name, |slot| self.slots[slot as usize].packet.name == name).ok()?;
        let stored = &self.slots[slot as usize];
        (!must_be_fresh || stored.stale > now).then_some(stored.packet.tag)
    }

    /// Stores a Data, in place of an older copy or of the least recently used packet, which it returns.
    pub(crate) fn insert(&mut self, data: &Packet, now: Time) -> Option<(NameId, u32)> {
        if self.limit == 0 {
            return None;
        }
        let mut replaced = None;
        let mut packet = *data;
        packet.mark = if self.replay { packet.mark } else { 0 };
        packet.fields = Fields::default();
        packet.flags &= !(flags::FROM_CACHE | flags::LINK_RETRANSMITTED);
        let stale = now + Duration::from_millis(u64::from(packet.lifetime_ms));
        let stored = Stored { packet, stale, newer: NIL, older: NIL };
        let find = |store: &ContentStore| {
            store.index.find(packet.name, |s| store.slots[s as usize].packet.name == packet.name)
        };
        let slot = match find(self) {
            Ok(slot) => {
                replaced = Some((packet.name, self.slots[slot as usize].packet.tag));
                self.unlink(slot);
                slot
            }
            Err(_) => {
                if self.len() >= self.limit {
                    replaced = self.evict();
                }
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(stored);
                    (self.slots.len() - 1) as u32
                });
                self.index.reserve();
                // Eviction and growth move buckets, so the vacancy is looked up again.
                if let Err(vacant) = self.index.find(packet.name, |_| false) {
                    self.index.fill(vacant, slot);
                }
                slot
            }
        };
        self.slots[slot as usize] = stored;
        self.link_newest(slot);
        replaced
    }

    /// Evicts the least recently used packet: its name and tag.
    pub(crate) fn evict(&mut self) -> Option<(NameId, u32)> {
        self.take(self.oldest)
    }

    /// Lets the Data of a name go.
    pub(crate) fn remove(&mut self, name: NameId) -> Option<(NameId, u32)> {
        let slot = self.index.find(name, |slot| self.slots[slot as usize].packet.name == name).ok()?;
        self.take(slot)
    }

    fn take(&mut self, slot: u32) -> Option<(NameId, u32)> {
        let Packet { name, tag, .. } = self.slots.get(slot as usize)?.packet;
        self.unlink(slot);
        self.index.remove(name, slot);
        self.free.push(slot);
        Some((name, tag))
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.index.clear();
        (self.newest, self.oldest) = (NIL, NIL);
    }

    fn unlink(&mut self, slot: u32) {
        let Stored { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NIL => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let former = std::mem::replace(&mut self.newest, slot);
        let stored = &mut self.slots[slot as usize];
        (stored.newer, stored.older) = (NIL, former);
        match former {
            NIL => self.oldest = slot,
            former => self.slots[former as usize].newer = slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;
    use ndnweir_core::packet::Kind;
    use proptest::prelude::*;

    fn data(segment: u32, freshness_ms: u32) -> Packet {
        let name = NameId { flow: FlowId(0), segment };
        Packet { name, kind: Kind::Data, lifetime_ms: freshness_ms, mark: 3, flags: flags::FINAL, ..Packet::default() }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn marks_fields_and_the_cache_flag_are_stripped_and_the_rest_is_kept() {
        let mut store = ContentStore::new(4, CachedMarks::Strip);
        let mut stored = data(1, 0);
        stored.flags |= flags::FROM_CACHE;
        stored.tag = 77;
        store.insert(&stored, ms(0));
        let got = store.get(stored.name, false, ms(9)).unwrap();
        assert_eq!(got, Packet { mark: 0, flags: flags::FINAL, ..stored });
    }

    #[test]
    fn only_fresh_data_answers_an_interest_that_insists_on_it() {
        let mut store = ContentStore::new(4, CachedMarks::Strip);
        store.insert(&data(1, 10), ms(0));
        let name = data(1, 0).name;
        assert!(store.get(name, true, ms(9)).is_some());
        assert!(store.get(name, true, ms(10)).is_none());
        assert!(store.get(name, false, ms(10)).is_some());
        store.insert(&data(1, 10), ms(20));
        assert!(store.get(name, true, ms(29)).is_some(), "a new copy is fresh again");
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list_in_order_of_use(
            limit in 0usize..6,
            ops in prop::collection::vec((any::<bool>(), 0u32..12), 0..300),
        ) {
            let mut store = ContentStore::new(limit, CachedMarks::Strip);
            let mut model: Vec<u32> = Vec::new();
            for (insert, segment) in ops {
                let known = model.iter().position(|&s| s == segment);
                if insert {
                    store.insert(&data(segment, 0), ms(0));
                    known.map(|i| model.remove(i));
                    model.push(segment);
                    if model.len() > limit {
                        model.remove(0);
                    }
                } else {
                    let got = store.get(data(segment, 0).name, false, ms(0));
                    prop_assert_eq!(got.map(|p| p.name.segment), known.map(|i| model[i]));
                    if let Some(i) = known {
                        model.remove(i);
                        model.push(segment);
                    }
                }
                prop_assert_eq!(store.len(), model.len());
            }
        }
    }
}

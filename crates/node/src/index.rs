//! A hash index from names to slots of a slab.
//!
//! Open addressing with one 8-byte word per bucket: 32 bits of hash and the slot. Eight consecutive segments of a flow
//! share a cache line, because Interests come in that order; a taken bucket leads to a place in the next line, so that
//! such runs do not pile up. Removal shifts back, so there are no tombstones, and it is never iterated: the order of
//! buckets cannot affect results.

use crate::keyed::NumberHash;
use ndnweir_core::ids::NameId;
use ndnweir_prefetch::prefetch;

/// Segments that hash to one block of buckets: 2 to this power.
const BLOCK: u32 = 3;
/// From a taken bucket to the next one to try. Odd, so that the probe sequence visits every bucket.
const STEP: usize = (1 << BLOCK) + 1;
/// Its inverse modulo every power of two: turns a distance in buckets into one in steps.
const STEPS: usize = 0x8e38_e38e_38e3_8e39_u64 as usize;
const _: () = assert!(STEP.wrapping_mul(STEPS) == 1);

/// In how many buckets [`Index::glance`] looks: in two cache lines, as a rule.
const GLANCES: usize = 2;

/// More probe steps than occur by chance, as the table is at most half full.
const MAX_PROBES: usize = 1024;

/// Of a word: names have gone on past its bucket to others, so a removal must look there. It may be set for longer than
/// that is so.
const PASSED: u64 = 1 << 31;
/// The most slots.
pub(crate) const MAX_SLOTS: usize = (1 << 31) - 1;

/// A free bucket found by [`Index::find`], valid until the index changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant {
    bucket: usize,
    tag: u32,
}

/// The bucket of a name that is present, valid until the index changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    bucket: usize,
    pub(crate) slot: u32,
}

/// The index. It stores no names: the caller compares.
#[derive(Clone, Debug, ndnweir_state::State)]
#[repr(C)]
pub(crate) struct Index {
    /// 0 is empty; otherwise the tag above [`PASSED`] and the slot plus one.
    words: Vec<u64>,
    len: usize,
    #[state(skip)]
    hash: NumberHash,
}

/// 32 bits that name the home bucket in any table size.
#[inline(always)]
fn tag(hash: &NumberHash, name: NameId) -> u32 {
    let block = u64::from(name.flow.0) << 29 | u64::from(name.segment >> BLOCK);
    (hash.of(block) as u32) << BLOCK | name.segment & ((1 << BLOCK) - 1)
}

#[inline]
fn word(tag: u32, slot: u32) -> u64 {
    u64::from(tag) << 32 | (u64::from(slot) + 1)
}

/// The slot in a word.
#[inline]
fn slot_of(word: u64) -> u32 {
    ((word & (PASSED - 1)) as u32).wrapping_sub(1)
}

impl Index {
    pub(crate) fn new() -> Index {
        Index { words: vec![0; 64], len: 0, hash: NumberHash::default() }
    }

    /// Changes the hash function; the index must be empty.
    pub(crate) fn set_hash(&mut self, hash: NumberHash) {
        debug_assert_eq!(self.len, 0, "names have their places already");
        self.hash = hash;
    }

    /// Whether the probe sequence to a vacancy is so long that the names in it must have been chosen to collide.
    pub(crate) fn is_far(&self, vacant: Vacant) -> bool {
        vacant.bucket.wrapping_sub(vacant.tag as usize).wrapping_mul(STEPS) & self.mask() > MAX_PROBES
    }

    /// Names in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether a search comes to its end, and it does not grow without need: a state that was read may be one that somebody
    /// made up.
    pub(crate) fn is_sound(&self) -> bool {
        let taken = self.words.iter().filter(|word| **word != 0).count();
        self.words.len().is_power_of_two() && taken == self.len && self.len * 2 <= self.words.len()
    }

    fn mask(&self) -> usize {
        self.words.len() - 1
    }

    /// With fewer names than these there is room for one more.
    pub(crate) fn room(&self) -> usize {
        self.words.len() / 2
    }

    /// Makes room for one more, so that a following [`Index::find`] gives a bucket that may be filled.
    #[inline]
    pub(crate) fn reserve(&mut self) {
        if (self.len + 1) * 2 > self.words.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let doubled = vec![0; self.words.len() * 2];
        let old = std::mem::replace(&mut self.words, doubled);
        let mask = self.mask();
        for word in old.into_iter().filter(|&word| word != 0) {
            let mut at = (word >> 32) as usize & mask;
            while self.words[at] != 0 {
                self.words[at] |= PASSED;
                at = (at + STEP) & mask;
            }
            self.words[at] = word & !PASSED;
        }
    }

    /// The slot of `name`, which `is` recognises, or the bucket it would take.
    #[inline]
    pub(crate) fn find(&self, name: NameId, is: impl Fn(u32) -> bool) -> Result<u32, Vacant> {
        self.locate(name, is).map(|taken| taken.slot)
    }

    /// As [`Index::find`], with the bucket for [`Index::vacate`].
    #[inline(always)]
    pub(crate) fn locate(&self, name: NameId, is: impl Fn(u32) -> bool) -> Result<Taken, Vacant> {
        let (tag, mask) = (tag(&self.hash, name), self.mask());
        let mut at = tag as usize & mask;
        loop {
            let word = self.words[at];
            if word == 0 {
                return Err(Vacant { bucket: at, tag });
            }
            if (word >> 32) as u32 == tag {
                let slot = slot_of(word);
                if is(slot) {
                    return Ok(Taken { bucket: at, slot });
                }
            }
            at = (at + STEP) & mask;
        }
    }

    /// What names the bucket of a name, which is asked for.
    #[inline(always)]
    pub(crate) fn expect(&self, name: NameId) -> u32 {
        let tag = tag(&self.hash, name);
        for number in 0..GLANCES {
            self.words.get(self.bucket(tag, number)).into_iter().for_each(prefetch);
        }
        tag
    }

    /// The place of a bucket, by how many are looked at before it.
    #[inline(always)]
    fn bucket(&self, tag: u32, number: usize) -> usize {
        (tag as usize).wrapping_add(number * STEP) & self.mask()
    }

    /// The slot of a name, by what [`Index::expect`] gave, if one of its first buckets looks like it.
    #[inline(always)]
    pub(crate) fn glance(&self, tag: u32) -> Option<u32> {
        let words = (0..GLANCES).map(|number| self.words.get(self.bucket(tag, number)).copied().unwrap_or_default());
        words.take_while(|word| *word != 0).find(|word| (*word >> 32) as u32 == tag).map(slot_of)
    }

    /// Fills a bucket found since the last change.
    #[inline(always)]
    pub(crate) fn fill(&mut self, vacant: Vacant, slot: u32) {
        debug_assert_eq!(self.words[vacant.bucket], 0, "the bucket was found before another change");
        self.words[vacant.bucket] = word(vacant.tag, slot);
        self.len += 1;
        if vacant.tag as usize & self.mask() != vacant.bucket {
            self.pass(vacant);
        }
    }

    /// A name has gone on past its home bucket and others.
    #[inline(never)]
    fn pass(&mut self, to: Vacant) {
        let mask = self.mask();
        let mut at = to.tag as usize & mask;
        while at != to.bucket {
            self.words[at] |= PASSED;
            at = (at + STEP) & mask;
        }
    }

    /// Removes a name that is present with this slot.
    pub(crate) fn remove(&mut self, name: NameId, slot: u32) {
        let (tag, mask) = (tag(&self.hash, name), self.mask());
        let wanted = word(tag, slot);
        let mut hole = tag as usize & mask;
        while self.words[hole] & !PASSED != wanted {
            if self.words[hole] == 0 {
                debug_assert!(false, "only names that are present are removed");
                return;
            }
            hole = (hole + STEP) & mask;
        }
        self.vacate(Taken { bucket: hole, slot });
    }

    /// Removes what [`Index::locate`] found since the last change.
    #[inline(always)]
    pub(crate) fn vacate(&mut self, taken: Taken) {
        self.len -= 1;
        let word = std::mem::take(&mut self.words[taken.bucket]);
        debug_assert_eq!(slot_of(word), taken.slot, "the bucket was found before another change");
        if word & PASSED != 0 {
            self.close(taken.bucket);
        }
    }

    /// Shifts names back over a bucket that has become free and that they had passed.
    #[inline(never)]
    fn close(&mut self, mut hole: usize) {
        let mask = self.mask();
        let mut next = hole;
        loop {
            next = (next + STEP) & mask;
            let word = self.words[next];
            if word == 0 {
                return;
            }
            let home = (word >> 32) as usize & mask;
            // The word may move back to the hole only if its home bucket is not after the hole.
            let steps = |from: usize| next.wrapping_sub(from).wrapping_mul(STEPS) & mask;
            if steps(home) >= steps(hole) {
                self.words[hole] = word | PASSED;
                self.words[next] = 0;
                hole = next;
            }
            if word & PASSED == 0 {
                return;
            }
        }
    }

    /// Clears it, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        self.len = 0;
    }

    /// Bytes of memory it uses.
    pub(crate) fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn name(flow: u32, segment: u32) -> NameId {
        NameId { flow: FlowId(flow), segment }
    }

    #[test]
    fn eight_consecutive_segments_share_a_cache_line() {
        let homes: Vec<_> =
            (8..16).map(|segment| tag(&NumberHash::default(), name(3, segment)) as usize & 1023).collect();
        assert!(homes.iter().all(|home| home / 8 == homes[0] / 8), "{homes:?}");
        let distinct: std::collections::BTreeSet<_> = homes.iter().collect();
        assert_eq!(distinct.len(), 8);
    }

    /// Segments whose buckets are one in a table of 4096, under a key that is known.
    fn chosen(hash: &NumberHash, count: usize) -> Vec<NameId> {
        let at = |segment: &u32| tag(hash, name(1, *segment)) & 4095 == 0;
        (0..).step_by(8).filter(at).take(count).map(|segment| name(1, segment)).collect()
    }

    /// Whether filling an index with these names comes to a vacancy that is far.
    fn exceeds_max_probes(hash: NumberHash, names: &[NameId]) -> bool {
        let mut index = Index::new();
        index.set_hash(hash);
        let mut displaced = false;
        for (slot, name) in names.iter().enumerate() {
            index.reserve();
            let vacant = index.find(*name, |slot| names[slot as usize] == *name).unwrap_err();
            displaced |= index.is_far(vacant);
            index.fill(vacant, slot as u32);
        }
        displaced
    }

    #[test]
    fn segments_chosen_against_one_key_spread_under_another() {
        let known = NumberHash::default();
        let names = chosen(&known, 1500);
        assert!(exceeds_max_probes(known, &names), "and where they do not, that is noticed");
        for key in 0..20 {
            assert!(!exceeds_max_probes(crate::keyed::HashKey::new([key, 1]).numbers(1), &names), "key {key}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map(
            ops in prop::collection::vec((any::<bool>(), 0u32..4, 0u32..200), 0..2000),
            stride in prop_oneof![Just(1), Just(8), Just(1 << 20)],
        ) {
            let mut index = Index::new();
            let mut names: Vec<NameId> = Vec::new();
            let mut model = BTreeMap::new();
            for (insert, flow, segment) in ops {
                let name = name(flow * 0x4000_0000, segment * stride);
                index.reserve();
                let found = index.find(name, |slot| names[slot as usize] == name);
                prop_assert_eq!(found.ok(), model.get(&name).copied());
                match found {
                    Err(vacant) if insert => {
                        let slot = names.len() as u32;
                        names.push(name);
                        index.fill(vacant, slot);
                        model.insert(name, slot);
                    }
                    Ok(slot) if !insert => {
                        index.remove(name, slot);
                        model.remove(&name);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len, model.len());
            }
            for (name, &slot) in &model {
                prop_assert_eq!(index.find(*name, |s| names[s as usize] == *name).ok(), Some(slot));
            }
        }
    }
}

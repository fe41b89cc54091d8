//! Nonces of Interests that left the PIT unanswered, to recognise their copies that still loop.
//!
//! As NFD's dead nonce list, with a bound on entries instead of a time: eight per bucket, the oldest of the bucket is
//! replaced.

use crate::growth::grow;
use crate::keyed::NumberHash;
use ndnweir_core::ids::NameId;

const BUCKET_ENTRIES: usize = 8;
const BUCKETS: usize = 512;

/// The list; takes no memory until the first nonce is added, and 64 bytes for each bucket that has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadNonces {
    /// By bucket: its place in `used`, plus one; zero for an empty one.
    places: Option<Box<[u16; BUCKETS]>>,
    used: Vec<[u64; BUCKET_ENTRIES]>,
    hash: NumberHash,
}

impl DeadNonces {
    /// Changes the hash function; the list must be empty.
    pub(crate) fn set_hash(&mut self, hash: NumberHash) {
        self.hash = hash;
    }

    fn digest(&self, name: NameId, nonce: u32) -> u64 {
        // 0 stands for an empty place.
        self.hash.of(self.hash.of(name.key()) ^ u64::from(nonce)) | 1 << 63
    }

    /// Adds a nonce.
    pub(crate) fn insert(&mut self, name: NameId, nonce: u32) {
        let digest = self.digest(name, nonce);
        let place = &mut self.places.get_or_insert_with(|| Box::new([0; BUCKETS]))[digest as usize % BUCKETS];
        if *place == 0 {
            grow(&mut self.used);
            self.used.push([0; BUCKET_ENTRIES]);
            *place = self.used.len() as u16;
        }
        let bucket = &mut self.used[usize::from(*place) - 1];
        bucket.rotate_right(1);
        bucket[0] = digest;
    }

    /// Whether the nonce is in the list.
    #[inline]
    pub(crate) fn contains(&self, name: NameId, nonce: u32) -> bool {
        let Some(places) = &self.places else { return false };
        let digest = self.digest(name, nonce);
        let place = usize::from(places[digest as usize % BUCKETS]);
        place > 0 && self.used[place - 1].contains(&digest)
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.places = None;
        self.used.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;

    #[test]
    fn the_newest_nonces_are_in_the_list_which_stays_bounded() {
        let mut dead = DeadNonces::default();
        let name = |i: u32| NameId { flow: FlowId(1), segment: i };
        assert!(!dead.contains(name(0), 0));
        for i in 0..100_000 {
            dead.insert(name(i), i * 7);
            assert!(dead.contains(name(i), i * 7));
        }
        assert!(!dead.contains(name(5), 36));
        let known = (0..100_000).filter(|&i| dead.contains(name(i), i * 7)).count();
        assert!((3500..=BUCKET_ENTRIES * BUCKETS).contains(&known), "{known}");
        assert_eq!(dead.used.len(), BUCKETS);
        dead.clear();
        assert!(!dead.contains(name(99_999), 99_999 * 7));
    }

    #[test]
    fn a_few_nonces_take_memory_for_their_buckets_alone() {
        let mut dead = DeadNonces::default();
        for nonce in 0..3 {
            dead.insert(NameId { flow: FlowId(1), segment: 0 }, nonce);
        }
        assert!((1..=3).contains(&dead.used.len()) && dead.used.capacity() <= 8, "{}", dead.used.capacity());
    }
}

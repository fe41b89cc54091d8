//! Nonces of Interests that left the PIT unanswered, to recognise their copies that still loop.
//!
//! As NFD's dead nonce list, with a bound on entries instead of a time: eight per bucket, the oldest of the bucket is
//! replaced.

use crate::growth::grow;
use crate::keyed::NumberHash;
use ndnweir_core::ids::NameId;
use ndnweir_prefetch::prefetch;

const BUCKET_ENTRIES: usize = 8;
const BUCKETS: usize = 512;

/// What a bucket has room for at first: most buckets of most nodes never have more.
const FEW_ENTRIES: usize = 2;

/// How many of a bucket's bits tell what is in it.
const BITS: u32 = 48;

/// What is known of a bucket without its entries: the [bits](bits) of these, and above them its place: zero for an empty
/// one; up to [`BUCKETS`] one more than its place in `few`; above, its place in `full`.
///
/// Nearly all nonces that are looked for are not in the list, and its entries are far memory in a large network: without
/// them this tells 99 % of such nonces of a bucket with two, 92 % with eight.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Bucket(u64);

impl Bucket {
    #[inline(always)]
    fn place(self) -> u16 {
        (self.0 >> BITS) as u16
    }

    fn set_place(&mut self, place: u16) {
        self.0 = (self.0 & ((1 << BITS) - 1)) | (u64::from(place) << BITS);
    }

    fn set_bits(&mut self, bits: u64) {
        self.0 = ((self.0 >> BITS) << BITS) | bits;
    }
}

/// Two bits of 48 for a digest, by others of its bits than those that name the bucket.
#[inline(always)]
fn bits(digest: u64) -> u64 {
    let one = |of: u64| 1 << (((of & 0xFFFF) * u64::from(BITS)) >> 16);
    one(digest >> 16) | one(digest >> 32)
}

/// The list; takes no memory until the first nonce is added, then 8 bytes for each bucket, 16 more for each that has one
/// or two and 64 for each that has more.
#[derive(Clone, Debug, Default, ndnweir_state::State)]
pub(crate) struct DeadNonces {
    buckets: Option<Box<[Bucket; BUCKETS]>>,
    few: Vec<[u64; FEW_ENTRIES]>,
    /// Places in `few` whose buckets have moved.
    free: Vec<u16>,
    full: Vec<[u64; BUCKET_ENTRIES]>,
    #[state(skip)]
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
        let buckets = self.buckets.get_or_insert_with(|| Box::new([Bucket::default(); BUCKETS]));
        let bucket = &mut buckets[digest as usize % BUCKETS];
        bucket.0 |= bits(digest);
        match usize::from(bucket.place()) {
            0 => {
                let entries = [digest, 0];
                let at = match self.free.pop() {
                    Some(at) => {
                        self.few[usize::from(at)] = entries;
                        at
                    }
                    None => {
                        grow(&mut self.few);
                        self.few.push(entries);
                        self.few.len() as u16 - 1
                    }
                };
                bucket.set_place(at + 1);
            }
            at @ 1..=BUCKETS => {
                let [newest, oldest] = self.few[at - 1];
                if oldest == 0 {
                    self.few[at - 1] = [digest, newest];
                    return;
                }
                self.free.push(bucket.place() - 1);
                grow(&mut self.full);
                bucket.set_place((BUCKETS + 1 + self.full.len()) as u16);
                self.full.push([digest, newest, oldest, 0, 0, 0, 0, 0]);
            }
            at => {
                let entries = &mut self.full[at - BUCKETS - 1];
                entries.rotate_right(1);
                entries[0] = digest;
                let known = entries.iter().filter(|entry| **entry != 0);
                bucket.set_bits(known.fold(0, |all, entry| all | bits(*entry)));
            }
        }
    }

    /// Whether the nonce is in the list.
    #[inline(always)]
    pub(crate) fn contains(&self, name: NameId, nonce: u32) -> bool {
        self.buckets.as_deref().is_some_and(|buckets| self.is_in(buckets, name, nonce))
    }

    /// Asks for what [`DeadNonces::contains`] reads.
    #[inline(always)]
    pub(crate) fn expect(&self, name: NameId, nonce: u32) {
        if let Some(buckets) = &self.buckets {
            prefetch(&buckets[self.digest(name, nonce) as usize % BUCKETS]);
        }
    }

    #[inline(never)]
    fn is_in(&self, buckets: &[Bucket; BUCKETS], name: NameId, nonce: u32) -> bool {
        let digest = self.digest(name, nonce);
        let bucket = buckets[digest as usize % BUCKETS];
        if bits(digest) & !bucket.0 != 0 {
            return false;
        }
        let bucket = match usize::from(bucket.place()) {
            0 => return false,
            at @ 1..=BUCKETS => &self.few[at - 1][..],
            at => &self.full[at - BUCKETS - 1][..],
        };
        bucket.contains(&digest)
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.buckets = None;
        self.few.clear();
        self.free.clear();
        self.full.clear();
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
        assert_eq!((dead.full.len(), dead.free.len()), (BUCKETS, dead.few.len()));
        dead.clear();
        assert!(!dead.contains(name(99_999), 99_999 * 7));
    }

    #[test]
    fn a_few_nonces_take_memory_for_their_buckets_alone() {
        let mut dead = DeadNonces::default();
        let name = NameId { flow: FlowId(1), segment: 0 };
        (0..3).for_each(|nonce| dead.insert(name, nonce));
        assert!(dead.few.capacity() <= 4 && dead.full.capacity() <= 4);
    }

    #[test]
    fn few_nonces_that_are_not_in_the_list_are_looked_for_among_entries() {
        let mut dead = DeadNonces::default();
        let name = NameId { flow: FlowId(1), segment: 0 };
        (0..100_000).for_each(|nonce| dead.insert(name, nonce));
        let buckets = dead.buckets.as_deref().unwrap();
        let seems = |nonce: &u32| {
            let digest = dead.digest(name, *nonce);
            bits(digest) & !buckets[digest as usize % BUCKETS].0 == 0
        };
        let count = (200_000..300_000).filter(seems).count();
        assert!((6000..10_000).contains(&count), "{count}");
    }

    #[test]
    fn each_bucket_has_the_last_eight_of_its_nonces() {
        let mut dead = DeadNonces::default();
        let mut buckets = vec![std::collections::VecDeque::new(); BUCKETS];
        let name = NameId { flow: FlowId(3), segment: 9 };
        for nonce in 0..10_000 {
            dead.insert(name, nonce);
            let bucket = &mut buckets[dead.digest(name, nonce) as usize % BUCKETS];
            bucket.push_front(nonce);
            bucket.truncate(BUCKET_ENTRIES);
            if nonce % 97 == 0 {
                let known = (0..=nonce).filter(|&nonce| dead.contains(name, nonce)).count();
                assert_eq!(known, buckets.iter().map(|bucket| bucket.len()).sum::<usize>());
            }
        }
        assert!(buckets.iter().flatten().all(|&nonce| dead.contains(name, nonce)));
    }
}

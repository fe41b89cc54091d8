//! The handles that a process has given to paths, by the path before and the link.
//!
//! A table of its own, as the place of a key can be asked for ahead: a Data looks here with every link it takes, and in a
//! large network it would wait for the place.

use ndnweir_prefetch::prefetch;

/// A factor that spreads keys over the upper bits of a product (Knuth's multiplicative hashing: 2⁶⁴ over the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The least number of places, two to this power.
const LEAST: u32 = 6;

/// Open addressing, at most half full; nothing is removed.
pub(super) struct Extensions {
    /// Keys with handles; zero, which no handle is, where there is none.
    places: Box<[(u64, u32)]>,
    len: usize,
    /// By how much a product is shifted for its place.
    shift: u32,
}

impl Default for Extensions {
    fn default() -> Extensions {
        Extensions { places: vec![(0, 0); 1 << LEAST].into(), len: 0, shift: u64::BITS - LEAST }
    }
}

fn key(before: u32, link: u32) -> u64 {
    (u64::from(before) << 32) | u64::from(link)
}

impl Extensions {
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// Where a key is, or would be put.
    #[inline(always)]
    fn find(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.places[at].1 != 0 && self.places[at].0 != key {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// The handle of `before`, continued over a link, if it has one.
    #[inline(always)]
    pub(super) fn get(&self, before: u32, link: u32) -> Option<u32> {
        let handle = self.places[self.find(key(before, link))].1;
        (handle != 0).then_some(handle)
    }

    /// Asks for the memory that [`Extensions::get`] reads.
    #[inline(always)]
    pub(super) fn expect(&self, before: u32, link: u32) {
        self.places.get(self.home(key(before, link))).into_iter().for_each(prefetch);
    }

    /// Gives a handle, which is not zero, to a path that has none.
    pub(super) fn insert(&mut self, before: u32, link: u32, handle: u32) {
        debug_assert_ne!(handle, 0, "it has the bit of handles");
        self.len += 1;
        if self.len * 2 > self.places.len() {
            self.shift -= 1;
            let doubled = vec![(0, 0); self.places.len() * 2].into();
            let old = std::mem::replace(&mut self.places, doubled);
            for entry in old.into_iter().filter(|entry| entry.1 != 0) {
                self.places[self.find(entry.0)] = entry;
            }
        }
        let key = key(before, link);
        self.places[self.find(key)] = (key, handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_path_keeps_its_handle() {
        let (mut extensions, mut model) = (Extensions::default(), BTreeMap::new());
        for i in 0..5000_u32 {
            // Paths of several processes over few links, and the empty path over the first link.
            let (before, link) = (((i % 7) << 23) | (i / 70), i / 7 % 10);
            extensions.expect(before, link);
            assert_eq!(extensions.get(before, link), None);
            extensions.insert(before, link, i + 1);
            model.insert((before, link), i + 1);
        }
        assert!(model.iter().all(|(&(before, link), &handle)| extensions.get(before, link) == Some(handle)));
        assert!(extensions.places.len() == 1 << 14 && extensions.get(6 << 23, 10).is_none());
    }
}

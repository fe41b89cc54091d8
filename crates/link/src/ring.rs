//! A queue in a circle, whose entries are written where they lie.
//!
//! What a `VecDeque` is given is moved into it; an entry here is as large as two cache lines, and every packet would be
//! copied once more.

use ndnweir_node::growth::step;
use ndnweir_state::{Damaged, Reader, Value, Writer};
use std::hint::cold_path;

/// Places whose memory is worth giving back, 350 kB of packets; ours.
const MANY: usize = 4096;

/// The queue, in 24 bytes.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    /// The place of the first entry.
    first: u32,
    len: u32,
}

/// Its entries from the first on.
impl<T: Copy + Default + Value> Value for Ring<T> {
    fn write(&self, to: &mut Writer) {
        to.length(self.len());
        (0..self.len()).filter_map(|number| self.get(number)).for_each(|entry| entry.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Ring<T>, Damaged> {
        let places = Vec::read(from)?.into_boxed_slice();
        Ok(Ring { len: places.len() as u32, places, first: 0 })
    }
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        Ring { places: Box::default(), first: 0, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The place of the entry with this number, counted from the first.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        let place = self.first as usize + number;
        if place >= self.places.len() { place - self.places.len() } else { place }
    }

    /// The first entry.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&T> {
        if self.len > 0 { self.places.get(self.first as usize) } else { None }
    }

    /// [`Ring::first`], to change it.
    #[inline(always)]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        if self.len > 0 { self.places.get_mut(self.first as usize) } else { None }
    }

    /// An entry, counted from the first.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        if number < self.len() { self.places.get(self.place(number)) } else { None }
    }

    /// [`Ring::get`], to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place(number);
        if number < self.len() { self.places.get_mut(place) } else { None }
    }

    /// The place of the next entry, if there is one.
    #[inline(always)]
    pub(crate) fn free(&self) -> Option<&T> {
        self.places.get(self.place(self.len()))
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// One more entry at the end, for the caller to write.
    #[inline(always)]
    pub(crate) fn append(&mut self) -> &mut T {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.len += 1;
        &mut self.places[place]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.rotate_left(self.first as usize);
        self.first = 0;
        let mut places = std::mem::take(&mut self.places).into_vec();
        let more = step(places.len());
        places.reserve_exact(more);
        places.resize(places.len() + more, T::default());
        self.places = places.into_boxed_slice();
    }

    /// One more entry, before all at the end that are `later`.
    pub(crate) fn insert(&mut self, entry: T, later: impl Fn(&T) -> bool) {
        self.append();
        let mut at = self.place(self.len() - 1);
        for number in (0..self.len() - 1).rev() {
            let before = self.place(number);
            if !later(&self.places[before]) {
                break;
            }
            self.places[at] = self.places[before];
            at = before;
        }
        self.places[at] = entry;
    }

    /// Removes the first entry, if there is one. The second of those that are left.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) -> Option<&T> {
        let left = self.len.checked_sub(1)?;
        self.first = self.after(self.first);
        self.len = left;
        if left > 1 { self.places.get(self.after(self.first) as usize) } else { None }
    }

    /// The place after another one.
    #[inline(always)]
    fn after(&self, place: u32) -> u32 {
        if place as usize + 1 < self.places.len() {
            place + 1
        } else {
            // A branch that is seldom taken costs less than to choose between two values.
            cold_path();
            0
        }
    }

    /// When nothing is left, begins at the first place again, which the caches have more often than those after it, and
    /// gives much memory back: bursts of a long chain fill one link after another.
    #[inline(always)]
    pub(crate) fn relax(&mut self) {
        if self.len == 0 {
            self.first = 0;
            if self.places.len() >= MANY {
                self.release();
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn release(&mut self) {
        (self.places, self.first) = (Box::default(), 0);
    }

    /// All entries in order, moved to where they are one after the other.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        self.places.rotate_left(self.first as usize);
        self.first = 0;
        &mut self.places[..self.len as usize]
    }

    /// Keeps those entries only.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let entries = self.as_mut_slice();
        let mut kept = 0;
        for number in 0..entries.len() {
            if keep(&entries[number]) {
                entries[kept] = entries[number];
                kept += 1;
            }
        }
        self.len = kept as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ctx::Rng;
    use std::collections::VecDeque;

    #[test]
    fn a_large_ring_that_is_empty_gives_its_memory_back_and_fills_again() {
        let mut ring = Ring::new();
        for round in 0..3 {
            (0..MANY as u64).for_each(|entry| *ring.append() = entry);
            for entry in 0..MANY as u64 {
                ring.relax();
                assert_eq!((ring.first(), ring.places.len() >= MANY), (Some(&entry), true), "round {round}");
                ring.remove_first();
            }
            ring.relax();
            assert_eq!((ring.len(), ring.places.len()), (0, 0));
        }
    }

    #[test]
    fn it_agrees_with_a_queue_of_the_standard_library() {
        let (mut rng, mut ring, mut model) = (Rng::derive(1, &[]), Ring::new(), VecDeque::new());
        for step in 0..20_000_u64 {
            // More comes than goes for a while, then more goes than comes.
            let grows = u64::from(step % 4000 < 2000);
            match rng.below(10) {
                draw if draw < 4 + 2 * grows => {
                    *ring.append() = step;
                    model.push_back(step);
                }
                draw if draw < 9 => {
                    ring.remove_first();
                    model.pop_front();
                }
                _ if rng.below(50) > 0 => {
                    let entry = step.saturating_sub(rng.below(20));
                    ring.insert(entry, |other| *other > entry);
                    model.insert(model.iter().rposition(|other| *other <= entry).map_or(0, |last| last + 1), entry);
                }
                _ => {
                    ring.retain(|entry| entry % 3 > 0);
                    model.retain(|entry| entry % 3 > 0);
                }
            }
            assert_eq!((ring.len(), ring.get(0), ring.get(1)), (model.len(), model.front(), model.get(1)));
            assert_eq!((ring.last(), ring.get(ring.len())), (model.back(), None));
            if step % 97 == 0 {
                ring.as_mut_slice().iter_mut().for_each(|entry| *entry += 1);
                model.iter_mut().for_each(|entry| *entry += 1);
            }
            assert!((0..ring.len()).all(|number| ring.get(number) == model.get(number)));
        }
    }
}

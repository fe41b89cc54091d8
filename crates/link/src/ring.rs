//! A queue in a circle, whose entries are written where they lie.
//!
//! What a `VecDeque` is given is moved into it; an entry here is as large as two cache lines, and every packet would be
//! copied once more.

use ndnweir_node::growth::step;
use ndnweir_state::{Damaged, Reader, Value, Writer};

/// The queue.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    /// The place of the first entry.
    first: usize,
    /// The place of the next one.
    end: usize,
    len: usize,
}

/// Its entries from the first on.
impl<T: Copy + Default + Value> Value for Ring<T> {
    fn write(&self, to: &mut Writer) {
        to.length(self.len);
        (0..self.len).filter_map(|number| self.get(number)).for_each(|entry| entry.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Ring<T>, Damaged> {
        let places = Vec::read(from)?;
        Ok(Ring { len: places.len(), places, first: 0, end: 0 })
    }
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        Ring { places: Vec::new(), first: 0, end: 0, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The place of the entry with this number, counted from the first.
    #[inline]
    fn place(&self, number: usize) -> usize {
        let place = self.first + number;
        if place >= self.places.len() { place - self.places.len() } else { place }
    }

    /// The place after another.
    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.places.len() { 0 } else { place + 1 }
    }

    /// The first entry.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&T> {
        if self.len > 0 { self.places.get(self.first) } else { None }
    }

    /// [`Ring::first`], to change it.
    #[inline(always)]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        if self.len > 0 { self.places.get_mut(self.first) } else { None }
    }

    /// The second entry.
    #[inline(always)]
    pub(crate) fn second(&self) -> Option<&T> {
        if self.len > 1 { self.places.get(self.after(self.first)) } else { None }
    }

    /// An entry, counted from the first.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        if number < self.len { self.places.get(self.place(number)) } else { None }
    }

    /// [`Ring::get`], to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place(number);
        if number < self.len { self.places.get_mut(place) } else { None }
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// One more entry at the end, for the caller to write.
    #[inline(always)]
    pub(crate) fn append(&mut self) -> &mut T {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.end;
        self.end = self.after(place);
        self.len += 1;
        &mut self.places[place]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.rotate_left(self.first);
        self.first = 0;
        let more = step(self.len);
        self.places.reserve_exact(more);
        self.places.resize(self.len + more, T::default());
        self.end = self.len;
    }

    /// One more entry, before all at the end that are `later`.
    pub(crate) fn insert(&mut self, entry: T, later: impl Fn(&T) -> bool) {
        self.append();
        let mut at = self.place(self.len - 1);
        for number in (0..self.len - 1).rev() {
            let before = self.place(number);
            if !later(&self.places[before]) {
                break;
            }
            self.places[at] = self.places[before];
            at = before;
        }
        self.places[at] = entry;
    }

    /// Removes the first entry, if there is one.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) {
        if self.len > 0 {
            self.first = self.after(self.first);
            self.len -= 1;
        }
    }

    /// All entries in order, moved to where they are one after the other.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        self.places.rotate_left(self.first);
        self.first = 0;
        self.end = if self.len == self.places.len() { 0 } else { self.len };
        &mut self.places[..self.len]
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
        self.len = kept;
        self.end = if kept == self.places.len() { 0 } else { kept };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ctx::Rng;
    use std::collections::VecDeque;

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

//! A hierarchical timing wheel with exact nanosecond deadlines.
//!
//! Eleven levels of 64 slots cover 64-bit time. A timer sits in the level of the highest six-bit digit in which its
//! deadline differs from the wheel's time and moves down as that time comes near, so most timers, which are cancelled
//! long before, are touched twice. Lists are intrusive and circular; timers are numbered by the caller (slab slots),
//! one deadline each, so a number that is used again never fires for its former timer.

use crate::growth::grow;
use ndnweir_core::units::Time;

const BITS: u32 = 6;
const LEVELS: usize = 11;
const SLOTS: usize = 1 << BITS;
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct ListEntry {
    at: u64,
    prev: u32,
    /// [`NIL`] when the timer is not set.
    next: u32,
}

/// The wheel.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    links: Vec<ListEntry>,
    /// By level up to the highest that was used: most timers of a node are of a few seconds and need six levels.
    heads: Vec<[u32; SLOTS]>,
    occupied: [u64; LEVELS],
    /// The levels that have timers.
    levels: u16,
    /// No timer is set before this instant, and no slot that began before it is occupied.
    elapsed: u64,
    /// When the first occupied slot begins: kept, as it is requested after every packet and changes rarely.
    next: Time,
}

impl Wheel {
    pub(crate) fn new() -> Wheel {
        Wheel { links: Vec::new(), heads: Vec::new(), occupied: [0; LEVELS], levels: 0, elapsed: 0, next: Time::NEVER }
    }

    /// Sets timer `id` to `at`, in place of its former deadline. `now` keeps the wheel's time close to the caller's.
    #[inline(always)]
    pub(crate) fn set(&mut self, id: u32, at: Time, now: Time) {
        while id as usize >= self.links.len() {
            grow(&mut self.links);
            self.links.push(ListEntry { at: 0, prev: NIL, next: NIL });
        }
        if self.links[id as usize].next != NIL {
            self.cancel(id);
        }
        // Following the time within 2^24 ns (17 ms) keeps deadlines of seconds in fine enough slots.
        if (now.nanos() ^ self.elapsed) >> 24 != 0 && now > Time::from_nanos(self.elapsed) && now < self.next() {
            self.elapsed = now.nanos();
            self.find_next();
        }
        self.links[id as usize].at = at.nanos().max(self.elapsed);
        self.link(id);
    }

    /// Forgets timer `id`, if it is set.
    #[inline]
    pub(crate) fn cancel(&mut self, id: u32) {
        let Some(&ListEntry { at, prev, next }) = self.links.get(id as usize) else { return };
        if next == NIL {
            return;
        }
        self.links[id as usize].next = NIL;
        if next != id {
            self.links[prev as usize].next = next;
            self.links[next as usize].prev = prev;
        }
        let (level, slot) = self.place(at);
        let head = &mut self.heads[level][slot];
        if *head == id {
            *head = next;
            if next == id {
                *head = NIL;
                self.vacate(level, slot);
            }
        }
    }

    /// The deadline of timer `id`, which is or was set.
    #[inline]
    pub(crate) fn deadline(&self, id: u32) -> Time {
        Time::from_nanos(self.links[id as usize].at)
    }

    /// When [`Wheel::pop`] should be called next: not after the earliest deadline, perhaps before.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// After a change of what is occupied, or of the wheel's time.
    fn find_next(&mut self) {
        self.next = if self.levels == 0 { Time::NEVER } else { Time::from_nanos(self.first().2) };
    }

    /// The next timer with a deadline up to `now`, in order of deadline; it is no longer set.
    pub(crate) fn pop(&mut self, now: Time) -> Option<u32> {
        while self.levels != 0 {
            let (level, slot, start) = self.first();
            if start > now.nanos() {
                break;
            }
            self.elapsed = start;
            let head = self.heads[level][slot];
            if level == 0 {
                self.cancel(head);
                self.find_next();
                return Some(head);
            }
            self.heads[level][slot] = NIL;
            self.vacate(level, slot);
            let mut id = head;
            loop {
                let next = self.links[id as usize].next;
                self.link(id);
                if next == head {
                    break;
                }
                id = next;
            }
        }
        None
    }

    /// Forgets every timer.
    pub(crate) fn clear(&mut self) {
        let elapsed = self.elapsed;
        *self = Wheel { elapsed, links: std::mem::take(&mut self.links), ..Wheel::new() };
        self.links.clear();
    }

    /// Bytes of memory it uses.
    pub(crate) fn memory(&self) -> usize {
        self.links.capacity() * size_of::<ListEntry>() + self.heads.capacity() * size_of::<[u32; SLOTS]>()
    }

    #[cold]
    #[inline(never)]
    fn vacate(&mut self, level: usize, slot: usize) {
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        self.find_next();
    }

    /// The level and slot for a deadline, stable until that slot begins.
    #[inline]
    fn place(&self, at: u64) -> (usize, usize) {
        let differing = (at ^ self.elapsed) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        (level as usize, (at >> (level * BITS)) as usize % SLOTS)
    }

    /// Appends `id` to the list of its slot.
    #[inline]
    fn link(&mut self, id: u32) {
        let (level, slot) = self.place(self.links[id as usize].at);
        let head = self.heads.get(level).map_or(NIL, |heads| heads[slot]);
        if head == NIL {
            return self.begin(id, level, slot);
        }
        let tail = std::mem::replace(&mut self.links[head as usize].prev, id);
        self.links[tail as usize].next = id;
        let link = &mut self.links[id as usize];
        (link.prev, link.next) = (tail, head);
    }

    /// Begins the list of a slot.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, id: u32, level: usize, slot: usize) {
        if level >= self.heads.len() {
            self.heads.reserve_exact(level + 1 - self.heads.len());
            self.heads.resize(level + 1, [NIL; SLOTS]);
        }
        self.heads[level][slot] = id;
        self.occupied[level] |= 1 << slot;
        self.levels |= 1 << level;
        self.find_next();
        let link = &mut self.links[id as usize];
        (link.prev, link.next) = (id, id);
    }

    /// The first occupied slot: level, slot and the instant it begins. Some level must be occupied.
    #[inline]
    fn first(&self) -> (usize, usize, u64) {
        let level = self.levels.trailing_zeros();
        let slot = self.occupied[level as usize].trailing_zeros();
        let above = self.elapsed.checked_shr((level + 1) * BITS).unwrap_or(0);
        let start = above.checked_shl((level + 1) * BITS).unwrap_or(0) | u64::from(slot) << (level * BITS);
        (level as usize, slot as usize, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn timers_fire_in_order_of_deadline_and_those_of_one_instant_in_order_of_setting() {
        let mut wheel = Wheel::new();
        for (id, ns) in [(0, 5_000_000_000), (1, 70), (2, 5_000_000_000), (3, u64::MAX - 1)] {
            wheel.set(id, at(ns), Time::ZERO);
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop(at(u64::MAX))).collect();
        assert_eq!(order, [1, 0, 2, 3]);
        assert_eq!(wheel.next(), Time::NEVER);
    }

    #[test]
    fn a_slot_used_again_fires_for_its_new_owner_only() {
        let mut wheel = Wheel::new();
        wheel.set(7, at(100), Time::ZERO);
        wheel.set(7, at(200), Time::ZERO);
        assert_eq!(wheel.pop(at(199)), None);
        assert_eq!(wheel.pop(at(200)), Some(7));
        assert_eq!(wheel.pop(at(u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_map(ops in prop::collection::vec((0u8..4, 0u32..40, 0u32..36, 0u64..64), 0..600)) {
            let mut wheel = Wheel::new();
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            let mut now = 0u64;
            for (op, id, scale, factor) in ops {
                let delay = factor << scale;
                match op {
                    0 | 1 => {
                        wheel.set(id, at(now + delay), at(now));
                        model.insert(id, now + delay);
                    }
                    2 => {
                        wheel.cancel(id);
                        model.remove(&id);
                    }
                    _ => {
                        now += delay;
                        let mut fired = Vec::new();
                        while let Some(id) = wheel.pop(at(now)) {
                            let deadline = model.remove(&id);
                            prop_assert!(deadline.is_some_and(|d| d <= now && fired.last().is_none_or(|&l| l <= d)));
                            fired.push(deadline.unwrap());
                        }
                        prop_assert!(model.values().all(|&d| d > now));
                    }
                }
                let earliest = model.values().min().map_or(Time::NEVER, |&d| at(d));
                prop_assert!(wheel.next() <= earliest);
                prop_assert_eq!(wheel.next() == Time::NEVER, model.is_empty());
            }
        }
    }
}

//! A hierarchical timing wheel with exact nanosecond deadlines.
//!
//! Eleven levels of 64 slots cover 64-bit time. A timer sits in the level of the highest six-bit digit in which its
//! deadline differs from the wheel's time and moves down as that time comes near, so most timers, which are cancelled
//! long before, are touched twice. Lists are intrusive: each timer lies in the caller's entry that it belongs to (a slab
//! slot, whose number is the timer's), so that an entry and its timer are one cache line. One deadline each, so a number
//! that is used again never fires for its former timer.

use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch;

const BITS: u32 = 6;
const LEVELS: usize = 11;
const SLOTS: usize = 1 << BITS;
/// Of [`Timer::next`]: it is not set.
const UNSET: u32 = u32::MAX;
/// Marks what stands in place of a neighbour at the ends of a list: the list's number.
const END: u32 = 1 << 31;
/// The most timers.
pub(crate) const MAX_TIMERS: usize = END as usize;

/// A timer, in the entry it belongs to.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(crate) struct Timer {
    at: u64,
    /// The timer before it in its list.
    prev: u32,
    /// The one after it.
    next: u32,
}

impl Timer {
    /// Both neighbours in its list, or what stands in their place.
    #[inline(always)]
    pub(crate) fn neighbours(self) -> [u32; 2] {
        [self.prev, self.next]
    }

    /// Not set.
    pub(crate) const UNSET: Timer = Timer { at: 0, prev: UNSET, next: UNSET };

    /// The deadline, when it is or was set.
    #[inline]
    pub(crate) fn deadline(self) -> Time {
        Time::from_nanos(self.at)
    }
}

/// What has a timer.
pub(crate) trait Timed {
    fn timer(&mut self) -> &mut Timer;
}

/// The first and the last timer of a slot.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: UNSET, last: UNSET };

/// The wheel.
#[derive(Clone, Debug, ndnweir_state::Value)]
#[repr(C)]
pub(crate) struct Wheel {
    /// The slots of each level, up to the highest that was used: most timers of a node are of a few seconds and need six
    /// levels.
    lists: Vec<List>,
    /// No timer is set before this instant, and no slot that began before it is occupied.
    elapsed: u64,
    /// When the first occupied slot begins: kept, as it is requested after every packet and changes rarely.
    next: Time,
    /// The levels that have timers.
    levels: u16,
    occupied: [u64; LEVELS],
}

impl Wheel {
    /// The bytes of it that setting a timer needs.
    pub(crate) const USUAL: usize = std::mem::offset_of!(Wheel, occupied);

    pub(crate) fn new() -> Wheel {
        Wheel { lists: Vec::new(), occupied: [0; LEVELS], levels: 0, elapsed: 0, next: Time::NEVER }
    }

    /// Sets timer `id` to `at`, in place of its former deadline. `now` keeps the wheel's time close to the caller's.
    pub(crate) fn set<T: Timed>(&mut self, timers: &mut [T], id: u32, at: Time, now: Time) {
        self.cancel(timers, id);
        self.start(timers, id, at, now);
    }

    /// As [`Wheel::set`], for a timer that is not set.
    #[inline(always)]
    pub(crate) fn start<T: Timed>(&mut self, timers: &mut [T], id: u32, at: Time, now: Time) {
        *timers[id as usize].timer() = self.enter(timers, id, at, now);
    }

    /// [`Wheel::start`] but for the timer itself, which the caller writes to its place.
    #[inline(always)]
    pub(crate) fn enter<T: Timed>(&mut self, timers: &mut [T], id: u32, at: Time, now: Time) -> Timer {
        // Following the time within 2^24 ns (17 ms) keeps deadlines of seconds in fine enough slots.
        if (now.nanos() ^ self.elapsed) >> 24 != 0 && now > Time::from_nanos(self.elapsed) && now < self.next() {
            self.elapsed = now.nanos();
            self.find_next();
        }
        self.link(timers, id, at.nanos().max(self.elapsed))
    }

    /// The timer beside which one would be put that is set to `at`.
    #[inline(always)]
    pub(crate) fn neighbour(&self, at: Time) -> Option<u32> {
        self.lists.get(self.place(at.nanos().max(self.elapsed))).map(|list| list.last)
    }

    /// Asks for the list of `at`.
    #[inline(always)]
    pub(crate) fn expect(&self, at: Time) {
        self.lists.get(self.place(at.nanos().max(self.elapsed))).into_iter().for_each(prefetch);
    }

    /// Forgets timer `id`, if it is set.
    #[inline(always)]
    pub(crate) fn cancel<T: Timed>(&mut self, timers: &mut [T], id: u32) {
        let timer = timers[id as usize].timer();
        let Timer { prev, next, .. } = *timer;
        if next == UNSET {
            return;
        }
        timer.next = UNSET;
        if prev & END == 0 {
            timers[prev as usize].timer().next = next;
        } else {
            self.lists[(prev & !END) as usize].first = next;
        }
        if next & END == 0 {
            timers[next as usize].timer().prev = prev;
        } else if prev & END == 0 {
            self.lists[(next & !END) as usize].last = prev;
        } else {
            self.empty((next & !END) as usize);
        }
    }

    /// When [`Wheel::pop`] should be called next: not after the earliest deadline, perhaps before.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// After a change of what is occupied, or of the wheel's time.
    fn find_next(&mut self) {
        self.next = if self.levels == 0 { Time::NEVER } else { Time::from_nanos(self.first().1) };
    }

    /// The next timer with a deadline up to `now`, in order of deadline; it is no longer set.
    pub(crate) fn pop<T: Timed>(&mut self, timers: &mut [T], now: Time) -> Option<u32> {
        while self.levels != 0 {
            let (list, start) = self.first();
            if start > now.nanos() {
                break;
            }
            self.elapsed = start;
            let mut id = self.lists[list].first;
            if list < SLOTS {
                self.cancel(timers, id);
                self.find_next();
                return Some(id);
            }
            self.empty(list);
            while id & END == 0 {
                let Timer { at, next, .. } = *timers[id as usize].timer();
                *timers[id as usize].timer() = self.link(timers, id, at);
                id = next;
            }
        }
        None
    }

    /// Forgets every timer.
    pub(crate) fn clear(&mut self) {
        *self = Wheel { elapsed: self.elapsed, ..Wheel::new() };
    }

    /// Whether every timer that is set is in the list of its deadline, and in no other, so that [`Wheel::pop`] ends: a state
    /// that was read may be one that somebody made up.
    pub(crate) fn is_sound<T: Timed>(&self, timers: &mut [T]) -> bool {
        if !self.lists.len().is_multiple_of(SLOTS) || self.lists.len() > LEVELS * SLOTS {
            return false;
        }
        let (mut occupied, mut levels, mut walked) = ([0; LEVELS], 0, 0);
        for (place, list) in self.lists.iter().enumerate() {
            let end = END | place as u32;
            let (mut before, mut id) = (end, list.first);
            if id == UNSET {
                if list.last != UNSET {
                    return false;
                }
                continue;
            }
            occupied[place / SLOTS] |= 1 << (place % SLOTS);
            levels |= 1 << (place / SLOTS);
            // Each knows the one before it, so there is no way back to one that was seen.
            while id != end {
                let Some(timer) = timers.get_mut(id as usize).map(Timed::timer) else { return false };
                if timer.prev != before || timer.at < self.elapsed || self.place(timer.at) != place {
                    return false;
                }
                (before, id) = (id, timer.next);
                walked += 1;
            }
            if list.last != before {
                return false;
            }
        }
        let set = timers.iter_mut().map(Timed::timer).filter(|timer| timer.next != UNSET).count();
        if (occupied, levels, set) != (self.occupied, self.levels, walked) {
            return false;
        }
        // It would be waited for what is not there.
        self.next == if levels == 0 { Time::NEVER } else { Time::from_nanos(self.first().1) }
    }

    /// Bytes of memory it uses beside the timers.
    pub(crate) fn memory(&self) -> usize {
        self.lists.capacity() * size_of::<List>()
    }

    /// A list has no timers any more.
    #[cold]
    #[inline(never)]
    fn empty(&mut self, list: usize) {
        self.lists[list] = EMPTY;
        let (level, slot) = (list / SLOTS, list % SLOTS);
        self.occupied[level] &= !(1 << slot);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        self.find_next();
    }

    /// The list for a deadline, stable until that slot begins.
    #[inline]
    fn place(&self, at: u64) -> usize {
        let differing = (at ^ self.elapsed) | 1;
        let level = (63 - differing.leading_zeros()) / BITS;
        level as usize * SLOTS + (at >> (level * BITS)) as usize % SLOTS
    }

    /// Appends `id` to the list of the slot of `at`; gives what its timer is then.
    #[inline(always)]
    fn link<T: Timed>(&mut self, timers: &mut [T], id: u32, at: u64) -> Timer {
        let place = self.place(at);
        let end = END | place as u32;
        let prev = match self.lists.get_mut(place) {
            Some(list) if list.last != UNSET => {
                let before = std::mem::replace(&mut list.last, id);
                timers[before as usize].timer().next = id;
                before
            }
            _ => {
                self.begin(id, place, at);
                end
            }
        };
        Timer { at, prev, next: end }
    }

    /// Begins the list of the slot of `at`.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, id: u32, place: usize, at: u64) {
        let (level, slot) = (place / SLOTS, place % SLOTS);
        if place >= self.lists.len() {
            self.extend(level);
        }
        self.lists[place] = List { first: id, last: id };
        self.occupied[level] |= 1 << slot;
        self.levels |= 1 << level;
        let below = level as u32 * BITS;
        self.next = self.next.min(Time::from_nanos(at >> below << below));
    }

    /// A level is used that was not, nor any above.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, level: usize) {
        let wanted = (level + 1) * SLOTS;
        self.lists.reserve_exact(wanted - self.lists.len());
        self.lists.resize(wanted, EMPTY);
    }

    /// The first occupied slot, by its list, and the instant it begins. Some level must be occupied.
    #[inline]
    fn first(&self) -> (usize, u64) {
        let level = self.levels.trailing_zeros();
        let slot = self.occupied[level as usize].trailing_zeros();
        let above = self.elapsed.checked_shr((level + 1) * BITS).unwrap_or(0);
        let start = above.checked_shl((level + 1) * BITS).unwrap_or(0) | u64::from(slot) << (level * BITS);
        (level as usize * SLOTS + slot as usize, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Timed for Timer {
        fn timer(&mut self) -> &mut Timer {
            self
        }
    }

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn timers_fire_in_order_of_deadline_and_those_of_one_instant_in_order_of_setting() {
        let (mut wheel, mut timers) = (Wheel::new(), [Timer::UNSET; 40]);
        for (id, ns) in [(0, 5_000_000_000), (1, 70), (2, 5_000_000_000), (3, u64::MAX - 1)] {
            wheel.set(&mut timers, id, at(ns), Time::ZERO);
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop(&mut timers, at(u64::MAX))).collect();
        assert_eq!(order, [1, 0, 2, 3]);
        assert_eq!(wheel.next(), Time::NEVER);
    }

    #[test]
    fn a_slot_used_again_fires_for_its_new_owner_only() {
        let (mut wheel, mut timers) = (Wheel::new(), [Timer::UNSET; 40]);
        wheel.set(&mut timers, 7, at(100), Time::ZERO);
        wheel.set(&mut timers, 7, at(200), Time::ZERO);
        assert_eq!(wheel.pop(&mut timers, at(199)), None);
        assert_eq!(wheel.pop(&mut timers, at(200)), Some(7));
        assert_eq!(wheel.pop(&mut timers, at(u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_map(ops in prop::collection::vec((0u8..4, 0u32..40, 0u32..36, 0u64..64), 0..600)) {
            let (mut wheel, mut timers) = (Wheel::new(), [Timer::UNSET; 40]);
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            let mut now = 0u64;
            for (op, id, scale, factor) in ops {
                let delay = factor << scale;
                match op {
                    0 | 1 => {
                        wheel.set(&mut timers, id, at(now + delay), at(now));
                        model.insert(id, now + delay);
                    }
                    2 => {
                        wheel.cancel(&mut timers, id);
                        model.remove(&id);
                    }
                    _ => {
                        now += delay;
                        let mut fired = Vec::new();
                        while let Some(id) = wheel.pop(&mut timers, at(now)) {
                            let deadline = model.remove(&id);
                            prop_assert!(deadline.is_some_and(|d| d <= now && fired.last().is_none_or(|&l| l <= d)));
                            fired.push(deadline.unwrap());
                        }
                        prop_assert!(model.values().all(|&d| d > now));
                    }
                }
                prop_assert!(wheel.is_sound(&mut timers));
                let earliest = model.values().min().map_or(Time::NEVER, |&d| at(d));
                prop_assert!(wheel.next() <= earliest);
                prop_assert_eq!(wheel.next() == Time::NEVER, model.is_empty());
            }
        }
    }
}

//! The segments of a fetch: a ring from the lowest one missing to the highest one requested.

use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch;
use std::collections::BTreeSet;

/// Where a requested segment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ndnweir_state::Value)]
pub(crate) enum State {
    /// Its place in the ring is unused.
    #[default]
    Free,
    /// An Interest for it is out.
    Outstanding,
    /// It was rejected and may not be requested again yet.
    Held,
    /// It failed; the next Interest is for the lowest of these.
    Waiting,
    /// It has arrived.
    Received,
}

/// One segment.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub(crate) struct Slot {
    /// When the first Interest for it was sent.
    pub first_sent: Time,
    /// When the latest was sent.
    pub sent: Time,
    /// Outstanding: when it times out, where that is fixed at sending. Held: when it may be requested again.
    pub deadline: Time,
    /// The latest Interest's place in the order of sending.
    pub order: u64,
    /// Interests beyond the first.
    pub retransmissions: u32,
    /// The latest Interest's nonce.
    pub nonce: u32,
    prev: u32,
    next: u32,
    /// NACKs since the last Interest that was not rejected, saturating.
    pub nacks: u8,
    /// Whether the latest failure was a loss found before the timeout.
    pub lost: bool,
    /// Whether the latest Interest was sent though the one before had not failed.
    pub probed: bool,
    /// Where it stands.
    pub state: State,
}

const NONE: u32 = u32::MAX;

/// A list threaded through the ring's slots, linked by segment numbers, which outlast a move to a larger ring.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct List {
    first: u32,
    last: u32,
}

/// The ring. It doubles when it must, up to a bound, and never shrinks: after warm-up nothing is allocated.
#[derive(Debug, ndnweir_state::Value)]
pub(crate) struct Segments {
    slots: Vec<Slot>,
    /// One bit per slot that is [`State::Waiting`].
    waiting: Vec<u64>,
    waiting_count: u32,
    /// No segment below is waiting.
    waiting_from: u64,
    base: u64,
    next: u64,
    limit: u64,
    outstanding: List,
    outstanding_count: u32,
    /// Held segments by when they may be requested again.
    held: BTreeSet<(Time, u64)>,
}

const EMPTY: List = List { first: NONE, last: NONE };
const SMALLEST: usize = 64;

impl Segments {
    /// An empty ring that may span up to `limit` segments.
    pub(crate) fn new(limit: usize) -> Segments {
        Segments {
            slots: vec![Slot::default(); SMALLEST],
            waiting: vec![0; SMALLEST / 64],
            waiting_count: 0,
            waiting_from: 0,
            base: 0,
            next: 0,
            limit: (limit as u64).clamp(1, 1 << 31),
            outstanding: EMPTY,
            outstanding_count: 0,
            held: BTreeSet::new(),
        }
    }

    /// The lowest segment that has not arrived.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The lowest segment never requested.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether one more new segment fits.
    pub(crate) fn has_room(&self) -> bool {
        self.next - self.base < self.limit
    }

    /// How many segments wait to be requested again.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting_count
    }

    /// How many segments have an Interest outstanding.
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding_count
    }

    /// A requested segment that has not left the ring.
    pub(crate) fn get(&self, segment: u64) -> Option<&Slot> {
        (self.base..self.next).contains(&segment).then(|| &self.slots[self.index(segment)])
    }

    pub(crate) fn get_mut(&mut self, segment: u64) -> Option<&mut Slot> {
        let index = self.index(segment);
        (self.base..self.next).contains(&segment).then(|| &mut self.slots[index])
    }

    /// A segment that was just requested.
    pub(crate) fn requested(&mut self, segment: u64) -> &mut Slot {
        let index = self.index(segment);
        &mut self.slots[index]
    }

    /// Asks for what is kept of a segment, and of the next that is requested.
    #[inline(always)]
    pub(crate) fn expect(&self, segment: u64) {
        for segment in [segment, self.next] {
            self.slots.get(self.index(segment)).into_iter().for_each(prefetch);
        }
    }

    /// The oldest outstanding Interest.
    pub(crate) fn oldest_outstanding(&self) -> Option<u64> {
        link(self.outstanding.first)
    }

    /// The held segment that may be requested again first, and when.
    pub(crate) fn first_held(&self) -> Option<(Time, u64)> {
        self.held.first().copied()
    }

    /// The segment after `segment` in its list.
    pub(crate) fn following(&self, segment: u64) -> Option<u64> {
        link(self.slots[self.index(segment)].next)
    }

    /// Begins a new segment as outstanding; call it only if there is room.
    pub(crate) fn request_new(&mut self, now: Time) -> u64 {
        let segment = self.next;
        if (self.next - self.base) as usize >= self.slots.len() {
            self.grow();
        }
        self.next += 1;
        let (index, last, state) = (self.index(segment), self.outstanding.last, State::Outstanding);
        self.slots[index] = Slot { first_sent: now, prev: last, next: NONE, state, ..Slot::default() };
        self.follow(last, segment);
        self.outstanding_count += 1;
        segment
    }

    /// The lowest waiting segment becomes outstanding.
    pub(crate) fn request_waiting(&mut self) -> Option<u64> {
        let segment = self.lowest_waiting()?;
        self.repeat(segment);
        Some(segment)
    }

    /// An outstanding segment is requested again.
    pub(crate) fn request_again(&mut self, segment: u64) {
        self.repeat(segment);
        let index = self.index(segment);
        self.slots[index].probed = true;
        self.slots[index].lost = false;
    }

    fn repeat(&mut self, segment: u64) {
        self.set_state(segment, State::Outstanding);
        let index = self.index(segment);
        self.slots[index].retransmissions = self.slots[index].retransmissions.saturating_add(1);
    }

    /// An outstanding segment is held until a time.
    pub(crate) fn hold(&mut self, segment: u64, until: Time) {
        let index = self.index(segment);
        self.slots[index].deadline = until;
        self.set_state(segment, State::Held);
    }

    /// Moves a segment to another state, and with it from list to list. The deadline of a held one must not change.
    pub(crate) fn set_state(&mut self, segment: u64, state: State) {
        let index = self.index(segment);
        match self.slots[index].state {
            State::Outstanding => {
                self.outstanding = self.unlink(self.outstanding, segment);
                self.outstanding_count -= 1;
            }
            State::Held => {
                self.held.remove(&(self.slots[index].deadline, segment));
            }
            State::Waiting => {
                self.waiting[index / 64] &= !(1 << (index % 64));
                self.waiting_count -= 1;
            }
            State::Free | State::Received => {}
        }
        self.slots[index].state = state;
        match state {
            State::Outstanding => {
                self.append(segment);
                self.outstanding_count += 1;
            }
            State::Held => {
                self.held.insert((self.slots[index].deadline, segment));
            }
            State::Waiting => {
                self.waiting[index / 64] |= 1 << (index % 64);
                self.waiting_count += 1;
                self.waiting_from = self.waiting_from.min(segment);
            }
            State::Free | State::Received => {}
        }
        self.pass_received();
    }

    /// A segment has arrived: [`Segments::set_state`], mostly of one that is outstanding.
    #[inline]
    pub(crate) fn receive(&mut self, segment: u64) {
        let index = self.index(segment);
        if self.slots[index].state != State::Outstanding {
            return self.set_state(segment, State::Received);
        }
        self.outstanding = self.unlink(self.outstanding, segment);
        self.outstanding_count -= 1;
        self.slots[index].state = State::Received;
        self.pass_received();
    }

    /// The base moves past what has arrived.
    #[inline(always)]
    fn pass_received(&mut self) {
        while self.base < self.next {
            let index = self.index(self.base);
            if self.slots[index].state != State::Received {
                break;
            }
            self.slots[index].state = State::Free;
            self.base += 1;
        }
    }

    /// Removes all segments from `end` on; returns how many of them had an Interest outstanding or were held.
    pub(crate) fn truncate(&mut self, end: u64) -> u32 {
        let mut dropped = 0;
        while self.next > end.max(self.base) {
            let segment = self.next - 1;
            let state = self.slots[self.index(segment)].state;
            dropped += u32::from(matches!(state, State::Outstanding | State::Held));
            self.set_state(segment, State::Free);
            self.next -= 1;
        }
        dropped
    }

    fn lowest_waiting(&mut self) -> Option<u64> {
        if self.waiting_count == 0 {
            return None;
        }
        let mut segment = self.waiting_from.max(self.base);
        while segment < self.next {
            let index = self.index(segment);
            let ahead = self.waiting[index / 64] >> (index % 64);
            if ahead != 0 {
                let found = segment + u64::from(ahead.trailing_zeros());
                self.waiting_from = found;
                return Some(found);
            }
            segment += 64 - (index as u64 % 64);
        }
        None
    }

    fn index(&self, segment: u64) -> usize {
        segment as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let larger = self.slots.len() * 2;
        let mut slots = vec![Slot::default(); larger];
        self.waiting = vec![0; larger / 64];
        for segment in self.base..self.next {
            let index = segment as usize & (larger - 1);
            slots[index] = self.slots[self.index(segment)];
            if slots[index].state == State::Waiting {
                self.waiting[index / 64] |= 1 << (index % 64);
            }
        }
        self.slots = slots;
    }

    /// Appends an outstanding segment to the list of these.
    fn append(&mut self, segment: u64) {
        let (index, last) = (self.index(segment), self.outstanding.last);
        (self.slots[index].prev, self.slots[index].next) = (last, NONE);
        self.follow(last, segment);
    }

    /// An outstanding segment is the one after what was the last.
    #[inline]
    fn follow(&mut self, last: u32, segment: u64) {
        match link(last) {
            Some(last) => {
                let last = self.index(last);
                self.slots[last].next = segment as u32;
            }
            None => self.outstanding.first = segment as u32,
        }
        self.outstanding.last = segment as u32;
    }

    fn unlink(&mut self, mut list: List, segment: u64) -> List {
        let Slot { prev, next, .. } = self.slots[self.index(segment)];
        match link(prev) {
            Some(before) => {
                let before = self.index(before);
                self.slots[before].next = next;
            }
            None => list.first = next,
        }
        match link(next) {
            Some(after) => {
                let after = self.index(after);
                self.slots[after].prev = prev;
            }
            None => list.last = prev,
        }
        list
    }
}

fn link(segment: u32) -> Option<u64> {
    (segment != NONE).then_some(u64::from(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outstanding(segments: &Segments) -> Vec<u64> {
        std::iter::successors(segments.oldest_outstanding(), |&s| segments.following(s)).collect()
    }

    fn with(count: u64, limit: usize) -> Segments {
        let mut segments = Segments::new(limit);
        for _ in 0..count {
            segments.request_new(Time::ZERO);
        }
        segments
    }

    #[test]
    fn the_base_follows_the_lowest_missing_segment() {
        let mut segments = with(5, 100);
        for segment in [1, 2, 4] {
            segments.set_state(segment, State::Received);
        }
        assert_eq!(segments.base(), 0);
        segments.set_state(0, State::Received);
        assert_eq!((segments.base(), outstanding(&segments)), (3, vec![3]));
    }

    #[test]
    fn waiting_segments_are_served_from_the_lowest() {
        let mut segments = with(300, 1000);
        for segment in [250, 7, 100, 8] {
            segments.set_state(segment, State::Waiting);
        }
        assert_eq!(segments.waiting(), 4);
        let served: Vec<_> = std::iter::from_fn(|| segments.request_waiting()).collect();
        assert_eq!(served, [7, 8, 100, 250]);
        segments.set_state(3, State::Waiting);
        assert_eq!(segments.request_waiting(), Some(3));
        assert_eq!(outstanding(&segments).last(), Some(&3));
    }

    #[test]
    fn the_ring_grows_to_its_bound_and_keeps_lists_and_waiting_segments() {
        let mut segments = with(60, 200);
        segments.set_state(5, State::Waiting);
        segments.hold(6, Time::from_nanos(9));
        while segments.has_room() {
            segments.request_new(Time::ZERO);
        }
        assert_eq!((segments.next(), segments.slots.len()), (200, 256));
        assert_eq!(outstanding(&segments).len(), 198);
        assert_eq!(segments.first_held(), Some((Time::from_nanos(9), 6)));
        assert_eq!(segments.request_waiting(), Some(5));
    }

    #[test]
    fn of_held_segments_the_earliest_to_be_released_comes_first_until_it_arrives() {
        let mut segments = with(10, 100);
        for (segment, until) in [(2, 30), (7, 10), (4, 20), (5, 10)] {
            segments.hold(segment, Time::from_nanos(until));
        }
        segments.set_state(7, State::Received);
        let mut order = Vec::new();
        while let Some((_, segment)) = segments.first_held() {
            order.push(segment);
            segments.set_state(segment, State::Waiting);
        }
        assert_eq!(order, [5, 4, 2]);
    }

    #[test]
    fn truncating_forgets_the_tail() {
        let mut segments = with(10, 100);
        segments.hold(8, Time::from_nanos(9));
        segments.set_state(9, State::Waiting);
        segments.set_state(7, State::Received);
        assert_eq!(segments.truncate(6), 2);
        assert_eq!((segments.next(), outstanding(&segments).len(), segments.waiting()), (6, 6, 0));
        assert_eq!((segments.get(7).map(|s| s.state), segments.first_held()), (None, None));
    }

    #[test]
    fn a_long_fetch_stays_in_a_small_ring() {
        let mut segments = Segments::new(1 << 20);
        for round in 0..10_000u64 {
            for _ in 0..10 {
                segments.request_new(Time::ZERO);
            }
            for segment in (round * 10..round * 10 + 10).rev() {
                segments.set_state(segment, State::Received);
            }
        }
        assert_eq!((segments.base(), segments.slots.len()), (100_000, SMALLEST));
    }

    #[test]
    fn a_segment_takes_at_most_a_cache_line() {
        assert!(size_of::<Slot>() <= 64, "{}", size_of::<Slot>());
    }
}

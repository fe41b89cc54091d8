//! How many flows of a kind were seen of late, in a bitmap of fixed size.

use crate::ids::FlowId;

const WORDS: usize = 4;
/// As many as [`Place`] tells apart.
const PLACES: f64 = (64 * WORDS) as f64;

/// Counts distinct flows of late by linear counting (K.-Y. Whang, B. T. Vander-Zanden, H. M. Taylor, "A linear-time
/// probabilistic counting algorithm for database applications", ACM TODS 1990). Numbers of flows follow each other, so
/// that up to 256 are exact.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub(super) struct FlowSet {
    now: [u64; WORDS],
    before: [u64; WORDS],
    /// Age of `now` in s.
    age: f64,
}

impl FlowSet {
    /// A packet of a flow passes; whether the flow was not seen of late.
    #[inline(always)]
    pub(super) fn saw(&mut self, flow: Place) -> bool {
        let is_new = !self.has(flow);
        self.now[flow.word()] |= flow.bit();
        is_new
    }

    /// Whether a packet of the flow passed of late.
    #[inline(always)]
    pub(super) fn has(&self, flow: Place) -> bool {
        (self.now[flow.word()] | self.before[flow.word()]) & flow.bit() != 0
    }

    /// Whether this or another set has the flow.
    #[inline(always)]
    pub(super) fn or_other_has(&self, other: &FlowSet, flow: Place) -> bool {
        let word = flow.word();
        (self.now[word] | self.before[word] | other.now[word] | other.before[word]) & flow.bit() != 0
    }

    /// Forgets a flow; whether it was there.
    pub(super) fn take(&mut self, flow: Place) -> bool {
        let was_there = self.has(flow);
        self.now[flow.word()] &= !flow.bit();
        self.before[flow.word()] &= !flow.bit();
        was_there
    }

    /// Whether no flow was seen of late.
    pub(super) fn is_empty(&self) -> bool {
        self.now.iter().chain(&self.before).all(|word| *word == 0)
    }

    /// `elapsed` s have passed; flows count for one to two times `window` s after their last packet.
    pub(super) fn pass(&mut self, elapsed: f64, window: f64) {
        self.age += elapsed;
        if self.age >= window {
            (self.before, self.now, self.age) = (self.now, [0; WORDS], 0.0);
        }
    }

    /// Flows seen of late; no bound when there is no free place.
    pub(super) fn count(&self) -> f64 {
        let words = self.now.iter().zip(self.before).map(|(now, before)| now | before);
        // Most are empty, and to count the bits of a word takes a dozen instructions.
        let taken: u32 = words.map(|word| if word == 0 { 0 } else { word.count_ones() }).sum();
        let free = PLACES - f64::from(taken);
        if free <= 0.0 {
            f64::MAX
        } else if free >= PLACES / 2.0 {
            // So few flows rarely share a place, as their numbers follow each other.
            f64::from(taken)
        } else {
            -PLACES * libm::log(free / PLACES)
        }
    }
}

/// A flow's place in every set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(pub(super) u8);

impl Place {
    #[inline(always)]
    pub(super) fn of(flow: FlowId) -> Place {
        Place(flow.0 as u8)
    }

    fn word(self) -> usize {
        usize::from(self.0) / 64
    }

    fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 128 of 256 places are exact. 256 · ln(256/64) = 354.9 for three quarters, and 256 · ln 256 = 1419.6 for all but one.
    #[test]
    fn flows_count_once_until_the_window_has_passed_twice() {
        let mut set = FlowSet::default();
        for flow in [7, 7, 8, 200, 7] {
            set.saw(Place(flow));
        }
        set.pass(0.1, 0.1);
        set.saw(Place::of(FlowId(256 + 9)));
        assert_eq!(set.count(), 4.0);
        set.pass(0.1, 0.1);
        assert_eq!(set.count(), 1.0);
        set.pass(0.1, 0.1);
        assert_eq!(set.count(), 0.0);
        set.saw(Place(3));
        assert!(set.take(Place(3)) && !set.take(Place(3)) && set.count() == 0.0);
        (0..192).for_each(|flow| _ = set.saw(Place(flow)));
        assert!((set.count() - 354.9).abs() < 0.1);
        (0..255).for_each(|flow| _ = set.saw(Place(flow)));
        assert!((set.count() - 1419.6).abs() < 0.1);
        assert!(!set.saw(Place::of(FlowId(256))) && set.saw(Place(255)));
        assert_eq!(set.count(), f64::MAX);
    }
}

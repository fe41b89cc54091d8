//! How an open way fills: by its own round trips.

use crate::units::{Duration, Time};

/// How many Interests an open way may get in its first round trip; as window laws begin (RFC 6928).
const FIRST_ROUND: u32 = 10;
/// And in each after it, over the Data that came in the last; one more than these once its queue was marked (ours).
const NEXT_ROUND: u32 = 2;
/// And after one in which it was marked; as `beta` of BIC.
const AFTER_MARK: f64 = 0.8;

/// What went to an open way, and came from it, in one round trip. Else all ways would fill at the speed of the shortest, and
/// what the longer ones get too much of is known a round trip later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    since: Time,
    asked: u32,
    answered: u32,
    allowed: u32,
    /// Whether its queue was marked in this round trip, and whether it was before.
    is_marked: bool,
    is_full: bool,
    /// The most Data of a round trip, in one second.
    pub(super) best: f64,
}

impl Round {
    fn is_over(&self, now: Time, rtt: Option<Duration>) -> bool {
        rtt.is_some_and(|rtt| now.since(self.since) >= rtt)
    }

    /// An Interest goes there, which takes `rtt` if that is known.
    pub(super) fn ask(&mut self, now: Time, rtt: Option<Duration>) {
        if self.is_over(now, rtt) {
            let Round { answered, is_marked, .. } = *self;
            let is_full = self.is_full || is_marked;
            let allowed = match (is_marked, is_full) {
                (true, _) => (f64::from(answered) * AFTER_MARK) as u32,
                (_, true) => answered.saturating_add(1),
                _ => answered.saturating_mul(NEXT_ROUND),
            };
            let best = self.best.max(f64::from(answered) / now.since(self.since).secs().max(1e-9));
            *self = Round { since: now, allowed, asked: 0, answered: 0, is_marked: false, is_full, best };
        }
        self.asked = self.asked.saturating_add(1);
    }

    /// A Data comes from there; whether it is marked.
    pub(super) fn answer(&mut self, marked: bool) {
        self.is_marked |= marked;
        self.answered = self.answered.saturating_add(1);
    }

    /// Whether another Interest may go there.
    pub(super) fn has_room(&self, now: Time, rtt: Option<Duration>) -> bool {
        self.is_over(now, rtt) || self.asked < self.allowed.max(if self.is_full { 1 } else { FIRST_ROUND })
    }

    /// Whether it may get more in each round trip.
    pub(super) fn grows(&self) -> bool {
        !self.is_full && !self.is_marked
    }
}

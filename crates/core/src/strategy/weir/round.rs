//! How an open way fills: by its own round trips.

use crate::units::{Duration, Time};

/// How many Interests an open way may get in its first round trip; as window laws begin (RFC 6928).
const FIRST_ROUND: u32 = 10;
/// And in each after it, over the Data that came in the last.
const NEXT_ROUND: u32 = 2;

/// What went to an open way, and came from it, in one round trip. Else all ways would fill at the speed of the shortest, and
/// what the longer ones get too much of is known a round trip later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    since: Time,
    asked: u32,
    answered: u32,
    allowed: u32,
    /// When a Data came last.
    pub(super) heard: Time,
}

impl Round {
    fn is_over(&self, now: Time, rtt: Option<Duration>) -> bool {
        rtt.is_some_and(|rtt| now.since(self.since) >= rtt)
    }

    /// An Interest goes there, which takes `rtt` if that is known.
    pub(super) fn ask(&mut self, now: Time, rtt: Option<Duration>) {
        if self.is_over(now, rtt) {
            let allowed = NEXT_ROUND.saturating_mul(self.answered);
            *self = Round { since: now, allowed, asked: 0, answered: 0, heard: self.heard };
        }
        self.asked = self.asked.saturating_add(1);
    }

    /// A Data comes from there.
    pub(super) fn answer(&mut self, now: Time) {
        self.heard = now;
        self.answered = self.answered.saturating_add(1);
    }

    /// Whether another Interest may go there.
    pub(super) fn has_room(&self, now: Time, rtt: Option<Duration>) -> bool {
        self.is_over(now, rtt) || self.asked < self.allowed.max(FIRST_ROUND)
    }
}

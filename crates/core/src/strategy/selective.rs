//! Selective congestion notification (resource pooling, method B): of the marks that reach a branching router by
//! several paths within a short time, only the first is passed on.
//!
//! A consumer has one window for all paths; marks of several congested paths together would cut it too often (the loss
//! path multiplicity problem). Source: Sakamoto, Hayamizu, Yamamoto, IEICE ComEx 13, 2024, §3.2.
//!
//! The text says that signals "subsequently received from other interfaces" are not propagated, and closes with "only
//! one (the first) congestion signal is replied to consumers per congestion in the CoDel-interval": two readings, both
//! here. Ours: the interval starts with the mark that is passed on and is not renewed; it is kept per prefix and
//! downstream.

use crate::ids::{FaceId, PrefixId};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which marks are held back after one was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Suppress {
    /// None.
    None,
    /// Those from other next hops.
    Others,
    /// All.
    All,
}

/// What was passed on to one downstream last.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Passed {
    downstream: FaceId,
    from: FaceId,
    until: Time,
}

/// The intervals in flight.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct MarkFilter {
    /// By prefix; an entry per downstream at most.
    passed: Vec<Vec<Passed>>,
}

impl MarkFilter {
    /// Whether the mark of a Data that came from `from` is passed on to `downstream`.
    pub fn passes(
        &mut self,
        suppress: Suppress,
        interval: Duration,
        prefix: PrefixId,
        from: FaceId,
        downstream: FaceId,
        now: Time,
    ) -> bool {
        if self.passed.len() <= prefix.index() {
            self.passed.resize_with(prefix.index() + 1, Vec::new);
        }
        let entries = &mut self.passed[prefix.index()];
        let fresh = Passed { downstream, from, until: now + interval };
        match entries.iter_mut().find(|passed| passed.downstream == downstream) {
            Some(last) if now < last.until => match suppress {
                Suppress::None => true,
                Suppress::Others => last.from == from,
                Suppress::All => false,
            },
            Some(last) => {
                *last = fresh;
                true
            }
            None => {
                entries.push(fresh);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these marks, given as (ms, next hop), pass on to downstream 9.
    fn passed(suppress: Suppress, marks: &[(u64, u16)]) -> Vec<bool> {
        let mut filter = MarkFilter::default();
        let mut pass = |&(ms, face): &(u64, u16)| {
            let now = Time::ZERO + Duration::from_millis(ms);
            filter.passes(suppress, Duration::from_millis(110), PrefixId(3), FaceId(face), FaceId(9), now)
        };
        marks.iter().map(&mut pass).collect()
    }

    // By hand: 1000 opens an interval that ends at 1110; the mark at 1110 opens the next, until 1220.
    #[test]
    fn after_a_mark_those_of_other_paths_are_held_back_for_110_ms() {
        let marks = [(1000, 1), (1000, 2), (1050, 1), (1109, 2), (1110, 2), (1111, 1), (1219, 2), (1220, 1)];
        assert_eq!(passed(Suppress::Others, &marks), [true, false, true, false, true, false, true, true]);
        assert_eq!(passed(Suppress::All, &marks), [true, false, false, false, true, false, false, true]);
        assert_eq!(passed(Suppress::None, &marks), [true; 8]);
    }

    // The mark at 1100 passes (its own path) but does not renew the interval, so that path 2 passes at 1110.
    #[test]
    fn a_mark_that_passes_within_the_interval_does_not_renew_it() {
        assert_eq!(passed(Suppress::Others, &[(1000, 1), (1100, 1), (1110, 2)]), [true, true, true]);
    }

    #[test]
    fn downstreams_and_prefixes_have_intervals_of_their_own() {
        let (mut filter, interval, now) = (MarkFilter::default(), Duration::from_millis(110), Time::ZERO);
        let mut pass = |prefix, face, downstream| {
            filter.passes(Suppress::All, interval, PrefixId(prefix), FaceId(face), FaceId(downstream), now)
        };
        assert!(pass(0, 1, 8) && pass(0, 2, 9) && pass(5, 1, 8));
        assert!(!pass(0, 1, 8) && !pass(0, 1, 9));
    }
}

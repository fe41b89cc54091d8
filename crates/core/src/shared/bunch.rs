//! Data that arrive in bunches: how many more than the rate explains.
//!
//! Source: draft-ietf-ccwg-bbr, UpdateACKAggregation, which Linux's BBR of version 1 has as well
//! (`bbr_update_ack_aggregation`, `net/ipv4/tcp_bbr.c`, version 6).

use crate::units::{Duration, Time};

/// Counts arrivals against what is expected.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Bunch {
    since: Time,
    arrived: f64,
}

impl Bunch {
    /// A Data arrived; `expected` says how many arrive in a time. By how many the count exceeds that; it begins anew
    /// once it does not.
    pub fn on_data(&mut self, expected: impl Fn(Duration) -> f64, now: Time) -> f64 {
        let mut due = expected(now.since(self.since));
        if self.arrived <= due {
            (*self, due) = (Bunch { since: now, arrived: 0.0 }, 0.0);
        }
        self.arrived += 1.0;
        self.arrived - due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 1000 a second are expected. Ten at once are counted from the first on; 4 ms later four of them were due; 20 ms
    // later more were due than came, and the count begins anew.
    #[test]
    fn what_exceeds_the_expected_is_counted_until_the_expected_has_caught_up() {
        let mut bunch = Bunch::default();
        let mut at = |ms: u64| bunch.on_data(|time| 1000.0 * time.secs(), Time::ZERO + Duration::from_millis(ms));
        assert_eq!((0..10).map(|_| at(100)).collect::<Vec<_>>(), (1..=10).map(f64::from).collect::<Vec<_>>());
        assert!((at(104) - 7.0).abs() < 1e-9);
        assert_eq!((at(120), at(120)), (1.0, 2.0));
    }
}

//! At most one reaction per window, or per round trip.

use crate::consumer::Flight;
use crate::units::Time;

/// Admits a signal only once a segment beyond the recovery point has arrived, then sets a new recovery point.
///
/// The rule of RFC 6675's `HighData > RecoveryPoint` as NDN consumers use it. With `extra` = 0 the point is the next
/// new segment (PCON 2016); ndnSIM's ConsumerPcon adds half the distance from the highest segment received. Segments
/// count from 0 and the first point is 0, so nothing is admitted before segment 1 has arrived (true of both sources).
/// ndn-tools' point is one lower, the highest segment requested, and it compares a lost segment itself with the point.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct WindowGuard {
    extra: f64,
    recovery_point: f64,
}

impl WindowGuard {
    /// `extra`: how far beyond the next new segment the recovery point lies, in units of (next − highest received).
    pub fn new(extra: f64) -> WindowGuard {
        WindowGuard { extra, recovery_point: 0.0 }
    }

    /// Whether to react now; if so, further signals are rejected for one window.
    pub fn admit(&mut self, flight: &Flight) -> bool {
        let highest = flight.highest_received.unwrap_or(0) as f64;
        if highest <= self.recovery_point {
            return false;
        }
        let next = flight.next_segment as f64;
        self.recovery_point = next + self.extra * (next - highest);
        true
    }
}

/// Admits a signal about an Interest only if that left after the last reaction: one in a round trip.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct RoundTripGuard(Option<Time>);

impl RoundTripGuard {
    /// Whether to react now to what happened to an Interest that left at `sent`; if so, others sent up to now do not
    /// count.
    pub fn admit(&mut self, sent: Time, now: Time) -> bool {
        let admits = self.0.is_none_or(|last| sent > last);
        if admits {
            self.reject_until(now);
        }
        admits
    }

    /// What was sent up to `now` does not count.
    pub fn reject_until(&mut self, now: Time) {
        self.0 = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_round_trip_one_signal_is_admitted() {
        let at = Time::from_nanos;
        let mut guard = RoundTripGuard::default();
        assert!(guard.admit(at(0), at(10)));
        assert!(!guard.admit(at(10), at(20)) && guard.admit(at(11), at(20)));
        guard.reject_until(at(30));
        assert!(!guard.admit(at(30), at(40)) && guard.admit(at(31), at(40)));
    }

    fn flight(highest: u64, next: u64) -> Flight {
        Flight { highest_received: Some(highest), next_segment: next, ..Flight::default() }
    }

    #[test]
    fn a_second_signal_in_the_window_is_rejected() {
        let mut guard = WindowGuard::new(0.0);
        assert!(guard.admit(&flight(10, 20)));
        assert!(!guard.admit(&flight(11, 22)));
        assert!(!guard.admit(&flight(20, 30)));
        assert!(guard.admit(&flight(21, 31)));
    }

    #[test]
    fn nothing_is_admitted_before_segment_1_has_arrived() {
        let mut guard = WindowGuard::new(0.5);
        assert!(!guard.admit(&Flight { next_segment: 5, ..Flight::default() }));
        assert!(!guard.admit(&flight(0, 5)));
        assert!(guard.admit(&flight(1, 5)));
    }

    #[test]
    fn the_point_of_consumer_pcon_is_a_real_number() {
        // 6 + 0.5·(6 − 1) = 8.5: segment 8 is not beyond it, 9 is.
        let mut guard = WindowGuard::new(0.5);
        assert!(guard.admit(&flight(1, 6)));
        assert!(!guard.admit(&flight(8, 12)));
        assert!(guard.admit(&flight(9, 12)));
    }

    #[test]
    fn consumer_pcon_waits_about_one_and_a_half_round_trips() {
        let mut guard = WindowGuard::new(0.5);
        assert!(guard.admit(&flight(10, 20)));
        assert!(!guard.admit(&flight(25, 35)));
        assert!(guard.admit(&flight(26, 36)));
    }
}

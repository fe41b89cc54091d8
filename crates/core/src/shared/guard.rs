//! At most one reaction per window.

use crate::consumer::Flight;

/// Admits a signal only once a segment beyond the recovery point has arrived, then sets a new recovery point.
///
/// The rule of RFC 6675's `HighData > RecoveryPoint` as NDN consumers use it. With `extra` = 0 the point is the next
/// new segment (PCON 2016, ndn-tools); ndnSIM's ConsumerPcon adds half the distance from the highest segment received.
#[derive(Clone, Copy, Debug)]
pub struct WindowGuard {
    extra: f64,
    recovery_point: f64,
}

impl WindowGuard {
    /// `extra`: how far beyond the next new segment the recovery point lies, in units of (next − highest received).
    pub fn new(extra: f64) -> WindowGuard {
        WindowGuard { extra, recovery_point: 0.0 }
    }

    /// Whether to react now; if so, further signals are refused for one window.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(highest: u64, next: u64) -> Flight {
        Flight { highest_received: Some(highest), next_segment: next, ..Flight::default() }
    }

    #[test]
    fn a_second_signal_in_the_window_is_refused() {
        let mut guard = WindowGuard::new(0.0);
        assert!(guard.admit(&flight(10, 20)));
        assert!(!guard.admit(&flight(11, 22)));
        assert!(!guard.admit(&flight(20, 30)));
        assert!(guard.admit(&flight(21, 31)));
    }

    #[test]
    fn consumer_pcon_waits_about_one_and_a_half_round_trips() {
        let mut guard = WindowGuard::new(0.5);
        assert!(guard.admit(&flight(10, 20)));
        assert!(!guard.admit(&flight(25, 35)));
        assert!(guard.admit(&flight(26, 36)));
    }
}

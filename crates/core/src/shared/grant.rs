//! A rate granted by a neighbour, which holds for a limited time.
//!
//! Without an end a neighbour that granted one packet per second once, by a fault or on purpose, would limit a flow
//! forever if there is no later grant. Ours.

use crate::units::{Duration, Time};

/// How long a grant counts at least.
const MIN_VALIDITY: Duration = Duration::from_millis(2000);
/// And for this many packets at its rate, as an update may come with those only.
const PACKETS: f64 = 4.0;

/// The last rate granted, in packets/s.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Grant {
    rate: f64,
    until: Time,
}

impl Grant {
    /// Nothing is granted, so nothing is limited.
    pub const NONE: Grant = Grant { rate: f64::INFINITY, until: Time::ZERO };

    /// Reads a header field; 0 is no grant, and leaves the last one. Whether it is one.
    pub fn receive(&mut self, field: u32, now: Time) -> bool {
        if field > 0 {
            let rate = f64::from(field);
            *self = Grant { rate, until: now + MIN_VALIDITY.max(Duration::from_secs_f64(PACKETS / rate)) };
        }
        field > 0
    }

    /// The limit now, in packets/s: at least 1, or infinite.
    pub fn at(&self, now: Time) -> f64 {
        if now < self.until { self.rate } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_grant_counts_for_two_seconds_or_four_packets_and_then_no_longer() {
        let mut grant = Grant::NONE;
        assert_eq!((grant.receive(0, ms(0)), grant.at(ms(0))), (false, f64::INFINITY));
        assert!(grant.receive(100, ms(0)));
        assert_eq!([0, 1999, 2000].map(|t| grant.at(ms(t))), [100.0, 100.0, f64::INFINITY]);
        grant.receive(1, ms(3000));
        grant.receive(0, ms(6000));
        assert_eq!([3000, 6999, 7000].map(|t| grant.at(ms(t))), [1.0, 1.0, f64::INFINITY]);
        grant.receive(u32::MAX, ms(8000));
        assert_eq!(grant.at(ms(8001)), f64::from(u32::MAX));
    }
}

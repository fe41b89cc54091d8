//! How many Data arrive in bunches: beyond what the delivery rate would bring in the same time.
//!
//! Source: Linux's `bbr_update_ack_aggregation` (`net/ipv4/tcp_bbr.c`, version 6); draft-ietf-ccwg-bbr,
//! "BBR.extra_acked".

use crate::shared::bunch::Bunch;
use crate::units::Time;

/// The largest excess of the last one to two spans of some round trips.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Aggregation {
    bunch: Bunch,
    /// The largest excess of the span before and of this one.
    extra: [f64; 2],
    /// Round trips of this span.
    rounds: u32,
}

impl Aggregation {
    /// A Data arrived; `span` is given as a round trip begins, and says how many make a span. The excess counts up to
    /// the window.
    pub(super) fn on_data(&mut self, bandwidth: f64, window: f64, span: Option<u32>, now: Time) {
        if let Some(span) = span {
            self.rounds += 1;
            if self.rounds >= span {
                self.rounds = 0;
                self.extra = [self.extra[1], 0.0];
            }
        }
        let excess = self.bunch.on_data(|time| libm::floor(bandwidth * time.secs()), now);
        self.extra[1] = self.extra[1].max(excess.min(window));
    }

    /// The excess, in segments.
    pub(super) fn extra(&self) -> f64 {
        self.extra[0].max(self.extra[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    // 1000 a second are expected. Eight at once every 10 ms are two less than expected, so that each bunch begins a
    // count: the excess is eight. Arrivals 1 ms apart, once the count has begun anew, are the one at hand.
    #[test]
    fn the_excess_is_the_bunch_beyond_what_the_rate_brings_and_is_forgotten_after_two_spans() {
        let mut aggregation = Aggregation::default();
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        for bunch in 1..=5 {
            (0..8).for_each(|_| aggregation.on_data(1000.0, 100.0, None, at(10 * bunch)));
        }
        assert_eq!(aggregation.extra(), 8.0);
        (0..200).for_each(|_| aggregation.on_data(1000.0, 6.0, None, at(60)));
        assert_eq!(aggregation.extra(), 8.0, "never more than the window");
        let mut seen = Vec::new();
        for ms in 1000..1010 {
            aggregation.on_data(1000.0, 100.0, Some(5), at(ms));
            seen.push(aggregation.extra());
        }
        assert_eq!(seen, [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 1.0]);
    }
}

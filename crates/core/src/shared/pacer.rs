//! Pacing: a gap between one packet and the next.

use crate::units::{Duration, Time};

/// Keeps the gap. The next packet's due time is fixed when a packet is sent; a later change of pace does not move it,
/// unless [`Pacer::hasten`] says so.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Pacer {
    due: Time,
}

impl Pacer {
    /// A pacer that sends the first packet immediately.
    pub fn new() -> Pacer {
        Pacer::default()
    }

    /// Whether a packet may go now.
    pub fn ready(&self, now: Time) -> bool {
        now >= self.due
    }

    /// A packet was sent; the next may follow after `gap`, or at once if there is none.
    pub fn sent(&mut self, now: Time, gap: Option<Duration>) {
        self.due = now + gap.unwrap_or(Duration::ZERO);
    }

    /// As [`Pacer::sent`], for a sender that wakes late: gaps missed meanwhile, up to `slack` of time, are not lost.
    pub fn sent_late(&mut self, now: Time, gap: Duration, slack: Duration) {
        let earliest = Time::from_nanos(now.nanos().saturating_sub(slack.nanos()));
        self.due = self.due.max(earliest) + gap;
    }

    /// The next packet may go `gap` after now, if it was to go later.
    pub fn hasten(&mut self, now: Time, gap: Option<Duration>) {
        self.due = self.due.min(now + gap.unwrap_or(Duration::ZERO));
    }

    /// When the next packet may go.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The gap that spreads `window` packets over a round trip, `gain` times as fast (RFC 9002 §7.7 uses 1.25).
    ///
    /// None before the first round-trip sample, and for a window or gain that is not positive.
    pub fn gap(window: f64, srtt: Duration, gain: f64) -> Option<Duration> {
        let per_round_trip = window * gain;
        (srtt > Duration::ZERO && per_round_trip > 0.0).then(|| srtt.scale(1.0 / per_round_trip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduled_packet_is_not_moved_by_a_new_pace() {
        let mut pacer = Pacer::new();
        assert!(pacer.ready(Time::ZERO));
        pacer.sent(Time::from_nanos(1000), Some(Duration::from_nanos(500)));
        assert_eq!(pacer.due(), Time::from_nanos(1500));
        assert!(!pacer.ready(Time::from_nanos(1499)) && pacer.ready(Time::from_nanos(1500)));
        pacer.sent(Time::from_nanos(1600), None);
        assert!(pacer.ready(Time::from_nanos(1600)));
    }

    #[test]
    fn a_packet_is_hastened_and_never_put_off() {
        let (mut pacer, ns) = (Pacer::new(), Duration::from_nanos);
        pacer.sent(Time::from_nanos(1000), Some(ns(5000)));
        pacer.hasten(Time::from_nanos(2000), Some(ns(100)));
        assert_eq!(pacer.due(), Time::from_nanos(2100));
        pacer.hasten(Time::from_nanos(2050), Some(ns(500)));
        assert_eq!(pacer.due(), Time::from_nanos(2100));
        pacer.hasten(Time::from_nanos(2060), None);
        assert!(pacer.ready(Time::from_nanos(2060)));
    }

    #[test]
    fn a_sender_that_wakes_late_makes_up_for_no_more_than_the_slack() {
        let (gap, slack) = (Duration::from_nanos(10), Duration::from_nanos(25));
        let mut pacer = Pacer::new();
        pacer.sent_late(Time::from_nanos(100), gap, slack);
        assert_eq!(pacer.due(), Time::from_nanos(85));
        let burst = (0..10).take_while(|_| {
            let ready = pacer.ready(Time::from_nanos(100));
            pacer.sent_late(Time::from_nanos(100), gap, slack);
            ready
        });
        // Due at 85, 95 and 105.
        assert_eq!(burst.count(), 2);
    }

    #[test]
    fn a_window_spreads_over_the_round_trip() {
        // 100 ms / (10 · 1.25) = 8 ms.
        assert_eq!(Pacer::gap(10.0, Duration::from_millis(100), 1.25), Some(Duration::from_millis(8)));
        assert_eq!(Pacer::gap(10.0, Duration::ZERO, 1.0), None);
        assert_eq!(Pacer::gap(f64::NAN, Duration::from_millis(1), 1.0), None);
    }
}

//! How fast segments arrive: no pace need be slower than that.
//!
//! A pace is the window over the smoothed round trip. Where links retransmit what they lose, or ways are of different
//! length, round trips are measured of some Data only, and their mean can be far above the time in which a window is
//! answered. Data that arrive show what the path carries.

use ndnweir_core::units::{Duration, Time};

/// Over at least this; a process of a busy machine wakes later than it was to.
const SHORTEST: Duration = Duration::from_millis(2);

/// Segments that arrived, by periods of a round trip.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(crate) struct Arrivals {
    since: Time,
    segments: u32,
    /// Between two segments in the last whole period.
    gap: Option<Duration>,
}

impl Arrivals {
    /// A segment arrived.
    pub(crate) fn arrived(&mut self, now: Time, srtt: Duration) {
        self.segments = self.segments.saturating_add(1);
        let elapsed = now.since(self.since);
        if elapsed >= srtt.max(SHORTEST) {
            self.gap = Some(elapsed / u64::from(self.segments));
            (self.since, self.segments) = (now, 0);
        }
    }

    /// The longest gap between two Interests, `gain` times as dense as segments arrived in the last round trip.
    pub(crate) fn gap(&self, gain: f64) -> Duration {
        self.gap.map_or(Duration::from_nanos(u64::MAX), |gap| gap.scale(1.0 / gain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_that_of_the_last_whole_round_trip() {
        let (mut arrivals, srtt) = (Arrivals::default(), Duration::from_millis(10));
        assert_eq!(arrivals.gap(1.25).nanos(), u64::MAX, "nothing is known");
        for ms in 1..=15 {
            arrivals.arrived(Time::from_nanos(ms * 1_000_000), srtt);
        }
        assert_eq!(arrivals.gap(1.25), Duration::from_micros(800));
        for ms in [16, 18, 19, 20] {
            arrivals.arrived(Time::from_nanos(ms * 1_000_000), srtt);
        }
        assert_eq!(arrivals.gap(1.0), Duration::from_nanos(1_111_111), "ten ms with nine");
    }
}

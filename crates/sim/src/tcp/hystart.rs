//! HyStart: CUBIC leaves slow start when acknowledgements show that the path is full, before anything is lost.
//!
//! Source: Ha and Rhee, "Taming the elephants: New TCP slow start" (2011), with the constants of Linux 6
//! (`net/ipv4/tcp_cubic.c`); RFC 9438 §4.10 recommends a successor of it, HyStart++.

use ndnweir_core::units::{Duration, Time};

/// The window from which on it looks, in segments.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements at most this far apart belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// What the acknowledgements of a train may be late; Linux has 1 ms below about 2 Gbit/s.
const TRAIN_ALLOWANCE: Duration = Duration::from_millis(1);
/// Samples of a round trip before its least one counts.
const SAMPLES: u32 = 8;
/// Bounds of the increase that counts, an eighth of the least round-trip time.
const LEAST_INCREASE: Duration = Duration::from_millis(4);
const MOST_INCREASE: Duration = Duration::from_millis(16);

/// One slow start.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct HyStart {
    least: Option<Duration>,
    /// The round trip: when it began, the segment that ends it, its last acknowledgement of the train, its samples and
    /// the least of them.
    start: Time,
    end: u64,
    last: Time,
    samples: u32,
    least_now: Option<Duration>,
}

impl HyStart {
    /// Takes a round-trip time; `first` is the first segment not acknowledged, `next` the first not sent. Returns
    /// whether the window is large enough.
    pub(super) fn on_rtt(&mut self, now: Time, rtt: Duration, window: f64, first: u64, next: u64) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if window < LOW_WINDOW {
            return false;
        }
        if first > self.end {
            *self = HyStart { least: self.least, start: now, end: next, last: now, samples: 0, least_now: None };
        }
        if now.since(self.last) <= TRAIN_GAP {
            self.last = now;
            // Half of the least round-trip time: where nothing paces, a train of half the path's content fills it.
            let enough = (least + TRAIN_ALLOWANCE).nanos() / 2;
            if now.since(self.start).nanos() > enough {
                return true;
            }
        }
        let least_now = self.least_now.map_or(rtt, |least| least.min(rtt));
        self.least_now = Some(least_now);
        self.samples += 1;
        let increase = Duration::from_nanos(least.nanos() / 8).clamp(LEAST_INCREASE, MOST_INCREASE);
        self.samples > SAMPLES && least_now > least + increase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    // Acknowledgements 0.6 ms apart, of 40 ms: the train is longer than (40 + 1)/2 ms with the 36th, 21 ms after the
    // first. 2.5 ms apart they are no train.
    #[test]
    fn a_train_of_acknowledgements_ends_slow_start_after_half_the_least_round_trip_time() {
        for (gap, expected) in [(600, Some(35)), (2500, None)] {
            let mut start = HyStart::default();
            let rtt = Duration::from_millis(40);
            let found = (0..60).find(|&i| start.on_rtt(at(40_000 + gap * i), rtt, 20.0, i + 1, 100));
            assert_eq!(found, expected);
        }
    }

    // The least of nine samples lies 5 ms above 40 ms, an eighth: not enough. 5.1 ms are, from the ninth on; a ninth
    // sample of 41 ms shows that the queue is empty.
    #[test]
    fn round_trips_an_eighth_above_the_least_end_slow_start() {
        for (rtt, ninth, expected) in [(45_000, 45_000, None), (45_100, 45_100, Some(8)), (45_100, 41_000, None)] {
            let mut start = HyStart::default();
            assert!(!start.on_rtt(at(0), Duration::from_micros(40_000), 10.0, 1, 20));
            let found = (0..12).find(|&i| {
                let rtt = Duration::from_micros(if i == 8 { ninth } else { rtt });
                start.on_rtt(at(50_000 + 3000 * i), rtt, 20.0, 2 + i, 100)
            });
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn windows_below_sixteen_segments_are_left_alone() {
        let mut start = HyStart::default();
        assert!((0..100).all(|i| !start.on_rtt(at(600 * i), Duration::from_micros(40_000 + 600 * i), 15.9, i, 100)));
    }
}

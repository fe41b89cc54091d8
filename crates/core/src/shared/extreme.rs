//! The least or largest of the samples of the last while, in bounded memory.

use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The most samples that are stored: one for each such part of the time looked back over.
const PARTS: u64 = 64;

/// A sliding extreme. A sample counts for the time looked back over, exact to 1/64 of it.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Extreme {
    /// Whether it is the largest that counts.
    is_largest: bool,
    /// Those that can still become the extreme, from the best and oldest to the newest.
    samples: VecDeque<(Time, f64)>,
}

impl Extreme {
    /// The least sample.
    pub fn least() -> Extreme {
        Extreme { is_largest: false, samples: VecDeque::new() }
    }

    /// The largest sample.
    pub fn largest() -> Extreme {
        Extreme { is_largest: true, samples: VecDeque::new() }
    }

    /// Whether the first of two samples is kept rather than the second.
    fn is_better(&self, a: f64, b: f64) -> bool {
        if self.is_largest { a > b } else { a < b }
    }

    /// Adds a sample, and removes those older than `within`; the newest stays however old it is. Time must not run
    /// backwards.
    pub fn push(&mut self, value: f64, now: Time, within: Duration) {
        while self.samples.back().is_some_and(|&(_, newest)| !self.is_better(newest, value)) {
            self.samples.pop_back();
        }
        let part = Duration::from_nanos(within.nanos() / PARTS);
        match self.samples.back() {
            // It would only count once the better one before it, hardly older, has gone.
            Some(&(newest, _)) if self.samples.len() > 1 && now.since(newest) < part => {}
            _ => self.samples.push_back((now, value)),
        }
        while self.samples.len() > 1 && now.since(self.samples[0].0) > within {
            self.samples.pop_front();
        }
        // Only where the time looked back over has grown since.
        while self.samples.len() > 2 * PARTS as usize {
            self.samples.pop_front();
        }
    }

    /// The extreme; none before the first sample.
    pub fn get(&self) -> Option<f64> {
        self.samples.front().map(|&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    #[test]
    fn the_extremes_are_those_of_the_last_second() {
        let (mut least, mut largest) = (Extreme::least(), Extreme::largest());
        let mut push = |at: u64, value: f64| {
            let now = Time::from_nanos(at * 1_000_000);
            least.push(value, now, Duration::from_millis(1000));
            largest.push(value, now, Duration::from_millis(1000));
            (least.get().unwrap(), largest.get().unwrap())
        };
        assert_eq!(push(0, 5.0), (5.0, 5.0));
        assert_eq!(push(400, 3.0), (3.0, 5.0));
        assert_eq!(push(900, 4.0), (3.0, 5.0));
        assert_eq!(push(1_100, 4.5), (3.0, 4.5));
        assert_eq!(push(1_500, 6.0), (4.0, 6.0));
        assert_eq!(push(9_000, 7.0), (7.0, 7.0));
    }

    proptest! {
        #[test]
        fn the_least_lies_between_those_of_the_whole_time_and_of_a_64th_less(
            samples in prop::collection::vec((0u64..40, any::<u8>()), 1..400),
        ) {
            let within = Duration::from_millis(1000);
            let (mut least, mut now, mut all) = (Extreme::least(), Time::ZERO, Vec::new());
            for (wait, value) in samples {
                now += Duration::from_millis(wait);
                all.push((now, f64::from(value)));
                least.push(f64::from(value), now, within);
                let of = |within: Duration| {
                    let recent = all.iter().filter(|(at, _)| now.since(*at) <= within).map(|&(_, value)| value);
                    recent.fold(f64::INFINITY, f64::min)
                };
                let got = least.get().unwrap();
                prop_assert!(got >= of(within) && got <= of(Duration::from_nanos(within.nanos() * 63 / 64)));
                prop_assert!(least.samples.len() <= 130);
            }
        }
    }
}

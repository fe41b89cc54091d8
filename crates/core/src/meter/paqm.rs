//! The laws of PAQM: from the queueing delay of a hop to a mark on the Data that measured it.
//!
//! Source: Ye, Lee, Qiao, "Hop-by-Hop Congestion Measurement and Practical Active Queue Management in NDN" (2020),
//! section IV.B and equation (6); the immediate mark and the RED form are only in the first author's simulator.

use crate::ctx::Rng;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two readings of equation (6), Δ := Δ/√N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// As printed: the shortened interval is divided again, so that Δ = Δ₀/√(N!).
    Compounding,
    /// CoDel's control law, which the text refers to: Δ = Δ₀/√N.
    Codel,
}

/// The states of the paper's figure 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub enum State {
    /// The delay was below the target.
    Healthy,
    /// The delay is above the target, for less than the interval so far.
    Alert,
    /// This Data is marked; the next one finds the state Alert again.
    Congested,
}

/// Constants of [`PaqmCodel`].
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Constants {
    /// The delay that is tolerated.
    pub target: Duration,
    /// Δ₀.
    pub interval: Duration,
    /// How Δ shrinks.
    pub spacing: Spacing,
    /// The delay from which every Data is marked.
    pub immediate: Option<Duration>,
}

/// PAQM-CoDel for one face.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct PaqmCodel {
    constants: Constants,
    above: bool,
    since: Time,
    gap: Duration,
    marks: u32,
}

impl PaqmCodel {
    /// Starts Healthy.
    pub fn new(constants: Constants) -> PaqmCodel {
        PaqmCodel { constants, above: false, since: Time::ZERO, gap: constants.interval, marks: 0 }
    }

    /// A Data came through the hop with this queueing delay; it is to be marked if the state is [`State::Congested`].
    pub fn observe(&mut self, delay: Duration, now: Time) -> State {
        let Constants { target, interval, immediate, .. } = self.constants;
        if delay < target {
            *self = PaqmCodel { above: false, gap: interval, marks: 0, ..*self };
            return State::Healthy;
        }
        let severe = immediate.is_some_and(|immediate| delay >= immediate);
        if !self.above && !severe {
            self.above = true;
            self.since = now;
            return State::Alert;
        }
        if !severe && now.since(self.since) < self.gap {
            return State::Alert;
        }
        self.above = true;
        self.since = now;
        self.marks = self.marks.saturating_add(1);
        let shrink = 1.0 / libm::sqrt(f64::from(self.marks));
        self.gap = match self.constants.spacing {
            Spacing::Compounding => self.gap.scale(shrink),
            Spacing::Codel => interval.scale(shrink),
        };
        State::Congested
    }

    /// N of equation (6): Data marked since the delay rose above the target.
    pub fn marks(&self) -> u32 {
        self.marks
    }
}

/// The RED form: no mark up to `min`, every Data from `max` on, in between with a probability that grows in proportion.
pub fn red_marks(delay: Duration, min: Duration, max: Duration, rng: &mut Rng) -> bool {
    if delay <= min {
        return false;
    }
    delay >= max || rng.unit() * (max - min).secs() < (delay - min).secs()
}

/// An exponentially weighted mean of delays.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Smoothed(Option<Duration>);

impl Smoothed {
    /// Adds `delay` with `weight` (1 keeps only the newest) and returns the mean.
    pub fn update(&mut self, delay: Duration, weight: f64) -> Duration {
        let mean = match self.0 {
            Some(mean) => mean.scale(1.0 - weight) + delay.scale(weight),
            None => delay,
        };
        self.0 = Some(mean);
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    const DEFAULT: Constants = Constants {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        spacing: Spacing::Compounding,
        immediate: None,
    };

    /// Times in ms of the first marks when a Data with 10 ms of queueing delay comes every 0.1 ms from time 0.
    fn marks(constants: Constants, n: usize) -> Vec<f64> {
        let mut law = PaqmCodel::new(constants);
        let times = (0..5000).map(|i| Time::from_nanos(i * 100_000));
        let marked = times.filter(|&t| law.observe(Duration::from_millis(10), t) == State::Congested);
        marked.take(n).map(|t| t.secs() * 1e3).collect()
    }

    // Python: t = g = 0.1; for n in 1..5: print(t); g /= sqrt(n); t += g
    // 100, 200, 270.711, 311.536, 331.948; with Data every 0.1 ms each mark falls on the first Data after, and the next
    // interval starts there: 100, 200, 270.8 (+40.825 =) 311.7 (+20.412 =) 332.2.
    #[test]
    fn compounding_marks_fall_at_100_200_270_7_and_311_5_ms() {
        let found = marks(DEFAULT, 5);
        for (found, expected) in found.iter().zip([100.0, 200.0, 270.711, 311.536, 331.948]) {
            assert!(*found >= expected - 1e-6 && *found < expected + 0.4, "{found} for {expected}");
        }
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn data_that_come_exactly_when_the_interval_ends_are_marked_with_the_exact_trace() {
        let mut law = PaqmCodel::new(DEFAULT);
        let delay = Duration::from_millis(10);
        assert_eq!(law.observe(delay, Time::ZERO), State::Alert);
        for ns in [100_000_000, 200_000_000, 270_710_679, 311_535_508_u64] {
            assert_eq!(law.observe(delay, Time::from_nanos(ns - 1000)), State::Alert, "{ns}");
            assert_eq!(law.observe(delay, Time::from_nanos(ns)), State::Congested, "{ns}");
        }
        assert_eq!(law.marks(), 4);
    }

    // Python: t = 0.1; for n in 1..5: print(t); t += 0.1 / sqrt(n): 100, 200, 270.711, 328.446, 378.446.
    #[test]
    fn codels_reading_spaces_marks_by_the_interval_over_root_n() {
        let found = marks(Constants { spacing: Spacing::Codel, ..DEFAULT }, 5);
        for (found, expected) in found.iter().zip([100.0, 200.0, 270.711, 328.446, 378.446]) {
            assert!(*found >= expected - 1e-6 && *found < expected + 0.4, "{found} for {expected}");
        }
    }

    #[test]
    fn a_delay_below_the_target_resets_the_state_and_the_interval_starts_over() {
        let mut law = PaqmCodel::new(DEFAULT);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let high = Duration::from_millis(5);
        law.observe(high, at(0));
        assert_eq!(law.observe(high, at(100)), State::Congested);
        assert_eq!(law.observe(high, at(200)), State::Congested);
        assert_eq!(law.observe(Duration::from_nanos(4_999_999), at(201)), State::Healthy);
        assert_eq!(law.observe(high, at(202)), State::Alert, "delay equal to the target is not below it");
        assert_eq!(law.observe(high, at(301)), State::Alert);
        assert_eq!(law.observe(high, at(302)), State::Congested);
    }

    #[test]
    fn an_immediate_threshold_marks_every_data_above_it() {
        let mut law = PaqmCodel::new(Constants { immediate: Some(Duration::from_millis(100)), ..DEFAULT });
        for i in 0..3 {
            assert_eq!(law.observe(Duration::from_millis(100), Time::from_nanos(i)), State::Congested);
        }
        assert_eq!(law.observe(Duration::from_millis(99), Time::from_nanos(3)), State::Alert);
    }

    #[test]
    fn red_marks_in_proportion_between_its_thresholds() {
        let mut rng = Rng::derive(1, &[]);
        let (min, max) = (Duration::from_millis(10), Duration::from_millis(50));
        let mut share =
            |ms| (0..4000).filter(|_| red_marks(Duration::from_millis(ms), min, max, &mut rng)).count() as f64 / 4000.0;
        assert_eq!(share(10), 0.0);
        assert_eq!(share(50), 1.0);
        // (20 − 10)/(50 − 10) = 0.25
        assert!((share(20) - 0.25).abs() < 0.03);
    }

    #[test]
    fn a_smoothed_delay_with_weight_one_half_is_the_mean_of_old_and_new() {
        let mut mean = Smoothed::default();
        assert_eq!(mean.update(Duration::from_millis(8), 0.5), Duration::from_millis(8));
        assert_eq!(mean.update(Duration::from_millis(4), 0.5), Duration::from_millis(6));
        assert_eq!(mean.update(Duration::from_millis(10), 0.5), Duration::from_millis(8));
    }

    proptest! {
        #[test]
        fn no_data_below_the_target_is_ever_marked(
            steps in prop::collection::vec((0u64..900_000_000_000_000, 0u64..1_000_000_000), 1..200),
            codel in any::<bool>(), immediate in 0u64..200,
        ) {
            let spacing = if codel { Spacing::Codel } else { Spacing::Compounding };
            let immediate = (immediate >= 5).then_some(Duration::from_millis(immediate));
            let mut law = PaqmCodel::new(Constants { spacing, immediate, ..DEFAULT });
            let mut now = Time::ZERO;
            for (wait, delay) in steps {
                now += Duration::from_nanos(wait);
                let state = law.observe(Duration::from_nanos(delay), now);
                prop_assert_eq!(delay < 5_000_000, state == State::Healthy);
            }
        }
    }
}

//! `flecom`: congestion levels from the trend of the queueing delay.
//!
//! Stands in for FleCom's routers (Li et al., INFOCOM workshops 2023), whose law is not public. Public, from the
//! ndnSieve paper: "congestion detection takes into account the trend of the sojourn time". All else is ours: at each
//! evaluation the delay is extrapolated along its last slope for `horizon`, s' = s + horizon · Δs/Δt, and the level is
//! (s' − target)/(`range` · target), cut to 0 … 1. The target is tuned on that paper's dumbbell (see the page).

use super::levels::{LevelLaw, Levels, check_period};
use crate::check;
use crate::component::{Component, Env};
use crate::error::SchemeError;
use crate::fields::Field;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`FleCom`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The expected delay up to which there is no congestion; tuned.
    pub target: Duration,
    /// How many targets above it the level reaches 1.
    pub range: f64,
    /// How far ahead the trend is continued.
    pub horizon: Duration,
    /// Time between two evaluations.
    pub period: Duration,
}

impl Default for Params {
    fn default() -> Params {
        let (target, horizon, period) =
            (Duration::from_millis(30), Duration::from_millis(100), Duration::from_millis(10));
        Params { target, range: 4.0, horizon, period }
    }
}

/// The trend of one queue.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Trend {
    target: f64,
    range: f64,
    horizon: f64,
    before: f64,
}

impl LevelLaw for Trend {
    fn evaluate(&mut self, delay: f64, elapsed: f64) -> f64 {
        let slope = if elapsed > 0.0 { (delay - self.before) / elapsed } else { 0.0 };
        self.before = delay;
        let expected = delay + self.horizon * slope;
        ((expected - self.target) / (self.range * self.target).max(1e-9)).clamp(0.0, 1.0)
    }
}

/// The meter.
pub type FleCom = Levels<Trend>;

impl Component for FleCom {
    const NAME: &'static str = "flecom";
    const SUMMARY: &'static str = "congestion levels from where the queueing delay is heading";
    const SOURCE: &'static str =
        "stands in for Li et al., INFOCOM workshops 2023, whose law is not public: use of the trend, the rest ours";
    const FIELDS: &'static [Field] = &[Field::CongestionLevel, Field::PathUse];
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_period(params.period)?;
        check::number("range", params.range, 1e-3, 1e6)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> FleCom {
        env.slot(Field::PathUse);
        let (target, horizon) = (params.target.secs(), params.horizon.secs());
        let fresh = Trend { target, range: params.range, horizon, before: 0.0 };
        Levels::new(fresh, params.period, None, env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::levels::test_support::evaluations;
    use super::*;
    use serde_json::json;

    // Target 5 ms, range 4, horizon 100 ms, evaluations every 100 ms: s' = 2s − s_prev, level (s' − 5)/20.
    // 0: 0; 10: s' 20 → 0.75; 10: s' 10 → 0.25; 6: s' 2 → 0; 40: s' 74 → 1.
    #[test]
    fn a_rising_delay_counts_more_than_a_steady_one_and_a_falling_one_less() {
        let script = [(0, 0, 0), (100, 10, 0), (200, 10, 0), (300, 6, 0), (400, 40, 0)];
        let levels = evaluations::<FleCom>(&json!({ "target": "5ms" }), &script);
        for (evaluated, expected) in levels.iter().zip([0.0, 0.75, 0.25, 0.0, 1.0]) {
            assert!((evaluated.0 - expected).abs() < 1e-8, "{levels:?}");
        }
    }

    // 750,000 bits in 100 ms at 10 Mbit/s: 0.75.
    #[test]
    fn data_carry_the_utilisation_of_the_last_window() {
        let used: Vec<f64> = evaluations::<FleCom>(&json!({}), &[(0, 0, 0), (50, 0, 500_000), (100, 0, 750_000)])
            .iter()
            .map(|l| l.2)
            .collect();
        assert_eq!(used[..2], [0.0, 0.0]);
        assert!((used[2] - 0.75).abs() < 1e-8);
    }
}

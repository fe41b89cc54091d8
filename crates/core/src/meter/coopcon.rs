//! `coopcon`: congestion levels from a proportional-integral controller of the queueing delay, marks on severe
//! congestion.
//!
//! Stands in for CoopCon's routers (Li et al., IEEE TNSM 2023), whose law is not public. The controller is PIE's, with
//! the gains of RFC 8033, as an unattributed extension of PCON's queue has it: p += α·(s − target) + β·(s − s_prev), s
//! in seconds, once s has been above the target for `interval`; the level is p. Ours: which scheme that is, the target
//! and the interval, both tuned on the ndnSieve paper's dumbbell (see the page), an evaluation every `period`, p halved
//! at each one at or below the target, severe congestion (signalled by a CongestionMark) as a queue above `severe` of
//! its limit, and all of [`super::levels`].

use super::levels::{LevelLaw, Levels, check_period};
use crate::check;
use crate::component::{Component, Env};
use crate::error::SchemeError;
use crate::fields::Field;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`CoopCon`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The delay a queue may have (ours, tuned).
    pub target: Duration,
    /// How long it must have been above the target before the level rises (ours, tuned; CoDel: 100 ms).
    pub interval: Duration,
    /// Time between two evaluations (ours).
    pub period: Duration,
    /// Gain of the distance from the target, per s (PIE: 0.125).
    pub alpha: f64,
    /// Gain of the change since the last evaluation, per s (PIE: 1.25).
    pub beta: f64,
    /// Occupancy above which congestion is severe, as a share of the queue's limit (ours; th2 of the ndnSieve paper).
    pub severe: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(15),
            interval: Duration::from_millis(30),
            period: Duration::from_millis(10),
            alpha: 0.125,
            beta: 1.25,
            severe: 0.9,
        }
    }
}

/// The controller of one queue.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Pie {
    target: f64,
    interval: f64,
    alpha: f64,
    beta: f64,
    level: f64,
    before: f64,
    /// Seconds above the target so far.
    above: f64,
}

impl LevelLaw for Pie {
    fn evaluate(&mut self, delay: f64, elapsed: f64) -> f64 {
        let change = delay - self.before;
        self.before = delay;
        if delay <= self.target {
            self.above = 0.0;
            self.level = if self.level > 1e-6 { self.level / 2.0 } else { 0.0 };
            return self.level;
        }
        // The evaluation that finds the delay above begins the interval.
        let lasted = self.above;
        self.above += elapsed.max(1e-9);
        if lasted >= self.interval {
            self.level = (self.level + self.alpha * (delay - self.target) + self.beta * change).clamp(0.0, 1.0);
        }
        self.level
    }
}

/// The meter.
pub type CoopCon = Levels<Pie>;

impl Component for CoopCon {
    const NAME: &'static str = "coopcon";
    const SUMMARY: &'static str = "congestion levels from a PI controller of the queueing delay";
    const SOURCE: &'static str =
        "stands in for Li et al., IEEE TNSM 2023, whose law is not public: PIE's controller (RFC 8033), the rest ours";
    const FIELDS: &'static [Field] = &[Field::CongestionLevel];
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_period(params.period)?;
        check::number("alpha", params.alpha, 0.0, 100.0)?;
        check::number("beta", params.beta, 0.0, 100.0)?;
        check::number("severe", params.severe, 0.0, 1.0)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> CoopCon {
        let Params { target, interval, alpha, beta, .. } = *params;
        let (target, interval) = (target.secs(), interval.secs());
        let fresh = Pie { target, interval, alpha, beta, level: 0.0, before: 0.0, above: 0.0 };
        Levels::new(fresh, params.period, Some(params.severe), env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::levels::test_support::evaluations;
    use super::*;
    use serde_json::json;

    // Target 15 ms, interval 100 ms, evaluations every 50 ms; above since that at 50. At 150 the interval of 100 ms is
    // over: 0.125·(0.035 − 0.015) + 1.25·0 = 0.0025; at 200: + 0.125·0.025 + 1.25·0.005 = 0.009375 → 0.011875; at 250
    // and 300 the delay is at the target: halved twice.
    #[test]
    fn the_level_rises_after_an_interval_above_the_target_and_halves_below_it() {
        let script = [(0, 0, 0), (50, 35, 0), (100, 35, 0), (150, 35, 0), (200, 40, 0), (250, 15, 0), (300, 15, 0)];
        let levels = evaluations::<CoopCon>(&json!({ "interval": "100ms" }), &script);
        for (evaluated, expected) in levels.iter().zip([0.0, 0.0, 0.0, 0.0025, 0.011_875, 0.005_937_5, 0.002_968_75]) {
            assert!((evaluated.0 - expected).abs() < 1e-8, "{levels:?}");
        }
    }

    #[test]
    fn a_queue_above_nine_tenths_marks_data() {
        let marks: Vec<u8> =
            evaluations::<CoopCon>(&json!({}), &[(0, 90, 0), (10, 91, 0), (20, 90, 0)]).iter().map(|l| l.1).collect();
        assert_eq!(marks, [0, 1, 0]);
    }
}

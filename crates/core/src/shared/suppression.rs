//! NFD's exponential retransmission suppression.

use crate::error::SchemeError;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Suppression`]; defaults are NFD's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SuppressionParams {
    /// The first interval.
    pub initial: Duration,
    /// The longest interval.
    pub max: Duration,
    /// Growth per forwarded retransmission, at least 1.
    pub multiplier: f64,
}

impl Default for SuppressionParams {
    fn default() -> Self {
        SuppressionParams { initial: Duration::from_millis(10), max: Duration::from_millis(250), multiplier: 2.0 }
    }
}

impl SuppressionParams {
    /// Rejects a multiplier below 1 and a longest interval below the first.
    pub fn check(&self) -> Result<(), SchemeError> {
        if self.max < self.initial {
            let help = format!("give suppression.initial = {} or more", self.initial);
            return Err(SchemeError::value("suppression.max", self.max, "is below suppression.initial", help));
        }
        if self.multiplier >= 1.0 && self.multiplier.is_finite() {
            return Ok(());
        }
        Err(SchemeError::value(
            "suppression.multiplier",
            self.multiplier,
            "is not a factor",
            "give a number of 1 or more",
        ))
    }
}

/// Decides whether a retransmission comes too soon. The state of one PIT entry (or out-record) is a count of
/// retransmissions forwarded, kept by the caller.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Suppression {
    intervals: Vec<Duration>,
}

impl Suppression {
    /// Tabulates the intervals up to the longest.
    pub fn new(params: SuppressionParams) -> Suppression {
        let mut intervals = vec![params.initial.min(params.max)];
        while let Some(&last) = intervals.last() {
            let next = last.scale(params.multiplier).min(params.max);
            if next == last || intervals.len() == usize::from(u8::MAX) {
                break;
            }
            intervals.push(next);
        }
        Suppression { intervals }
    }

    /// Whether a retransmission `since` the last transmission is too soon, after `forwarded` earlier ones.
    pub fn suppresses(&self, forwarded: u8, since: Duration) -> bool {
        since < self.intervals[usize::from(forwarded).min(self.intervals.len() - 1)]
    }

    /// The count after one more was forwarded.
    pub fn grown(&self, forwarded: u8) -> u8 {
        forwarded.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_from_10_to_250_ms() {
        let ms: Vec<_> = Suppression::new(SuppressionParams::default()).intervals.iter().map(|s| s.millis()).collect();
        assert_eq!(ms, [10.0, 20.0, 40.0, 80.0, 160.0, 250.0]);
    }
}

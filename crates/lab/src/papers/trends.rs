//! Statements that a paper makes only with a figure, as checks of a series.
//!
//! Every check uses means over 0.5 s (or one bin if bins are wider); missing values are ignored.

use crate::metrics::rebin;
use crate::results::mean_sd;

/// Width of the means that are checked, in s.
const STEP_S: f64 = 0.5;

/// A named check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// The curve repeatedly falls below 85 % of its median and rises above 95 % of it again: at least three times, with
    /// intervals between the falls whose standard deviation is at most half their mean.
    PeriodicDips,
    /// The first tenth is below 80 % of the mean of the last half, and the standard deviation of the last half is at
    /// most a tenth of that mean.
    RisesThenFlat,
    /// The standard deviation is at most a tenth of the mean.
    Steady,
    /// The last quarter is on average less than 80 % of the first.
    Falls,
}

impl Trend {
    /// All checks with their names.
    pub const ALL: [(&'static str, Trend); 4] = [
        ("periodic-dips", Trend::PeriodicDips),
        ("rises-then-flat", Trend::RisesThenFlat),
        ("steady", Trend::Steady),
        ("falls", Trend::Falls),
    ];

    /// Whether the series, one value per `bin_s` seconds, shows the trend; `None` with fewer than eight means.
    pub fn holds(self, values: &[f64], bin_s: f64) -> Option<bool> {
        let by = if bin_s > 0.0 { ((STEP_S / bin_s).round() as usize).max(1) } else { 1 };
        let values: Vec<f64> = rebin(values, by).into_iter().filter(|v| v.is_finite()).collect();
        (values.len() >= 8).then(|| match self {
            Trend::PeriodicDips => periodic_dips(&values),
            Trend::RisesThenFlat => {
                let (start, end) = (&values[..values.len().div_ceil(10)], &values[values.len() / 2..]);
                mean(start) < 0.8 * mean(end) && steady(end)
            }
            Trend::Steady => steady(&values),
            Trend::Falls => {
                let quarter = values.len() / 4;
                mean(&values[values.len() - quarter..]) < 0.8 * mean(&values[..quarter])
            }
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn steady(values: &[f64]) -> bool {
    mean_sd(values).is_some_and(|(mean, sd)| sd.unwrap_or(0.0) <= 0.1 * mean.abs())
}

fn periodic_dips(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    // Between the two levels the state does not change, so that a curve with jitter around one of them does not count
    // as many dips.
    let (mut low, mut at) = (false, Vec::new());
    for (i, v) in values.iter().enumerate() {
        if !low && *v < 0.85 * median {
            low = true;
            at.push(i as f64);
        } else if low && *v > 0.95 * median {
            low = false;
        }
    }
    let gaps: Vec<f64> = at.windows(2).map(|w| w[1] - w[0]).collect();
    at.len() >= 3 && mean_sd(&gaps).is_some_and(|(mean, sd)| sd.unwrap_or(0.0) <= 0.5 * mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty seconds in bins of 0.1 s.
    fn series(f: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..200).map(|i| f(f64::from(i) * 0.1)).collect()
    }

    #[test]
    fn a_sawtooth_has_periodic_dips_and_a_flat_line_has_none() {
        let dips = series(|t| if t % 4.0 < 1.0 { 5.0 } else { 10.0 });
        assert_eq!(Trend::PeriodicDips.holds(&dips, 0.1), Some(true));
        assert_eq!(Trend::PeriodicDips.holds(&series(|_| 10.0), 0.1), Some(false));
        assert_eq!(Trend::PeriodicDips.holds(&series(|t| if t < 2.0 { 1.0 } else { 10.0 }), 0.1), Some(false));
    }

    #[test]
    fn dips_at_irregular_times_are_not_periodic() {
        let at = [1.0, 2.0, 3.0, 18.0];
        let irregular = series(|t| if at.iter().any(|a| (t - a).abs() < 0.3) { 1.0 } else { 10.0 });
        assert_eq!(Trend::PeriodicDips.holds(&irregular, 0.1), Some(false));
    }

    #[test]
    fn a_ramp_that_levels_off_rises_and_is_then_flat() {
        assert_eq!(Trend::RisesThenFlat.holds(&series(|t| (2.0 * t).min(10.0)), 0.1), Some(true));
        assert_eq!(Trend::RisesThenFlat.holds(&series(|_| 10.0), 0.1), Some(false));
        assert_eq!(Trend::RisesThenFlat.holds(&series(|t| t * t), 0.1), Some(false));
    }

    #[test]
    fn a_falling_line_falls_and_is_not_steady() {
        let falling = series(|t| 20.0 - t);
        assert_eq!(Trend::Falls.holds(&falling, 0.1), Some(true));
        assert_eq!(Trend::Steady.holds(&falling, 0.1), Some(false));
        assert_eq!(Trend::Steady.holds(&series(|t| 10.0 + 0.1 * t.sin()), 0.1), Some(true));
        assert_eq!(Trend::Falls.holds(&series(|t| t), 0.1), Some(false));
    }

    #[test]
    fn too_little_data_gives_no_answer() {
        assert_eq!(Trend::Steady.holds(&[1.0; 20], 0.1), None);
        assert_eq!(Trend::Steady.holds(&[f64::NAN; 200], 0.1), None);
    }
}

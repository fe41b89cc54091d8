//! Helpers over event times and binned series.

use ndnweir_core::units::{Duration, Time};

/// Events close to each other, e.g. the NACKs of one congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The first event.
    pub from: Time,
    /// The last event.
    pub to: Time,
    /// Number of events.
    pub count: u64,
}

/// Groups events (time and number of events at that time, in order) into episodes: a pause longer than `gap` separates
/// two.
pub fn episodes(events: &[(Time, u64)], gap: Duration) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    for &(at, count) in events.iter().filter(|e| e.1 > 0) {
        match found.last_mut() {
            Some(last) if at.since(last.to) <= gap => {
                last.to = last.to.max(at);
                last.count += count;
            }
            _ => found.push(Episode { from: at, to: at, count }),
        }
    }
    found
}

/// Means over groups of `by` bins; missing values (NaN) are ignored, and a group without any value is NaN. An
/// incomplete last group is dropped.
pub fn rebin(values: &[f64], by: usize) -> Vec<f64> {
    let by = by.max(1);
    let mean = |group: &[f64]| {
        let (sum, n) = group.iter().filter(|v| !v.is_nan()).fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
        if n > 0.0 { sum / n } else { f64::NAN }
    };
    values.chunks_exact(by).map(mean).collect()
}

/// The first bin from which on every value stays within `tolerance` (a fraction) of the final mean, the mean of the
/// last `final_part` (a fraction) of the values; `None` if the last value does not, if there are no values, or if that
/// mean is zero: a rate that ends has not settled.
pub fn convergence(values: &[f64], tolerance: f64, final_part: f64) -> Option<usize> {
    let tail = ((values.len() as f64 * final_part).ceil() as usize).clamp(1, values.len().max(1));
    let last: Vec<f64> = values.iter().rev().take(tail).copied().filter(|v| !v.is_nan()).collect();
    if last.is_empty() {
        return None;
    }
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    if mean == 0.0 {
        return None;
    }
    let inside = |v: &f64| (v - mean).abs() <= tolerance * mean.abs();
    let steady = values.iter().rev().take_while(|v| inside(v)).count();
    (steady > 0).then(|| values.len() - steady)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nacks_closer_than_the_gap_are_one_congestion() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let events = [(at(80), 11), (at(90), 0), (at(3130), 2), (at(3140), 2), (at(5270), 4)];
        let found = episodes(&events, Duration::from_millis(100));
        assert_eq!(found.iter().map(|e| e.count).collect::<Vec<_>>(), [11, 4, 4]);
        assert_eq!((found[1].from, found[1].to), (at(3130), at(3140)));
    }

    #[test]
    fn a_ramp_converges_where_it_enters_the_band_for_good() {
        let mut values: Vec<f64> = vec![1.0, 5.0, 9.5, 2.0, 8.0, 9.2];
        values.extend([10.0; 14]);
        assert_eq!(convergence(&values, 0.1, 0.25), Some(5));
        assert_eq!(convergence(&[], 0.1, 0.25), None);
        assert_eq!(convergence(&[10.0, 9.0, 0.0, 0.0], 0.1, 0.5), None);
        assert_eq!(convergence(&[10.0, 1.0, 10.0, 1.0], 0.1, 0.5), None);
    }

    #[test]
    fn rebinning_leaves_missing_values_out() {
        assert_eq!(rebin(&[1.0, 3.0, f64::NAN, 4.0, 9.0], 2), [2.0, 4.0]);
        assert!(rebin(&[f64::NAN, f64::NAN], 2)[0].is_nan());
    }
}

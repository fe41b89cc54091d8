//! The time that the network takes to settle after a change.

use super::{convergence, rebin};
use crate::results::RecoveryRun;

/// Averaging interval of goodput, in s.
const MEAN_S: f64 = 0.5;
/// Minimum number of means between two changes for a result.
const LEAST: usize = 4;

/// After each of these instants, in s: the time until every mean of goodput, up to the next instant, stays close to
/// that of the last quarter of the interval, and the Interests that looped in it. `rates` is goodput by bins of `width` s,
/// `looped` tells these Interests by bin.
pub(super) fn recoveries(
    rates: &[f64],
    width: f64,
    instants: &[f64],
    looped: &dyn Fn(usize) -> Option<u64>,
) -> Vec<RecoveryRun> {
    let by = ((MEAN_S / width).round() as usize).max(1);
    let one = |(i, &at_s): (usize, &f64)| {
        // Rounded, so that a change at the boundary of a bin belongs to the bin that begins there.
        let bin = |s: f64| ((s / width - 1e-6).ceil().max(0.0) as usize).min(rates.len());
        let (from, to) = (bin(at_s), instants.get(i + 1).map_or(rates.len(), |next| bin(*next)));
        let means = rebin(rates.get(from..to).unwrap_or_default(), by);
        let settled = if means.len() < LEAST { None } else { convergence(&means, 0.1, 0.25) };
        let recovery_s = settled.map(|mean| ((from + mean * by) as f64 * width - at_s).max(0.0));
        RecoveryRun { at_s, recovery_s, looped: (from..to).map(looped).sum() }
    };
    instants.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_ends_where_goodput_stays_near_its_new_level() {
        let width = 0.1;
        let mut rates = vec![10.0; 50];
        // From 5 s on: half a second at zero, one second at half the rate, then a new level.
        rates.extend([0.0; 5]);
        rates.extend([4.0; 10]);
        rates.extend([8.0; 85]);
        // At 15 s nothing changes; after 19.5 s too little time is left.
        rates.extend([8.0; 50]);
        let found = recoveries(&rates, width, &[5.0, 15.0, 19.5], &|bin| {
            Some(u64::from(bin == 49) + 2 * u64::from(bin == 149))
        });
        let times: Vec<Option<f64>> = found.iter().map(|r| r.recovery_s.map(|s| (s * 10.0).round() / 10.0)).collect();
        assert_eq!(times, [Some(1.5), Some(0.0), None]);
        // Bins 50 to 149, to 194, and to the end.
        assert_eq!(found.iter().map(|r| r.looped).collect::<Vec<_>>(), [Some(2), Some(0), Some(0)]);
        let restless: Vec<f64> = (0..100).map(|i| if i / 5 % 2 == 0 { 1.0 } else { 9.0 }).collect();
        assert_eq!(recoveries(&restless, width, &[1.0], &|_| None)[0].recovery_s, None);
        assert_eq!(recoveries(&[], width, &[1.0], &|_| None)[0].recovery_s, None);
    }

    #[test]
    fn a_flow_that_never_comes_back_has_not_recovered_at_once() {
        let mut rates = vec![10.0; 50];
        rates.extend([0.0; 100]);
        assert_eq!(recoveries(&rates, 0.1, &[5.0], &|_| None)[0].recovery_s, None);
    }
}

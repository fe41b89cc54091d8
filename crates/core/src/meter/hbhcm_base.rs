//! The base round-trip time of a hop: what it would take with empty queues.
//!
//! Source: Ye, Lee, Qiao 2020, sections III.B (the minimum so far) and III.C (an affine function of the packet size,
//! b = p·W + c, by linear regression). Ours: which samples the regression takes (the minimum of each size bin), W ≥ 0,
//! and ageing. Two bins enter the regression only if their sizes lie a bin width apart: a few bytes of difference
//! would turn the noise of a minimum into any slope.

use crate::units::{Bytes, Duration, Time, to_u64};

/// Parts of the ageing window; the base covers between 7/8 of the window and all of it.
const AGES: usize = 8;
/// Bytes per size bin; ours.
const WIDTH: u64 = 256;
/// Size bins per face; larger packets share the last one.
const BINS: u64 = 64;

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Least {
    epoch: u64,
    hop: Duration,
    size: u64,
}

#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Bin([Option<Least>; AGES]);

impl Bin {
    /// The least sample that is not too old.
    fn least(&self, epoch: u64) -> Option<Least> {
        self.0.iter().flatten().filter(|least| epoch - least.epoch < AGES as u64).min_by_key(|least| least.hop).copied()
    }
}

/// Base of one hop.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct HopBase {
    window: Duration,
    by_size: bool,
    bins: Vec<Bin>,
    epoch: u64,
    /// When this epoch ends, or before.
    #[state(skip)]
    until: Time,
    fit: Fit,
}

/// b = slope · size + at_zero.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Fit {
    slope: f64,
    at_zero: f64,
}

impl HopBase {
    /// `window`: how long a minimum counts, zero for ever. `by_size`: whether it depends on the size.
    pub fn new(window: Duration, by_size: bool) -> HopBase {
        HopBase { window, by_size, bins: Vec::new(), epoch: 0, until: Time::ZERO, fit: Fit::default() }
    }

    /// Takes in a hop RTT.
    #[inline]
    pub fn learn(&mut self, hop: Duration, size: Bytes, now: Time) {
        let bin = self.bins.get(self.index(size.get()));
        let least = bin.and_then(|bin| bin.0[(self.epoch % AGES as u64) as usize]);
        // As a rule it is no less than others of this epoch, and changes nothing.
        if now >= self.until || least.is_none_or(|least| least.epoch != self.epoch || hop < least.hop) {
            self.observe(hop, size, now);
        }
    }

    /// The bin of a size.
    #[inline(always)]
    fn index(&self, size: u64) -> usize {
        if self.by_size { (size / WIDTH).min(BINS - 1) as usize } else { 0 }
    }

    /// Takes in a hop RTT and gives the base for a packet of that size.
    pub fn observe(&mut self, hop: Duration, size: Bytes, now: Time) -> Duration {
        let size = size.get();
        let age = (self.window / AGES as u64).nanos();
        let epoch = now.nanos().checked_div(age).unwrap_or(0).max(self.epoch);
        self.until = Time::from_nanos(age.saturating_mul(epoch.saturating_add(1)));
        let index = self.index(size);
        if self.bins.len() <= index {
            self.bins.resize_with(index + 1, Bin::default);
        }
        let slot = &mut self.bins[index].0[(epoch % AGES as u64) as usize];
        let lower = slot.is_none_or(|least| least.epoch != epoch || hop < least.hop);
        if lower {
            *slot = Some(Least { epoch, hop, size });
        }
        if lower || epoch != self.epoch {
            self.epoch = epoch;
            self.fit = self.fitted();
        }
        Duration::from_nanos(to_u64(self.fit.slope * size as f64 + self.fit.at_zero))
    }

    fn fitted(&self) -> Fit {
        let points = || self.bins.iter().filter_map(|bin| bin.least(self.epoch));
        let least = points().map(|point| point.hop.nanos()).min().unwrap_or(0) as f64;
        let plain = Fit { slope: 0.0, at_zero: least };
        let sizes = || points().map(|point| point.size);
        let (Some(smallest), Some(largest)) = (sizes().min(), sizes().max()) else { return plain };
        if largest - smallest < WIDTH || !self.by_size {
            return plain;
        }
        let n = points().count() as f64;
        let mean_size = sizes().map(|size| size as f64).sum::<f64>() / n;
        let mean_hop = points().map(|point| point.hop.nanos() as f64).sum::<f64>() / n;
        let (mut covariance, mut variance) = (0.0, 0.0);
        for point in points() {
            let off = point.size as f64 - mean_size;
            covariance += off * (point.hop.nanos() as f64 - mean_hop);
            variance += off * off;
        }
        let slope = covariance / variance;
        // A larger packet cannot take less time: a slope below zero says that some bin has met no empty queue yet.
        if slope > 0.0 { Fit { slope, at_zero: mean_hop - slope * mean_size } } else { plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    fn base(samples: &[(u64, u64)], by_size: bool) -> Vec<u64> {
        let mut base = HopBase::new(Duration::ZERO, by_size);
        let micros = |(size, us): &(u64, u64)| {
            base.observe(Duration::from_micros(*us), Bytes::new(*size), Time::ZERO).nanos() / 1000
        };
        samples.iter().map(micros).collect()
    }

    #[test]
    fn with_one_size_the_base_is_the_least_hop_rtt_so_far() {
        assert_eq!(
            base(&[(1000, 21_000), (1000, 25_000), (1000, 20_000), (1000, 30_000)], true),
            [21_000, 21_000, 20_000, 20_000]
        );
    }

    // A hop of two 10 Mbit/s links (W = 2 · 8/10⁷ s/B = 1.6 µs/B) and c = 20 ms:
    // b(100) = 20.16 ms, b(500) = 20.8 ms, b(1500) = 22.4 ms.
    #[test]
    fn with_two_sizes_the_base_follows_the_packet_size_equation() {
        let found = base(&[(100, 20_160), (1500, 22_400), (500, 25_800), (500, 20_800)], true);
        assert_eq!(found[1], 22_400);
        // Until the middle size meets an empty queue its inflated minimum is one of three points:
        // numpy.polyfit([100, 1500, 500], [20160, 22400, 25800], 1) at 500 gives 22658.97.
        assert_eq!(found[2], 22_658);
        assert_eq!(found[3], 20_800);
    }

    #[test]
    fn a_slope_below_zero_falls_back_to_the_plain_minimum() {
        assert_eq!(base(&[(1500, 20_000), (100, 29_000)], true), [20_000, 20_000]);
    }

    #[test]
    fn sizes_closer_than_a_bin_width_share_one_minimum() {
        assert_eq!(base(&[(1023, 20_000), (1025, 28_000)], true), [20_000, 20_000]);
        assert_eq!(base(&[(100, 20_000), (1500, 28_000)], false), [20_000, 20_000], "compensation is off");
    }

    #[test]
    fn an_ageing_base_forgets_a_minimum_after_its_window() {
        let mut base = HopBase::new(Duration::from_millis(8000), false);
        let mut at = |s: u64, ms| {
            let now = Time::ZERO + Duration::from_millis(s * 1000);
            base.observe(Duration::from_millis(ms), Bytes::new(1000), now).millis()
        };
        assert_eq!(at(0, 20), 20.0);
        assert_eq!(at(7, 40), 20.0);
        assert_eq!(at(8, 40), 40.0);
        assert_eq!(at(864_000, 35), 35.0, "ten idle days later");
    }

    proptest! {
        #[test]
        fn the_base_never_exceeds_the_sample_unless_it_is_fitted_and_memory_is_bounded(
            samples in prop::collection::vec((0u64..20_000, 0u64..1_000_000_000_000, 0u64..100_000_000_000_000), 1..100),
            window in 0u64..10_000, by_size in any::<bool>(),
        ) {
            let mut base = HopBase::new(Duration::from_millis(window), by_size);
            let mut now = Time::ZERO;
            for (size, hop, wait) in samples {
                now += Duration::from_nanos(wait);
                let found = base.observe(Duration::from_nanos(hop), Bytes::new(size), now);
                prop_assert!(by_size || found.nanos() <= hop);
                prop_assert!(base.bins.len() <= BINS as usize);
            }
        }
    }
}

//! Distributions and fairness.

use crate::results::Distribution;
use ndnweir_core::units::Duration;
use ndnweir_prefetch::{prefetch, prefetch_next};

/// Sub-buckets per power of two: a quantile is off by less than 1/1024 of its value.
const SUB_BITS: u32 = 9;

/// A distribution of durations in bounded memory: exact mean, standard deviation and extremes, quantiles to 0.1 %.
///
/// Buckets are log-linear as in HdrHistogram: durations below 2¹⁰ ns exactly, above that 512 buckets per power of two.
#[derive(Clone, Debug, Default, PartialEq, ndnweir_state::Value)]
pub struct Histogram {
    buckets: Buckets,
    count: u64,
    mean: f64,
    /// Sum of squared distances from the mean (Welford's recurrence; Chan's rule when merging).
    m2: f64,
    min: u64,
    max: u64,
}

/// The bucket of a duration, of 2 to the power of `bits` per power of two.
pub(super) fn bucket(ns: u64, bits: u32) -> u16 {
    let octave = (u64::BITS - ns.leading_zeros()).saturating_sub(bits + 1);
    ((octave << bits) + (ns >> octave) as u32) as u16
}

/// Their numbers fit.
const _: () = assert!((u64::BITS - SUB_BITS + 1) << SUB_BITS <= 1 << u16::BITS);

/// The middle of a bucket, in ns.
pub(super) fn middle(index: usize, bits: u32) -> f64 {
    if index < 2 << bits {
        return index as f64;
    }
    let octave = (index >> bits) - 1;
    let low = (index - (octave << bits)) as f64;
    (low + 0.5) * (octave as f64).exp2()
}

/// Buckets that get memory together.
const STRETCH: usize = 32;

/// The first values of a histogram that are kept singly: fewer take less memory so.
const SINGLY: usize = 256;

/// Later values that are kept before they are counted together. Counts are far memory in a large network: a packet
/// that is counted at once waits for them twice, for the stretch and for its counts.
const TOGETHER: usize = 64;

/// Counts by bucket. A large network has a histogram for each of its many links and consumers: the buckets of the first
/// values are kept as they come, then stretches of buckets that have counts take memory, as values are near each other.
#[derive(Clone, Debug, Default, PartialEq, ndnweir_state::Value)]
pub(super) struct Buckets {
    /// Buckets of values that are not counted yet, up to [`SINGLY`], later to [`TOGETHER`].
    few: Vec<u16>,
    /// The first stretch that has memory, if any has.
    first: usize,
    /// From it to the last that has.
    stretches: Vec<Option<Box<[u32; STRETCH]>>>,
}

impl Buckets {
    /// Adds one to a bucket.
    pub(super) fn count(&mut self, at: u16) {
        let room = if self.stretches.is_empty() { SINGLY } else { TOGETHER };
        if self.few.len() >= room {
            self.spread();
            self.few.reserve_exact(TOGETHER);
        }
        self.few.push(at);
    }

    /// Counts the values that are kept singly.
    #[cold]
    #[inline(never)]
    fn spread(&mut self) {
        let mut few = std::mem::take(&mut self.few);
        // They are far from each other, and all are asked for before the first is waited for.
        few.iter().for_each(|at| self.expect_bucket(usize::from(*at)));
        few.drain(..).for_each(|at| self.add(usize::from(at), 1));
        if few.capacity() <= TOGETHER {
            self.few = few;
        }
    }

    /// Asks for what the next value needs.
    pub(super) fn expect(&self) {
        prefetch_next(&self.few);
    }

    #[inline]
    fn expect_bucket(&self, at: usize) {
        if let Some(Some(counts)) = self.stretches.get((at / STRETCH).wrapping_sub(self.first)) {
            prefetch(&counts[at % STRETCH]);
        }
    }

    /// Adds to a bucket, up to 2³² − 1.
    pub(super) fn add(&mut self, at: usize, more: u32) {
        let stretch = at / STRETCH;
        if !(self.first..self.first + self.stretches.len()).contains(&stretch) {
            self.cover(stretch);
        }
        let stretch = &mut self.stretches[stretch - self.first];
        let count = &mut stretch.get_or_insert_with(|| Box::new([0; STRETCH]))[at % STRETCH];
        *count = count.saturating_add(more);
    }

    #[cold]
    #[inline(never)]
    fn cover(&mut self, stretch: usize) {
        if self.stretches.is_empty() {
            self.first = stretch;
        }
        let before = self.first.saturating_sub(stretch);
        let length = (before + self.stretches.len()).max((stretch + 1).saturating_sub(self.first));
        self.stretches.reserve_exact(length - self.stretches.len());
        self.stretches.splice(0..0, std::iter::repeat_n(None, before));
        self.stretches.resize(length, None);
        self.first -= before;
    }

    /// The stretches that have counts, each with its first bucket.
    fn stretches(&self) -> impl Iterator<Item = (usize, &[u32; STRETCH])> {
        let all = (self.first..).zip(&self.stretches);
        all.filter_map(|(at, counts)| Some((at * STRETCH, counts.as_deref()?)))
    }

    /// Adds the counts of another.
    pub(super) fn take_in(&mut self, other: Buckets) {
        if self.few.is_empty() && self.stretches.is_empty() {
            *self = other;
        } else if !(other.few.is_empty() && other.stretches.is_empty()) {
            self.merge(&other);
        }
    }

    fn merge(&mut self, other: &Buckets) {
        self.spread();
        other.few.iter().for_each(|at| self.add(usize::from(*at), 1));
        for (first, counts) in other.stretches() {
            (first..).zip(counts).filter(|(_, n)| **n > 0).for_each(|(at, n)| self.add(at, *n));
        }
    }

    /// All counts together.
    pub(super) fn total(&self) -> u64 {
        self.few.len() as u64 + self.stretches().flat_map(|(_, counts)| counts).map(|n| u64::from(*n)).sum::<u64>()
    }

    /// The bucket that the `q`-quantile of `all` values is in, by the nearest-rank rule.
    pub(super) fn nearest_rank(&self, all: u64, q: f64) -> Option<usize> {
        let rank = ((q * all as f64).ceil() as u64).min(all).max(1);
        if self.stretches.is_empty() {
            let mut few = self.few.clone();
            few.sort_unstable();
            return few.get(rank as usize - 1).map(|at| usize::from(*at));
        }
        if !self.few.is_empty() {
            let mut counted = self.clone();
            counted.spread();
            return counted.nearest_rank(all, q);
        }
        let mut seen = 0;
        self.stretches().find_map(|(first, counts)| {
            let at = counts.iter().position(|n| {
                seen += u64::from(*n);
                seen >= rank
            });
            at.map(|at| first + at)
        })
    }

    /// Bytes that the counts take.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.few.capacity() * size_of::<u16>()
            + self.stretches.len() * size_of::<usize>()
            + self.stretches().count() * size_of::<[u32; STRETCH]>()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Adds one duration.
    pub fn record(&mut self, duration: Duration) {
        let ns = duration.nanos();
        let at = bucket(ns, SUB_BITS);
        self.buckets.count(at);
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        let step = ns as f64 - self.mean;
        self.mean += step / self.count as f64;
        self.m2 += step * (ns as f64 - self.mean);
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.buckets.merge(&other.buckets);
        let (a, b) = (self.count as f64, other.count as f64);
        let step = other.mean - self.mean;
        self.m2 += other.m2 + step * step * a * b / (a + b);
        self.mean += step * b / (a + b);
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The `q`-quantile in ns by the nearest-rank rule; `None` if the histogram is empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let at = self.buckets.nearest_rank(self.count, q);
        Some(at.map_or(self.max as f64, |at| middle(at, SUB_BITS).clamp(self.min as f64, self.max as f64)))
    }

    /// The whole distribution in ms; `None` if the histogram is empty.
    pub fn distribution(&self) -> Option<Distribution> {
        let at = |q| self.quantile(q).map(|ns| ns / 1e6);
        Some(Distribution {
            n: self.count,
            mean: self.mean / 1e6,
            sd: if self.count > 1 { (self.m2 / (self.count - 1) as f64).max(0.0).sqrt() / 1e6 } else { 0.0 },
            min: self.min as f64 / 1e6,
            q1: at(0.25)?,
            p50: at(0.5)?,
            q3: at(0.75)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            max: self.max as f64 / 1e6,
        })
    }
}

/// Jain's fairness index (Σx)² / (n·Σx²) of non-negative rates, in [1/n, 1]; `None` without flows or if all are zero.
///
/// Source: Jain, Chiu, Hawe, DEC TR-301 (1984).
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| (sum * sum / (rates.len() as f64 * squares)).min(1.0))
}

/// The least of non-negative rates over their mean, in [0, 1]; `None` without flows or if all are zero.
pub fn worst_share(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let least = rates.iter().copied().reduce(f64::min)?;
    (sum > 0.0).then(|| (least * rates.len() as f64 / sum).min(1.0))
}

/// Bits over seconds in 10⁶ bit/s; zero if the time is zero.
pub(super) fn mbps(bits: f64, s: f64) -> f64 {
    if s > 0.0 { bits / s / 1e6 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::mean_sd;

    #[test]
    fn a_histogram_of_delays_from_100_to_200_ms_takes_less_than_4_kb() {
        let mut all = Histogram::new();
        (0..100_000).for_each(|n| all.record(Duration::from_nanos(100_000_000 + 1_000 * n)));
        // From 100 to 200 ms there are 24 stretches of 32 buckets, each with 8 bytes and 128 for its counts.
        assert!(all.buckets.bytes() < 4_000, "{}", all.buckets.bytes());
    }

    #[test]
    fn quantiles_of_a_histogram_are_within_a_thousandth_of_the_sorted_list() {
        let mut histogram = Histogram::new();
        let mut list: Vec<u64> = (0..20_000u64).map(|i| i * i * 37 % 900_000_007 + 1).collect();
        for ns in &list {
            histogram.record(Duration::from_nanos(*ns));
        }
        list.sort_unstable();
        for q in [0.01, 0.25, 0.5, 0.9, 0.99, 1.0] {
            let exact = list[((q * list.len() as f64).ceil() as usize).max(1) - 1] as f64;
            let found = histogram.quantile(q).unwrap();
            assert!((found - exact).abs() <= exact / 1000.0, "{q}: {found} against {exact}");
        }
    }

    #[test]
    fn a_quantile_is_the_same_whether_values_are_kept_singly_or_counted() {
        for n in [1, 2, SINGLY as u64 - 1, SINGLY as u64, SINGLY as u64 + 1, (SINGLY + TOGETHER) as u64 + 1, 1000] {
            let (mut histogram, mut counted) = (Histogram::new(), Histogram::new());
            let durations = || (0..n).map(|i| Duration::from_nanos(i * 7919 % n * 1_000_003));
            durations().for_each(|duration| histogram.record(duration));
            counted.merge(&histogram);
            assert_eq!(histogram.buckets.stretches.is_empty(), n <= SINGLY as u64);
            counted.buckets.spread();
            assert!(counted.buckets.few.is_empty() && counted.buckets.total() == n && histogram.buckets.total() == n);
            for q in [0.0, 0.3, 0.5, 0.99, 1.0] {
                assert_eq!(histogram.quantile(q), counted.quantile(q), "{n}, {q}");
            }
        }
    }

    #[test]
    fn small_spans_are_kept_exactly() {
        for ns in [0, 1, 511, 512, 1023] {
            let mut histogram = Histogram::new();
            histogram.record(Duration::from_nanos(ns));
            assert_eq!(histogram.quantile(0.5), Some(ns as f64));
        }
    }

    #[test]
    fn the_longest_span_is_recorded_without_overflow() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::MAX);
        assert!(histogram.buckets.stretches.len() < 40_000 / STRETCH);
        assert!(histogram.quantile(0.5).unwrap() > 1.8e19);
    }

    #[test]
    fn merged_histograms_equal_one_histogram_of_everything() {
        let (mut a, mut b, mut all) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 0..1000u64 {
            let duration = Duration::from_micros(i * 7 % 501);
            if i % 3 == 0 {
                a.record(duration)
            } else {
                b.record(duration)
            }
            all.record(duration);
        }
        a.merge(&b);
        let (merged, whole) = (a.distribution().unwrap(), all.distribution().unwrap());
        assert!((merged.sd - whole.sd).abs() < 1e-9 && (merged.mean - whole.mean).abs() < 1e-9);
        assert_eq!((merged.n, merged.p99, merged.min, merged.max), (whole.n, whole.p99, whole.min, whole.max));
    }

    #[test]
    fn standard_deviation_of_one_two_three_four_is_known() {
        let mut histogram = Histogram::new();
        for ms in 1..=4 {
            histogram.record(Duration::from_millis(ms));
        }
        let d = histogram.distribution().unwrap();
        assert!((d.mean - 2.5).abs() < 1e-12 && (d.sd - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(mean_sd(&[1.0, 2.0, 3.0, 4.0]).unwrap().1, Some((5.0f64 / 3.0).sqrt()));
    }

    #[test]
    fn jain_of_the_resource_pooling_table_is_what_the_paper_prints() {
        assert!((jain(&[12.1, 8.4, 12.4]).unwrap() - 0.973).abs() < 5e-4);
        assert!((jain(&[11.5, 9.4, 11.9]).unwrap() - 0.990).abs() < 5e-4);
        assert_eq!(jain(&[3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[1.0, 0.0]), Some(0.5));
    }

    #[test]
    fn the_worst_share_is_the_least_rate_over_the_mean() {
        assert_eq!(worst_share(&[3.0, 1.0, 2.0]), Some(0.5));
        assert_eq!(worst_share(&[2.0, 2.0]), Some(1.0));
        assert_eq!(worst_share(&[1.0, 0.0]), Some(0.0));
        assert_eq!((worst_share(&[0.0, 0.0]), worst_share(&[])), (None, None));
    }

    #[test]
    fn equal_values_have_a_spread_of_exactly_zero() {
        assert_eq!(mean_sd(&[0.1; 7]), Some((0.1, Some(0.0))));
        assert_eq!(mean_sd(&[2.0]), Some((2.0, None)));
        assert_eq!(mean_sd(&[]), None);
    }
}

//! Whole numbers by bin.

use std::ops::Range;

/// Sums by bin. A column takes 8 bytes for each bin from the first value above zero on: most links of a large network
/// never drop, mark or reject anything, and many carry nothing.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct Counts(Vec<u64>);

impl Counts {
    fn at(&mut self, bins: usize, bin: usize) -> &mut u64 {
        if self.0.is_empty() {
            self.0 = vec![0; bins];
        }
        &mut self.0[bin]
    }

    /// Adds to one of `bins`.
    pub(super) fn add(&mut self, bins: usize, bin: usize, more: u64) {
        if more > 0 {
            let sum = self.at(bins, bin);
            *sum = sum.saturating_add(more);
        }
    }

    /// Raises the value of one of `bins` to this one, if it is larger.
    pub(super) fn raise(&mut self, bins: usize, bin: usize, value: u64) {
        if value > 0 {
            let most = self.at(bins, bin);
            *most = (*most).max(value);
        }
    }

    /// The value of a bin.
    pub(super) fn get(&self, bin: usize) -> u64 {
        self.0.get(bin).copied().unwrap_or(0)
    }

    /// The values of bins.
    pub(super) fn column(&self, bins: &Range<usize>) -> Vec<f64> {
        bins.clone().map(|bin| self.get(bin) as f64).collect()
    }

    /// Their means over so many samples in each bin; NaN where there was none.
    pub(super) fn means(&self, bins: &Range<usize>, samples: &[u32]) -> Vec<f64> {
        let mean = |bin: usize| match samples[bin] {
            0 => f64::NAN,
            n => self.get(bin) as f64 / f64::from(n),
        };
        bins.clone().map(mean).collect()
    }
}

/// Differences of a running total, by bin.
#[derive(Debug, Default, ndnweir_state::Value)]
pub(super) struct Steps {
    bins: Counts,
    last: u64,
}

impl Steps {
    /// The total at a sample, whose difference belongs to `bin`.
    pub(super) fn add(&mut self, bins: usize, bin: Option<usize>, total: u64) {
        if let Some(bin) = bin {
            self.bins.add(bins, bin, total.saturating_sub(self.last));
        }
        self.last = total;
    }

    /// The difference of a bin.
    pub(super) fn get(&self, bin: usize) -> u64 {
        self.bins.get(bin)
    }

    /// The differences.
    pub(super) fn column(&self, bins: &Range<usize>) -> Vec<f64> {
        self.bins.column(bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_memory_from_its_first_value_above_zero_on() {
        let mut counts = Counts::default();
        counts.add(3, 1, 0);
        counts.raise(3, 1, 0);
        assert_eq!((counts.0.capacity(), counts.column(&(0..3))), (0, vec![0.0; 3]));
        counts.add(3, 2, 5);
        counts.add(3, 2, u64::MAX);
        counts.raise(3, 0, 7);
        counts.raise(3, 0, 4);
        assert_eq!((counts.get(0), counts.get(1), counts.get(2), counts.0.capacity()), (7, 0, u64::MAX, 3));
    }

    #[test]
    fn means_are_over_the_samples_of_each_bin_and_missing_without_any() {
        let mut counts = Counts::default();
        counts.add(3, 0, 6);
        let means = counts.means(&(0..3), &[4, 0, 2]);
        assert_eq!((means[0], means[1].is_nan(), means[2]), (1.5, true, 0.0));
    }
}

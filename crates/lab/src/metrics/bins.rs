//! The bins of series, and how much memory they may take.

use ndnweir_core::units::{Duration, Time};

/// Maximum number of bins in a run; the width is increased accordingly.
pub const MAX_BINS: u64 = 20_000;
/// Maximum memory of the series of one run while it is measured, in bytes; the width of bins is increased accordingly.
pub const SERIES_BYTES: u64 = 256 << 20;

/// How many there are of what has series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subjects {
    /// Link directions.
    pub links: usize,
    /// Nodes.
    pub nodes: usize,
    /// Consumers.
    pub consumers: usize,
}

impl Subjects {
    /// Bytes that one bin takes at most, paths and forwarding shares apart: 13 counts of a link direction, 9 of a node,
    /// and of a consumer 17 with those of its hop counts and flows.
    fn bytes(self) -> u64 {
        let counts = 13 * self.links as u64 + 9 * self.nodes as u64 + 17 * self.consumers as u64;
        8 * counts
    }

    /// The most bins of a run.
    fn bins(self) -> u64 {
        (SERIES_BYTES / self.bytes().max(1)).clamp(1, MAX_BINS)
    }
}

/// The bin width of a run of this length: `wanted`, or its smallest multiple with at most [`MAX_BINS`] bins that take at
/// most [`SERIES_BYTES`].
pub fn bin_width(wanted: Duration, length: Duration, subjects: Subjects) -> Duration {
    let wanted = wanted.nanos().max(1);
    let bins = length.nanos().div_ceil(wanted);
    Duration::from_nanos(wanted.saturating_mul(bins.div_ceil(subjects.bins()).max(1)))
}

/// The bins of a run, and its measurement window; only flows that begin in the window count.
#[derive(Clone, Copy)]
pub(super) struct BinClock {
    pub(super) bin: Duration,
    pub(super) from: Time,
    pub(super) to: Time,
}

impl BinClock {
    pub(super) fn counts(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_widened_until_their_number_and_their_memory_are_within_bounds() {
        let (ms, s) = (Duration::from_millis, |n: u64| Duration::from_millis(1000 * n));
        let few = Subjects { links: 10, nodes: 6, consumers: 2 };
        assert_eq!(bin_width(ms(100), s(60), few), ms(100));
        assert_eq!(bin_width(ms(1), s(60), few), ms(3), "60,000 are more than 20,000");
        // 8 · (13 · 40,000 + 9 · 10,000 + 17 · 5,000) = 5,560,000 bytes for each bin: 48 of them fit.
        let many = Subjects { links: 40_000, nodes: 10_000, consumers: 5_000 };
        assert_eq!(bin_width(ms(100), s(2), many), ms(100));
        assert_eq!(bin_width(ms(100), s(60), many), ms(1300), "600 bins become ⌈600 / 13⌉ = 47");
        // A width that was widened already stays.
        assert_eq!(bin_width(ms(1300), s(60), many), ms(1300));
        let millions = Subjects { links: 100_000_000, nodes: 0, consumers: 0 };
        assert_eq!(bin_width(ms(100), s(60), millions), s(60), "one bin at least");
    }
}

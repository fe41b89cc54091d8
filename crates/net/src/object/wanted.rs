//! Which segments are still wanted, numbered without gaps: a fetch that continues where another ended asks only for
//! these.

use super::ranges::Ranges;

/// The segments that are not in a set of [`Ranges`], in order; the n-th of them has the index n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Index and number of the first segment of each run of wanted ones; the last run has no end.
    runs: Vec<(u64, u64)>,
    had: Ranges,
}

impl Wanted {
    pub(crate) fn new(had: Ranges) -> Wanted {
        let mut runs = Vec::new();
        let (mut index, mut free) = (0, 0);
        for (start, end) in had.iter() {
            if start > free {
                runs.push((index, free));
                index += start - free;
            }
            free = end;
        }
        runs.push((index, free));
        Wanted { runs, had }
    }

    /// The segment with this index.
    pub(crate) fn segment(&self, index: u64) -> u64 {
        let at = self.runs.partition_point(|(first, _)| *first <= index) - 1;
        let (first, segment) = self.runs[at];
        segment.saturating_add(index - first)
    }

    /// The index of this segment; none if it is not wanted.
    pub(crate) fn index(&self, segment: u64) -> Option<u64> {
        (!self.had.contains(segment)).then(|| self.below(segment))
    }

    /// How many wanted segments have a lower number.
    pub(crate) fn below(&self, segment: u64) -> u64 {
        let at = self.runs.partition_point(|(_, first)| *first <= segment);
        let Some((index, first)) = at.checked_sub(1).map(|at| self.runs[at]) else { return 0 };
        let run = self.runs.get(at).map_or(u64::MAX, |(next, _)| next - index);
        index.saturating_add((segment - first).min(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn with_nothing_there_every_segment_has_its_own_number() {
        let wanted = Wanted::new(Ranges::new());
        assert_eq!((wanted.segment(7), wanted.index(7), wanted.below(7)), (7, Some(7), 7));
    }

    proptest! {
        #[test]
        fn indices_count_the_segments_that_are_missing(had in prop::collection::btree_set(0u64..40, 0..30)) {
            let mut ranges = Ranges::new();
            prop_assert!(had.iter().all(|&n| ranges.insert(n)));
            let wanted = Wanted::new(ranges);
            let missing: Vec<u64> = (0..60).filter(|n| !had.contains(n)).collect();
            for (index, &segment) in missing.iter().enumerate() {
                prop_assert_eq!(wanted.segment(index as u64), segment);
                prop_assert_eq!(wanted.index(segment), Some(index as u64));
            }
            for segment in 0..60 {
                let below = missing.iter().filter(|m| **m < segment).count() as u64;
                prop_assert_eq!(wanted.below(segment), below);
                prop_assert_eq!(wanted.index(segment).is_none(), had.contains(&segment));
            }
        }
    }
}

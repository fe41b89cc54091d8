//! A set of segment numbers as ranges, in memory that grows with the gaps and not with the object.

use std::collections::BTreeMap;

/// Disjoint ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// From the first number of a range to the number after its last.
    ends: BTreeMap<u64, u64>,
    count: u64,
}

impl Ranges {
    /// Nothing.
    pub fn new() -> Ranges {
        Ranges::default()
    }

    /// Reads the output of [`Ranges::iter`]; none unless the ranges ascend, are not empty and do not touch.
    pub fn from_pairs(pairs: &[(u64, u64)]) -> Option<Ranges> {
        let mut ranges = Ranges::new();
        let mut free = None;
        for &(start, end) in pairs {
            if end <= start || free.is_some_and(|free| start <= free) {
                return None;
            }
            ranges.ends.insert(start, end);
            ranges.count = ranges.count.checked_add(end - start)?;
            free = Some(end);
        }
        Some(ranges)
    }

    /// Adds a number; false if it was there. The number 2⁶⁴ − 1 cannot be added.
    pub fn insert(&mut self, number: u64) -> bool {
        if number == u64::MAX || self.contains(number) {
            return false;
        }
        let end = self.ends.remove(&(number + 1)).unwrap_or(number + 1);
        let before = self.ends.range(..number).next_back().filter(|(_, end)| **end == number).map(|(start, _)| *start);
        self.ends.insert(before.unwrap_or(number), end);
        self.count += 1;
        true
    }

    /// Whether a number is in one of the ranges.
    pub fn contains(&self, number: u64) -> bool {
        self.ends.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number after the largest; 0 when there is none.
    pub fn end(&self) -> u64 {
        self.ends.last_key_value().map_or(0, |(_, end)| *end)
    }

    /// Takes a number out; false if it was not there.
    pub fn remove(&mut self, number: u64) -> bool {
        let range = self.ends.range(..=number).next_back().map(|(start, end)| (*start, *end));
        let Some((start, end)) = range.filter(|(_, end)| number < *end) else { return false };
        self.ends.remove(&start);
        if start < number {
            self.ends.insert(start, number);
        }
        if number + 1 < end {
            self.ends.insert(number + 1, end);
        }
        self.count -= 1;
        true
    }

    /// The ranges in order: first number, and number after the last.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ends.iter().map(|(start, end)| (*start, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_that_do_not_ascend_or_touch_are_rejected() {
        for bad in [&[(3, 3)][..], &[(3, 2)], &[(0, 2), (2, 4)], &[(5, 6), (0, 2)], &[(0, 9), (4, 12)]] {
            assert_eq!(Ranges::from_pairs(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn ranges_hold_what_a_set_holds(numbers in prop::collection::vec((0u64..60, prop::bool::weighted(0.7)), 0..80)) {
            let mut ranges = Ranges::new();
            let mut set = BTreeSet::new();
            for (number, add) in numbers {
                match add {
                    true => prop_assert_eq!(ranges.insert(number), set.insert(number)),
                    false => prop_assert_eq!(ranges.remove(number), set.remove(&number)),
                }
            }
            prop_assert_eq!(ranges.count(), set.len() as u64);
            prop_assert_eq!(ranges.end(), set.last().map_or(0, |last| last + 1));
            prop_assert!((0..61).all(|n| ranges.contains(n) == set.contains(&n)));
            let pairs: Vec<_> = ranges.iter().collect();
            prop_assert_eq!(Ranges::from_pairs(&pairs), Some(ranges));
        }
    }
}

//! Finds a segment lost because later ones arrived, as a receiver of TCP does.

/// How many later segments make one that is missing lost (RFC 5681 §3.2).
const LATER: u32 = 3;

/// Counts Data that arrive while an earlier segment is missing.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Gap {
    missing: Option<u64>,
    later: u32,
}

impl Gap {
    /// A segment arrived; `first` is the first of those still in flight. Whether that is lost by now; once for each.
    pub fn on_data(&mut self, segment: u64, first: Option<u64>) -> bool {
        let Some(first) = first.filter(|first| *first < segment) else { return false };
        if self.missing == Some(first) {
            self.later = self.later.saturating_add(1);
        } else {
            *self = Gap { missing: Some(first), later: 1 };
        }
        self.later == LATER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_later_segment_shows_the_loss_of_the_first_missing_one() {
        let mut gap = Gap::default();
        let seen = [(1, Some(0)), (2, Some(0)), (3, Some(0)), (4, Some(0)), (5, Some(6)), (8, Some(6)), (9, None)];
        assert_eq!(
            seen.map(|(segment, first)| gap.on_data(segment, first)),
            [false, false, true, false, false, false, false]
        );
    }
}

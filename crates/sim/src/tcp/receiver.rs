//! The receiver of a transfer.

use super::{Ack, Segment};
use std::collections::BTreeSet;

/// The receiving end of a transfer, which acknowledges every segment.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct Receiver {
    next: u32,
    above: BTreeSet<u32>,
}

impl Receiver {
    /// Handles a segment; returns its acknowledgement, and whether the segment is new.
    pub fn segment(&mut self, segment: Segment) -> (Ack, bool) {
        let Segment { number, transmission } = segment;
        let fresh = number >= self.next && self.above.insert(number);
        while self.above.remove(&self.next) {
            self.next += 1;
        }
        (Ack { next: self.next, segment: number, transmission }, fresh)
    }

    /// All segments below this number have arrived.
    pub fn next(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_acknowledged_up_to_the_first_gap_and_counted_once() {
        let mut receiver = Receiver::default();
        let mut next = |number| {
            let (ack, fresh) = receiver.segment(Segment { number, transmission: 1 });
            (ack.next, ack.segment, fresh)
        };
        assert_eq!(
            [0, 2, 3, 2, 1, 0].map(&mut next),
            [(1, 0, true), (1, 2, true), (1, 3, true), (1, 2, false), (4, 1, true), (4, 0, false)]
        );
    }
}

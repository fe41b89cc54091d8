//! Packets waiting for the driver to collect them.

use crate::config::Transmit;

/// A queue that is filled by one call into the node and emptied before the next, so it never wraps.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Vec<Transmit>,
    taken: usize,
}

impl Outbox {
    #[inline]
    pub(crate) fn push(&mut self, transmit: Transmit) {
        self.queue.push(transmit);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Transmit> {
        let next = self.queue.get(self.taken).copied();
        if next.is_some() {
            self.taken += 1;
        } else {
            self.queue.clear();
            self.taken = 0;
        }
        next
    }
}

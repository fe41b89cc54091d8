//! Packets waiting for the driver to collect them.

use crate::config::Transmit;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;

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

    /// Puts a packet in its place before it is known whether and when it leaves: packets are moved once.
    #[inline]
    pub(crate) fn stage(&mut self, face: FaceId, packet: &Packet, now: Time) -> &mut Transmit {
        let at = self.queue.len();
        self.queue.push(Transmit { face, packet: *packet, start: now, end: now });
        &mut self.queue[at]
    }

    /// Takes the packet staged last out again.
    pub(crate) fn unstage(&mut self) {
        self.queue.pop();
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

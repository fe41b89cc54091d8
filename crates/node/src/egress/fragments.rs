//! Packets larger than the link's frames: each fragment queues, is marked and is dropped by itself, or, where the driver
//! cuts, the packet counts as much as its fragments.

use super::Egress;
use super::offer::Offered;
use crate::counters::DropCause;
use crate::fragments::{Cut, MAX_FRAGMENTS};
use crate::outbox::Outbox;
use ndnweir_core::ctx::Trace;
use ndnweir_core::packet::{Fragment, Packet};
use ndnweir_core::units::{Bytes, Time};

/// Where packets are cut.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct Cutter {
    /// The largest packet that leaves whole.
    whole: u32,
    cut: Option<Cut>,
    /// The driver cuts what has left the queue.
    below: bool,
    sequence: u8,
}

impl Cutter {
    pub(super) fn new(mtu: Option<Bytes>, below: bool) -> Cutter {
        let whole = mtu.map_or(u32::MAX, |mtu| u32::try_from(mtu.get()).unwrap_or(u32::MAX));
        Cutter { whole, cut: mtu.and_then(Cut::new), below, sequence: 0 }
    }

    /// What packets must be smaller than to leave whole by a face that is up or down.
    pub(super) fn passes(self, up: bool) -> u32 {
        if up { self.whole.saturating_add(1) } else { 0 }
    }

    /// What the fragments of a packet of `size` bytes take, each with `framing`, less one `framing`.
    fn below_size(self, size: u32, framing: u32) -> u32 {
        let Some(cut) = self.cut else { return size };
        cut.total(size).saturating_add((cut.count(size) - 1).saturating_mul(framing))
    }
}

impl Egress {
    /// [`Egress::offer`] on a face that is down, or of a packet that is too large for one frame.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_unusual(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        if !self.up {
            self.drop_offered(packet, DropCause::Down, out);
            return Offered::DONE;
        }
        // The largest size of all is not below any limit.
        if packet.size <= self.cutter.whole {
            return self.offer_whole(now, packet, out, trace);
        }
        if self.cutter.below {
            let size = self.cutter.below_size(packet.size, self.framing);
            return self.offer_whole(now, &Packet { size, ..*packet }, out, trace);
        }
        self.offer_fragments(now, packet, out, trace)
    }

    /// The largest frame from now on; what waits counts as it did when it joined.
    pub(crate) fn set_mtu(&mut self, mtu: Bytes) {
        self.cutter = Cutter { sequence: self.cutter.sequence, ..Cutter::new(Some(mtu), self.cutter.below) };
        self.derive();
    }

    /// Drops what was offered before it joins the queue.
    fn drop_offered(&mut self, packet: &Packet, cause: DropCause, out: &mut Outbox) {
        let size = packet.size.saturating_add(self.framing);
        self.count_offered(size);
        out.held(packet.tag);
        self.drop(packet, size, cause, out);
    }

    /// What does not fit into the queue is missing at the other end, and the packet with it; its other fragments are
    /// sent all the same, as by a forwarder, whose queue below does not tell it.
    fn offer_fragments(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        let size = packet.size;
        let count = self.cutter.cut.map_or(0, |cut| cut.count(size));
        let (Some(cut), 2..=MAX_FRAGMENTS) = (self.cutter.cut, count) else {
            self.drop_offered(packet, DropCause::Bound, out);
            return Offered::DONE;
        };
        self.cutter.sequence = self.cutter.sequence.wrapping_add(1);
        let mut offered = Offered::DONE;
        for index in 0..count {
            let fragment = Fragment { index: index as u8, count: count as u8, sequence: self.cutter.sequence };
            let part = Packet { size: cut.frame(size, index), fragment, ..*packet };
            // The same for all.
            offered = self.offer_whole(now, &part, out, trace);
        }
        offered
    }
}

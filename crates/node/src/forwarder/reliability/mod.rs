//! NDNLPv2 link reliability of one face: every frame has a TxSequence, the neighbour acknowledges it, and what it does
//! not acknowledge is sent again. No I/O: frames and the time go in, frames and the next wake-up come out.
//!
//! Source: the NDNLPv2 protocol page ("ReliableLink-layer Reliability") and NFD's `LpReliability`, whose numbers are
//! the defaults of [`Params`]. A frame counts as lost when three with greater TxSequence were acknowledged or its
//! timeout has passed, is sent again three times at most, and then all of its packet is given up. Acks ride on frames
//! that have room, and leave by themselves (an idle packet) after 5 ms.
//!
//! Our additions:
//! - **Support is detected.** A face that may probe puts a TxSequence on one frame a second; a neighbour that
//!   acknowledges it has the protocol, and from then on every packet is protected. To one that does not, no frame is
//!   retransmitted. A neighbour that sends TxSequences is acknowledged, and then probed likewise. One that falls silent
//!   (no ack for any of four timeouts in a row, each twice as long) is treated as one that never had it.
//! - A timeout sends eight frames again at most, until an ack comes: a silent link is probed, not filled.
//! - Every transmission has its own TxSequence, so that each ack gives a sample of the round trip (NFD: only those of
//!   frames sent once).
//! - Acks that would fill a frame leave at once. For 4096 frames after a needless retransmission every ack is sent
//!   twice, in different frames: with 1 % of frames lost, one in a hundred would be sent again just because its ack
//!   was.
//! - On a face with a rate, link retransmissions and idle packets leave before what waits and take its time.
//! - Where more frames are lost than noise explains ([`Params::mark_above`]), a link-retransmitted Data is marked: a
//!   queue that overflows is not hidden from consumers.

mod received;
mod sent;
#[cfg(test)]
mod tests;

use super::emit::Frames;
use ndnweir_core::ids::NameId;
#[cfg(doc)]
use ndnweir_core::shared::learned_rate::Arrival;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_wire::lp::{FragmentError, Fragmenter};
use ndnweir_wire::{LpHeader, LpPacketView};
use received::Received;
pub use received::ReceivedFrame;
use sent::{Expired, Sent};
use std::collections::VecDeque;

/// Bytes of a TxSequence or Ack field: TLV-TYPE 3, TLV-LENGTH 1, number 8.
pub(super) const FIELD: usize = 12;
/// Header field of a frame with acks: when that of the last arrived, and how many had by then, see [`Arrival`]; four bytes
/// each. Ours.
const ARRIVED: u32 = 940;
/// Bytes of it.
const ARRIVED_FIELD: usize = 12;
/// Bytes that TLV headers may grow by when fields are added.
pub(super) const GROWTH: usize = 4;
/// The most bytes of an idle packet's header.
const IDLE_HEAD: usize = 4;

/// Interests sent again that are remembered until their Data comes.
const MAX_LATE: usize = 64;

/// Whether a face retransmits losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reliability {
    /// TxSequences of the neighbour are ignored.
    #[default]
    Off,
    /// As soon as the neighbour has sent a TxSequence.
    OnRequest,
    /// As soon as the neighbour acknowledges, which is probed.
    On,
}

/// Numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How often a frame is sent again at most; NFD: 3.
    pub retransmissions: u8,
    /// A frame counts as lost when this many of greater TxSequence were acknowledged; NFD: 3.
    pub overtaken: u8,
    /// How long an ack waits for a frame to ride on; NFD: 5 ms.
    pub idle_ack: Duration,
    /// The least timeout; ndn-cxx's `RttEstimator`, which NFD uses: 200 ms.
    pub least_timeout: Duration,
    /// How often an unknown neighbour is probed; ours.
    pub ask_every: Duration,
    /// Share of frames lost, averaged over 512, above which a link-retransmitted Data is marked; 1 marks none. Ours.
    pub mark_above: f64,
    /// Whether the rate of the link is learned from acks, where nobody states it.
    pub learns_rate: bool,
    /// What the link below adds to a frame.
    pub framing: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            retransmissions: 3,
            overtaken: 3,
            idle_ack: Duration::from_millis(5),
            least_timeout: Duration::from_millis(200),
            ask_every: Duration::from_millis(1000),
            mark_above: 0.03,
            learns_rate: false,
            framing: Bytes::ZERO,
        }
    }
}

/// What happened on a link since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames acknowledged.
    pub acked: u64,
    /// Frames sent again.
    pub retransmitted: u64,
    /// Packets given up.
    pub given_up: u64,
    /// Frames that came again.
    pub duplicates: u64,
    /// Data marked because too many frames are lost.
    pub marks: u64,
    /// Acks for nothing that is in flight: they came late, or are forged.
    pub strays: u64,
}

/// The packet in a frame, to report that it was link-retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContent {
    /// This Interest.
    Interest(NameId),
    /// A Data, which may be marked.
    Data,
    /// A NACK.
    Nack,
}

/// A frame of the link's own, see [`ReliableLink::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFrame {
    /// A frame was sent again.
    LinkRetransmission,
    /// Acks alone.
    Idle,
}

/// One end of a link.
#[derive(Debug)]
pub struct ReliableLink {
    params: Params,
    setting: Reliability,
    /// Whether the neighbour acknowledges.
    acknowledged: bool,
    /// Whether the neighbour has sent TxSequences.
    requested: bool,
    /// When the neighbour may be probed.
    ask_from: Time,
    /// When a retransmission may leave.
    free_from: Time,
    sent: Sent,
    received: Received,
    /// Interests that were sent again, whose Data will be late; the oldest are replaced.
    late: VecDeque<NameId>,
    /// The state before the neighbour fell silent.
    counts: Counts,
}

impl ReliableLink {
    /// A link to a neighbour whose support is unknown. TxSequences begin with `first`, which should be random: acks are
    /// then hard to forge without seeing the frames.
    pub fn new(params: Params, setting: Reliability, first: u64) -> ReliableLink {
        ReliableLink {
            params,
            setting,
            acknowledged: false,
            requested: false,
            ask_from: Time::ZERO,
            free_from: Time::ZERO,
            sent: Sent::new(params, first),
            received: Received::new(params.learns_rate),
            late: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// What was requested.
    pub fn setting(&self) -> Reliability {
        self.setting
    }

    /// Changes what was requested.
    pub fn set(&mut self, setting: Reliability) {
        self.setting = setting;
    }

    /// Whether packets are protected: the neighbour acknowledges.
    pub fn is_in_use(&self) -> bool {
        self.acknowledged
    }

    /// Whether the neighbour has sent TxSequences.
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        let (sent, duplicates) = (self.sent.counts(), self.received.duplicates());
        Counts { duplicates, ..self.counts.plus(sent) }
    }

    /// Bytes of packets that are not acknowledged yet.
    pub fn bytes(&self) -> usize {
        self.sent.bytes()
    }

    /// A frame has arrived. Its acks are read, and it will be acknowledged. A duplicate is discarded.
    pub fn receive(&mut self, now: Time, view: &LpPacketView<'_>) -> ReceivedFrame {
        let told = view.extra(ARRIVED).and_then(received::arrival);
        let mut acks = view.acks().peekable();
        while let Some(ack) = acks.next() {
            let arrival = told.filter(|_| acks.peek().is_none());
            let expected = self.sent.acknowledge(now, ack, arrival);
            self.acknowledged |= expected;
            self.counts.strays += u64::from(!expected);
        }
        match view.tx_sequence.filter(|_| view.fragment.is_some()) {
            Some(number) => {
                self.requested = true;
                self.received.arrive(now, view.sequence, number, self.params.idle_ack)
            }
            None => ReceivedFrame::default(),
        }
    }

    /// Appends the frames of a packet that leaves. `spare` bytes of packets may still be kept.
    ///
    /// # Errors
    /// If the packet does not fit.
    #[expect(clippy::too_many_arguments, reason = "the context of one packet")]
    pub fn send(
        &mut self,
        now: Time,
        header: &LpHeader,
        packet: &[u8],
        about: FrameContent,
        spare: usize,
        fragmenter: &mut Fragmenter,
        frames: &mut Frames,
    ) -> Result<(), FragmentError> {
        if self.acknowledged && self.sent.has_room(packet.len(), spare) {
            let cut = fragmenter.cut(header, packet.len(), FIELD + GROWTH)?;
            let key = self.sent.insert(header, packet, cut, about);
            for index in 0..cut.count() {
                if let Some((header, part)) = self.sent.transmit(now, key, index) {
                    let before = frames.bytes.len();
                    self.received.encode(header, Some(part), fragmenter.mtu(), frames);
                    self.leaves(now, frames.bytes.len() - before, true);
                }
            }
            return Ok(());
        }
        let mtu = fragmenter.mtu();
        let may_ask = self.setting == Reliability::On || self.requested;
        if !self.acknowledged && may_ask && self.ask_from <= now {
            let cut = fragmenter.cut(header, packet.len(), FIELD + GROWTH)?;
            for index in 0..cut.count() {
                let mut header = cut.header(index, header);
                if index + 1 == cut.count() {
                    header.tx_sequence = Some(self.sent.track(now));
                    self.ask_from = now + self.params.ask_every;
                }
                self.received.encode(header, packet.get(cut.range(index)), mtu, frames);
            }
        } else if self.received.has_acks() && header.wrap(packet).len() + FIELD + 2 * GROWTH <= mtu {
            self.received.encode(header.clone(), Some(packet), mtu, frames);
        } else {
            fragmenter.fragment(header, packet)?.iter().for_each(|part| frames.push(part));
        }
        Ok(())
    }

    /// A packet that asked the neighbour to acknowledge, with this TxSequence, was kept back: the next one asks.
    pub fn ask_again(&mut self, number: u64) {
        if !self.acknowledged {
            self.sent.untrack(number);
            self.ask_from = Time::ZERO;
        }
    }

    /// Appends the next frame that the link itself has to send; call until none.
    pub fn poll(&mut self, now: Time, mtu: usize, frames: &mut Frames) -> Option<LinkFrame> {
        if self.sent.expire(now) == Expired::Silent {
            self.abandon_all(now);
        }
        let lossy = self.sent.loss() > self.params.mark_above;
        if self.free_from <= now
            && let Some((mut header, part, about)) = self.sent.next_retransmission(now)
        {
            if about == FrameContent::Data && lossy {
                header.congestion_mark = header.congestion_mark.max(Some(1));
                self.counts.marks += 1;
            }
            let before = frames.bytes.len();
            self.received.encode(header, Some(part), mtu, frames);
            self.leaves(now, frames.bytes.len() - before, true);
            if let FrameContent::Interest(name) = about {
                if self.late.len() == MAX_LATE {
                    self.late.pop_front();
                }
                self.late.push_back(name);
            }
            return Some(LinkFrame::LinkRetransmission);
        }
        if self.received.due(mtu) <= now {
            let before = frames.bytes.len();
            self.received.encode(LpHeader::default(), None, mtu, frames);
            self.leaves(now, frames.bytes.len() - before, false);
            return Some(LinkFrame::Idle);
        }
        None
    }

    /// A frame of so many bytes leaves.
    fn leaves(&mut self, now: Time, bytes: usize, numbered: bool) {
        self.sent.leaves(now, Bytes::new(bytes as u64) + self.params.framing, numbered);
    }

    /// Whether the rate of the link is learned from the neighbour's acks.
    pub fn learns_rate(&self) -> bool {
        self.acknowledged && self.sent.learns_rate()
    }

    /// The rate of the link, once it is learned.
    pub fn learned_rate(&self) -> Option<Rate> {
        self.sent.rate().filter(|_| self.acknowledged)
    }

    /// Whether an Interest for this name was sent again; each is reported once.
    pub fn take_late(&mut self, name: NameId) -> bool {
        let found = self.late.iter().position(|late| *late == name);
        found.is_some_and(|at| self.late.remove(at).is_some())
    }

    /// When [`ReliableLink::poll`] must be called; [`Time::NEVER`] if not at all.
    pub fn poll_timeout(&self, mtu: usize) -> Time {
        let link_retransmission = if self.sent.has_link_retransmissions() { self.free_from } else { Time::NEVER };
        link_retransmission.min(self.sent.due()).min(self.received.due(mtu))
    }

    /// The frame just polled occupies the wire until then.
    pub fn occupied(&mut self, until: Time) {
        self.free_from = until;
    }

    /// Drops everything kept: the neighbour does not acknowledge (any more), or frames must become smaller.
    pub fn abandon_all(&mut self, now: Time) {
        let fresh = Sent::new(self.params, self.sent.next());
        let mut former = std::mem::replace(&mut self.sent, fresh);
        former.abandon_all();
        self.counts = self.counts.plus(former.counts());
        self.acknowledged = false;
        self.requested = false;
        self.ask_from = now + self.params.ask_every;
    }
}

impl Counts {
    /// These and others together.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            acked: self.acked + other.acked,
            retransmitted: self.retransmitted + other.retransmitted,
            given_up: self.given_up + other.given_up,
            duplicates: self.duplicates + other.duplicates,
            marks: self.marks + other.marks,
            strays: self.strays + other.strays,
        }
    }
}

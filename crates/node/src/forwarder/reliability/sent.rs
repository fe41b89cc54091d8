//! What was sent and is not acknowledged yet.

use super::{Counts, FrameContent, Params};
use ndnweir_core::consumer::{Estimator, Timer};
use ndnweir_core::shared::learned_rate::{Arrival, Frame, LearnedRate};
use ndnweir_core::shared::rtt::RttEstimator;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_wire::LpHeader;
use ndnweir_wire::lp::Cut;
use std::collections::VecDeque;

/// Most frames from the oldest unacknowledged one to the newest. Packets beyond are not protected.
const MAX_FRAMES: usize = 8192;
/// Most bytes of packets kept.
const MAX_BYTES: usize = 8 << 20;
/// The overhead counted for a packet in addition to its bytes.
const OVERHEAD: usize = 512;
/// The most frames that one timeout sends again.
const MAX_RETRANSMISSIONS: usize = 8;
/// Weight of the newest frame in the mean share of losses. Where 1 % are lost, the mean deviates from that by
/// √(p(1 − p)/1023) = 0.3 percent points. Ours.
const WEIGHT: f64 = 1.0 / 512.0;
/// The packet of a frame that is only a probe for acks.
const NONE: u32 = u32::MAX;

/// Whether frames have timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// None, or some that will be sent again.
    Working,
    /// No ack has come for so long that the neighbour is assumed to send none.
    Silent,
}

/// One part of a packet.
#[derive(Clone, Copy, Debug)]
struct SentFragment {
    packet: u32,
    index: u16,
    /// How often it was sent again.
    again: u8,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    at: Time,
    part: SentFragment,
    /// Bits that had been sent before, see [`LearnedRate::sent`].
    before: u64,
    /// Acks for greater TxSequences.
    overtaken: u8,
}

/// Where a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FragmentState {
    Acknowledged,
    InFlight(u64),
    ToRetransmit,
}

#[derive(Debug)]
struct UnacknowledgedPacket {
    header: LpHeader,
    packet: Box<[u8]>,
    cut: Cut,
    about: FrameContent,
    /// Of each part.
    places: Box<[FragmentState]>,
    missing: usize,
}

#[derive(Debug)]
pub(super) struct Sent {
    params: Params,
    /// TxSequence of the first transmission in `ring`.
    base: u64,
    /// By TxSequence; those that are acknowledged or lost are none. The first never is.
    ring: VecDeque<Option<Transmission>>,
    packets: Vec<Option<UnacknowledgedPacket>>,
    free: Vec<u32>,
    link_retransmissions: VecDeque<SentFragment>,
    bytes: usize,
    rtt: RttEstimator,
    /// Timeouts since the last ack.
    silent: u8,
    loss: f64,
    counts: Counts,
    /// The rate of the link, where it is to be learned.
    learned: Option<Box<LearnedRate>>,
}

impl Sent {
    pub(super) fn new(params: Params, first: u64) -> Sent {
        let timer = Timer {
            estimator: Estimator::Ndnsim,
            min: params.least_timeout,
            max: Duration::from_millis(60_000),
            initial: Duration::from_millis(1000),
            scan: Duration::ZERO,
            backoff_cap: 64,
            deviations: 4.0,
            loss_detection: false,
        };
        Sent {
            params,
            base: first,
            ring: VecDeque::new(),
            packets: Vec::new(),
            free: Vec::new(),
            link_retransmissions: VecDeque::new(),
            bytes: 0,
            rtt: RttEstimator::new(timer),
            silent: 0,
            loss: 0.0,
            counts: Counts::default(),
            learned: params.learns_rate.then(Box::default),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Mean share of frames lost.
    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    /// The next TxSequence.
    pub(super) fn next(&self) -> u64 {
        self.base.wrapping_add(self.ring.len() as u64)
    }

    pub(super) fn has_link_retransmissions(&self) -> bool {
        !self.link_retransmissions.is_empty() && self.ring.len() < 2 * MAX_FRAMES
    }

    /// Whether a packet of `len` bytes may be kept; `spare` bytes are left for all links together.
    pub(super) fn has_room(&self, len: usize, spare: usize) -> bool {
        self.ring.len() < MAX_FRAMES && self.bytes + len + OVERHEAD <= MAX_BYTES && len + OVERHEAD <= spare
    }

    /// Keeps a packet of which all parts are about to be sent.
    pub(super) fn insert(&mut self, header: &LpHeader, packet: &[u8], cut: Cut, about: FrameContent) -> u32 {
        let places = vec![FragmentState::ToRetransmit; cut.count()].into_boxed_slice();
        let missing = cut.count();
        self.bytes += packet.len() + OVERHEAD;
        let entry = UnacknowledgedPacket { header: header.clone(), packet: packet.into(), cut, about, places, missing };
        match self.free.pop() {
            Some(key) => {
                self.packets[key as usize] = Some(entry);
                key
            }
            None => {
                self.packets.push(Some(entry));
                (self.packets.len() - 1) as u32
            }
        }
    }

    /// A part of a packet that is kept leaves for the first time: its header and bytes.
    pub(super) fn transmit(&mut self, now: Time, key: u32, index: usize) -> Option<(LpHeader, &[u8])> {
        self.number(now, SentFragment { packet: key, index: index as u16, again: 0 })
    }

    fn transmission(&self, now: Time, part: SentFragment) -> Option<Transmission> {
        let before = self.learned.as_ref().map_or(0, |learned| learned.sent());
        Some(Transmission { at: now, part, before, overtaken: 0 })
    }

    /// A frame of so many bytes on the wire leaves, the last that was given a TxSequence if it has one.
    pub(super) fn leaves(&mut self, now: Time, bytes: Bytes, numbered: bool) {
        if let Some(learned) = &mut self.learned {
            let others = self.ring.len() - usize::from(numbered);
            learned.on_sent(now, bytes.bits(), others == 0);
        }
    }

    /// Whether the neighbour says what it takes to learn the rate of the link.
    pub(super) fn learns_rate(&self) -> bool {
        self.learned.as_ref().is_some_and(|learned| learned.is_told())
    }

    /// The rate of the link, once it is learned.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.learned.as_ref()?.rate()
    }

    /// Gives a transmission the next TxSequence.
    fn number(&mut self, now: Time, part: SentFragment) -> Option<(LpHeader, &[u8])> {
        let (number, transmission) = (self.next(), self.transmission(now, part));
        let entry = self.packets.get_mut(part.packet as usize)?.as_mut()?;
        *entry.places.get_mut(usize::from(part.index))? = FragmentState::InFlight(number);
        self.ring.push_back(transmission);
        let index = usize::from(part.index);
        let header = LpHeader { tx_sequence: Some(number), ..entry.cut.header(index, &entry.header) };
        Some((header, entry.packet.get(entry.cut.range(index))?))
    }

    /// The TxSequence of a packet that is not kept, to see whether it is acknowledged.
    pub(super) fn track(&mut self, now: Time) -> u64 {
        let number = self.next();
        let part = SentFragment { packet: NONE, index: 0, again: 0 };
        self.ring.push_back(self.transmission(now, part));
        number
    }

    /// The probe of this number did not leave. If it was the last that was numbered, its TxSequence is free again.
    pub(super) fn untrack(&mut self, number: u64) {
        if number.wrapping_add(1) == self.next() {
            self.ring.pop_back_if(|last| last.as_ref().is_some_and(|last| last.part.packet == NONE));
        }
    }

    /// An ack has come, perhaps with what the neighbour says of the arrival. Whether it is for something in flight.
    pub(super) fn acknowledge(&mut self, now: Time, number: u64, arrival: Option<Arrival>) -> bool {
        let ahead = number.wrapping_sub(self.base);
        let Some(at) = usize::try_from(ahead).ok().filter(|at| *at < self.ring.len()) else { return false };
        let Some(transmission) = self.ring[at].take() else { return false };
        self.silent = 0;
        self.rtt.sample(now.since(transmission.at), 0);
        self.loss -= WEIGHT * self.loss;
        self.counts.acked += 1;
        if let Some(learned) = &mut self.learned {
            let Transmission { at, before, .. } = transmission;
            learned.on_ack(now, Frame { at, before, number }, arrival);
        }
        self.settle(transmission.part);
        for earlier in 0..at {
            let Some(overtaken) = self.ring[earlier].as_mut() else { continue };
            overtaken.overtaken += 1;
            if overtaken.overtaken >= self.params.overtaken {
                self.declare_lost(earlier);
            }
        }
        self.trim();
        true
    }

    fn settle(&mut self, part: SentFragment) {
        let Some(slot) = self.packets.get_mut(part.packet as usize) else { return };
        let Some(entry) = slot.as_mut() else { return };
        entry.places[usize::from(part.index)] = FragmentState::Acknowledged;
        entry.missing -= 1;
        if entry.missing == 0 {
            self.bytes -= entry.packet.len() + OVERHEAD;
            *slot = None;
            self.free.push(part.packet);
        }
    }

    /// The transmission at this place in the ring is lost.
    fn declare_lost(&mut self, at: usize) {
        let Some(Transmission { part, .. }) = self.ring[at].take() else { return };
        self.loss += WEIGHT * (1.0 - self.loss);
        if part.again >= self.params.retransmissions {
            self.give_up(part.packet);
        } else if let Some(entry) = self.packets.get_mut(part.packet as usize).and_then(Option::as_mut) {
            entry.places[usize::from(part.index)] = FragmentState::ToRetransmit;
            self.link_retransmissions.push_back(SentFragment { again: part.again + 1, ..part });
        }
    }

    fn give_up(&mut self, key: u32) {
        let Some(entry) = self.packets.get_mut(key as usize).and_then(Option::take) else { return };
        self.counts.given_up += 1;
        self.bytes -= entry.packet.len() + OVERHEAD;
        self.free.push(key);
        for place in &entry.places {
            if let FragmentState::InFlight(number) = place
                && let Some(transmission) = self.ring.get_mut(number.wrapping_sub(self.base) as usize)
            {
                *transmission = None;
            }
        }
        if entry.places.contains(&FragmentState::ToRetransmit) {
            self.link_retransmissions.retain(|part| part.packet != key);
        }
    }

    pub(super) fn abandon_all(&mut self) {
        for key in 0..self.packets.len() {
            self.give_up(key as u32);
        }
    }

    fn trim(&mut self) {
        while self.ring.front().is_some_and(Option::is_none) {
            self.ring.pop_front();
            self.base = self.base.wrapping_add(1);
        }
    }

    /// The next part to be sent again leaves: its header and bytes.
    pub(super) fn next_retransmission(&mut self, now: Time) -> Option<(LpHeader, &[u8], FrameContent)> {
        if !self.has_link_retransmissions() {
            return None;
        }
        let part = self.link_retransmissions.pop_front()?;
        let about = self.packets.get(part.packet as usize)?.as_ref()?.about;
        self.counts.retransmitted += 1;
        let (header, bytes) = self.number(now, part)?;
        Some((header, bytes, about))
    }

    /// When [`Sent::expire`] must be called.
    pub(super) fn due(&self) -> Time {
        self.ring.front().copied().flatten().map_or(Time::NEVER, |first| first.at + self.rtt.rto())
    }

    /// Frames that have waited too long for an ack are lost: the oldest, some at a time.
    pub(super) fn expire(&mut self, now: Time) -> Expired {
        if self.due() > now {
            return Expired::Working;
        }
        let timeout = self.rtt.rto();
        self.silent += 1;
        if self.silent > self.params.retransmissions {
            return Expired::Silent;
        }
        self.rtt.back_off();
        let mut lost = 0;
        for at in 0..self.ring.len() {
            match self.ring[at] {
                Some(transmission) if transmission.at + timeout > now || lost == MAX_RETRANSMISSIONS => break,
                Some(_) => {
                    self.declare_lost(at);
                    lost += 1;
                }
                None => {}
            }
        }
        self.trim();
        Expired::Working
    }
}

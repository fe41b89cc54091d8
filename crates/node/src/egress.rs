//! The egress of one face: what may wait, what is marked or dropped, and when each packet leaves.
//!
//! Departures at an instant precede arrivals at it. The packet on the wire is not part of the queue. The size of a
//! packet here (transmission time, byte limits, counters, what markers and disciplines see) is its bytes on the wire
//! plus the link's framing.
//!
//! Two drivers give the same results:
//!
//! - *Settled*: a first-in-first-out queue with a predictable marker (see [`Marker::predictable`]) determines every
//!   departure when a packet joins, so the packet is handed out immediately with its future times. What happened up to
//!   now (the marker's `on_dequeue` and `on_idle`, the counters) is applied before the queue is next examined. A
//!   packet-hop then costs the simulator one event. What components record there is stamped with the right time but may
//!   come out of order with records of other components.
//! - *Eventful*: any other combination hands a packet out when its transmission starts, which takes a timeout of the
//!   node per packet while the face is busy.

use crate::config::{FaceConfig, Transmit};
use crate::counters::{DropCause, FaceCounters};
use crate::outbox::Outbox;
use crate::rate_trace::TraceCursor;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::ids::{FaceId, FlowId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{DequeueEvent, Discipline, EnqueueEvent, Limit, Marker, QueueView, Queued, Verdict};
use ndnweir_core::registry::{AnyDiscipline, AnyMarker};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_prefetch::{prefetch, prefetch_first};
use std::collections::VecDeque;
use std::mem::offset_of;

/// The components of one egress.
#[derive(ndnweir_state::State)]
pub(crate) struct Parts {
    pub(crate) marker: AnyMarker,
    pub(crate) marker_rng: Rng,
    pub(crate) discipline: AnyDiscipline,
    pub(crate) discipline_rng: Rng,
}

impl Parts {
    /// Whether every departure is known the moment a packet joins.
    fn is_predictable(&self) -> bool {
        self.marker.predictable() && self.discipline.is_fifo()
    }
}

/// A packet that was handed out before it leaves (settled driver).
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct SettledPacket {
    joined: Time,
    start: Time,
    size: u32,
    flow: FlowId,
    kind: Kind,
}

/// What becomes of a packet that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
enum Way {
    /// It leaves at once: to an application, or by a link without a rate.
    Through,
    /// The settled driver on a link of some rate with the null marker or one at rest: the usual case, without a hook to
    /// call.
    Plain,
    /// The settled driver.
    Settled,
    /// The eventful driver.
    Eventful,
}

/// What is left of a transmission that was changed.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Left {
    /// When it was changed last.
    since: Time,
    /// What was left to send then, in 10⁻⁹ bits.
    work: u64,
}

/// The egress. What a packet needs that finds the wire free is one cache line and [`Usual`]; the line between is for
/// those that wait.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
pub(crate) struct Egress {
    /// Smaller packets leave whole, and fit into the queue, if there is one, when nothing waits; none do while it is down.
    passes: u32,
    framing: u32,
    /// When the transmission in flight, and all that were handed out, will have ended.
    busy_until: Time,
    /// The last size of an Interest or NACK, and of a Data, and its transmission time.
    serial_times: [Duration; 2],
    serial_sizes: [u32; 2],
    /// The transmission in flight, or the last one: when it started, and its size.
    sent_start: Time,
    sent_size: u32,
    face: FaceId,
    way: Way,
    /// No transmission is in flight, and the marker was notified.
    idle: bool,
    /// Whether `ring` has packets.
    waits: bool,
    /// Whether `left` holds: the transmission was changed since its start.
    sent_changed: bool,
    local: bool,
    up: bool,
    settled: bool,
    /// The marker is the null marker, whose hooks are skipped.
    passive: bool,
    ring: VecDeque<SettledPacket>,
    ring_bytes: Bytes,
    limit: Limit,
    /// Data packets waiting.
    data: u32,
    /// The marker writes header fields.
    stamps: bool,
    force_events: bool,
    /// The marker does not watch departures, and is not told of them.
    quiet: bool,
    usual: Usual,
    rate: Option<Rate>,
    /// How many bytes may wait on the plain way for a packet to join without the marker's verdict (see [`Marker::rests`]).
    rest: Bytes,
    left: Left,
    dropped: Vec<Packet>,
    /// What is not counted for every packet; see [`Egress::counters`].
    counters: FaceCounters,
    parts: Parts,
    cutter: Cutter,
    /// When the link can deliver, in place of `rate`.
    #[state(perhaps)]
    trace: Option<TraceCursor>,
}

fn transmission_time(rate: Option<Rate>, size: u32) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.transmission_time(Bytes::new(u64::from(size))))
}

/// The work of a transmission, in 10⁻⁹ bits.
fn work_of(size: u32) -> u64 {
    u64::from(size).saturating_mul(8_000_000_000)
}

impl Egress {
    pub(crate) fn new(face: FaceId, config: &FaceConfig, parts: Parts, force_events: bool) -> Egress {
        let cutter = Cutter::new(config.mtu, config.cut_below);
        let mut egress = Egress {
            face,
            local: config.local,
            up: true,
            passes: 0,
            way: Way::Through,
            settled: !force_events && parts.is_predictable(),
            passive: matches!(parts.marker, AnyMarker::DropTail(_)),
            stamps: parts.marker.stamps(),
            quiet: !parts.marker.watches_departures(),
            force_events,
            idle: true,
            rate: config.rate,
            limit: config.limit,
            framing: u32::try_from(config.framing.get()).unwrap_or(u32::MAX),
            busy_until: Time::ZERO,
            sent_start: Time::ZERO,
            sent_size: 0,
            sent_changed: false,
            rest: Bytes::ZERO,
            waits: false,
            left: Left::default(),
            usual: Usual::default(),
            ring: VecDeque::new(),
            ring_bytes: Bytes::ZERO,
            data: 0,
            serial_times: [Duration::ZERO; 2],
            serial_sizes: [0; 2],
            cutter,
            trace: config.trace.clone().map(TraceCursor::new),
            parts,
            dropped: Vec::new(),
            counters: FaceCounters::default(),
        };
        egress.derive();
        egress
    }

    /// After any change of what the way and [`Egress::passes`] depend on.
    fn derive(&mut self) {
        self.find_rest();
        self.passes = self.find_passes();
    }

    /// After the marker was made or called: whether it is to be called for the next packet, which says the way.
    #[inline]
    fn find_rest(&mut self) {
        let rests = if self.quiet && !self.stamps { self.parts.marker.rests() } else { None };
        self.rest = if self.passive { Bytes::new(u64::MAX) } else { rests.unwrap_or_default() };
        self.way = self.find_way(self.passive || rests.is_some());
    }

    fn find_way(&self, rests: bool) -> Way {
        match self.rate {
            None => Way::Through,
            Some(_) if self.local => Way::Through,
            _ if !self.settled => Way::Eventful,
            _ if rests && self.trace.is_none() => Way::Plain,
            _ => Way::Settled,
        }
    }

    fn find_passes(&self) -> u32 {
        let fit = match self.limit {
            _ if self.way == Way::Through => u32::MAX,
            Limit::Packets(0) => 0,
            Limit::Packets(_) => u32::MAX,
            Limit::Bytes(limit) => {
                let most = u32::try_from(limit.get()).unwrap_or(u32::MAX);
                most.checked_sub(self.framing).map_or(0, |most| most.saturating_add(1))
            }
        };
        self.cutter.passes(self.up).min(fit)
    }

    /// Asks for what a packet needs that is offered.
    #[inline(always)]
    pub(crate) fn expect(&self) {
        prefetch_first(self, offset_of!(Egress, rate));
    }

    /// Asks for the packets that wait first and last.
    #[inline(always)]
    pub(crate) fn expect_queue(&self) {
        self.ring.front().into_iter().for_each(prefetch);
        self.ring.back().into_iter().for_each(prefetch);
        if !self.passive {
            prefetch(&self.rate);
            prefetch_first(&self.parts, 128);
        }
        if self.waits {
            prefetch(&self.counters.sojourn_sum);
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.local
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// When [`Egress::advance`] must be called; [`Time::NEVER`] for the settled driver.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        if self.settled || self.idle || self.rests() { Time::NEVER } else { self.busy_until }
    }

    /// Eventful: nothing waits, and that the wire becomes free can be told to the components when the next packet joins.
    #[inline]
    fn rests(&self) -> bool {
        let Parts { discipline, .. } = &self.parts;
        self.passive && !self.force_events && discipline.rests_quietly() && discipline.packets() == 0
    }

    /// The queue now; [`Egress::advance`] must have been called for now.
    #[inline]
    pub(crate) fn view(&self) -> QueueView {
        let (packets, bytes) = if self.settled {
            (self.ring.len() as u32, self.ring_bytes)
        } else {
            (self.parts.discipline.packets(), self.parts.discipline.bytes())
        };
        QueueView { packets, bytes, limit: self.limit, rate: self.rate }
    }

    /// Packets of one flow's Data waiting.
    pub(crate) fn backlog(&self, flow: FlowId) -> u32 {
        if self.settled {
            self.ring.iter().filter(|w| w.kind == Kind::Data && w.flow == flow).count() as u32
        } else {
            self.parts.discipline.backlog(flow).0
        }
    }

    /// Data packets waiting, of all flows.
    pub(crate) fn data_waiting(&self) -> u32 {
        self.data
    }

    /// Credit of a flow at the discipline.
    pub(crate) fn credit(&self, flow: FlowId) -> Option<Bytes> {
        self.parts.discipline.credit(flow)
    }

    /// Takes Data to come off the credit of a flow.
    pub(crate) fn charge(&mut self, flow: FlowId, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            self.parts.discipline.charge(flow, bytes);
        }
    }

    /// Applies everything up to `now`; the eventful driver starts the transmissions that are due.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, out: &mut Outbox, trace: &mut Trace) {
        if self.settled {
            self.settle(now, trace);
        } else {
            while !self.idle && self.busy_until <= now {
                self.start_next(self.busy_until, out, trace);
            }
        }
    }

    #[inline(always)]
    fn settle(&mut self, now: Time, trace: &mut Trace) {
        while let Some(&waiting) = self.ring.front() {
            if waiting.start > now {
                return;
            }
            self.leave(waiting, trace);
        }
        if !self.idle && self.busy_until <= now {
            self.idle = true;
            if !self.quiet {
                let mut ctx = Ctx { now: self.busy_until, rng: &mut self.parts.marker_rng, trace };
                self.parts.marker.on_idle(&mut ctx);
            }
        }
    }

    /// How long the transmission of a packet takes that is next at `start`. On a link with a trace the packet at hand
    /// is on the wire while it waits for its deliveries.
    fn transmission_from(&mut self, start: Time, size: u32) -> Duration {
        match &mut self.trace {
            Some(trace) => trace.serve(start, Bytes::new(size.into())).since(start),
            None => transmission_time(self.rate, size),
        }
    }

    /// A packet starts its transmission, unless the marker drops it.
    #[inline(always)]
    fn departs(
        &mut self,
        kind: Kind,
        flow: FlowId,
        size: u32,
        joined: Time,
        start: Time,
        trace: &mut Trace,
    ) -> Verdict {
        let sojourn = start.since(joined);
        let mut verdict = Verdict::Pass;
        if !self.quiet {
            let event = DequeueEvent { kind, flow, size: Bytes::new(u64::from(size)), sojourn, queue: self.view() };
            let mut ctx = Ctx { now: start, rng: &mut self.parts.marker_rng, trace };
            verdict = self.parts.marker.on_dequeue(&event, &mut ctx);
            if verdict == Verdict::Drop {
                return verdict;
            }
        }
        self.count_departure(kind, size, joined, start);
        verdict
    }

    /// The wire is free at `at`: the next packet starts, or the face is idle.
    fn start_next(&mut self, at: Time, out: &mut Outbox, trace: &mut Trace) {
        loop {
            let Some(Queued { mut packet, joined, mark }) = self.take_next(at, out, trace) else {
                self.idle = true;
                let mut ctx = Ctx { now: at, rng: &mut self.parts.marker_rng, trace };
                self.parts.marker.on_idle(&mut ctx);
                return;
            };
            self.data -= u32::from(packet.kind == Kind::Data);
            match self.departs(packet.kind, packet.name.flow, packet.size, joined, at, trace) {
                Verdict::Drop => {
                    self.drop(&packet, packet.size, DropCause::Marker, out);
                    continue;
                }
                Verdict::Mark(level) => self.mark(&mut packet, level.max(mark)),
                Verdict::Pass if mark > 0 => self.mark(&mut packet, mark),
                Verdict::Pass => {}
            }
            let end = at + self.transmission_from(at, packet.size);
            self.busy_until = end;
            packet.size -= self.framing;
            out.push(Transmit { face: self.face, packet, joined, start: at, end });
            return;
        }
    }

    /// The discipline's next packet; what it drops before that is counted.
    fn take_next(&mut self, at: Time, out: &mut Outbox, trace: &mut Trace) -> Option<Queued> {
        let mut dropped = std::mem::take(&mut self.dropped);
        let mut ctx = Ctx { now: at, rng: &mut self.parts.discipline_rng, trace };
        let next = self.parts.discipline.dequeue(&mut dropped, &mut ctx);
        for packet in dropped.drain(..) {
            self.data -= u32::from(packet.kind == Kind::Data);
            self.drop(&packet, packet.size, DropCause::Marker, out);
        }
        self.dropped = dropped;
        next
    }

    fn mark(&mut self, packet: &mut Packet, level: u8) {
        packet.mark = packet.mark.max(level.max(1));
        self.counters.count_mark(packet.kind);
    }

    #[cold]
    fn overflow(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) {
        let queue = self.view();
        let mut ctx = Ctx { now, rng: &mut self.parts.marker_rng, trace };
        self.parts.marker.on_overflow(&EnqueueEvent { packet, queue }, &mut ctx);
        self.find_rest();
        self.drop(packet, packet.size, DropCause::Overflow, out);
    }

    #[cold]
    fn drop(&mut self, packet: &Packet, size: u32, cause: DropCause, out: &mut Outbox) {
        out.released(packet.tag);
        self.counters.drops[cause] += 1;
        if cause == DropCause::Overflow && packet.kind == Kind::Data {
            self.counters.overflow_data_bits += u64::from(size) * 8;
        }
    }
}

mod below;
mod counts;
mod faults;
mod fragments;
mod offer;

use counts::Usual;
use fragments::Cutter;
pub(crate) use offer::{Offered, Outcome};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_per_packet_stay_small() {
        assert_eq!(size_of::<SettledPacket>(), 32);
        assert_eq!((offset_of!(Egress, ring), offset_of!(Egress, usual), offset_of!(Egress, rate)), (64, 128, 192));
        assert!(size_of::<Transmit>() <= 96, "{}", size_of::<Transmit>());
    }
}

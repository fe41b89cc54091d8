//! A packet is offered: it leaves, waits or is dropped.

use super::{Egress, SettledPacket, Way};
use crate::counters::DropCause;
use crate::growth::grow_queue;
use crate::outbox::Outbox;
use ndnweir_core::ctx::{Ctx, Trace};
use ndnweir_core::ids::FlowId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Discipline, EnqueueEvent, Marker, QueueView, Verdict};
use ndnweir_core::units::{Bytes, Duration, Time};

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It leaves as it is, and was not put into the outbox.
    Leaves,
    /// What is to be done was done.
    Done,
    /// The same, and [`Egress::due`] may have changed.
    Due,
}

/// [`Outcome`], and when the packet has left that [`Outcome::Leaves`]. Returned in two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offered(pub(crate) Outcome, pub(crate) Time);

impl Offered {
    pub(super) const DONE: Offered = Offered(Outcome::Done, Time::NEVER);
    pub(super) const DUE: Offered = Offered(Outcome::Due, Time::NEVER);
}

impl Egress {
    /// A packet is offered, where uses are not logged.
    // Inlined where usual packets leave. It calls nothing but at its end, and loops over nothing: either would cost every
    // packet the registers that are kept over it.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        // One comparison for a face that is down and for a packet that is too large.
        if packet.size >= self.passes {
            return self.offer_unusual(now, packet, out, trace);
        }
        if self.way != Way::Plain {
            return self.offer_otherwise(now, packet, out, trace);
        }
        if self.busy_until > now || self.waits || !self.knows_time(packet) {
            return self.offer_behind(now, packet, out, trace);
        }
        self.join_plain(now, packet)
    }

    /// [`Egress::offer`] for the dozen other places that send something.
    #[inline(never)]
    pub(crate) fn offer_called(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        // Where they are, queues are often of the eventful driver.
        if self.way == Way::Eventful && packet.size < self.passes {
            return self.offer_eventful(now, packet, out, trace);
        }
        self.offer(now, packet, out, trace)
    }

    /// [`Egress::offer`] where uses are logged: with the same result, but that nothing [leaves](Outcome::Leaves).
    #[inline(never)]
    pub(crate) fn offer_logged(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        if packet.size >= self.passes {
            return self.offer_unusual(now, packet, out, trace);
        }
        self.offer_whole(now, packet, out, trace)
    }

    /// [`Egress::offer`] to another queue than a plain one.
    #[inline(never)]
    fn offer_otherwise(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        match self.way {
            Way::Through => self.pass_through(now, packet),
            Way::Plain | Way::Settled => {
                let size = packet.size.saturating_add(self.framing);
                self.count_offered(size);
                self.join_settled(now, packet, size, out, trace)
            }
            Way::Eventful => self.offer_eventful(now, packet, out, trace),
        }
    }

    /// [`Egress::offer`] of a packet that may have to wait. Where nothing waits it leaves as it is.
    #[inline(always)]
    fn offer_eventful(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        let is_free = self.idle || self.busy_until <= now;
        if is_free && self.passive && self.quiet && !self.force_events {
            let size = packet.size.saturating_add(self.framing);
            // They do so only while nothing waits, and what is smaller than `passes` fits then.
            if self.passes_discipline(now, packet.name.flow, Bytes::new(u64::from(size)), trace) {
                self.count_offered(size);
                self.count_departure(packet.kind, size, now, now);
                let end = now + self.serialisation(packet.kind, size, now);
                (self.busy_until, self.idle) = (end, false);
                return Offered(Outcome::Leaves, end);
            }
        }
        self.offer_whole(now, packet, out, trace)
    }

    /// Whether the discipline lets a packet through without keeping it.
    #[inline]
    fn passes_discipline(&mut self, now: Time, flow: FlowId, size: Bytes, trace: &mut Trace) -> bool {
        let mut ctx = Ctx { now, rng: &mut self.parts.discipline_rng, trace };
        self.parts.discipline.pass(flow, size, &mut ctx)
    }

    /// [`Egress::offer`] where there is no queue.
    #[inline(always)]
    fn pass_through(&mut self, now: Time, packet: &Packet) -> Offered {
        let size = packet.size.saturating_add(self.framing);
        self.count_offered(size);
        self.count_through(packet.kind, size);
        Offered(Outcome::Leaves, now)
    }

    /// [`Egress::offer`] on the plain way, perhaps behind others.
    #[inline(never)]
    pub(super) fn offer_behind(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        while let Some(&waiting) = self.ring.front()
            && waiting.start <= now
        {
            self.begin(waiting);
        }
        let fits = self.settled_view().fits(Bytes::new(u64::from(packet.size.saturating_add(self.framing))));
        // What is not at rest is on another line.
        let rests = self.passive || self.ring_bytes <= self.rest;
        if self.ring.len() == self.ring.capacity() || !fits || !rests || !self.knows_time(packet) {
            return self.offer_whole(now, packet, out, trace);
        }
        self.join_plain(now, packet)
    }

    /// Whether the transmission time of a packet is known.
    #[inline(always)]
    pub(super) fn knows_time(&self, packet: &Packet) -> bool {
        self.serial_sizes[usize::from(packet.kind == Kind::Data)] == packet.size.saturating_add(self.framing)
    }

    #[inline(never)]
    pub(super) fn offer_whole(&mut self, now: Time, packet: &Packet, out: &mut Outbox, trace: &mut Trace) -> Offered {
        let size = packet.size.saturating_add(self.framing);
        self.count_offered(size);
        out.held(packet.tag);
        match self.way {
            Way::Plain | Way::Settled => {
                let Offered(outcome, end) = self.join_settled(now, packet, size, out, trace);
                if outcome == Outcome::Leaves {
                    out.put(self.face, packet, [now, self.last_start(end), end]);
                }
            }
            Way::Through => {
                self.count_through(packet.kind, size);
                out.stage(self.face, packet, now);
            }
            Way::Eventful => {
                self.join(now, Packet { size, ..*packet }, out, trace);
                return Offered::DUE;
            }
        }
        Offered::DONE
    }

    /// The marker's verdict on a packet that would join and fits.
    #[inline]
    pub(super) fn judge(&mut self, now: Time, packet: &Packet, queue: QueueView, trace: &mut Trace) -> Verdict {
        let mut ctx = Ctx { now, rng: &mut self.parts.marker_rng, trace };
        self.parts.marker.on_enqueue(&EnqueueEvent { packet, queue }, &mut ctx)
    }

    /// Lets the marker write header fields of a packet that joins.
    pub(super) fn stamp(&mut self, now: Time, packet: &mut Packet, trace: &mut Trace) {
        let mut ctx = Ctx { now, rng: &mut self.parts.marker_rng, trace };
        self.parts.marker.stamp(packet, &mut ctx);
    }

    /// [`Egress::join_settled`] without the marker's verdict, for a packet that fits and whose transmission time is known.
    #[inline(always)]
    pub(super) fn join_plain(&mut self, now: Time, packet: &Packet) -> Offered {
        let (kind, size) = (packet.kind, packet.size.saturating_add(self.framing));
        self.count_offered(size);
        let start = now.max(self.busy_until);
        let end = start + self.serial_times[usize::from(kind == Kind::Data)];
        self.busy_until = end;
        self.idle = false;
        if start == now {
            // The next call would find it gone, without a hook being called.
            self.count_departure(kind, size, now, start);
        } else {
            self.wait(SettledPacket { joined: now, start, size, flow: packet.name.flow, kind });
        }
        Offered(Outcome::Leaves, end)
    }

    #[inline(never)]
    pub(super) fn join_settled(
        &mut self,
        now: Time,
        packet: &Packet,
        size: u32,
        out: &mut Outbox,
        trace: &mut Trace,
    ) -> Offered {
        self.settle(now, trace);
        let queue = self.settled_view();
        if !queue.fits(Bytes::new(u64::from(size))) {
            self.overflow_settled(now, packet, size, out, trace);
            return Offered::DONE;
        }
        let mut judged = None;
        if !self.passive {
            let mut joining = Packet { size, ..*packet };
            let verdict = self.judge(now, &joining, queue, trace);
            if self.quiet {
                self.find_rest();
            }
            match verdict {
                Verdict::Pass => {}
                Verdict::Mark(level) => self.mark(&mut joining, level),
                Verdict::Drop => {
                    self.drop(packet, size, DropCause::Marker, out);
                    return Offered::DONE;
                }
            }
            if self.stamps {
                self.stamp(now, &mut joining, trace);
            }
            if self.stamps || verdict != Verdict::Pass {
                judged = Some(Packet { size: packet.size, ..joining });
            }
        }
        let kind = packet.kind;
        let start = now.max(self.busy_until);
        let end = start + self.serialisation(kind, size, start);
        self.busy_until = end;
        self.idle = false;
        if start == now && self.quiet {
            self.count_departure(kind, size, now, start);
        } else {
            self.wait(SettledPacket { joined: now, start, size, flow: packet.name.flow, kind });
        }
        let Some(judged) = judged else { return Offered(Outcome::Leaves, end) };
        out.put(self.face, &judged, [now, start, end]);
        Offered::DONE
    }

    /// When the packet starts that was offered last, and [`Outcome::Leaves`].
    /// `end` is when it has left.
    pub(crate) fn last_start(&self, end: Time) -> Time {
        match self.way {
            Way::Through => end,
            _ => self.ring.back().map_or(self.sent_start, |last| last.start),
        }
    }

    /// The queue of the settled driver, see [`Egress::view`].
    #[inline(always)]
    pub(super) fn settled_view(&self) -> QueueView {
        QueueView { packets: self.ring.len() as u32, bytes: self.ring_bytes, limit: self.limit, rate: self.rate }
    }

    /// How long a packet of this kind takes that starts then; usually as long as the last of its kind.
    #[inline(always)]
    pub(super) fn serialisation(&mut self, kind: Kind, size: u32, start: Time) -> Duration {
        let which = usize::from(kind == Kind::Data);
        if self.serial_sizes[which] != size {
            // Nothing is remembered of a trace, which has another time for every packet.
            self.serial_sizes[which] = if self.trace.is_some() { 0 } else { size };
            self.serial_times[which] = self.transmission_from(start, size);
        }
        self.serial_times[which]
    }

    /// A packet that was handed out waits for its departure.
    #[inline]
    pub(super) fn wait(&mut self, packet: SettledPacket) {
        self.ring_bytes += Bytes::new(u64::from(packet.size));
        self.data += u32::from(packet.kind == Kind::Data);
        grow_queue(&mut self.ring);
        self.ring.push_back(packet);
        self.waits = true;
    }

    /// The first that waits starts its transmission.
    #[inline(always)]
    pub(super) fn leave(&mut self, waiting: SettledPacket, trace: &mut Trace) {
        let SettledPacket { joined, start, size, flow, kind } = waiting;
        self.leave_ring(waiting);
        let verdict = self.departs(kind, flow, size, joined, start, trace);
        debug_assert_eq!(verdict, Verdict::Pass, "a predictable marker decides when a packet joins");
    }

    /// [`Egress::leave`] with the null marker.
    #[inline(always)]
    pub(super) fn begin(&mut self, waiting: SettledPacket) {
        self.leave_ring(waiting);
        self.count_departure(waiting.kind, waiting.size, waiting.joined, waiting.start);
    }

    #[inline(always)]
    pub(super) fn leave_ring(&mut self, waiting: SettledPacket) {
        self.ring.pop_front();
        self.waits = !self.ring.is_empty();
        self.ring_bytes = self.ring_bytes - Bytes::new(u64::from(waiting.size));
        self.data -= u32::from(waiting.kind == Kind::Data);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn overflow_settled(
        &mut self,
        now: Time,
        packet: &Packet,
        size: u32,
        out: &mut Outbox,
        trace: &mut Trace,
    ) {
        self.settle(now, trace);
        self.overflow(now, &Packet { size, ..*packet }, out, trace);
    }

    #[inline(never)]
    pub(super) fn join(&mut self, now: Time, mut packet: Packet, out: &mut Outbox, trace: &mut Trace) {
        self.advance(now, out, trace);
        let queue = self.view();
        if queue.fits(packet.bytes()) {
            match self.judge(now, &packet, queue, trace) {
                Verdict::Pass => {}
                Verdict::Mark(level) => self.mark(&mut packet, level),
                Verdict::Drop => {
                    self.drop(&packet, packet.size, DropCause::Marker, out);
                    return;
                }
            }
            if self.stamps {
                self.stamp(now, &mut packet, trace);
            }
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        self.data += u32::from(packet.kind == Kind::Data);
        let mut ctx = Ctx { now, rng: &mut self.parts.discipline_rng, trace };
        self.parts.discipline.enqueue(packet, self.limit, &mut dropped, &mut ctx);
        for packet in dropped.drain(..) {
            self.data -= u32::from(packet.kind == Kind::Data);
            self.overflow(now, &packet, out, trace);
        }
        self.dropped = dropped;
        if self.idle && self.parts.discipline.packets() > 0 {
            self.idle = false;
            self.start_next(now, out, trace);
        }
    }
}

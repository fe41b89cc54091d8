//! Changes of rate, and faces that go down and come back.

use super::{Egress, Left, transmission_time, work_of};
use crate::counters::DropCause;
use crate::outbox::Outbox;
use ndnweir_core::ctx::{Ctx, Trace};
use ndnweir_core::queue::{Discipline, Limit, Marker};
use ndnweir_core::registry::{AnyDiscipline, AnyMarker};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};

impl Egress {
    /// What was left of the transmission in flight, and when.
    pub(super) fn left(&self) -> Left {
        if self.sent_changed { self.left } else { Left { since: self.sent_start, work: work_of(self.sent_size) } }
    }

    /// Sends at another rate from `now` on, which ends a trace; the packet on the wire continues with the rest of it.
    /// Pushes the new times of all packets handed out that have not left completely, oldest first.
    pub(crate) fn set_rate(
        &mut self,
        now: Time,
        rate: Option<Rate>,
        departures: &mut Vec<(Time, Time)>,
        out: &mut Outbox,
        trace: &mut Trace,
    ) {
        self.advance(now, out, trace);
        let former = std::mem::replace(&mut self.rate, rate);
        self.trace = None;
        self.serial_sizes = [0; 2];
        self.derive();
        if self.idle {
            return;
        }
        let before = self.left();
        let done = former.map_or(0, |former| {
            let scaled = u128::from(former.bps()) * u128::from(now.since(before.since).nanos());
            u64::try_from(scaled).unwrap_or(u64::MAX)
        });
        let work = before.work.saturating_sub(done);
        (self.left, self.sent_changed) = (Left { since: now, work }, true);
        let left = match rate {
            None => Duration::ZERO,
            Some(rate) if rate == Rate::ZERO => Duration::MAX,
            Some(rate) => Duration::from_nanos(work.saturating_add(rate.bps() / 2) / rate.bps()),
        };
        let mut at = now + left;
        departures.push((self.sent_start, at));
        for waiting in &mut self.ring {
            waiting.start = at;
            at += transmission_time(rate, waiting.size);
            departures.push((waiting.start, at));
        }
        self.busy_until = at;
        self.advance(now, out, trace);
    }

    /// Changes how much may wait.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
        self.derive();
    }

    /// Takes the face down (its queue is lost) or up. Returns how many of the packets handed out last never left
    /// completely.
    pub(crate) fn set_up(&mut self, now: Time, up: bool, out: &mut Outbox, trace: &mut Trace) -> usize {
        let lost = if up { 0 } else { self.flush(now, out, trace) };
        self.up = up;
        self.derive();
        lost
    }

    /// Loses what waits and what is on the wire.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Outbox, trace: &mut Trace) -> usize {
        self.advance(now, out, trace);
        if let Some(trace) = &mut self.trace {
            trace.rewind();
        }
        let mut lost = self.ring.len();
        self.counters.drops[DropCause::Down] += u64::from(self.view().packets);
        self.ring.clear();
        self.waits = false;
        self.ring_bytes = Bytes::ZERO;
        self.data = 0;
        if !self.settled {
            let mut ctx = Ctx { now, rng: &mut self.parts.discipline_rng, trace };
            let mut dropped = std::mem::take(&mut self.dropped);
            while let Some(queued) = self.parts.discipline.dequeue(&mut dropped, &mut ctx) {
                out.released(queued.packet.tag);
            }
            for packet in dropped.drain(..) {
                out.released(packet.tag);
            }
            self.dropped = dropped;
        }
        if !self.idle {
            lost += 1;
            self.counters.drops[DropCause::Down] += 1;
            self.counters.cut += 1;
            self.idle = true;
            self.busy_until = now;
            let mut ctx = Ctx { now, rng: &mut self.parts.marker_rng, trace };
            self.parts.marker.on_idle(&mut ctx);
        }
        lost
    }

    /// Replaces the components; what waits or is on the wire is lost, as by [`Egress::flush`].
    pub(crate) fn replace(
        &mut self,
        now: Time,
        marker: Option<AnyMarker>,
        discipline: Option<AnyDiscipline>,
        out: &mut Outbox,
        trace: &mut Trace,
    ) {
        self.flush(now, out, trace);
        if let Some(marker) = marker {
            self.parts.marker = marker;
        }
        if let Some(discipline) = discipline {
            self.parts.discipline = discipline;
        }
        self.passive = matches!(self.parts.marker, AnyMarker::DropTail(_));
        self.stamps = self.parts.marker.stamps();
        self.quiet = !self.parts.marker.watches_departures();
        self.settled = !self.force_events && self.parts.is_predictable();
        self.derive();
    }
}

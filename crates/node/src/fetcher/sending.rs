//! Which Interest a fetch sends next, and when.

use super::Fetcher;
use crate::server::{grown, millis};
use ndnweir_core::consumer::{Consumer, Flight, SentEvent};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::shared::pacer::Pacer;
use ndnweir_core::units::{Duration, Time};

/// A fetch that wakes late makes up for at most this: timers of real machines are no finer. Ours.
const PACING_SLACK: Duration = Duration::from_millis(1);

impl Fetcher {
    /// The next Interest that may be sent now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.clock = now;
        let (segment, retransmission) = match self.next_probe(now) {
            Some(segment) => {
                self.counters.probes += 1;
                (segment, true)
            }
            None => self.next_request(now)?,
        };
        let deadline = now + self.own_timeout();
        self.next_deadline = self.next_deadline.min(deadline);
        let (order, nonce) = (self.counters.interests, self.nonces.bits());
        if let Some(slot) = self.segments.get_mut(segment) {
            slot.sent = now;
            slot.order = order;
            slot.nonce = nonce;
            slot.deadline = deadline;
        }
        self.counters.interests += 1;
        self.counters.retransmissions += u64::from(retransmission);

        let mut packet = Packet {
            name: NameId { flow: self.config.flow, segment: segment as u32 },
            nonce,
            size: grown(self.config.interest_size, segment as u32, self.config.grows),
            lifetime_ms: millis(self.config.lifetime),
            kind: Kind::Interest,
            hop_limit: Packet::HOP_LIMIT,
            ..Packet::default()
        };
        self.consumer.on_rest(self.rest());
        self.consumer.stamp(segment, &mut packet.fields);
        let event = SentEvent { segment, retransmission, flight: self.flight() };
        self.consumer.on_sent(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        self.update_pacing(now, &event.flight);
        Some(packet)
    }

    /// The next segment to request, if the window and the pace let it, and whether it was requested before.
    fn next_request(&mut self, now: Time) -> Option<(u64, bool)> {
        if !self.can_send() || !self.pacer.ready(now) {
            return None;
        }
        let request = match self.segments.request_waiting() {
            Some(segment) => (segment, true),
            None if self.segments.has_room() => (self.segments.request_new(now), false),
            None => {
                self.counters.table_full += 1;
                return None;
            }
        };
        self.on_activity(now);
        self.in_flight = self.in_flight.saturating_add(1);
        Some(request)
    }

    /// Segments to be requested, for the first time or again; none if it is unknown how many there are.
    fn rest(&self) -> Option<u64> {
        let is_known = self.end < u64::from(NameId::WHOLE);
        is_known.then(|| self.end.saturating_sub(self.segments.next()) + u64::from(self.segments.waiting()))
    }

    fn update_pacing(&mut self, now: Time, flight: &Flight) {
        let own = self.consumer.pacing(flight);
        let gain = self.config.pace.filter(|_| own.is_none() && flight.highest_received.is_some());
        let window_gap = |gain| Pacer::gap(self.consumer.window(), self.rtt.srtt(), gain);
        let gap = gain.and_then(|gain| window_gap(gain).map(|gap| gap.min(self.arrivals.gap(gain))));
        match gap {
            Some(gap) => self.pacer.sent_late(now, gap, PACING_SLACK),
            None => self.pacer.sent(now, own),
        }
    }

    /// Whether there is something to request and the window has room for it.
    pub(super) fn can_send(&self) -> bool {
        let wanted = self.segments.waiting() > 0 || self.segments.next() < self.end;
        self.active && wanted && self.consumer.may_send(&self.flight())
    }
}

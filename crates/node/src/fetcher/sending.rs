//! Which Interest a fetch sends next, and when.

use super::Fetcher;
use crate::server::grown;
use ndnweir_core::consumer::{Consumer, SentEvent};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::shared::pacer::Pacer;
use ndnweir_core::units::{Duration, Time};

/// A fetch that wakes late makes up for at most this: timers of real machines are no finer. Ours.
const PACING_SLACK: Duration = Duration::from_millis(1);

impl Fetcher {
    /// The next Interest that may be sent now.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.clock = now;
        let may = self.can_send() && self.pacer.ready(now);
        // Half of all calls: the window is full or it is too early, and no probe is due.
        if !may && !self.probe_is_due(now) {
            return None;
        }
        self.transmit(now, may)
    }

    /// [`Fetcher::poll_transmit`], where it is known whether a segment may be requested.
    #[inline(never)]
    fn transmit(&mut self, now: Time, may: bool) -> Option<Packet> {
        let (segment, retransmission) = match self.next_probe(now) {
            Some(segment) => {
                self.counters.probes += 1;
                (segment, true)
            }
            None if may => self.next_request(now)?,
            None => return None,
        };
        let deadline = now + self.own_timeout();
        self.next_deadline = self.next_deadline.min(deadline);
        let (order, nonce) = (self.counters.interests, self.nonces.bits());
        let slot = self.segments.requested(segment);
        slot.sent = now;
        slot.order = order;
        slot.nonce = nonce;
        slot.deadline = deadline;
        self.counters.interests += 1;
        self.counters.retransmissions += u64::from(retransmission);

        let mut packet = Packet {
            name: NameId { flow: self.config.flow, segment: segment as u32 },
            nonce,
            size: grown(self.config.interest_size, segment as u32, self.config.grows),
            lifetime_ms: self.lifetime_ms,
            kind: Kind::Interest,
            hop_limit: Packet::HOP_LIMIT,
            ..Packet::default()
        };
        if self.tells_sending {
            self.tell_sending(now, segment, retransmission, &mut packet);
        } else {
            self.update_pacing(now, None);
        }
        Some(packet)
    }

    /// Tells the consumer of an Interest about to be sent, and lets it write to it.
    #[inline(never)]
    fn tell_sending(&mut self, now: Time, segment: u64, retransmission: bool, packet: &mut Packet) {
        self.consumer.on_rest(self.rest());
        self.consumer.stamp(segment, &mut packet.fields);
        let event = SentEvent { segment, retransmission, flight: self.flight() };
        self.consumer.on_sent(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        self.update_pacing(now, self.consumer.pacing(&event.flight));
    }

    /// The next segment to request, and whether it was requested before.
    fn next_request(&mut self, now: Time) -> Option<(u64, bool)> {
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

    /// When the next Interest may be sent; `own` is the consumer's gap.
    fn update_pacing(&mut self, now: Time, own: Option<Duration>) {
        let gain = self.config.pace.filter(|_| own.is_none() && self.highest.is_some());
        let window_gap = |gain| Pacer::gap(self.consumer.window(), self.rtt.srtt(), gain);
        let gap = gain.and_then(|gain| window_gap(gain).map(|gap| gap.min(self.arrivals.gap(gain))));
        match gap {
            Some(gap) => self.pacer.sent_late(now, gap, PACING_SLACK),
            None => self.pacer.sent(now, own),
        }
    }

    /// A Data ended a gap: the pace holds that it leads to.
    #[inline(never)]
    pub(super) fn end_gap(&mut self, now: Time) {
        self.pacer.hasten(now, self.consumer.pacing(&self.flight()));
    }

    /// Whether there is something to request and the window has room for it.
    pub(super) fn can_send(&self) -> bool {
        let wanted = self.segments.waiting() > 0 || self.segments.next() < self.end;
        self.active && wanted && self.consumer.may_send(&self.flight())
    }
}

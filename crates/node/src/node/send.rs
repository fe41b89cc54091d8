//! Sending: Interests through shapers, held Interests, and NACKs.

use super::Node;
use super::extras::Extras;
use crate::config::Departure;
use crate::counters::DropCause;
use crate::egress::{Offered, Outcome as Offering};
use crate::pit::InRecord;
use crate::strategies::StrategyChoiceId;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::meter::{InterestOut, Meter};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::shaper::{Admission, Answer, Downstream, Outcome, ReleaseEvent, Reverse, ShapeEvent, Shaper};
use ndnweir_core::strategy::{OutRecord, Strategy};
use ndnweir_core::units::{Bytes, Duration, Time};

/// The most Interests released in one call: more than a correct component holds.
const MAX_RELEASES: usize = 1 << 20;

/// What became of one copy of an Interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was sent, or a shaper holds it, or its hop limit ended here.
    Away,
    /// It may not leave by this face.
    Rejected(NackReason),
}

impl Node {
    #[inline]
    pub(super) fn drop(&mut self, cause: DropCause) {
        self.counters.drops[cause] += 1;
    }

    /// Sends one copy of a pending Interest, if the shaper agrees.
    #[inline(always)]
    pub(super) fn send_interest(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        in_face: FaceId,
        face: FaceId,
        packet: &Packet,
    ) -> Sent {
        let stays = self.keep_interest(now, slot, prefix, in_face, face, packet);
        stays.unwrap_or_else(|| {
            self.emit_interest(now, slot, prefix, face, packet);
            Sent::Away
        })
    }

    /// [`Node::send_interest`] of the only copy: the departure of one that leaves, as it is then.
    #[inline(always)]
    pub(super) fn send_off_interest(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        in_face: FaceId,
        face: FaceId,
        packet: &mut Packet,
    ) -> Result<Departure, NackReason> {
        match self.keep_interest(now, slot, prefix, in_face, face, packet) {
            Some(Sent::Away) => return Ok(Departure::NONE),
            Some(Sent::Rejected(reason)) => return Err(reason),
            None => {}
        }
        self.record_sent(now, slot, face, packet);
        if self.meters() {
            self.show_interest(now, prefix, face, packet);
        }
        if !self.extras.any(Extras::LOGS) {
            return Ok(self.send_off_called(now, face, packet));
        }
        self.emit(now, face, packet);
        Ok(Departure::NONE)
    }

    /// What becomes of a copy of a pending Interest that does not leave now; none if it does.
    #[inline(always)]
    fn keep_interest(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        in_face: FaceId,
        face: FaceId,
        packet: &Packet,
    ) -> Option<Sent> {
        let Some(out) = self.faces.get(face.index()) else { return Some(Sent::Rejected(NackReason::NoRoute)) };
        if face == in_face {
            return Some(Sent::Rejected(NackReason::NoRoute));
        }
        if packet.hop_limit == 0 && !out.egress.is_local() {
            self.drop(DropCause::Protocol);
            return Some(Sent::Away);
        }
        if self.shapes() && self.strategies.shapes(slot) {
            match self.admit(now, prefix, in_face, face, packet) {
                Admission::Pass => {}
                Admission::Hold => {
                    self.out.held(packet.tag);
                    return Some(Sent::Away);
                }
                Admission::Reject(reason) => {
                    let instance = self.strategies.at(slot);
                    let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
                    instance.strategy.on_rejection(packet, prefix, face, &mut ctx);
                    return Some(Sent::Rejected(reason));
                }
            }
        }
        None
    }

    fn admit(&mut self, now: Time, prefix: PrefixId, in_face: FaceId, face: FaceId, packet: &Packet) -> Admission {
        if u64::from(self.faces[face.index()].shaper.held()) >= self.held_limit {
            self.counters.held_full += 1;
            self.drop(DropCause::Bound);
            return Admission::Reject(NackReason::Congestion);
        }
        let flow = packet.name.flow;
        let (out, downstream) = (self.view(now, face), self.downstream(now, in_face, flow));
        let (reverse, base_rtt) = (self.reverse(face), self.base_rtt(prefix, face));
        let event = ShapeEvent { packet, prefix, out, downstream, reverse, base_rtt };
        self.touched.push(face);
        let face = &mut self.faces[face.index()];
        let mut ctx = Ctx { now, rng: &mut face.shaper_rng, trace: &mut self.trace };
        let admission = face.shaper.admit(&event, &mut ctx);
        if admission == Admission::Pass {
            let bytes = face.shaper.charge();
            self.faces[in_face.index()].egress.charge(flow, bytes);
        }
        admission
    }

    /// Where the Data of `flow` waits for a downstream face; the face must exist.
    fn downstream(&mut self, now: Time, face: FaceId, flow: FlowId) -> Downstream {
        let view = self.view(now, face);
        let face = &self.faces[face.index()];
        let (egress, flows) = (&face.egress, face.flows.count());
        Downstream {
            view,
            data: egress.data_waiting(),
            backlog: egress.backlog(flow),
            flows,
            credit: egress.credit(flow),
        }
    }

    fn base_rtt(&self, prefix: PrefixId, face: FaceId) -> Option<Duration> {
        let known = self.base_rtts.get(prefix.index())?;
        known.iter().find(|(hop, _)| *hop == face).map(|(_, rtt)| *rtt)
    }

    fn reverse(&self, face: FaceId) -> Reverse {
        let face = &self.faces[face.index()];
        Reverse { interests_in: face.interests_in, data_out: face.egress.data_sent() }
    }

    #[inline(always)]
    fn emit_interest(&mut self, now: Time, slot: u32, prefix: PrefixId, face: FaceId, packet: &Packet) {
        self.record_sent(now, slot, face, packet);
        if self.meters() {
            self.emit_metered(now, prefix, face, packet);
        } else {
            self.emit(now, face, packet);
        }
    }

    /// Notes that an Interest leaves by `face`.
    #[inline(always)]
    fn record_sent(&mut self, now: Time, slot: u32, face: FaceId, packet: &Packet) {
        if let Some(nonce) = self.pit.record_sent(slot, face, packet, now) {
            self.remember_dead(packet.name, nonce);
        }
    }

    /// Sends an Interest through the meter.
    #[inline(never)]
    fn emit_metered(&mut self, now: Time, prefix: PrefixId, face: FaceId, packet: &Packet) {
        let mut packet = *packet;
        self.show_interest(now, prefix, face, &mut packet);
        self.emit(now, face, &packet);
    }

    /// Shows the meter an Interest that leaves.
    #[inline(always)]
    fn show_interest(&mut self, now: Time, prefix: PrefixId, face: FaceId, packet: &mut Packet) {
        let mut event = InterestOut { packet, prefix, face };
        let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
        self.meter.on_interest_out(&mut event, &mut ctx);
    }

    /// Sends what is pending for a prefix to a next hop that is new, if its strategy does so and a downstream other
    /// than that waits for it. What the PIT does not keep of an Interest is as in a fresh one.
    pub(super) fn send_pending(&mut self, now: Time, prefix: PrefixId, face: FaceId) {
        for slot in self.pit.slots() {
            let name = self.pit.name(slot);
            if self.fib.prefix(name.flow) != Some(prefix)
                || !self.strategies.at(slot).strategy.sends_pending_to_new_hops()
            {
                continue;
            }
            let waits = |i: &usize| {
                let (record, expiry) = self.pit.downstream(slot, *i);
                record.face != face && expiry > now
            };
            let Some(i) = (0..self.pit.ins(slot)).find(waits) else { continue };
            let (record, _) = self.pit.downstream(slot, i);
            let lifetime_ms = self.pit.lifetime_ms(slot, i);
            let (nonce, size, fields) = (record.nonce, record.size(), *self.pit.fields(slot));
            let tag = self.out.tag_of_rebuilt(0);
            let fresh = Packet { hop_limit: Packet::HOP_LIMIT, tag, ..Packet::default() };
            let packet = Packet { name, nonce, size, lifetime_ms, fields, ..fresh };
            self.send_interest(now, slot, prefix, record.face, face, &packet);
        }
    }

    /// Hands a packet to a face's egress.
    #[inline(always)]
    pub(super) fn emit(&mut self, now: Time, face: FaceId, packet: &Packet) {
        let egress = &mut self.faces[face.index()].egress;
        let offered = match self.extras.any(Extras::LOGS) {
            true => egress.offer_logged(now, packet, &mut self.out, &mut self.trace),
            false => egress.offer_called(now, packet, &mut self.out, &mut self.trace),
        };
        let departure = self.departure(face, offered);
        if departure.is_some() {
            self.collect(now, departure, packet);
        }
    }

    /// [`Node::emit`] where uses are not logged, but a packet that leaves as it is is not put into the outbox.
    #[inline(always)]
    pub(super) fn send_off(&mut self, now: Time, face: FaceId, packet: &Packet) -> Departure {
        let egress = &mut self.faces[face.index()].egress;
        let offered = egress.offer(now, packet, &mut self.out, &mut self.trace);
        self.departure(face, offered)
    }

    /// [`Node::send_off`] where the offer is not inlined.
    #[inline(always)]
    pub(super) fn send_off_called(&mut self, now: Time, face: FaceId, packet: &Packet) -> Departure {
        let egress = &mut self.faces[face.index()].egress;
        let offered = egress.offer_called(now, packet, &mut self.out, &mut self.trace);
        self.departure(face, offered)
    }

    /// What follows from an offer to a face's egress.
    #[inline(always)]
    fn departure(&mut self, face: FaceId, Offered(outcome, end): Offered) -> Departure {
        match outcome {
            Offering::Leaves => return Departure { face, end },
            Offering::Done => {}
            Offering::Due => {
                let due = self.faces[face.index()].egress.due();
                self.note_due(face, due);
            }
        }
        Departure::NONE
    }

    /// Puts a packet that [`Node::forward`] gave back with what [`Node::poll_transmit`] gives.
    #[inline]
    pub fn collect(&mut self, now: Time, departure: Departure, packet: &Packet) {
        self.out.put(departure.face, packet, [now, self.last_start(departure), departure.end]);
    }

    /// When the first bit leaves of the packet that departed last by its face.
    #[inline]
    pub fn last_start(&self, Departure { face, end }: Departure) -> Time {
        self.faces.get(face.index()).map_or(end, |face| face.egress.last_start(end))
    }

    /// The link sends a frame of `bytes` of its own before what waits for `face`. Until when that takes.
    pub fn occupy(&mut self, now: Time, face: FaceId, bytes: Bytes) -> Time {
        let Some(out) = self.faces.get_mut(face.index()) else { return now };
        out.egress.advance(now, &mut self.out, &mut self.trace);
        let until = out.egress.occupy(now, bytes);
        let due = out.egress.due();
        self.note_due(face, due);
        until
    }

    /// The packet that has just left `face`, counted as `size`, took `bytes` in `frames` frames.
    pub fn took(&mut self, now: Time, face: FaceId, size: u32, frames: u32, bytes: u32) {
        let Some(out) = self.faces.get_mut(face.index()) else { return };
        out.egress.took(now, size, frames, bytes);
        let due = out.egress.due();
        self.note_due(face, due);
    }

    /// Changes the largest frame of a face whose driver cuts.
    pub fn set_mtu(&mut self, face: FaceId, mtu: Bytes) {
        if let Some(out) = self.faces.get_mut(face.index()) {
            out.egress.set_mtu(mtu);
        }
    }

    #[inline(never)]
    pub(super) fn send_nack(&mut self, now: Time, face: FaceId, nack: Packet) {
        self.counters.nacks_sent[nack.reason as usize] += 1;
        self.emit(now, face, &nack);
    }

    /// A NACK to one downstream. It carries the tag and, if `cause` is itself a NACK, the mark of what caused it.
    fn nack_downstream(&mut self, now: Time, record: &InRecord, reason: NackReason, cause: &Packet) {
        let mark = if cause.kind == Kind::Nack { cause.mark } else { 0 };
        let nack = Packet { nonce: record.nonce, size: record.size(), ..cause.nack(reason) };
        self.send_nack(now, record.face, Packet { mark, lifetime_ms: 0, payload: 0, ..nack });
        self.counters.rejected += 1;
    }

    /// Answers one downstream with a NACK; the entry stays for the others.
    pub(super) fn reject_one(&mut self, now: Time, slot: u32, face: FaceId, reason: NackReason, cause: &Packet) {
        if self.pit.ins(slot) == 1 {
            if self.pit.downstream(slot, 0).0.face == face {
                self.reject(now, slot, reason, cause);
            }
            return;
        }
        let Some(record) = self.pit.leave(slot, face, now) else { return };
        self.usual.pending -= 1;
        if self.counts_flows() {
            self.faces[face.index()].flows.remove(cause.name.flow);
        }
        self.nack_downstream(now, &record, reason, cause);
    }

    /// Answers every downstream of an entry with a NACK and forgets the entry.
    pub(super) fn reject(&mut self, now: Time, slot: u32, reason: NackReason, cause: &Packet) {
        for i in 0..self.pit.ins(slot) {
            let (record, expiry) = self.pit.downstream(slot, i);
            if expiry < now {
                self.counters.expired += 1;
            } else {
                self.nack_downstream(now, &record, reason, cause);
            }
        }
        self.record_dead_nonces(slot);
        self.remove_entry(now, slot, Outcome::Superseded);
    }

    /// Notifies a face's shaper of the outcome of an Interest that left by it.
    pub(super) fn notify_shaper(&mut self, now: Time, record: &OutRecord, outcome: Outcome, packet: &Packet) {
        let Some(prefix) = self.fib.prefix(packet.name.flow) else { return };
        let rtt = (!record.resent()).then(|| now.since(record.sent));
        let answer = Answer { outcome, packet, prefix, sent: record.sent, rtt };
        self.touched.push(record.face);
        let face = &mut self.faces[record.face.index()];
        let mut ctx = Ctx { now, rng: &mut face.shaper_rng, trace: &mut self.trace };
        face.shaper.on_answer(&answer, &mut ctx);
    }

    /// The Interest as the cause of a NACK, with what the shapers of its next hops stamp on it.
    pub(super) fn with_next_hop_stamps(&self, slot: u32, prefix: PrefixId, interest: &Packet) -> Packet {
        let mut cause = *interest;
        if !self.strategies.shapes(slot) {
            return cause;
        }
        for hop in self.fib.hops(prefix) {
            self.faces[hop.face.index()].shaper.stamp(interest.name.flow, &mut cause.fields);
        }
        cause
    }

    /// Sends what shapers and the strategy release after a hook.
    #[inline]
    pub(super) fn release_held(&mut self, now: Time) {
        if self.extras.any(Extras::SHAPES.and(Extras::HOLDS)) && (self.shapes() || self.strategies.holds()) {
            self.release(now, self.strategies.holds());
        }
    }

    pub(super) fn release(&mut self, now: Time, strategy: bool) {
        for _ in 0..MAX_RELEASES {
            if let Some(face) = self.touched.last().copied() {
                while let Some(packet) = self.faces[face.index()].shaper.discard() {
                    self.discard(now, &packet);
                }
                let next_held = self.faces[face.index()].shaper.next_held();
                let next_held = next_held.filter(|(downstream, _)| downstream.index() < self.faces.len());
                let downstream = next_held.map(|(downstream, flow)| self.downstream(now, downstream, flow));
                let event = ReleaseEvent { out: self.view(now, face), reverse: self.reverse(face), downstream };
                let out = &mut self.faces[face.index()];
                let mut ctx = Ctx { now, rng: &mut out.shaper_rng, trace: &mut self.trace };
                match out.shaper.release(&event, &mut ctx) {
                    Some(packet) => {
                        let bytes = out.shaper.charge();
                        if let Some((downstream, flow)) = next_held {
                            self.faces[downstream.index()].egress.charge(flow, bytes);
                        }
                        self.send_released(now, face, packet, None);
                        self.out.released(packet.tag);
                    }
                    None => {
                        self.shaper_wake = self.shaper_wake.min(out.shaper.next_wake());
                        self.touched.pop();
                    }
                }
                continue;
            }
            if !strategy {
                break;
            }
            let Some((whose, mut released)) = self.strategies.release(now, &mut self.trace) else { break };
            if !released.held {
                released.packet.tag = self.out.tag_of_rebuilt(released.packet.tag);
            }
            self.send_released(now, released.face, released.packet, Some(whose));
            self.out.released(released.packet.tag);
        }
        self.touched.clear();
    }

    /// A shaper gives up an Interest that it held: it is rejected, unless it is no longer pending or was sent as well.
    #[cold]
    fn discard(&mut self, now: Time, packet: &Packet) {
        match self.pit.find(packet.name) {
            Ok(slot) if self.pit.sent(slot).iter().all(|record| record.nacked.is_some()) => {
                self.reject(now, slot, NackReason::Congestion, packet);
            }
            Ok(_) => {}
            Err(_) => self.counters.held_stale += 1,
        }
        self.out.released(packet.tag);
    }

    /// A held Interest may leave, unless it is no longer pending, or its name was transferred to another strategy than
    /// the one that releases it. None stands for a shaper.
    fn send_released(&mut self, now: Time, face: FaceId, packet: Packet, strategy: Option<StrategyChoiceId>) {
        let found = self.pit.find(packet.name).ok().zip(self.fib.prefix(packet.name.flow));
        let Some((slot, prefix)) = found
            .filter(|_| face.index() < self.faces.len())
            .filter(|(slot, _)| strategy.is_none_or(|strategy| self.strategies.is_of(*slot, strategy)))
        else {
            self.counters.held_stale += 1;
            return;
        };
        if strategy.is_none() {
            self.emit_interest(now, slot, prefix, face, &packet);
            return;
        }
        let in_face = self.pit.downstream(slot, 0).0.face;
        if let Sent::Rejected(reason) = self.send_interest(now, slot, prefix, in_face, face, &packet)
            && self.pit.sent(slot).iter().all(|record| record.nacked.is_some())
        {
            let cause = self.with_next_hop_stamps(slot, prefix, &packet);
            self.reject(now, slot, reason, &cause);
        }
    }
}

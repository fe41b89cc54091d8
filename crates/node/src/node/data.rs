//! The Data pipeline.

use super::Node;
use super::extras::Extras;
use crate::config::Departure;
use crate::counters::DropCause;
use crate::pit::InRecord;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{DataIn, DataOut, Meter};
use ndnweir_core::packet::{Packet, flags};
use ndnweir_core::scheme::InterestMarks;
use ndnweir_core::shaper::{Outcome, Shaper};
use ndnweir_core::strategy::{DataReturn, Strategy};
use ndnweir_core::units::{Duration, Time};

/// A Data that satisfies an entry, with what is the same for all downstreams.
#[derive(Clone, Copy)]
struct Satisfying {
    slot: u32,
    prefix: PrefixId,
    /// Where it came from.
    face: FaceId,
    rtt: Option<Duration>,
    /// Of the pending Interests.
    mark: u8,
}

impl Node {
    /// The departure of a Data that is sent on as the only consequence, at a node that only sends them; none if more may be
    /// to be done with it.
    #[inline(always)]
    pub(super) fn on_data(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Option<Departure> {
        if face.index() < self.faces.len()
            && let Ok(found) = self.pit.locate(packet.name)
            && self.fib.prefix(packet.name.flow).is_some()
            && let Some((record, expiry, mark)) = self.pit.take_lone(found)
        {
            self.usual.data += 1;
            self.usual.pending -= 1;
            if !self.may_answer(now, face, &record, expiry) {
                return Some(Departure::NONE);
            }
            self.mark_answer(mark, &record, packet);
            return Some(self.send_off(now, record.face, packet));
        }
        None
    }

    /// A Data that nobody waits for or several do, or at a node that has more to do with it than to send it.
    #[inline(always)]
    pub(super) fn on_other_data(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Departure {
        self.usual.data += 1;
        if self.is_down(face) {
            self.drop(DropCause::Down);
            return Departure::NONE;
        }
        let Ok(found) = self.pit.locate(packet.name) else { return self.on_unsolicited(now, face, packet) };
        let Some(prefix) = self.fib.prefix(packet.name.flow) else { return self.on_unsolicited(now, face, packet) };
        let slot = found.slot;
        let mut rtt = None;
        let before = Extras::WATCHES.and(Extras::HOOKS).and(Extras::STAMPS).and(Extras::ADMITS);
        if self.extras.any(before) {
            rtt = self.take_in(now, slot, prefix, face, packet);
        }
        let view = self.pit.view(slot);
        let satisfying = Satisfying { slot, prefix, face, rtt, mark: view.mark() };
        let (ins, departure) = match view.single_downstream() {
            Some(lone) => (1, self.answer(now, satisfying, lone, packet)),
            None => (self.answer_several(now, satisfying, packet), Departure::NONE),
        };
        self.close(now, slot, ins, face, Outcome::Superseded);
        self.pit.remove_found(found);
        departure
    }

    /// Answers all downstreams of an entry that has had several. How many there are.
    #[inline(never)]
    fn answer_several(&mut self, now: Time, satisfying: Satisfying, packet: &mut Packet) -> usize {
        let before = *packet;
        let ins = self.pit.ins(satisfying.slot);
        for i in 0..ins {
            let departure = self.answer(now, satisfying, self.pit.downstream(satisfying.slot, i), packet);
            if departure.is_some() {
                self.collect(now, departure, packet);
            }
            *packet = before;
        }
        ins
    }

    #[inline(never)]
    fn on_unsolicited(&mut self, now: Time, face: FaceId, packet: &Packet) -> Departure {
        self.counters.unsolicited += 1;
        self.drop(DropCause::Protocol);
        self.notify_unsolicited(now, face, packet);
        Departure::NONE
    }

    /// What may be done with a Data before it is sent: it is shown, stored and stamped. Its round-trip time, see
    /// [`Node::show_data`].
    #[inline(never)]
    fn take_in(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        face: FaceId,
        packet: &mut Packet,
    ) -> Option<Duration> {
        let shown = Extras::WATCHES.and(Extras::HOOKS).and(Extras::STAMPS);
        let rtt = if self.extras.any(shown) { self.show_data(now, slot, prefix, face, packet) } else { None };
        if self.extras.any(Extras::ADMITS) && !packet.has(flags::NO_CACHE | flags::STORED) {
            self.insert_into_store(now, packet);
        }
        if self.stamps_stored() {
            self.stamp_data(slot, prefix, face, rtt, packet);
        }
        rtt
    }

    /// Whether strategies stamp Data that may have been stored before, which is without.
    #[inline(always)]
    fn stamps_stored(&self) -> bool {
        self.extras.any(Extras::STAMPS) && self.extras.any(Extras::ADMITS)
    }

    /// Whether a downstream that waits until its expiry gets a Data from `face`; it is counted.
    #[inline(always)]
    fn may_answer(&mut self, now: Time, face: FaceId, record: &InRecord, expiry: Time) -> bool {
        if expiry < now {
            self.counters.expired += 1;
            return false;
        }
        self.usual.answered += 1;
        // The upstream has it.
        record.face != face
    }

    /// The mark of pending Interests comes to a Data.
    #[inline(always)]
    fn mark_answer(&self, mark: u8, record: &InRecord, packet: &mut Packet) {
        if mark > 0 && (self.interest_marks != InterestMarks::Own || record.marked()) {
            packet.mark = packet.mark.max(mark);
        }
        packet.flags &= !flags::FROM_CACHE;
    }

    /// Answers one downstream that waits until its expiry. The departure of the answer, if it leaves as it is.
    #[inline(always)]
    fn answer(
        &mut self,
        now: Time,
        satisfying: Satisfying,
        (record, expiry): (InRecord, Time),
        packet: &mut Packet,
    ) -> Departure {
        if !self.may_answer(now, satisfying.face, &record, expiry) {
            return Departure::NONE;
        }
        if self.extras.any(Extras::WATCHES) && (packet.mark > 0 || self.extras.any(Extras::MARKS)) {
            packet.mark = self.mark_for(now, satisfying, record.face, packet);
        }
        self.mark_answer(satisfying.mark, &record, packet);
        if self.extras.any(Extras::METERS) {
            let mut event = DataOut {
                prefix: satisfying.prefix,
                face: record.face,
                interest_arrival: record.arrival,
                retransmitted: record.was_retransmitted(),
                interest_fields: self.pit.fields(satisfying.slot),
                from_cache: packet.has(flags::FROM_CACHE),
                flows: self.faces[record.face.index()].flows.count(),
                packet,
            };
            let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
            self.meter.on_data_out(&mut event, &mut ctx);
        }
        if !self.extras.any(Extras::LOGS) {
            return self.send_off_called(now, record.face, packet);
        }
        self.emit(now, record.face, packet);
        Departure::NONE
    }

    /// Shows a Data to the meter, to the shaper of the face that it came from and to the strategy. Its round-trip time,
    /// if the Interest was sent there once.
    #[inline(always)]
    fn show_data(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        face: FaceId,
        packet: &mut Packet,
    ) -> Option<Duration> {
        let local = self.faces[face.index()].egress.is_local();
        let record = self.pit.sent(slot).iter().find(|record| record.face == face).copied();
        let link_retransmitted = packet.has(flags::LINK_RETRANSMITTED);
        if let Some(record) = record {
            if self.meters() {
                let rtt = now.since(record.sent);
                let retransmitted = record.resent() || link_retransmitted;
                let mut event = DataIn { packet, prefix, face, rtt, retransmitted, local };
                let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
                self.meter.on_data_in(&mut event, &mut ctx);
            }
            if self.shapes() && record.nacked.is_none() && self.strategies.shapes(slot) {
                let record = if link_retransmitted { record.link_retransmitted() } else { record };
                self.notify_shaper(now, &record, Outcome::Data, packet);
                self.faces[face.index()].shaper.stamp(packet.name.flow, &mut packet.fields);
            }
        }
        let rtt = record.filter(|record| !record.resent() && !link_retransmitted).map(|record| now.since(record.sent));
        let view = self.pit.view(slot);
        let (hops, sent, interest_fields) = (self.fib.hops(prefix), view.sent(), view.fields());
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_data(&event, &mut ctx);
        if self.extras.any(Extras::STAMPS) && !self.extras.any(Extras::ADMITS) {
            let mut fields = event.packet.fields;
            instance.strategy.stamp_data(&event, &mut fields);
            packet.fields = fields;
        }
        rtt
    }

    /// The strategy's mark of a Data for one downstream.
    #[inline(never)]
    fn mark_for(&mut self, now: Time, satisfying: Satisfying, downstream: FaceId, packet: &Packet) -> u8 {
        let Satisfying { slot, prefix, face, rtt, .. } = satisfying;
        let local = self.faces[face.index()].egress.is_local();
        let (hops, sent, interest_fields) = (self.fib.hops(prefix), self.pit.sent(slot), self.pit.fields(slot));
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.propagate_mark(&event, downstream, &mut ctx)
    }

    /// Lets the strategy write header fields of a Data.
    #[inline(never)]
    fn stamp_data(&mut self, slot: u32, prefix: PrefixId, face: FaceId, rtt: Option<Duration>, packet: &mut Packet) {
        let (hops, sent, interest_fields) = (self.fib.hops(prefix), self.pit.sent(slot), self.pit.fields(slot));
        let local = self.faces[face.index()].egress.is_local();
        let mut fields = packet.fields;
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields };
        self.strategies.at(slot).strategy.stamp_data(&event, &mut fields);
        packet.fields = fields;
    }

    /// Notifies the strategy of an unsolicited Data or NACK.
    pub(crate) fn notify_unsolicited(&mut self, now: Time, face: FaceId, packet: &Packet) {
        if let Some(prefix) = self.fib.prefix(packet.name.flow) {
            let instance = self.strategies.of(packet.name.flow);
            let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
            instance.strategy.on_late(packet, face, prefix, &mut ctx);
        }
    }

    /// Answers an Interest from the content store. A flow without a prefix is answered without the hooks.
    #[inline(never)]
    pub(super) fn answer_from_store(&mut self, now: Time, face: FaceId, interest: &Packet, data: Packet) {
        let mark = if self.interest_marks == InterestMarks::Ignore { 0 } else { interest.mark };
        let Some(prefix) = self.fib.prefix(interest.name.flow) else {
            self.emit(now, face, &Packet { mark: mark.max(data.mark), flags: data.flags | flags::FROM_CACHE, ..data });
            return;
        };
        let mut data = Packet { flags: data.flags | flags::FROM_CACHE, ..data };
        let hops = self.fib.hops(prefix);
        let (packet, interest_fields) = (&data, &interest.fields);
        let event = DataReturn {
            packet,
            face: FaceId::NONE,
            prefix,
            hops,
            local: false,
            rtt: None,
            sent: &[],
            interest_fields,
        };
        let instance = self.strategies.of(interest.name.flow);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_data(&event, &mut ctx);
        data.mark = mark.max(instance.strategy.propagate_mark(&event, face, &mut ctx));
        if self.meters() {
            let mut event = DataOut {
                prefix,
                face,
                interest_arrival: now,
                retransmitted: false,
                interest_fields: &interest.fields,
                from_cache: data.has(flags::FROM_CACHE),
                flows: self.faces[face.index()].flows.count(),
                packet: &mut data,
            };
            let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
            self.meter.on_data_out(&mut event, &mut ctx);
        }
        self.emit(now, face, &data);
    }
}

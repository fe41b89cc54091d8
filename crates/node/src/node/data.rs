//! The Data pipeline.

use super::Node;
use crate::counters::DropCause;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::meter::{DataIn, DataOut, Meter};
use ndnweir_core::packet::{Packet, flags};
use ndnweir_core::scheme::InterestMarks;
use ndnweir_core::shaper::{Outcome, Shaper};
use ndnweir_core::strategy::{DataReturn, Strategy};
use ndnweir_core::units::{Duration, Time};

/// Where a copy of a Data goes, and the Interest it answers there.
struct Downstream {
    face: FaceId,
    interest_arrival: Time,
    retransmitted: bool,
    interest_fields: Fields,
    mark: u8,
    from_cache: bool,
}

impl Node {
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, face: FaceId, packet: &mut Packet) {
        self.counters.data += 1;
        if !self.faces.get(face.index()).is_some_and(|face| face.egress.is_up()) {
            self.drop(DropCause::Down);
            return;
        }
        let found = self.pit.locate(packet.name).ok().zip(self.fib.prefix(packet.name.flow));
        let Some((found, prefix)) = found else {
            self.counters.unsolicited += 1;
            self.drop(DropCause::Protocol);
            self.notify_unsolicited(now, face, packet);
            return;
        };
        let slot = found.slot;
        let watched = self.strategies.watch_data();
        let rtt = match watched || self.metering || self.shaping || self.stamping {
            true => self.show_data(now, slot, prefix, face, packet),
            false => None,
        };
        if self.cs.admits() && !packet.has(flags::NO_CACHE | flags::STORED) {
            self.insert_into_store(now, packet);
        }
        if self.stamping {
            self.stamp_data(slot, prefix, face, rtt, packet);
        }
        let view = self.pit.view(slot);
        let (mark, ins, lone) = (view.mark(), view.ins(), view.single_downstream());
        let own_only = self.interest_marks == InterestMarks::Own;
        for i in 0..ins {
            let (record, expiry) = lone.unwrap_or_else(|| self.pit.downstream(slot, i));
            if expiry < now {
                self.counters.expired += 1;
                continue;
            }
            self.counters.answered += 1;
            // The upstream has it.
            if record.face == face {
                continue;
            }
            let mark_of_data = match watched {
                true => self.mark_for(now, slot, prefix, [face, record.face], rtt, packet),
                false => packet.mark,
            };
            let downstream = Downstream {
                face: record.face,
                interest_arrival: record.arrival,
                retransmitted: record.was_retransmitted(),
                interest_fields: if self.metering { self.pit.fields(slot) } else { Fields::default() },
                mark: mark_of_data.max(if own_only && !record.marked() { 0 } else { mark }),
                from_cache: false,
            };
            self.send_downstream(now, prefix, packet, &downstream);
        }
        self.close(now, slot, face, Outcome::Superseded);
        self.pit.remove_found(found);
    }

    /// Shows a Data to the meter, to the shaper of the face that it came from and to the strategy. Its round-trip time,
    /// if the Interest was sent there once.
    #[inline(never)]
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
            if self.metering {
                let rtt = now.since(record.sent);
                let retransmitted = record.resent() || link_retransmitted;
                let mut event = DataIn { packet, prefix, face, rtt, retransmitted, local };
                let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
                self.meter.on_data_in(&mut event, &mut ctx);
            }
            if self.shaping && record.nacked.is_none() && self.strategies.shapes(slot) {
                let record = if link_retransmitted { record.link_retransmitted() } else { record };
                self.notify_shaper(now, &record, Outcome::Data, packet);
                self.faces[face.index()].shaper.stamp(packet.name.flow, &mut packet.fields);
            }
        }
        let rtt = record.filter(|record| !record.resent() && !link_retransmitted).map(|record| now.since(record.sent));
        let view = self.pit.view(slot);
        let (hops, sent, fields) = (self.fib.hops(prefix), view.sent(), view.fields());
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields: &fields };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_data(&event, &mut ctx);
        rtt
    }

    /// The strategy's mark of a Data for one downstream; `faces` are those that it came from and goes to.
    #[inline(never)]
    fn mark_for(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        faces: [FaceId; 2],
        rtt: Option<Duration>,
        packet: &Packet,
    ) -> u8 {
        let [face, downstream] = faces;
        let local = self.faces[face.index()].egress.is_local();
        let (hops, sent, fields) = (self.fib.hops(prefix), self.pit.sent(slot), self.pit.fields(slot));
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields: &fields };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.propagate_mark(&event, downstream, &mut ctx)
    }

    /// Lets the strategy write header fields of a Data.
    #[inline(never)]
    fn stamp_data(&mut self, slot: u32, prefix: PrefixId, face: FaceId, rtt: Option<Duration>, packet: &mut Packet) {
        let (hops, sent, interest_fields) = (self.fib.hops(prefix), self.pit.sent(slot), &self.pit.fields(slot));
        let local = self.faces[face.index()].egress.is_local();
        let mut fields = packet.fields;
        let event = DataReturn { packet, face, prefix, hops, local, rtt, sent, interest_fields };
        self.strategies.at(slot).strategy.stamp_data(&event, &mut fields);
        packet.fields = fields;
    }

    /// Notifies the strategy of an unsolicited Data or NACK.
    pub(super) fn notify_unsolicited(&mut self, now: Time, face: FaceId, packet: &Packet) {
        if let Some(prefix) = self.fib.prefix(packet.name.flow) {
            let instance = self.strategies.of(packet.name.flow);
            let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
            instance.strategy.on_late(packet, face, prefix, &mut ctx);
        }
    }

    /// Sends a Data to one downstream, and leaves it unchanged for the next.
    #[inline(always)]
    fn send_downstream(&mut self, now: Time, prefix: PrefixId, packet: &mut Packet, downstream: &Downstream) {
        let (mark, flags) = (packet.mark, packet.flags);
        packet.mark = downstream.mark;
        packet.flags &= !flags::FROM_CACHE;
        if downstream.from_cache {
            packet.flags |= flags::FROM_CACHE;
        }
        if self.metering {
            let mut packet = *packet;
            let mut event = DataOut {
                packet: &mut packet,
                prefix,
                face: downstream.face,
                interest_arrival: downstream.interest_arrival,
                retransmitted: downstream.retransmitted,
                interest_fields: downstream.interest_fields,
                from_cache: downstream.from_cache,
                flows: self.faces[downstream.face.index()].flows.count(),
            };
            let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
            self.meter.on_data_out(&mut event, &mut ctx);
            self.emit(now, downstream.face, &packet);
        } else {
            self.emit(now, downstream.face, packet);
        }
        (packet.mark, packet.flags) = (mark, flags);
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
        let mark_of_data = instance.strategy.propagate_mark(&event, face, &mut ctx);
        let downstream = Downstream {
            face,
            interest_arrival: now,
            retransmitted: false,
            interest_fields: interest.fields,
            mark: mark.max(mark_of_data),
            from_cache: true,
        };
        self.send_downstream(now, prefix, &mut data, &downstream);
    }
}

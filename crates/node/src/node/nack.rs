//! The NACK pipeline.

use super::Node;
use crate::counters::DropCause;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::shaper::{Outcome, Shaper};
use ndnweir_core::strategy::{NackReturn, Strategy};
use ndnweir_core::units::Time;

impl Node {
    #[inline(never)]
    pub(super) fn on_nack(&mut self, now: Time, face: FaceId, mut packet: Packet) {
        self.counters.nacks += 1;
        if self.is_down(face) {
            self.drop(DropCause::Down);
            return;
        }
        let found = self.pit.find(packet.name).ok().zip(self.fib.prefix(packet.name.flow));
        let matching = found.and_then(|(slot, prefix)| {
            let record = self.pit.sent_to_mut(slot, face)?;
            // A NACK for an Interest that has been sent again since says nothing about the new one.
            if record.nonce != packet.nonce || record.nacked.is_some() {
                return None;
            }
            record.nacked = Some(packet.reason);
            Some((slot, prefix, *record))
        });
        let Some((slot, prefix, record)) = matching else {
            self.counters.unmatched_nacks += 1;
            self.drop(DropCause::Protocol);
            if found.is_none() {
                self.notify_unsolicited(now, face, &packet);
            }
            return;
        };
        if self.shapes() && self.strategies.shapes(slot) {
            self.notify_shaper(now, &record, Outcome::Nack(packet.reason), &packet);
            self.faces[face.index()].shaper.stamp(packet.name.flow, &mut packet.fields);
        }
        let mut downstreams = std::mem::take(&mut self.downstreams);
        downstreams.clear();
        downstreams.extend((0..self.pit.ins(slot)).map(|i| self.pit.downstream(slot, i).0.face));
        let mut choice = std::mem::take(&mut self.choice);
        choice.clear();
        let mut note = self.pit.note(slot);
        let mut event = NackReturn {
            packet: &packet,
            face,
            prefix,
            hops: self.fib.hops(prefix),
            sent: self.pit.sent(slot),
            downstreams: &downstreams,
            note: &mut note,
        };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_nack(&mut event, &mut choice, &mut ctx);
        self.pit.set_note(slot, note);
        let in_face = downstreams.first().copied().unwrap_or(FaceId::NONE);
        self.downstreams = downstreams;
        if choice.copies().is_empty() && !choice.is_held() {
            if let Some(reason) = choice.rejection() {
                self.reject(now, slot, reason, &packet);
            } else if let Some((face, reason)) = choice.rejection_of_one() {
                self.reject_one(now, slot, face, reason, &packet);
            }
        } else {
            let interest = self.restored(&packet, slot);
            self.apply_decision(now, slot, prefix, in_face, &interest, &choice);
        }
        self.choice = choice;
    }

    /// The Interest in a NACK, as it was sent, without what was added on its path; its lifetime is that of the first
    /// downstream, as NACKs carry none.
    fn restored(&self, nack: &Packet, slot: u32) -> Packet {
        let lifetime_ms = self.pit.lifetime_ms(slot, 0);
        Packet { kind: Kind::Interest, mark: 0, fields: *self.pit.fields(slot), lifetime_ms, ..*nack }
    }
}

//! From frames to packets.

use super::names::{split, split_interest};
use super::routes::{is_localhop, is_localhost};
use super::{Forwarder, MAX_CANDIDATES, names, payloads};
use crate::header::Beside;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::units::Time;
use ndnweir_wire::lp::Reassembler;
use ndnweir_wire::{DataView, InterestBuilder, InterestView, LpPacketView, PacketView};
use std::time::Duration;

/// Evictions for one packet at most, when memory is short.
const MAX_EVICTIONS: usize = 64;

fn flag(is: bool, flag: u8) -> u8 {
    if is { flag } else { 0 }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

impl Forwarder {
    /// A frame has arrived on a face: one LpPacket, Interest or Data.
    pub fn receive(&mut self, now: Time, id: FaceId, frame: &[u8]) {
        let Some(face) = self.faces.get_mut(id.index()).filter(|face| face.up) else { return };
        face.counters.bytes_in += frame.len() as u64;
        let Ok(view) = LpPacketView::decode(frame) else {
            self.counters.malformed += 1;
            return;
        };
        let Some(again) = self.hear(now, id, &view) else { return };
        let Some(fragment) = view.fragment else { return };
        let face = &mut self.faces[id.index()];
        if view.is_fragmented() {
            let trust = face.trust;
            let reassembler = face.reassembler.get_or_insert_with(|| Box::new(Reassembler::default()));
            let now_here = Duration::from_nanos(now.nanos());
            match self.fragments.within(reassembler, |face| face.push_again(now_here, 0, &view, again)) {
                Ok(None) => {}
                Ok(Some(whole)) => {
                    let beside = Beside::of_header(&whole.header, &self.layout, trust);
                    let beside = Beside { repaired: whole.repaired || beside.repaired, ..beside };
                    self.packet(now, id, &whole.packet, beside);
                }
                Err(_) => self.counters.fragments += 1,
            }
        } else {
            let beside = Beside::of_view(&view, &self.layout, face.trust);
            let beside = Beside { repaired: again || beside.repaired, ..beside };
            self.packet(now, id, fragment, beside);
        }
    }

    fn packet(&mut self, now: Time, id: FaceId, wire: &[u8], beside: Beside) {
        let Ok(packet) = PacketView::decode(wire) else {
            self.counters.malformed += 1;
            return;
        };
        let face = &mut self.faces[id.index()];
        let counters = &mut face.counters;
        counters.marked_in += u64::from(beside.mark > 0);
        let (total, name) = match (&packet, beside.nack) {
            (PacketView::Interest(interest), None) => (&mut counters.interests_in, interest.name()),
            (PacketView::Interest(interest), Some(_)) => (&mut counters.nacks_in, interest.name()),
            (PacketView::Data(data), None) => (&mut counters.data_in, data.name()),
            (PacketView::Data(_), Some(_)) => {
                self.counters.malformed += 1;
                return;
            }
        };
        *total += 1;
        if !face.local && is_localhost(name) {
            self.counters.scope += 1;
            return;
        }
        match packet {
            PacketView::Interest(interest) if beside.nack.is_some() => self.nack(now, id, &interest, &beside),
            PacketView::Interest(interest) => self.interest(now, id, &interest, &beside),
            PacketView::Data(data) => self.data(now, id, &data, &beside),
        }
        self.account();
    }

    fn interest(&mut self, now: Time, id: FaceId, interest: &InterestView<'_>, beside: &Beside) {
        let ends = self.hint_ends_here(interest);
        if let Some(nonce) = interest.nonce().filter(|_| !ends) {
            self.interest_with_nonce(now, id, interest, nonce, beside);
            return;
        }
        let nonce = interest.nonce().unwrap_or_else(|| self.rng.bits().to_be_bytes());
        let mut changed = InterestBuilder::from_view(interest).nonce(nonce);
        if ends {
            changed = changed.forwarding_hint([]);
        }
        match changed.encode().as_deref().map(InterestView::decode_unchecked_digest) {
            Ok(Ok(interest)) => self.interest_with_nonce(now, id, &interest, nonce, beside),
            _ => self.counters.malformed += 1,
        }
    }

    fn interest_with_nonce(
        &mut self,
        now: Time,
        id: FaceId,
        interest: &InterestView<'_>,
        nonce: [u8; 4],
        beside: &Beside,
    ) {
        let mut packet = asked(interest, nonce, beside);
        packet.lifetime_ms = packet.lifetime_ms.min((self.max_lifetime.nanos() / 1_000_000) as u32);
        if !self.faces[id.index()].local && is_localhop(interest.name()) {
            packet.hop_limit = packet.hop_limit.min(1);
        }
        if !self.make_room(interest.wire().len()) {
            return;
        }
        packet.name = match self.stored_for(now, interest) {
            Some(stored) => stored,
            None => {
                let Some((name, new)) = self.names.intern(split_interest(interest)) else {
                    self.counters.full += 1;
                    return;
                };
                if new {
                    self.bind(name.flow);
                }
                name
            }
        };
        let generation = self.names.generation(packet.name.flow);
        self.tokens.note(packet.name, generation, id, beside.token);
        self.names.keep(packet.name.flow);
        let tag = self.payloads.insert_interest(interest, packet.name.flow, id);
        packet.tag = tag;
        self.node.receive(now, id, &mut packet);
        self.account();
        self.release(tag);
    }

    /// The name of a stored Data that answers an Interest whose own name is another.
    fn stored_for(&mut self, now: Time, interest: &InterestView<'_>) -> Option<NameId> {
        let name = interest.name();
        let fresh = interest.must_be_fresh();
        if let Some(digest) = name.last().and_then(|last| last.as_implicit_digest()) {
            let stored = self.names.find(split(name.parent()?))?;
            let tag = self.node.stored(now, stored, fresh)?;
            let data = DataView::decode(&self.payloads.get(tag)?.wire).ok()?;
            return (data.implicit_digest() == *digest).then_some(stored);
        }
        let hinted = !interest.forwarding_hint_value().is_empty();
        if !interest.can_be_prefix() && !hinted {
            return None;
        }
        let own = self.names.find(split(name)).filter(|own| self.node.stored(now, *own, fresh).is_some());
        if own.is_some() || !interest.can_be_prefix() {
            return own;
        }
        let candidates = self.names.stored_under(name.as_bytes()).take(MAX_CANDIDATES);
        candidates.into_iter().find(|candidate| self.node.stored(now, *candidate, fresh).is_some())
    }

    fn nack(&mut self, now: Time, id: FaceId, interest: &InterestView<'_>, beside: &Beside) {
        let (name, nonce) = (split_interest(interest), interest.nonce());
        // Who has taken the hint off returns the Interest without it.
        let asked_for =
            |name: &NameId| nonce.is_some_and(|nonce| self.node.is_asked(*name, id, u32::from_be_bytes(nonce)));
        let sent = self.names.find_any_hint(name).take(MAX_CANDIDATES).find(asked_for);
        let name = sent.or_else(|| self.names.find(name).filter(|name| self.node.is_pending(*name)));
        let (Some(name), Some(nonce), Some(reason)) = (name, nonce, beside.nack) else {
            self.counters.unmatched_nacks += 1;
            return;
        };
        if !self.make_room(interest.wire().len()) {
            return;
        }
        self.names.keep(name.flow);
        let tag = self.payloads.insert_interest(interest, name.flow, id);
        let asked = asked(interest, nonce, beside);
        let packet = Packet { name, tag, kind: Kind::Nack, reason, mark: beside.mark, ..asked };
        self.node.handle(now, id, packet);
        self.account();
        self.release(tag);
    }

    /// Whether an Interest that this Data answers is pending.
    pub fn is_waited_for(&self, data: &DataView<'_>) -> bool {
        let mut names: Vec<NameId> = self.names.find(split(data.name())).into_iter().collect();
        self.names.others_answered_by(data, &mut names);
        names.iter().any(|name| self.node.is_pending(*name))
    }

    fn data(&mut self, now: Time, id: FaceId, data: &DataView<'_>, beside: &Beside) {
        let own = split(data.name());
        let known = self.names.find(own).filter(|name| self.node.is_pending(*name));
        let mut others = std::mem::take(&mut self.answered);
        others.clear();
        self.names.others_answered_by(data, &mut others);
        others.retain(|name| self.node.is_pending(*name));
        let late = self.is_answer_to_repair(id, known.as_slice()) || self.is_answer_to_repair(id, &others);
        let beside = &Beside { repaired: beside.repaired || late, ..*beside };
        if known.is_none() && others.is_empty() {
            self.counters.unsolicited += 1;
        } else if self.make_room(data.wire().len()) {
            match self.names.intern(own) {
                Some((name, new)) => {
                    if new {
                        self.bind(name.flow);
                    }
                    self.answer(now, id, data, beside, name, known.is_some(), &others);
                }
                None => self.counters.full += 1,
            }
        }
        self.answered = others;
    }

    #[expect(clippy::too_many_arguments, reason = "the context of one Data")]
    fn answer(
        &mut self,
        now: Time,
        id: FaceId,
        data: &DataView<'_>,
        beside: &Beside,
        name: NameId,
        own: bool,
        others: &[NameId],
    ) {
        self.names.keep(name.flow);
        let tag = self.payloads.insert(data.wire(), name.flow, id);
        let last = data.final_block_id().is_some_and(|last| data.name().last() == Some(last));
        let packet = Packet {
            name,
            tag,
            kind: Kind::Data,
            size: data.wire().len() as u32,
            payload: data.content().len() as u32,
            lifetime_ms: millis(data.freshness_period()),
            mark: beside.mark,
            flags: flag(last, flags::FINAL)
                | flag(beside.no_cache, flags::NO_CACHE)
                | flag(beside.repaired, flags::REPAIRED),
            fields: beside.fields,
            ..Packet::default()
        };
        if own {
            self.node.handle(now, id, packet);
        } else if !beside.no_cache {
            self.node.store(now, &packet);
        }
        for &name in others {
            let flags = packet.flags | flags::NO_CACHE;
            self.node.handle(now, id, Packet { name, flags, ..packet });
        }
        self.account();
        self.release(tag);
    }

    /// Makes room for a packet, at the expense of the content store. Whether there is.
    fn make_room(&mut self, len: usize) -> bool {
        // The bytes, and the name in them once as a flow and once in the order of what is stored.
        let needed = 3 * len + payloads::OVERHEAD + 2 * names::OVERHEAD;
        for _ in 0..=MAX_EVICTIONS {
            if self.payloads.bytes() + self.names.bytes() + needed <= self.memory {
                return true;
            }
            if self.evict(1) == 0 {
                break;
            }
        }
        self.counters.full += 1;
        false
    }
}

/// An Interest as the node sees it, without name and tag.
fn asked(interest: &InterestView<'_>, nonce: [u8; 4], beside: &Beside) -> Packet {
    let fresh = flag(interest.must_be_fresh(), flags::MUST_BE_FRESH);
    let prefix = flag(interest.can_be_prefix(), flags::CAN_BE_PREFIX);
    Packet {
        nonce: u32::from_be_bytes(nonce),
        size: interest.wire().len() as u32,
        lifetime_ms: millis(interest.lifetime_or_default()),
        mark: beside.mark,
        hop_limit: interest.hop_limit().unwrap_or(Packet::HOP_LIMIT),
        flags: fresh | prefix,
        fields: beside.fields,
        ..Packet::default()
    }
}

//! From frames to packets.

use super::names::Split;
use super::routes::{is_localhop, is_localhost};
use super::{Forwarder, MAX_CANDIDATES, MAX_COMPONENTS, names, payloads};
use crate::header::{FieldTrust, LinkHeaderFields};
use crate::shares::FaceClass;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::units::Time;
use ndnweir_wire::lp::Reassembler;
use ndnweir_wire::{DataView, InterestBuilder, InterestView, LpPacketView, NameView, PacketView};
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
        let Some(again) = self.process_link_header(now, id, &view) else { return };
        let Some(fragment) = view.fragment else { return };
        let face = &mut self.faces[id.index()];
        if view.is_fragmented() {
            let (trust, class) = (face.trust, face.class);
            let reassembler = face.reassembler.get_or_insert_with(|| Box::new(Reassembler::default()));
            let now_here = Duration::from_nanos(now.nanos());
            match self.fragments.within(class, reassembler, |face| face.push_again(now_here, 0, &view, again)) {
                Ok(None) => {}
                Ok(Some(whole)) => {
                    let link_fields = LinkHeaderFields::of_header(&whole.header, &self.layout, trust);
                    let link_fields = LinkHeaderFields {
                        link_retransmitted: whole.link_retransmitted || link_fields.link_retransmitted,
                        ..link_fields
                    };
                    self.packet(now, id, &whole.packet, link_fields);
                }
                Err(_) => self.counters.fragments += 1,
            }
        } else {
            let link_fields = LinkHeaderFields::of_view(&view, &self.layout, face.trust);
            let link_fields =
                LinkHeaderFields { link_retransmitted: again || link_fields.link_retransmitted, ..link_fields };
            self.packet(now, id, fragment, link_fields);
        }
    }

    fn packet(&mut self, now: Time, id: FaceId, wire: &[u8], mut link_fields: LinkHeaderFields) {
        let Ok(packet) = PacketView::decode(wire) else {
            self.counters.malformed += 1;
            return;
        };
        let face = &mut self.faces[id.index()];
        let counters = &mut face.counters;
        counters.marked_in += u64::from(link_fields.mark > 0);
        // The Data for it goes to others who wait, too.
        if face.trust == FieldTrust::Untrusted && matches!((&packet, link_fields.nack), (PacketView::Interest(_), None))
        {
            link_fields.mark = 0;
        }
        let (total, name) = match (&packet, link_fields.nack) {
            (PacketView::Interest(interest), None) => (&mut counters.interests_in, interest.name()),
            (PacketView::Interest(interest), Some(_)) => (&mut counters.nacks_in, interest.name()),
            (PacketView::Data(data), None) => (&mut counters.data_in, data.name()),
            (PacketView::Data(_), Some(_)) => {
                self.counters.malformed += 1;
                return;
            }
        };
        *total += 1;
        if has_too_many_components(name) {
            self.counters.long_names += 1;
            return;
        }
        if !face.local && is_localhost(name) {
            self.counters.scope += 1;
            return;
        }
        let owner = self.owner_of(name);
        if owner.is_some_and(|owner| owner != id) && matches!(packet, PacketView::Data(_)) {
            self.counters.scope += 1;
            return;
        }
        let link_fields = LinkHeaderFields { no_cache: link_fields.no_cache || owner.is_some(), ..link_fields };
        match packet {
            PacketView::Interest(interest) if link_fields.nack.is_some() => self.nack(now, id, &interest, &link_fields),
            PacketView::Interest(interest) => self.interest(now, id, &interest, &link_fields),
            PacketView::Data(data) => self.data(now, id, &data, &link_fields),
        }
        self.account();
    }

    fn interest(&mut self, now: Time, id: FaceId, interest: &InterestView<'_>, link_fields: &LinkHeaderFields) {
        let ends = self.hint_ends_here(interest);
        if let Some(nonce) = interest.nonce().filter(|_| !ends) {
            self.interest_with_nonce(now, id, interest, nonce, link_fields);
            return;
        }
        let nonce = interest.nonce().unwrap_or_else(|| self.rng.bits().to_be_bytes());
        let mut changed = InterestBuilder::from_view(interest).nonce(nonce);
        if ends {
            changed = changed.forwarding_hint([]);
        }
        match changed.encode().as_deref().map(InterestView::decode_unchecked_digest) {
            Ok(Ok(interest)) => self.interest_with_nonce(now, id, &interest, nonce, link_fields),
            _ => self.counters.malformed += 1,
        }
    }

    fn interest_with_nonce(
        &mut self,
        now: Time,
        id: FaceId,
        interest: &InterestView<'_>,
        nonce: [u8; 4],
        link_fields: &LinkHeaderFields,
    ) {
        let mut packet = node_interest(interest, nonce, link_fields);
        let mut most = self.max_lifetime;
        if self.faces[id.index()].class == FaceClass::OnDemand {
            most = most.min(self.max_lifetime_on_demand);
        }
        packet.lifetime_ms = packet.lifetime_ms.min((most.nanos() / 1_000_000) as u32);
        self.faces[id.index()].extend_quiet_from(now, packet.lifetime_ms);
        if !self.faces[id.index()].local && is_localhop(interest.name()) {
            packet.hop_limit = packet.hop_limit.min(1);
        }
        if !self.make_room(interest.wire().len()) {
            return;
        }
        packet.name = match self.stored_for(now, interest) {
            Some(stored) => stored,
            None => {
                let Some((name, new)) = self.names.intern(self.names.split_interest(interest)) else {
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
        self.tokens.record(packet.name, generation, id, link_fields.token);
        self.names.retain(packet.name.flow);
        let tag = self.payloads.insert_interest(interest, packet.name.flow, id);
        packet.tag = tag;
        self.node.receive(now, id, &mut packet);
        self.account();
        if link_fields.token.is_some() && !self.node.is_pending(packet.name) {
            self.tokens.settle(packet.name, generation);
        }
        self.release(tag);
    }

    /// The name of a stored Data that answers an Interest whose own name is another.
    fn stored_for(&mut self, now: Time, interest: &InterestView<'_>) -> Option<NameId> {
        let name = interest.name();
        let fresh = interest.must_be_fresh();
        if let Some(digest) = name.last().and_then(|last| last.as_implicit_digest()) {
            let stored = self.names.find(self.names.split(name.parent()?))?;
            let tag = self.node.stored(now, stored, fresh)?;
            let data = DataView::decode(&self.payloads.get(tag)?.wire).ok()?;
            return (data.implicit_digest() == *digest).then_some(stored);
        }
        let hinted = !interest.forwarding_hint_value().is_empty();
        if !interest.can_be_prefix() && !hinted {
            return None;
        }
        let own = self.names.find(self.names.split(name)).filter(|own| self.node.stored(now, *own, fresh).is_some());
        if own.is_some() || !interest.can_be_prefix() {
            return own;
        }
        let candidates = self.names.stored_under(name.as_bytes()).take(MAX_CANDIDATES);
        candidates.into_iter().find(|candidate| self.node.stored(now, *candidate, fresh).is_some())
    }

    fn nack(&mut self, now: Time, id: FaceId, interest: &InterestView<'_>, link_fields: &LinkHeaderFields) {
        let (name, nonce) = (self.names.split_interest(interest), interest.nonce());
        // A node that has taken the hint off returns the Interest without it.
        let asked_for =
            |name: &NameId| nonce.is_some_and(|nonce| self.node.was_sent_with(*name, id, u32::from_be_bytes(nonce)));
        let sent = self.names.find_any_hint(name).take(MAX_CANDIDATES).find(asked_for);
        let name = sent.or_else(|| self.names.find(name).filter(|name| self.node.is_pending(*name)));
        let (Some(name), Some(nonce), Some(reason)) = (name, nonce, link_fields.nack) else {
            self.counters.unmatched_nacks += 1;
            return;
        };
        if !self.make_room(interest.wire().len()) {
            return;
        }
        self.names.retain(name.flow);
        let tag = self.payloads.insert_interest(interest, name.flow, id);
        let interest = node_interest(interest, nonce, link_fields);
        let packet = Packet { name, tag, kind: Kind::Nack, reason, mark: link_fields.mark, ..interest };
        self.node.handle(now, id, packet);
        self.account();
        self.release(tag);
    }

    /// Whether an Interest that this Data answers is pending.
    pub fn answers_pending(&self, data: &DataView<'_>) -> bool {
        let own = self.names.split(data.name());
        let mut names: Vec<NameId> = self.names.find(own).into_iter().collect();
        self.names.other_names_satisfied_by(data, own, &mut names);
        names.iter().any(|name| self.node.is_pending(*name))
    }

    fn data(&mut self, now: Time, id: FaceId, data: &DataView<'_>, link_fields: &LinkHeaderFields) {
        let own = self.names.split(data.name());
        let known = self.names.find(own).filter(|name| self.node.was_sent_to(*name, id));
        let mut others = std::mem::take(&mut self.answered);
        others.clear();
        self.names.other_names_satisfied_by(data, own, &mut others);
        others.retain(|name| self.node.is_pending(*name));
        let waited_for = !others.is_empty();
        others.retain(|name| self.node.was_sent_to(*name, id));
        let late = self.is_answer_to_link_retransmission(id, known.as_slice())
            || self.is_answer_to_link_retransmission(id, &others);
        let link_fields =
            &LinkHeaderFields { link_retransmitted: link_fields.link_retransmitted || late, ..*link_fields };
        if known.is_none() && others.is_empty() {
            self.unsolicited(now, id, own, waited_for, link_fields);
        } else if self.make_room(data.wire().len()) {
            match self.names.intern(own) {
                Some((name, new)) => {
                    if new {
                        self.bind(name.flow);
                    }
                    self.answer(now, id, data, link_fields, name, known.is_some(), &others);
                }
                None => self.counters.full += 1,
            }
        }
        self.answered = others;
    }

    /// A Data that answers nothing that was sent to its face, or comes after another's answer, which the strategy is told.
    fn unsolicited(&mut self, now: Time, id: FaceId, own: Split<'_>, waited_for: bool, link_fields: &LinkHeaderFields) {
        self.counters.unsolicited += 1;
        let name = self.names.find(own);
        let pending = waited_for || name.is_some_and(|name| self.node.is_pending(name));
        self.counters.no_out_record += u64::from(pending);
        if let Some(name) = name.filter(|_| !pending) {
            let flags = flag(link_fields.link_retransmitted, flags::LINK_RETRANSMITTED);
            let late = Packet { name, kind: Kind::Data, flags, fields: link_fields.fields, ..Packet::default() };
            self.node.notify_unsolicited(now, id, &late);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the context of one Data")]
    fn answer(
        &mut self,
        now: Time,
        id: FaceId,
        data: &DataView<'_>,
        link_fields: &LinkHeaderFields,
        name: NameId,
        own: bool,
        others: &[NameId],
    ) {
        self.names.retain(name.flow);
        let tag = self.payloads.insert(data.wire(), name.flow, id);
        let last = data.final_block_id().is_some_and(|last| data.name().last() == Some(last));
        let packet = Packet {
            name,
            tag,
            kind: Kind::Data,
            size: data.wire().len() as u32,
            payload: data.content().len() as u32,
            lifetime_ms: millis(data.freshness_period()),
            mark: link_fields.mark,
            flags: flag(last, flags::FINAL)
                | flag(link_fields.no_cache, flags::NO_CACHE)
                | flag(link_fields.link_retransmitted, flags::LINK_RETRANSMITTED),
            fields: link_fields.fields,
            ..Packet::default()
        };
        if own {
            self.node.handle(now, id, packet);
        } else if !link_fields.no_cache {
            self.node.store(now, &packet);
        }
        for &name in others {
            let flags = packet.flags | flags::STORED;
            self.node.handle(now, id, Packet { name, flags, ..packet });
        }
        self.account();
        self.release(tag);
    }

    /// Makes room for a packet by evicting from the content store. Whether there is enough.
    fn make_room(&mut self, len: usize) -> bool {
        // The bytes, and the name in them once as a flow and once among what is stored.
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

fn has_too_many_components(name: NameView<'_>) -> bool {
    // A component has two bytes at least.
    name.as_bytes().len() > 2 * MAX_COMPONENTS && name.components().nth(MAX_COMPONENTS).is_some()
}

/// An Interest as the node sees it, without name and tag.
fn node_interest(interest: &InterestView<'_>, nonce: [u8; 4], link_fields: &LinkHeaderFields) -> Packet {
    let fresh = flag(interest.must_be_fresh(), flags::MUST_BE_FRESH);
    let prefix = flag(interest.can_be_prefix(), flags::CAN_BE_PREFIX);
    Packet {
        nonce: u32::from_be_bytes(nonce),
        size: interest.wire().len() as u32,
        lifetime_ms: millis(interest.lifetime_or_default()),
        mark: link_fields.mark,
        hop_limit: interest.hop_limit().unwrap_or(Packet::HOP_LIMIT),
        flags: fresh | prefix,
        fields: link_fields.fields,
        ..Packet::default()
    }
}

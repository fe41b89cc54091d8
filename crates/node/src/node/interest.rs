//! The Interest pipeline.

use super::Node;
use super::extras::Extras;
use super::send::Sent;
use crate::config::Departure;
use crate::counters::DropCause;
use crate::index::Vacant;
use crate::pit::Seen;
use crate::shares::Rejection;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::packet::{NackReason, Packet, flags};
use ndnweir_core::scheme::InterestMarks;
use ndnweir_core::strategy::{Arrival, ForwardingDecision, InterestArrival, NextHop, Strategy};
use ndnweir_core::units::{Duration, Time};

impl Node {
    /// The departure of an Interest that is sent on as the only consequence, at a node that does so with new ones; none if
    /// more may be to be done with it.
    #[inline(always)]
    pub(super) fn on_interest(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Option<Departure> {
        if self.pit.has_room()
            && packet.mark == 0
            && packet.hop_limit > 1
            && let Err(vacant) = self.pit.find(packet.name)
            && let Some(hop) = self.usual_hop(face, packet)
            && !self.is_dead(packet)
        {
            self.usual.interests += 1;
            packet.hop_limit -= 1;
            self.pit.insert_sent(vacant, packet, face, hop, now);
            self.usual.pending += 1;
            return Some(self.send_off(now, hop, packet));
        }
        None
    }

    /// Where a new Interest goes that is sent without anyone being asked or told: by the cheapest next hop.
    #[inline(always)]
    fn usual_hop(&self, face: FaceId, packet: &Packet) -> Option<FaceId> {
        let prefix = self.fib.prefix(packet.name.flow)?;
        let exist = |hop: &FaceId| hop.index() < self.faces.len() && face.index() < self.faces.len();
        self.fib.cheapest(prefix).filter(|hop| *hop != face && exist(hop))
    }

    /// An Interest with which more is to be done, or may be.
    #[inline(always)]
    pub(super) fn on_other_interest(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> Departure {
        self.usual.interests += 1;
        if self.is_down(face) {
            self.counters.down += 1;
            self.drop(DropCause::Down);
            return Departure::NONE;
        }
        if packet.hop_limit == 0 {
            self.counters.hop_limit += 1;
            self.drop(DropCause::Protocol);
            return Departure::NONE;
        }
        packet.hop_limit -= 1;
        let first = Extras::HOST.and(Extras::SHAPES).and(Extras::SERVES);
        if self.extras.any(first) && self.settles(now, face, packet) {
            return Departure::NONE;
        }
        self.pit.reserve();
        match self.pit.find(packet.name) {
            Ok(slot) => return self.on_pending(now, face, packet, slot),
            Err(vacant) => {
                if self.is_dead(packet) {
                    self.nack_duplicate(now, face, packet);
                } else if let Some(why) = self.pit.rejection(vacant, face, packet.size) {
                    self.reject_new(now, face, packet, why);
                } else if let Some(prefix) = self.fib.prefix(packet.name.flow) {
                    return self.begin(now, face, packet, vacant, prefix);
                } else {
                    self.counters.no_prefix += 1;
                    self.send_nack(now, face, packet.nack(NackReason::NoRoute));
                }
            }
        }
        Departure::NONE
    }

    /// Whether an Interest left the PIT before, without Data.
    #[inline(always)]
    fn is_dead(&self, packet: &Packet) -> bool {
        self.extras.any(Extras::DEAD) && self.dead.contains(packet.name, packet.nonce)
    }

    /// An Interest that is new here.
    #[inline(always)]
    fn begin(&mut self, now: Time, face: FaceId, packet: &mut Packet, vacant: Vacant, prefix: PrefixId) -> Departure {
        let slot = self.pit.insert(vacant, packet, face, now);
        self.usual.pending += 1;
        if self.extras.any(Extras::SEVERAL.and(Extras::LOGS).and(Extras::COUNTS_FLOWS)) {
            self.note_pending(slot, face, packet.name);
        }
        self.run_strategy(now, slot, prefix, face, packet, Arrival::New)
    }

    /// What may come before the PIT: a host takes only what is for it, shapers count, the content store may have it.
    /// Whether the Interest has gone no further.
    #[inline(never)]
    fn settles(&mut self, now: Time, face: FaceId, packet: &mut Packet) -> bool {
        if self.extras.any(Extras::HOST) && !self.faces[face.index()].egress.is_local() {
            if !self.serves(packet.name.flow) {
                self.counters.no_prefix += 1;
                self.drop(DropCause::Protocol);
                return true;
            }
            packet.hop_limit = 0;
        }
        if self.shapes() {
            let arrived = &mut self.faces[face.index()].interests_in;
            arrived.packets += 1;
            arrived.bits += packet.bytes().bits();
        }
        if self.extras.any(Extras::SERVES) {
            if let Some(data) = self.cs.get(packet.name, packet.has(flags::MUST_BE_FRESH), now) {
                self.counters.hits += 1;
                self.answer_from_store(now, face, packet, data);
                return true;
            }
            self.counters.misses += 1;
        }
        false
    }

    /// An entry begins; told to those who keep account of them.
    #[inline(never)]
    fn note_pending(&mut self, slot: u32, face: FaceId, name: NameId) {
        if self.strategies.several() {
            self.strategies.begin(slot, name.flow);
        }
        self.out.pending(name);
        if self.counts_flows() {
            self.faces[face.index()].flows.add(name.flow);
        }
    }

    /// Whether an application on this node serves what the flow's names begin with.
    fn serves(&self, flow: FlowId) -> bool {
        let hops = self.fib.prefix(flow).map_or(&[][..], |prefix| self.fib.hops(prefix));
        hops.iter().any(|hop| self.faces[hop.face.index()].egress.is_local())
    }

    fn nack_duplicate(&mut self, now: Time, face: FaceId, packet: &Packet) {
        self.counters.loops += 1;
        self.drop(DropCause::Protocol);
        if self.strategies.of(packet.name.flow).strategy.rejects_loops() {
            self.send_nack(now, face, packet.nack(NackReason::Duplicate));
        }
    }

    /// There is no room for an Interest.
    #[cold]
    fn reject_new(&mut self, now: Time, face: FaceId, packet: &Packet, why: Rejection) {
        self.counters.pit_full += 1;
        self.counters.pit_memory += u64::from(why == Rejection::Bytes);
        self.drop(DropCause::Bound);
        self.send_nack(now, face, packet.nack(NackReason::Congestion));
    }

    /// An Interest for a name that is pending.
    #[inline(never)]
    fn on_pending(&mut self, now: Time, face: FaceId, packet: &mut Packet, slot: u32) -> Departure {
        match self.pit.seen(slot, packet.nonce, face) {
            Seen::New if !self.dead.contains(packet.name, packet.nonce) => {}
            Seen::SameFace => {
                self.counters.duplicates += 1;
                self.drop(DropCause::Protocol);
                return Departure::NONE;
            }
            Seen::New | Seen::Loop => {
                self.nack_duplicate(now, face, packet);
                return Departure::NONE;
            }
        }
        if let Some(why) = self.pit.rejection_to_join(slot, face, packet.size) {
            self.reject_new(now, face, packet, why);
            return Departure::NONE;
        }
        let retransmitted = self.pit.join(slot, packet, face, now);
        if retransmitted {
            self.counters.retransmitted += 1;
        } else {
            self.counters.aggregated += 1;
            self.usual.pending += 1;
            if self.counts_flows() {
                self.faces[face.index()].flows.add(packet.name.flow);
            }
        }
        if let Some(pending) = self.pit.fields_mut(slot) {
            self.layout.aggregate(pending, &packet.fields);
        }
        let Some(prefix) = self.fib.prefix(packet.name.flow) else { return Departure::NONE };
        if self.strategies.several() {
            self.transfer_pending(now, slot, prefix);
        }
        let arrival = if retransmitted { Arrival::Retransmission } else { Arrival::Joining };
        self.run_strategy(now, slot, prefix, face, packet, arrival)
    }

    /// Calls the strategy and carries out its decision. The departure of the Interest, if it leaves as the only
    /// consequence.
    #[inline(always)]
    fn run_strategy(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        face: FaceId,
        packet: &mut Packet,
        arrival: Arrival,
    ) -> Departure {
        if self.interest_marks != InterestMarks::Ignore && packet.mark > 0 {
            self.pit.add_mark(slot, packet.mark);
        }
        if arrival == Arrival::New && self.extras.any(Extras::CHEAPEST) {
            let hops = self.fib.hops(prefix);
            if let Some(&NextHop { face: hop, .. }) = hops.iter().find(|hop| hop.face != face) {
                return self.send_off_interest(now, slot, prefix, face, hop, packet).unwrap_or_else(|reason| {
                    self.choice.clear();
                    self.choice.send(hop);
                    self.carry_out(now, slot, prefix, face, packet, Some(reason));
                    Departure::NONE
                });
            }
        }
        self.ask_strategy(now, slot, prefix, face, packet, arrival)
    }

    #[inline(never)]
    fn ask_strategy(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        face: FaceId,
        packet: &mut Packet,
        arrival: Arrival,
    ) -> Departure {
        // Nothing is kept yet for an entry that is new.
        let (former, sent, reach) = match arrival {
            Arrival::New => (0, [].as_slice(), Duration::ZERO),
            _ => (self.pit.note(slot), self.pit.sent(slot), self.pit.reach(slot)),
        };
        let mut note = former;
        let hops = self.fib.hops(prefix);
        self.choice.clear();
        let mut event = InterestArrival { packet, in_face: face, prefix, hops, arrival, sent, reach, note: &mut note };
        let instance = self.strategies.at(slot);
        let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut self.trace };
        instance.strategy.on_interest(&mut event, &mut self.choice, &mut ctx);
        if note != former {
            self.pit.set_note(slot, note);
        }
        let rejected = match self.choice.sole() {
            Some(hop) => match self.send_off_interest(now, slot, prefix, face, hop, packet) {
                Ok(departure) => return departure,
                Err(reason) => Some(reason),
            },
            None => None,
        };
        self.carry_out(now, slot, prefix, face, packet, rejected);
        Departure::NONE
    }

    /// Carries out a decision that is more than to send the Interest, or whose only face rejected it.
    #[inline(never)]
    fn carry_out(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        face: FaceId,
        packet: &Packet,
        rejected: Option<NackReason>,
    ) {
        let choice = std::mem::take(&mut self.choice);
        match rejected {
            Some(reason) => self.try_others(now, slot, prefix, face, packet, &choice, reason),
            None => self.apply_decision(now, slot, prefix, face, packet, &choice),
        }
        self.choice = choice;
    }

    /// Sends the copies of a decision; answers downstream if it says so, or if no shaper admits any.
    #[inline(never)]
    pub(super) fn apply_decision(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        in_face: FaceId,
        packet: &Packet,
        choice: &ForwardingDecision,
    ) {
        let mut sent = choice.is_held();
        let mut rejection: Option<NackReason> = None;
        if choice.is_held() {
            self.strategies.hold(slot);
            self.extras.set(Extras::HOLDS, true);
            self.out.held(packet.tag);
        }
        let stamped = choice.stamped(packet);
        let original = stamped.as_ref().unwrap_or(packet);
        for copy in choice.copies() {
            // A probe is sent in addition to an Interest; an Interest that was rejected takes its place first.
            if copy.new_nonce && !sent && rejection.is_some() {
                continue;
            }
            let probe;
            let packet = if copy.new_nonce {
                probe = Packet { nonce: self.nonces.bits(), ..*original };
                &probe
            } else {
                original
            };
            match self.send_interest(now, slot, prefix, in_face, copy.face, packet) {
                Sent::Away => sent = true,
                Sent::Rejected(reason) if !copy.new_nonce => {
                    rejection = Some(rejection.map_or(reason, |known| known.min(reason)));
                }
                Sent::Rejected(_) => {}
            }
        }
        if let Some(reason) = choice.rejection() {
            self.reject(now, slot, reason, packet);
            return;
        }
        if let Some((face, reason)) = choice.rejection_of_one() {
            self.reject_one(now, slot, face, reason, packet);
            return;
        }
        let Some(reason) = rejection.filter(|_| !sent) else { return };
        self.try_others(now, slot, prefix, in_face, packet, choice, reason);
    }

    /// No shaper of the chosen faces admitted the Interest: those the strategy named for this, or else the other next
    /// hops, cheapest first; then a NACK.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the context of one Interest")]
    fn try_others(
        &mut self,
        now: Time,
        slot: u32,
        prefix: PrefixId,
        in_face: FaceId,
        packet: &Packet,
        choice: &ForwardingDecision,
        mut reason: NackReason,
    ) {
        let named = choice.alternatives();
        let count = if named.is_empty() { self.fib.hops(prefix).len() } else { named.len() };
        for i in 0..count {
            let face = named.get(i).copied().unwrap_or_else(|| self.fib.hops(prefix)[i].face);
            let tried = choice.copies().iter().any(|copy| copy.face == face && !copy.new_nonce);
            let was_sent = named.is_empty() && self.pit.sent(slot).iter().any(|record| record.face == face);
            if tried || was_sent || face == in_face {
                continue;
            }
            match self.send_interest(now, slot, prefix, in_face, face, packet) {
                Sent::Away => return,
                Sent::Rejected(other) => reason = reason.min(other),
            }
        }
        // An upstream that has not answered yet keeps the entry.
        if self.pit.sent(slot).iter().all(|record| record.nacked.is_some()) {
            let cause = self.with_next_hop_stamps(slot, prefix, packet);
            self.reject(now, slot, reason, &cause);
        }
    }
}

//! Strategies, at a small node with a PIT.

use super::{Broken, Desk, PATIENCE};
use crate::fields::Field;
use crate::ids::{FaceId, NameId, PrefixId};
use crate::packet::{Kind, NackReason, Packet};
use crate::registry::AnyStrategy;
use crate::strategy::{
    Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, OutRecord, Strategy, TimeoutEvent,
};
use crate::units::{Duration, Time};

const FACES: usize = 6;
const PREFIXES: usize = 4;

/// A pending Interest.
struct Entry {
    packet: Packet,
    prefix: PrefixId,
    downstreams: Vec<FaceId>,
    sent: Vec<OutRecord>,
    note: u8,
    expires: Time,
}

struct Node {
    desk: Desk<AnyStrategy>,
    hops: Vec<Vec<NextHop>>,
    pit: Vec<Entry>,
    /// Interests the strategy holds, by tag.
    held: Vec<u32>,
    /// The last entry that was answered or expired.
    past: Option<Entry>,
    tags: u32,
}

impl Node {
    fn new(desk: Desk<AnyStrategy>) -> Node {
        let hops = vec![Vec::new(); PREFIXES];
        let mut node = Node { desk, hops, pit: Vec::new(), held: Vec::new(), past: None, tags: 0 };
        for face in 0..FACES {
            node.desk.component.on_face(FaceId(face as u16), face == 0, true);
        }
        for prefix in 0..PREFIXES {
            node.route(prefix);
        }
        node
    }

    /// Routing sets the next hops of a prefix: none to all faces, in ascending cost.
    fn route(&mut self, prefix: usize) {
        let mut hops = Vec::new();
        for face in 0..FACES {
            if self.desk.chance(0.5) {
                hops.push(NextHop { face: FaceId(face as u16), cost: self.desk.dice.below(4) as u32 });
            }
        }
        hops.sort_by_key(|hop| (hop.cost, hop.face));
        self.desk.with(|strategy, ctx| strategy.on_next_hops(PrefixId(prefix as u32), &hops, ctx));
        self.hops[prefix] = hops;
    }

    /// Routing removes all next hops of a prefix.
    fn unroute(&mut self) {
        let prefix = self.desk.below(PREFIXES);
        self.desk.with(|strategy, ctx| strategy.on_next_hops(PrefixId(prefix as u32), &[], ctx));
        self.hops[prefix].clear();
    }

    fn face(&mut self) -> FaceId {
        FaceId(self.desk.dice.below(FACES as u64) as u16)
    }

    /// An Interest for nothing that is pending.
    fn interest(&mut self) {
        self.tags += 1;
        let prefix = PrefixId(self.desk.below(PREFIXES) as u32);
        let lifetime_ms = [0, 50, 2000, 4000][self.desk.below(4)];
        let name = NameId { segment: self.tags, ..NameId::default() };
        let packet = Packet { name, nonce: self.tags, tag: self.tags, size: 40, lifetime_ms, ..Packet::default() };
        let packet = Packet { fields: self.desk.any_fields(self.tags), ..packet };
        let expires = self.desk.now + Duration::from_millis(u64::from(lifetime_ms.max(1)));
        let (downstreams, sent) = (vec![self.face()], Vec::new());
        self.pit.push(Entry { packet, prefix, downstreams, sent, note: 0, expires });
        self.ask(self.pit.len() - 1, Arrival::New);
    }

    /// An Interest for a pending entry, by one that waits already or another.
    fn again(&mut self, index: usize) {
        let face = self.face();
        let entry = &mut self.pit[index];
        entry.packet.nonce += 1_000_000;
        let known = entry.downstreams.contains(&face);
        entry.downstreams.retain(|&known| known != face);
        entry.downstreams.push(face);
        entry.expires = entry.expires.max(self.desk.now + Duration::from_millis(u64::from(entry.packet.lifetime_ms)));
        self.ask(index, if known { Arrival::Retransmission } else { Arrival::Joining });
    }

    /// Hands the entry's last Interest to the strategy.
    fn ask(&mut self, index: usize, arrival: Arrival) {
        let entry = &mut self.pit[index];
        let Some(&in_face) = entry.downstreams.last() else { return };
        let hops = &self.hops[entry.prefix.index()];
        let mut choice = ForwardingDecision::default();
        let mut event = InterestArrival {
            packet: &entry.packet,
            in_face,
            prefix: entry.prefix,
            hops,
            arrival,
            sent: &entry.sent,
            reach: entry.packet.lifetime(),
            note: &mut entry.note,
        };
        self.desk.with(|strategy, ctx| strategy.on_interest(&mut event, &mut choice, ctx));
        if arrival == Arrival::New && self.desk.component.takes_cheapest() {
            let cheapest = hops.iter().map(|hop| hop.face).find(|face| *face != in_face);
            let taken = choice.sole() == cheapest && choice.alternatives().is_empty() && entry.note == 0;
            self.desk.demand(cheapest.is_none() || taken, "who takes the cheapest next hop chooses nothing else");
        }
        let mut faces: Vec<_> = choice.copies().iter().map(|copy| copy.face).collect();
        for face in faces.iter().chain(choice.alternatives()) {
            let hop = hops.iter().any(|hop| hop.face == *face);
            // A strategy that discovers routes may send to any face.
            let found = self.desk.carries(Field::Discovery) && face.index() < FACES;
            self.desk.demand(hop || found, "an Interest goes to a next hop of its prefix");
            self.desk.demand(*face != in_face, "an Interest does not go back");
        }
        faces.sort_unstable();
        faces.dedup();
        self.desk.demand(faces.len() == choice.copies().len(), "a face gets one copy of an Interest");
        if choice.is_held() {
            let else_nothing = choice.copies().is_empty() && choice.rejection().is_none();
            self.desk.demand(else_nothing, "an Interest that is held is neither sent nor rejected");
            self.held.push(entry.packet.tag);
        }
        self.apply(index, &choice);
    }

    /// Does what was chosen.
    fn apply(&mut self, index: usize, choice: &ForwardingDecision) {
        let one = choice.rejection().is_none() || choice.copies().is_empty();
        self.desk.demand(one, "an Interest is sent or rejected, not both");
        let now = self.desk.now;
        for copy in choice.copies() {
            let code = u64::from(copy.face.0) + if copy.new_nonce { 100 } else { 0 };
            self.desk.record.extend([now.nanos(), u64::from(self.pit[index].packet.tag), code]);
            self.sent(index, copy.face);
        }
        if let Some((downstream, reason)) = choice.rejection_of_one() {
            let waits = self.pit[index].downstreams.contains(&downstream);
            self.desk.demand(waits, "only a downstream that waits is rejected");
            self.desk.record.extend([now.nanos(), 200 + u64::from(downstream.0), reason as u64]);
            self.pit[index].downstreams.retain(|&face| face != downstream);
        }
        if let Some(reason) = choice.rejection() {
            self.desk.record.extend([now.nanos(), 300, reason as u64]);
            self.pit.swap_remove(index);
        } else if self.pit[index].downstreams.is_empty() {
            self.pit.swap_remove(index);
        }
    }

    fn sent(&mut self, index: usize, face: FaceId) {
        let entry = &mut self.pit[index];
        let (now, nonce) = (self.desk.now, entry.packet.nonce);
        match entry.sent.iter_mut().find(|record| record.face == face) {
            Some(r) => *r = OutRecord { sent: now, nonce, face, nacked: None, sends: r.sends.saturating_add(1) },
            None => entry.sent.push(OutRecord { sent: now, nonce, face, nacked: None, sends: 1 }),
        }
    }

    /// Data from an upstream, or from the content store for something else.
    fn data(&mut self, index: usize) {
        let mark = u8::from(self.desk.chance(0.4));
        let local = self.desk.chance(0.1);
        let cached = self.desk.chance(0.1);
        let fields = self.desk.any_fields(self.tags + 3);
        let entry = self.pit.swap_remove(index);
        let face = match entry.sent.get(self.desk.below(entry.sent.len().max(1))) {
            Some(record) if !cached => record.face,
            _ => FaceId::NONE,
        };
        let packet = Packet { kind: Kind::Data, mark, size: 1250, fields, ..entry.packet };
        let (prefix, rtt, sent) = (entry.prefix, Some(Duration::from_millis(30)), &entry.sent[..]);
        let (hops, interest_fields) = (&self.hops[prefix.index()][..], &entry.packet.fields);
        let event = DataReturn { packet: &packet, face, prefix, hops, local, rtt, sent, interest_fields };
        self.desk.with(|strategy, ctx| strategy.on_data(&event, ctx));
        let mut stamped = packet.fields;
        self.desk.component.stamp_data(&event, &mut stamped);
        for &downstream in &entry.downstreams {
            let mark = self.desk.with(|strategy, ctx| strategy.propagate_mark(&event, downstream, ctx));
            self.desk.record.push(u64::from(mark));
            let watches = self.desk.component.watches_data();
            self.desk.demand(watches || mark == packet.mark, "who does not watch Data leaves their marks as they are");
            let may_mark = self.desk.component.marks_itself() || packet.mark > 0;
            self.desk.demand(may_mark || mark == 0, "who does not mark Data itself leaves those without a mark");
        }
        self.past = Some(entry);
    }

    /// A Data or NACK for something that is no longer pending.
    fn late(&mut self) {
        let reason = NackReason::Congestion;
        let (at, nack) = (self.desk.below(3), self.desk.chance(0.3));
        let Some(entry) = &self.past else { return };
        let Some(record) = entry.sent.get(at) else { return };
        let answer = if nack { entry.packet.nack(reason) } else { Packet { kind: Kind::Data, ..entry.packet } };
        let (packet, face, prefix) = (Packet { nonce: record.nonce, ..answer }, record.face, entry.prefix);
        self.desk.with(|strategy, ctx| strategy.on_late(&packet, face, prefix, ctx));
    }

    /// The shaper of a face rejects one of the pending Interests.
    fn reject(&mut self, index: usize) {
        let (packet, prefix) = (self.pit[index].packet, self.pit[index].prefix);
        let face = self.face();
        self.desk.with(|strategy, ctx| strategy.on_rejection(&packet, prefix, face, ctx));
    }

    /// A link goes down or comes back.
    fn toggle(&mut self) {
        let (face, up) = (1 + self.desk.below(FACES - 1), self.desk.chance(0.7));
        self.desk.component.on_face(FaceId(face as u16), false, up);
    }

    /// A NACK from an upstream that owes an answer.
    fn nack(&mut self, index: usize) {
        let reason = [NackReason::Congestion, NackReason::Duplicate, NackReason::NoRoute][self.desk.below(3)];
        let mark = u8::from(self.desk.chance(0.7));
        let entry = &mut self.pit[index];
        let Some(record) = entry.sent.iter_mut().find(|record| record.nacked.is_none()) else { return };
        record.nacked = Some(reason);
        let face = record.face;
        let packet = Packet { mark, ..entry.packet.nack(reason) };
        let hops = &self.hops[entry.prefix.index()];
        let mut choice = ForwardingDecision::default();
        let mut event = NackReturn {
            packet: &packet,
            face,
            prefix: entry.prefix,
            hops,
            sent: &entry.sent,
            downstreams: &entry.downstreams,
            note: &mut entry.note,
        };
        self.desk.with(|strategy, ctx| strategy.on_nack(&mut event, &mut choice, ctx));
        for copy in choice.copies() {
            let hop = hops.iter().any(|hop| hop.face == copy.face);
            self.desk.demand(hop, "a retry goes to a next hop");
        }
        self.apply(index, &choice);
    }

    /// Ends what has lived long enough, and keeps the table small.
    fn expire(&mut self, most: usize) {
        while let Some(index) =
            self.pit.iter().position(|entry| entry.expires <= self.desk.now || self.pit.len() > most)
        {
            let entry = self.pit.swap_remove(index);
            let hops = &self.hops[entry.prefix.index()];
            let event = TimeoutEvent { name: entry.packet.name, prefix: entry.prefix, hops, sent: &entry.sent };
            self.desk.with(|strategy, ctx| strategy.on_timeout(&event, ctx));
        }
    }

    /// Takes what the strategy releases, and wakes it when it is due.
    fn release(&mut self) {
        for _ in 0..PATIENCE {
            while let Some(released) = self.desk.with(|strategy, ctx| strategy.release(ctx)) {
                if released.held {
                    let place = self.held.iter().position(|&tag| tag == released.packet.tag);
                    self.desk.demand(place.is_some(), "only what is held is released, and only once");
                    place.map(|place| self.held.swap_remove(place));
                }
                self.desk.record.extend([self.desk.now.nanos(), 400, u64::from(released.face.0)]);
                if let Some(index) = self.pit.iter().position(|entry| entry.packet.tag == released.packet.tag) {
                    self.sent(index, released.face);
                }
            }
            let wake = self.desk.component.next_wake();
            let says = self.desk.component.wakes() || wake == Time::NEVER;
            self.desk.demand(says, "who says that it is never woken never asks for it");
            if wake > self.desk.now {
                return;
            }
        }
        self.desk.demand(false, "it wants to be woken at one instant for ever");
    }

    fn check_shares(&mut self) {
        for (prefix, hops) in self.hops.iter().enumerate() {
            let mut shares = Vec::new();
            self.desk.component.shares(PrefixId(prefix as u32), hops, &mut shares);
            if shares.is_empty() {
                continue;
            }
            self.desk.demand(shares.len() == hops.len(), "every next hop has one share");
            self.desk.demand(shares.iter().all(|share| (0.0..=1.0).contains(share)), "shares lie from 0 to 1");
            self.desk.demand((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "shares add up to 1");
        }
    }
}

/// How time passes between events.
#[derive(Clone, Copy, PartialEq)]
pub enum Pace {
    /// Anything from nothing to days, and much routing.
    Wild,
    /// A few milliseconds, so that details show.
    Calm,
    /// As calm, with a pause of minutes at times.
    Interrupted,
}

/// So many random events: what the strategy decided.
///
/// # Errors
/// The first rule that the strategy broke.
pub fn run(desk: Desk<AnyStrategy>, operations: usize, pace: Pace) -> Result<Vec<u64>, Broken> {
    let mut node = Node::new(desk);
    let calm = pace != Pace::Wild;
    for _ in 0..operations {
        if calm {
            node.desk.now += Duration::from_micros(node.desk.dice.below(8000));
            if pace == Pace::Interrupted && node.desk.chance(0.01) {
                node.desk.now += Duration::from_millis(node.desk.dice.below(1_000_000));
            }
        } else {
            node.desk.wander();
        }
        node.expire(if calm { 8 } else { 40 });
        node.release();
        let index = node.desk.below(node.pit.len().max(1));
        if pace != Pace::Calm && node.desk.chance(0.15) {
            match node.desk.below(10) {
                0 => node.toggle(),
                1..4 if !node.pit.is_empty() => node.reject(index),
                4 => node.unroute(),
                _ => node.late(),
            }
            continue;
        }
        match node.desk.below(100) {
            _ if node.pit.is_empty() => node.interest(),
            0..20 => node.interest(),
            20..85 => node.again(index),
            85..92 => node.data(index),
            92..98 => node.nack(index),
            _ if calm && node.desk.chance(0.9) => node.interest(),
            _ => {
                let prefix = node.desk.below(PREFIXES);
                node.route(prefix);
            }
        }
        node.release();
        if !calm {
            node.check_shares();
        }
    }
    node.check_shares();
    node.desk.finish()
}

/// An Interest, its Data and a timeout of a prefix that routing never set, with one next hop.
///
/// # Errors
/// The first rule that the strategy broke.
pub fn unknown_prefix(mut desk: Desk<AnyStrategy>) -> Result<(), Broken> {
    let hops = [NextHop { face: FaceId(1), cost: 1 }];
    let (packet, prefix, arrival, mut note) = (Packet::default(), PrefixId(7), Arrival::New, 0);
    let (in_face, note) = (FaceId(0), &mut note);
    let mut choice = ForwardingDecision::default();
    let mut event = InterestArrival {
        packet: &packet,
        in_face,
        prefix,
        hops: &hops,
        arrival,
        sent: &[],
        reach: Duration::ZERO,
        note,
    };
    desk.with(|strategy, ctx| strategy.on_interest(&mut event, &mut choice, ctx));
    let taken = choice.copies().len() + usize::from(choice.is_held()) == 1;
    desk.demand(taken, "a new Interest with one next hop is sent or held");
    let (face, rtt, sent) = (FaceId(1), None, &[][..]);
    let data = Packet { kind: Kind::Data, mark: 1, ..packet };
    let event = DataReturn {
        packet: &data,
        face,
        prefix,
        hops: &hops,
        local: false,
        rtt,
        sent,
        interest_fields: &packet.fields,
    };
    desk.with(|strategy, ctx| strategy.on_data(&event, ctx));
    desk.with(|strategy, ctx| strategy.on_timeout(&TimeoutEvent { name: data.name, prefix, hops: &hops, sent }, ctx));
    desk.finish().map(drop)
}

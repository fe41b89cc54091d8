//! Drives one strategy by hand.

use super::*;
use crate::component::{Component, Env, parse_params};
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;

/// An Interest sent to `face` at `ms`.
pub(super) fn sent(face: u16, ms: u64) -> OutRecord {
    OutRecord { sent: at(ms), nonce: 1, face: FaceId(face), nacked: None, sends: 1 }
}

/// An Interest sent to `face` at 0 that met a NACK.
pub(super) fn nacked(face: u16, reason: NackReason) -> OutRecord {
    OutRecord { nacked: Some(reason), ..sent(face, 0) }
}

/// The instant `ms` milliseconds after the start.
pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Next hops from (face, cost).
pub(super) fn hops(list: &[(u16, u32)]) -> Vec<NextHop> {
    list.iter().map(|&(face, cost)| NextHop { face: FaceId(face), cost }).collect()
}

/// A strategy with one prefix, and what its hooks need.
pub(super) struct Bench<S> {
    pub(super) strategy: S,
    pub(super) hops: Vec<NextHop>,
    pub(super) note: u8,
    /// The Interest that arrives; faces that wait for its Data.
    pub(super) packet: Packet,
    pub(super) downstreams: Vec<FaceId>,
    rng: Rng,
    trace: Trace,
}

impl<S: Strategy + Component> Bench<S> {
    pub(super) fn new(params: &serde_json::Value, list: &[(u16, u32)]) -> Bench<S> {
        let params = parse_params::<S>(params).unwrap();
        let strategy = S::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let (rng, trace) = (Rng::derive(1, &[]), Trace::default());
        let packet = Packet { lifetime_ms: 2000, ..Packet::default() };
        let downstreams = vec![FaceId(0)];
        let mut bench = Bench { strategy, hops: Vec::new(), note: 0, packet, downstreams, rng, trace };
        bench.route(list);
        bench
    }

    /// Routing sets the next hops.
    pub(super) fn route(&mut self, list: &[(u16, u32)]) {
        self.hops = hops(list);
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_next_hops(PrefixId(0), &self.hops, &mut ctx);
    }

    /// An Interest from `in_face`; the faces it is sent to.
    pub(super) fn interest(&mut self, ms: u64, in_face: u16, arrival: Arrival, sent: &[OutRecord]) -> Vec<u16> {
        self.choice(ms, in_face, arrival, sent).copies().iter().map(|copy| copy.face.0).collect()
    }

    /// As [`Self::interest`], with everything that was decided.
    pub(super) fn choice(&mut self, ms: u64, in_face: u16, arrival: Arrival, sent: &[OutRecord]) -> ForwardingDecision {
        let mut choice = ForwardingDecision::default();
        let mut event = InterestArrival {
            packet: &self.packet,
            in_face: FaceId(in_face),
            prefix: PrefixId(0),
            hops: &self.hops,
            arrival,
            sent,
            reach: self.packet.lifetime(),
            note: &mut self.note,
        };
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_interest(&mut event, &mut choice, &mut ctx);
        choice
    }

    /// Data from `face`.
    pub(super) fn data(&mut self, face: FaceId, mark: u8, local: bool) {
        let packet = Packet { kind: crate::packet::Kind::Data, mark, ..Packet::default() };
        self.data_with(0, face, &packet, local, &Fields::default());
    }

    /// This Data from `face`, for an Interest with the header fields `interest_fields`; the mark that goes to face 0.
    pub(super) fn data_with(
        &mut self,
        ms: u64,
        face: FaceId,
        packet: &Packet,
        local: bool,
        interest_fields: &Fields,
    ) -> u8 {
        let (prefix, hops, sent) = (PrefixId(0), &self.hops[..], &[][..]);
        let event = DataReturn { packet, face, prefix, hops, local, rtt: None, sent, interest_fields };
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_data(&event, &mut ctx);
        self.strategy.propagate_mark(&event, FaceId(0), &mut ctx)
    }

    /// Data from `face` at `ms` for what had been sent; the mark that goes to face 0.
    pub(super) fn data_at(&mut self, ms: u64, face: u16, sent: &[OutRecord]) -> u8 {
        let packet = Packet { kind: crate::packet::Kind::Data, ..self.packet };
        let record = sent.iter().find(|record| record.face == FaceId(face) && !record.resent());
        let rtt = record.map(|record| at(ms).since(record.sent));
        let (prefix, hops, interest_fields) = (PrefixId(0), &self.hops[..], &Fields::default());
        let event =
            DataReturn { packet: &packet, face: FaceId(face), prefix, hops, local: false, rtt, sent, interest_fields };
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_data(&event, &mut ctx);
        self.strategy.propagate_mark(&event, FaceId(0), &mut ctx)
    }

    /// This Data from `face` at `ms` for what had been sent; the header fields it passes on with.
    pub(super) fn data_for(
        &mut self,
        ms: u64,
        face: u16,
        packet: &Packet,
        sent: &[OutRecord],
        interest_fields: &Fields,
    ) -> Fields {
        let (prefix, hops, face) = (PrefixId(0), &self.hops[..], FaceId(face));
        let event = DataReturn { packet, face, prefix, hops, local: false, rtt: None, sent, interest_fields };
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_data(&event, &mut ctx);
        let mut fields = packet.fields;
        self.strategy.stamp_data(&event, &mut fields);
        fields
    }

    /// The shaper of `face` rejects.
    pub(super) fn reject(&mut self, ms: u64, face: u16) {
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_rejection(&self.packet, PrefixId(0), FaceId(face), &mut ctx);
    }

    /// What the strategy sends without a packet at `ms`.
    pub(super) fn release(&mut self, ms: u64) -> Vec<u16> {
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        std::iter::from_fn(|| self.strategy.release(&mut ctx)).map(|released| released.face.0).collect()
    }

    /// Something for which nothing is pending.
    pub(super) fn late(&mut self, ms: u64, face: u16, packet: &Packet) {
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_late(packet, FaceId(face), PrefixId(0), &mut ctx);
    }

    /// A congestion NACK from `face`.
    pub(super) fn nack(&mut self, ms: u64, face: u16, mark: u8, sent: &[OutRecord]) -> ForwardingDecision {
        self.nack_of(ms, face, NackReason::Congestion, mark, sent)
    }

    /// A NACK from `face` with this reason.
    pub(super) fn nack_for(
        &mut self,
        ms: u64,
        face: u16,
        reason: NackReason,
        sent: &[OutRecord],
    ) -> ForwardingDecision {
        self.nack_of(ms, face, reason, 0, sent)
    }

    fn nack_of(&mut self, ms: u64, face: u16, reason: NackReason, mark: u8, sent: &[OutRecord]) -> ForwardingDecision {
        let packet = Packet { mark, ..self.packet.nack(reason) };
        let mut choice = ForwardingDecision::default();
        let mut event = NackReturn {
            packet: &packet,
            face: FaceId(face),
            prefix: PrefixId(0),
            hops: &self.hops,
            sent,
            downstreams: &self.downstreams,
            note: &mut self.note,
        };
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        self.strategy.on_nack(&mut event, &mut choice, &mut ctx);
        choice
    }

    /// A PIT entry expires.
    pub(super) fn timeout(&mut self, sent: &[OutRecord]) {
        self.timeout_at(4000, sent);
    }

    /// A PIT entry expires at `ms`.
    pub(super) fn timeout_at(&mut self, ms: u64, sent: &[OutRecord]) {
        let mut ctx = Ctx { now: at(ms), rng: &mut self.rng, trace: &mut self.trace };
        let (name, prefix, hops) = (NameId::default(), PrefixId(0), &self.hops[..]);
        self.strategy.on_timeout(&TimeoutEvent { name, prefix, hops, sent }, &mut ctx);
    }

    /// The shares, in the order of the hops.
    pub(super) fn shares(&self) -> Vec<f64> {
        let mut out = Vec::new();
        self.strategy.shares(PrefixId(0), &self.hops, &mut out);
        out
    }
}

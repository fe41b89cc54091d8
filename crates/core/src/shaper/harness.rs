//! Drives one shaper by hand.

use super::*;
use crate::component::{Component, Env, parse_params};
use crate::ctx::{Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::ids::NameId;
use crate::packet::Kind;
use crate::queue::Limit;
use serde_json::Value;

/// An instant in milliseconds.
pub(super) fn ms(t: u64) -> Time {
    Time::ZERO + Duration::from_millis(t)
}

/// A shaper with what its hooks need.
pub(super) struct Bench<S> {
    pub(super) shaper: S,
    /// Of the shaper's face, both ways.
    pub(super) rate: Option<Rate>,
    pub(super) downstream_local: bool,
    /// Of the downstream face.
    pub(super) downstream_rate: Option<Rate>,
    pub(super) data: u32,
    pub(super) backlog: u32,
    pub(super) flows: u32,
    pub(super) credit: Option<Bytes>,
    pub(super) reverse: Reverse,
    pub(super) base_rtt: Option<Duration>,
    /// Of the packets that come.
    pub(super) fields: Fields,
    segment: u32,
    rng: Rng,
    pub(super) trace: Trace,
}

impl<S: Shaper + Component> Bench<S> {
    pub(super) fn new(params: &Value) -> Bench<S> {
        let params = parse_params::<S>(params).unwrap();
        let rate = Some(Rate::from_mbps(10.0));
        Bench {
            shaper: S::new(&params, &mut Env { layout: &mut FieldLayout::new() }),
            rate,
            downstream_local: false,
            downstream_rate: rate,
            data: 0,
            backlog: 0,
            flows: 1,
            credit: None,
            reverse: Reverse::default(),
            base_rtt: None,
            fields: Fields::default(),
            segment: 0,
            rng: Rng::derive(0, &[]),
            trace: Trace::default(),
        }
    }

    pub(super) fn link(mut self, mbps: f64) -> Bench<S> {
        self.rate = Some(Rate::from_mbps(mbps));
        self
    }

    fn view(&self, face: u16, rate: Option<Rate>, local: bool) -> FaceView {
        let queue = QueueView { packets: self.data, bytes: Bytes::ZERO, limit: Limit::Packets(100), rate };
        FaceView {
            face: FaceId(face),
            local,
            rate,
            open: false,
            return_rate: rate,
            queue,
            sent_bits: 0,
            offered_bits: 0,
        }
    }

    fn downstream(&self) -> Downstream {
        let view = self.view(2, self.downstream_rate, self.downstream_local);
        Downstream { view, data: self.data, backlog: self.backlog, flows: self.flows, credit: self.credit }
    }

    fn name(&mut self, flow: u32) -> Packet {
        self.segment += 1;
        let name = NameId { flow: FlowId(flow), segment: self.segment };
        Packet {
            name,
            kind: Kind::Interest,
            size: 40,
            tag: self.segment,
            lifetime_ms: 4000,
            fields: self.fields,
            ..Packet::default()
        }
    }

    /// An Interest of `flow` is about to leave.
    pub(super) fn admit(&mut self, now: Time, flow: u32) -> Admission {
        let (packet, out) = (self.name(flow), self.view(1, self.rate, false));
        let downstream = self.downstream();
        let (prefix, reverse, base_rtt) = (PrefixId(flow), self.reverse, self.base_rtt);
        let event = ShapeEvent { packet: &packet, prefix, out, downstream, reverse, base_rtt };
        self.shaper.admit(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }

    /// The result of a call of `release`.
    #[allow(dead_code, reason = "not every shaper holds")]
    pub(super) fn release(&mut self, now: Time) -> Option<Packet> {
        let downstream = self.shaper.next_held().map(|_| self.downstream());
        let event = ReleaseEvent { out: self.view(1, self.rate, false), reverse: self.reverse, downstream };
        self.shaper.release(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }

    /// An Interest of `flow` that left at `sent` is answered; Data has 1250 B.
    pub(super) fn answer(&mut self, now: Time, flow: u32, sent: Time, outcome: Outcome) {
        let mut packet = Packet { fields: self.fields, ..self.name(flow) };
        if outcome == Outcome::Data {
            packet = Packet { kind: Kind::Data, size: 1250, ..packet };
        }
        let rtt = Some(now.since(sent));
        let answer = Answer { outcome, packet: &packet, prefix: PrefixId(flow), sent, rtt };
        self.shaper.on_answer(&answer, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
    }
}

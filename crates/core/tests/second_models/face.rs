//! A face with a shaper: Interests that are to leave by it, their answers, and what it holds and releases.

use crate::bench::Bench;
use ndnweir_core::fields::Field;
use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::registry::AnyShaper;
use ndnweir_core::shaper::{
    Admission, Answer, Downstream, FaceView, Outcome, ReleaseEvent, Reverse, ShapeEvent, Shaper,
};
use ndnweir_core::units::{Bytes, Rate, Time};
use serde_json::Value;

pub struct Face {
    pub bench: Bench<AnyShaper>,
    /// Data waiting on the downstream face, whose queue holds 100 packets; flows pending from it.
    pub data: u32,
    pub flows: u32,
    pub downstream_rate: Rate,
}

/// An Interest of a flow.
pub fn interest(flow: u32, segment: u32) -> Packet {
    let name = NameId { flow: FlowId(flow), segment };
    Packet { name, kind: Kind::Interest, size: 60, lifetime_ms: 2000, tag: segment, ..Packet::default() }
}

impl Face {
    pub fn new(name: &str, params: &Value) -> Face {
        let bench = Bench::new(AnyShaper::build, name, params, &[Field::CongestionLevel]);
        Face { bench, data: 0, flows: 1, downstream_rate: Rate::from_mbps(10.0) }
    }

    fn view(&self, face: u16, packets: u32) -> FaceView {
        let (rate, limit) = (Some(self.downstream_rate), Limit::Packets(100));
        let queue = QueueView { packets, bytes: Bytes::new(u64::from(packets) * 1250), limit, rate };
        FaceView {
            face: FaceId(face),
            local: false,
            rate,
            open: false,
            return_rate: rate,
            queue,
            sent_bits: 0,
            offered_bits: 0,
        }
    }

    fn downstream(&self) -> Downstream {
        Downstream { view: self.view(2, self.data), data: self.data, backlog: 0, flows: self.flows, credit: None }
    }

    pub fn admit(&mut self, packet: &Packet) -> Admission {
        let event = ShapeEvent {
            packet,
            prefix: PrefixId(packet.name.flow.0),
            out: self.view(1, 0),
            downstream: self.downstream(),
            reverse: Reverse::default(),
            base_rtt: None,
        };
        self.bench.with(|shaper, ctx| shaper.admit(&event, ctx))
    }

    /// What is released now, in order.
    pub fn release(&mut self) -> Vec<Packet> {
        let mut released = Vec::new();
        loop {
            let downstream = self.bench.component.next_held().map(|_| self.downstream());
            let event = ReleaseEvent { out: self.view(1, 0), reverse: Reverse::default(), downstream };
            match self.bench.with(|shaper, ctx| shaper.release(&event, ctx)) {
                Some(packet) => released.push(packet),
                None => return released,
            }
        }
    }

    /// An Interest that left at `sent` is answered, by Data of this size if any.
    pub fn answer(&mut self, interest: &Packet, outcome: Outcome, sent: u64, size: u32) {
        let packet = Packet { kind: Kind::Data, size, ..*interest };
        let sent = Time::from_nanos(sent);
        let rtt = Some(Time::from_nanos(self.bench.now).since(sent));
        let answer = Answer { outcome, packet: &packet, prefix: PrefixId(interest.name.flow.0), sent, rtt };
        self.bench.with(|shaper, ctx| shaper.on_answer(&answer, ctx));
    }

    /// The level of a Data that came with `level` when it goes on downstream.
    pub fn stamped(&self, flow: u32, level: u32) -> u32 {
        let mut fields = self.bench.fields(&[(Field::CongestionLevel, level)]);
        self.bench.component.stamp(FlowId(flow), &mut fields);
        fields.get(self.bench.slot(Field::CongestionLevel))
    }
}

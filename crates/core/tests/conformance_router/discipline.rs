//! Queue disciplines: packets are conserved, limits kept, counts true.

use crate::router;
use ndnweir_core::component::Info;
use ndnweir_core::conformance::{Desk, SEEDS};
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Discipline, Limit};
use ndnweir_core::registry::{AnyDiscipline, DisciplineParams};
use ndnweir_core::units::{Bytes, Duration, Time};
use serde_json::Value;

/// The queue and what a bystander knows about it.
struct Witness {
    desk: Desk<AnyDiscipline>,
    /// Packets inside, with the time they joined, in order of arrival.
    inside: Vec<(Packet, Time)>,
    limit: Limit,
}

impl Witness {
    fn enqueue(&mut self, packet: Packet) {
        let mut dropped = Vec::new();
        let (limit, now) = (self.limit, self.desk.now);
        self.desk.with(|queue, ctx| queue.enqueue(packet, limit, &mut dropped, ctx));
        self.inside.push((packet, now));
        // A requested credit may be used up.
        let (flow, bytes) = (packet.name.flow, Bytes::new(self.desk.dice.below(3000)));
        let credit = self.desk.component.credit(flow);
        self.desk.record.push(credit.map_or(0, |credit| credit.get() + 1));
        if credit.is_some_and(|credit| credit >= bytes) {
            self.desk.component.charge(flow, bytes);
        }
        for packet in dropped {
            self.desk.record.extend([1, u64::from(packet.tag)]);
            self.remove(packet.tag);
        }
        let fits = match limit {
            Limit::Packets(n) => self.desk.component.packets() <= n,
            Limit::Bytes(n) => self.desk.component.bytes() <= n,
        };
        assert!(fits, "the limit {limit:?} is kept");
    }

    fn dequeue(&mut self) {
        let first = self.inside.first().map(|(packet, _)| packet.tag);
        let mut dropped = Vec::new();
        let next = self.desk.with(|queue, ctx| queue.dequeue(&mut dropped, ctx));
        for packet in &dropped {
            self.desk.record.extend([3, u64::from(packet.tag)]);
            self.remove(packet.tag);
        }
        let Some(queued) = next else {
            return assert!(self.inside.is_empty(), "a queue that holds packets gives one or drops them");
        };
        self.desk.record.push(u64::from(queued.mark));
        self.desk.record.extend([2, u64::from(queued.packet.tag)]);
        if self.desk.component.is_fifo() {
            assert!(dropped.is_empty() && queued.mark == 0, "a plain queue neither marks nor drops what waits");
            assert_eq!(Some(queued.packet.tag), first, "first in, first out");
        }
        assert_eq!(self.remove(queued.packet.tag), queued.joined, "the time it joined is kept");
    }

    fn remove(&mut self, tag: u32) -> Time {
        let place = self.inside.iter().position(|(packet, _)| packet.tag == tag);
        self.inside.remove(place.expect("only packets that are inside leave, and only once")).1
    }

    fn compare(&self) {
        let queue = &self.desk.component;
        let bytes = self.inside.iter().fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.bytes());
        assert_eq!((queue.packets(), queue.bytes()), (self.inside.len() as u32, bytes));
        for flow in (0..6).map(FlowId) {
            let own = self.inside.iter().filter(|(p, _)| p.kind == Kind::Data && p.name.flow == flow);
            let expected = own.fold((0, Bytes::ZERO), |(n, bytes), (p, _)| (n + 1, bytes + p.bytes()));
            assert_eq!(queue.backlog(flow), expected, "backlog of {flow:?}");
        }
    }
}

fn fuzz(info: &Info, params: &Value, seed: u64) -> Vec<u64> {
    let desk = router::desk::<DisciplineParams>(info, params, seed);
    let mut witness = Witness { desk, inside: Vec::new(), limit: Limit::Packets(50) };
    for tag in 0..2000 {
        witness.desk.wander();
        // A limit may shrink while packets wait, but then the queue is drained first.
        if witness.inside.is_empty() {
            let limits = [Limit::Packets(0), Limit::Packets(50), Limit::Bytes(Bytes::new(30_000))];
            witness.limit = limits[witness.desk.below(limits.len())];
        }
        let drain = (tag / 200) % 2 == 1;
        if witness.desk.chance(if drain { 0.2 } else { 0.7 }) {
            let packet = witness.desk.packet(tag);
            witness.enqueue(packet);
        } else {
            witness.dequeue();
        }
        witness.compare();
    }
    while !witness.inside.is_empty() {
        witness.dequeue();
    }
    witness.dequeue();
    witness.compare();
    witness.desk.finish().unwrap()
}

/// One flow overfills the queue, which drains at a packet per millisecond; then two packets each of 1500 flows pass.
fn flood(info: &Info, params: &Value) -> Vec<u64> {
    let desk = router::desk::<DisciplineParams>(info, params, 0);
    let mut witness = Witness { desk, inside: Vec::new(), limit: Limit::Packets(200) };
    let packet = |flow, tag| Packet {
        name: NameId { flow: FlowId(flow), segment: tag },
        kind: Kind::Data,
        size: 1250,
        tag,
        ..Packet::default()
    };
    (0..250).for_each(|tag| witness.enqueue(packet(0, tag)));
    while !witness.inside.is_empty() {
        witness.desk.now += Duration::from_millis(1);
        witness.dequeue();
    }
    witness.limit = Limit::Packets(3000);
    (0..3000).for_each(|tag| witness.enqueue(packet(tag % 1500, tag)));
    while !witness.inside.is_empty() {
        witness.dequeue();
    }
    witness.compare();
    witness.desk.finish().unwrap()
}

fn workload(info: &Info, params: &Value) -> Vec<u64> {
    (0..4).flat_map(|seed| fuzz(info, params, seed)).chain(flood(info, params)).collect()
}

#[test]
fn disciplines_conserve_packets_keep_limits_and_count_truly() {
    for info in AnyDiscipline::ALL {
        for seed in SEEDS {
            fuzz(info, &Value::Null, seed);
        }
    }
}

#[test]
fn disciplines_decide_the_same_in_every_run() {
    router::assert_deterministic(AnyDiscipline::ALL, workload);
}

#[test]
fn disciplines_have_sound_parameters() {
    router::assert_parameters_are_sound(AnyDiscipline::ALL, AnyDiscipline::check);
}

#[test]
fn every_parameter_of_a_discipline_has_an_effect() {
    router::assert_parameters_have_effects(AnyDiscipline::ALL, AnyDiscipline::check, workload);
}

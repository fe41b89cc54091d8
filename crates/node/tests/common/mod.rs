//! A node under test, with its packets collected.
#![allow(dead_code, reason = "the counts of allocations use a part")]

use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::{FaceConfig, Node, NodeConfig, Transmit};
use serde_json::json;

pub fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

pub fn name(segment: u32) -> NameId {
    NameId { flow: FlowId(0), segment }
}

pub fn interest(segment: u32, nonce: u32) -> Packet {
    Packet { name: name(segment), nonce, size: 50, lifetime_ms: 1000, hop_limit: 100, ..Packet::default() }
}

pub fn data(segment: u32) -> Packet {
    Packet { name: name(segment), kind: Kind::Data, size: 1250, payload: 1000, lifetime_ms: 50, ..Packet::default() }
}

pub fn nack(segment: u32, nonce: u32, reason: NackReason) -> Packet {
    interest(segment, nonce).nack(reason)
}

pub struct Setup {
    pub scheme: serde_json::Value,
    pub pit_limit: usize,
    pub cache: usize,
    pub force_events: bool,
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { scheme: json!({}), pit_limit: 1000, cache: 0, force_events: false, seed: 1 }
    }
}

impl Setup {
    /// A node with these faces. Prefix 0 has flow 0; prefixes 1 and above have none.
    pub fn node(&self, faces: &[FaceConfig]) -> Node {
        let scheme = Scheme::resolve("test", &self.scheme).unwrap();
        let layout = scheme.layout();
        let mut node = Node::new(NodeConfig {
            number: 3,
            seed: self.seed,
            scheme: &scheme,
            layout: &layout,
            pit_limit: self.pit_limit,
            cache: self.cache,
            prefixes: 2,
            trace: false,
            force_events: self.force_events,
        })
        .unwrap();
        for face in faces {
            node.add_face(face.clone()).unwrap();
        }
        node.bind_flow(FlowId(0), Some(PrefixId(0)));
        node
    }
}

/// 10 Mbit/s: 1250 B take 1 ms.
pub fn link(packets: u32) -> FaceConfig {
    FaceConfig::link(Rate::from_mbps(10.0), Limit::Packets(packets))
}

pub fn hop(face: u16, cost: u32) -> NextHop {
    NextHop { face: FaceId(face), cost }
}

/// Faces 0 to 3 are links; prefix 0 goes to face 1, else to face 2.
pub fn router(setup: &Setup) -> Node {
    let mut node = setup.node(&[link(100), link(100), link(100), link(100)]);
    node.set_route(Time::ZERO, PrefixId(0), &[hop(1, 1), hop(2, 2)]);
    node
}

pub fn drain(node: &mut Node) -> Vec<Transmit> {
    std::iter::from_fn(|| node.poll_transmit()).collect()
}

pub fn give(node: &mut Node, now: Time, face: u16, packet: Packet) -> Vec<Transmit> {
    wake(node, now);
    node.handle(now, FaceId(face), packet);
    let out = drain(node);
    check(node, now);
    out
}

/// Calls the timeouts that are due by `now`, each at its time.
pub fn wake(node: &mut Node, now: Time) -> Vec<Transmit> {
    let mut out = Vec::new();
    let mut at = Time::ZERO;
    while node.poll_timeout() <= now {
        at = at.max(node.poll_timeout());
        node.handle_timeout(at);
        out.extend(drain(node));
    }
    out
}

pub fn check(node: &mut Node, now: Time) {
    node.counters().check().unwrap();
    for face in 0..16 {
        node.face_counters(now, FaceId(face)).check().unwrap();
    }
    assert!(drain(node).is_empty(), "advancing sends nothing that was not requested");
}

/// Where packets went, and what they were.
pub fn summary(out: &[Transmit]) -> Vec<(u16, Kind)> {
    out.iter().map(|t| (t.face.0, t.packet.kind)).collect()
}

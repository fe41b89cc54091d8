//! Hosts send and receive; they carry nothing for others, whatever the routes and the strategy.

use crate::common;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Network, NodeKind, PlanFor, Retry, Routes, Traffic};
use ndnweir_sim::observer::{DirectedLinkId, NodeId};
use ndnweir_sim::{PacketTap, RunOptions};
use serde_json::json;
use std::ops::Range;

const HOST: NodeKind = NodeKind::Host { cache: 100 };
const ROUTER: NodeKind = NodeKind::Ndn { cache: 0 };
const ALL: [Routes; 5] =
    [Routes::Shortest, Routes::KShortest(4), Routes::LoopFree, Routes::Planned(PlanFor::Consumers), Routes::None];

/// Segments requested in a second, less those in flight at its end.
const REQUESTED: usize = 190;

/// Counts the Data put on each directed link.
#[derive(Default)]
struct Data(Vec<u64>);

impl PacketTap for Data {
    fn sent(&mut self, _: Time, _: Range<Time>, link: DirectedLinkId, _: [NodeId; 2], packet: &Packet) {
        self.0.resize(self.0.len().max(link.0 as usize + 1), 0);
        self.0[link.0 as usize] += u64::from(packet.kind == Kind::Data);
    }
}

fn network(nodes: &[NodeKind], ends: &[(usize, usize)], consumers: &[usize], from: usize, routes: Routes) -> Network {
    let links = ends.iter().map(|&(a, b)| link(a, b, Rate::from_mbps(20.0), Duration::from_millis(5), 100));
    let traffic = Traffic::Stream { gap: Duration::from_millis(5), segments: None, retry: Retry::Lifetime(3) };
    let consumers = consumers.iter().enumerate().map(|(i, &node)| {
        let mut consumer = consumer(node, 0, traffic.clone());
        consumer.object = i as u32;
        consumer
    });
    let mut network = Network {
        nodes: nodes.to_vec(),
        links: links.collect(),
        prefixes: 1,
        producers: vec![producer(from, 0)],
        consumers: consumers.collect(),
        duration: Duration::from_millis(1000),
        ..Network::default()
    };
    network.routing.routes = routes;
    network
}

/// Data on each directed link, and how many came to consumers.
fn data(network: &Network, strategy: &str) -> (Vec<u64>, usize) {
    let scheme = Scheme::resolve("test", &json!({ "consumer": "fixed", "strategy": strategy })).unwrap();
    let mut sent = Data::default();
    sent.0.resize(2 * network.links.len(), 0);
    let options = RunOptions { tap: Some(&mut sent), ..RunOptions::full() };
    let (_, recorder) = common::simulate(network, &scheme, options);
    (sent.0, recorder.deliveries.len())
}

fn strategies(routes: Routes) -> &'static [&'static str] {
    if routes == Routes::None { &["self-learning"] } else { &["best-route", "random", "multicast"] }
}

#[test]
fn on_a_local_network_no_host_carries_transit() {
    // Hosts 0, 1, 2 and a router 3 on the switch 4; the producer 5 is behind the router. All four are neighbours.
    let nodes = [HOST, HOST, HOST, ROUTER, NodeKind::Switch, HOST];
    for routes in ALL {
        for strategy in strategies(routes) {
            let ends = [(0, 4), (1, 4), (2, 4), (3, 4), (3, 5)];
            let (sent, arrived) = data(&network(&nodes, &ends, &[0, 1], 5, routes), strategy);
            assert!(arrived >= 2 * REQUESTED, "{strategy}, {routes:?}: {arrived} arrived");
            assert_eq!((sent[0], sent[2], sent[4]), (0, 0, 0), "{strategy}, {routes:?}: hosts send Data");
        }
    }
}

#[test]
fn a_host_on_two_links_receives_over_both_and_joins_nothing() {
    // The consumer 0 is linked to the routers 1 and 2, as is the host 4; the producer 3 to both routers. Through the
    // host 4, router 1 would reach the producer over router 2.
    let nodes = [HOST, ROUTER, ROUTER, HOST, HOST];
    for routes in ALL {
        for strategy in strategies(routes) {
            let ends = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4)];
            let (sent, arrived) = data(&network(&nodes, &ends, &[0, 1], 3, routes), strategy);
            assert!(arrived >= 2 * REQUESTED, "{strategy}, {routes:?}: {arrived} arrived");
            assert_eq!((sent[9], sent[11]), (0, 0), "{strategy}, {routes:?}: host 4 sends Data");
            assert_eq!((sent[0], sent[2]), (0, 0), "{strategy}, {routes:?}: host 0 sends Data");
            if routes == Routes::LoopFree && *strategy == "random" {
                assert!(sent[1] > 50 && sent[3] > 50, "both links of host 0 are used: {sent:?}");
            }
        }
    }
}

#[test]
fn parts_joined_only_by_a_host_are_not_connected() {
    let network = network(&[HOST, HOST, HOST], &[(0, 1), (1, 2)], &[0], 2, Routes::LoopFree);
    let scheme = Scheme::resolve("test", &json!({ "consumer": "fixed" })).unwrap();
    let rejected = ndnweir_sim::run(&network, &scheme, 1, &mut common::Recorder::default(), RunOptions::full());
    assert!(rejected.unwrap_err().0.contains("cannot reach"));
}

//! Links with an MTU: what fragments cost, how they queue, and what their loss does.

use crate::common;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_sim::bench::{consumer, link};
use ndnweir_sim::network::{Impairment, Network, NodeKind, Producer, Traffic};
use ndnweir_sim::observer::{Delivery, NoObserver};
use ndnweir_sim::{Outcome, RunOptions, run};
use serde_json::json;

/// Data of 4000 B: three fragments over 1500 B.
const DATA: u32 = 4000;

/// C - P over 8 Mbit/s (a byte takes a microsecond) and 10 ms; the window is fixed.
fn network(mtu: Option<u64>, queue: u32, window: f64) -> (Network, Scheme) {
    let mut link = link(0, 1, Rate::from_mbps(8.0), Duration::from_millis(10), queue);
    link.mtu = mtu.map(Bytes::new);
    let network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 2],
        links: vec![link],
        prefixes: 1,
        producers: vec![Producer { node: 1, prefix: 0, payload: DATA - 40, size: DATA, freshness: Duration::ZERO }],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        duration: Duration::from_millis(20_000),
        ..Network::default()
    };
    let scheme = json!({ "consumer": { "name": "fixed", "window": window } });
    (network, Scheme::resolve("fixed-window", &scheme).unwrap())
}

fn simulate(network: &Network, scheme: &Scheme) -> (Outcome, Vec<Delivery>) {
    let (outcome, keep) = common::simulate(network, scheme, RunOptions::full());
    (outcome, keep.deliveries)
}

// By hand. Over 1500 B with 2 B of framing LpPackets have 1498 B. A forwarder keeps 28 B of them for headers at their
// longest, and 2 B more in the first, so that parts have 1468, 1470 and 1062 B. Headers take 24 B each, framing 2 B:
// 1494, 1496 and 1088 B. An Interest of 30 B takes 32 us, both ways 20 ms.
#[test]
fn a_round_trip_takes_the_headers_of_all_fragments() {
    let (network, scheme) = network(Some(1500), 100, 1.0);
    let (outcome, deliveries) = simulate(&network, &scheme);
    let expected = Duration::from_micros(20_000 + 32 + 1494 + 1496 + 1088);
    assert!(deliveries.iter().all(|d| d.arrival.rtt == Some(expected)), "{:?}", deliveries[0].arrival.rtt);
    let counters = outcome.fragments[0];
    assert_eq!((counters.packets, counters.arrived), (deliveries.len() as u64, 3 * deliveries.len() as u64));
    assert_eq!(outcome.propagations[1].sent, counters.arrived + outcome.in_flight_by_link[1]);
}

#[test]
fn an_mtu_that_all_packets_fit_into_changes_nothing() {
    let ((plain, scheme), (wide, _)) = (network(None, 3, 40.0), network(Some(u64::from(DATA) + 2), 3, 40.0));
    let ((plain, _), (wide, _)) = (simulate(&plain, &scheme), simulate(&wide, &scheme));
    assert!(plain.links[1].drops.overflow > 0);
    assert_eq!(plain, wide);
    let (narrow, _) = network(Some(u64::from(DATA) + 1), 3, 40.0);
    assert_ne!(plain.hash, simulate(&narrow, &scheme).0.hash, "one byte less cuts");
}

// Twelve Data of three fragments join at one instant (the window's Interests take 32 us each, a frame much longer): one
// frame is on the wire. With room for 7 frames, the parts that find none are lost one by one, and with them their Data.
#[test]
fn fragments_queue_and_overflow_singly() {
    let (network, scheme) = network(Some(1500), 7, 12.0);
    let (outcome, deliveries) = simulate(&network, &scheme);
    let link = &outcome.links[1];
    let counters = outcome.fragments[0];
    assert!(link.drops.overflow > 0 && counters.incomplete > 0, "{link:?} {counters:?}");
    assert_ne!(link.drops.overflow % 3, 0, "Data lost only in part");
    assert!(counters.packets >= deliveries.len() as u64);
}

// Each of three fragments is lost with 2 %: a Data with 1 - 0.98^3 = 5.88 %, an Interest with 2 %.
#[test]
fn one_lost_fragment_loses_the_packet() {
    let (mut network, scheme) = network(Some(1500), 100, 4.0);
    network.links[0].backward.impairment = Impairment { loss: 0.02, ..Impairment::default() };
    network.duration = Duration::from_millis(200_000);
    let outcome = run(&network, &scheme, 1, &mut NoObserver, RunOptions::full()).unwrap();
    outcome.check().unwrap();
    let sent = outcome.propagations[1].sent as f64 / 3.0;
    let whole = outcome.fragments[0].packets as f64;
    assert!(sent > 20_000.0, "{sent}");
    // Three standard deviations of a binomial share over `sent` Data.
    let deviation = (0.0588 * 0.9412 / sent).sqrt();
    assert!((1.0 - whole / sent - 0.0588).abs() < 3.0 * deviation + 1e-4, "{}", 1.0 - whole / sent);
}

#[test]
fn a_marker_marks_fragments_and_the_packet_has_the_highest_mark() {
    let (mut network, scheme) = network(Some(1500), 100, 8.0);
    let marker = json!({ "name": "codel", "target": "1ms", "interval": "10ms" });
    network.links[0].backward.marker = Some(ndnweir_core::scheme::ComponentChoice::from_value(&marker).unwrap());
    let (outcome, deliveries) = simulate(&network, &scheme);
    let marked = deliveries.iter().filter(|d| d.arrival.mark > 0).count() as u64;
    let marks = outcome.links[1].data_marks;
    assert!(marked > 0 && marked <= marks && marks <= 3 * marked + 3, "{marked} Data, {marks} marks");
}

// A switch between the nodes has the narrow link behind it: the node cuts for the narrowest of the switched network.
#[test]
fn frames_fit_every_link_that_switches_join() {
    let (mut network, scheme) = network(None, 100, 4.0);
    network.nodes = vec![NodeKind::Ndn { cache: 0 }, NodeKind::Ndn { cache: 0 }, NodeKind::Switch];
    let near = network.links[0].clone();
    network.links = vec![
        ndnweir_sim::network::Link { a: 0, b: 2, mtu: Some(Bytes::new(600)), ..near.clone() },
        ndnweir_sim::network::Link { a: 2, b: 1, mtu: Some(Bytes::new(1500)), ..near },
    ];
    let (outcome, deliveries) = simulate(&network, &scheme);
    // 598 B of LpPacket, 28 B kept for headers: eight parts of 570 B at most, all of which cross both links.
    assert_eq!(outcome.fragments[0].arrived, 8 * outcome.fragments[0].packets + outcome.fragments[0].pending);
    assert!(deliveries.len() > 100);
    assert_eq!(outcome.unswitched, [0, 0, 0]);
}

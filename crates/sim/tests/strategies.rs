//! Strategies in a network: what a failing link costs when routing does not react, and routes that are not configured.

use crate::common;
use crate::common::Recorder;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Change, Network, NodeKind, Retry, Routes, Traffic};
use ndnweir_sim::observer::{ConsumerId, DirectedLinkId};
use ndnweir_sim::{Outcome, RunOptions};
use serde_json::{Value, json};

/// Segments requested early enough to arrive.
const REQUESTED: u64 = 490;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A consumer at 0 that sends 100 Interests per second for 5 s without retransmissions, a producer at 3, paths over 1
/// and over 2. Routing never follows; the link from 1 to the producer fails at 1 s.
fn diamond(retry: Retry) -> Network {
    let ends = [(0, 1), (1, 3), (0, 2), (2, 3)];
    let links = ends.map(|(a, b)| link(a, b, Rate::from_mbps(10.0), Duration::from_millis(10), 100));
    let traffic = Traffic::Stream { gap: Duration::from_millis(10), segments: None, retry };
    let mut network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 4],
        links: links.to_vec(),
        prefixes: 1,
        producers: vec![producer(3, 0)],
        consumers: vec![consumer(0, 0, traffic)],
        changes: vec![(at(1000), Change::LinkDown { link: 1 })],
        duration: Duration::from_millis(5000),
        ..Network::default()
    };
    network.routing.routes = Routes::LoopFree;
    network.routing.reaction = None;
    network
}

fn simulate(network: &Network, strategy: Value) -> (Outcome, Recorder) {
    let scheme = Scheme::resolve("test", &json!({ "consumer": "fixed", "strategy": strategy })).unwrap();
    common::simulate(network, &scheme, RunOptions::full())
}

const OVER_2: [DirectedLinkId; 2] = [DirectedLinkId(7), DirectedLinkId(5)];

#[test]
fn best_route_keeps_sending_into_the_failed_path() {
    let (_, recorder) = simulate(&diamond(Retry::Never), json!("best-route"));
    assert!(recorder.missing(REQUESTED).len() > 380, "{}", recorder.missing(REQUESTED).len());
}

// Three timeouts of at least 200 ms, one after the other. Each starts with the first Interest after the one before.
#[test]
fn asf_leaves_the_failed_path_after_three_timeouts() {
    let (_, recorder) = simulate(&diamond(Retry::Never), json!("asf"));
    let missing = recorder.missing(REQUESTED);
    assert!((60..=75).contains(&missing.len()), "{missing:?}");
    assert!(missing.iter().all(|segment| (95..=175).contains(segment)), "{missing:?}");
    assert_eq!(recorder.last_links(at(4900)), OVER_2);
}

#[test]
fn stateful_forwarding_sends_every_interest_of_the_failed_path_over_the_other() {
    let (_, recorder) = simulate(&diamond(Retry::Never), json!({ "name": "stateful-forwarding", "probing": 0.0 }));
    assert!(recorder.missing(REQUESTED).is_empty(), "{:?}", recorder.missing(REQUESTED));
    assert_eq!(recorder.last_links(at(4900)), OVER_2);
    let (_, patient) = simulate(&diamond(Retry::Never), json!({ "name": "stateful-forwarding", "retry-timer": false }));
    assert!(patient.missing(REQUESTED).len() > 90, "without the timer only lifetimes and probes tell");
}

#[test]
fn multicast_does_not_notice_and_sends_twice() {
    let (outcome, recorder) = simulate(&diamond(Retry::Never), json!("multicast"));
    assert!(recorder.missing(REQUESTED).is_empty(), "{:?}", recorder.missing(REQUESTED));
    assert!(outcome.links[0].interest_packets > 490 && outcome.links[4].interest_packets > 490);
}

#[test]
fn a_next_hop_that_routing_adds_gets_what_is_pending_from_multicast() {
    // One path until routing finds the other, 500 ms after the first has failed, within the lifetime of 2 s.
    let mut network = diamond(Retry::Never);
    network.routing.routes = Routes::Shortest;
    network.routing.reaction = Some(Duration::from_millis(500));
    let (_, recorder) = simulate(&network, json!("multicast"));
    assert!(recorder.missing(REQUESTED).is_empty(), "{:?}", recorder.missing(REQUESTED));
    let (_, recorder) = simulate(&network, json!("best-route"));
    assert!(recorder.missing(REQUESTED).len() >= 50, "{:?}", recorder.missing(REQUESTED));
}

#[test]
fn self_learning_floods_once_and_then_takes_the_way_the_data_came() {
    let mut network = diamond(Retry::Never);
    network.routing.routes = Routes::None;
    network.changes.clear();
    let (outcome, recorder) = simulate(&network, json!("self-learning"));
    assert!(recorder.missing(REQUESTED).is_empty(), "{:?}", recorder.missing(REQUESTED));
    // Requested at 0, 10, … ms; the first Data arrives after 42 ms, so that a handful is flooded.
    let flooded = outcome.links[4].interest_packets.min(outcome.links[0].interest_packets);
    assert!((4..=6).contains(&flooded), "{flooded}");
}

#[test]
fn self_learning_finds_the_other_way_when_a_link_fails_that_a_node_on_the_way_sees() {
    let mut network = diamond(Retry::Never);
    network.routing.routes = Routes::None;
    let (_, recorder) = simulate(&network, json!("self-learning"));
    let missing = recorder.missing(REQUESTED);
    assert!(missing.len() < 12 && missing.iter().all(|segment| (94..=106).contains(segment)), "{missing:?}");
    assert_eq!(recorder.last_links(at(4900)), OVER_2);
}

/// Two consumers that request /a and /b, which have the same next hops everywhere, and a scheme with these strategies.
fn two_prefixes(prefixes: Value) -> (Outcome, Recorder) {
    let mut network = diamond(Retry::Never);
    network.prefixes = 2;
    network.names.prefixes = vec!["/a".into(), "/b".into()];
    network.names.objects = vec!["/a/1".into(), "/b/1".into()];
    network.producers.push(producer(3, 1));
    let mut other = consumer(0, 1, network.consumers[0].traffic.clone());
    other.object = 1;
    network.consumers.push(other);
    let scheme = Scheme::resolve("test", &json!({ "consumer": "fixed", "prefixes": prefixes })).unwrap();
    common::simulate(&network, &scheme, RunOptions::full())
}

#[test]
fn two_prefixes_behave_as_their_strategies_do_alone() {
    let (outcome, recorder) = two_prefixes(json!({ "/b": "multicast" }));
    let missing = |consumer: u32| {
        let got = recorder.deliveries.iter().filter(|d| d.consumer == ConsumerId(consumer)).map(|d| d.arrival.segment);
        let got: std::collections::BTreeSet<u64> = got.collect();
        (0..REQUESTED).filter(|segment| !got.contains(segment)).count()
    };
    // The link of the first path fails at 1 s of 5: best-route keeps sending into it, multicast does not notice.
    assert!(missing(0) > 380 && missing(1) == 0, "{} {}", missing(0), missing(1));
    let (over_1, over_2) = (outcome.links[0].interest_packets, outcome.links[4].interest_packets);
    assert!(over_1 > 980 && (491..=501).contains(&over_2), "{over_1} {over_2}");
}

#[test]
fn a_choice_applies_to_the_names_under_it_and_the_longest_wins() {
    let over_2 = |prefixes| two_prefixes(prefixes).0.links[4].interest_packets;
    assert_eq!(over_2(json!({ "/b/2": "multicast" })), 0);
    assert!(over_2(json!({ "/b/1": "multicast" })) > 490);
    assert_eq!(over_2(json!({ "/b": "multicast", "/b/1": "best-route" })), 0);
    assert!(over_2(json!({ "/a": "multicast", "/b": "multicast" })) > 980);
}

/// A consumer at 0 behind 1, paths of 60 Mbit/s with 10 ms over 2 and of 20 Mbit/s with 60 ms over 3 to a producer at 4;
/// each queue holds what its path does.
fn unequal_paths(changes: Vec<(Time, Change)>) -> Network {
    let (ms, mbps) = (Duration::from_millis, Rate::from_mbps);
    let wide = |a, b| link(a, b, mbps(1000.0), Duration::from_micros(10), 1000);
    let links = vec![
        wide(0, 1),
        link(1, 2, mbps(60.0), ms(5), 70),
        link(1, 3, mbps(20.0), ms(30), 140),
        wide(2, 4),
        wide(3, 4),
    ];
    let mut network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 5],
        links,
        prefixes: 1,
        producers: vec![producer(4, 0)],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        changes,
        duration: ms(10_000),
        ..Network::default()
    };
    network.routing.routes = Routes::LoopFree;
    network.routing.reaction = None;
    network
}

/// Mbit/s of content over 10 s.
fn goodput(scheme: &str, changes: Vec<(Time, Change)>) -> f64 {
    let scheme = Scheme::named(scheme).unwrap();
    let (outcome, _) = common::simulate(&unequal_paths(changes), &scheme, RunOptions::full());
    outcome.consumers[0].payload_bits as f64 / 10e6
}

// 1024 of 1064 B are content: 77 of the 80 Mbit/s, and 57.7 over the first path, which is all that best-route uses.
#[test]
fn the_default_fills_two_paths_of_unequal_rate_and_delay() {
    let (default, plain) = (goodput("measured", vec![]), goodput("plain", vec![]));
    assert!(default > 72.0 && plain < 58.0, "{default} and {plain} Mbit/s");
}

// One second over both and nine over 20 Mbit/s would be 25; the consumer waits for timeouts, and the first path is probed.
#[test]
fn the_default_goes_on_over_the_second_path_when_the_first_fails_and_routing_does_not_react() {
    let fails = || vec![(at(1000), Change::LinkDown { link: 1 })];
    let (default, plain) = (goodput("measured", fails()), goodput("plain", fails()));
    assert!(default > 16.0 && plain < 8.0, "{default} and {plain} Mbit/s");
}

//! Every registered scheme survives: links without capacity, producers that vanish, floods of Interests for names
//! without a producer. Memory stays bounded, every Interest is accounted for, and what can be answered is answered
//! again afterwards.

use ndnweir_core::packet::NackReason;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::network::{
    Change, Consumer, Direction, Link, LinkDirection, Network, NodeKind, Producer, Retry, Traffic,
};
use ndnweir_sim::observer::{Delivery, Observer};
use ndnweir_sim::{Outcome, RunOptions, run};

/// Pending Interests a node may have: fewer than a flood brings in a lifetime.
const PIT_LIMIT: usize = 16_384;
/// What the shared link carries, in Data per second.
const CAPACITY: f64 = 500.0;

/// When segments reached consumer 0.
#[derive(Default)]
struct Log(Vec<f64>);

impl Observer for Log {
    fn delivered(&mut self, delivery: &Delivery) {
        if delivery.consumer.0 == 0 {
            self.0.push(delivery.at.secs());
        }
    }
}

impl Log {
    /// Data per second between two times in s.
    fn rate(&self, from: f64, to: f64) -> f64 {
        self.0.iter().filter(|at| (from..to).contains(*at)).count() as f64 / (to - from)
    }
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(1000 * seconds)
}

fn ask(node: usize, prefix: u32, traffic: Traffic) -> Consumer {
    let (start, stop, object) = (Time::ZERO, None, 0);
    let (interest_size, lifetime) = (37, Duration::from_millis(2000));
    Consumer { node, prefix, object, traffic, start, start_jitter: None, stop, interest_size, lifetime }
}

/// Two consumers (0, 1), two routers (2, 3) with 5 Mbit/s between them, two producers (4, 5).
fn dumbbell(second: Traffic, changes: &[(u64, Change)]) -> Network {
    let link = |a: usize, b: usize, mbps: f64| {
        let direction = Direction::new(Rate::from_mbps(mbps), Duration::from_millis(10), Limit::Packets(50));
        Link::symmetric(a, b, direction)
    };
    let serve =
        |node: usize, prefix: u32| Producer { node, prefix, payload: 1000, size: 1250, freshness: Duration::ZERO };
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 6],
        prefixes: 2,
        links: vec![link(0, 2, 10.0), link(1, 2, 10.0), link(2, 3, 5.0), link(3, 4, 10.0), link(3, 5, 10.0)],
        producers: vec![serve(4, 0), serve(5, 1)],
        consumers: vec![ask(0, 0, fetch()), ask(1, 1, second)],
        changes: changes.iter().map(|(seconds, change)| (at(*seconds), *change)).collect(),
        duration: Duration::from_millis(20_000),
        pit_limit: PIT_LIMIT,
        ..Network::default()
    }
}

fn fetch() -> Traffic {
    Traffic::Fetch { segments: None, consumer: None }
}

/// Ten times what the shared link carries in Data.
fn flood() -> Traffic {
    Traffic::Stream { gap: Duration::from_micros(200), segments: None, retry: Retry::Never }
}

/// Runs a network under a scheme; packet accounting holds and no table has outgrown its bound.
fn survives(network: &Network, scheme: &str) -> (Log, Outcome) {
    let mut log = Log::default();
    let found = Scheme::named(scheme).unwrap();
    let outcome = run(network, &found, 1, &mut log, RunOptions::full()).unwrap();
    outcome.check().unwrap_or_else(|what| panic!("{scheme}: {what}"));
    for (i, node) in outcome.nodes.iter().enumerate() {
        assert!(node.pit_peak <= PIT_LIMIT as u64, "{scheme}: node {i} had {} PIT entries", node.pit_peak);
        let held = PIT_LIMIT as u64 * network.nodes.len() as u64;
        assert!(node.held <= held, "{scheme}: node {i} holds {} Interests", node.held);
    }
    (log, outcome)
}

/// Data per second before the fault, which lasts from 3 to 4 s, and in the last 5 s of 45.
fn beside_a_fault(scheme: &str, changes: &[(u64, Change)], reaction: Option<Duration>) -> (f64, f64) {
    let mut network = dumbbell(fetch(), changes);
    network.consumers.truncate(1);
    network.duration = Duration::from_millis(45_000);
    network.routing.reaction = reaction;
    let (log, _) = survives(&network, scheme);
    assert!(log.rate(3.4, 4.0) < 0.02 * CAPACITY, "{scheme}: the fault has no effect");
    (log.rate(1.0, 3.0), log.rate(40.0, 45.0))
}

/// Schemes whose start overflows the queue of the shared link before anything tells them, so that ndnSIM's timer is
/// silent until after the fault: each timed-out segment doubles it.
const SILENT_AT_FIRST: [&str; 1] = ["e2e-aqm"];

/// Timers of consumers back off for up to 20 s, those of a constant window of 200 longest; after that a flow has at
/// least half of what it had.
fn recovers(changes: &[(u64, Change)], reaction: Option<Duration>) {
    for scheme in Scheme::names() {
        let (before, after) = beside_a_fault(scheme, changes, reaction);
        let told = format!("{scheme}: {before} Data/s before, {after} after {changes:?} {reaction:?}");
        let enough = if SILENT_AT_FIRST.contains(&scheme) {
            assert!(before < 0.05 * CAPACITY, "{told}: it is no longer silent");
            after >= 0.5 * CAPACITY
        } else {
            before > 0.2 * CAPACITY && after >= 0.5 * before
        };
        assert!(enough, "{told}");
    }
}

#[test]
fn data_come_again_after_the_shared_link_was_down() {
    recovers(&[(3, Change::LinkDown { link: 2 }), (4, Change::LinkUp { link: 2 })], Some(Duration::from_millis(200)));
}

#[test]
fn data_come_again_after_the_way_of_the_data_or_of_the_interests_had_next_to_no_capacity() {
    // A Data takes 10 s at 1 kbit/s, an Interest 0.3 s.
    for direction in [LinkDirection::Backward, LinkDirection::Forward] {
        let change = |rate| Change::Rate { link: 2, direction, rate };
        recovers(&[(3, change(Rate::from_bps(1000))), (4, change(Rate::from_mbps(5.0)))], None);
    }
}

#[test]
fn data_come_again_after_the_producer_had_vanished_whether_or_not_routing_notices() {
    for reaction in [None, Some(Duration::from_millis(200))] {
        recovers(&[(3, Change::Crash { node: 4 }), (4, Change::Restart { node: 4 })], reaction);
    }
}

/// Data per second of consumer 0 during the flood, and the outcome.
fn beside_a_flood(scheme: &str, reaction: Option<Duration>) -> (f64, Outcome) {
    let mut network = dumbbell(flood(), &[(0, Change::Crash { node: 5 })]);
    network.duration = Duration::from_millis(10_000);
    network.routing.reaction = reaction;
    let (log, outcome) = survives(&network, scheme);
    (log.rate(4.0, 10.0), outcome)
}

/// Schemes whose routers limit what all flows together may ask, without shares for each: what the flood requests and
/// never gets counts like Data, or like a pending Interest (`ecp`). Two of them are the forms in which Stateful
/// Forwarding and its successor were published.
const STARVED: [&str; 6] = ["stateful-consumer", "nack-once-consumer", "his", "ecp", "mircc", "mircc-single"];

#[test]
fn beside_a_flood_for_missing_names_memory_is_bounded_and_other_flows_go_on() {
    let mut starved = Vec::new();
    for scheme in Scheme::names() {
        let (rate, _) = beside_a_flood(scheme, None);
        if STARVED.contains(&scheme) {
            assert!(rate < 0.05 * CAPACITY, "{scheme} keeps {rate} Data/s: it is no longer starved");
            continue;
        }
        if SILENT_AT_FIRST.contains(&scheme) {
            continue;
        }
        // Nine tenths of the fair share, which is half of the capacity.
        if rate < 0.45 * CAPACITY {
            starved.push(format!("{scheme}: {rate} Data/s"));
        }
    }
    assert!(starved.is_empty(), "beside the flood: {starved:?}");
}

#[test]
fn a_flood_for_names_without_a_route_gets_noroute_nacks() {
    for scheme in Scheme::names() {
        let (_, outcome) = beside_a_flood(scheme, Some(Duration::from_millis(200)));
        // All but what was sent before routing noticed is answered with NoRoute where the route ends; nothing stays
        // pending.
        let (asked, rejected) = (outcome.consumers[1].interests, outcome.consumers[1].nacks);
        let told = outcome.nodes[1].nacks_sent[NackReason::NoRoute as usize];
        assert!(
            rejected >= asked * 97 / 100 && told >= rejected * 95 / 100,
            "{scheme}: {asked} asked, {rejected}, {told}"
        );
        assert!(outcome.nodes[2].pending < 500, "{scheme}: {} pending", outcome.nodes[2].pending);
    }
}

#[test]
fn a_full_pit_is_answered_with_congestion_and_never_grows() {
    for scheme in Scheme::names() {
        let mut network = dumbbell(flood(), &[(0, Change::Crash { node: 5 })]);
        network.routing.reaction = None;
        network.pit_limit = 500;
        network.duration = Duration::from_millis(5000);
        let found = Scheme::named(scheme).unwrap();
        let outcome = run(&network, &found, 1, &mut Log::default(), RunOptions::full()).unwrap();
        outcome.check().unwrap_or_else(|what| panic!("{scheme}: {what}"));
        for (i, node) in outcome.nodes.iter().enumerate() {
            assert!(node.pit_peak <= 500 && node.held <= 500, "{scheme}: node {i}: {node:?}");
            assert!(node.nacks_sent[NackReason::Congestion as usize] >= node.pit_full, "{scheme}: node {i}: {node:?}");
        }
    }
}

//! Failures, changes and switches, seen from the consumer.

use crate::common;
use crate::common::Recorder;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Change, LinkDirection, Network, NodeKind, Retry, Traffic};
use ndnweir_sim::observer::{DirectedLinkId, DropCause};
use ndnweir_sim::{Outcome, RunOptions};

/// Segments requested early enough to arrive.
const REQUESTED: u64 = 490;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A stream of 100 Interests/s from node 0, never repeated.
fn stream(nodes: Vec<NodeKind>, links: &[(usize, usize)], producer_at: usize, changes: &[(u64, Change)]) -> Network {
    let links = links.iter().map(|&(a, b)| link(a, b, Rate::from_mbps(10.0), Duration::from_millis(10), 100));
    let traffic = Traffic::Stream { gap: Duration::from_millis(10), segments: None, retry: Retry::Never };
    Network {
        nodes,
        links: links.collect(),
        prefixes: 1,
        producers: vec![producer(producer_at, 0)],
        consumers: vec![consumer(0, 0, traffic)],
        changes: changes.iter().map(|&(at, change)| (ms(at), change)).collect(),
        duration: Duration::from_millis(5000),
        ..Network::default()
    }
}

fn simulate(network: &Network) -> (Outcome, Recorder) {
    common::simulate(network, &Scheme::named("fixed").unwrap(), RunOptions::full())
}

fn ndn(n: usize) -> Vec<NodeKind> {
    vec![NodeKind::Ndn { cache: 0 }; n]
}

#[test]
fn traffic_moves_to_the_other_path_when_routing_reacts_and_back_when_the_link_returns() {
    let diamond = [(0, 1), (1, 3), (0, 2), (2, 3)];
    let changes = [(1000, Change::LinkDown { link: 1 }), (3000, Change::LinkUp { link: 1 })];
    let (outcome, recorder) = simulate(&stream(ndn(4), &diamond, 3, &changes));
    let used: Vec<_> = recorder.paths.iter().map(|(_, links)| links.iter().map(|l| l.0).collect::<Vec<_>>()).collect();
    assert_eq!(used, [vec![3, 1], vec![7, 5]]);
    let on = |at: u64| recorder.last(ms(at)).path;
    assert_eq!((on(900), on(2900), on(4900)), (recorder.paths[0].0, recorder.paths[1].0, recorder.paths[0].0));
    // What was in flight at 1 s and all requested until 1.2 s, when routing reacts.
    let missing = recorder.missing(REQUESTED);
    assert!(missing.iter().all(|s| (96..=120).contains(s)) && missing.len() >= 20, "{missing:?}");
    assert!(outcome.drops()[DropCause::Down] >= 20);
}

#[test]
fn a_node_that_crashes_forgets_and_forwards_again_after_its_restart() {
    let chain = [(0, 1), (1, 2)];
    let changes = [(1000, Change::Crash { node: 1 }), (2000, Change::Restart { node: 1 })];
    let mut network = stream(ndn(3), &chain, 2, &changes);
    network.routing.reaction = None;
    let (outcome, recorder) = simulate(&network);
    let missing = recorder.missing(REQUESTED);
    assert!(missing.len() >= 100 && missing.iter().all(|s| (95..=200).contains(s)), "{missing:?}");
    assert!(outcome.dead[1] >= 98, "{:?}", outcome.dead);
}

#[test]
fn a_longer_delay_and_a_lower_rate_show_in_the_round_trip() {
    let changes = [
        (1000, Change::Delay { link: 0, direction: LinkDirection::Forward, delay: Duration::from_millis(40) }),
        (2000, Change::Rate { link: 0, direction: LinkDirection::Backward, rate: Rate::from_mbps(1.0) }),
    ];
    let (_, recorder) = simulate(&stream(ndn(2), &[(0, 1)], 1, &changes));
    let rtt = |at: u64| recorder.last(ms(at)).arrival.rtt.unwrap();
    let on = |mbps: f64, bytes| Rate::from_mbps(mbps).transmission_time(ndnweir_core::units::Bytes::new(bytes));
    let base = Duration::from_millis(20) + on(10.0, 32) + on(10.0, 1066);
    assert_eq!(rtt(900), base);
    assert_eq!(rtt(1900), base + Duration::from_millis(30));
    assert_eq!(rtt(4900), base + Duration::from_millis(30) + on(1.0, 1066) - on(10.0, 1066));
}

#[test]
fn congestion_at_a_switch_is_lost_there_and_seen_by_no_node() {
    // Consumer and producer on a switch each; the link between the switches is the bottleneck.
    let nodes = [ndn(1), vec![NodeKind::Switch; 2], ndn(1)].concat();
    let mut network = stream(nodes, &[(0, 1), (1, 2), (2, 3)], 3, &[]);
    network.links[1] = link(1, 2, Rate::from_mbps(0.5), Duration::from_millis(10), 5);
    let (outcome, recorder) = simulate(&network);
    assert_eq!(recorder.paths[0].1, [DirectedLinkId(5), DirectedLinkId(3), DirectedLinkId(1)]);
    let overflow = |directed_link: usize| outcome.links[directed_link].drops[DropCause::Overflow];
    assert!(overflow(3) > 100 && overflow(5) == 0 && overflow(1) == 0);
    let carried = outcome.links[3].data_bits as f64 / 5e5 / 5.0;
    assert!((0.98..1.0).contains(&carried), "{carried}");
    assert_eq!(outcome.nodes[3].drops.total(), 0);
}

#[test]
fn neighbours_behind_one_interface_share_its_queue() {
    // Two producers behind one switch, asked through one interface of the consumer's node.
    let nodes = [ndn(1), vec![NodeKind::Switch], ndn(2)].concat();
    let mut network = stream(nodes, &[(0, 1), (1, 2), (1, 3)], 2, &[]);
    network.prefixes = 2;
    network.producers.push(producer(3, 1));
    let mut second = network.consumers[0].clone();
    second.prefix = 1;
    network.consumers.push(second);
    let (outcome, _) = simulate(&network);
    // The last two are due at the very end: one of them is on the wire.
    assert_eq!(outcome.links[0].interest_packets, 1001);
    assert_eq!((outcome.links[2].interest_packets, outcome.links[4].interest_packets), (499, 499), "10 ms later");
    // Both ask at the same instants, so that every other Interest waits for the one before it.
    let wait = Rate::from_mbps(10.0).transmission_time(ndnweir_core::units::Bytes::new(32));
    assert_eq!(outcome.links[0].sojourn_sum, u128::from(wait.nanos()) * 500);
}

#[test]
fn shapers_follow_the_rate_at_which_data_come_back() {
    // L = C / S of Stateful Forwarding: 1250 B at 5 Mbit/s are 500/s, at 1 Mbit/s 100/s. The link that brings the Data
    // falls to a fifth and comes back. Were L to stay, the consumer would request 500/s and four of five Data overflow.
    let direction = |mbps: f64| {
        let delay = Duration::from_millis(10);
        ndnweir_sim::network::Direction::new(Rate::from_mbps(mbps), delay, ndnweir_core::queue::Limit::Packets(200))
    };
    let line = |changes: &[(u64, Change)]| {
        let mut network = stream(ndn(4), &[], 3, changes);
        let rates = [10.0, 5.0, 10.0];
        network.links = (0..3).map(|i| ndnweir_sim::network::Link::symmetric(i, i + 1, direction(rates[i]))).collect();
        network.producers[0].size = 1250;
        network.consumers[0].traffic = Traffic::Fetch { segments: None, consumer: None };
        network.duration = Duration::from_millis(30_000);
        let scheme = Scheme::named("nack-once").unwrap();
        let (outcome, recorder) = common::simulate(&network, &scheme, RunOptions::full());
        let between = |a: u64, b: u64| recorder.deliveries.iter().filter(|d| d.at >= ms(a) && d.at < ms(b)).count();
        let overflow: u64 = outcome.links.iter().map(|l| l.drops[DropCause::Overflow]).sum();
        (between(5_000, 10_000), between(12_000, 20_000), between(25_000, 30_000), overflow)
    };
    let back = |mbps: f64| Change::Rate { link: 1, direction: LinkDirection::Backward, rate: Rate::from_mbps(mbps) };
    let (before, low, after, overflow) = line(&[(10_000, back(1.0)), (20_000, back(5.0))]);
    // 93 % of 2500, 800 and 2500, as at a bottleneck that never changes.
    assert!((2250..=2500).contains(&before) && (700..=800).contains(&low) && (2200..=2500).contains(&after));
    assert_eq!(overflow, 0, "{before} {low} {after}");
    let (_, _, steady, _) = line(&[]);
    assert!((2250..=2500).contains(&steady), "{steady}");
}

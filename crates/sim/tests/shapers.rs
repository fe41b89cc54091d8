//! Interest shapers in small networks: what each is for, and what none may do under faults and floods.

use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Rate, Span, Time};
use ndnweir_sim::network::{Change, Consumer, Direction, Link, Network, NodeKind, Producer, Retry, Routes, Traffic};
use ndnweir_sim::observer::{Delivery, LinkCounters, Observer, Snapshot};
use ndnweir_sim::{Outcome, RunOptions, run};
use serde_json::{Value, json};

/// Segments per consumer from `from` on, the state of links at the end, and the longest Data queue seen from then on.
#[derive(Default)]
struct Log {
    from: f64,
    segments: Vec<u64>,
    links: Vec<LinkCounters>,
    queue: Vec<u32>,
}

impl Observer for Log {
    fn delivered(&mut self, delivery: &Delivery) {
        let consumer = delivery.consumer.0 as usize;
        self.segments.resize(self.segments.len().max(consumer + 1), 0);
        self.segments[consumer] += u64::from(delivery.at.secs() >= self.from);
    }

    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.links = snapshot.links.to_vec();
        if snapshot.at.secs() >= self.from {
            let now = snapshot.links.iter().map(|link| link.queue_packets);
            self.queue = now.zip(self.queue.iter().chain(std::iter::repeat(&0))).map(|(a, b)| a.max(*b)).collect();
        }
    }
}

fn link(a: usize, b: usize, mbps: f64) -> Link {
    let direction = Direction::new(Rate::from_mbps(mbps), Span::from_millis(10), Limit::Packets(200));
    Link::symmetric(a, b, direction)
}

fn fetch(node: usize, prefix: u32) -> Consumer {
    ask(node, prefix, Traffic::Fetch { segments: None, consumer: None })
}

fn ask(node: usize, prefix: u32, traffic: Traffic) -> Consumer {
    let (start, stop, object) = (Time::ZERO, None, 0);
    let (interest_size, lifetime) = (37, Span::from_millis(2000));
    Consumer { node, prefix, object, traffic, start, stop, interest_size, lifetime }
}

fn serve(node: usize, prefix: u32) -> Producer {
    Producer { node, prefix, payload: 1000, size: 1250, freshness: Span::ZERO }
}

fn network(nodes: usize, links: Vec<Link>, producers: Vec<Producer>, consumers: Vec<Consumer>) -> Network {
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; nodes],
        prefixes: producers.len() as u32,
        links,
        producers,
        consumers,
        duration: Span::from_millis(20_000),
        sampling: Span::from_millis(10),
        ..Network::default()
    }
}

fn simulate(network: &Network, scheme: &Value, from: f64) -> (Log, Outcome) {
    let mut log = Log { from, ..Log::default() };
    let scheme = Scheme::resolve("tested", scheme).unwrap();
    let outcome = run(network, &scheme, 1, &mut log, RunOptions::default()).unwrap();
    (log, outcome)
}

/// Packets per second of each consumer over the last 15 s.
fn rates(log: &Log) -> Vec<f64> {
    log.segments.iter().map(|n| *n as f64 / 15.0).collect()
}

/// Two consumers (0, 1), two routers (2, 3), two producers (4, 5).
fn dumbbell(shared: f64, second: f64) -> Network {
    let links = vec![link(0, 2, 20.0), link(1, 2, 20.0), link(2, 3, shared), link(3, 4, 20.0), link(3, 5, second)];
    network(6, links, vec![serve(4, 0), serve(5, 1)], vec![fetch(0, 0), fetch(1, 1)])
}

/// One consumer, two routers with 1 Mbit/s between them, one producer.
fn slow_line() -> Network {
    let links = vec![link(0, 1, 20.0), link(1, 2, 1.0), link(2, 3, 20.0)];
    network(4, links, vec![serve(3, 0)], vec![fetch(0, 0)])
}

fn near(value: f64, expected: f64, within: f64) -> bool {
    (value - expected).abs() <= within * expected
}

#[test]
fn hobhis_keeps_its_target_of_data_at_the_bottleneck() {
    for design in [0.1, 0.7] {
        let shaper = json!({ "target": 60.0, "design": design });
        let scheme = json!({ "base": "hobhis", "consumer": { "window": 120.0 }, "shaper": shaper });
        let (log, _) = simulate(&slow_line(), &scheme, 10.0);
        assert!(log.segments[0] >= 990, "{design}: {:?}", log.segments);
        assert!((57..=63).contains(&log.queue[3]), "{design}: {:?}", log.queue);
    }
}

#[test]
fn his_fills_the_link_up_to_its_headroom_without_a_drop() {
    let (log, _) = simulate(&slow_line(), &json!({ "base": "his" }), 5.0);
    assert!(near(rates(&log)[0], 98.0, 0.005), "{:?}", rates(&log));
    assert!(log.links.iter().all(|link| link.drops.iter().sum::<u64>() == 0));
}

#[test]
fn hr_icp_shares_a_link_max_min_fairly() {
    let scheme = json!({ "base": "hr-icp", "consumer": { "name": "fixed", "window": 200.0 } });
    let shares = rates(&simulate(&dumbbell(10.0, 20.0), &scheme, 5.0).0);
    assert!(near(shares[0], 500.0, 0.05) && near(shares[1], 500.0, 0.05), "{shares:?}");
    // One flow limited to 2 of 10 Mbit/s upstream: it takes 2, the other 8.
    let shares = rates(&simulate(&dumbbell(10.0, 2.0), &scheme, 5.0).0);
    assert!(near(shares[0], 800.0, 0.05) && near(shares[1], 200.0, 0.05), "{shares:?}");
}

#[test]
fn windows_per_flow_share_a_link_evenly() {
    let shares = rates(&simulate(&dumbbell(10.0, 20.0), &json!({ "base": "kato-window" }), 5.0).0);
    assert!(near(shares[0], 500.0, 0.05) && near(shares[1], 500.0, 0.05), "{shares:?}");
}

#[test]
fn b_icp_uses_two_paths_in_proportion_to_their_rates() {
    let links = vec![link(0, 1, 50.0), link(1, 2, 10.0), link(1, 3, 5.0), link(2, 4, 50.0), link(3, 4, 50.0)];
    let mut paths = network(5, links, vec![serve(4, 0)], vec![fetch(0, 0)]);
    paths.routing.routes = Routes::LoopFree;
    let (log, _) = simulate(&paths, &json!({ "base": "b-icp" }), 5.0);
    // Neither path carries more than its rate, so with 99 % of both the split is 2 : 1 within 3 %.
    assert!(rates(&log)[0] >= 0.99 * 1500.0, "{:?}", rates(&log));
}

#[test]
fn a_reserve_gives_flows_of_nack_once_equal_shares() {
    let (plain, reserved) =
        (json!({ "base": "nack-once", "shaper": { "reserve": 0.0 } }), json!({ "base": "nack-once" }));
    let shares = rates(&simulate(&dumbbell(10.0, 20.0), &plain, 5.0).0);
    assert!(shares[0] > 4.0 * shares[1], "the paper leaves fairness open: {shares:?}");
    let shares = rates(&simulate(&dumbbell(10.0, 20.0), &reserved, 5.0).0);
    assert!(near(shares[0], shares[1], 0.05) && shares[0] + shares[1] > 900.0, "{shares:?}");
}

/// Packets per second of a flow beside ten times the capacity of Interests that a vanished producer never answers.
fn beside_a_flood(scheme: &Value) -> f64 {
    let mut flooded = dumbbell(10.0, 20.0);
    let gap = Span::from_micros(100);
    flooded.consumers[1] = ask(1, 1, Traffic::Stream { gap, segments: None, retry: Retry::Never });
    flooded.changes = vec![(Time::ZERO + Span::from_millis(1), Change::Crash { node: 5 })];
    flooded.routing.reaction = None;
    rates(&simulate(&flooded, scheme, 5.0).0)[0]
}

#[test]
fn beside_a_flood_a_flow_keeps_nine_tenths_of_its_fair_share() {
    // Of 1000 packets/s: 500.
    for scheme in ["stateful", "nack-once", "hr-icp"] {
        let rate = beside_a_flood(&json!({ "base": scheme }));
        assert!(rate >= 450.0, "{scheme}: {rate}");
    }
    let without = beside_a_flood(&json!({ "base": "nack-once", "shaper": { "reserve": 0.0 } }));
    assert!(without < 50.0, "without a reserve the flood takes all: {without}");
}

#[test]
fn routers_let_interests_out_again_after_a_link_was_down() {
    let at = |seconds: u64| Time::ZERO + Span::from_millis(1000 * seconds);
    let mut faulty = slow_line();
    faulty.changes = vec![(at(3), Change::LinkDown { link: 1 }), (at(5), Change::LinkUp { link: 1 })];
    for base in ["stateful", "nack-once"] {
        let (log, _) = simulate(&faulty, &json!({ "base": base }), 10.0);
        assert!(log.segments[0] > 700, "{base}: {:?} of 1000", log.segments);
    }
    // Under a consumer that does not back off for seconds, so that only routers matter.
    for base in ["hobhis", "his", "hr-icp", "b-icp", "kato-window"] {
        let (log, _) =
            simulate(&faulty, &json!({ "base": base, "consumer": { "name": "fixed", "window": 16.0 } }), 10.0);
        assert!(log.segments[0] > 900, "{base}: {:?} of 1000", log.segments);
    }
}

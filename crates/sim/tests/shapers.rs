//! Interest shapers in small networks: what each is for, and what none may do under faults and floods.

use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
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
    /// Data of 1250 B that would weigh what waits, on average over the samples from then on.
    data: Vec<f64>,
    samples: u32,
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
            self.samples += 1;
            self.data.resize(snapshot.links.len(), 0.0);
            for (mean, link) in self.data.iter_mut().zip(snapshot.links) {
                *mean += (link.queue_bytes.get() as f64 / 1250.0 - *mean) / f64::from(self.samples);
            }
        }
    }
}

fn link(a: usize, b: usize, mbps: f64) -> Link {
    let direction = Direction::new(Rate::from_mbps(mbps), Duration::from_millis(10), Limit::Packets(200));
    Link::symmetric(a, b, direction)
}

fn fetch(node: usize, prefix: u32) -> Consumer {
    ask(node, prefix, Traffic::Fetch { segments: None, consumer: None })
}

fn ask(node: usize, prefix: u32, traffic: Traffic) -> Consumer {
    let (start, stop, object) = (Time::ZERO, None, 0);
    let (interest_size, lifetime) = (37, Duration::from_millis(2000));
    Consumer { node, prefix, object, traffic, start, start_jitter: None, stop, interest_size, lifetime }
}

fn serve(node: usize, prefix: u32) -> Producer {
    Producer { node, prefix, payload: 1000, size: 1250, freshness: Duration::ZERO }
}

fn network(nodes: usize, links: Vec<Link>, producers: Vec<Producer>, consumers: Vec<Consumer>) -> Network {
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; nodes],
        prefixes: producers.len() as u32,
        links,
        producers,
        consumers,
        duration: Duration::from_millis(20_000),
        sampling: Duration::from_millis(10),
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

/// Routers 1 and 2 with 1 Mbit/s between them, producers behind `upstream` links of 80 ms there and back. Each flow's
/// round trip is known from a slow stream before its Interests come faster than their Data can, at 2 s, so that the law
/// acts alone.
fn shaped(upstream: usize, gap: u64) -> Network {
    let mut links = vec![link(0, 1, 20.0), link(1, 2, 1.0)];
    let far = Direction::new(Rate::from_mbps(20.0), Duration::from_millis(40), Limit::Packets(200));
    links.extend((0..upstream).map(|i| Link::symmetric(2, 3 + i, far.clone())));
    let serve = |i: usize| Producer { size: 1000, ..serve(3 + i, i as u32) };
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let mut consumers = Vec::new();
    for prefix in 0..upstream as u32 {
        let stream = |ms: u64| Consumer {
            lifetime: Duration::from_millis(100_000),
            ..ask(0, prefix, Traffic::Stream { gap: Duration::from_millis(ms), segments: None, retry: Retry::Never })
        };
        // An odd phase each, so that flows do not ask at the same instants.
        let start = 2000 + u64::from(prefix);
        consumers.push(Consumer { stop: Some(at(1500)), ..stream(100) });
        consumers.push(Consumer { start: at(start), ..stream(gap) });
    }
    network(3 + upstream, links, (0..upstream).map(serve).collect(), consumers)
}

fn with_hobhis(shaper: Value) -> Value {
    json!({ "base": "hobhis", "shaper": shaper })
}

#[test]
fn hobhis_overshoots_its_target_by_what_the_delay_equation_of_its_law_says() {
    // dq/dt = h (B − q(t − RTT)) / RTT from an empty queue, integrated by a script: peaks for B = 60.
    for (design, peak) in [(0.1, 60.0), (0.3, 60.0), (0.5, 62.4), (0.7, 72.4), (1.0, 90.0)] {
        let scheme = with_hobhis(json!({ "target": 60.0, "design": design, "queue": 50_000 }));
        let (log, _) = simulate(&shaped(1, 1), &scheme, 2.0);
        let (late, _) = simulate(&shaped(1, 1), &scheme, 17.0);
        assert!((f64::from(log.queue[3]) - peak).abs() <= 4.0, "{design}: {} of {peak}", log.queue[3]);
        // At 1.0 the equation settles as well; packets do not: a gap computed for a γ near zero lasts and empties the
        // queue.
        let settled = (57..=63).contains(&late.queue[3]);
        assert_eq!(settled, design < 1.0, "{design}: {}", late.queue[3]);
    }
}

#[test]
fn hobhis_flows_over_different_faces_that_share_the_way_back_keep_one_target_if_capacity_is_split() {
    // Three flows: without the split the queue settles at B + 2 · C · RTT / (8 S h) = 60 + 2 · 125 · 0.08 / 0.7 = 88.6.
    let queue = |split: bool| {
        let scheme = with_hobhis(json!({ "target": 60.0, "design": 0.7, "queue": 50_000, "split": split }));
        let (log, _) = simulate(&shaped(3, 15), &scheme, 15.0);
        log.queue[3]
    };
    assert!((57..=66).contains(&queue(true)) && (83..=95).contains(&queue(false)));
}

/// Consumers 0 … n−1 and their producers on both sides of routers with `shared` Mbit/s between them; every content
/// leaves the right router by a face of its own. The `i`-th producer's link has a propagation delay of 10 · (i + 1) ms.
fn conversations(n: usize, shared: f64) -> Network {
    let (left, right) = (2 * n, 2 * n + 1);
    let far = |i: u64| Direction::new(Rate::from_mbps(20.0), Duration::from_millis(10 * (i + 1)), Limit::Packets(200));
    let mut links = vec![link(left, right, shared)];
    links.extend((0..n).map(|i| link(i, left, 20.0)));
    links.extend((0..n).map(|i| Link::symmetric(right, n + i, far(i as u64))));
    let producers = (0..n).map(|i| serve(n + i, i as u32)).collect();
    network(2 * n + 2, links, producers, (0..n).map(|i| fetch(i, i as u32)).collect())
}

/// One producer for all: every content leaves the right router by the same face.
fn from_one_producer(mut network: Network) -> Network {
    let first = network.producers[0].node;
    network.producers.iter_mut().for_each(|producer| producer.node = first);
    network
}

#[test]
fn hobhis_2014_gives_conversations_equal_shares_and_keeps_one_target_of_data_over_one_face_or_several() {
    for n in [2, 3, 5] {
        for network in [conversations(n, 10.0), from_one_producer(conversations(n, 10.0))] {
            let (log, _) = simulate(&network, &json!({ "base": "hobhis-2014" }), 5.0);
            let (shares, waiting) = (rates(&log), log.data[1]);
            assert!(shares.iter().all(|share| near(*share, 1000.0 / n as f64, 0.05)), "{n}: {shares:?}");
            // NACKs take a little of the link: the queue settles above B by that rate times RTT/h.
            assert!(near(waiting, 50.0, 0.2), "{n}: {waiting} Data wait");
            assert!(log.links[1].drops.total() == 0);
        }
    }
}

#[test]
fn hobhis_2014_protects_conversations_from_a_user_that_requests_five_times_the_capacity() {
    let shares = |base: &str| {
        let mut network = conversations(3, 10.0);
        let gap = Duration::from_micros(200);
        network.consumers[2] = ask(2, 2, Traffic::Stream { gap, segments: None, retry: Retry::Never });
        rates(&simulate(&network, &json!({ "base": base }), 5.0).0)
    };
    // The fair share of three is 333.
    let (without, shares) = (shares("hobhis"), shares("hobhis-2014"));
    assert!(shares[0] >= 300.0 && shares[1] >= 300.0, "{shares:?}");
    assert!(without[0] < 30.0 && without[1] < 30.0, "one queue for all protects no flow: {without:?}");
}

#[test]
fn hobhis_2014_shares_a_link_evenly_where_hobhis_does_not_and_even_a_slow_one() {
    for (rate, share) in [(10.0, 500.0), (1.0, 50.0)] {
        let shares = |base: &str| rates(&simulate(&dumbbell(rate, 20.0), &json!({ "base": base }), 5.0).0);
        let (shares, without) = (shares("hobhis-2014"), shares("hobhis"));
        assert!(shares.iter().all(|found| near(*found, share, 0.05)), "{rate} Mbit/s: {shares:?}");
        assert!((without[0] - without[1]).abs() > 0.5 * share, "{rate} Mbit/s: {without:?}");
    }
}

#[test]
fn his_loads_both_directions_of_a_link_fully_whatever_their_ratio() {
    // Data both ways between routers 2 and 3; of each direction 98 %, the headroom, carry Data and Interests.
    for (forward, backward) in [(5.0, 5.0), (1.0, 10.0), (10.0, 1.0)] {
        let mut both = dumbbell(5.0, 20.0);
        let direction =
            |mbps: f64| Direction::new(Rate::from_mbps(mbps), Duration::from_millis(10), Limit::Packets(200));
        both.links[2] = Link {
            forward: direction(forward),
            backward: direction(backward),
            ..Link::symmetric(2, 3, direction(1.0))
        };
        both.producers = vec![serve(4, 0), serve(1, 1)];
        both.consumers = vec![fetch(0, 0), fetch(5, 1)];
        let (log, outcome) = simulate(&both, &json!({ "base": "his" }), 5.0);
        let load = |directed_link: usize, mbps: f64| {
            let l = &outcome.links[directed_link];
            (l.data_bits + l.interest_bits + l.nack_bits) as f64 / (mbps * 1e6 * 20.0)
        };
        assert!((0.93..=1.0).contains(&load(4, forward)) && (0.93..=1.0).contains(&load(5, backward)));
        assert!(log.links.iter().all(|link| link.drops.overflow == 0), "no packet is lost");
    }
}

#[test]
fn his_fills_the_link_up_to_its_headroom_without_a_drop() {
    let (log, _) = simulate(&slow_line(), &json!({ "base": "his" }), 5.0);
    assert!(near(rates(&log)[0], 98.0, 0.005), "{:?}", rates(&log));
    assert!(log.links.iter().all(|link| link.drops.total() == 0));
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
fn hr_icp_shares_a_link_evenly_without_a_discipline_that_gives_credit() {
    let consumer = json!({ "name": "fixed", "window": 200.0 });
    let scheme = json!({ "base": "hr-icp", "consumer": consumer, "discipline": "fifo", "shaper": { "fluid": true } });
    // Both contents arrive on one face: a shaper counts the flows of its own face only.
    let mut one_source = dumbbell(10.0, 20.0);
    one_source.producers = vec![serve(4, 0), serve(4, 1)];
    let shares = rates(&simulate(&one_source, &scheme, 5.0).0);
    assert!(near(shares[0], 500.0, 0.05) && near(shares[1], 500.0, 0.05), "{shares:?}");
    let unlimited = json!({ "base": "hr-icp", "discipline": "fifo", "consumer": { "name": "fixed", "window": 200.0 } });
    let shares = rates(&simulate(&one_source, &unlimited, 5.0).0);
    assert!(shares[0] > 1.2 * shares[1], "without credit the phase decides: {shares:?}");
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

/// Packets per second of a flow next to ten times the capacity of Interests that a vanished producer never answers.
fn beside_a_flood(scheme: &Value) -> f64 {
    let mut flooded = dumbbell(10.0, 20.0);
    let gap = Duration::from_micros(100);
    flooded.consumers[1] = ask(1, 1, Traffic::Stream { gap, segments: None, retry: Retry::Never });
    flooded.changes = vec![(Time::ZERO + Duration::from_millis(1), Change::Crash { node: 5 })];
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
    let at = |seconds: u64| Time::ZERO + Duration::from_millis(1000 * seconds);
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

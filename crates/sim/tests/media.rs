//! Links that share a half-duplex medium.

use crate::common;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_sim::RunOptions;
use ndnweir_sim::bench::{DATA_SIZE, FRAMING, INTEREST_SIZE, consumer, link, producer};
use ndnweir_sim::network::{Change, Network, NodeKind, SharedMedium, Traffic};
use serde_json::json;

const RATE: f64 = 8.0;

fn gap() -> Duration {
    Duration::from_micros(100)
}

/// `count` consumers, each with a link to node 0, which has a fast link to the producer; 1 ms over the air.
fn network(count: usize, shared: bool) -> Network {
    let mut links = vec![link(0, 1, Rate::from_mbps(1000.0), Duration::from_millis(1), 1000)];
    links.extend((0..count).map(|i| link(0, 2 + i, Rate::from_mbps(RATE), Duration::from_millis(1), 50)));
    let traffic = Traffic::Fetch { segments: None, consumer: None };
    let medium = SharedMedium { rate: Rate::from_mbps(RATE), gap: gap(), links: (1..=count).collect() };
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; count + 2],
        links,
        media: if shared { vec![medium] } else { Vec::new() },
        prefixes: 1,
        producers: vec![producer(1, 0)],
        consumers: (0..count)
            .map(|i| ndnweir_sim::network::Consumer { object: i as u32, ..consumer(2 + i, 0, traffic.clone()) })
            .collect(),
        duration: Duration::from_millis(10_000),
        ..Network::default()
    }
}

fn window(window: f64) -> Scheme {
    Scheme::resolve("fixed-window", &json!({ "consumer": { "name": "fixed", "window": window } })).unwrap()
}

/// Time on the air of a packet.
fn air(size: u32) -> Duration {
    gap() + Rate::from_mbps(RATE).transmission_time(Bytes::new(size.into()) + FRAMING)
}

// With one Interest under way there is nobody to wait for: both frames, their gaps and the propagation.
#[test]
fn a_lone_packet_takes_its_time_on_the_air() {
    let mut network = network(1, true);
    (network.links[0].forward.rate, network.links[0].backward.rate) = (None, None);
    let (_, keep) = common::simulate(&network, &window(1.0), RunOptions::full());
    let expected = air(INTEREST_SIZE) + air(DATA_SIZE) + Duration::from_millis(4);
    assert!(keep.deliveries.iter().all(|d| d.arrival.rtt == Some(expected)), "{:?}", keep.deliveries[0].arrival.rtt);
}

// Every Data costs an Interest's frame and its own: 10 s / (air(Interest) + air(Data)) of them cross, whoever asks, and
// the consumers share them alike. A full-duplex link of each consumer would carry three times as many and more.
#[test]
fn a_busy_medium_carries_one_frame_at_a_time_and_its_senders_share_it() {
    let (outcome, _) = common::simulate(&network(3, true), &window(20.0), RunOptions::full());
    let each: Vec<u64> = outcome.consumers.iter().map(|c| c.segments).collect();
    let most = 10.0 / (air(INTEREST_SIZE) + air(DATA_SIZE)).secs();
    let all = each.iter().sum::<u64>() as f64;
    assert!((0.98..=1.0).contains(&(all / most)), "{all} of {most}");
    assert!(each.iter().all(|&n| (n as f64 / all - 1.0 / 3.0).abs() < 0.01), "{each:?}");
    let (apart, _) = common::simulate(&network(3, false), &window(20.0), RunOptions::full());
    assert!(apart.consumers.iter().map(|c| c.segments).sum::<u64>() as f64 > 3.0 * all);
}

#[test]
fn full_queues_lose_packets_and_a_link_that_fails_leaves_the_air_to_others() {
    let mut network = Network { duration: Duration::from_millis(30_000), ..network(2, true) };
    for link in &mut network.links[1..] {
        (link.forward.limit, link.backward.limit) = (Limit::Packets(5), Limit::Packets(5));
    }
    network.changes = vec![
        (Time::ZERO + Duration::from_millis(4003), Change::LinkDown { link: 1 }),
        (Time::ZERO + Duration::from_millis(6000), Change::LinkUp { link: 1 }),
    ];
    let (outcome, keep) = common::simulate(&network, &window(30.0), RunOptions::full());
    assert!(outcome.links[2].drops.overflow > 0 && outcome.links[2].drops.down > 0, "{:?}", outcome.links[2]);
    let between = |who: u32, from: u64, to: u64| {
        let there = |at: Time| (from..to).contains(&(at.nanos() / 1_000_000));
        keep.deliveries.iter().filter(|d| d.consumer.0 == who && there(d.at)).count()
    };
    assert_eq!(between(0, 4100, 6000), 0);
    assert!(between(1, 4100, 6000) as f64 > 1.6 * between(1, 2000, 3900) as f64);
    assert!(between(0, 6000, 30_000) > 1000, "it comes back: {}", between(0, 6000, 30_000));
}

#[test]
fn what_a_medium_cannot_have_is_rejected() {
    let reject = |change: &dyn Fn(&mut Network)| {
        let mut network = network(2, true);
        change(&mut network);
        network.check().unwrap_err().0
    };
    assert!(reject(&|n| n.media[0].links.push(1)).contains("already"));
    assert!(reject(&|n| n.media[0].links.push(9)).contains("does not exist"));
    assert!(reject(&|n| n.media[0].rate = Rate::ZERO).contains("rate"));
    assert!(reject(&|n| n.links[1].forward.rate = Some(Rate::from_mbps(1.0))).contains("another rate"));
}

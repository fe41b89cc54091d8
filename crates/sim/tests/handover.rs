//! The two recipes for a handover: with and without what was queued.

use crate::common;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::RunOptions;
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Change, LinkDirection, Network, NodeKind, Routing, Traffic};
use ndnweir_sim::observer::Delivery;
use serde_json::json;

const OLD: f64 = 4.0;
const NEW: f64 = 8.0;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// C - P, 10 ms; a window of 60 keeps about 50 packets of 1066 B in the queue towards C. Out from 2 to 2.05 s: with
/// that a round trip takes less than the 200 ms of the least timer.
fn simulate(changes: &[(u64, Change)]) -> (ndnweir_sim::Outcome, Vec<Delivery>) {
    let network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 2],
        links: vec![link(0, 1, Rate::from_mbps(OLD), ms(10), 200)],
        prefixes: 1,
        producers: vec![producer(1, 0)],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        changes: changes.iter().map(|&(at, change)| (Time::ZERO + ms(at), change)).collect(),
        routing: Routing { reaction: None, ..Routing::default() },
        duration: ms(4000),
        ..Network::default()
    };
    let scheme = Scheme::resolve("fixed-window", &json!({ "consumer": { "name": "fixed", "window": 60.0 } }));
    let (outcome, keep) = common::simulate(&network, &scheme.unwrap(), RunOptions::full());
    (outcome, keep.deliveries)
}

fn rate(mbps: f64) -> Change {
    Change::Rate { link: 0, direction: LinkDirection::Both, rate: Rate::from_mbps(mbps) }
}

#[test]
fn the_smallest_rate_for_a_while_keeps_what_was_queued_and_it_goes_out_at_the_new_rate() {
    let (outcome, deliveries) = simulate(&[(2000, rate(0.001)), (2050, rate(NEW))]);
    assert_eq!(outcome.drops().total(), 0);
    assert_eq!(outcome.accounts[0].timed_out, 0);
    let at = |delivery: &Delivery| delivery.at.nanos() / 1_000_000;
    assert!(!deliveries.iter().any(|d| (2011..2060).contains(&at(d))), "nothing comes but what was on the way");
    // 1066 B take 1.066 ms at 8 Mbit/s: in the 40 ms after 2060 ms there are some 37.
    let after = deliveries.iter().filter(|d| (2061..2101).contains(&at(d))).count();
    assert!((35..=39).contains(&after), "{after}");
}

#[test]
fn a_link_that_goes_down_and_comes_back_loses_what_was_queued() {
    let changes = [(2000, Change::LinkDown { link: 0 }), (2049, rate(NEW)), (2050, Change::LinkUp { link: 0 })];
    let (outcome, deliveries) = simulate(&changes);
    assert!(outcome.links[1].drops.down > 30, "{:?}", outcome.links[1].drops);
    assert!(outcome.accounts[0].timed_out > 0);
    assert!(deliveries.iter().filter(|d| d.at > Time::ZERO + ms(2500)).count() > 300, "it goes on");
}

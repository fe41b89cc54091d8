//! Every consumer on one bottleneck link, seen once per round trip.

use crate::fetcher_link::{Link, World, at, consumer, ms, takes};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_node::fetcher::FetcherConfig;
use ndnweir_node::server::ServerConfig;
use serde_json::json;
use std::fmt::Write;

/// 10 Mbit/s, 2 × 25 ms and Data of 1064 B: 58.7 segments fill the path. Marks above one round trip's worth of queue,
/// so that a window cut by half still fills it, 100 ms apart; 200 Data in the queue.
fn bottleneck() -> Link {
    Link { mark_above: Some(ms(50)), limit: 200, ..Link::default() }
}

fn world(name: &str, params: serde_json::Value, link: Link, total: Option<u64>) -> World {
    let config = FetcherConfig { total, ..FetcherConfig::default() };
    World::new(link, ServerConfig::default(), config, consumer(name, params))
}

#[test]
fn every_window_law_fills_a_link_with_marks() {
    for info in AnyConsumer::ALL.iter().filter(|info| info.name == "fixed" || takes(info, "reaction")) {
        let params = if info.name == "fixed" { json!({ "window": 70.0 }) } else { json!({}) };
        let mut world = world(info.name, params, bottleneck(), None);
        world.start();
        world.run_until(at(10_000));
        let before = world.fetcher.counters().segments;
        world.run_until(at(40_000));
        let segments = world.fetcher.counters().segments - before;
        let share = segments as f64 * 1064.0 * 8.0 / 30.0 / 10e6;
        assert!((0.98..=1.0001).contains(&share), "{}: {share} of the link, {:?}", info.name, world.fetcher.counters());
        assert_eq!(world.fetcher.counters().timeouts, 0, "{}", info.name);
    }
}

#[test]
fn every_consumer_gets_through_a_lossy_path_that_rejects_reorders_and_doubles() {
    for info in AnyConsumer::ALL {
        let modern = json!({ "timer": { "estimator": "ndn-cxx", "scan": "10ms" } });
        let timers = if takes(info, "timer") { vec![json!({}), modern] } else { vec![json!({})] };
        for timer in timers {
            let link = Link { lose: 50, reject: 50, double: 50, jitter: ms(30), ..bottleneck() };
            let mut world = world(info.name, timer.clone(), link, Some(1500));
            world.start();
            world.run_until(at(3_600_000));
            let counters = world.fetcher.counters();
            assert!(world.fetcher.is_complete(), "{} {timer}: {counters:?}", info.name);
            assert_eq!(counters.segments, 1500);
            let answered: std::collections::BTreeSet<_> = world.arrivals.iter().map(|a| a.1.segment).collect();
            assert_eq!(answered.len(), 1500);
            assert!(counters.timeouts > 0 && counters.nacks > 0 && counters.duplicates > 0);
            assert_eq!(counters.interests, 1500 + counters.retransmissions);
            assert_eq!(counters.in_flight, 0);
        }
    }
}

#[test]
fn a_constant_window_gets_exactly_a_window_per_round_trip() {
    // Ten segments are far below what fills the path: no queue, so the round trip is 50 ms + one transmission.
    let mut world = world("fixed", json!({ "window": 1.0 }), Link::default(), None);
    world.start();
    world.run_until(at(10_000));
    let transmission = Rate::from_mbps(10.0).transmission_time(Bytes::new(1064));
    let round = ms(50) + transmission;
    assert!(world.arrivals.iter().all(|(_, arrival)| arrival.rtt == Some(round)));
    assert_eq!(world.arrivals.len() as u64, ms(10_000).nanos() / round.nanos());
}

/// What the table must show. Slow start doubles per round until the link delivers 59 Data per round, then adds 59 per
/// round; the mark set at 50 ms of queue, at a window of 117, comes back two rounds later at 237. AIMD: half of it,
/// 118, half a segment per round (the round trip is two rounds now), 60.5 at the next mark, then one per round trip.
/// BIC: 16 per round trip up to the first mark. CUBIC (ndnsim): 0.8 · 237 = 190 and again at 195 → 156 → 128, since β
/// 0.8 leaves a standing queue. PCON: 134 → 67, search below the last maximum, then probing in doubling steps.
/// weir without levels: BIC.
#[test]
fn windows_per_round_trip() {
    let mut table = String::new();
    for info in AnyConsumer::ALL.iter().filter(|info| takes(info, "reaction")) {
        let laws = if info.name == "cubic" { &["ndnsim", "rfc9438"][..] } else { &[""] };
        for law in laws {
            let params = if law.is_empty() { json!({}) } else { json!({ "law": law }) };
            let mut world = world(info.name, params, bottleneck(), None);
            world.start();
            let _ = write!(table, "{} {law}:", info.name);
            for round in 1..=60 {
                world.run_until(at(0) + Duration::from_millis(51) * round);
                let _ = write!(table, " {:.1}", world.fetcher.counters().window);
            }
            let _ = writeln!(table, " | marks {} drops {}", world.marks, world.drops);
        }
    }
    let committed = include_str!("fetcher_rounds.txt");
    assert!(table == committed, "windows differ from tests/fetcher_rounds.txt; now:\n{table}");
}

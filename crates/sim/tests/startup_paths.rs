//! The packet pair over several paths and sources: what its estimate is with path labels and without.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Network, NodeKind, Routes, Traffic};
use ndnweir_sim::observer::{NodeId, Observer};
use ndnweir_sim::{RunOptions, run};
use serde_json::{Value, json};

/// Windows that startups found.
#[derive(Default)]
struct Windows(Vec<f64>);

impl Observer for Windows {
    fn scheme_event(&mut self, _: Time, _: NodeId, key: &'static str, _: u64, value: f64) {
        if key == "startup-window" {
            self.0.push(value);
        }
    }
}

/// A consumer at 0 behind router 1, and two paths of 10 Mbit/s, the second `longer` by so much per direction: over 2
/// and 3 to one producer at 4, or to producers at 2 and 3.
fn network(longer: Duration, one_source: bool) -> Network {
    let (fast, slow) = (Rate::from_mbps(100.0), Rate::from_mbps(10.0));
    let ms = Duration::from_millis;
    let mut links = vec![link(0, 1, fast, ms(5), 1000), link(1, 2, slow, ms(10), 1000)];
    links.push(link(1, 3, slow, ms(10) + longer, 1000));
    if one_source {
        links.extend([link(2, 4, fast, ms(5), 1000), link(3, 4, fast, ms(5), 1000)]);
    }
    let producers = if one_source { vec![producer(4, 0)] } else { vec![producer(2, 0), producer(3, 0)] };
    let nodes = vec![NodeKind::Ndn { cache: 0 }; if one_source { 5 } else { 4 }];
    let mut network = Network {
        nodes,
        links,
        prefixes: 1,
        producers,
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        duration: ms(2000),
        ..Network::default()
    };
    network.routing.routes = Routes::LoopFree;
    network
}

/// The first window of each seed, by packet pairs over routers that send each Interest to either next hop.
fn first_windows(network: &Network, meter: Value) -> Vec<f64> {
    let scheme = json!({ "base": "packet-pair", "strategy": "random", "meter": meter });
    let scheme = Scheme::resolve("test", &scheme).unwrap();
    let first = |seed| {
        let mut windows = Windows::default();
        let options = RunOptions { trace: true, ..RunOptions::full() };
        run(network, &scheme, seed, &mut windows, options).unwrap().check().unwrap();
        windows.0.first().copied()
    };
    (1..=30).filter_map(first).collect()
}

/// What each path takes, in segments: a round trip over the time of a Data at 10 Mbit/s.
fn pipe(network: &Network, ms: f64) -> f64 {
    ms / (f64::from(network.producers[0].size) * 8.0 / 10_000.0)
}

// A pair over paths that differ by 0.2 ms is 0.2 ms apart or less: up to 40 ms/0.2 ms, where both paths take 40/0.85
// each.
#[test]
fn pairs_over_two_paths_overestimate_without_labels_and_never_with_them() {
    let network = network(Duration::from_micros(100), true);
    let both = 2.0 * pipe(&network, 42.0);
    let without = first_windows(&network, json!("none"));
    let with = first_windows(&network, json!({ "name": "path-label", "form": "hashed" }));
    let over = |windows: &[f64]| windows.iter().filter(|window| **window > 1.3 * both).count();
    assert!(over(&without) >= 5, "{both}: {without:?}");
    assert_eq!(over(&with), 0, "{both}: {with:?}");
    assert!(with.len() >= 25 && with.iter().all(|window| *window > 0.25 * both), "{both}: {with:?}");
}

// A pair whose Data come from sources 20 ms apart says 30/20 = 1.5 segments, which ends slow start.
#[test]
fn pairs_from_two_sources_end_slow_start_without_labels_and_count_for_nothing_with_them() {
    let network = network(Duration::from_millis(10), false);
    let near = pipe(&network, 30.0);
    let without = first_windows(&network, json!("none"));
    let with = first_windows(&network, json!({ "name": "path-label", "form": "hashed" }));
    let under = |windows: &[f64]| windows.iter().filter(|window| **window < 0.3 * near).count();
    assert!(under(&without) >= 5, "{near}: {without:?}");
    assert_eq!(under(&with), 0, "{near}: {with:?}");
}

//! Flows that come and go, from the scenario file to the metrics.

use super::common::run_text;
use ndnweir_lab::results::{Comparison, FlowsRun, SeriesKind};

const NETWORK: &str = r#"
[run]
duration = "20s"
start-jitter = "0ms"
[[node]]
names = ["A", "D", "R", "B"]
[link-defaults]
rate = "100Mbps"
delay = "2ms"
queue = "2000 packets"
[[link]]
ends = ["A", "R"]
[[link]]
ends = ["D", "R"]
[[link]]
ends = ["R", "B"]
rate = "10Mbps"
delay = "10ms"
[[producer]]
name = "P"
node = "B"
prefix = "/p"
"#;

fn consumer(text: &str) -> String {
    format!("[[consumer]]\nname = \"C\"\nnode = \"A\"\nprefix = \"/p/c\"\nkind = \"flows\"\n{text}\n")
}

const LONG: &str = "[[consumer]]\nname = \"B\"\nnode = \"D\"\nprefix = \"/p/long\"\n";

fn compare(text: &str, scheme: &str, seeds: &[u64]) -> Comparison {
    run(&format!("{NETWORK}{text}"), scheme, seeds)
}

fn run(text: &str, scheme: &str, seeds: &[u64]) -> Comparison {
    run_text(text, &[], scheme, seeds)
}

fn flows(comparison: &Comparison) -> FlowsRun {
    comparison.runs[0].consumers.iter().find_map(|c| c.flows.clone()).unwrap()
}

#[test]
fn a_flow_of_one_data_alone_takes_exactly_its_ideal() {
    let found =
        flows(&compare(&consumer("arrivals = \"constant\"\nrate = \"10/s\"\nsizes = \"1000B\""), "cubic", &[1]));
    assert_eq!((found.started, found.completed, found.rejected, found.active_max), (200, 200, 0, 1));
    let slowdown = found.slowdown.unwrap();
    assert!((slowdown.mean - 1.0).abs() < 1e-6 && (slowdown.max - 1.0).abs() < 1e-6, "{slowdown:?}");
    // 24 ms of propagation, 32 B and 1066 B at 100 and at 10 Mbit/s.
    let ideal = 0.024 + (32.0 + 1066.0) * 8.0 / 100e6 + (32.0 + 1066.0) * 8.0 / 10e6;
    assert!((found.completion_mean_s.unwrap() - ideal).abs() < 1e-7);
}

#[test]
fn a_window_larger_than_the_flow_comes_as_near_as_its_interests_let_it() {
    let scheme = "[scheme.burst]\nconsumer = { name = \"fixed\", window = 500 }\n";
    let text = format!("{}{scheme}", consumer("arrivals = \"constant\"\nrate = \"1/s\"\nsizes = \"204800B\""));
    let slowdown = flows(&compare(&text, "burst", &[1])).slowdown.unwrap();
    assert!(slowdown.max >= 1.0 - 1e-9 && slowdown.max < 1.001, "{slowdown:?}");
}

#[test]
fn each_flow_begins_in_the_start_state_of_the_scheme() {
    let of = |rate: &str| {
        let text = consumer(&format!("arrivals = \"constant\"\nrate = \"{rate}\"\nsizes = \"50kB\""));
        flows(&compare(&text, "aimd", &[1])).slowdown.unwrap()
    };
    let slowdown = of("1/s");
    assert!(slowdown.mean > 1.5, "slow start takes round trips: {slowdown:?}");
    assert!((slowdown.max - slowdown.p50).abs() < 1e-6, "no flow learns from the one before: {slowdown:?}");
}

#[test]
fn poisson_arrivals_bring_the_configured_load() {
    let text = consumer(
        "load = \"50%\"\nlink = \"B-R\"\nsizes = { kind = \"pareto\", shape = 1.3, least = \"2kB\", most = \"200kB\" }",
    );
    let comparison = compare(&text, "cubic", &[1, 2, 3]);
    let used: f64 = comparison
        .runs
        .iter()
        .map(|run| {
            let link = run.links.iter().find(|l| l.name == "B>R").unwrap();
            link.utilization_data
        })
        .sum::<f64>()
        / 3.0;
    assert!((used - 0.5).abs() < 0.06, "{used}");
    assert!(comparison.runs.iter().all(|run| run.consumers[0].flows.as_ref().unwrap().completed > 500));
}

#[test]
fn flows_beyond_the_limit_are_rejected_and_counted() {
    let text = consumer("arrivals = \"constant\"\nrate = \"10/s\"\nsizes = \"1MB\"\nmost-active = 3");
    let found = flows(&compare(&text, "cubic", &[1]));
    assert_eq!((found.active_max, found.started + found.rejected), (3, 200));
    assert!(found.rejected > 50 && found.unfinished <= 3 && found.unfinished > 0, "{found:?}");
    assert_eq!(found.started, found.completed + found.unfinished);
}

#[test]
fn the_same_flows_arrive_whatever_else_is_in_the_network() {
    let text = consumer("rate = \"5/s\"\nsizes = \"web-search\"");
    let alone = compare(&text, "cubic", &[7]);
    let beside = compare(&format!("{LONG}{text}"), "cubic", &[7]);
    let started =
        |comparison: &Comparison| comparison.runs[0].series.get(SeriesKind::Flows, &["C"], "started").unwrap().to_vec();
    assert_eq!(started(&alone), started(&beside));
    let classes = |comparison: &Comparison| flows(comparison).classes.iter().map(|c| c.started).collect::<Vec<_>>();
    assert_eq!(classes(&alone), classes(&beside));
    assert!(flows(&beside).slowdown.unwrap().mean > flows(&alone).slowdown.unwrap().mean);
}

#[test]
fn results_are_the_same_for_the_same_seed_and_others_for_another() {
    let text = format!(
        "{}{LONG}",
        consumer("rate = \"20/s\"\nsizes = \"data-mining\"")
            .replace("\"data-mining\"", "{ kind = \"data-mining\", cut-off = \"100kB\" }")
    );
    let one = compare(&text, "pcon", &[1]).to_summary();
    assert_eq!(one, compare(&text, "pcon", &[1]).to_summary());
    assert_ne!(one, compare(&text, "pcon", &[2]).to_summary());
}

/// Flows of 50 Data, all requested at once, with a cache of so many Data at R.
fn fifty_each(rate: &str, keys: &str, cache: u32) -> FlowsRun {
    let names = "\"D\", \"R\", \"B\"]";
    let network = NETWORK.replace(names, &format!("\"D\", \"B\"]\n[[node]]\nname = \"R\"\ncache = {cache}"));
    let scheme = "[scheme.burst]\nconsumer = { name = \"fixed\", window = 500 }\n";
    let keys = format!("arrivals = \"constant\"\nrate = \"{rate}\"\nsizes = \"51200B\"\n{keys}");
    flows(&run(&format!("{network}{}{scheme}", consumer(&keys)), "burst", &[1]))
}

#[test]
fn an_object_of_a_catalogue_comes_from_a_cache_when_it_is_fetched_again() {
    let slowdown = fifty_each("1/s", "catalogue = 1", 1000).slowdown.unwrap();
    assert!(slowdown.max > 0.99, "the first comes from the producer: {slowdown:?}");
    // 2 ms to R and 100 Mbit/s instead of 12 ms and 10 Mbit/s.
    assert!(slowdown.p50 < 0.2, "{slowdown:?}");
}

#[test]
fn without_caches_a_catalogue_changes_no_flow() {
    let [alike, unlike] = ["catalogue = 50", ""].map(|keys| fifty_each("5/s", keys, 0));
    assert_eq!(format!("{alike:?}"), format!("{unlike:?}"));
}

#[test]
fn a_consumer_does_not_fetch_an_object_twice_at_once() {
    let found = fifty_each("100/s", "catalogue = 1", 0);
    assert_eq!(found.active_max, 1);
    assert!(found.rejected > 1000 && found.completed > 200, "{found:?}");
}

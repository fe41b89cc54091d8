//! Series of content stores, PITs, packets and hop counts, and the list of every Data.

use ndnweir_lab::deliveries;
use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_lab::results::{Run, SeriesKind};
use ndnweir_scenario as scenario;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Two consumers request one object, the second a second later; only R caches, and holds the whole object.
const SCENARIO: &str = r#"
[run]
duration = "3s"
sample = "100ms"
start-jitter = "0ms"

[[node]]
names = ["C1", "C2", "P"]

[[node]]
name = "R"
cache = 1000

[link-defaults]
rate = "10Mbps"
delay = "5ms"

[[link]]
ends = ["C1", "R"]

[[link]]
ends = ["C2", "R"]

[[link]]
ends = ["R", "P"]

[[producer]]
name = "S"
node = "P"
prefix = "/p"

[[consumer]]
name = "first"
node = "C1"
prefix = "/p/x"
kind = "object"
packets = 200

[[consumer]]
name = "second"
node = "C2"
prefix = "/p/x"
kind = "object"
packets = 200
start = "1s"
"#;

fn experiment() -> Experiment {
    let scenario = scenario::Source::from_text("caching", SCENARIO, Path::new(".")).unwrap();
    let scenario = scenario.validate().unwrap();
    let schemes = choose(&scenario, &["aimd".into()]).unwrap();
    Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() }
}

fn run() -> Run {
    experiment().run(&Silent, &AtomicBool::new(false)).unwrap().runs.remove(0)
}

fn sum(run: &Run, kind: SeriesKind, key: &str, metric: &str) -> f64 {
    run.series.get(kind, &[key], metric).unwrap().iter().filter(|v| v.is_finite()).sum()
}

#[test]
fn a_node_has_series_of_hits_misses_and_what_its_tables_hold() {
    let run = run();
    assert_eq!(sum(&run, SeriesKind::Nodes, "R", "cs_hits"), 200.0, "the second consumer's Interests");
    assert_eq!(sum(&run, SeriesKind::Nodes, "R", "cs_misses"), 200.0, "the first consumer's");
    assert_eq!(sum(&run, SeriesKind::Nodes, "R", "pit_answered"), 200.0);
    assert_eq!(sum(&run, SeriesKind::Nodes, "P", "interests"), 200.0);
    let hits = run.series.get(SeriesKind::Nodes, &["R"], "cs_hits").unwrap();
    assert!(hits[..10].iter().all(|n| *n == 0.0), "nothing is requested twice in the first second");
    let stored = run.series.get(SeriesKind::Nodes, &["R"], "cs_packets").unwrap();
    assert!(stored[0] < 50.0 && stored[29] == 200.0, "{stored:?}");
    let pending = run.series.get(SeriesKind::Nodes, &["R"], "pit_entries").unwrap();
    assert!(pending[1] > 0.0 && pending[29] == 0.0, "{pending:?}");
    assert!(run.series.get(SeriesKind::Nodes, &["S"], "cs_hits").is_none(), "an application is not a node");
    let router = run.nodes.iter().find(|n| n.name == "R").unwrap();
    assert_eq!((router.cs_hits, router.cs_misses, router.cs_hit_ratio), (200, 200, Some(0.5)));
    assert!(router.pit_max_entries > 0 && router.pit_entries < router.pit_max_entries as f64);
    let client = run.nodes.iter().find(|n| n.name == "C1").unwrap();
    assert_eq!((client.cs_hits, client.cs_misses, client.cs_hit_ratio), (0, 0, None), "C1 has no content store");
}

#[test]
fn links_have_series_of_packets_and_consumers_of_hop_counts() {
    let run = run();
    let count = |link: &str, metric: &str| sum(&run, SeriesKind::Packets, link, metric);
    assert_eq!([count("C1>R", "interests"), count("R>P", "interests"), count("P>R", "data")], [200.0; 3]);
    assert_eq!((count("C2>R", "interests"), count("R>C2", "data")), (200.0, 200.0));
    assert_eq!((count("P>R", "interests"), count("R>P", "drops"), count("R>P", "nacks")), (0.0, 0.0, 0.0));
    let hops = |consumer: &str, metric: &str| {
        let values = run.series.get(SeriesKind::Hops, &[consumer], metric).unwrap();
        values.iter().copied().filter(|v| v.is_finite()).fold(f64::NAN, f64::max)
    };
    assert_eq!([hops("first", "hops"), hops("first", "hops_max")], [2.0; 2]);
    assert_eq!([hops("second", "hops"), hops("second", "hops_max")], [1.0; 2], "from R's content store");
}

#[test]
fn the_list_of_deliveries_has_delay_hops_and_path_of_every_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deliveries.csv");
    deliveries::write(&experiment(), &path, &AtomicBool::new(false)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(deliveries::HEADER));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let of = |consumer: &str| rows.iter().filter(|row| row[1] == consumer).collect::<Vec<_>>();
    let (first, second) = (of("first"), of("second"));
    assert_eq!((rows.len(), first.len(), second.len()), (400, 200, 200));
    let mean = |rows: &[&Vec<&str>]| rows.iter().map(|r| r[4].parse::<f64>().unwrap()).sum::<f64>() / 200.0;
    assert!(first.iter().all(|r| (r[2], r[7], r[9]) == ("C1", "2", "P>R>C1")));
    assert!(second.iter().all(|r| (r[2], r[7], r[9]) == ("C2", "1", "R>C2")));
    // The mean is that of the summary, and the first Data takes two ways of 5 ms over each link and its sending.
    let run = run();
    assert!((mean(&first) - run.consumers[0].delay_ms.as_ref().unwrap().mean).abs() < 1e-3);
    let alone: f64 = first[0][4].parse().unwrap();
    assert!((20.0..25.0).contains(&alone), "{alone}");
    assert!(rows.windows(2).all(|w| w[0][0].parse::<f64>().unwrap() <= w[1][0].parse::<f64>().unwrap()));
    assert!(rows.iter().all(|r| r[6] != "0" || r[5] == r[4]), "requested once: round trip and delay are the same");
}

/// One consumer sends faster than PITs of five names allow.
fn full_pit(warm_up: &str) -> Run {
    let text = SCENARIO.replace("[run]", &format!("[run]\npit-limit = 5\nwarm-up = \"{warm_up}\""));
    let scenario = scenario::Source::from_text("full", &text, Path::new(".")).unwrap().validate().unwrap();
    let schemes = choose(&scenario, &["fixed".into()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap().runs.remove(0)
}

#[test]
fn what_nodes_drop_outside_the_queues_counts_in_the_drops_of_the_run_over_the_window() {
    let [whole, later] = ["0s", "1s"].map(full_pit);
    // Both consumers are at nodes of their own, whose PITs are full first: each drop is one NACK to a consumer.
    assert!(whole.drops.bound > 0 && whole.nacks > 0, "{:?}, {} NACKs", whole.drops, whole.nacks);
    assert_eq!(whole.drops.bound, whole.nacks);
    assert!(later.drops.bound < whole.drops.bound, "what the warm-up dropped is left out: {:?}", later.drops);
    assert!(whole.links.iter().all(|link| link.drops.bound == 0), "no link's queue holds a PIT");
}

#[test]
fn a_consumer_to_which_nothing_came_has_no_time_of_convergence() {
    let text = SCENARIO.replace("kind = \"object\"\npackets = 200\n", "")
        + "\n[[event]]\nat = \"0s\"\naction = \"link-down\"\nlink = \"C2-R\"\n";
    let scenario = scenario::Source::from_text("silent", &text, Path::new(".")).unwrap().validate().unwrap();
    let schemes = choose(&scenario, &["aimd".into()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    let run = experiment.run(&Silent, &AtomicBool::new(false)).unwrap().runs.remove(0);
    assert!(run.consumers[0].payload_bits > 0 && run.consumers[0].convergence_s.is_some());
    assert_eq!((run.consumers[1].payload_bits, run.consumers[1].convergence_s), (0, None));
}

#[test]
fn what_consumers_and_nodes_keep_is_told_in_bytes() {
    let mut set = experiment();
    let run = |set: &Experiment| set.run(&Silent, &AtomicBool::new(false)).unwrap().runs.remove(0);
    let plain = run(&set);
    let kept = |run: &Run| run.consumers[0].state_bytes.unwrap();
    let by = |run: &Run, name: &str| run.nodes.iter().find(|node| node.name == name).unwrap().state_bytes.unwrap();
    // A window and a few numbers; best-route and no meter keep nothing that grows.
    assert!((1..200).contains(&kept(&plain)) && by(&plain, "R") < 100, "{} {}", kept(&plain), by(&plain, "R"));
    let named = |name: &str| ndnweir_core::scheme::Scheme::named(name).unwrap();
    set.schemes = vec![named("omcc-rf")];
    let with_samples = run(&set);
    // It keeps round trips of each path beside its window.
    assert!(kept(&with_samples) > kept(&plain), "{} {}", kept(&with_samples), kept(&plain));
}

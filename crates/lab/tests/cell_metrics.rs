//! Deadlines, overhead and recovery, from the scenario file to the aggregates.

use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_lab::results::{Comparison, SeriesKind, aggregate};
use ndnweir_scenario::Source;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const NETWORK: &str = r#"
[run]
duration = "30s"
warm-up = "2s"
start-jitter = "0ms"
[[node]]
names = ["A", "R", "B"]
[link-defaults]
rate = "10Mbps"
delay = "10ms"
queue = "50 packets"
[[link]]
ends = ["A", "R"]
[[link]]
ends = ["R", "B"]
[[producer]]
name = "P"
node = "B"
prefix = "/p"
[[consumer]]
name = "C"
node = "A"
prefix = "/p/c"
"#;

fn compare(text: &str, scheme: &str) -> Comparison {
    compare_on(NETWORK, text, scheme)
}

fn compare_on(network: &str, text: &str, scheme: &str) -> Comparison {
    let source = Source::from_text("x.toml", &format!("{network}{text}"), Path::new("")).unwrap();
    let scenario = source.validate().unwrap_or_else(|problems| panic!("{problems}"));
    let schemes = choose(&scenario, &[scheme.to_owned()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_stream_keeps_a_deadline_that_its_path_allows_and_misses_a_shorter_one() {
    // 40 ms of propagation and about 1.8 ms of transmission.
    let of = |deadline: &str| {
        let text = format!("kind = \"stream\"\nrate = \"100/s\"\ndeadline = \"{deadline}\"\n");
        let comparison = compare(&text, "cubic");
        comparison.runs[0].consumers[0].deadline.clone().unwrap()
    };
    let kept = of("50ms");
    assert_eq!((kept.late, kept.lost, kept.missed), (0, 0, Some(0.0)));
    let missed = of("30ms");
    assert!((missed.missed.unwrap() - 1.0).abs() < 1e-9 && missed.lost == 0 && missed.late > 2700, "{missed:?}");
}

// From 2 s on: 14 s of 10 Mbit/s and 14 s of 2.5.
#[test]
fn utilisation_is_of_the_rates_that_events_give_a_link() {
    let event = "[[event]]\nat = \"16s\"\naction = \"link-rate\"\nlink = \"A-R\"\nrate = \"2.5Mbps\"\n";
    let comparison = compare(event, "cubic");
    let rates: Vec<_> = comparison.scenario.links.iter().map(|link| link.mean_rate_mbps).collect();
    assert_eq!(rates, [Some(6.25), Some(6.25), None, None]);
    let run = &comparison.runs[0];
    let of = |name: &str| run.links.iter().find(|link| link.name == name).unwrap().utilization;
    assert!((0.9..=1.0).contains(&of("R>A")) && of("B>R") < 0.7, "{} {}", of("R>A"), of("B>R"));
    assert_eq!(run.bottleneck.as_deref(), Some("R>A"));
}

// 25 bins of 1.2 s and one of 0.05 s, in which five Data arrive.
#[test]
fn the_last_bin_of_a_series_is_as_long_as_what_is_left_of_the_run() {
    let network = NETWORK.replace("duration = \"30s\"", "duration = \"30.05s\"\nsample = \"1.2s\"");
    let comparison = compare_on(&network, "kind = \"stream\"\nrate = \"100/s\"\n", "cubic");
    let goodput = &comparison.runs[0].series.tables[SeriesKind::Consumers as usize][0].columns[0];
    let (last, before) = (goodput[goodput.len() - 1], goodput[goodput.len() - 2]);
    assert!(goodput.len() == 26 && (last / before - 1.0).abs() < 0.01, "{last} after {before}");
}

#[test]
fn the_99th_percentile_of_the_wait_lies_between_the_mean_and_the_longest() {
    let comparison = compare("component = { name = \"fixed\", window = 300 }\n", "fixed");
    let run = &comparison.runs[0];
    let link = run.links.iter().find(|link| link.name == "B>R").unwrap();
    let p99 = link.queue_p99_ms.unwrap();
    assert!(link.queue_ms < p99 * 1.01 && p99 < link.queue_max_ms * 1.01, "{link:?}");
    // The window is larger than the path and the queue: 50 Data of 1066 B wait, 0.8528 ms each.
    assert!((p99 - 50.0 * 0.8528).abs() < 0.9, "{p99}");
    assert_eq!(run.worst_share, Some(1.0));
    let known = aggregate(&comparison)[0].mean("links.B>R.queue_p99_ms").unwrap();
    assert!((known - p99).abs() < 1e-6);
}

#[test]
fn what_a_lossy_link_takes_counts_as_missed() {
    let lossy = "kind = \"stream\"\nrate = \"200/s\"\ndeadline = \"100ms\"\nlifetime = \"500ms\"\n[[event]]\nat = \"0s\"\naction = \"link-loss\"\nlink = \"R-B\"\nloss = \"10%\"\n";
    let comparison = compare(lossy, "cubic");
    let found = comparison.runs[0].consumers[0].deadline.clone().unwrap();
    // Interest and Data are lost one in ten each: 19 % in all; nothing is requested again.
    assert!((found.missed.unwrap() - 0.19).abs() < 0.02, "{found:?}");
    assert!(found.late == 0 && found.lost > 800);
    let all = aggregate(&comparison);
    assert_eq!(all[0].mean("consumers.C.deadline.lost"), Some(found.lost as f64));
}

#[test]
fn an_interest_for_each_data_is_the_overhead_where_nothing_is_lost() {
    let comparison = compare("kind = \"stream\"\nrate = \"100/s\"\n", "cubic");
    let overhead = comparison.runs[0].interest_overhead.unwrap();
    assert!((overhead - 32.0 / 1024.0).abs() < 1e-4, "{overhead}");
    assert_eq!(comparison.runs[0].consumers[0].interest_overhead, Some(overhead));
}

#[test]
fn a_stream_recovers_when_a_link_returns() {
    let text = "kind = \"stream\"\nrate = \"100/s\"\n[[event]]\nat = \"10s\"\naction = \"link-down\"\nlink = \"R-B\"\n[[event]]\nat = \"14s\"\naction = \"link-up\"\nlink = \"R-B\"\n";
    let comparison = compare(text, "cubic");
    let [down, up] = &comparison.runs[0].recoveries[..] else { panic!("{:?}", comparison.runs[0].recoveries) };
    assert_eq!((down.at_s, up.at_s), (10.0, 14.0));
    // Nothing comes, steadily: that is no recovery.
    assert_eq!(down.recovery_s, None);
    assert!(up.recovery_s.is_some_and(|s| s <= 1.0), "{up:?}");
    assert!(aggregate(&comparison)[0].mean("recovery_s.2").is_some());
}

#[test]
fn a_deadline_is_no_key_of_a_fetch_and_must_make_sense() {
    let read = |text: &str| Source::from_text("x.toml", &format!("{NETWORK}{text}"), Path::new("")).unwrap().validate();
    for (text, message, help) in [
        ("deadline = \"1s\"\n", "unknown key \"deadline\"", ""),
        ("kind = \"stream\"\nrate = \"1/s\"\ndeadline = \"0s\"\n", "no sensible deadline", "1us"),
        ("kind = \"stream\"\nrate = \"1/s\"\ndeadline = 5\n", "without a unit", "unit"),
    ] {
        let problems = read(text).unwrap_err();
        let [problem] = &problems.list[..] else { panic!("{problems}") };
        assert!(problem.message.contains(message) && problem.help.contains(help), "{problem}");
        assert!(problem.place.line > 23, "{problem}");
    }
}

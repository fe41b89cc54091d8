//! Interests that meet their own nonce are counted: at nodes, in the run, over time and after each event.

use super::common::run_text;
use ndnweir_lab::results::{Run, SeriesKind};

/// Two ways of one length from A to E: a strategy that sends each Interest over both has each meet its copy at E. For one
/// second of three a way is down.
const SCENARIO: &str = r#"
[run]
duration = "3s"
warm-up = "500ms"
sample = "100ms"
start-jitter = "0ms"

[routing]
mode = "all"
reaction = "0ms"

[[node]]
names = ["C", "A", "B", "D", "E"]

[[node]]
name = "P"
kind = "host"

[link-defaults]
rate = "10Mbps"
delay = "1ms"

[[link]]
ends = ["C", "A"]

[[link]]
ends = ["A", "B"]

[[link]]
ends = ["A", "D"]

[[link]]
ends = ["B", "E"]

[[link]]
ends = ["D", "E"]

[[link]]
ends = ["E", "P"]

[[producer]]
name = "P"
node = "P"
prefix = "/p"

[[consumer]]
name = "C"
node = "C"
prefix = "/p/1"
kind = "stream"
rate = "100/s"

[[event]]
at = "1s"
action = "link-down"
link = "A-B"

[[event]]
at = "2s"
action = "link-up"
link = "A-B"
"#;

fn run(strategy: &str) -> Run {
    run_text(SCENARIO, &[&format!("scheme.mine.strategy={strategy}")], "mine", &[1]).runs.remove(0)
}

#[test]
fn of_an_interest_sent_two_ways_one_loops_while_there_are_two_ways() {
    let both = run("multicast");
    let at = |name: &str| both.nodes.iter().find(|node| node.name == name).unwrap();
    // 100 a second in the 1.5 s of the window in which both ways exist, of 250 Interests; each event may catch one.
    let looped = both.looped.unwrap();
    assert!(looped.abs_diff(150) <= 2 && at("E").looped == looped, "{looped}");
    assert_eq!((at("A").looped, at("B").looped), (0, 0));
    let share = both.looped_share.unwrap();
    assert!((share - looped as f64 / both.consumers[0].interests as f64).abs() < 1e-12 && share > 0.55);
    let after: Vec<u64> = both.recoveries.iter().map(|recovery| recovery.looped.unwrap()).collect();
    assert!(after[0] <= 1 && after[1].abs_diff(100) <= 1, "{after:?}");
    let series = both.series.get(SeriesKind::Network, &[], "looped").unwrap();
    assert_eq!(series[5..].iter().sum::<f64>(), looped as f64);
    assert!(series[..5].iter().sum::<f64>() >= 48.0);
}

#[test]
fn nothing_loops_where_each_interest_takes_one_way() {
    let one = run("best-route");
    assert_eq!((one.looped, one.looped_share), (Some(0), Some(0.0)));
    assert!(one.consumers[0].segments > 200);
}

//! Rate traces in scenarios: the shipped one is made by the rule below, and mistakes are told with line and remedy.

use ndnweir_core::units::{Duration, Rate};
use ndnweir_scenario::{Source, load};
use ndnweir_sim::network::RateTrace;
use std::path::Path;

/// Rates in kbit/s that a phone sees; ours.
const LADDER: [u64; 9] = [500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000, 12_000];

/// 20 s: every 100 ms the rate goes a step down, stays or goes a step up, with equal probability (Knuth's linear
/// congruential generator from 1, two bits modulo 3); nothing from 12 to 12.4 s.
fn rule() -> String {
    let (mut state, mut step, mut credit) = (1u64, 4usize, 0);
    let mut lines = String::new();
    for ms in 1..=20_000u64 {
        if ms % 100 == 1 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            step = (step + (state >> 33) as usize % 3).saturating_sub(1).min(LADDER.len() - 1);
        }
        credit += if (12_001..=12_400).contains(&ms) { 0 } else { LADDER[step] };
        while credit >= 1504 * 8 {
            credit -= 1504 * 8;
            lines += &format!("{ms}\n");
        }
    }
    lines
}

fn file(name: &str) -> String {
    format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_shipped_trace_is_what_its_rule_makes() {
    let path = file("traces/cellular.trace");
    if std::env::var_os("UPDATE_TRACE").is_some() {
        std::fs::write(&path, rule()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), rule());
}

#[test]
fn the_downlink_of_the_shipped_scenario_follows_the_trace_and_the_uplink_has_a_rate() {
    let scenario = load("cellular", &[]).unwrap();
    let link = &scenario.links[0];
    let trace = RateTrace::parse(&rule()).unwrap();
    assert_eq!((&link.forward.trace, link.forward.rate), (&Some(trace.clone()), Some(trace.mean())));
    assert_eq!((&link.backward.trace, link.backward.rate), (&None, Some(Rate::from_mbps(5.0))));
    assert_eq!((trace.period(), trace.mean()), (Duration::from_millis(20_000), Rate::from_bps(3_592_153)));
}

#[test]
fn set_puts_a_rate_in_place_of_a_trace_and_a_trace_in_place_of_a_rate() {
    let scenario = load("cellular", &["link.B-C.rate=2Mbps"]).unwrap();
    let link = &scenario.links[0];
    assert_eq!(
        [&link.forward, &link.backward].map(|d| (d.rate, d.trace.is_some())),
        [(Some(Rate::from_mbps(2.0)), false); 2]
    );
    let scenario = load("cellular", &["link.B-P.forward.trace=traces/cellular.trace"]).unwrap();
    let link = &scenario.links[1];
    assert!(link.forward.trace.is_some() && link.backward.trace.is_none());
}

fn problems(folder: &Path, link: &str) -> String {
    let text = format!(
        "[[node]]\nnames = [\"A\", \"B\"]\n[[link]]\nends = [\"A\", \"B\"]\ndelay = \"1ms\"\n{link}\n\
         [[producer]]\nname = \"P\"\nnode = \"B\"\nprefix = \"/p\"\n\
         [[consumer]]\nname = \"C\"\nnode = \"A\"\nprefix = \"/p\"\n"
    );
    Source::from_text("x.toml", &text, folder).unwrap().validate().unwrap_err().to_string()
}

#[test]
fn errors_in_a_trace_are_reported_with_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("falls", "5\n3\n"), ("slow", "4000000000\n"), ("empty", "")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for (link, place, message, help) in [
        ("trace = \"none\"", "x.toml:6:9", "cannot read the file", "relative to the folder"),
        ("trace = \"falls\"", "falls:2: ", "3 comes after 5", "sort the lines"),
        ("trace = \"slow\"", "x.toml:6:9", "its mean rate", "from \"1kbps\""),
        ("trace = \"empty\"", "empty:1: ", "the trace is empty", "write one time"),
        ("trace = 5", "x.toml:6:9", "trace: ", ""),
        ("trace = \"falls\"\nrate = \"1Mbps\"", "x.toml:6:9", "has a rate beside it", "delete one of the two"),
    ] {
        let said = problems(folder.path(), link);
        assert!(said.contains(place) && said.contains(message) && said.contains(help), "{link}: {said}");
    }
}

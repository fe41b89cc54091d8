//! The scenarios of the PCON authors' evaluation, run with their scheme: splits and marks behave as their code's do.
//!
//! Topologies: Schneider et al., ICN 2016, as in the authors' simulator. No number here is taken from our own runs: the
//! expected splits are the capacities' shares, which marks on each path drive the forwarding shares towards.

use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_lab::results::Run;
use ndnweir_scenario as scenario;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn runs(text: Option<&str>, name: &str, overrides: &[&str], seeds: u64) -> Vec<Run> {
    let source =
        text.map_or_else(|| scenario::find(name), |text| scenario::Source::from_text(name, text, Path::new(".")));
    let mut source = source.unwrap();
    scenario::apply_overrides(&mut source, overrides).unwrap();
    let scenario = source.validate().unwrap();
    let schemes = choose(&scenario, &["pcon".into()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: (1..=seeds).collect(), events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap().runs
}

/// The shares of a node's next hops.
fn shares_of(run: &Run, node: &str) -> Vec<f64> {
    run.shares.iter().filter(|share| share.node == node).map(|share| share.share).collect()
}

fn splits(run: &Run) -> Vec<f64> {
    shares_of(run, "R")
}

fn assert_near(run: &Run, expected: [f64; 3], tolerance: f64) {
    let splits = splits(run);
    assert_eq!(splits.len(), 3);
    for (got, want) in splits.iter().zip(expected) {
        assert!((got - want).abs() <= tolerance, "seed {}: {splits:?}, expected {expected:?}", run.seed);
    }
}

#[test]
fn equal_paths_end_up_with_a_third_each_without_a_loss() {
    for run in runs(None, "three-paths", &[], 2) {
        assert_near(&run, [1.0 / 3.0; 3], 0.05);
        assert!(run.marks > 0 && run.drops.overflow == 0);
    }
}

#[test]
fn unequal_paths_are_used_in_proportion_to_their_rates() {
    let rates = ["link.R-P1.rate=22.5Mbps", "link.R-P2.rate=6Mbps", "link.R-P3.rate=1.5Mbps"];
    for run in runs(None, "three-paths", &rates, 2) {
        assert_near(&run, [0.75, 0.2, 0.05], 0.06);
        assert!(run.marks > 0 && run.drops.overflow == 0);
    }
}

#[test]
fn the_default_path_gives_up_share_to_the_others_alike_when_only_delays_differ() {
    let delays = ["link.C-R.delay=4ms", "link.R-P1.delay=46ms", "link.R-P2.delay=21ms", "link.R-P3.delay=1ms"];
    for run in runs(None, "three-paths", &delays, 2) {
        let splits = splits(&run);
        // A reduction is spread evenly over the other faces, so two paths that have not been marked stay alike.
        assert!(splits[0] < 0.6 && (splits[1] - splits[2]).abs() < 0.05, "{splits:?}");
        assert!(run.marks > 0 && run.drops.overflow == 0);
    }
}

/// Scenario 1: C - 50 Mbit/s - R - 1 Gbit/s - P, 10 ms each, queues of 200, 10 s.
const ONE_LINK: &str = r#"
name = "one-link"
run = { duration = "10s", warm-up = "2s" }
link-defaults = { delay = "10ms", queue = "200 packets" }
node = [{ name = "C" }, { name = "R" }, { name = "P" }]
link = [{ ends = ["C", "R"], rate = "50Mbps" }, { ends = ["R", "P"], rate = "1Gbps" }]
producer = [{ name = "P", node = "P", prefix = "/p" }]
consumer = [{ name = "C", node = "C", prefix = "/p" }]
"#;

#[test]
fn one_bottleneck_is_marked_before_its_queue_overflows() {
    let run = &runs(Some(ONE_LINK), "one-link", &[], 1)[0];
    assert!(run.marks > 0 && run.drops.overflow == 0);
    // β 0.5 on every mark leaves the link partly idle; below three quarters it would be the wrong law.
    assert!((0.75..=1.0).contains(&run.bottleneck_utilization.unwrap()), "{run:?}");
    assert!(run.bottleneck_queue_ms.unwrap() < 20.0);
}

/// Scenario 3: a window of small Data towards C1, and a constant stream of large Data in the other direction from 5 to
/// 15 s, which leaves little room for the Interests of the first.
const REVERSE_TRAFFIC: &str = r#"
name = "reverse-traffic"
run = { duration = "25s", cache = "200000 packets" }
link-defaults = { delay = "10ms", queue = "1000 packets" }
node = [{ name = "C1" }, { name = "C2" }, { name = "R" }, { name = "P" }]
link = [
    { ends = ["C1", "R"], rate = "20Mbps" },
    { ends = ["C2", "R"], rate = "50Mbps" },
    { ends = ["R", "P"], rate = "10Mbps", delay = "30ms" },
]
producer = [
    { name = "P", node = "P", prefix = "/a", payload = "200B" },
    { name = "C2", node = "C2", prefix = "/b", payload = "1000B" },
]
consumer = [
    { name = "C1", node = "C1", prefix = "/a" },
    { name = "cbr", node = "P", prefix = "/b", kind = "stream", rate = "1179.425/s", start = "5s", stop = "15s" },
]
"#;

/// One run's goodput of the window and of the stream between two instants, after checking that no queue overflowed.
fn goodput_between(from: &str, to: &str, seed: usize) -> ([f64; 2], Run) {
    let window = [format!("run.warm-up={from}"), format!("run.duration={to}")];
    let run = runs(Some(REVERSE_TRAFFIC), "reverse-traffic", &[&window[0], &window[1]], seed as u64).remove(seed - 1);
    assert_eq!((run.drops.overflow, run.retransmissions), (0, 0), "{from} to {to}");
    ([run.consumers[0].goodput_mbps, run.consumers[1].goodput_mbps], run)
}

// Wire sizes: 242 B and 1042 B of Data, 32 B per Interest. Alone, small Data fill the link at 8.26 Mbit/s of content.
// The stream takes 1179.425 · 1042 · 8 = 9.832 Mbit/s of R-P, which leaves 0.168 Mbit/s = 657 Interests/s, or 1.05
// Mbit/s.
#[test]
fn interests_squeezed_by_reverse_traffic_are_marked_so_that_the_window_takes_what_is_left_without_a_loss() {
    for seed in 1..=2 {
        let ([before, _], _) = goodput_between("1s", "5100ms", seed);
        let ([during, stream], run) = goodput_between("7s", "15s", seed);
        let ([after, _], _) = goodput_between("17s", "25s", seed);
        let upstream = run.links.iter().find(|link| link.name == "R>P").unwrap();
        assert!(upstream.interest_marks > 0 && upstream.queue_ms < 20.0, "{upstream:?}");
        // The window gets nearly all that is left, and the stream, which requests at a fixed rate, loses nothing.
        assert!((0.8 * 1.05..=1.05).contains(&during), "{during}");
        assert!((stream / (1179.425 * 8000e-6) - 1.0).abs() < 0.01, "{stream}");
        // β 0.5 over a round trip of 80 ms leaves about a quarter of the link idle; all of that comes back afterwards.
        assert!([before, after].iter().all(|rate| (0.65 * 8.26..=8.26).contains(rate)), "{before} {after}");
    }
}

/// Scenario 4.2: five consumers of different data behind R1. R1 reaches P4 and, over R2, three more producers. The
/// authors set the FIBs by hand so that R2 does not go back to R1; the three cheapest next hops are the same.
const FIVE_CONSUMERS: &str = r#"
name = "five-consumers"
run = { duration = "30s", warm-up = "10s", cache = "200000 packets" }
routing = { mode = "k-shortest", k = 3 }
link-defaults = { rate = "100Mbps", queue = "1000 packets" }
node = [{ names = ["C1", "C2", "C3", "C4", "C5", "R1", "R2", "P1", "P2", "P3", "P4"] }]
link = [
    { ends = ["C1", "R1"], delay = "40ms" },
    { ends = ["C2", "R1"], delay = "30ms" },
    { ends = ["C3", "R1"], delay = "20ms" },
    { ends = ["C4", "R1"], delay = "10ms" },
    { ends = ["C5", "R1"], delay = "1ms" },
    { ends = ["R1", "R2"], rate = "50Mbps", delay = "20ms" },
    { ends = ["R2", "P1"], rate = "20Mbps", delay = "15ms" },
    { ends = ["R2", "P2"], rate = "10Mbps", delay = "5ms" },
    { ends = ["R2", "P3"], rate = "10Mbps", delay = "5ms" },
    { ends = ["R1", "P4"], rate = "20Mbps", delay = "10ms" },
]
producer = [
    { name = "P1", node = "P1", prefix = "/a" },
    { name = "P2", node = "P2", prefix = "/a" },
    { name = "P3", node = "P3", prefix = "/a" },
    { name = "P4", node = "P4", prefix = "/a" },
]
consumer = [
    { name = "C1", node = "C1", prefix = "/a/0" },
    { name = "C2", node = "C2", prefix = "/a/1", start = "1s" },
    { name = "C3", node = "C3", prefix = "/a/2", start = "2s" },
    { name = "C4", node = "C4", prefix = "/a/3", start = "3s" },
    { name = "C5", node = "C5", prefix = "/a/4", start = "4s" },
]
"#;

// Capacities: 40 Mbit/s behind R2 and 20 at P4; 20, 10 and 10 at R2. At 1024 of 1066 B that is 57.6 Mbit/s of content.
#[test]
fn five_consumers_spread_over_two_levels_of_branches_in_proportion_to_the_rates() {
    for run in runs(Some(FIVE_CONSUMERS), "five-consumers", &["run.duration=60s"], 2) {
        for (node, expected) in [("R1", &[1.0 / 3.0, 2.0 / 3.0][..]), ("R2", &[0.5, 0.25, 0.25])] {
            let shares = shares_of(&run, node);
            assert_eq!(shares.len(), expected.len(), "{shares:?}");
            let near = shares.iter().zip(expected).all(|(got, want)| (got - want).abs() <= 0.05);
            assert!(near, "seed {}: {node} {shares:?}, expected {expected:?}", run.seed);
        }
        assert!((0.7 * 57.6..=57.6).contains(&run.goodput_mbps), "{}", run.goodput_mbps);
        assert!(run.marks > 0 && run.drops.overflow == 0);
    }
}

// Everything begins on P4, which is nearest, and at R2 on P1. 2 % a mark do not carry the shares all the way in 30 s.
#[test]
fn after_the_authors_half_minute_the_shares_of_scenario_4_2_are_still_on_their_way() {
    for run in runs(Some(FIVE_CONSUMERS), "five-consumers", &[], 2) {
        let (nearest, first) = (shares_of(&run, "R1")[0], shares_of(&run, "R2")[0]);
        assert!((1.0 / 3.0..0.5).contains(&nearest) && (0.5..0.75).contains(&first), "{nearest} {first}");
        assert!(run.consumers.iter().all(|consumer| consumer.goodput_mbps > 1.0) && run.drops.overflow == 0);
    }
}

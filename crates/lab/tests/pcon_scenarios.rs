//! The scenarios of the PCON authors' evaluation, run with their scheme: splits and marks behave as their code's do.
//!
//! Topologies: Schneider et al., ICN 2016, as in the authors' simulator. No number here is taken from our own runs: the
//! expected splits are the capacities' shares, which marks on each path drive the forwarding shares towards.

use ndnweir_lab::experiment::{Experiment, Silent, choose, scheme_check};
use ndnweir_lab::results::Run;
use ndnweir_lab::scenario;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn runs(text: Option<&str>, name: &str, overrides: &[&str], seeds: u64) -> Vec<Run> {
    let source =
        text.map_or_else(|| scenario::find(name), |text| scenario::Source::from_text(name, text, Path::new(".")));
    let mut source = source.unwrap();
    scenario::apply_overrides(&mut source, overrides).unwrap();
    let scenario = source.validate(&scheme_check).unwrap();
    let schemes = choose(&scenario, &["pcon".into()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: (1..=seeds).collect(), events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap().runs
}

fn splits(run: &Run) -> Vec<f64> {
    run.shares.iter().filter(|s| s.node == "R").map(|s| s.share).collect()
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

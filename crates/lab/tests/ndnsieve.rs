//! ndnSieve in the shipped scenarios: a controller that fails, a backbone link that fails and returns.

use ndnweir_lab::experiment::{Experiment, Finished, Inputs, Watching, choose};
use ndnweir_scenario as scenario;
use std::sync::atomic::AtomicBool;

fn simulate(name: &str, set: &[&str], scheme: &str) -> Finished {
    let scenario = scenario::load(name, set).unwrap();
    let schemes = choose(&scenario, &[scheme.into()]).unwrap();
    let inputs = Inputs::new(&scenario);
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: vec!["switch".into()] };
    let stop = AtomicBool::new(false);
    experiment.run_one(&inputs, &experiment.schemes[0], 1, &stop, Watching::default()).unwrap().unwrap()
}

#[test]
fn a_failing_controller_stops_switching_and_its_stand_by_continues() {
    // With links to the producers that are faster than the two ways, so that these are what is congested.
    let Finished { run, .. } = simulate("controller-failure", &["link.*P*.rate=20Mbps"], "ndnsieve-calibrated");
    let switches = |from: f64, to: f64| run.events.iter().filter(|e| (from..to).contains(&e.at_s)).count();
    let counts = [switches(0.0, 10.0), switches(10.0, 15.0), switches(15.0, 30.0)];
    assert!(counts[0] > 4 && counts[1] == 0 && counts[2] > 4, "{counts:?}");
    let control = run.control.unwrap();
    assert_eq!(control.switches as usize, run.events.len());
    let fates = control.signals_sieved
        + control.signals_unknown
        + control.signals_without_shunt
        + control.signals_not_better
        + control.signals_held
        + control.signals_acted;
    assert_eq!(control.signals_heard, fates, "every signal has one fate");
    let scalars = run.scalars();
    assert!(scalars.contains(&("control.switches".into(), control.switches as f64)));
}

#[test]
fn a_backbone_link_that_fails_and_returns_leaves_no_interest_in_a_circle() {
    let Finished { run, outcome } = simulate("geant-failure", &[], "ndnsieve-calibrated");
    assert_eq!(outcome.nodes.iter().map(|node| node.loops).sum::<u64>(), 0);
    let switches = |from: f64, to: f64| run.events.iter().filter(|e| (from..to).contains(&e.at_s)).count();
    assert_eq!((switches(15.02, 16.0), switches(25.02, 26.0)), (0, 0), "routing goes first");
    assert!(switches(16.0, 25.0) > 0 && switches(26.5, 40.0) > 0);
    assert_eq!(run.drops.overflow, 0);
}

/// The paper's three scenarios are read, and every scheme they name runs.
#[test]
fn the_scenarios_of_the_paper_are_sound() {
    for name in ["dumbbell", "multipath-1", "multipath-2"] {
        let file = format!("{}/../../papers/ndnsieve/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let scenario = scenario::load(&file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(choose(&scenario, &[]).unwrap().len(), 3);
        scenario.network().check().unwrap();
    }
}

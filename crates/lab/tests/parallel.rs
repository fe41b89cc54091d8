//! Shipped scenarios have the same metrics on several threads, bit for bit.

use ndnweir_core::scheme::Scheme;
use ndnweir_lab::experiment::{Experiment, Finished, Inputs, Watching, choose};
use ndnweir_scenario::{self as scenario, Scenario};
use ndnweir_state::{Value, Writer};
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

fn on(threads: usize, scenario: &Scenario, scheme: &Scheme) -> Finished {
    let experiment =
        Experiment { scenario: scenario.clone(), schemes: vec![], seeds: vec![], events: vec!["switch".into()] };
    let (inputs, stop) = (Inputs::new(scenario), AtomicBool::new(false));
    let watching = Watching { threads, force_threads: threads > 1, ..Watching::default() };
    experiment.run_one(&inputs, scheme, 5, &stop, watching).unwrap().unwrap()
}

fn bytes(finished: &Finished) -> Vec<u8> {
    let mut to = Writer::default();
    finished.run.write(&mut to);
    to.into_bytes()
}

fn is_the_same(scenario: &Scenario, scheme: &Scheme, threads: usize) {
    let (one, several) = (on(1, scenario, scheme), on(threads, scenario, scheme));
    let what = format!("{} under {} on {threads} threads", scenario.name, scheme.name);
    assert_eq!(format!("{:?}", one.outcome), format!("{:?}", several.outcome), "{what}");
    assert!(bytes(&one) == bytes(&several), "{what}: the metrics differ");
}

#[test]
fn every_shipped_scenario_is_the_same_on_several_threads_under_its_schemes() {
    let all: Vec<(Scenario, Scheme)> = (scenario::shipped().iter())
        .flat_map(|shipped| {
            let scenario = scenario::load(shipped.name, &[] as &[&str]).unwrap();
            let schemes = choose(&scenario, &[]).unwrap();
            schemes.into_iter().map(move |scheme| (scenario.clone(), scheme))
        })
        .collect();
    assert!(all.len() > 12);
    all.par_iter().enumerate().for_each(|(i, (scenario, scheme))| is_the_same(scenario, scheme, 2 + i % 2));
}

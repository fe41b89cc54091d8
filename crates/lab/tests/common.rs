//! Runs of scenarios that tests write.

use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_lab::results::Comparison;
use ndnweir_scenario::{Source, apply_overrides};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs a scheme on the scenario of this text, with these overrides and seeds.
///
/// # Panics
/// If the scenario is not valid.
pub(crate) fn run_text(text: &str, set: &[&str], scheme: &str, seeds: &[u64]) -> Comparison {
    let mut source = Source::from_text("x.toml", text, Path::new("")).unwrap();
    apply_overrides(&mut source, set).unwrap();
    let scenario = source.validate().unwrap_or_else(|problems| panic!("{problems}"));
    let schemes = choose(&scenario, &[scheme.to_owned()]).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: seeds.to_vec(), events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap()
}

//! Running a paper's experiments.

use super::model::Paper;
use crate::evaluation::{ExperimentGrid, Measured, Runs};
use crate::experiment::{self, Error, Experiment, Progress};
use crate::results::Optimum;
use std::sync::atomic::AtomicBool;

/// The results of a paper's experiments.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The runs.
    pub runs: Runs,
    /// The optimum of each experiment's first case.
    pub optima: Vec<Optimum>,
    /// Whether runs are missing because the work was interrupted.
    pub partial: bool,
}

/// The number of runs of a paper.
pub fn count(paper: &Paper, seeds: usize) -> usize {
    let runs = |(e, repeat): (&ExperimentGrid, &u64)| e.cases.len() * e.schemes.len() * seeds * *repeat as usize;
    paper.experiments.iter().zip(&paper.repeats).map(runs).sum()
}

/// Continues the numbering of runs from one experiment to the next.
struct Offset<'a> {
    inner: &'a dyn Progress,
    before: usize,
}

impl Progress for Offset<'_> {
    fn advanced(&self, run: usize, fraction: f64) {
        self.inner.advanced(self.before + run, fraction);
    }
}

/// Runs all experiments with seeds 1 to `seeds`, or so many times more if an experiment repeats each. After `stop` is set, incomplete results are left out.
///
/// # Errors
/// [`Error`], except that an interruption gives partial results.
pub fn run(paper: &Paper, seeds: u64, progress: &dyn Progress, stop: &AtomicBool) -> Result<Results, Error> {
    let mut results = Results::default();
    let mut before = 0;
    for (spec, repeat) in paper.experiments.iter().zip(&paper.repeats) {
        let seeds: Vec<u64> = (1..=seeds * repeat).collect();
        let mut measured = Vec::new();
        for (i, case) in spec.cases.iter().enumerate() {
            let experiment = Experiment {
                scenario: case.scenario.clone(),
                schemes: spec.schemes.clone(),
                seeds: seeds.clone(),
                events: spec.events.clone(),
            };
            match experiment.run(&Offset { inner: progress, before }, stop) {
                Ok(comparison) => {
                    results.partial |= comparison.partial;
                    let described = comparison.scenario;
                    measured.extend(comparison.runs.into_iter().map(|run| Measured::new(i, run, &described)));
                }
                Err(Error::Nothing) => results.partial = true,
                Err(error) => return Err(error),
            }
            before += spec.schemes.len() * seeds.len();
        }
        results.runs.0.push(measured);
        results.optima.push(spec.cases.first().map(|c| experiment::optimum(&c.scenario)).unwrap_or_default());
    }
    Ok(results)
}

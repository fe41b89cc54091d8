//! Experiments: a scenario under several schemes and seeds, run on all cores.

mod ceilings;
mod choice;
mod completions;
mod describe;
mod events;
mod ideal;
mod outline;
mod routes;
mod watching;

pub use ceilings::{physical, routed};
pub use choice::{ChoiceError, available, choose};
pub use describe::describe;
pub use routes::{Route, routes};
pub use watching::{TakeBins, Watching};

use crate::checkpoints::{Checkpoints, Kept, Place};
use crate::metrics::{Collector, Waits};
use crate::results::{Comparison, ControlRun, CrossRun, Optimum, Repeat, Run, ScenarioInfo, Series, zero_spread};
use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::Scenario;
use ndnweir_sim::network::Network;
use ndnweir_sim::outcome::{AccountingError, Outcome};
use ndnweir_sim::{Keeper, NetworkError, RunOptions};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use watching::Watched;

/// The optimum of a scenario, or the reason why it is undefined, and the ideal completion times of finite fetches.
pub fn optimum(scenario: &Scenario) -> Optimum {
    Optimum { completions: completions::completions(scenario), ..ceilings::fair(scenario) }
}

/// A scenario, schemes and seeds to run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The scenario.
    pub scenario: Scenario,
    /// The schemes to compare, in this order.
    pub schemes: Vec<Scheme>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Keys of scheme events to keep (see [`ndnweir_sim::observer::Observer::scheme_event`]).
    pub events: Vec<String>,
}

/// Receives the progress of a computation.
pub trait Progress: Sync {
    /// Run `run` (in the order of schemes, then seeds) has covered this fraction of its simulated time.
    fn advanced(&self, run: usize, fraction: f64);
    /// Whether [`Progress::bins`] is to be called.
    fn wants_bins(&self) -> bool {
        false
    }
    /// The values of bins of run `run` that are complete (see [`TakeBins`]).
    fn bins(&self, _run: usize, _first: usize, _series: &Series) {}
}

/// Ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advanced(&self, _: usize, _: f64) {}
}

/// Why an experiment has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A scheme cannot be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// Packet accounting failed, which is a bug of the simulator.
    #[error("scheme {scheme}, seed {seed}: packet accounting failed: {what}; please report this")]
    Accounting {
        /// The scheme.
        scheme: String,
        /// The seed.
        seed: u64,
        /// The counts that do not match.
        what: AccountingError,
    },
    /// The seeds made no difference, so that the spread would be meaningless.
    #[error("scheme {scheme}: {seeds} seeds gave identical runs; set run.start-jitter above zero, or run one seed")]
    NoSpread {
        /// The scheme.
        scheme: String,
        /// The number of seeds.
        seeds: usize,
    },
    /// Stored results cannot be read, or results cannot be stored.
    #[error(transparent)]
    StoredResults(#[from] crate::results::Error),
    /// The state of a run that was to be resumed is one that no run comes to.
    #[error("the simulator failed on it; if nobody changed it, please report this")]
    State,
    /// Interrupted before the first run was complete.
    #[error("interrupted before any run was complete")]
    Nothing,
}

/// What all runs of a scenario share.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The simulator's network.
    pub network: Network,
    /// The description in results.
    pub info: ScenarioInfo,
}

impl Inputs {
    /// Of a scenario.
    pub fn new(scenario: &Scenario) -> Inputs {
        Inputs { network: scenario.network(), info: describe(scenario) }
    }
}

/// A finished run, with its accounting checked.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The metrics.
    pub run: Run,
    /// The simulator's own counts.
    pub outcome: Outcome,
}

impl Experiment {
    /// Runs all schemes with all seeds. After `stop` is set, incomplete runs are left out and the comparison is
    /// partial.
    ///
    /// The result depends only on the experiment, not on the number or the order of threads.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(&self, progress: &dyn Progress, stop: &AtomicBool) -> Result<Comparison, Error> {
        self.run_kept(progress, stop, None, 0)
    }

    /// As [`Experiment::run`], with every run kept from time to time, when it is stopped, and when it has ended; runs that
    /// are kept already go on from there, or are not repeated if they had ended. The result is the same. Threads that are
    /// left over by the runs, and by so many `others` that are worked on at the same time, work on single runs.
    ///
    /// # Errors
    /// See [`Error`]; what is kept and cannot be used is found before the first run.
    pub fn run_kept(
        &self,
        progress: &dyn Progress,
        stop: &AtomicBool,
        checkpoints: Option<&Checkpoints>,
        others: usize,
    ) -> Result<Comparison, Error> {
        let inputs = Inputs::new(&self.scenario);
        let jobs: Vec<(usize, &Scheme, u64)> = (self.schemes.iter())
            .flat_map(|scheme| self.seeds.iter().map(move |&seed| (scheme, seed)))
            .enumerate()
            .map(|(i, (scheme, seed))| (i, scheme, seed))
            .collect();
        let total = jobs.len();
        let threads = rayon::current_num_threads() / (total + others).max(1);
        let kept = checkpoints.map(|all| (all, Checkpoints::shared(&self.scenario, &self.events)));
        let place = |scheme: &Scheme, seed| kept.as_ref().map(|(all, shared)| all.place(shared, scheme, seed));
        jobs.iter()
            .filter_map(|&(_, scheme, seed)| place(scheme, seed))
            .try_for_each(|place| place.read().map(drop))?;
        let one = |(i, scheme, seed): (usize, &Scheme, u64)| {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let mut own = place(scheme, seed);
            let state = match own.as_ref().map(Place::read).transpose()?.flatten() {
                Some(Kept::Ended(run)) => {
                    progress.advanced(i, 1.0);
                    return Ok(Some(*run));
                }
                Some(Kept::State(state)) => Some(state),
                None => None,
            };
            let mut advanced = |fraction| progress.advanced(i, fraction);
            let mut bins = |first, series: &Series| progress.bins(i, first, series);
            let bins = progress.wants_bins().then_some(&mut bins as &mut TakeBins<'_>);
            let keeper = own.as_mut().map(|place| place as &mut dyn Keeper);
            let resume = state.as_deref();
            let watching =
                Watching { progress: Some(&mut advanced), bins, keeper, resume, threads, ..Watching::default() };
            let run = || self.run_one(&inputs, scheme, seed, stop, watching);
            let finished = match resume {
                None => run()?,
                // A state that someone made up may be one that no run comes to.
                Some(_) => catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error::State)).map_err(|error| {
                    place(scheme, seed).map_or(Error::State, |place| place.failed(&error.to_string()).into())
                })?,
            };
            let run = finished.map(|finished| finished.run);
            if let (Some(place), Some(run)) = (own, &run) {
                place.end(run);
            }
            Ok(run)
        };
        let results: Result<Vec<Option<Run>>, Error> = jobs.into_par_iter().map(one).collect();
        let runs: Vec<Run> = results?.into_iter().flatten().collect();
        if runs.is_empty() {
            return Err(Error::Nothing);
        }
        let mut comparison = Comparison {
            scenario: inputs.info,
            partial: runs.len() < total,
            runs,
            optimum: optimum(&self.scenario),
            repeat: Repeat::default(),
        };
        if let Some(found) = zero_spread(&comparison).into_iter().next() {
            return Err(Error::NoSpread { scheme: found.scheme, seeds: found.seeds });
        }
        comparison.thin_series();
        Ok(comparison)
    }

    /// Runs one scheme with one seed on the inputs of the scenario; `None` if it was stopped before its end.
    ///
    /// # Errors
    /// [`Error::Network`] and [`Error::Accounting`].
    pub fn run_one<'a>(
        &self,
        inputs: &'a Inputs,
        scheme: &'a Scheme,
        seed: u64,
        stop: &'a AtomicBool,
        watching: Watching<'a>,
    ) -> Result<Option<Finished>, Error> {
        let events: Vec<&str> = self.events.iter().map(String::as_str).collect();
        let setup = inputs.info.setup(&events);
        let mut waits = Waits::new(setup.from..setup.to, setup.links.len(), watching.tap);
        let mut watched = Watched::new(Collector::new(setup), watching.bins);
        let options = RunOptions {
            trace: !events.is_empty(),
            stop: Some(stop),
            progress: watching.progress.map(|progress| progress as &mut dyn FnMut(f64)),
            tap: Some(&mut waits),
            keeper: watching.keeper.map(|keeper| keeper as &mut dyn Keeper),
            resume: watching.resume,
            threads: watching.threads,
            force_threads: watching.force_threads,
            windows: watching.windows.map(|windows| windows as &mut ndnweir_sim::TakeWindow<'_>),
            ..RunOptions::full()
        };
        let outcome = ndnweir_sim::run(&inputs.network, scheme, seed, &mut watched, options)?;
        if !outcome.finished {
            return Ok(None);
        }
        outcome.check().map_err(|what| Error::Accounting { scheme: scheme.name.clone(), seed, what })?;
        let mut run = watched.collector.finish(&scheme.name, seed);
        waits.finish(&mut run);
        run.event_hash = format!("{:016x}", outcome.hash);
        run.cross = CrossRun::all(&self.scenario, &outcome.cross);
        run.control = outcome.control.as_ref().map(ControlRun::from);
        for (consumer, kept) in run.consumers.iter_mut().zip(&outcome.kept_by_consumers) {
            consumer.state_bytes = *kept;
        }
        let names = self.scenario.nodes.iter().map(|node| node.name.as_str());
        let kept: BTreeMap<&str, Option<u64>> = names.zip(outcome.kept_by_nodes.iter().copied()).collect();
        for node in &mut run.nodes {
            node.state_bytes = kept.get(node.name.as_str()).copied().flatten();
        }
        Ok(Some(Finished { run, outcome }))
    }
}

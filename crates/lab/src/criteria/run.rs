//! Runs schemes in all criteria.

use super::cell_data::CellData;
use super::chosen::{chosen, schemes_in};
use super::jobs::{JobResult, StoredResults};
use super::model::Criterion;
use super::verdict::CriterionResult;
use crate::evaluation::{Limits, Measured, Runs};
use crate::experiment::{Error, Experiment, Inputs, Progress};
use crate::metrics::rebin;
use crate::results::{Run, SeriesKind};
use ndnweir_core::scheme::Scheme;
use rayon::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The results of a judgement.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The schemes, in the order requested.
    pub schemes: Vec<String>,
    /// Those schemes that are stand-ins because the original law is not public.
    pub stand_ins: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// By criterion, then scheme; `None` if the work was interrupted.
    pub results: Vec<Vec<Option<CriterionResult>>>,
    /// The drawable data of each cell, by criterion, then scheme.
    pub shown: Vec<Vec<Vec<CellData>>>,
    /// Interests, Data and NACKs that crossed a link, by scheme.
    pub packet_hops: Vec<u64>,
    /// Whether runs are missing because the work was interrupted.
    pub partial: bool,
}

/// Maximum number of bins kept of a series.
const MAX_SHOWN: usize = 120;

/// Number of runs.
pub fn count(criteria: &[Criterion], schemes: usize, seeds: usize) -> usize {
    criteria.iter().map(|c| c.cells().count()).sum::<usize>() * schemes * seeds
}

/// Runs and judges all criteria. After `stop` is set, incomplete results are left out. With `stored`, its results are
/// used instead of running their jobs, and results of other jobs are stored.
///
/// The result depends only on the arguments, not on the number or the order of threads.
///
/// # Errors
/// [`Error::Choice`] for names that are not schemes, [`Error::Network`] for scenarios that cannot be simulated,
/// [`Error::Accounting`], [`Error::StoredResults`]; [`Error::Nothing`] if nothing was complete.
pub fn run(
    criteria: &[Criterion],
    names: &[String],
    seeds: &[u64],
    stored: Option<&StoredResults>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Judgement, Error> {
    let prepared = Prepared::new(criteria, names)?;
    let hops: Vec<AtomicU64> = prepared.names.iter().map(|_| AtomicU64::new(0)).collect();
    let one = |unit: &Unit<'_>| {
        let done = unit.get_or_run(stored, progress, stop)?;
        Ok(done.map(|done| {
            hops[unit.scheme.0].fetch_add(done.packet_hops, Ordering::Relaxed);
            (done.result, done.shown)
        }))
    };
    let units = prepared.units(criteria, seeds);
    let done: Vec<Option<(CriterionResult, Vec<CellData>)>> =
        units.par_iter().map(one).collect::<Result<_, Error>>()?;
    if done.iter().all(Option::is_none) {
        return Err(Error::Nothing);
    }
    let partial = done.iter().any(Option::is_none);
    let (mut results, mut shown) = (Vec::new(), Vec::new());
    let mut done = done.into_iter();
    for _ in criteria {
        let row = done.by_ref().take(prepared.names.len()).map(Option::unzip);
        let (verdicts, cells): (Vec<_>, Vec<Option<Vec<CellData>>>) = row.unzip();
        results.push(verdicts);
        shown.push(cells.into_iter().map(Option::unwrap_or_default).collect());
    }
    let packet_hops = hops.into_iter().map(AtomicU64::into_inner).collect();
    let stand_ins = prepared.schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.clone()).collect();
    let schemes = prepared.names;
    Ok(Judgement { schemes, stand_ins, seeds: seeds.to_vec(), results, shown, packet_hops, partial })
}

/// Runs the jobs that `mine` selects by position (by criterion, then scheme) and stores their results. Returns the
/// number of stored results, which is smaller than the number of selected jobs if `stop` was set.
///
/// # Errors
/// As [`run`].
pub fn run_and_store(
    criteria: &[Criterion],
    names: &[String],
    seeds: &[u64],
    stored: &StoredResults,
    mine: &(dyn Fn(usize) -> bool + Sync),
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<usize, Error> {
    let prepared = Prepared::new(criteria, names)?;
    let units: Vec<Unit<'_>> = prepared.units(criteria, seeds);
    let picked: Vec<&Unit<'_>> = units.iter().enumerate().filter(|(i, _)| mine(*i)).map(|(_, unit)| unit).collect();
    let one = |unit: &&Unit<'_>| Ok(unit.get_or_run(Some(stored), progress, stop)?.is_some());
    let done: Vec<bool> = picked.par_iter().map(one).collect::<Result<_, Error>>()?;
    Ok(done.into_iter().filter(|done| *done).count())
}

/// The input of jobs in addition to their criteria.
struct Prepared {
    schemes: Vec<Scheme>,
    names: Vec<String>,
    /// By criterion, then cell; computed by the first run that needs them, as stored results need none.
    limits: Vec<Vec<OnceLock<Limits>>>,
}

impl Prepared {
    fn new(criteria: &[Criterion], names: &[String]) -> Result<Prepared, Error> {
        let Some((first, cell)) = criteria.iter().find_map(|c| Some((c, c.cells().next()?))) else {
            return Err(Error::Nothing);
        };
        let schemes = chosen(first, cell, names)?;
        let names = schemes.iter().map(|s| s.name.clone()).collect();
        let limits = criteria.iter().map(|c| c.cells().map(|_| OnceLock::new()).collect()).collect();
        Ok(Prepared { schemes, names, limits })
    }

    /// By criterion, then scheme.
    fn units<'a>(&'a self, criteria: &'a [Criterion], seeds: &'a [u64]) -> Vec<Unit<'a>> {
        let mut first = 0;
        let mut units = Vec::new();
        for (criterion, limits) in criteria.iter().zip(&self.limits) {
            for scheme in self.names.iter().enumerate() {
                units.push(Unit { criterion, limits, scheme, seeds, first });
                first += criterion.cells().count() * seeds.len();
            }
        }
        units
    }
}

/// One scheme in one criterion.
struct Unit<'a> {
    criterion: &'a Criterion,
    limits: &'a [OnceLock<Limits>],
    /// The scheme's position and name.
    scheme: (usize, &'a String),
    seeds: &'a [u64],
    /// Number of its first run.
    first: usize,
}

impl Unit<'_> {
    /// Returns the stored result, or runs the job and stores its result; `None` if it was stopped.
    fn get_or_run(
        &self,
        stored: Option<&StoredResults>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Option<JobResult>, Error> {
        let schemes = schemes_in(self.criterion, self.scheme.1)?;
        let Some(stored) = stored else { return self.run(&schemes, progress, stop) };
        let key = stored.key(self.criterion, &schemes, self.seeds);
        if let Some(done) = stored.get(&key)? {
            (0..schemes.len() * self.seeds.len()).for_each(|i| progress.advanced(self.first + i, 1.0));
            return Ok(Some(done));
        }
        let done = self.run(&schemes, progress, stop)?;
        if let Some(done) = &done {
            stored.put(&key, done)?;
        }
        Ok(done)
    }

    fn run(&self, schemes: &[Scheme], progress: &dyn Progress, stop: &AtomicBool) -> Result<Option<JobResult>, Error> {
        let cells: Vec<(usize, usize)> = self.criterion.cells().collect();
        if let Some(reason) = schemes.first().and_then(|scheme| self.criterion.not_applicable(scheme)) {
            (0..cells.len() * self.seeds.len()).for_each(|i| progress.advanced(self.first + i, 1.0));
            let result = CriterionResult::not_applicable(reason);
            return Ok(Some(JobResult { result, shown: Vec::new(), packet_hops: 0 }));
        }
        let hops = AtomicU64::new(0);
        let prepare = |&(e, c): &(usize, usize)| {
            let scenario = self.criterion.experiments[e].cases[c].scenario.clone();
            let inputs = Inputs::new(&scenario);
            (Experiment { scenario, schemes: Vec::new(), seeds: Vec::new(), events: Vec::new() }, inputs)
        };
        let prepared: Vec<(Experiment, Inputs)> = cells.iter().map(prepare).collect();
        let one = |i: usize| {
            let (at, seed) = (i / self.seeds.len(), self.seeds[i % self.seeds.len()]);
            let (experiment, inputs) = &prepared[at];
            let mut advanced = |fraction| progress.advanced(self.first + i, fraction);
            let finished = experiment.run_one(inputs, &schemes[at], seed, Some(&mut advanced), stop, None)?;
            Ok(finished.map(|f| {
                hops.fetch_add(f.outcome.packet_hops, Ordering::Relaxed);
                let limits = self.limits[at].get_or_init(|| Limits::of(&experiment.scenario));
                Measured::with_limits(cells[at].1, f.run, &inputs.info, limits)
            }))
        };
        let runs: Vec<Option<Measured>> =
            (0..cells.len() * self.seeds.len()).into_par_iter().map(one).collect::<Result<_, Error>>()?;
        let Some(runs) = runs.into_iter().collect::<Option<Vec<Measured>>>() else { return Ok(None) };
        let shown = cells.iter().zip(runs.chunks(self.seeds.len())).map(|(cell, runs)| show(*cell, runs)).collect();
        let mut by_experiment: Vec<Vec<Measured>> = self.criterion.experiments.iter().map(|_| Vec::new()).collect();
        for (i, run) in runs.into_iter().enumerate() {
            by_experiment[cells[i / self.seeds.len()].0].push(run);
        }
        let result = self.criterion.judge(&Runs(by_experiment), self.scheme.1);
        Ok(Some(JobResult { result, shown, packet_hops: hops.into_inner() }))
    }
}

fn show((experiment, case): (usize, usize), runs: &[Measured]) -> CellData {
    let mean = |key: &str| {
        let values: Vec<f64> = runs.iter().filter_map(|m| m.scalars.get(key).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let point = mean("attained").zip(mean("above_base_rtts.p99"));
    let Some(first) = runs.first() else { return CellData { experiment, case, point, ..CellData::default() } };
    let goodput = first.run.series.get(SeriesKind::Network, &[], "goodput_mbps").unwrap_or_default();
    let by = goodput.len().div_ceil(MAX_SHOWN).max(1);
    let bin_s = first.run.series.bin_s * by as f64;
    let (goodput_mbps, queue_ms) = (rebin(goodput, by), rebin(&longest_wait(&first.run), by));
    CellData { experiment, case, point, bin_s, goodput_mbps, queue_ms }
}

/// By bin, the largest mean queueing time of all links.
fn longest_wait(run: &Run) -> Vec<f64> {
    let Some(column) = SeriesKind::Links.metrics().iter().position(|m| *m == "queue_ms") else { return Vec::new() };
    let mut longest = Vec::new();
    for values in run.series.table(SeriesKind::Links).iter().filter_map(|row| row.columns.get(column)) {
        longest.resize(values.len().max(longest.len()), 0.0);
        for (most, value) in longest.iter_mut().zip(values) {
            // A bin without departures has no queueing time.
            *most = f64::max(*most, *value);
        }
    }
    longest
}

//! Running schemes through criteria.

use super::model::Criterion;
use super::verdict::CriterionResult;
use crate::evaluation::{Limits, Measured, Runs};
use crate::experiment::{ChoiceError, Error, Experiment, Progress, choose, describe};
use crate::metrics::rebin;
use crate::results::{Run, ScenarioInfo, SeriesKind};
use ndnweir_core::scheme::Scheme;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What judging gave.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The schemes, in the order requested.
    pub schemes: Vec<String>,
    /// Those of them whose original law is not public.
    pub stand_ins: Vec<String>,
    /// With which seeds.
    pub seeds: Vec<u64>,
    /// By criterion, then scheme; none where the work was interrupted.
    pub results: Vec<Vec<Option<CriterionResult>>>,
    /// The drawable data of each cell, by criterion, then scheme.
    pub shown: Vec<Vec<Vec<Shown>>>,
    /// Interests, Data and NACKs that crossed a link, by scheme.
    pub packet_hops: Vec<u64>,
    /// Whether runs are missing because the work was interrupted.
    pub partial: bool,
}

/// A cell as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position.
    pub case: usize,
    /// Attained share of the fair rate and the 99th percentile of the delay above the base RTT, in base RTTs, means over
    /// seeds; none where there is no optimum.
    pub point: Option<(f64, f64)>,
    /// Width of the bins below, in s.
    pub bin_s: f64,
    /// Goodput of all consumers, of the first seed.
    pub goodput_mbps: Vec<f64>,
    /// The longest mean wait at any link, of the first seed.
    pub queue_ms: Vec<f64>,
}

/// Bins that are kept of a series.
const MAX_SHOWN: usize = 120;

/// How many runs it takes.
pub fn count(criteria: &[Criterion], schemes: usize, seeds: usize) -> usize {
    criteria.iter().map(|c| c.cells().count()).sum::<usize>() * schemes * seeds
}

/// The schemes called `names` in the scenario of a case.
fn schemes_in(criterion: &Criterion, cell: (usize, usize), names: &[String]) -> Result<Vec<Scheme>, ChoiceError> {
    choose(&criterion.experiments[cell.0].cases[cell.1].scenario, names)
}

/// Runs everything and judges it. When `stop` is set, what is not complete is left out.
///
/// The result depends on only the arguments: not on the number of threads, not on their order.
///
/// # Errors
/// [`Error::Choice`] for names that are not schemes, [`Error::Network`] for scenarios that cannot be simulated,
/// [`Error::Accounting`]; [`Error::Nothing`] if nothing was complete.
pub fn run(
    criteria: &[Criterion],
    names: &[String],
    seeds: &[u64],
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Judgement, Error> {
    let Some((first, cell)) = criteria.iter().find_map(|c| Some((c, c.cells().next()?))) else {
        return Err(Error::Nothing);
    };
    let schemes = schemes_in(first, cell, names)?;
    let names: Vec<String> = schemes.iter().map(|s| s.name.clone()).collect();
    let limits: Vec<Vec<Limits>> = (criteria.par_iter())
        .map(|c| {
            let cells: Vec<_> = c.cells().collect();
            cells.into_par_iter().map(|(e, i)| Limits::of(&c.experiments[e].cases[i].scenario)).collect()
        })
        .collect();
    let mut before = 0;
    let mut units = Vec::new();
    for (c, criterion) in criteria.iter().enumerate() {
        for s in 0..names.len() {
            units.push((c, s, before));
            before += criterion.cells().count() * seeds.len();
        }
    }
    let hops: Vec<AtomicU64> = names.iter().map(|_| AtomicU64::new(0)).collect();
    let one = |&(c, s, first): &(usize, usize, usize)| {
        let unit = Unit { criterion: &criteria[c], limits: &limits[c], scheme: &names[s], seeds, first };
        unit.run(&hops[s], progress, stop)
    };
    let done: Vec<Option<(CriterionResult, Vec<Shown>)>> = units.par_iter().map(one).collect::<Result<_, _>>()?;
    if done.iter().all(Option::is_none) {
        return Err(Error::Nothing);
    }
    let partial = done.iter().any(Option::is_none);
    let (mut results, mut shown) = (Vec::new(), Vec::new());
    let mut done = done.into_iter();
    for _ in criteria {
        let row = done.by_ref().take(names.len()).map(Option::unzip);
        let (verdicts, cells): (Vec<_>, Vec<Option<Vec<Shown>>>) = row.unzip();
        results.push(verdicts);
        shown.push(cells.into_iter().map(Option::unwrap_or_default).collect());
    }
    let packet_hops = hops.into_iter().map(AtomicU64::into_inner).collect();
    let stand_ins = schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.clone()).collect();
    Ok(Judgement { schemes: names, stand_ins, seeds: seeds.to_vec(), results, shown, packet_hops, partial })
}

/// One scheme in one criterion.
struct Unit<'a> {
    criterion: &'a Criterion,
    limits: &'a [Limits],
    scheme: &'a String,
    seeds: &'a [u64],
    /// Number of its first run.
    first: usize,
}

impl Unit<'_> {
    fn run(
        &self,
        hops: &AtomicU64,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Option<(CriterionResult, Vec<Shown>)>, Error> {
        let cells: Vec<(usize, usize)> = self.criterion.cells().collect();
        let find = |cell: &(usize, usize)| {
            let found = schemes_in(self.criterion, *cell, std::slice::from_ref(self.scheme));
            found?.into_iter().next().ok_or(Error::Nothing)
        };
        let schemes: Vec<Scheme> = cells.iter().map(find).collect::<Result<_, Error>>()?;
        if let Some(reason) = schemes.first().and_then(|scheme| self.criterion.not_applicable(scheme)) {
            (0..cells.len() * self.seeds.len()).for_each(|i| progress.advanced(self.first + i, 1.0));
            return Ok(Some((CriterionResult::not_applicable(reason), Vec::new())));
        }
        let described: Vec<ScenarioInfo> =
            cells.iter().map(|(e, c)| describe(&self.criterion.experiments[*e].cases[*c].scenario)).collect();
        let one = |i: usize| {
            let (at, seed) = (i / self.seeds.len(), self.seeds[i % self.seeds.len()]);
            let case = &self.criterion.experiments[cells[at].0].cases[cells[at].1];
            let scheme = &schemes[at];
            let experiment = Experiment {
                scenario: case.scenario.clone(),
                schemes: Vec::new(),
                seeds: Vec::new(),
                events: Vec::new(),
            };
            let network = case.scenario.network();
            let mut advanced = |fraction| progress.advanced(self.first + i, fraction);
            let finished = experiment.run_one(&network, scheme, seed, Some(&mut advanced), stop, None)?;
            Ok(finished.map(|f| {
                hops.fetch_add(f.outcome.packet_hops, Ordering::Relaxed);
                Measured::beside(cells[at].1, f.run, &described[at], &self.limits[at])
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
        Ok(Some((self.criterion.judge(&Runs(by_experiment), self.scheme), shown)))
    }
}

fn show((experiment, case): (usize, usize), runs: &[Measured]) -> Shown {
    let mean = |key: &str| {
        let values: Vec<f64> = runs.iter().filter_map(|m| m.scalars.get(key).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let point = mean("attained").zip(mean("above_base_rtts.p99"));
    let Some(first) = runs.first() else { return Shown { experiment, case, point, ..Shown::default() } };
    let goodput = first.run.series.get(SeriesKind::Network, &[], "goodput_mbps").unwrap_or_default();
    let by = goodput.len().div_ceil(MAX_SHOWN).max(1);
    let bin_s = first.run.series.bin_s * by as f64;
    let (goodput_mbps, queue_ms) = (rebin(goodput, by), rebin(&longest_wait(&first.run), by));
    Shown { experiment, case, point, bin_s, goodput_mbps, queue_ms }
}

/// By bin, the largest of the links' mean waits.
fn longest_wait(run: &Run) -> Vec<f64> {
    let Some(column) = SeriesKind::Links.metrics().iter().position(|m| *m == "queue_ms") else { return Vec::new() };
    let mut longest = Vec::new();
    for values in run.series.table(SeriesKind::Links).iter().filter_map(|row| row.columns.get(column)) {
        longest.resize(values.len().max(longest.len()), 0.0);
        for (most, value) in longest.iter_mut().zip(values) {
            // A bin without departures has no wait.
            *most = f64::max(*most, *value);
        }
    }
    longest
}

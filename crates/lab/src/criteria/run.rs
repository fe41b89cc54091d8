//! Runs schemes in all criteria.

use super::cell_data::CellData;
use super::jobs::{Jobs, Need, Task};
use super::model::Criterion;
use super::record::{POINT, RunRecord};
use super::verdict::CriterionResult;
use crate::evaluation::{Measured, Runs};
use crate::experiment::{Error, Progress, Watching};
use crate::jobs::StoredResults;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

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
    /// Interests, Data and NACKs that crossed a link, by scheme; runs that criteria share count once.
    pub packet_hops: Vec<u64>,
    /// Whether runs are missing because the work was interrupted.
    pub partial: bool,
}

/// Runs and judges all criteria, see [`Jobs::run`].
///
/// # Errors
/// As [`Jobs::new`] and [`Jobs::run`].
pub fn run(
    criteria: &[Criterion],
    names: &[String],
    seeds: &[u64],
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Judgement, Error> {
    Jobs::new(criteria, names, seeds, "")?.run(None, progress, stop)
}

impl Jobs<'_> {
    /// Runs all jobs and judges. After `stop` is set, verdicts that lack a run are left out. With `stored`, its results
    /// are used instead of running their jobs, and results of other jobs are stored.
    ///
    /// The result depends only on the jobs, not on the number or the order of threads, nor on what was stored.
    ///
    /// # Errors
    /// [`Error::Network`] for scenarios that cannot be simulated, [`Error::Accounting`], [`Error::StoredResults`];
    /// [`Error::Nothing`] if nothing was complete.
    pub fn run(
        &self,
        stored: Option<&StoredResults>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Judgement, Error> {
        let one = |job: usize| self.get_or_run(job, stored, progress, stop);
        let records: Vec<Option<RunRecord>> = (0..self.len()).into_par_iter().map(one).collect::<Result<_, Error>>()?;
        let mut packet_hops = vec![0; self.schemes.len()];
        for (task, record) in self.tasks.iter().zip(&records) {
            packet_hops[task.column] += record.as_ref().map_or(0, |record| record.packet_hops);
        }
        let judged = |(criterion, row): (&Criterion, &Vec<Need>)| -> Vec<Option<(CriterionResult, Vec<CellData>)>> {
            row.iter().zip(&self.schemes).map(|(need, s)| self.judge(criterion, &s.name, need, &records)).collect()
        };
        let done: Vec<Vec<_>> = self.criteria.iter().zip(&self.needs).map(judged).collect();
        if done.iter().flatten().all(Option::is_none) {
            return Err(Error::Nothing);
        }
        let partial = done.iter().flatten().any(Option::is_none);
        let (mut results, mut shown) = (Vec::new(), Vec::new());
        for row in done {
            let (verdicts, cells): (Vec<_>, Vec<Option<Vec<CellData>>>) = row.into_iter().map(Option::unzip).unzip();
            results.push(verdicts);
            shown.push(cells.into_iter().map(Option::unwrap_or_default).collect());
        }
        Ok(Judgement {
            schemes: self.schemes.iter().map(|s| s.name.clone()).collect(),
            stand_ins: self.schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.clone()).collect(),
            seeds: self.seeds.to_vec(),
            results,
            shown,
            packet_hops,
            partial,
        })
    }

    /// Runs the jobs at these positions (see [`Jobs::part`]) and stores their results. Returns how many are stored now,
    /// fewer than asked for if `stop` was set.
    ///
    /// # Errors
    /// As [`Jobs::run`].
    pub fn store(
        &self,
        jobs: &[usize],
        stored: &StoredResults,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<usize, Error> {
        let one = |&job: &usize| Ok(self.get_or_run(job, Some(stored), progress, stop)?.is_some());
        let done: Vec<bool> = jobs.par_iter().map(one).collect::<Result<_, Error>>()?;
        Ok(done.into_iter().filter(|done| *done).count())
    }

    /// The stored result of a job, or runs it and stores its result; `None` if it was stopped.
    fn get_or_run(
        &self,
        job: usize,
        stored: Option<&StoredResults>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Option<RunRecord>, Error> {
        let task = &self.tasks[job];
        let found: Option<RunRecord> = stored.map(|stored| stored.get(&task.key)).transpose()?.flatten();
        let mut wanted = task.wanted.clone();
        if let Some(found) = found {
            if found.has(&wanted) {
                progress.advanced(job, 1.0);
                return Ok(Some(found));
            }
            // Whoever stored it reads other values of the run; both are kept.
            wanted.extend(&found.wanted());
        }
        let shared = &self.scenarios[task.scenario];
        let (experiment, inputs) = shared.prepared(self.criteria);
        let mut advanced = |fraction| progress.advanced(job, fraction);
        let Task { scheme, seed, key, .. } = task;
        let watching = Watching { progress: Some(&mut advanced), ..Watching::default() };
        let finished = experiment.run_one(inputs, scheme, *seed, stop, watching)?;
        let Some(finished) = finished else { return Ok(None) };
        let measured = Measured::with_limits(0, finished.run, &inputs.info, shared.limits(self.criteria));
        let record = RunRecord::new(&measured, &wanted, finished.outcome.packet_hops);
        if let Some(stored) = stored {
            stored.put(key, &record)?;
        }
        Ok(Some(record))
    }

    /// The verdict of a criterion on a scheme, with what is drawn of its cells; `None` if a run is missing.
    fn judge(
        &self,
        criterion: &Criterion,
        scheme: &str,
        need: &Need,
        records: &[Option<RunRecord>],
    ) -> Option<(CriterionResult, Vec<CellData>)> {
        let jobs = match need {
            Need::Nothing(reason) => return Some((CriterionResult::not_applicable(reason), Vec::new())),
            Need::Jobs(jobs) => jobs,
        };
        let records: Vec<&RunRecord> = jobs.iter().map(|job| records[*job].as_ref()).collect::<Option<_>>()?;
        let mut by_experiment: Vec<Vec<Measured>> = criterion.experiments.iter().map(|_| Vec::new()).collect();
        let mut shown = Vec::new();
        for ((experiment, case), records) in criterion.cells().zip(records.chunks(self.seeds.len())) {
            let runs: Vec<Measured> = records.iter().map(|record| record.measured(case)).collect();
            let series = records.first().map(|record| record.drawn.clone()).unwrap_or_default();
            let point = point(&runs);
            let estimate = runs.first().and_then(|run| run.estimate.clone()).filter(|_| point.is_some());
            shown.push(CellData { experiment, case, point, estimate, series });
            by_experiment[experiment].extend(runs);
        }
        Some((criterion.judge(&Runs(by_experiment), scheme), shown))
    }
}

/// The place of a cell in the picture of rate against delay, mean over runs.
fn point(runs: &[Measured]) -> Option<(f64, f64)> {
    let mean = |key: &str| {
        let values: Vec<f64> = runs.iter().filter_map(|m| m.scalars.get(key).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let [rate, delay] = POINT.map(mean);
    rate.zip(delay)
}

//! The jobs of a plan, and how they are run and stored.

use super::manifest::Manifest;
use super::plan::Plan;
use crate::experiment::{Error, Experiment, Inputs, Progress, Watching, optimum};
use crate::jobs::{StoredResults, cost, hash, key, part_of, scenario_hash, scheme_hash};
use crate::results::{Attained, Optimum, Run, significant};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Hash of what its result depends on.
    pub key: String,
    /// The experiment.
    pub experiment: String,
    /// The case; empty if nothing varies.
    pub case: String,
    /// The scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Estimated packet-hops, by which parts are balanced.
    pub cost: u64,
}

/// What is stored of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its metrics, without series.
    pub run: Run,
    /// How close its flows came to the optimum: mean, worst.
    pub attained: Option<(f64, f64)>,
    /// The scenario's optimum, if it has ideal completion times.
    pub optimum: Option<Optimum>,
    /// What is known about the optimum that `attained` is relative to, if it is an estimate.
    pub estimate: Option<String>,
}

impl Record {
    fn new(run: Run, optimum: &Optimum) -> Record {
        let goodputs = run.consumers.iter().map(|c| (c.name.as_str(), significant(c.goodput_mbps, 9)));
        let attained = optimum.attained(goodputs).map(|a| (a.mean, a.worst));
        let estimate = optimum.estimate.clone().filter(|_| attained.is_some());
        let optimum = (!optimum.completions.is_empty())
            .then(|| Optimum { completions: optimum.completions.clone(), ..Optimum::default() });
        Record { run, attained, optimum, estimate }
    }

    /// How close its flows came to the optimum.
    pub fn attained(&self) -> Option<Attained> {
        self.attained.map(|(mean, worst)| Attained { mean, worst })
    }
}

/// How many jobs are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// All jobs.
    pub jobs: usize,
    /// Those that are stored and can be read.
    pub done: usize,
    /// What is wrong with others.
    pub damaged: Vec<String>,
    /// Share of the estimated cost that is done, in thousandths.
    pub done_thousandths: u64,
}

/// A job by positions in the plan.
struct Task {
    key: String,
    experiment: usize,
    case: usize,
    scheme: usize,
    seed: u64,
    /// The position of its scenario among all different ones.
    scenario: usize,
}

/// What runs of one scenario share.
struct Shared {
    at: (usize, usize),
    cost: OnceLock<u64>,
    prepared: OnceLock<(Experiment, Inputs, Optimum)>,
}

/// A plan with its jobs, and the folder where their results are.
pub struct Sweep<'a> {
    plan: &'a Plan,
    folder: PathBuf,
    manifest: Manifest,
    stored: StoredResults,
    tasks: Vec<Task>,
    scenarios: Vec<Shared>,
}

impl<'a> Sweep<'a> {
    /// The jobs of a plan, by experiment, case, scheme and seed. `engine` names the program (see
    /// [`crate::jobs::engine`]). Nothing is written.
    pub fn new(plan: &'a Plan, engine: &str, folder: &Path) -> Sweep<'a> {
        let (mut tasks, mut scenarios) = (Vec::new(), Vec::new());
        let mut known: HashMap<String, usize> = HashMap::new();
        for (experiment, grid) in plan.experiments.iter().enumerate() {
            let schemes: Vec<String> = grid.schemes.iter().map(scheme_hash).collect();
            for (case, read) in grid.cases.iter().enumerate() {
                let scenario_hash = scenario_hash(&read.scenario);
                let scenario = *known.entry(scenario_hash.clone()).or_insert_with(|| {
                    let (at, cost, prepared) = ((experiment, case), OnceLock::new(), OnceLock::new());
                    scenarios.push(Shared { at, cost, prepared });
                    scenarios.len() - 1
                });
                for (scheme, scheme_hash) in schemes.iter().enumerate() {
                    for &seed in &plan.seeds {
                        let key = key(engine, &scenario_hash, scheme_hash, seed);
                        tasks.push(Task { key, experiment, case, scheme, seed, scenario });
                    }
                }
            }
        }
        let keys: String = tasks.iter().map(|task| format!("{}\n", task.key)).collect();
        let manifest = Manifest::new(engine.to_owned(), plan.name.clone(), hash(keys.as_bytes()));
        let stored = StoredResults::new(&folder.join("runs"));
        Sweep { plan, folder: folder.to_path_buf(), manifest, stored, tasks, scenarios }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.plan
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Checks that the folder is new or belongs to this sweep (see [`Manifest::claim`]). `command` has the words of the
    /// command that runs it.
    ///
    /// # Errors
    /// As there.
    pub fn claim(&self, command: Vec<String>) -> Result<(), crate::results::Error> {
        let mut manifest = self.manifest.clone();
        manifest.command = command;
        manifest.claim(&self.folder)
    }

    /// What the folder says about itself once it is claimed, but for the command.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// By job: its estimated cost in packet-hops.
    fn costs(&self) -> Vec<u64> {
        let of = |shared: &Shared| {
            let scenario = &self.plan.experiments[shared.at.0].cases[shared.at.1].scenario;
            *shared.cost.get_or_init(|| cost(scenario).round() as u64)
        };
        let costs: Vec<u64> = self.scenarios.par_iter().map(of).collect();
        self.tasks.iter().map(|task| costs[task.scenario]).collect()
    }

    /// The jobs as lists show them.
    pub fn list(&self) -> Vec<Job> {
        let job = |(task, cost): (&Task, u64)| {
            let grid = &self.plan.experiments[task.experiment];
            Job {
                key: task.key.clone(),
                experiment: grid.id.clone(),
                case: grid.cases[task.case].name.clone(),
                scheme: grid.schemes[task.scheme].name.clone(),
                seed: task.seed,
                cost,
            }
        };
        self.tasks.iter().zip(self.costs()).map(job).collect()
    }

    /// The positions of the jobs in part `part` (from 0 on) of `of`, whose estimated costs are nearly equal.
    pub fn part(&self, part: usize, of: usize) -> Vec<usize> {
        part_of(&self.costs(), part, of)
    }

    /// The positions of the jobs whose keys begin with one of these texts; `Err` with the first that none has.
    ///
    /// # Errors
    /// See above.
    pub fn jobs_named<'k>(&self, keys: &'k [String]) -> Result<Vec<usize>, &'k str> {
        let mut all = Vec::new();
        for key in keys {
            let before = all.len();
            all.extend((0..self.len()).filter(|job| !key.is_empty() && self.tasks[*job].key.starts_with(key.as_str())));
            if all.len() == before {
                return Err(key);
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// The stored result of a job.
    ///
    /// # Errors
    /// If its file is damaged or cannot be read.
    pub fn record(&self, job: usize) -> Result<Option<Record>, crate::results::Error> {
        self.stored.get(&self.tasks[job].key)
    }

    /// A job's experiment, case, overrides.
    pub(super) fn place(&self, job: usize) -> (&str, &crate::evaluation::Case) {
        let task = &self.tasks[job];
        let grid = &self.plan.experiments[task.experiment];
        (&grid.id, &grid.cases[task.case])
    }

    /// How many jobs are stored.
    pub fn status(&self) -> Status {
        let found: Vec<Result<bool, String>> = (0..self.len())
            .into_par_iter()
            .map(|job| self.record(job).map(|record| record.is_some()).map_err(|error| error.to_string()))
            .collect();
        let mut status = Status { jobs: self.len(), ..Status::default() };
        let (mut done, mut all) = (0u128, 0u128);
        for (cost, found) in self.costs().into_iter().zip(found) {
            let cost = u128::from(cost.max(1));
            all += cost;
            match found {
                Ok(true) => {
                    status.done += 1;
                    done += cost;
                }
                Ok(false) => {}
                Err(error) => status.damaged.push(error),
            }
        }
        status.done_thousandths = u64::try_from(done * 1000 / all.max(1)).unwrap_or(1000);
        status
    }

    /// Runs the jobs at these positions that are not stored yet, on all cores, and stores each as soon as it is done.
    /// Returns how many of them are stored now, fewer than asked for if `stop` was set.
    ///
    /// # Errors
    /// The first error of the simulator, or of storing.
    pub fn run(&self, jobs: &[usize], progress: &dyn Progress, stop: &AtomicBool) -> Result<usize, Error> {
        let one = |(number, &job): (usize, &usize)| -> Result<bool, Error> {
            if stop.load(Ordering::Relaxed) {
                return Ok(self.record(job)?.is_some());
            }
            if self.record(job)?.is_some() {
                progress.advanced(number, 1.0);
                return Ok(true);
            }
            self.run_one(job, &mut |fraction| progress.advanced(number, fraction), stop)
        };
        let done: Vec<bool> = jobs.par_iter().enumerate().map(one).collect::<Result<_, Error>>()?;
        Ok(done.into_iter().filter(|done| *done).count())
    }

    fn run_one(&self, job: usize, advanced: &mut dyn FnMut(f64), stop: &AtomicBool) -> Result<bool, Error> {
        let task = &self.tasks[job];
        let shared = &self.scenarios[task.scenario];
        let scenario = &self.plan.experiments[shared.at.0].cases[shared.at.1].scenario;
        let (experiment, inputs, optimum) = shared.prepared.get_or_init(|| {
            let (scenario, inputs, optimum) = (scenario.clone(), Inputs::new(scenario), optimum(scenario));
            (Experiment { scenario, schemes: Vec::new(), seeds: Vec::new(), events: Vec::new() }, inputs, optimum)
        });
        let scheme = &self.plan.experiments[task.experiment].schemes[task.scheme];
        let watching = Watching { progress: Some(advanced), ..Watching::default() };
        let Some(finished) = experiment.run_one(inputs, scheme, task.seed, stop, watching)? else {
            return Ok(false);
        };
        self.stored.put(&task.key, &Record::new(finished.run, optimum))?;
        Ok(true)
    }
}

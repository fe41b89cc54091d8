//! The jobs of a judgement: each a run of a scheme in a cell with a seed.
//!
//! Cells of several criteria with the same scenario share their runs. Thresholds are no part of a key, since what is
//! stored of a run are values, from which verdicts are computed each time.

use super::chosen::schemes_in;
use super::model::Criterion;
use super::record::Wanted;
use crate::evaluation::Limits;
use crate::experiment::{Error, Experiment, Inputs};
use crate::jobs::{cost, key, part_of, scenario_hash, scheme_hash};
use ndnweir_core::scheme::Scheme;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A job, as lists and plans show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Hash of what its result depends on, in hexadecimal digits (see [`crate::jobs::key`]).
    pub key: String,
    /// The first criterion that has it.
    pub criterion: String,
    /// The cell there.
    pub cell: String,
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Its estimated cost in packet-hops (see [`super::packet_hops`]), by which parts are balanced.
    pub cost: u64,
}

/// A scenario with what its runs share; several cells may have it.
pub(super) struct SharedScenario {
    /// The criterion, experiment and case where it was first seen.
    first: (usize, (usize, usize)),
    prepared: OnceLock<(Experiment, Inputs)>,
    limits: OnceLock<Limits>,
}

impl SharedScenario {
    pub(super) fn prepared(&self, criteria: &[Criterion]) -> &(Experiment, Inputs) {
        self.prepared.get_or_init(|| {
            let (criterion, (e, c)) = self.first;
            let scenario = criteria[criterion].experiments[e].cases[c].scenario.clone();
            let inputs = Inputs::new(&scenario);
            (Experiment { scenario, schemes: Vec::new(), seeds: Vec::new(), events: Vec::new() }, inputs)
        })
    }

    /// Computed by the first run, as stored results need none.
    pub(super) fn limits(&self, criteria: &[Criterion]) -> &Limits {
        self.limits.get_or_init(|| Limits::of(&self.prepared(criteria).0.scenario))
    }
}

/// A job with what its run needs.
pub(super) struct Task {
    pub(super) key: String,
    /// The scenario by position.
    pub(super) scenario: usize,
    pub(super) scheme: Arc<Scheme>,
    /// The scheme's position in the judgement.
    pub(super) column: usize,
    pub(super) seed: u64,
    pub(super) wanted: Wanted,
}

/// What a criterion needs for its verdict on a scheme.
pub(super) enum Need {
    /// It does not apply, for this reason.
    Nothing(String),
    /// The jobs by position: by cell, then seed.
    Jobs(Vec<usize>),
}

/// All jobs of a judgement.
pub struct Jobs<'a> {
    pub(super) criteria: &'a [Criterion],
    pub(super) schemes: Vec<Scheme>,
    pub(super) seeds: &'a [u64],
    pub(super) scenarios: Vec<SharedScenario>,
    pub(super) tasks: Vec<Task>,
    /// By criterion, then scheme.
    pub(super) needs: Vec<Vec<Need>>,
}

impl<'a> Jobs<'a> {
    /// The jobs by criterion, scheme, cell and seed, each once. `engine` identifies the program (see
    /// [`crate::jobs::engine`]); results that are not stored need none.
    ///
    /// # Errors
    /// [`Error::Choice`] for unknown scheme names, [`Error::Nothing`] if the criteria have no cells.
    pub fn new(criteria: &'a [Criterion], names: &[String], seeds: &'a [u64], engine: &str) -> Result<Jobs<'a>, Error> {
        let Some(first) = criteria.iter().find(|c| c.cells().next().is_some()) else { return Err(Error::Nothing) };
        let schemes = first.cells().take(1).map(|cell| super::chosen::chosen(first, cell, names));
        let schemes: Vec<Scheme> = schemes.collect::<Result<Vec<_>, _>>()?.concat();
        let mut jobs = Jobs { criteria, schemes, seeds, scenarios: Vec::new(), tasks: Vec::new(), needs: Vec::new() };
        let (mut scenarios, mut tasks) = (HashMap::new(), HashMap::new());
        for (number, criterion) in criteria.iter().enumerate() {
            let wanted = Wanted::of(criterion);
            let cells: Vec<(usize, usize)> = criterion.cells().collect();
            let places: Vec<(usize, String)> =
                cells.iter().map(|cell| jobs.scenario((number, *cell), &mut scenarios)).collect();
            let mut row = Vec::new();
            for column in 0..jobs.schemes.len() {
                let in_cells = schemes_in(criterion, &jobs.schemes[column].name)?;
                if let Some(reason) = in_cells.first().and_then(|scheme| criterion.not_applicable(scheme)) {
                    row.push(Need::Nothing(reason.to_owned()));
                    continue;
                }
                let mut needed = Vec::with_capacity(cells.len() * seeds.len());
                for ((cell, (scenario, hash)), scheme) in cells.iter().zip(&places).zip(in_cells) {
                    let (of_scheme, scheme) = (scheme_hash(&scheme), Arc::new(scheme));
                    for &seed in seeds {
                        let key = key(engine, hash, &of_scheme, seed);
                        let task = *tasks.entry(key.clone()).or_insert_with(|| {
                            let (scenario, scheme) = (*scenario, Arc::clone(&scheme));
                            jobs.tasks.push(Task { key, scenario, scheme, column, seed, wanted: Wanted::default() });
                            jobs.tasks.len() - 1
                        });
                        jobs.tasks[task].wanted.extend(&wanted[cell.0]);
                        needed.push(task);
                    }
                }
                row.push(Need::Jobs(needed));
            }
            jobs.needs.push(row);
        }
        Ok(jobs)
    }

    /// The position of a cell's scenario, and its hash.
    fn scenario(&mut self, first: (usize, (usize, usize)), known: &mut HashMap<String, usize>) -> (usize, String) {
        let (criterion, (e, c)) = first;
        let hash = scenario_hash(&self.criteria[criterion].experiments[e].cases[c].scenario);
        let at = *known.entry(hash.clone()).or_insert_with(|| {
            self.scenarios.push(SharedScenario { first, prepared: OnceLock::new(), limits: OnceLock::new() });
            self.scenarios.len() - 1
        });
        (at, hash)
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none: the criteria apply to none of the schemes.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// By job: its estimated cost in packet-hops.
    fn costs(&self) -> Vec<u64> {
        let cost = |shared: &SharedScenario| {
            let (criterion, (e, c)) = shared.first;
            cost(&self.criteria[criterion].experiments[e].cases[c].scenario).round() as u64
        };
        let costs: Vec<u64> = self.scenarios.iter().map(cost).collect();
        self.tasks.iter().map(|task| costs[task.scenario]).collect()
    }

    /// The jobs as lists and plans show them.
    pub fn list(&self) -> Vec<Job> {
        let job = |(task, cost): (&Task, u64)| {
            let (criterion, (e, c)) = self.scenarios[task.scenario].first;
            Job {
                key: task.key.clone(),
                criterion: self.criteria[criterion].name.clone(),
                cell: self.criteria[criterion].cell_name(e, c),
                scheme: task.scheme.name.clone(),
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
}

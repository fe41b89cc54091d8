//! What is kept of a run: the values that measures read, and the data that are drawn.
//!
//! Verdicts are always computed from this, whether a run has just ended or its record was stored, so that both give the
//! same bytes.

use super::cell_data::CellSeries;
use super::model::Criterion;
use crate::evaluation::eval::{ANY, split};
use crate::evaluation::expr::{Expr, Signature};
use crate::evaluation::{ExperimentGrid, Measured};
use crate::results::{Rows, Run, SeriesKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The scalars that place a run in the picture of rate against delay.
pub(super) const POINT: [&str; 2] = ["attained", "above_base_rtts.p99"];

/// The names that measures read of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Scalars, and patterns of scalars.
    scalars: BTreeSet<String>,
    /// Series, and patterns of consumers' series.
    series: BTreeSet<String>,
}

impl Wanted {
    /// By experiment: what the criterion's measures read of its runs.
    pub(super) fn of(criterion: &Criterion) -> Vec<Wanted> {
        let mut all = vec![Wanted::default(); criterion.experiments.len()];
        for wanted in &mut all {
            wanted.scalars.extend(POINT.map(String::from));
        }
        for measure in &criterion.measures {
            for experiment in &measure.experiments {
                for expr in [&measure.metric, &measure.limit] {
                    collect(expr, *experiment, &criterion.experiments, &mut all);
                }
            }
        }
        all
    }

    /// Adds what another criterion reads of the same run.
    pub(super) fn extend(&mut self, other: &Wanted) {
        self.scalars.extend(other.scalars.iter().cloned());
        self.series.extend(other.series.iter().cloned());
    }
}

fn collect(expr: &Expr, experiment: usize, grids: &[ExperimentGrid], all: &mut [Wanted]) {
    match expr {
        Expr::Number(_) => {}
        Expr::Name(name) => {
            all[experiment].scalars.insert(name.clone());
        }
        Expr::At(inner, target) => {
            let there = target.experiment.as_ref().and_then(|id| grids.iter().position(|g| g.id == *id));
            collect(inner, there.unwrap_or(experiment), grids, all);
        }
        Expr::Call(function, arguments) => {
            let mut rest = arguments.as_slice();
            // The first argument of these is no scalar.
            match (function.signature(), arguments.as_slice()) {
                (Signature::Series | Signature::Reach, [Expr::Name(name), more @ ..]) => {
                    all[experiment].series.insert(name.clone());
                    rest = more;
                }
                (Signature::Share, [Expr::Name(part), Expr::Name(other), more @ ..]) => {
                    all[experiment].series.extend([part.clone(), other.clone()]);
                    rest = more;
                }
                (Signature::Event | Signature::Dwell, [_, more @ ..]) => rest = more,
                _ => {}
            }
            rest.iter().for_each(|e| collect(e, experiment, grids, all));
        }
    }
}

/// The values of a series, `None` where it is undefined.
type Values = Vec<Option<f64>>;

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    scheme: String,
    seed: u64,
    /// By name: the value, `None` if it is undefined.
    scalars: BTreeMap<String, Option<f64>>,
    /// By pattern: the values of all names that match, `None` if one of them is undefined or none matches.
    patterns: BTreeMap<String, Option<Vec<f64>>>,
    /// By name of a series or pattern of consumers' series: the rows, each with the keys of its subject.
    series: BTreeMap<String, Vec<(Vec<String>, Values)>>,
    /// Width of a bin of the series, in s.
    bin_s: f64,
    /// What is drawn.
    pub(super) drawn: CellSeries,
    /// Interests, Data and NACKs that crossed a link.
    pub packet_hops: u64,
    /// What is known about the optimum that scalars are relative to, if it is an estimate.
    pub(super) estimate: Option<String>,
}

impl RunRecord {
    /// What is wanted of a run.
    pub(super) fn new(measured: &Measured, wanted: &Wanted, packet_hops: u64) -> RunRecord {
        let run = &measured.run;
        let (patterns, scalars): (Vec<&String>, Vec<&String>) =
            wanted.scalars.iter().partition(|name| name.contains(ANY));
        // What JSON cannot hold is undefined here too, so that a stored record is the same as a fresh one.
        let scalar = |name: &String| measured.scalars.get(name).copied().filter(|v| v.is_finite());
        let pattern = |name: &String| measured.every(name).filter(|all| all.iter().all(|v| v.is_finite()));
        RunRecord {
            scheme: run.scheme.clone(),
            seed: run.seed,
            scalars: scalars.into_iter().map(|name| (name.clone(), scalar(name))).collect(),
            patterns: patterns.into_iter().map(|name| (name.clone(), pattern(name))).collect(),
            series: wanted.series.iter().map(|name| (name.clone(), rows(run, name))).collect(),
            bin_s: run.series.bin_s,
            drawn: CellSeries::of(run),
            packet_hops,
            estimate: measured.estimate.clone(),
        }
    }

    /// Whether it has all that is wanted: the record of an earlier version of a criterion may lack what a changed
    /// measure reads.
    pub(super) fn has(&self, wanted: &Wanted) -> bool {
        let known = |name: &String| self.scalars.contains_key(name) || self.patterns.contains_key(name);
        wanted.scalars.iter().all(known) && wanted.series.iter().all(|name| self.series.contains_key(name))
    }

    /// All that it has, to be wanted again.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            scalars: self.scalars.keys().chain(self.patterns.keys()).cloned().collect(),
            series: self.series.keys().cloned().collect(),
        }
    }

    /// The run as far as measures read it.
    pub(super) fn measured(&self, case: usize) -> Measured {
        let mut run = Run { scheme: self.scheme.clone(), seed: self.seed, ..Run::default() };
        run.series.bin_s = self.bin_s;
        for (name, rows) in &self.series {
            let Some((kind, _, metric)) = split(name) else { continue };
            let Some(column) = kind.metrics().iter().position(|m| *m == metric) else { continue };
            let table = &mut run.series.tables[kind as usize];
            for (key, values) in rows {
                let at = table.iter().position(|row| row.key == *key).unwrap_or_else(|| {
                    table.push(Rows { key: key.clone(), columns: vec![Vec::new(); kind.metrics().len()] });
                    table.len() - 1
                });
                table[at].columns[column] = values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
            }
        }
        let defined = |(name, value): (&String, &Option<f64>)| value.map(|value| (name.clone(), value));
        let scalars = self.scalars.iter().filter_map(defined).collect();
        Measured { case, run, scalars, patterns: self.patterns.clone(), estimate: self.estimate.clone() }
    }
}

/// The rows of a series, or of a pattern of consumers' series.
fn rows(run: &Run, name: &str) -> Vec<(Vec<String>, Values)> {
    let Some((kind, keys, metric)) = split(name) else { return Vec::new() };
    let Some(column) = kind.metrics().iter().position(|m| *m == metric) else { return Vec::new() };
    let all = kind == SeriesKind::Consumers && keys == [ANY];
    let fitting = run.series.table(kind).iter().filter(|row| all || row.key == keys);
    let values = |row: &Rows| row.columns[column].iter().map(|v| v.is_finite().then_some(*v)).collect();
    fitting.map(|row| (row.key.clone(), values(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::expr::parse;

    #[test]
    fn a_stored_record_still_knows_that_its_optimum_is_an_estimate() {
        let again = |estimate: Option<String>| {
            let measured = Measured { estimate, ..Measured::default() };
            let record = RunRecord::new(&measured, &Wanted::default(), 0);
            let stored = serde_json::to_string(&record).unwrap();
            serde_json::from_str::<RunRecord>(&stored).unwrap().measured(0).estimate
        };
        assert_eq!(again(Some("7 of 9 flows are proved".into())).as_deref(), Some("7 of 9 flows are proved"));
        assert_eq!(again(None), None);
    }

    #[test]
    fn names_are_collected_by_the_experiment_and_the_place_they_are_read_at() {
        let grid = |id: &str| ExperimentGrid {
            id: id.into(),
            about: String::new(),
            cases: Vec::new(),
            schemes: Vec::new(),
            events: Vec::new(),
        };
        let grids = [grid("a"), grid("b")];
        let mut all = vec![Wanted::default(); 2];
        let text = "ratio(largest(consumers.*.x), reach(consumers.C.goodput_mbps, 3, product(2, y)@b:s))";
        collect(&parse(text).unwrap(), 0, &grids, &mut all);
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(all[0].scalars, set(&["consumers.*.x"]));
        assert_eq!(all[0].series, set(&["consumers.C.goodput_mbps"]));
        assert_eq!((&all[1].scalars, all[1].series.len()), (&set(&["y"]), 0));
    }
}

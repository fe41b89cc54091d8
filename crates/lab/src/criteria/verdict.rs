//! The verdict on a scheme from measured values.
//!
//! - A **cell** is a case of an experiment; its value is the mean over seeds. With thresholds `pass` and `weak`, a
//!   value at least as good as `pass` is a pass, otherwise one at least as good as `weak` is weak, otherwise it is a
//!   failure, also if the metric is undefined in every run (an object that never arrived has no completion time).
//! - A **measure** has the verdict of its worst cell, or of its median cell if it says so.
//! - A **criterion** has the verdict of its worst measure. It is not applicable to the schemes that it excludes; the
//!   exclusion gives a reason.

use super::model::{Better, Combine, Criterion, Measure};
use crate::evaluation::{ExperimentGrid, Runs};
use crate::results::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The verdicts, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionVerdict {
    /// At least as good as the `pass` threshold.
    Pass,
    /// Worse than `pass`, but at least as good as `weak`.
    Weak,
    /// Worse than `weak`, or not measurable.
    Fail,
    /// The criterion does not apply.
    NotApplicable,
}

impl CriterionVerdict {
    /// The verdict as text.
    pub fn text(self) -> &'static str {
        match self {
            CriterionVerdict::Pass => "pass",
            CriterionVerdict::Weak => "weak",
            CriterionVerdict::Fail => "FAIL",
            CriterionVerdict::NotApplicable => "n/a",
        }
    }
}

/// The result of a measure in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position.
    pub case: usize,
    /// Mean and spread over seeds; `None` if the metric is undefined in every run.
    pub value: Option<Summary>,
    /// The limit for any scheme, mean over seeds.
    pub limit: Option<f64>,
    /// The verdict.
    pub verdict: CriterionVerdict,
    /// What is known about the optimum that value or limit are relative to, if it is an estimate.
    pub estimate: Option<String>,
}

/// The result of a measure for a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureResult {
    /// Its cells.
    pub cells: Vec<CellResult>,
    /// The position of the cell that decides.
    pub decided: usize,
}

impl MeasureResult {
    /// The cell that decides.
    pub fn cell(&self) -> &CellResult {
        &self.cells[self.decided]
    }
}

/// The result of a criterion for a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The verdict.
    pub verdict: CriterionVerdict,
    /// Why the criterion is not applicable; empty if it is applicable.
    pub reason: String,
    /// By measure; empty if the criterion is not applicable.
    pub measures: Vec<MeasureResult>,
}

impl CriterionResult {
    /// The result for a scheme that the criterion does not apply to.
    pub fn not_applicable(reason: &str) -> CriterionResult {
        CriterionResult { verdict: CriterionVerdict::NotApplicable, reason: reason.to_owned(), measures: Vec::new() }
    }
}

impl Measure {
    /// The verdict on a measured value.
    pub fn verdict(&self, value: f64) -> CriterionVerdict {
        // A small tolerance for rounding, so that a value equal to the threshold passes.
        let room = |threshold: f64| 1e-9 * threshold.abs().max(1e-9);
        let meets = |threshold: f64| match self.better {
            Better::Less => value <= threshold + room(threshold),
            Better::More => value >= threshold - room(threshold),
        };
        if meets(self.pass) {
            CriterionVerdict::Pass
        } else if meets(self.weak) {
            CriterionVerdict::Weak
        } else {
            CriterionVerdict::Fail
        }
    }

    /// A number that orders the cells of the measure from good to bad.
    fn badness(&self, cell: &CellResult) -> f64 {
        match (&cell.value, self.better) {
            (None, _) => f64::INFINITY,
            (Some(s), Better::Less) => s.mean,
            (Some(s), Better::More) => -s.mean,
        }
    }

    fn judge(&self, grids: &[ExperimentGrid], runs: &Runs, scheme: &str) -> Option<MeasureResult> {
        let cell = |(experiment, case): (usize, usize)| {
            let value = runs.summary(grids, experiment, Some(case), scheme, &self.metric).map(|(s, _)| s);
            let limit = runs.summary(grids, experiment, Some(case), scheme, &self.limit).map(|(s, _)| s.mean);
            let verdict = value.as_ref().map_or(CriterionVerdict::Fail, |s| self.verdict(s.mean));
            let found =
                |run| [&self.metric, &self.limit].into_iter().find_map(|e| runs.estimate(grids, experiment, run, e));
            let estimate = runs.of(experiment, Some(case), scheme).find_map(found).map(String::from);
            CellResult { experiment, case, value, limit, verdict, estimate }
        };
        let places = self.experiments.iter().flat_map(|&e| (0..grids[e].cases.len()).map(move |c| (e, c)));
        let cells: Vec<CellResult> = places.map(cell).collect();
        let mut order: Vec<usize> = (0..cells.len()).collect();
        // From worst to best; the sort is stable, so that among equal cells the first in the file decides.
        order.sort_by(|a, b| self.badness(&cells[*b]).total_cmp(&self.badness(&cells[*a])));
        let decided = match self.combine {
            Combine::Worst => *order.first()?,
            Combine::Median => *order.get(cells.len().checked_sub(1)? / 2)?,
        };
        Some(MeasureResult { cells, decided })
    }
}

impl Criterion {
    /// The cells with a measure that is relative to an estimate of the optimum, by name, and what is known about it.
    pub fn estimates<'a>(&self, results: &'a [Option<CriterionResult>]) -> BTreeMap<String, &'a str> {
        let cells = results.iter().flatten().flat_map(|r| &r.measures).flat_map(|m| &m.cells);
        let named =
            |cell: &'a CellResult| Some((self.cell_name(cell.experiment, cell.case), cell.estimate.as_deref()?));
        cells.filter_map(named).collect()
    }

    /// Judges the runs of a scheme.
    pub fn judge(&self, runs: &Runs, scheme: &str) -> CriterionResult {
        let of = |m: &Measure| m.judge(&self.experiments, runs, scheme);
        let measures: Vec<MeasureResult> = self.measures.iter().filter_map(of).collect();
        let verdict = measures.iter().map(|m| m.cell().verdict).max().unwrap_or(CriterionVerdict::Fail);
        CriterionResult { verdict, reason: String::new(), measures }
    }
}

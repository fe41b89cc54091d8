//! The verdict about a scheme from measured values.
//!
//! - A **cell** is a case of an experiment; its value is the mean over seeds. With thresholds `pass` and `weak`, a value at
//!   least as good as `pass` is a pass, else one at least as good as `weak` is weak, else it is a failure, also where
//!   the metric is undefined in every run (an object that never arrived has no completion time).
//! - A **measure** has the verdict of its worst cell, or where it says so of its median cell.
//! - A **criterion** has that of its worst measure. It is not applicable to the schemes that it excludes, with its
//!   reason.

use super::model::{Better, Combine, Criterion, Measure};
use crate::evaluation::{ExperimentGrid, Runs};
use crate::results::Summary;
use serde::{Deserialize, Serialize};

/// The verdicts, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionVerdict {
    /// At least as good as asked.
    Pass,
    /// Not as good, but not bad.
    Weak,
    /// Bad, or not measurable.
    Fail,
    /// The criterion does not apply.
    NotApplicable,
}

impl CriterionVerdict {
    /// As text.
    pub fn text(self) -> &'static str {
        match self {
            CriterionVerdict::Pass => "pass",
            CriterionVerdict::Weak => "weak",
            CriterionVerdict::Fail => "FAIL",
            CriterionVerdict::NotApplicable => "n/a",
        }
    }
}

/// A measure in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position.
    pub case: usize,
    /// Over seeds; none where no run defines the metric.
    pub value: Option<Summary>,
    /// The limit for any scheme, mean over seeds.
    pub limit: Option<f64>,
    /// The verdict.
    pub verdict: CriterionVerdict,
}

/// A measure of a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureResult {
    /// Its cells.
    pub cells: Vec<CellResult>,
    /// The cell that decides, by position.
    pub decided: usize,
}

impl MeasureResult {
    /// The cell that decides.
    pub fn cell(&self) -> &CellResult {
        &self.cells[self.decided]
    }
}

/// A criterion of a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionResult {
    /// The verdict.
    pub verdict: CriterionVerdict,
    /// Why it is not applicable; empty where it is.
    pub reason: String,
    /// By measure; none where it is not applicable.
    pub measures: Vec<MeasureResult>,
}

impl CriterionResult {
    /// Of a scheme that the criterion does not apply to.
    pub fn not_applicable(reason: &str) -> CriterionResult {
        CriterionResult { verdict: CriterionVerdict::NotApplicable, reason: reason.to_owned(), measures: Vec::new() }
    }
}

impl Measure {
    /// The verdict on a value.
    pub fn verdict(&self, value: f64) -> CriterionVerdict {
        // A small tolerance, so that a threshold met exactly is met.
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

    /// How bad a cell is, to compare it with others of the measure.
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
            CellResult { experiment, case, value, limit, verdict }
        };
        let places = self.experiments.iter().flat_map(|&e| (0..grids[e].cases.len()).map(move |c| (e, c)));
        let cells: Vec<CellResult> = places.map(cell).collect();
        let mut order: Vec<usize> = (0..cells.len()).collect();
        // From bad to good; stable, so that of equal cells the first of the file decides.
        order.sort_by(|a, b| self.badness(&cells[*b]).total_cmp(&self.badness(&cells[*a])));
        let decided = match self.combine {
            Combine::Worst => *order.first()?,
            Combine::Median => *order.get(cells.len().checked_sub(1)? / 2)?,
        };
        Some(MeasureResult { cells, decided })
    }
}

impl Criterion {
    /// Judges the runs of a scheme.
    pub fn judge(&self, runs: &Runs, scheme: &str) -> CriterionResult {
        let of = |m: &Measure| m.judge(&self.experiments, runs, scheme);
        let measures: Vec<MeasureResult> = self.measures.iter().filter_map(of).collect();
        let verdict = measures.iter().map(|m| m.cell().verdict).max().unwrap_or(CriterionVerdict::Fail);
        CriterionResult { verdict, reason: String::new(), measures }
    }
}

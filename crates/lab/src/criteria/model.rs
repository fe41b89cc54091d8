//! A criterion as data.

use crate::evaluation::ExperimentGrid;
use crate::evaluation::expr::Expr;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::Location;

/// How strongly RFC 9743 requires the evaluation; it never requires a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// MUST be evaluated.
    Must,
    /// SHOULD be.
    Should,
    /// MAY be.
    May,
    /// Recommended in lower case.
    Advice,
    /// Not required.
    None,
}

impl Strength {
    /// All strengths, with their names in files.
    pub const ALL: [(&'static str, Strength); 5] = [
        ("MUST", Strength::Must),
        ("SHOULD", Strength::Should),
        ("MAY", Strength::May),
        ("advice", Strength::Advice),
        ("none", Strength::None),
    ];

    /// The name of the strength.
    pub fn text(self) -> &'static str {
        Strength::ALL.iter().find(|s| s.1 == self).map_or("none", |s| s.0)
    }
}

/// The depth of a judgement: how many cases are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Less than a minute for a scheme.
    Quick,
    /// The depth of the published verdicts.
    #[default]
    Default,
    /// Includes the largest cases.
    Full,
}

impl Depth {
    /// All depths, with their names in files.
    pub const ALL: [(&'static str, Depth); 3] =
        [("quick", Depth::Quick), ("default", Depth::Default), ("full", Depth::Full)];

    /// The name of the depth.
    pub fn text(self) -> &'static str {
        Depth::ALL[self as usize].0
    }
}

/// Which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Small values.
    Less,
    /// Large values.
    More,
}

/// How the cells of a measure are combined into one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The worst cell decides.
    Worst,
    /// The median cell decides; of two median cells, the worse one.
    Median,
}

impl Combine {
    /// The name used in files.
    pub fn text(self) -> &'static str {
        match self {
            Combine::Worst => "worst",
            Combine::Median => "median",
        }
    }
}

/// A criterion whose file has been checked.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// The name of the file.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Section of RFC 9743; `NDN` and `held out` for criteria beyond it.
    pub section: String,
    /// How strongly RFC 9743 requires it.
    pub strength: Strength,
    /// The question, in one sentence.
    pub question: String,
    /// The experiments that are run.
    pub experiments: Vec<ExperimentGrid>,
    /// The texts of scenario files by the names that cases use, without the shipped scenarios.
    pub files: Vec<(String, String)>,
    /// The measures.
    pub measures: Vec<Measure>,
    /// The schemes that it does not apply to.
    pub exceptions: Vec<NotApplicable>,
}

/// A measured value and its thresholds.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Unique in its criterion.
    pub id: String,
    /// What is measured, in words.
    pub label: String,
    /// Unit; empty for shares and ratios.
    pub unit: String,
    /// Positions of the experiments whose cases are its cells.
    pub experiments: Vec<usize>,
    /// The expression that is measured.
    pub metric: Expr,
    /// The limit: a value that no scheme can better.
    pub limit: Expr,
    /// Description of the limit.
    pub limit_label: String,
    /// Which values are good.
    pub better: Better,
    /// The threshold of a pass.
    pub pass: f64,
    /// The threshold between weak and a failure.
    pub weak: f64,
    /// How cells are combined into a verdict.
    pub combine: Combine,
    /// The reason for these thresholds.
    pub reason: String,
    /// Its place in the file.
    pub place: Location,
}

/// Schemes with one of these components are not judged.
#[derive(Clone, Debug)]
pub struct NotApplicable {
    /// The family of the components.
    pub family: Family,
    /// The names of the components.
    pub components: Vec<String>,
    /// The reason, as the words after "not applicable:".
    pub reason: String,
}

impl Criterion {
    /// Why the criterion does not apply to a scheme; `None` if it does.
    pub fn not_applicable(&self, scheme: &Scheme) -> Option<&str> {
        let fits = |e: &&NotApplicable| e.components.iter().any(|name| name == scheme.part(e.family).name);
        self.exceptions.iter().find(fits).map(|e| e.reason.as_str())
    }

    /// The cells: experiment and case by position.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        self.experiments.iter().enumerate().flat_map(|(e, grid)| (0..grid.cases.len()).map(move |c| (e, c)))
    }

    /// The name of a cell.
    pub fn cell_name(&self, experiment: usize, case: usize) -> String {
        let grid = &self.experiments[experiment];
        match grid.cases[case].name.as_str() {
            "" => grid.id.clone(),
            name => format!("{}: {name}", grid.id),
        }
    }
}

//! A criterion as data.

use crate::evaluation::ExperimentGrid;
use crate::evaluation::expr::Expr;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::Location;

/// How strongly RFC 9743 calls for the evaluation; it never calls for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// MUST be evaluated.
    Must,
    /// SHOULD be.
    Should,
    /// MAY be.
    May,
    /// Asked for in lower case.
    Advice,
    /// Not requested.
    None,
}

impl Strength {
    /// All, as files write them.
    pub const ALL: [(&'static str, Strength); 5] = [
        ("MUST", Strength::Must),
        ("SHOULD", Strength::Should),
        ("MAY", Strength::May),
        ("advice", Strength::Advice),
        ("none", Strength::None),
    ];

    /// As text.
    pub fn text(self) -> &'static str {
        Strength::ALL.iter().find(|s| s.1 == self).map_or("none", |s| s.0)
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Less than a minute for a scheme.
    Quick,
    /// The depth of published verdicts.
    #[default]
    Default,
    /// With what is large.
    Full,
}

impl Depth {
    /// All, as files write them.
    pub const ALL: [(&'static str, Depth); 3] =
        [("quick", Depth::Quick), ("default", Depth::Default), ("full", Depth::Full)];

    /// As text.
    pub fn text(self) -> &'static str {
        Depth::ALL[self as usize].0
    }
}

/// Which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Small ones.
    Less,
    /// Large ones.
    More,
}

/// How the cells of a measure make one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The worst cell decides.
    Worst,
    /// The median cell decides, of two the worse.
    Median,
}

impl Combine {
    /// As files write it.
    pub fn text(self) -> &'static str {
        match self {
            Combine::Worst => "worst",
            Combine::Median => "median",
        }
    }
}

/// A criterion, checked.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// The file's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Section of RFC 9743; `NDN` and `held out` for what it does not cover.
    pub section: String,
    /// How strongly it asks.
    pub strength: Strength,
    /// The question, in one sentence.
    pub question: String,
    /// What is run.
    pub experiments: Vec<ExperimentGrid>,
    /// The texts of scenario files by the names that cases give; shipped scenarios are not among them.
    pub files: Vec<(String, String)>,
    /// What is looked at.
    pub measures: Vec<Measure>,
    /// Schemes that it does not apply to.
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
    /// Experiments by position, whose cases are its cells.
    pub experiments: Vec<usize>,
    /// How it is measured.
    pub metric: Expr,
    /// What no scheme can better.
    pub limit: Expr,
    /// What that is, in words.
    pub limit_label: String,
    /// Which values are good.
    pub better: Better,
    /// Threshold of a pass.
    pub pass: f64,
    /// Threshold of what is not yet a failure.
    pub weak: f64,
    /// How cells make a verdict.
    pub combine: Combine,
    /// Why these thresholds.
    pub reason: String,
    /// Where it was written.
    pub place: Location,
}

/// Schemes with one of these components are not judged.
#[derive(Clone, Debug)]
pub struct NotApplicable {
    /// Of this family.
    pub family: Family,
    /// Any of these.
    pub components: Vec<String>,
    /// Why, as what follows "not applicable:".
    pub reason: String,
}

impl Criterion {
    /// Why the criterion does not apply to a scheme, if so.
    pub fn not_applicable(&self, scheme: &Scheme) -> Option<&str> {
        let fits = |e: &&NotApplicable| e.components.iter().any(|name| name == scheme.part(e.family).name);
        self.exceptions.iter().find(fits).map(|e| e.reason.as_str())
    }

    /// Its cells: experiment and case by position.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        self.experiments.iter().enumerate().flat_map(|(e, grid)| (0..grid.cases.len()).map(move |c| (e, c)))
    }

    /// What a cell is called.
    pub fn cell_name(&self, experiment: usize, case: usize) -> String {
        let grid = &self.experiments[experiment];
        match grid.cases[case].name.as_str() {
            "" => grid.id.clone(),
            name => format!("{}: {name}", grid.id),
        }
    }
}

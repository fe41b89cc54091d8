//! A paper's evaluation as data: experiments, published values, figures.

use super::trends::Trend;
use crate::evaluation::ExperimentGrid;
use crate::evaluation::expr::Expr;
use ndnweir_scenario::Location;

/// A paper and its evaluation, after checks.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The folder's name.
    pub name: String,
    /// The paper's title.
    pub title: String,
    /// Authors, publication and year.
    pub citation: String,
    /// One line for lists of papers.
    pub summary: String,
    /// The experiments. An entry uses all cases of an experiment together unless it names one.
    pub experiments: Vec<ExperimentGrid>,
    /// The published values, in the order of the file.
    pub entries: Vec<PublishedEntry>,
    /// The figures.
    pub figures: Vec<PaperFigure>,
    /// Experiments whose ideal allocations are shown in a table.
    pub references: Vec<String>,
    /// Open questions of the paper, choices, attempts and differences: Markdown.
    pub page: String,
}

/// A published value or statement that measured values are compared with.
#[derive(Clone, Debug)]
pub struct PublishedEntry {
    /// Unique; an entry for several schemes is split, and the ids end with the scheme.
    pub id: String,
    /// Table, figure or section of the paper.
    pub source: String,
    /// What is measured, in words.
    pub label: String,
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position; `None` is all of them.
    pub case: Option<usize>,
    /// The scheme; empty if an entry compares several.
    pub scheme: String,
    /// Unit of published and measured values.
    pub unit: String,
    /// A choice of ours that was fitted to this value, so that it cannot confirm it.
    pub fitted: Option<String>,
    /// Remark for the reader.
    pub note: String,
    /// The statement that is compared.
    pub kind: StatementKind,
    /// Its place in the file.
    pub place: Location,
}

/// The three kinds of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A number in a text or table.
    Number {
        /// The expression that is measured.
        metric: Expr,
        /// The published number.
        published: f64,
        /// The largest difference that counts as equal, in the entry's unit.
        tolerance: f64,
        /// The tolerance as written.
        written: String,
        /// The reason for the tolerance.
        reason: String,
        /// Id of the ordering that is checked if the number is not reproduced.
        ordering: Option<String>,
    },
    /// An order of several values.
    Ordering {
        /// Labels and values, in the order to which the rule refers.
        items: Vec<(String, Expr)>,
        /// The rule.
        rule: Rule,
    },
    /// The shape of a curve.
    Trend {
        /// The check.
        trend: Trend,
        /// The curve.
        series: String,
        /// Start of the time range, in s.
        from: f64,
        /// End of the time range, in s.
        to: f64,
    },
}

/// The rule of an ordering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Each item is larger than the one before.
    Ascending,
    /// Each item is smaller than the one before.
    Descending,
    /// The first item is smaller than every other.
    FirstSmallest,
    /// The first item is larger than every other.
    FirstLargest,
    /// Any two differ by at most this fraction of their mean.
    Near(f64),
}

/// A figure of the report.
#[derive(Clone, Debug)]
pub struct PaperFigure {
    /// File name and anchor.
    pub id: String,
    /// Figure of the paper, or "beyond the paper".
    pub source: String,
    /// Heading.
    pub title: String,
    /// Description of the figure.
    pub caption: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Lowest and highest value of the vertical axis, if fixed.
    pub y_range: Option<(f64, f64)>,
    /// The kind of drawing.
    pub kind: Drawing,
    /// The panels.
    pub panels: Vec<PaperPanel>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drawing {
    /// Series over time, of the first seed.
    Lines {
        /// End of the time range, in s.
        to: f64,
        /// Means over this many s.
        bin: f64,
    },
    /// Mean and spread over seeds, a group of bars for each item or case, a bar for each scheme.
    Bars,
    /// Delay of consumers, mean over seeds of each quantile; a box for each scheme and item.
    Boxes,
}

/// A panel of a figure.
#[derive(Clone, Debug)]
pub struct PaperPanel {
    /// Heading.
    pub title: String,
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position; with `None`, bars have a group for each case.
    pub case: Option<usize>,
    /// The schemes that are drawn.
    pub schemes: Vec<String>,
    /// Labels and expressions: series for lines, metrics for bars, consumers for boxes.
    pub items: Vec<(String, Expr)>,
    /// Published or ideal values drawn as lines.
    pub marks: Vec<(f64, String)>,
    /// For bars: lowest and highest value of this panel's axis, if fixed.
    pub y_range: Option<(f64, f64)>,
}

//! A paper's evaluation as data: what to run, what was published, what to draw.

use super::trends::Trend;
use crate::evaluation::ExperimentGrid;
use crate::evaluation::expr::Expr;
use ndnweir_scenario::Location;

/// A paper and its evaluation, checked.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The folder's name.
    pub name: String,
    /// The paper's title.
    pub title: String,
    /// Authors, where and when.
    pub citation: String,
    /// One line for lists.
    pub summary: String,
    /// What is run. An entry takes all cases of an experiment together unless it names one.
    pub experiments: Vec<ExperimentGrid>,
    /// What was published, in the order of the file.
    pub entries: Vec<PublishedEntry>,
    /// What is drawn.
    pub figures: Vec<PaperFigure>,
    /// Experiments whose ideal allocations are tabulated.
    pub references: Vec<String>,
    /// What the paper leaves open, what was chosen, what was tried, what differs: Markdown.
    pub page: String,
}

/// What a measured value is compared with.
#[derive(Clone, Debug)]
pub struct PublishedEntry {
    /// Unique; for one of several schemes it ends with the scheme.
    pub id: String,
    /// Table, figure or section of the paper.
    pub source: String,
    /// What is measured, in words.
    pub label: String,
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position; none is all of them.
    pub case: Option<usize>,
    /// The scheme; empty where an entry compares several.
    pub scheme: String,
    /// Unit of published and measured values.
    pub unit: String,
    /// A choice of ours that was fitted to this figure, which therefore cannot confirm it.
    pub fitted: Option<String>,
    /// Remark for the reader.
    pub note: String,
    /// What is compared.
    pub kind: StatementKind,
    /// Where it was written.
    pub place: Location,
}

/// The three kinds of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A number in a text or table.
    Number {
        /// How it is measured.
        metric: Expr,
        /// What the paper says.
        published: f64,
        /// What counts as the same, in the entry's unit.
        tolerance: f64,
        /// The tolerance as written.
        written: String,
        /// Why.
        reason: String,
        /// Id of the ordering that is looked at when the number is missed.
        ordering: Option<String>,
    },
    /// An order of several values.
    Ordering {
        /// Labels and values, in the order that the rule speaks of.
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
        /// From when, in s.
        from: f64,
        /// Until when.
        to: f64,
    },
}

/// What an ordering says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Each item is larger than the one before.
    Ascending,
    /// Each is smaller.
    Descending,
    /// The first is smaller than every other.
    FirstSmallest,
    /// The first is larger than every other.
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
    /// What is drawn.
    pub caption: String,
    /// Vertical axis.
    pub y: String,
    /// Lowest and highest value of the vertical axis, if fixed.
    pub y_range: Option<(f64, f64)>,
    /// How.
    pub kind: Drawing,
    /// What.
    pub panels: Vec<PaperPanel>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drawing {
    /// Series over time, of the first seed.
    Lines {
        /// Until when, in s.
        to: f64,
        /// Means over so many s.
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
    /// Case by position; for bars none makes a group of each case.
    pub case: Option<usize>,
    /// Schemes drawn.
    pub schemes: Vec<String>,
    /// Labels and what is drawn: series for lines, metrics for bars, consumers for boxes.
    pub items: Vec<(String, Expr)>,
    /// Published or ideal values drawn as lines.
    pub marks: Vec<(f64, String)>,
    /// For bars: lowest and highest value of this panel's axis, if fixed.
    pub y_range: Option<(f64, f64)>,
}

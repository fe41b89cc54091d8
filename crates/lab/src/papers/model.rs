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
    /// The experiments of the file, then those that readings derive from them.
    pub experiments: Vec<ExperimentGrid>,
    /// For each experiment the number of runs behind each seed asked for: that many seeds are run.
    pub repeats: Vec<u64>,
    /// What the paper leaves open, with the literal reading.
    pub choices: Vec<OpenChoice>,
    /// The other readings, in the order of the file, which is that of plausibility.
    pub readings: Vec<Reading>,
    /// The published values, in the order of the file: as literally read, then under each reading.
    pub entries: Vec<PublishedEntry>,
    /// The claims that open the report.
    pub headlines: Vec<Headline>,
    /// The figures.
    pub figures: Vec<PaperFigure>,
    /// Experiments whose ideal allocations are shown in a table.
    pub references: Vec<String>,
    /// Open questions of the paper, choices, attempts and differences: Markdown.
    pub page: String,
}

/// Something that a paper leaves open and that must be chosen to run it.
#[derive(Clone, Debug)]
pub struct OpenChoice {
    /// Name in the file.
    pub id: String,
    /// What is open.
    pub open: String,
    /// The literal reading, and why it is the literal one.
    pub literal: String,
}

/// Another way to read what a paper leaves open, run beside the literal one.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Name in the file.
    pub id: String,
    /// The choice, by position.
    pub choice: usize,
    /// What is read differently.
    pub about: String,
    /// Why this is plausible.
    pub why: String,
    /// Patterns of the entries that it was chosen on: these cannot confirm it.
    pub fitted: Vec<String>,
    /// The number of settings that were tried before it was written down.
    pub settings: u64,
}

/// A line of the summary that opens the report.
#[derive(Clone, Debug)]
pub struct Headline {
    /// What the paper claims.
    pub claim: String,
    /// What it prints for that.
    pub published: String,
    /// The entries that decide it, as patterns.
    pub entries: Vec<String>,
    /// Why it comes out so.
    pub why: String,
}

/// Whether an id is named by a pattern, in which a `*` at the end means any rest.
pub fn named(pattern: &str, id: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => id.starts_with(head),
        None => pattern == id,
    }
}

/// A published value or statement that measured values are compared with.
#[derive(Clone, Debug)]
pub struct PublishedEntry {
    /// Unique among the entries of one reading; an entry for several schemes is split, and the ids end with the scheme.
    pub id: String,
    /// The reading under which it is judged, by position; `None` is the literal one.
    pub reading: Option<usize>,
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
    /// Why it is shown and not counted as a claim: it repeats another one, or holds by definition.
    pub uncounted: Option<String>,
    /// Why it is not reproduced, if that is known: a cause, or a proof that it is impossible.
    pub cause: Option<String>,
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
        /// The published number; of a range its lower end.
        published: f64,
        /// The upper end of a published range, else the same number.
        to: f64,
        /// Whether the paper shows a single run, so that a run like it is enough.
        single: bool,
        /// The largest difference that counts as equal, in the entry's unit.
        tolerance: f64,
        /// The tolerance as written.
        written: String,
        /// The reason for the tolerance.
        reason: String,
        /// Id of the ordering that a remark names if the number is not reproduced.
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

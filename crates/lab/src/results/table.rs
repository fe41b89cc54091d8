//! The comparison as a table in plain text.

use super::aggregate::aggregate_of_runs;
use super::{Aggregate, Comparison, Summary};
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone};
use std::cmp::Ordering;

/// A column of the overview: heading, metric, format, which values are better, and its weight if the terminal is
/// narrow.
type Spec = (&'static str, &'static str, Show, Better, u8);

const COLUMNS: [Spec; 14] = [
    ("goodput Mbit/s", "goodput_mbps", Show::Plain, Better::More, Column::ALWAYS),
    ("attained", "attained", Show::Percent, Better::More, 65),
    ("worst flow", "attained_worst", Show::Percent, Better::More, 40),
    ("each Mbit/s", "goodput_mbps", Show::Each, Better::Unsaid, 10),
    ("delay ms", "delay_ms.mean", Show::Plain, Better::Less, 90),
    ("p99 ms", "delay_ms.p99", Show::Plain, Better::Less, 60),
    ("slowdown", "slowdown.mean", Show::Plain, Better::Less, 85),
    ("slowdown p99", "slowdown.p99", Show::Plain, Better::Less, 62),
    ("Jain", "jain", Show::Fraction, Better::More, 75),
    ("bottleneck", "bottleneck_utilization", Show::Percent, Better::Unsaid, 30),
    ("queue ms", "bottleneck_queue_ms", Show::Plain, Better::Less, 80),
    ("loss Mbit/s", "loss_mbps", Show::Plain, Better::Less, 50),
    ("marks", "marks", Show::Plain, Better::Unsaid, 15),
    ("retransmitted", "retransmissions", Show::Plain, Better::Unsaid, 20),
];

/// Which values of a column are better.
#[derive(Clone, Copy, PartialEq)]
enum Better {
    More,
    Less,
    Unsaid,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The highest goodput first.
    #[default]
    Goodput,
    /// The lowest mean delay first.
    Delay,
    /// The lowest 99th percentile of delay first.
    P99,
    /// The highest Jain index first.
    Jain,
    /// The lowest queueing delay at the bottleneck first.
    Queue,
    /// The lowest loss first.
    Loss,
    /// By name.
    Name,
    /// In the order in which the schemes were given.
    Given,
}

impl Sort {
    /// All orders.
    pub const ALL: [Sort; 8] =
        [Sort::Goodput, Sort::Delay, Sort::P99, Sort::Jain, Sort::Queue, Sort::Loss, Sort::Name, Sort::Given];

    /// The name of the order.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Goodput => "goodput",
            Sort::Delay => "delay",
            Sort::P99 => "p99",
            Sort::Jain => "jain",
            Sort::Queue => "queue",
            Sort::Loss => "loss",
            Sort::Name => "name",
            Sort::Given => "given",
        }
    }

    /// The order with this name.
    pub fn named(name: &str) -> Option<Sort> {
        Sort::ALL.into_iter().find(|sort| sort.name() == name)
    }

    /// Describes what comes first.
    pub fn about(self) -> &'static str {
        match self {
            Sort::Goodput => "The highest goodput first",
            Sort::Delay => "The lowest mean delay first",
            Sort::P99 => "The lowest 99th percentile of delay first",
            Sort::Jain => "The fairest first",
            Sort::Queue => "The lowest queueing delay at the bottleneck first",
            Sort::Loss => "The least loss first",
            Sort::Name => "By the scheme's name",
            Sort::Given => "As the schemes were given",
        }
    }

    fn compare(self, a: &Aggregate, b: &Aggregate) -> Ordering {
        let (metric, more) = match self {
            Sort::Goodput => ("goodput_mbps", true),
            Sort::Delay => ("delay_ms.mean", false),
            Sort::P99 => ("delay_ms.p99", false),
            Sort::Jain => ("jain", true),
            Sort::Queue => ("bottleneck_queue_ms", false),
            Sort::Loss => ("loss_mbps", false),
            Sort::Name => return a.scheme.cmp(&b.scheme),
            Sort::Given => return Ordering::Equal,
        };
        // Undefined values come last.
        match (a.mean(metric), b.mean(metric)) {
            (Some(a), Some(b)) if more => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

#[derive(Clone, Copy)]
enum Show {
    Plain,
    Fraction,
    Percent,
    /// Divided by the number of consumers.
    Each,
}

/// Headings, and a row of cells for each scheme (the scheme first); `–` if a value is undefined.
///
/// With several seeds a cell is mean ± standard deviation.
pub fn overview(comparison: &Comparison) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let all = aggregate_of_runs(comparison);
    let shown = specs(comparison);
    let headings = std::iter::once("scheme").chain(shown.iter().map(|c| c.0)).collect();
    let row = |a: &Aggregate| {
        let cells = shown.iter().map(|(_, metric, show, ..)| {
            a.get(metric).and_then(|s| cell(comparison, s, *show)).unwrap_or_else(|| "–".to_owned())
        });
        std::iter::once(a.scheme.clone()).chain(cells).collect()
    };
    (headings, all.iter().map(row).collect())
}

/// All headings of numeric columns that an [`overview`] can have, in order.
pub(super) fn headings() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.0)
}

/// The columns that are meaningful for this comparison.
fn specs(comparison: &Comparison) -> Vec<&'static Spec> {
    let optimum = comparison.optimum.total_mbps.is_some();
    let flows = comparison.scenario.consumers.iter().any(|c| c.flows.is_some());
    let means = |metric: &str| match metric.split(['.', '_']).next() {
        Some("attained") => optimum,
        Some("slowdown") => flows,
        _ => true,
    };
    COLUMNS.iter().filter(|c| means(c.1)).collect()
}

fn cell(comparison: &Comparison, s: &Summary, show: Show) -> Option<String> {
    let scaled = |by: f64| Summary { mean: s.mean * by, sd: s.sd.map(|sd| sd * by), n: s.n };
    let fixed = |s: Summary, d: usize, unit: &str| match s.sd {
        Some(sd) => format!("{:.d$} ± {sd:.d$}{unit}", s.mean),
        None => format!("{:.d$}{unit}", s.mean),
    };
    Some(match show {
        Show::Plain => s.text(),
        Show::Fraction => fixed(*s, 3, ""),
        Show::Percent => fixed(scaled(100.0), 1, " %"),
        Show::Each => scaled(1.0 / comparison.scenario.consumers.len().max(1) as f64).text(),
    })
}

/// The rows of optima in tables: name, total in 10⁶ bit/s and Jain index.
pub fn ceilings(comparison: &Comparison) -> Vec<(&'static str, f64, Option<f64>)> {
    let optimum = &comparison.optimum;
    let routed = optimum.total_mbps.map(|total| ("optimum routed", total, optimum.jain));
    let physical = optimum.physical.as_ref().map(|p| ("optimum physical", p.total_mbps, p.jain));
    routed.into_iter().chain(physical).collect()
}

/// The table for a terminal: aligned columns, one row for each scheme, then the optima and remarks on the runs.
pub fn table(comparison: &Comparison, sort: Sort, style: TableStyle) -> String {
    let (headings, rows) = overview(comparison);
    let (all, specs) = (aggregate_of_runs(comparison), specs(comparison));
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| sort.compare(&all[a], &all[b]));
    let column = |(i, heading): (usize, &&str)| {
        let weight = if i == 0 { Column::ALWAYS } else { specs[i - 1].4 };
        Column { heading: (*heading).into(), right: i > 0, weight }
    };
    let mut text = TextTable { columns: headings.iter().enumerate().map(column).collect(), rows: Vec::new() };
    let best: Vec<Option<f64>> = specs.iter().map(|spec| best(&all, spec)).collect();
    for i in order {
        let tone = |column: usize| match column.checked_sub(1).map(|c| (specs[c], best[c])) {
            Some((spec, Some(best))) if all[i].mean(spec.1) == Some(best) => Tone::Best,
            _ => Tone::Plain,
        };
        let cells = rows[i].iter().enumerate().map(|(column, cell)| (cell.clone(), tone(column))).collect();
        text.rows.push(Row { cells, below: String::new() });
    }
    for (name, total, jain) in ceilings(comparison) {
        let mut last = vec![(String::new(), Tone::Aside); headings.len()];
        last[0].0 = name.to_owned();
        last[1].0 = format!("{total:.2}");
        if let Some(jain) = jain
            && let Some(at) = headings.iter().position(|h| *h == "Jain")
        {
            last[at].0 = format!("{jain:.3}");
        }
        text.rows.push(Row { cells: last, below: String::new() });
    }
    let mut out = text.render(style);
    if let Some(reason) = &comparison.optimum.undefined {
        out.push_str(&format!("optimum undefined: {reason}\n"));
    }
    if let Some(known) = &comparison.optimum.estimate {
        out.push_str(&format!("the optimum is an estimate: {known}\n"));
    }
    if comparison.partial || comparison.runs.iter().any(|r| r.partial) {
        out.push_str("partial: the work was interrupted; values cover the runs and the time there are\n");
    }
    out
}

/// The best mean of a column if several schemes differ in it.
fn best(all: &[Aggregate], (_, metric, _, better, _): &Spec) -> Option<f64> {
    let means: Vec<f64> = all.iter().filter_map(|a| a.mean(metric)).collect();
    let (least, most) = means.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), x| (l.min(*x), m.max(*x)));
    match better {
        _ if means.len() < 2 || least == most => None,
        Better::More => Some(most),
        Better::Less => Some(least),
        Better::Unsaid => None,
    }
}

//! The comparison as a table in plain text.

use super::{Aggregate, Comparison, Summary, aggregate};

/// The columns of the overview: heading, metric, and how it is to be shown.
const COLUMNS: [(&str, &str, Show); 11] = [
    ("goodput Mbit/s", "goodput_mbps", Show::Plain),
    ("of optimum", "goodput_mbps", Show::OfOptimum),
    ("each Mbit/s", "goodput_mbps", Show::Each),
    ("delay ms", "delay_ms.mean", Show::Plain),
    ("p99 ms", "delay_ms.p99", Show::Plain),
    ("Jain", "jain", Show::Fraction),
    ("bottleneck", "bottleneck_utilization", Show::Percent),
    ("queue ms", "bottleneck_queue_ms", Show::Plain),
    ("loss Mbit/s", "loss_mbps", Show::Plain),
    ("marks", "marks", Show::Plain),
    ("retransmitted", "retransmissions", Show::Plain),
];

#[derive(Clone, Copy)]
enum Show {
    Plain,
    Fraction,
    Percent,
    /// Divided by the number of consumers.
    Each,
    OfOptimum,
}

/// Headings, and a row of cells for each scheme (the scheme first); `–` where a value is undefined.
///
/// With several seeds a cell is mean ± standard deviation.
pub fn overview(comparison: &Comparison) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let all = aggregate(comparison);
    let shown: Vec<_> = (COLUMNS.iter())
        .filter(|c| !matches!(c.2, Show::OfOptimum) || comparison.optimum.total_mbps.is_some())
        .collect();
    let headings = std::iter::once("scheme").chain(shown.iter().map(|c| c.0)).collect();
    let row = |a: &Aggregate| {
        let cells = shown.iter().map(|(_, metric, show)| {
            a.get(metric).and_then(|s| cell(comparison, s, *show)).unwrap_or_else(|| "–".to_owned())
        });
        std::iter::once(a.scheme.clone()).chain(cells).collect()
    };
    (headings, all.iter().map(row).collect())
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
        Show::OfOptimum => fixed(scaled(100.0 / comparison.optimum.total_mbps.filter(|t| *t > 0.0)?), 1, " %"),
    })
}

/// The table for a terminal: aligned columns, one row for each scheme, then the optimum and what to know about the runs.
pub fn table(comparison: &Comparison) -> String {
    let (headings, mut rows) = overview(comparison);
    let mut last = vec![String::new(); headings.len()];
    if let Some(total) = comparison.optimum.total_mbps {
        last[0] = "optimum".to_owned();
        last[1] = format!("{total:.2}");
        if let Some(jain) = comparison.optimum.jain
            && let Some(at) = headings.iter().position(|h| *h == "Jain")
        {
            last[at] = format!("{jain:.3}");
        }
        rows.push(last);
    }
    let width =
        |i: usize| rows.iter().map(|r| r[i].chars().count()).chain([headings[i].chars().count()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = (cells.iter().zip(&widths).enumerate())
            .map(|(i, (c, w))| {
                let pad = " ".repeat(w - c.chars().count());
                if i == 0 { format!("{c}{pad}") } else { format!("{pad}{c}") }
            })
            .collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = line(&headings.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>());
    out.push_str(&"─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)));
    out.push('\n');
    rows.iter().for_each(|r| out.push_str(&line(r)));
    if let Some(reason) = &comparison.optimum.undefined {
        out.push_str(&format!("optimum undefined: {reason}\n"));
    }
    if comparison.partial || comparison.runs.iter().any(|r| r.partial) {
        out.push_str("partial: the work was interrupted; values cover the runs and the time there are\n");
    }
    out
}

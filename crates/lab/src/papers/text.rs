//! The verdicts as a table for a terminal, and as JSON.

use super::model::Paper;
use super::verdict::{Judged, Verdict, number};
use serde_json::{Value, json};
use std::fmt::Write;

/// `{paper, entries}`: nothing in it depends on the machine or the time.
pub fn json(paper: &Paper, judged: &[Judged]) -> Value {
    json!({ "paper": paper.name, "entries": judged.iter().map(rounded).collect::<Vec<_>>() })
}

/// Ten significant digits, so that documents do not hang on the last bits.
fn rounded(judged: &Judged) -> Value {
    let round = |x: Option<f64>| x.map(|x| crate::results::significant(x, 10));
    let entry =
        Judged { mean: round(judged.mean), sd: round(judged.sd), tolerance: round(judged.tolerance), ..judged.clone() };
    serde_json::to_value(entry).unwrap_or_default()
}

/// Headings of [`cells`].
pub const HEADINGS: [&str; 8] = ["where", "scheme", "metric", "unit", "published", "measured", "tolerance", "verdict"];

/// An entry's cells; measured is mean ± standard deviation (runs).
pub fn cells(j: &Judged) -> [String; 8] {
    let dash = || "–".to_owned();
    let measured = match (j.mean, j.sd) {
        (Some(mean), Some(sd)) => format!("{} ± {} ({})", number(mean), number(sd), j.n),
        (Some(mean), None) => format!("{} ({})", number(mean), j.n),
        _ => dash(),
    };
    [
        j.source.clone(),
        j.scheme.clone(),
        j.metric.clone(),
        j.unit.clone(),
        j.published.map_or_else(dash, |p| format!("{p}")),
        measured,
        j.tolerance.map_or_else(dash, |t| format!("±{}", number(t))),
        j.verdict.text().to_owned(),
    ]
}

/// How often each verdict fell, in words.
pub fn tally(judged: &[Judged]) -> String {
    let of = |v: Verdict| judged.iter().filter(|j| j.verdict == v).count();
    let all = [Verdict::Reproduced, Verdict::OrderingHolds, Verdict::NotReproduced];
    all.map(|v| format!("{} {}", of(v), v.text())).join(", ")
}

/// Widest text of a column.
const WIDEST: usize = 46;

/// The table, entries of one place together, notes below their rows.
pub fn table(judged: &[Judged]) -> String {
    let shorten = |text: &String| match text.chars().count() > WIDEST {
        true => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        false => text.clone(),
    };
    let rows: Vec<[String; 8]> = judged.iter().map(|j| cells(j).map(|c| shorten(&c))).collect();
    let widths: Vec<usize> = (0..8)
        .map(|i| rows.iter().map(|r| r[i].chars().count()).chain([HEADINGS[i].chars().count()]).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String; 8]| {
        let mut text = String::new();
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let right = (4..7).contains(&i);
            let _ = match right {
                true => write!(text, "{pad}{cell}  "),
                false => write!(text, "{cell}{pad}  "),
            };
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut out = line(&HEADINGS.map(str::to_owned));
    out.push_str(&"─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)));
    out.push('\n');
    let mut last = "";
    for (j, row) in judged.iter().zip(&rows) {
        let mut row = row.clone();
        if j.source == last {
            row[0].clear();
        }
        last = &j.source;
        out.push_str(&line(&row));
        if !j.note.is_empty() {
            let _ = writeln!(out, "{}  {}", " ".repeat(widths[0]), j.note);
        }
    }
    out
}

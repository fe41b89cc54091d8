//! The verdicts as a table for a terminal, and as JSON.

use super::model::Paper;
use super::verdict::{Judged, PaperVerdict};
use crate::evaluation::number;
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone};
use serde_json::{Value, json};

/// `{paper, entries, repeat}`, in `summary.json` and with `--json`: it does not depend on the machine or the time.
pub fn json(paper: &Paper, judged: &[Judged], command: &str, version: &str) -> Value {
    let entries: Vec<Value> = judged.iter().map(rounded).collect();
    json!({ "paper": paper.name, "entries": entries, "repeat": { "command": command, "version": version } })
}

/// Ten significant digits, so that documents do not depend on the last bits.
fn rounded(judged: &Judged) -> Value {
    let round = |x: Option<f64>| x.map(|x| crate::results::significant(x, 10));
    let entry =
        Judged { mean: round(judged.mean), sd: round(judged.sd), tolerance: round(judged.tolerance), ..judged.clone() };
    serde_json::to_value(entry).unwrap_or_default()
}

/// Headings of [`cells`].
pub const HEADINGS: [&str; 8] = ["where", "scheme", "metric", "unit", "published", "measured", "tolerance", "verdict"];

/// The cells of an entry; the measured value is mean ± standard deviation (runs).
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

/// The number of entries with each verdict, in words.
pub fn tally(judged: &[Judged]) -> String {
    let count = |v: PaperVerdict| judged.iter().filter(|j| j.verdict == v).count();
    let all = [PaperVerdict::Reproduced, PaperVerdict::OrderingHolds, PaperVerdict::NotReproduced];
    all.map(|v| format!("{} {}", count(v), v.text())).join(", ")
}

/// Maximum width of a column.
const WIDEST: usize = 46;

/// The weight of each column of [`HEADINGS`] if the terminal is narrow.
const WEIGHTS: [u8; 8] = [Column::ALWAYS, Column::ALWAYS, 50, 20, 60, Column::ALWAYS, 10, Column::ALWAYS];

/// The table: entries with the same source together, notes below their rows.
pub fn table(judged: &[Judged], style: TableStyle) -> String {
    let shorten = |text: &String| match text.chars().count() > WIDEST {
        true => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        false => text.clone(),
    };
    let column = |(i, heading): (usize, &&str)| Column {
        heading: (*heading).into(),
        right: (4..7).contains(&i),
        weight: WEIGHTS[i],
    };
    let mut text = TextTable { columns: HEADINGS.iter().enumerate().map(column).collect(), rows: Vec::new() };
    let mut last = "";
    for j in judged {
        let mut row = cells(j).map(|cell| (shorten(&cell), Tone::Plain));
        if j.source == last {
            row[0].0.clear();
        }
        last = &j.source;
        row[7].1 = match j.verdict {
            PaperVerdict::Reproduced => Tone::Best,
            PaperVerdict::NotReproduced => Tone::Bad,
            PaperVerdict::OrderingHolds => Tone::Plain,
        };
        text.rows.push(Row { cells: row.into(), below: j.note.clone() });
    }
    text.render(style)
}

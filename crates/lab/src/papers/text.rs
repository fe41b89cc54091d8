//! The verdicts as tables for a terminal, as Markdown, and as JSON.

use super::claims::{self, ClaimCounts, SUMMARY_HEADINGS};
use super::model::Paper;
use super::verdict::{Judged, LITERAL, PaperVerdict};
use crate::evaluation::number;
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone};
use ndnweir_core::plain;
use serde_json::{Value, json};

/// `{paper, claims, readings, entries, repeat}`, in `summary.json` and with `--json`: it does not depend on the machine
/// or the time.
pub fn json(paper: &Paper, judged: &[Judged], command: &str, version: &str) -> Value {
    let entries: Vec<Value> = judged.iter().map(rounded).collect();
    let counts = ClaimCounts::of(&claims::claims(judged));
    let readings: Vec<Value> = (paper.readings.iter().zip(claims::by_reading(paper, judged).into_iter().skip(1)))
        .map(|(r, (_, judged, holding, gained))| {
            json!({
                "id": r.id, "choice": paper.choices[r.choice].id, "about": r.about, "why": r.why,
                "fitted": r.fitted, "settings": r.settings,
                "judged": judged, "holding": holding, "not_literally": gained,
            })
        })
        .collect();
    json!({
        "paper": paper.name,
        "claims": counts,
        "readings": readings,
        "entries": entries,
        "repeat": { "command": command, "version": version },
    })
}

/// Ten significant digits, so that documents do not depend on the last bits.
fn rounded(judged: &Judged) -> Value {
    let round = |x: Option<f64>| x.map(|x| crate::results::significant(x, 10));
    let entry = Judged {
        mean: round(judged.mean),
        sd: round(judged.sd),
        half_width: round(judged.half_width),
        tolerance: round(judged.tolerance),
        ..judged.clone()
    };
    serde_json::to_value(entry).unwrap_or_default()
}

/// Headings of [`cells`].
pub const HEADINGS: [&str; 8] = ["where", "scheme", "metric", "unit", "published", "measured", "tolerance", "verdict"];

/// The published number or range.
pub fn published(j: &Judged) -> String {
    match (j.published, j.published_to) {
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (Some(one), None) => format!("{one}"),
        _ => "–".to_owned(),
    }
}

/// The measured value: mean ± standard deviation (runs).
pub fn measured(j: &Judged) -> String {
    match (j.mean, j.sd) {
        (Some(mean), Some(sd)) => format!("{} ± {} ({})", number(mean), number(sd), j.n),
        (Some(mean), None) => format!("{} ({})", number(mean), j.n),
        _ => "–".to_owned(),
    }
}

/// The verdict, with what keeps it from counting.
pub fn verdict(j: &Judged) -> String {
    let fitted = if j.fitted.is_some() { ", fitted" } else { "" };
    let counted = if j.counted { "" } else { ", not counted" };
    format!("{}{fitted}{counted}", j.verdict.text())
}

/// The cells of an entry.
pub fn cells(j: &Judged) -> [String; 8] {
    [
        j.source.clone(),
        j.scheme.clone(),
        j.metric.clone(),
        j.unit.clone(),
        published(j),
        measured(j),
        j.tolerance.map_or_else(|| "–".to_owned(), |t| format!("±{}", number(t))),
        verdict(j),
    ]
}

/// The claims by what became of them, in words.
pub fn tally(judged: &[Judged]) -> String {
    ClaimCounts::of(&claims::claims(judged)).text()
}

/// The judged entries of a choice: the literal one, then one for each of its readings, if it is judged there.
pub fn side_by_side<'a>(paper: &Paper, judged: &'a [Judged], choice: usize) -> Vec<Vec<Option<&'a Judged>>> {
    let readings: Vec<&str> = paper.readings.iter().filter(|r| r.choice == choice).map(|r| r.id.as_str()).collect();
    let find = |id: &str, reading: &str| judged.iter().find(|j| j.id == id && j.reading == reading);
    let row = |j: &'a Judged| {
        let others: Vec<Option<&Judged>> = readings.iter().map(|r| find(&j.id, r)).collect();
        others.iter().any(Option::is_some).then(|| std::iter::once(Some(j)).chain(others).collect())
    };
    judged.iter().filter(|j| j.reading == LITERAL).filter_map(row).collect()
}

/// Maximum width of a column.
const WIDEST: usize = 46;

/// The weight of each column of [`HEADINGS`] if the terminal is narrow.
const WEIGHTS: [u8; 8] = [Column::ALWAYS, Column::ALWAYS, 50, 20, 60, Column::ALWAYS, 10, Column::ALWAYS];

fn shorten(text: &str) -> String {
    match text.chars().count() > WIDEST {
        true => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn tone(verdict: PaperVerdict) -> Tone {
    match verdict {
        PaperVerdict::Reproduced | PaperVerdict::OneRun => Tone::Best,
        PaperVerdict::Undecided => Tone::Plain,
        PaperVerdict::NotReproduced => Tone::Bad,
    }
}

/// The entries as literally read: those with the same source together, notes below their rows.
pub fn table(judged: &[Judged], style: TableStyle) -> String {
    let column = |(i, heading): (usize, &&str)| Column {
        heading: (*heading).into(),
        right: (4..7).contains(&i),
        weight: WEIGHTS[i],
    };
    let mut text = TextTable { columns: HEADINGS.iter().enumerate().map(column).collect(), rows: Vec::new() };
    let mut last = "";
    for j in judged.iter().filter(|j| j.reading == LITERAL) {
        let mut row = cells(j).map(|cell| (shorten(&cell), Tone::Plain));
        if j.source == last {
            row[0].0.clear();
        }
        last = &j.source;
        row[7].1 = tone(j.verdict);
        text.rows.push(Row { cells: row.into(), below: j.note.clone() });
    }
    text.render(style)
}

/// A table for each choice: its readings side by side, the literal one first.
pub fn readings(paper: &Paper, judged: &[Judged], style: TableStyle) -> String {
    let mut out = String::new();
    for (at, choice) in paper.choices.iter().enumerate() {
        let list: Vec<_> = paper.readings.iter().filter(|r| r.choice == at).collect();
        if list.is_empty() {
            continue;
        }
        let about = format!("Readings of: {}\n  literal: {}\n", choice.open, choice.literal);
        out.push_str(&plain::lines(&about));
        for r in &list {
            let fitted = if r.fitted.is_empty() { "nothing".into() } else { r.fitted.join(", ") };
            let about =
                format!("  {}: {}; {}; settings tried: {}; fitted to: {fitted}\n", r.id, r.about, r.why, r.settings);
            out.push_str(&plain::lines(&about));
        }
        let names = ["entry", "published", LITERAL].into_iter().chain(list.iter().map(|r| r.id.as_str()));
        let column = |(i, heading): (usize, &str)| Column {
            heading: heading.into(),
            right: i > 0,
            weight: if i == 1 { 50 } else { Column::ALWAYS },
        };
        let mut text = TextTable { columns: names.enumerate().map(column).collect(), rows: Vec::new() };
        for row in side_by_side(paper, judged, at) {
            let Some(first) = row[0] else { continue };
            let mut cells = vec![(shorten(&first.id), Tone::Plain), (published(first), Tone::Plain)];
            cells.extend(row.iter().map(|j| match j {
                Some(j) => (format!("{} {}", j.mean.map_or("–".into(), number), verdict(j)), tone(j.verdict)),
                None => ("as literal".to_owned(), Tone::Aside),
            }));
            text.rows.push(Row { cells, below: String::new() });
        }
        out.push_str(&format!("{}\n", text.render(style)));
    }
    out
}

/// The summary: its lines, the claims by outcome, and what holds under which reading.
pub fn summary(paper: &Paper, judged: &[Judged], style: TableStyle) -> String {
    let column = |heading: &&str| Column { heading: (*heading).into(), right: false, weight: Column::ALWAYS };
    let mut text = TextTable { columns: SUMMARY_HEADINGS[..4].iter().map(column).collect(), rows: Vec::new() };
    for [claim, published, ours, verdict, why] in claims::summary(paper, judged) {
        let cells = [claim, published, ours, verdict].map(|cell| (shorten(&cell), Tone::Plain));
        text.rows.push(Row { cells: cells.into(), below: why });
    }
    let table = if text.rows.is_empty() { String::new() } else { text.render(style) };
    let counts = ClaimCounts::of(&claims::claims(judged)).parts();
    let counts: String = counts.iter().map(|(n, what)| format!("{n:>6} {what}\n")).collect();
    format!("{table}{counts}{}", under(paper, judged).map(|line| format!("{line}\n")).collect::<String>())
}

/// A sentence for each reading: how many claims hold under it.
pub fn under<'a>(paper: &'a Paper, judged: &'a [Judged]) -> impl Iterator<Item = String> + 'a {
    let rows = claims::by_reading(paper, judged).into_iter();
    rows.map(|(reading, judged, holding, gained)| match reading == LITERAL {
        true => format!("literal: {holding} of {judged} hold"),
        false => format!("{reading}: {holding} of {judged} hold, of which {gained} do not hold literally"),
    })
}

/// The summary as Markdown, as it opens a paper's page.
pub fn markdown(paper: &Paper, judged: &[Judged]) -> String {
    let cell = |text: &String| text.replace('|', "\\|");
    let mut out = format!("| {} |\n|{}\n", SUMMARY_HEADINGS.join(" | "), "---|".repeat(SUMMARY_HEADINGS.len()));
    for line in claims::summary(paper, judged) {
        out.push_str(&format!("| {} |\n", line.each_ref().map(cell).join(" | ")));
    }
    let counts = ClaimCounts::of(&claims::claims(judged)).parts();
    let parts: Vec<String> = counts.iter().map(|(n, what)| format!("{n} {what}")).collect();
    out.push_str(&format!("\nClaims: {}.\n\n", parts.join("; ")));
    for line in under(paper, judged) {
        out.push_str(&format!("- {line}\n"));
    }
    out
}

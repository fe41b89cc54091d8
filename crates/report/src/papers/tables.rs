//! The tables of a paper's report: its summary, its verdicts, its readings side by side.

use crate::svg::escape;
use ndnweir_lab::evaluation::number;
use ndnweir_lab::papers::claims::{self, SUMMARY_HEADINGS};
use ndnweir_lab::papers::model::Paper;
use ndnweir_lab::papers::text;
use ndnweir_lab::papers::verdict::{Judged, LITERAL, PaperVerdict};
use std::fmt::Write;

/// The class with the colour of a verdict.
fn class(verdict: PaperVerdict) -> &'static str {
    match verdict {
        PaperVerdict::Reproduced | PaperVerdict::OneRun => "v0",
        PaperVerdict::Undecided => "v1",
        PaperVerdict::NotReproduced => "v2",
    }
}

fn head(headings: &[&str], right: std::ops::Range<usize>) -> String {
    let mut out = "<div class=\"scroll\"><table><thead><tr>".to_owned();
    for (i, heading) in headings.iter().enumerate() {
        let class = if right.contains(&i) { "" } else { " class=\"t\"" };
        let _ = write!(out, "<th{class}>{}</th>", escape(heading));
    }
    out.push_str("</tr></thead><tbody>");
    out
}

const END: &str = "</tbody></table></div>";

/// The summary that opens the report.
pub fn summary(paper: &Paper, judged: &[Judged]) -> String {
    let lines = claims::summary(paper, judged);
    let mut out = String::new();
    if !lines.is_empty() {
        out.push_str("<h2 id=\"summary\">Summary</h2>");
        out.push_str(&head(&SUMMARY_HEADINGS, 0..0));
        for line in lines {
            out.push_str("<tr>");
            for (i, cell) in line.iter().enumerate() {
                let class = match (i, cell.as_str()) {
                    (3, text) if text.starts_with("not reproduced") => "w v2",
                    (3, text) if text.starts_with("reproduced") || text.starts_with("consistent") => "w v0",
                    (3, _) => "w v1",
                    _ => "w",
                };
                let _ = write!(out, "<td class=\"{class}\">{}</td>", escape(cell));
            }
            out.push_str("</tr>");
        }
        out.push_str(END);
    }
    if !paper.readings.is_empty() {
        let under: String = text::under(paper, judged).map(|line| format!("<li>{}</li>", escape(&line))).collect();
        let _ = write!(
            out,
            "<p>Claims that hold, of those that a reading concerns, without what was fitted:</p><ul>{under}</ul>"
        );
    }
    out
}

/// The entries as literally read.
pub fn verdicts(judged: &[Judged]) -> String {
    let mut out = head(&text::HEADINGS, 4..7);
    let mut last = "";
    for j in judged.iter().filter(|j| j.reading == LITERAL) {
        let mut cells = text::cells(j);
        if j.source == last {
            cells[0].clear();
        }
        last = &j.source;
        let cause = j.cause.as_ref().filter(|_| !j.verdict.holds()).map(|c| format!("cause: {c}"));
        let notes: Vec<String> = cause.into_iter().chain((!j.note.is_empty()).then(|| j.note.clone())).collect();
        let noted = if notes.is_empty() { "" } else { " class=\"noted\"" };
        let _ = write!(out, "<tr{noted} id=\"{}\">", escape(&j.id));
        for (i, cell) in cells.iter().enumerate() {
            let class = match i {
                1 | 2 => " class=\"w\"".to_owned(),
                0 | 3 => " class=\"t\"".to_owned(),
                7 => format!(" class=\"w {}\"", class(j.verdict)),
                _ => String::new(),
            };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>");
        if !notes.is_empty() {
            let notes = escape(&notes.join("; "));
            let _ = write!(out, "<tr class=\"note\"><td></td><td class=\"t\" colspan=\"7\">{notes}</td></tr>");
        }
    }
    out.push_str(END);
    out
}

/// A table for each choice that has readings, the literal one first.
pub fn readings(paper: &Paper, judged: &[Judged]) -> String {
    let mut out = String::new();
    for (at, choice) in paper.choices.iter().enumerate() {
        let list: Vec<_> = paper.readings.iter().filter(|r| r.choice == at).collect();
        if list.is_empty() {
            continue;
        }
        if out.is_empty() {
            out.push_str(
                "<h2 id=\"readings\">Readings side by side</h2><p>What the paper leaves open, read in more than one way; the order is that of \
                 plausibility and was written down before the runs. A dash: the reading changes nothing here.</p>",
            );
        }
        let _ =
            write!(out, "<h3>{}</h3><ul><li><b>{LITERAL}</b>: {}</li>", escape(&choice.open), escape(&choice.literal));
        for r in &list {
            let fitted = if r.fitted.is_empty() { "nothing".into() } else { r.fitted.join(", ") };
            let _ = write!(
                out,
                "<li><b>{}</b>: {}; {}. Settings tried: {}. Fitted to: {}.</li>",
                escape(&r.id),
                escape(&r.about),
                escape(&r.why),
                r.settings,
                escape(&fitted)
            );
        }
        out.push_str("</ul>");
        let ids = list.iter().map(|r| r.id.as_str());
        let names: Vec<&str> = ["where", "what", "published", LITERAL].into_iter().chain(ids).collect();
        out.push_str(&head(&names, 2..3));
        for row in text::side_by_side(paper, judged, at) {
            let Some(first) = row[0] else { continue };
            let what = format!("{} {}", first.metric, if first.published.is_some() { &first.scheme } else { "" });
            let published = text::published(first);
            let _ = write!(
                out,
                "<tr><td class=\"t\">{}</td><td class=\"w\">{}</td><td>{published}</td>",
                escape(&first.source),
                escape(&what)
            );
            for cell in &row {
                let Some(j) = cell else {
                    out.push_str("<td class=\"t\">–</td>");
                    continue;
                };
                let value = j.mean.map_or("–".into(), number);
                let _ = write!(
                    out,
                    "<td class=\"w\">{value} <span class=\"{}\">{}</span></td>",
                    class(j.verdict),
                    text::verdict(j)
                );
            }
            out.push_str("</tr>");
        }
        out.push_str(END);
    }
    out
}

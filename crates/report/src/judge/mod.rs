//! `judge.html`: criteria by schemes, the trade-off between rate and delay, and every cell with the command that
//! repeats it.

mod cells;
mod pareto;

use crate::html::{chips, document, with_caption};
use crate::style::colour;
use crate::svg::escape;
use ndnweir_lab::criteria::{Criterion, CriterionResult, CriterionVerdict, Judgement, text};
use ndnweir_lab::evaluation::number;
use ndnweir_lab::results::{Error, write_folder};
use std::fmt::Write;
use std::path::Path;

/// Colours of the verdicts, readable on light and dark backgrounds.
const STYLE: &str = "<style>td.v0,b.v0{color:#00805d;font-weight:600}td.v1,b.v1{color:#9a6a00;font-weight:600}\
td.v2,b.v2{color:#c14f00;font-weight:600}td.v3,b.v3{color:var(--mute)}\
@media (prefers-color-scheme:dark){td.v0,b.v0{color:#2cc39a}td.v1,b.v1{color:#f0b429}td.v2,b.v2{color:#f0803c}}\
table.m td a{color:inherit;text-decoration:none}table.m td small{display:block;font-weight:400;color:var(--mute)}\
td.q{white-space:normal;min-width:22ch;text-align:left;font-weight:400}</style>";

/// The information shown with the verdicts.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Date of the criteria, if they have a log.
    pub dated: Option<&'a str>,
    /// The depth of the judgement.
    pub depth: &'a str,
    /// The command that repeats the judgement.
    pub command: &'a str,
    /// Version of ndnweir.
    pub version: &'a str,
    /// Schemes from this position on were requested for comparison.
    pub compared_from: usize,
    /// The result folder, as the user wrote it.
    pub folder: &'a Path,
}

fn class(verdict: CriterionVerdict) -> u8 {
    match verdict {
        CriterionVerdict::Pass => 0,
        CriterionVerdict::Weak => 1,
        CriterionVerdict::Fail => 2,
        CriterionVerdict::NotApplicable => 3,
    }
}

/// `judge.html`.
pub fn page(criteria: &[Criterion], judgement: &Judgement, about: &About<'_>) -> String {
    let mut body = STYLE.to_owned();
    body.push_str("<header><h1>Judged by RFC 9743</h1><p class=\"lead\">");
    body.push_str(
        "The criteria of BCP 133 for new congestion controls, on Named Data Networking, beside what no scheme can better. \
         The RFC gives no thresholds: these are ours, written down with reasons before any scheme was run.</p>",
    );
    let runs = criteria.iter().map(|c| c.cells().count()).sum::<usize>() * judgement.seeds.len();
    let dated = about.dated.map(|d| format!("<li>criteria of <b>{}</b></li>", escape(d))).unwrap_or_default();
    let _ = write!(
        body,
        "<ul class=\"facts\"><li><b>{}</b> criteria</li><li><b>{}</b> schemes</li><li><b>{runs}</b> runs of each, {} seeds</li>\
         <li>depth <b>{}</b></li>{dated}</ul>",
        criteria.len(),
        judgement.schemes.len(),
        judgement.seeds.len(),
        escape(about.depth)
    );
    if judgement.partial {
        body.push_str("<div class=\"warn\"><b>Partial.</b> The work was interrupted: a dash was not judged.</div>");
    }
    if !judgement.stand_ins.is_empty() {
        let _ = write!(
            body,
            "<div class=\"warn\"><b>Stand-ins</b> (the original law is not public): {}.</div>",
            escape(&judgement.stand_ins.join(", "))
        );
    }
    if let Some(line) = text::estimated(criteria, judgement) {
        let _ =
            write!(body, "<div class=\"warn\">{} Values are marked <b>{}</b></div>", escape(&line), text::ESTIMATED);
    }
    body.push_str("</header><main>");
    body.push_str(&chips(judgement.schemes.iter().map(String::as_str)));
    body.push_str(&matrix(criteria, judgement, about));
    if let Some(figure) = pareto::draw(judgement) {
        let _ = write!(body, "<h2 id=\"pareto\">{}</h2>{}", escape(&figure.title), with_caption(&figure));
    }
    for (c, criterion) in criteria.iter().enumerate() {
        body.push_str(&section(c, criterion, judgement, about));
    }
    let _ = write!(
        body,
        "<h2 id=\"repeat\">How to repeat</h2><pre tabindex=\"0\">{}</pre><p>The same seeds give the same numbers on every machine and with any \
         number of threads. Beside this page: <code>judge.txt</code>, <code>summary.json</code>, the scenario files in \
         <code>scenarios</code>.</p></main>",
        escape(about.command)
    );
    document("judge · ndnweir", &body, about.version)
}

/// Criteria by schemes: the verdict, and the deciding value with the threshold and the limit.
fn matrix(criteria: &[Criterion], judgement: &Judgement, about: &About<'_>) -> String {
    let mut out = "<div class=\"scroll\"><table class=\"m\"><thead><tr><th class=\"t\">section</th>\
                   <th class=\"t\">criterion</th><th class=\"t\">strength</th>"
        .to_owned();
    for (k, scheme) in judgement.schemes.iter().enumerate() {
        let aside = if k >= about.compared_from { "<br><small>compared</small>" } else { "" };
        let _ =
            write!(out, "<th class=\"t\"><span class=\"{}\"><i></i></span>{}{aside}</th>", colour(k), escape(scheme));
    }
    out.push_str("</tr></thead><tbody>");
    for (c, criterion) in criteria.iter().enumerate() {
        let _ = write!(
            out,
            "<tr><td class=\"t\">{}</td><td class=\"t\"><a href=\"#{}\" title=\"{}\">{}</a></td><td class=\"t\">{}</td>",
            escape(&criterion.section),
            escape(&criterion.name),
            escape(&criterion.question),
            escape(&criterion.title),
            criterion.strength.text()
        );
        for result in &judgement.results[c] {
            out.push_str(&matrix_cell(criterion, result.as_ref()));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out.push_str(
        "<p>A criterion has the verdict of its worst measure, whose deciding cell is shown: value, and what a pass requires \
         → what no scheme can better. Schemes are ordered only within a criterion; there is no total.</p>",
    );
    out
}

fn matrix_cell(criterion: &Criterion, result: Option<&CriterionResult>) -> String {
    let Some(result) = result else { return "<td class=\"t\">–</td>".into() };
    // The first of the measures that have the criterion's verdict.
    let deciding = result.measures.iter().position(|m| m.cell().verdict == result.verdict);
    let small = match deciding.map(|m| (&criterion.measures[m], result.measures[m].cell())) {
        Some((measure, cell)) => {
            let value = cell.value.as_ref().map_or_else(|| "undefined".to_owned(), |s| number(s.mean));
            let thresholds = text::thresholds(measure);
            let required = thresholds.split(',').next().unwrap_or_default();
            let limit = cell.limit.map(|l| format!(" → {}", number(l))).unwrap_or_default();
            let mark = text::mark(cell.estimate.is_some());
            format!("<small title=\"{}\">{value}{mark} ({required}{limit})</small>", escape(&measure.label))
        }
        None => String::new(),
    };
    let reason =
        if result.reason.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(&result.reason)) };
    format!(
        "<td class=\"t v{}\"{reason}><a href=\"#{}\">{}</a>{small}</td>",
        class(result.verdict),
        escape(&criterion.name),
        result.verdict.text()
    )
}

fn section(c: usize, criterion: &Criterion, judgement: &Judgement, about: &About<'_>) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<h2 id=\"{}\">{} {}</h2><p>{} <small>({})</small></p>",
        escape(&criterion.name),
        escape(&criterion.section),
        escape(&criterion.title),
        escape(&criterion.question),
        criterion.strength.text()
    );
    out.push_str(&measures(c, criterion, judgement));
    let cells = cells::all(c, criterion, judgement, about);
    let _ = write!(
        out,
        "<details><summary>{} cells: values, time series and commands</summary>{cells}</details>",
        criterion.cells().count()
    );
    out
}

/// A row for each measure and scheme, with the deciding cell.
fn measures(c: usize, criterion: &Criterion, judgement: &Judgement) -> String {
    let mut out = "<div class=\"scroll\"><table><thead><tr><th class=\"t\">measure</th><th class=\"t\">scheme</th><th>value</th>\
                   <th>limit</th><th class=\"t\">required</th><th class=\"t\">verdict</th><th class=\"t\">decided by</th></tr></thead><tbody>"
        .to_owned();
    for (m, measure) in criterion.measures.iter().enumerate() {
        let unit = if measure.unit.is_empty() { String::new() } else { format!(", {}", escape(&measure.unit)) };
        let mut label = format!(
            "{}{unit}<br><small title=\"{}\">limit: {}; {} cell</small>",
            escape(&measure.label),
            escape(&measure.reason),
            escape(&measure.limit_label),
            measure.combine.text()
        );
        for (k, scheme) in judgement.schemes.iter().enumerate() {
            let Some(cell) = judgement.results[c][k].as_ref().and_then(|r| r.measures.get(m)).map(|m| m.cell()) else {
                continue;
            };
            let _ = write!(
                out,
                "<tr><td class=\"q\">{}</td><td class=\"t\">{}</td><td>{}</td><td>{}</td><td class=\"t\">{}</td>\
                 <td class=\"t v{}\">{}</td><td class=\"t\">{}</td></tr>",
                std::mem::take(&mut label),
                crate::tables::scheme_cell(k, scheme),
                escape(&text::cell_value(cell)),
                cell.limit.map_or_else(|| "–".into(), number),
                escape(&text::thresholds(measure)),
                class(cell.verdict),
                cell.verdict.text(),
                escape(&criterion.cell_name(cell.experiment, cell.case))
            );
        }
    }
    out.push_str("</tbody></table></div>");
    for line in text::estimates(criterion, &judgement.results[c]) {
        let _ = write!(out, "<p>{}.</p>", escape(&line));
    }
    for (scheme, result) in judgement.schemes.iter().zip(&judgement.results[c]) {
        if let Some(result) = result.as_ref().filter(|r| r.verdict == CriterionVerdict::NotApplicable) {
            let _ = write!(out, "<p>{}: not applicable: {}.</p>", escape(scheme), escape(&result.reason));
        }
    }
    out
}

/// Writes a folder: `judge.html`, `judge.txt`, `summary.json`, and the scenario files that are needed to repeat runs.
///
/// # Errors
/// See [`write_folder`].
pub fn write(criteria: &[Criterion], judgement: &Judgement, about: &About<'_>) -> Result<(), Error> {
    let head = text::head(judgement, about.dated, about.command, about.version);
    let mut files = vec![
        ("judge.html".to_owned(), page(criteria, judgement, about).into_bytes()),
        ("judge.txt".to_owned(), text::document(criteria, judgement, &head).into_bytes()),
        (
            "summary.json".to_owned(),
            format!("{:#}\n", text::json(criteria, judgement, about.command, about.version)).into_bytes(),
        ),
    ];
    let mut scenarios: Vec<&(String, String)> = criteria.iter().flat_map(|c| &c.files).collect();
    scenarios.sort();
    scenarios.dedup();
    files.extend(scenarios.into_iter().map(|(name, text)| (format!("scenarios/{name}"), text.clone().into_bytes())));
    write_folder(about.folder, &files)
}

//! Every cell of a criterion: its values, its time series, and the command that repeats it.

use super::{About, class};
use crate::lines::{Grid, Line, Panel};
use crate::svg::escape;
use ndnweir_lab::criteria::{CellData, Criterion, Judgement, text};
use ndnweir_lab::results::shell_word;
use std::fmt::Write;

/// With more schemes than this, only cells that decide a verdict are drawn, so that browsers can open the page.
const MAX_DRAWN_SCHEMES: usize = 6;

/// All cells, in the order of the file.
pub fn all(c: usize, criterion: &Criterion, judgement: &Judgement, about: &About<'_>) -> String {
    let mut out = String::new();
    for (e, i) in criterion.cells() {
        let experiment = &criterion.experiments[e];
        if i == 0 {
            let _ = write!(out, "<h3>{}: {}</h3>", escape(&experiment.id), escape(&experiment.about));
        }
        let case = &experiment.cases[i];
        if !case.name.is_empty() {
            let _ = write!(out, "<p><b>{}</b></p>", escape(&case.name));
        }
        out.push_str(&values(c, criterion, judgement, (e, i)));
        if judgement.schemes.len() <= MAX_DRAWN_SCHEMES || decides(c, judgement, (e, i)) {
            out.push_str(&drawn(c, criterion, judgement, (e, i)));
        }
        let _ = write!(out, "<pre tabindex=\"0\">{}</pre>", escape(&command(criterion, judgement, about, (e, i))));
    }
    out
}

fn decides(c: usize, judgement: &Judgement, (e, i): (usize, usize)) -> bool {
    let measures = judgement.results[c].iter().flatten().flat_map(|r| &r.measures);
    measures.map(|m| m.cell()).any(|cell| (cell.experiment, cell.case) == (e, i))
}

/// One line for each measure that uses the cell.
fn values(c: usize, criterion: &Criterion, judgement: &Judgement, (e, i): (usize, usize)) -> String {
    let mut rows = String::new();
    for (m, measure) in criterion.measures.iter().enumerate().filter(|(_, m)| m.experiments.contains(&e)) {
        let mut row = format!("<tr><td class=\"q\">{}</td>", escape(&measure.label));
        for result in &judgement.results[c] {
            let found = result.as_ref().and_then(|r| r.measures.get(m));
            let found = found.and_then(|m| m.cells.iter().find(|cell| (cell.experiment, cell.case) == (e, i)));
            match found {
                Some(cell) => {
                    let _ =
                        write!(row, "<td class=\"v{}\">{}</td>", class(cell.verdict), escape(&text::cell_value(cell)));
                }
                None => row.push_str("<td>–</td>"),
            }
        }
        let _ = write!(rows, "{row}</tr>");
    }
    if rows.is_empty() {
        return "<p>Looked at from other cells only.</p>".into();
    }
    let heads: String = judgement.schemes.iter().map(|s| format!("<th>{}</th>", escape(s))).collect();
    format!("<div class=\"scroll\"><table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")
}

fn drawn(c: usize, criterion: &Criterion, judgement: &Judgement, (e, i): (usize, usize)) -> String {
    let shown = |s: usize| -> Option<&CellData> {
        judgement.shown[c][s].iter().find(|shown| (shown.experiment, shown.case) == (e, i))
    };
    let lines = |of: fn(&CellData) -> &Vec<f64>| -> Vec<Line> {
        let line = |(s, scheme): (usize, &String)| {
            shown(s).map(|shown| Line { label: scheme.clone(), scheme: s, style: 0, values: of(shown).clone() })
        };
        judgement.schemes.iter().enumerate().filter_map(line).collect()
    };
    let id = |what: &str| format!("{}-{e}-{i}-{what}", criterion.name);
    let bin_s = (0..judgement.schemes.len()).find_map(shown).map_or(1.0, |shown| shown.series.bin_s);
    let grid = |what: &str, title: &str, y_label: &str, lines: Vec<Line>| Grid {
        id: id(what),
        title: title.into(),
        caption: String::new(),
        y_label: y_label.into(),
        bin_s,
        panels: vec![Panel { lines, ..Panel::default() }],
        y_range: None,
        reference_from_s: 0.0,
        events: Vec::new(),
    };
    let goodput =
        grid("goodput", "Goodput", "goodput of all consumers (Mbit/s), first seed", lines(|s| &s.series.goodput_mbps));
    let queue =
        grid("queue", "Longest wait", "longest mean wait at a link (ms), first seed", lines(|s| &s.series.queue_ms));
    [goodput, queue].into_iter().filter_map(Grid::draw).map(|f| format!("<figure>{}</figure>", f.inline())).collect()
}

fn command(criterion: &Criterion, judgement: &Judgement, about: &About<'_>, (e, i): (usize, usize)) -> String {
    let case = &criterion.experiments[e].cases[i];
    let file = match criterion.files.iter().any(|(name, _)| *name == case.file) {
        true => about.folder.join("scenarios").join(&case.file).display().to_string(),
        false => case.file.clone(),
    };
    let mut words = format!("ndnweir sim {} --scheme {}", shell_word(&file), shell_word(&judgement.schemes.join(",")));
    if let (Some(first), n) = (judgement.seeds.first(), judgement.seeds.len()) {
        let _ = write!(words, " --seeds {n} --seed {first}");
    }
    // The overrides of a case include those of the schemes.
    for change in &case.set {
        let _ = write!(words, " --set {}", shell_word(change));
    }
    words
}

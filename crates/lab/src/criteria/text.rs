//! The verdicts as tables for a terminal and for `judge.txt`, and as JSON.

use super::model::{Better, Criterion, Measure};
use super::run::Judgement;
use super::verdict::{CellResult, CriterionResult, CriterionVerdict};
use crate::evaluation::number;
use crate::results::{Summary, significant};
use crate::text_table::{Column, Row, TableStyle, TextTable, Tone};
use ndnweir_core::plain;
use serde_json::{Value, json};

/// The names of criteria in headings: their sections, or their names if several criteria have the same section.
pub fn short_names(criteria: &[Criterion]) -> Vec<String> {
    let alone = |c: &Criterion| criteria.iter().filter(|other| other.section == c.section).count() == 1;
    criteria.iter().map(|c| if alone(c) { c.section.clone() } else { c.name.clone() }).collect()
}

fn tone(verdict: CriterionVerdict) -> Tone {
    match verdict {
        CriterionVerdict::Pass => Tone::Best,
        CriterionVerdict::Weak => Tone::Plain,
        CriterionVerdict::Fail => Tone::Bad,
        CriterionVerdict::NotApplicable => Tone::Aside,
    }
}

/// Criteria by schemes.
pub fn matrix(criteria: &[Criterion], judgement: &Judgement, style: TableStyle) -> String {
    let column = |heading: &str, weight| Column { heading: heading.into(), right: false, weight };
    let mut columns =
        vec![column("section", Column::ALWAYS), column("criterion", Column::ALWAYS), column("strength", 10)];
    columns.extend(judgement.schemes.iter().map(|s| column(s, Column::ALWAYS)));
    let row = |(c, criterion): (usize, &Criterion)| {
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        let mut cells = vec![plain(&criterion.section), plain(&criterion.title), plain(criterion.strength.text())];
        cells.extend(judgement.results[c].iter().map(|r| match r {
            Some(r) => (r.verdict.text().to_owned(), tone(r.verdict)),
            None => ("–".to_owned(), Tone::Aside),
        }));
        Row { cells, below: String::new() }
    };
    TextTable { columns, rows: criteria.iter().enumerate().map(row).collect() }.render(style)
}

/// Schemes by criteria, with one letter for each verdict: for many schemes.
pub fn letters(criteria: &[Criterion], judgement: &Judgement, style: TableStyle) -> String {
    let column = |heading: String| Column { heading, right: false, weight: Column::ALWAYS };
    let mut columns = vec![column("scheme".into())];
    columns.extend(short_names(criteria).into_iter().map(column));
    let row = |(s, scheme): (usize, &String)| {
        let mut cells = vec![(scheme.clone(), Tone::Plain)];
        cells.extend(judgement.results.iter().map(|row| match &row[s] {
            Some(r) => (letter(r.verdict).to_owned(), tone(r.verdict)),
            None => ("–".to_owned(), Tone::Aside),
        }));
        Row { cells, below: String::new() }
    };
    TextTable { columns, rows: judgement.schemes.iter().enumerate().map(row).collect() }.render(style)
}

fn letter(verdict: CriterionVerdict) -> &'static str {
    match verdict {
        CriterionVerdict::Pass => "+",
        CriterionVerdict::Weak => "o",
        CriterionVerdict::Fail => "x",
        CriterionVerdict::NotApplicable => "n",
    }
}

/// The text of a value with its spread.
pub fn spread(value: Option<&Summary>) -> String {
    match value {
        Some(Summary { mean, sd: Some(sd), .. }) => format!("{} ± {}", number(*mean), number(*sd)),
        Some(s) => number(s.mean),
        None => "undefined".into(),
    }
}

/// The value of a cell with its spread, and whether it is relative to an estimate.
pub fn cell_value(cell: &CellResult) -> String {
    format!("{}{}", spread(cell.value.as_ref()), mark(cell.estimate.is_some()))
}

/// Follows values that are relative to an estimate of the optimum.
pub const ESTIMATED: &str = "est.";

/// The mark with a blank before it, if the value is relative to an estimate.
pub fn mark(is_estimated: bool) -> String {
    if is_estimated { format!(" {ESTIMATED}") } else { String::new() }
}

/// What the mark means in each cell that has it, one line for each; empty if all optima are proved.
pub fn estimates(criterion: &Criterion, results: &[Option<CriterionResult>]) -> Vec<String> {
    let line = |(cell, known): (String, &str)| {
        format!("{ESTIMATED}: relative to an estimate of the optimum, which is not proved, in {cell}: {known}")
    };
    criterion.estimates(results).into_iter().map(line).collect()
}

/// Which criteria have cells that are relative to an estimate of the optimum; `None` if all optima are proved.
pub fn estimated(criteria: &[Criterion], judgement: &Judgement) -> Option<String> {
    let cells = |(criterion, results): (&Criterion, &Vec<Option<CriterionResult>>)| {
        let found = criterion.estimates(results).len();
        (found > 0).then(|| format!("{} ({found} of {} cells)", criterion.name, criterion.cells().count()))
    };
    let all: Vec<String> = criteria.iter().zip(&judgement.results).filter_map(cells).collect();
    let lead = "Relative to an estimate of the optimum, which is not proved";
    (!all.is_empty()).then(|| format!("{lead}: {}.", all.join(", ")))
}

/// The text of a measure's thresholds: `≤ 0.5, weak ≤ 1`.
pub fn thresholds(measure: &Measure) -> String {
    let sign = match measure.better {
        Better::Less => "≤",
        Better::More => "≥",
    };
    format!("{sign} {}, weak {sign} {}", measure.pass, measure.weak)
}

/// The deciding cells of one criterion, a row for each measure and scheme.
pub fn measures(
    criterion: &Criterion,
    results: &[Option<CriterionResult>],
    schemes: &[String],
    style: TableStyle,
) -> String {
    let column = |heading: &str, right, weight| Column { heading: heading.into(), right, weight };
    let columns = vec![
        column("measure", false, Column::ALWAYS),
        column("scheme", false, Column::ALWAYS),
        column("value", true, Column::ALWAYS),
        column("limit", true, 60),
        column("required", false, 50),
        column("verdict", false, Column::ALWAYS),
        column("decided by", false, 40),
    ];
    let mut rows = Vec::new();
    for (m, measure) in criterion.measures.iter().enumerate() {
        let unit = if measure.unit.is_empty() { String::new() } else { format!(", {}", measure.unit) };
        let mut label = format!("{}{unit}", measure.label);
        for (s, scheme) in schemes.iter().enumerate() {
            let Some(cell) = results[s].as_ref().and_then(|r| r.measures.get(m)).map(|m| m.cell()) else { continue };
            let verdict = (cell.verdict.text().to_owned(), tone(cell.verdict));
            let plain = |text: String| (text, Tone::Plain);
            let cells = vec![
                plain(std::mem::take(&mut label)),
                plain(scheme.clone()),
                plain(cell_value(cell)),
                plain(cell.limit.map_or_else(|| "–".into(), number)),
                plain(thresholds(measure)),
                verdict,
                plain(criterion.cell_name(cell.experiment, cell.case)),
            ];
            rows.push(Row { cells, below: String::new() });
        }
    }
    let mut text = TextTable { columns, rows }.render(style);
    for line in estimates(criterion, results) {
        text.push_str(&format!("{}\n", plain::line(&line)));
    }
    for (scheme, result) in schemes.iter().zip(results) {
        if let Some(result) = result.as_ref().filter(|r| r.verdict == CriterionVerdict::NotApplicable) {
            text.push_str(&format!("{scheme}: not applicable: {}\n", plain::line(&result.reason)));
        }
    }
    text
}

/// The schemes, criteria and seeds of a judgement, in one or two lines.
pub fn head(judgement: &Judgement, dated: Option<&str>, command: &str, version: &str) -> String {
    let dated = dated.map(|date| format!("Criteria of {date} (judge/LOG.md). ")).unwrap_or_default();
    let seeds: Vec<String> = judgement.seeds.iter().map(u64::to_string).collect();
    format!("{dated}Seeds {}. ndnweir {version}.\n{command}\n", seeds.join(", "))
}

/// `judge.txt`.
pub fn document(criteria: &[Criterion], judgement: &Judgement, head: &str) -> String {
    const WIDE: usize = 8;
    let style = TableStyle::default();
    let mut text = format!("{head}\n");
    if judgement.partial {
        text.push_str("Partial: the work was interrupted.\n\n");
    }
    if judgement.schemes.len() <= WIDE {
        text.push_str(&matrix(criteria, judgement, style));
    } else {
        text.push_str("+ pass, o weak, x fail, n not applicable\n\n");
        text.push_str(&letters(criteria, judgement, style));
    }
    if let Some(line) = estimated(criteria, judgement) {
        text.push_str(&format!("\n{}\n", plain::line(&line)));
    }
    for (criterion, results) in criteria.iter().zip(&judgement.results) {
        text.push_str(&format!(
            "\n{} {} ({}): {}\n\n",
            criterion.section,
            criterion.title,
            criterion.strength.text(),
            criterion.question
        ));
        text.push_str(&measures(criterion, results, &judgement.schemes, style));
    }
    text
}

/// `summary.json`, and the output of `--json`: it does not depend on the machine or the time.
pub fn json(criteria: &[Criterion], judgement: &Judgement, command: &str, version: &str) -> Value {
    let round = |x: f64| significant(x, 10);
    let cell = |criterion: &Criterion, cell: &CellResult| {
        let mut value = json!({
            "experiment": criterion.experiments[cell.experiment].id,
            "case": criterion.experiments[cell.experiment].cases[cell.case].name,
            "mean": cell.value.as_ref().map(|s| round(s.mean)),
            "sd": cell.value.as_ref().and_then(|s| s.sd).map(round),
            "n": cell.value.as_ref().map_or(0, |s| s.n),
            "limit": cell.limit.map(round),
            "verdict": cell.verdict,
        });
        if let Some(known) = &cell.estimate {
            value["estimate"] = json!(known);
        }
        value
    };
    let result = |criterion: &Criterion, (scheme, result): (&String, &Option<CriterionResult>)| {
        let Some(result) = result else { return json!({ "scheme": scheme, "verdict": null }) };
        let measures: Vec<Value> = (criterion.measures.iter().zip(&result.measures))
            .map(|(m, r)| {
                let cells: Vec<Value> = r.cells.iter().map(|c| cell(criterion, c)).collect();
                json!({ "id": m.id, "verdict": r.cell().verdict, "decided": r.decided, "cells": cells })
            })
            .collect();
        json!({ "scheme": scheme, "verdict": result.verdict, "reason": result.reason, "measures": measures })
    };
    let one = |(criterion, results): (&Criterion, &Vec<Option<CriterionResult>>)| {
        let measures = criterion.measures.iter().map(|m| {
            json!({
                "id": m.id, "label": m.label, "unit": m.unit, "metric": m.metric.to_string(),
                "limit": m.limit.to_string(), "limit_label": m.limit_label, "pass": m.pass, "weak": m.weak,
                "better": if m.better == Better::Less { "less" } else { "more" },
                "combine": m.combine.text(), "reason": m.reason,
            })
        });
        json!({
            "name": criterion.name, "title": criterion.title, "section": criterion.section,
            "strength": criterion.strength.text(), "question": criterion.question,
            "measures": measures.collect::<Vec<_>>(),
            "results": judgement.schemes.iter().zip(results).map(|r| result(criterion, r)).collect::<Vec<_>>(),
        })
    };
    let hops: serde_json::Map<String, Value> =
        judgement.schemes.iter().cloned().zip(judgement.packet_hops.iter().map(|n| json!(n))).collect();
    json!({
        "criteria": criteria.iter().zip(&judgement.results).map(one).collect::<Vec<_>>(),
        "schemes": judgement.schemes, "stand_ins": judgement.stand_ins, "seeds": judgement.seeds,
        "packet_hops": hops, "partial": judgement.partial,
        "repeat": { "command": command, "version": version },
    })
}

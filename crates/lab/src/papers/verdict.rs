//! The comparison of a measured value with a published one.
//!
//! - **reproduced**: |mean − published| ≤ max(tolerance, 2·sd/√n). The tolerance is a difference that a reader would
//!   accept as equal; it is fixed in the data before the first run. 2·sd/√n is the uncertainty of our own mean over
//!   seeds (two standard errors, about 95 %); it shrinks as seeds are added, so that noise cannot cause a verdict. For
//!   a trend: at least four of five runs show it.
//! - **ordering holds**: for an ordering, every difference in it, taken run by run, has the stated sign and a mean
//!   beyond two standard errors. For a number that is not reproduced: the ordering that it names holds.
//! - **not reproduced**: all other cases, including values that could not be measured.

use super::model::{Paper, PublishedEntry, Rule, StatementKind};
use crate::evaluation::eval::{between, series};
use crate::evaluation::expr::Expr;
use crate::evaluation::{Runs, number, two_standard_errors};
use crate::results::{Summary, mean_sd};
use serde::Serialize;

/// The three verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PaperVerdict {
    /// The number is within its tolerance, or the trend is shown.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The ordering holds.
    #[serde(rename = "ordering holds")]
    OrderingHolds,
    /// Neither of these.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl PaperVerdict {
    /// The verdict as text.
    pub fn text(self) -> &'static str {
        match self {
            PaperVerdict::Reproduced => "reproduced",
            PaperVerdict::OrderingHolds => "ordering holds",
            PaperVerdict::NotReproduced => "not reproduced",
        }
    }
}

/// An entry with its measured value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Id of the entry.
    pub id: String,
    /// Table, figure or section.
    #[serde(rename = "where")]
    pub source: String,
    /// The scheme, or all schemes that are compared.
    pub scheme: String,
    /// What is measured, in words.
    pub metric: String,
    /// Unit of the numbers.
    pub unit: String,
    /// The published number; `None` for a statement without a number.
    pub published: Option<f64>,
    /// Mean over runs: of the metric; of the smallest margin of an ordering; the fraction of runs that show a trend.
    pub mean: Option<f64>,
    /// Sample standard deviation; `None` with one run.
    pub sd: Option<f64>,
    /// The number of runs.
    pub n: usize,
    /// In the entry's unit; `None` for statements.
    pub tolerance: Option<f64>,
    /// The verdict.
    pub verdict: PaperVerdict,
    /// A remark on the verdict.
    pub note: String,
}

/// Judges every entry of a paper.
pub fn judge(paper: &Paper, runs: &Runs) -> Vec<Judged> {
    let mut all: Vec<Judged> = paper.entries.iter().map(|e| one(paper, runs, e)).collect();
    let held: Vec<String> =
        all.iter().filter(|j| j.verdict == PaperVerdict::OrderingHolds).map(|j| j.id.clone()).collect();
    for (entry, judged) in paper.entries.iter().zip(&mut all) {
        if let StatementKind::Number { ordering: Some(id), .. } = &entry.kind
            && judged.verdict == PaperVerdict::NotReproduced
            && judged.n > 0
            && held.contains(id)
        {
            judged.verdict = PaperVerdict::OrderingHolds;
            add(&mut judged.note, format!("of ordering {id}"));
        }
    }
    all
}

fn add(note: &mut String, more: String) {
    if !note.is_empty() {
        note.push_str("; ");
    }
    note.push_str(&more);
}

fn one(paper: &Paper, runs: &Runs, entry: &PublishedEntry) -> Judged {
    let mut judged = Judged {
        id: entry.id.clone(),
        source: entry.source.clone(),
        scheme: entry.scheme.clone(),
        metric: entry.label.clone(),
        unit: entry.unit.clone(),
        published: None,
        mean: None,
        sd: None,
        n: 0,
        tolerance: None,
        verdict: PaperVerdict::NotReproduced,
        note: entry.note.clone(),
    };
    if let Some(fitted) = &entry.fitted {
        add(&mut judged.note, format!("cannot confirm, fitted on this: {fitted}"));
    }
    match &entry.kind {
        StatementKind::Number { metric, published, tolerance, .. } => {
            judged.published = Some(*published);
            judged.tolerance = Some(*tolerance);
            if let Some((s, _)) = runs.summary(&paper.experiments, entry.experiment, entry.case, &entry.scheme, metric)
            {
                put(&mut judged, &s);
                let off = (s.mean - published).abs();
                let two_standard_errors = two_standard_errors(&s).unwrap_or(0.0);
                // A small tolerance for rounding, so that a difference equal to the tolerance is accepted.
                if off <= tolerance.max(two_standard_errors) * (1.0 + 1e-9) {
                    judged.verdict = PaperVerdict::Reproduced;
                    if off > *tolerance {
                        add(&mut judged.note, "inside two standard errors, outside the tolerance".into());
                    }
                }
            }
        }
        StatementKind::Ordering { items, rule } => ordering(paper, runs, entry, items, *rule, &mut judged),
        StatementKind::Trend { trend, series: name, from, to } => {
            let shown: Vec<f64> = (runs.of(entry.experiment, entry.case, &entry.scheme))
                .filter_map(|m| {
                    let values = series(&m.run, name)?;
                    let width = m.run.series.bin_s;
                    trend.holds(between(values, width, *from, *to), width)
                })
                .map(|holds| if holds { 1.0 } else { 0.0 })
                .collect();
            judged.unit = "of runs".into();
            if let Some((mean, sd)) = mean_sd(&shown) {
                put(&mut judged, &Summary { mean, sd, n: shown.len() });
                if mean >= 0.8 {
                    judged.verdict = PaperVerdict::Reproduced;
                }
            }
        }
    }
    if judged.n == 0 {
        add(&mut judged.note, "not measured: undefined in every run".into());
    }
    judged
}

fn put(judged: &mut Judged, s: &Summary) {
    (judged.mean, judged.sd, judged.n) = (Some(s.mean), s.sd, s.n);
}

fn ordering(
    paper: &Paper,
    runs: &Runs,
    entry: &PublishedEntry,
    items: &[(String, Expr)],
    rule: Rule,
    judged: &mut Judged,
) {
    let sign = match rule {
        Rule::Ascending => " < ",
        Rule::Descending => " > ",
        Rule::FirstSmallest => " < each of ",
        Rule::FirstLargest => " > each of ",
        Rule::Near(_) => " ≈ ",
    };
    let labels: Vec<&str> = items.iter().map(|i| i.0.as_str()).collect();
    judged.scheme = match rule {
        Rule::FirstSmallest | Rule::FirstLargest => format!("{}{sign}{}", labels[0], labels[1..].join(", ")),
        _ => labels.join(sign),
    };
    // Any run of the experiment can represent its case and seed; the expressions name their schemes.
    let Some(scheme) = paper.experiments[entry.experiment].schemes.first() else { return };
    let rows: Vec<Vec<f64>> = (runs.of(entry.experiment, entry.case, &scheme.name))
        .filter_map(|m| items.iter().map(|(_, e)| runs.value(&paper.experiments, entry.experiment, m, e)).collect())
        .collect();
    if rows.is_empty() {
        return;
    }
    let pairs: Vec<(usize, usize)> = match rule {
        Rule::Ascending | Rule::Descending => (1..items.len()).map(|i| (i - 1, i)).collect(),
        Rule::FirstSmallest | Rule::FirstLargest => (1..items.len()).map(|i| (0, i)).collect(),
        Rule::Near(_) => (0..items.len()).flat_map(|i| (i + 1..items.len()).map(move |j| (i, j))).collect(),
    };
    // Margins are positive if the rule holds.
    let margin = |row: &Vec<f64>, (i, j): (usize, usize)| match rule {
        Rule::Ascending | Rule::FirstSmallest => row[j] - row[i],
        Rule::Descending | Rule::FirstLargest => row[i] - row[j],
        Rule::Near(within) => within * (row[i] + row[j]).abs() / 2.0 - (row[i] - row[j]).abs(),
    };
    let means: Vec<f64> =
        (0..items.len()).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64).collect();
    let mut worst: Option<(Summary, f64)> = None;
    // A difference with the wrong sign is worse than one that is not significant.
    let rank = |(s, clear): &(Summary, f64)| if s.mean > 0.0 { (1.0, *clear) } else { (0.0, s.mean) };
    for pair in pairs {
        let (s, clear) = match rule {
            // Equality is that of the means: compared run by run, noise alone would separate two equal schemes.
            Rule::Near(_) => {
                let mean = margin(&means, pair);
                (Summary { mean, sd: None, n: rows.len() }, mean)
            }
            _ => {
                let values: Vec<f64> = rows.iter().map(|row| margin(row, pair)).collect();
                let Some((mean, sd)) = mean_sd(&values) else { continue };
                let s = Summary { mean, sd, n: values.len() };
                (s, mean - two_standard_errors(&s).unwrap_or(0.0))
            }
        };
        if worst.is_none_or(|w| rank(&(s, clear)) < rank(&w)) {
            worst = Some((s, clear));
        }
    }
    let Some((s, clear)) = worst else { return };
    put(judged, &s);
    if clear > 0.0 {
        judged.verdict = PaperVerdict::OrderingHolds;
    } else if s.mean > 0.0 {
        add(&mut judged.note, "in this order, but within two standard errors".into());
    }
    let text: Vec<String> = labels.iter().zip(&means).map(|(l, m)| format!("{l} {}", number(*m))).collect();
    add(&mut judged.note, text.join(", "));
}

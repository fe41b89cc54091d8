//! The comparison of a measured value with a published one.
//!
//! The mean over runs has a 95 % confidence interval, by Student's t. Around the published number (or range) lies a band
//! of the tolerance, a difference that a reader would accept as equal.
//!
//! - **reproduced**: the mean lies in the band, and half the interval is at most the tolerance. An ordering: every
//!   difference in it, taken run by run, has the stated sign with its whole interval. A trend: at least four of five
//!   runs show it.
//! - **consistent with one run**, where the paper shows a single run: not reproduced as a mean, but at least one run in
//!   twenty lies in the band.
//! - **not reproduced**: the whole interval lies outside the band, or a difference of an ordering has the other sign with
//!   its whole interval, or at most one run in five shows a trend; or nothing could be measured. Where the paper shows a
//!   single run, one run in twenty in the band must be unlikely as well: by the number of runs in it, or because none is
//!   and the band is outside the 95 % prediction interval of a further run.
//! - **undecided**: all other cases. More seeds decide them.

use super::model::{Paper, PublishedEntry, Rule, StatementKind};
use crate::evaluation::eval::{between, series};
use crate::evaluation::expr::Expr;
use crate::evaluation::{Runs, half_width, number, student};
use crate::results::{Summary, mean_sd};
use serde::Serialize;

/// The verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PaperVerdict {
    /// Number, ordering or trend come out as published.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The published number is what a single run of ours may give.
    #[serde(rename = "consistent with one run")]
    OneRun,
    /// The spread over runs is too large for a verdict.
    #[serde(rename = "undecided")]
    Undecided,
    /// None of these.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl PaperVerdict {
    /// All of them, the best first.
    pub const ALL: [PaperVerdict; 4] =
        [PaperVerdict::Reproduced, PaperVerdict::OneRun, PaperVerdict::Undecided, PaperVerdict::NotReproduced];

    /// The verdict as text.
    pub fn text(self) -> &'static str {
        match self {
            PaperVerdict::Reproduced => "reproduced",
            PaperVerdict::OneRun => "consistent with one run",
            PaperVerdict::Undecided => "undecided",
            PaperVerdict::NotReproduced => "not reproduced",
        }
    }

    /// Whether the claim holds.
    pub fn holds(self) -> bool {
        self <= PaperVerdict::OneRun
    }
}

/// An entry with its measured value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Id of the entry.
    pub id: String,
    /// The reading under which it is judged; `literal` for the literal one.
    pub reading: String,
    /// Table, figure or section.
    #[serde(rename = "where")]
    pub source: String,
    /// The scheme, or all schemes that are compared.
    pub scheme: String,
    /// What is measured, in words.
    pub metric: String,
    /// Unit of the numbers.
    pub unit: String,
    /// The published number, of a range its lower end; `None` for a statement without a number.
    pub published: Option<f64>,
    /// The upper end of a published range.
    pub published_to: Option<f64>,
    /// Mean over runs: of the metric; of the margin that decides an ordering; the fraction of runs that show a trend.
    pub mean: Option<f64>,
    /// Sample standard deviation; `None` with one run.
    pub sd: Option<f64>,
    /// Half the 95 % confidence interval of the mean, by Student's t; `None` with one run.
    pub half_width: Option<f64>,
    /// The number of runs.
    pub n: usize,
    /// In the entry's unit; `None` for statements.
    pub tolerance: Option<f64>,
    /// The verdict.
    pub verdict: PaperVerdict,
    /// What was fitted to this value, which therefore cannot confirm it.
    pub fitted: Option<String>,
    /// Whether it counts as a published claim; if not, the note says why.
    pub counted: bool,
    /// Why it is not reproduced, if that is known.
    pub cause: Option<String>,
    /// A remark on the verdict.
    pub note: String,
}

/// Judges every entry of a paper.
pub fn judge(paper: &Paper, runs: &Runs) -> Vec<Judged> {
    let mut all: Vec<Judged> = paper.entries.iter().map(|e| one(paper, runs, e)).collect();
    let held: Vec<(String, String)> =
        all.iter().filter(|j| j.verdict.holds()).map(|j| (j.id.clone(), j.reading.clone())).collect();
    for (entry, judged) in paper.entries.iter().zip(&mut all) {
        if let StatementKind::Number { ordering: Some(id), .. } = &entry.kind
            && !judged.verdict.holds()
            && held.contains(&(id.clone(), judged.reading.clone()))
        {
            add(&mut judged.note, format!("its ordering {id} holds"));
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

/// The name of the reading that takes the paper literally.
pub const LITERAL: &str = "literal";

fn one(paper: &Paper, runs: &Runs, entry: &PublishedEntry) -> Judged {
    let mut judged = Judged {
        id: entry.id.clone(),
        reading: entry.reading.map_or(LITERAL, |r| paper.readings[r].id.as_str()).to_owned(),
        source: entry.source.clone(),
        scheme: entry.scheme.clone(),
        metric: entry.label.clone(),
        unit: entry.unit.clone(),
        published: None,
        published_to: None,
        mean: None,
        sd: None,
        half_width: None,
        n: 0,
        tolerance: None,
        verdict: PaperVerdict::NotReproduced,
        fitted: entry.fitted.clone(),
        counted: entry.uncounted.is_none(),
        cause: entry.cause.clone(),
        note: entry.note.clone(),
    };
    if let Some(why) = &entry.uncounted {
        add(&mut judged.note, format!("not counted: {why}"));
    }
    if let Some(fitted) = &entry.fitted {
        add(&mut judged.note, format!("cannot confirm, fitted on this: {fitted}"));
    }
    match &entry.kind {
        StatementKind::Number { metric, published, to, single, tolerance, .. } => {
            judged.published = Some(*published);
            judged.published_to = (to > published).then_some(*to);
            judged.tolerance = Some(*tolerance);
            let found = runs.summary(&paper.experiments, entry.experiment, entry.case, &entry.scheme, metric);
            if let Some((s, values)) = found {
                put(&mut judged, &s);
                let all = runs.of(entry.experiment, entry.case, &entry.scheme).count();
                if s.n < all {
                    add(&mut judged.note, format!("undefined in {} of {all} runs", all - s.n));
                }
                let off = |x: f64| (published - x).max(x - to).max(0.0);
                judged.verdict = in_band(off(s.mean), half_width(&s), *tolerance);
                if *single && judged.verdict != PaperVerdict::Reproduced {
                    let hits = values.iter().filter(|v| off(**v) <= slack(*tolerance)).count();
                    judged.verdict = one_run(hits, &s, off(s.mean) - tolerance, judged.verdict);
                    add(&mut judged.note, format!("{hits} of {} runs within the tolerance", values.len()));
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
                judged.half_width = None;
                judged.verdict = match mean {
                    _ if shown.len() < 2 => PaperVerdict::Undecided,
                    m if m >= 0.8 => PaperVerdict::Reproduced,
                    m if m <= 0.2 => PaperVerdict::NotReproduced,
                    _ => PaperVerdict::Undecided,
                };
            }
        }
    }
    if judged.n == 0 {
        add(&mut judged.note, "not measured: undefined in every run".into());
    } else if judged.n == 1 {
        add(&mut judged.note, "a single run has no spread".into());
    }
    judged
}

/// A small allowance for rounding, so that a difference equal to the tolerance is accepted.
fn slack(tolerance: f64) -> f64 {
    tolerance * (1.0 + 1e-9)
}

/// The verdict on a mean that is `off` from what was published, with `half` of its confidence interval.
fn in_band(off: f64, half: Option<f64>, tolerance: f64) -> PaperVerdict {
    let tolerance = slack(tolerance);
    match half {
        Some(half) if off <= tolerance && half <= tolerance => PaperVerdict::Reproduced,
        Some(half) if off - half > tolerance => PaperVerdict::NotReproduced,
        _ => PaperVerdict::Undecided,
    }
}

/// The part of our runs that must lie in the band if the paper's only run is to be one like them.
const ONE_IN: f64 = 0.05;

/// The verdict on a single published run of which `hits` of ours lie in the band, whose edge is `beyond` from their mean.
fn one_run(hits: usize, ours: &Summary, beyond: f64, mean: PaperVerdict) -> PaperVerdict {
    let n = ours.n;
    if hits as f64 >= ONE_IN * n as f64 && n > 1 {
        return PaperVerdict::OneRun;
    }
    // The probability of so few hits if one run in twenty were in the band.
    let (mut term, mut sum) = ((1.0 - ONE_IN).powi(n as i32), 0.0);
    for k in 0..=hits {
        sum += term;
        term *= (n - k) as f64 / (k + 1) as f64 * ONE_IN / (1.0 - ONE_IN);
    }
    // Where runs hardly differ, few are enough: the band lies outside the interval in which 95 % of runs are expected.
    let next = ours.sd.map(|sd| student(n - 1) * sd * (1.0 + 1.0 / n as f64).sqrt());
    match sum < 0.05 || hits == 0 && next.is_some_and(|next| beyond > next) {
        true => mean,
        false => PaperVerdict::Undecided,
    }
}

fn put(judged: &mut Judged, s: &Summary) {
    (judged.mean, judged.sd, judged.half_width, judged.n) = (Some(s.mean), s.sd, half_width(s), s.n);
}

/// The worst pair of one case: verdict, and the margin that it is about.
struct Worst {
    verdict: PaperVerdict,
    margin: Summary,
    half: Option<f64>,
    /// How far inside (positive) the margin is.
    clear: f64,
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
    let experiment = &paper.experiments[entry.experiment];
    let Some(scheme) = experiment.schemes.first() else { return };
    // Without a case it must hold in each: conditions are not seeds.
    let cases = entry.case.map_or(0..experiment.cases.len(), |case| case..case + 1);
    let several = cases.len() > 1;
    let mut worst: Option<Worst> = None;
    for case in cases {
        let rows: Vec<Vec<f64>> = (runs.of(entry.experiment, Some(case), &scheme.name))
            .filter_map(|m| items.iter().map(|(_, e)| runs.value(&paper.experiments, entry.experiment, m, e)).collect())
            .collect();
        let Some(found) = in_order(&rows, rule) else { continue };
        let means = (0..items.len()).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64);
        let text: Vec<String> = labels.iter().zip(means).map(|(l, m)| format!("{l} {}", number(m))).collect();
        let name = if several { format!("{}: ", experiment.cases[case].name) } else { String::new() };
        let verdict = if several { format!(" ({})", found.verdict.text()) } else { String::new() };
        add(&mut judged.note, format!("{name}{}{verdict}", text.join(", ")));
        if worst.as_ref().is_none_or(|w| (found.verdict, -found.clear) > (w.verdict, -w.clear)) {
            worst = Some(found);
        }
    }
    let Some(worst) = worst else { return };
    put(judged, &worst.margin);
    (judged.half_width, judged.verdict) = (worst.half, worst.verdict);
}

/// Judges one case of an ordering, from the values of its items in each run; `None` without runs.
fn in_order(rows: &[Vec<f64>], rule: Rule) -> Option<Worst> {
    let n = rows.first()?.len();
    let pairs: Vec<(usize, usize)> = match rule {
        Rule::Ascending | Rule::Descending => (1..n).map(|i| (i - 1, i)).collect(),
        Rule::FirstSmallest | Rule::FirstLargest => (1..n).map(|i| (0, i)).collect(),
        Rule::Near(_) => (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect(),
    };
    let mut worst: Option<Worst> = None;
    for (i, j) in pairs {
        let differences: Vec<f64> = match rule {
            Rule::Ascending | Rule::FirstSmallest | Rule::Near(_) => rows.iter().map(|r| r[j] - r[i]).collect(),
            Rule::Descending | Rule::FirstLargest => rows.iter().map(|r| r[i] - r[j]).collect(),
        };
        let Some((mean, sd)) = mean_sd(&differences) else { continue };
        let margin = Summary { mean, sd, n: differences.len() };
        let half = half_width(&margin);
        let found = match rule {
            Rule::Near(within) => {
                let middle = rows.iter().map(|r| (r[i] + r[j]) / 2.0).sum::<f64>() / rows.len() as f64;
                let band = within * middle.abs();
                let margin = Summary { mean: band - mean.abs(), ..margin };
                Worst { verdict: in_band(mean.abs(), half, band), clear: margin.mean, margin, half }
            }
            _ => {
                let verdict = match half {
                    Some(half) if mean - half > 0.0 => PaperVerdict::Reproduced,
                    Some(half) if mean + half <= 0.0 => PaperVerdict::NotReproduced,
                    _ => PaperVerdict::Undecided,
                };
                Worst { verdict, clear: mean - half.unwrap_or(0.0), margin, half }
            }
        };
        if worst.as_ref().is_none_or(|w| (found.verdict, -found.clear) > (w.verdict, -w.clear)) {
            worst = Some(found);
        }
    }
    worst
}

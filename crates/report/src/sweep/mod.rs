//! The page of a sweep: response curves with confidence bands, and heat maps, from its table of runs.

mod axis;
mod cells;
mod curves;
mod maps;

use super::html::{document, interactive};
use super::svg::{Figure, escape};
use super::tables::html;
use cells::{Cells, Experiment};
use ndnweir_lab::criteria::text::{ESTIMATED, mark};
use ndnweir_lab::evaluation::number;
use ndnweir_lab::results::tables::Table;

/// A metric that is drawn.
struct Metric {
    /// Its column.
    column: &'static str,
    /// What it is called.
    name: &'static str,
    unit: &'static str,
}

/// The column that is relative to the optimum.
const ATTAINED: &str = "attained";

/// The metrics that are drawn, where they are defined: columns of docs/metrics.md.
const METRICS: [Metric; 7] = [
    Metric { column: "goodput_mbps", name: "Goodput", unit: "Mbit/s" },
    Metric { column: ATTAINED, name: "Share of the optimum", unit: "" },
    Metric { column: "delay_ms_mean", name: "Delay, mean", unit: "ms" },
    Metric { column: "delay_ms_p99", name: "Delay, 99th percentile", unit: "ms" },
    Metric { column: "jain", name: "Jain's index of fairness", unit: "" },
    Metric { column: "bottleneck_queue_ms", name: "Queue at the bottleneck", unit: "ms" },
    Metric { column: "loss_mbps", name: "Loss", unit: "Mbit/s" },
];

impl Metric {
    fn label(&self) -> String {
        if self.unit.is_empty() { self.name.to_owned() } else { format!("{} ({})", self.name, self.unit) }
    }
}

/// Most panels of a figure; a caption says what is left out.
const MAX_PANELS: usize = 24;

/// Most remarks on estimates of the optimum.
const MAX_ESTIMATES: usize = 5;

/// Most rows of the table of an experiment.
const MAX_ROWS: usize = 2000;

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct NoSweep(String);

/// All figures of a sweep's table of runs.
///
/// # Errors
/// If it is no such table.
pub fn sweep_figures(runs: &Table) -> Result<Vec<Figure>, NoSweep> {
    Ok(experiments(runs)?.iter().enumerate().flat_map(|(number, experiment)| drawn(experiment, number)).collect())
}

/// The page of a sweep, called `name`, from its table of runs.
///
/// # Errors
/// If it is no such table.
pub fn sweep_page(name: &str, runs: &Table, version: &str) -> Result<String, NoSweep> {
    let all = experiments(runs)?;
    let mut body = format!(
        "<header><h1>{}</h1><p class=\"lead\">{} runs</p></header><main><p>Lines and cells are means over the seeds; \
         bands, and numbers after ±, are 95 % confidence intervals by Student's t, which one seed does not have.</p>",
        escape(name),
        runs.len()
    );
    for (number, experiment) in all.iter().enumerate() {
        body.push_str(&format!("<h2>{}</h2>", escape(&experiment.name)));
        if experiment.keys.is_empty() {
            body.push_str("<p>Nothing varies but schemes and seeds: there is no curve.</p>");
        }
        for figure in drawn(experiment, number) {
            body.push_str(&format!("<h3>{}</h3>{}", escape(&figure.title), interactive(&figure)));
        }
        body.push_str(&estimates(experiment));
        body.push_str(&overview(experiment));
    }
    body.push_str("</main>");
    Ok(document(&format!("{name} · ndnweir"), &body, version))
}

fn experiments(runs: &Table) -> Result<Vec<Experiment<'_>>, NoSweep> {
    let all = cells::read(runs).map_err(NoSweep)?;
    if all.is_empty() {
        return Err(NoSweep("the table of runs has no rows".into()));
    }
    Ok(all)
}

fn drawn(experiment: &Experiment<'_>, number: usize) -> Vec<Figure> {
    let mut figures = Vec::new();
    for metric in &METRICS {
        let cells = experiment.cells(metric.column);
        figures.extend(curves::draw(experiment, &cells, metric, number));
        figures.extend(maps::draw(experiment, &cells, metric, number));
    }
    figures
}

/// Which shares are relative to an estimate of the optimum; empty if none is.
fn estimates(experiment: &Experiment<'_>) -> String {
    let found = experiment.estimates();
    if found.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<div class=\"warn\"><b>Estimates.</b> In {} of {} cases the share is relative to an estimate of the optimum, which is \
         not proved; the table marks it with <b>{ESTIMATED}</b>",
        found.len(),
        experiment.cases().count()
    );
    let mut texts: Vec<&str> = found.into_values().collect();
    texts.sort_unstable();
    texts.dedup();
    for text in texts.iter().take(MAX_ESTIMATES) {
        out.push_str(&format!("<br>{}.", escape(text)));
    }
    if let Some(left) = texts.len().checked_sub(MAX_ESTIMATES).filter(|left| *left > 0) {
        out.push_str(&format!("<br>{left} more are in runs.parquet."));
    }
    out + "</div>"
}

/// A table of all cases and schemes.
fn overview(experiment: &Experiment<'_>) -> String {
    let all: Vec<(&Metric, Cells)> = METRICS.iter().map(|metric| (metric, experiment.cells(metric.column))).collect();
    let shown: Vec<&(&Metric, Cells)> = all.iter().filter(|(_, cells)| !cells.is_empty()).collect();
    let labels: Vec<String> = shown.iter().map(|(metric, _)| metric.label()).collect();
    let text = experiment.keys.len() + 1;
    let headings: Vec<&str> = experiment
        .keys
        .iter()
        .map(|key| key.name.as_str())
        .chain(["scheme", "seeds"])
        .chain(labels.iter().map(String::as_str))
        .collect();
    let estimates = experiment.estimates();
    let mut rows = Vec::new();
    for case in experiment.cases().take(MAX_ROWS) {
        for (scheme, name) in experiment.schemes.iter().enumerate() {
            let values: Vec<_> = shown.iter().map(|(_, cells)| cells.of(&case, scheme)).collect();
            let Some(seeds) = values.iter().flatten().map(|mean| mean.seeds).max() else { continue };
            let mut row: Vec<String> =
                case.iter().zip(&experiment.keys).map(|(value, key)| escape(&key.values[*value])).collect();
            row.extend([escape(name), seeds.to_string()]);
            row.extend(values.iter().zip(&shown).map(|(mean, (metric, _))| {
                let Some(mean) = mean else { return "–".to_owned() };
                let half = mean.half.map(|half| format!(" ± {}", number(half))).unwrap_or_default();
                let is_estimated = metric.column == ATTAINED && estimates.contains_key(&case);
                format!("{}{half}{}", number(mean.mean), mark(is_estimated))
            }));
            rows.push(row);
        }
    }
    let left = experiment.cases().count().saturating_sub(MAX_ROWS);
    let note = if left > 0 { format!("<p>{left} more cases are in runs.parquet.</p>") } else { String::new() };
    format!("<details><summary>{} rows</summary>{}{note}</details>", rows.len(), html(&headings, &rows, text))
}

#[cfg(test)]
mod tests;

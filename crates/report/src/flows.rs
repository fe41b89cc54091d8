//! Flows that come and go: the table of their slowdowns.

use super::svg::escape;
use super::tables::{html, scheme_cell};
use ndnweir_lab::results::{Aggregate, Comparison};

/// One row for each scheme, consumer and size class; empty if no flows come and go.
pub fn table(comparison: &Comparison, all: &[Aggregate]) -> String {
    let mut rows = Vec::new();
    for (k, a) in all.iter().enumerate() {
        for consumer in &comparison.scenario.consumers {
            let Some(info) = &consumer.flows else { continue };
            let names = info.class_names();
            let several = names.len() > 1;
            let all_sizes = std::iter::once(String::new());
            for class in all_sizes.chain(names.into_iter().filter(|_| several)) {
                let dot = if class.is_empty() { "" } else { "." };
                let value = |metric: &str| {
                    let name = format!("consumers.{}.flows.{class}{dot}{metric}", consumer.name);
                    a.get(&name).map_or_else(|| "–".to_owned(), |s| escape(&s.text()))
                };
                let size = if class.is_empty() { "all".to_owned() } else { class.replace('_', " ") };
                let mut row = vec![scheme_cell(k, &a.scheme), escape(&consumer.name), escape(&size)];
                let metrics = [
                    "started",
                    "completed",
                    "slowdown.mean",
                    "slowdown.p50",
                    "slowdown.p99",
                    "rejected",
                    "active_mean",
                ];
                row.extend(metrics.map(value));
                rows.push(row);
            }
        }
    }
    let headings =
        ["scheme", "consumer", "sizes", "flows", "completed", "slowdown", "p50", "p99", "rejected", "active at once"];
    if rows.is_empty() { String::new() } else { html(&headings, &rows, 3) }
}

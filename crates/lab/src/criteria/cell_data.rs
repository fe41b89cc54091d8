//! The drawable data of a cell.

use crate::metrics::rebin;
use crate::results::{Run, SeriesKind};
use serde::{Deserialize, Serialize};

/// Maximum number of bins kept of a series.
const MAX_BINS: usize = 120;

/// The data that are drawn of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellData {
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position.
    pub case: usize,
    /// Attained share of the fair rate and the 99th percentile of the delay above the base RTT, in base RTTs, means
    /// over seeds; `None` without an optimum.
    pub point: Option<(f64, f64)>,
    /// What is known about the optimum that the share is relative to, if it is an estimate.
    pub estimate: Option<String>,
    /// The run of the first seed over time.
    pub series: CellSeries,
}

/// The series that are drawn of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSeries {
    /// Width of the bins, in s.
    pub bin_s: f64,
    /// Goodput of all consumers.
    pub goodput_mbps: Vec<f64>,
    /// The longest mean queueing time at any link.
    pub queue_ms: Vec<f64>,
}

impl CellSeries {
    /// Of a run.
    pub(super) fn of(run: &Run) -> CellSeries {
        let goodput = run.series.get(SeriesKind::Network, &[], "goodput_mbps").unwrap_or_default();
        let by = goodput.len().div_ceil(MAX_BINS).max(1);
        // JSON has no NaN.
        let column = |values: &[f64]| rebin(values, by).into_iter().map(|v| if v.is_nan() { 0.0 } else { v }).collect();
        CellSeries {
            bin_s: run.series.bin_s * by as f64,
            goodput_mbps: column(goodput),
            queue_ms: column(&longest_wait(run)),
        }
    }
}

/// By bin, the largest mean queueing time of all links.
fn longest_wait(run: &Run) -> Vec<f64> {
    let Some(column) = SeriesKind::Links.metrics().iter().position(|m| *m == "queue_ms") else { return Vec::new() };
    let mut longest = Vec::new();
    for values in run.series.table(SeriesKind::Links).iter().filter_map(|row| row.columns.get(column)) {
        longest.resize(values.len().max(longest.len()), 0.0);
        for (most, value) in longest.iter_mut().zip(values) {
            // A bin without departures has no queueing time.
            *most = f64::max(*most, *value);
        }
    }
    longest
}

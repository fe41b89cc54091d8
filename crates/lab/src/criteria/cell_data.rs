//! The drawable data of a cell.

use serde::{Deserialize, Serialize};

/// The data that are drawn of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellData {
    /// Experiment by position.
    pub experiment: usize,
    /// Case by position.
    pub case: usize,
    /// Attained share of the fair rate and the 99th percentile of the delay above the base RTT, in base RTTs, means
    /// over seeds; `None` without an optimum.
    pub point: Option<(f64, f64)>,
    /// Width of the bins below, in s.
    pub bin_s: f64,
    /// Goodput of all consumers in the run of the first seed.
    pub goodput_mbps: Vec<f64>,
    /// The longest mean queueing time at any link in the run of the first seed.
    pub queue_ms: Vec<f64>,
}

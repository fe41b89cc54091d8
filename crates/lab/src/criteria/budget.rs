//! The estimated cost of a criterion.

use super::model::Criterion;
use crate::jobs::cost;

/// Estimates how many times Interests and Data cross a link in one run of every cell (see [`cost`]).
pub fn packet_hops(criterion: &Criterion) -> f64 {
    criterion.experiments.iter().flat_map(|e| &e.cases).map(|case| cost(&case.scenario)).sum()
}

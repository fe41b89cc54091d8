//! The estimated cost of a criterion.

use super::model::Criterion;
use crate::experiment::{describe, routed};
use ndnweir_scenario::{Scenario, Traffic};

/// Estimates how many times Interests and Data cross a link in one run of every cell: those of the optimum at its
/// rates, and twice the Data of finite objects and streams for each link of their path, which is assumed to have three
/// links.
pub fn packet_hops(criterion: &Criterion) -> f64 {
    criterion.experiments.iter().flat_map(|e| &e.cases).map(|case| of(&case.scenario)).sum()
}

/// The estimate for one run of a scenario.
pub(super) fn of(scenario: &Scenario) -> f64 {
    const LINKS: f64 = 3.0;
    let info = describe(scenario);
    let duration = info.duration_s;
    let endless = scenario.consumers.iter().any(|c| matches!(c.traffic, Traffic::Fetch { segments: None, .. }));
    let optimum = if endless { routed(scenario).ok().map(|problem| problem.solve()) } else { None };
    // A bit of Data also has the cost of its share of an Interest on the return path.
    let pair = 8.0 * (info.data_wire_bytes + info.interest_wire_bytes) as f64;
    let loads = optimum.iter().flat_map(|o| &o.links).zip(&info.links);
    let long: f64 = loads.map(|(load, link)| load.utilization * link.rate_mbps * 1e6 * duration / pair * 2.0).sum();
    let other = |c: &ndnweir_scenario::Consumer| match c.traffic {
        Traffic::Fetch { segments, .. } => segments.unwrap_or(0) as f64,
        Traffic::Stream { gap, .. } | Traffic::Zipf { gap, .. } => duration / gap.secs(),
        Traffic::Flows(ref flows) => flows.expected_segments(c.stop.unwrap_or(scenario.run.duration) - c.start),
    };
    long + scenario.consumers.iter().map(other).sum::<f64>() * 2.0 * LINKS
}

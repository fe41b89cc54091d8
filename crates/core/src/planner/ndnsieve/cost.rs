//! Cost formulation: the metric of a path and the costs for routers.

use super::cache::Cache;
use super::topology::DataLink;
use crate::ids::FaceId;
use crate::strategy::NextHop;
use crate::units::Time;

/// The cost of a next hop that leads nowhere, loops, or passes a silent router. Any path is cheaper.
pub(super) const UNUSABLE: u32 = 1 << 30;

/// Equation 3 over the links of a path: the largest β · 10 · e^ε; none if the state of a link is not known.
pub(super) fn metric(cache: &Cache, links: &[DataLink], now: Time) -> Option<f64> {
    let cost = |link: &DataLink| {
        let state = cache.state(*link, now)?;
        Some(state.utilization * 10.0 * libm::exp(state.occupancy))
    };
    links.iter().try_fold(0.0, |largest: f64, link| Some(largest.max(cost(link)?)))
}

/// The integer that NFD's FIB takes: round(1000 · metric) (ours).
pub(super) fn cost(metric: Option<f64>) -> u32 {
    metric.map_or(UNUSABLE, |metric| libm::round(1000.0 * metric).min(f64::from(UNUSABLE - 1)) as u32)
}

/// The same next hops, `best` first and the others in order of cost, each more expensive than the one before, so that
/// no router has to break a tie.
pub(super) fn ranked(mut hops: Vec<NextHop>, best: FaceId) -> Vec<NextHop> {
    hops.sort_by_key(|hop| (hop.face != best, hop.cost));
    let mut least = 0;
    for hop in &mut hops {
        hop.cost = hop.cost.max(least);
        least = hop.cost.saturating_add(1);
    }
    hops
}

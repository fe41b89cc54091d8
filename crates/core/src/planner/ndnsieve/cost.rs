//! Cost formulation: the metric of a path and the costs for routers.

use super::cache::Cache;
use super::topology::DataLink;
use crate::ids::FaceId;
use crate::strategy::NextHop;
use crate::units::Time;

/// The cost of a next hop that leads nowhere, loops, or passes a silent router. Any path is cheaper.
pub(super) const UNUSABLE: u32 = 1 << 30;

/// What a switch would bring to a link: β and ε in addition.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Added {
    pub(super) utilization: f64,
    pub(super) occupancy: f64,
}

/// Equation 3 over the links of a path: the largest β · 10 · e^ε, with what is `added` to each, and a reported β of `most`
/// at most; none if either is not known for a link.
pub(super) fn metric(
    cache: &Cache,
    links: &[DataLink],
    added: impl Fn(DataLink) -> Option<Added>,
    most: f64,
    now: Time,
) -> Option<f64> {
    let cost = |link: &DataLink| {
        let (state, added) = (cache.state(*link, now)?, added(*link)?);
        let occupancy = (state.occupancy + added.occupancy).min(1.0);
        Some((state.utilization.min(most) + added.utilization) * 10.0 * libm::exp(occupancy))
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

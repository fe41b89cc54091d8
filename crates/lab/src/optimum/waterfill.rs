//! The max-min fair allocation if every flow has one path, without a solver.

use super::{AllowedLinks, Problem};
use std::collections::BTreeMap;

/// Raises all rates together; a full link stops the flows that cross it. Rates are in 10⁶ bit/s.
///
/// Exact for flows with a single path each (Bertsekas and Gallager, *Data Networks*, §6.5.2). Of several paths of a
/// flow only the first is used; a flow without a path has rate zero.
pub fn water_filling(problem: &Problem) -> Vec<f64> {
    let (down, up) = problem.overhead();
    // By flow: its links with the wire bits for a payload bit.
    let mut weights: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); problem.flows.len()];
    let hops = problem.all_hops();
    for (f, flow) in problem.flows.iter().enumerate() {
        let path = match &flow.routes {
            AllowedLinks::Paths(paths) => paths.first(),
            AllowedLinks::Any { .. } => None,
        };
        for hop in path.into_iter().flatten() {
            hops[*hop].data.iter().for_each(|l| *weights[f].entry(*l).or_default() += down);
            if up > 0.0 {
                hops[*hop].interests.iter().for_each(|l| *weights[f].entry(*l).or_default() += up);
            }
        }
    }
    let capacities = problem.links.iter().map(|l| l.rate.mbps()).collect();
    let weights: Vec<Vec<(usize, f64)>> = weights.into_iter().map(|links| links.into_iter().collect()).collect();
    fill(capacities, &weights)
}

/// Rates that rise together until a full link stops them. `weights` are by flow: its links, with what a rate of one
/// takes of each; what uses no link has rate zero.
pub(super) fn fill(capacities: Vec<f64>, weights: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut left = capacities;
    let mut open: Vec<bool> = weights.iter().map(|links| !links.is_empty()).collect();
    let mut rates = vec![0.0; weights.len()];
    while open.contains(&true) {
        let mut loads = vec![0.0; left.len()];
        for (link, weight) in (0..weights.len()).filter(|f| open[*f]).flat_map(|f| &weights[f]) {
            loads[*link] += weight;
        }
        let step = (left.iter().zip(&loads)).filter(|(_, w)| **w > 0.0).map(|(c, w)| c / w).fold(f64::MAX, f64::min);
        if step == f64::MAX {
            break;
        }
        rates.iter_mut().zip(&open).filter(|(_, open)| **open).for_each(|(rate, _)| *rate += step);
        // A link is full if it determined the step; compare before subtracting, which would lose digits.
        let full: Vec<bool> = left.iter().zip(&loads).map(|(c, w)| *w > 0.0 && c / w <= step * (1.0 + 1e-12)).collect();
        for ((left, load), full) in left.iter_mut().zip(&loads).zip(&full) {
            *left = if *full { 0.0 } else { *left - load * step };
        }
        for (open, weights) in open.iter_mut().zip(weights) {
            *open &= !weights.iter().any(|(l, _)| full[*l]);
        }
    }
    rates
}

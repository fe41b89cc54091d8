//! The max-min fair allocation when every flow has one path, without a solver.

use super::{Problem, Routes};

/// Raises all rates together; a full link freezes the flows that load it. Rates in 10⁶ bit/s.
///
/// Exact for flows with a single path each (Bertsekas and Gallager, *Data Networks*, §6.5.2); of a flow with several
/// only the first is used, a flow without any gets zero.
pub fn water_filling(problem: &Problem) -> Vec<f64> {
    let (down, up) = problem.overhead();
    let mut weights = vec![vec![0.0; problem.links.len()]; problem.flows.len()];
    let mut open = vec![true; problem.flows.len()];
    for (f, flow) in problem.flows.iter().enumerate() {
        let path = match &flow.routes {
            Routes::Paths(paths) => paths.first(),
            Routes::Any { .. } => None,
        };
        open[f] = path.is_some();
        for link in path.into_iter().flatten() {
            weights[f][*link] += down;
            if let Some(back) = problem.links[*link].reverse {
                weights[f][back] += up;
            }
        }
    }
    let mut left: Vec<f64> = problem.links.iter().map(|l| l.rate.mbps()).collect();
    let mut rates = vec![0.0; problem.flows.len()];
    while open.contains(&true) {
        let load = |l: usize| (0..weights.len()).filter(|f| open[*f]).map(|f| weights[f][l]).sum::<f64>();
        let loads: Vec<f64> = (0..left.len()).map(load).collect();
        let step = (left.iter().zip(&loads)).filter(|(_, w)| **w > 0.0).map(|(c, w)| c / w).fold(f64::MAX, f64::min);
        if step == f64::MAX {
            break;
        }
        for (f, rate) in rates.iter_mut().enumerate().filter(|(f, _)| open[*f]) {
            *rate += step;
            debug_assert!(weights[f].iter().any(|w| *w > 0.0));
        }
        for (l, load) in loads.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            // A link is full when it set the step; compare before subtracting, which would lose digits.
            let full = left[l] / load <= step * (1.0 + 1e-12);
            left[l] = if full { 0.0 } else { left[l] - load * step };
            for f in (0..open.len()).filter(|_| full) {
                open[f] &= weights[f][l] == 0.0;
            }
        }
    }
    rates
}

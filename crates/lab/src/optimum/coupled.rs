//! What coupled congestion control would give flows over several paths: a reference for resource pooling.
//!
//! NDN has no subflows, so this is no scheme that runs. It is the fluid equilibrium of two window laws of multipath TCP,
//! found numerically, for paths with equal round-trip times:
//!
//! - *Linked* increases (RFC 6356): an ACK on path r adds a/w to its window, w being the sum of the windows w_r and
//!   a = max(w_r)/w for equal round-trip times; a mark halves w_r. With mark probability q_r the two balance at
//!   w_r = 2a/(w · q_r): windows are inversely proportional to the price of their paths, and their sum is √(2/min q),
//!   that of a TCP flow on the best path.
//! - *Full* coupling (Kelly and Voice 2005; Han et al. 2006): the same sum, all of it on the cheapest paths. Prices of
//!   all paths in use are equal then, which is the resource pooling that the papers aim at. Linked increases reach it
//!   only in part, as RFC 6356 says of itself (§4, it is a compromise).
//!
//! Both are one family: path r gets a part in proportion to q_r^(−k), k = 1 or k → ∞ (here 1000, off by about 0.1 %).
//! Prices follow the load of the links until every link is either full or free of charge.

/// How the windows of a flow's paths hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// RFC 6356.
    Linked,
    /// Everything on the cheapest paths.
    Full,
}

/// The exponent that stands for infinity.
const STEEP: f64 = 1000.0;

/// Rounds after which an equilibrium counts as not found.
const MAX_ROUNDS: usize = 4_000_000;

/// How far from an equilibrium is close enough, relative to the capacities.
const TOLERANCE: f64 = 1e-7;

/// The rate of every path of every flow, in the unit of the capacities; none if no equilibrium was found.
///
/// `flows` lists for each flow its paths, and for each path the numbers of the links it crosses. Every path must cross
/// a link, and links must have a capacity above 0; else the answer is none.
pub fn coupled(capacities: &[f64], flows: &[Vec<Vec<usize>>], coupling: Coupling) -> Option<Vec<Vec<f64>>> {
    let known = |path: &Vec<usize>| !path.is_empty() && path.iter().all(|&link| link < capacities.len());
    let sound = flows.iter().all(|paths| !paths.is_empty() && paths.iter().all(known));
    if !sound || !capacities.iter().all(|&capacity| capacity > 0.0 && capacity.is_finite()) {
        return None;
    }
    if flows.is_empty() {
        return Some(Vec::new());
    }
    let exponent = if coupling == Coupling::Full { STEEP } else { 1.0 };
    // The load of a link answers to its price no more steeply than this.
    let step = 0.5 / (1.0 + exponent);
    // A flow alone on a link of capacity c pays √(2/q) = c there.
    let mut prices: Vec<f64> = capacities.iter().map(|capacity| 2.0 / (capacity * capacity)).collect();
    for _ in 0..MAX_ROUNDS {
        let rates: Vec<Vec<f64>> = flows.iter().map(|paths| shares(paths, &prices, exponent)).collect();
        let mut loads = vec![0.0; capacities.len()];
        for (paths, rates) in flows.iter().zip(&rates) {
            for (path, rate) in paths.iter().zip(rates) {
                path.iter().for_each(|&link| loads[link] += rate);
            }
        }
        let excess: Vec<f64> = loads.iter().zip(capacities).map(|(load, capacity)| load / capacity - 1.0).collect();
        let paid: f64 = prices.iter().sum();
        let idle: f64 = prices.iter().zip(&excess).map(|(price, excess)| price * excess.abs()).sum();
        if idle <= TOLERANCE * paid && excess.iter().all(|&excess| excess <= TOLERANCE) {
            return Some(rates);
        }
        for (price, excess) in prices.iter_mut().zip(excess) {
            *price = (*price * libm::exp(step * excess.min(1.0))).max(f64::MIN_POSITIVE);
        }
    }
    None
}

/// What a flow sends on each of its paths.
fn shares(paths: &[Vec<usize>], prices: &[f64], exponent: f64) -> Vec<f64> {
    let of = |path: &Vec<usize>| path.iter().map(|&link| prices[link]).sum::<f64>();
    let costs: Vec<f64> = paths.iter().map(of).collect();
    let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = costs.iter().map(|cost| libm::pow(cheapest / cost, exponent)).collect();
    let (total, all) = (libm::sqrt(2.0 / cheapest), weights.iter().sum::<f64>());
    weights.into_iter().map(|weight| total * weight / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three flows with two paths each over a chain of four links of 10: the resource-pooling topology.
    fn chain() -> Vec<Vec<Vec<usize>>> {
        (0..3).map(|flow| vec![vec![flow], vec![flow + 1]]).collect()
    }

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b, "{a} instead of {b}");
    }

    // Equal prices everywhere and full links leave one solution: a third of 40 each, 10 of it on the outer links.
    #[test]
    fn full_coupling_pools_the_four_links_of_the_paper() {
        let rates = coupled(&[10.0; 4], &chain(), Coupling::Full).unwrap();
        for (flow, first) in rates.iter().zip([0.75, 0.5, 0.25]) {
            let total = flow[0] + flow[1];
            near(total, 40.0 / 3.0, 0.002);
            near(flow[0] / total, first, 0.002);
        }
    }

    // By hand: with x = p2/p1 the balance of links 1 and 2 is (1 + x)/(2(x − 1)) = √x, whose root (bisection in Python)
    // is 2.0665928; totals 10(1 + x)/x and 20 − 20/x.
    #[test]
    fn linked_increases_pool_them_only_in_part() {
        let rates = coupled(&[10.0; 4], &chain(), Coupling::Linked).unwrap();
        let totals: Vec<f64> = rates.iter().map(|flow| flow.iter().sum()).collect();
        near(totals[0], 14.838_883, 1e-4);
        near(totals[1], 10.322_235, 1e-4);
        near(totals[2], 14.838_883, 1e-4);
        near(rates[0][0] / totals[0], 0.673_905, 1e-4);
    }

    #[test]
    fn flows_with_one_path_share_a_link_evenly_and_leave_free_links_free() {
        for coupling in [Coupling::Linked, Coupling::Full] {
            let flows = vec![vec![vec![0, 1]], vec![vec![0, 2]]];
            let rates = coupled(&[10.0, 100.0, 6.0], &flows, coupling).unwrap();
            near(rates[0][0], 5.0, 1e-3);
            near(rates[1][0], 5.0, 1e-3);
        }
    }

    // The first of two flows has a link of its own besides the shared one. Full: 10 each. Linked, with x the ratio of the
    // prices: (1 + x)/(x − 1) = √x, x = 3.3829758 (bisection in Python), and 10/x of the shared link for the first.
    #[test]
    fn a_flow_with_a_second_path_moves_off_the_shared_link() {
        let flows = vec![vec![vec![0], vec![1]], vec![vec![1]]];
        let full = coupled(&[10.0, 10.0], &flows, Coupling::Full).unwrap();
        near(full[0][0] + full[0][1], 10.0, 0.005);
        near(full[1][0], 10.0, 0.005);
        let linked = coupled(&[10.0, 10.0], &flows, Coupling::Linked).unwrap();
        near(linked[0][0], 10.0, 1e-4);
        near(linked[0][1], 2.955_977, 1e-4);
    }

    #[test]
    fn nonsense_has_no_equilibrium() {
        assert_eq!(coupled(&[10.0], &[vec![vec![1]]], Coupling::Full), None);
        assert_eq!(coupled(&[0.0], &[vec![vec![0]]], Coupling::Full), None);
        assert_eq!(coupled(&[10.0], &[vec![vec![]]], Coupling::Linked), None);
        assert_eq!(coupled(&[10.0], &[], Coupling::Linked), Some(vec![]));
    }
}

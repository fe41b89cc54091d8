//! Proofs of flows that a level's prices do not limit as they should.
//!
//! Where flows are coupled by their Interests, prices of a level can differ by ten orders of magnitude, and then those
//! of some of its flows are rounding errors. What limits such a flow are links that are full at this level or at a lower
//! one, so that the prices of all levels up to its own, added up, limit it: each proves that flows with a lower rate
//! cannot give way.

use super::super::Problem;
use super::super::certificate::{Allocation, Level};
use super::super::error::{CertificateError, SolverError};
use super::super::paths::{Paths, path_cost};
use super::groups::groups;
use super::rest::scale;
use super::search::Search;

/// What a flow may have to gain before another proof is tried; the certificate allows 1 %.
const GAIN: f64 = 0.008;
/// Rates that differ by less than this fraction count as equal, as in the certificate.
const EQUAL: f64 = 1e-3;
/// The fraction by which the load of a link may exceed its rate, slightly less than in the certificate.
const LOAD: f64 = 9.9e-4;
/// What a flow must pay of what all capacities are worth; sums have rounding errors of some 10⁻¹⁵.
const LEAST_PAID: f64 = 1e-11;
/// How many times the prices of lower levels are added to those of a level.
const MULTIPLES: [f64; 3] = [1.0, 1e3, 1e6];

/// Equal flows, and what is known of them.
struct Mend<'a> {
    problem: &'a Problem,
    paths: Paths<'a>,
    capacities: Vec<f64>,
    search: Search,
    groups: Vec<Vec<usize>>,
    found: &'a Allocation,
}

/// Prices that are compared: what all capacities are worth above what flows up to a rate pay, and what the flows in
/// question pay.
struct Tried {
    excess: f64,
    paid: Vec<f64>,
}

/// Replaces proofs that leave a flow too much to gain, as far as prices of lower levels prove more, and leaves others
/// out; the number of flows with a path that no level has then.
pub(super) fn mend(problem: &Problem, found: &mut Allocation) -> Result<usize, SolverError> {
    let paths = Paths::without_paths(problem);
    let mut loads = vec![0.0; problem.links.len()];
    for (path, rate) in found.paths.iter().flatten() {
        paths.charges(path).into_iter().for_each(|(l, v)| loads[l] += v * rate);
    }
    let capacities: Vec<f64> = problem.links.iter().map(|l| l.rate.mbps()).collect();
    for ((link, load), &rate) in problem.links.iter().zip(loads).zip(&capacities) {
        if load.is_nan() || load > rate * (1.0 + LOAD) {
            return Err(CertificateError::Load { link: link.name.clone(), load, rate }.into());
        }
    }
    let mut search = Search::new(problem.nodes);
    let (groups, _) = groups(problem, &paths, &mut search);
    let flows: usize = groups.iter().map(Vec::len).sum();
    let levels = Mend { problem, paths, capacities, search, groups, found }.levels();
    found.levels = levels;
    Ok(flows - found.levels.iter().map(|level| level.flows.len()).sum::<usize>())
}

impl Mend<'_> {
    fn levels(&mut self) -> Vec<Level> {
        let mut group_of = vec![0; self.found.rates.len()];
        for (g, members) in self.groups.iter().enumerate() {
            members.iter().for_each(|f| group_of[*f] = g);
        }
        let mut levels = Vec::new();
        let mut sum = vec![0.0; self.problem.links.len()];
        for level in &self.found.levels {
            let mut prices = vec![0.0; sum.len()];
            level.prices.iter().for_each(|(l, price)| prices[*l] = *price);
            scale(&mut prices, &self.capacities);
            let mut open: Vec<usize> = level.flows.iter().map(|f| group_of[*f]).collect();
            open.sort_unstable();
            open.dedup();
            let own = self.tried(&open, &prices);
            if own.excess <= 0.0 {
                sum.iter_mut().zip(&prices).for_each(|(sum, price)| *sum += price);
            }
            let mut left = self.settle(&mut levels, open, &own, &prices);
            for multiple in MULTIPLES {
                if left.is_empty() {
                    break;
                }
                let mut more: Vec<f64> = prices.iter().zip(&sum).map(|(own, sum)| own + multiple * sum).collect();
                scale(&mut more, &self.capacities);
                let tried = self.tried(&left, &more);
                left = self.settle(&mut levels, left, &tried, &more);
            }
        }
        levels
    }

    /// Adds a level of the groups that these prices limit; the others.
    fn settle(&self, levels: &mut Vec<Level>, groups: Vec<usize>, tried: &Tried, prices: &[f64]) -> Vec<usize> {
        let limited = |paid: f64| paid > LEAST_PAID && tried.excess <= GAIN * paid;
        let (settled, left): (Vec<_>, Vec<_>) =
            groups.into_iter().zip(&tried.paid).partition(|(_, paid)| limited(**paid));
        if !settled.is_empty() {
            levels.push(self.level(&settled.into_iter().map(|(g, _)| g).collect::<Vec<_>>(), prices));
        }
        left.into_iter().map(|(g, _)| g).collect()
    }

    fn level(&self, groups: &[usize], prices: &[f64]) -> Level {
        let mut flows: Vec<usize> = groups.iter().flat_map(|g| self.groups[*g].iter().copied()).collect();
        flows.sort_unstable();
        Level { flows, prices: prices.iter().copied().enumerate().filter(|(_, price)| *price > 0.0).collect() }
    }

    fn tried(&mut self, groups: &[usize], prices: &[f64]) -> Tried {
        let rate = |g: usize| self.found.rates[self.groups[g][0]];
        let most = groups.iter().map(|g| rate(*g)).fold(0.0, f64::max) * (1.0 + EQUAL);
        let costs = self.paths.costs(prices);
        let mut paid = vec![0.0; self.groups.len()];
        let mut excess: f64 = self.capacities.iter().zip(prices).map(|(c, price)| c * price).sum();
        for g in (0..self.groups.len()).filter(|g| rate(*g) <= most) {
            let flow = self.groups[g][0];
            let known = self.found.paths[flow].iter().map(|(path, _)| path_cost(path, &costs));
            let known = known.fold(f64::INFINITY, f64::min);
            let least = match known > 0.0 {
                true => self.search.cheapest(self.problem, &self.paths, flow, &costs, known),
                false => None,
            };
            paid[g] = least.map_or(known, |path| path_cost(&path, &costs).min(known)) * rate(g);
            excess -= paid[g] * self.groups[g].len() as f64;
        }
        Tried { excess, paid: groups.iter().map(|g| paid[*g]).collect() }
    }
}

//! The linear programs, over paths that are generated as they are needed.
//!
//! A program over all paths would be huge, one over all edges large (flows times links) and slow for a simplex. So each
//! program starts with the known paths; its dual gives prices of the links; the cheapest path of each flow at these
//! prices is added if it is cheaper than the flow's own price; if there is no such path, the optimum over the known
//! paths is the optimum over all paths (column generation, Ford and Fulkerson 1958). The dual is sufficient for max-min
//! fairness: its value is the common level, and a flow with a positive price has no more than the level in *any*
//! optimal allocation. The rates themselves come from [`super::filling`], which tests compare with these programs.

use super::error::SolverError;
use super::paths::{Path, Paths, path_cost};
use super::{AllowedLinks, Problem};
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, microlp, variable};

/// Constraints found by one program are relaxed by this fraction in the next, so that rounding cannot make it
/// infeasible; by the second where the first was not enough.
const RELAXATIONS: [f64; 2] = [1e-7, 1e-5];
/// A path must be cheaper by this fraction to count as cheaper.
const PRICE_TOLERANCE: f64 = 1e-7;
/// The prices of the flows that rise together sum up to one; a price below this counts as zero.
const DUAL_TOLERANCE: f64 = 1e-6;
/// Maximum number of rounds of new paths, far more than any network needs.
const MAX_ROUNDS: usize = 2_000;

pub(super) struct Program<'a> {
    problem: &'a Problem,
    paths: Paths<'a>,
    /// The unit of rates, in 10⁶ bit/s: the smallest rate of the allocation.
    scale: f64,
}

/// The objective; every flow keeps at least its minimum rate.
enum Goal<'g> {
    /// The highest level that these flows reach together.
    Level(&'g [usize]),
    /// The largest sum of the rates of these flows.
    Sum(&'g [usize]),
}

/// A dual solution.
struct Prices {
    links: Vec<f64>,
    flows: Vec<f64>,
    /// The value of the program.
    value: f64,
}

impl<'a> Program<'a> {
    pub(super) fn new(problem: &'a Problem) -> Program<'a> {
        let paths = Paths::new(problem);
        let scale = problem.links.iter().map(|l| l.rate.mbps()).fold(0.0, f64::max);
        Program { problem, paths, scale: if scale > 0.0 { scale } else { 1.0 } }
    }

    fn capacity(&self, link: usize) -> f64 {
        self.problem.links[link].rate.mbps() / self.scale
    }

    /// The flows that have a path.
    fn reachable(&self) -> Vec<usize> {
        (0..self.problem.flows.len()).filter(|f| !self.paths.of(*f).is_empty()).collect()
    }

    /// Max-min fair rates by flow, in 10⁶ bit/s, by successive programs; a reference for the simplex of
    /// [`super::filling`].
    pub(super) fn max_min(&mut self) -> Result<Vec<f64>, SolverError> {
        let mut rates = vec![0.0; self.problem.flows.len()];
        let mut open = self.reachable();
        if !open.is_empty() {
            // First at the scale of the fastest link, then at that of the smallest rate, which may be much smaller.
            let level = self.solve(&Goal::Level(&open), &rates)?.value;
            self.scale *= if level > 1e-12 { level } else { 1.0 };
        }
        while !open.is_empty() {
            let prices = self.relaxed(&rates, |program, floor| program.solve(&Goal::Level(&open), floor))?;
            open.iter().for_each(|f| rates[*f] = prices.value);
            let before = open.len();
            open.retain(|f| prices.flows[*f] < DUAL_TOLERANCE);
            if open.len() == before {
                return Err(SolverError::NoFlowLimited);
            }
            open.iter().for_each(|f| rates[*f] = 0.0);
        }
        Ok(rates.iter().map(|r| r * self.scale).collect())
    }

    /// The known paths of each flow.
    pub(super) fn known(&self) -> Vec<Vec<(Path, f64)>> {
        let known = |f| self.paths.of(f).iter().map(|path| (path.clone(), 0.0)).collect();
        (0..self.problem.flows.len()).map(known).collect()
    }

    /// The largest sum of rates, in 10⁶ bit/s.
    pub(super) fn max_total(&mut self) -> Result<f64, SolverError> {
        let floor = vec![0.0; self.problem.flows.len()];
        let all = self.reachable();
        Ok(self.solve(&Goal::Sum(&all), &floor)?.value * self.scale)
    }

    /// Utilisation of each link when the flows have these rates, over the known paths and with the least total traffic.
    pub(super) fn loads(&mut self, rates: &[f64]) -> Result<Vec<f64>, SolverError> {
        let rates: Vec<f64> = rates.iter().map(|r| r / self.scale).collect();
        let loads = self.relaxed(&rates, |program, floor| program.least_traffic(floor))?;
        let utilization = |(link, load): (usize, f64)| {
            let capacity = self.capacity(link);
            super::utilization(load, capacity)
        };
        Ok(loads.into_iter().enumerate().map(utilization).collect())
    }

    /// Solves a program in which flows keep these rates, relaxed.
    fn relaxed<T>(
        &mut self,
        rates: &[f64],
        solve: impl Fn(&mut Self, &[f64]) -> Result<T, SolverError>,
    ) -> Result<T, SolverError> {
        let floor = |part: f64| -> Vec<f64> { rates.iter().map(|r| r * (1.0 - part)).collect() };
        let [first, second] = RELAXATIONS.map(floor);
        solve(self, &first).or_else(|_| solve(self, &second))
    }

    /// Adds paths until no path improves the objective.
    fn solve(&mut self, goal: &Goal, floor: &[f64]) -> Result<Prices, SolverError> {
        for _ in 0..MAX_ROUNDS {
            let prices = self.prices(goal, floor)?;
            let mut added = false;
            let costs = self.paths.costs(&prices.links);
            for f in self.reachable() {
                if matches!(self.problem.flows[f].routes, AllowedLinks::Paths(_)) {
                    continue;
                }
                let Some(path) = self.paths.cheapest(f, &costs) else { continue };
                let price = path_cost(&path, &costs);
                if price < prices.flows[f] * (1.0 - PRICE_TOLERANCE) - PRICE_TOLERANCE * PRICE_TOLERANCE {
                    added |= self.paths.add(f, path);
                }
            }
            if !added {
                self.remove_expensive_paths(&prices);
                return Ok(prices);
            }
        }
        Err(SolverError::Rounds)
    }

    /// Drops the paths that cost more than their flow's price. No optimal allocation uses them, so the remaining paths
    /// carry an optimal one, and the next program stays small.
    fn remove_expensive_paths(&mut self, prices: &Prices) {
        for (f, flow) in self.problem.flows.iter().enumerate() {
            if matches!(flow.routes, AllowedLinks::Any { .. }) {
                let limit = prices.flows[f] * (1.0 + PRICE_TOLERANCE) + PRICE_TOLERANCE;
                self.paths.retain(f, |paths, path| {
                    let price: f64 = paths.charges(path).iter().map(|(l, weight)| weight * prices.links[*l]).sum();
                    price <= limit
                });
            }
        }
    }

    /// The dual program over the known paths: prices of links and flows.
    fn prices(&self, goal: &Goal, floor: &[f64]) -> Result<Prices, SolverError> {
        let mut variables = ProblemVariables::new();
        let mut links: Vec<Option<Variable>> = vec![None; self.problem.links.len()];
        let flows: Vec<Variable> = self.problem.flows.iter().map(|_| variables.add(variable().min(0))).collect();
        let mut constraints = Vec::new();
        let mut cost = Expression::default();
        for (f, price) in flows.iter().enumerate() {
            cost -= floor[f] * *price;
            for path in self.paths.of(f) {
                let mut along = Expression::default();
                for (link, weight) in self.paths.charges(path) {
                    along += weight * *links[link].get_or_insert_with(|| variables.add(variable().min(0)));
                }
                constraints.push(constraint!(along >= *price));
            }
            if self.paths.of(f).is_empty() {
                constraints.push(constraint!(*price <= 0));
            }
        }
        for (link, price) in links.iter().enumerate() {
            if let Some(price) = price {
                cost += self.capacity(link) * *price;
            }
        }
        match goal {
            Goal::Level(together) => {
                let sum: Expression = together.iter().map(|f| flows[*f]).sum();
                constraints.push(constraint!(sum >= 1));
            }
            Goal::Sum(all) => constraints.extend(all.iter().map(|f| constraint!(flows[*f] >= 1))),
        }
        let mut model = variables.minimise(cost.clone()).using(microlp);
        for constraint in constraints {
            model.add_constraint(constraint);
        }
        let solution = model.solve()?;
        let value = |v: &Variable| solution.value(*v).max(0.0);
        Ok(Prices {
            links: links.iter().map(|v| v.as_ref().map_or(0.0, value)).collect(),
            flows: flows.iter().map(value).collect(),
            value: solution.eval(cost),
        })
    }

    /// The load of each link, scaled, when the minimum rates are carried over the known paths with the least total
    /// traffic.
    fn least_traffic(&self, floor: &[f64]) -> Result<Vec<f64>, SolverError> {
        let mut variables = ProblemVariables::new();
        let mut loads: Vec<Expression> = vec![Expression::default(); self.problem.links.len()];
        let mut charged = vec![false; loads.len()];
        let mut constraints = vec![];
        let mut traffic = Expression::default();
        for f in self.reachable() {
            let mut rate = Expression::default();
            for path in self.paths.of(f) {
                let share = variables.add(variable().min(0));
                rate += share;
                // Unequal weights, so that one of several equal detours is the best and the simplex does not cycle
                // among them.
                let weight: f64 = path.iter().map(|l| 1.0 + 1e-3 * (*l as f64 * 0.618_033_988_749_895).fract()).sum();
                traffic += weight * share;
                for (link, weight) in self.paths.charges(path) {
                    loads[link] += weight * share;
                    charged[link] = true;
                }
            }
            constraints.push(constraint!(rate >= floor[f]));
        }
        for (link, load) in loads.iter().enumerate().filter(|(l, _)| charged[*l]) {
            constraints.push(constraint!(load.clone() <= self.capacity(link)));
        }
        let mut model = variables.minimise(traffic).using(microlp);
        for constraint in constraints {
            model.add_constraint(constraint);
        }
        let solution = model.solve()?;
        Ok(loads.into_iter().map(|load| solution.eval(load)).collect())
    }
}

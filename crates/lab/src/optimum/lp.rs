//! The linear programs.

use super::{Problem, Routes};
use good_lp::{
    Constraint, Expression, IntoAffineExpression, ProblemVariables, Solution, SolverModel, Variable, constraint,
    microlp, variable,
};
use std::collections::BTreeMap;

/// Rates are scaled so that the fastest link is 1; below this nothing is told apart.
const EPSILON: f64 = 1e-7;

/// Flows that may use the same links from the same producers are one commodity with several sinks.
struct Commodity {
    routes: Routes,
    flows: Vec<usize>,
}

pub(super) struct Program<'a> {
    problem: &'a Problem,
    commodities: Vec<Commodity>,
    /// Rate of the fastest link, in 10⁶ bit/s.
    scale: f64,
}

/// The variables and constraints that all programs share.
struct Base {
    variables: ProblemVariables,
    rates: Vec<Variable>,
    constraints: Vec<Constraint>,
    /// Scaled wire load of each link.
    loads: Vec<Expression>,
    /// All flow variables together.
    traffic: Expression,
}

impl<'a> Program<'a> {
    pub(super) fn new(problem: &'a Problem) -> Program<'a> {
        let mut groups: BTreeMap<&Routes, Vec<usize>> = BTreeMap::new();
        let mut commodities = Vec::new();
        for (f, flow) in problem.flows.iter().enumerate() {
            match &flow.routes {
                Routes::Any { .. } => groups.entry(&flow.routes).or_default().push(f),
                Routes::Paths(_) => commodities.push(Commodity { routes: flow.routes.clone(), flows: vec![f] }),
            }
        }
        commodities.extend(groups.into_iter().map(|(routes, flows)| Commodity { routes: routes.clone(), flows }));
        let scale = problem.links.iter().map(|l| l.rate.mbps()).fold(0.0, f64::max);
        Program { problem, commodities, scale: if scale > 0.0 { scale } else { 1.0 } }
    }

    fn base(&self) -> Base {
        let problem = self.problem;
        let mut base = Base {
            variables: ProblemVariables::new(),
            rates: Vec::new(),
            constraints: Vec::new(),
            loads: vec![Expression::default(); problem.links.len()],
            traffic: Expression::default(),
        };
        base.rates = problem.flows.iter().map(|_| base.variables.add(variable().min(0))).collect();
        for commodity in &self.commodities {
            match &commodity.routes {
                Routes::Paths(paths) => self.add_paths(&mut base, commodity.flows[0], paths),
                Routes::Any { producers, usable } => {
                    self.add_edges(&mut base, &commodity.flows, producers, usable.as_deref());
                }
            }
        }
        for (link, load) in problem.links.iter().zip(&base.loads) {
            if load.linear_coefficients().next().is_some() {
                base.constraints.push(constraint!(load.clone() <= link.rate.mbps() / self.scale));
            }
        }
        base
    }

    fn charge(&self, base: &mut Base, link: usize, flow: Variable) {
        let (down, up) = self.problem.overhead();
        base.loads[link] += down * flow;
        if let Some(back) = self.problem.links[link].reverse {
            base.loads[back] += up * flow;
        }
        base.traffic += flow;
    }

    fn add_paths(&self, base: &mut Base, flow: usize, paths: &[Vec<usize>]) {
        let mut total = Expression::default();
        for path in paths {
            let share = base.variables.add(variable().min(0));
            total += share;
            for link in path {
                self.charge(base, *link, share);
            }
        }
        base.constraints.push(constraint!(total == base.rates[flow]));
    }

    fn add_edges(&self, base: &mut Base, flows: &[usize], producers: &[usize], usable: Option<&[usize]>) {
        let mut balance = vec![Expression::default(); self.problem.nodes];
        for (l, link) in self.problem.links.iter().enumerate() {
            // Data never flows into a node that has it already.
            if producers.contains(&link.to) || usable.is_some_and(|u| !u.contains(&l)) {
                continue;
            }
            let on = base.variables.add(variable().min(0));
            balance[link.to] += on;
            balance[link.from] -= on;
            self.charge(base, l, on);
        }
        for f in flows {
            balance[self.problem.flows[*f].consumer] -= base.rates[*f];
        }
        for (node, sum) in balance.into_iter().enumerate() {
            if !producers.contains(&node) && (&sum).linear_coefficients().next().is_some() {
                base.constraints.push(constraint!(sum == 0));
            }
        }
    }

    /// Rates by flow, in 10⁶ bit/s.
    pub(super) fn max_min(&self) -> Result<Vec<f64>, String> {
        let n = self.problem.flows.len();
        let mut fixed: Vec<Option<f64>> = vec![None; n];
        while fixed.contains(&None) {
            let level = self.raise_all(&fixed)?;
            let mut blocked: Vec<usize> = (0..n).filter(|f| fixed[*f].is_none()).collect();
            // A flow is blocked when no allocation gives it more. One that rose is not; repeat with the others, since
            // flows that compete for one resource need not rise together.
            loop {
                let room = self.room(&fixed, level, &blocked)?;
                let still: Vec<usize> =
                    blocked.iter().zip(&room).filter(|(_, r)| **r <= EPSILON).map(|(f, _)| *f).collect();
                if still.len() == blocked.len() {
                    break;
                }
                if still.is_empty() {
                    // Rounding: the one with the least room is blocked.
                    let least = room.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |m| m.0);
                    blocked = if room[least] <= 100.0 * EPSILON { vec![blocked[least]] } else { Vec::new() };
                    break;
                }
                blocked = still;
            }
            if blocked.is_empty() {
                return Err("no flow is limited".to_owned());
            }
            for f in blocked {
                fixed[f] = Some(level);
            }
        }
        // Multiples of the precision that can be told apart, so that 12.999999998 reads 13.
        Ok(fixed.iter().map(|r| crate::results::significant(r.unwrap_or(0.0) * self.scale, 7)).collect())
    }

    fn hold(base: &mut Base, fixed: &[Option<f64>]) {
        for (rate, value) in base.rates.iter().zip(fixed) {
            if let Some(value) = value {
                // A hair less than was found, so that rounding cannot make the next program infeasible.
                base.constraints.push(constraint!(*rate >= (value - EPSILON / 100.0).max(0.0)));
            }
        }
    }

    fn raise_all(&self, fixed: &[Option<f64>]) -> Result<f64, String> {
        let mut base = self.base();
        Self::hold(&mut base, fixed);
        let level = base.variables.add(variable().min(0));
        for (rate, _) in base.rates.iter().zip(fixed).filter(|(_, f)| f.is_none()) {
            base.constraints.push(constraint!(*rate >= level));
        }
        let solution = solve(base.variables, level.into(), base.constraints)?;
        Ok(solution.value(level))
    }

    /// How far each of the flows rises above the level when their sum is as large as it can be.
    fn room(&self, fixed: &[Option<f64>], level: f64, flows: &[usize]) -> Result<Vec<f64>, String> {
        let mut base = self.base();
        let floor: Vec<Option<f64>> = fixed.iter().map(|f| f.or(Some(level))).collect();
        Self::hold(&mut base, &floor);
        let mut extra = Vec::new();
        for f in flows {
            let more = base.variables.add(variable().min(0).max(1));
            base.constraints.push(constraint!(base.rates[*f] >= level - EPSILON / 100.0 + more));
            extra.push(more);
        }
        let goal: Expression = extra.iter().sum();
        let solution = solve(base.variables, goal, base.constraints)?;
        Ok(extra.iter().map(|v| solution.value(*v)).collect())
    }

    /// The largest sum of rates, in 10⁶ bit/s.
    pub(super) fn max_total(&self) -> Result<f64, String> {
        let base = self.base();
        let goal: Expression = base.rates.iter().sum();
        let rates = base.rates.clone();
        let solution = solve(base.variables, goal, base.constraints)?;
        let total: f64 = rates.iter().map(|r| solution.value(*r)).sum();
        Ok(crate::results::significant(total * self.scale, 7))
    }

    /// Utilisation of each link when the flows have these rates and the traffic is otherwise the least.
    pub(super) fn loads(&self, rates: &[f64]) -> Result<Vec<f64>, String> {
        let mut base = self.base();
        let scaled: Vec<Option<f64>> = rates.iter().map(|r| Some(r / self.scale * (1.0 - EPSILON))).collect();
        Self::hold(&mut base, &scaled);
        let loads = base.loads.clone();
        let goal = base.traffic * -1.0;
        let solution = solve(base.variables, goal, base.constraints)?;
        let of = |(link, load): (&super::Link, &Expression)| {
            let capacity = link.rate.mbps() / self.scale;
            let load: f64 = load.linear_coefficients().map(|(v, c)| c * solution.value(v)).sum();
            if capacity > 0.0 { ((load / capacity).clamp(0.0, 1.0) * 1e6).round() / 1e6 } else { 0.0 }
        };
        Ok(self.problem.links.iter().zip(&loads).map(of).collect())
    }
}

fn solve(variables: ProblemVariables, goal: Expression, constraints: Vec<Constraint>) -> Result<impl Solution, String> {
    let mut model = variables.maximise(goal).using(microlp);
    for constraint in constraints {
        model.add_constraint(constraint);
    }
    model.solve().map_err(|e| e.to_string())
}

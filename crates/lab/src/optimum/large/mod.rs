//! Max-min fair rates in large networks, by a parametric simplex with sparse factors.
//!
//! The common level of all open flows is a parameter of the right-hand side. It rises until a basic variable (the rate
//! on a path, or the free capacity of a link) reaches its bound; the variable's row of the inverse then gives prices of
//! links and flows. A path or a full link with a negative product with that row replaces the variable, and the level
//! rises on. If there is none, not even among paths not known yet, the prices prove the level: flows with a price keep
//! it, the others rise on. Unlike in a simplex that maximises the level, the level is never in the basis, so that a
//! step only touches what shares links with it.
//!
//! Any replacement would do. Paths have costs, and the one that keeps the total cost lowest is taken (the dual simplex
//! method with a parametric right-hand side, Gass and Saaty, *Naval Research Logistics Quarterly* 2, 1955).
//!
//! A network in which this takes more than a part of the allowed work is started again with the many paths and the
//! costs that an interior-point method gives ([`interior`]): where most links end full, that saves most steps. With
//! more than 450 flows it is approximated instead ([`approximation`]). Where Interests couple the next hops of routing
//! too strongly for a proof, links have room for them instead ([`room`]). [`outcome`] has the order.
//!
//! Links are wider than they are by fractions of up to [`MAX_EXCESS`], all different, which breaks ties. Rates are
//! those of the wider links, so they exceed the exact ones by about as much; [`super::certificate`] judges them with
//! the true capacities.

pub(super) mod approximation;
mod cuts;
mod estimate;
mod factors;
mod game;
mod groups;
mod interior;
mod matrix;
mod mend;
mod outcome;
mod places;
mod queue;
mod rest;
mod room;
mod search;
mod steps;

use super::Problem;
use super::certificate::{Allocation, Level};
use super::draws::Draws;
use super::error::SolverError;
use super::paths::{Path, Paths};
use factors::Factors;
use groups::narrowness;
use interior::Start;
pub(super) use outcome::{Outcome, outcome};
#[cfg(test)]
pub(super) use outcome::{exact, fill, roomy};
#[cfg(test)]
pub(super) use room::Roomy;
use search::Search;

/// The fraction by which a link is wider at first; the smallest is half of it.
const PERTURBATION: f64 = 1e-6;
/// The fraction by which a limit is relaxed after it has ended a level, so that it does not end the next one too.
const RELAXATION: f64 = 1e-6;
/// The largest fraction by which a link is wider; the certificate allows 10⁻³.
const MAX_EXCESS: f64 = 3e-5;
/// Open flows whose price is below this fraction of the highest price of an open flow remain open.
const DUAL_TOLERANCE: f64 = 1e-3;
/// The fraction by which costs of links and of paths differ at random, so that ties are rare.
const COST_SPREAD: f64 = 0.2;
/// What a link costs in addition to its price in the interior-point method, of which the mean is one.
const MIN_COST: f64 = 0.01;
/// No position, no group.
const NONE: u32 = u32::MAX;

/// The free capacity of a link, or the rate on a path.
struct Column {
    /// The group of flows; none for a link.
    group: u32,
    path: Path,
    /// Coefficients by row.
    entries: Vec<(u32, f64)>,
    /// The position in the basis.
    at: u32,
    /// The smallest value: zero, or slightly less.
    lower: f64,
    cost: f64,
    /// The cost less what the prices of the least total cost give for it.
    reduced: f64,
    /// The product with the row of the inverse that limits the level.
    alpha: f64,
}

struct Large<'a> {
    problem: &'a Problem,
    paths: Paths<'a>,
    search: Search,
    /// Equal flows, which have one row; those without a path are left out. The rows of links follow.
    groups: Vec<Vec<usize>>,
    /// Those of links first, then those of paths.
    columns: Vec<Column>,
    of_group: Vec<Vec<u32>>,
    /// The columns in the basis, by position.
    head: Vec<u32>,
    factors: Factors,
    value: Vec<f64>,
    /// By how much values fall when the level rises by one.
    fall: Vec<f64>,
    /// What groups carry that have reached their rate; capacities.
    rhs: Vec<f64>,
    open: Vec<bool>,
    rate: Vec<f64>,
    level: f64,
    /// The level at which it ends.
    highest: f64,
    link_cost: Vec<f64>,
    /// Prices of rows that give the least total cost.
    prices: Vec<f64>,
    draws: Draws,
    /// How many times the highest price of an open flow a link's price may be.
    costly: f64,
    /// Whether the costs of paths depend on nothing else, so that similar networks have similar solutions.
    alike: bool,
    steps: usize,
    searches: usize,
    /// Elementary operations so far, and their limit.
    work: u64,
    most: u64,
    /// The group at which the next search begins.
    next: usize,
}

impl<'a> Large<'a> {
    /// With `ties` the costs of paths depend on nothing else, and ties on this number.
    fn new(
        problem: &'a Problem,
        groups: Vec<Vec<usize>>,
        capacities: Vec<f64>,
        start: &Start,
        search: Search,
        most: u64,
        ties: Option<u64>,
    ) -> Result<Large<'a>, SolverError> {
        let paths = Paths::without_paths(problem);
        let links = problem.links.len();
        let narrow = narrowness(problem);
        let rhs: Vec<f64> = groups.iter().map(|_| 0.0).chain(capacities.iter().copied()).collect();
        let rows = rhs.len();
        let mut large = Large {
            problem,
            paths,
            search,
            columns: Vec::new(),
            of_group: vec![Vec::new(); groups.len()],
            head: vec![NONE; rows],
            factors: Factors::default(),
            value: vec![0.0; rows],
            fall: vec![0.0; rows],
            rhs,
            open: vec![true; groups.len()],
            rate: vec![0.0; groups.len()],
            level: 0.0,
            highest: f64::INFINITY,
            link_cost: Vec::new(),
            prices: vec![0.0; rows],
            draws: Draws(ties.unwrap_or(1)),
            costly: f64::INFINITY,
            alike: ties.is_some(),
            steps: 0,
            searches: 0,
            work: 0,
            most,
            next: 0,
            groups,
        };
        let base = large.groups.len();
        for (l, capacity) in capacities.iter().enumerate() {
            let lower = -PERTURBATION * capacity * (0.5 + 0.5 * large.draws.unit());
            let at = (base + l) as u32;
            let (entries, path) = (vec![(at, 1.0)], Vec::new());
            large.columns.push(Column { group: NONE, path, entries, at, lower, cost: 0.0, reduced: 0.0, alpha: 0.0 });
            large.head[base + l] = l as u32;
        }
        let cost = |l: usize| start.prices.get(l).map_or(narrow[l].sqrt(), |price| MIN_COST + price);
        large.link_cost = (0..links).map(|l| cost(l) * (1.0 + COST_SPREAD * large.draws.unit())).collect();
        for (group, paths) in start.paths.iter().enumerate() {
            for path in paths {
                large.add(group, path.clone());
            }
            let key = large.of_group[group][0];
            large.columns[key as usize].at = group as u32;
            large.head[group] = key;
        }
        large.factorise()?;
        Ok(large)
    }

    /// Adds a path; returns its column if it is new.
    fn add(&mut self, group: usize, path: Path) -> Option<u32> {
        if self.of_group[group].iter().any(|c| self.columns[*c as usize].path == path) {
            return None;
        }
        let base = self.groups.len();
        let charges = self.paths.charges(&path);
        let mut cost: f64 = charges.iter().map(|(l, weight)| weight * self.link_cost[*l]).sum();
        cost *= 1.0 + 0.05 * COST_SPREAD * if self.alike { spread(&path) } else { self.draws.unit() };
        let own = std::iter::once((group as u32, 1.0));
        let entries: Vec<(u32, f64)> = own.chain(charges.into_iter().map(|(l, w)| ((base + l) as u32, w))).collect();
        let given: f64 = entries.iter().map(|(row, v)| v * self.prices[*row as usize]).sum();
        // A path that would have lowered the cost before gets a cost with which it does not.
        let (cost, reduced) = (cost.max(given), (cost - given).max(0.0));
        let id = self.columns.len() as u32;
        self.of_group[group].push(id);
        self.columns.push(Column {
            group: group as u32,
            path,
            entries,
            at: NONE,
            lower: 0.0,
            cost,
            reduced,
            alpha: 0.0,
        });
        Some(id)
    }

    /// All levels that are left.
    fn levels(&mut self) -> Result<Vec<Level>, SolverError> {
        let mut levels = Vec::new();
        while let Some((_, level)) = self.level()? {
            levels.push(level);
        }
        Ok(levels)
    }

    /// The rate of the next level, and its flows; none if no flow is open, or if it is above the highest.
    fn level(&mut self) -> Result<Option<(f64, Level)>, SolverError> {
        if !self.open.contains(&true) {
            return Ok(None);
        }
        let Some((row, prices)) = self.raise()? else { return Ok(None) };
        Ok(Some((self.level, self.freeze(row, &prices)?)))
    }

    /// Ends a level: open flows with a price keep their rate.
    fn freeze(&mut self, row: usize, prices: &[f64]) -> Result<Level, SolverError> {
        let base = self.groups.len();
        let (flows, links) = prices.split_at(base);
        let highest = (0..base).filter(|g| self.open[*g]).map(|g| -flows[g]).fold(0.0, f64::max);
        let limited: Vec<usize> =
            (0..base).filter(|g| self.open[*g] && -flows[*g] > DUAL_TOLERANCE * highest).collect();
        if limited.is_empty() {
            return Err(SolverError::NoFlowLimited);
        }
        for &group in &limited {
            self.open[group] = false;
            self.rate[group] = self.level;
            self.rhs[group] = self.level * self.groups[group].len() as f64;
        }
        let relaxation = RELAXATION * (0.5 + 0.5 * self.draws.unit());
        let limit = self.head[row] as usize;
        let scale = if limit < self.problem.links.len() { self.rhs[base + limit] } else { self.level };
        let column = &mut self.columns[limit];
        column.lower = (column.lower - relaxation * scale).max(column.lower.min(-MAX_EXCESS * scale));
        self.compute();
        let prices = links.iter().copied().enumerate().filter(|(_, p)| *p > 0.0).collect();
        let mut flows: Vec<usize> = limited.iter().flat_map(|g| self.groups[*g].iter().copied()).collect();
        flows.sort_unstable();
        Ok(Level { flows, prices })
    }

    fn allocation(&mut self, levels: Vec<Level>) -> Allocation {
        let mut rates = vec![0.0; self.problem.flows.len()];
        let mut carried: Vec<Vec<(Path, f64)>> = vec![Vec::new(); self.groups.len()];
        for (value, column) in self.value.iter().zip(&self.head) {
            let column = &self.columns[*column as usize];
            if column.group != NONE && *value > 0.0 {
                carried[column.group as usize].push((column.path.clone(), *value));
            }
        }
        let mut paths = vec![Vec::new(); rates.len()];
        for ((members, carried), rate) in self.groups.iter().zip(&mut carried).zip(&self.rate) {
            carried.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let sum: f64 = carried.iter().map(|(_, value)| value).sum();
            carried.iter_mut().for_each(|(_, value)| *value *= rate / sum);
            for &flow in members {
                rates[flow] = *rate;
                paths[flow].clone_from(carried);
            }
        }
        Allocation { rates, paths, levels, steps: self.steps, searches: self.searches }
    }
}

/// A number from zero to one for a path.
fn spread(path: &Path) -> f64 {
    let mut draws = Draws(path.len() as u64);
    for hop in path {
        draws.0 ^= *hop as u64;
        draws.unit();
    }
    draws.unit()
}

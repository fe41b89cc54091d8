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
//! more than [`MAX_FLOWS`] flows it is approximated instead ([`approximation`]).
//!
//! Links are wider than they are by fractions of up to [`MAX_EXCESS`], all different, which breaks ties. Rates are
//! those of the wider links, so they exceed the exact ones by about as much; [`super::certificate`] judges them with
//! the true capacities.

pub(super) mod approximation;
mod cuts;
mod estimate;
mod factors;
mod game;
mod interior;
mod matrix;
mod mend;
mod places;
mod rest;
mod search;
mod steps;

use super::certificate::{Allocation, Level};
use super::draws::Draws;
use super::error::SolverError;
use super::paths::{Path, Paths};
use super::{AllowedLinks, MAX_GAIN, Problem};
use factors::Factors;
use interior::Start;
use search::Search;
use std::collections::BTreeMap;

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
/// How much of a link's cost the load of earlier first paths adds; first paths spread over links.
const LOAD_COST: f64 = 0.1;
/// What a link costs in addition to its price in the interior-point method, of which the mean is one.
const MIN_COST: f64 = 0.01;
/// The part of the allowed work, one over this, after which the interior-point method is asked for paths; the part that
/// the simplex then has; the part of that which the method may take, and the gap at which it ends.
const FIRST_PART: u64 = 28;
const PREPARED_PART: u64 = 4;
const INTERIOR_PART: u64 = 2;
const START_GAP: f64 = 1e-3;
/// With no more paths per group than this, the simplex is tried so often, each time with this part of the work, one over
/// it.
const FEW_PATHS: usize = 2;
const ATTEMPTS: u64 = 4;
const ATTEMPT_PART: u64 = 7;
/// The number of flows beyond which rates are approximated then.
const MAX_FLOWS: usize = 450;
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
    steps: usize,
    searches: usize,
    /// Elementary operations so far, and their limit.
    work: u64,
    most: u64,
    /// The group at which the next search begins.
    next: usize,
}

/// What came of the allowed work.
pub(super) struct Outcome {
    pub(super) found: Result<Allocation, SolverError>,
    /// Rates that links can carry, if `found` is an error or flows are in no level, and what is known about them.
    pub(super) estimate: Option<(Allocation, String)>,
}

/// The max-min fair allocation, within an amount of work that is counted in elementary operations.
#[cfg(test)]
pub(super) fn fill(problem: &Problem, most: u64) -> Result<Allocation, SolverError> {
    outcome(problem, most).found
}

/// The max-min fair allocation, or an estimate, within an amount of work that is counted in elementary operations.
pub(super) fn outcome(problem: &Problem, most: u64) -> Outcome {
    let part = most / FIRST_PART;
    let mut best = match mended(problem, exact(problem, part, false)) {
        Ok(found) if found.1 == 0 => return Outcome { found: Ok(found.0), estimate: None },
        result => result,
    };
    let paths = Paths::without_paths(problem);
    let mut search = Search::new(problem.nodes);
    let (groups, first) = groups(problem, &paths, &mut search);
    let many = problem.flows.len() > MAX_FLOWS;
    let gap = if many { approximation::START_GAP } else { START_GAP };
    let start = interior::start(problem, &paths, &mut search, &groups, first, gap, most / INTERIOR_PART);
    let few = start.paths.iter().map(Vec::len).sum::<usize>() <= FEW_PATHS * groups.len();
    let mut left = most.saturating_sub(part + start.work);
    for attempt in 0..if few || !many { ATTEMPTS } else { 0 } {
        // Where links are not coupled, no price is too high.
        let costly = if attempt == 0 && !many { f64::INFINITY } else { cuts::COSTLY };
        let allowed = left / if attempt == 0 && !many { PREPARED_PART } else { ATTEMPT_PART };
        let found = mended(problem, simplex(problem, groups.clone(), &start, costly, attempt, allowed));
        left -= if found.is_ok() { 0 } else { allowed };
        let unproved = |result: &Result<(Allocation, usize), SolverError>| result.as_ref().map_or(usize::MAX, |f| f.1);
        if unproved(&found) < unproved(&best) || best.is_err() {
            best = found;
        }
        if unproved(&best) == 0 {
            break;
        }
    }
    if best.is_err() && many {
        let approximate = approximation::outcome(problem, groups, start, left);
        match approximate.found {
            Ok(found) if found.check(problem, 1).is_ok_and(|gain| gain <= MAX_GAIN) => {
                return Outcome { found: Ok(found), estimate: None };
            }
            Ok(found) => best = mended(problem, Ok(found)),
            Err(_) => return approximate,
        }
    }
    match best {
        Ok((found, 0)) => Outcome { found: Ok(found), estimate: None },
        Ok((found, unproved)) => {
            let note = format!("no proof limits {unproved} of {} flows", problem.flows.len());
            Outcome { found: Ok(found.clone()), estimate: Some((found, note)) }
        }
        Err(reason) => Outcome { found: Err(reason), estimate: None },
    }
}

/// An allocation whose proofs are mended, and the number of its flows without proof.
fn mended(problem: &Problem, found: Result<Allocation, SolverError>) -> Result<(Allocation, usize), SolverError> {
    let mut found = found?;
    let unproved = mend::mend(problem, &mut found)?;
    Ok((found, unproved))
}

/// The allocation by the simplex alone, with few paths to start from, or `prepared` by the interior-point method.
pub(super) fn exact(problem: &Problem, most: u64, prepared: bool) -> Result<Allocation, SolverError> {
    let mut search = Search::new(problem.nodes);
    let paths = Paths::without_paths(problem);
    let (groups, first) = groups(problem, &paths, &mut search);
    let start = match prepared {
        true => interior::start(problem, &paths, &mut search, &groups, first, START_GAP, most / INTERIOR_PART),
        // The work of other starts contains their searches.
        false => Start { paths: first, prices: Vec::new(), work: search.work * steps::HOP_WORK },
    };
    simplex(problem, groups, &start, f64::INFINITY, 0, most.saturating_sub(start.work))
}

/// The allocation by the simplex, which keeps prices below `costly`; each attempt has other ties.
fn simplex(
    problem: &Problem,
    groups: Vec<Vec<usize>>,
    start: &Start,
    costly: f64,
    attempt: u64,
    most: u64,
) -> Result<Allocation, SolverError> {
    let capacities = problem.links.iter().map(|l| l.rate.mbps()).collect();
    let mut large = Large::new(problem, groups, capacities, start, Search::new(problem.nodes), most)?;
    large.costly = costly;
    if attempt > 0 {
        large.draws = Draws(1 + attempt);
    }
    let mut levels = Vec::new();
    while let Some((_, level)) = large.level()? {
        levels.push(level);
    }
    Ok(large.allocation(levels))
}

impl<'a> Large<'a> {
    fn new(
        problem: &'a Problem,
        groups: Vec<Vec<usize>>,
        capacities: Vec<f64>,
        start: &Start,
        search: Search,
        most: u64,
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
            draws: Draws(1),
            costly: f64::INFINITY,
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
        cost *= 1.0 + 0.05 * COST_SPREAD * self.draws.unit();
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

/// The rate of the fastest link over that of each link.
fn narrowness(problem: &Problem) -> Vec<f64> {
    let widest = problem.links.iter().map(|l| l.rate.mbps()).fold(f64::MIN_POSITIVE, f64::max);
    problem.links.iter().map(|l| widest / l.rate.mbps().max(widest * 1e-9)).collect()
}

/// Equal flows that have paths, with their first paths.
fn groups(problem: &Problem, paths: &Paths, search: &mut Search) -> (Vec<Vec<usize>>, Vec<Vec<Path>>) {
    let mut equal: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (f, flow) in problem.flows.iter().enumerate() {
        equal.entry((flow.consumer, &flow.routes)).or_default().push(f);
    }
    let mut groups: Vec<Vec<usize>> = equal.into_values().collect();
    groups.sort_unstable();
    first_paths(problem, paths, search, &narrowness(problem), groups)
}

/// The first paths of groups, which spread over links that are not `narrow`, and the groups that have any.
fn first_paths(
    problem: &Problem,
    paths: &Paths,
    search: &mut Search,
    narrow: &[f64],
    groups: Vec<Vec<usize>>,
) -> (Vec<Vec<usize>>, Vec<Vec<Path>>) {
    let mut price = narrow.to_vec();
    let mut found = Vec::new();
    for members in groups {
        let known = match &problem.flows[members[0]].routes {
            AllowedLinks::Paths(list) => {
                let mut list = list.clone();
                list.sort_unstable();
                list.dedup();
                list
            }
            AllowedLinks::Any { .. } => {
                let costs = paths.costs(&price);
                let path = search.cheapest(problem, paths, members[0], &costs, f64::INFINITY);
                for (link, weight) in path.iter().flat_map(|path| paths.charges(path)) {
                    price[link] += LOAD_COST * weight * members.len() as f64 * narrow[link] * narrow[link];
                }
                path.into_iter().collect()
            }
        };
        if !known.is_empty() {
            found.push((members, known));
        }
    }
    found.into_iter().unzip()
}

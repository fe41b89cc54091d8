//! Approximate rates for networks in which the simplex takes too long.
//!
//! The low levels are places where few flows meet few links; the simplex finds them quickly in a network whose other
//! links are wide. The higher levels are games between the paths and the links ([`Game`]): for rates of flows, it gives
//! the fullest link, and prices that prove how full it must be. Because the proof is linear in the rates, prices bound
//! the level from above, and the level falls to that bound until all links can carry it. Flows whose prices are not
//! negligible keep it, and the others rise on, as in the simplex.
//!
//! [`super::places`] has the low levels and the first game, [`super::rest`] the flows that rise above it; where that
//! fails, more games follow. Rates are those of links that are wider by up to [`MAX_WIDTH`].

use super::super::Problem;
use super::super::certificate::{Allocation, Level};
use super::super::error::SolverError;
use super::super::paths::{Path, Paths, path_cost};
use super::game::{Column, Game};
#[cfg(test)]
use super::groups::groups;
use super::interior::{self, Start};
use super::matrix::Parts;
use super::search::Search;
use super::steps::HOP_WORK;
use super::{DUAL_TOLERANCE, Large, Outcome};

/// The largest fraction by which a link is wider; the certificate allows 10⁻³.
const MAX_WIDTH: f64 = 9e-4;
/// By how much all are wider at the first level found by a game, and how much more at each later one.
pub(super) const WIDTH: f64 = 4e-5;
const MORE_WIDTH: f64 = 5e-6;
/// The part of the width that is left which the fullest link may take at a level, at first, and the looks until it is
/// twice as much.
const PART_OF_WIDTH: f64 = 0.4;
const PATIENCE: f64 = 20.0;
/// A price that counts; all together are one.
pub(super) const PRICED: f64 = 1e-9;
/// The gap at which the interior-point method ends.
pub(super) const START_GAP: f64 = 1e-2;
/// Iterations of a game before it is looked at, and paths are searched, again.
pub(super) const ITERATIONS: usize = 1024;
/// A path counts as cheaper if the difference exceeds this fraction.
const CHEAPER: f64 = 1e-7;
/// How much higher than the last level the next one is tried at first.
pub(super) const HIGHER: f64 = 1.1;
/// The largest step by which a level rises.
pub(super) const STEP: f64 = 1.3;
/// How much higher than a later level its bound may be, and the largest part by which the level is below it at first.
const CLOSE: f64 = 1.005;
const LESS: f64 = 0.004;
/// What flows of a level may have to gain; the certificate allows 1 %.
const GAIN: f64 = 0.008;

/// The max-min fair allocation, within an amount of work.
#[cfg(test)]
pub(in super::super) fn fill(problem: &Problem, most: u64) -> Result<Allocation, SolverError> {
    let paths = Paths::without_paths(problem);
    let mut search = Search::new(problem.nodes);
    let (groups, first) = groups(problem, &paths, &mut search);
    let start = interior::start(problem, &paths, &mut search, &groups, first, START_GAP, most / 2);
    let left = most.saturating_sub(start.work);
    outcome(problem, groups, start, left).found
}

/// The same with groups of flows and what it starts from, or what is known when the work ends.
pub(super) fn outcome(problem: &Problem, groups: Vec<Vec<usize>>, start: Start, most: u64) -> Outcome {
    let paths = Paths::without_paths(problem);
    let mut levels = Levels::new(problem, &paths, Search::new(problem.nodes), groups.clone(), start, most);
    levels.unlimited();
    match levels.all() {
        Ok(()) => {
            let found = allocation(problem, &groups, levels.solved());
            Outcome { found: Ok(found), estimate: None }
        }
        Err(reason) => {
            let (rates, carried, note) = levels.estimate();
            let solved =
                Solved { levels: Vec::new(), rates, carried, steps: levels.steps, searches: levels.searches, work: 0 };
            Outcome { found: Err(reason), estimate: Some((allocation(problem, &groups, solved), note)) }
        }
    }
}

/// What groups have, by flow.
fn allocation(problem: &Problem, groups: &[Vec<usize>], found: Solved) -> Allocation {
    let mut rates = vec![0.0; problem.flows.len()];
    let mut paths: Vec<Vec<(Path, f64)>> = vec![Vec::new(); rates.len()];
    for ((members, carried), rate) in groups.iter().zip(found.carried).zip(&found.rates) {
        let share = 1.0 / members.len() as f64;
        let mut carried: Vec<(Path, f64)> = carried.into_iter().map(|(path, rate)| (path, rate * share)).collect();
        carried.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for &flow in members {
            rates[flow] = *rate;
            paths[flow].clone_from(&carried);
        }
    }
    let level = |risen: Risen| {
        let mut flows: Vec<usize> = risen.limited.iter().flat_map(|g| groups[*g].iter().copied()).collect();
        flows.sort_unstable();
        Level { flows, prices: risen.prices.into_iter().enumerate().filter(|(_, price)| *price > 0.0).collect() }
    };
    let levels = found.levels.into_iter().map(level).collect();
    Allocation { rates, paths, levels, steps: found.steps, searches: found.searches }
}

/// Levels of groups, where those with a finite limit rise up to it only. `first` are paths of groups; links may be
/// wider by a fraction.
pub(super) fn solve(
    problem: &Problem,
    groups: Vec<Vec<usize>>,
    first: Vec<Vec<Path>>,
    limits: &[f64],
    width: f64,
    most: u64,
) -> Result<Solved, SolverError> {
    let paths = Paths::without_paths(problem);
    let mut search = Search::new(problem.nodes);
    let start = interior::start(problem, &paths, &mut search, &groups, first, START_GAP, most / 2);
    let mut levels = Levels::new(problem, &paths, Search::new(problem.nodes), groups, start, most);
    levels.work = levels.start.work;
    levels.closed = limits.iter().map(|limit| limit.is_finite()).collect();
    (levels.limits, levels.limit, levels.most_width) = (limits.to_vec(), limits.to_vec(), width);
    levels.all()?;
    Ok(levels.solved())
}

/// Groups of one level, above any limit.
pub(super) struct Risen {
    pub(super) rate: f64,
    pub(super) limited: Vec<usize>,
    /// By link, per capacity; together with all capacities they are worth one.
    pub(super) prices: Vec<f64>,
}

/// The levels of all groups without a limit.
pub(super) struct Solved {
    pub(super) levels: Vec<Risen>,
    /// By group: the rate of each flow, and paths with what they carry for all of them.
    pub(super) rates: Vec<f64>,
    pub(super) carried: Vec<Vec<(Path, f64)>>,
    pub(super) steps: usize,
    pub(super) searches: usize,
    /// Elementary operations.
    pub(super) work: u64,
}

pub(super) struct Levels<'a> {
    pub(super) problem: &'a Problem,
    pub(super) paths: &'a Paths<'a>,
    pub(super) search: Search,
    pub(super) groups: Vec<Vec<usize>>,
    pub(super) capacities: Vec<f64>,
    pub(super) start: Start,
    pub(super) game: Game,
    /// By group, the rate that is given, if it is finite.
    pub(super) limits: Vec<f64>,
    /// By group, the rate at which its flows are limited; infinite if that is not known yet.
    pub(super) limit: Vec<f64>,
    /// By group, whether its rate is final.
    pub(super) closed: Vec<bool>,
    pub(super) levels: Vec<Risen>,
    /// The capacity of links, by which bounds of the present level are computed, as a multiple of the true one.
    pub(super) width: f64,
    /// The largest fraction by which a link may be wider.
    pub(super) most_width: f64,
    /// The last level, its prices, and what groups' cheapest paths cost at them.
    pub(super) last: f64,
    pub(super) proof: Priced,
    /// The least that prices of all paths prove for the present level.
    pub(super) bound: f64,
    pub(super) steps: usize,
    pub(super) searches: usize,
    /// Elementary operations of the start and of the simplex, and the limit for all.
    pub(super) work: u64,
    pub(super) most: u64,
}

/// Prices of most links, and what groups' cheapest paths cost at them.
pub(super) struct Priced {
    pub(super) prices: Vec<f64>,
    pub(super) cheapest: Vec<f64>,
}

/// A proof that a level cannot be higher.
struct Proof {
    priced: Priced,
    bound: f64,
    /// The level to try.
    below: f64,
}

impl<'a> Levels<'a> {
    fn new(
        problem: &'a Problem,
        paths: &'a Paths<'a>,
        search: Search,
        groups: Vec<Vec<usize>>,
        start: Start,
        most: u64,
    ) -> Levels<'a> {
        let capacities: Vec<f64> = problem.links.iter().map(|l| l.rate.mbps()).collect();
        let worth: f64 = start.prices.iter().zip(&capacities).map(|(price, c)| price * c).sum();
        let prices = start.prices.iter().zip(&capacities).map(|(price, c)| price * c / worth).collect();
        let mut game = Game::new(groups.len(), Parts::new(&paths.parts(&capacities)), prices);
        for (group, list) in start.paths.iter().enumerate() {
            list.iter().for_each(|path| game.add(group, path.clone()));
        }
        Levels {
            problem,
            paths,
            search,
            capacities,
            game,
            limits: Vec::new(),
            limit: Vec::new(),
            closed: Vec::new(),
            levels: Vec::new(),
            width: 1.0 + WIDTH,
            most_width: MAX_WIDTH,
            last: 0.0,
            proof: Priced { prices: Vec::new(), cheapest: Vec::new() },
            steps: 0,
            searches: 0,
            work: 0,
            bound: f64::INFINITY,
            most,
            groups,
            start,
        }
    }

    /// No group has a limit.
    fn unlimited(&mut self) {
        let groups = self.groups.len();
        self.closed = vec![false; groups];
        (self.limits, self.limit) = (vec![f64::INFINITY; groups], vec![f64::INFINITY; groups]);
    }

    /// All levels.
    fn all(&mut self) -> Result<(), SolverError> {
        self.low()?;
        if !self.rest() {
            while self.closed.contains(&false) {
                self.next()?;
            }
        }
        Ok(())
    }

    pub(super) fn members(&self, group: usize) -> f64 {
        self.groups[group].len() as f64
    }

    /// What each group carries at a level.
    pub(super) fn demand(&self, level: f64) -> Vec<f64> {
        self.limit.iter().enumerate().map(|(g, limit)| self.members(g) * limit.min(level)).collect()
    }

    /// The largest level at which flows pay no more than links may carry, at these prices of their paths.
    pub(super) fn level_bound(&self, cheapest: &[f64]) -> f64 {
        let mut limited: Vec<usize> = (0..cheapest.len()).filter(|g| self.limit[*g].is_finite()).collect();
        limited.sort_unstable_by(|a, b| self.limit[*a].total_cmp(&self.limit[*b]));
        let per_level = |g: usize| cheapest[g] * self.members(g);
        let mut rising: f64 = (0..cheapest.len()).map(per_level).sum();
        let mut fixed = 0.0;
        for g in limited {
            if fixed + rising * self.limit[g] >= self.width {
                break;
            }
            fixed += per_level(g) * self.limit[g];
            rising -= per_level(g);
        }
        if rising > 0.0 { (self.width - fixed) / rising } else { f64::INFINITY }
    }

    /// The price of each group's cheapest path of all; those that were not known are added.
    pub(super) fn search_paths(&mut self) -> Vec<f64> {
        let costs = self.paths.costs(&self.per_capacity(&self.game.prices));
        let mut cheapest = self.game.cheapest();
        let flows = self.groups.iter().zip(&cheapest).map(|(members, least)| (members[0], least * (1.0 - CHEAPER)));
        let flows: Vec<(usize, f64)> = flows.collect();
        self.searches += flows.len();
        let found = self.search.all_cheapest(self.problem, self.paths, &flows, &costs);
        for ((group, least), path) in cheapest.iter_mut().enumerate().zip(found) {
            let Some(path) = path else { continue };
            let cost = path_cost(&path, &costs);
            *least = cost.min(*least);
            self.game.add(group, path);
        }
        cheapest
    }

    /// What the fullest link may carry of its capacity for a level to be accepted after so many looks.
    pub(super) fn full(&self, looks: usize) -> f64 {
        let part = PART_OF_WIDTH * (1.0 + looks as f64 / PATIENCE).min(2.0);
        self.width + part * (1.0 + self.most_width - self.width).max(0.0)
    }

    /// Elementary operations so far, of all parts.
    pub(super) fn spent(&self) -> u64 {
        self.work + self.game.work + self.search.work * HOP_WORK
    }

    /// Counts what a simplex did.
    pub(super) fn add_work(&mut self, large: &Large<'_>) {
        self.work += large.work + large.search.work * HOP_WORK;
        self.steps += large.steps;
        self.searches += large.searches;
    }

    pub(super) fn check_work(&self, level: f64) -> Result<(), SolverError> {
        if self.spent() <= self.most {
            return Ok(());
        }
        let open = self.groups.iter().zip(&self.closed).filter(|(_, closed)| !**closed);
        let open = open.map(|(members, _)| members.len()).sum();
        Err(SolverError::Work { open, flows: self.groups.iter().map(Vec::len).sum(), level })
    }

    /// The next level of open flows.
    fn next(&mut self) -> Result<(), SolverError> {
        let mut level = HIGHER * self.last;
        let mut proof: Option<Proof> = None;
        self.game.set_prices(&vec![0.0; self.capacities.len()]);
        for look in 1.. {
            self.check_work(level)?;
            let full = self.full(look);
            let demand = self.demand(level);
            let fits = self.game.relieve(&demand, self.width, full, ITERATIONS).upper <= full;
            let cheapest = self.search_paths();
            let bound = self.level_bound(&cheapest).max(self.last);
            self.bound = self.bound.min(bound);
            if bound.is_finite() && proof.as_ref().is_none_or(|proof| bound < proof.bound) {
                let priced = Priced { prices: self.game.prices.clone(), cheapest: cheapest.clone() };
                proof = Some(Proof { priced, bound, below: self.below(&cheapest, bound) });
            }
            if let Some(proof) = proof.take_if(|proof| fits && proof.bound <= CLOSE * level) {
                let limited = self.limited(&proof.priced.cheapest, level);
                if !limited.is_empty() {
                    self.freeze(level, limited, proof.priced);
                    return Ok(());
                }
                return Err(SolverError::NoFlowLimited);
            }
            if fits {
                level = proof.as_ref().map_or(f64::INFINITY, |proof| proof.below).min(STEP * level);
            } else if bound < level {
                level = self.below(&cheapest, bound);
            }
            self.prune(&cheapest);
        }
        unreachable!("looks do not end")
    }

    /// Slightly less than a bound, so that links can carry it soon; flows with prices that count can still gain less
    /// than [`GAIN`] then.
    fn below(&self, cheapest: &[f64], bound: f64) -> f64 {
        let open: Vec<usize> = (0..cheapest.len()).filter(|g| self.limit[*g] > bound).collect();
        let highest = open.iter().map(|g| cheapest[*g]).fold(0.0, f64::max);
        let counts = |g: &usize| cheapest[*g] > DUAL_TOLERANCE * highest;
        let least = open.iter().filter(|g| counts(g)).map(|g| cheapest[*g]).fold(highest, f64::min);
        let paid: f64 = open.iter().map(|g| cheapest[*g] * self.members(*g)).sum();
        let part = (GAIN * least + (self.width - 1.0) / bound) / paid;
        bound * (1.0 - if part.is_finite() { part.min(LESS) } else { 0.0 })
    }

    /// The open groups that cannot gain more than [`GAIN`] above a level, by these prices of their cheapest paths,
    /// without lowering others of these groups or closed ones.
    pub(super) fn limited(&self, cheapest: &[f64], level: f64) -> Vec<usize> {
        let (mut open, closed): (Vec<usize>, Vec<usize>) = (0..cheapest.len()).partition(|g| !self.closed[*g]);
        open.sort_by(|a, b| cheapest[*b].total_cmp(&cheapest[*a]).then(a.cmp(b)));
        let paid = |g: &usize| cheapest[*g] * self.members(*g) * self.limit[*g].min(level);
        let mut slack = 1.0 - closed.iter().map(paid).sum::<f64>();
        let mut count = 0;
        for (i, g) in open.iter().enumerate() {
            slack -= paid(g);
            if cheapest[*g] > 0.0 && slack <= GAIN * cheapest[*g] * level {
                count = i + 1;
            }
        }
        let highest = open.first().map_or(0.0, |g| cheapest[*g]);
        open.truncate(count);
        open.retain(|g| cheapest[*g] > DUAL_TOLERANCE * highest);
        open
    }

    /// Forgets paths if there are many.
    pub(super) fn prune(&mut self, cheapest: &[f64]) {
        if 4 * self.game.size() > 5 * (self.groups.len() + self.capacities.len()) {
            self.game.prune(cheapest);
        }
    }

    /// Ends a level at which these groups are limited, as prices of links show.
    pub(super) fn freeze(&mut self, rate: f64, limited: Vec<usize>, proof: Priced) {
        for &group in &limited {
            (self.closed[group], self.limit[group]) = (true, rate);
        }
        self.levels.push(Risen { rate, limited, prices: self.per_capacity(&proof.prices) });
        (self.last, self.proof, self.bound) = (rate, proof, f64::INFINITY);
        let upper = self.game.loads().into_iter().fold(0.0, f64::max);
        self.width = self.width.max(upper) + MORE_WIDTH;
    }

    /// Prices per capacity.
    pub(super) fn per_capacity(&self, prices: &[f64]) -> Vec<f64> {
        let per = |(price, c): (&f64, &f64)| if *c > 0.0 { price / c } else { 0.0 };
        prices.iter().zip(&self.capacities).map(per).collect()
    }

    fn solved(mut self) -> Solved {
        let (demand, work) = (self.demand(f64::INFINITY), self.spent());
        self.game.scale(&demand);
        let carried =
            |columns: Vec<Column>| columns.into_iter().filter(|c| c.rate > 0.0).map(|c| (c.path, c.rate)).collect();
        Solved {
            levels: self.levels,
            rates: self.limit,
            carried: self.game.columns.into_iter().map(carried).collect(),
            steps: self.steps,
            searches: self.searches,
            work,
        }
    }
}

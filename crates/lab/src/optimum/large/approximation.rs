//! Approximate rates for networks in which the simplex takes too long.
//!
//! The low levels are places where few flows meet few links; the simplex finds them quickly in a network whose other
//! links are wide. The higher levels are games between the paths and the links ([`Game`]): for rates of flows, it gives
//! the fullest link, and prices that prove how full it must be. Because the proof is linear in the rates, prices bound
//! the level from above, and the level falls to that bound until all links can carry it. Flows whose prices are not
//! negligible keep it, and the others rise on, as in the simplex.
//!
//! A game that fills a few links beyond what its prices explain shows a place that the simplex did not see; these links
//! become narrow for it, too. Which links are narrow at first follows from the prices of the interior-point method
//! ([`interior`]). Rates are those of links that are wider by up to [`MAX_WIDTH`].

use super::super::Problem;
use super::super::certificate::{Allocation, Level};
use super::super::error::SolverError;
use super::super::paths::{Path, Paths};
use super::game::Game;
use super::interior::{self, Start};
use super::matrix::Parts;
use super::search::Search;
use super::steps::HOP_WORK;
use super::{DUAL_TOLERANCE, Large, groups};

/// The largest fraction by which a link is wider; the certificate allows 5·10⁻⁴.
const MAX_WIDTH: f64 = 4.8e-4;
/// By how much all are wider at the first level found by a game, and how much more at each later one.
const WIDTH: f64 = 4e-5;
const MORE_WIDTH: f64 = 5e-6;
/// The part of the width that is left which the fullest link may take at a level.
const PART_OF_WIDTH: f64 = 0.4;
/// One in so many links is narrow for the simplex at first, and other links are so many times as wide.
const NARROW: usize = 30;
const WIDE: f64 = 1000.0;
/// A price that counts; all together are one.
const PRICED: f64 = 1e-9;
/// The largest part of links, one over this, whose prices or loads are those of a place.
const PRICED_IN_A_PLACE: usize = 8;
const LOADED_IN_A_PLACE: usize = 40;
/// The part of the largest overload that counts as that of a place.
const OVERLOADED: f64 = 0.75;
/// What the part of the load that prices do not explain is a multiple of, if a place is overloaded.
const UNEXPLAINED: f64 = 3.0;
/// The gap at which the interior-point method ends.
const START_GAP: f64 = 1e-2;
/// The gap between bounds that a game is played to at first, and at least.
const GAP: f64 = 1e-3;
const LEAST_GAP: f64 = 1e-6;
/// Iterations of a game before it is looked at again.
const ITERATIONS: usize = 4096;
/// How often all paths are searched while the bounds are coarse: in one of so many looks.
const SEARCHES: usize = 3;
/// A path counts as cheaper if the difference exceeds this fraction.
const CHEAPER: f64 = 1e-7;
/// The part of the allowed work, one over this, that the simplex has each time.
const SIMPLEX_PART: u64 = 30;
/// How much higher than where a place was found its network's level may be.
const LITTLE_MORE: f64 = 1.005;
/// And how much higher the simplex goes.
const HIGHER: f64 = 1.1;
/// The largest step by which a level rises.
const STEP: f64 = 1.3;
/// How much higher than a later level its bound may be.
const CLOSE: f64 = 1.002;

/// The max-min fair allocation, within an amount of work.
pub(in super::super) fn fill(problem: &Problem, most: u64) -> Result<Allocation, SolverError> {
    let paths = Paths::without_paths(problem);
    let mut search = Search::new(problem.nodes);
    let (groups, first) = groups(problem, &paths, &mut search);
    let start = interior::start(problem, &paths, &mut search, &groups, first, START_GAP, most / 2);
    search.work = 0;
    let mut levels = Levels::new(problem, &paths, search, groups, start, most);
    levels.low()?;
    while levels.closed.contains(&false) {
        levels.next()?;
    }
    Ok(levels.allocation())
}

struct Levels<'a> {
    problem: &'a Problem,
    paths: &'a Paths<'a>,
    search: Search,
    groups: Vec<Vec<usize>>,
    capacities: Vec<f64>,
    start: Start,
    game: Game,
    /// By group, the rate at which its flows are limited; infinite if that is not known yet.
    limit: Vec<f64>,
    /// By group, whether its rate is final.
    closed: Vec<bool>,
    levels: Vec<Level>,
    /// The capacity of links, by which bounds of the present level are computed, as a multiple of the true one.
    width: f64,
    /// The last level.
    last: f64,
    steps: usize,
    searches: usize,
    /// Elementary operations of the start and of the simplex, and the limit for all.
    work: u64,
    most: u64,
}

/// What a game found out about a level.
enum Found {
    Level(Reached),
    /// Links that are narrower than the simplex took them for.
    Place {
        links: Vec<usize>,
        /// The level at which they are.
        level: f64,
    },
}

/// Prices of most links, and what groups' cheapest paths cost at them.
struct Priced {
    prices: Vec<f64>,
    cheapest: Vec<f64>,
}

/// A level that links can carry.
struct Reached {
    rate: f64,
    /// The price of each group's cheapest path.
    cheapest: Vec<f64>,
    /// What the fullest link carries of its capacity.
    upper: f64,
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
            limit: vec![f64::INFINITY; groups.len()],
            closed: vec![false; groups.len()],
            levels: Vec::new(),
            width: 1.0 + WIDTH,
            last: 0.0,
            steps: 0,
            searches: 0,
            work: start.work,
            most,
            groups,
            start,
        }
    }

    fn members(&self, group: usize) -> f64 {
        self.groups[group].len() as f64
    }

    /// What each group carries at a level.
    fn demand(&self, level: f64) -> Vec<f64> {
        self.limit.iter().enumerate().map(|(g, limit)| self.members(g) * limit.min(level)).collect()
    }

    /// The largest level at which flows pay no more than links may carry, at these prices of their paths.
    fn bound(&self, cheapest: &[f64]) -> f64 {
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
    fn search_paths(&mut self) -> Vec<f64> {
        let price = |(price, c): (&f64, &f64)| if *c > 0.0 { price / c } else { 0.0 };
        let prices: Vec<f64> = self.game.prices.iter().zip(&self.capacities).map(price).collect();
        let costs = self.paths.costs(&prices);
        let mut cheapest = self.game.cheapest();
        for (group, least) in cheapest.iter_mut().enumerate() {
            let (flow, limit) = (self.groups[group][0], *least * (1.0 - CHEAPER));
            self.searches += 1;
            let Some(path) = self.search.cheapest(self.problem, self.paths, flow, &costs, limit) else { continue };
            let cost = path.iter().map(|hop| costs[*hop]).sum::<f64>();
            *least = cost.min(*least);
            self.game.add(group, path);
        }
        cheapest
    }

    /// What the fullest link may carry of its capacity for a level to be accepted.
    fn full(&self) -> f64 {
        self.width + PART_OF_WIDTH * (1.0 + MAX_WIDTH - self.width)
    }

    fn check_work(&self, level: f64) -> Result<(), SolverError> {
        if self.work + self.game.work + self.search.work * HOP_WORK <= self.most {
            return Ok(());
        }
        let open = self.groups.iter().zip(&self.closed).filter(|(_, closed)| !**closed);
        let open = open.map(|(members, _)| members.len()).sum();
        Err(SolverError::Work { open, flows: self.groups.iter().map(Vec::len).sum(), level })
    }

    /// The levels below the first one of a game, and that one.
    fn low(&mut self) -> Result<(), SolverError> {
        let first = self.search_paths();
        let mut order: Vec<usize> = (0..self.capacities.len()).collect();
        order.sort_unstable_by(|a, b| self.start.prices[*b].total_cmp(&self.start.prices[*a]).then(a.cmp(b)));
        let mut narrow = vec![false; order.len()];
        order[..order.len() / NARROW].iter().for_each(|l| narrow[*l] = true);
        let mut most_links = Priced { prices: self.game.prices.clone(), cheapest: first };
        let mut before = f64::INFINITY;
        loop {
            let low = self.simplex(&narrow, &most_links.cheapest, HIGHER * before)?;
            self.game.set_prices(&most_links.prices);
            let guess = self.bound(&most_links.cheapest).min(before);
            match self.reach(guess, &narrow, &mut most_links)? {
                Found::Place { links, level } => {
                    links.into_iter().for_each(|l| narrow[l] = true);
                    // Few prices are those of the place, which may have lowered the level.
                    before = level * if self.few_priced() { HIGHER } else { LITTLE_MORE };
                }
                Found::Level(reached) => {
                    for (rate, level) in low {
                        if rate <= reached.rate {
                            self.levels.push(level);
                        }
                    }
                    for (limit, closed) in self.limit.iter_mut().zip(&mut self.closed) {
                        *closed = *limit < reached.rate;
                        *limit = if *closed { *limit } else { f64::INFINITY };
                    }
                    return self.freeze(reached);
                }
            }
        }
    }

    /// Levels by the simplex with the narrow links, up to what the prices of paths allow, or as far as it comes.
    fn simplex(&mut self, narrow: &[bool], cheapest: &[f64], highest: f64) -> Result<Vec<(f64, Level)>, SolverError> {
        let of = |(capacity, narrow): (&f64, &bool)| if *narrow { *capacity } else { capacity * WIDE };
        let capacities = self.capacities.iter().zip(narrow).map(of).collect();
        let search = Search::new(self.problem.nodes);
        let most = self.most / SIMPLEX_PART;
        let mut large = Large::new(self.problem, self.groups.clone(), capacities, &self.start, search, most)?;
        self.limit.fill(f64::INFINITY);
        large.highest = self.bound(cheapest).min(highest);
        let mut levels = Vec::new();
        // What it does not find because of its work or of its digits, games find.
        while let Ok(found) = large.level() {
            if let Some((rate, level)) = found {
                let open = large.open.iter().zip(&mut self.limit);
                open.filter(|(open, limit)| !**open && limit.is_infinite()).for_each(|(_, limit)| *limit = rate);
                levels.push((rate, level));
                continue;
            }
            // The lower rates of others leave more.
            let highest = self.bound(cheapest).min(highest);
            if highest <= large.highest * (1.0 + WIDTH) || !large.open.contains(&true) {
                break;
            }
            large.highest = highest;
        }
        self.work += large.work + large.search.work * HOP_WORK;
        self.steps += large.steps;
        self.searches += large.searches;
        Ok(levels)
    }

    /// The next level of open flows.
    fn next(&mut self) -> Result<(), SolverError> {
        let full = self.full();
        let mut level = HIGHER * self.last;
        self.game.set_prices(&vec![0.0; self.capacities.len()]);
        for look in 1.. {
            self.check_work(level)?;
            let demand = self.demand(level);
            let bounds = self.game.relieve(&demand, self.width, full, ITERATIONS);
            let searched = bounds.upper <= full || look % SEARCHES == 0;
            let cheapest = if searched { self.search_paths() } else { self.game.cheapest() };
            let bound = self.bound(&cheapest).max(self.last);
            if searched && bounds.upper <= full && bound <= CLOSE * level {
                return self.freeze(Reached { rate: level, cheapest, upper: bounds.upper });
            }
            if bound < level {
                level = bound;
            } else if searched && bounds.upper <= full {
                level = bound.min(STEP * level);
            }
            self.prune(searched, &cheapest);
        }
        unreachable!("looks do not end")
    }

    /// The first level that links can carry and prices limit, beginning with a guess, or a place where links are too
    /// full that are not narrow yet. Prices of most links before that are kept.
    fn reach(&mut self, guess: f64, narrow: &[bool], most_links: &mut Priced) -> Result<Found, SolverError> {
        let full = self.full();
        let (mut level, mut gap) = (guess, GAP);
        for look in 1.. {
            self.check_work(level)?;
            let demand = self.demand(level);
            let bounds = self.game.improve(&demand, gap, self.width * (1.0 + 2.0 * gap), ITERATIONS);
            let close = bounds.upper - bounds.lower <= gap;
            let searched = close || bounds.upper <= full || look % SEARCHES == 0;
            let cheapest = if searched { self.search_paths() } else { self.game.cheapest() };
            let lower: f64 = cheapest.iter().zip(&demand).map(|(price, rate)| price * rate).sum();
            let bound = self.bound(&cheapest);
            let links = self.place(bounds.upper, lower, narrow);
            if !links.is_empty() {
                return Ok(Found::Place { links, level });
            }
            if searched && !self.few_priced() {
                *most_links = Priced { prices: self.game.prices.clone(), cheapest: cheapest.clone() };
            }
            let tight = lower >= self.width - LEAST_GAP || bound <= level * (1.0 + WIDTH);
            if searched && bounds.upper <= full && lower >= 1.0 && tight {
                return Ok(Found::Level(Reached { rate: level, cheapest, upper: bounds.upper }));
            }
            if bound < level * (1.0 - 0.1 * LEAST_GAP) {
                level = bound;
            } else if searched && bounds.upper <= self.width && bound > level * (1.0 + LEAST_GAP) {
                (level, gap) = (bound.min(STEP * level), GAP);
            } else if close && bounds.lower - lower < 0.3 * gap {
                gap = (0.2 * gap).max(LEAST_GAP);
            }
            self.prune(searched, &cheapest);
        }
        unreachable!("looks do not end")
    }

    /// Forgets paths if there are many, and all were compared.
    fn prune(&mut self, searched: bool, cheapest: &[f64]) {
        if searched && 4 * self.game.size() > 5 * (self.groups.len() + self.capacities.len()) {
            self.game.prune(cheapest);
        }
    }

    /// Whether few links have prices, as in a place.
    fn few_priced(&self) -> bool {
        let priced = self.game.prices.iter().filter(|price| **price > PRICED);
        PRICED_IN_A_PLACE * priced.count() <= self.capacities.len()
    }

    /// Links of a place that is overloaded, which are not narrow yet.
    fn place(&self, upper: f64, lower: f64, narrow: &[bool]) -> Vec<usize> {
        let links = self.capacities.len();
        let mut found = Vec::new();
        if lower > self.width * (1.0 + WIDTH) && self.few_priced() {
            found.extend((0..links).filter(|l| self.game.prices[*l] > PRICED));
        }
        if upper - 1.0 > UNEXPLAINED * (lower - 1.0).max(5.0 * WIDTH) {
            let loads = self.game.loads();
            let over: Vec<usize> = (0..links).filter(|l| loads[*l] > 1.0 + OVERLOADED * (upper - 1.0)).collect();
            if over.len() <= links / LOADED_IN_A_PLACE {
                found.extend(over);
            }
        }
        found.retain(|l| !narrow[*l]);
        found
    }

    /// Ends a level: open flows keep it whose prices are not negligible.
    fn freeze(&mut self, reached: Reached) -> Result<(), SolverError> {
        let Reached { rate, cheapest, upper } = reached;
        let open: Vec<usize> = (0..self.closed.len()).filter(|g| !self.closed[*g]).collect();
        let highest = open.iter().map(|g| cheapest[*g]).fold(0.0, f64::max);
        let limited: Vec<usize> = open.into_iter().filter(|g| cheapest[*g] > DUAL_TOLERANCE * highest).collect();
        if limited.is_empty() {
            return Err(SolverError::NoFlowLimited);
        }
        for &group in &limited {
            (self.closed[group], self.limit[group]) = (true, rate);
        }
        let price = |(link, price): (usize, &f64)| (*price > 0.0).then(|| (link, price / self.capacities[link]));
        let prices = self.game.prices.iter().enumerate().filter_map(price).collect();
        let mut flows: Vec<usize> = limited.iter().flat_map(|g| self.groups[*g].iter().copied()).collect();
        flows.sort_unstable();
        self.levels.push(Level { flows, prices });
        self.last = rate;
        self.width = self.width.max(upper) + MORE_WIDTH;
        Ok(())
    }

    fn allocation(mut self) -> Allocation {
        let demand = self.demand(f64::INFINITY);
        self.game.scale(&demand);
        let mut rates = vec![0.0; self.problem.flows.len()];
        let mut paths: Vec<Vec<(Path, f64)>> = vec![Vec::new(); rates.len()];
        for ((members, columns), rate) in self.groups.iter().zip(&self.game.columns).zip(&self.limit) {
            let carried = columns.iter().filter(|c| c.rate > 0.0);
            let mut carried: Vec<(Path, f64)> =
                carried.map(|c| (c.path.clone(), c.rate / members.len() as f64)).collect();
            carried.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            for &flow in members {
                rates[flow] = *rate;
                paths[flow].clone_from(&carried);
            }
        }
        Allocation { rates, paths, levels: self.levels, steps: self.steps, searches: self.searches }
    }
}

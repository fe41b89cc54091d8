//! The flows that rise above a level that fills most links.
//!
//! In an exact optimum, prices of that level confine most flows to the paths that carry them. So these flows keep
//! them, and what is left is a smaller network, with the flows that rise, and those without a price at that level.
//! The simplex solves it, or the same method. Its prices, with many times those of the level, prove the rates. A flow
//! that keeps a path where another is equally cheap may make room for others; it is freed then, and what is left is
//! solved again.

use super::super::error::SolverError;
use super::super::paths::{Path, path_cost};
use super::super::{DirectedLink, Problem};
use super::approximation::{Levels, PRICED, Risen, Solved, solve};
use super::interior::Start;
use super::search::Search;
use super::{DUAL_TOLERANCE, Large};
use ndnweir_core::units::Rate;

/// How often flows are freed at most.
const MAX_ROUNDS: usize = 6;
/// The part of what is left of the allowed work, one over this, that the simplex has each time; and of all allowed work,
/// after which no more flows are freed.
const PART: u64 = 8;
/// How many times the prices of the last level are added to those of a higher one, for proofs and for searches.
const MULTIPLE: f64 = 1e6;
const SEARCHED: f64 = 1e8;
/// Paths count as equally cheap if their costs differ by less than this fraction.
const EQUAL: f64 = 1e-7;
/// The part of a link that counts as room, and by which links are wider so that none is without.
const ROOM: f64 = 1e-5;
const LEAST_ROOM: f64 = 2e-6;
/// How much lower than its limit the rate of a flow may be.
const LOWER: f64 = 2e-4;
/// The part of a rate that a flow must make room for to be freed.
const FREED: f64 = 1e-3;

impl Levels<'_> {
    /// The levels of all open flows; whether they were found.
    ///
    /// They are nearly those of the exact optimum, but links wider by 10⁻⁴ may let such a flow gain far more than that,
    /// because many flows that each give way a little make room for it together.
    pub(super) fn rest(&mut self) -> bool {
        if !self.closed.contains(&false) {
            return true;
        }
        let highest = self.proof.cheapest.iter().copied().fold(0.0, f64::max);
        let free = |g: usize| !self.closed[g] || self.proof.cheapest[g] <= DUAL_TOLERANCE * highest;
        let mut free: Vec<bool> = (0..self.closed.len()).map(free).collect();
        let before = self.work;
        let mut last = None;
        for _ in 0..MAX_ROUNDS {
            let groups: Vec<usize> = (0..free.len()).filter(|g| free[*g]).collect();
            let Ok(found) = self.without(&free, &groups) else { break };
            let mut more: Vec<usize> = found.levels.iter().flat_map(|l| self.moving(l, &found, &free)).collect();
            more.sort_unstable();
            last = Some((groups, found));
            if more.is_empty() || self.work - before > self.most / PART {
                break;
            }
            more.into_iter().for_each(|g| free[g] = true);
        }
        let done = last.is_some();
        if let Some((groups, found)) = last {
            self.take(&groups, found);
        }
        done
    }

    /// What is left for free groups where others keep their paths.
    fn without(&mut self, free: &[bool], groups: &[usize]) -> Result<Solved, SolverError> {
        let all = self.game.loads();
        let kept = self.game.loads_of(|g| !free[g]);
        let used = self.game.loads_of(|g| free[g]);
        let priced = |l: usize| self.levels.iter().any(|level| level.prices[l] * self.capacities[l] > PRICED);
        let full: Vec<bool> = (0..all.len()).map(priced).collect();
        // A link with a price is full in the optimum; that it is not quite full is an error of the game.
        let room = |l: usize| if full[l] { used[l] } else { all[l].max(1.0) - kept[l] };
        let blocked = |l: usize| self.proof.prices[l] > PRICED && used[l] < ROOM && room(l) < ROOM;
        let blocked: Vec<bool> = (0..all.len()).map(blocked).collect();
        let link = |(l, link): (usize, &DirectedLink)| {
            let left = if blocked[l] { 0.0 } else { (room(l) + LEAST_ROOM) * self.capacities[l] };
            DirectedLink { rate: Rate::from_mbps(left), ..link.clone() }
        };
        let works = |path: &Path| path.iter().all(|hop| self.paths.uses(*hop).all(|l| !blocked[l]));
        let carrying = |g: &usize| {
            let mut carrying: Vec<_> = self.game.columns[*g].iter().filter(|c| works(&c.path)).collect();
            carrying.sort_by(|a, b| b.rate.total_cmp(&a.rate));
            carrying.into_iter().map(|c| c.path.clone()).collect::<Vec<Path>>()
        };
        let first: Vec<Vec<Path>> = groups.iter().map(carrying).collect();
        if first.iter().any(Vec::is_empty) {
            return Err(SolverError::PathLost);
        }
        let problem = Problem {
            links: self.problem.links.iter().enumerate().map(link).collect(),
            flows: groups.iter().map(|g| self.problem.flows[self.groups[*g][0]].clone()).collect(),
            nodes: self.problem.nodes,
            hosts: self.problem.hosts.clone(),
            hops: self.problem.hops.clone(),
            sizes: self.problem.sizes,
        };
        let members: Vec<Vec<usize>> = groups.iter().enumerate().map(|(i, g)| vec![i; self.groups[*g].len()]).collect();
        let limit = |g: &usize| if self.closed[*g] { self.limit[*g] } else { f64::INFINITY };
        let limits: Vec<f64> = groups.iter().map(limit).collect();
        let capacities: Vec<f64> = problem.links.iter().map(|l| l.rate.mbps()).collect();
        let prices = (0..all.len()).map(|l| 0.1 / room(l).max(1e-3)).collect();
        let start = Start { paths: first, prices, work: 0 };
        let most = self.most.saturating_sub(self.spent()) / PART;
        let search = Search::new(problem.nodes);
        let mut large = Large::new(&problem, members.clone(), capacities, &start, search, most, None)?;
        let levels = large.all_levels(&limits);
        self.add_work(&large);
        let overfull = all.iter().copied().fold(1.0, f64::max) - 1.0;
        match levels {
            Ok(levels) => Ok(Solved {
                levels,
                rates: large.rate.clone(),
                carried: large.carried(),
                steps: 0,
                searches: 0,
                work: 0,
            }),
            Err(_) => {
                let most = self.most.saturating_sub(self.spent());
                let found = solve(&problem, members, start.paths, &limits, self.most_width - overfull, most);
                // What fails has used all that was left, or nearly.
                let found = found.inspect_err(|_| self.work += most)?;
                self.work += found.work;
                self.steps += found.steps;
                self.searches += found.searches;
                Ok(found)
            }
        }
    }

    /// Groups that pay for a level on a path for which there is another that is as cheap at the last level's prices, and
    /// cheaper at its own.
    fn moving(&mut self, level: &Risen, found: &Solved, free: &[bool]) -> Vec<usize> {
        let own = self.paths.costs(&level.prices);
        let last = self.paths.costs(&self.per_capacity(&self.proof.prices));
        let all: Vec<f64> = own.iter().zip(&last).map(|(own, last)| own + SEARCHED * last).collect();
        let pays = |i: &usize| found.carried[*i].iter().map(|(path, rate)| path_cost(path, &own) * rate).sum::<f64>();
        let least = level.limited.iter().map(pays).fold(f64::INFINITY, f64::min);
        let mut moving = Vec::new();
        for g in (0..free.len()).filter(|g| !free[*g]) {
            let paying =
                self.game.columns[g].iter().map(|c| (path_cost(&c.path, &own), path_cost(&c.path, &last), c.rate));
            for (paid, cost, rate) in paying.filter(|(paid, _, rate)| paid * rate > FREED * least) {
                self.searches += 1;
                let flow = self.groups[g][0];
                let path = self.search.cheapest(self.problem, self.paths, flow, &all, f64::INFINITY);
                let equal = |path: &Path| path_cost(path, &last) >= cost * (1.0 - EQUAL);
                let saved = |path: &Path| (paid - path_cost(path, &own)) * rate;
                if path.is_some_and(|path| equal(&path) && saved(&path) > FREED * least) {
                    moving.push(g);
                    break;
                }
            }
        }
        moving
    }

    /// Takes over what was found, with its proofs.
    fn take(&mut self, groups: &[usize], found: Solved) {
        let last = self.per_capacity(&self.proof.prices);
        for level in found.levels {
            let limited: Vec<usize> = level.limited.iter().map(|i| groups[*i]).collect();
            for g in &limited {
                (self.closed[*g], self.limit[*g]) = (true, level.rate);
            }
            let mut prices: Vec<f64> =
                level.prices.iter().zip(&last).map(|(own, last)| own + MULTIPLE * last).collect();
            scale(&mut prices, &self.capacities);
            self.levels.push(Risen { rate: level.rate, limited, prices });
        }
        for (g, carried) in groups.iter().zip(found.carried) {
            self.game.set_paths(*g, carried);
        }
    }
}

/// Scales prices so that all capacities are worth one.
pub(super) fn scale(prices: &mut [f64], capacities: &[f64]) {
    let worth: f64 = prices.iter().zip(capacities).map(|(price, c)| price * c).sum();
    prices.iter_mut().for_each(|price| *price /= worth);
}

impl Large<'_> {
    fn all_levels(&mut self, limits: &[f64]) -> Result<Vec<Risen>, SolverError> {
        let mut levels = Vec::new();
        while let Some(level) = self.next_level(limits, f64::INFINITY)? {
            levels.push(level);
        }
        Ok(levels)
    }

    /// The next level of groups without a limit, where others rise up to their limits, unless it is above `highest`.
    /// None if no group is open or the level is the highest.
    pub(super) fn next_level(&mut self, limits: &[f64], highest: f64) -> Result<Option<Risen>, SolverError> {
        while self.open.contains(&true) {
            let before: Vec<usize> = (0..limits.len()).filter(|g| self.open[*g]).collect();
            let limit = before.iter().map(|g| limits[*g]).fold(f64::INFINITY, f64::min);
            self.highest = limit.min(highest);
            if let Some((rate, level)) = self.level()? {
                let ended = before.into_iter().filter(|g| !self.open[*g]);
                let (limited, low): (Vec<usize>, Vec<usize>) = ended.partition(|g| limits[*g].is_infinite());
                if low.iter().any(|g| limits[*g] > rate * (1.0 + LOWER)) {
                    return Err(SolverError::NoFlowLimited);
                }
                if limited.is_empty() {
                    continue;
                }
                let mut prices = vec![0.0; self.problem.links.len()];
                level.prices.into_iter().for_each(|(l, price)| prices[l] = price);
                scale(&mut prices, &self.rhs[self.groups.len()..]);
                return Ok(Some(Risen { rate, limited, prices }));
            }
            if highest < limit {
                return Ok(None);
            }
            for g in before.into_iter().filter(|g| limits[*g] <= self.highest) {
                self.open[g] = false;
                self.rate[g] = limits[g];
                self.rhs[g] = limits[g] * self.groups[g].len() as f64;
            }
            self.compute();
        }
        Ok(None)
    }

    /// By group, its paths and what they carry.
    fn carried(&self) -> Vec<Vec<(Path, f64)>> {
        let mut carried: Vec<Vec<(Path, f64)>> = vec![Vec::new(); self.groups.len()];
        for (value, column) in self.value.iter().zip(&self.head) {
            let column = &self.columns[*column as usize];
            if column.group != super::NONE && *value > 0.0 {
                carried[column.group as usize].push((column.path.clone(), *value));
            }
        }
        carried
    }
}

//! The low levels of a network, up to the first one that is a game of all links.
//!
//! Low levels are places where few flows meet few links; the simplex finds them quickly in a network whose other links
//! are wide. A game that fills a few links beyond what its prices explain shows a place that the simplex did not see;
//! these links become narrow for it, too. Which links are narrow at first follows from the prices of the interior-point
//! method ([`super::interior`]).

use super::super::error::SolverError;
use super::Large;
use super::approximation::{HIGHER, ITERATIONS, Levels, PRICED, Priced, Risen, STEP, WIDTH};
use super::search::Search;

/// One in so many links is narrow for the simplex at first, and other links are so many times as wide.
const NARROW: usize = 30;
const WIDE: f64 = 1000.0;
/// The largest part of links, one over this, whose prices or loads are those of a place.
const PRICED_IN_A_PLACE: usize = 8;
const LOADED_IN_A_PLACE: usize = 40;
/// The part of the largest overload that counts as that of a place.
const OVERLOADED: f64 = 0.75;
/// What the part of the load that prices do not explain is a multiple of, if a place is overloaded.
const UNEXPLAINED: f64 = 3.0;
/// The gap between bounds that a game is played to at first, and at least.
const GAP: f64 = 1e-3;
const LEAST_GAP: f64 = 1e-6;
/// The part of the allowed work, one over this, that the simplex has each time.
const SIMPLEX_PART: u64 = 30;
/// How much higher than where a place was found its network's level may be.
const LITTLE_MORE: f64 = 1.005;

/// What a game found out about a level.
enum Found {
    /// One that links can carry, and the price of each group's cheapest path.
    Level { rate: f64, cheapest: Vec<f64> },
    /// Links can carry the rates of the simplex, which limits all flows.
    Carried,
    /// Links that are narrower than the simplex took them for.
    Place {
        links: Vec<usize>,
        /// The level at which they are.
        level: f64,
    },
}

impl Levels<'_> {
    /// The levels below the first one of a game, and that one.
    pub(super) fn low(&mut self) -> Result<(), SolverError> {
        let first = self.search_paths();
        let mut order: Vec<usize> = (0..self.capacities.len()).collect();
        order.sort_unstable_by(|a, b| self.start.prices[*b].total_cmp(&self.start.prices[*a]).then(a.cmp(b)));
        let mut narrow = vec![false; order.len()];
        order[..self.links() / NARROW].iter().for_each(|l| narrow[*l] = true);
        let mut most_links = Priced { prices: self.game.prices.clone(), cheapest: first };
        let (mut before, mut most_low) = (f64::INFINITY, 0);
        loop {
            let (low, ended) = self.simplex(&narrow, &most_links.cheapest, HIGHER * before)?;
            if ended && low.len() <= most_low {
                // It came no further than before, and would not: what is a place is left to the game.
                narrow.fill(true);
            }
            most_low = most_low.max(low.len());
            self.game.set_prices(&most_links.prices);
            let guess = self.level_bound(&most_links.cheapest).min(before);
            match self.reach(guess, &narrow, &mut most_links)? {
                Found::Place { links, level } => {
                    links.into_iter().for_each(|l| narrow[l] = true);
                    // Few prices are those of the place, which may have lowered the level.
                    before = level * if self.few_priced() { HIGHER } else { LITTLE_MORE };
                }
                Found::Carried => {
                    self.levels.extend(low);
                    self.closed.fill(true);
                    return Ok(());
                }
                Found::Level { rate, cheapest } => {
                    self.levels.extend(low.into_iter().filter(|low| low.rate <= rate));
                    for (g, limit) in self.limit.iter_mut().enumerate() {
                        self.closed[g] = *limit < rate || self.limits[g].is_finite();
                        *limit = if self.closed[g] { *limit } else { f64::INFINITY };
                    }
                    let limited = self.limited(&cheapest, rate);
                    if limited.is_empty() {
                        return Err(SolverError::NoFlowLimited);
                    }
                    let prices = self.game.prices.clone();
                    self.freeze(rate, limited, Priced { prices, cheapest });
                    return Ok(());
                }
            }
        }
    }

    /// Levels by the simplex with the narrow links, up to what the prices of paths allow, or as far as it comes; whether
    /// it ended before.
    fn simplex(&mut self, narrow: &[bool], cheapest: &[f64], highest: f64) -> Result<(Vec<Risen>, bool), SolverError> {
        let of = |(capacity, narrow): (&f64, &bool)| if *narrow { *capacity } else { capacity * WIDE };
        let capacities = self.capacities.iter().zip(narrow).map(of).collect();
        let search = Search::new(self.problem.nodes);
        let most = self.most / SIMPLEX_PART;
        let mut large = Large::new(self.problem, self.groups.clone(), capacities, &self.start, search, most, None)?;
        self.limit.copy_from_slice(&self.limits);
        self.bound = f64::INFINITY;
        let mut end = self.level_bound(cheapest).min(highest);
        let mut levels = Vec::new();
        let mut ended = false;
        loop {
            // What it does not find because of its work or of its digits, games find.
            let Ok(found) = large.next_level(&self.limits, end) else {
                ended = true;
                break;
            };
            if let Some(level) = found {
                level.limited.iter().for_each(|g| self.limit[*g] = level.rate);
                levels.push(level);
                continue;
            }
            // The lower rates of others leave more.
            let more = self.level_bound(cheapest).min(highest);
            if more <= end * (1.0 + WIDTH) || !large.open.contains(&true) {
                break;
            }
            end = more;
        }
        self.add_work(&large);
        Ok((levels, ended))
    }

    /// The first level that links can carry and prices limit, beginning with a guess, or a place where links are too
    /// full that are not narrow yet. Prices of most links before that are kept.
    fn reach(&mut self, guess: f64, narrow: &[bool], most_links: &mut Priced) -> Result<Found, SolverError> {
        // Beyond the highest of the rates that the simplex gives all flows, no level demands more.
        let most = self.limit.iter().copied().fold(0.0, f64::max);
        let (mut level, mut gap) = (guess.min(most), GAP);
        for look in 1.. {
            self.check_work(level)?;
            let full = self.full(look);
            let demand = self.demand(level);
            let bounds = self.game.improve(&demand, gap, self.width * (1.0 + 2.0 * gap), ITERATIONS);
            let close = bounds.upper - bounds.lower <= gap;
            let cheapest = self.search_paths();
            let lower: f64 = cheapest.iter().zip(&demand).map(|(price, rate)| price * rate).sum();
            let bound = self.level_bound(&cheapest);
            self.bound = self.bound.min(bound);
            let links = self.place(bounds.upper, lower, narrow);
            if !links.is_empty() {
                return Ok(Found::Place { links, level });
            }
            if bounds.upper <= full && level >= most {
                return Ok(Found::Carried);
            }
            if !self.few_priced() {
                *most_links = Priced { prices: self.game.prices.clone(), cheapest: cheapest.clone() };
            }
            let tight = lower >= self.width - LEAST_GAP || bound <= level * (1.0 + WIDTH);
            if bounds.upper <= full && lower >= 1.0 && tight {
                return Ok(Found::Level { rate: level, cheapest });
            }
            // Where prices are those of places alone, which are full at any level, the level is far below.
            let enough = if bound > HIGHER * level { full } else { self.width };
            if bound < level * (1.0 - 0.1 * LEAST_GAP) {
                level = bound;
            } else if bound > level * (1.0 + LEAST_GAP) && bounds.upper <= enough {
                (level, gap) = (bound.min(STEP * level).min(most), GAP);
            } else if close && bounds.lower - lower < 0.3 * gap {
                gap = (0.2 * gap).max(LEAST_GAP);
            }
            self.prune(&cheapest);
        }
        unreachable!("looks do not end")
    }

    /// Whether few links have prices, as in a place.
    fn few_priced(&self) -> bool {
        let priced = self.game.prices.iter().filter(|price| **price > PRICED);
        PRICED_IN_A_PLACE * priced.count() <= self.links()
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
            if over.len() <= self.links() / LOADED_IN_A_PLACE {
                found.extend(over);
            }
        }
        found.retain(|l| !narrow[*l]);
        found
    }

    /// The number of links that carry anything.
    fn links(&self) -> usize {
        self.capacities.iter().filter(|c| **c > 0.0).count()
    }
}

//! A game between paths and links: flows spread given rates over their known paths, links set prices.
//!
//! One side spreads rates so that the fullest link is as little full as possible; the other puts one unit of price on
//! links so that the cheapest paths cost as much as possible. Both values are equal in equilibrium, and until then each
//! bounds the other. Both move by the primal-dual hybrid gradient method (Chambolle and Pock, *J. Math. Imaging and
//! Vision* 40, 2011) with step sizes by row and column (Pock and Chambolle, *ICCV* 2011), reflected and drawn back to
//! the point of the last restart (Lu and Yang, "Restarted Halpern PDHG for linear programming", arXiv:2407.16144), with
//! the restarts and the balance of steps of Applegate et al., "Practical large-scale linear programming using
//! primal-dual hybrid gradient", *NeurIPS* 2021.

use super::super::paths::Path;
use super::matrix::{Matrix, Parts};

/// Iterations between two looks at the bounds.
const LOOK: usize = 64;
/// A restart follows when the gap has fallen to the first part of that at the last restart, or to the second part and
/// rises again, or when the iterations since then are the third part of all.
const SUFFICIENT: f64 = 0.2;
const NECESSARY: f64 = 0.8;
const LONG: f64 = 0.36;
/// Paths that carry nothing are forgotten if they cost more than this times the cheapest.
const KEPT: f64 = 1.05;
/// Steps of the search for the multiplier of a projection; it ends by itself.
const MAX_PROJECTION_STEPS: usize = 60;
const FEW_STEPS: u64 = 4;
/// The relative error of sums after a projection.
const SUM_ERROR: f64 = 1e-13;

/// A path with what it carries.
pub(super) struct Column {
    pub(super) path: Path,
    /// In the best point so far.
    pub(super) rate: f64,
    /// Where the iteration is.
    at: f64,
}

/// What the fullest link carries of its capacity, and what the prices prove that it must with the known paths.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) upper: f64,
    pub(super) lower: f64,
}

pub(super) struct Game {
    /// By group of flows.
    pub(super) columns: Vec<Vec<Column>>,
    /// By link, in units of what it costs to use all of it: the best so far. They sum to one, or all are zero.
    pub(super) prices: Vec<f64>,
    parts: Parts,
    /// Where the iteration is.
    at: Vec<f64>,
    /// The ratio of the steps of prices and rates.
    balance: f64,
    iterations: usize,
    /// Elementary operations so far.
    pub(super) work: u64,
}

/// A point of both sides.
#[derive(Clone)]
struct Point {
    rates: Vec<f64>,
    prices: Vec<f64>,
}

/// How far a game is played, and whether prices have a sum.
#[derive(Clone, Copy)]
enum Aim {
    /// Until the bounds differ by less than `gap`, or the lower one exceeds `enough`.
    Gap { gap: f64, enough: f64 },
    /// Prices are free, and rise where links carry more than `width`; until none carries more than `full`.
    Relief { width: f64, full: f64 },
}

impl Aim {
    fn reached(self, bounds: Bounds) -> bool {
        match self {
            Aim::Gap { gap, enough } => bounds.upper - bounds.lower <= gap || bounds.lower > enough,
            Aim::Relief { full, .. } => bounds.upper <= full,
        }
    }
}

impl Game {
    /// A game of so many groups, without paths yet.
    pub(super) fn new(groups: usize, parts: Parts, prices: Vec<f64>) -> Game {
        let balance = 1.0 / prices.len() as f64;
        let columns = (0..groups).map(|_| Vec::new()).collect();
        Game { columns, at: prices.clone(), prices, parts, balance, iterations: 0, work: 0 }
    }

    /// Adds a path of a group unless it is known; at first it carries nothing.
    pub(super) fn add(&mut self, group: usize, path: Path) {
        if self.columns[group].iter().all(|c| c.path != path) {
            self.columns[group].push(Column { path, rate: 0.0, at: 0.0 });
        }
    }

    /// The number of known paths.
    pub(super) fn size(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// What each group's cheapest path costs of those that are known.
    pub(super) fn cheapest(&self) -> Vec<f64> {
        let costs = self.parts.costs(&self.prices);
        let least = |columns: &Vec<Column>| columns.iter().map(|c| c.cost(&costs)).fold(f64::INFINITY, f64::min);
        self.columns.iter().map(least).collect()
    }

    /// Forgets paths that carry nothing and cost clearly more than the cheapest.
    pub(super) fn prune(&mut self, cheapest: &[f64]) {
        let costs = self.parts.costs(&self.prices);
        for (columns, least) in self.columns.iter_mut().zip(cheapest) {
            columns.retain(|c| c.rate > 0.0 || c.at > 0.0 || c.cost(&costs) <= KEPT * least);
        }
    }

    /// Which part of each link is used.
    pub(super) fn loads(&self) -> Vec<f64> {
        self.loads_of(|_| true)
    }

    /// Which part of each link some groups use.
    pub(super) fn loads_of(&self, groups: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut rates = vec![0.0; self.parts.hops()];
        for column in self.columns.iter().enumerate().filter(|(g, _)| groups(*g)).flat_map(|(_, columns)| columns) {
            column.path.iter().for_each(|hop| rates[*hop] += column.rate);
        }
        let mut loads = vec![0.0; self.prices.len()];
        self.parts.loads(&rates, &mut loads);
        loads
    }

    /// Sets all paths of a group, with what they carry.
    pub(super) fn set_paths(&mut self, group: usize, carried: Vec<(Path, f64)>) {
        self.columns[group] = carried.into_iter().map(|(path, rate)| Column { path, rate, at: rate }).collect();
    }

    /// Begins again with these prices.
    pub(super) fn set_prices(&mut self, prices: &[f64]) {
        self.prices.copy_from_slice(prices);
        self.at.copy_from_slice(prices);
    }

    /// Sets the sum of each group's rates.
    pub(super) fn scale(&mut self, demand: &[f64]) {
        for (columns, demand) in self.columns.iter_mut().zip(demand) {
            let even = demand / columns.len() as f64;
            let sum = |of: fn(&Column) -> f64| -> f64 { columns.iter().map(of).sum() };
            let (rates, at) = (sum(|c| c.rate), sum(|c| c.at));
            let scaled = |value: f64, sum: f64| if sum > 0.0 { value * (demand / sum) } else { even };
            for column in columns.iter_mut() {
                (column.rate, column.at) = (scaled(column.rate, rates), scaled(column.at, at));
            }
        }
    }

    /// Improves rates and prices until the bounds differ by less than `gap`, or the lower one exceeds `enough`, or for
    /// so many iterations.
    pub(super) fn improve(&mut self, demand: &[f64], gap: f64, enough: f64, most: usize) -> Bounds {
        self.play(demand, Aim::Gap { gap, enough }, most)
    }

    /// Improves rates until no link carries more than `full` of its capacity, or for so many iterations. Prices may
    /// have any sum; they rise where links carry more than `width`.
    pub(super) fn relieve(&mut self, demand: &[f64], width: f64, full: f64, most: usize) -> Bounds {
        self.play(demand, Aim::Relief { width, full }, most)
    }

    fn play(&mut self, demand: &[f64], aim: Aim, most: usize) -> Bounds {
        self.scale(demand);
        let (links, size) = (self.prices.len(), self.size());
        let paths = self.columns.iter().map(|list| list.iter().map(|c| c.path.as_slice()));
        let mut matrix = Matrix::new(&self.parts, paths, links);
        let zero_sums = matches!(aim, Aim::Gap { .. });
        self.work += matrix.limit_steps(zero_sums);
        let list = |f: fn(&Column) -> f64| -> Vec<f64> { self.columns.iter().flatten().map(f).collect() };
        let mut at = Point { rates: list(|c| c.at), prices: self.at.clone() };
        let mut best = Point { rates: list(|c| c.rate), prices: self.prices.clone() };
        let (mut anchor, mut next) = (at.clone(), at.clone());
        let (mut ahead, mut loads, mut costs) = (vec![0.0; size], vec![0.0; links], vec![0.0; size]);
        let mut multipliers = vec![0.0; demand.len() + 1];
        let mut bounds = bounds_of(&mut matrix, demand, &best, &mut loads, &mut costs);
        let now = bounds_of(&mut matrix, demand, &at, &mut loads, &mut costs);
        let mut last = if zero_sums { now.upper - now.lower } else { f64::INFINITY };
        let (mut inner, mut iterations, mut before, mut extra) = (0usize, 0, f64::INFINITY, 0);
        while iterations < most && !aim.reached(bounds) {
            let mut way = f64::INFINITY;
            for round in 1..=LOOK {
                matrix.price(&at.prices);
                let looks = round == LOOK && !zero_sums;
                let part = (inner + 1) as f64 / (inner + 2) as f64;
                let moves = Moves { matrix: &matrix, demand, factor: 1.0 / self.balance, part, stays: looks };
                extra += moves.all(Rates {
                    next: &mut next.rates,
                    ahead: &mut ahead,
                    at: &mut at.rates,
                    anchor: &anchor.rates,
                    multipliers: &mut multipliers[..demand.len()],
                });
                matrix.loads(&ahead, &mut loads);
                let width = if let Aim::Relief { width, .. } = aim { width } else { 0.0 };
                let now = at.prices.iter().zip(matrix.price_step.iter().zip(&loads));
                for (next, (at, (step, load))) in next.prices.iter_mut().zip(now) {
                    *next = at + step * self.balance * (load - width);
                }
                match aim {
                    Aim::Gap { .. } => {
                        extra += project(&mut next.prices, &matrix.price_step, 1.0, &mut multipliers[demand.len()]);
                    }
                    Aim::Relief { .. } => next.prices.iter_mut().for_each(|price| *price = price.max(0.0)),
                }
                if looks {
                    way = distance(&next.rates, &at.rates, &matrix.rate_step) * self.balance.sqrt()
                        + distance(&next.prices, &at.prices, &matrix.price_step) / self.balance.sqrt();
                }
                inner += 1;
                if looks {
                    draw_back(&mut at.rates, &ahead, &anchor.rates, part);
                }
                for ((at, next), anchor) in at.prices.iter_mut().zip(&next.prices).zip(&anchor.prices) {
                    *at = part * (2.0 * next - *at) + (1.0 - part) * anchor;
                }
            }
            iterations += LOOK;
            let now = bounds_of(&mut matrix, demand, &next, &mut loads, &mut costs);
            if now.upper < bounds.upper {
                bounds.upper = now.upper;
                best.rates.clone_from(&next.rates);
            }
            if now.lower > bounds.lower {
                bounds.lower = now.lower;
                best.prices.clone_from(&next.prices);
            }
            let merit = if zero_sums { now.upper - now.lower } else { way };
            let falls = merit <= SUFFICIENT * last || (merit <= NECESSARY * last && merit > before);
            before = merit;
            if falls || inner as f64 >= LONG * (self.iterations + iterations) as f64 {
                let rates = distance(&next.rates, &anchor.rates, &matrix.rate_step);
                let prices = distance(&next.prices, &anchor.prices, &matrix.price_step);
                if rates > 1e-12 && prices > 1e-12 {
                    // The geometric mean of the last ratio and that of the ways that both sides went.
                    self.balance = (prices / rates * self.balance).sqrt();
                }
                at.clone_from(&next);
                anchor.clone_from(&next);
                (inner, last, before) = (0, merit, f64::INFINITY);
            }
        }
        self.work += iterations as u64 * matrix.work() + extra;
        self.iterations += iterations;
        for (i, column) in self.columns.iter_mut().flatten().enumerate() {
            (column.rate, column.at) = (best.rates[i], next.rates[i]);
        }
        let sum: f64 = best.prices.iter().sum();
        self.prices = best.prices.into_iter().map(|price| if sum > 0.0 { price / sum } else { 0.0 }).collect();
        self.at = next.prices;
        bounds
    }
}

/// What an iteration does to the rates of all groups.
struct Moves<'a> {
    matrix: &'a Matrix<'a>,
    demand: &'a [f64],
    /// One over the ratio of the steps.
    factor: f64,
    /// How far the new point is drawn back to the last restart: the part of it that is kept.
    part: f64,
    /// Whether the point itself stays for now.
    stays: bool,
}

/// The rates of all groups, and their multipliers.
struct Rates<'a> {
    next: &'a mut [f64],
    ahead: &'a mut [f64],
    at: &'a mut [f64],
    anchor: &'a [f64],
    multipliers: &'a mut [f64],
}

impl Moves<'_> {
    /// Moves the rates of all groups, one after the other. Returns the work beyond what is counted for an iteration.
    fn all(&self, rates: Rates<'_>) -> u64 {
        let mut extra = 0;
        let Rates { next, ahead, at, anchor, multipliers } = rates;
        for (group, multiplier) in multipliers.iter_mut().enumerate() {
            let paths = self.matrix.groups[group]..self.matrix.groups[group + 1];
            let steps = &self.matrix.rate_step[paths.clone()];
            let (next, at) = (&mut next[paths.clone()], &mut at[paths.clone()]);
            for (path, (next, (at, step))) in paths.clone().zip(next.iter_mut().zip(at.iter().zip(steps))) {
                *next = at - step * self.factor * self.matrix.cost(path);
            }
            extra += project(next, steps, self.demand[group], multiplier);
            for ((ahead, next), at) in ahead[paths.clone()].iter_mut().zip(&*next).zip(&*at) {
                *ahead = 2.0 * next - at;
            }
            if !self.stays {
                draw_back(at, &ahead[paths.clone()], &anchor[paths], self.part);
            }
        }
        extra
    }
}

/// Goes on to points, of which this part is kept, and the rest is that of the anchor.
fn draw_back(at: &mut [f64], ahead: &[f64], anchor: &[f64], part: f64) {
    for ((at, ahead), anchor) in at.iter_mut().zip(ahead).zip(anchor) {
        *at = part * ahead + (1.0 - part) * anchor;
    }
}

impl Column {
    fn cost(&self, hops: &[f64]) -> f64 {
        self.path.iter().map(|hop| hops[*hop]).sum()
    }
}

fn bounds_of(matrix: &mut Matrix, demand: &[f64], point: &Point, loads: &mut [f64], costs: &mut [f64]) -> Bounds {
    matrix.loads(&point.rates, loads);
    matrix.costs(&point.prices, costs);
    let least = |w: &[usize]| costs[w[0]..w[1]].iter().copied().fold(f64::INFINITY, f64::min);
    let paid: f64 = matrix.groups.windows(2).zip(demand).map(|(w, demand)| least(w) * demand).sum();
    let sum: f64 = point.prices.iter().sum();
    Bounds { upper: loads.iter().copied().fold(0.0, f64::max), lower: paid / sum.max(f64::MIN_POSITIVE) }
}

/// The distance of two points of a side, in the metric of its steps.
fn distance(to: &[f64], from: &[f64], steps: &[f64]) -> f64 {
    let parts = to.iter().zip(from).zip(steps).filter(|(_, step)| **step > 0.0);
    parts.map(|((a, b), step)| (a - b) * (a - b) / step).sum::<f64>().sqrt()
}

/// The nearest values that are not negative and have this sum, with distances weighted by one over `steps`: each less
/// its step times a multiplier, or zero. Newton's method for the multiplier begins with the last one.
/// Returns the work beyond that of [`FEW_STEPS`], which the work of an iteration contains.
fn project(values: &mut [f64], steps: &[f64], sum: f64, multiplier: &mut f64) -> u64 {
    if let [value] = values {
        *value = sum;
        return 0;
    }
    let mut count = 0;
    // After at most one step from the other side, the excess is positive and falls, but for rounding errors.
    let mut last = f64::INFINITY;
    for _ in 0..MAX_PROJECTION_STEPS {
        count += 1;
        let (mut excess, mut slope) = (-sum, 0.0);
        for (value, step) in values.iter().zip(steps) {
            let rest = value - step * *multiplier;
            if rest > 0.0 {
                excess += rest;
                slope += step;
            }
        }
        if slope == 0.0 {
            *multiplier = (values.iter().sum::<f64>() - sum) / steps.iter().sum::<f64>();
            continue;
        }
        let rounding = excess >= last || (excess < 0.0 && last.is_finite());
        if excess.abs() <= SUM_ERROR * sum || rounding {
            break;
        }
        last = if excess > 0.0 { excess } else { last };
        *multiplier += excess / slope;
    }
    values.iter_mut().zip(steps).for_each(|(value, step)| *value = (*value - step * *multiplier).max(0.0));
    3 * (count - count.min(FEW_STEPS)) * values.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two links of capacity 1 and 3, and a flow of rate 2 over either: loads are equal where it sends 0.5 over the
    /// first, so that both are half full, with prices 1/4 and 3/4 of their capacities' use.
    #[test]
    fn a_flow_fills_two_links_alike() {
        let parts = Parts::new(&[vec![(0, 1.0)], vec![(1, 1.0 / 3.0)]]);
        let mut game = Game::new(1, parts, vec![0.5, 0.5]);
        game.add(0, vec![0]);
        game.add(0, vec![1]);
        game.add(0, vec![1]);
        let bounds = game.improve(&[2.0], 1e-9, f64::INFINITY, 100_000);
        assert_eq!(game.size(), 2);
        assert!((bounds.upper - 0.5).abs() < 1e-8 && (bounds.lower - 0.5).abs() < 1e-8);
        assert!((game.columns[0][0].rate - 0.5).abs() < 1e-6);
        assert!((game.prices[0] - 0.25).abs() < 1e-6, "{:?}", game.prices);
    }

    /// The same links, of which the first is too full at first.
    #[test]
    fn an_overloaded_link_is_relieved_and_others_have_no_price() {
        let parts = Parts::new(&[vec![(0, 1.0)], vec![(1, 1.0 / 3.0)], vec![(2, 0.1)]]);
        let mut game = Game::new(2, parts, vec![0.0; 3]);
        game.add(0, vec![0]);
        game.add(0, vec![1]);
        game.add(1, vec![2]);
        assert!(game.relieve(&[3.9, 1.0], 0.99, 0.991, 100_000).upper <= 0.991);
        assert!(game.loads()[2] <= 0.1 + 1e-12);
        assert_eq!(game.prices[2], 0.0);
    }

    #[test]
    fn a_projection_keeps_the_sum_and_the_order() {
        let (mut values, mut multiplier) = ([3.0, -1.0, 0.5, 2.0], 0.0);
        project(&mut values, &[1.0, 1.0, 1.0, 2.0], 2.0, &mut multiplier);
        // By hand: 3 − m + 2 − 2m = 2 with m = 1, where 0.5 − m is negative.
        assert_eq!(values, [2.0, 0.0, 0.0, 0.0]);
        assert_eq!(multiplier, 1.0);
    }
}

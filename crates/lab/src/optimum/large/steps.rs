//! The steps of the simplex: the level rises to the next limit, and a column replaces the one that limits it.

use super::super::error::SolverError;
use super::super::paths::path_cost;
use super::factors::Factors;
use super::{Large, NONE};

/// Values that fall more slowly, relative to the fastest, do not limit the level.
const FALL_TOLERANCE: f64 = 1e-9;
const MIN_FALL: f64 = 1e-7;
/// How far a value may fall below its bound, relative to the level, in favour of a better pivot.
const PRIMAL_TOLERANCE: f64 = 1e-12;
/// A reduced cost below this counts as zero, in favour of a better pivot; the mean cost of a link is about one.
const COST_TOLERANCE: f64 = 1e-3;
/// A path counts as cheaper if the difference exceeds this fraction of the flow's price.
const PRICE_TOLERANCE: f64 = 1e-7;
/// Products below this fraction of the highest price are rounding errors.
const NOISE: f64 = 1e-11;
/// The largest relative difference between two computations of a pivot.
const PIVOT_ERROR: f64 = 1e-6;
/// Number of updates after which a basis is factorised again, or before, if they have this multiple of its entries.
const MAX_UPDATES: usize = 100;
const MAX_UPDATE_ENTRIES: usize = 3;
/// Number of new paths after which a search ends.
const MAX_PATHS_PER_SEARCH: usize = 100;
/// How strongly a search avoids costly links, relative to the prices.
const COST_WEIGHT: f64 = 0.1;
/// Operations for a column, a row, an entry of the factors and a hop of a search, roughly.
const COLUMN_WORK: usize = 12;
const ROW_WORK: usize = 8;
const FACTOR_WORK: usize = 50;
pub(super) const HOP_WORK: u64 = 10;

impl Large<'_> {
    /// Factorises the basis and computes all values.
    pub(super) fn factorise(&mut self) -> Result<(), SolverError> {
        let basis: Vec<&[(u32, f64)]> =
            self.head.iter().map(|c| self.columns[*c as usize].entries.as_slice()).collect();
        let (factors, row_of) = Factors::of(&basis).ok_or(SolverError::Singular)?;
        for (column, row) in self.head.clone().into_iter().zip(row_of) {
            self.head[row as usize] = column;
            self.columns[column as usize].at = row;
        }
        self.work += (factors.entries().0 * FACTOR_WORK) as u64;
        self.factors = factors;
        self.compute();
        Ok(())
    }

    /// Computes values, how they fall, and prices, with the present factors.
    pub(super) fn compute(&mut self) {
        let mut fall = vec![0.0; self.head.len()];
        for (fall, (open, members)) in fall.iter_mut().zip(self.open.iter().zip(&self.groups)) {
            *fall = if *open { -(members.len() as f64) } else { 0.0 };
        }
        let mut value: Vec<f64> = self.rhs.iter().zip(&fall).map(|(b, a)| b - self.level * a).collect();
        for column in self.columns.iter().filter(|c| c.at == NONE && c.lower != 0.0) {
            column.entries.iter().for_each(|(row, v)| value[*row as usize] -= v * column.lower);
        }
        self.factors.solve(&mut value);
        self.factors.solve(&mut fall);
        let mut prices: Vec<f64> = self.head.iter().map(|c| self.columns[*c as usize].cost).collect();
        self.factors.solve_left(&mut prices);
        for column in self.columns.iter_mut().filter(|c| c.at == NONE) {
            let given: f64 = column.entries.iter().map(|(row, v)| v * prices[*row as usize]).sum();
            column.cost = column.cost.max(given);
            column.reduced = column.cost - given;
        }
        (self.value, self.fall, self.prices) = (value, fall, prices);
    }

    fn lower(&self, at: usize) -> f64 {
        self.columns[self.head[at] as usize].lower
    }

    /// The position that limits the level first, and how far it can rise. Of those that do so together, the fastest.
    fn first_end(&self) -> Option<(usize, f64)> {
        let fastest = self.fall.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        let falls = |at: &usize| self.fall[*at] > (FALL_TOLERANCE * fastest).max(MIN_FALL);
        let falling: Vec<usize> = (0..self.fall.len()).filter(falls).collect();
        let left = |at: usize| self.value[at] - self.lower(at);
        let end = |at: &usize| (left(*at) + PRIMAL_TOLERANCE * self.level).max(0.0) / self.fall[*at];
        let most = falling.iter().map(end).fold(f64::INFINITY, f64::min);
        let together = falling.iter().copied().filter(|at| left(*at) / self.fall[*at] <= most);
        let at = together.max_by(|a, b| self.fall[*a].total_cmp(&self.fall[*b]).then(b.cmp(a)))?;
        Some((at, (left(at) / self.fall[at]).max(0.0)))
    }

    /// Raises the level as far as possible; the position that limits it, and prices of all rows. None once it is the
    /// highest.
    pub(super) fn raise(&mut self) -> Result<Option<(usize, Vec<f64>)>, SolverError> {
        loop {
            self.steps += 1;
            let (entries, more) = self.factors.entries();
            self.work += (self.columns.len() * COLUMN_WORK + self.head.len() * ROW_WORK + entries + more) as u64;
            if self.work + self.search.work * HOP_WORK > self.most {
                let flows = |open: bool| self.groups.iter().zip(&self.open).filter(move |(_, o)| open <= **o);
                let count = |open| flows(open).map(|(members, _)| members.len()).sum();
                return Err(SolverError::Work { open: count(true), flows: count(false), level: self.level });
            }
            if self.factors.updates() >= MAX_UPDATES || more > MAX_UPDATE_ENTRIES * entries {
                self.factorise()?;
            }
            let (at, step) = self.first_end().ok_or(SolverError::Unlimited)?;
            let ends = self.level + step > self.highest;
            let step = if ends { (self.highest - self.level).max(0.0) } else { step };
            self.value.iter_mut().zip(&self.fall).for_each(|(v, fall)| *v -= step * fall);
            self.level += step;
            if ends {
                return Ok(None);
            }
            let mut row = vec![0.0; self.head.len()];
            row[at] = 1.0;
            self.factors.solve_left(&mut row);
            let mut candidates = self.candidates(&row);
            if candidates.is_empty() {
                candidates = self.new_paths(&row);
            }
            let Some(first) = self.entering(&candidates) else {
                let Some(link) = self.costly_link(&row) else { return Ok(Some((at, row))) };
                self.cut(at, link)?;
                continue;
            };
            let (entering, cost, alpha) = self.stable(at, first, candidates);
            let column = &self.columns[entering as usize];
            if (alpha[at] - column.alpha).abs() > PIVOT_ERROR * alpha[at].abs() {
                if self.factors.updates() == 0 {
                    return Err(SolverError::Singular);
                }
                self.factorise()?;
                continue;
            }
            self.prices.iter_mut().zip(&row).for_each(|(price, v)| *price -= cost * v);
            for column in self.columns.iter_mut().filter(|c| c.alpha != 0.0) {
                column.reduced = (column.reduced + cost * column.alpha).max(0.0);
            }
            self.columns[self.head[at] as usize].reduced = cost;
            self.exchange(at, entering, &alpha);
        }
    }

    /// The known columns that would lift the limit; computes the product of the row with all columns.
    fn candidates(&mut self, row: &[f64]) -> Vec<u32> {
        let most = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut found = Vec::new();
        for (id, column) in self.columns.iter_mut().enumerate() {
            column.alpha = 0.0;
            if column.at != NONE {
                continue;
            }
            let product: f64 = column.entries.iter().map(|(i, v)| v * row[*i as usize]).sum();
            let own = if column.group == NONE { 0.0 } else { -row[column.group as usize] };
            if product.abs() > 0.1 * NOISE * most {
                column.alpha = product;
            }
            if product < -(NOISE * most).max(PRICE_TOLERANCE * own) {
                found.push(id as u32);
            }
        }
        found
    }

    /// Searches for paths that would lift the limit: first those that avoid costly links, then any.
    fn new_paths(&mut self, row: &[f64]) -> Vec<u32> {
        let base = self.groups.len();
        let most = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let prices: Vec<f64> = row[base..].iter().map(|v| v.max(0.0)).collect();
        let (mut price, mut cost) = (0.0, 0.0);
        for group in (0..base).filter(|g| row[*g] < 0.0) {
            price -= row[group];
            cost += self.prices[group].abs();
        }
        let weight = COST_WEIGHT * price / f64::max(cost, f64::MIN_POSITIVE);
        let charged = |l: usize| prices[l] + weight * (self.link_cost[l] + (-self.prices[base + l]).max(0.0));
        let guide = self.paths.costs(&(0..prices.len()).map(charged).collect::<Vec<_>>());
        let costs = self.paths.costs(&prices);
        let mut found = Vec::new();
        for (guide, any) in [(&guide, false), (&costs, true)] {
            let begin = self.next;
            for group in (0..base).map(|i| (begin + i) % base) {
                let own = -row[group];
                if own <= NOISE * most {
                    continue;
                }
                let limit = own - (NOISE * most).max(PRICE_TOLERANCE * own);
                let bound = if any { limit } else { f64::INFINITY };
                self.searches += 1;
                let flow = self.groups[group][0];
                let Some(path) = self.search.cheapest(self.problem, &self.paths, flow, guide, bound) else { continue };
                let cost = path_cost(&path, &costs);
                if cost < limit
                    && let Some(id) = self.add(group, path)
                {
                    self.columns[id as usize].alpha = cost - own;
                    found.push(id);
                    if found.len() == MAX_PATHS_PER_SEARCH {
                        self.next = (group + 1) % base;
                        return found;
                    }
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        found
    }

    /// The candidate whose reduced cost reaches zero first, and the change of cost. Of those that do so together, the
    /// best pivot.
    pub(super) fn entering(&self, candidates: &[u32]) -> Option<(u32, f64)> {
        let of = |id: &u32| {
            let column = &self.columns[*id as usize];
            (column.reduced, -column.alpha)
        };
        let end = |id: &u32| (of(id).0 + COST_TOLERANCE) / of(id).1;
        let most = candidates.iter().map(end).fold(f64::INFINITY, f64::min);
        let together = candidates.iter().filter(|id| of(id).0 / of(id).1 <= most);
        let best = together.max_by(|a, b| of(a).1.total_cmp(&of(b).1).then(b.cmp(a)))?;
        Some((*best, (of(best).0 / of(best).1).max(0.0)))
    }

    /// Exchanges the column at a position for another, whose product with the inverse is `alpha`.
    pub(super) fn exchange(&mut self, at: usize, entering: u32, alpha: &[f64]) {
        let change = self.fall[at] / alpha[at];
        let step = (self.value[at] - self.lower(at)) / alpha[at];
        let mut entries = Vec::new();
        for (i, a) in alpha.iter().enumerate().filter(|(_, a)| a.abs() > Factors::ZERO_TOLERANCE) {
            entries.push((i as u32, *a));
            self.fall[i] -= a * change;
            self.value[i] -= a * step;
        }
        self.columns[self.head[at] as usize].at = NONE;
        self.head[at] = entering;
        let column = &mut self.columns[entering as usize];
        (column.at, column.reduced) = (at as u32, 0.0);
        self.value[at] = column.lower + step;
        self.fall[at] = change;
        self.factors.replace(at, &entries);
    }
}

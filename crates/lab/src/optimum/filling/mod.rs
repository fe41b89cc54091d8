//! Max-min fair rates of many flows over many paths: the level of all rates increases as far as possible, flows that
//! are limited keep their rates, and the others continue.
//!
//! One simplex covers all levels. Its rows are only the full links: the rate of a flow is constrained by its *key*
//! path, whose rate depends on those of its other paths (generalised upper bounds, Dantzig and Van Slyke 1967), and
//! links that are not full need no row. When the level cannot increase any more, the prices of full links prove it;
//! flows with a positive price have reached their rate, the level leaves the basis together with one of the links, and
//! enters again for the remaining flows, so that the basis is kept from level to level. Paths are added as they are
//! needed: the cheapest path of a flow at the prices of the links.
//!
//! Capacities are lowered by different fractions of up to [`MAX_PERTURBATION`], because links that become full at the
//! same time would stall the simplex. The same would happen with a link that leaves the basis with the level and
//! stays full: its capacity is increased by [`RELAXATION`]. The prices of a level prove its rate with the true
//! capacities as well (see [`super::certificate`]); that rate is reported, and the paths exceed capacities by the same
//! small fractions.

mod inverse;
mod pivot;

use super::certificate::{Allocation, Level};
use super::draws::Draws;
use super::error::SolverError;
use super::paths::{Path, Paths, path_cost};
use super::{AllowedLinks, Problem};
use inverse::Inverse;

/// The largest fraction by which a capacity is lowered; the smallest is half of it.
const MAX_PERTURBATION: f64 = 2e-8;
/// The fraction by which the capacity of a link is increased again when it leaves the basis with the level.
const RELAXATION: f64 = 2e-10;
/// A path counts as cheaper if the difference exceeds this fraction of the flow's price.
const PRICE_TOLERANCE: f64 = 1e-8;
/// Flows whose price is below this fraction of the highest price remain open for a later level.
const DUAL_TOLERANCE: f64 = 1e-2;
/// Maximum number of new paths found in one search.
const MAX_PATHS_PER_SEARCH: usize = 48;
/// Number of steps after which values are recomputed.
const REFRESH_INTERVAL: usize = 100;
/// Number of steps without a gain after which cheaper paths are chosen at random, which ends any cycle.
const MAX_STALLED_STEPS: usize = 1000;
/// Maximum number of steps for each flow and link, far more than any network needs.
const MAX_STEPS: usize = 50;
/// The fraction of a flow's price by which a new path over links that are not full may be more expensive.
const SLACK_PATH_PENALTY: f64 = 0.3;
/// Number of steepest candidates that are tried.
const CANDIDATES: usize = 6;
/// The weight of the latest prices in the mean that guides searches.
const SMOOTHING: f64 = 0.3;

/// A known path.
struct Column {
    flow: usize,
    path: Path,
    /// Wire bits on each link for a payload bit, in the order of links.
    charges: Vec<(usize, f64)>,
    place: Location,
}

#[derive(Clone, Copy, PartialEq)]
enum Location {
    /// Not in the basis; its rate is zero.
    Out,
    /// The key path: its rate is the flow's rate less those of its other paths.
    Key,
    /// The basic variable at this position.
    Basic(usize),
}

/// A basic variable.
#[derive(Clone, Copy, PartialEq)]
enum Member {
    /// The rate on a path.
    Path(usize),
    /// The level of the open flows.
    Level,
}

/// The entering variable.
#[derive(Clone, Copy, PartialEq)]
enum Entering {
    Path(usize),
    Level,
    /// The free capacity of a full link.
    Room(usize),
}

/// If the error of prices exceeds this, the inverse is recomputed, but at most once in [`INVERSION_INTERVAL`] steps.
const MAX_PRICE_ERROR: f64 = 1e-11;
const INVERSION_INTERVAL: usize = 20;

/// The index of a row or column that does not exist.
const NO_INDEX: usize = usize::MAX;

struct Filling<'a> {
    problem: &'a Problem,
    paths: Paths<'a>,
    capacity: Vec<f64>,
    columns: Vec<Column>,
    /// Columns of each flow; its key column; its other basic columns.
    of_flow: Vec<Vec<usize>>,
    key: Vec<usize>,
    others: Vec<Vec<usize>>,
    key_value: Vec<f64>,
    members: Vec<Member>,
    value: Vec<f64>,
    /// Full links by row, and rows by link.
    rows: Vec<usize>,
    row_of: Vec<usize>,
    inverse: Inverse,
    /// Free capacity of links without a row.
    room: Vec<f64>,
    open: Vec<bool>,
    rate: Vec<f64>,
    /// The rates with the true capacities.
    exact: Vec<f64>,
    level: f64,
    level_at: Option<usize>,
    /// The load that the key paths of open flows add to each link when the level increases by one.
    lift: Vec<f64>,
    /// A mean of the prices at this level.
    center: Vec<f64>,
    draws: Draws,
    steps: usize,
    /// The step after which the inverse was last computed.
    inverted: usize,
    stalled: usize,
    searches: usize,
    next: usize,
}

/// The max-min fair allocation.
pub(super) fn fill(problem: &Problem) -> Result<Allocation, SolverError> {
    let mut filling = Filling::new(problem);
    let levels = filling.run()?;
    Ok(filling.allocation(levels))
}

impl<'a> Filling<'a> {
    fn new(problem: &'a Problem) -> Filling<'a> {
        let paths = Paths::new(problem);
        let (flows, links) = (problem.flows.len(), problem.links.len());
        // Fractions with large differences: multiples of the golden ratio.
        let perturbation = |l: usize| MAX_PERTURBATION * (0.5 + 0.5 * ((l + 1) as f64 * 0.618_033_988_749_895).fract());
        let capacity: Vec<f64> =
            problem.links.iter().enumerate().map(|(l, link)| link.rate.mbps() * (1.0 - perturbation(l))).collect();
        let mut filling = Filling {
            problem,
            room: capacity.clone(),
            capacity,
            columns: Vec::new(),
            of_flow: vec![Vec::new(); flows],
            key: vec![NO_INDEX; flows],
            others: vec![Vec::new(); flows],
            key_value: vec![0.0; flows],
            members: Vec::new(),
            value: Vec::new(),
            rows: Vec::new(),
            row_of: vec![NO_INDEX; links],
            inverse: Inverse::default(),
            open: vec![false; flows],
            rate: vec![0.0; flows],
            exact: vec![0.0; flows],
            level: 0.0,
            level_at: None,
            lift: vec![0.0; links],
            center: Vec::new(),
            draws: Draws(1),
            steps: 0,
            inverted: 0,
            stalled: 0,
            searches: 0,
            next: 0,
            paths,
        };
        // Links with high rates are preferred, so that the first paths are good ones.
        let widest = filling.capacity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let narrow: Vec<f64> = filling.capacity.iter().map(|c| widest / c.max(widest * 1e-9)).collect();
        let costs = filling.paths.costs(&narrow);
        for flow in 0..flows {
            let first = filling.paths.cheapest(flow, &costs);
            let known: Vec<Path> = match &problem.flows[flow].routes {
                AllowedLinks::Any { .. } => first.into_iter().collect(),
                AllowedLinks::Paths(_) => filling.paths.of(flow).to_vec(),
            };
            for path in known {
                filling.add(flow, path);
            }
            if let Some(&key) = filling.of_flow[flow].first() {
                filling.key[flow] = key;
                filling.columns[key].place = Location::Key;
                filling.open[flow] = true;
                filling.lift_by(key, 1.0);
            }
        }
        filling
    }

    /// Adds a path; returns whether it was new.
    fn add(&mut self, flow: usize, path: Path) -> bool {
        if self.of_flow[flow].iter().any(|c| self.columns[*c].path == path) {
            return false;
        }
        self.of_flow[flow].push(self.columns.len());
        let charges = self.paths.charges(&path);
        self.columns.push(Column { flow, path, charges, place: Location::Out });
        true
    }

    fn lift_by(&mut self, column: usize, factor: f64) {
        for (link, weight) in &self.columns[column].charges {
            self.lift[*link] += factor * weight;
        }
    }

    fn run(&mut self) -> Result<Vec<Level>, SolverError> {
        let mut levels = Vec::new();
        while self.open.contains(&true) {
            self.enter(Entering::Level)?;
            let (links, flows) = self.raise()?;
            levels.push(self.freeze(&links, &flows)?);
        }
        Ok(levels)
    }

    /// Increases the level as far as possible; returns the prices of links and flows that prove it.
    fn raise(&mut self) -> Result<(Vec<f64>, Vec<f64>), SolverError> {
        loop {
            let at = self.level_at.ok_or(SolverError::Unlimited)?;
            let gains = self.inverse.row(at);
            let mut links = vec![0.0; self.capacity.len()];
            for (row, gain) in gains.iter().enumerate() {
                links[self.rows[row]] = *gain;
            }
            let most = gains.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            let mut falling: Vec<(f64, Entering)> = (0..gains.len())
                .filter(|r| gains[*r] < -1e-10 * most)
                .map(|r| (-gains[r], Entering::Room(self.rows[r])))
                .collect();
            let flows: Vec<f64> =
                self.key.iter().map(|k| if *k == NO_INDEX { 0.0 } else { self.price(*k, &links) }).collect();
            if self.inverted + INVERSION_INTERVAL < self.steps && self.error(&links, &flows) > MAX_PRICE_ERROR {
                self.invert();
                continue;
            }
            let full = falling.is_empty();
            let mut cheaper = self.cheaper(&links, &flows);
            if full && cheaper.is_empty() {
                links.iter_mut().for_each(|p| *p = p.max(0.0));
                match self.search(&links, &flows) {
                    true => continue,
                    false => return Ok((links, flows)),
                }
            }
            let entering = if self.stalled > MAX_STALLED_STEPS {
                falling.append(&mut cheaper);
                falling[self.draws.below(falling.len())].1
            } else {
                self.best_of(falling, cheaper)?
            };
            self.enter(entering)?;
        }
    }

    /// Of the steepest candidates, the one with the largest increase of the level.
    fn best_of(
        &self,
        mut rooms: Vec<(f64, Entering)>,
        mut paths: Vec<(f64, Entering)>,
    ) -> Result<Entering, SolverError> {
        for list in [&mut rooms, &mut paths] {
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
            list.truncate(CANDIDATES);
        }
        let gain = |(rise, entering): &(f64, Entering)| Some((rise * self.reach(*entering)?, *entering));
        let best = rooms.iter().chain(&paths).filter_map(gain).max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|b| b.1).ok_or(SolverError::Unlimited)
    }

    fn price(&self, column: usize, links: &[f64]) -> f64 {
        self.columns[column].charges.iter().map(|(l, weight)| weight * links[*l]).sum()
    }

    /// The largest difference between the price of a basic path and that of its flow, relative to the highest price.
    fn error(&self, links: &[f64], flows: &[f64]) -> f64 {
        let highest = flows.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let paths = self.members.iter().filter_map(|m| match m {
            Member::Path(column) => Some((self.price(*column, links) - flows[self.columns[*column].flow]).abs()),
            Member::Level => None,
        });
        paths.fold(0.0, f64::max) / highest
    }

    /// The known paths that are cheaper than their flow's price, with the difference.
    fn cheaper(&self, links: &[f64], flows: &[f64]) -> Vec<(f64, Entering)> {
        let highest = flows.iter().copied().fold(0.0, f64::max);
        let mut all = Vec::new();
        for (flow, own) in flows.iter().enumerate().filter(|(_, p)| **p > 1e-9 * highest) {
            for &column in self.of_flow[flow].iter().filter(|c| self.columns[**c].place == Location::Out) {
                let saving = own - self.price(column, links);
                if saving > PRICE_TOLERANCE * own + 1e-10 * highest {
                    all.push((saving, Entering::Path(column)));
                }
            }
        }
        all
    }

    /// Searches for paths that are cheaper than their flow's price; returns whether there are any.
    fn search(&mut self, links: &[f64], flows: &[f64]) -> bool {
        let highest = flows.iter().copied().fold(0.0, f64::max);
        let n = flows.len();
        let costs = self.paths.costs(links);
        // Prices oscillate from search to search; their mean is a better guide than the latest prices.
        if self.center.is_empty() {
            self.center = links.to_vec();
        }
        self.center.iter_mut().zip(links).for_each(|(c, l)| *c += SMOOTHING * (l - *c));
        let smooth = self.paths.costs(&self.center);
        // First among paths over links that are not full, then, for the proof, among all paths.
        let most = self.room.iter().zip(&self.capacity).map(|(r, c)| c / r.max(1e-3 * c).max(1e-300));
        let narrow: Vec<f64> = most.map(|n| n.min(1e3)).collect();
        let penalties = self.paths.costs(&narrow);
        let typical = penalties.iter().sum::<f64>() / penalties.len().max(1) as f64;
        for (guide, penalised) in [(&smooth, true), (&costs, true), (&costs, false)] {
            let mut added = 0;
            for i in 0..n {
                let flow = (self.next + i) % n;
                let own = flows[flow];
                if own <= 1e-9 * highest || !matches!(self.problem.flows[flow].routes, AllowedLinks::Any { .. }) {
                    continue;
                }
                let penalty = if penalised { SLACK_PATH_PENALTY * own / typical } else { 0.0 };
                let penalised_costs: Vec<f64> = guide.iter().zip(&penalties).map(|(c, t)| c + penalty * t).collect();
                self.searches += 1;
                let Some(path) = self.paths.cheapest(flow, &penalised_costs) else { continue };
                let price = path_cost(&path, &costs);
                if own - price > PRICE_TOLERANCE * own + 1e-10 * highest && self.add(flow, path) {
                    added += 1;
                    if added == MAX_PATHS_PER_SEARCH {
                        self.next = (flow + 1) % n;
                        break;
                    }
                }
            }
            if added > 0 {
                return true;
            }
        }
        false
    }

    /// Ends a level: flows with a positive price have reached their rate.
    fn freeze(&mut self, links: &[f64], prices: &[f64]) -> Result<Level, SolverError> {
        let at = self.level_at.take().ok_or(SolverError::Unlimited)?;
        // Not below earlier levels, not even because of rounding.
        let before = self.rate.iter().copied().fold(0.0, f64::max);
        self.level = self.value[at].max(before);
        let gains = self.inverse.row(at);
        let row = (0..gains.len()).max_by(|a, b| gains[*a].total_cmp(&gains[*b])).ok_or(SolverError::NoLinkFull)?;
        self.center.clear();
        let link = self.rows[row];
        let room = self.capacity[link] * RELAXATION * (0.5 + 0.001 * self.draws.below(1000) as f64);
        self.capacity[link] = (self.capacity[link] + room).min(self.problem.links[link].rate.mbps());
        self.remove(at, row, room);
        // The level that the prices prove with the true capacities.
        let worth: f64 = self.problem.links.iter().zip(links).map(|(l, p)| l.rate.mbps() * p).sum();
        let paid: f64 = self.exact.iter().zip(prices).map(|(x, p)| x * p).sum();
        let rising: f64 = prices.iter().zip(&self.open).filter(|(_, open)| **open).map(|(p, _)| p).sum();
        let exact = (worth - paid) / rising;
        let open: Vec<usize> = (0..self.open.len()).filter(|f| self.open[*f]).collect();
        let highest = open.iter().map(|f| prices[*f]).fold(0.0, f64::max);
        let limited: Vec<usize> = open.into_iter().filter(|f| prices[*f] > DUAL_TOLERANCE * highest).collect();
        if limited.is_empty() {
            return Err(SolverError::NoFlowLimited);
        }
        for &flow in &limited {
            self.open[flow] = false;
            self.rate[flow] = self.level;
            self.exact[flow] = exact;
            self.lift_by(self.key[flow], -1.0);
        }
        let prices = links.iter().copied().enumerate().filter(|(_, p)| *p > 0.0).collect();
        Ok(Level { flows: limited, prices })
    }

    fn allocation(&mut self, levels: Vec<Level>) -> Allocation {
        self.rate.clone_from(&self.exact);
        self.capacity = self.problem.links.iter().map(|l| l.rate.mbps()).collect();
        self.refresh();
        let mut paths = vec![Vec::new(); self.key.len()];
        for column in &self.columns {
            let carried = match column.place {
                Location::Out => continue,
                Location::Key => self.key_value[column.flow],
                Location::Basic(at) => self.value[at],
            };
            if carried > 1e-9 * self.rate[column.flow] {
                paths[column.flow].push((column.path.clone(), carried));
            }
        }
        // Paths whose rate is zero, apart from the changes of capacities, are left out.
        for (carried, rate) in paths.iter_mut().zip(&self.rate) {
            let sum: f64 = carried.iter().map(|p: &(Path, f64)| p.1).sum();
            carried.iter_mut().for_each(|p| p.1 *= rate / sum);
        }
        let (rates, steps, searches) = (self.rate.clone(), self.steps, self.searches);
        Allocation { rates, paths, levels, steps, searches }
    }
}

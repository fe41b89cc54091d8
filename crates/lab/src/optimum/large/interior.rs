//! Paths to start from, by an interior-point method.
//!
//! A simplex that learns each path only when it needs it takes many steps where flows between many pairs of nodes fill
//! most links. The paths of a smoother fairness are nearly those of the max-min fair allocation: rates *r* of the least
//! Σ *r*⁻³ (α-fair with α = 4, Mo and Walrand, *IEEE/ACM Trans. Networking* 8(5), 2000). Newton's method finds them on
//! the central path (Wright, *Primal-Dual Interior-Point Methods*, 1997) without factors: its directions come from
//! conjugate gradients, which is cheap as long as the gap is not small. Nothing depends on how exact the result is.

use super::super::Problem;
use super::super::paths::{Path, Paths};
use super::search::Search;
use super::steps::HOP_WORK;

/// Maximum number of steps of Newton's method.
const MAX_STEPS: usize = 60;
/// How far the products of variables and their reduced costs fall in a step.
const CENTERING: f64 = 0.2;
/// The largest part of the way to a bound.
const MAX_PART: f64 = 0.95;
/// The relative residual of directions, and the maximum number of iterations for it.
const RESIDUAL: f64 = 1e-3;
const MAX_ITERATIONS: usize = 2000;
/// The largest part of a group's rate that a new path begins with.
const NEW_PART: f64 = 0.05;
/// A path counts as cheaper if the difference exceeds this fraction.
const PRICE_TOLERANCE: f64 = 1e-9;

/// What the simplex starts from.
pub(super) struct Start {
    /// By group, those that carry most first.
    pub(super) paths: Vec<Vec<Path>>,
    /// Prices of links with the mean one, or zero for all.
    pub(super) prices: Vec<f64>,
    /// Elementary operations.
    pub(super) work: u64,
}

/// A path with its rate.
struct Column {
    group: usize,
    charges: Vec<(u32, f64)>,
    path: Path,
    rate: f64,
    /// The price of the path less that of the group.
    reduced: f64,
}

/// Equal flows, whose paths are shared.
struct Group {
    flow: usize,
    members: f64,
    columns: Vec<usize>,
    /// Of all members together.
    rate: f64,
    price: f64,
}

struct Link {
    capacity: f64,
    free: f64,
    price: f64,
}

/// The system of a step of Newton's method, reduced to the prices of links.
struct System {
    /// By column: by how much the rate falls when the reduced cost rises, and its change at constant prices.
    fall: Vec<f64>,
    change: Vec<f64>,
    /// By group: the sum of its paths' charges times `fall`, what its price is divided by, and the right-hand side.
    loads: Vec<Vec<(u32, f64)>>,
    divisor: Vec<f64>,
    rest: Vec<f64>,
    /// By link: what the free capacity adds, the diagonal, and the right-hand side.
    slack: Vec<f64>,
    diagonal: Vec<f64>,
    rhs: Vec<f64>,
}

struct Interior {
    columns: Vec<Column>,
    groups: Vec<Group>,
    links: Vec<Link>,
    /// The rate at which the price of a flow is one.
    unit: f64,
    /// Elementary operations so far, and their limit.
    work: u64,
    most: u64,
}

/// The product of sparse and dense vectors.
fn product(entries: &[(u32, f64)], dense: &[f64]) -> f64 {
    entries.iter().map(|(l, v)| v * dense[*l as usize]).sum()
}

fn add(entries: &[(u32, f64)], factor: f64, dense: &mut [f64]) {
    entries.iter().for_each(|(l, v)| dense[*l as usize] += v * factor);
}

/// Paths over which rates are nearly the fairest, and the prices of links, within an amount of work. `first` are paths
/// of groups of flows. It ends at a duality gap relative to the value of all capacities.
pub(super) fn start(
    problem: &Problem,
    paths: &Paths,
    search: &mut Search,
    groups: &[Vec<usize>],
    first: Vec<Vec<Path>>,
    end: f64,
    most: u64,
) -> Start {
    let mut interior = Interior::new(problem, paths, groups, first, most);
    for _ in 0..MAX_STEPS {
        let gap = interior.gap();
        let open = gap > end * interior.worth() && interior.work < most;
        if !(open && interior.step(gap)) {
            break;
        }
        interior.new_paths(problem, paths, search);
    }
    interior.result()
}

impl Interior {
    fn new(problem: &Problem, paths: &Paths, groups: &[Vec<usize>], first: Vec<Vec<Path>>, most: u64) -> Interior {
        let link = |l: &super::super::DirectedLink| Link { capacity: l.rate.mbps(), free: 0.0, price: 0.0 };
        let mut interior = Interior {
            columns: Vec::new(),
            groups: Vec::new(),
            links: problem.links.iter().map(link).collect(),
            unit: 0.0,
            work: 0,
            most,
        };
        for (group, (members, paths_of)) in groups.iter().zip(first).enumerate() {
            let columns = interior.columns.len()..interior.columns.len() + paths_of.len();
            interior.groups.push(Group {
                flow: members[0],
                members: members.len() as f64,
                columns: columns.collect(),
                rate: 0.0,
                price: 0.0,
            });
            interior.columns.extend(paths_of.into_iter().map(|path| Column {
                group,
                charges: paths.charges(&path).into_iter().map(|(l, v)| (l as u32, v)).collect(),
                path,
                rate: 0.0,
                reduced: 0.0,
            }));
        }
        interior.spread();
        interior
    }

    /// Rates that leave a part of each link free, and prices for them.
    fn spread(&mut self) {
        let part = |groups: &[Group], column: &Column| {
            let group = &groups[column.group];
            group.members / group.columns.len() as f64
        };
        let mut loads = vec![0.0; self.links.len()];
        self.columns.iter().for_each(|column| add(&column.charges, part(&self.groups, column), &mut loads));
        for column in &mut self.columns {
            let used = |(l, _): &(u32, f64)| loads[*l as usize] / self.links[*l as usize].capacity;
            let most = column.charges.iter().map(used).fold(f64::MIN_POSITIVE, f64::max);
            column.rate = 0.7 * part(&self.groups, column) / most;
            self.groups[column.group].rate += column.rate;
        }
        let (sum, members) = self.groups.iter().fold((0.0, 0.0), |sum, g| (sum.0 + g.rate, sum.1 + g.members));
        self.unit = sum / f64::max(members, 1.0);
        let loads = self.loads();
        for (link, load) in self.links.iter_mut().zip(loads) {
            link.free = (link.capacity - load).max(1e-9 * link.capacity).max(f64::MIN_POSITIVE);
            link.price = if link.capacity > 0.0 { self.unit / link.free } else { 0.0 };
        }
        for column in &mut self.columns {
            column.reduced = self.unit / column.rate;
        }
        for group in &mut self.groups {
            group.price = marginal(group, self.unit);
        }
    }

    fn loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.links.len()];
        self.columns.iter().for_each(|column| add(&column.charges, column.rate, &mut loads));
        loads
    }

    fn prices(&self) -> Vec<f64> {
        self.links.iter().map(|l| l.price).collect()
    }

    fn gap(&self) -> f64 {
        let columns: f64 = self.columns.iter().map(|c| c.rate * c.reduced).sum();
        columns + self.links.iter().map(|l| l.free * l.price).sum::<f64>()
    }

    /// The value of all capacities.
    fn worth(&self) -> f64 {
        self.links.iter().map(|l| l.capacity * l.price).sum()
    }

    /// The system for a target of the products of variables and reduced costs.
    fn system(&mut self, target: f64) -> System {
        let (loads, prices) = (self.loads(), self.prices());
        let open = |l: &Link| l.capacity > 0.0;
        let slack: Vec<f64> = self.links.iter().map(|l| if open(l) { l.free / l.price } else { 1.0 }).collect();
        let side = |(l, load): (&Link, f64)| if open(l) { target / l.price + load - l.capacity } else { 0.0 };
        let mut system = System {
            fall: self.columns.iter().map(|c| c.rate / c.reduced).collect(),
            change: Vec::with_capacity(self.columns.len()),
            loads: Vec::with_capacity(self.groups.len()),
            divisor: Vec::with_capacity(self.groups.len()),
            rest: Vec::with_capacity(self.groups.len()),
            diagonal: slack.clone(),
            slack,
            rhs: self.links.iter().zip(loads).map(side).collect(),
        };
        for (column, fall) in self.columns.iter().zip(&system.fall) {
            let error = product(&column.charges, &prices) - self.groups[column.group].price - column.reduced;
            let change = target / column.reduced - column.rate - fall * error;
            system.change.push(change);
            add(&column.charges, change, &mut system.rhs);
            column.charges.iter().for_each(|(l, v)| system.diagonal[*l as usize] += fall * v * v);
        }
        let mut sum = vec![0.0; self.links.len()];
        for group in &self.groups {
            let marginal = marginal(group, self.unit);
            let elastic = group.rate / (4.0 * marginal);
            let (mut divisor, mut rest) = (elastic, group.rate + elastic * (marginal - group.price));
            let mut touched = Vec::new();
            for &c in &group.columns {
                divisor += system.fall[c];
                rest -= self.columns[c].rate + system.change[c];
                for (l, v) in &self.columns[c].charges {
                    touched.push(*l);
                    sum[*l as usize] += v * system.fall[c];
                }
            }
            touched.sort_unstable();
            touched.dedup();
            let loads: Vec<(u32, f64)> =
                touched.into_iter().map(|l| (l, std::mem::take(&mut sum[l as usize]))).collect();
            add(&loads, rest / divisor, &mut system.rhs);
            loads.iter().for_each(|(l, v)| system.diagonal[*l as usize] -= v * v / divisor);
            system.loads.push(loads);
            system.divisor.push(divisor);
            system.rest.push(rest);
        }
        system
    }

    /// Conjugate gradients for the change of prices, scaled by the diagonal.
    fn solve(&mut self, system: &System) -> Vec<f64> {
        let links = self.links.len();
        let scale: Vec<f64> = system.diagonal.iter().map(|d| 1.0 / d.max(f64::MIN_POSITIVE).sqrt()).collect();
        let entries = self.columns.iter().map(|c| c.charges.len()).chain(system.loads.iter().map(Vec::len));
        let work = 2 * entries.sum::<usize>() + 10 * links;
        let mut result = vec![0.0; links];
        let mut residual: Vec<f64> = system.rhs.iter().zip(&scale).map(|(v, s)| v * s).collect();
        let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
        let mut size = square(&residual);
        let end = RESIDUAL * RESIDUAL * size;
        let mut direction = residual.clone();
        for _ in 0..MAX_ITERATIONS {
            if size <= end || size.is_nan() || self.work > self.most {
                break;
            }
            self.work += work as u64;
            let scaled: Vec<f64> = direction.iter().zip(&scale).map(|(d, s)| d * s).collect();
            let mut image: Vec<f64> = scaled.iter().zip(&system.slack).map(|(d, s)| d * s).collect();
            for (column, fall) in self.columns.iter().zip(&system.fall) {
                add(&column.charges, fall * product(&column.charges, &scaled), &mut image);
            }
            for (loads, divisor) in system.loads.iter().zip(&system.divisor) {
                add(loads, -product(loads, &scaled) / divisor, &mut image);
            }
            image.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s);
            let step = size / direction.iter().zip(&image).map(|(a, b)| a * b).sum::<f64>();
            result.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
            residual.iter_mut().zip(&image).for_each(|(r, v)| *r -= step * v);
            let next = square(&residual);
            direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + next / size * *d);
            size = next;
        }
        result.iter().zip(&scale).map(|(x, s)| x * s).collect()
    }

    /// One step of Newton's method; whether it was finite.
    fn step(&mut self, gap: f64) -> bool {
        let target = CENTERING * gap / (self.columns.len() + self.links.len()) as f64;
        let system = self.system(target);
        let prices = self.solve(&system);
        let own =
            |(g, loads): (usize, &Vec<(u32, f64)>)| (system.rest[g] + product(loads, &prices)) / system.divisor[g];
        let own: Vec<f64> = system.loads.iter().enumerate().map(own).collect();
        let rates: Vec<f64> = (self.columns.iter().zip(system.change.iter().zip(&system.fall)))
            .map(|(c, (change, fall))| change - fall * (product(&c.charges, &prices) - own[c.group]))
            .collect();
        let reduced: Vec<f64> =
            self.columns.iter().zip(&rates).map(|(c, d)| (target - c.reduced * d) / c.rate - c.reduced).collect();
        let free: Vec<f64> = (self.links.iter().zip(&prices))
            .map(|(l, d)| if l.capacity > 0.0 { (target - l.free * d) / l.price - l.free } else { 0.0 })
            .collect();
        let of_group = |(g, d): (&Group, &f64)| {
            let marginal = marginal(g, self.unit);
            g.rate / (4.0 * marginal) * (marginal - g.price - d)
        };
        let group_rates: Vec<f64> = self.groups.iter().zip(&own).map(of_group).collect();
        let (mut primal, mut dual) = (1.0f64, 1.0f64);
        let part = |value: f64, change: f64, most: f64| if change < 0.0 { -most * value / change } else { 1.0 };
        for (column, (rate, cost)) in self.columns.iter().zip(rates.iter().zip(&reduced)) {
            primal = primal.min(part(column.rate, *rate, MAX_PART));
            dual = dual.min(part(column.reduced, *cost, MAX_PART));
        }
        for (link, (free, price)) in self.links.iter().zip(free.iter().zip(&prices)) {
            primal = primal.min(part(link.free, *free, MAX_PART));
            dual = dual.min(part(link.price, *price, MAX_PART));
        }
        for (group, (rate, price)) in self.groups.iter().zip(group_rates.iter().zip(&own)) {
            primal = primal.min(part(group.rate, *rate, 0.5));
            dual = dual.min(part(group.price, *price, MAX_PART));
        }
        let finite = [&rates, &reduced, &free, &prices, &own].iter().all(|list| list.iter().all(|v| v.is_finite()));
        if finite {
            self.columns.iter_mut().zip(&rates).for_each(|(c, d)| c.rate += primal * d);
            self.columns.iter_mut().zip(&reduced).for_each(|(c, d)| c.reduced += dual * d);
            self.links.iter_mut().zip(&free).for_each(|(l, d)| l.free += primal * d);
            self.links.iter_mut().zip(&prices).for_each(|(l, d)| l.price += dual * d);
            self.groups.iter_mut().zip(&group_rates).for_each(|(g, d)| g.rate += primal * d);
            self.groups.iter_mut().zip(&own).for_each(|(g, d)| g.price += dual * d);
        }
        finite
    }

    /// Adds the cheapest path of each group, unless it is known.
    fn new_paths(&mut self, problem: &Problem, paths: &Paths, search: &mut Search) {
        let prices = self.prices();
        let costs = paths.costs(&prices);
        let target = CENTERING * self.gap() / (self.columns.len() + self.links.len()) as f64;
        let before = search.work;
        let wanted = |group: &Group| {
            let known = |c: &usize| product(&self.columns[*c].charges, &prices);
            let least = group.columns.iter().map(known).fold(f64::INFINITY, f64::min);
            (group.flow, least * (1.0 - PRICE_TOLERANCE))
        };
        let wanted: Vec<(usize, f64)> = self.groups.iter().map(wanted).collect();
        for (g, path) in search.all_cheapest(problem, paths, &wanted, &costs).into_iter().enumerate() {
            let (group, Some(path)) = (&self.groups[g], path) else { continue };
            if group.columns.iter().any(|c| self.columns[*c].path == path) {
                continue;
            }
            let charges: Vec<(u32, f64)> = paths.charges(&path).into_iter().map(|(l, v)| (l as u32, v)).collect();
            let excess = product(&charges, &prices) - group.price;
            let reduced = excess.max(target / (NEW_PART * group.rate));
            let rate = target / reduced;
            self.groups[g].columns.push(self.columns.len());
            self.columns.push(Column { group: g, charges, path, rate, reduced });
        }
        self.work += (search.work - before) * HOP_WORK;
    }

    fn result(mut self) -> Start {
        self.columns.sort_by(|a, b| a.group.cmp(&b.group).then(b.rate.total_cmp(&a.rate)));
        let mean = self.links.iter().map(|l| l.price).sum::<f64>() / self.links.len().max(1) as f64;
        let mut paths = vec![Vec::new(); self.groups.len()];
        self.columns.into_iter().for_each(|column| paths[column.group].push(column.path));
        let scaled = |l: &Link| if mean > 0.0 && mean.is_finite() { l.price / mean } else { 0.0 };
        Start { paths, prices: self.links.iter().map(scaled).collect(), work: self.work }
    }
}

/// The price of a group at its rate.
fn marginal(group: &Group, unit: f64) -> f64 {
    let square = (unit * group.members / group.rate) * (unit * group.members / group.rate);
    square * square
}

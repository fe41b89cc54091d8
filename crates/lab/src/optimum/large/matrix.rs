//! The products of paths and links: which part of each link a unit of rate over a path takes.

/// Iterations of the power method for the largest step sizes.
const POWER: usize = 40;
/// The part of the largest steps that are taken.
const SAFE: f64 = 0.95;

/// By hop, the part of each link's capacity that a unit of rate takes.
pub(super) struct Parts {
    first: Vec<usize>,
    link: Vec<u32>,
    part: Vec<f64>,
}

/// The paths of all groups in one array, with step sizes.
pub(super) struct Matrix<'a> {
    parts: &'a Parts,
    /// By group, its first path, and one more.
    pub(super) groups: Vec<usize>,
    /// By path, its first hop, and one more.
    paths: Vec<usize>,
    hops: Vec<u32>,
    /// By hop, its first place in `over`, and one more; and the paths over it, in order.
    first_over: Vec<usize>,
    over: Vec<u32>,
    /// One over the sum of a path's parts, and of a link's parts.
    pub(super) rate_step: Vec<f64>,
    pub(super) price_step: Vec<f64>,
    /// A value by hop.
    by_hop: Vec<f64>,
}

impl Parts {
    pub(super) fn new(hops: &[Vec<(usize, f64)>]) -> Parts {
        let mut parts = Parts { first: vec![0], link: Vec::new(), part: Vec::new() };
        for (link, part) in hops.iter().flatten() {
            parts.link.push(*link as u32);
            parts.part.push(*part);
        }
        let ends = hops.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        });
        parts.first.extend(ends);
        parts
    }

    pub(super) fn hops(&self) -> usize {
        self.first.len() - 1
    }

    fn of(&self, hop: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.first[hop]..self.first[hop + 1];
        self.link[range.clone()].iter().zip(&self.part[range]).map(|(link, part)| (*link as usize, *part))
    }

    /// What a unit of rate over each hop costs.
    pub(super) fn costs(&self, prices: &[f64]) -> Vec<f64> {
        let mut costs = vec![0.0; self.hops()];
        self.costs_into(prices, &mut costs);
        costs
    }

    fn costs_into(&self, prices: &[f64], costs: &mut [f64]) {
        for (hop, cost) in costs.iter_mut().enumerate() {
            *cost = self.of(hop).map(|(link, part)| part * prices[link]).sum();
        }
    }

    /// What part of each link rates over hops take.
    pub(super) fn loads(&self, rates: &[f64], loads: &mut [f64]) {
        loads.fill(0.0);
        for (hop, rate) in rates.iter().enumerate().filter(|(_, rate)| **rate != 0.0) {
            self.of(hop).for_each(|(link, part)| loads[link] += part * rate);
        }
    }
}

impl<'a> Matrix<'a> {
    pub(super) fn new<'p>(
        parts: &'a Parts,
        groups: impl Iterator<Item = impl Iterator<Item = &'p [usize]>>,
        links: usize,
    ) -> Matrix<'a> {
        let mut matrix = Matrix {
            parts,
            groups: vec![0],
            paths: vec![0],
            hops: Vec::new(),
            first_over: Vec::new(),
            over: Vec::new(),
            rate_step: Vec::new(),
            price_step: vec![0.0; links],
            by_hop: vec![0.0; parts.hops()],
        };
        for group in groups {
            for path in group {
                let mut sum = 0.0;
                for hop in path {
                    matrix.hops.push(*hop as u32);
                    for (link, part) in parts.of(*hop) {
                        sum += part;
                        matrix.price_step[link] += part;
                    }
                }
                matrix.rate_step.push(1.0 / sum);
                matrix.paths.push(matrix.hops.len());
            }
            matrix.groups.push(matrix.rate_step.len());
        }
        matrix.price_step.iter_mut().for_each(|step| *step = if *step > 0.0 { 1.0 / *step } else { 0.0 });
        matrix.transpose();
        matrix
    }

    /// Notes the paths over each hop.
    fn transpose(&mut self) {
        self.first_over = vec![0; self.by_hop.len() + 1];
        self.hops.iter().for_each(|hop| self.first_over[*hop as usize + 1] += 1);
        (1..self.first_over.len()).for_each(|hop| self.first_over[hop] += self.first_over[hop - 1]);
        let mut next = self.first_over.clone();
        self.over = vec![0; self.hops.len()];
        for (path, w) in (0..).zip(self.paths.windows(2)) {
            for hop in &self.hops[w[0]..w[1]] {
                self.over[next[*hop as usize]] = path;
                next[*hop as usize] += 1;
            }
        }
    }

    /// Notes what a unit of rate over each hop costs.
    pub(super) fn price(&mut self, prices: &[f64]) {
        self.parts.costs_into(prices, &mut self.by_hop);
    }

    /// What a unit of rate over a path costs at the prices that were noted.
    #[inline]
    pub(super) fn cost(&self, path: usize) -> f64 {
        self.hops[self.paths[path]..self.paths[path + 1]].iter().map(|hop| self.by_hop[*hop as usize]).sum()
    }

    /// What a unit of rate over each path costs.
    pub(super) fn costs(&mut self, prices: &[f64], costs: &mut [f64]) {
        self.price(prices);
        costs.iter_mut().enumerate().for_each(|(path, cost)| *cost = self.cost(path));
    }

    /// What part of each link rates over paths take.
    pub(super) fn loads(&mut self, rates: &[f64], loads: &mut [f64]) {
        for (sum, w) in self.by_hop.iter_mut().zip(self.first_over.windows(2)) {
            *sum = self.over[w[0]..w[1]].iter().fold(0.0, |sum, path| sum + rates[*path as usize]);
        }
        self.parts.loads(&self.by_hop, loads);
    }

    /// Elementary operations of an iteration.
    pub(super) fn work(&self) -> u64 {
        (3 * self.hops.len() + 6 * self.by_hop.len() + 8 * self.rate_step.len() + 8 * self.price_step.len()) as u64
    }

    /// Makes steps as large as the norm of the scaled matrix allows, by the power method; returns the work. Rates
    /// change by what sums to zero in each group, and so do prices if they have `zero_sums`.
    pub(super) fn limit_steps(&mut self, zero_sums: bool) -> u64 {
        let (size, links) = (self.rate_step.len(), self.price_step.len());
        let (mut costs, mut loads) = (vec![0.0; size], vec![0.0; links]);
        let scattered = |i: usize| ((i * 7919) % 101) as f64 / 50.0 - 1.0;
        let mut change: Vec<f64> = (0..size).map(|i| self.rate_step[i] * scattered(i)).collect();
        let length = |change: &[f64], steps: &[f64]| -> f64 {
            change.iter().zip(steps).map(|(v, step)| v * v / step).sum::<f64>().sqrt()
        };
        let mut norm: f64 = 0.0;
        for _ in 0..POWER {
            for w in self.groups.windows(2) {
                centre(&mut change[w[0]..w[1]], &self.rate_step[w[0]..w[1]]);
            }
            let last = length(&change, &self.rate_step);
            if last == 0.0 {
                return 0;
            }
            norm = if norm == 0.0 { 1.0 } else { last.sqrt() };
            change.iter_mut().for_each(|v| *v /= last);
            self.loads(&change, &mut loads);
            loads.iter_mut().zip(&self.price_step).for_each(|(load, step)| *load *= step);
            if zero_sums {
                centre(&mut loads, &self.price_step);
            }
            self.costs(&loads, &mut costs);
            change.iter_mut().zip(costs.iter().zip(&self.rate_step)).for_each(|(v, (cost, step))| *v = cost * step);
        }
        for step in self.rate_step.iter_mut().chain(&mut self.price_step) {
            *step *= SAFE / norm;
        }
        POWER as u64 * self.work()
    }
}

/// The nearest values whose sum is zero, with distances weighted by one over `steps`.
fn centre(values: &mut [f64], steps: &[f64]) {
    let shift = values.iter().sum::<f64>() / steps.iter().sum::<f64>();
    values.iter_mut().zip(steps).for_each(|(v, step)| *v -= shift * step);
}

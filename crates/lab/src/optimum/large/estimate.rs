//! Rates that links can carry, for when the work ends before all levels are known.
//!
//! Every flow keeps the parts that its paths have in the last game; rates rise together, and those that cross a full
//! link stop.

use super::super::paths::Path;
use super::approximation::Levels;

/// A link with less of its capacity left counts as full.
const FULL: f64 = 1e-12;

/// A bound above this many per cent says nothing.
const MOST_TOLD: f64 = 50.0;

/// By group: the rate of each flow, and what its paths carry; and what is known about them.
type Estimate = (Vec<f64>, Vec<Vec<(Path, f64)>>, String);

impl Levels<'_> {
    pub(super) fn estimate(&mut self) -> Estimate {
        let even = vec![1.0; self.groups.len()];
        self.game.scale(&even);
        let parts: Vec<Vec<(Path, f64)>> = (self.game.columns.iter())
            .map(|list| list.iter().filter(|c| c.rate > 0.0).map(|c| (c.path.clone(), c.rate)).collect())
            .collect();
        let charges: Vec<Vec<(usize, f64)>> = parts
            .iter()
            .zip(&self.groups)
            .map(|(parts, members)| {
                let mut sum = std::collections::BTreeMap::new();
                for (path, part) in parts {
                    for (link, v) in self.paths.charges(path) {
                        *sum.entry(link).or_insert(0.0) += v * part * members.len() as f64;
                    }
                }
                sum.into_iter().collect()
            })
            .collect();
        let rates = filled(&self.capacities, &charges);
        let least = (0..rates.len()).filter(|g| !self.closed[*g]).map(|g| rates[g]).fold(f64::INFINITY, f64::min);
        let count = |open: bool| {
            let counted = self.groups.iter().zip(&self.closed).filter(|(_, closed)| open || **closed);
            counted.map(|(members, _)| members.len()).sum::<usize>()
        };
        let (closed, all) = (count(false), count(true));
        let mut note = format!("the allowed work ended when {closed} of {all} flows had reached their rates");
        let more = 100.0 * (self.bound / least - 1.0).max(0.0);
        if more <= MOST_TOLD {
            note += &format!("; no allocation gives all others {more:.1} % more than the lowest of them has here");
        }
        let mut carried = parts;
        for ((carried, rate), members) in carried.iter_mut().zip(&rates).zip(&self.groups) {
            carried.iter_mut().for_each(|(_, part)| *part *= rate * members.len() as f64);
        }
        (rates, carried, note)
    }
}

/// Rates that rise together until a full link stops them. `charges` are by group, for a rate of one.
fn filled(capacities: &[f64], charges: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut left = capacities.to_vec();
    let mut rates = vec![0.0; charges.len()];
    let mut open = vec![true; charges.len()];
    loop {
        let mut loads = vec![0.0; left.len()];
        for (link, v) in (0..open.len()).filter(|g| open[*g]).flat_map(|g| &charges[g]) {
            loads[*link] += v;
        }
        let ends = left.iter().zip(&loads).filter(|(_, load)| **load > 0.0).map(|(left, load)| left / load);
        let step = ends.fold(f64::INFINITY, f64::min);
        if step.is_infinite() {
            return rates;
        }
        for (rate, _) in rates.iter_mut().zip(&open).filter(|(_, open)| **open) {
            *rate += step;
        }
        for ((left, load), capacity) in left.iter_mut().zip(&loads).zip(capacities) {
            *left = (*left - load * step).max(0.0);
            *left = if *left <= FULL * capacity { 0.0 } else { *left };
        }
        for (open, charges) in open.iter_mut().zip(charges) {
            *open &= charges.iter().all(|(l, _)| left[*l] > 0.0);
        }
    }
}

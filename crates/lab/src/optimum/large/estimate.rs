//! Rates that links can carry, for when the work ends before all levels are known.
//!
//! Every flow keeps the parts that its paths have in the last game; rates rise together, and those that cross a full
//! link stop.

use super::super::paths::Path;
use super::super::waterfill;
use super::approximation::Levels;

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
        let rates = waterfill::fill(self.capacities.clone(), &charges);
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

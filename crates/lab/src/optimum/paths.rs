//! The paths that flows may take, and the cheapest one at given prices.

use super::{Problem, Routes};
use std::collections::BTreeMap;

/// A path: links from a producer to the consumer.
pub(super) type Path = Vec<usize>;

pub(super) struct Paths<'a> {
    problem: &'a Problem,
    known: Vec<Vec<Path>>,
    /// Links by the node they lead to.
    into: Vec<Vec<usize>>,
}

impl<'a> Paths<'a> {
    /// The given paths of flows that have them, the shortest one of the others.
    pub(super) fn new(problem: &'a Problem) -> Paths<'a> {
        let mut into = vec![Vec::new(); problem.nodes];
        for (l, link) in problem.links.iter().enumerate() {
            if link.to < problem.nodes && link.from < problem.nodes && link.rate.bps() > 0 {
                into[link.to].push(l);
            }
        }
        let mut paths = Paths { problem, known: Vec::new(), into };
        let flat = vec![0.0; problem.links.len()];
        for (f, flow) in problem.flows.iter().enumerate() {
            let known = match &flow.routes {
                Routes::Paths(list) => list.clone(),
                Routes::Any { .. } => paths.cheapest(f, &flat, |_| 1.0).map(|p| p.0).into_iter().collect(),
            };
            paths.known.push(known);
        }
        paths
    }

    pub(super) fn of(&self, flow: usize) -> &[Path] {
        &self.known[flow]
    }

    /// Whether the path was new.
    pub(super) fn add(&mut self, flow: usize, path: Path) -> bool {
        let new = !self.known[flow].contains(&path);
        if new {
            self.known[flow].push(path);
        }
        new
    }

    /// Keeps the paths that a rule allows; all of them if it allows none.
    pub(super) fn keep(&mut self, flow: usize, rule: impl Fn(&Self, &[usize]) -> bool) {
        let kept: Vec<Path> = self.known[flow].iter().filter(|p| rule(self, p)).cloned().collect();
        if !kept.is_empty() {
            self.known[flow] = kept;
        }
    }

    /// Wire bits on each link for a payload bit over the path: Data down, Interests up.
    pub(super) fn charges(&self, path: &[usize]) -> Vec<(usize, f64)> {
        let (down, up) = self.problem.overhead();
        let mut sum: BTreeMap<usize, f64> = BTreeMap::new();
        for link in path {
            *sum.entry(*link).or_default() += down;
            if let Some(back) = self.problem.links[*link].reverse
                && up > 0.0
            {
                *sum.entry(back).or_default() += up;
            }
        }
        sum.into_iter().collect()
    }

    /// The cheapest path of a flow and its price, when a link costs what it carries at the given prices and the toll.
    /// Of equal paths the one with fewer links, then with smaller numbers. None when no producer can be reached.
    pub(super) fn cheapest(&self, flow: usize, prices: &[f64], toll: impl Fn(usize) -> f64) -> Option<(Path, f64)> {
        let flow = &self.problem.flows[flow];
        let Routes::Any { producers, usable } = &flow.routes else {
            return None;
        };
        let (down, up) = self.problem.overhead();
        let n = self.problem.nodes;
        if flow.consumer >= n {
            return None;
        }
        let cost = |l: usize| {
            let back = self.problem.links[l].reverse.map_or(0.0, |b| prices[b]);
            down * prices[l] + up * back + toll(l)
        };
        // Dijkstra from the consumer against the direction of Data; networks are small enough for a linear search.
        let mut best = vec![(f64::INFINITY, usize::MAX); n];
        let mut via = vec![usize::MAX; n];
        let mut done = vec![false; n];
        best[flow.consumer] = (0.0, 0);
        loop {
            let open = (0..n).filter(|i| !done[*i] && best[*i].0.is_finite());
            let i = open.min_by(|a, b| best[*a].0.total_cmp(&best[*b].0).then(best[*a].1.cmp(&best[*b].1)))?;
            if producers.contains(&i) {
                let mut path = Vec::new();
                let mut at = i;
                while at != flow.consumer {
                    path.push(via[at]);
                    at = self.problem.links[via[at]].to;
                }
                return Some((path, best[i].0));
            }
            done[i] = true;
            for l in &self.into[i] {
                if usable.as_ref().is_some_and(|u| !u.contains(l)) {
                    continue;
                }
                let from = self.problem.links[*l].from;
                let next = (best[i].0 + cost(*l), best[i].1 + 1);
                if !done[from] && (next.0 < best[from].0 || (next.0 == best[from].0 && next.1 < best[from].1)) {
                    best[from] = next;
                    via[from] = *l;
                }
            }
        }
    }
}

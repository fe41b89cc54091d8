//! Cheapest paths below a limit.

use super::super::paths::{Path, Paths};
use super::super::{AllowedLinks, Problem};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No hop.
const NONE: u32 = u32::MAX;
/// So many searches are for one thread: some hundred microseconds.
const TOGETHER: usize = 32;

/// Searches from a consumer against the direction of Data, without allocating.
pub(super) struct Search {
    cost: Vec<f64>,
    first: Vec<u32>,
    /// The search in which a node was reached last.
    reached: Vec<u32>,
    serves: Vec<u32>,
    search: u32,
    /// Costs, and in the lowest bits nodes: one comparison for both.
    heap: BinaryHeap<Reverse<u128>>,
    /// Hops that were looked at.
    pub(super) work: u64,
}

impl Search {
    pub(super) fn new(nodes: usize) -> Search {
        Search {
            cost: vec![0.0; nodes],
            first: vec![NONE; nodes],
            reached: vec![0; nodes],
            serves: vec![0; nodes],
            search: 0,
            heap: BinaryHeap::new(),
            work: 0,
        }
    }

    /// The cheapest path of a flow at these costs of hops, which are not negative, if it costs less than the limit.
    pub(super) fn cheapest(
        &mut self,
        problem: &Problem,
        paths: &Paths,
        flow: usize,
        costs: &[f64],
        limit: f64,
    ) -> Option<Path> {
        let AllowedLinks::Any { producers, .. } = &problem.flows[flow].routes else { return None };
        let consumer = problem.flows[flow].consumer;
        if consumer >= problem.nodes {
            return None;
        }
        self.search += 1;
        let search = self.search;
        for node in producers.iter().filter(|n| **n < problem.nodes) {
            self.serves[*node] = search;
        }
        self.heap.clear();
        self.heap.push(entry(0.0, consumer));
        (self.cost[consumer], self.first[consumer], self.reached[consumer]) = (0.0, NONE, search);
        while let Some(Reverse(first)) = self.heap.pop() {
            let (node, cost) = (first as u32 as usize, f64::from_bits((first >> 32) as u64));
            if cost > self.cost[node] {
                continue;
            }
            if self.serves[node] == search {
                return Some(self.path(paths, node));
            }
            for hop in paths.into(flow, node, consumer) {
                self.work += 1;
                let (from, through) = (paths.from(hop), cost + costs[hop]);
                if through < limit && (self.reached[from] != search || through < self.cost[from]) {
                    (self.cost[from], self.first[from], self.reached[from]) = (through, hop as u32, search);
                    self.heap.push(entry(through, from));
                }
            }
        }
        None
    }

    /// [`Search::cheapest`] of many flows, each with its limit, by all threads.
    pub(super) fn all_cheapest(
        &mut self,
        problem: &Problem,
        paths: &Paths<'_>,
        flows: &[(usize, f64)],
        costs: &[f64],
    ) -> Vec<Option<Path>> {
        let part = |flows: &[(usize, f64)]| {
            let mut search = Search::new(problem.nodes);
            let found = flows.iter().map(|&(flow, limit)| search.cheapest(problem, paths, flow, costs, limit));
            let found: Vec<Option<Path>> = found.collect();
            (found, search.work)
        };
        let parts: Vec<_> = flows.par_chunks(TOGETHER).map(part).collect();
        self.work += parts.iter().map(|(_, work)| work).sum::<u64>();
        parts.into_iter().flat_map(|(found, _)| found).collect()
    }

    fn path(&self, paths: &Paths, producer: usize) -> Path {
        let (mut path, mut at) = (Vec::new(), producer);
        while self.first[at] != NONE {
            path.push(self.first[at] as usize);
            at = paths.to(self.first[at] as usize);
        }
        path
    }
}

/// A node at a cost, which is not negative.
fn entry(cost: f64, node: usize) -> Reverse<u128> {
    Reverse(u128::from(cost.to_bits()) << 32 | node as u128)
}

//! Cheapest paths below a limit.

use super::super::paths::{Path, Paths};
use super::super::{AllowedLinks, Problem};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No hop.
const NONE: u32 = u32::MAX;

/// Searches from a consumer against the direction of Data, without allocating.
pub(super) struct Search {
    cost: Vec<f64>,
    first: Vec<u32>,
    /// The search in which a node was reached last.
    reached: Vec<u32>,
    serves: Vec<u32>,
    search: u32,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
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
        self.heap.push(Reverse((0, consumer as u32)));
        (self.cost[consumer], self.first[consumer], self.reached[consumer]) = (0.0, NONE, search);
        while let Some(Reverse((bits, node))) = self.heap.pop() {
            let (node, cost) = (node as usize, f64::from_bits(bits));
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
                    self.heap.push(Reverse((through.to_bits(), from as u32)));
                }
            }
        }
        None
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

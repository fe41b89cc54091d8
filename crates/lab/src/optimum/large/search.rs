//! Cheapest paths below a limit.

use super::super::paths::{Path, Paths};
use super::super::{AllowedLinks, Problem};
use super::queue::Queue;
use rayon::prelude::*;

/// No hop.
const NONE: u32 = u32::MAX;
/// So many searches are for one thread: some hundred microseconds.
const TOGETHER: usize = 32;

/// Searches from a consumer against the direction of Data, without allocating.
pub(super) struct Search {
    /// The least cost that is known of a node, or the limit.
    cost: Vec<f64>,
    first: Vec<u32>,
    /// The search in which a node was a producer last.
    serves: Vec<u32>,
    search: u32,
    queue: Queue,
    /// Hops that were looked at.
    pub(super) work: u64,
}

/// A flow whose path is searched for.
struct Wanted<'a> {
    producers: &'a [usize],
    /// The path must cost less.
    limit: f64,
    /// What the cheapest of its producers costs so far, or the limit.
    most: f64,
    is_open: bool,
    path: Option<Path>,
}

impl Search {
    pub(super) fn new(nodes: usize) -> Search {
        Search {
            cost: vec![0.0; nodes],
            first: vec![NONE; nodes],
            serves: vec![0; nodes],
            search: 0,
            queue: Queue::default(),
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
        self.shared(problem, paths, [(flow, limit)].into_iter(), costs).pop().flatten()
    }

    /// [`Search::cheapest`] of flows that have their consumers at one node and may use the same hops. The work is that
    /// of a search for each.
    fn shared(
        &mut self,
        problem: &Problem,
        paths: &Paths<'_>,
        flows: impl Iterator<Item = (usize, f64)> + Clone,
        costs: &[f64],
    ) -> Vec<Option<Path>> {
        let Some((flow, _)) = flows.clone().next() else { return Vec::new() };
        let consumer = problem.flows[flow].consumer;
        self.search += 1;
        let search = self.search;
        let wanted = |(flow, limit): (usize, f64)| {
            let found = match &problem.flows[flow].routes {
                AllowedLinks::Any { producers, .. } if consumer < problem.nodes => Some(&producers[..]),
                _ => None,
            };
            let producers = found.unwrap_or_default();
            Wanted { producers, limit, most: limit, is_open: found.is_some(), path: None }
        };
        let mut wanted: Vec<Wanted<'_>> = flows.map(wanted).collect();
        for node in wanted.iter().flat_map(|flow| flow.producers).filter(|n| **n < problem.nodes) {
            self.serves[*node] = search;
        }
        let mut open = wanted.iter().filter(|flow| flow.is_open).count() as u64;
        if open == 0 {
            return wanted.into_iter().map(|_| None).collect();
        }
        // What costs more than the producers that are known would not be looked at before the search ends.
        let most =
            |wanted: &[Wanted<'_>]| wanted.iter().filter(|flow| flow.is_open).map(|flow| flow.most).fold(0.0, f64::max);
        let mut limit = most(&wanted);
        let mut next_limit = wanted.iter().map(|flow| flow.limit).fold(f64::INFINITY, f64::min);
        self.queue.start(limit);
        self.cost.fill(limit);
        (self.cost[consumer], self.first[consumer]) = (0.0, NONE);
        let mut at = Some((0.0, consumer));
        while let Some((cost, node)) = at {
            if cost <= self.cost[node] {
                if cost >= next_limit && node != consumer {
                    // For some flows this is too far.
                    wanted.iter_mut().filter(|flow| cost >= flow.limit).for_each(|flow| flow.is_open = false);
                    let left = wanted.iter().filter(|flow| flow.is_open);
                    next_limit = left.map(|flow| flow.limit).fold(f64::INFINITY, f64::min);
                }
                if self.serves[node] == search {
                    for flow in wanted.iter_mut().filter(|flow| flow.is_open && flow.producers.contains(&node)) {
                        flow.path = Some(self.path(paths, node));
                        flow.is_open = false;
                    }
                }
                let left = wanted.iter().filter(|flow| flow.is_open).count() as u64;
                if left < open {
                    (open, limit) = (left, most(&wanted));
                    if open == 0 {
                        break;
                    }
                }
                for (hop, from) in paths.edges(flow, node, consumer) {
                    self.work += open;
                    let through = cost + costs[hop];
                    if through < self.cost[from] && through <= limit {
                        (self.cost[from], self.first[from]) = (through, hop as u32);
                        self.queue.push(through, from);
                        if self.serves[from] == search {
                            let serves = |flow: &&mut Wanted<'_>| flow.producers.contains(&from);
                            wanted.iter_mut().filter(serves).for_each(|flow| flow.most = flow.most.min(through));
                            limit = most(&wanted);
                        }
                    }
                }
            }
            at = self.queue.pop();
        }
        wanted.into_iter().map(|flow| flow.path).collect()
    }

    /// [`Search::cheapest`] of many flows, each with its limit, by all threads.
    pub(super) fn all_cheapest(
        &mut self,
        problem: &Problem,
        paths: &Paths<'_>,
        flows: &[(usize, f64)],
        costs: &[f64],
    ) -> Vec<Option<Path>> {
        let kind = |place: usize| {
            let flow = flows[place].0;
            (problem.flows[flow].consumer, if paths.may_use_all(flow) { None } else { Some(flow) })
        };
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|place| kind(*place));
        let together: Vec<&[usize]> = order.chunk_by(|a, b| kind(*a) == kind(*b)).collect();
        let part = |kinds: &[&[usize]]| {
            let mut search = Search::new(problem.nodes);
            let found = kinds.iter().flat_map(|places| {
                let flows = places.iter().map(|place| flows[*place]);
                search.shared(problem, paths, flows, costs)
            });
            let found: Vec<Option<Path>> = found.collect();
            (found, search.work)
        };
        let parts: Vec<_> = together.par_chunks(TOGETHER).map(part).collect();
        let mut all = vec![None; flows.len()];
        self.work += parts.iter().map(|(_, work)| work).sum::<u64>();
        order
            .into_iter()
            .zip(parts.into_iter().flat_map(|(found, _)| found))
            .for_each(|(place, path)| all[place] = path);
        all
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimum::draws::Draws;
    use crate::optimum::{DirectedLink, FlowDemand, Sizes};
    use ndnweir_core::units::Rate;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// The same with a heap of all nodes and one flow at a time.
    fn plain(
        problem: &Problem,
        paths: &Paths<'_>,
        flow: usize,
        costs: &[f64],
        limit: f64,
        work: &mut u64,
    ) -> Option<Path> {
        let (consumer, AllowedLinks::Any { producers, .. }) =
            (problem.flows[flow].consumer, &problem.flows[flow].routes)
        else {
            return None;
        };
        let mut known = vec![(f64::INFINITY, usize::MAX); problem.nodes];
        known[consumer].0 = 0.0;
        let mut heap = BinaryHeap::from([Reverse((0, consumer))]);
        while let Some(Reverse((cost, node))) = heap.pop() {
            let cost = f64::from_bits(cost);
            if cost > known[node].0 {
                continue;
            }
            if producers.contains(&node) {
                let (mut path, mut at) = (Vec::new(), node);
                while at != consumer {
                    path.push(known[at].1);
                    at = paths.to(known[at].1);
                }
                return Some(path);
            }
            for (hop, from) in paths.edges(flow, node, consumer) {
                *work += 1;
                let through = cost + costs[hop];
                if through < limit && through < known[from].0 {
                    known[from] = (through, hop);
                    heap.push(Reverse((through.to_bits(), from)));
                }
            }
        }
        None
    }

    /// A random network, with many paths of equal cost.
    fn network(draws: &mut Draws) -> Problem {
        let nodes = 30;
        let link = |draws: &mut Draws, i: usize| DirectedLink {
            name: i.to_string(),
            from: draws.below(nodes),
            to: draws.below(nodes),
            rate: Rate::from_mbps(1.0),
            reverse: None,
        };
        let links: Vec<DirectedLink> = (0..90).map(|i| link(draws, i)).collect();
        let flow = |draws: &mut Draws, i: usize| FlowDemand {
            name: i.to_string(),
            consumer: draws.below(8),
            routes: AllowedLinks::Any {
                producers: (0..1 + draws.below(3)).map(|_| draws.below(nodes)).collect(),
                usable: (draws.below(4) == 0).then(|| (0..90).filter(|hop| hop % 5 != i % 5).collect()),
            },
        };
        let flows = (0..40).map(|i| flow(draws, i)).collect();
        let sizes = Sizes { payload_bytes: 1, data_wire_bytes: 1, interest_wire_bytes: 0 };
        Problem { nodes, hosts: vec![3, 17], links, hops: Vec::new(), flows, sizes }
    }

    #[test]
    fn shared_searches_find_what_single_ones_find_and_count_their_work() {
        let mut draws = Draws(3);
        for _ in 0..50 {
            let problem = network(&mut draws);
            let paths = Paths::without_paths(&problem);
            let costs: Vec<f64> = (0..90).map(|_| draws.below(5) as f64 * 0.1).collect();
            let limits = [f64::INFINITY, 0.0, 0.3, 0.5, 0.7, 0.9];
            let flows: Vec<(usize, f64)> = (0..40).map(|flow| (flow, limits[draws.below(6)])).collect();
            let mut work = 0;
            let one = |&(flow, limit): &(usize, f64)| plain(&problem, &paths, flow, &costs, limit, &mut work);
            let single: Vec<Option<Path>> = flows.iter().map(one).collect();
            let mut search = Search::new(problem.nodes);
            assert_eq!(search.all_cheapest(&problem, &paths, &flows, &costs), single);
            assert_eq!(search.work, work);
        }
    }
}

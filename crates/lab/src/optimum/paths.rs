//! The allowed paths of flows, and the cheapest one at given prices.

use super::{AllowedLinks, FlowDemand, Hop, Problem};
use ndnweir_sim::shortest::{Edge, ShortestPaths};
use std::collections::BTreeMap;

/// A path: hops from a producer to the consumer.
pub(super) type Path = Vec<usize>;

/// What a payload bit on a path costs, at these costs of hops.
pub(super) fn path_cost(path: &[usize], costs: &[f64]) -> f64 {
    path.iter().map(|hop| costs[*hop]).sum()
}

pub(super) struct Paths<'a> {
    problem: &'a Problem,
    known: Vec<Vec<Path>>,
    /// The node at which each hop begins.
    from: Vec<usize>,
    /// The node at which each hop ends.
    to: Vec<usize>,
    /// Wire bits on each link for a payload bit over each hop: Data downstream, Interests upstream.
    charges: Vec<Vec<(usize, f64)>>,
    /// Hops with a nonzero rate, by the node at which they end, and where they begin.
    into: Vec<(u32, u32)>,
    /// By node, its first in `into`, and one more.
    first_into: Vec<u32>,
    /// Nodes that no path crosses.
    hosts: Vec<bool>,
    /// By flow: whether it may use each hop; `None` allows all hops.
    usable: Vec<Option<Vec<bool>>>,
}

impl<'a> Paths<'a> {
    /// Starts with the given paths of flows that have them, and with the path with the fewest hops for other flows.
    pub(super) fn new(problem: &'a Problem) -> Paths<'a> {
        let mut paths = Paths::without_paths(problem);
        let flat = vec![1.0; paths.from.len()];
        for (f, flow) in problem.flows.iter().enumerate() {
            let known = match &flow.routes {
                AllowedLinks::Paths(list) => list.clone(),
                AllowedLinks::Any { .. } => paths.cheapest(f, &flat).into_iter().collect(),
            };
            paths.known.push(known);
        }
        paths
    }

    /// Knows no path yet.
    pub(super) fn without_paths(problem: &'a Problem) -> Paths<'a> {
        let hops = problem.all_hops();
        let charges: Vec<_> = hops.iter().map(|hop| charges(problem, hop)).collect();
        let mut into = vec![Vec::new(); problem.nodes];
        for (h, hop) in hops.iter().enumerate() {
            let carries = charges[h].iter().all(|(l, _)| problem.links[*l].rate.bps() > 0);
            if hop.to < problem.nodes && hop.from < problem.nodes && carries {
                into[hop.to].push((h as u32, hop.from as u32));
            }
        }
        let usable = |flow: &super::FlowDemand| match &flow.routes {
            AllowedLinks::Any { usable: Some(list), .. } => {
                let mut allowed = vec![false; hops.len()];
                list.iter().filter(|h| **h < hops.len()).for_each(|h| allowed[*h] = true);
                Some(allowed)
            }
            _ => None,
        };
        let first_into = std::iter::once(0).chain(into.iter().scan(0, |sum, hops: &Vec<(u32, u32)>| {
            *sum += hops.len() as u32;
            Some(*sum)
        }));
        let first_into = first_into.collect();
        let mut hosts = vec![false; problem.nodes];
        problem.hosts.iter().filter(|n| **n < problem.nodes).for_each(|n| hosts[*n] = true);
        Paths {
            problem,
            known: Vec::new(),
            from: hops.iter().map(|h| h.from).collect(),
            to: hops.iter().map(|h| h.to).collect(),
            charges,
            into: into.concat(),
            first_into,
            hosts,
            usable: problem.flows.iter().map(usable).collect(),
        }
    }

    /// The hops over which a flow's Data reach a node on their way to the consumer.
    pub(super) fn into(&self, flow: usize, node: usize, consumer: usize) -> impl Iterator<Item = usize> {
        self.edges(flow, node, consumer).map(|(hop, _)| hop)
    }

    /// The same, each with the node at which it begins.
    #[inline]
    pub(super) fn edges(&self, flow: usize, node: usize, consumer: usize) -> impl Iterator<Item = (usize, usize)> {
        let passes = !self.hosts[node] || node == consumer;
        let range = self.first_into[node] as usize..self.first_into[node + 1] as usize;
        let into = if passes { &self.into[range] } else { &[] };
        let usable = self.usable[flow].as_deref();
        let edges = into.iter().map(|(hop, from)| (*hop as usize, *from as usize));
        edges.filter(move |(hop, _)| usable.is_none_or(|usable| usable[*hop]))
    }

    /// Whether a flow may use every hop.
    pub(super) fn may_use_all(&self, flow: usize) -> bool {
        self.usable[flow].is_none()
    }

    /// The node at which a hop ends.
    pub(super) fn to(&self, hop: usize) -> usize {
        self.to[hop]
    }

    /// The links that a hop takes capacity of.
    pub(super) fn uses(&self, hop: usize) -> impl Iterator<Item = usize> {
        self.charges[hop].iter().map(|(link, _)| *link)
    }

    pub(super) fn of(&self, flow: usize) -> &[Path] {
        &self.known[flow]
    }

    /// Adds a path; returns whether it was new.
    pub(super) fn add(&mut self, flow: usize, path: Path) -> bool {
        let new = !self.known[flow].contains(&path);
        if new {
            self.known[flow].push(path);
        }
        new
    }

    /// Keeps the paths that the rule allows; all of them if it allows none.
    pub(super) fn retain(&mut self, flow: usize, rule: impl Fn(&Self, &[usize]) -> bool) {
        let kept: Vec<Path> = self.known[flow].iter().filter(|p| rule(self, p)).cloned().collect();
        if !kept.is_empty() {
            self.known[flow] = kept;
        }
    }

    /// Wire bits on each link for a payload bit over the path, in the order of links.
    pub(super) fn charges(&self, path: &[usize]) -> Vec<(usize, f64)> {
        let mut sum: BTreeMap<usize, f64> = BTreeMap::new();
        for (link, weight) in path.iter().flat_map(|hop| &self.charges[*hop]) {
            *sum.entry(*link).or_default() += weight;
        }
        sum.into_iter().collect()
    }

    /// By hop, the parts of links' capacities that a unit of rate takes; hops over a link without capacity take none.
    pub(super) fn parts(&self, capacities: &[f64]) -> Vec<Vec<(usize, f64)>> {
        let parts = |charges: &Vec<(usize, f64)>| -> Vec<(usize, f64)> {
            charges.iter().filter(|(l, _)| capacities[*l] > 0.0).map(|(l, v)| (*l, v / capacities[*l])).collect()
        };
        self.charges.iter().map(parts).collect()
    }

    /// The cost of a payload bit on each hop at these prices of links.
    pub(super) fn costs(&self, prices: &[f64]) -> Vec<f64> {
        self.charges.iter().map(|c| c.iter().map(|(l, weight)| weight * prices[*l]).sum()).collect()
    }

    /// The cheapest path of a flow at these costs of hops, which are not negative. Of equal paths, the one with fewer
    /// hops, then the one with smaller numbers. `None` if no producer can be reached.
    pub(super) fn cheapest(&self, flow: usize, costs: &[f64]) -> Option<Path> {
        let FlowDemand { consumer, routes, .. } = &self.problem.flows[flow];
        let AllowedLinks::Any { producers, .. } = routes else { return None };
        if *consumer >= self.problem.nodes {
            return None;
        }
        // Searches from the consumer against the direction of Data.
        let into = |node: usize, (Cost(cost), hops): (Cost, usize)| {
            let edge = move |hop| Edge { from: self.from[hop], cost: (Cost(cost + costs[hop]), hops + 1), id: hop };
            self.into(flow, node, *consumer).map(edge)
        };
        let paths = ShortestPaths::new(self.problem.nodes, [*consumer], (Cost(0.0), 0), into);
        let reached = producers.iter().filter_map(|node| Some((paths.cost(*node)?, *node)));
        let (_, mut at) = reached.min()?;
        let mut path = Vec::new();
        while let Some(hop) = paths.first_edge(at) {
            path.push(hop);
            at = self.to[hop];
        }
        Some(path)
    }

    /// The flow's only path: `None` if it may have several, `Some(None)` if it has none.
    pub(super) fn only(&self, flow: usize) -> Option<Option<Path>> {
        let FlowDemand { consumer, routes, .. } = &self.problem.flows[flow];
        let producers = match routes {
            AllowedLinks::Paths(paths) if paths.len() > 1 => return None,
            AllowedLinks::Paths(paths) => return Some(paths.first().cloned()),
            AllowedLinks::Any { producers, .. } => producers,
        };
        let (mut path, mut found, mut at) = (Vec::new(), None, *consumer);
        while at < self.problem.nodes && path.len() <= self.problem.nodes {
            if producers.contains(&at) && found.replace(path.clone()).is_some() {
                return None;
            }
            let mut into = self.into(flow, at, *consumer);
            let Some(hop) = into.next() else {
                let upstream = |path: Path| path.into_iter().rev().collect();
                return Some(found.map(upstream));
            };
            if into.next().is_some() {
                return None;
            }
            path.push(hop);
            at = self.from[hop];
        }
        None
    }
}

/// Wire bits on each link for a payload bit over a hop.
fn charges(problem: &Problem, hop: &Hop) -> Vec<(usize, f64)> {
    let (down, up) = problem.overhead();
    let mut sum: BTreeMap<usize, f64> = BTreeMap::new();
    hop.data.iter().for_each(|l| *sum.entry(*l).or_default() += down);
    if up > 0.0 {
        hop.interests.iter().for_each(|l| *sum.entry(*l).or_default() += up);
    }
    sum.into_iter().collect()
}

/// A cost with a total order.
#[derive(Clone, Copy, PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Cost) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

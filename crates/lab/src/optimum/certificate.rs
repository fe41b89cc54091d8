//! The proof that an allocation is max-min fair, and a check of it that is independent of the solver.
//!
//! For any rates y of an allocation and prices w of the links, let d be the cost of a payload bit of a flow on its
//! cheapest path. Then Σ d·y ≤ Σ capacity·w, since every path costs at least d. So if all flows that have no more than
//! flow f keep their rates x, then y_f ≤ (Σ capacity·w − Σ d·x of those other flows) / d_f. With the prices of the
//! level at which f stopped, this bound is at most slightly above x_f: f cannot gain unless a flow with an equal or
//! smaller rate loses.
//!
//! Rates may exceed what links can carry by a tolerance. Where those of many flows do, no allocation gives each of them
//! as much, so that a proof for a flow above them may hold whatever its rate is.

use super::error::CertificateError;
use super::{AllowedLinks, FlowDemand, Hop, Problem};
use std::collections::{BTreeMap, VecDeque};

/// Rates that differ by less than this fraction count as equal; it is a tenth of the allowed gain.
const RATE_TOLERANCE: f64 = 1e-3;

/// The fraction by which the load of a link may exceed its rate, a tenth of the allowed gain.
const LOAD_TOLERANCE: f64 = 1e-3;

/// Flows that cannot gain at one level of rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Positions of the flows.
    pub flows: Vec<usize>,
    /// Links with a price; prices are not negative.
    pub prices: Vec<(usize, f64)>,
}

/// The rates of flows, their paths, and the proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Payload of each flow, in 10⁶ bit/s.
    pub rates: Vec<f64>,
    /// By flow: paths, as hops from a producer to the consumer, with the rate on each path.
    pub paths: Vec<Vec<(Vec<usize>, f64)>>,
    /// The levels at which flows stopped, in the order of rates.
    pub levels: Vec<Level>,
    /// Steps of the simplex.
    pub steps: usize,
    /// Searches for the cheapest path of a flow.
    pub searches: usize,
}

/// A hop in the form that the check uses.
struct Edge {
    from: usize,
    to: usize,
    charges: Vec<(usize, f64)>,
}

struct Network<'a> {
    problem: &'a Problem,
    edges: Vec<Edge>,
    out_of: Vec<Vec<usize>>,
    /// By flow: flows with the same group number have the same producers and hops, so that they share one search.
    group: Vec<usize>,
}

/// Prices of the cheapest paths to all nodes, by group of flows.
type Searches = BTreeMap<usize, Vec<f64>>;

impl Network<'_> {
    fn new(problem: &Problem) -> Network<'_> {
        let data = problem.sizes.data_wire_bytes as f64 / problem.sizes.payload_bytes as f64;
        let interest = problem.sizes.interest_wire_bytes as f64 / problem.sizes.payload_bytes as f64;
        let edge = |hop: &Hop| Edge {
            from: hop.from,
            to: hop.to,
            charges: (hop.data.iter().map(|l| (*l, data)))
                .chain(hop.interests.iter().map(|l| (*l, interest)).filter(|c| c.1 > 0.0))
                .collect(),
        };
        let edges: Vec<Edge> = problem.all_hops().iter().map(edge).collect();
        let mut out_of = vec![Vec::new(); problem.nodes];
        for (e, edge) in edges.iter().enumerate() {
            let works = edge.charges.iter().all(|(l, _)| problem.links[*l].rate.bps() > 0);
            if works && edge.from < problem.nodes && edge.to < problem.nodes {
                out_of[edge.from].push(e);
            }
        }
        let mut groups = BTreeMap::new();
        let mut group = Vec::new();
        for flow in &problem.flows {
            let next = groups.len();
            group.push(match &flow.routes {
                AllowedLinks::Any { producers, usable } => *groups.entry((producers, usable)).or_insert(next),
                AllowedLinks::Paths(_) => usize::MAX,
            });
        }
        Network { problem, edges, out_of, group }
    }

    fn price(&self, edge: usize, prices: &[f64]) -> f64 {
        self.edges[edge].charges.iter().map(|(l, weight)| weight * prices[*l]).sum()
    }

    /// The price of a flow's cheapest path; infinite if there is no path.
    fn cheapest(&self, flow: usize, costs: &[f64], found: &mut Searches) -> f64 {
        let FlowDemand { consumer, routes, .. } = &self.problem.flows[flow];
        match routes {
            AllowedLinks::Paths(paths) => {
                let price = |path: &Vec<usize>| path.iter().map(|e| costs[*e]).sum::<f64>();
                paths.iter().map(price).fold(f64::INFINITY, f64::min)
            }
            AllowedLinks::Any { producers, usable } => {
                let to = found.entry(self.group[flow]).or_insert_with(|| self.search(producers, usable, costs));
                to.get(*consumer).copied().unwrap_or(f64::INFINITY)
            }
        }
    }

    /// The price of the cheapest path from any producer to each node (Bellman–Ford, starting at the producers).
    fn search(&self, producers: &[usize], usable: &Option<Vec<usize>>, costs: &[f64]) -> Vec<f64> {
        let mut usable_edges = vec![usable.is_none(); self.edges.len()];
        usable.iter().flatten().for_each(|e| usable_edges[*e] = true);
        let mut hosts = vec![false; self.problem.nodes];
        self.problem.hosts.iter().for_each(|n| hosts[*n] = true);
        let mut best = vec![f64::INFINITY; self.problem.nodes];
        let mut queued = vec![false; self.problem.nodes];
        let mut queue = VecDeque::new();
        for &producer in producers.iter().filter(|p| **p < self.problem.nodes) {
            best[producer] = 0.0;
            queued[producer] = true;
            queue.push_back(producer);
        }
        while let Some(node) = queue.pop_front() {
            queued[node] = false;
            for &edge in self.out_of[node].iter().filter(|e| usable_edges[**e]) {
                let (to, through) = (self.edges[edge].to, best[node] + costs[edge]);
                if through < best[to] {
                    best[to] = through;
                    // A path may end at a host, but may not cross one.
                    if !hosts[to] && !queued[to] {
                        queued[to] = true;
                        queue.push_back(to);
                    }
                }
            }
        }
        best
    }

    /// Whether a path is allowed for a flow: hop by hop from a producer to the consumer, without a node twice, over
    /// usable hops.
    fn may_take(&self, flow: usize, path: &[usize]) -> bool {
        let flow = &self.problem.flows[flow];
        let (producers, usable) = match &flow.routes {
            AllowedLinks::Paths(paths) => return paths.iter().any(|p| p == path),
            AllowedLinks::Any { producers, usable } => (producers, usable),
        };
        let Some(first) = path.first() else { return false };
        let mut nodes = vec![self.edges[*first].from];
        for edge in path {
            let Edge { from, to, .. } = self.edges[*edge];
            let allowed = usable.as_ref().is_none_or(|u| u.contains(edge));
            let host = self.problem.hosts.contains(&to) && to != flow.consumer;
            if !allowed || host || nodes.last() != Some(&from) || nodes.contains(&to) {
                return false;
            }
            nodes.push(to);
        }
        producers.contains(&nodes[0]) && nodes.last() == Some(&flow.consumer)
    }
}

impl Allocation {
    /// The largest fraction that any flow could gain without lowering a flow with an equal or smaller rate. Only one
    /// level in `every` is checked.
    ///
    /// # Errors
    /// The first error: a path that is not allowed for a flow, an overloaded link, a flow without proof.
    pub fn check(&self, problem: &Problem, every: usize) -> Result<f64, CertificateError> {
        let network = Network::new(problem);
        self.check_carried(&network)?;
        let mut proved = vec![false; problem.flows.len()];
        let mut most = 0.0f64;
        for (i, level) in self.levels.iter().enumerate() {
            if i % every.max(1) == 0 {
                most = most.max(self.gain(&network, level)?);
            }
            level.flows.iter().for_each(|f| proved[*f] = true);
        }
        let free = vec![0.0; network.edges.len()];
        let mut found = Searches::new();
        for flow in (0..proved.len()).filter(|f| !proved[*f]) {
            if network.cheapest(flow, &free, &mut found).is_finite() {
                return Err(CertificateError::NoProof(problem.flows[flow].name.clone()));
            }
        }
        Ok(most)
    }

    fn check_carried(&self, network: &Network) -> Result<(), CertificateError> {
        let mut loads = vec![0.0; network.problem.links.len()];
        for (flow, paths) in self.paths.iter().enumerate() {
            let name = || network.problem.flows[flow].name.clone();
            let mut sum = 0.0;
            for (path, carried) in paths {
                if !network.may_take(flow, path) || *carried < 0.0 {
                    return Err(CertificateError::Path { flow: name(), path: path.clone(), carried: *carried });
                }
                sum += carried;
                for (link, weight) in path.iter().flat_map(|e| &network.edges[*e].charges) {
                    loads[*link] += weight * carried;
                }
            }
            if (sum - self.rates[flow]).abs() > 1e-7 * self.rates[flow] {
                return Err(CertificateError::Rate { flow: name(), rate: self.rates[flow], carried: sum });
            }
        }
        for (link, load) in network.problem.links.iter().zip(loads) {
            let rate = link.rate.mbps();
            if load > rate * (1.0 + LOAD_TOLERANCE) {
                return Err(CertificateError::Load { link: link.name.clone(), load, rate });
            }
        }
        Ok(())
    }

    /// The largest fraction that a flow of a level could gain.
    fn gain(&self, network: &Network, level: &Level) -> Result<f64, CertificateError> {
        let mut prices = vec![0.0; network.problem.links.len()];
        for (link, price) in &level.prices {
            if !(price.is_finite() && *price >= 0.0) {
                return Err(CertificateError::Price(*price));
            }
            prices[*link] = *price;
        }
        let worth: f64 = network.problem.links.iter().zip(&prices).map(|(l, p)| l.rate.mbps() * p).sum();
        let costs: Vec<f64> = (0..network.edges.len()).map(|e| network.price(e, &prices)).collect();
        let rate = |flow: &usize| self.rates[*flow];
        let highest = level.flows.iter().map(rate).fold(0.0, f64::max);
        let lowest = level.flows.iter().map(rate).fold(highest, f64::min);
        if lowest < highest {
            return Err(CertificateError::UnequalRates);
        }
        let mut found = Searches::new();
        let mut cheapest = |flow: usize| {
            // A used path whose cost is zero makes a search unnecessary.
            let free = |(path, _): &(Vec<usize>, f64)| path.iter().all(|e| costs[*e] == 0.0);
            if self.paths[flow].iter().any(free) { 0.0 } else { network.cheapest(flow, &costs, &mut found) }
        };
        let kept = (0..self.rates.len())
            .filter(|f| self.rates[*f] > 0.0 && self.rates[*f] <= highest * (1.0 + RATE_TOLERANCE));
        let paid: f64 = kept.map(|f| cheapest(f) * self.rates[f]).sum();
        let mut gain = |flow: &usize| match cheapest(*flow) * self.rates[*flow] {
            // No link limits the flow.
            0.0 => f64::INFINITY,
            cost => (worth - paid) / cost,
        };
        Ok(level.flows.iter().map(&mut gain).fold(0.0, f64::max))
    }
}

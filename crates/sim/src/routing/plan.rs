//! How much each prefix should send over each channel so that consumers have nearly max-min fair rates.
//!
//! The flows of a prefix can be exchanged for one another, as every producer answers all of them. What two of them send
//! over a link in opposite directions, or around a circle, can be left out without loss to either. So for any consumers
//! some order of the nodes for each prefix permits the same rates as all links in both directions do. To find it, rates
//! need not be exact: it is enough that the main direction of each link comes out.
//!
//! The method is that of Frank and Wolfe (*An algorithm for quadratic programming*, 1956), which traffic engineering
//! knows as the flow deviation method (Fratta, Gerla, Kleinrock, Networks 3(2), 1973): in each round all flows take the
//! cheapest path by the prices of links, with a rate that falls with the path's price, and prices follow from the mean
//! of all rounds so far.

use super::{Availability, leads_on};
use crate::network::{Network, PlanFor};
use crate::shortest::{Edge, ShortestPaths};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// How often all flows choose a path; of 100 some networks lose up to a tenth, 3,000 are no better.
const ROUNDS: usize = 300;
/// All rounds together visit at most so many channels: some seconds. In networks where fewer than one round is possible
/// nothing is planned.
const MOST_VISITS: usize = 20_000_000;
/// A node's path takes the time of about so many visits.
const VISITS_OF_A_PATH: usize = 4;
/// Links used by less than this fraction of the utilisation of the most used one have the price of this one: a price of
/// zero would attract any rate.
const LEAST_USE: f64 = 0.1;
/// Costs of paths are whole numbers; the most expensive channel has this one.
const MOST_COST: f64 = (1u64 << 40) as f64;
/// Shares of a prefix's traffic are whole numbers; all of it is this one.
const WHOLE: f64 = (1u64 << 32) as f64;

/// By prefix: channels with what is to be sent over each in the direction of Interests, in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan(Vec<Vec<(u32, u64)>>);

impl Plan {
    pub(super) fn new(
        network: &Network,
        topology: &Topology,
        up: &Availability,
        producers: &[Vec<u32>],
        plan_for: PlanFor,
    ) -> Plan {
        let mut loads = Loads::new(network, topology, producers.len());
        let demands = demands(network, topology, plan_for);
        let work = |demands: &Vec<(usize, f64)>| match demands.len() {
            0 => 0,
            nodes => topology.channels.len().saturating_add(VISITS_OF_A_PATH * nodes),
        };
        let visits = demands.iter().map(work).fold(0, usize::saturating_add);
        let rounds = (MOST_VISITS / visits.max(1)).min(ROUNDS);
        for round in 1..=rounds {
            let prices = loads.prices(topology);
            let most = prices.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            // At least one, so that of ways without a price the shorter one is taken.
            let costs: Vec<u64> = prices.iter().map(|price| (price / most * MOST_COST) as u64 + 1).collect();
            loads.begin(round as f64);
            let asked = producers.iter().zip(&demands).enumerate().filter(|(_, (_, demands))| !demands.is_empty());
            for (prefix, (producers, demands)) in asked {
                let paths = cheapest(topology, up, producers, &costs);
                loads.send(topology, prefix, &paths, demands, &prices);
            }
        }
        Plan(loads.sent.into_iter().map(main_directions).collect())
    }

    /// What a prefix is to send over a channel.
    pub(super) fn of(&self, prefix: usize) -> impl Fn(u32) -> u64 + '_ {
        let channels = self.0.get(prefix).map_or(&[][..], Vec::as_slice);
        move |channel| channels.binary_search_by_key(&channel, |sent| sent.0).map_or(0, |at| channels[at].1)
    }
}

/// By prefix, nodes with the number of consumers there, in ascending order.
fn demands(network: &Network, topology: &Topology, plan_for: PlanFor) -> Vec<Vec<(usize, f64)>> {
    let nodes = topology.faces.len();
    match plan_for {
        PlanFor::EveryNode => {
            let linked = (0..nodes).filter(|node| !topology.faces[*node].is_empty()).map(|node| (node, 1.0));
            vec![linked.collect(); network.prefixes as usize]
        }
        PlanFor::Consumers => {
            let mut demands = vec![Vec::new(); network.prefixes as usize];
            for consumer in &network.consumers {
                demands[consumer.prefix as usize].push((consumer.node, 1.0));
            }
            for demands in &mut demands {
                demands.sort_by_key(|demand| demand.0);
                demands.dedup_by(|more, kept| (more.0 == kept.0).then(|| kept.1 += more.1).is_some());
            }
            demands
        }
    }
}

/// The cheapest paths of Interests to any of the producers.
fn cheapest(topology: &Topology, up: &Availability, producers: &[u32], costs: &[u64]) -> ShortestPaths<u64> {
    let roots = producers.iter().map(|producer| *producer as usize).filter(|producer| up.nodes[*producer]);
    ShortestPaths::new(topology.faces.len(), roots, 0, |node, cost: u64| {
        let out: &[u32] = if leads_on(topology, node as u32, cost) { &topology.faces[node] } else { &[] };
        out.iter().filter_map(move |&out| {
            let id = out as usize ^ 1;
            let from = topology.channels[id].from as usize;
            let cost = cost.saturating_add(costs[id]);
            (up.channels[id] && up.nodes[from]).then_some(Edge { from, cost, id })
        })
    })
}

/// What was sent in all rounds so far; later ones count more.
struct Loads {
    /// By directed link: its rate over the mean one; infinite without a rate.
    capacities: Vec<f64>,
    /// By channel: the directed links that it crosses.
    crossed: Vec<Vec<u32>>,
    /// Bytes of an Interest for each byte of Data, on the wire.
    interest: f64,
    /// By directed link, times the sum of the rounds' weights.
    loads: Vec<f64>,
    /// By prefix and channel in the direction of Interests, likewise.
    sent: Vec<BTreeMap<u32, f64>>,
    weight: f64,
    weights: f64,
}

impl Loads {
    fn new(network: &Network, topology: &Topology, prefixes: usize) -> Loads {
        let rate = |link: usize| network.links[link / 2].directions()[link % 2].rate;
        let rates: Vec<f64> = (0..topology.directed_links.len())
            .map(|link| rate(link).map_or(f64::INFINITY, |rate| rate.bps().max(1) as f64))
            .collect();
        let finite = || rates.iter().copied().filter(|rate| rate.is_finite());
        let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
        // Sizes seldom differ within a network, and Interests hardly matter.
        let data = network.producers.first().map_or(1.0, |producer| f64::from(producer.size.max(1)));
        let interest = network.consumers.first().map_or(0.0, |consumer| f64::from(consumer.interest_size));
        Loads {
            capacities: rates.iter().map(|rate| rate / mean).collect(),
            crossed: (0..topology.channels.len() as u32).map(|channel| topology.route(channel)).collect(),
            interest: interest / data,
            loads: vec![0.0; rates.len()],
            sent: vec![BTreeMap::new(); prefixes],
            weight: 0.0,
            weights: 0.0,
        }
    }

    /// By channel in the direction of Interests: the price of a byte of Data. That of a link is the eighth power of its
    /// utilisation over its capacity: nearly a limit, yet smooth.
    fn prices(&self, topology: &Topology) -> Vec<f64> {
        let used = |(load, capacity): (&f64, &f64)| load / capacity / self.weights;
        let used: Vec<f64> = match self.weights > 0.0 {
            true => self.loads.iter().zip(&self.capacities).map(used).collect(),
            false => vec![1.0; self.loads.len()],
        };
        let least = LEAST_USE * used.iter().copied().fold(0.0, f64::max);
        let price = |(used, capacity): (&f64, &f64)| {
            let squared = used.max(least) * used.max(least);
            squared * squared * squared * squared / capacity
        };
        let prices: Vec<f64> = used.iter().zip(&self.capacities).map(price).collect();
        let sum = |channel: usize| self.crossed[channel].iter().map(|link| prices[*link as usize]).sum::<f64>();
        (0..topology.channels.len()).map(|channel| sum(channel ^ 1) + self.interest * sum(channel)).collect()
    }

    fn begin(&mut self, round: f64) {
        self.weight = round;
        self.weights += round;
    }

    /// Sends what consumers demand along the cheapest paths, each at the fourth root of the path's price less: a flow's
    /// share is nearly that of max-min fairness (α-fair with α = 4).
    fn send(
        &mut self,
        topology: &Topology,
        prefix: usize,
        paths: &ShortestPaths<u64>,
        demands: &[(usize, f64)],
        prices: &[f64],
    ) {
        // Nodes that send, by the cost of their paths: from the most distant one on, each is complete before it is
        // passed on.
        let mut open: BTreeMap<(Option<u64>, usize), f64> = BTreeMap::new();
        for &(node, consumers) in demands {
            let (mut at, mut price) = (node, 0.0);
            while let Some(channel) = paths.first_edge(at) {
                price += prices[channel];
                at = topology.channels[channel].to as usize;
            }
            if price > 0.0 {
                *open.entry((paths.cost(node), node)).or_default() += self.weight * consumers / price.sqrt().sqrt();
            }
        }
        while let Some(((_, node), rate)) = open.pop_last() {
            let Some(channel) = paths.first_edge(node) else { continue };
            *self.sent[prefix].entry(channel as u32).or_default() += rate;
            self.crossed[channel ^ 1].iter().for_each(|link| self.loads[*link as usize] += rate);
            self.crossed[channel].iter().for_each(|link| self.loads[*link as usize] += self.interest * rate);
            let next = topology.channels[channel].to as usize;
            *open.entry((paths.cost(next), next)).or_default() += rate;
        }
    }
}

/// What is left of a prefix's traffic once opposite directions of a channel are offset, as shares of all.
fn main_directions(sent: BTreeMap<u32, f64>) -> Vec<(u32, u64)> {
    let most = sent.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let offset = |(&channel, rate): (&u32, &f64)| {
        let more = rate - sent.get(&(channel ^ 1)).copied().unwrap_or_default();
        (more > 0.0).then(|| (channel, (more / most * WHOLE) as u64))
    };
    sent.iter().filter_map(offset).collect()
}

//! Which next hops each node has for each prefix.

mod order;
mod plan;

use crate::network::{Network, NetworkError, Routes};
use crate::shortest::{self, Edge};
use crate::topology::Topology;
use ndnweir_core::ids::FaceId;
use ndnweir_core::strategy::NextHop;
use plan::Plan;

/// Which directed links and nodes are up.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Availability {
    /// By channel.
    pub channels: Vec<bool>,
    /// By place.
    pub nodes: Vec<bool>,
}

impl Availability {
    /// With everything up.
    pub fn all(topology: &Topology) -> Availability {
        Availability { channels: vec![true; topology.channels.len()], nodes: vec![true; topology.faces.len()] }
    }
}

/// The cost from every node to the nearest of `targets`, never passing through `avoid` or a host; [`u64::MAX`] where
/// there is no path.
fn distances(topology: &Topology, up: &Availability, targets: &[u32], avoid: Option<u32>) -> Vec<u64> {
    let usable = |node: u32| up.nodes[node as usize] && avoid != Some(node);
    let roots = targets.iter().filter(|target| usable(**target)).map(|target| *target as usize);
    let costs = shortest::costs(topology.faces.len(), roots, 0, |node, distance: u64| {
        let out: &[u32] = if leads_on(topology, node as u32, distance) { &topology.faces[node] } else { &[] };
        out.iter().filter_map(move |&out| {
            // The neighbour sends to this node over the opposite channel.
            let id = out as usize ^ 1;
            let inward = topology.channels[id];
            let cost = distance.saturating_add(u64::from(inward.cost));
            (up.channels[id] && usable(inward.from)).then_some(Edge { from: inward.from as usize, cost, id })
        })
    });
    costs.into_iter().map(|cost| cost.unwrap_or(u64::MAX)).collect()
}

/// Whether neighbours may send through a node this far from the targets: a host accepts only what is for itself.
fn leads_on(topology: &Topology, node: u32, distance: u64) -> bool {
    distance == 0 || !topology.is_host(node)
}

/// Routing for one state of the network.
#[derive(Clone, Debug)]
pub struct Fibs<'a> {
    topology: &'a Topology,
    up: &'a Availability,
    routes: Routes,
    /// By prefix: the nodes that serve it.
    producers: Vec<Vec<u32>>,
    plan: Plan,
}

impl<'a> Fibs<'a> {
    /// Routing as the network has it. What concerns all prefixes together is computed here.
    pub fn new(network: &Network, topology: &'a Topology, up: &'a Availability) -> Fibs<'a> {
        let producers = producers(network);
        let routes = network.routing.routes;
        let plan = match routes {
            Routes::Planned(plan_for) => Plan::new(network, topology, up, &producers, plan_for),
            Routes::Shortest | Routes::KShortest(_) | Routes::LoopFree | Routes::None => Plan::default(),
        };
        Fibs { topology, up, routes, producers, plan }
    }

    /// The next hops of every node for a prefix, in ascending order of cost, then of the neighbour's and the face's
    /// number. A node that serves the prefix itself has none: its application comes first.
    pub fn next_hops(&self, prefix: u32) -> Vec<Vec<NextHop>> {
        let producers = self.producers.get(prefix as usize).map_or(&[][..], Vec::as_slice);
        let mut found = match self.routes {
            Routes::None => vec![Vec::new(); self.topology.faces.len()],
            Routes::Shortest => self.shortest(producers),
            Routes::KShortest(k) => self.k_shortest(producers, k as usize),
            Routes::LoopFree => self.nearer(producers),
            Routes::Planned(_) => {
                order::along_an_order(self.topology, self.up, producers, self.plan.of(prefix as usize))
            }
        };
        for &producer in producers {
            found[producer as usize].clear();
        }
        let hop = |c: Candidate| NextHop { face: FaceId(c.face), cost: u32::try_from(c.cost).unwrap_or(u32::MAX) };
        let sorted = found.into_iter().map(|mut hops| {
            hops.sort_unstable();
            hops.into_iter().map(hop).collect()
        });
        sorted.collect()
    }

    /// The neighbours of a node that are nearer than `most`.
    fn candidates(&self, node: u32, distances: &[u64], most: u64) -> impl Iterator<Item = Candidate> {
        let channels = self.topology.faces[node as usize].iter();
        channels.map(|&c| (c, self.topology.channels[c as usize])).filter_map(move |(c, channel)| {
            let beyond = distances[channel.to as usize];
            let usable = self.up.channels[c as usize] && beyond < most && leads_on(self.topology, channel.to, beyond);
            let cost = beyond.saturating_add(u64::from(channel.cost));
            usable.then_some(Candidate { cost, neighbour: channel.to, face: channel.out_face })
        })
    }

    fn shortest(&self, producers: &[u32]) -> Vec<Vec<Candidate>> {
        let distances = distances(self.topology, self.up, producers, None);
        let nodes = 0..self.topology.faces.len() as u32;
        nodes.map(|node| self.candidates(node, &distances, u64::MAX).min().into_iter().collect()).collect()
    }

    fn k_shortest(&self, producers: &[u32], k: usize) -> Vec<Vec<Candidate>> {
        let all = |node: u32| {
            if self.topology.faces[node as usize].is_empty() {
                return Vec::new();
            }
            let distances = distances(self.topology, self.up, producers, Some(node));
            let mut all: Vec<Candidate> = self.candidates(node, &distances, u64::MAX).collect();
            all.sort_unstable();
            all.truncate(k);
            all
        };
        (0..self.topology.faces.len() as u32).map(all).collect()
    }

    fn nearer(&self, producers: &[u32]) -> Vec<Vec<Candidate>> {
        let mut found: Vec<Vec<Candidate>> = vec![Vec::new(); self.topology.faces.len()];
        for producer in producers {
            let distances = distances(self.topology, self.up, &[*producer], None);
            for (node, found) in (0..).zip(&mut found) {
                for candidate in self.candidates(node, &distances, distances[node as usize]) {
                    let known = found.iter_mut().find(|known| known.face == candidate.face);
                    match known {
                        Some(known) => known.cost = known.cost.min(candidate.cost),
                        None => found.push(candidate),
                    }
                }
            }
        }
        found
    }
}

/// A possible next hop; ordered by preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    cost: u64,
    neighbour: u32,
    face: u16,
}

/// Checks that every consumer reaches a producer of its prefix when everything works.
///
/// # Errors
/// The first consumer that does not.
pub fn check_reachable(network: &Network, topology: &Topology) -> Result<(), NetworkError> {
    let up = Availability::all(topology);
    let producers = producers(network);
    let mut by_prefix: Vec<Option<Vec<u64>>> = vec![None; producers.len()];
    for (i, consumer) in network.consumers.iter().enumerate() {
        let (node, prefix) = (consumer.node, consumer.prefix as usize);
        let distances = by_prefix[prefix].get_or_insert_with(|| distances(topology, &up, &producers[prefix], None));
        if distances[node] == u64::MAX {
            return Err(NetworkError(format!(
                "consumer {i} on node {node} cannot reach any producer of prefix {prefix}"
            )));
        }
    }
    Ok(())
}

/// By prefix: the nodes that serve it.
fn producers(network: &Network) -> Vec<Vec<u32>> {
    let mut producers = vec![Vec::new(); network.prefixes as usize];
    for producer in &network.producers {
        producers[producer.prefix as usize].push(producer.node as u32);
    }
    producers
}

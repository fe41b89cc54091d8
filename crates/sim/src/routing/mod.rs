//! Which next hops each node has for each prefix.

mod order;
pub mod plan;

use crate::network::{NetworkError, Routes};
use crate::shortest::{Edge, ShortestPaths};
use crate::topology::Topology;
use ndnweir_core::ids::FaceId;
use ndnweir_core::strategy::NextHop;

/// Which directed links and nodes are up.
#[derive(Clone, Debug)]
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
pub fn distances(topology: &Topology, up: &Availability, targets: &[u32], avoid: Option<u32>) -> Vec<u64> {
    let usable = |node: u32| up.nodes[node as usize] && avoid != Some(node);
    let roots = targets.iter().filter(|target| usable(**target)).map(|target| *target as usize);
    let paths = ShortestPaths::new(topology.faces.len(), roots, 0, |node, distance: u64| {
        let out: &[u32] = if leads_on(topology, node as u32, distance) { &topology.faces[node] } else { &[] };
        out.iter().filter_map(move |&out| {
            // The neighbour sends to this node over the opposite channel.
            let id = out as usize ^ 1;
            let inward = topology.channels[id];
            let cost = distance.saturating_add(u64::from(inward.cost));
            (up.channels[id] && usable(inward.from)).then_some(Edge { from: inward.from as usize, cost, id })
        })
    });
    (0..topology.faces.len()).map(|node| paths.cost(node).unwrap_or(u64::MAX)).collect()
}

/// Whether neighbours may send through a node this far from the targets: a host accepts only what is for itself.
fn leads_on(topology: &Topology, node: u32, distance: u64) -> bool {
    distance == 0 || !topology.is_host(node)
}

/// The next hops of every node for a prefix served at `producers`, in ascending order of cost, then of the neighbour's
/// and the face's number. A node that serves the prefix itself has none: its application comes first.
pub fn next_hops(topology: &Topology, up: &Availability, producers: &[u32], routes: Routes) -> Vec<Vec<NextHop>> {
    let nodes = topology.faces.len() as u32;
    let mut found: Vec<Vec<Candidate>> = vec![Vec::new(); nodes as usize];
    let candidates = |node: u32, distances: &[u64], most: u64| {
        let channels = topology.faces[node as usize].iter().map(|&c| (c, topology.channels[c as usize]));
        let usable = channels.filter(|&(c, ch)| {
            let beyond = distances[ch.to as usize];
            up.channels[c as usize] && beyond < most && leads_on(topology, ch.to, beyond)
        });
        let usable = usable.map(|(_, ch)| {
            let cost = distances[ch.to as usize].saturating_add(u64::from(ch.cost));
            Candidate { cost, neighbour: ch.to, face: ch.out_face }
        });
        usable.collect::<Vec<_>>()
    };
    match routes {
        Routes::None => {}
        Routes::Shortest => {
            let distances = distances(topology, up, producers, None);
            for node in 0..nodes {
                found[node as usize].extend(candidates(node, &distances, u64::MAX).into_iter().min());
            }
        }
        Routes::KShortest(k) => {
            for node in (0..nodes).filter(|node| !topology.faces[*node as usize].is_empty()) {
                let distances = distances(topology, up, producers, Some(node));
                let mut all = candidates(node, &distances, u64::MAX);
                all.sort_unstable();
                all.truncate(k as usize);
                found[node as usize] = all;
            }
        }
        Routes::LoopFree => {
            for producer in producers {
                let distances = distances(topology, up, &[*producer], None);
                for node in 0..nodes {
                    for candidate in candidates(node, &distances, distances[node as usize]) {
                        let known = found[node as usize].iter_mut().find(|known| known.face == candidate.face);
                        match known {
                            Some(known) => known.cost = known.cost.min(candidate.cost),
                            None => found[node as usize].push(candidate),
                        }
                    }
                }
            }
        }
    }
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

/// Experiment.
pub fn planned(topology: &Topology, up: &Availability, producers: &[u32], flow: impl Fn(u32) -> u64) -> Vec<Vec<NextHop>> {
    let hop = |c: Candidate| NextHop { face: FaceId(c.face), cost: u32::try_from(c.cost).unwrap_or(u32::MAX) };
    order::candidates(topology, up, producers, flow).into_iter().map(|mut hops| {
        hops.sort_unstable();
        hops.into_iter().map(hop).collect()
    }).collect()
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
pub fn check_reachable(
    topology: &Topology,
    producers: &[Vec<u32>],
    consumers: impl Iterator<Item = (u32, u32)>,
) -> Result<(), NetworkError> {
    let up = Availability::all(topology);
    let mut by_prefix: Vec<Option<Vec<u64>>> = vec![None; producers.len()];
    for (i, (node, prefix)) in consumers.enumerate() {
        let targets = &producers[prefix as usize];
        let distances = by_prefix[prefix as usize].get_or_insert_with(|| distances(topology, &up, targets, None));
        if distances[node as usize] == u64::MAX {
            return Err(NetworkError(format!(
                "consumer {i} on node {node} cannot reach any producer of prefix {prefix}"
            )));
        }
    }
    Ok(())
}

//! The next hops that a scenario's routing gives, by names.

use ndnweir_scenario::Scenario;
use ndnweir_sim::NetworkError;
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use std::collections::BTreeMap;

/// A next hop of a node for a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node, by position.
    pub node: usize,
    /// The prefix.
    pub prefix: String,
    /// The neighbour, by position.
    pub neighbour: usize,
    /// What the cheapest way through the neighbour costs.
    pub cost: u32,
}

/// All next hops while the links at the positions `down` do not work, by node, then in the order of prefixes, then by
/// cost; neighbours over several links are there once.
///
/// # Errors
/// If the network has no valid topology.
pub fn routes(scenario: &Scenario, down: &[usize]) -> Result<Vec<Route>, NetworkError> {
    let mut network = scenario.network();
    // Both name links by position, and neither concerns routing.
    (network.media, network.cross) = (Vec::new(), Vec::new());
    let mut position = 0..;
    network.links.retain(|_| position.next().is_none_or(|position| !down.contains(&position)));
    let topology = Topology::new(&network)?;
    let up = Availability::all(&topology);
    let fibs = Fibs::new(&network, &topology, &up);
    let mut by_node: Vec<Vec<Route>> = vec![Vec::new(); scenario.nodes.len()];
    for (number, prefix) in (0..).zip(scenario.prefixes()) {
        for (node, hops) in fibs.next_hops(number).into_iter().enumerate() {
            let mut costs = BTreeMap::new();
            for hop in hops {
                let channel = topology.faces[node][hop.face.index()];
                let neighbour = topology.channels[channel as usize].to as usize;
                costs.entry(neighbour).and_modify(|cost: &mut u32| *cost = (*cost).min(hop.cost)).or_insert(hop.cost);
            }
            let mut costs: Vec<(usize, u32)> = costs.into_iter().collect();
            costs.sort_by_key(|&(neighbour, cost)| (cost, neighbour));
            let route = |(neighbour, cost)| Route { node, prefix: prefix.to_owned(), neighbour, cost };
            by_node[node].extend(costs.into_iter().map(route));
        }
    }
    Ok(by_node.into_iter().flatten().collect())
}

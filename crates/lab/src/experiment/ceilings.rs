//! The optimum of a scenario: over the next hops of its FIBs, and over any loop-free paths.

use super::outline::outline;
use crate::optimum::{AllowedLinks, Hop, Optimum, Physical, Problem};
use ndnweir_scenario::{Routes, Scenario};
use ndnweir_sim::NetworkError;
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use std::collections::BTreeMap;

/// The max-min fair rates of long-lived fetches.
pub(super) fn fair(scenario: &Scenario) -> Optimum {
    if scenario.nodes.iter().any(|node| node.kind.cache() > Some(0)) {
        return Optimum::undefined("nodes cache Data");
    }
    if !scenario.media.is_empty() {
        return Optimum::undefined("links share a medium");
    }
    if !scenario.cross.is_empty() {
        return Optimum::undefined("other traffic shares links");
    }
    if !scenario.events.is_empty() {
        return Optimum::undefined("the network changes during the run");
    }
    if scenario.consumers.iter().any(|c| !c.traffic.is_long_lived()) {
        return Optimum::undefined("not every consumer is a long-lived fetch");
    }
    // Before the routes are computed, which take memory for every flow and link.
    let physical = physical(scenario);
    if let Err(reason) = physical.check_size() {
        return Optimum::undefined(reason.to_string());
    }
    match routed(scenario) {
        Ok(routed) => {
            let (mut optimum, physical) = rayon::join(|| routed.solve(), || physical.solve());
            if optimum.undefined.is_none() {
                optimum.physical = Physical::of(physical);
            }
            optimum
        }
        Err(reason) => Optimum::undefined(reason.to_string()),
    }
}

/// The problem of long-lived consumers served by any producer of their prefix, over any loop-free paths.
pub fn physical(scenario: &Scenario) -> Problem {
    let producers = (scenario.consumers.iter().zip(scenario.sources()))
        .map(|(c, nodes)| (c.prefix.clone(), nodes.into_iter().map(|n| scenario.nodes[n].name.clone()).collect()))
        .collect();
    Problem::new(&outline(scenario), &producers)
}

/// The same over the next hops of the FIBs while all links and nodes work. If routing gives no next hops and strategies
/// find paths themselves, every neighbour is a next hop.
///
/// # Errors
/// If the network has no valid topology.
pub fn routed(scenario: &Scenario) -> Result<Problem, NetworkError> {
    let mut problem = physical(scenario);
    let network = scenario.network();
    let topology = Topology::new(&network)?;
    let wires = |channel: usize| topology.route(channel as u32).into_iter().map(|w| w as usize).collect();
    problem.hops = (0..topology.channels.len())
        .map(|c| Hop {
            from: topology.channels[c].from as usize,
            to: topology.channels[c].to as usize,
            data: wires(c),
            interests: wires(c ^ 1),
        })
        .collect();
    if scenario.routing.routes == Routes::None {
        return Ok(problem);
    }
    let up = Availability::all(&topology);
    let fibs = Fibs::new(&network, &topology, &up);
    let long_lived = network.consumers.iter().filter(|c| c.traffic.is_long_lived());
    let prefixes: Vec<u32> = long_lived.map(|c| c.prefix).collect();
    let mut by_prefix: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (flow, prefix) in problem.flows.iter_mut().zip(prefixes) {
        let leading = by_prefix.entry(prefix).or_insert_with(|| {
            let hops = fibs.next_hops(prefix);
            // Interests are sent to a next hop; Data return in the opposite direction.
            let leads = |c: &usize| {
                let interest = &topology.channels[c ^ 1];
                hops[interest.from as usize].iter().any(|hop| hop.face.0 == interest.out_face)
            };
            (0..topology.channels.len()).filter(leads).collect()
        });
        if let AllowedLinks::Any { usable, .. } = &mut flow.routes {
            *usable = Some(leading.clone());
        }
    }
    Ok(problem)
}

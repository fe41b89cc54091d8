//! Next hops along one order of the nodes: every link leads from the later end to the earlier one.

use super::{Availability, Candidate, leads_on};
use crate::topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next hops of every node towards `producers`, whatever is chosen of which never forms a loop: nodes are put into
/// an order, producers first, and every link to an earlier node is a next hop.
///
/// `flow` says how much is planned over each channel in the direction of Interests. A node takes its place once those
/// that it is to send to have theirs; of several such nodes the nearest along the order goes first, then the lowest
/// number. Where plans form a circle, the node that loses least goes first.
pub(super) fn candidates(
    topology: &Topology,
    up: &Availability,
    producers: &[u32],
    flow: impl Fn(u32) -> u64,
) -> Vec<Vec<Candidate>> {
    let nodes = topology.faces.len();
    let mut found = vec![Vec::new(); nodes];
    let mut placed = vec![false; nodes];
    let mut distances = vec![u64::MAX; nodes];
    // What is planned to nodes that have no place yet.
    let mut unmet: Vec<u64> = (topology.faces.iter())
        .map(|channels| channels.iter().map(|c| flow(*c)).fold(0, u64::saturating_add))
        .collect();
    let mut open = BinaryHeap::new();
    for &producer in producers.iter().filter(|p| up.nodes[**p as usize]) {
        (distances[producer as usize], unmet[producer as usize]) = (0, 0);
        open.push(Reverse((0, 0, producer)));
    }
    while let Some(Reverse((lost, distance, node))) = open.pop() {
        let n = node as usize;
        if placed[n] || lost != unmet[n] || distance != distances[n] {
            continue;
        }
        placed[n] = true;
        if !leads_on(topology, node, distance) {
            continue;
        }
        for &out in &topology.faces[n] {
            let id = out ^ 1;
            let inward = topology.channels[id as usize];
            let from = inward.from as usize;
            if !up.channels[id as usize] || !up.nodes[from] || placed[from] || distances[from] == 0 {
                continue;
            }
            let cost = distance.saturating_add(u64::from(inward.cost));
            found[from].push(Candidate { cost, neighbour: node, face: inward.out_face });
            distances[from] = distances[from].min(cost);
            unmet[from] = unmet[from].saturating_sub(flow(id));
            open.push(Reverse((unmet[from], distances[from], inward.from)));
        }
    }
    found
}

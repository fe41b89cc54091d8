//! Next hops along one order of the nodes.

use super::{Availability, Candidate, leads_on};
use crate::topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next hops of every node towards `producers` that no choice among them turns into a loop: the nodes are put into
/// one order, producers first, and every link to an earlier node is a next hop. Its cost is that of the cheapest way to
/// a producer over these next hops.
///
/// `planned` says how much is to be sent over each channel. A node takes its place once all nodes that it is to send to
/// have theirs, the cheapest first, then the lowest number: without a plan these are the costs of shortest paths. Where
/// plans form a circle, the node goes first that loses least.
pub(super) fn along_an_order(
    topology: &Topology,
    up: &Availability,
    producers: &[u32],
    planned: impl Fn(u32) -> u64,
) -> Vec<Vec<Candidate>> {
    let mut found = vec![Vec::new(); topology.faces.len()];
    let mut placed = vec![false; topology.faces.len()];
    let mut costs = vec![u64::MAX; topology.faces.len()];
    // What is to be sent to nodes that have no place yet.
    let sum = |channels: &Vec<u32>| channels.iter().map(|channel| planned(*channel)).fold(0, u64::saturating_add);
    let mut unmet: Vec<u64> = topology.faces.iter().map(sum).collect();
    let mut open = BinaryHeap::new();
    for &producer in producers.iter().filter(|producer| up.nodes[**producer as usize]) {
        (costs[producer as usize], unmet[producer as usize]) = (0, 0);
        open.push(Reverse((0, 0, producer)));
    }
    while let Some(Reverse((lost, cost, node))) = open.pop() {
        let at = node as usize;
        // An entry that no longer holds, or is there twice.
        if placed[at] || (lost, cost) != (unmet[at], costs[at]) {
            continue;
        }
        placed[at] = true;
        if !leads_on(topology, node, cost) {
            continue;
        }
        for id in topology.faces[at].iter().map(|out| out ^ 1) {
            let channel = topology.channels[id as usize];
            let from = channel.from as usize;
            if placed[from] || costs[from] == 0 || !up.channels[id as usize] || !up.nodes[from] {
                continue;
            }
            let through = cost.saturating_add(u64::from(channel.cost));
            found[from].push(Candidate { cost: through, neighbour: node, face: channel.out_face });
            costs[from] = costs[from].min(through);
            unmet[from] = unmet[from].saturating_sub(planned(id));
            open.push(Reverse((unmet[from], costs[from], channel.from)));
        }
    }
    found
}

//! Routing against brute force: every simple path of small random networks.

use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Duration, Rate};
use ndnweir_sim::bench::producer;
use ndnweir_sim::network::{Direction, Link, Network, NodeKind, Routes};
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn network(nodes: usize, links: &[(usize, usize, u32)]) -> Network {
    let direction = Direction::new(Rate::from_mbps(10.0), Duration::from_millis(1), Limit::Packets(10));
    let links = links.iter().filter(|(a, b, _)| a % nodes != b % nodes);
    let links = links.map(|&(a, b, cost)| Link { cost, ..Link::symmetric(a % nodes, b % nodes, direction.clone()) });
    Network { nodes: vec![NodeKind::Ndn { cache: 0 }; nodes], links: links.collect(), ..Network::default() }
}

/// The cheapest simple path from `from` to one of `targets`, by the face it leaves by.
fn cheapest(topology: &Topology, up: &Availability, from: u32, targets: &[u32]) -> BTreeMap<u16, (u64, u32)> {
    fn walk(
        topology: &Topology,
        up: &Availability,
        at: u32,
        cost: u64,
        visited: &mut Vec<u32>,
        targets: &[u32],
        found: &mut impl FnMut(u64),
    ) {
        if targets.contains(&at) {
            return found(cost);
        }
        if topology.is_host(at) {
            return;
        }
        for &channel in &topology.faces[at as usize] {
            let c = topology.channels[channel as usize];
            if up.channels[channel as usize] && !visited.contains(&c.to) {
                visited.push(c.to);
                walk(topology, up, c.to, cost + u64::from(c.cost), visited, targets, found);
                visited.pop();
            }
        }
    }
    let mut best = BTreeMap::new();
    for &channel in &topology.faces[from as usize] {
        let c = topology.channels[channel as usize];
        if !up.channels[channel as usize] {
            continue;
        }
        let mut least = u64::MAX;
        walk(topology, up, c.to, c.cost.into(), &mut vec![from, c.to], targets, &mut |cost| least = least.min(cost));
        if least < u64::MAX {
            best.insert(c.out_face, (least, c.to));
        }
    }
    best
}

fn distance(topology: &Topology, up: &Availability, from: u32, target: u32) -> u64 {
    if from == target {
        return 0;
    }
    cheapest(topology, up, from, &[target]).values().map(|v| v.0).min().unwrap_or(u64::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn routes_are_those_that_brute_force_finds(
        nodes in 2usize..7,
        links in prop::collection::vec((0usize..7, 0usize..7, 1u32..5), 1..12),
        producers in prop::collection::btree_set(0u32..7, 1..4),
        hosts in prop::collection::vec(prop::bool::weighted(0.3), 7),
        broken in prop::collection::vec(any::<bool>(), 12),
        k in 1u32..4,
    ) {
        let mut network = network(nodes, &links);
        for (node, _) in hosts.iter().enumerate().filter(|&(node, host)| *host && node < nodes) {
            network.nodes[node] = NodeKind::Host { cache: 0 };
        }
        let topology = Topology::new(&network).unwrap();
        let mut up = Availability::all(&topology);
        for (i, channel) in topology.channels.iter().enumerate() {
            up.channels[i] = !broken[channel.directed_link as usize / 2];
        }
        let mut producers: Vec<u32> = producers.into_iter().map(|p| p % nodes as u32).collect();
        producers.dedup();
        producers.sort_unstable();
        producers.dedup();
        network.prefixes = 1;
        network.producers = producers.iter().map(|node| producer(*node as usize, 0)).collect();
        let mut next_hops = |routes| {
            network.routing.routes = routes;
            Fibs::new(&network, &topology, &up).next_hops(0)
        };
        let shortest = next_hops(Routes::Shortest);
        let several = next_hops(Routes::KShortest(k));
        let loop_free = next_hops(Routes::LoopFree);
        for node in 0..nodes as u32 {
            let hops = |hops: &[ndnweir_core::strategy::NextHop]| {
                hops.iter().map(|h| (u64::from(h.cost), h.face.0)).collect::<Vec<_>>()
            };
            if producers.contains(&node) {
                prop_assert!(shortest[node as usize].is_empty() && loop_free[node as usize].is_empty());
                continue;
            }
            let mut expected: Vec<(u64, u32, u16)> =
                cheapest(&topology, &up, node, &producers).into_iter().map(|(f, (c, n))| (c, n, f)).collect();
            expected.sort_unstable();
            let expected: Vec<_> = expected.into_iter().map(|(cost, _, face)| (cost, face)).collect();
            prop_assert_eq!(hops(&shortest[node as usize]), expected[..expected.len().min(1)].to_vec());
            prop_assert_eq!(hops(&several[node as usize]), expected[..expected.len().min(k as usize)].to_vec());
            let mut alternatives = BTreeMap::new();
            for &producer in &producers {
                let own = distance(&topology, &up, node, producer);
                for &channel in &topology.faces[node as usize] {
                    let c = topology.channels[channel as usize];
                    let beyond = distance(&topology, &up, c.to, producer);
                    let leads_on = c.to == producer || !topology.is_host(c.to);
                    if up.channels[channel as usize] && beyond < own && leads_on {
                        let cost = alternatives.entry(c.out_face).or_insert(u64::MAX);
                        *cost = (*cost).min(beyond + u64::from(c.cost));
                    }
                }
            }
            let found: BTreeMap<u16, u64> =
                loop_free[node as usize].iter().map(|h| (h.face.0, u64::from(h.cost))).collect();
            prop_assert_eq!(found, alternatives);
        }
    }

    #[test]
    fn loop_free_next_hops_towards_one_producer_never_form_a_circle(
        nodes in 2usize..9,
        links in prop::collection::vec((0usize..9, 0usize..9, 1u32..4), 1..20),
    ) {
        let mut network = network(nodes, &links);
        (network.prefixes, network.producers) = (1, vec![producer(0, 0)]);
        network.routing.routes = Routes::LoopFree;
        let topology = Topology::new(&network).unwrap();
        let hops = Fibs::new(&network, &topology, &Availability::all(&topology)).next_hops(0);
        // Whichever next hop every node takes, each step comes nearer: peel off nodes all of whose next hops are done.
        let mut done = vec![false; nodes];
        done[0] = true;
        for _ in 0..nodes {
            for node in 0..nodes {
                let to = |face: u16| topology.channels[topology.faces[node][face as usize] as usize].to as usize;
                done[node] = done[node] || hops[node].iter().all(|hop| done[to(hop.face.0)]);
            }
        }
        prop_assert!(done.iter().all(|&d| d));
    }
}

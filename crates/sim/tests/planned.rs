//! Planned routing: no loops, whatever fails, and what it gives where it can be said by hand.

use crate::common;
use ndnweir_core::ctx::Rng;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::RunOptions;
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{Change, Consumer, Network, NodeKind, PlanFor, Retry, Routes, Traffic};
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use serde_json::json;

const ROUTER: NodeKind = NodeKind::Ndn { cache: 0 };
const BOTH: [Routes; 2] = [Routes::Planned(PlanFor::Consumers), Routes::Planned(PlanFor::EveryNode)];

fn stream() -> Traffic {
    Traffic::Stream { gap: Duration::from_millis(10), segments: None, retry: Retry::Never }
}

/// Links with rates in Mbit/s, a prefix for each list of producers, and consumers as nodes with their prefix.
fn network(
    nodes: &[NodeKind],
    links: &[(usize, usize, f64)],
    producers: &[&[usize]],
    consumers: &[(usize, u32)],
) -> Network {
    let links = links.iter().map(|&(a, b, mbps)| link(a, b, Rate::from_mbps(mbps), Duration::from_millis(5), 100));
    let serving = (0..).zip(producers).flat_map(|(prefix, nodes)| nodes.iter().map(move |&n| producer(n, prefix)));
    let mut network = Network {
        nodes: nodes.to_vec(),
        links: links.collect(),
        prefixes: producers.len() as u32,
        producers: serving.collect(),
        consumers: consumers.iter().map(|&(node, prefix)| consumer(node, prefix, stream())).collect(),
        ..Network::default()
    };
    network.routing.routes = BOTH[0];
    network
}

/// Next hops by prefix and node: neighbour and cost.
type Hops = Vec<Vec<Vec<(u32, u32)>>>;

fn hops(network: &Network, topology: &Topology, up: &Availability) -> Hops {
    let fibs = Fibs::new(network, topology, up);
    let to =
        |node: usize, hop: &NextHop| (topology.channels[topology.faces[node][hop.face.index()] as usize].to, hop.cost);
    let of_node = |(node, hops): (usize, Vec<NextHop>)| hops.iter().map(|hop| to(node, hop)).collect();
    let of = |prefix| fibs.next_hops(prefix).into_iter().enumerate().map(of_node).collect();
    (0..network.prefixes).map(of).collect()
}

/// Those of the first prefix while everything works.
fn whole(network: &Network) -> Vec<Vec<(u32, u32)>> {
    let topology = Topology::new(network).unwrap();
    hops(network, &topology, &Availability::all(&topology)).swap_remove(0)
}

/// A connected random network: routers, some hosts at the edge, one to three prefixes at one or two nodes.
fn random(number: u64) -> Network {
    let mut rng = Rng::derive(20, &[number]);
    let mut below = |n: usize| rng.below(n as u64) as usize;
    let nodes = 3 + below(10);
    let mut links: Vec<(usize, usize, f64)> = (1..nodes).map(|n| (below(n), n, (1 + below(30)) as f64)).collect();
    for _ in 0..below(2 * nodes) {
        // Parallel links are allowed.
        let (a, b, rate) = (below(nodes), below(nodes), (1 + below(30)) as f64);
        links.extend((a != b).then_some((a, b, rate)));
    }
    let hosts = below(3);
    let kinds: Vec<_> =
        (0..nodes + hosts).map(|node| if node < nodes { ROUTER } else { NodeKind::Host { cache: 0 } }).collect();
    for host in nodes..nodes + hosts {
        links.extend((0..1 + below(2)).map(|_| (below(nodes), host, (1 + below(30)) as f64)).collect::<Vec<_>>());
    }
    let producers: Vec<Vec<usize>> =
        (0..1 + below(3)).map(|_| (0..1 + below(2)).map(|_| below(nodes + hosts)).collect()).collect();
    let consumers: Vec<(usize, u32)> =
        (0..1 + below(8)).map(|_| (below(nodes + hosts), below(producers.len()) as u32)).collect();
    let producers: Vec<&[usize]> = producers.iter().map(Vec::as_slice).collect();
    let mut network = network(&kinds, &links, &producers, &consumers);
    network.routing.routes = BOTH[number as usize % 2];
    network.links.iter_mut().for_each(|link| link.cost = 1 + below(4) as u32);
    network
}

/// Which nodes an Interest from each node can reach a producer from, over links that are up and not through hosts.
fn reaches(network: &Network, topology: &Topology, up: &Availability, prefix: u32) -> Vec<bool> {
    let mut reaches = vec![false; network.nodes.len()];
    let serving = network.producers.iter().filter(|p| p.prefix == prefix && up.nodes[p.node]).map(|p| p.node);
    let mut open: Vec<usize> = serving.clone().collect();
    open.iter().for_each(|node| reaches[*node] = true);
    while let Some(node) = open.pop() {
        if network.nodes[node].is_host() && !serving.clone().any(|producer| producer == node) {
            continue;
        }
        for (id, channel) in topology.channels.iter().enumerate() {
            let from = channel.from as usize;
            if channel.to as usize == node && up.channels[id] && up.nodes[from] && !reaches[from] {
                reaches[from] = true;
                open.push(from);
            }
        }
    }
    reaches
}

/// Asserts that next hops never form a circle and that no node lacks them that can reach a producer.
fn assert_sound(network: &Network, topology: &Topology, up: &Availability, number: u64) {
    for (prefix, hops) in (0..).zip(hops(network, topology, up)) {
        let producers: Vec<usize> = network.producers.iter().filter(|p| p.prefix == prefix).map(|p| p.node).collect();
        let reaches = reaches(network, topology, up, prefix);
        for (node, hops) in hops.iter().enumerate().filter(|(node, _)| !producers.contains(node)) {
            assert_eq!(!hops.is_empty(), reaches[node], "network {number}, prefix {prefix}, node {node}");
        }
        // Nodes are done when all their next hops are: with a circle some never are.
        let mut done = vec![false; hops.len()];
        for _ in 0..hops.len() {
            for node in 0..hops.len() {
                done[node] = hops[node].iter().all(|hop| done[hop.0 as usize]);
            }
        }
        assert!(done.iter().all(|done| *done), "network {number}, prefix {prefix}: {hops:?}");
    }
}

#[test]
fn in_a_thousand_random_networks_no_choice_of_next_hops_loops_before_or_after_failures() {
    for number in 0..1000 {
        let network = random(number);
        let topology = Topology::new(&network).unwrap();
        let mut up = Availability::all(&topology);
        assert_sound(&network, &topology, &up, number);
        let mut rng = Rng::derive(21, &[number]);
        for _ in 0..3 {
            // A link fails, or now and then a node.
            if rng.below(4) == 0 {
                up.nodes[rng.below(network.nodes.len() as u64) as usize] = false;
            } else {
                let link = rng.below(network.links.len() as u64) as usize;
                (up.channels[2 * link], up.channels[2 * link + 1]) = (false, false);
            }
            assert_sound(&network, &topology, &up, number);
        }
    }
}

/// Interests meet a node again only if all FIBs change while they are on their way; of those there are none here: all
/// paths take less than 20 ms.
#[test]
fn interests_that_take_random_next_hops_meet_no_node_twice_in_a_thousand_random_networks_with_a_failure() {
    let scheme = Scheme::resolve("random", &json!({ "consumer": "fixed", "strategy": "random" })).unwrap();
    let ms = |ms| Time::ZERO + Duration::from_millis(ms);
    let mut interests = 0;
    for number in 0..1000 {
        let mut network = random(number);
        network.duration = Duration::from_millis(250);
        let failing = Rng::derive(22, &[number]).below(network.links.len() as u64) as usize;
        network.changes = vec![(ms(100), Change::LinkDown { link: failing })];
        network.routing.reaction = Some(Duration::from_millis(50));
        for direction in network.links.iter_mut().flat_map(|link| link.directions_mut()) {
            direction.delay = Duration::from_millis(1);
        }
        let later = network.consumers.clone();
        network.consumers.iter_mut().for_each(|consumer| consumer.stop = Some(ms(130)));
        network.consumers.extend(later.into_iter().map(|consumer| Consumer { start: ms(151), ..consumer }));
        // Consumers of one object would join each other's Interests.
        (0..).zip(&mut network.consumers).for_each(|(i, consumer)| consumer.object = i);
        // Some hosts are not joined with a producer, which is an error.
        let run = ndnweir_sim::run(&network, &scheme, number, &mut common::Recorder::default(), RunOptions::full());
        let Ok(outcome) = run else { continue };
        interests += outcome.nodes.iter().map(|node| node.interests).sum::<u64>();
        assert_eq!(outcome.nodes.iter().map(|node| node.loops).sum::<u64>(), 0, "network {number}");
    }
    assert!(interests > 100_000, "{interests}");
}

/// The producer 0, and the nodes 1 and 2, which are joined to it and to each other.
fn triangle(rates: [f64; 3], consumers: &[(usize, u32)]) -> Network {
    network(&[ROUTER; 3], &[(0, 1, rates[0]), (0, 2, rates[1]), (1, 2, rates[2])], &[&[0]], consumers)
}

#[test]
fn by_hand_a_link_between_equally_near_nodes_leads_away_from_the_consumer() {
    // All links are alike; nodes 1 and 2 are one hop from the producer. The consumer's node uses the other.
    let at_2 = whole(&triangle([10.0; 3], &[(2, 0)]));
    assert_eq!(at_2, [vec![], vec![(0, 1)], vec![(0, 1), (1, 2)]]);
    let at_1 = whole(&triangle([10.0; 3], &[(1, 0)]));
    assert_eq!(at_1, [vec![], vec![(0, 1), (2, 2)], vec![(0, 1)]]);
}

#[test]
fn by_hand_of_two_consumers_the_one_behind_the_slow_link_gets_the_link_between_them() {
    // 10 Mbit/s from node 1 to the producer, 2 from node 2: fair are 6 each, of which 4 cross from node 2 to node 1.
    let slow_2 = whole(&triangle([10.0, 2.0, 10.0], &[(1, 0), (2, 0)]));
    assert_eq!(slow_2, [vec![], vec![(0, 1)], vec![(0, 1), (1, 2)]]);
    let slow_1 = whole(&triangle([2.0, 10.0, 10.0], &[(1, 0), (2, 0)]));
    assert_eq!(slow_1, [vec![], vec![(0, 1), (2, 2)], vec![(0, 1)]]);
    // The same for every node, wherever consumers are.
    let mut blind = triangle([2.0, 10.0, 10.0], &[(2, 0)]);
    blind.routing.routes = Routes::Planned(PlanFor::EveryNode);
    assert_eq!(whole(&blind), slow_1);
}

#[test]
fn by_hand_after_a_failure_the_other_direction_of_a_link_is_used() {
    let network = triangle([10.0; 3], &[(2, 0)]);
    let topology = Topology::new(&network).unwrap();
    let mut up = Availability::all(&topology);
    // The link of node 1 to the producer.
    (up.channels[0], up.channels[1]) = (false, false);
    assert_eq!(hops(&network, &topology, &up), [[vec![], vec![(2, 2)], vec![(0, 1)]]]);
}

#[test]
fn without_consumers_next_hops_are_those_nearer_to_the_producer_and_one_direction_of_all_other_links() {
    for number in 0..200 {
        let mut network = random(number);
        network.consumers.clear();
        network.routing.routes = BOTH[0];
        network.producers.truncate(1);
        let planned = whole(&network);
        network.routing.routes = Routes::LoopFree;
        for (node, nearer) in whole(&network).iter().enumerate() {
            assert!(nearer.iter().all(|hop| planned[node].contains(hop)), "network {number}, node {node}");
        }
        let producer = network.producers[0].node;
        for link in &network.links {
            let leads = |from: usize, to: usize| planned[from].iter().filter(|hop| hop.0 as usize == to).count();
            let host = |node: usize| network.nodes[node].is_host() && node != producer;
            if !host(link.a) && !host(link.b) && link.a != link.b {
                assert!(leads(link.a, link.b) + leads(link.b, link.a) > 0, "network {number}: {link:?}");
                assert!(leads(link.a, link.b) == 0 || leads(link.b, link.a) == 0, "network {number}: {link:?}");
            }
        }
    }
}

#[test]
fn a_large_network_is_routed_without_a_plan_rather_than_late() {
    // 200 prefixes over 101,000 links are more than one round may visit.
    let nodes = vec![ROUTER; 1000];
    let links: Vec<_> = (0..101_000).map(|i| (i % 1000, (i % 1000 + 1 + i / 1000) % 1000, 10.0)).collect();
    let producers: Vec<&[usize]> = vec![&[0]; 200];
    let mut network = network(&nodes, &links, &producers, &[(500, 199)]);
    network.routing.routes = BOTH[1];
    let topology = Topology::new(&network).unwrap();
    let up = Availability::all(&topology);
    let hops = Fibs::new(&network, &topology, &up).next_hops(199);
    assert!(hops[0].is_empty() && hops[1..].iter().all(|hops| !hops.is_empty()));
}

#[test]
fn a_node_without_next_hops_after_a_failure_sends_again_once_routing_reacts() {
    // Node 2 may send to 1, so 1 not to 2, until its own link fails at 1 s and routing reacts 200 ms later.
    let mut network = triangle([10.0, 2.0, 10.0], &[(1, 0), (2, 0)]);
    network.duration = Duration::from_millis(2000);
    network.changes = vec![(Time::ZERO + Duration::from_millis(1000), Change::LinkDown { link: 0 })];
    (0..).zip(&mut network.consumers).for_each(|(i, consumer)| consumer.object = i);
    let scheme = Scheme::named("fixed").unwrap();
    let (_, recorder) = common::simulate(&network, &scheme, RunOptions::full());
    let arrived = |from: u64, to: u64| {
        let within = |at: Time| (from..to).contains(&(at.since(Time::ZERO).nanos() / 1_000_000));
        recorder.deliveries.iter().filter(|data| data.consumer.0 == 0 && within(data.at)).count()
    };
    assert!(arrived(0, 1000) > 90 && arrived(1020, 1200) == 0 && arrived(1200, 2000) > 70);
}

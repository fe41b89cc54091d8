//! Networks of many kinds, for trying the solver on what nobody tuned it on.

use super::super::draws::Draws;
use super::super::*;
use std::collections::BinaryHeap;

/// Both directions between two nodes, each of a rate in 10⁶ bit/s.
pub(super) fn link(links: &mut Vec<DirectedLink>, a: usize, b: usize, rate: f64) {
    for (from, to) in [(a, b), (b, a)] {
        let (name, reverse) = (format!("{from}>{to}"), Some(links.len() ^ 1));
        links.push(DirectedLink { name, from, to, rate: Rate::from_mbps(rate), reverse });
    }
}

/// How nodes are linked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Every node to an earlier one, then any two nodes.
    Mesh,
    /// Every node to two earlier ones, each as likely as it has links (Barabási and Albert, Science 286, 1999).
    ScaleFree,
    /// A square whose opposite sides are joined.
    Torus,
    /// Rings of 25 nodes, of which every fifth is on another ring.
    Rings,
    /// Nodes of a square, near ones the likelier (Waxman, IEEE JSAC 6(9), 1988).
    Waxman,
    /// A tenth of the nodes is a mesh with links of ten times the rate; others have links to two of them.
    TwoTier,
}

/// The rates of links, in 10⁶ bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rates {
    Equal,
    Four,
    /// Any rate from 10 to 100.
    Uniform,
}

/// Who fetches from whom.
#[derive(Clone, Copy, Debug)]
pub(super) enum Demand {
    Pairs,
    /// Nodes are as likely as they have links.
    Gravity,
    /// From one of 20 servers.
    Servers,
}

/// What data may cross.
#[derive(Clone, Copy, Debug)]
pub(super) enum Routing {
    /// Any loop-free path.
    Free,
    /// Nodes ever farther from the producer, by hops.
    Hops,
    /// The same with the delays of links, all different.
    Delays,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) shape: Shape,
    pub(super) rates: Rates,
    pub(super) demand: Demand,
    pub(super) routing: Routing,
}

fn ends(shape: Shape, nodes: usize, draws: &mut Draws) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let side = (1..).find(|side| side * side >= nodes).unwrap_or(1);
    match shape {
        Shape::Mesh => {
            all.extend((1..nodes).map(|a| (a, draws.below(a))));
            while all.len() < 2 * nodes {
                all.push((draws.below(nodes), draws.below(nodes)));
            }
        }
        Shape::ScaleFree => {
            let mut seats = vec![0];
            for a in 1..nodes {
                for _ in 0..2 {
                    let b = seats[draws.below(seats.len())];
                    all.push((a, b));
                    seats.extend([a, b]);
                }
            }
        }
        Shape::Torus => {
            for a in 0..nodes {
                let (row, column) = (a / side, a % side);
                let right = row * side + (column + 1) % side;
                all.push((a, if right < nodes { right } else { row * side }));
                all.push((a, if a + side < nodes { a + side } else { column }));
            }
        }
        Shape::Rings => {
            for a in 0..nodes {
                let next = if (a + 1) % 25 == 0 || a + 1 == nodes { a - a % 25 } else { a + 1 };
                all.push((a, next));
                if a % 5 == 0 {
                    all.push((a, draws.below(nodes)));
                }
            }
        }
        Shape::Waxman => {
            let places: Vec<(f64, f64)> = (0..nodes).map(|_| (draws.unit(), draws.unit())).collect();
            let far = |a: usize, b: usize| (places[a].0 - places[b].0).hypot(places[a].1 - places[b].1);
            for a in 1..nodes {
                let near = (0..a).min_by(|b, c| far(a, *b).total_cmp(&far(a, *c)));
                all.extend(near.map(|b| (a, b)));
            }
            while all.len() < 2 * nodes {
                let (a, b) = (draws.below(nodes), draws.below(nodes));
                if draws.unit() < libm::exp(-far(a, b) / 0.1) {
                    all.push((a, b));
                }
            }
        }
        Shape::TwoTier => {
            let core = nodes / 10;
            all.extend((1..core).map(|a| (a, draws.below(a))));
            while all.len() < 2 * core {
                all.push((draws.below(core), draws.below(core)));
            }
            for a in core..nodes {
                all.extend([(a, draws.below(core)), (a, draws.below(core))]);
            }
        }
    }
    all.retain(|(a, b)| a != b);
    all
}

/// The hops that lead away from a producer, by the costs of hops.
fn away(problem: &Problem, producer: usize, costs: &[usize]) -> Vec<usize> {
    let mut out_of = vec![Vec::new(); problem.nodes];
    problem.links.iter().enumerate().for_each(|(l, link)| out_of[link.from].push(l));
    let mut far = vec![usize::MAX; problem.nodes];
    let mut heap = BinaryHeap::from([(std::cmp::Reverse(0), producer)]);
    while let Some((std::cmp::Reverse(cost), node)) = heap.pop() {
        if cost >= far[node] {
            continue;
        }
        far[node] = cost;
        heap.extend(out_of[node].iter().map(|l| (std::cmp::Reverse(cost + costs[*l]), problem.links[*l].to)));
    }
    (0..problem.links.len()).filter(|l| far[problem.links[*l].from] < far[problem.links[*l].to]).collect()
}

/// A network of so many nodes and about four times as many directed links, with flows.
pub(super) fn network(kind: Kind, nodes: usize, flows: usize, seed: u64) -> Problem {
    let mut draws = Draws(seed);
    (0..10).for_each(|_| _ = draws.unit());
    let ends = ends(kind.shape, nodes, &mut draws);
    let mut links = Vec::new();
    for &(a, b) in &ends {
        let rate = match kind.rates {
            Rates::Equal => 10.0,
            Rates::Four => [10.0, 25.0, 40.0, 100.0][draws.below(4)],
            Rates::Uniform => 10.0 + 90.0 * draws.unit(),
        };
        let core = matches!(kind.shape, Shape::TwoTier) && a.max(b) < nodes / 10;
        link(&mut links, a, b, if core { 10.0 * rate } else { rate });
    }
    let delays: Vec<usize> = (0..ends.len()).flat_map(|_| [1000 + draws.below(9000)].repeat(2)).collect();
    let seats: Vec<usize> = ends.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let servers: Vec<usize> = (0..20).map(|_| draws.below(nodes)).collect();
    let sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1040, interest_wire_bytes: 32 };
    let mut problem = Problem { nodes, hosts: Vec::new(), links, hops: Vec::new(), flows: Vec::new(), sizes };
    while problem.flows.len() < flows {
        let (consumer, producer) = match kind.demand {
            Demand::Pairs => (draws.below(nodes), draws.below(nodes)),
            Demand::Gravity => (seats[draws.below(seats.len())], seats[draws.below(seats.len())]),
            Demand::Servers => (draws.below(nodes), servers[draws.below(20)]),
        };
        if consumer == producer {
            continue;
        }
        let usable = match kind.routing {
            Routing::Free => None,
            Routing::Hops => Some(away(&problem, producer, &vec![1; delays.len()])),
            Routing::Delays => Some(away(&problem, producer, &delays)),
        };
        let routes = AllowedLinks::Any { producers: vec![producer], usable };
        problem.flows.push(FlowDemand { name: problem.flows.len().to_string(), consumer, routes });
    }
    problem
}

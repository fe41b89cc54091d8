//! Tests of the simplex against linear programs, and of certificates of small and large networks.

mod large;
mod networks;
mod room;

use super::draws::Draws;
use super::lp::Program;
use super::*;
use proptest::prelude::*;

/// Every node has links to two earlier ones, with few distinct rates, so that many links are equal; flows join random
/// nodes.
fn random(nodes: usize, flows: usize, sources: usize, seed: u64) -> Problem {
    let mut draws = Draws(seed);
    let mut links = Vec::new();
    for a in 1..nodes {
        for _ in 0..2 {
            let b = draws.below(a);
            let rates = [[10.0, 10.0], [10.0, 40.0], [25.0, 25.0], [100.0, 3.5]][draws.below(4)];
            for (from, to, rate) in [(a, b, rates[0]), (b, a, rates[1])] {
                let reverse = Some(links.len() ^ 1);
                links.push(DirectedLink {
                    name: format!("{from}>{to}"),
                    from,
                    to,
                    rate: Rate::from_mbps(rate),
                    reverse,
                });
            }
        }
    }
    let sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1040, interest_wire_bytes: 32 };
    let mut problem = Problem { nodes, hosts: Vec::new(), links, hops: Vec::new(), flows: Vec::new(), sizes };
    for i in 0..flows {
        let consumer = draws.below(nodes);
        let mut producers: Vec<usize> = (0..sources).map(|_| draws.below(nodes)).collect();
        producers.iter_mut().filter(|p| **p == consumer).for_each(|p| *p = (*p + 1) % nodes);
        let all = problem.links.len();
        let usable = match draws.below(4) {
            0 => Some((0..all).filter(|_| draws.below(4) > 0).collect()),
            _ => None,
        };
        problem.flows.push(FlowDemand {
            name: i.to_string(),
            consumer,
            routes: AllowedLinks::Any { producers, usable },
        });
    }
    problem
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn one_simplex_gives_what_successive_programs_give_and_proves_it(
        nodes in 2usize..9, flows in 1usize..9, sources in 1usize..3, seed in any::<u64>(),
    ) {
        let mut problem = random(nodes, flows, sources, seed);
        let gain = problem.allocate().unwrap().check(&problem, 1).unwrap();
        prop_assert!(gain < 1e-3, "a flow could gain {gain}");
        // A flow may gain 30 times what another loses where Interests are that much smaller than Data, and the next 30
        // times that: then the successive programs, which relax, do not give the fair rates.
        problem.sizes.interest_wire_bytes = 400;
        let found = problem.allocate().unwrap();
        let gain = found.check(&problem, 1).unwrap();
        prop_assert!(gain < 1e-3, "a flow could gain {gain}");
        let exact = Program::new(&problem).max_min().unwrap();
        // Each program relaxes the results of earlier ones; a late flow may gain the sum of what the others lose by
        // that.
        let total: f64 = exact.iter().sum();
        for (a, b) in found.rates.iter().zip(&exact) {
            prop_assert!((a - b).abs() <= 1e-3 * total, "{:?} is not {exact:?}", found.rates);
        }
    }
}

#[test]
fn a_network_of_eighty_flows_and_four_hundred_links_is_solved_and_proved() {
    let problem = random(101, 80, 2, 7);
    assert_eq!(problem.links.len(), 400);
    let found = problem.allocate().unwrap();
    println!("{} steps, {} searches, {} levels", found.steps, found.searches, found.levels.len());
    let gain = found.check(&problem, 1).unwrap();
    assert!(gain < 0.01, "a flow could gain {gain}");
    assert!(found.steps < 20 * (80 + 400), "{} steps", found.steps);
    assert_eq!(found, problem.allocate().unwrap());
}

/// The time for larger networks: `FLOWS=150 cargo test --release -p ndnweir-lab --lib larger -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes in a debug build"]
fn a_larger_network_is_solved_and_proved() {
    let flows = std::env::var("FLOWS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let problem = random(flows + 1, flows, 1, 1);
    let found = problem.allocate().unwrap();
    println!(
        "{} links: {} steps, {} searches, {} levels",
        problem.links.len(),
        found.steps,
        found.searches,
        found.levels.len()
    );
    assert!(found.check(&problem, 10).unwrap() < 0.01);
}

#[test]
fn a_wrong_allocation_is_not_proved() {
    let problem = random(12, 6, 1, 3);
    let right = problem.allocate().unwrap();
    assert!(right.check(&problem, 1).unwrap() < 1e-4);
    // The last flow has less than its fair rate.
    let mut low = right.clone();
    let flow = low.levels.last().unwrap().flows[0];
    low.rates[flow] *= 0.9;
    low.paths[flow].iter_mut().for_each(|p| p.1 *= 0.9);
    assert!(low.check(&problem, 1).map_or(true, |gain| gain > 0.05));
    // The last flow has more: a link is overloaded.
    let mut high = right.clone();
    high.rates[flow] *= 1.1;
    high.paths[flow].iter_mut().for_each(|p| p.1 *= 1.1);
    assert!(high.check(&problem, 1).unwrap_err().to_string().contains("carries"));
    let mut silent = right.clone();
    silent.levels.pop();
    assert!(silent.check(&problem, 1).unwrap_err().to_string().contains("nothing limits"));
    let mut elsewhere = right;
    elsewhere.paths[flow][0].0.reverse();
    elsewhere.paths[flow][0].0.push(0);
    assert!(elsewhere.check(&problem, 1).unwrap_err().to_string().contains("may not take"));
}

//! Allocations where links have room for Interests.

use super::super::large::{Roomy, outcome, roomy};
use super::super::*;
use super::networks::{Demand, Kind, Rates, Routing, Shape, link, network};

/// The number of flows that cannot gain 1 % even if no link carries more than it does here. Where links may carry 10⁻³
/// more than their rate, the certificate may prove rates that depend on it; this does not.
fn firm(problem: &Problem, found: &Allocation) -> usize {
    let paths = paths::Paths::new(problem);
    let mut loads = vec![0.0; problem.links.len()];
    for (path, rate) in found.paths.iter().flatten() {
        paths.charges(path).into_iter().for_each(|(l, v)| loads[l] += v * rate);
    }
    let loads: Vec<f64> = loads.iter().zip(&problem.links).map(|(load, link)| load.max(link.rate.mbps())).collect();
    let mut firm = 0;
    for level in &found.levels {
        let mut prices = vec![0.0; loads.len()];
        level.prices.iter().for_each(|(l, price)| prices[*l] = *price);
        let costs = paths.costs(&prices);
        let cheapest = |f: usize| paths.cheapest(f, &costs).map_or(0.0, |path| paths::path_cost(&path, &costs));
        let paid: Vec<f64> = found.rates.iter().enumerate().map(|(f, rate)| cheapest(f) * rate).collect();
        let rate = found.rates[level.flows[0]] * 1.001;
        let kept: f64 = paid.iter().zip(&found.rates).filter(|(_, r)| **r <= rate).map(|(paid, _)| paid).sum();
        let excess = prices.iter().zip(&loads).map(|(price, load)| price * load).sum::<f64>() - kept;
        firm += level.flows.iter().filter(|f| paid[**f] > 0.0 && excess <= MAX_GAIN * paid[**f]).count();
    }
    firm
}

/// Flows between random pairs over next hops that are nearer by delay.
fn next_hops(nodes: usize, seed: u64) -> Problem {
    let kind = Kind { shape: Shape::Mesh, rates: Rates::Equal, demand: Demand::Pairs, routing: Routing::Delays };
    network(kind, nodes, nodes, seed)
}

#[test]
fn a_flow_whose_interests_cross_a_full_link_gets_what_its_own_link_has_left() {
    // Two flows to one node and one to the other: x and y of 2.08·x + 0.032·y = 10 = 1.04·y + 0.064·x.
    let mut links = Vec::new();
    link(&mut links, 0, 1, 10.0);
    let flow = |consumer: usize| FlowDemand {
        name: consumer.to_string(),
        consumer,
        routes: AllowedLinks::Any { producers: vec![1 - consumer], usable: None },
    };
    let sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1040, interest_wire_bytes: 32 };
    let flows = vec![flow(1), flow(1), flow(0)];
    let problem = Problem { nodes: 2, hosts: Vec::new(), links, hops: Vec::new(), flows, sizes };
    let Roomy { found, data, error } = roomy(&problem, MAX_WORK).unwrap();
    for (rate, exact) in found.rates.iter().zip([4.66418, 4.66418, 9.32836]) {
        assert!((rate - exact).abs() < 1e-3 * exact, "{rate} is not {exact}");
    }
    assert!(error < 1e-3);
    assert!(found.check(&data, 1).unwrap() < MAX_GAIN);
    // If Interests compete, the third flow stops with the others.
    for rate in problem.allocate().unwrap().rates {
        assert!((rate - 10.0 / 2.112).abs() < 1e-4 * rate, "{rate}");
    }
}

#[test]
fn rates_over_several_next_hops_are_proved_without_what_links_may_carry_in_excess() {
    for seed in 1..4 {
        let problem = next_hops(100, seed);
        let Roomy { found, data, error } = roomy(&problem, MAX_WORK).unwrap();
        assert!(found.check(&data, 1).unwrap() < MAX_GAIN);
        let firm = firm(&data, &found);
        println!("{firm} of 100, {} levels, {} steps, room off by {error}", found.levels.len(), found.steps);
        assert!(firm >= 95, "{firm}");
        assert!(error < 0.01, "{error}");
        // All links carry their Data and Interests, but for that error and what the simplex adds.
        for (load, link) in problem.loads(&found.paths).iter().zip(&problem.links) {
            assert!(*load <= 1.0 + error + 1e-4, "{} carries {load}", link.name);
        }
        let again = roomy(&problem, MAX_WORK).unwrap();
        assert_eq!((found, error), (again.found, again.error));
    }
}

#[test]
fn where_interests_alone_are_more_than_a_link_carries_there_is_no_such_estimate() {
    let mut problem = next_hops(100, 1);
    for (l, link) in problem.links.iter_mut().enumerate() {
        link.rate = Rate::from_mbps(if l % 2 == 0 { 10.0 } else { 0.1 });
    }
    assert!(roomy(&problem, MAX_WORK).is_ok_and(|found| found.error > 0.1));
    let (found, estimate) = (outcome(&problem, 100_000_000), "room");
    assert!(found.estimate.is_none_or(|(_, note)| !note.contains(estimate)));
}

#[test]
fn without_interests_there_is_no_room_and_rates_are_those_of_the_simplex() {
    let mut problem = next_hops(80, 2);
    problem.sizes.interest_wire_bytes = 0;
    let Roomy { found, data, error } = roomy(&problem, MAX_WORK).unwrap();
    assert_eq!((error, &data), (0.0, &problem));
    let exact = large::exact(&problem, u64::MAX, true).unwrap();
    for (a, b) in found.rates.iter().zip(&exact.rates) {
        assert!((a - b).abs() < 1e-3 * b, "{a} is not {b}");
    }
}

#[test]
fn where_interests_compete_without_a_proof_the_estimate_says_that_links_have_room_for_them() {
    let problem = next_hops(150, 2);
    let found = outcome(&problem, 100_000_000);
    assert!(found.found.is_err());
    let (found, note) = found.estimate.unwrap();
    assert!(note.starts_with("links have room for the Interests that cross them"), "{note}");
    assert!(found.rates.iter().all(|rate| *rate > 0.0));
    // Flows that may take any path are not restricted by routing.
    let mut free = problem;
    for flow in &mut free.flows {
        if let AllowedLinks::Any { usable, .. } = &mut flow.routes {
            *usable = None;
        }
    }
    let estimate = outcome(&free, 3_000_000).estimate;
    assert!(estimate.is_none_or(|(_, note)| !note.contains("room")));
}

#[test]
fn what_the_simplex_for_small_networks_loses_in_its_digits_the_one_for_large_ones_solves() {
    let problem = next_hops(60, 1);
    assert!(!problem.is_large());
    let lost = filling::fill(&problem).map(|found| found.check(&problem, 1));
    assert!(!matches!(lost, Ok(Ok(gain)) if gain <= MAX_GAIN), "{lost:?}");
    let optimum = problem.solve();
    assert_eq!((optimum.undefined, optimum.estimate), (None, None));
}

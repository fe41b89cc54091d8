//! The optimum against answers computed by hand or by another method.

use ndnweir_core::units::Rate;
use ndnweir_lab::optimum::{AllowedLinks, DirectedLink, FlowDemand, Optimum, Problem, Sizes, water_filling};
use proptest::prelude::*;

/// Content bits are wire bits and Interests are free, so that rates are plain numbers.
const PLAIN: Sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1000, interest_wire_bytes: 0 };

/// Links both ways for each (a, b, rate in 10⁶ bit/s): link 2·i runs from a to b.
fn problem(nodes: usize, links: &[(usize, usize, f64)], sizes: Sizes) -> Problem {
    let mut list = Vec::new();
    for (i, (a, b, rate)) in links.iter().enumerate() {
        for (from, to, at) in [(*a, *b, 2 * i), (*b, *a, 2 * i + 1)] {
            let name = format!("{from}>{to}");
            list.push(DirectedLink { name, from, to, rate: Rate::from_mbps(*rate), reverse: Some(at ^ 1) });
        }
    }
    Problem { nodes, hosts: Vec::new(), links: list, hops: Vec::new(), flows: Vec::new(), sizes }
}

fn any(problem: &mut Problem, name: &str, consumer: usize, producers: &[usize]) {
    let routes = AllowedLinks::Any { producers: producers.to_vec(), usable: None };
    problem.flows.push(FlowDemand { name: name.into(), consumer, routes });
}

fn rates(optimum: &Optimum) -> Vec<f64> {
    assert_eq!(optimum.undefined, None);
    optimum.consumers.iter().map(|c| c.goodput_mbps).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= 1e-5 * e.abs().max(1.0), "{found:?} is not {expected:?}");
    }
}

#[test]
fn two_flows_share_a_dumbbell_equally() {
    let mut p = problem(6, &[(0, 2, 100.0), (1, 2, 100.0), (2, 3, 10.0), (3, 4, 100.0), (3, 5, 100.0)], PLAIN);
    any(&mut p, "C1", 0, &[4]);
    any(&mut p, "C2", 1, &[5]);
    let optimum = p.solve();
    assert_close(&rates(&optimum), &[5.0, 5.0]);
    assert_close(&[optimum.total_mbps.unwrap(), optimum.max_total_mbps.unwrap()], &[10.0, 10.0]);
    assert_eq!(optimum.jain, Some(1.0));
    let load = |name: &str| optimum.links.iter().find(|l| l.name == name).unwrap().utilization;
    assert_close(&[load("3>2"), load("2>3"), load("4>3")], &[1.0, 0.0, 0.05]);
}

#[test]
fn no_path_leads_through_a_host() {
    // Two ways from 0 to 3, one of them over the host 2.
    let mut p = problem(4, &[(0, 1, 10.0), (1, 3, 10.0), (0, 2, 10.0), (2, 3, 10.0)], PLAIN);
    any(&mut p, "C", 0, &[3]);
    assert_close(&rates(&p.solve()), &[20.0]);
    p.hosts = vec![2, 0, 3];
    assert_close(&rates(&p.solve()), &[10.0]);
    assert!(p.allocate().unwrap().check(&p, 1).unwrap() < 1e-4);
}

#[test]
fn headers_and_interests_are_paid_for() {
    // Data in one direction only: 10 Mbit/s carry 1024 payload bytes of every 1080 on the wire.
    let sizes = Sizes { payload_bytes: 1024, data_wire_bytes: 1080, interest_wire_bytes: 40 };
    let mut p = problem(3, &[(0, 1, 10.0), (1, 2, 10.0)], sizes);
    any(&mut p, "C", 0, &[2]);
    assert_close(&rates(&p.solve()), &[10.0 * 1024.0 / 1080.0]);
    // Both ways: each direction also carries the other's Interests.
    any(&mut p, "D", 2, &[0]);
    let both = 10.0 * 1024.0 / 1120.0;
    assert_close(&rates(&p.solve()), &[both, both]);
}

#[test]
fn the_long_flow_of_a_parking_lot_gets_as_much_as_the_short_ones() {
    let mut p = problem(4, &[(0, 1, 9.0), (1, 2, 9.0), (2, 3, 9.0)], PLAIN);
    any(&mut p, "long", 0, &[3]);
    for (name, i) in [("a", 0), ("b", 1), ("c", 2)] {
        any(&mut p, name, i, &[i + 1]);
    }
    let optimum = p.solve();
    assert_close(&rates(&optimum), &[4.5; 4]);
    // Without fairness the long flow yields to all three.
    assert_close(&[optimum.max_total_mbps.unwrap()], &[27.0]);
}

#[test]
fn rates_freeze_level_by_level() {
    // Three flows on a link of 6, one of which continues over a link of 1; the freed share goes to the others.
    let mut p = problem(4, &[(0, 1, 6.0), (1, 2, 1.0), (1, 3, 100.0)], PLAIN);
    any(&mut p, "slow", 0, &[2]);
    any(&mut p, "x", 0, &[3]);
    any(&mut p, "y", 0, &[3]);
    assert_close(&rates(&p.solve()), &[1.0, 2.5, 2.5]);
}

#[test]
fn two_disjoint_paths_add_up() {
    let mut p = problem(4, &[(0, 1, 10.0), (1, 3, 10.0), (0, 2, 4.0), (2, 3, 100.0)], PLAIN);
    any(&mut p, "C", 0, &[3]);
    assert_close(&rates(&p.solve()), &[14.0]);
    p.flows[0].routes = AllowedLinks::Paths(vec![vec![3, 1]]);
    assert_close(&rates(&p.solve()), &[10.0]);
    p.flows[0].routes = AllowedLinks::Paths(vec![vec![3, 1], vec![7, 5]]);
    assert_close(&rates(&p.solve()), &[14.0]);
}

#[test]
fn any_producer_of_the_prefix_may_serve() {
    let mut p = problem(3, &[(0, 1, 3.0), (0, 2, 5.0)], PLAIN);
    any(&mut p, "C", 0, &[1, 2]);
    assert_close(&rates(&p.solve()), &[8.0]);
}

#[test]
fn a_pooled_resource_is_split_three_quarters_to_one_quarter() {
    // C1..C3 are 0..2, R1..R3 3..5, R4..R7 6..9, R8..R11 10..13 with the producers; bottlenecks R4-R8 .. R7-R11.
    let mut links = vec![];
    for i in 0..3 {
        links.extend([(i, 3 + i, 100.0), (3 + i, 6 + i, 100.0), (3 + i, 7 + i, 100.0)]);
    }
    for i in 0..4 {
        links.push((6 + i, 10 + i, 10.0));
    }
    let mut p = problem(14, &links, PLAIN);
    for i in 0..3 {
        any(&mut p, ["C1", "C2", "C3"][i], i, &[10, 11, 12, 13]);
    }
    let optimum = p.solve();
    assert_close(&rates(&optimum), &[40.0 / 3.0; 3]);
    let load =
        |a: usize, b: usize| optimum.links.iter().find(|l| l.name == format!("{a}>{b}")).unwrap().utilization * 100.0;
    // All four links are full, so C1 takes 10 over R4 and the rest over R5, C3 alike over R7 and R6.
    assert_close(&[load(6, 3), load(7, 3), load(8, 5), load(9, 5)], &[10.0, 10.0 / 3.0, 10.0 / 3.0, 10.0]);
    assert!((load(6, 3) / (load(6, 3) + load(7, 3)) - 0.75).abs() < 1e-4);
    let (left, right) = (load(7, 4), load(8, 4));
    assert!((left / (left + right) - 0.5).abs() < 1e-4, "{left} {right}");
}

#[test]
fn what_has_no_optimum_says_why() {
    let mut p = problem(2, &[(0, 1, 1.0)], PLAIN);
    assert_eq!(p.solve().undefined.as_deref(), Some("no long-lived flow"));
    any(&mut p, "C", 0, &[0]);
    assert!(p.solve().undefined.unwrap().starts_with("C is at a producer"));
    p.flows[0].routes = AllowedLinks::Paths(vec![vec![9]]);
    assert!(p.solve().undefined.unwrap().contains("does not exist"));
    p.sizes.payload_bytes = 0;
    assert_eq!(p.solve().undefined.as_deref(), Some("packets without payload"));
    assert_eq!(Optimum::undefined("routers cache Data").total_mbps, None);
}

#[test]
fn an_unreachable_consumer_gets_nothing_and_the_others_their_share() {
    let mut p = problem(4, &[(0, 1, 8.0)], PLAIN);
    any(&mut p, "near", 0, &[1]);
    any(&mut p, "cut off", 2, &[1]);
    assert_close(&rates(&p.solve()), &[8.0, 0.0]);
}

#[test]
fn consumers_all_over_a_grid_share_the_links_of_their_producer() {
    // A 5×5 grid: the two links at the producer in its corner limit everybody.
    let at = |x: usize, y: usize| 5 * y + x;
    let mut links = vec![];
    for y in 0..5 {
        for x in 0..5 {
            if x < 4 {
                links.push((at(x, y), at(x + 1, y), 10.0));
            }
            if y < 4 {
                links.push((at(x, y), at(x, y + 1), 10.0));
            }
        }
    }
    let mut p = problem(25, &links, PLAIN);
    for node in 1..25 {
        any(&mut p, &format!("C{node}"), node, &[0]);
    }
    let optimum = p.solve();
    assert_close(&[optimum.total_mbps.unwrap()], &[20.0]);
    assert_close(&rates(&optimum), &[20.0 / 24.0; 24]);
}

/// Progressive filling in small steps: slow, crude, and nothing in common with either implementation.
fn crude(p: &Problem) -> Vec<f64> {
    const STEP: f64 = 1e-3;
    let paths: Vec<&Vec<usize>> =
        p.flows.iter().map(|f| if let AllowedLinks::Paths(l) = &f.routes { &l[0] } else { unreachable!() }).collect();
    let mut rates = vec![0.0; paths.len()];
    let mut grew = true;
    while grew {
        grew = false;
        for i in 0..rates.len() {
            let load = |l: usize| (0..rates.len()).filter(|j| paths[*j].contains(&l)).map(|j| rates[j]).sum::<f64>();
            if paths[i].iter().all(|l| load(*l) + STEP <= p.links[*l].rate.mbps()) {
                rates[i] += STEP;
                grew = true;
            }
        }
    }
    rates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Chains of random rates with flows between random ends.
    #[test]
    fn programs_water_filling_and_brute_force_agree_on_single_paths(
        capacities in proptest::collection::vec(1u32..=6, 2..6),
        ends in proptest::collection::vec((0usize..100, 0usize..100), 1..7),
    ) {
        let n = capacities.len() + 1;
        let links: Vec<(usize, usize, f64)> =
            capacities.iter().enumerate().map(|(i, c)| (i, i + 1, f64::from(*c))).collect();
        let mut p = problem(n, &links, PLAIN);
        for (i, (a, b)) in ends.iter().enumerate() {
            let (a, b) = (a % n, b % n);
            let (low, high) = if a == b { (a.min(n - 2), a.min(n - 2) + 1) } else { (a.min(b), a.max(b)) };
            // The consumer is at the lower end: Data comes down over the odd links.
            let path: Vec<usize> = (low..high).rev().map(|l| 2 * l + 1).collect();
            p.flows.push(FlowDemand { name: i.to_string(), consumer: low, routes: AllowedLinks::Paths(vec![path]) });
        }
        let exact = water_filling(&p);
        for (a, b) in exact.iter().zip(crude(&p)) {
            prop_assert!((a - b).abs() < 0.02, "{exact:?}");
        }
        // A second, equal path for the first flow forces the linear programs without changing the answer.
        let mut twice = p.clone();
        if let AllowedLinks::Paths(paths) = &mut twice.flows[0].routes {
            paths.push(paths[0].clone());
        }
        for (a, b) in exact.iter().zip(rates(&twice.solve())) {
            prop_assert!((a - b).abs() < 1e-4, "{exact:?}");
        }
    }
}

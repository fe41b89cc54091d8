//! Large networks: against the simplex for small ones, and where the work ends.

use super::super::draws::Draws;
use super::super::*;
use super::networks::{Demand, Kind, Rates, Routing, Shape, link, network};
use super::random;
use proptest::prelude::*;

fn fetch(consumer: usize, producers: &[usize]) -> FlowDemand {
    let routes = AllowedLinks::Any { producers: producers.to_vec(), usable: None };
    FlowDemand { name: format!("{consumer} from {producers:?}"), consumer, routes }
}

fn problem(nodes: usize, hosts: Vec<usize>, links: Vec<DirectedLink>, flows: Vec<FlowDemand>) -> Problem {
    let sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1040, interest_wire_bytes: 32 };
    Problem { nodes, hosts, links, hops: Vec::new(), flows, sizes }
}

/// A random mesh with links of few rates, or of one, whose flows fetch from any of five producers.
fn mesh(nodes: usize, links: usize, flows: usize, rates: &[f64], seed: u64) -> Problem {
    let (mut draws, mut all) = (Draws(seed), Vec::new());
    for a in 1..nodes {
        let (b, rate) = (draws.below(a), rates[draws.below(rates.len())]);
        link(&mut all, a, b, rate);
    }
    while all.len() < 2 * links {
        let (a, b, rate) = (draws.below(nodes), draws.below(nodes), rates[draws.below(rates.len())]);
        if a != b {
            link(&mut all, a, b, rate);
        }
    }
    let producers: Vec<usize> = (0..5).map(|_| draws.below(nodes / 2)).collect();
    let flows = (0..flows).map(|_| fetch(nodes / 2 + draws.below(nodes / 2), &producers)).collect();
    problem(nodes, Vec::new(), all, flows)
}

/// A random mesh with as many flows as nodes, between random pairs, and twice as many links.
fn pairs(nodes: usize, rates: &[f64], seed: u64) -> Problem {
    let mut problem = mesh(nodes, 2 * nodes, 0, rates, seed);
    let mut draws = Draws(seed + 1000);
    while problem.flows.len() < nodes {
        let (consumer, producer) = (draws.below(nodes), draws.below(nodes));
        if consumer != producer {
            problem.flows.push(fetch(consumer, &[producer]));
        }
    }
    problem
}

/// A fat tree of switches with `k` ports and links of 10 Mbit/s (Al-Fares et al., SIGCOMM 2008), with flows between
/// random hosts.
fn fat_tree(k: usize, flows: usize) -> Problem {
    let (mut draws, mut links, half) = (Draws(9), Vec::new(), k / 2);
    let hosts = k * half * half;
    let (edge, aggregation, core) = (hosts, hosts + k * half, hosts + 2 * k * half);
    for pod in 0..k {
        for switch in 0..half {
            for port in 0..half {
                let (low, high) = (edge + pod * half + switch, aggregation + pod * half);
                link(&mut links, (pod * half + switch) * half + port, low, 10.0);
                link(&mut links, low, high + port, 10.0);
                link(&mut links, high + switch, core + switch * half + port, 10.0);
            }
        }
    }
    let flow = |_| {
        let consumer = draws.below(hosts);
        fetch(consumer, &[(consumer + 1 + draws.below(hosts - 1)) % hosts])
    };
    let flows = (0..flows).map(flow).collect();
    problem(core + half * half, (0..hosts).collect(), links, flows)
}

/// The allocation of a problem that is large; no flow can gain 1 %, at any level.
fn proved(problem: &Problem) -> Allocation {
    assert!(problem.is_large());
    let found = problem.allocate().unwrap();
    let gain = found.check(problem, 1).unwrap();
    assert!(gain < MAX_GAIN, "a flow could gain {gain}");
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn large_networks_are_solved_as_small_ones_are(
        nodes in 2usize..9, flows in 1usize..9, sources in 1usize..3, seed in any::<u64>(), interests in any::<bool>(),
    ) {
        let mut problem = random(nodes, flows, sources, seed);
        if interests {
            problem.sizes.interest_wire_bytes = 400;
        }
        let exact = filling::fill(&problem).unwrap();
        for prepared in [false, true] {
            let found = large::exact(&problem, u64::MAX, prepared).unwrap();
            let gain = found.check(&problem, 1).unwrap();
            // Where Interests are 30 times smaller, the excess of a link lets a flow gain 30 times as much, and the
            // next one 30 times that: seldom, one network in thousands is off by some percent.
            let tolerance = if interests { MAX_GAIN } else { 0.1 };
            prop_assert!(gain < tolerance, "a flow could gain {gain}");
            for (a, b) in found.rates.iter().zip(&exact.rates) {
                prop_assert!((a - b).abs() <= tolerance * b, "{:?} is not {:?}", found.rates, exact.rates);
            }
        }
    }

    #[test]
    fn equal_flows_get_equal_rates_and_paths(flows in 1usize..6, seed in any::<u64>()) {
        let mut problem = random(8, flows, 2, seed);
        problem.sizes.interest_wire_bytes = 400;
        let twice: Vec<FlowDemand> = problem.flows.iter().chain(&problem.flows).cloned().collect();
        problem.flows = twice;
        let found = large::fill(&problem, u64::MAX).unwrap();
        prop_assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
        prop_assert_eq!(&found.rates[..flows], &found.rates[flows..]);
        prop_assert_eq!(&found.paths[..flows], &found.paths[flows..]);
    }
}

#[test]
fn a_thousand_flows_over_one_bottleneck_share_it() {
    let mut links = Vec::new();
    for node in 0..60 {
        link(&mut links, node, node + 1, if node == 30 { 10.0 } else { 1000.0 });
    }
    let flows = (0..1000).map(|i| fetch(i % 20, &[60 - i % 10])).collect();
    for rate in proved(&problem(61, Vec::new(), links, flows)).rates {
        assert!((rate - 10.0 / 1.04 / 1000.0).abs() < 1e-4 * rate, "{rate}");
    }
}

#[test]
fn several_paths_and_producers_add_up_for_many_flows() {
    // A ring of 60 nodes with a producer at 20 and at 40; all consumers at 0: one way to each, and both are full.
    let mut links = Vec::new();
    for node in 0..60 {
        link(&mut links, node, (node + 1) % 60, if node == 5 { 30.0 } else { 10.0 });
    }
    let found = proved(&problem(60, Vec::new(), links, vec![fetch(0, &[20, 40]); 1000]));
    assert!(found.paths.iter().all(|paths| paths.len() == 2));
    assert!((found.rates[999] - 20.0 / 1.04 / 1000.0).abs() < 1e-6, "{}", found.rates[999]);
}

#[test]
fn a_fat_tree_is_solved_and_a_changed_rate_is_not_proved() {
    let problem = fat_tree(6, 400);
    let found = proved(&problem);
    assert!(found.steps < 5 * 400, "{} steps", found.steps);
    assert_eq!(found, problem.allocate().unwrap());
    // A flow of the highest level with a twentieth less.
    let mut low = found.clone();
    let flow = low.levels.last().unwrap().flows[0];
    low.rates[flow] *= 0.95;
    low.paths[flow].iter_mut().for_each(|p| p.1 *= 0.95);
    assert!(low.check(&problem, 1).map_or(true, |gain| gain > MAX_GAIN));
    let mut silent = found;
    silent.levels.pop();
    assert!(silent.check(&problem, 1).unwrap_err().to_string().contains("nothing limits"));
}

#[test]
fn two_hundred_flows_of_a_prefix_over_a_thousand_links_of_equal_and_of_unequal_rates_are_solved() {
    for rates in [&[10.0][..], &[10.0, 25.0, 40.0, 100.0]] {
        let found = proved(&mesh(250, 500, 200, rates, 4));
        assert!(found.steps < 2 * 1200, "{} steps", found.steps);
    }
}

#[test]
fn paths_of_an_interior_point_method_save_most_steps_for_flows_between_random_pairs() {
    let problem = pairs(60, &[10.0, 25.0, 40.0, 100.0], 3);
    let [few, many] = [false, true].map(|prepared| large::exact(&problem, u64::MAX, prepared).unwrap());
    for (a, b) in few.rates.iter().zip(&many.rates) {
        assert!((a - b).abs() < 1e-3 * a, "{a} is not {b}");
    }
    for found in [&few, &many] {
        assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    }
    println!("{} and {} steps", few.steps, many.steps);
    assert!(2 * many.steps < few.steps, "{} and {} steps", few.steps, many.steps);
    assert_eq!(many, large::exact(&problem, u64::MAX, true).unwrap());
}

#[test]
fn an_interior_point_method_gets_by_with_links_of_any_rate_and_given_paths() {
    // A link without a rate, and rates from 1 bit/s to 1 Tbit/s; one flow's only path crosses the link without a rate.
    let mut links = Vec::new();
    for (node, rate) in [10.0, 1e-6, 1e6, 0.0, 10.0].into_iter().enumerate() {
        link(&mut links, node, (node + 1) % 5, rate);
    }
    let mut flows = vec![fetch(3, &[0]), fetch(3, &[0]), fetch(4, &[1, 2]), fetch(1, &[0])];
    flows[3].routes = AllowedLinks::Paths(vec![vec![0], vec![9, 7, 5, 3]]);
    let problem = problem(5, Vec::new(), links, flows);
    let found = large::exact(&problem, u64::MAX, true).unwrap();
    let exact = filling::fill(&problem).unwrap();
    assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    for (a, b) in found.rates.iter().zip(&exact.rates) {
        assert!((a - b).abs() <= 1e-3 * b, "{:?} is not {:?}", found.rates, exact.rates);
    }
}

#[test]
fn flows_that_routing_gives_one_path_need_no_simplex() {
    // A hub with 400 spokes; every tenth flow ends at a spoke that the hub does not reach.
    let (mut links, mut draws, hub) = (Vec::new(), Draws(3), 400);
    for spoke in 0..400 {
        link(&mut links, spoke, hub, [0.05, 1.0, 10.0, 10_000.0][draws.below(4)]);
    }
    let route = |i: usize| {
        let (consumer, producer) = (i % 400, (i * 7 + 1 + i / 400) % 400);
        let usable = if i.is_multiple_of(10) { vec![2 * producer] } else { vec![2 * producer, 2 * consumer + 1] };
        let routes = AllowedLinks::Any { producers: vec![producer], usable: Some(usable) };
        (consumer != producer).then(|| FlowDemand { name: i.to_string(), consumer, routes })
    };
    let problem = problem(401, Vec::new(), links, (0..1000).filter_map(route).collect());
    let rates = water_filling(&problem.only_paths().unwrap());
    let optimum = problem.solve();
    assert_eq!(optimum.undefined, None);
    for ((found, rate), flow) in optimum.consumers.iter().zip(&rates).zip(&problem.flows) {
        assert!((found.goodput_mbps - rate).abs() <= 1e-5 * rate);
        assert_eq!(flow.name.ends_with('0'), *rate == 0.0, "{}", flow.name);
    }
}

#[test]
fn work_is_limited_alike_on_every_machine() {
    let problem = random(60, 40, 1, 2);
    let (Err(first), Err(second)) = (large::fill(&problem, 300_000), large::fill(&problem, 300_000)) else {
        panic!("solved")
    };
    assert_eq!(first, second);
    assert!(first.to_string().contains("more than the allowed work"), "{first}");
}

/// `cargo test --release -p ndnweir-lab --lib random_pairs_of -- --ignored --nocapture` shows the times.
#[test]
#[ignore = "takes minutes in a debug build"]
fn flows_between_random_pairs_of_many_nodes_are_solved_and_proved() {
    for nodes in [200, 250, 300] {
        for (rates, seed) in [(&[10.0][..], 2), (&[10.0], 3), (&[10.0, 25.0, 40.0, 100.0], 2)] {
            let problem = pairs(nodes, rates, seed);
            let begin = std::time::Instant::now();
            let found = problem.allocate().unwrap();
            println!("{nodes} flows, {} levels: {} steps in {:?}", found.levels.len(), found.steps, begin.elapsed());
            assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
        }
    }
}

/// `cargo test --release -p ndnweir-lab --lib thousand_flows_and -- --ignored --nocapture` shows the times.
#[test]
#[ignore = "takes minutes in a debug build"]
fn a_thousand_flows_and_four_thousand_links_are_solved_and_proved() {
    let rates = [10.0, 25.0, 40.0, 100.0];
    let meshes = [1, 2, 3].map(|seed| mesh(1000, 2000, 1000, &rates, seed));
    for problem in meshes.into_iter().chain([mesh(1000, 2000, 1000, &[10.0], 4), fat_tree(14, 1000)]) {
        let begin = std::time::Instant::now();
        let found = problem.allocate().unwrap();
        println!("{} links: {} steps in {:?}", problem.links.len(), found.steps, begin.elapsed());
        assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    }
}

#[test]
fn approximate_rates_are_nearly_those_of_the_simplex_and_proved() {
    let problem = pairs(120, &[10.0], 2);
    let found = large::approximation::fill(&problem, 1_000_000_000).unwrap();
    assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    assert_eq!(found, large::approximation::fill(&problem, 1_000_000_000).unwrap());
    let exact = large::exact(&problem, u64::MAX, true).unwrap();
    for (a, b) in found.rates.iter().zip(&exact.rates) {
        assert!((a - b).abs() < 2e-3 * b, "{a} is not {b}");
    }
}

/// Rings in which some flows rise above the level that fills most links. How far they do depends on a thousandth of what
/// links carry: where 32 bytes of Interests bring 1000 of Data, and where many flows make room for one.
#[test]
fn few_flows_that_rise_above_most_have_other_rates_than_the_simplex_gives() {
    let kind = Kind { shape: Shape::Rings, rates: Rates::Uniform, demand: Demand::Pairs, routing: Routing::Free };
    let problem = network(kind, 150, 150, 1);
    let found = large::approximation::fill(&problem, 2_000_000_000).unwrap();
    assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    let exact = large::exact(&problem, u64::MAX, true).unwrap();
    let errors: Vec<f64> = found.rates.iter().zip(&exact.rates).map(|(a, b)| (a - b).abs() / b).collect();
    let few = errors.iter().filter(|error| **error > 0.01).count();
    let most = errors.iter().copied().fold(0.0, f64::max);
    println!("{few} of 150 are off by more than 1 %, one by {most}");
    assert!(few <= 7, "{few}");
    assert!(most < 0.2, "{most}");
}

/// The simplex limits all of them at their links, and no game has a level left to find.
#[test]
fn flows_that_are_all_limited_in_places_are_solved_and_proved() {
    let mut problem = mesh(60, 120, 0, &[1000.0], 1);
    for i in 0..40 {
        link(&mut problem.links, 60 + i, i, 1.0 + 0.1 * i as f64);
        problem.flows.push(fetch(60 + i, &[(i * 7 + 1) % 60]));
    }
    problem.nodes = 100;
    let found = large::approximation::fill(&problem, 1_000_000_000).unwrap();
    assert!(found.check(&problem, 1).unwrap() < MAX_GAIN);
    for (i, rate) in found.rates.iter().enumerate() {
        let own = (1.0 + 0.1 * i as f64) / 1.04;
        assert!((rate - own).abs() < 1e-4 * own, "{rate} is not {own}");
    }
}

#[test]
fn the_work_of_an_approximation_is_limited_alike_on_every_machine() {
    let problem = pairs(120, &[10.0], 2);
    let [first, second] = [0, 1].map(|_| large::approximation::fill(&problem, 60_000_000).unwrap_err());
    assert_eq!(first, second);
    assert!(first.to_string().contains("more than the allowed work"), "{first}");
}

#[test]
fn when_the_work_ends_links_can_carry_what_is_estimated_and_a_bound_is_given() {
    let mut problem = pairs(120, &[10.0], 2);
    let exact = large::exact(&problem, u64::MAX, true).unwrap();
    let fewer: Vec<FlowDemand> = problem.flows.iter().cycle().take(460).cloned().collect();
    problem.flows = fewer;
    // Each flow is there three or four times.
    let outcome = large::outcome(&problem, 90_000_000);
    assert!(matches!(outcome.found, Err(SolverError::Work { .. })), "{:?}", outcome.found);
    let (found, note) = outcome.estimate.unwrap();
    assert!(found.levels.is_empty());
    let flow = problem.flows[found.levels.len()].name.clone();
    // Paths and loads are right, and the first flow has no proof.
    assert_eq!(found.check(&problem, 1), Err(CertificateError::NoProof(flow)));
    println!("{note}");
    assert!(note.contains("of 460 flows had reached their rates"), "{note}");
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();
    let part = sum(&found.rates) / sum(&exact.rates);
    assert!((0.7..1.2).contains(&part), "{part}");
}

/// `cargo test --release -p ndnweir-lab --lib thousand_random_pairs -- --ignored --nocapture` shows the times.
#[test]
#[ignore = "takes minutes in a debug build"]
fn a_thousand_random_pairs_over_four_thousand_links_are_solved_and_proved() {
    let four = [10.0, 25.0, 40.0, 100.0];
    let equal = [2, 3, 4, 5].map(|seed| (&four[..1], seed));
    for (rates, seed) in equal.into_iter().chain([2, 3, 4].map(|seed| (&four[..], seed))) {
        let problem = pairs(1000, rates, seed);
        let begin = std::time::Instant::now();
        match problem.allocate() {
            Ok(found) => {
                let gain = found.check(&problem, 1).unwrap();
                println!("{rates:?}, {seed}: {} levels in {:?}", found.levels.len(), begin.elapsed());
                assert!(gain < MAX_GAIN, "{gain}");
            }
            Err(reason) => panic!("{rates:?}, {seed}: {reason}, after {:?}", begin.elapsed()),
        }
    }
}

/// Networks of many kinds, of which docs/metrics.md says on which constants were chosen: `cargo test --release -p
/// ndnweir-lab --lib many_kinds -- --ignored --nocapture` shows the times, and which are not solved.
#[test]
#[ignore = "takes minutes in a debug build"]
fn networks_of_many_kinds_are_solved_with_a_proof_or_not_at_all() {
    use {Demand::*, Rates::*, Routing::*, Shape::*};
    let kinds = [
        (ScaleFree, Equal, Pairs, Free, 1000),
        (ScaleFree, Four, Servers, Free, 1000),
        (Rings, Uniform, Pairs, Free, 1000),
        (Torus, Equal, Servers, Free, 1500),
        (Torus, Four, Pairs, Free, 1000),
        (Mesh, Uniform, Gravity, Free, 1000),
        (Mesh, Uniform, Pairs, Free, 600),
        (Waxman, Equal, Pairs, Free, 1000),
        (Waxman, Four, Gravity, Free, 1500),
        (TwoTier, Equal, Pairs, Free, 1000),
        (Mesh, Four, Pairs, Hops, 1000),
        (Mesh, Equal, Pairs, Delays, 1000),
        (ScaleFree, Equal, Pairs, Delays, 1000),
        (TwoTier, Equal, Pairs, Delays, 1000),
        (Mesh, Four, Gravity, Free, 1500),
        (Rings, Equal, Gravity, Free, 600),
        (TwoTier, Four, Servers, Free, 1000),
        (Mesh, Four, Servers, Delays, 1000),
    ];
    let (mut solved, mut with_room) = (0, 0);
    for (shape, rates, demand, routing, flows) in kinds {
        let kind = Kind { shape, rates, demand, routing };
        let problem = network(kind, 1000, flows, 1);
        let begin = std::time::Instant::now();
        let outcome = large::outcome(&problem, MAX_WORK);
        let found = outcome.found.map(|found| (found.levels.len(), found.check(&problem, 1)));
        let note = outcome.estimate.map(|(_, note)| note).unwrap_or_default();
        println!("{flows} flows, {kind:?}: {found:?} in {:?} {note}", begin.elapsed());
        solved += usize::from(found.is_ok_and(|(_, gain)| gain.is_ok_and(|gain| gain < MAX_GAIN)));
        with_room += usize::from(note.contains("links have room"));
    }
    println!("{solved} are solved and proved, and {with_room} with room for Interests");
    assert!(solved >= 11 && with_room >= 3);
}

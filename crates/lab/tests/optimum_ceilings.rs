//! The routed and the physical optimum, what flows attain of it, and ideal completion times.

use ndnweir_core::units::Rate;
use ndnweir_lab::experiment::{optimum, physical, routed};
use ndnweir_lab::optimum::{
    AllocationError, AllowedLinks, ConsumerOptimum, DirectedLink, FlowDemand, Optimum, Problem, ProblemError, Sizes,
    Transfer,
};
use ndnweir_scenario::{Scenario, Source, load};
use std::path::Path;

fn with(name: &str, set: &[&str]) -> Scenario {
    load(name, set).unwrap_or_else(|problems| panic!("{problems}"))
}

fn written(text: &str) -> Scenario {
    let source = Source::from_text("written", text, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    source.validate().unwrap_or_else(|problems| panic!("{problems}"))
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn routing_over_loop_free_next_hops_leaves_a_part_of_what_the_links_allow() {
    for (name, part) in [("abilene", 0.65), ("geant", 0.795)] {
        let scenario = with(name, &["routing.mode=all"]);
        let optimum = optimum(&scenario);
        let ratio = optimum.total_mbps.unwrap() / optimum.physical.unwrap().total_mbps;
        assert!((ratio - part).abs() < 0.015, "{name}: {ratio}");
        for problem in [physical(&scenario), routed(&scenario).unwrap()] {
            let found = problem.allocate().unwrap();
            assert!(found.check(&problem, 1).unwrap() < 1e-4);
        }
    }
}

#[test]
fn planned_routing_leaves_all_that_the_links_allow_and_without_a_demand_more_than_nearer_neighbours_do() {
    for (name, planned, blind) in [("abilene", 0.999, 0.94), ("geant", 0.999, 0.92)] {
        let shares = |set: &[&str]| {
            let scenario = with(name, set);
            let [routed, physical] = [routed(&scenario).unwrap(), physical(&scenario)].map(|p| p.allocate().unwrap());
            let shares =
                routed.rates.iter().zip(&physical.rates).map(|(routed, physical)| (routed / physical).min(1.0));
            shares.sum::<f64>() / routed.rates.len() as f64
        };
        let least = shares(&["routing.mode=planned"]);
        assert!(least > planned, "{name}: {least}");
        let of_all = shares(&["routing.mode=all"]);
        let for_all = shares(&["routing.mode=planned", "routing.plan-for=every-node"]);
        assert!(for_all > blind && of_all < 0.75, "{name}: {for_all} and {of_all}");
    }
}

#[test]
fn more_next_hops_never_lower_the_smallest_rate() {
    let least = |rates: &[ConsumerOptimum]| rates.iter().map(|c| c.goodput_mbps).fold(f64::MAX, f64::min);
    for name in ["abilene", "geant"] {
        let of = |mode: &str| optimum(&with(name, &[mode]));
        let (one, all) = (of("routing.mode=shortest"), of("routing.mode=all"));
        let physical = least(&all.physical.unwrap().consumers);
        let (one, all) = (least(&one.consumers), least(&all.consumers));
        assert!(one <= all && all <= physical && one < physical, "{name}: {one} {all} {physical}");
    }
}

const SQUARE: &str = r#"
name = "square"
[link-defaults]
rate = "10Mbps"
delay = "5ms"
[[node]]
name = "C"
[[node]]
name = "A"
[[node]]
name = "B"
[[node]]
name = "P"
[[link]]
ends = ["C", "A"]
[[link]]
ends = ["A", "P"]
[[link]]
ends = ["C", "B"]
[[link]]
ends = ["B", "P"]
cost = 3
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C1"
node = "C"
prefix = "/p"
"#;

#[test]
fn by_hand_a_square_has_one_routed_way_and_two_physical_ones() {
    let scenario = written(SQUARE);
    let found = optimum(&scenario);
    // 1024 of 1066 bytes on the wire are content; Interests use the other direction.
    let one = 10.0 * 1024.0 / 1066.0;
    assert_near(found.total_mbps.unwrap(), one);
    assert_near(found.physical.unwrap().total_mbps, 2.0 * one);
    let both = optimum(&written(&format!("{SQUARE}\n[routing]\nmode = \"k-shortest\"\nk = 2\n")));
    assert_near(both.total_mbps.unwrap(), 2.0 * one);
    let learning = optimum(&written(&format!("{SQUARE}\n[routing]\nmode = \"none\"\n")));
    assert_near(learning.total_mbps.unwrap(), 2.0 * one);
}

#[test]
fn what_flows_attain_is_measured_flow_by_flow() {
    // The parking lot: every flow's fair rate is half of a bottleneck; starving the long one raises the total beyond
    // it.
    let fair = optimum(&with("parking-lot", &[]));
    let half = fair.goodput("C0").unwrap();
    for consumer in &fair.consumers {
        assert_near(consumer.goodput_mbps, half);
    }
    let names = ["C0", "C1", "C2", "C3"];
    let starved = [0.2 * half, 1.8 * half, 1.8 * half, 1.8 * half];
    assert!(starved.iter().sum::<f64>() > fair.total_mbps.unwrap());
    let attained = fair.attained(names.into_iter().zip(starved)).unwrap();
    assert_near(attained.mean, (0.2 + 3.0) / 4.0);
    assert_near(attained.worst, 0.2);
    let all = fair.attained(names.into_iter().zip([half; 4])).unwrap();
    assert_near(all.mean, 1.0);
    assert_eq!(Optimum::undefined("caches").attained(names.into_iter().zip(starved)), None);
}

/// A chain of nodes with links of these rates, both ways, and flows over hops from..to (Data goes down, towards 0).
fn chain(rates: &[f64], flows: &[(usize, usize)], sizes: Sizes) -> Problem {
    let mut links = Vec::new();
    for (i, rate) in rates.iter().enumerate() {
        for (from, to) in [(i, i + 1), (i + 1, i)] {
            let reverse = Some(links.len() ^ 1);
            links.push(DirectedLink { name: format!("{from}>{to}"), from, to, rate: Rate::from_mbps(*rate), reverse });
        }
    }
    let flow = |(consumer, producer): &(usize, usize)| FlowDemand {
        name: format!("{consumer}-{producer}"),
        consumer: *consumer,
        routes: AllowedLinks::Any { producers: vec![*producer], usable: None },
    };
    let flows = flows.iter().map(flow).collect();
    Problem { nodes: rates.len() + 1, hosts: Vec::new(), links, hops: Vec::new(), flows, sizes }
}

const PLAIN: Sizes = Sizes { payload_bytes: 1000, data_wire_bytes: 1000, interest_wire_bytes: 0 };

fn transfer(start_s: f64, megabits: Option<f64>) -> Transfer {
    Transfer { start_s, payload_bytes: megabits.map(|m| (m * 1e6 / 8.0) as u64), latency_s: 0.0 }
}

#[test]
fn by_hand_fetches_that_overlap_share_and_the_last_one_speeds_up() {
    // 10 Mbit/s: A has 30 Mbit from 0 s, B 10 Mbit from 1 s. A alone until 1 s (20 left); both at 5 until 3 s, when B
    // ends (A has 10 left); A alone again until 4 s.
    let problem = chain(&[10.0], &[(0, 1), (0, 1)], PLAIN);
    let times = problem.completion_times(&[transfer(0.0, Some(30.0)), transfer(1.0, Some(10.0))]).unwrap();
    assert_near(times[0].unwrap(), 4.0);
    assert_near(times[1].unwrap(), 2.0);
}

#[test]
fn by_hand_a_fetch_next_to_an_endless_one_has_half() {
    let problem = chain(&[10.0], &[(0, 1), (0, 1)], PLAIN);
    let times = problem.completion_times(&[transfer(0.0, None), transfer(5.0, Some(10.0))]).unwrap();
    assert_eq!(times[0], None);
    assert_near(times[1].unwrap(), 2.0);
}

#[test]
fn by_hand_a_short_fetch_frees_a_link_that_others_take_over() {
    // Links of 6 and 10: the long flow over both, X on the first, Y on the second. 3, 3 and 7 until X has its 6 (2 s);
    // then the long flow and Y share the second link, 5 and 5: the long flow's 16 take 2 + 10/5 = 4 s, and Y has had 14
    // + 10. Y has 30: alone with 10 for the rest of 6, so 4.6 s.
    let problem = chain(&[6.0, 10.0], &[(0, 2), (0, 1), (1, 2)], PLAIN);
    let transfers = [transfer(0.0, Some(16.0)), transfer(0.0, Some(6.0)), transfer(0.0, Some(30.0))];
    let times = problem.completion_times(&transfers).unwrap();
    for (found, expected) in times.iter().zip([4.0, 2.0, 4.6]) {
        assert_near(found.unwrap(), expected);
    }
}

#[test]
fn by_hand_fetches_of_one_kind_have_equal_rates_and_come_back_to_combinations_that_were_solved() {
    // 12 and 6 Mbit/s. Three over the first link, of 12, 24 and 36 Mbit, have 4 each until 3 s; then 6 each, until the
    // second has its 12 more at 5 s; then the third is alone for its last 12, until 6 s. From 10 s on the same with one
    // over both links beside, of 6 Mbit: at first 3 of the four (2 s), then as before.
    let three = [(0, 1), (0, 1), (0, 1)];
    let problem = chain(&[12.0, 6.0], &[&three[..], &three, &[(0, 2)]].concat(), PLAIN);
    let sizes = [12.0, 24.0, 36.0];
    let mut transfers: Vec<Transfer> = sizes.map(|size| transfer(0.0, Some(size))).into();
    transfers.extend(sizes.map(|size| transfer(10.0, Some(size))));
    transfers.push(transfer(10.0, Some(6.0)));
    assert_eq!(problem.number_of_kinds(), 2);
    let times = problem.completion_times(&transfers).unwrap();
    // After 2 s 6, 18 and 30 are left: 4 each for 1.5 s, 6 each for 2 s, 12 for 1 s.
    for (found, expected) in times.iter().zip([3.0, 5.0, 6.0, 3.5, 5.5, 6.5, 2.0]) {
        assert_near(found.unwrap(), expected);
    }
}

#[test]
fn more_fetches_at_once_than_can_be_solved_again_and_again_are_not_tried() {
    // A thousand over 60 links in both directions.
    let problem = chain(&[10.0; 60], &[(0, 60); 1000], PLAIN);
    let found = problem.completion_times(&vec![transfer(0.0, Some(1.0)); 1000]).unwrap_err();
    assert_eq!(found, AllocationError::Problem(ProblemError::TooLarge { flows: 1000, links: 120 }));
}

#[test]
fn by_hand_a_lonely_fetch_takes_request_propagation_and_transmission() {
    // Ten Data of 1000 bytes on the wire over 8 and 4 Mbit/s, 10 ms each way each: Interests of 100 bytes take 0.1 and
    // 0.2 ms and 20 ms, the first Data 1 and 2 ms and 20 ms, the other nine 2 ms each.
    let sizes = Sizes { payload_bytes: 900, data_wire_bytes: 1000, interest_wire_bytes: 100 };
    let problem = chain(&[8.0, 4.0], &[(0, 2)], sizes);
    let latency = problem.latency(&[3, 1], &[0.01; 4]);
    assert_near(latency, 0.0003 + 0.02 + 0.02 + 0.001);
    let fetch = Transfer { start_s: 3.0, payload_bytes: Some(9000), latency_s: latency };
    let times = problem.completion_times(&[fetch]).unwrap();
    assert_near(times[0].unwrap(), 0.0403 + 0.003 + 9.0 * 0.002);
}

// A consumer fetches 1000 Data over two links of 10 Mbit/s and 5 ms, alone: 1000 · 0.8528 ms on the narrowest
// link, 10 ms up and 10 ms back, 25.6 µs for its first Interest on each link, 0.8528 ms for one Data on the other link.
#[test]
fn by_hand_an_object_alone_takes_its_transmission_and_one_round_trip() {
    let object = SQUARE.replace("[[consumer]]\n", "[[consumer]]\nkind = \"object\"\npackets = 1000\n");
    let found = optimum(&written(&object));
    assert!(found.undefined.is_some());
    let ideal = found.ideal_completion("C1").unwrap();
    assert_near(ideal, 1000.0 * 0.8528e-3 + 20e-3 + 2.0 * 25.6e-6 + 0.8528e-3);
    assert_near(found.slowdown("C1", 2.0 * ideal).unwrap(), 2.0);
    assert_eq!(found.slowdown("C2", 1.0), None);
    // An endless fetch beside it takes half of the link as long as the object lasts.
    let beside = "[[consumer]]\nname = \"C2\"\nnode = \"C\"\nprefix = \"/p/2\"\n";
    let both = optimum(&written(&format!("{object}\n{beside}")));
    let shared = both.ideal_completion("C1").unwrap();
    assert_near(shared, ideal + 1000.0 * 0.8528e-3);
    assert_eq!(both.ideal_completion("C2"), None);
}

#[test]
fn nothing_is_ideal_where_the_network_changes_or_nothing_ends() {
    assert!(optimum(&written(SQUARE)).completions.is_empty());
    let event = "[[event]]\nat = \"1s\"\naction = \"link-down\"\nlink = \"C-A\"\n";
    let object = SQUARE.replace("[[consumer]]\n", "[[consumer]]\nkind = \"object\"\npackets = 10\n");
    assert!(optimum(&written(&format!("{object}\n{event}"))).completions.is_empty());
    assert!(optimum(&written(&object.replace("packets = 10", "packets = 10\nstop = \"1s\""))).completions.is_empty());
}

/// Ends, rate in 10⁶ bit/s and delay in ms of each link of a drawn network.
const DRAWN: &str = "\
    0 1 24.6 7.77, 0 2 37.5 2.38, 1 3 13.5 1.84, 1 4 8.07 14.2, 0 5 15.7 0.843, 5 6 6.3 2.58, 4 7 8.19 27.0, \
    4 8 5.15 1.13, 0 9 3.81 15.8, 8 10 27.8 1.16, 2 11 2.41 2.69, 10 12 24.4 5.46, 7 13 12.6 2.52, \
    9 14 2.57 27.4, 12 15 13.0 7.7, 13 16 3.0 12.5, 6 17 12.4 7.47, 15 18 2.68 9.06, 2 19 35.1 5.4, \
    2 20 29.9 1.53, 0 8 8.98 10.6, 0 18 2.13 12.5, 12 17 24.9 0.854, 3 11 16.0 3.0, 6 7 3.51 25.2, \
    5 15 25.7 2.08, 7 16 26.6 17.1, 11 20 3.42 14.7, 6 13 17.7 2.92, 10 13 15.3 1.21, 14 18 30.5 17.3, \
    19 20 38.5 0.61, 16 20 19.3 2.5, 9 12 2.08 6.26, 9 19 8.34 4.89";

// The program over paths found no floor that held once rates were relaxed by 10⁻⁷.
#[test]
fn a_drawn_network_whose_programs_lose_their_digits_has_an_optimum() {
    let mut text = String::from("name = \"drawn\"\nrouting = { mode = \"all\", cost = \"delay\" }\n");
    (0..21).for_each(|node| text += &format!("[[node]]\nname = \"N{node}\"\n"));
    for link in DRAWN.split(", ") {
        let [one, other, rate, delay] = link.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{link}") };
        text += &format!("[[link]]\nends = [\"N{one}\", \"N{other}\"]\nrate = \"{rate}Mbps\"\ndelay = \"{delay}ms\"\n");
    }
    for (number, node) in [19, 7].into_iter().enumerate() {
        text += &format!("[[producer]]\nname = \"P{number}\"\nnode = \"N{node}\"\nprefix = \"/P{number}\"\n");
    }
    let consumers = [
        (16, 1),
        (9, 1),
        (1, 1),
        (14, 1),
        (10, 0),
        (4, 0),
        (13, 0),
        (9, 0),
        (0, 1),
        (12, 0),
        (17, 0),
        (7, 0),
        (9, 1),
        (4, 1),
    ];
    for (number, (node, producer)) in consumers.into_iter().enumerate() {
        text +=
            &format!("[[consumer]]\nname = \"C{number}\"\nnode = \"N{node}\"\nprefix = \"/P{producer}/{number}\"\n");
    }
    let optimum = optimum(&written(&text));
    assert_eq!(optimum.undefined, None);
    assert!(
        optimum.max_total_mbps >= optimum.total_mbps && optimum.links.iter().all(|link| link.utilization <= 1.0001)
    );
}

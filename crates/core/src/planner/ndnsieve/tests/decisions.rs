//! Single decisions, computed by hand.

use super::super::*;
use super::graph::{Bench, Graph};
use serde_json::{Value, json};

/// Router 0 leads to the producer at 3 by 1 (face 0) or 2 (face 1), both of two links; 4 is behind 0.
fn diamond(prefixes: usize) -> Graph {
    let link = |pairs: &[(u32, u16)]| pairs.to_vec();
    let mut graph = Graph {
        links: vec![
            link(&[(1, 0), (2, 0), (4, 0)]),
            link(&[(0, 0), (3, 0)]),
            link(&[(0, 1), (3, 1)]),
            link(&[(1, 1), (2, 1)]),
            link(&[(0, 2)]),
        ],
        hops: vec![Vec::new(); 5],
        silent: vec![false; 5],
        states: vec![
            vec![(0.0, 0.0); 3],
            vec![(0.0, 0.0); 2],
            vec![(0.0, 0.0); 2],
            vec![(0.0, 0.0); 2],
            vec![(0.0, 0.0)],
        ],
    };
    (0..prefixes).for_each(|_| graph.serve(3, 0));
    graph
}

/// The diamond with β and ε on the Data links 1 → 0 and 2 → 0.
fn bench(params: &Value, prefixes: usize, upper: (f64, f64), lower: (f64, f64)) -> Bench {
    let mut bench = Bench::new(params, diamond(prefixes));
    bench.graph.states[1][0] = upper;
    bench.graph.states[2][0] = lower;
    bench.report();
    bench
}

fn best(bench: &Bench, prefix: usize) -> u16 {
    bench.graph.hops[0][prefix][0].face.0
}

fn rate(bench: &mut Bench, prefix: u32, mbps: f64) {
    let (router, face, rate) = (RouterId(0), FaceId(0), Rate::from_mbps(mbps));
    bench.receive(&Message::PrefixRate { router, prefix: PrefixId(prefix), face, rate });
}

// Python: round(1000*0.95*10*exp(0.1)) = 10499; round(1000*0.5*10*exp(0.02)) = 5101.
#[test]
fn a_mild_signal_gives_the_shunt_router_the_metrics_of_its_paths() {
    let mut bench = bench(&json!({}), 1, (0.95, 0.1), (0.5, 0.02));
    bench.signal(1, 0);
    let hops = vec![NextHop { face: FaceId(1), cost: 5101 }, NextHop { face: FaceId(0), cost: 10499 }];
    assert_eq!(bench.orders, [Order { router: RouterId(0), prefix: PrefixId(0), hops, election: 1 }]);
    let tally = bench.planner.tally();
    assert_eq!((tally.signals, tally.acted, tally.switches), (1, 1, 1));
}

#[test]
fn the_largest_metric_of_a_path_counts_on_whichever_of_its_links() {
    let mut bench = bench(&json!({}), 1, (0.95, 0.0), (0.1, 0.0));
    // The Data link 3 → 2, behind the lower path: 0.96 is worse than 0.95, so nothing is better.
    bench.graph.states[3][1] = (0.96, 0.0);
    bench.report();
    bench.signal(1, 0);
    assert_eq!((best(&bench, 0), bench.planner.tally().not_better), (0, 1));
}

#[test]
fn severe_congestion_is_sieved_and_unknown_interfaces_are_ignored() {
    let mut severe = bench(&json!({}), 1, (1.2, 0.91), (0.0, 0.0));
    severe.signal(1, 0);
    severe.signal(1, 7);
    let tally = severe.planner.tally();
    assert_eq!((tally.signals, tally.sieved, tally.unknown, tally.acted), (2, 1, 1, 0));
    assert!(severe.orders.is_empty());
}

// 0.9 · 10 = 9 against 0.81 · 10 = 8.1 = 9 · 0.9: not more than 10 % better. 0.80 is.
#[test]
fn a_switch_needs_a_path_that_is_more_than_ten_percent_better() {
    for (lower, expected) in [(0.8101, 0), (0.80, 1)] {
        let mut bench = bench(&json!({}), 1, (0.9, 0.0), (lower, 0.0));
        bench.signal(1, 0);
        assert_eq!(best(&bench, 0), expected, "{lower}");
    }
}

#[test]
fn a_prefix_is_switched_at_most_once_per_period() {
    let mut bench = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    bench.signal(1, 0);
    assert_eq!(best(&bench, 0), 1);
    (bench.graph.states[1][0], bench.graph.states[2][0]) = ((0.0, 0.0), (0.9, 0.0));
    bench.now += Duration::from_millis(499);
    bench.report();
    bench.signal(2, 0);
    assert_eq!((best(&bench, 0), bench.planner.tally().held), (1, 1));
    bench.now += Duration::from_millis(1);
    bench.signal(2, 0);
    assert_eq!(best(&bench, 0), 0);
}

#[test]
fn a_refresh_switches_without_a_signal_unless_configured_not_to() {
    for (refresh_switches, expected) in [(true, 0), (false, 1)] {
        let mut bench = bench(&json!({ "refresh-switches": refresh_switches }), 1, (0.9, 0.0), (0.0, 0.0));
        bench.signal(1, 0);
        (bench.graph.states[1][0], bench.graph.states[2][0]) = ((0.0, 0.0), (0.9, 0.0));
        bench.now += Duration::from_millis(600);
        bench.report();
        bench.wake();
        assert_eq!(best(&bench, 0), expected);
    }
}

// One prefix of 9 Mbit/s on a link of 10. As printed 0.5 · 10 = 5 beats 0.9 · 10 = 9. With it the idle path would have
// (0.0 + 0.9) · 10 = 9 and the other (0.5 + 0.9) · 10 = 14; with 3 Mbit/s of it (0.5 + 0.3) · 10 = 8 < 0.9 · 9.
#[test]
fn a_path_is_compared_as_it_would_be_with_the_load_that_moves() {
    for (params, lower, mbps, expected) in [
        (json!({}), 0.5, 9.0, 1),
        (json!({ "moved-load": true }), 0.5, 9.0, 0),
        (json!({ "moved-load": true }), 0.0, 9.0, 0),
        (json!({ "moved-load": true }), 0.5, 3.0, 1),
    ] {
        let mut bench = bench(&params, 1, (0.9, 0.0), (lower, 0.0));
        rate(&mut bench, 0, mbps);
        bench.signal(1, 0);
        assert_eq!(best(&bench, 0), expected, "{params} {lower} {mbps}");
    }
}

// All of a full link's Data: 1.5 offered counts as 1 · 10 · e^0.4 = 14.9, and the idle path would have the same queue:
// 0.95 · 10 · e^(0.4 · 0.95) = 13.9 > 0.9 · 14.9 = 13.4. With a third of it, 0.32 · 10 · e^(0.4 · 0.32) = 3.6.
#[test]
fn the_queue_moves_with_its_share_of_the_load_and_offered_load_that_is_dropped_does_not() {
    for (mbps, expected) in [(9.5, 0), (3.2, 1)] {
        let mut bench = bench(&json!({ "moved-load": true }), 1, (1.5, 0.4), (0.0, 0.0));
        rate(&mut bench, 0, mbps);
        bench.signal(1, 0);
        assert_eq!(best(&bench, 0), expected, "{mbps}");
    }
}

// 9 Mbit/s of a prefix that has just been switched: 1 has come by the new face so far, 8 by the old one.
#[test]
fn data_that_comes_by_two_faces_after_a_switch_counts_whole() {
    let mut bench = bench(&json!({ "moved-load": true }), 1, (0.9, 0.0), (0.0, 0.0));
    rate(&mut bench, 0, 1.0);
    let (router, prefix, face, rate) = (RouterId(0), PrefixId(0), FaceId(1), Rate::from_mbps(8.0));
    bench.receive(&Message::PrefixRate { router, prefix, face, rate });
    bench.signal(1, 0);
    assert_eq!((best(&bench, 0), bench.planner.tally().not_better), (0, 1));
}

#[test]
fn without_a_measured_rate_no_load_is_moved() {
    let mut bench = bench(&json!({ "moved-load": true }), 1, (0.9, 0.0), (0.0, 0.0));
    bench.signal(1, 0);
    assert_eq!((best(&bench, 0), bench.planner.tally().not_better), (0, 1));
}

#[test]
fn the_prefix_of_the_highest_rate_is_chosen_and_random_choice_reaches_all() {
    let mut by_rate = bench(&json!({ "select": "highest-rate" }), 3, (0.9, 0.0), (0.0, 0.0));
    [1.0, 5.0, 3.0].into_iter().enumerate().for_each(|(prefix, mbps)| rate(&mut by_rate, prefix as u32, mbps));
    by_rate.signal(1, 0);
    assert_eq!([best(&by_rate, 0), best(&by_rate, 1), best(&by_rate, 2)], [0, 1, 0]);
    let chosen = |seed| {
        let mut bench = bench(&json!({}), 3, (0.9, 0.0), (0.0, 0.0));
        bench.rng = crate::ctx::Rng::derive(seed, &[]);
        bench.signal(1, 0);
        (0..3).find(|&prefix| best(&bench, prefix) == 1)
    };
    let all: BTreeSet<_> = (0..40).map(chosen).collect();
    assert_eq!(all, BTreeSet::from([Some(0), Some(1), Some(2)]));
}

#[test]
fn prefixes_of_lower_priority_and_with_traffic_are_moved_first() {
    let params = json!({ "select": "highest-rate", "priorities": [2, 1, 1] });
    let mut bench = bench(&params, 3, (0.9, 0.0), (0.0, 0.0));
    [9.0, 2.0, 0.0].into_iter().enumerate().for_each(|(prefix, mbps)| rate(&mut bench, prefix as u32, mbps));
    bench.signal(1, 0);
    assert_eq!([best(&bench, 0), best(&bench, 1), best(&bench, 2)], [0, 1, 0]);
}

// max(1, round(a · FIBNum)): 0.5 · 5 = 2.5, rounded away from zero to 3.
#[test]
fn a_share_of_the_fib_entries_is_selected_but_at_least_one() {
    assert_eq!([select::number(0.0, 5), select::number(0.5, 5), select::number(1.0, 0)], [1, 3, 1]);
}

#[test]
fn routers_silent_for_three_periods_are_ignored() {
    let mut late = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    late.now += Duration::from_millis(1500);
    late.signal(1, 0);
    assert_eq!(late.planner.tally().acted, 1, "after exactly three periods");
    let mut late = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    late.graph.silent[2] = true;
    late.now += Duration::from_millis(1501);
    late.report();
    late.signal(1, 0);
    assert_eq!(late.planner.tally().without_shunt, 1, "the other way leads past a router that is silent");
}

#[test]
fn a_failed_link_gives_everything_back_to_routing_and_holds_switches_for_a_second() {
    let mut bench = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    bench.signal(1, 0);
    assert_eq!(best(&bench, 0), 1);
    bench.now += Duration::from_millis(600);
    bench.link(4, 0, false);
    assert_eq!(best(&bench, 0), 0);
    bench.report();
    bench.signal(1, 0);
    assert_eq!((best(&bench, 0), bench.planner.tally().held), (0, 1));
    bench.now += Duration::from_millis(1000);
    bench.report();
    bench.signal(1, 0);
    assert_eq!(best(&bench, 0), 1);
}

#[test]
fn orders_are_repeated_every_period_until_they_are_answered() {
    let mut bench = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    bench.obedient = false;
    bench.signal(1, 0);
    bench.now += Duration::from_millis(500);
    bench.wake();
    let repeated = bench.orders.clone();
    assert_eq!(repeated.len(), 2);
    assert_eq!(repeated[0], repeated[1]);
    bench.apply(&repeated[1]);
    bench.report();
    bench.orders.clear();
    bench.now += Duration::from_millis(500);
    bench.wake();
    assert!(bench.orders.iter().all(|order| order.hops != repeated[0].hops), "{:?}", bench.orders);
}

#[test]
fn a_planner_that_learns_of_a_higher_election_gives_no_more_orders() {
    let mut bench = bench(&json!({}), 1, (0.9, 0.0), (0.0, 0.0));
    let (router, prefix, hops) = (RouterId(0), PrefixId(0), bench.graph.hops[0][0].clone());
    bench.receive(&Message::Answer { router, prefix, election: 2, hops });
    bench.signal(1, 0);
    bench.wake();
    assert!(bench.orders.is_empty());
    bench.planner.elect(3);
    bench.signal(1, 0);
    assert_eq!(bench.orders[0].election, 3);
}

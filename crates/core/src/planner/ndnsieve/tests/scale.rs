//! Operations on topologies of 100 to 1,000 routers, set against equations 6 to 8 of the paper.

use super::super::*;
use super::graph::{Bench, Graph};
use crate::ctx::Rng;

/// Every interface of every router signals in one detection period: the worst case of equation 7.
fn everything_signals(n: usize) -> (Bench, u64) {
    let mut dice = Rng::derive(n as u64, &[7]);
    let mut graph = Graph::random(n, n, &mut dice);
    for _ in 0..8 {
        let producer = dice.below(n as u64) as usize;
        graph.serve(producer, 1);
    }
    let mut bench = Bench::new(&serde_json::Value::Null, graph);
    bench.report();
    let mut interfaces = 0;
    for r in 0..n {
        for face in 0..bench.graph.links[r].len() {
            interfaces += 1;
            bench.signal(r, face);
        }
    }
    bench.assert_no_loop();
    (bench, interfaces)
}

#[test]
fn operations_on_100_to_1000_routers_stay_within_equations_7_and_8() {
    for n in [100, 300, 1000] {
        let (bench, interfaces) = everything_signals(n);
        let PlannerCounters { operations, signals, sieved, unknown, switches, .. } = bench.planner.tally();
        // Equation 7: one operation per signal, at most Σ n_l. Equation 8: N_mc calculations for the mild ones.
        assert_eq!((operations.filter, signals), (interfaces, interfaces));
        assert_eq!(operations.calculate, interfaces - sieved - unknown);
        assert!(switches > 0);
        // O_switch: one next hop of a shunt router each, so at most its interfaces; O_FSN: at most every router, link
        // and way once per prefix that is looked at.
        let widest = bench.graph.links.iter().map(Vec::len).max().unwrap_or(0) as u64;
        assert!(operations.switch <= operations.calculate * widest, "{operations:?}");
        assert!(operations.search <= operations.calculate * (n as u64 + 2 * interfaces), "{operations:?}");
        let per = |count: u64| count as f64 / operations.calculate as f64;
        println!(
            "{n} routers, {interfaces} interfaces: filter {}, N_mc {}, search {} ({:.1} each), switch {} ({:.2} each), {switches} switches",
            operations.filter,
            operations.calculate,
            operations.search,
            per(operations.search),
            operations.switch,
            per(operations.switch)
        );
    }
}

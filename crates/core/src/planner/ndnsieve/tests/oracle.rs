//! FindShuntNode against a search that tries every router, and orders against loops, on random graphs.

use super::super::*;
use super::graph::{Bench, Graph};
use crate::ctx::Rng;

/// A connected graph of 4 to 20 routers with 1 to 4 prefixes, some silent routers, some costs changed before.
fn graph(seed: u64) -> Graph {
    let mut dice = Rng::derive(seed, &[0]);
    let n = 4 + dice.below(17) as usize;
    let more = dice.below(n as u64 + 4) as usize;
    let mut graph = Graph::random(n, more, &mut dice);
    for _ in 0..=dice.below(3) {
        let producer = dice.below(n as u64) as usize;
        // With a slack of 2 even the return path is among the next hops.
        graph.serve(producer, dice.below(3) as u32);
    }
    if dice.unit() < 0.5 {
        graph.silent = (0..n).map(|_| dice.unit() < 0.15).collect();
    }
    graph
}

#[test]
fn the_shunt_router_is_the_one_a_brute_force_search_finds_on_2000_random_graphs() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..2000 {
        let mut bench = Bench::new(&serde_json::Value::Null, graph(seed));
        bench.report();
        let graph = bench.graph.clone();
        for r in 0..graph.routers() {
            for face in 0..graph.links[r].len() {
                for prefix in 0..graph.hops[r].len() {
                    let expected = graph.shunt((r, face as u16), prefix);
                    let link = (RouterId(r as u32), FaceId(face as u16));
                    let (prefix, NdnSieve { topology, cache, .. }) = (PrefixId(prefix as u32), &bench.planner);
                    let shunt = shunt::find_shunt(topology, cache, link, prefix, bench.now, &mut 0);
                    assert_eq!(shunt.map(|id| id.0 as usize), expected, "seed {seed}: {link:?} {prefix:?} {graph:?}");
                    *if expected.is_some() { &mut found } else { &mut none } += 1;
                }
            }
        }
    }
    assert!(found > 5_000 && none > 5_000, "the graphs have both cases: {found} with and {none} without a shunt");
}

#[test]
fn no_order_forms_a_loop_on_1000_random_graphs_whatever_is_measured() {
    let mut switches = 0;
    for seed in 0..1000 {
        let mut bench = Bench::new(&serde_json::json!({ "switch-gap": "0ns" }), graph(seed));
        let mut dice = Rng::derive(seed, &[1]);
        bench.assert_no_loop();
        for _ in 0..12 {
            bench.now += Duration::from_millis(100);
            for states in &mut bench.graph.states {
                states.iter_mut().for_each(|state| *state = (dice.unit() * 1.3, dice.unit()));
            }
            bench.report();
            for _ in 0..6 {
                let r = dice.below(bench.graph.routers() as u64) as usize;
                let face = dice.below(bench.graph.links[r].len() as u64) as usize;
                bench.signal(r, face);
                bench.assert_no_loop();
            }
            bench.wake();
            bench.assert_no_loop();
        }
        switches += bench.planner.tally().switches;
    }
    assert!(switches > 2_000, "{switches} switches are enough to find a loop");
}

/// Orders are lost, delayed and answered late; whatever has been carried out so far, there is never a loop.
#[test]
fn no_loop_forms_when_orders_are_lost_or_late() {
    for seed in 0..500 {
        let mut bench = Bench::new(&serde_json::json!({ "switch-gap": "0ns" }), graph(seed));
        bench.obedient = false;
        let mut dice = Rng::derive(seed, &[2]);
        let mut in_flight: Vec<Order> = Vec::new();
        for step in 0..60 {
            bench.now += Duration::from_millis(50);
            for states in &mut bench.graph.states {
                states.iter_mut().for_each(|state| *state = (dice.unit() * 1.3, dice.unit()));
            }
            bench.report();
            let r = dice.below(bench.graph.routers() as u64) as usize;
            let face = dice.below(bench.graph.links[r].len() as u64) as usize;
            match step % 20 {
                9 => bench.link(r, face, false),
                10 => bench.link(r, face, true),
                _ => bench.signal(r, face),
            }
            bench.wake();
            in_flight.extend(bench.orders.drain(..).filter(|_| dice.unit() < 0.7));
            // Orders to one router arrive as given, those to several in any order.
            while !in_flight.is_empty() && dice.unit() < 0.6 {
                let any = in_flight[dice.below(in_flight.len() as u64) as usize].router;
                let first = in_flight.iter().position(|order| order.router == any).unwrap();
                let order = in_flight.remove(first);
                bench.apply(&order);
                bench.assert_no_loop();
            }
        }
    }
}

//! How much of the physical ceiling the next hops of each routing mode leave: a table for shipped topologies with several
//! demands and for drawn networks. `docs/measurements/routing.md` has its output.
//!
//!     cargo run --release -p ndnweir-lab --example routing_gap [NETWORKS]

use ndnweir_core::ctx::Rng;
use ndnweir_lab::experiment::{physical, routed};
use ndnweir_scenario::{PlanFor, Routes, Scenario, Source, load};
use std::fmt::Write;
use std::path::Path;

const MODES: [(&str, Routes); 4] = [
    ("shortest", Routes::Shortest),
    ("all", Routes::LoopFree),
    ("planned for every node", Routes::Planned(PlanFor::EveryNode)),
    ("planned", Routes::Planned(PlanFor::Consumers)),
];

/// Of the physical ceiling: the total, the mean over flows, and the worst flow.
type Shares = [f64; 3];

/// By mode; nothing if the ceiling has no solution.
fn shares(scenario: &Scenario) -> Option<Vec<Shares>> {
    let ceiling = physical(scenario).allocate().ok()?.rates;
    let of = |(_, routes): &(&str, Routes)| {
        let mut scenario = scenario.clone();
        scenario.routing.routes = *routes;
        let rates = routed(&scenario).ok()?.allocate().ok()?.rates;
        let each: Vec<f64> = rates.iter().zip(&ceiling).map(|(rate, most)| (rate / most).min(1.0)).collect();
        let total = rates.iter().sum::<f64>() / ceiling.iter().sum::<f64>();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        Some([total, mean, each.iter().copied().fold(1.0, f64::min)])
    };
    MODES.iter().map(of).collect()
}

fn row(name: &str, shares: &[Shares]) -> String {
    let cells: Vec<String> =
        shares.iter().map(|[total, mean, worst]| format!("{total:.3} / {mean:.3} / {worst:.3}")).collect();
    format!("| {name} | {} |", cells.join(" | "))
}

fn summary(name: &str, all: &[Vec<Shares>]) {
    if all.is_empty() {
        return;
    }
    let over = |fold: &dyn Fn(&mut dyn Iterator<Item = f64>) -> f64| -> Vec<Shares> {
        let column = |mode: usize, k: usize| fold(&mut all.iter().map(|shares| shares[mode][k]));
        (0..MODES.len()).map(|mode| [column(mode, 0), column(mode, 1), column(mode, 2)]).collect()
    };
    println!(
        "{}",
        row(&format!("{name}, mean of {}", all.len()), &over(&|values| values.sum::<f64>() / all.len() as f64))
    );
    println!("{}", row(&format!("{name}, least"), &over(&|values| values.fold(f64::MAX, f64::min))));
}

fn shipped(name: &str, set: &[&str]) -> Scenario {
    load(name, set).unwrap_or_else(|problems| panic!("{problems}"))
}

fn main() {
    let networks: u64 = std::env::args().nth(1).map_or(50, |count| count.parse().expect("a number of networks"));
    println!("| network | {} |\n|---{}|", MODES.map(|mode| mode.0).join(" | "), "|---".repeat(MODES.len()));
    for name in ["abilene", "geant", "two-paths", "three-paths"] {
        if let Some(shares) = shares(&shipped(name, &[])) {
            println!("{}", row(name, &shares));
        }
    }
    for (name, consumers) in [("abilene", 8), ("geant", 20)] {
        let demand = |seed: u64| {
            let set = [format!("demand.seed={seed}"), format!("demand.consumers={consumers}")];
            shares(&shipped(name, &[&set[0], &set[1]]))
        };
        summary(&format!("{name}, other demands"), &(2..=11).filter_map(demand).collect::<Vec<_>>());
    }
    let grids: Vec<Vec<Shares>> = (1..=10).filter_map(|seed| shares(&read(&grid(seed)))).collect();
    summary("grid of 6 × 6", &grids);
    let drawn: Vec<Vec<Shares>> = (1..=networks).filter_map(|number| shares(&read(&drawn(number)))).collect();
    summary("drawn", &drawn);
}

fn read(text: &str) -> Scenario {
    let source = Source::from_text("drawn", text, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    source.validate().unwrap_or_else(|problems| panic!("{problems}"))
}

const HEAD: &str = "[run]\nduration = \"10s\"\n[routing]\ncost = \"delay\"\n";

/// A square lattice of equal links with random producers and consumers.
fn grid(seed: u64) -> String {
    const SIDE: u64 = 6;
    let mut rng = Rng::derive(seed, &[1]);
    let place = |x: u64, y: u64| SIDE * y + x;
    let mut text = String::from(HEAD);
    let mut links = Vec::new();
    for (x, y) in (0..SIDE * SIDE).map(|i| (i % SIDE, i / SIDE)) {
        links.extend((x + 1 < SIDE).then(|| (place(x, y), place(x + 1, y), 10.0, 5.0)));
        links.extend((y + 1 < SIDE).then(|| (place(x, y), place(x, y + 1), 10.0, 5.0)));
    }
    network(&mut text, SIDE * SIDE, &links);
    applications(&mut text, &mut rng, SIDE * SIDE, 3, 12);
    text
}

/// A random tree of 8 to 30 nodes with further links, 1.3 to 2.3 in all for each node, of 2 to 30 Mbit/s and 1 to 30 ms.
fn drawn(number: u64) -> String {
    let mut rng = Rng::derive(7, &[number]);
    let nodes = 8 + rng.below(23);
    let links = (nodes as f64 * (1.3 + rng.unit())) as usize;
    let mut ends: Vec<(u64, u64)> = (1..nodes).map(|node| (rng.below(node), node)).collect();
    while ends.len() < links {
        let (a, b) = (rng.below(nodes), rng.below(nodes));
        let pair = (a.min(b), a.max(b));
        if a != b && !ends.contains(&pair) {
            ends.push(pair);
        }
    }
    let log = |rng: &mut Rng, low: f64, high: f64| low * (high / low).powf(rng.unit());
    let links: Vec<_> =
        (ends.into_iter()).map(|(a, b)| (a, b, log(&mut rng, 2.0, 30.0), log(&mut rng, 1.0, 30.0))).collect();
    let mut text = String::from(HEAD);
    network(&mut text, nodes, &links);
    let (producers, consumers) = (1 + rng.below(4), 3 + rng.below(nodes - 2));
    applications(&mut text, &mut rng, nodes, producers, consumers);
    text
}

fn network(text: &mut String, nodes: u64, links: &[(u64, u64, f64, f64)]) {
    (0..nodes).for_each(|node| {
        let _ = writeln!(text, "[[node]]\nname = \"N{node}\"");
    });
    for (a, b, mbps, ms) in links {
        let rates = format!("rate = \"{mbps:.2}Mbps\"\ndelay = \"{ms:.2}ms\"");
        let _ = writeln!(text, "[[link]]\nends = [\"N{a}\", \"N{b}\"]\n{rates}");
    }
}

/// Of three prefixes, one is served at two nodes.
fn applications(text: &mut String, rng: &mut Rng, nodes: u64, producers: u64, consumers: u64) {
    let mut served: Vec<Vec<u64>> = Vec::new();
    for prefix in 0..producers {
        let mut places = Vec::new();
        let copies = if rng.below(3) == 0 { 2 } else { 1 };
        while places.len() < copies {
            let node = rng.below(nodes);
            if !places.contains(&node) {
                let name = format!("P{prefix}-{}", places.len());
                let _ = writeln!(text, "[[producer]]\nname = \"{name}\"\nnode = \"N{node}\"\nprefix = \"/p{prefix}\"");
                places.push(node);
            }
        }
        served.push(places);
    }
    for consumer in 0..consumers {
        let prefix = rng.below(producers);
        let node = loop {
            let node = rng.below(nodes);
            if !served[prefix as usize].contains(&node) {
                break node;
            }
        };
        let object = format!("/p{prefix}/{consumer}");
        let _ = writeln!(text, "[[consumer]]\nname = \"C{consumer}\"\nnode = \"N{node}\"\nprefix = \"{object}\"");
    }
}

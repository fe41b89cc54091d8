//! Gap.

use ndnweir_lab::experiment::{physical, routed};
use ndnweir_lab::optimum::{AllowedLinks, Problem};
use ndnweir_scenario::{Scenario, Source, load};
use ndnweir_sim::routing::{Availability, next_hops, planned, plan::Plan};
use ndnweir_sim::network::Routes;
use ndnweir_sim::topology::Topology;
use std::collections::BTreeMap;

fn with(scenario: &Scenario, mode: &str) -> Problem {
    let mut problem = routed(scenario).unwrap();
    let network = scenario.network();
    let topology = Topology::new(&network).unwrap();
    let up = Availability::all(&topology);
    let plan = match mode { "uniform" => Plan::new(&network, &topology, &up, true), "planned" => Plan::new(&network, &topology, &up, false), _ => Plan::default() };
    let prefixes: Vec<u32> = network.consumers.iter().filter(|c| c.traffic.is_long_lived()).map(|c| c.prefix).collect();
    let mut by_prefix: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (flow, prefix) in problem.flows.iter_mut().zip(prefixes) {
        let leading = by_prefix.entry(prefix).or_insert_with(|| {
            let serving: Vec<u32> = network.producers.iter().filter(|p| p.prefix == prefix).map(|p| p.node as u32).collect();
            let hops = match mode {
                "shortest" => next_hops(&topology, &up, &serving, Routes::Shortest),
                "all" => next_hops(&topology, &up, &serving, Routes::LoopFree),
                _ => planned(&topology, &up, &serving, plan.of(prefix)),
            };
            let leads = |c: &usize| {
                let interest = &topology.channels[c ^ 1];
                hops[interest.from as usize].iter().any(|hop| hop.face.0 == interest.out_face)
            };
            (0..topology.channels.len()).filter(leads).collect()
        });
        if let AllowedLinks::Any { usable, .. } = &mut flow.routes {
            *usable = Some(leading.clone());
        }
    }
    problem
}

fn main() {
    let modes = ["shortest", "all", "tie", "uniform", "planned"];
    let mut scenarios: Vec<(String, Scenario)> = ["abilene", "geant", "two-paths", "three-paths"].iter().map(|n| (n.to_string(), load(n, &[] as &[&str]).unwrap())).collect();
    for f in std::env::args().skip(1) {
        scenarios.push((f.clone(), load(&f, &[] as &[&str]).unwrap()));
    }
    for (name, _) in [("abilene", 0), ("geant", 0)] {
        for seed in 2..=6 {
            scenarios.push((format!("{name}-{seed}"), load(name, &[format!("demand.seed={seed}").as_str(), "demand.consumers=10"]).unwrap()));
        }
    }
    for n in 0..50 {
        let text = drawn_text(7, n);
        let source = Source::from_text("drawn", &text, std::path::Path::new(".")).unwrap_or_else(|p| panic!("{p}"));
        scenarios.push((format!("drawn-{n}"), source.validate().unwrap_or_else(|p| panic!("{p}"))));
    }
    let mut sums = vec![Vec::<[f64; 3]>::new(); modes.len()];
    for (name, scenario) in &scenarios {
        let Ok(phys) = physical(scenario).allocate() else { println!("{name}: none"); continue };
        print!("{name:24}");
        for (i, mode) in modes.iter().enumerate() {
            let rates = with(scenario, mode).allocate().unwrap().rates;
            let total = rates.iter().sum::<f64>() / phys.rates.iter().sum::<f64>();
            let each: Vec<f64> = rates.iter().zip(&phys.rates).map(|(a, b)| (a / b).min(1.0)).collect();
            let mean = each.iter().sum::<f64>() / each.len() as f64;
            let worst = each.iter().copied().fold(1.0, f64::min);
            print!("  {mode} {total:.3}/{mean:.3}/{worst:.3}");
            if name.starts_with("drawn") { sums[i].push([total, mean, worst]); }
        }
        println!();
    }
    for (i, mode) in modes.iter().enumerate() {
        let n = sums[i].len() as f64;
        let m = |k: usize| sums[i].iter().map(|s| s[k]).sum::<f64>() / n;
        let l = |k: usize| sums[i].iter().map(|s| s[k]).fold(9.0, f64::min);
        println!("{mode}: total {:.4} attained {:.4} worst {:.4}; least {:.3} {:.3} {:.3}", m(0), m(1), m(2), l(0), l(1), l(2));
    }
}

/// A connected random network as a scenario.
fn drawn_text(seed: u64, number: u64) -> String {
    use ndnweir_core::ctx::Rng;
    use std::fmt::Write;
    let mut rng = Rng::derive(seed, &[number]);
    let nodes = 8 + rng.below(23);
    let links = (nodes as f64 * (1.3 + rng.unit())) as usize;
    let mut ends: Vec<(u64, u64)> = (1..nodes).map(|i| (rng.below(i), i)).collect();
    while ends.len() < links {
        let (a, b) = (rng.below(nodes), rng.below(nodes));
        let pair = (a.min(b), a.max(b));
        if a != b && !ends.contains(&pair) { ends.push(pair); }
    }
    let log = |rng: &mut Rng, low: f64, high: f64| low * (high / low).powf(rng.unit());
    let mut text = String::from("[run]\nduration = \"10s\"\n[routing]\nmode = \"all\"\ncost = \"delay\"\n");
    for i in 0..nodes { let _ = writeln!(text, "[[node]]\nname = \"N{i}\""); }
    for (a, b) in ends {
        let (rate, delay) = (log(&mut rng, 2.0, 30.0), log(&mut rng, 1.0, 30.0));
        let _ = writeln!(text, "[[link]]\nends = [\"N{a}\", \"N{b}\"]\nrate = \"{rate:.2}Mbps\"\ndelay = \"{delay:.2}ms\"");
    }
    let producers = 1 + rng.below(4);
    let mut at = Vec::new();
    for p in 0..producers {
        let copies = if rng.below(3) == 0 { 2 } else { 1 };
        let mut places: Vec<u64> = Vec::new();
        while places.len() < copies { let n = rng.below(nodes); if !places.contains(&n) { places.push(n); } }
        for (k, n) in places.iter().enumerate() { let _ = writeln!(text, "[[producer]]\nname = \"P{p}-{k}\"\nnode = \"N{n}\"\nprefix = \"/p{p}\""); }
        at.push(places);
    }
    for c in 0..3 + rng.below(nodes - 2) {
        let p = rng.below(producers) as usize;
        let node = loop { let n = rng.below(nodes); if !at[p].contains(&n) { break n; } };
        let _ = writeln!(text, "[[consumer]]\nname = \"C{c}\"\nnode = \"N{node}\"\nprefix = \"/p{p}/{c}\"");
    }
    text
}

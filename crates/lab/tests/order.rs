//! The order of a scenario's lines changes nothing: the same bytes for every order of nodes, links and applications.

use ndnweir_lab::experiment::{Experiment, Silent, choose};
use ndnweir_scenario::Source;
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A scenario as the blocks of its file.
#[derive(Clone, Debug)]
struct Blocks {
    run: String,
    blocks: Vec<String>,
}

impl Blocks {
    /// The file with its blocks in this order.
    fn text(&self, order: &[usize]) -> String {
        let blocks = order.iter().map(|&i| self.blocks[i].as_str());
        std::iter::once(self.run.as_str()).chain(blocks).collect()
    }

    fn order(&self) -> Vec<usize> {
        (0..self.blocks.len()).collect()
    }
}

/// What the file gives: every metric, every series' aggregate, the hash of every arrival and the optimum.
fn summary(text: &str, schemes: &[&str]) -> String {
    let source = Source::from_text("x.toml", text, Path::new("")).unwrap();
    let scenario = source.validate().unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let names: Vec<String> = schemes.iter().map(|name| (*name).to_owned()).collect();
    let schemes = choose(&scenario, &names).unwrap();
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    experiment.run(&Silent, &AtomicBool::new(false)).unwrap().to_summary()
}

const RUN: &str = r#"
[run]
duration = "3s"
start-jitter = "0ms"
[link-defaults]
rate = "4Mbps"
delay = "10ms"
queue = "12 packets"
"#;

fn node(name: &str) -> String {
    format!("[[node]]\nname = \"{name}\"\n")
}

fn link(a: &str, b: &str, more: &str) -> String {
    format!("[[link]]\nends = [\"{a}\", \"{b}\"]\n{more}\n")
}

fn producer(node: &str, prefix: &str) -> String {
    format!("[[producer]]\nname = \"{node}\"\nnode = \"{node}\"\nprefix = \"{prefix}\"\n")
}

fn consumer(name: &str, node: &str, prefix: &str, more: &str) -> String {
    format!("[[consumer]]\nname = \"{name}\"\nnode = \"{node}\"\nprefix = \"{prefix}\"\n{more}\n")
}

/// Two flows that start at one instant over equal links, so that their packets meet again and again.
fn dumbbell() -> Blocks {
    let mut blocks: Vec<String> = ["C1", "C2", "R1", "R2", "P1", "P2"].map(node).into();
    let ends = [("C1", "R1"), ("C2", "R1"), ("R1", "R2"), ("R2", "P1"), ("R2", "P2")];
    blocks.extend(ends.map(|(a, b)| link(a, b, "loss = 0.002")));
    blocks.extend(["P1", "P2"].map(|p| producer(p, &format!("/{p}"))));
    blocks.extend([("C1", "/P1/a"), ("C2", "/P2/b")].map(|(c, prefix)| consumer(c, c, prefix, "")));
    Blocks { run: RUN.replace("3s", "20s"), blocks }
}

#[test]
fn a_lossy_dumbbell_reads_the_same_backwards() {
    let blocks = dumbbell();
    let order = blocks.order();
    let reversed: Vec<usize> = order.iter().rev().copied().collect();
    let schemes = ["aimd", "cubic"];
    assert_eq!(summary(&blocks.text(&order), &schemes), summary(&blocks.text(&reversed), &schemes));
}

/// A ring of routers with a chord, hosts at it, and several equal ways for strategies to split over.
fn ring(routers: usize, hosts: &[usize], chord: usize, losses: &[u8], traffic: &[u8]) -> Blocks {
    let mut blocks = Vec::new();
    let router = |i: usize| format!("R{}", i % routers);
    for i in 0..routers {
        blocks.push(node(&router(i)));
        let loss = losses[i % losses.len()];
        blocks.push(link(&router(i), &router(i + 1), &format!("loss = 0.00{}", loss % 10)));
    }
    blocks.push(link(&router(0), &router(2 + chord % (routers - 3)), "jitter = \"1ms\""));
    for p in ["P1", "P2"] {
        blocks.push(node(p));
        blocks.push(link(p, &router(p.len() + usize::from(p == "P2")), ""));
        blocks.push(producer(p, "/data"));
    }
    for (i, (&at, &kind)) in hosts.iter().zip(traffic.iter().cycle()).enumerate() {
        let name = format!("C{i}");
        blocks.push(node(&name));
        blocks.push(link(&name, &router(at), ""));
        let kind = match kind % 5 {
            0 => "kind = \"object\"\npackets = 400",
            1 => "kind = \"stream\"\nrate = \"100/s\"\nretries = 1",
            2 => "kind = \"zipf\"\nrate = \"100/s\"\ncatalogue = 50",
            3 => "kind = \"flows\"\nrate = \"20/s\"\nsizes = \"20kB\"",
            _ => "start-jitter = \"3ms\"",
        };
        // Some share their names, so that PITs aggregate.
        blocks.push(consumer(&name, &name, &format!("/data/{}", i / 2), kind));
    }
    // The first hosts share a medium, and other traffic comes from the producers.
    let air: Vec<String> =
        hosts.iter().take(2).enumerate().map(|(i, &at)| format!("\"C{i}-{}\"", router(at))).collect();
    blocks.push(format!("[[medium]]\nname = \"air\"\nlinks = [{}]\nrate = \"3Mbps\"\n", air.join(", ")));
    for (name, from, kind) in [("x", "R2", "kind = \"poisson\"\nrate = \"500kbps\""), ("y", "R3", "kind = \"tcp\"")] {
        let to = if from == "R2" { "P1" } else { "P2" };
        blocks.push(format!("[[cross]]\nname = \"{name}\"\npath = [\"{to}\", \"{from}\"]\n{kind}\n"));
    }
    let mode = if chord.is_multiple_of(2) { "all" } else { "planned" };
    let run = format!("{RUN}[routing]\nmode = \"{mode}\"\n");
    Blocks { run, blocks }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_lines_gives_the_same_bytes(
        (blocks, order) in (
            4usize..7,
            prop::collection::vec(0usize..7, 1..6),
            0usize..4,
            prop::collection::vec(0u8..10, 1..4),
            prop::collection::vec(0u8..8, 1..6),
        ).prop_flat_map(|(routers, hosts, chord, losses, traffic)| {
            let blocks = ring(routers, &hosts, chord, &losses, &traffic);
            let order = Just(blocks.order()).prop_shuffle();
            (Just(blocks), order)
        })
    ) {
        let schemes = ["aimd", "pcon", "hbhcm", "omcc-rf", "nack-once"];
        let told = summary(&blocks.text(&blocks.order()), &schemes);
        prop_assert_eq!(told, summary(&blocks.text(&order), &schemes));
    }
}

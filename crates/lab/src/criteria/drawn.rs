//! Networks drawn from a seed, as scenario files, so that schemes cannot be tuned for them.
//!
//! Rates are drawn uniformly on a logarithmic scale, so that low rates are as likely as high ones. The ranges are ours:
//! those of `judge/ranges.toml` without its extremes.

use ndnweir_core::ctx::Rng;
use std::fmt::Write;

/// The kinds of networks that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One bottleneck, several flows.
    Dumbbell,
    /// A chain of bottlenecks, with one flow over all of them and one over each.
    ParkingLot,
    /// A connected random graph with producers and consumers at random nodes.
    Graph,
}

impl Kind {
    /// All kinds, with their names in files.
    pub const ALL: [(&'static str, Kind); 3] =
        [("dumbbell", Kind::Dumbbell), ("parking-lot", Kind::ParkingLot), ("graph", Kind::Graph)];

    /// The name of the kind.
    pub fn text(self) -> &'static str {
        Kind::ALL[self as usize].0
    }
}

/// Bytes of a Data on a link, with the default sizes of scenario files.
const DATA: f64 = 1066.0;

struct Draw(Rng);

impl Draw {
    /// Draws uniformly on a logarithmic scale between `low` and `high`, with three digits.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        let x = libm::exp(libm::log(low) + self.0.unit() * (libm::log(high) - libm::log(low)));
        crate::results::significant(x, 3)
    }

    /// Draws an integer from `low` to `high`.
    fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }
}

/// A queue of `bdp` bandwidth-delay products, at least four packets.
fn queue(rate_mbps: f64, rtt_ms: f64, bdp: f64) -> u64 {
    (rate_mbps * 1e3 * rtt_ms / 8.0 / DATA * bdp).round().max(4.0) as u64
}

/// Writes the head of a scenario. The run lasts a hundred base RTTs and at least 20 s, a third of which is warm-up.
fn head(text: &mut String, name: &str, about: &str, rtt_ms: f64) {
    let duration = (0.1 * rtt_ms).max(20.0).ceil();
    let warm_up = (duration / 3.0).floor();
    let _ = writeln!(text, "name = \"{name}\"\nabout = \"{about}\"\n");
    let _ = writeln!(text, "[run]\nduration = \"{duration}s\"\nwarm-up = \"{warm_up}s\"\n");
}

fn node(text: &mut String, name: &str) {
    let _ = writeln!(text, "[[node]]\nname = \"{name}\"\n");
}

fn link(text: &mut String, ends: (&str, &str), rate_mbps: f64, delay_ms: f64, queue: u64) {
    let _ = writeln!(
        text,
        "[[link]]\nends = [\"{}\", \"{}\"]\nrate = \"{rate_mbps}Mbps\"\ndelay = \"{delay_ms}ms\"\nqueue = \"{queue} packets\"\n",
        ends.0, ends.1
    );
}

fn producer(text: &mut String, name: &str, at: &str) {
    let _ = writeln!(text, "[[producer]]\nname = \"{name}\"\nnode = \"{at}\"\nprefix = \"/{name}\"\n");
}

fn consumer(text: &mut String, name: &str, at: &str, prefix: &str, start_ms: u64) {
    let _ = writeln!(
        text,
        "[[consumer]]\nname = \"{name}\"\nnode = \"{at}\"\nprefix = \"{prefix}\"\nstart = \"{start_ms}ms\"\n"
    );
}

/// Scenario number `number` of a seed: the same text on every machine.
pub fn scenario(kind: Kind, seed: u64, number: u64) -> String {
    let mut draw = Draw(Rng::derive(seed, &[kind as u64, number]));
    let name = format!("{}-{seed}-{number}", kind.text());
    match kind {
        Kind::Dumbbell => dumbbell(&name, &mut draw),
        Kind::ParkingLot => parking_lot(&name, &mut draw),
        Kind::Graph => graph(&name, &mut draw),
    }
}

fn dumbbell(name: &str, draw: &mut Draw) -> String {
    let (rate, delay, flows) = (draw.log(1.0, 50.0), draw.log(1.0, 80.0), draw.whole(2, 12));
    let access: Vec<f64> = (0..flows).map(|_| draw.log(0.5, 40.0)).collect();
    let buffer = draw.log(0.25, 4.0);
    let longest = 2.0 * (delay + 1.0 + access.iter().copied().fold(0.0, f64::max));
    let middle = 2.0 * (delay + 1.0 + access.iter().sum::<f64>() / flows as f64);
    let mut text = String::new();
    head(&mut text, name, &format!("{flows} flows over {rate} Mbit/s with a buffer of {buffer} BDP, drawn."), longest);
    ["R1", "R2", "P"].iter().for_each(|n| node(&mut text, n));
    link(&mut text, ("R1", "R2"), rate, delay, queue(rate, middle, buffer));
    link(&mut text, ("R2", "P"), 10.0 * rate, 1.0, 10_000);
    producer(&mut text, "P", "P");
    for (i, delay) in access.iter().enumerate() {
        let c = format!("C{}", i + 1);
        node(&mut text, &c);
        link(&mut text, (&c, "R1"), 10.0 * rate, *delay, 10_000);
        consumer(&mut text, &c, &c, &format!("/P/{}", i + 1), draw.whole(0, 2000));
    }
    text
}

fn parking_lot(name: &str, draw: &mut Draw) -> String {
    let hops = draw.whole(2, 5) as usize;
    let cells: Vec<(f64, f64)> = (0..hops).map(|_| (draw.log(2.0, 30.0), draw.log(1.0, 30.0))).collect();
    let buffer = draw.log(0.25, 4.0);
    let across = 2.0 * (cells.iter().map(|c| c.1).sum::<f64>() + 2.0);
    let mut text = String::new();
    head(&mut text, name, &format!("A flow over {hops} bottlenecks, and one over each, drawn."), across);
    (0..=hops).for_each(|i| node(&mut text, &format!("R{i}")));
    for (i, (rate, delay)) in cells.iter().enumerate() {
        let (from, to) = (format!("R{i}"), format!("R{}", i + 1));
        link(&mut text, (&from, &to), *rate, *delay, queue(*rate, 2.0 * (delay + 2.0), buffer));
        let (c, p) = (format!("C{}", i + 1), format!("P{}", i + 1));
        [&c, &p].iter().for_each(|n| node(&mut text, n));
        link(&mut text, (&c, &from), 300.0, 1.0, 10_000);
        link(&mut text, (&p, &to), 300.0, 1.0, 10_000);
        producer(&mut text, &p, &p);
        consumer(&mut text, &c, &c, &format!("/{p}"), draw.whole(0, 2000));
    }
    ["C0", "P0"].iter().for_each(|n| node(&mut text, n));
    link(&mut text, ("C0", "R0"), 300.0, 1.0, 10_000);
    link(&mut text, ("P0", &format!("R{hops}")), 300.0, 1.0, 10_000);
    producer(&mut text, "P0", "P0");
    consumer(&mut text, "C0", "C0", "/P0", draw.whole(0, 2000));
    text
}

/// A tree that grows node by node, and additional links, half as many as there are nodes.
fn graph(name: &str, draw: &mut Draw) -> String {
    let nodes = draw.whole(6, 14);
    let buffer = draw.log(0.25, 4.0);
    let mut ends: Vec<(u64, u64)> = (1..nodes).map(|i| (draw.whole(0, i - 1), i)).collect();
    for _ in 0..nodes / 2 {
        let (a, b) = (draw.whole(0, nodes - 1), draw.whole(0, nodes - 1));
        let pair = (a.min(b), a.max(b));
        if a != b && !ends.contains(&pair) {
            ends.push(pair);
        }
    }
    let (producers, consumers) = (draw.whole(1, 3), draw.whole(3, 8));
    let mut text = String::new();
    let about = format!("{nodes} nodes, {} links, {consumers} fetches from {producers} producers, drawn.", ends.len());
    head(&mut text, name, &about, 200.0);
    text.push_str("[routing]\nmode = \"all\"\ncost = \"delay\"\n\n");
    (0..nodes).for_each(|i| node(&mut text, &format!("N{i}")));
    for (a, b) in &ends {
        let (rate, delay) = (draw.log(2.0, 30.0), draw.log(1.0, 30.0));
        // A path of about three links.
        link(&mut text, (&format!("N{a}"), &format!("N{b}")), rate, delay, queue(rate, 6.0 * delay, buffer));
    }
    let at: Vec<u64> = (0..producers).map(|_| draw.whole(0, nodes - 1)).collect();
    for (p, at) in at.iter().enumerate() {
        producer(&mut text, &format!("P{}", p + 1), &format!("N{at}"));
    }
    for c in 1..=consumers {
        let from = draw.whole(0, producers - 1) as usize;
        // Not at the node of its producer.
        let place = (at[from] + 1 + draw.whole(0, nodes - 2)) % nodes;
        let (prefix, start) = (format!("/P{}/{c}", from + 1), draw.whole(0, 2000));
        consumer(&mut text, &format!("C{c}"), &format!("N{place}"), &prefix, start);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::optimum;
    use ndnweir_scenario::Source;
    use std::path::Path;

    #[test]
    fn every_drawn_network_is_a_sound_scenario_with_an_optimum() {
        for (_, kind) in Kind::ALL {
            for seed in 1..=12 {
                let text = scenario(kind, seed, 1);
                assert_eq!(text, scenario(kind, seed, 1), "the same seed draws the same text");
                assert_ne!(text, scenario(kind, seed, 2));
                let source = Source::from_text("drawn.toml", &text, Path::new("")).unwrap();
                let scenario = source.validate().unwrap_or_else(|p| panic!("{text}\n{p}"));
                let optimum = optimum(&scenario);
                assert!(optimum.total_mbps.is_some_and(|t| t > 0.0), "{text}\n{:?}", optimum.undefined);
            }
        }
    }
}

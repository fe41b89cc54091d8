//! A gravity-like demand for real topologies, whose files say nothing about traffic.
//!
//! The weight of a node is the sum of the rates of its links. In the largest connected part of the network, the nodes
//! of greatest weight become producers; each consumer is placed on one of the others, drawn with probability
//! proportional to weight, and fetches from a producer drawn with probability proportional to the producer's weight. So
//! the expected demand between two nodes is proportional to the product of their weights, as in the gravity model of
//! traffic matrices. Draws use a generator seeded by `demand.seed` alone: the demand is part of the scenario and stays
//! the same over the seeds of a run.

use ndnweir_core::units::{Duration, Rate};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::MAX_APPLICATIONS;
use super::diag::Findings;
use super::fields::{Fields, Packets};
use super::model::{Direction, NodeKind};
use super::network::Network;
use super::reach::Reach;
use super::tree::{Item, Table, Value};

/// Turns `[demand]`, if there is one, into producers and consumers.
pub(super) fn expand(root: &mut Table, network: &Network, found: &Findings) {
    let Some(item) = root.get("demand").cloned() else { return };
    let Some(table) = item.as_table() else { return };
    let f = Fields::new(table, "[demand]", &item.at, found);
    f.required::<String>("model", "\"gravity\"");
    f.word("model", &[("gravity", ())]);
    let count = |key, most: usize| {
        f.checked::<u64>(key, &format!("write a whole number from 1 to {most}"), |&n| {
            if (1..=most as u64).contains(&n) { Ok(()) } else { Err(format!("{n} is out of range")) }
        })
    };
    let (consumers, producers) = (count("consumers", MAX_APPLICATIONS), count("producers", MAX_APPLICATIONS));
    let seed = f.get::<u64>("seed").unwrap_or(1);
    let spread = f.get::<Duration>("start-spread").unwrap_or(Duration::ZERO);
    let packets = f.checked::<Packets>("packets", "write a number of packets such as \"10000 packets\"", |n| {
        if n.0 > 0 { Ok(()) } else { Err("an object of zero packets is empty".into()) }
    });
    f.finish();
    for key in ["producer", "consumer"] {
        if let Some(first) = root.list(key).first() {
            let help = "delete [demand], or the producers and consumers";
            found.error(&first.at, format!("a {key} beside [demand], which makes them all"), help);
            return;
        }
    }
    let mut ranked = largest_part(network);
    let weight = weights(network);
    // Ties keep the order of the file.
    ranked.sort_by_key(|&n| std::cmp::Reverse(weight[n]));
    if ranked.len() < 2 {
        if !network.links.is_empty() {
            let help = "add routers or hosts, or write producers and consumers instead of [demand]";
            found.error(&item.at, "the demand needs two connected nodes that can run applications", help);
        }
        return;
    }
    let producers = producers.map_or((ranked.len() / 4).clamp(1, 3), |n| n as usize);
    if producers >= ranked.len() {
        let message = format!("{producers} producers leave no node for consumers: {} are connected", ranked.len());
        found.error(&item.at, message, format!("write producers = {} or fewer", ranked.len() - 1));
        return;
    }
    let (sources, others) = ranked.split_at(producers);
    let consumers = consumers.map_or(others.len().min(10), |n| n as usize);
    let mut made = Made { root, item: &item, network };
    for (i, &node) in sources.iter().enumerate() {
        made.producer(i + 1, node);
    }
    let mut draw = Pcg64Mcg::seed_from_u64(seed);
    let mut free: Vec<usize> = others.to_vec();
    for i in 0..consumers {
        if free.is_empty() {
            free = others.to_vec();
        }
        // Without replacement, until every node has a consumer.
        let node = free.remove(pick(&mut draw, free.iter().map(|&n| weight[n])));
        let source = pick(&mut draw, sources.iter().map(|&n| weight[n]));
        let start = Duration::from_nanos((u128::from(spread.nanos()) * i as u128 / consumers as u128) as u64);
        made.consumer(i + 1, node, source + 1, start, packets);
    }
}

/// The sum of the rates of each node's links, in bit/s.
fn weights(network: &Network) -> Vec<u128> {
    let mut weight = vec![0u128; network.nodes.len()];
    for link in &network.links {
        let bps = |direction: &Direction| u128::from(direction.rate.map_or(0, Rate::bps));
        let rate = bps(&link.forward) + bps(&link.backward);
        weight[link.a] += rate;
        weight[link.b] += rate;
    }
    weight
}

/// The nodes that can run applications in the largest connected part, in the order of the file.
fn largest_part(network: &Network) -> Vec<usize> {
    let reach = Reach::new(network);
    let members = reach.members();
    let mut left: Vec<bool> = network.nodes.iter().map(|node| node.kind != NodeKind::Switch).collect();
    // All nodes that a router reaches also reach each other, which does not hold for a host between two parts.
    let (hosts, routers): (Vec<usize>, Vec<usize>) =
        (0..left.len()).filter(|&n| left[n]).partition(|&n| network.nodes[n].kind.is_host());
    let mut best = Vec::new();
    for root in routers.into_iter().chain(hosts) {
        if !left[root] {
            continue;
        }
        let part = reach.reached_from(root, &members).into_iter();
        let part: Vec<usize> = part.filter(|&n| std::mem::take(&mut left[n])).collect();
        if part.len() > best.len() {
            best = part;
        }
    }
    best
}

/// An index, drawn with probability proportional to its weight.
fn pick(draw: &mut Pcg64Mcg, weights: impl Iterator<Item = u128> + Clone) -> usize {
    let total: u128 = weights.clone().sum::<u128>().max(1);
    let mut left = (u128::from(draw.next_u64()) * total) >> 64;
    let mut last = 0;
    for (i, weight) in weights.enumerate() {
        last = i;
        if left < weight {
            return i;
        }
        left -= weight;
    }
    last
}

struct Made<'a> {
    root: &'a mut Table,
    item: &'a Item,
    network: &'a Network,
}

impl Made<'_> {
    fn push(&mut self, key: &str, entries: Vec<(&str, Item)>) {
        let at = &self.item.at;
        if let Some(list) = self.root.list_mut(key, at) {
            list.push(Item { at: at.clone(), value: Item::table(at, entries).value });
        }
    }
    fn text(&self, text: String) -> Item {
        Item::text(&self.item.at, text)
    }
    fn producer(&mut self, number: usize, node: usize) {
        let name = self.text(format!("P{number}"));
        let node = self.text(self.network.nodes[node].name.clone());
        let prefix = self.text(format!("/P{number}"));
        self.push("producer", vec![("name", name), ("node", node), ("prefix", prefix)]);
    }
    fn consumer(&mut self, number: usize, node: usize, source: usize, start: Duration, packets: Option<Packets>) {
        let name = self.text(format!("C{number}"));
        let node = self.text(self.network.nodes[node].name.clone());
        let prefix = self.text(format!("/P{source}/C{number}"));
        let start = self.text(start.to_string());
        let mut entries = vec![("name", name), ("node", node), ("prefix", prefix), ("start", start)];
        if let Some(Packets(n)) = packets {
            entries.push(("kind", self.text("object".into())));
            entries.push(("packets", Item { at: self.item.at.clone(), value: Value::Int(n as i64) }));
        }
        self.push("consumer", entries);
    }
}

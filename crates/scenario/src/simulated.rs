//! A scenario as input of the simulator: names become numbers.

use crate::{Consumer, CrossTraffic, Link, Medium, Producer, Scenario};
use ndnweir_core::units::{Bytes, Time};
use ndnweir_sim::network as sim;

/// Distinct values of `texts`, in order of first appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    texts.filter(|text| seen.insert(*text)).collect()
}

fn bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

impl Scenario {
    /// The prefixes that producers serve; their positions number them in the simulator.
    pub fn prefixes(&self) -> Vec<&str> {
        distinct(self.producers.iter().map(|p| p.prefix.as_str()))
    }

    /// The objects that consumers fetch; their positions number them in the simulator.
    pub fn objects(&self) -> Vec<&str> {
        distinct(self.consumers.iter().map(|c| c.prefix.as_str()))
    }

    /// The prefix that serves a consumer: the longest of its producers'.
    fn serving_prefix(&self, consumer: &Consumer) -> &str {
        let serving = consumer.producers.iter().map(|&p| self.producers[p].prefix.as_str());
        serving.max_by_key(|prefix| prefix.len()).unwrap_or_default()
    }

    /// The nodes that serve each consumer, by the consumer's position.
    pub fn sources(&self) -> Vec<Vec<usize>> {
        let serving = |consumer| {
            let prefix = self.serving_prefix(consumer);
            self.producers.iter().filter(|p| p.prefix == prefix).map(|p| p.node).collect()
        };
        self.consumers.iter().map(serving).collect()
    }

    /// The scenario as input of the simulator.
    pub fn network(&self) -> sim::Network {
        let (prefixes, objects) = (self.prefixes(), self.objects());
        let number = |list: &[&str], text: &str| list.iter().position(|t| *t == text).unwrap_or_default() as u32;
        let link = |l: &Link| sim::Link {
            a: l.a,
            b: l.b,
            cost: l.cost,
            forward: l.forward.clone(),
            backward: l.backward.clone(),
            mtu: l.mtu,
        };
        let medium = |m: &Medium| sim::SharedMedium { rate: m.rate, gap: m.gap, links: m.links.clone() };
        let producer = |p: &Producer| sim::Producer {
            node: p.node,
            prefix: number(&prefixes, &p.prefix),
            payload: bytes(p.payload),
            size: bytes(p.payload + self.run.data_overhead),
            freshness: p.freshness,
        };
        let consumer = |c: &Consumer| sim::Consumer {
            node: c.node,
            prefix: number(&prefixes, self.serving_prefix(c)),
            object: number(&objects, &c.prefix),
            traffic: c.traffic.clone(),
            start: Time::ZERO + c.start,
            start_jitter: c.start_jitter,
            stop: c.stop.map(|stop| Time::ZERO + stop),
            interest_size: bytes(self.run.interest_size),
            lifetime: c.lifetime,
        };
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        sim::Network {
            nodes: self.nodes.iter().map(|n| n.kind).collect(),
            links: self.links.iter().map(link).collect(),
            media: self.media.iter().map(medium).collect(),
            cross: self.cross.iter().map(|traffic| self.cross_flow(traffic)).collect(),
            overlay: self.overlay.clone(),
            prefixes: prefixes.len() as u32,
            names: sim::Names { prefixes: owned(&prefixes), objects: owned(&objects) },
            producers: self.producers.iter().map(producer).collect(),
            consumers: self.consumers.iter().map(consumer).collect(),
            schemes: self.part_schemes.clone(),
            parts: self.parts.clone(),
            routing: self.routing,
            changes: self.events.iter().map(|e| (Time::ZERO + e.at, e.change)).collect(),
            growing_sizes: self.run.growing_sizes,
            pit_limit: self.run.pit_limit,
            start_jitter: self.run.start_jitter,
            duration: self.run.duration,
            sampling: self.run.sample,
            control: self.control,
        }
    }

    fn cross_flow(&self, traffic: &CrossTraffic) -> sim::CrossFlow {
        let wire = |pair: &[usize]| {
            let ends = |link: &Link| (link.a, link.b);
            let forth = self.links.iter().position(|link| ends(link) == (pair[0], pair[1])).map(|link| 2 * link);
            forth.or_else(|| Some(2 * self.links.iter().position(|link| ends(link) == (pair[1], pair[0]))? + 1))
        };
        sim::CrossFlow {
            path: traffic.path.windows(2).filter_map(wire).map(|wire| wire as u32).collect(),
            kind: traffic.kind,
            size: bytes(traffic.size),
            start: Time::ZERO + traffic.start,
            stop: traffic.stop.map(|stop| Time::ZERO + stop),
        }
    }

    /// Gives every link this framing.
    pub fn set_framing(&mut self, framing: Bytes) {
        self.run.framing = framing;
        for link in &mut self.links {
            (link.forward.framing, link.backward.framing) = (framing, framing);
        }
    }
}

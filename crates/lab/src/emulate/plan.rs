//! Which process does what.

use super::Error;
use crate::experiment::prefixes;
use crate::scenario::{Change, NodeKind, QueueLimit, RouteMode, Scenario, Traffic};
use ndnweir_core::ctx::Rng;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::{Part, Scheme};
use ndnweir_core::units::{Bytes, Span, Time};
use ndnweir_net::emulator::{Direction, Emulator, End, Link, Running, UDP_FRAMING};
use ndnweir_net::roles::{ConsumerTask, FaceTask, ForwarderTask, ProducerTask, Role, RouteTask};
use ndnweir_sim::network::{self as sim, Network};
use ndnweir_sim::routing::{Working, next_hops};
use ndnweir_sim::topology::Topology;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, Name};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// All that tasks are made from.
pub(super) struct Plan<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) network: &'a Network,
    pub(super) topology: &'a Topology,
    pub(super) scheme: &'a Scheme,
    pub(super) seed: u64,
    /// When the scenario begins.
    pub(super) zero: Time,
}

/// Whether a scenario can be emulated.
///
/// # Errors
/// A sentence that says what cannot be, and what to do.
pub fn check(scenario: &Scenario) -> Result<(), String> {
    if let Some(node) = scenario.nodes.iter().find(|node| node.kind == NodeKind::Switch) {
        return Err(format!("node {} is a switch: only NDN nodes can be emulated; simulate this scenario", node.name));
    }
    let fetches = |traffic: &Traffic| matches!(traffic, Traffic::Fetch | Traffic::Object { .. });
    if let Some(consumer) = scenario.consumers.iter().find(|consumer| !fetches(&consumer.traffic)) {
        let name = &consumer.name;
        return Err(format!("consumer {name} is no fetch: only fetches can be emulated; simulate this scenario"));
    }
    if scenario.events.iter().any(|event| matches!(event.change, Change::Rate(..))) {
        return Err(
            "a link's rate changes: the rate of a face is fixed while its forwarder runs; remove the event".into()
        );
    }
    if let Some(link) = scenario.links.iter().find(|l| l.forward.marker.is_some() || l.backward.marker.is_some()) {
        return Err(format!("link {} has a marker of its own: choose it in the scheme instead", link.name));
    }
    if scenario.routing.mode == RouteMode::None {
        return Err("routing.mode is \"none\": forwarders get routes when they start; choose another mode".into());
    }
    Ok(())
}

/// The scenario with the sizes that real packets have, and without rerouting, which emulated nodes do not do: what a
/// simulation must be given to be compared.
pub fn comparable(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let object = scenario.consumers.first().map_or("/object", |consumer| consumer.prefix.as_str());
    let segment = |object: &str| -> Option<Name> {
        let name: Name = object.parse().ok()?;
        Some(name.with(Component::version(1)).with(Component::segment(1000)))
    };
    let payload = scenario.producers.first().map_or(1024, |producer| producer.payload.get() as usize);
    let sizes = segment(object).and_then(|name| {
        let last = Component::segment(u64::from(u32::MAX) - 2);
        let data = DataBuilder::new(name.as_view())
            .freshness_period(std::time::Duration::from_secs(1))
            .final_block_id(last.as_view())
            .content(&vec![0; payload])
            .sign(&DigestSha256)
            .ok()?;
        let lifetime = std::time::Duration::from_secs(2);
        let interest = InterestBuilder::new(name.as_view()).nonce([0; 4]).lifetime(lifetime).encode().ok()?;
        Some((data.len() - payload, interest.len()))
    });
    if let Some((overhead, interest)) = sizes {
        scenario.run.data_overhead = Bytes::new(overhead as u64);
        scenario.run.interest_size = Bytes::new(interest as u64);
    }
    scenario.run.framing = UDP_FRAMING;
    scenario.routing.reaction = None;
    scenario
}

/// The links below the forwarders, whose queues are the forwarders' own.
pub(super) fn links(scenario: &Scenario) -> Vec<Link> {
    let network = crate::experiment::network(scenario);
    let direction = |from: &sim::Direction| Direction {
        rate: None,
        delay: from.delay,
        limit: Limit::Packets(1),
        framing: Bytes::ZERO,
        impairment: from.impairment,
    };
    let link = |link: &sim::Link| Link { a: None, b: None, forth: direction(&link.forth), back: direction(&link.back) };
    network.links.iter().map(link).collect()
}

fn socket(folder: &Path, node: usize) -> PathBuf {
    folder.join(format!("{node}.sock"))
}

/// Where a node's forwarder, in its `life`, records.
pub(super) fn node_record(folder: &Path, node: usize, life: u32) -> PathBuf {
    folder.join(format!("node-{node}-{life}.jsonl"))
}

/// Where a consumer records.
pub(super) fn consumer_record(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("consumer-{number}.jsonl"))
}

/// A composition as it travels to a process.
fn written(scheme: &Scheme) -> Value {
    // A scheme consists of names, numbers and texts, which always can be written.
    serde_json::to_value(scheme).unwrap_or_default()
}

impl Plan<'_> {
    /// The links that end at a node, and which end that is, in the order of the node's faces.
    pub(super) fn ends_of(&self, node: usize) -> impl Iterator<Item = (usize, End)> + '_ {
        self.topology.faces[node].iter().map(|channel| {
            let wire = self.topology.channels[*channel as usize].wire as usize;
            (wire / 2, if wire.is_multiple_of(2) { End::A } else { End::B })
        })
    }

    /// The task of a node's first forwarder.
    pub(super) fn forwarder(&self, node: usize, links: &Emulator, folder: &Path, life: u32) -> Result<Role, Error> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let remotes = self.ends_of(node).map(|(link, end)| links.address(link, end)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.forwarder_at(node, any, &remotes, folder, life))
    }

    /// The task of one that comes after a crash: where the links expect it.
    pub(super) fn forwarder_again(&self, node: usize, links: &Running, folder: &Path, life: u32) -> Role {
        let remotes: Vec<SocketAddr> = self.ends_of(node).map(|(link, end)| links.address(link, end)).collect();
        let known = self.ends_of(node).find_map(|(link, end)| links.process(link, end));
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.forwarder_at(node, known.unwrap_or(any), &remotes, folder, life)
    }

    fn forwarder_at(&self, node: usize, udp: SocketAddr, remotes: &[SocketAddr], folder: &Path, life: u32) -> Role {
        let directions = self.ends_of(node).map(|(link, end)| {
            let link = &self.scenario.links[link];
            if end == End::A { (&link.forward, &link.backward) } else { (&link.backward, &link.forward) }
        });
        let faces = directions.zip(remotes).map(|((there, back), remote)| FaceTask {
            remote: *remote,
            rate: Some(there.rate),
            return_rate: Some(back.rate),
            queue_packets: if let QueueLimit::Packets(n) = there.queue { Some(n) } else { None },
            queue_bytes: if let QueueLimit::Bytes(bytes) = there.queue { Some(bytes) } else { None },
        });
        Role::Forwarder(ForwarderTask {
            socket: socket(folder, node),
            udp,
            scheme: written(self.scheme),
            cache: usize::try_from(self.scenario.nodes[node].cache).unwrap_or(usize::MAX),
            pit: self.network.pit_limit.min(1 << 20),
            faces: faces.collect(),
            routes: self.routes(node),
            every: self.scenario.run.sample,
            record: node_record(folder, node, life),
        })
    }

    /// A node's routes, in the order of the scenario's prefixes.
    fn routes(&self, node: usize) -> Vec<RouteTask> {
        let mut routes = Vec::new();
        for (number, prefix) in (0..).zip(prefixes(self.scenario)) {
            let serving = self.network.producers.iter().filter(|producer| producer.prefix == number);
            let serving: Vec<u32> = serving.map(|producer| producer.node as u32).collect();
            let hops = next_hops(self.topology, &Working::all(self.topology), &serving, self.network.routing.routes);
            for hop in &hops[node] {
                let face = usize::from(hop.face.0);
                routes.push(RouteTask { prefix: prefix.to_owned(), face, cost: hop.cost });
            }
        }
        routes
    }

    /// A producer for every object, wherever its prefix is served; with a number each.
    pub(super) fn producers(&self, folder: &Path) -> impl Iterator<Item = (usize, Role)> {
        let mut tasks: Vec<(usize, &str, Role)> = Vec::new();
        for consumer in &self.scenario.consumers {
            for &producer in &consumer.producers {
                let producer = &self.scenario.producers[producer];
                if tasks.iter().any(|(node, object, _)| *node == producer.node && *object == consumer.prefix) {
                    continue;
                }
                let segments = if let Traffic::Object { packets } = consumer.traffic { Some(packets) } else { None };
                let task = ProducerTask {
                    transport: socket(folder, producer.node),
                    object: consumer.prefix.clone(),
                    segments,
                    payload: usize::try_from(producer.payload.get()).unwrap_or(usize::MAX),
                    freshness: producer.freshness,
                    seed: self.seed ^ (0x7072_6f64 + tasks.len() as u64),
                };
                tasks.push((producer.node, &consumer.prefix, Role::Producer(task)));
            }
        }
        tasks.into_iter().map(|(_, _, role)| role).collect::<Vec<_>>().into_iter().enumerate()
    }

    /// The task of a consumer.
    pub(super) fn consumer(&self, number: usize, folder: &Path) -> Role {
        let consumer = &self.scenario.consumers[number];
        let mut scheme = self.scheme.clone();
        if let sim::Traffic::Fetch { consumer: Some((name, params)), .. } = &self.network.consumers[number].traffic {
            let params = params.as_object().cloned().unwrap_or_default();
            scheme.parts[Family::Consumer as usize] = Part { name: name.clone(), params };
        }
        let mut rng = Rng::derive(self.seed, &[0x656d_756c, number as u64]);
        let jitter = self.scenario.run.start_jitter.scale(rng.unit());
        let end = consumer.stop.unwrap_or(self.scenario.run.duration).min(self.scenario.run.duration);
        Role::Consumer(ConsumerTask {
            transport: socket(folder, consumer.node),
            object: consumer.prefix.clone(),
            scheme: written(&scheme),
            start: (self.zero + consumer.start + jitter).nanos(),
            stop: (self.zero + end).nanos(),
            lifetime: consumer.lifetime,
            every: self.scenario.run.sample.min(Span::from_millis(100)),
            record: consumer_record(folder, number),
            seed: self.seed,
            number: number as u32,
        })
    }
}

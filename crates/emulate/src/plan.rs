//! Which process does what.

use super::Error;
use crate::roles::{ConsumerTask, FaceTask, ForwarderTask, ProducerTask, RateTask, RequesterTask, Role, RouteTask};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::Kind;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{ConsumerParams, Family};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_net::emulator::{self, EmulatedDirection, Emulator, End, ProcessPair, Running, UDP_FRAMING};
use ndnweir_scenario::{Change, Direction, Retry, Scenario, Traffic};
use ndnweir_sim::network::Network;
use ndnweir_sim::topology::Topology;
use ndnweir_wire::{LpPacketView, PacketView};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The inputs of all tasks.
pub(super) struct Plan<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) network: &'a Network,
    pub(super) topology: &'a Topology,
    /// By prefix, in the order of the scenario's, and by node.
    pub(super) next_hops: Vec<Vec<Vec<NextHop>>>,
    pub(super) scheme: &'a Scheme,
    pub(super) seed: u64,
    /// By link: the largest datagram, if it has an MTU.
    pub(super) mtus: &'a [Option<Bytes>],
    /// When the scenario begins.
    pub(super) zero: Time,
}

/// What a datagram between forwarders is.
fn kind(datagram: &[u8]) -> Kind {
    let Ok(view) = LpPacketView::decode(datagram) else { return Kind::Data };
    match view.fragment.map(PacketView::decode) {
        Some(Ok(PacketView::Interest(_))) if view.nack.is_some() => Kind::Nack,
        Some(Ok(PacketView::Interest(_))) => Kind::Interest,
        _ => Kind::Data,
    }
}

/// The links below the forwarders, and which forwarders they join. The queue of a link is a forwarder's own, unless a
/// switch has it or several neighbours share it.
pub(super) fn below(network: &Network, topology: &Topology) -> emulator::EmulatedNetwork {
    let direction = |directed_link: usize, from: &Direction| EmulatedDirection {
        rate: from.rate,
        trace: from.trace.clone(),
        paced: !topology.is_below_ndn(directed_link as u32),
        delay: from.delay,
        limit: from.limit,
        framing: UDP_FRAMING,
        impairment: from.impairment,
    };
    let links = network.links.iter().enumerate();
    let pair = |pair: usize| ProcessPair {
        processes: [None; 2],
        ports: [0; 2],
        routes: [2 * pair, 2 * pair + 1].map(|channel| {
            topology.route(channel as u32).into_iter().map(|directed_link| directed_link as usize).collect()
        }),
    };
    emulator::EmulatedNetwork {
        links: links.map(|(i, l)| [direction(2 * i, &l.forward), direction(2 * i + 1, &l.backward)]).collect(),
        pairs: (0..topology.channels.len() / 2).map(pair).collect(),
        kind,
    }
}

/// The opposite end.
pub(super) fn other(end: End) -> End {
    match end {
        End::A => End::B,
        End::B => End::A,
    }
}

/// Whether a scheme has a planner.
pub(super) fn plans(scheme: &Scheme) -> bool {
    scheme.part(Family::Planner).name != Family::Planner.default_component()
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

/// A composition in the form that is passed to a process.
fn written(scheme: &Scheme) -> Value {
    // A scheme consists of names, numbers and texts, which always can be written.
    serde_json::to_value(scheme).unwrap_or_default()
}

impl Plan<'_> {
    /// The pairs that end at a node, and which end that is, in the order of the node's faces.
    pub(super) fn ends_of(&self, node: usize) -> impl Iterator<Item = (usize, End)> + '_ {
        let channels = self.topology.faces[node].iter();
        channels.map(|channel| (*channel as usize / 2, if channel % 2 == 0 { End::A } else { End::B }))
    }

    /// The nodes that are forwarders.
    pub(super) fn forwarders(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.scenario.nodes.len()).filter(|node| !self.topology.is_switch(*node as u32))
    }

    /// The task of a node's first forwarder.
    pub(super) fn forwarder(&self, node: usize, links: &Emulator, folder: &Path) -> Result<Role, Error> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let remotes = self.ends_of(node).map(|(link, end)| links.address(link, end)).collect::<Result<Vec<_>, _>>()?;
        let gnmi = plans(self.scheme).then_some(any);
        Ok(self.forwarder_at(node, (any, gnmi), &remotes, folder, 0))
    }

    /// The task of a forwarder after a crash: with the addresses that the links and a controller expect.
    pub(super) fn forwarder_again(
        &self,
        node: usize,
        links: &Running,
        gnmi: Option<SocketAddr>,
        folder: &Path,
        life: u32,
    ) -> Role {
        let remotes: Vec<SocketAddr> = self.ends_of(node).map(|(link, end)| links.address(link, end)).collect();
        let known = self.ends_of(node).find_map(|(link, end)| links.process(link, end));
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.forwarder_at(node, (known.unwrap_or(any), gnmi), &remotes, folder, life)
    }

    fn forwarder_at(
        &self,
        node: usize,
        (udp, gnmi): (SocketAddr, Option<SocketAddr>),
        remotes: &[SocketAddr],
        folder: &Path,
        life: u32,
    ) -> Role {
        let channels = self.topology.faces[node].iter().map(|channel| &self.topology.channels[*channel as usize]);
        let faces = channels.zip(remotes).map(|(channel, remote)| {
            let forward = self.direction(channel.directed_link);
            let own_queue = !self.topology.is_below_ndn(channel.directed_link);
            FaceTask {
                remote: *remote,
                rate: forward.rate.filter(|_| own_queue),
                return_rate: self.direction(channel.directed_link ^ 1).rate.filter(|_| channel.direct),
                queue_packets: if let Limit::Packets(n) = forward.limit { Some(n) } else { None },
                queue_bytes: if let Limit::Bytes(bytes) = forward.limit { Some(bytes) } else { None },
                mtu: self.mtus[channel.directed_link as usize / 2].and_then(|mtu| usize::try_from(mtu.get()).ok()),
                marker: forward.marker.clone().filter(|_| own_queue),
            }
        });
        Role::Forwarder(ForwarderTask {
            socket: socket(folder, node),
            udp,
            gnmi,
            scheme: written(self.scheme),
            cache: self.scenario.nodes[node].kind.cache().unwrap_or(0),
            pit: self.network.pit_limit.min(1 << 20),
            faces: faces.collect(),
            routes: self.routes(node),
            changes: self.changes(node),
            from: self.zero.nanos(),
            every: self.scenario.run.sample,
            record: node_record(folder, node, life),
        })
    }

    fn direction(&self, directed_link: u32) -> &Direction {
        self.network.links[directed_link as usize / 2].directions()[directed_link as usize % 2]
    }

    /// The changes of rate that a node's faces see, as sender or as receiver.
    fn changes(&self, node: usize) -> Vec<RateTask> {
        let mut changes = Vec::new();
        for event in &self.scenario.events {
            let Change::Rate { link, direction, rate } = event.change else { continue };
            for directed_link in direction.directed_links(link) {
                for (face, channel) in self.topology.faces[node].iter().enumerate() {
                    let channel = &self.topology.channels[*channel as usize];
                    let sends = channel.directed_link == directed_link && !self.topology.is_below_ndn(directed_link);
                    let receives = channel.directed_link == directed_link ^ 1 && channel.direct;
                    if sends || receives {
                        let at = (self.zero + event.at).nanos();
                        let (rate, return_rate) = (sends.then_some(rate), receives.then_some(rate));
                        changes.push(RateTask { at, face, rate, return_rate });
                    }
                }
            }
        }
        changes
    }

    /// A node's routes, in the order of the scenario's prefixes.
    fn routes(&self, node: usize) -> Vec<RouteTask> {
        let mut routes = Vec::new();
        for (prefix, hops) in self.scenario.prefixes().into_iter().zip(&self.next_hops) {
            for hop in hops.get(node).into_iter().flatten() {
                let face = usize::from(hop.face.0);
                routes.push(RouteTask { prefix: prefix.to_owned(), face, cost: hop.cost });
            }
        }
        routes
    }

    /// Every object with the producers of the scenario that publish it, one for each node.
    pub(super) fn objects(&self) -> Vec<(usize, &str)> {
        let producers = &self.scenario.producers;
        let mut objects: Vec<(usize, &str)> = Vec::new();
        for consumer in &self.scenario.consumers {
            for &producer in &consumer.producers {
                let known = objects.iter().any(|&(other, object)| {
                    producers[other].node == producers[producer].node && object == consumer.prefix
                });
                if !known {
                    objects.push((producer, &consumer.prefix));
                }
            }
        }
        objects
    }

    /// A producer for every object, wherever its prefix is served; with a number each.
    pub(super) fn producers(&self, folder: &Path) -> impl Iterator<Item = (usize, Role)> {
        let task = |(number, (producer, object)): (usize, (usize, &str))| {
            let producer = &self.scenario.producers[producer];
            let sharing = self.scenario.consumers.iter().filter(|consumer| consumer.prefix == object);
            // An object of known length has it for all consumers; a catalogue is as long as the longest requested.
            let segments = sharing.filter_map(|consumer| match consumer.traffic {
                Traffic::Fetch { segments, .. } => segments,
                Traffic::Zipf { objects, .. } => Some(objects.into()),
                Traffic::Stream { .. } | Traffic::Flows(_) => None,
            });
            let task = ProducerTask {
                transport: socket(folder, producer.node),
                object: object.to_owned(),
                segments: segments.max(),
                payload: usize::try_from(producer.payload.get()).unwrap_or(usize::MAX),
                freshness: producer.freshness,
                seed: self.seed ^ (0x7072_6f64 + number as u64),
            };
            (number, Role::Producer(task))
        };
        self.objects().into_iter().enumerate().map(task).collect::<Vec<_>>().into_iter()
    }

    /// The task of a consumer.
    pub(super) fn consumer(&self, number: usize, folder: &Path) -> Role {
        let consumer = &self.scenario.consumers[number];
        let mut rng = Rng::derive(self.seed, &[0x656d_756c, number as u64]);
        let jitter = consumer.start_jitter.unwrap_or(self.scenario.run.start_jitter).scale(rng.unit());
        let end = self.scenario.run.duration;
        let [start, stop, end] =
            [consumer.start + jitter, consumer.stop.unwrap_or(end).min(end), end].map(|at| (self.zero + at).nanos());
        let (transport, object, record) =
            (socket(folder, consumer.node), consumer.prefix.clone(), consumer_record(folder, number));
        let (seed, number, lifetime) = (self.seed, number as u32, consumer.lifetime);
        let (from, every) = (self.zero.nanos(), self.scenario.run.sample.min(Duration::from_millis(100)));
        let (gap, poisson, retry, segments, catalogue) = match consumer.traffic {
            Traffic::Fetch { consumer: ref own, .. } => {
                let scheme = written(&self.with_consumer(own.as_ref()));
                let task = ConsumerTask {
                    transport,
                    object,
                    scheme,
                    start,
                    stop,
                    lifetime,
                    link: self.network.inward_rates()[consumer.node],
                    from,
                    every,
                    record,
                    seed,
                    number,
                };
                return Role::Consumer(task);
            }
            Traffic::Stream { gap, segments, retry } => (gap, false, retry, segments, None),
            Traffic::Zipf { gap, poisson, objects, exponent, retry } => {
                (gap, poisson, retry, None, Some((objects, exponent)))
            }
            // No such consumer gets past `check`; this one would never ask.
            Traffic::Flows(_) => (Duration::MAX, false, Retry::Never, Some(0), None),
        };
        let retries = if let Retry::Lifetime(retries) = retry { retries } else { 0 };
        Role::Requester(RequesterTask {
            transport,
            object,
            segments,
            catalogue,
            gap,
            poisson,
            retries,
            start,
            stop,
            end,
            lifetime,
            from,
            every,
            record,
            seed,
            number,
        })
    }

    /// The scheme, perhaps with another consumer.
    fn with_consumer(&self, own: Option<&ComponentChoice<ConsumerParams>>) -> Scheme {
        let mut scheme = self.scheme.clone();
        if let Some(own) = own {
            scheme.parts.consumer = own.clone();
        }
        scheme
    }
}

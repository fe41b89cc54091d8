//! From a description to an engine that is ready to start.

use super::apps::{App, Application};
use super::cross::Cross;
use super::faults::Faults;
use super::flows::{FlowSet, FlowTemplate, KnownObjects, first_number};
use super::fragments::Fragments;
use super::media::Media;
use super::parallel::Threads;
use super::planner::PlannerHost;
use super::sampling::Sampler;
use super::sink::Alone;
use super::{EgressLink, Engine, EngineLink, EngineNode, KnownFields, Local, Net, Process, RunOptions, Source};
use crate::mtu;
use crate::network::{Direction, NameGroup, Network, NetworkError, SignalChange, Traffic};
use crate::observer::Observer;
use crate::outcome::EventHash;
use crate::parts::Placement;
use crate::path::Paths;
use crate::routing::check_reachable;
use crate::schedule::tournament::Tournament;
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::{DirectedLink, NONE, Topology};
use ndnweir_core::consumer::Consumer as _;
use ndnweir_core::ctx::Rng;
use ndnweir_core::fields::{Field, FieldLayout};
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Time};
use ndnweir_link::{Port, Propagation};
use ndnweir_node::fetcher::LossDetection;
use ndnweir_node::requests::Requests;
use ndnweir_node::{
    FaceConfig, Fetcher, FetcherConfig, FlowPrefixes, HopLists, Node, NodeConfig, Server, ServerConfig,
    StrategyChoiceId,
};
use std::collections::BTreeMap;

/// Labels of the random streams of start phases (see [`Rng::derive`]).
const STREAM: u64 = 0x7374_6172;
/// The largest window a fetch can have outstanding.
const MAX_WINDOW: usize = 1 << 24;

fn error(message: impl Into<String>) -> NetworkError {
    NetworkError(message.into())
}

/// The direction of a link that a wire is.
pub(super) fn direction(network: &Network, directed_link: u32) -> &Direction {
    let link = &network.links[directed_link as usize / 2];
    link.directions()[directed_link as usize % 2]
}

/// The propagation delay of `node`'s next hops to where the prefix is served and back, by the first next hop of every
/// later node; delays as the network starts with. Left out: next hops across switches.
pub(super) fn base_rtts(
    network: &Network,
    topology: &Topology,
    fib: &HopLists,
    node: usize,
) -> Vec<(FaceId, Duration)> {
    let walk = |first: &NextHop| {
        let (mut at, mut hop, mut rtt) = (node, *first, Duration::ZERO);
        for _ in 0..fib.count() {
            let out = topology.faces[at].iter().find(|&&out| topology.channels[out as usize].out_face == hop.face.0);
            let Some(&out) = out else { return Some((first.face, rtt)) };
            let (forth, back) = (topology.channels[out as usize], topology.channels[out as usize ^ 1]);
            if !forth.direct {
                return None;
            }
            rtt = rtt + direction(network, forth.directed_link).delay + direction(network, back.directed_link).delay;
            at = forth.to as usize;
            hop = *fib.get(at).first()?;
        }
        None
    };
    fib.get(node).iter().filter_map(walk).collect()
}

impl<'n, 'o> Engine<'n, 'o> {
    pub(super) fn build(
        network: &'n Network,
        scheme: &Scheme,
        seed: u64,
        observer: &'n mut dyn Observer,
        options: RunOptions<'o>,
    ) -> Result<Engine<'n, 'o>, NetworkError> {
        let topology = Topology::new(network)?;
        check_reachable(network, &topology)?;
        let placement = Placement::new(network, scheme, seed);
        let mut layout = placement.layout();
        let places = places(network, &topology, &placement, seed, &layout, &options)?;
        let directed_links = topology.directed_links.len();
        let net = Net {
            links: links(network, &topology, seed),
            ports: (0..directed_links as u32).map(|directed_link| port(network, &topology, directed_link)).collect(),
            schedule: Tournament::new(0),
            media: Media::new(network, &topology),
            cross: Cross::new(network, seed, topology.channels.len()),
            fragments: Fragments::new(network.nodes.len()),
            sink: Alone {
                paths: Paths::default(),
                with_paths: options.paths,
                watched: options.paths || options.tap.is_some(),
                in_flight: 0,
                peak_in_flight: 0,
                hash: options.hash.then(EventHash::new),
                observed: observer.watches(),
                requests_observed: observer.watches_requests(),
                observer,
                tap: options.tap,
                links: Vec::new(),
            },
            topology,
        };
        let count = network.nodes.len();
        let control = PlannerHost::new(network, scheme, seed, &mut layout, options.trace);
        let process = Process {
            now: Time::ZERO,
            net,
            places,
            apps: Vec::new(),
            servers: Vec::new(),
            sources: Vec::new(),
            trace: options.trace,
            reports_wanted: control.is_on(),
            reports: Vec::new(),
            collected: None,
            events: 0,
            dead: vec![0; count],
            unswitched: vec![0; count],
            known: None,
            signals: signals(network),
            examines: false,
            drains: false,
            eager: Vec::new(),
        };
        let mut engine = Engine {
            seed,
            process,
            faults: Faults::new(network),
            sampler: Sampler::new(network, &placement),
            control,
            stop: options.stop,
            progress: options.progress,
            between_pauses: options.keeper.as_ref().map_or(1024, |keeper| keeper.asked_every()).next_power_of_two() - 1,
            keeper: options.keeper,
            stopped: false,
            flows: FlowPrefixes::default(),
            next_flow: first_number(network),
            known_objects: KnownObjects::new(),
            threads: Threads::new(options.threads, options.force_threads),
            windows: options.windows,
            departures: Vec::new(),
            network,
        };
        engine.add_servers()?;
        engine.add_apps(&placement, &mut layout)?;
        engine.process.known = (!placement.is_uniform()).then(|| KnownFields {
            nodes: placement.slots_by_node(&layout),
            apps: placement.slots_by_consumer(network, &layout),
        });
        engine.process.note_tellings();
        engine.number_sources();
        Ok(engine)
    }

    /// Adds a local face to a node.
    fn add_local(&mut self, node: usize, local: Local) -> Result<u16, NetworkError> {
        let place = &mut self.process.places[node];
        let Some(node) = &mut place.node else { return Err(error("an application on a switch")) };
        let face = node.add_face(FaceConfig::local()).map_err(|e| error(e.to_string()))?;
        place.locals.push(local);
        Ok(face.0)
    }

    fn add_servers(&mut self) -> Result<(), NetworkError> {
        for (i, producer) in self.network.producers.iter().enumerate() {
            let face = self.add_local(producer.node, Local::Server(i as u32))?;
            self.faults.serve(producer.node as u32, producer.prefix, face);
            self.process.servers.push(Server::new(ServerConfig {
                payload: producer.payload,
                data_size: producer.size,
                grows: self.network.growing_sizes,
                freshness: producer.freshness,
                last_segment: None,
            }));
        }
        Ok(())
    }

    fn add_apps(&mut self, placement: &Placement<'_>, layout: &mut FieldLayout) -> Result<(), NetworkError> {
        let flows = self.network.flows();
        let numbers: BTreeMap<NameGroup, u32> = flows.iter().copied().zip(0..).collect();
        let inward_rates = self.network.inward_rates();
        for (i, consumer) in self.network.consumers.iter().enumerate() {
            let number = i as u32;
            let flow = FlowId(numbers.get(&consumer.flow()).copied().unwrap_or_default());
            let face = self.add_local(consumer.node, Local::App(number))?;
            let config = |segments, loss| FetcherConfig {
                flow,
                number,
                seed: self.seed,
                total: segments,
                interest_size: consumer.interest_size,
                grows: self.network.growing_sizes,
                lifetime: consumer.lifetime,
                trace: self.process.trace,
                max_window: MAX_WINDOW,
                loss,
                pace: None,
            };
            let link = inward_rates[consumer.node];
            let scheme = placement.consumer_scheme(i);
            let application = match &consumer.traffic {
                Traffic::Fetch { segments, consumer: own } => {
                    let mut built = own.as_ref().unwrap_or(&scheme.parts.consumer).build(layout);
                    built.on_link(link);
                    let loss = loss_detection(&built, layout);
                    Application::Fetch(Box::new(Fetcher::new(config(*segments, loss), built)))
                }
                Traffic::Flows(flows) => {
                    let own = flows.consumer.as_ref().unwrap_or(&scheme.parts.consumer).clone();
                    // The header fields it needs get their slots now; flows build theirs when they arrive.
                    let loss = loss_detection(&own.build(layout), layout);
                    let template = FlowTemplate {
                        config: config(None, loss),
                        consumer: own,
                        layout: layout.clone(),
                        link,
                        prefix: PrefixId(consumer.prefix),
                        strategies: strategies_of(self.network, placement, consumer.flow()),
                    };
                    Application::Flows(Box::new(FlowSet::new(flows, template)))
                }
                _ => {
                    let grows = self.network.growing_sizes;
                    let Some(config) = consumer.requests(flow, self.seed, number, grows) else { continue };
                    Application::Requests(Box::new(Requests::new(&config)))
                }
            };
            let mut phase = Rng::derive(self.seed, &[STREAM, number.into()]);
            let jitter = consumer.start_jitter.unwrap_or(self.network.start_jitter).nanos().saturating_add(1);
            let start = consumer.start + Duration::from_nanos(phase.below(jitter));
            let stop = consumer.stop.unwrap_or(Time::NEVER);
            self.process.apps.push(App::new(application, consumer.node as u32, face, start, stop));
        }
        for (number, flow) in (0..).map(FlowId).zip(&flows) {
            self.flows.bind(number, Some(PrefixId(flow.prefix)));
            assign_strategies(&mut self.process.places, number, &strategies_of(self.network, placement, *flow));
        }
        self.share_flows();
        Ok(())
    }

    /// Numbers the sources so that events of one instant and one rank come by destination, then link. Directed links, from
    /// which most events come, have the highest numbers, which are the fewest matches below the final.
    fn number_sources(&mut self) {
        let Self { process, control, sampler, .. } = self;
        let Process { net, places, apps, .. } = process;
        let mut sources = vec![Source::Changes];
        for medium in 0..net.media.count() {
            net.media.set_source(medium, sources.len() as u32);
            sources.push(Source::Medium(medium as u32));
        }
        for (number, place) in places.iter_mut().enumerate() {
            place.source = sources.len() as u32;
            sources.push(Source::Node(number as u32));
            for local in &place.locals {
                if let Local::App(app) = *local {
                    apps[app as usize].source = sources.len() as u32;
                    sources.push(Source::App(app));
                }
            }
        }
        let mut starts = Vec::new();
        for flow in 0..net.cross.count() {
            let source = sources.len() as u32;
            starts.push((source, net.cross.set_source(flow, source)));
            sources.push(Source::Cross(flow as u32));
        }
        control.source = sources.len() as u32;
        sources.push(Source::Control);
        sampler.source = sources.len() as u32;
        sources.push(Source::Sample);
        let mut inward: Vec<u32> = (0..net.links.len() as u32).collect();
        inward.sort_by_key(|&directed_link| net.topology.directed_links[directed_link as usize].to);
        for directed_link in inward {
            net.links[directed_link as usize].source = sources.len() as u32;
            sources.push(Source::DirectedLink(directed_link));
        }
        net.schedule = Tournament::new(sources.len());
        for (source, at) in starts {
            net.schedule.set(source, Due::new(at, EventRank::APPLICATION));
        }
        process.sources = sources;
    }
}

/// How a consumer finds losses before their timeout, if it does.
fn loss_detection(consumer: &AnyConsumer, layout: &mut FieldLayout) -> Option<LossDetection> {
    let found = || LossDetection { longer_way: layout.slot(Field::LongerWay), ..LossDetection::default() };
    consumer.timer().loss_detection.then(found)
}

/// The strategy of a flow's names, by scheme.
fn strategies_of(network: &Network, placement: &Placement<'_>, flow: NameGroup) -> Vec<StrategyChoiceId> {
    let governing = |scheme: &&Scheme| match scheme.choices.is_empty() {
        true => 0,
        false => scheme.choice_for_name(network.flow_name(flow)),
    };
    placement.schemes().iter().map(|scheme| StrategyChoiceId::of_scheme(governing(scheme))).collect()
}

/// Gives the names of a flow to one of its node's strategies, at every node; `choices` are by scheme. Most have none of
/// their own.
pub(super) fn assign_strategies(places: &mut [EngineNode], flow: FlowId, choices: &[StrategyChoiceId]) {
    if choices.iter().all(|choice| *choice == StrategyChoiceId::ROOT) {
        return;
    }
    for place in places {
        if let Some(node) = &mut place.node {
            node.assign_strategy(flow, choices[usize::from(place.scheme)]);
        }
    }
}

fn places(
    network: &Network,
    topology: &Topology,
    placement: &Placement<'_>,
    seed: u64,
    layout: &FieldLayout,
    options: &RunOptions<'_>,
) -> Result<Vec<EngineNode>, NetworkError> {
    let mut places = Vec::with_capacity(network.nodes.len());
    let largest = mtu::largest_frames(network);
    let mut locals = vec![0; network.nodes.len()];
    let applications = network.producers.iter().map(|producer| producer.node);
    applications.chain(network.consumers.iter().map(|consumer| consumer.node)).for_each(|node| locals[node] += 1);
    for (number, kind) in network.nodes.iter().enumerate() {
        let mut place = EngineNode {
            node: None,
            source: 0,
            due: Time::NEVER,
            scheme: u16::try_from(placement.of_node(number)).map_err(|_| error("too many schemes"))?,
            locals: Vec::new(),
            egress_links: Box::default(),
            up: true,
        };
        if let Some(cache) = kind.cache() {
            let config = NodeConfig {
                number: number as u32,
                seed,
                scheme: placement.node_scheme(number),
                layout,
                pit_limit: network.pit_limit,
                cache,
                prefixes: network.prefixes as usize,
                trace: options.trace,
                force_events: options.force_events,
            };
            let mut node = Box::new(Node::new(config).map_err(|e| error(e.to_string()))?);
            node.reserve_faces(topology.faces[number].len() + locals[number]);
            let mut egress_links = Vec::with_capacity(topology.faces[number].len());
            for &channel in &topology.faces[number] {
                let mtu = mtu::of_channel(&largest, topology, channel);
                node.add_face(FaceConfig { mtu, ..face(network, topology, channel) })
                    .map_err(|e| error(e.to_string()))?;
                let directed_link = topology.channels[channel as usize].directed_link;
                let shared = topology.is_below_ndn(directed_link);
                egress_links.push(EgressLink::new(channel, directed_link, shared));
            }
            place.egress_links = egress_links.into();
            if topology.is_host(number as u32) {
                node.set_host();
            }
            place.node = Some(node);
        }
        places.push(place);
    }
    Ok(places)
}

fn face(network: &Network, topology: &Topology, channel: u32) -> FaceConfig {
    let directed_link = topology.channels[channel as usize].directed_link;
    let direction = direction(network, directed_link);
    let mut config = FaceConfig::local();
    config.local = false;
    config.limit = direction.limit;
    if !topology.is_below_ndn(directed_link) {
        config.rate = direction.rate;
        config.trace = direction.trace.clone();
        config.framing = direction.framing;
        config.marker = direction.marker.clone();
        config.discipline = direction.discipline.clone();
    }
    if topology.channels[channel as usize].direct {
        config.return_rate = self::direction(network, directed_link ^ 1).rate;
    }
    config
}

fn port(network: &Network, topology: &Topology, directed_link: u32) -> Option<Box<Port>> {
    let Direction { rate, ref trace, limit, framing, mark_after, .. } = *direction(network, directed_link);
    let port = || match trace {
        Some(trace) => Port::traced(trace.clone(), limit, framing),
        None => Port::new(rate, limit, framing),
    };
    let built = || Box::new(port().marking(mark_after));
    let is_used =
        topology.directed_links[directed_link as usize].channel != NONE || topology.is_below_ndn(directed_link);
    let in_medium = network.media.iter().any(|medium| medium.links.contains(&(directed_link as usize / 2)));
    (is_used && !in_medium && topology.is_below_ndn(directed_link)).then(built)
}

/// By directed link: what it does to congestion signals; none where no link does anything.
fn signals(network: &Network) -> Option<Box<[SignalChange]>> {
    let all: Box<[SignalChange]> = network.links.iter().flat_map(|l| l.directions()).map(|d| d.signals).collect();
    all.iter().any(|change| !change.is_none()).then_some(all)
}

fn links(network: &Network, topology: &Topology, seed: u64) -> Vec<EngineLink> {
    let link = |(directed_link, ends): (u32, &DirectedLink)| {
        let Direction { delay, impairment, .. } = *direction(network, directed_link);
        let propagation = Propagation::new(delay, impairment, seed, directed_link);
        let in_face = topology.channels.get(ends.channel as usize).map_or(0, |channel| channel.in_face);
        EngineLink { to: ends.to, source: 0, channel: ends.channel, in_face, is_ahead: false, propagation }
    };
    (0..).zip(&topology.directed_links).map(link).collect()
}

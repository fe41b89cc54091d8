//! The engine: takes the earliest event, lets the node it concerns act, and puts what the node sends on its links.

mod apps;
mod build;
mod cross;
mod faults;
mod flows;
mod fragments;
mod keeping;
mod media;
mod planner;
mod routes;
mod sampling;

use crate::network::{Network, NetworkError, SignalChange};
use crate::observer::{ConsumerId, Delivery, DirectedLinkId, NodeId, Observer, PathId};
use crate::outcome::{EventHash, Outcome};
use crate::path::Paths;
use crate::schedule::tournament::Tournament;
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::{Channel, NONE, Topology};
use apps::App;
use cross::Cross;
use faults::Faults;
use flows::FlowSet;
use fragments::Fragments;
pub use keeping::Keeper;
use media::Media;
use ndnweir_core::fields::Slots;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_link::{Port, Propagation};
use ndnweir_node::{Node, Server, Transmit};
use ndnweir_state::State;
use planner::PlannerHost;
use sampling::Sampler;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Sees every packet that is put on a link.
pub trait PacketTap {
    /// A packet starts on a link at `waiting.end`; it joined the link's queue at `waiting.start`. `now` never goes back.
    /// The start is not before it, and may lie in the future, as the departure from a predictable queue is known when a
    /// packet joins it. A link that fails before the start takes the packet back without notice. `ends` are the NDN nodes
    /// that the packet goes between; with switches the link need not end at them.
    fn sent(&mut self, now: Time, waiting: Range<Time>, link: DirectedLinkId, ends: [NodeId; 2], packet: &Packet);

    /// What it has gathered, to keep it with the state of a run; none if it cannot be kept.
    fn state(&mut self) -> Option<&mut dyn State> {
        None
    }
}

/// How to run.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Whether to compute [`Outcome::hash`].
    pub hash: bool,
    /// Whether to report the path of each Data to the observer.
    pub paths: bool,
    /// Whether components record events for [`Observer::scheme_event`].
    pub trace: bool,
    /// Never settle departures late (see `ndnweir_node::NodeConfig`); slower, with the same results.
    pub force_events: bool,
    /// Ends the run at the next opportunity when set.
    pub stop: Option<&'a AtomicBool>,
    /// Called with the fraction of simulated time that has passed, at most a thousand times.
    pub progress: Option<&'a mut dyn FnMut(f64)>,
    /// Sees every packet.
    pub tap: Option<&'a mut dyn PacketTap>,
    /// Keeps the state of the run from time to time; observer and tap must have states.
    pub keeper: Option<&'a mut dyn Keeper>,
    /// What a keeper was given in a run of the same network, scheme, seed and options: it goes on from there.
    pub resume: Option<&'a [u8]>,
}

impl RunOptions<'_> {
    /// With hash and paths, as results are made.
    pub fn full() -> Self {
        RunOptions { hash: true, paths: true, ..RunOptions::default() }
    }
}

/// Simulates `network` under `scheme`.
///
/// # Errors
/// If the network cannot be simulated (see [`Network::check`]), or a component of the scheme cannot be built; if there is
/// a keeper and something whose state cannot be kept, or what is to be resumed is the state of another run.
pub fn run(
    network: &Network,
    scheme: &Scheme,
    seed: u64,
    observer: &mut dyn Observer,
    options: RunOptions<'_>,
) -> Result<Outcome, NetworkError> {
    network.check()?;
    network.check_parts(scheme)?;
    let resume = options.resume;
    let mut engine = Engine::build(network, scheme, seed, observer, options)?;
    match resume {
        Some(state) => engine.resume(state)?,
        None => engine.start(),
    }
    engine.check_keeping()?;
    engine.run_until(Time::ZERO + network.duration);
    Ok(engine.finish())
}

/// Where events come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Scheduled changes and the reaction of routing.
    Changes,
    /// Arrivals on a directed link.
    DirectedLink(u32),
    /// A node's timeout.
    Node(u32),
    /// An application.
    App(u32),
    /// A shared medium.
    Medium(u32),
    /// Traffic that is not NDN.
    Cross(u32),
    /// Messages between nodes and the planner.
    Control,
    /// Sampling, after everything else of its instant.
    Sample,
}

/// The application of a local face.
#[derive(Clone, Copy, Debug)]
enum Local {
    /// A consumer.
    App(u32),
    /// A producer.
    Server(u32),
}

/// The path of packets from one face to a neighbour.
#[derive(Clone, Copy, Debug)]
struct EgressLink {
    channel: u32,
    directed_link: u32,
    /// Whether a queue below NDN comes first.
    shared: bool,
}

/// A place of the topology.
#[derive(ndnweir_state::State)]
struct EngineNode {
    /// None for a switch.
    #[state(each, inner)]
    node: Option<Box<Node>>,
    /// The source of its timeouts.
    source: u32,
    /// When that is due in the schedule.
    due: Time,
    /// Which of the run's schemes it has (see `Placement::of_node`).
    #[state(skip)]
    scheme: usize,
    /// What is behind the faces after those to neighbours.
    #[state(skip)]
    locals: Vec<Local>,
    /// The faces to neighbours, which come first.
    #[state(skip)]
    egress_links: Vec<EgressLink>,
    /// Whether it works.
    up: bool,
}

/// A directed link with what is needed of it for every packet, side by side in as few cache lines as it takes.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
struct EngineLink {
    /// Where it ends.
    to: u32,
    /// The source of its arrivals.
    source: u32,
    /// Its only channel, and the face by which that is received; [`NONE`] where it has several or none.
    channel: u32,
    in_face: u16,
    propagation: Propagation,
}

/// Everything except nodes and applications, so that these can be borrowed while it changes.
#[derive(ndnweir_state::State)]
struct Net<'a> {
    topology: Topology,
    /// By directed link.
    #[state(each)]
    links: Vec<EngineLink>,
    /// Queues below NDN: of switches, and of interfaces that several faces share.
    #[state(flat)]
    ports: Vec<Option<Box<Port>>>,
    media: Media,
    cross: Cross,
    fragments: Fragments,
    schedule: Tournament,
    paths: Paths,
    with_paths: bool,
    in_flight: u64,
    peak_in_flight: u64,
    #[state(skip)]
    tap: Option<&'a mut dyn PacketTap>,
}

/// The header fields that each knows; others it drops on arrival.
struct KnownFields {
    nodes: Vec<Slots>,
    apps: Vec<Slots>,
}

#[derive(ndnweir_state::State)]
struct Engine<'n, 'o> {
    #[state(skip)]
    network: &'n Network,
    seed: u64,
    now: Time,
    net: Net<'o>,
    #[state(each)]
    places: Vec<EngineNode>,
    #[state(each)]
    apps: Vec<App>,
    #[state(each)]
    servers: Vec<Server>,
    #[state(skip)]
    sources: Vec<Source>,
    faults: Faults,
    sampler: Sampler,
    control: PlannerHost,
    #[state(skip)]
    observer: &'n mut dyn Observer,
    hash: Option<EventHash>,
    trace: bool,
    #[state(skip)]
    stop: Option<&'o AtomicBool>,
    #[state(skip)]
    progress: Option<&'o mut dyn FnMut(f64)>,
    #[state(skip)]
    keeper: Option<&'o mut dyn Keeper>,
    events: u64,
    /// One less than a power of two.
    #[state(skip)]
    between_pauses: u64,
    #[state(skip)]
    stopped: bool,
    dead: Vec<u64>,
    unswitched: Vec<u64>,
    /// The number of the next flow that comes and goes.
    next_flow: u32,
    /// Objects of catalogues that flows have fetched.
    known_objects: flows::KnownObjects,
    /// What nodes and consumers know of header fields; none where all run one scheme.
    #[state(skip)]
    known: Option<KnownFields>,
    /// By directed link: what it does to congestion signals; none where no link does anything.
    #[state(skip)]
    signals: Option<Box<[SignalChange]>>,
    /// Applications of the node at hand that may have something to send.
    eager: Vec<u32>,
    #[state(skip)]
    links: Vec<DirectedLinkId>,
    #[state(skip)]
    departures: Vec<(Time, Time)>,
}

impl Net<'_> {
    /// Puts what a node sends on its link.
    #[inline(always)]
    fn transmit(&mut self, now: Time, egress_link: EgressLink, transmit: &mut Transmit) {
        let EgressLink { channel, directed_link, shared } = egress_link;
        let packet = &mut transmit.packet;
        if packet.kind == Kind::Data && packet.has(flags::FROM_CACHE) {
            packet.tag = 0;
        }
        if shared {
            self.offer(now, directed_link, channel, *packet);
        } else {
            let Transmit { joined, start, end, .. } = *transmit;
            self.put(now, directed_link, channel, &mut transmit.packet, [joined, start, end]);
        }
    }

    /// Hands a packet to a queue below NDN.
    #[inline(never)]
    fn offer(&mut self, now: Time, directed_link: u32, channel: u32, mut packet: Packet) {
        let Some(port) = &mut self.ports[directed_link as usize] else {
            return self.offer_to_medium(now, directed_link, channel, &packet);
        };
        if let Some((start, end)) = port.offer(now, &mut packet) {
            self.put(now, directed_link, channel, &mut packet, [now, start, end]);
        }
    }

    /// Shows a packet that is put on a link to the tap.
    #[cold]
    #[inline(never)]
    fn show(&mut self, now: Time, directed_link: u32, channel: u32, waiting: Range<Time>, packet: &Packet) {
        if let Some(tap) = &mut self.tap
            && let Some(&Channel { from, to, .. }) = self.topology.channels.get(channel as usize)
        {
            tap.sent(now, waiting, DirectedLinkId(directed_link), [NodeId(from), NodeId(to)], packet);
        }
    }

    /// `times` are when the packet joined its queue, and when its transmission starts and ends.
    #[inline(always)]
    fn put(&mut self, now: Time, directed_link: u32, channel: u32, packet: &mut Packet, times: [Time; 3]) {
        let [joined, start, end] = times;
        if self.tap.is_some() {
            self.show(now, directed_link, channel, joined..start, packet);
        }
        if self.with_paths && packet.kind == Kind::Data {
            packet.tag = self.paths.extend(packet.tag, directed_link);
        }
        let EngineLink { propagation, source, .. } = &mut self.links[directed_link as usize];
        let length = propagation.in_flight();
        let is_first = propagation.send(packet, channel, joined, end);
        self.in_flight += (propagation.in_flight() - length) as u64;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
        if is_first {
            self.schedule.set(*source, next_due(propagation));
        }
    }
}

impl Engine<'_, '_> {
    fn run_until(&mut self, end: Time) {
        let step = (end.nanos() / 1000).max(1);
        let mut report = Time::ZERO;
        loop {
            let (due, source) = self.net.schedule.next();
            let at = due.at();
            if at > end || at == Time::NEVER {
                self.now = end;
                return;
            }
            self.now = at;
            self.events += 1;
            if self.events & self.between_pauses == 0 && self.pause() {
                return;
            }
            if at >= report
                && let Some(progress) = &mut self.progress
            {
                progress(at.secs() / end.secs());
                report = Time::from_nanos((at.nanos() / step + 1).saturating_mul(step));
            }
            match self.sources[source as usize] {
                Source::DirectedLink(directed_link) => self.arrival(directed_link, source),
                Source::Node(node) => self.timeout(node),
                Source::App(app) => self.app_timeout(app),
                Source::Changes => self.change(source),
                Source::Medium(medium) => self.net.medium_due(self.now, medium as usize),
                Source::Cross(flow) => self.net.cross_due(self.now, flow as usize),
                Source::Control => self.control_due(source),
                Source::Sample => self.sample_due(source),
            }
        }
    }

    /// The first packet on a link arrives. The node reads it in place, so that it is not moved.
    fn arrival(&mut self, directed_link: u32, source: u32) {
        let Self { net, places, now, hash, known, signals, .. } = self;
        let EngineLink { to, channel: only, in_face, ref mut propagation, .. } = net.links[directed_link as usize];
        let place = &mut places[to as usize];
        let (mut handled, mut frame) = (false, None);
        if let Some(arrived) = propagation.arrive() {
            if let Some(hash) = hash {
                hash.arrival(*now, directed_link, &arrived.packet);
            }
            let channel = arrived.channel();
            let face =
                || FaceId(if channel == only { in_face } else { net.topology.channels[channel as usize].in_face });
            let packet = &mut arrived.packet;
            if let Some(signals) = signals
                && !packet.has(flags::FOREIGN)
            {
                signals[directed_link as usize].apply(packet);
            }
            match &mut place.node {
                Some(node) if place.up && packet.fragment.is_none() => {
                    if let Some(known) = known {
                        packet.fields.keep(known.nodes[to as usize]);
                    }
                    node.receive(*now, face(), packet);
                    handled = true;
                }
                _ if packet.has(flags::FOREIGN) => frame = Some((channel, *packet)),
                Some(node) if place.up => {
                    if net.fragments.complete(*now, channel, to, packet) {
                        if let Some(known) = known {
                            packet.fields.keep(known.nodes[to as usize]);
                        }
                        node.receive(*now, face(), packet);
                        handled = true;
                    }
                }
                Some(_) => self.dead[to as usize] += 1,
                None => frame = Some((channel, *packet)),
            }
        }
        propagation.clear_first();
        let next = next_due(propagation);
        net.in_flight -= 1;
        debug_assert_eq!(net.schedule.next().1, source, "nothing is scheduled before the arrival is");
        net.schedule.postpone(next);
        if handled {
            self.pump_inlined(to);
        } else if let Some((channel, packet)) = frame {
            self.switch(to, channel, packet);
        }
    }

    /// A frame reaches a switch, or what is not NDN reaches any place.
    fn switch(&mut self, switch: u32, channel: u32, packet: Packet) {
        if packet.has(flags::FOREIGN) {
            return self.net.cross_arrival(self.now, channel, packet);
        }
        let destination = self.net.topology.channels[channel as usize].to;
        match self.net.topology.port(switch, destination) {
            NONE => self.unswitched[switch as usize] += 1,
            directed_link => self.net.offer(self.now, directed_link, channel, packet),
        }
    }

    fn timeout(&mut self, node: u32) {
        if let Some(node) = &mut self.places[node as usize].node {
            node.handle_timeout(self.now);
        }
        self.pump(node);
    }

    /// Moves packets between a node, its links and its applications until nothing moves.
    #[inline(never)]
    fn pump(&mut self, number: u32) {
        self.pump_inlined(number);
    }

    /// [`Engine::pump`], inlined into the usual caller.
    #[inline(always)]
    fn pump_inlined(&mut self, number: u32) {
        let Self { net, places, apps, servers, now, observer, eager, links, known, .. } = self;
        let now = *now;
        let place = &mut places[number as usize];
        let Some(node) = &mut place.node else { return };
        loop {
            while let Some(transmit) = node.next_transmit() {
                let face = transmit.face.index();
                if let Some(&egress_link) = place.egress_links.get(face) {
                    net.transmit(now, egress_link, transmit);
                    continue;
                }
                match place.locals[face - place.egress_links.len()] {
                    Local::Server(server) => {
                        if transmit.packet.kind == Kind::Interest {
                            let face = transmit.face;
                            let mut data = servers[server as usize].answer(now, &transmit.packet);
                            data.tag = 0;
                            node.handle(now, face, data);
                        }
                    }
                    Local::App(app) => {
                        if let Some(known) = known {
                            transmit.packet.fields.keep(known.apps[app as usize]);
                        }
                        if let Some(arrival) = apps[app as usize].handle(now, &transmit.packet) {
                            let (consumer, path) = (ConsumerId(app), PathId(transmit.packet.tag));
                            report(&Delivery { at: now, consumer, path, arrival }, net, *observer, links);
                            if let Some(ended) = apps[app as usize].flow_set().and_then(FlowSet::take_ended) {
                                observer.flow(now, consumer, ended);
                            }
                        }
                        if !eager.contains(&app) {
                            eager.push(app);
                        }
                    }
                }
            }
            let Some(consumer) = eager.pop() else { break };
            let app = &mut apps[consumer as usize];
            while let Some(mut interest) = app.poll_transmit(now) {
                observer.requested(now, ConsumerId(consumer), &interest);
                if let Some(known) = known {
                    interest.fields.keep(known.nodes[number as usize]);
                }
                node.handle(now, FaceId(app.face), interest);
            }
            net.schedule.set(app.source, Due::new(app.due().max(now), EventRank::APPLICATION));
        }
        let due = node.poll_timeout().max(now);
        if due != place.due {
            place.due = due;
            net.schedule.set(place.source, Due::new(due, EventRank::TIMEOUT));
        }
        if self.trace || self.control.is_on() {
            self.drain(number);
        }
    }

    fn app_timeout(&mut self, app: u32) {
        let node = self.apps[app as usize].node;
        self.apps[app as usize].handle_timeout(self.now);
        self.begin_flows(app);
        self.eager.push(app);
        self.pump(node);
    }

    /// Passes the components' records to the observer, and the meters' reports to the planner.
    #[inline(never)]
    fn drain(&mut self, number: u32) {
        let Some(node) = &mut self.places[number as usize].node else { return };
        for event in node.drain_trace() {
            self.observer.scheme_event(event.at, NodeId(number), event.key, event.id, event.value);
        }
        if self.control.is_on() {
            self.control.collect(self.now, number, node, &mut self.net.schedule);
        }
        if self.trace {
            for local in &self.places[number as usize].locals {
                let Local::App(app) = *local else { continue };
                self.apps[app as usize].drain_trace(|event| {
                    self.observer.scheme_event(event.at, NodeId(number), event.key, app.into(), event.value);
                });
            }
        }
    }
}

/// The next arrival of a link.
#[inline(always)]
fn next_due(propagation: &Propagation) -> Due {
    Due::new(propagation.next_arrival(), EventRank::arrival(propagation.next_age()))
}

/// Reports to the observer what reached an application.
fn report(delivery: &Delivery, net: &mut Net<'_>, observer: &mut dyn Observer, links: &mut Vec<DirectedLinkId>) {
    if net.with_paths && net.paths.links_if_new(delivery.path.0, links) {
        observer.path(delivery.path, links);
    }
    observer.delivered(delivery);
    if delivery.arrival.completed {
        observer.completed(delivery.at, delivery.consumer);
    }
}

//! What nodes, links and applications do when an event concerns them.

use super::Source;
use super::apps::App;
use super::cross::Cross;
use super::exchange::{Applications, Here};
use super::fragments::Fragments;
use super::media::Media;
use super::sink::Sink;
use crate::network::SignalChange;
use crate::schedule::tournament::Tournament;
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::{NONE, Topology};
use ndnweir_core::fields::Slots;
use ndnweir_core::ids::FaceId;
use ndnweir_core::meter::Report;
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::units::Time;
use ndnweir_link::{Port, Propagation};
use ndnweir_node::{Node, Server, Transmit};
use std::ops::Range;

/// The application of a local face.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// A consumer.
    App(u32),
    /// A producer.
    Server(u32),
}

/// The path of packets from one face to a neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct EgressLink {
    pub(super) channel: u32,
    /// The directed link, and [`SHARED`] where a queue below NDN comes first.
    link: u32,
}

const SHARED: u32 = 1 << 31;

impl EgressLink {
    pub(super) fn new(channel: u32, directed_link: u32, shared: bool) -> EgressLink {
        EgressLink { channel, link: if shared { directed_link | SHARED } else { directed_link } }
    }

    pub(super) fn directed_link(self) -> u32 {
        self.link & !SHARED
    }

    pub(super) fn is_shared(self) -> bool {
        self.link & SHARED != 0
    }
}

/// A place of the topology, on one cache line.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
pub(super) struct EngineNode {
    /// None for a switch.
    #[state(each, inner)]
    pub(super) node: Option<Box<Node>>,
    /// The faces to neighbours, which come first.
    #[state(skip)]
    pub(super) egress_links: Box<[EgressLink]>,
    /// What is behind the faces after those to neighbours.
    #[state(skip)]
    pub(super) locals: Vec<Local>,
    /// When its timeout is due in the schedule.
    pub(super) due: Time,
    /// The source of its timeouts.
    pub(super) source: u32,
    /// Which of the run's schemes it has (see `Placement::of_node`).
    #[state(skip)]
    pub(super) scheme: u16,
    /// Whether it works.
    pub(super) up: bool,
}

const _: () = assert!(size_of::<EngineNode>() == 64);

/// A directed link with what is needed of it for every packet, side by side in as few cache lines as it takes.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
pub(super) struct EngineLink {
    /// Where it ends.
    pub(super) to: u32,
    /// The source of its arrivals.
    pub(super) source: u32,
    /// Its only channel, and the face by which that is received; [`NONE`] where it has several or none.
    pub(super) channel: u32,
    pub(super) in_face: u16,
    pub(super) propagation: Propagation,
}

/// Everything except nodes and applications, so that these can be borrowed while it changes.
#[derive(ndnweir_state::State)]
pub(super) struct Net<S> {
    pub(super) topology: Topology,
    /// By directed link.
    #[state(each)]
    pub(super) links: Vec<EngineLink>,
    /// Queues below NDN: of switches, and of interfaces that several faces share.
    #[state(flat)]
    pub(super) ports: Vec<Option<Box<Port>>>,
    pub(super) media: Media,
    pub(super) cross: Cross,
    pub(super) fragments: Fragments,
    pub(super) schedule: Tournament,
    pub(super) sink: S,
}

/// The header fields that each knows; others it drops on arrival.
#[derive(Clone)]
pub(super) struct KnownFields {
    pub(super) nodes: Vec<Slots>,
    pub(super) apps: Vec<Slots>,
}

/// What the events of nodes, links and applications need: the whole network, or a part of it that is worked on beside
/// others.
#[derive(ndnweir_state::State)]
pub(super) struct Process<S> {
    pub(super) now: Time,
    pub(super) net: Net<S>,
    #[state(each)]
    pub(super) places: Vec<EngineNode>,
    #[state(each)]
    pub(super) apps: Vec<App>,
    #[state(each)]
    pub(super) servers: Vec<Server>,
    #[state(skip)]
    pub(super) sources: Vec<Source>,
    pub(super) trace: bool,
    /// Whether the nodes' reports go to a planner.
    #[state(skip)]
    pub(super) reports_wanted: bool,
    /// What nodes have reported during the event at hand, and the entries of their FIBs.
    #[state(skip)]
    pub(super) reports: Vec<(u32, Report, usize)>,
    /// When it was last looked whether there are any.
    #[state(skip)]
    pub(super) collected: Option<Time>,
    pub(super) events: u64,
    pub(super) dead: Vec<u64>,
    pub(super) unswitched: Vec<u64>,
    /// What nodes and consumers know of header fields; none where all run one scheme.
    #[state(skip)]
    pub(super) known: Option<KnownFields>,
    /// By directed link: what it does to congestion signals; none where no link does anything.
    #[state(skip)]
    pub(super) signals: Option<Box<[SignalChange]>>,
    /// Whether packets that arrive are told or changed, see [`Process::note_tellings`].
    #[state(skip)]
    pub(super) examines: bool,
    /// Whether components tell anything: records, or reports to a planner.
    #[state(skip)]
    pub(super) drains: bool,
    /// Applications of the node at hand that may have something to send.
    pub(super) eager: Vec<u32>,
}

impl<S: Sink> Net<S> {
    /// Puts what a node sends on its link.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, egress_link: EgressLink, transmit: &mut Transmit) {
        if self.sink.is_watched() || egress_link.is_shared() {
            self.transmit_unusual(now, egress_link, transmit);
        } else {
            let Transmit { joined, end, .. } = *transmit;
            self.launch(egress_link.link, egress_link.channel, &transmit.packet, joined, end);
        }
    }

    /// [`Net::transmit`] where packets are watched, or a queue below NDN comes first. A Data from a content store begins
    /// its path here; paths are only kept where packets are watched.
    #[inline(never)]
    fn transmit_unusual(&mut self, now: Time, egress_link: EgressLink, transmit: &mut Transmit) {
        let Transmit { joined, start, end, ref mut packet, .. } = *transmit;
        if packet.kind == Kind::Data && packet.has(flags::FROM_CACHE) {
            packet.tag = 0;
        }
        let directed_link = egress_link.directed_link();
        if egress_link.is_shared() {
            self.offer(now, directed_link, egress_link.channel, *packet);
        } else {
            self.put(now, directed_link, egress_link.channel, packet, [joined, start, end]);
        }
    }

    /// Hands a packet to a queue below NDN.
    #[inline(never)]
    pub(super) fn offer(&mut self, now: Time, directed_link: u32, channel: u32, mut packet: Packet) {
        let Some(port) = &mut self.ports[directed_link as usize] else {
            return self.offer_to_medium(now, directed_link, channel, &packet);
        };
        if let Some((start, end)) = port.offer(now, &mut packet) {
            self.put(now, directed_link, channel, &mut packet, [now, start, end]);
        }
    }

    /// `times` are when the packet joined its queue, and when its transmission starts and ends.
    #[inline]
    pub(super) fn put(&mut self, now: Time, directed_link: u32, channel: u32, packet: &mut Packet, times: [Time; 3]) {
        let [joined, start, end] = times;
        if self.sink.is_watched() {
            self.watch(now, directed_link, channel, packet, joined..start);
        }
        self.launch(directed_link, channel, packet, joined, end);
    }

    /// [`Net::put`] of a packet that is not watched.
    #[inline(always)]
    fn launch(&mut self, directed_link: u32, channel: u32, packet: &Packet, joined: Time, end: Time) {
        let EngineLink { propagation, source, to, .. } = &mut self.links[directed_link as usize];
        if S::CUT && *to == NONE {
            return self.sink.cross(directed_link, channel, packet, joined, end);
        }
        let (more, is_first) = propagation.send(packet, channel, joined, end);
        self.sink.sent(more);
        if is_first {
            self.schedule.set(*source, next_due(propagation));
        }
    }
}

impl<S: Sink> Net<S> {
    /// Shows a packet that is put on a link to a tap, and lets it carry its path.
    #[inline(never)]
    fn watch(&mut self, now: Time, link: u32, channel: u32, packet: &mut Packet, waiting: Range<Time>) {
        if self.sink.is_tapped() {
            self.sink.show(now, waiting, link, channel, &self.topology, packet);
        }
        if self.sink.has_paths() && packet.kind == Kind::Data {
            packet.tag = self.sink.extend(packet.tag, link);
        }
    }
}

impl<S: Sink> Process<S> {
    /// Notes whether packets are told or changed on arrival, after any of what does that was set.
    pub(super) fn note_tellings(&mut self) {
        self.examines = self.net.sink.has_hash() || self.known.is_some() || self.signals.is_some();
        self.drains = self.trace || self.reports_wanted;
    }

    /// The first packet on a link arrives. The node reads it in place, so that it is not moved.
    pub(super) fn arrival(&mut self, directed_link: u32, source: u32) {
        let Self { net, places, apps, servers, now, eager, known, signals, examines, dead, .. } = self;
        let EngineLink { to, channel: only, in_face, ref mut propagation, .. } = net.links[directed_link as usize];
        let EngineNode { node, egress_links, locals, due, source: own, up, .. } = &mut places[to as usize];
        let (mut receiver, mut frame) = (None, None);
        if let Some(arrived) = propagation.arrive() {
            let channel = arrived.channel();
            let packet = &mut arrived.packet;
            if *examines {
                net.sink.arrived(*now, directed_link, packet);
                let change = signals.as_ref().map(|signals| signals[directed_link as usize]);
                let known = known.as_ref().filter(|_| node.is_some()).map(|known| known.nodes[to as usize]);
                change_arriving(packet, change, known);
            }
            match node {
                Some(node) if *up => {
                    let foreign = packet.has(flags::FOREIGN);
                    if packet.fragment.is_none() || !foreign && net.fragments.complete(*now, channel, to, packet) {
                        let several = || net.topology.channels[channel as usize].in_face;
                        node.receive(*now, FaceId(if channel == only { in_face } else { several() }), packet);
                        receiver = Some(node);
                    } else if foreign {
                        frame = Some((channel, *packet));
                    }
                }
                Some(_) if !packet.has(flags::FOREIGN) => dead[to as usize] += 1,
                _ => frame = Some((channel, *packet)),
            }
        }
        propagation.clear_first();
        let next = next_due(propagation);
        net.sink.ended();
        debug_assert_eq!(net.schedule.next().1, source, "nothing is scheduled before the arrival is");
        net.schedule.postpone(next);
        if let Some(node) = receiver {
            let here = Here { number: to, node, egress_links, locals, due, source: *own };
            Applications { apps, servers, eager, known }.exchange(*now, net, here);
            if self.drains {
                self.drain(to);
            }
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

    pub(super) fn timeout(&mut self, node: u32) {
        if let Some(node) = &mut self.places[node as usize].node {
            node.handle_timeout(self.now);
        }
        self.pump(node);
    }

    /// Moves packets between a node, its links and its applications until nothing moves.
    #[inline(never)]
    pub(super) fn pump(&mut self, number: u32) {
        let Self { net, places, apps, servers, now, eager, known, .. } = self;
        let EngineNode { node: Some(node), egress_links, locals, due, source, .. } = &mut places[number as usize]
        else {
            return;
        };
        let here = Here { number, node, egress_links, locals, due, source: *source };
        Applications { apps, servers, eager, known }.exchange(*now, net, here);
        if self.drains {
            self.drain(number);
        }
    }

    /// An application's timeout, after flows that begin then have begun.
    pub(super) fn pump_app(&mut self, app: u32) {
        self.eager.push(app);
        self.pump(self.apps[app as usize].node);
    }

    /// Takes the components' records, and the meters' reports for the planner.
    #[inline(never)]
    fn drain(&mut self, number: u32) {
        let Self { net, places, apps, .. } = self;
        let place = &mut places[number as usize];
        let Some(node) = &mut place.node else { return };
        for event in node.drain_trace() {
            net.sink.recorded(number, event.id, &event);
        }
        if self.reports_wanted {
            let entries = node.fib_entries();
            self.reports.extend(node.drain_reports().map(|report| (number, report, entries)));
            self.collected = Some(self.now);
        }
        if self.trace {
            for local in &place.locals {
                let Local::App(app) = *local else { continue };
                apps[app as usize].drain_trace(|event| net.sink.recorded(number, app.into(), &event));
            }
        }
    }
}

/// What a link does to the signals of an NDN packet, and which of its fields the node knows where it arrives.
#[inline(never)]
fn change_arriving(packet: &mut Packet, change: Option<SignalChange>, known: Option<Slots>) {
    if packet.has(flags::FOREIGN) {
        return;
    }
    if let Some(change) = change {
        change.apply(packet);
    }
    if let Some(known) = known {
        packet.fields.keep(known);
    }
}

/// The next arrival of a link.
#[inline(always)]
pub(super) fn next_due(propagation: &Propagation) -> Due {
    Due::new(propagation.next_arrival(), EventRank::arrival(propagation.next_age()))
}

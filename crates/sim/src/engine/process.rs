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
use ndnweir_node::{Departure, Node, Server, Transmit};
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

/// A directed link with what is needed of it for every packet: for one that arrives on the first cache line, for one that
/// is sent on the second as well.
#[derive(ndnweir_state::State)]
#[repr(C, align(64))]
pub(super) struct EngineLink {
    /// Where it ends.
    pub(super) to: u32,
    /// Its only channel, and the face by which that is received; [`NONE`] where it has several or none.
    pub(super) channel: u32,
    pub(super) in_face: u16,
    /// Its first packet is expected and not in the schedule.
    #[state(skip)]
    pub(super) is_ahead: bool,
    pub(super) propagation: Propagation,
    /// The source of its arrivals.
    pub(super) source: u32,
}

const _: () = assert!(std::mem::offset_of!(EngineLink, propagation) + Propagation::FOR_ARRIVALS == 64);

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
    /// Puts what leaves a node as it arrived on its link.
    #[inline(always)]
    pub(super) fn depart(&mut self, now: Time, by: EgressLink, packet: &mut Packet, node: &Node, leaves: Departure) {
        if self.sink.is_watched() || by.is_shared() {
            self.transmit_unusual(now, by, packet, [now, node.last_start(leaves), leaves.end]);
        } else {
            self.launch(by.link, by.channel, packet, now, leaves.end);
        }
    }

    /// Puts what waits in a node's outbox on its link.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, by: EgressLink, transmit: &mut Transmit) {
        let Transmit { ref mut packet, joined, start, end, .. } = *transmit;
        if self.sink.is_watched() || by.is_shared() {
            self.transmit_unusual(now, by, packet, [joined, start, end]);
        } else {
            self.launch(by.link, by.channel, packet, joined, end);
        }
    }

    /// [`Net::transmit`] where packets are watched, or a queue below NDN comes first; `times` as in [`Net::put`]. A Data
    /// from a content store begins its path here; paths are only kept where packets are watched.
    #[inline(never)]
    fn transmit_unusual(&mut self, now: Time, by: EgressLink, packet: &mut Packet, times: [Time; 3]) {
        if packet.kind == Kind::Data && packet.has(flags::FROM_CACHE) {
            packet.tag = 0;
        }
        let directed_link = by.directed_link();
        if by.is_shared() {
            self.offer(now, directed_link, by.channel, *packet);
        } else {
            self.put(now, directed_link, by.channel, packet, times);
        }
    }

    /// Schedules a node's next timeout.
    #[inline(always)]
    pub(super) fn note_timeout(&mut self, now: Time, node: &Node, due: &mut Time, source: u32) {
        let next = node.poll_timeout().max(now);
        if next != *due {
            *due = next;
            self.schedule.set(source, Due::new(next, EventRank::TIMEOUT));
        }
    }

    /// Schedules an application's next timeout, which is now if it should have been before.
    #[inline(always)]
    pub(super) fn schedule_app(&mut self, now: Time, app: &mut App) {
        let next = app.due().max(now);
        if next != app.scheduled {
            app.scheduled = next;
            self.schedule.set(app.source, Due::new(next, EventRank::APPLICATION));
        }
    }

    /// A fragment, or other traffic than NDN, arrives at a node. Whether there is a packet for it, which replaces the
    /// fragment.
    #[inline(never)]
    fn complete(&mut self, now: Time, channel: u32, place: u32, packet: &mut Packet) -> bool {
        if packet.has(flags::FOREIGN) {
            self.cross_arrival(now, channel, *packet);
            return false;
        }
        self.fragments.complete(now, channel, place, packet)
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
    #[inline(always)]
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
        let EngineLink { propagation, source, to, is_ahead, .. } = &mut self.links[directed_link as usize];
        if S::CUT && *to == NONE {
            return self.sink.cross(directed_link, channel, packet, joined, end);
        }
        let (more, is_first) = propagation.send(packet, channel, joined, end);
        self.sink.sent(more);
        if is_first {
            self.schedule.set(*source, next_due(propagation));
            if S::CUT && *is_ahead {
                *is_ahead = false;
                self.sink.forget(*source);
            }
        }
    }
}

impl<S: Sink> Net<S> {
    /// Shows a packet that is put on a link to a tap, and lets it carry its path.
    #[inline(always)]
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

    /// The first packet on a link arrives.
    #[inline(always)]
    pub(super) fn arrival(&mut self, directed_link: u32, source: u32) {
        debug_assert_eq!(self.net.schedule.next().1, source, "nothing is scheduled before the arrival is");
        self.arrive(directed_link, |schedule, next| schedule.postpone(next));
    }

    /// [`Process::arrival`] of a link whose next is scheduled by `note`.
    #[inline(always)]
    pub(super) fn arrive(&mut self, directed_link: u32, note: impl FnOnce(&mut Tournament, Due)) {
        let (now, net) = (self.now, &mut self.net);
        let EngineLink { to, channel: only, in_face, ref mut propagation, .. } = net.links[directed_link as usize];
        let Some(first) = propagation.first().filter(|first| !first.is_lost()) else {
            let next = self.lose_first(directed_link);
            return note(&mut self.net.schedule, next);
        };
        let channel = first.channel();
        let mut packet = first.packet;
        let next = due(propagation.pass_first(false));
        net.sink.ended();
        note(&mut net.schedule, next);
        if self.examines {
            self.examine(directed_link, to, &mut packet);
        }
        let Self { net, places, .. } = self;
        let EngineNode { node: Some(node), egress_links, due, source, up: true, .. } = &mut places[to as usize] else {
            return self.arrive_elsewhere(to, channel, packet);
        };
        if !packet.fragment.is_none() && !net.complete(now, channel, to, &mut packet) {
            return;
        }
        let face = if channel == only { in_face } else { net.topology.channels[channel as usize].in_face };
        let departure = node.forward(now, FaceId(face), &mut packet);
        let Some(&by) = egress_links.get(departure.face.index()) else {
            return self.pump_with(to, departure, &mut packet);
        };
        net.depart(now, by, &mut packet, node, departure);
        net.note_timeout(now, node, due, *source);
        if self.drains {
            self.drain(to);
        }
    }

    /// The first packet on a link was lost. When the next arrives.
    #[inline(never)]
    fn lose_first(&mut self, directed_link: u32) -> Due {
        let propagation = &mut self.net.links[directed_link as usize].propagation;
        let next = due(propagation.pass_first(true));
        self.net.sink.ended();
        next
    }

    /// What is done with a packet that arrives beside handing it to the node.
    #[inline(never)]
    fn examine(&mut self, directed_link: u32, to: u32, packet: &mut Packet) {
        self.net.sink.arrived(self.now, directed_link, packet);
        if packet.has(flags::FOREIGN) {
            return;
        }
        if let Some(signals) = &self.signals {
            signals[directed_link as usize].apply(packet);
        }
        if let Some(known) = &self.known
            && self.places[to as usize].node.is_some()
        {
            packet.fields.keep(known.nodes[to as usize]);
        }
    }

    /// A packet arrives at a switch, or at a node that does not work.
    #[inline(never)]
    fn arrive_elsewhere(&mut self, to: u32, channel: u32, packet: Packet) {
        if self.places[to as usize].node.is_some() && !packet.has(flags::FOREIGN) {
            self.dead[to as usize] += 1;
        } else {
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
    pub(super) fn pump(&mut self, number: u32) {
        self.pump_with(number, Departure::NONE, &mut Packet::default());
    }

    /// [`Process::pump`], beginning with a packet that may leave the node.
    #[inline(never)]
    fn pump_with(&mut self, number: u32, first: Departure, packet: &mut Packet) {
        let Self { net, places, apps, servers, now, eager, known, .. } = self;
        let EngineNode { node: Some(node), egress_links, locals, due, source, .. } = &mut places[number as usize]
        else {
            return;
        };
        let mut here = Here { number, node, egress_links, locals };
        let mut applications = Applications { apps, servers, eager, known };
        if first.is_some() {
            applications.serve(*now, net, &mut here, first.face, packet);
        }
        applications.exchange(*now, net, &mut here);
        net.note_timeout(*now, node, due, *source);
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

/// The next arrival of a link.
#[inline(always)]
pub(super) fn next_due(propagation: &Propagation) -> Due {
    due((propagation.next_arrival(), propagation.next_age()))
}

/// An arrival, with the packet's age.
#[inline(always)]
pub(super) fn due((arrival, age): (Time, u32)) -> Due {
    Due::new(arrival, EventRank::arrival(age))
}

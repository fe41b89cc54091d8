//! Start of the run, scheduled changes, and routing's reaction to them.

use super::build::base_rtts;
use super::parallel::map_on;
use super::{Engine, Local, next_due};
use crate::network::{Change, LinkDirection, Network};
use crate::routing::{Availability, Fibs};
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::{NONE, Topology};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Rate, Time};
use ndnweir_node::HopLists;

/// The changes to come and the state of the network they led to.
#[derive(ndnweir_state::State)]
pub(super) struct Faults {
    /// In order of time.
    #[state(skip)]
    changes: Vec<(Time, Change)>,
    next: usize,
    /// When routing reacts to what happened so far.
    reactions: std::collections::VecDeque<Time>,
    link_up: Vec<bool>,
    /// By directed link: the rate it was given last, if it was given one.
    rates: Vec<Option<Rate>>,
    availability: Option<Availability>,
    /// By prefix: node and local face of every producer.
    served: Vec<Vec<(u32, u16)>>,
    /// By prefix: the next hops in force of every node; no lists before routes were computed, and
    /// where nobody asks for them again.
    pub(super) fib: Vec<HopLists>,
}

impl Faults {
    pub(super) fn new(network: &Network) -> Faults {
        let mut changes = network.changes.clone();
        changes.sort_by_key(|&(at, _)| at);
        Faults {
            changes,
            next: 0,
            reactions: Default::default(),
            link_up: vec![true; network.links.len()],
            rates: vec![None; 2 * network.links.len()],
            availability: None,
            fib: vec![HopLists::default(); network.prefixes as usize],
            served: vec![Vec::new(); network.prefixes as usize],
        }
    }

    /// A node serves a prefix through a local face.
    pub(super) fn serve(&mut self, node: u32, prefix: u32, face: u16) {
        self.served[prefix as usize].push((node, face));
    }

    /// Whether a directed link works.
    pub(super) fn is_up(&self, directed_link: u32) -> bool {
        self.link_up[directed_link as usize / 2]
    }

    /// The rate a directed link was given last; none if it has the one it started with.
    pub(super) fn rate(&self, directed_link: u32) -> Option<Rate> {
        self.rates[directed_link as usize]
    }

    fn due(&self) -> Time {
        let change = self.changes.get(self.next).map_or(Time::NEVER, |change| change.0);
        change.min(self.reactions.front().copied().unwrap_or(Time::NEVER))
    }

    /// Recomputes what works from the state of links; the nodes' state is kept up to date as they change.
    fn refresh(&mut self, topology: &mut Topology) -> &Availability {
        topology.bridge(&self.link_up);
        let up = self.availability.get_or_insert_with(|| Availability::all(topology));
        for (i, channel) in topology.channels.iter().enumerate() {
            up.channels[i] = self.link_up[channel.directed_link as usize / 2]
                && (channel.direct || reaches(topology, &self.link_up, i));
        }
        up
    }
}

/// Whether frames of a channel through switches arrive.
fn reaches(topology: &Topology, up: &[bool], channel: usize) -> bool {
    let channel = topology.channels[channel];
    let mut directed_link = channel.directed_link;
    for _ in 0..=topology.faces.len() {
        let Some(&at) = topology.directed_links.get(directed_link as usize) else { return false };
        if !up[directed_link as usize / 2] {
            return false;
        }
        if at.to == channel.to {
            return true;
        }
        directed_link = topology.port(at.to, channel.to);
        if directed_link == NONE {
            return false;
        }
    }
    false
}

impl Engine<'_, '_> {
    /// Sets routes and the first event of every source.
    pub(super) fn start(&mut self) {
        self.reroute();
        self.control_start();
        for place in &mut self.process.places {
            if let Some(node) = &place.node {
                place.due = node.poll_timeout();
                self.process.net.schedule.set(place.source, Due::new(place.due, EventRank::TIMEOUT));
            }
        }
        for app in &mut self.process.apps {
            self.process.net.schedule_app(Time::ZERO, app);
        }
        self.process.net.schedule.set(0, Due::new(self.faults.due(), EventRank::CHANGE));
        self.process.net.schedule.set(self.sampler.source, Due::new(self.sampler.due(), EventRank::SAMPLE));
    }

    /// The next change, or a reaction to earlier ones, is due.
    pub(super) fn change(&mut self, source: u32) {
        while let Some(&(at, change)) = self.faults.changes.get(self.faults.next)
            && at <= self.process.now
        {
            self.faults.next += 1;
            self.apply(change);
        }
        if self.faults.reactions.front().is_some_and(|&at| at <= self.process.now) {
            while self.faults.reactions.front().is_some_and(|&at| at <= self.process.now) {
                self.faults.reactions.pop_front();
            }
            self.reroute();
        }
        self.process.net.schedule.set(source, Due::new(self.faults.due(), EventRank::CHANGE));
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::LinkDown { link } => self.set_link(link, false),
            Change::LinkUp { link } => self.set_link(link, true),
            Change::Rate { link, direction, rate } => {
                direction.directed_links(link).for_each(|directed_link| self.set_rate(directed_link, rate));
            }
            Change::Delay { link, direction, delay } => {
                for directed_link in direction.directed_links(link) {
                    self.process.net.links[directed_link as usize].propagation.set_delay(self.process.now, delay);
                    self.reschedule(directed_link);
                }
            }
            Change::Loss { link, direction, loss } => {
                for directed_link in direction.directed_links(link) {
                    self.process.net.links[directed_link as usize].propagation.set_loss(self.process.now, loss);
                }
            }
            Change::Crash { node } => self.crash(node as u32),
            Change::Restart { node } => self.restart(node as u32),
        }
    }

    fn schedule_routing_reaction(&mut self) {
        if let Some(delay) = self.network.routing.reaction {
            self.faults.reactions.push_back(self.process.now + delay);
        }
    }

    /// The next arrival on a link may have changed.
    fn reschedule(&mut self, directed_link: u32) {
        let link = &self.process.net.links[directed_link as usize];
        self.process.net.schedule.set(link.source, next_due(&link.propagation));
    }

    /// The node at the other end of a wire is given the rate at which Data now come to it, for the faces that send in
    /// the other direction; a node behind a switch has no such rate.
    fn announce_return_rate(&mut self, directed_link: u32, rate: Rate) {
        let back = directed_link ^ 1;
        let topology = &self.process.net.topology;
        let at = topology.directed_links[back as usize].from;
        let Some(node) = &mut self.process.places[at as usize].node else { return };
        for &channel in &topology.faces[at as usize] {
            let channel = &topology.channels[channel as usize];
            if channel.directed_link == back && channel.direct {
                node.set_return_rate(FaceId(channel.out_face), Some(rate));
            }
        }
    }

    /// The faces whose packets start on a wire.
    fn faces_on(&self, directed_link: u32) -> Vec<u16> {
        let from = self.process.net.topology.directed_links[directed_link as usize].from;
        let channels = self.process.net.topology.faces[from as usize].iter();
        let on = channels.filter(|&&c| self.process.net.topology.channels[c as usize].directed_link == directed_link);
        on.map(|&c| self.process.net.topology.channels[c as usize].out_face).collect()
    }

    fn set_link(&mut self, link: usize, up: bool) {
        if std::mem::replace(&mut self.faults.link_up[link], up) == up {
            return;
        }
        for directed_link in LinkDirection::Both.directed_links(link) {
            let from = self.process.net.topology.directed_links[directed_link as usize].from;
            let mut unsent = 0;
            if let Some(port) = &mut self.process.net.ports[directed_link as usize] {
                unsent += port.set_up(self.process.now, up);
            }
            unsent += self.process.net.set_medium_link(self.process.now, directed_link, up);
            for face in self.faces_on(directed_link) {
                if let Some(node) = &mut self.process.places[from as usize].node {
                    unsent += node.set_up(self.process.now, FaceId(face), up);
                }
            }
            if !up {
                let propagation = &mut self.process.net.links[directed_link as usize].propagation;
                self.process.net.sink.in_flight -= propagation.in_flight() as u64;
                propagation.cut(unsent);
                self.reschedule(directed_link);
            }
        }
        for directed_link in LinkDirection::Both.directed_links(link) {
            self.pump(self.process.net.topology.directed_links[directed_link as usize].from);
        }
        self.control_link(link);
        self.schedule_routing_reaction();
    }

    fn set_rate(&mut self, directed_link: u32, rate: Rate) {
        let from = self.process.net.topology.directed_links[directed_link as usize].from;
        let mut departures = std::mem::take(&mut self.departures);
        departures.clear();
        if let Some(port) = &mut self.process.net.ports[directed_link as usize] {
            port.set_rate(self.process.now, rate, &mut departures);
        } else {
            for face in self.faces_on(directed_link) {
                if let Some(node) = &mut self.process.places[from as usize].node {
                    node.set_rate(self.process.now, FaceId(face), Some(rate), &mut departures);
                }
            }
        }
        self.process.net.links[directed_link as usize].propagation.reschedule(&departures);
        self.departures = departures;
        self.reschedule(directed_link);
        self.faults.rates[directed_link as usize] = Some(rate);
        self.control_link(directed_link as usize / 2);
        self.announce_return_rate(directed_link, rate);
        self.pump(from);
    }

    fn crash(&mut self, number: u32) {
        let place = &mut self.process.places[number as usize];
        let Some(node) = &mut place.node else { return };
        if !std::mem::replace(&mut place.up, false) {
            return;
        }
        let unsent = node.crash(self.process.now);
        self.process.net.fragments.crash(number, &self.process.net.topology.channels);
        while node.poll_transmit().is_some() {}
        place.due = Time::NEVER;
        self.process.net.schedule.set(place.source, Due::NEVER);
        for local in &place.locals {
            if let Local::App(app) = *local {
                self.process.apps[app as usize].pause(true);
                self.process.net.schedule.set(self.process.apps[app as usize].source, Due::NEVER);
            }
        }
        let faces = self.process.net.topology.faces[number as usize].clone();
        for (face, channel) in faces.into_iter().enumerate() {
            let directed_link = self.process.net.topology.channels[channel as usize].directed_link;
            // A shared interface or medium keeps what was handed to it: it is not part of the node.
            if !self.process.net.topology.is_below_ndn(directed_link) {
                let propagation = &mut self.process.net.links[directed_link as usize].propagation;
                let before = propagation.in_flight();
                propagation.revoke(unsent.get(face).copied().unwrap_or(0));
                self.process.net.sink.in_flight -= (before - propagation.in_flight()) as u64;
                self.reschedule(directed_link);
            }
        }
        self.availability().nodes[number as usize] = false;
        self.schedule_routing_reaction();
    }

    fn restart(&mut self, number: u32) {
        let place = &mut self.process.places[number as usize];
        if place.node.is_none() || std::mem::replace(&mut place.up, true) {
            return;
        }
        for local in &place.locals {
            if let Local::App(app) = *local {
                let app = &mut self.process.apps[app as usize];
                app.pause(false);
                // Timers that ran out meanwhile are due now, not in the past.
                self.process.net.schedule_app(self.process.now, app);
            }
        }
        self.availability().nodes[number as usize] = true;
        self.control_announce(number, None);
        self.schedule_routing_reaction();
        self.pump(number);
    }

    fn availability(&mut self) -> &mut Availability {
        let topology = &self.process.net.topology;
        self.faults.availability.get_or_insert_with(|| Availability::all(topology))
    }

    /// Recomputes all routes and passes the changes to the nodes.
    fn reroute(&mut self) {
        let up = self.faults.refresh(&mut self.process.net.topology).clone();
        let fibs = Fibs::new(self.network, &self.process.net.topology, &up);
        let served = &self.faults.served;
        let routes = |prefix: usize| {
            let mut found = fibs.next_hops(prefix as u32);
            for &(node, face) in &served[prefix] {
                found[node as usize].push(NextHop { face: FaceId(face), cost: 0 });
            }
            HopLists::of(&found)
        };
        let threads = self.threads.for_things(served.len() * self.process.places.len());
        let new = map_on(threads, served.len(), routes);
        let old = std::mem::replace(&mut self.faults.fib, new);
        // Compared twice instead of listed: at the start of a large network millions of routes change. Node by node, so
        // that each stays in the caches.
        let changed = |new: &[HopLists], prefix: usize, node: usize| old[prefix].get(node) != new[prefix].get(node);
        let mut nodes = vec![false; self.process.places.len()];
        for (number, changes) in nodes.iter_mut().enumerate() {
            for prefix in (0..old.len()).filter(|&prefix| changed(&self.faults.fib, prefix, number)) {
                *changes = true;
                let Some(node) = &mut self.process.places[number].node else { continue };
                node.set_route(self.process.now, PrefixId(prefix as u32), self.faults.fib[prefix].get(number));
                if node.wants_base_rtts() {
                    let rtts = base_rtts(self.network, &self.process.net.topology, &self.faults.fib[prefix], number);
                    node.set_base_rtts(PrefixId(prefix as u32), &rtts);
                }
            }
        }
        if self.process.now == Time::ZERO {
            // Nobody will ask: there are no shares, no planner, and nothing that other routes could follow from.
            let is_fixed = self.faults.changes.is_empty() && !self.control.is_on();
            if is_fixed && self.faults.fib.iter().all(|routes| routes.several().next().is_none()) {
                self.faults.fib.fill_with(HopLists::default);
            }
            return;
        }
        for prefix in 0..old.len() {
            for node in (0..self.process.places.len()).filter(|&node| nodes[node]) {
                if changed(&self.faults.fib, prefix, node) {
                    self.control_route(node as u32, PrefixId(prefix as u32));
                }
            }
        }
        for node in (0..self.process.places.len()).filter(|&node| nodes[node]) {
            if self.process.places[node].up {
                self.pump(node as u32);
            }
        }
    }
}

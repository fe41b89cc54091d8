//! Which runs can be divided, and what each process has.

use super::Part;
use super::ahead::FEWEST_SOURCES;
use super::log::{Log, Wants};
use super::partition::{Joint, partition};
use super::{FEW_NODES, FEWEST_THREADS, Threads, first_patience, processes_per_thread};
use crate::engine::apps::App;
use crate::engine::process::{EgressLink, EngineLink, EngineNode, Local, Net, Process};
use crate::engine::sink::Sink as _;
use crate::engine::{Engine, Source, build, cross::Cross, fragments::Fragments, media::Media};
use crate::path::MAX_PROCESSES;
use crate::schedule::Schedule;
use crate::schedule::tournament::Tournament;
use crate::topology::{NONE, Topology};
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::Server;
use ndnweir_state::{State as _, Writer};
use std::sync::{Arc, Mutex};

/// What belongs to a process.
#[derive(Default)]
pub(super) struct Members {
    pub(super) nodes: Vec<u32>,
    pub(super) apps: Vec<u32>,
    pub(super) servers: Vec<u32>,
    /// Directed links that end there.
    pub(super) links: Vec<u32>,
    pub(super) sources: Vec<u32>,
}

impl Engine<'_, '_> {
    /// Whether the run can be divided at all: what several nodes share is handled by one thread.
    pub(super) fn is_divisible(&mut self) -> bool {
        let Net { topology, media, cross, .. } = &self.process.net;
        let is_plain = |link: u32| !topology.is_below_ndn(link);
        media.count() == 0
            && cross.count() == 0
            && self.network.links.iter().all(|link| link.mtu.is_none())
            && (0..topology.directed_links.len() as u32).all(is_plain)
            && self.process.places.iter().all(|place| place.node.is_some())
            // A chunk begins in the instant in which another has come, and every node gets to know its name.
            && !self.process.apps.iter().any(App::is_player)
            && (!self.control.is_on() || self.network.control.delay > Duration::ZERO)
            && !self.has_outside_components()
    }

    /// Looks for components from outside the registry before anything happens: states grow with the packets under way.
    pub(in crate::engine) fn look_for_outside_components(&mut self) {
        if self.threads.outside.is_none() {
            self.threads.outside = Some(self.has_outside_nodes() || self.has_outside_apps(|_| true));
        }
    }

    /// Whether components were made outside the registry: nobody knows whether those of several nodes share anything,
    /// and what order that would need. They are known by having no state that can be kept. Which components there are does
    /// not change, but for those of flows that come.
    fn has_outside_components(&mut self) -> bool {
        self.look_for_outside_components();
        if !std::mem::replace(&mut self.threads.knows_flows, true) && self.has_outside_apps(App::has_flows) {
            self.threads.outside = Some(true);
        }
        self.threads.outside == Some(true)
    }

    fn has_outside_nodes(&self) -> bool {
        let Self { network, process, .. } = self;
        let mut seen = Vec::new();
        // A node for each scheme, and those with a queue of their own on a link.
        let mut is_shown = |place: &EngineNode| {
            let own = |link: &EgressLink| build::direction(network, link.directed_link()).has_own_queue();
            let is_first = !seen.contains(&place.scheme);
            seen.extend(is_first.then_some(place.scheme));
            is_first || place.egress_links.iter().any(own)
        };
        process.places.iter().any(|place| is_shown(place) && refuses(|to| place.save(to)))
    }

    fn has_outside_apps(&self, of: impl Fn(&App) -> bool) -> bool {
        self.process.apps.iter().any(|app| of(app) && refuses(|to| app.save(to)))
    }
}

/// Whether there is no state to be kept.
fn refuses(save: impl Fn(&mut Writer)) -> bool {
    let mut to = Writer::default();
    save(&mut to);
    to.refused().is_some()
}

/// Where a process has nothing of its own.
impl EngineLink {
    fn elsewhere() -> EngineLink {
        let propagation = ndnweir_link::Propagation::new(Duration::ZERO, Default::default(), 0, 0);
        EngineLink { to: NONE, source: 0, channel: NONE, in_face: 0, is_ahead: false, propagation }
    }
}

impl EngineNode {
    fn elsewhere() -> EngineNode {
        let (locals, egress_links) = (Vec::new(), Box::default());
        EngineNode { node: None, source: 0, due: Time::NEVER, scheme: 0, locals, egress_links, up: false }
    }
}

/// Which process has what.
pub(super) struct Division {
    pub(super) members: Vec<Members>,
    /// By directed link: the process where it ends.
    pub(super) ends: Arc<[u16]>,
    /// Directed links from one process to another.
    pub(super) cut: Vec<u32>,
    /// After how many events of the run another is made.
    pub(super) until: u64,
}

impl Division {
    /// Divides the network; none if that is impossible or would not pay.
    pub(super) fn of(engine: &Engine<'_, '_>) -> Option<Division> {
        let Process { net, places, apps, .. } = &engine.process;
        let joints = net.links.chunks_exact(2).map(|both| {
            let delay = both.iter().map(|link| link.propagation.delay()).min().unwrap_or_default();
            // Who sends on a link to another process does not learn how many packets come of one.
            let is_free = !both.iter().any(|link| link.propagation.duplicates());
            Joint { ends: [both[0].to, both[1].to], delay: is_free.then_some(delay) }
        });
        let joints: Vec<Joint> = joints.collect();
        let mut work = vec![1; places.len()];
        net.links.iter().for_each(|link| work[link.to as usize] += link.propagation.totals().arrived);
        let Threads { count, forced, .. } = engine.threads;
        let threads = count.max(FEWEST_THREADS);
        let processes = if places.len() <= FEW_NODES { FEW_NODES } else { threads * processes_per_thread(threads) };
        let processes = processes.min(places.len()).min(MAX_PROCESSES);
        let process = partition(&joints, &work, threads, processes, forced)?;
        let mut members: Vec<Members> = (0..processes).map(|_| Members::default()).collect();
        for (place, &process) in places.iter().zip(&process) {
            for local in &place.locals {
                match *local {
                    Local::App(app) => members[process as usize].apps.push(app),
                    Local::Server(server) => members[process as usize].servers.push(server),
                }
            }
        }
        (0..).zip(&process).for_each(|(node, &process)| members[process as usize].nodes.push(node));
        let ends: Vec<u16> = net.links.iter().map(|link| process[link.to as usize]).collect();
        (0..).zip(&ends).for_each(|(link, &process)| members[process as usize].links.push(link));
        for (source, of) in (0..).zip(&engine.process.sources) {
            let node = match *of {
                Source::DirectedLink(link) => net.links[link as usize].to,
                Source::Node(node) => node,
                Source::App(app) => apps[app as usize].node,
                _ => continue,
            };
            members[process[node as usize] as usize].sources.push(source);
        }
        let is_cut = |&link: &u32| ends[link as usize] != ends[link as usize ^ 1];
        let cut = (0..ends.len() as u32).filter(is_cut).collect();
        let until = 2 * engine.process.events.max(first_patience(forced));
        Some(Division { members, ends: ends.into(), cut, until })
    }

    /// The least time from one process to another: packets have left completely before the delay begins.
    pub(super) fn lookahead(&self, engine: &Engine<'_, '_>) -> Duration {
        let delay = |&link: &u32| engine.process.net.links[link as usize].propagation.delay();
        self.cut.iter().map(delay).min().unwrap_or(engine.network.duration)
    }

    /// Processes that have nothing yet.
    pub(super) fn parts(&self, engine: &Engine<'_, '_>) -> Vec<Mutex<Part>> {
        let Process {
            net,
            places,
            apps,
            servers,
            sources,
            trace,
            reports_wanted,
            known,
            signals,
            examines,
            drains,
            ..
        } = &engine.process;
        let wants = Wants {
            hash: net.sink.hash.is_some(),
            paths: net.sink.has_paths(),
            tap: net.sink.is_tapped(),
            observer: net.sink.observer.watches(),
            requests: net.sink.observer.watches_requests(),
        };
        let part = |(number, members): (usize, &Members)| {
            let next_handle = net.sink.paths.handles_of(number);
            let mut log = Log::new(number, next_handle, wants, self);
            log.tap = net.sink.tap.as_ref().and_then(|tap| tap.part());
            let own: Vec<Source> = members.sources.iter().map(|&source| sources[source as usize]).collect();
            log.looks_ahead = engine.threads.forced || own.len() >= FEWEST_SOURCES;
            let mut links: Vec<_> = net.links.iter().map(|_| EngineLink::elsewhere()).collect();
            let mut places: Vec<_> = places.iter().map(|_| EngineNode::elsewhere()).collect();
            let mut apps: Vec<_> = apps.iter().map(|_| App::elsewhere()).collect();
            for (number, source) in (0..).zip(&own) {
                match *source {
                    Source::DirectedLink(link) => links[link as usize].source = number,
                    Source::Node(node) => places[node as usize].source = number,
                    Source::App(app) => apps[app as usize].source = number,
                    _ => {}
                }
            }
            let net = Net {
                topology: Topology::default(),
                links,
                ports: Vec::new(),
                media: Media::default(),
                cross: Cross::default(),
                fragments: Fragments::new(0),
                schedule: Tournament::new(own.len()),
                sink: log,
            };
            Mutex::new(Process {
                now: engine.process.now,
                net,
                dead: vec![0; places.len()],
                places,
                apps,
                servers: servers.iter().map(|_| Server::new(Default::default())).collect(),
                sources: own,
                trace: *trace,
                reports_wanted: *reports_wanted,
                reports: Vec::new(),
                collected: None,
                events: 0,
                unswitched: Vec::new(),
                known: known.clone(),
                signals: signals.clone(),
                examines: *examines,
                drains: *drains,
                eager: Vec::new(),
            })
        };
        self.members.iter().enumerate().map(part).collect()
    }
}

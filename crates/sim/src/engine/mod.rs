//! The engine: takes the earliest event, lets the node it concerns act, and puts what the node sends on its links.

mod apps;
mod build;
mod cross;
mod exchange;
mod faults;
mod flows;
mod fragments;
mod keeping;
mod media;
mod parallel;
mod planner;
mod process;
mod sampling;
mod sink;

use crate::network::{Network, NetworkError};
use crate::observer::{DirectedLinkId, NodeId, Observer};
use crate::outcome::Outcome;
use crate::schedule::{Due, Schedule};
use faults::Faults;
pub use keeping::Keeper;
use ndnweir_core::packet::Packet;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Time;
use ndnweir_node::FlowPrefixes;
use ndnweir_state::State;
use parallel::Threads;
use planner::PlannerHost;
use process::{EgressLink, EngineLink, EngineNode, KnownFields, Local, Net, Process, next_due};
use sampling::Sampler;
use sink::Alone;
use std::any::Any;
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

    /// A tap for the packets of some links, if all that it wants to know of a packet is what [`TapPart::sent`] is told, and
    /// not in which order those of different links were put there. All packets of a link come to one part.
    fn part(&self) -> Option<Box<dyn TapPart>> {
        None
    }

    /// Takes in what a part was told.
    fn take_in(&mut self, _part: Box<dyn Any>) {}
}

/// A part of a tap, which a thread tells of the packets of some links.
pub trait TapPart: Any + Send {
    /// A packet starts on a link at `waiting.end`, as [`PacketTap::sent`] says.
    fn sent(&mut self, waiting: Range<Time>, link: DirectedLinkId);
    /// A packet will probably start on a link soon: its memory may be asked for.
    fn expect(&self, _link: DirectedLinkId) {}
}

/// What takes the events of each process in a window of several threads.
pub type TakeWindow<'a> = dyn FnMut(&[u64]) + 'a;

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
    /// How many threads may work on the run; none and one are one. It has no influence on what happens and what is told.
    /// They are used where that pays (see `docs/simulator.md`). One thread divides a large run as well, for its caches.
    pub threads: usize,
    /// Use them however little there is to do; slower, with the same results.
    pub force_threads: bool,
    /// Told when threads begin a window, with nothing, and when they have ended it, with the events of each process.
    pub windows: Option<&'a mut TakeWindow<'a>>,
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
    engine.look_for_outside_components();
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

#[derive(ndnweir_state::State)]
struct Engine<'n, 'o> {
    #[state(skip)]
    network: &'n Network,
    seed: u64,
    process: Process<Alone<'n, 'o>>,
    faults: Faults,
    sampler: Sampler,
    control: PlannerHost,
    #[state(skip)]
    stop: Option<&'o AtomicBool>,
    #[state(skip)]
    progress: Option<&'o mut dyn FnMut(f64)>,
    #[state(skip)]
    keeper: Option<&'o mut dyn Keeper>,
    /// One less than a power of two.
    #[state(skip)]
    between_pauses: u64,
    #[state(skip)]
    stopped: bool,
    /// The prefixes of flows, which all nodes share.
    flows: FlowPrefixes,
    /// The number of the next flow that comes and goes.
    next_flow: u32,
    /// Objects of catalogues that flows have fetched.
    known_objects: flows::KnownObjects,
    #[state(skip)]
    threads: Threads,
    #[state(skip)]
    windows: Option<&'o mut TakeWindow<'o>>,
    #[state(skip)]
    departures: Vec<(Time, Time)>,
}

impl Engine<'_, '_> {
    fn run_until(&mut self, end: Time) {
        let step = (end.nanos() / 1000).max(1);
        let mut report = if self.progress.is_some() { Time::ZERO } else { Time::NEVER };
        let mut tell = |engine: &mut Self| {
            let now = engine.process.now;
            if now >= report
                && let Some(progress) = &mut engine.progress
            {
                progress(now.secs() / end.secs());
                report = Time::from_nanos((now.nanos() / step + 1).saturating_mul(step));
            }
        };
        if self.threads.are_forced() && self.run_divided(end, &mut tell) {
            return;
        }
        let last = Due::last(end);
        while let Some(source) = self.next_until(last) {
            if self.process.events & self.between_pauses == 0 {
                if self.wants_threads() {
                    // They take the event at hand themselves.
                    self.process.events -= 1;
                    if self.run_divided(end, &mut tell) {
                        return;
                    }
                    continue;
                }
                if self.pause() {
                    return;
                }
            }
            tell(self);
            self.handle(source);
        }
        self.process.now = end;
    }

    /// The source of the next event, which is counted and is now; none if that is after the last.
    #[inline(always)]
    fn next_until(&mut self, last: Due) -> Option<u32> {
        let (due, source) = self.process.net.schedule.next();
        if due > last {
            return None;
        }
        self.process.now = due.at();
        self.process.events += 1;
        Some(source)
    }

    /// Handles the event that is due.
    #[inline(always)]
    fn handle(&mut self, source: u32) {
        let from = self.process.sources[source as usize];
        // Nine of ten events: a comparison in place of a table of jumps.
        if let Source::DirectedLink(directed_link) = from {
            self.process.arrival(directed_link, source);
        } else {
            self.handle_other(from, source);
        }
        if self.process.collected.is_some() {
            self.collect();
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, from: Source, source: u32) {
        match from {
            // Handled before.
            Source::DirectedLink(_) => {}
            Source::Node(node) => self.process.timeout(node),
            Source::App(app) => self.app_timeout(app),
            Source::Changes => self.change(source),
            Source::Medium(medium) => self.process.net.medium_due(self.process.now, medium as usize),
            Source::Cross(flow) => self.process.net.cross_due(self.process.now, flow as usize),
            Source::Control => self.control_due(source),
            Source::Sample => self.sample_due(source),
        }
    }

    /// Gives all nodes the table of the flows' prefixes, which is another one when it has grown or was read.
    fn share_flows(&mut self) {
        let nodes = self.process.places.iter_mut().filter_map(|place| place.node.as_mut());
        nodes.for_each(|node| node.share_flows(&self.flows));
    }

    /// Moves packets between a node, its links and its applications until nothing moves.
    fn pump(&mut self, node: u32) {
        self.process.pump(node);
        self.collect();
    }

    fn app_timeout(&mut self, app: u32) {
        self.process.apps[app as usize].handle_timeout(self.process.now);
        self.begin_flows(app);
        self.process.pump_app(app);
    }
}

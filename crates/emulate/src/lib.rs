//! A scenario with real processes: a forwarder per node, a producer per object, a process per consumer, joined by
//! emulated links; and the same metrics as from the simulator.
//!
//! The queue of a link is the forwarder's own, as in the simulator, unless a switch has it; the emulated link adds
//! transmission times, delay, losses and failures. A scheme that plans gets a controller, which leads the forwarders over
//! gNMI; both are parts of the program that calls this ([`roles::Control`]). All processes record what they see with times of one clock, and the
//! records are then replayed into the same collector that observes simulations.
//!
//! [`Emulation`] starts and watches the processes; [`roles`] is what each of them does. Statistics are the lab's, and
//! reports have a crate of their own.

mod controllers;
mod plan;
mod processes;
mod relay;
mod replay;
pub mod roles;
mod suitable;

pub use suitable::{Unsuitable, check, check_scheme, comparable, noisy};

use crate::roles::record::SampleTimes;
use controllers::{Controllers, FIRST, SECOND};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_lab::experiment::describe;
use ndnweir_lab::metrics::Collector;
use ndnweir_lab::results::Run;
use ndnweir_net::clock::{Clock, monotonic};
use ndnweir_net::emulator::{self, Emulator, End, Running};
use ndnweir_scenario::{Change, LinkDirection, Scenario};
use ndnweir_sim::network::Control;
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use plan::Plan;
use processes::{Child, Fleet};
use replay::{LinkSamples, ReplayOutcome};
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where and how to emulate.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// What to emulate; it passes [`check`].
    pub scenario: Scenario,
    /// The program that plays the roles of [`crate::roles`], and the arguments that make it do so.
    pub program: (PathBuf, Vec<String>),
    /// An empty folder for sockets and records. Its path is short, as a socket's path is at most 107 bytes.
    pub folder: PathBuf,
}

/// A finished emulation.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// The metrics.
    pub run: Run,
    /// Datagrams between processes.
    pub datagrams: u64,
    /// Of these, how many were lost by this machine and not by a link; none if that is unknown since a node was killed.
    pub lost: Option<u64>,
    /// Orders of controllers, and how many of these were rejected; none where the scheme does not plan.
    pub orders: Option<(u64, u64)>,
}

/// Why an emulation has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process failed.
    #[error("{who}: {what}")]
    Process {
        /// Which.
        who: String,
        /// Its message, or that it sent none.
        what: String,
    },
    /// The scenario cannot be emulated.
    #[error("{0}")]
    Scenario(String),
    /// An Interest or packet got lost unnoticed: a bug.
    #[error("packet accounting failed: {0}; please report this")]
    Accounting(String),
    /// Processes were not up when the scenario was to begin.
    #[error("{0} processes were not up after {1}; this machine is too slow for them")]
    Slow(usize, Duration),
    /// The system's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// How often to check whether something is due.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);
/// Start-up time of forwarders and producers, and of each process in addition.
const START_TIME: Duration = Duration::from_millis(1000);
const START_TIME_PER_PROCESS: Duration = Duration::from_millis(60);
/// Start-up time of a controller: it reaches all routers, and has learnt their links and routes.
const START_TIME_OF_CONTROLLER: Duration = Duration::from_millis(1000);
/// How much longer they get each time they were not ready in time, and how often that may happen.
const START_TIME_FACTORS: [u64; 4] = [1, 4, 16, 64];
/// How long packets in flight at the end may take to arrive.
const DRAIN: Duration = Duration::from_millis(3000);
/// Nothing is in flight when nothing has moved for this long.
const IDLE_TIME: Duration = Duration::from_millis(200);

/// What is watched during a run.
struct EmulationMonitor<'a> {
    plan: &'a Plan<'a>,
    links: &'a Running,
    controllers: Option<&'a Controllers>,
    clock: Clock,
    stop: &'a AtomicBool,
}

impl Emulation {
    /// Runs the scenario under a scheme, in real time; none if `stop` was set before its end.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(
        &self,
        scheme: &Scheme,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Emulated>, Error> {
        let mut result = Ok(None);
        for times in START_TIME_FACTORS {
            result = self.attempt(scheme, seed, times, stop, progress);
            if !matches!(result, Err(Error::Slow(..))) || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        result
    }

    /// The same, with `times` the usual time for processes to start.
    fn attempt(
        &self,
        scheme: &Scheme,
        seed: u64,
        times: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Emulated>, Error> {
        let network = self.scenario.network();
        let topology = Topology::new(&network).map_err(|e| Error::Scenario(e.to_string()))?;
        let origin = monotonic();
        let clock = Clock::since(origin);
        let count = self.scenario.nodes.len() + self.scenario.producers.len() + self.scenario.consumers.len();
        let mut start_time = START_TIME + START_TIME_PER_PROCESS * count as u64;
        if plan::plans(scheme) {
            start_time = start_time + START_TIME_OF_CONTROLLER;
        }
        let zero = clock.now() + start_time * times;
        let mut links = Emulator::bind(Ipv4Addr::LOCALHOST, &plan::below(&network, &topology), seed)?;
        let mtus = ndnweir_sim::largest_frames(&network);
        let up = Availability::all(&topology);
        let fibs = Fibs::new(&network, &topology, &up);
        let next_hops = (0..network.prefixes).map(|prefix| fibs.next_hops(prefix)).collect();
        let (scenario, network, topology, mtus) = (&self.scenario, &network, &topology, &mtus);
        let plan = Plan { scenario, network, topology, next_hops, mtus, scheme, seed, zero };
        let mut fleet = Fleet::new(&self.program, origin, self.names(&plan));
        for node in plan.forwarders() {
            fleet.start(Child::Node(node), plan.forwarder(node, &links, &self.folder)?)?;
        }
        let ready = fleet.wait()?;
        for (place, ready) in &ready {
            let Some(udp) = ready.udp else { continue };
            for (joint, end) in plan.ends_of(*place) {
                links.set_process(joint, end, udp);
            }
        }
        let running = links.start(&self.events(zero, clock))?;
        for (number, task) in plan.producers(&self.folder) {
            fleet.start(Child::Producer(number), task)?;
        }
        fleet.wait()?;
        let controllers = plan::plans(scheme).then(|| Controllers::new(&plan, &running, &ready)).transpose()?;
        if let Some(controllers) = &controllers {
            fleet.start(Child::Controller(FIRST), controllers.task(FIRST, false, &self.folder)?)?;
            fleet.wait()?;
            controllers.wait(FIRST, &mut fleet)?;
        }
        for number in 0..self.scenario.consumers.len() {
            fleet.start(Child::Consumer(number), plan.consumer(number, &self.folder))?;
        }
        fleet.wait()?;
        if clock.now() > zero {
            return Err(Error::Slow(count, zero.since(Time::ZERO)));
        }
        let controllers = controllers.as_ref();
        let watch = EmulationMonitor { plan: &plan, links: &running, controllers, clock, stop };
        let mut samples = LinkSamples::default();
        if !self.watch(&watch, &mut fleet, &mut samples, progress)? {
            return Ok(None);
        }
        fleet.finish(|who| matches!(who, Child::Consumer(_)))?;
        let drained = drain(&running, clock);
        let orders = controllers.map(Controllers::orders);
        fleet.finish(|_| true)?;
        let mut collector = Collector::new(describe(&self.scenario).setup(&[]));
        let found = replay::replay(&plan, &self.folder, &samples, &mut collector)?;
        found.check(&running.sample())?;
        let (datagrams, lost) = self.lost(&plan, &running, &found);
        running.stop()?;
        let mut run = collector.finish(&scheme.name, seed);
        run.switches = found.into_switches();
        Ok(Some(Emulated { run, datagrams, lost: lost.filter(|_| drained), orders }))
    }

    /// The names of processes in errors.
    fn names(&self, plan: &Plan<'_>) -> Box<dyn Fn(Child) -> String> {
        let nodes: Vec<String> = self.scenario.nodes.iter().map(|node| node.name.clone()).collect();
        let consumers: Vec<String> = self.scenario.consumers.iter().map(|consumer| consumer.name.clone()).collect();
        let objects: Vec<String> = plan.objects().into_iter().map(|(_, object)| object.to_owned()).collect();
        let name = |names: &[String], i: usize| names.get(i).cloned().unwrap_or_default();
        Box::new(move |who| match who {
            Child::Node(i) => format!("forwarder of node {}", name(&nodes, i)),
            Child::Producer(i) => format!("producer of {}", name(&objects, i)),
            Child::Consumer(i) => format!("consumer {}", name(&consumers, i)),
            Child::Controller(FIRST) => "controller".to_owned(),
            Child::Controller(_) => "stand-by controller".to_owned(),
        })
    }

    /// Waits for the end, carries out the events of nodes, and samples the links; whether the end was reached.
    fn watch(
        &self,
        watch: &EmulationMonitor<'_>,
        fleet: &mut Fleet,
        samples: &mut LinkSamples,
        progress: &mut dyn FnMut(f64),
    ) -> Result<bool, Error> {
        let EmulationMonitor { plan, links, controllers, clock, stop } = watch;
        let (zero, run) = (plan.zero, &self.scenario.run);
        let mut events = self.scenario.events.iter().peekable();
        let mut handovers = handovers(&self.scenario.control).into_iter().peekable();
        let mut lives = vec![0; self.scenario.nodes.len()];
        let mut grid = SampleTimes::new(zero, run.sample, zero);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            while let Some(event) = events.next_if(|event| zero + event.at <= clock.now()) {
                match event.change {
                    Change::Crash { node } => fleet.kill(Child::Node(node)),
                    Change::Restart { node } => {
                        lives[node] += 1;
                        let gnmi = controllers.and_then(|controllers| controllers.agent(node));
                        let task = plan.forwarder_again(node, links, gnmi, &self.folder, lives[node]);
                        fleet.start(Child::Node(node), task)?;
                    }
                    _ => {}
                }
            }
            while let Some((_, handover)) = handovers.next_if(|(at, _)| zero + at.since(Time::ZERO) <= clock.now()) {
                let Some(controllers) = controllers else { continue };
                match handover {
                    Handover::Fails => fleet.kill(Child::Controller(FIRST)),
                    Handover::StandBy => {
                        fleet.start(Child::Controller(SECOND), controllers.task(SECOND, false, &self.folder)?)?;
                    }
                    Handover::Returns => {
                        fleet.start(Child::Controller(FIRST), controllers.task(FIRST, true, &self.folder)?)?;
                    }
                }
            }
            fleet.check_running()?;
            let now = clock.now();
            if let Some(at) = grid.reached(now) {
                samples.push((at, links.sample()));
            }
            // Start-up is part of the progress.
            progress(now.since(Time::ZERO).secs() / (zero + run.duration).since(Time::ZERO).secs());
            if zero + run.duration <= now {
                return Ok(true);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Datagrams between processes and links, and how many of them did not arrive there.
    fn lost(&self, plan: &Plan<'_>, links: &Running, found: &ReplayOutcome) -> (u64, Option<u64>) {
        let killed = self.scenario.events.iter().any(|event| matches!(event.change, Change::Crash { .. }));
        let (mut datagrams, mut lost) = (0, 0);
        for node in plan.forwarders() {
            for (face, (joint, end)) in plan.ends_of(node).enumerate() {
                let (there, passed) = (links.end_counters(joint, end), found.passed(node, face));
                datagrams += passed.sent + there.delivered;
                lost += passed.sent.saturating_sub(there.received);
                lost += (there.delivered + there.undeliverable).saturating_sub(passed.arrived);
            }
        }
        (datagrams, (!killed).then_some(lost))
    }

    /// What befalls links.
    fn events(&self, zero: Time, clock: Clock) -> Vec<emulator::EmulatedEvent> {
        let lead = zero.since(clock.now());
        let mut events = Vec::new();
        for event in &self.scenario.events {
            let mut add = |link, change| events.push(emulator::EmulatedEvent { at: lead + event.at, link, change });
            match event.change {
                Change::LinkDown { link } => add(link, emulator::EmulatedChange::Down),
                Change::LinkUp { link } => add(link, emulator::EmulatedChange::Up),
                Change::Rate { link, direction, rate } => {
                    ends(direction).iter().for_each(|end| add(link, emulator::EmulatedChange::Rate(*end, rate)));
                }
                Change::Delay { link, direction, delay } => {
                    ends(direction).iter().for_each(|end| add(link, emulator::EmulatedChange::Delay(*end, delay)));
                }
                Change::Loss { link, direction, loss } => {
                    ends(direction).iter().for_each(|end| add(link, emulator::EmulatedChange::Loss(*end, loss)));
                }
                Change::Crash { .. } | Change::Restart { .. } => {}
            }
        }
        events
    }
}

/// What befalls controllers.
#[derive(Clone, Copy, Debug)]
enum Handover {
    /// The first one is killed.
    Fails,
    /// The second one starts, and leads.
    StandBy,
    /// The first one starts again, and stands by while the second leads.
    Returns,
}

/// In the order of time.
fn handovers(control: &Control) -> Vec<(Time, Handover)> {
    let all =
        [(control.fails, Handover::Fails), (control.stand_by, Handover::StandBy), (control.returns, Handover::Returns)];
    let mut all: Vec<(Time, Handover)> = all.into_iter().filter_map(|(at, what)| Some((at?, what))).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Waits until nothing is in flight any more; whether that was reached.
fn drain(links: &Running, clock: Clock) -> bool {
    let deadline = clock.now() + DRAIN;
    let (mut moved, mut before) = (clock.now(), None);
    while clock.now() < deadline {
        let sample = links.sample();
        let sent: u64 = sample.iter().map(|direction| direction.queue.offered_packets).sum();
        let in_flight: u64 = sample.iter().map(|direction| direction.in_flight).sum();
        if in_flight > 0 || before != Some(sent) {
            (moved, before) = (clock.now(), Some(sent));
        }
        if clock.now().since(moved) >= IDLE_TIME {
            return true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    false
}

fn ends(direction: LinkDirection) -> &'static [End] {
    match direction {
        LinkDirection::Forward => &[End::A],
        LinkDirection::Backward => &[End::B],
        LinkDirection::Both => &[End::A, End::B],
    }
}

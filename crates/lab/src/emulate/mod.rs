//! A scenario with real processes: a forwarder per node, a producer per object, a consumer per fetch, joined by emulated
//! links; and the same metrics as from the simulator.
//!
//! The queue of every link is the forwarder's own, as in the simulator; the emulated link adds delay, losses and
//! failures. All processes record what they see with times of one clock, and the records are then replayed into the
//! same collector that observes simulations.

mod agreement;
mod plan;
mod processes;
mod replay;

pub use agreement::{Agreement, Pair, agreement, table};
pub use plan::{check, comparable};

use crate::experiment::describe;
use crate::metrics::Collector;
use crate::results::Run;
use crate::scenario::{Change, Scenario, Way};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Span, Time};
use ndnweir_net::clock::{Clock, monotonic};
use ndnweir_net::emulator::{self, Emulator, End, Running};
use ndnweir_sim::topology::Topology;
use plan::Plan;
use processes::{Child, Fleet};
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where and how to emulate.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// What to emulate; it passes [`check`].
    pub scenario: Scenario,
    /// The program that plays the roles of [`ndnweir_net::roles`], and the arguments that make it do so.
    pub program: (PathBuf, Vec<String>),
    /// An empty folder for sockets and records. Its path is short, as a socket's path is at most 107 bytes.
    pub folder: PathBuf,
}

/// Why an emulation gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process did not do its part.
    #[error("{who}: {what}")]
    Process {
        /// Which.
        who: String,
        /// What it said, or did not.
        what: String,
    },
    /// The scenario cannot be emulated.
    #[error("{0}")]
    Scenario(String),
    /// The system refused something.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// How often is looked whether something is due.
const LOOK: Duration = Duration::from_millis(5);
/// For forwarders and producers to come up, and for each process on top of it.
const LEAD: Span = Span::from_millis(1000);
const LEAD_EACH: Span = Span::from_millis(60);

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
    ) -> Result<Option<Run>, Error> {
        let network = crate::experiment::network(&self.scenario);
        let topology = Topology::new(&network).map_err(|e| Error::Scenario(e.to_string()))?;
        let origin = monotonic();
        let clock = Clock::since(origin);
        let count = self.scenario.nodes.len() + self.scenario.producers.len() + self.scenario.consumers.len();
        let zero = clock.now() + LEAD + LEAD_EACH * count as u64;
        let mut links =
            Emulator::bind(Ipv4Addr::LOCALHOST, &plan::links(&self.scenario), &self.events(zero, clock), seed)?;
        let plan = Plan { scenario: &self.scenario, network: &network, topology: &topology, scheme, seed, zero };
        let mut fleet = Fleet::new(&self.program, origin);
        for node in 0..self.scenario.nodes.len() {
            fleet.start(Child::Node(node), plan.forwarder(node, &links, &self.folder, 0)?)?;
        }
        for (place, ready) in fleet.wait()? {
            let Some(udp) = ready.udp else { continue };
            for (link, end) in plan.ends_of(place) {
                links.set_process(link, end, udp);
            }
        }
        let running = links.start()?;
        for (number, task) in plan.producers(&self.folder) {
            fleet.start(Child::Producer(number), task)?;
        }
        fleet.wait()?;
        for number in 0..self.scenario.consumers.len() {
            fleet.start(Child::Consumer(number), plan.consumer(number, &self.folder))?;
        }
        fleet.wait()?;
        if clock.now() > zero {
            let what = format!(
                "{count} processes were not up after {}; this machine is too slow for them",
                zero.since(Time::ZERO)
            );
            return Err(Error::Scenario(what));
        }
        let end = zero + self.scenario.run.duration;
        let complete = self.watch(&plan, &mut fleet, &running, (zero, end), clock, stop, progress)?;
        fleet.finish()?;
        running.stop()?;
        if !complete {
            return Ok(None);
        }
        let mut collector = Collector::new(describe(&self.scenario).setup(&[]));
        replay::replay(&plan, &self.folder, &mut collector)?;
        Ok(Some(collector.finish(&scheme.name, seed)))
    }

    /// Waits for the end, and does what befalls nodes on the way; whether the end came.
    #[expect(clippy::too_many_arguments, reason = "all that one run consists of")]
    fn watch(
        &self,
        plan: &Plan<'_>,
        fleet: &mut Fleet,
        links: &Running,
        (zero, end): (Time, Time),
        clock: Clock,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<bool, Error> {
        let mut events = self.scenario.events.iter().peekable();
        let mut lives = vec![0; self.scenario.nodes.len()];
        while clock.now() < end {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            while let Some(event) = events.next_if(|event| zero + event.at <= clock.now()) {
                match event.change {
                    Change::NodeCrash(node) => fleet.kill(Child::Node(node)),
                    Change::NodeRestart(node) => {
                        lives[node] += 1;
                        fleet.start(Child::Node(node), plan.forwarder_again(node, links, &self.folder, lives[node]))?;
                    }
                    _ => {}
                }
            }
            fleet.look()?;
            progress(clock.now().since(zero).secs() / self.scenario.run.duration.secs());
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }

    /// What befalls links.
    fn events(&self, zero: Time, clock: Clock) -> Vec<emulator::Event> {
        let lead = zero.since(clock.now());
        let mut events = Vec::new();
        for event in &self.scenario.events {
            let mut add = |link, change| events.push(emulator::Event { at: lead + event.at, link, change });
            match event.change {
                Change::LinkDown(link) => add(link, emulator::Change::Down),
                Change::LinkUp(link) => add(link, emulator::Change::Up),
                Change::Delay(link, way, delay) => {
                    ends(way).iter().for_each(|end| add(link, emulator::Change::Delay(*end, delay)));
                }
                Change::Loss(link, way, loss) => {
                    ends(way).iter().for_each(|end| add(link, emulator::Change::Loss(*end, loss)));
                }
                Change::Rate(..) | Change::NodeCrash(_) | Change::NodeRestart(_) => {}
            }
        }
        events
    }
}

fn ends(way: Way) -> &'static [End] {
    match way {
        Way::Forward => &[End::A],
        Way::Backward => &[End::B],
        Way::Both => &[End::A, End::B],
    }
}

//! One run divided for several threads, or for the caches of one, with the bytes of one that is not.
//!
//! The nodes are divided into *processes*. As a packet takes at least the delay of the link to another process, every
//! process can handle its events of a *window* without the others, up to when something may come to it ([`reach`]). Then
//! all meet: packets that go to other processes are handed over, and what the processes have logged is told in the order
//! of one thread ([`log`]), as far as none is behind. No process goes beyond events that concern more than one node
//! (changes, routing, planners, samples, flows that come); they are handled by the engine as ever, with all of the network
//! in its hands. After UNISON (Bai et al., EuroSys 2024), with windows that end for each process in its own time, and
//! results that do not depend on the division.

mod ahead;
mod crew;
mod division;
mod extensions;
mod log;
mod partition;
mod reach;
mod windows;

use super::process::{EngineLink, Net, Process, next_due};
use super::{Engine, Source};
use crate::schedule::{Due, Schedule};
pub(super) use crew::map_on;
use crew::{Crew, lock};
use division::Division;
use log::{Call, Log, Rank};
use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch_first;
use reach::Reach;

/// So many packets must be under way before it is tried (ours: below, windows have too few events to share).
const ENOUGH_UNDER_WAY: u64 = 20_000;
/// How many events a window has for each thread at most: a millisecond or two of work. In longer windows a process finds more
/// of its nodes in the caches again, until its log takes their place (ours: 16,384 took 0.8 of the time of 4096 with 1,000
/// nodes, 65,536 as long).
const EVENTS_PER_WINDOW: u64 = 16_384;
/// How many each process may have if threads are forced: some are ahead of others then in small runs, too.
const FORCED_EVENTS: u64 = 24;
/// Windows with fewer events for each thread do not pay: to meet takes as long.
const FEWEST_PER_WINDOW: u64 = 500;
/// So few nodes have a process each, if links between them take time.
const FEW_NODES: usize = 16;
/// For how many threads a run is divided at least: one thread takes processes in turn too, as each finds its nodes in the
/// caches again.
const FEWEST_THREADS: usize = 2;
/// After how many events it is tried again, at first; twice as many after every time that it did not pay.
const PATIENCE: u64 = 1 << 15;
/// The same if threads are forced: small runs too are then divided more than once.
const PATIENCE_IF_FORCED: u64 = 1 << 8;

/// What takes some milliseconds, if each takes tens of nanoseconds.
const MANY_THINGS: usize = 1 << 17;

/// How many processes there are for each thread: who has finished takes what is left. (For one thread and two, 2 took 0.93
/// of the time of 4 with 1,000 nodes since memory is asked for ahead, and as long with 10,000; more threads were not
/// measured.)
const fn processes_per_thread(threads: usize) -> usize {
    if threads > 2 { 4 } else { 2 }
}

const fn first_patience(forced: bool) -> u64 {
    if forced { PATIENCE_IF_FORCED } else { PATIENCE }
}

/// When threads are used.
#[derive(Debug)]
pub(super) struct Threads {
    /// How many; none if the run cannot be divided.
    count: usize,
    /// However little there is to do.
    forced: bool,
    /// Not before so many events.
    not_before: u64,
    patience: u64,
    /// How many windows there were.
    windows: u64,
    /// Whether the run has components that were made outside the registry, once that was looked for.
    outside: Option<bool>,
    /// Whether that was looked for again where flows have come.
    knows_flows: bool,
    /// Delays between the processes of the last division.
    reach: Reach,
}

impl Threads {
    pub(super) fn new(count: usize, forced: bool) -> Threads {
        let forced = forced && count > 1;
        Threads {
            count: count.max(1),
            forced,
            not_before: 0,
            patience: first_patience(forced),
            windows: 0,
            outside: None,
            knows_flows: false,
            reach: Reach::default(),
        }
    }

    /// How many should compute so many things of some nanoseconds.
    pub(super) fn for_things(&self, things: usize) -> usize {
        if things < MANY_THINGS { 1 } else { self.count.max(1) }
    }

    /// How many events a process may have in a window.
    fn most_events(&self) -> u64 {
        let threads = self.count.max(FEWEST_THREADS);
        if self.forced { FORCED_EVENTS } else { EVENTS_PER_WINDOW / processes_per_thread(threads) as u64 }
    }

    pub(super) fn are_forced(&self) -> bool {
        self.forced && self.count > 0
    }
}

/// Why processes give the network back.
#[derive(PartialEq)]
enum Back {
    /// For one event that concerns all.
    ForOne,
    /// It cannot be divided like this any longer, or the division was made when half as much was known of the work.
    ForGood,
    /// The state of the run is to be kept.
    ToBeKept,
    /// The run is to be stopped.
    Stopped,
}

type Part = Process<Log>;

/// Has the processes worked on in this order, after something else.
type Round<'a> = dyn FnMut(&[usize], &mut dyn FnMut()) + 'a;

impl Part {
    /// The next event of the schedule. A process numbers its own sources, in the order of all: those of a process in a
    /// large network have a schedule of few cache lines.
    #[inline(always)]
    fn next(&self) -> Rank {
        let (due, source) = self.net.schedule.next();
        (due, self.net.sink.source(source))
    }

    /// What came from other processes, and then all events before the end of the window, which comes earlier if there are
    /// too many.
    fn work(&mut self) {
        self.take_in();
        let (mut bound, looks_ahead) = (self.net.sink.bound, self.net.sink.looks_ahead);
        let last = self.events.saturating_add(self.net.sink.most_events);
        loop {
            if self.events == last {
                // Arrivals that are out of the schedule are not given back.
                bound = bound.min(self.net.sink.ahead.end().unwrap_or(self.next()));
            }
            if looks_ahead {
                self.look_ahead(bound);
            }
            if let Some(coming) = self.net.sink.ahead.take(self.net.schedule.next()) {
                self.now = coming.rank.0.at();
                self.events += 1;
                self.net.sink.begin(coming.rank);
                self.net.links[coming.link as usize].is_ahead = false;
                self.arrive(coming.link, |schedule, next| {
                    // Something was sent there since.
                    if next != coming.next {
                        schedule.set(coming.source, next);
                    }
                });
            } else {
                let next = self.next();
                if next >= bound {
                    return;
                }
                self.now = next.0.at();
                self.events += 1;
                self.net.sink.begin(next);
                let (_, source) = self.net.schedule.next();
                match self.sources[source as usize] {
                    Source::DirectedLink(link) => self.arrival(link, source),
                    Source::Node(node) => self.timeout(node),
                    Source::App(app) => {
                        self.apps[app as usize].handle_timeout(self.now);
                        self.pump_app(app);
                    }
                    // Never in the schedule of a process.
                    Source::Changes | Source::Medium(_) | Source::Cross(_) | Source::Control | Source::Sample => return,
                }
            }
            for (node, report, entries) in self.reports.drain(..) {
                self.net.sink.call(Call::Reported { now: self.now, node, report, entries });
            }
            self.net.sink.end();
        }
    }

    fn take_in(&mut self) {
        let Net { links, schedule, sink, .. } = &mut self.net;
        for sender in &mut sink.inbox {
            for number in 0..sender.len() {
                if let Some(coming) = sender.get(number + 6) {
                    prefetch_first(&links[coming.link as usize], 128);
                }
                if let Some(coming) = sender.get(number + 3) {
                    links[coming.link as usize].propagation.prefetch_next();
                }
                let crossing = &sender[number];
                let EngineLink { propagation, source, .. } = &mut links[crossing.link as usize];
                if propagation.send(&crossing.packet, crossing.channel, crossing.joined, crossing.end).1 {
                    schedule.set(*source, next_due(propagation));
                }
            }
            sender.clear();
        }
    }
}

impl Engine<'_, '_> {
    /// Whether it is worth while to look for a division now. Asked from time to time.
    pub(super) fn wants_threads(&self) -> bool {
        let Threads { count, forced, not_before, .. } = self.threads;
        count > 0
            && self.process.events >= not_before
            && (forced || self.process.net.sink.in_flight >= ENOUGH_UNDER_WAY)
    }

    /// Runs on several threads for as long as that pays; returns whether the run is to end.
    pub(super) fn run_divided(&mut self, end: Time, progress: &mut dyn FnMut(&mut Self)) -> bool {
        if !self.is_divisible() {
            self.threads.count = 0;
            return false;
        }
        let Some(division) = Division::of(self) else {
            self.lose_patience();
            return false;
        };
        let parts = division.parts(self);
        let crew = Crew::new(&parts, Part::work);
        let stopped = std::thread::scope(|scope| {
            let hired = crew.hire(self.threads.count - 1, scope);
            let mut round = |order: &[usize], first: &mut dyn FnMut()| crew.round(&hired, order.iter().copied(), first);
            let fewest = FEWEST_PER_WINDOW * self.threads.count as u64;
            loop {
                let (events, windows) = (self.process.events, self.threads.windows);
                match self.run_windows(&division, &parts, end, &mut round, progress) {
                    Back::Stopped => return true,
                    Back::ForGood => return false,
                    Back::ToBeKept => continue,
                    Back::ForOne => {}
                }
                let (worked, windows) = (self.process.events - events, self.threads.windows - windows);
                let pays = worked >= windows * fewest && worked >= 4 * self.process.sources.len() as u64;
                // The event that concerns all, and others of its instant that do.
                let Some(source) = self.next_until(Due::last(end)) else { return false };
                self.handle(source);
                if !pays && !self.threads.forced {
                    self.lose_patience();
                    return false;
                }
            }
        });
        parts.iter().for_each(|part| self.take_in_tap(&mut lock(part)));
        stopped
    }

    /// Takes in what a part of the tap was told.
    fn take_in_tap(&mut self, part: &mut Part) {
        if let Some(tap) = &mut self.process.net.sink.tap
            && let Some(told) = part.net.sink.tap.take()
        {
            tap.take_in(told);
        }
    }

    fn lose_patience(&mut self) {
        self.threads.not_before = self.process.events + self.threads.patience;
        self.threads.patience = self.threads.patience.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Change, Network};
    use crate::observer::NoObserver;
    use crate::{RunOptions, bench};
    use ndnweir_core::scheme::Scheme;
    use ndnweir_core::units::Duration;

    /// Windows and packet-hops of a run.
    fn windows(network: &Network, threads: usize, force_threads: bool) -> (u64, u64) {
        let scheme = Scheme::named("fixed").unwrap();
        let options = RunOptions { threads, force_threads, ..RunOptions::default() };
        let mut observer = NoObserver;
        let mut engine = Engine::build(network, &scheme, 1, &mut observer, options).unwrap();
        engine.start();
        engine.run_until(Time::ZERO + network.duration);
        let windows = engine.threads.windows;
        (windows, engine.finish().packet_hops)
    }

    #[test]
    fn a_small_run_uses_one_thread_unless_forced() {
        let network = bench::grid(4, Duration::from_millis(2), Duration::from_millis(500));
        let (none, hops) = windows(&network, 2, false);
        let (some, same) = windows(&network, 2, true);
        assert_eq!((none, windows(&network, 1, true).0), (0, 0));
        assert!(some > 40 && hops == same, "{some} windows, {hops} and {same} hops");
    }

    #[test]
    fn a_large_run_is_divided_by_itself_and_stops_being_so_when_less_is_under_way() {
        let (mut network, scheme) = bench::pipe(60_000, 1_500_000);
        let few = |network: &Network, threads| {
            let options = RunOptions { threads, ..RunOptions::default() };
            let mut observer = NoObserver;
            let mut engine = Engine::build(network, &scheme, 1, &mut observer, options).unwrap();
            engine.start();
            engine.run_until(Time::ZERO + network.duration);
            (engine.threads.windows, engine.threads.not_before)
        };
        let (windows, not_before) = few(&network, 2);
        assert!(windows > 25, "{windows} windows, {not_before}");
        assert!(few(&network, 1).0 > 12, "for the caches of one thread too");
        let half = Time::ZERO + Duration::from_nanos(network.duration.nanos() / 2);
        // Changes of something that does not matter.
        let step = network.duration.nanos() / 10_000;
        let change = |i| (half + Duration::from_nanos(i * step), Change::Restart { node: 0 });
        network.changes = (0..5000).map(change).collect();
        let (fewer, later) = few(&network, 2);
        assert!(fewer + 10 < windows && later > not_before, "{fewer} of {windows} windows, {later}");
    }
}

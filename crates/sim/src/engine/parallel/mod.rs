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
mod log;
mod partition;
mod reach;

use super::process::{EngineLink, Net, Process, next_due};
use super::{Engine, Source};
use crate::schedule::{Due, EventRank, Schedule};
pub(super) use crew::map_on;
use crew::{Crew, lock};
use division::Division;
use log::{Call, LAST, Log, Rank, Said};
use ndnweir_core::units::{Duration, Time};
use ndnweir_prefetch::prefetch_first;
use reach::Reach;
use std::sync::{Mutex, MutexGuard};

/// So many packets must be under way before it is tried (ours: below, windows have too few events to share).
const ENOUGH_UNDER_WAY: u64 = 20_000;
/// How many events a window has for each thread at most: a millisecond or two of work. In longer windows a process finds more
/// of its nodes in the caches again, until its log takes their place (ours: 16,384 took 0.8 of the time of 4096 with 1,000
/// nodes, 65,536 as long).
const EVENTS_PER_WINDOW: u64 = 16_384;
/// A process that has logged so much and is ahead waits for the others: nothing comes to it from parts of the network that
/// are apart, so that it could go on to the end of the run, and its log with it (ours).
const MOST_SAID: usize = 1 << 20;
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

    /// Gives the network to its processes, has them work until an event concerns all, and takes it back.
    fn run_windows(
        &mut self,
        division: &Division,
        parts: &[Mutex<Part>],
        end: Time,
        round: &mut Round<'_>,
        progress: &mut dyn FnMut(&mut Self),
    ) -> Back {
        let mut all: Vec<_> = parts.iter().map(lock).collect();
        let lookahead = division.lookahead(self);
        if all.iter().any(|part| part.net.sink.is_short_of_handles()) {
            self.threads.count = 0;
            return Back::ForGood;
        }
        // A link between processes takes no time any longer: the next division does not cut it.
        if lookahead == Duration::ZERO {
            return Back::ForGood;
        }
        let mut reach = std::mem::take(&mut self.threads.reach);
        reach.update(division, self);
        let flows_come = self.process.apps.iter().map(|app| (app.flows_come(), app.source)).min();
        let flows_come = flows_come.map_or((Due::NEVER, 0), |(at, app)| (Due::new(at, EventRank::APPLICATION), app));
        self.exchange(division, &mut all);
        let most_events = if self.control.is_on() { u64::MAX } else { self.threads.most_events() };
        for part in &mut all {
            part.net.sink.clear();
            part.net.sink.most_events = most_events;
        }
        let after_end = (Due::new(end + Duration::from_nanos(1), EventRank::CHANGE), 0);
        // What nodes report must not reach a planner in the same window.
        let longest = lookahead.min(self.network.control.delay);
        let mut window = longest;
        let mut order: Vec<usize> = (0..all.len()).collect();
        let mut before: Vec<u64> = all.iter().map(|part| part.events).collect();
        let mut said: Vec<Said> = all.iter().map(|_| Said::default()).collect();
        // When the first packet comes to each that has left in the window before, and when each has its next event.
        let mut come = vec![Time::NEVER; all.len()];
        let mut next = come.clone();
        // Where all stop, as some are ahead of others, and why.
        let mut ending: Option<(Rank, Back)> = None;
        let mut is_kept = false;
        let back = loop {
            let concerns_all = self.process.net.schedule.next().min(flows_come).min(after_end);
            let limit = ending.as_ref().map_or(concerns_all, |(at, _)| concerns_all.min(*at));
            let mut first = (Due::NEVER, 0);
            for ((part, &come), next) in all.iter().zip(&come).zip(&mut next) {
                let here = part.next().min((Due::new(come, EventRank::CHANGE), 0));
                first = here.min(first);
                *next = here.0.at();
            }
            if first >= limit {
                break ending.map_or(Back::ForOne, |(_, back)| back);
            }
            self.process.now = self.process.now.max(first.0.at());
            for (to, part) in all.iter_mut().enumerate() {
                let until = if self.control.is_on() { first.0.at() + window } else { reach.earliest(to, &next) };
                part.net.sink.bound = limit.min((Due::new(until, EventRank::CHANGE), 0));
                if said[to].len() > MOST_SAID && part.next() > first {
                    part.net.sink.bound = first;
                }
            }
            drop(all);
            self.tell_window(&[]);
            // What was logged before is told beside this window, if no process can have anything to tell before it.
            round(&order, &mut || self.tell(&mut said, first));
            all = parts.iter().map(lock).collect();
            self.threads.windows += 1;
            let done: Vec<u64> = all.iter().zip(&before).map(|(part, before)| part.events - before).collect();
            self.tell_window(&done);
            self.meet(&mut all, &mut said, &reach, &mut come);
            before.clear();
            before.extend(all.iter().map(|part| part.events));
            order.sort_by_key(|&part| std::cmp::Reverse(done[part]));
            window = next_window(window, longest, done.iter().sum::<u64>() / self.threads.count as u64);
            progress(self);
            if ending.is_some() {
                continue;
            }
            is_kept = self.asks_keeper();
            let back = match (self.stopped, is_kept) {
                (true, _) => Back::Stopped,
                (false, true) => Back::ToBeKept,
                (false, false) => Back::ForGood,
            };
            if is_kept
                || self.stopped
                || self.process.events + before.iter().sum::<u64>() >= division.until
                || all.iter().any(|part| part.net.sink.is_short_of_handles())
            {
                let reached = all.iter().map(|part| part.net.sink.end_of_events()).max();
                ending = Some((reached.unwrap_or(LAST), back));
            }
        };
        self.tell(&mut said, LAST);
        all.iter_mut().for_each(|part| part.take_in());
        self.exchange(division, &mut all);
        self.threads.reach = reach;
        if is_kept {
            for part in &mut all {
                self.take_in_tap(part);
                part.net.sink.tap = self.process.net.sink.tap.as_ref().and_then(|tap| tap.part());
            }
            self.keep();
        }
        back
    }

    fn tell_window(&mut self, events: &[u64]) {
        if let Some(windows) = &mut self.windows {
            windows(events);
        }
    }

    /// Hands over what goes to other processes, and takes what was logged.
    fn meet(&mut self, all: &mut [MutexGuard<'_, Part>], said: &mut [Said], reach: &Reach, come: &mut [Time]) {
        come.fill(Time::NEVER);
        for from in 0..all.len() {
            for to in 0..all.len() {
                let leaves = std::mem::replace(&mut all[from].net.sink.leaves[to], Time::NEVER);
                if leaves != Time::NEVER {
                    come[to] = come[to].min(leaves + reach.direct(from, to));
                }
                let sent = std::mem::take(&mut all[from].net.sink.outbox[to]);
                if !sent.is_empty() {
                    // Empty: it was taken in. Its room is used again.
                    let empty = std::mem::replace(&mut all[to].net.sink.inbox[from], sent);
                    all[from].net.sink.outbox[to] = empty;
                } else {
                    all[from].net.sink.outbox[to] = sent;
                }
            }
        }
        all.iter_mut().zip(&mut *said).for_each(|(part, said)| said.take_in(&mut part.net.sink.said));
        let collected = all.iter_mut().filter_map(|part| part.collected.take()).max();
        if collected.is_some() {
            // Reports to the planner may bring about its next event.
            self.tell(said, LAST);
            self.process.collected = collected;
            self.collect();
        }
    }

    /// Tells what was logged of events before this, once.
    fn tell(&mut self, said: &mut [Said], end: Rank) {
        let Self { process, control, .. } = self;
        let report = |now, node, report, entries| control.report(now, node, report, entries);
        log::tell_all(said, end, &process.net.topology, &mut process.net.sink, report);
        said.iter_mut().for_each(|said| said.forget(end));
    }

    /// Exchanges what processes own for what stands in its place: gives it to them, or takes it back.
    fn exchange(&mut self, division: &Division, all: &mut [MutexGuard<'_, Part>]) {
        use std::mem::swap;
        /// What numbers its own sources keeps the numbers.
        fn exchange<T>(here: &mut T, there: &mut T, source: impl Fn(&mut T) -> &mut u32) {
            swap(here, there);
            swap(source(here), source(there));
        }
        let here = &mut self.process;
        for (part, members) in all.iter_mut().zip(&division.members) {
            let there = &mut **part;
            for node in members.nodes.iter().map(|&node| node as usize) {
                exchange(&mut here.places[node], &mut there.places[node], |place| &mut place.source);
                here.dead[node] += std::mem::take(&mut there.dead[node]);
            }
            for app in members.apps.iter().map(|&app| app as usize) {
                exchange(&mut here.apps[app], &mut there.apps[app], |app| &mut app.source);
            }
            members.servers.iter().for_each(|&s| swap(&mut here.servers[s as usize], &mut there.servers[s as usize]));
            for link in members.links.iter().map(|&link| link as usize) {
                exchange(&mut here.net.links[link], &mut there.net.links[link], |link| &mut link.source);
            }
            for (own, &source) in (0..).zip(&members.sources) {
                let (due, other) = (here.net.schedule.get(source), there.net.schedule.get(own));
                here.net.schedule.set(source, other);
                there.net.schedule.set(own, due);
            }
            here.events += std::mem::take(&mut there.events);
        }
    }
}

/// The length of a window after one with so many events for each thread.
fn next_window(window: Duration, longest: Duration, events: u64) -> Duration {
    let next = match events {
        0..EVENTS_PER_WINDOW => window + window,
        _ if events > 2 * EVENTS_PER_WINDOW => Duration::from_nanos((window.nanos() / 2).max(1)),
        _ => window,
    };
    next.min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Change, Network};
    use crate::observer::NoObserver;
    use crate::{RunOptions, bench};
    use ndnweir_core::scheme::Scheme;

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

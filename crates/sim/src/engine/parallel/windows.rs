//! Windows: what processes do without the others, and where they meet.

use super::crew::lock;
use super::division::Division;
use super::log::{self, LAST, Rank, Said};
use super::reach::Reach;
use super::{Back, EVENTS_PER_WINDOW, Part, Round};
use crate::engine::Engine;
use crate::schedule::{Due, EventRank, Schedule};
use ndnweir_core::units::{Duration, Time};
use std::sync::{Mutex, MutexGuard};

/// A process that has logged so much and is ahead waits for the others: nothing comes to it from parts of the network that
/// are apart, so that it could go on to the end of the run, and its log with it (ours).
const MOST_SAID: usize = 1 << 20;

impl Engine<'_, '_> {
    /// Gives the network to its processes, has them work until an event concerns all, and takes it back.
    pub(super) fn run_windows(
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

//! What processes tell beside each other, and its order in one thread.
//!
//! One thread always takes the earliest event of all. A process takes its own earliest, and between two meetings its
//! events change those of no other. So its events are those of one thread with the others left out, and the order of
//! all is found again by taking, again and again, the process whose next event is the earliest. What an event brings
//! about at its own instant may have a lower rank than the event: it then follows at once, before any event of another
//! process. Hence the rank of an event is here the highest of those that the process has handled so far.

use super::ahead::Ahead;
use super::division::Division;
use super::extensions::Extensions;
use crate::engine::TapPart;
use crate::engine::sink::{Alone, Sink};
use crate::observer::{Arrival, DirectedLinkId, FlowEvent};
use crate::outcome::EventHash;
use crate::path::{MAX_HANDLES, handle};
use crate::schedule::{Due, EventRank};
use crate::topology::Topology;
use ndnweir_core::ctx::TraceEvent;
use ndnweir_core::meter::Report;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch_next;
use std::ops::Range;
use std::sync::Arc;

/// When an event is due, and its source: the order of all events.
pub(super) type Rank = (Due, u32);

/// Before every event.
const FIRST: Rank = (Due::new(Time::ZERO, EventRank::CHANGE), 0);
/// After every event.
pub(super) const LAST: Rank = (Due::NEVER, u32::MAX);

/// A packet on its way to another process.
pub(super) struct Crossing {
    pub(super) link: u32,
    pub(super) channel: u32,
    pub(super) packet: Packet,
    pub(super) joined: Time,
    pub(super) end: Time,
}

/// What is told in the order of one thread.
pub(super) enum Call {
    /// A process has given a path its next handle.
    Path {
        before: u32,
        link: u32,
    },
    Sent {
        now: Time,
        waiting: Range<Time>,
        link: u32,
        channel: u32,
        packet: Packet,
    },
    Requested {
        now: Time,
        consumer: u32,
        interest: Packet,
    },
    Delivered {
        now: Time,
        consumer: u32,
        path: u32,
        arrival: Arrival,
    },
    Flow {
        now: Time,
        consumer: u32,
        event: FlowEvent,
    },
    Recorded {
        node: u32,
        id: u64,
        event: TraceEvent,
    },
    Reported {
        now: Time,
        node: u32,
        report: Report,
        entries: usize,
    },
}

/// What somebody wants to be told.
#[derive(Clone, Copy)]
pub(super) struct Wants {
    pub(super) hash: bool,
    pub(super) paths: bool,
    pub(super) tap: bool,
    pub(super) observer: bool,
    /// Of Interests that consumers send.
    pub(super) requests: bool,
}

/// What a process has logged and has not been told.
#[derive(Default)]
pub(super) struct Said {
    /// By how many more packets are under way.
    changes: Vec<(Rank, i64)>,
    /// The words that an arrival adds to the hash.
    arrivals: Vec<(Rank, [u64; 4])>,
    calls: Vec<(Rank, Call)>,
}

/// What of a list comes before this.
fn before<T>(list: &[(Rank, T)], end: Rank) -> &[(Rank, T)] {
    &list[..list.partition_point(|&(rank, _)| rank < end)]
}

impl Said {
    fn clear(&mut self) {
        self.changes.clear();
        self.arrivals.clear();
        self.calls.clear();
    }

    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.changes.len() + self.arrivals.len() + self.calls.len()
    }

    /// Takes what was logged later, and leaves an empty log.
    pub(super) fn take_in(&mut self, later: &mut Said) {
        fn take_in<T>(here: &mut Vec<T>, later: &mut Vec<T>) {
            if here.is_empty() {
                std::mem::swap(here, later);
            } else {
                here.append(later);
            }
        }
        take_in(&mut self.changes, &mut later.changes);
        take_in(&mut self.arrivals, &mut later.arrivals);
        take_in(&mut self.calls, &mut later.calls);
    }

    /// Forgets what comes before this.
    pub(super) fn forget(&mut self, end: Rank) {
        fn forget<T>(list: &mut Vec<(Rank, T)>, end: Rank) {
            list.drain(..before(list, end).len());
        }
        forget(&mut self.changes, end);
        forget(&mut self.arrivals, end);
        forget(&mut self.calls, end);
    }
}

/// The sink of a process beside others.
pub(super) struct Log {
    wants: Wants,
    /// The rank of the event at hand.
    rank: Rank,
    /// Where the window ends, and after how many events it ends before.
    pub(super) bound: Rank,
    pub(super) most_events: u64,
    /// Packets that have set out, less those that have arrived, in the event at hand.
    change: i64,
    pub(super) said: Said,
    /// Takes packets that are put on links, if the tap need not be told of all in order.
    pub(super) tap: Option<Box<dyn TapPart>>,
    /// The handles of paths by the path before and the link. They are numbered on from earlier times.
    pub(super) handles: Extensions,
    process: usize,
    next_handle: usize,
    /// By directed link: the process where it ends.
    ends: Arc<[u16]>,
    /// The process's sources, by their numbers in it, as they are numbered in the network.
    sources: Vec<u32>,
    /// Whether it is looked for arrivals that come next, and those that are known.
    pub(super) looks_ahead: bool,
    pub(super) ahead: Ahead,
    /// By process: what goes there, and what has come from there.
    pub(super) outbox: Vec<Vec<Crossing>>,
    pub(super) inbox: Vec<Vec<Crossing>>,
    /// By process: when the first of these packets leaves.
    pub(super) leaves: Vec<Time>,
}

impl Log {
    /// Of process number `process`, see [`Division`].
    pub(super) fn new(process: usize, next_handle: usize, wants: Wants, division: &Division) -> Log {
        let boxes = || division.members.iter().map(|_| Vec::new()).collect();
        Log {
            wants,
            rank: FIRST,
            bound: (Due::NEVER, 0),
            most_events: u64::MAX,
            change: 0,
            said: Said::default(),
            tap: None,
            handles: Extensions::default(),
            process,
            next_handle,
            ends: division.ends.clone(),
            looks_ahead: false,
            ahead: Ahead::default(),
            sources: division.members[process].sources.clone(),
            outbox: boxes(),
            inbox: boxes(),
            leaves: division.members.iter().map(|_| Time::NEVER).collect(),
        }
    }

    /// Whether it may soon run out of handles.
    pub(super) fn is_short_of_handles(&self) -> bool {
        self.next_handle > MAX_HANDLES / 2
    }

    /// The number in the network of one of the process's sources.
    #[inline(always)]
    pub(super) fn source(&self, own: u32) -> u32 {
        self.sources.get(own as usize).copied().unwrap_or_default()
    }

    /// An event begins.
    #[inline(always)]
    pub(super) fn begin(&mut self, rank: Rank) {
        self.rank = self.rank.max(rank);
    }

    /// It ends.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        if self.change != 0 {
            self.said.changes.push((self.rank, self.change));
            self.change = 0;
        }
    }

    pub(super) fn call(&mut self, call: Call) {
        self.said.calls.push((self.rank, call));
    }

    /// What comes after all events so far.
    pub(super) fn end_of_events(&self) -> Rank {
        (self.rank.0, self.rank.1 + 1)
    }

    /// The process has its part of the network again: the rank is forgotten that it had come to. An event that concerned
    /// all may have brought about others of its instant and lower ranks in several processes.
    pub(super) fn clear(&mut self) {
        self.rank = FIRST;
        self.said.clear();
    }
}

impl Sink for Log {
    const CUT: bool = true;

    fn has_hash(&self) -> bool {
        self.wants.hash
    }

    #[inline(always)]
    fn is_tapped(&self) -> bool {
        self.wants.tap
    }

    fn show(&mut self, now: Time, waiting: Range<Time>, link: u32, channel: u32, _: &Topology, packet: &Packet) {
        match &mut self.tap {
            Some(tap) => tap.sent(waiting, DirectedLinkId(link)),
            None => self.call(Call::Sent { now, waiting, link, channel, packet: *packet }),
        }
    }

    #[inline(always)]
    fn has_paths(&self) -> bool {
        self.wants.paths
    }

    #[inline]
    fn extend(&mut self, before: u32, link: u32) -> u32 {
        if let Some(known) = self.handles.get(before, link) {
            return known;
        }
        let new = handle(self.process, self.next_handle);
        self.next_handle += 1;
        self.handles.insert(before, link, new);
        self.call(Call::Path { before, link });
        new
    }

    #[inline(always)]
    fn sent(&mut self, packets: u64) {
        self.change += packets as i64;
    }

    #[inline(always)]
    fn ended(&mut self) {
        self.change -= 1;
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self, source: u32) {
        self.ahead.forget(source);
    }

    #[inline(always)]
    fn arrived(&mut self, now: Time, link: u32, packet: &Packet) {
        if self.wants.hash {
            self.said.arrivals.push((self.rank, EventHash::words(now, link, packet)));
        }
    }

    fn cross(&mut self, link: u32, channel: u32, packet: &Packet, joined: Time, end: Time) {
        self.change += 1;
        debug_assert!(
            self.rank.0.at() <= end,
            "a packet leaves when it is sent or later: on that rests the look-ahead"
        );
        let process = self.ends[link as usize] as usize;
        let (there, leaves) = (&mut self.outbox[process], &mut self.leaves[process]);
        *leaves = end.min(*leaves);
        there.push(Crossing { link, channel, packet: *packet, joined, end });
        prefetch_next(there);
    }

    fn requested(&mut self, now: Time, consumer: u32, interest: &Packet) {
        if self.wants.requests {
            self.call(Call::Requested { now, consumer, interest: *interest });
        }
    }

    fn delivered(&mut self, now: Time, consumer: u32, path: u32, arrival: Arrival) {
        if self.wants.observer {
            self.call(Call::Delivered { now, consumer, path, arrival });
        }
    }

    fn flow(&mut self, now: Time, consumer: u32, event: FlowEvent) {
        if self.wants.observer {
            self.call(Call::Flow { now, consumer, event });
        }
    }

    fn recorded(&mut self, node: u32, id: u64, event: &TraceEvent) {
        if self.wants.observer {
            self.call(Call::Recorded { node, id, event: *event });
        }
    }
}

/// Goes through lists that are each in order, in the order of all together; `tell` is told the place of the list.
fn merge<T>(lists: &[&[(Rank, T)]], mut tell: impl FnMut(usize, &T)) {
    let mut left: Vec<(usize, &[(Rank, T)])> = lists.iter().copied().enumerate().collect();
    left.retain(|(_, list)| !list.is_empty());
    while !left.is_empty() {
        let (mut first, mut second) = (0, (Due::NEVER, u32::MAX));
        for place in 1..left.len() {
            let (here, best) = (left[place].1[0].0, left[first].1[0].0);
            if here < best {
                (first, second) = (place, best);
            } else {
                second = second.min(here);
            }
        }
        let (list, entries) = &mut left[first];
        let run = entries.iter().position(|entry| entry.0 >= second).unwrap_or(entries.len());
        let (now, later) = entries.split_at(run.max(1));
        now.iter().for_each(|(_, entry)| tell(*list, entry));
        *entries = later;
        if later.is_empty() {
            left.swap_remove(first);
        }
    }
}

/// Tells everything that processes have logged of events before `end`, as one thread would have. `report` is for reports to
/// planners.
pub(super) fn tell_all(
    logs: &[Said],
    end: Rank,
    topology: &Topology,
    alone: &mut Alone<'_, '_>,
    mut report: impl FnMut(Time, u32, Report, usize),
) {
    let changes: Vec<_> = logs.iter().map(|log| before(&log.changes, end)).collect();
    let mut under_way = alone.in_flight as i64;
    let (mut balance, mut most) = (0, 0);
    for changes in &changes {
        let sum = |(sum, most): (i64, i64), &(_, change): &(Rank, i64)| (sum + change, most.max(sum + change));
        let (whole, highest) = changes.iter().fold((0, 0), sum);
        (balance, most) = (balance + whole, most + highest);
    }
    if under_way + most > alone.peak_in_flight as i64 {
        merge(&changes, |_, change| {
            under_way += change;
            alone.peak_in_flight = alone.peak_in_flight.max(under_way as u64);
        });
    }
    alone.in_flight = (alone.in_flight as i64 + balance) as u64;
    if let Some(hash) = &mut alone.hash {
        let arrivals: Vec<_> = logs.iter().map(|log| before(&log.arrivals, end)).collect();
        merge(&arrivals, |_, words| hash.add(words));
    }
    let calls: Vec<_> = logs.iter().map(|log| before(&log.calls, end)).collect();
    merge(&calls, |process, call| match call {
        Call::Path { before, link } => alone.paths.resolve(process, *before, *link),
        Call::Sent { now, waiting, link, channel, packet } => {
            alone.show(*now, waiting.clone(), *link, *channel, topology, packet);
        }
        Call::Requested { now, consumer, interest } => alone.requested(*now, *consumer, interest),
        Call::Delivered { now, consumer, path, arrival } => alone.delivered(*now, *consumer, *path, *arrival),
        Call::Flow { now, consumer, event } => alone.flow(*now, *consumer, *event),
        Call::Recorded { node, id, event } => alone.recorded(*node, *id, event),
        Call::Reported { now, node, report: what, entries } => report(*now, *node, *what, *entries),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::parallel::division::Members;
    use ndnweir_core::units::Duration;

    fn logs<const N: usize>() -> [Log; N] {
        let wants = Wants { hash: true, paths: true, tap: true, observer: true, requests: true };
        let members = (0..N).map(|_| Members::default()).collect();
        let division = Division { members, ends: Arc::from([]), cut: Vec::new(), until: 0 };
        std::array::from_fn(|process| Log::new(process, 0, wants, &division))
    }

    /// An event of this rank and source at 1 ms, on the link of that number.
    fn event(log: &mut Log, rank: EventRank, source: u32) {
        let now = Time::ZERO + Duration::from_millis(1);
        log.begin((Due::new(now, rank), source));
        log.arrived(now, source, &Packet::default());
        log.end();
    }

    /// The links of the arrivals in the order in which they are told.
    fn told(logs: &[Log]) -> Vec<u64> {
        let arrivals: Vec<_> = logs.iter().map(|log| &log.said.arrivals[..]).collect();
        let mut told = Vec::new();
        merge(&arrivals, |_, words| told.push(words[2] >> 32));
        told
    }

    #[test]
    fn what_an_event_brings_about_at_its_instant_follows_before_any_event_of_another_process() {
        let mut logs = logs::<3>();
        event(&mut logs[0], EventRank::APPLICATION, 5);
        event(&mut logs[0], EventRank::TIMEOUT, 3);
        event(&mut logs[1], EventRank::TIMEOUT, 2);
        event(&mut logs[1], EventRank::APPLICATION, 6);
        event(&mut logs[2], EventRank::arrival(9), 7);
        event(&mut logs[2], EventRank::TIMEOUT, 8);
        assert_eq!(told(&logs), [7, 2, 8, 5, 3, 6]);
    }

    #[test]
    fn what_an_event_of_all_processes_brings_about_at_its_instant_has_its_own_rank() {
        let mut logs = logs::<2>();
        event(&mut logs[0], EventRank::APPLICATION, 4);
        // A planner's orders reach nodes of both processes.
        logs.iter_mut().for_each(Log::clear);
        event(&mut logs[0], EventRank::TIMEOUT, 3);
        event(&mut logs[1], EventRank::TIMEOUT, 7);
        assert_eq!(told(&logs), [3, 7]);
    }
}

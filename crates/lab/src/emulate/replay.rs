//! From the records of processes to what an observer of a simulation hears.

use super::plan::{Plan, consumer_record, node_record};
use crate::scenario::Traffic;
use ndnweir_core::units::{Bytes, Span, Time};
use ndnweir_net::emulator::DirectionCounters;
use ndnweir_net::roles::record::{Record, face_counters, fetcher_counters, read};
use ndnweir_sim::observer::{
    ConsumerCounters, ConsumerId, Delivery, DropCause, LinkCounters, LinkId, NodeId, Observer, PathId, Share, Snapshot,
};
use ndnweir_sim::outcome::Account;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What the links had done by certain times, by direction.
pub(super) type LinkSamples = Vec<(Time, Vec<DirectionCounters>)>;

/// Who recorded.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A node in one of its lives.
    Node(usize, u32),
    Consumer(usize),
    /// The emulated links, with the sample's place.
    Links(usize),
}

/// Packets that passed a face.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) sent: u64,
    pub(super) arrived: u64,
}

/// What the records prove.
#[derive(Debug, Default)]
pub(super) struct Found {
    passed: BTreeMap<(usize, usize), Passed>,
    /// What did not balance in a forwarder.
    problem: Option<String>,
    accounts: Vec<Account>,
}

impl Found {
    /// What passed a node's face in all its lives.
    pub(super) fn passed(&self, node: usize, face: usize) -> Passed {
        self.passed.get(&(node, face)).copied().unwrap_or_default()
    }

    /// Checks that nothing was lost unnoticed: Interests at consumers and forwarders, datagrams on links.
    pub(super) fn check(&self, links: &[DirectionCounters]) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        for (i, account) in self.accounts.iter().enumerate() {
            if !account.balances() {
                return Err(format!("consumer {i}: {account:?}"));
            }
        }
        for (i, DirectionCounters { queue, way, under_way }) in links.iter().enumerate() {
            queue.check().map_err(|what| format!("link {i}: {what}"))?;
            if way.sent + way.copies != way.revoked + way.arrived + way.lost + way.down + under_way {
                return Err(format!("link {i}: {way:?}, {under_way} under way"));
            }
        }
        Ok(())
    }
}

/// Tells `observer` what the processes and links have recorded, in the order of time.
pub(super) fn replay(
    plan: &Plan<'_>,
    folder: &Path,
    samples: &LinkSamples,
    observer: &mut dyn Observer,
) -> io::Result<Found> {
    let mut records: Vec<(Time, Source, Option<Record>)> = Vec::new();
    let mut add = |source, found: Vec<Record>| {
        records.extend(found.into_iter().map(|record| (record.at(), source, Some(record))));
    };
    for node in plan.forwarders() {
        for life in 0.. {
            let path = node_record(folder, node, life);
            if !path.exists() {
                break;
            }
            add(Source::Node(node, life), read(&path)?);
        }
    }
    for number in 0..plan.scenario.consumers.len() {
        add(Source::Consumer(number), read(&consumer_record(folder, number))?);
    }
    records.extend(samples.iter().enumerate().map(|(i, (at, _))| (*at, Source::Links(i), None)));
    records.sort_by_key(|(at, ..)| *at);
    let mut state = State::new(plan);
    let mut found = Found::default();
    observer.path(PathId(0), &[]);
    let (sample, end) = (plan.scenario.run.sample, Time::ZERO + plan.scenario.run.duration);
    let mut next = Time::ZERO;
    for (at, source, record) in &records {
        let at = Time::ZERO + at.since(plan.zero);
        while next < at && next < end {
            state.sample(next, observer);
            next += sample;
        }
        if let (Source::Node(node, life), Some(record)) = (source, record) {
            found.take(plan, *node, *life, record);
        }
        if at <= end {
            match (source, record) {
                (Source::Node(node, life), Some(record)) => state.of_node(plan, *node, *life, record),
                (Source::Consumer(number), Some(record)) => state.of_consumer(at, *number, record, observer),
                (Source::Links(i), _) => state.below.clone_from(&samples[*i].1),
                (_, None) => {}
            }
        }
    }
    while next < end {
        state.sample(next, observer);
        next += sample;
    }
    state.sample(end, observer);
    found.accounts = state.accounts(plan);
    Ok(found)
}

impl Found {
    fn take(&mut self, plan: &Plan<'_>, node: usize, life: u32, record: &Record) {
        match record {
            Record::Face { face, counts, drops, arrived, .. } if life == 0 => {
                let c = face_counters(counts, drops);
                let sent = c.data_packets + c.interest_packets + c.nack_packets;
                self.passed.insert((node, *face), Passed { sent, arrived: *arrived });
            }
            Record::Books { problem: Some(problem), .. } => {
                self.problem = Some(format!("node {}: {problem}", plan.scenario.nodes[node].name));
            }
            _ => {}
        }
    }
}

/// What is known of everything so far.
struct State {
    /// By direction: the counters of the sending face, in its lives before the present one and in that.
    faces: Vec<(LinkCounters, LinkCounters)>,
    /// By direction: the life that was heard of last.
    lives: Vec<u32>,
    below: Vec<DirectionCounters>,
    below_ndn: Vec<bool>,
    consumers: Vec<ConsumerCounters>,
    shares: Vec<Share>,
}

impl State {
    fn new(plan: &Plan<'_>) -> State {
        let wires = plan.topology.wires.len();
        State {
            faces: vec![Default::default(); wires],
            lives: vec![0; wires],
            below: vec![DirectionCounters::default(); wires],
            below_ndn: (0..wires as u32).map(|wire| plan.topology.is_below_ndn(wire)).collect(),
            consumers: vec![ConsumerCounters::default(); plan.scenario.consumers.len()],
            shares: Vec::new(),
        }
    }

    /// What a direction has done: its queue wherever that is, and its way.
    fn link(&self, wire: usize) -> LinkCounters {
        let DirectionCounters { queue, way, .. } = &self.below[wire];
        let (before, now) = self.faces[wire];
        let mut link = if self.below_ndn[wire] { *queue } else { before.plus(now) };
        if !self.below_ndn[wire] {
            // What a face sends on a link that is down.
            link.drops[DropCause::Down as usize] += queue.drops[DropCause::Down as usize];
        }
        link.drops[DropCause::Loss as usize] += way.lost;
        link.drops[DropCause::Down as usize] += way.down;
        link
    }

    fn sample(&self, at: Time, observer: &mut dyn Observer) {
        let links: Vec<LinkCounters> = (0..self.faces.len()).map(|wire| self.link(wire)).collect();
        let State { consumers, shares, .. } = self;
        observer.sample(&Snapshot { at, links: &links, consumers, shares });
    }

    fn of_node(&mut self, plan: &Plan<'_>, node: usize, life: u32, record: &Record) {
        let wire = |face: usize| {
            let channel = *plan.topology.faces[node].get(face)?;
            Some(plan.topology.channels[channel as usize].wire as usize)
        };
        match record {
            Record::Face { face, counts, drops, .. } => {
                let Some(wire) = wire(*face).filter(|wire| !self.below_ndn[*wire]) else { return };
                self.count(wire, life, face_counters(counts, drops));
            }
            Record::Share { prefix, face, share, .. } => {
                let Some(wire) = wire(*face) else { return };
                let (node, link) = (NodeId(node as u32), LinkId(wire as u32));
                let told = Share { node, prefix: *prefix as u32, link, share: *share };
                let same = |s: &&mut Share| (s.node, s.prefix, s.link) == (told.node, told.prefix, told.link);
                match self.shares.iter_mut().find(same) {
                    Some(known) => known.share = told.share,
                    None => self.shares.push(told),
                }
            }
            _ => {}
        }
    }

    /// A face counts from zero in each of its lives.
    fn count(&mut self, wire: usize, life: u32, counters: LinkCounters) {
        let (before, now) = &mut self.faces[wire];
        if life > std::mem::replace(&mut self.lives[wire], life) {
            // What waited when the node was last heard of went down with it.
            now.drops[DropCause::Down as usize] += u64::from(now.queue_packets);
            *before = before.plus(*now);
        }
        *now = counters;
    }

    fn of_consumer(&mut self, at: Time, number: usize, record: &Record, observer: &mut dyn Observer) {
        match record {
            Record::Consumer { counts, window, in_flight, srtt, .. } => {
                self.consumers[number] = fetcher_counters(counts, *window, *in_flight, *srtt).into();
            }
            Record::Completed { .. } => observer.completed(at, ConsumerId(number as u32)),
            Record::Arrival { segment, payload, delay, rtt, mark, retransmissions, in_order, .. } => {
                observer.delivered(&Delivery {
                    at,
                    consumer: ConsumerId(number as u32),
                    segment: *segment,
                    payload: Bytes::new(*payload),
                    delay: Span::from_nanos(*delay),
                    rtt: rtt.map(Span::from_nanos),
                    mark: *mark,
                    path: PathId(0),
                    retransmissions: *retransmissions,
                    in_order: *in_order,
                });
            }
            _ => {}
        }
    }

    /// What became of the Interests of each consumer, as the simulator adds them up.
    fn accounts(&self, plan: &Plan<'_>) -> Vec<Account> {
        let account = |(c, consumer): (&ConsumerCounters, &crate::scenario::Consumer)| Account {
            interests: c.interests,
            answered: c.segments,
            // A NACK does not end a request of a consumer without congestion control.
            refused: match consumer.traffic {
                Traffic::Fetch | Traffic::Object { .. } => c.nacks,
                Traffic::Stream { .. } | Traffic::Zipf { .. } => 0,
            },
            timed_out: c.timeouts,
            pending: c.in_flight.into(),
        };
        self.consumers.iter().zip(&plan.scenario.consumers).map(account).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_link::LinkTotals;

    fn state() -> State {
        State {
            faces: vec![Default::default(); 2],
            lives: vec![0; 2],
            below: vec![DirectionCounters::default(); 2],
            below_ndn: vec![false, true],
            consumers: Vec::new(),
            shares: Vec::new(),
        }
    }

    #[test]
    fn a_face_that_begins_a_new_life_goes_on_counting_and_its_queue_is_lost() {
        let mut state = state();
        let counted = |data_packets, queue_packets| LinkCounters { data_packets, queue_packets, ..Default::default() };
        state.count(0, 0, counted(10, 0));
        state.count(0, 0, counted(50, 3));
        state.count(0, 1, counted(4, 1));
        state.count(0, 1, counted(6, 2));
        let link = state.link(0);
        assert_eq!((link.data_packets, link.queue_packets), (56, 2));
        assert_eq!(link.drops[DropCause::Down as usize], 3);
    }

    #[test]
    fn losses_of_the_link_count_beside_the_queue_wherever_that_is() {
        let mut state = state();
        let mut queue = LinkCounters { data_packets: 7, ..Default::default() };
        queue.drops[DropCause::Overflow as usize] = 5;
        let way = LinkTotals { lost: 2, down: 1, ..Default::default() };
        state.below = vec![DirectionCounters { queue, way, under_way: 0 }; 2];
        state.count(0, 0, LinkCounters { data_packets: 100, ..Default::default() });
        let of = |link: LinkCounters| (link.data_packets, link.drops[0], link.drops[2], link.drops[3]);
        assert_eq!(of(state.link(0)), (100, 0, 2, 1), "its queue is the face's");
        assert_eq!(of(state.link(1)), (7, 5, 2, 1), "its queue is the link's");
    }

    #[test]
    fn a_packet_that_vanishes_from_a_link_or_a_consumer_is_noticed() {
        let queue = LinkCounters { offered_packets: 4, data_packets: 4, ..Default::default() };
        let way = LinkTotals { sent: 4, arrived: 2, lost: 1, ..Default::default() };
        let mut found = Found::default();
        assert!(found.check(&[DirectionCounters { queue, way, under_way: 1 }]).is_ok());
        assert!(found.check(&[DirectionCounters { queue, way, under_way: 0 }]).unwrap_err().contains("link 0"));
        found.accounts = vec![Account { interests: 9, answered: 7, pending: 1, ..Default::default() }];
        assert!(found.check(&[]).unwrap_err().contains("consumer 0"));
    }
}

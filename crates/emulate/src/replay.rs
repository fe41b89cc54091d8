//! Replays the records of processes to an observer of simulations.

use super::Error;
use super::plan::{Plan, consumer_record, node_record};
use crate::roles::record::{Record, read};
use ndnweir_core::units::Time;
use ndnweir_lab::results::SwitchRun;
use ndnweir_net::emulator::DirectionCounters;
use ndnweir_scenario::Traffic;
use ndnweir_sim::observer::{
    ConsumerCounters, ConsumerId, Delivery, DirectedLinkId, LinkCounters, NodeId, Observer, PathId, Share, Snapshot,
};
use ndnweir_sim::outcome::InterestAccount;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What the links had done by certain times, by direction.
pub(super) type LinkSamples = Vec<(Time, Vec<DirectionCounters>)>;

/// Who recorded.
#[derive(Clone, Copy, Debug)]
enum RecordSource {
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
pub(super) struct ReplayOutcome {
    passed: BTreeMap<(usize, usize), Passed>,
    /// The failed packet accounting of a forwarder.
    problem: Option<String>,
    switches: Vec<SwitchRun>,
    accounts: Vec<InterestAccount>,
}

impl ReplayOutcome {
    /// The counters of a node's face over all restarts.
    pub(super) fn passed(&self, node: usize, face: usize) -> Passed {
        self.passed.get(&(node, face)).copied().unwrap_or_default()
    }

    /// When which node began to send a prefix's Interests another way.
    pub(super) fn into_switches(self) -> Vec<SwitchRun> {
        self.switches
    }

    /// Checks packet accounting: Interests at consumers and forwarders, datagrams on links.
    pub(super) fn check(&self, links: &[DirectionCounters]) -> Result<(), Error> {
        if let Some(problem) = &self.problem {
            return Err(Error::Accounting(problem.clone()));
        }
        for (i, account) in self.accounts.iter().enumerate() {
            if !account.is_accounted_for() {
                return Err(Error::Accounting(format!("consumer {i}: {account:?}")));
            }
        }
        for (i, DirectionCounters { queue, propagation, in_flight, .. }) in links.iter().enumerate() {
            queue.check().map_err(|what| Error::Accounting(format!("link {i}: {what}")))?;
            if propagation.sent + propagation.copies
                != propagation.revoked + propagation.arrived + propagation.lost + propagation.down + in_flight
            {
                return Err(Error::Accounting(format!("link {i}: {propagation:?}, {in_flight} in flight")));
            }
        }
        Ok(())
    }
}

/// Replays to `observer` what the processes and links have recorded, in the order of time.
pub(super) fn replay(
    plan: &Plan<'_>,
    folder: &Path,
    samples: &LinkSamples,
    observer: &mut dyn Observer,
) -> io::Result<ReplayOutcome> {
    let mut records: Vec<(Time, RecordSource, Option<Record>)> = Vec::new();
    let mut add = |source, found: Vec<Record>| {
        records.extend(found.into_iter().map(|record| (record.at(), source, Some(record))));
    };
    for node in plan.forwarders() {
        for life in 0.. {
            let path = node_record(folder, node, life);
            if !path.exists() {
                break;
            }
            add(RecordSource::Node(node, life), read(&path)?);
        }
    }
    for number in 0..plan.scenario.consumers.len() {
        add(RecordSource::Consumer(number), read(&consumer_record(folder, number))?);
    }
    records.extend(samples.iter().enumerate().map(|(i, (at, _))| (*at, RecordSource::Links(i), None)));
    records.sort_by_key(|(at, ..)| *at);
    let mut state = State::new(plan);
    let mut found = ReplayOutcome::default();
    observer.path(PathId(0), &[]);
    let (sample, end) = (plan.scenario.run.sample, Time::ZERO + plan.scenario.run.duration);
    let mut next = Time::ZERO;
    for (at, source, record) in &records {
        let at = Time::ZERO + at.since(plan.zero);
        while next < at && next < end {
            state.sample(next, observer);
            next += sample;
        }
        if let (RecordSource::Node(node, life), Some(record)) = (source, record) {
            found.take(plan, *node, *life, record);
        }
        if at <= end {
            match (source, record) {
                (RecordSource::Node(node, life), Some(record)) => state.of_node(plan, *node, *life, record),
                (RecordSource::Consumer(number), Some(record)) => state.of_consumer(at, *number, record, observer),
                (RecordSource::Links(i), _) => state.below.clone_from(&samples[*i].1),
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

impl ReplayOutcome {
    fn take(&mut self, plan: &Plan<'_>, node: usize, life: u32, record: &Record) {
        match record {
            Record::Face { face, counters: c, arrived, .. } if life == 0 => {
                let sent = c.data_packets + c.interest_packets + c.nack_packets;
                self.passed.insert((node, *face), Passed { sent, arrived: *arrived });
            }
            Record::Accounting { problem: Some(problem), .. } => {
                self.problem = Some(format!("node {}: {problem}", plan.scenario.nodes[node].name));
            }
            Record::Switch { at, prefix } => {
                let at_s = Time::from_nanos(*at).since(plan.zero).secs();
                let node = plan.scenario.nodes[node].name.clone();
                self.switches.push(SwitchRun { at_s, node, prefix: prefix.clone() });
            }
            _ => {}
        }
    }
}

/// What is known of everything so far.
struct State {
    /// By direction: the counters of the sending face, before the present start of its process and since.
    faces: Vec<(LinkCounters, LinkCounters)>,
    /// By direction: the latest start of the process in the records.
    lives: Vec<u32>,
    below: Vec<DirectionCounters>,
    below_ndn: Vec<bool>,
    consumers: Vec<ConsumerCounters>,
    shares: Vec<Share>,
}

impl State {
    fn new(plan: &Plan<'_>) -> State {
        let directed_links = plan.topology.directed_links.len();
        State {
            faces: vec![Default::default(); directed_links],
            lives: vec![0; directed_links],
            below: vec![DirectionCounters::default(); directed_links],
            below_ndn: (0..directed_links as u32)
                .map(|directed_link| plan.topology.is_below_ndn(directed_link))
                .collect(),
            consumers: vec![ConsumerCounters::default(); plan.scenario.consumers.len()],
            shares: Vec::new(),
        }
    }

    /// What a direction has done: its queue wherever that is, and its propagation.
    fn link(&self, directed_link: usize) -> LinkCounters {
        let DirectionCounters { queue, propagation, .. } = &self.below[directed_link];
        let (before, now) = self.faces[directed_link];
        let mut link = if self.below_ndn[directed_link] { *queue } else { before.plus(now) };
        if !self.below_ndn[directed_link] {
            // What a face sends on a link that is down.
            link.drops.down += queue.drops.down;
        }
        link.drops.loss += propagation.lost;
        link.drops.down += propagation.down;
        link
    }

    fn sample(&self, at: Time, observer: &mut dyn Observer) {
        let links: Vec<LinkCounters> = (0..self.faces.len()).map(|directed_link| self.link(directed_link)).collect();
        let State { consumers, shares, .. } = self;
        observer.sample(&Snapshot { at, links: &links, consumers, nodes: &[], shares });
    }

    fn of_node(&mut self, plan: &Plan<'_>, node: usize, life: u32, record: &Record) {
        let directed_link = |face: usize| {
            let channel = *plan.topology.faces[node].get(face)?;
            Some(plan.topology.channels[channel as usize].directed_link as usize)
        };
        match record {
            Record::Face { face, counters, .. } => {
                let Some(directed_link) = directed_link(*face).filter(|directed_link| !self.below_ndn[*directed_link])
                else {
                    return;
                };
                self.count(directed_link, life, **counters);
            }
            Record::Share { prefix, face, share, .. } => {
                let Some(directed_link) = directed_link(*face) else { return };
                let (node, link) = (NodeId(node as u32), DirectedLinkId(directed_link as u32));
                let share = Share { node, prefix: *prefix as u32, link, share: *share };
                let same = |s: &&mut Share| (s.node, s.prefix, s.link) == (share.node, share.prefix, share.link);
                match self.shares.iter_mut().find(same) {
                    Some(known) => known.share = share.share,
                    None => self.shares.push(share),
                }
            }
            _ => {}
        }
    }

    /// A face counts from zero after each start of its process.
    fn count(&mut self, directed_link: usize, life: u32, counters: LinkCounters) {
        let (before, now) = &mut self.faces[directed_link];
        if life > std::mem::replace(&mut self.lives[directed_link], life) {
            // What was queued at the node's last record was lost with it.
            now.drops.down += u64::from(now.queue_packets);
            *before = before.plus(*now);
        }
        *now = counters;
    }

    fn of_consumer(&mut self, at: Time, number: usize, record: &Record, observer: &mut dyn Observer) {
        match record {
            Record::Consumer { counters, .. } => self.consumers[number] = *counters,
            Record::Completed { .. } => observer.completed(at, ConsumerId(number as u32)),
            Record::Arrival { arrival, .. } => {
                let consumer = ConsumerId(number as u32);
                observer.delivered(&Delivery { at, consumer, path: PathId(0), arrival: *arrival });
            }
            _ => {}
        }
    }

    /// The Interests of each consumer by outcome, as the simulator adds them up.
    fn accounts(&self, plan: &Plan<'_>) -> Vec<InterestAccount> {
        let account = |(c, consumer): (&ConsumerCounters, &ndnweir_scenario::Consumer)| InterestAccount {
            interests: c.interests,
            answered: c.segments,
            // A NACK does not end a request of a consumer without congestion control.
            rejected: match consumer.traffic {
                Traffic::Fetch { .. } | Traffic::Flows(_) => c.nacks,
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
    fn a_face_after_a_restart_continues_counting_and_its_queue_is_lost() {
        let mut state = state();
        let counted = |data_packets, queue_packets| LinkCounters { data_packets, queue_packets, ..Default::default() };
        state.count(0, 0, counted(10, 0));
        state.count(0, 0, counted(50, 3));
        state.count(0, 1, counted(4, 1));
        state.count(0, 1, counted(6, 2));
        let link = state.link(0);
        assert_eq!((link.data_packets, link.queue_packets), (56, 2));
        assert_eq!(link.drops.down, 3);
    }

    #[test]
    fn losses_of_the_link_count_in_addition_to_the_queue_wherever_that_is() {
        let mut state = state();
        let mut queue = LinkCounters { data_packets: 7, ..Default::default() };
        queue.drops.overflow = 5;
        let propagation = LinkTotals { lost: 2, down: 1, ..Default::default() };
        state.below = vec![DirectionCounters { queue, propagation, ..DirectionCounters::default() }; 2];
        state.count(0, 0, LinkCounters { data_packets: 100, ..Default::default() });
        let of = |link: LinkCounters| (link.data_packets, link.drops.overflow, link.drops.loss, link.drops.down);
        assert_eq!(of(state.link(0)), (100, 0, 2, 1), "its queue is the face's");
        assert_eq!(of(state.link(1)), (7, 5, 2, 1), "its queue is the link's");
    }

    #[test]
    fn a_packet_that_vanishes_from_a_link_or_a_consumer_is_noticed() {
        let queue = LinkCounters { offered_packets: 4, data_packets: 4, ..Default::default() };
        let propagation = LinkTotals { sent: 4, arrived: 2, lost: 1, ..Default::default() };
        let mut found = ReplayOutcome::default();
        assert!(found.check(&[DirectionCounters { queue, propagation, in_flight: 1, memory_drops: 0 }]).is_ok());
        assert!(
            found
                .check(&[DirectionCounters { queue, propagation, ..DirectionCounters::default() }])
                .unwrap_err()
                .to_string()
                .contains("link 0")
        );
        found.accounts = vec![InterestAccount { interests: 9, answered: 7, pending: 1, ..Default::default() }];
        assert!(found.check(&[]).unwrap_err().to_string().contains("consumer 0"));
    }
}

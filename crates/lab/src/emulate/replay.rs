//! From the records of processes to what an observer of a simulation hears.

use super::plan::{Plan, consumer_record, node_record};
use ndnweir_core::units::{Bytes, Span, Time};
use ndnweir_net::emulator::End;
use ndnweir_net::roles::record::{Record, face_counters, fetcher_counters, read};
use ndnweir_sim::observer::{
    ConsumerCounters, ConsumerId, Delivery, LinkCounters, LinkId, NodeId, Observer, PathId, Share, Snapshot,
};
use std::io;
use std::path::Path;

/// Who recorded.
#[derive(Clone, Copy, Debug)]
enum Source {
    Node(usize),
    Consumer(usize),
}

/// Tells `observer` what the processes have recorded, in the order of time.
pub(super) fn replay(plan: &Plan<'_>, folder: &Path, observer: &mut dyn Observer) -> io::Result<()> {
    let mut records: Vec<(Time, Source, Record)> = Vec::new();
    let mut add = |source, found: Vec<Record>| {
        records.extend(found.into_iter().map(|record| (record.at(), source, record)));
    };
    for node in 0..plan.scenario.nodes.len() {
        for life in 0.. {
            let path = node_record(folder, node, life);
            if !path.exists() {
                break;
            }
            add(Source::Node(node), read(&path)?);
        }
    }
    for number in 0..plan.scenario.consumers.len() {
        add(Source::Consumer(number), read(&consumer_record(folder, number))?);
    }
    records.sort_by_key(|(at, ..)| *at);
    let mut state = State::new(plan);
    observer.path(PathId(0), &[]);
    let (sample, end) = (plan.scenario.run.sample, Time::ZERO + plan.scenario.run.duration);
    let mut next = Time::ZERO;
    for (at, source, record) in records {
        let at = Time::ZERO + at.since(plan.zero);
        while next < at && next < end {
            state.sample(next, observer);
            next += sample;
        }
        if at < end {
            state.take(plan, at, source, &record, observer);
        }
    }
    while next < end {
        state.sample(next, observer);
        next += sample;
    }
    state.sample(end, observer);
    Ok(())
}

/// What is known of everything so far.
struct State {
    links: Vec<LinkCounters>,
    consumers: Vec<ConsumerCounters>,
    shares: Vec<Share>,
}

impl State {
    fn new(plan: &Plan<'_>) -> State {
        State {
            links: vec![LinkCounters::default(); plan.topology.wires.len()],
            consumers: vec![ConsumerCounters::default(); plan.scenario.consumers.len()],
            shares: Vec::new(),
        }
    }

    fn sample(&self, at: Time, observer: &mut dyn Observer) {
        let State { links, consumers, shares } = self;
        observer.sample(&Snapshot { at, links, consumers, shares });
    }

    fn take(&mut self, plan: &Plan<'_>, at: Time, source: Source, record: &Record, observer: &mut dyn Observer) {
        let wire = |node: usize, face: usize| {
            let (link, end) = plan.ends_of(node).nth(face)?;
            Some(2 * link + usize::from(end == End::B))
        };
        match (source, record) {
            (Source::Node(node), Record::Face { face, counts, drops, .. }) => {
                if let Some(wire) = wire(node, *face) {
                    self.links[wire] = face_counters(counts, drops);
                }
            }
            (Source::Node(node), Record::Share { prefix, face, share, .. }) => {
                if let Some(wire) = wire(node, *face) {
                    let (node, link) = (NodeId(node as u32), LinkId(wire as u32));
                    let told = Share { node, prefix: *prefix as u32, link, share: *share };
                    let same = |s: &&mut Share| (s.node, s.prefix, s.link) == (told.node, told.prefix, told.link);
                    match self.shares.iter_mut().find(same) {
                        Some(known) => known.share = told.share,
                        None => self.shares.push(told),
                    }
                }
            }
            (Source::Consumer(number), Record::Consumer { counts, window, in_flight, srtt, .. }) => {
                self.consumers[number] = fetcher_counters(counts, *window, *in_flight, *srtt).into();
            }
            (Source::Consumer(number), Record::Completed { .. }) => {
                observer.completed(at, ConsumerId(number as u32));
            }
            (
                Source::Consumer(number),
                Record::Arrival { segment, payload, delay, rtt, mark, retransmissions, in_order, .. },
            ) => observer.delivered(&Delivery {
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
            }),
            _ => {}
        }
    }
}

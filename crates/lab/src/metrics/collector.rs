//! From observations to a run's metrics.

mod series;

use super::bins::{BinClock, bin_width};
use super::counts::Steps;
use super::flows::FlowGather;
use super::gather::{ConsumerGather, LinkGather, PathRoom, overhead};
use super::recovery::recoveries;
use super::stats::mbps;
use super::tables::{HopGather, NodeGather, PacketGather, PathLengths};
use super::{Histogram, Setup, jain, worst_share};
use crate::results::{ComponentEvent, Run, ShareRun, Slowdown, SwitchRun};
use ndnweir_core::units::{Duration, Time};
use ndnweir_sim::observer::{
    ConsumerId, Delivery, DirectedLinkId, FlowEvent, NodeId, Observer, PathId, Share, Snapshot,
};
use std::collections::BTreeMap;

/// Maximum number of scheme events kept in one run; further ones are only counted.
const MAX_EVENTS: usize = 1_000_000;

/// Turns one run's observations into a [`Run`].
///
/// Deliveries are counted exactly in the half-open window `[from, to)`; counters are differences between the last
/// samples not after its ends. A difference between two samples belongs to the bin that holds the middle of the two.
#[derive(ndnweir_state::State)]
pub struct Collector {
    #[state(skip)]
    setup: Setup,
    bins: usize,
    /// Samples, by bin.
    samples: Vec<u32>,
    consumers: Vec<ConsumerGather>,
    links: Vec<LinkGather>,
    packets: Vec<PacketGather>,
    /// Empty until nodes are sampled.
    nodes: Vec<NodeGather>,
    /// Interests that looped, at all nodes.
    loops: Steps,
    hops: Vec<HopGather>,
    /// For consumers whose flows come and go.
    flows: Vec<Option<FlowGather>>,
    lengths: PathLengths,
    shares: BTreeMap<(u32, u32, u32), Vec<f64>>,
    path_room: PathRoom,
    paths: BTreeMap<PathId, String>,
    events: Vec<ComponentEvent>,
    events_dropped: u64,
    /// Time of the latest sample, and of the one at the start of the window.
    last: Time,
    base: Time,
    /// The latest time in any call.
    seen: Time,
}

impl Collector {
    /// A collector for a run of the scenario.
    pub fn new(mut setup: Setup) -> Collector {
        setup.to = setup.to.max(setup.from);
        let length = setup.to.since(Time::ZERO).nanos();
        setup.bin = bin_width(setup.bin, Duration::from_nanos(length), setup.subjects());
        let width = setup.bin.nanos();
        let bins = length.div_ceil(width) as usize;
        Collector {
            bins,
            consumers: setup.consumers.iter().map(|_| ConsumerGather::new(bins)).collect(),
            samples: vec![0; bins],
            links: setup.links.iter().map(|_| LinkGather::default()).collect(),
            packets: setup.links.iter().map(|_| PacketGather::default()).collect(),
            nodes: Vec::new(),
            loops: Steps::default(),
            hops: setup.consumers.iter().map(|_| HopGather::new(bins)).collect(),
            flows: setup.consumers.iter().map(|c| Some(FlowGather::new(c.flows.clone()?, bins))).collect(),
            lengths: PathLengths::default(),
            shares: BTreeMap::new(),
            path_room: PathRoom::new(bins),
            paths: BTreeMap::new(),
            events: Vec::new(),
            events_dropped: 0,
            last: Time::ZERO,
            base: Time::ZERO,
            seen: Time::ZERO,
            setup,
        }
    }

    fn bin(&self, at: Time) -> Option<usize> {
        let index = (at.nanos() / self.setup.bin.nanos()) as usize;
        (index < self.bins).then_some(index)
    }

    fn clock(&self) -> BinClock {
        BinClock { bin: self.setup.bin, from: self.setup.from, to: self.setup.to }
    }

    fn window(&self, at: Time) -> bool {
        self.setup.from <= at && at < self.setup.to
    }

    /// Returns the metrics with all series.
    pub fn finish(mut self, scheme: &str, seed: u64) -> Run {
        let end = self.setup.to.min(self.seen);
        let measured = end.since(self.setup.from);
        let sampled = self.last.since(self.base);
        let mut run = Run {
            scheme: scheme.to_owned(),
            seed,
            partial: self.seen < self.setup.to,
            measured_s: measured.secs(),
            ..Run::default()
        };
        let active = |i: usize| {
            let c = &self.setup.consumers[i];
            let stop = [c.stop, self.consumers[i].completed].into_iter().flatten().fold(end, Time::min);
            (c.start.max(self.setup.from), stop)
        };
        let mut delay = Histogram::new();
        for (i, gather) in self.consumers.iter().enumerate() {
            delay.merge(&gather.delay);
            let (from, to) = active(i);
            run.consumers.push(gather.finish(&self.setup, i, (to.since(from), measured), &self.paths));
        }
        let clock = self.clock();
        for (consumer, gather) in run.consumers.iter_mut().zip(&mut self.flows) {
            consumer.flows = gather.as_mut().map(|gather| gather.finish(end, clock));
        }
        for (i, gather) in self.links.iter().enumerate() {
            run.links.push(gather.finish(&self.setup.links[i], sampled));
        }
        let bits: u64 = run.consumers.iter().map(|c| c.payload_bits).sum();
        run.goodput_mbps = mbps(bits as f64, measured.secs());
        let fair: Vec<f64> = (0..self.consumers.len())
            .filter(|i| self.setup.consumers[*i].long_lived && active(*i).1 > active(*i).0)
            .map(|i| run.consumers[i].goodput_mbps)
            .collect();
        run.jain = jain(&fair);
        run.worst_share = worst_share(&fair);
        run.loss_mbps = run.links.iter().map(|l| l.loss_mbps).sum();
        run.delay_ms = delay.distribution();
        // The first of equals, so that the choice does not depend on rounding in later links.
        let busiest = run.links.iter().filter(|l| l.utilization > 0.0).fold(None, |best, l| match best {
            Some(b) if least(b) >= least(l) => best,
            _ => Some(l),
        });
        run.bottleneck = busiest.map(|l| l.name.clone());
        run.bottleneck_utilization = busiest.map(|l| l.utilization);
        run.bottleneck_queue_ms = busiest.map(|l| l.queue_ms);
        let interests: u64 = run.consumers.iter().map(|c| c.interests).sum();
        run.interest_overhead = overhead(interests, self.setup.interest_bytes, bits);
        let bins = (end.nanos() / self.setup.bin.nanos()) as usize;
        let width = self.setup.bin.secs();
        let total = |bin| mbps(self.consumers.iter().map(|c| c.bits[bin] as f64).sum(), width);
        let rates: Vec<f64> = (0..bins.min(self.bins)).map(total).collect();
        run.recoveries = recoveries(&rates, width, &self.setup.changes, &|bin| self.looped(bin));
        if !self.nodes.is_empty() {
            let looped = self.nodes.iter().map(NodeGather::looped).sum();
            run.looped = Some(looped);
            run.looped_share = (interests > 0).then(|| looped as f64 / interests as f64);
        }
        run.slowdown = Slowdown::of(self.flows.iter().flatten().flat_map(FlowGather::slowdowns).collect());
        run.marks = run.consumers.iter().map(|c| c.marks).sum();
        run.nacks = run.consumers.iter().map(|c| c.nacks).sum();
        run.retransmissions = run.consumers.iter().map(|c| c.retransmissions).sum();
        for link in &run.links {
            run.drops += link.drops;
        }
        // Of nodes without a row too: Data and NACKs may reach a node that no Interest reached.
        for node in &self.nodes {
            run.drops += node.drops();
        }
        run.shares = self.final_shares();
        run.nodes = self.used_nodes().map(|(name, gather)| gather.finish(name)).collect();
        run.series = self.series(end);
        run.switches = SwitchRun::all(&self.events, &self.setup.nodes, &self.setup.prefixes);
        run.events = self.events;
        run.events_dropped = self.events_dropped;
        run
    }

    /// Interests that looped in a bin; `None` if nodes are not sampled.
    fn looped(&self, bin: usize) -> Option<u64> {
        (!self.nodes.is_empty()).then(|| self.loops.get(bin))
    }

    fn used_nodes(&self) -> impl Iterator<Item = (&String, &NodeGather)> {
        self.setup.nodes.iter().zip(&self.nodes).filter(|(_, gather)| gather.is_used())
    }

    fn share_names(&self, key: (u32, u32, u32)) -> [String; 3] {
        let name = |list: Option<&String>, id: u32| list.cloned().unwrap_or_else(|| format!("#{id}"));
        let (node, prefix, link) = key;
        [
            name(self.setup.nodes.get(node as usize), node),
            name(self.setup.prefixes.get(prefix as usize), prefix),
            name(self.setup.links.get(link as usize).map(|l| &l.name), link),
        ]
    }

    fn final_shares(&self) -> Vec<ShareRun> {
        let tail = (self.bins / 10).max(1);
        let mut shares = Vec::new();
        for (key, values) in &self.shares {
            let last: Vec<f64> = values.iter().rev().copied().filter(|v| !v.is_nan()).take(tail).collect();
            if !last.is_empty() {
                let [node, prefix, link] = self.share_names(*key);
                shares.push(ShareRun { node, prefix, link, share: last.iter().sum::<f64>() / last.len() as f64 });
            }
        }
        shares
    }
}

/// Utilisation in millionths, so that two equally full links compare equal.
fn least(link: &crate::results::LinkRun) -> u64 {
    (link.utilization * 1e6) as u64
}

impl Observer for Collector {
    fn delivered(&mut self, delivery: &Delivery) {
        self.seen = self.seen.max(delivery.at);
        let (bin, window) = (self.bin(delivery.at), self.window(delivery.at));
        if let Some(gather) = self.consumers.get_mut(delivery.consumer.0 as usize) {
            let deadline = self.setup.consumers[delivery.consumer.0 as usize].deadline;
            gather.delivered(delivery, bin, window, &mut self.path_room, deadline);
        }
        if let (Some(bin), Some(hops)) = (bin, self.lengths.get(delivery.path))
            && let Some(gather) = self.hops.get_mut(delivery.consumer.0 as usize)
        {
            gather.delivered(bin, hops);
        }
    }

    fn watches_requests(&self) -> bool {
        false
    }

    fn completed(&mut self, at: Time, consumer: ConsumerId) {
        self.seen = self.seen.max(at);
        if let Some(gather) = self.consumers.get_mut(consumer.0 as usize) {
            gather.completed.get_or_insert(at);
        }
    }

    fn flow(&mut self, at: Time, consumer: ConsumerId, event: FlowEvent) {
        self.seen = self.seen.max(at);
        let clock = self.clock();
        if let Some(Some(gather)) = self.flows.get_mut(consumer.0 as usize) {
            gather.event(at, event, clock);
        }
    }

    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        self.lengths.tell(path, links.len());
        let node = |id: u32| self.setup.nodes.get(id as usize).map_or("?", String::as_str);
        let mut name = String::new();
        for (i, link) in links.iter().enumerate() {
            let Some(link) = self.setup.links.get(link.0 as usize) else {
                continue;
            };
            if i == 0 {
                name.push_str(node(link.from));
            }
            name.push('>');
            name.push_str(node(link.to));
        }
        self.paths.insert(path, if name.is_empty() { "local".to_owned() } else { name });
    }

    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.seen = self.seen.max(snapshot.at);
        if snapshot.at > self.setup.to {
            return;
        }
        let middle = Time::from_nanos(self.last.nanos() / 2 + snapshot.at.nanos() / 2);
        // A second sample at the same time (the final one) changes states, but not the bin of its differences.
        let (bin, warm) = (self.bin(middle), snapshot.at <= self.setup.from);
        if let Some(bin) = bin {
            self.samples[bin] += 1;
        }
        for (gather, counters) in self.links.iter_mut().zip(snapshot.links) {
            gather.sample(counters, self.bins, bin, warm);
        }
        for (gather, counters) in self.packets.iter_mut().zip(snapshot.links) {
            gather.sample(counters, self.bins, bin);
        }
        if self.nodes.is_empty() {
            self.nodes = snapshot.nodes.iter().map(|_| NodeGather::default()).collect();
        }
        for (gather, counters) in self.nodes.iter_mut().zip(snapshot.nodes) {
            gather.sample(counters, self.bins, bin, warm);
        }
        self.loops.add(self.bins, bin, snapshot.nodes.iter().map(|node| node.loops).sum());
        for (gather, counters) in self.consumers.iter_mut().zip(snapshot.consumers) {
            gather.sample(counters, bin, warm);
        }
        let at = self.bin(snapshot.at).or(bin);
        for Share { node: NodeId(node), prefix, link: DirectedLinkId(link), share } in snapshot.shares.iter().copied() {
            let bins = self.bins;
            let values = self.shares.entry((node, prefix, link)).or_insert_with(|| vec![f64::NAN; bins]);
            if let Some(at) = at {
                values[at] = share;
            }
        }
        self.last = snapshot.at;
        if warm {
            self.base = snapshot.at;
        }
    }

    fn scheme_event(&mut self, at: Time, node: NodeId, key: &'static str, id: u64, value: f64) {
        if !self.setup.events.iter().any(|k| k == key) {
            return;
        }
        if self.events.len() < MAX_EVENTS {
            self.events.push(ComponentEvent { at_s: at.secs(), node: node.0, key: key.into(), id, value });
        } else {
            self.events_dropped += 1;
        }
    }
}

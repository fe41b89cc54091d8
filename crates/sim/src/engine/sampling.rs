//! Snapshots while the run continues, and the outcome at its end.

use super::{Engine, EngineNode, Process};
use crate::network::Network;
use crate::observer::{DirectedLinkId, LinkCounters, NodeCounters, NodeId, Share, Snapshot};
use crate::outcome::{EventHash, Outcome};
use crate::parts::Placement;
use crate::schedule::{Due, EventRank, Schedule};
use crate::topology::NONE;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::StrategyChoiceId;

/// When to sample, and room for what is sampled.
#[derive(ndnweir_state::State)]
pub(super) struct Sampler {
    pub(super) source: u32,
    every: Duration,
    next: Time,
    end: Time,
    last: Option<Time>,
    links: Vec<LinkCounters>,
    consumers: Vec<crate::observer::ConsumerCounters>,
    nodes: Vec<NodeCounters>,
    shares: Vec<Share>,
    node_shares: Vec<(FaceId, f64)>,
    /// By scheme and prefix, whose strategy reports the shares of its name.
    #[state(skip)]
    choices: Vec<Vec<StrategyChoiceId>>,
}

impl Sampler {
    pub(super) fn new(network: &Network, placement: &Placement<'_>) -> Sampler {
        let name = |prefix| network.names.prefixes.get(prefix as usize).map_or("/", String::as_str);
        let choices = |scheme: &&Scheme| {
            let choice = |prefix| StrategyChoiceId::of_scheme(scheme.choice_for_name(name(prefix)));
            (0..network.prefixes).map(choice).collect()
        };
        Sampler {
            source: 0,
            every: network.sampling,
            next: Time::ZERO,
            end: Time::ZERO + network.duration,
            last: None,
            links: Vec::new(),
            consumers: Vec::new(),
            nodes: Vec::new(),
            shares: Vec::new(),
            node_shares: Vec::new(),
            choices: placement.schemes().iter().map(choices).collect(),
        }
    }

    pub(super) fn due(&self) -> Time {
        if self.every == Duration::ZERO || self.next > self.end { Time::NEVER } else { self.next }
    }
}

impl EngineNode {
    fn counters(&self) -> NodeCounters {
        self.node.as_ref().map_or_else(NodeCounters::default, |node| node.counters())
    }
}

impl Engine<'_, '_> {
    pub(super) fn sample_due(&mut self, source: u32) {
        self.sample();
        self.sampler.next = self.process.now + self.sampler.every;
        self.process.net.schedule.set(source, Due::new(self.sampler.due(), EventRank::SAMPLE));
    }

    fn sample(&mut self) {
        if self.sampler.last == Some(self.process.now) {
            return;
        }
        self.sampler.last = Some(self.process.now);
        self.read_links();
        self.sampler.consumers.clear();
        self.sampler.consumers.extend(self.process.apps.iter().map(|app| app.counters()));
        self.read_shares();
        self.sampler.nodes.clear();
        self.sampler.nodes.extend(self.process.places.iter().map(EngineNode::counters));
        let Sampler { links, consumers, nodes, shares, .. } = &self.sampler;
        self.process.net.sink.observer.sample(&Snapshot { at: self.process.now, links, consumers, nodes, shares });
    }

    fn read_links(&mut self) {
        let Self { process, sampler, .. } = self;
        let Process { net, places, now, .. } = process;
        sampler.links.clear();
        sampler.links.reserve_exact(net.topology.directed_links.len());
        for directed_link in 0..net.topology.directed_links.len() {
            let ends = net.topology.directed_links[directed_link];
            let shared = net.media.counters(directed_link as u32);
            let mut counters = match (&mut net.ports[directed_link], ends.channel) {
                (Some(port), _) => port.counters(*now),
                _ if shared.is_some() => shared.unwrap_or_default(),
                (None, NONE) => LinkCounters::default(),
                (None, channel) => {
                    let face = FaceId(net.topology.channels[channel as usize].out_face);
                    let node = &mut places[ends.from as usize].node;
                    node.as_mut().map_or_else(LinkCounters::default, |n| n.face_counters(*now, face))
                }
            };
            let totals = net.links[directed_link].propagation.totals();
            counters.drops.loss += totals.lost;
            counters.drops.down += totals.down;
            sampler.links.push(counters);
        }
    }

    fn read_shares(&mut self) {
        let Self { process, sampler, faults, .. } = self;
        let Process { net, places, .. } = process;
        sampler.shares.clear();
        for (prefix, routes) in faults.fib.iter().enumerate() {
            for (number, hops) in routes.several() {
                let Some(node) = &places[number].node else { continue };
                sampler.node_shares.clear();
                node.shares(
                    sampler.choices[usize::from(places[number].scheme)][prefix],
                    PrefixId(prefix as u32),
                    &mut sampler.node_shares,
                );
                for &(face, share) in &sampler.node_shares {
                    let Some(&channel) = net.topology.faces[number].get(face.index()) else { continue };
                    let link = DirectedLinkId(net.topology.channels[channel as usize].directed_link);
                    debug_assert!(hops.iter().any(|hop| hop.face == face));
                    sampler.shares.push(Share { node: NodeId(number as u32), prefix: prefix as u32, link, share });
                }
            }
        }
    }

    /// Takes the last sample and adds everything up.
    pub(super) fn finish(mut self) -> Outcome {
        self.sample();
        if !self.stopped
            && let Some(progress) = &mut self.progress
        {
            progress(1.0);
        }
        let propagations: Vec<_> = self.process.net.links.iter().map(|link| link.propagation.totals()).collect();
        let nodes = self.process.places.iter().map(EngineNode::counters);
        Outcome {
            seed: self.seed,
            ended: self.process.now,
            finished: !self.stopped,
            hash: self.process.net.sink.hash.map_or(0, EventHash::get),
            packet_hops: propagations.iter().map(|propagation| propagation.arrived).sum(),
            events: self.process.events,
            peak_in_flight: self.process.net.sink.peak_in_flight,
            in_flight: self.process.net.sink.in_flight,
            accounts: self.process.apps.iter().map(|app| app.account()).collect(),
            consumers: self.sampler.consumers,
            links: self.sampler.links,
            in_flight_by_link: self.process.net.links.iter().map(|link| link.propagation.in_flight() as u64).collect(),
            propagations,
            nodes: nodes.collect(),
            cross: self.process.net.cross.counters(),
            fragments: self.process.net.fragments.counters(&self.process.net.topology.channels),
            dead: self.process.dead,
            unswitched: self.process.unswitched,
            control: self.control.is_on().then(|| self.control.counters()),
            kept_by_nodes: self.process.places.iter().map(|place| place.node.as_ref()?.kept_bytes()).collect(),
            kept_by_consumers: self.process.apps.iter().map(|app| app.kept_bytes()).collect(),
        }
    }
}

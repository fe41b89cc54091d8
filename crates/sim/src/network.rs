//! The description of a network and its traffic, as plain values.
//!
//! The lab builds one from a scenario file. [`Network::check`] finds what cannot be simulated; [`crate::run`] calls it,
//! so a bad description is an error value and never a panic.

pub use crate::below::{CrossFlow, CrossKind, SharedMedium};
use crate::parts::Part;
pub use crate::signals::{FieldChange, MarkChange, SignalChange};
pub use crate::traffic::{Consumer, NameGroup, Names, Producer, Traffic};
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{DisciplineParams, MarkerParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
pub use ndnweir_link::{Arq, BurstLoss, Impairment, RateTrace};
pub use ndnweir_node::requests::Retry;
use serde::Serialize;
use std::collections::BTreeSet;

/// A node of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// An NDN node: consumer, producer, forwarder or all of them.
    Ndn {
        /// Content store size in packets; 0 is none.
        cache: usize,
    },
    /// A node at the edge: as [`NodeKind::Ndn`], but it carries no transit, however many links it has.
    Host {
        /// Content store size in packets; 0 is none.
        cache: usize,
    },
    /// A layer-2 switch: forwards frames by destination, with a plain drop-tail queue per port.
    Switch,
}

impl NodeKind {
    /// The content store size of an NDN node; none of a switch.
    pub fn cache(self) -> Option<usize> {
        match self {
            NodeKind::Ndn { cache } | NodeKind::Host { cache } => Some(cache),
            NodeKind::Switch => None,
        }
    }

    /// Whether it carries no transit.
    pub fn is_host(self) -> bool {
        matches!(self, NodeKind::Host { .. })
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// Transmission rate; none transmits instantly and queues nothing.
    pub rate: Option<Rate>,
    /// When it can deliver; `rate` is then the mean, which nodes and schemes get. A change of rate ends it.
    /// Without a delay, frames that share a delivery arrive at the instant at which they leave, and the order of that
    /// instant may be another under [`crate::RunOptions::force_events`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<RateTrace>,
    /// Propagation delay.
    pub delay: Duration,
    /// The most the egress queue holds (the packet on the wire excluded).
    pub limit: Limit,
    /// Bytes that the link adds to each packet.
    pub framing: Bytes,
    /// Random misbehaviour.
    pub impairment: Impairment,
    /// A marker instead of the scheme's. Switches have none.
    pub marker: Option<ComponentChoice<MarkerParams>>,
    /// A discipline instead of the scheme's. Switches have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<ComponentChoice<DisciplineParams>>,
    /// What it does to congestion signals.
    #[serde(skip_serializing_if = "SignalChange::is_none")]
    pub signals: SignalChange,
    /// A queue below NDN marks NDN packets that wait in it for longer; a node's own queue has markers instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_after: Option<Duration>,
}

impl Direction {
    /// A perfect link of this rate, delay and queue, without framing.
    pub fn new(rate: Rate, delay: Duration, limit: Limit) -> Direction {
        let (framing, impairment) = (Bytes::ZERO, Impairment::default());
        let (rate, signals) = (Some(rate), SignalChange::default());
        let (trace, marker, discipline, mark_after) = (None, None, None, None);
        Direction { rate, trace, delay, limit, framing, impairment, marker, discipline, signals, mark_after }
    }

    /// Whether its queue has a component of its own, instead of the scheme's.
    pub fn has_own_queue(&self) -> bool {
        self.marker.is_some() || self.discipline.is_some()
    }

    /// The same with the rate of a trace.
    pub fn traced(trace: RateTrace, delay: Duration, limit: Limit) -> Direction {
        Direction { trace: Some(trace.clone()), ..Direction::new(trace.mean(), delay, limit) }
    }
}

/// A link between two places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// The first end, an index into [`Network::nodes`].
    pub a: usize,
    /// The second end.
    pub b: usize,
    /// Routing cost, the same in both directions; at least 1.
    pub cost: u32,
    /// From `a` to `b`.
    pub forward: Direction,
    /// From `b` to `a`.
    pub backward: Direction,
    /// The largest frame, framing included: nodes send larger packets as NDNLPv2 fragments. None carries every packet
    /// whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

impl Link {
    /// A link that is the same in both directions, with cost 1.
    pub fn symmetric(a: usize, b: usize, direction: Direction) -> Link {
        Link { a, b, cost: 1, forward: direction.clone(), backward: direction, mtu: None }
    }

    /// Both directions, forward first.
    pub fn directions(&self) -> [&Direction; 2] {
        [&self.forward, &self.backward]
    }

    /// Both directions, forward first.
    pub fn directions_mut(&mut self) -> [&mut Direction; 2] {
        [&mut self.forward, &mut self.backward]
    }
}

impl Network {
    /// The common prefix of the names of a flow: for a catalogue with several names, its prefix.
    pub fn flow_name(&self, flow: NameGroup) -> &str {
        let prefix = self.names.prefixes.get(flow.prefix as usize);
        let mut asking = self.consumers.iter().filter(|consumer| consumer.flow() == flow);
        let mut objects = asking.by_ref().map(|consumer| consumer.object);
        let first = objects.next().filter(|first| objects.all(|object| object == *first));
        first.and_then(|object| self.names.objects.get(object as usize)).or(prefix).map_or("/", String::as_str)
    }

    /// By node: the rate of the fastest link into it; none if it has no link or one without a rate.
    pub fn inward_rates(&self) -> Vec<Option<Rate>> {
        let mut fastest = vec![None; self.nodes.len()];
        let mut unlimited = vec![false; self.nodes.len()];
        for link in &self.links {
            for (node, direction) in [(link.a, &link.backward), (link.b, &link.forward)] {
                fastest[node] = fastest[node].max(direction.rate);
                unlimited[node] |= direction.rate.is_none();
            }
        }
        fastest.into_iter().zip(unlimited).map(|(rate, unlimited)| rate.filter(|_| !unlimited)).collect()
    }

    /// The flows, by the [`ndnweir_core::ids::FlowId`] that packets of a run carry.
    pub fn flows(&self) -> Vec<NameGroup> {
        let mut known = BTreeSet::new();
        self.consumers.iter().map(Consumer::flow).filter(|flow| known.insert(*flow)).collect()
    }
}

/// How FIBs are filled. Serialised as scenario files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routes {
    /// One next hop: on the shortest path to the nearest producer.
    Shortest,
    /// The `k` cheapest next hops: each costs as much as the shortest path through it that does not return here.
    /// Different nodes' choices may form a loop, which nodes detect by nonce.
    KShortest(u32),
    /// Every neighbour that is strictly nearer to a producer, for each producer of the prefix. Loop-free per producer.
    #[serde(rename = "all")]
    LoopFree,
    /// Every link, in the direction that a plan gives it for each prefix, by the rates of links and where consumers
    /// are. Loop-free, whatever the producers.
    Planned(PlanFor),
    /// Only nodes that serve a prefix have a route to it: strategies that discover routes do the rest.
    None,
}

/// Whom routing plans for. Serialised as scenario files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanFor {
    /// The consumers of the network, alike.
    Consumers,
    /// A consumer of each prefix at every node, as if nothing were known of demand.
    EveryNode,
}

/// Routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Routing {
    /// Which next hops.
    pub routes: Routes,
    /// How long after a link or node fails or returns all FIBs follow; none never follows.
    pub reaction: Option<Duration>,
}

impl Default for Routing {
    /// Shortest path by cost; failures are noticed after 200 ms (ours: the order of a routing protocol with fast
    /// hellos).
    fn default() -> Routing {
        Routing { routes: Routes::Shortest, reaction: Some(Duration::from_millis(200)) }
    }
}

/// Which direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDirection {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
    /// Both directions.
    Both,
}

impl LinkDirection {
    /// Whether it concerns the direction from the first end to the second, and the reverse one.
    pub fn directions(self) -> [bool; 2] {
        [self != LinkDirection::Backward, self != LinkDirection::Forward]
    }

    /// The same of a link that is written from its other end.
    pub fn reversed(self) -> LinkDirection {
        match self {
            LinkDirection::Forward => LinkDirection::Backward,
            LinkDirection::Backward => LinkDirection::Forward,
            LinkDirection::Both => LinkDirection::Both,
        }
    }

    /// The directed links of a link with this index that it concerns, by [`crate::observer::DirectedLinkId`].
    pub fn directed_links(self, link: usize) -> impl Iterator<Item = u32> {
        let both = [2 * link as u32, 2 * link as u32 + 1].into_iter();
        both.zip(self.directions()).filter(|(_, meant)| *meant).map(|(directed_link, _)| directed_link)
    }
}

/// What happens to the network while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Both directions fail: queues and packets in flight are lost.
    LinkDown {
        /// An index into [`Network::links`].
        link: usize,
    },
    /// Both directions work again.
    LinkUp {
        /// Which.
        link: usize,
    },
    /// New rate.
    Rate {
        /// Which.
        link: usize,
        /// Which way.
        direction: LinkDirection,
        /// The rate.
        rate: Rate,
    },
    /// New propagation delay, for packets that have not left yet.
    Delay {
        /// Which.
        link: usize,
        /// Which way.
        direction: LinkDirection,
        /// The delay.
        delay: Duration,
    },
    /// New loss probability.
    Loss {
        /// Which.
        link: usize,
        /// Which way.
        direction: LinkDirection,
        /// In [0, 1].
        loss: f64,
    },
    /// The node loses all state, and packets that arrive are lost until it returns. Its applications pause likewise.
    Crash {
        /// An index into [`Network::nodes`].
        node: usize,
    },
    /// The node works again, with its FIB and an empty PIT and content store.
    Restart {
        /// Which.
        node: usize,
    },
}

/// The channel between nodes and the planner, and failures of the planner. Instants are serialised as the time since
/// the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Control {
    /// One-way delay between a node and the planner.
    pub delay: Duration,
    /// Probability that a message is lost, in [0, 1]: reports, signals, rates, orders and their answers. What a node
    /// announces about its links and routes is repeated until it arrives; that takes no extra time here.
    pub loss: f64,
    /// When the planner stops and loses its state.
    #[serde(serialize_with = "since_start")]
    pub fails: Option<Time>,
    /// When a stand-by planner takes over, with a higher election.
    #[serde(serialize_with = "since_start")]
    pub stand_by: Option<Time>,
    /// When the planner that stopped works again, without its state and with its old election.
    #[serde(serialize_with = "since_start")]
    pub returns: Option<Time>,
}

fn since_start<S: serde::Serializer>(at: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(|at| at.since(Time::ZERO)).serialize(serializer)
}

impl Default for Control {
    /// 10 ms (ours), nothing lost, nothing fails.
    fn default() -> Control {
        Control { delay: Duration::from_millis(10), loss: 0.0, fails: None, stand_by: None, returns: None }
    }
}

/// Everything about a run but the scheme and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Places, numbered by position.
    pub nodes: Vec<NodeKind>,
    /// Links, numbered by position; see [`crate::observer::DirectedLinkId`] for their directions.
    pub links: Vec<Link>,
    /// Links that share a medium.
    pub media: Vec<SharedMedium>,
    /// Traffic that is not NDN.
    pub cross: Vec<CrossFlow>,
    /// Pairs of NDN nodes that are neighbours across switches; none makes every pair neighbours that can reach each
    /// other through switches alone. Nodes joined by a link are neighbours in any case.
    pub overlay: Option<Vec<(usize, usize)>>,
    /// How many prefixes there are.
    pub prefixes: u32,
    /// The names of prefixes and of the objects under them.
    pub names: Names,
    /// Who serves.
    pub producers: Vec<Producer>,
    /// Consumers, numbered by position.
    pub consumers: Vec<Consumer>,
    /// Schemes that parts have instead of the run's.
    pub schemes: Vec<Scheme>,
    /// Who has them.
    pub parts: Vec<Part>,
    /// How FIBs are filled.
    pub routing: Routing,
    /// Faults and changes, in any order; those of one instant happen in the order given.
    pub changes: Vec<(Time, Change)>,
    /// Whether packets grow with the segment number (see [`ndnweir_node::server::grown`]).
    pub growing_sizes: bool,
    /// Pending Interests per node at most.
    pub pit_limit: usize,
    /// Consumers that do not say otherwise start up to this much later, drawn from the seed.
    pub start_jitter: Duration,
    /// How long to run.
    pub duration: Duration,
    /// Time between samples; zero takes one at the end only.
    pub sampling: Duration,
    /// The channel between nodes and the planner, and failures of the planner.
    pub control: Control,
}

impl Default for Network {
    /// An empty network that runs for a second, sampled every 100 ms.
    fn default() -> Network {
        Network {
            nodes: Vec::new(),
            links: Vec::new(),
            media: Vec::new(),
            cross: Vec::new(),
            overlay: None,
            prefixes: 0,
            names: Names::default(),
            producers: Vec::new(),
            consumers: Vec::new(),
            schemes: Vec::new(),
            parts: Vec::new(),
            routing: Routing::default(),
            changes: Vec::new(),
            growing_sizes: false,
            pit_limit: 1 << 20,
            start_jitter: Duration::ZERO,
            duration: Duration::from_millis(1000),
            sampling: Duration::from_millis(100),
            control: Control::default(),
        }
    }
}

/// A description that cannot be simulated: which part of it, and why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetworkError(pub String);

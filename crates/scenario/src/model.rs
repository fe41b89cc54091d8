//! The validated scenario: what the simulator, the emulator and the reports read.
//!
//! Every index is in range, every quantity in its bounds, every consumer's prefix reachable: nothing here needs
//! checking again. Types without names and places are the simulator's own.

pub use ndnweir_core::queue::Limit as QueueLimit;
use ndnweir_core::scheme::Scheme;
pub use ndnweir_core::scheme::{CachedMarks, InterestMarks};
use ndnweir_core::units::{Bytes, Duration, Rate};
pub use ndnweir_sim::network::{
    Change, Control, CrossKind, Direction, Impairment, LinkDirection, NodeKind, PlanFor, Retry, Routes, Routing,
    Traffic,
};
pub use ndnweir_sim::parts::{Members, Part};
use serde::Serialize;

use super::diag::{Diagnostic, Location};

/// A complete, validated scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Short name, used in reports and folder names.
    pub name: String,
    /// What it shows, one or two sentences; may be empty.
    pub about: String,
    /// The file it was read from, as the user named it.
    pub source: String,
    /// Nodes in the order of their names; links, producers and consumers refer to them by index.
    pub nodes: Vec<Node>,
    /// Links in the order of their ends; the first end comes before the second. Events refer to them by index.
    pub links: Vec<Link>,
    /// Links that share a medium, in the order of the media's names.
    pub media: Vec<Medium>,
    /// Traffic that is not NDN, in the order of its names.
    pub cross: Vec<CrossTraffic>,
    /// Pairs of nodes that are NDN neighbours across switches; `None`: all that reach each other through switches
    /// alone.
    pub overlay: Option<Vec<(usize, usize)>>,
    /// Producers, in the order of their names.
    pub producers: Vec<Producer>,
    /// Consumers, in the order of their names.
    pub consumers: Vec<Consumer>,
    /// What changes during the run, sorted by time (file order among equals).
    pub events: Vec<Event>,
    /// How routes are chosen.
    pub routing: Routing,
    /// Durations, sizes and switches of the run.
    pub run: Run,
    /// The channel to a planner.
    pub control: Control,
    /// Schemes to run when the command line names none; may be empty.
    pub schemes: Vec<SchemeName>,
    /// Schemes composed in the file itself.
    pub compositions: Vec<Composition>,
    /// Schemes that parts have instead of the run's.
    pub part_schemes: Vec<Scheme>,
    /// Who has them; of several the last counts.
    pub parts: Vec<Part>,
    /// What was read differently than written (parallel links merged, ...).
    pub notes: Vec<Diagnostic>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// What it is, and what it caches.
    pub kind: NodeKind,
    /// Position for drawing, x to the right and y up, in any unit; degrees of longitude and latitude for real
    /// topologies.
    pub position: Option<(f64, f64)>,
}

/// A link between two nodes; each direction has its own parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Unique name, `A-B` unless the file gives another.
    pub name: String,
    /// Index of the node at the first end.
    pub a: usize,
    /// Index of the node at the second end.
    pub b: usize,
    /// Routing cost, 1 or more, as routing should use it: what the file gives, else 1, or where routing goes by delay the
    /// larger propagation delay of the two directions in microseconds.
    pub cost: u32,
    /// From `a` to `b`.
    pub forward: Direction,
    /// From `b` to `a`.
    pub backward: Direction,
    /// The largest frame that it carries, framing included; larger packets travel as fragments. `None`: it carries
    /// every packet whole.
    pub mtu: Option<Bytes>,
}

/// Links that share one half-duplex medium.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Medium {
    /// Unique name among the media.
    pub name: String,
    /// The rate at which one of its senders sends at a time.
    pub rate: Rate,
    /// Passes before each frame.
    pub gap: Duration,
    /// Indices of its links, in their order.
    pub links: Vec<usize>,
}

/// Traffic that is not NDN and shares links with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossTraffic {
    /// Unique name among such traffic.
    pub name: String,
    /// Indices of the places it passes; a link joins each with the next.
    pub path: Vec<usize>,
    /// What it sends.
    pub kind: CrossKind,
    /// Bytes of a datagram, link framing excluded.
    pub size: Bytes,
    /// When it starts.
    pub start: Duration,
    /// When it stops; `None`: at the end of the run.
    pub stop: Option<Duration>,
}

/// Who answers a prefix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Producer {
    /// Unique name among the producers.
    pub name: String,
    /// Index of its node.
    pub node: usize,
    /// Names it answers: this prefix and everything below it, as an NDN URI.
    pub prefix: String,
    /// Content bytes of each Data.
    pub payload: Bytes,
    /// How long its Data count as fresh.
    pub freshness: Duration,
}

/// A consumer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Consumer {
    /// Unique name among the consumers.
    pub name: String,
    /// Index of its node.
    pub node: usize,
    /// Prefix of the names it requests, below some reachable producer's prefix.
    pub prefix: String,
    /// First Interest, before the start jitter of the seed.
    pub start: Duration,
    /// The seed delays the start by up to this; `None`: by up to [`Run::start_jitter`].
    pub start_jitter: Option<Duration>,
    /// No new Interests from here on; `None`: until the end of the run.
    pub stop: Option<Duration>,
    /// What it requests.
    pub traffic: Traffic,
    /// Interest lifetime.
    pub lifetime: Duration,
    /// Data that come later after their first Interest are late; of consumers without congestion control.
    pub deadline: Option<Duration>,
    /// Of flows that come and go: where their sizes are divided for results, rising.
    pub size_classes: Vec<Bytes>,
    /// Producers (indices) that answer its prefix and can be reached; never empty.
    pub producers: Vec<usize>,
}

/// A change during the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When.
    pub at: Duration,
    /// What.
    pub change: Change,
}

/// Settings of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Simulated time.
    pub duration: Duration,
    /// Time at the start that averages leave out.
    pub warm_up: Duration,
    /// Spacing of the points of time series.
    pub sample: Duration,
    /// A seed moves each consumer's start by a uniform draw from zero to this, unless the consumer sets another.
    pub start_jitter: Duration,
    /// Whether packets grow with the segment number, as real names do; their sizes then hold for the numbers from 256 to
    /// 65 535.
    pub growing_sizes: bool,
    /// Bytes a Data adds to its payload (name, signature, framing of the packet format).
    pub data_overhead: Bytes,
    /// Bytes of an Interest.
    pub interest_size: Bytes,
    /// Bytes each packet adds on a link.
    pub framing: Bytes,
    /// What nodes do with congestion marks on Interests; `None`: the scheme decides.
    pub interest_marks: Option<InterestMarks>,
    /// What content stores do with marks; `None`: the scheme decides.
    pub cached_marks: Option<CachedMarks>,
    /// Pending Interests per node at most.
    pub pit_limit: usize,
}

impl Run {
    /// Wire size of a Data with `payload` bytes of content, link framing included.
    pub fn data_on_wire(&self, payload: Bytes) -> Bytes {
        payload + self.data_overhead + self.framing
    }
    /// Wire size of an Interest, link framing included.
    pub fn interest_on_wire(&self) -> Bytes {
        self.interest_size + self.framing
    }
}

/// A scheme named in `run.schemes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemeName {
    /// The name.
    pub name: String,
    /// Where it was written.
    pub place: Location,
}

/// A scheme composed in the scenario: `[scheme.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Composition {
    /// The scheme's name.
    pub name: String,
    /// What it is.
    pub scheme: Scheme,
    /// Where the table starts.
    pub place: Location,
}

impl Scenario {
    /// The index of the node called `name`.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|n| n.name == name)
    }
    /// The index of the link called `name`.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|l| l.name == name)
    }
    /// For each node the links at it: (link index, neighbour, whether the node is the link's first end).
    pub fn adjacency(&self) -> Vec<Vec<(usize, usize, bool)>> {
        let mut at = vec![Vec::new(); self.nodes.len()];
        for (i, link) in self.links.iter().enumerate() {
            at[link.a].push((i, link.b, true));
            at[link.b].push((i, link.a, false));
        }
        at
    }
    /// The composition called `name`, if the scenario has one.
    pub fn composition(&self, name: &str) -> Option<&Composition> {
        self.compositions.iter().find(|c| c.name == name)
    }
}

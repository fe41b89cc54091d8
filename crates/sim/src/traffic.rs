//! Producers and consumers, and the names of what they serve and request.

use crate::flows::Flows;
use ndnweir_core::ids::FlowId;
use ndnweir_core::registry::ConsumerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::requests::{Pattern, RequestsConfig, Retry};
use serde::Serialize;

/// Where a prefix is served, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Producer {
    /// The node.
    pub node: usize,
    /// The prefix, below [`crate::network::Network::prefixes`].
    pub prefix: u32,
    /// Content bytes of a Data.
    pub payload: u32,
    /// Bytes of a Data on the wire, link framing excluded.
    pub size: u32,
    /// How long Data counts as fresh, in caches.
    pub freshness: Duration,
}

/// What a consumer requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// The segments of one object under the scheme's congestion control.
    Fetch {
        /// How many; none fetches until stopped.
        segments: Option<u64>,
        /// A consumer instead of the scheme's.
        consumer: Option<ComponentChoice<ConsumerParams>>,
    },
    /// The segments of one object at constant pace.
    Stream {
        /// Time between two Interests.
        gap: Duration,
        /// How many segments; none streams until stopped.
        segments: Option<u64>,
        /// About lost segments.
        retry: Retry,
    },
    /// Single-segment objects of a catalogue shared by all consumers of the prefix, chosen by Zipf's law.
    Zipf {
        /// Mean time between two requests.
        gap: Duration,
        /// Whether gaps are exponentially distributed (Poisson arrivals) rather than constant.
        poisson: bool,
        /// Objects in the catalogue.
        objects: u32,
        /// Zipf's exponent: the object of rank r is requested with weight 1/r^exponent.
        exponent: f64,
        /// About lost objects.
        retry: Retry,
    },
    /// Finite objects under the scheme's congestion control, many at once.
    Flows(Box<Flows>),
}

impl Traffic {
    /// Whether there is always more to request under congestion control: only such consumers count for fairness.
    pub fn is_long_lived(&self) -> bool {
        matches!(self, Traffic::Fetch { segments: None, .. })
    }
}

/// A requesting application.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumer {
    /// The node.
    pub node: usize,
    /// The prefix.
    pub prefix: u32,
    /// Which object under the prefix; consumers of one object share names, so that caches and PITs can serve both.
    pub object: u32,
    /// What it requests.
    pub traffic: Traffic,
    /// When it starts, before its jitter.
    pub start: Time,
    /// The seed delays the start by up to this; none: by up to [`crate::network::Network::start_jitter`].
    pub start_jitter: Option<Duration>,
    /// When it stops; none runs to the end.
    pub stop: Option<Time>,
    /// Bytes of an Interest on the wire, link framing excluded.
    pub interest_size: u32,
    /// Interest lifetime.
    pub lifetime: Duration,
}

/// A group of names: an object, or a whole catalogue of single-segment objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameGroup {
    /// The prefix.
    pub prefix: u32,
    /// The object; 0 for a catalogue.
    pub object: u32,
    /// Whether it is a catalogue, whose segments are objects.
    pub catalogue: bool,
}

impl Consumer {
    /// The flow it requests. All catalogue consumers of a prefix share one, whatever their object numbers.
    pub fn flow(&self) -> NameGroup {
        match self.traffic {
            Traffic::Zipf { .. } => NameGroup { prefix: self.prefix, object: 0, catalogue: true },
            _ => NameGroup { prefix: self.prefix, object: self.object, catalogue: false },
        }
    }

    /// Its requests if it has no congestion control; `grows` as [`crate::network::Network::growing_sizes`].
    pub fn requests(&self, flow: FlowId, seed: u64, number: u32, grows: bool) -> Option<RequestsConfig> {
        let (gap, poisson, retry, pattern) = match self.traffic {
            Traffic::Fetch { .. } | Traffic::Flows(_) => return None,
            Traffic::Stream { gap, segments, retry } => (gap, false, retry, Pattern::Sequence(segments)),
            Traffic::Zipf { gap, poisson, objects, exponent, retry } => {
                (gap, poisson, retry, Pattern::Catalogue { objects, exponent })
            }
        };
        let Consumer { interest_size, lifetime, .. } = *self;
        Some(RequestsConfig { flow, number, seed, pattern, gap, poisson, retry, interest_size, grows, lifetime })
    }
}

/// The names of prefixes and objects, for schemes that choose a strategy by name. Those without a name here have the
/// strategy of all names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// By number of the prefix.
    pub prefixes: Vec<String>,
    /// By [`Consumer::object`].
    pub objects: Vec<String>,
}

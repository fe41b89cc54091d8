//! The description of a scenario that results carry with them.

use crate::metrics::{ConsumerSetup, LinkSetup, Setup};
use ndnweir_core::units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// A node of the topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// What it is: `router`, `consumer`, `producer`, `switch`; only drawn.
    #[serde(default)]
    pub role: String,
    /// Where to draw it, in any unit; none lets the report choose for all nodes.
    pub x: Option<f64>,
    /// As `x`; grows downwards.
    pub y: Option<f64>,
}

/// One direction of a link, at the position of its `LinkId`; the way back is its neighbour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Its name.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Nominal rate.
    pub rate_mbps: f64,
    /// Propagation delay.
    pub delay_ms: f64,
    /// Queue limit as written in the scenario, e.g. `100 packets`.
    #[serde(default)]
    pub queue: String,
}

/// A consumer, at the position of its `ConsumerId`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsumerInfo {
    /// Its name.
    pub name: String,
    /// The node it runs on.
    pub node: String,
    /// What it asks for.
    pub prefix: String,
    /// When it starts.
    pub start_s: f64,
    /// When it stops, if before the end.
    pub stop_s: Option<f64>,
    /// Whether it always has more to ask for.
    pub long_lived: bool,
}

/// A scenario as results describe it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One or two sentences for the head of the report.
    #[serde(default)]
    pub description: String,
    /// Simulated time.
    pub duration_s: f64,
    /// End of the warm-up, which is measured but not counted.
    pub warmup_s: f64,
    /// Width of the bins of all series.
    pub bin_s: f64,
    /// Content bytes of a Data packet.
    pub payload_bytes: u64,
    /// Bytes of a Data packet on the wire.
    pub data_wire_bytes: u64,
    /// Bytes of an Interest on the wire.
    pub interest_wire_bytes: u64,
    /// By `NodeId`.
    pub nodes: Vec<NodeInfo>,
    /// By `LinkId`: two entries for each link, there and back.
    pub links: Vec<LinkInfo>,
    /// By `ConsumerId`.
    pub consumers: Vec<ConsumerInfo>,
    /// Prefix names by number.
    pub prefixes: Vec<String>,
}

fn time(s: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(s)
}

impl Scenario {
    /// What the collector needs, keeping the scheme events with the given keys.
    pub fn setup(&self, events: &[&str]) -> Setup {
        let node = |name: &str| self.nodes.iter().position(|n| n.name == name).unwrap_or(0) as u32;
        Setup {
            nodes: self.nodes.iter().map(|n| n.name.clone()).collect(),
            links: self
                .links
                .iter()
                .map(|l| LinkSetup {
                    name: l.name.clone(),
                    from: node(&l.from),
                    to: node(&l.to),
                    rate: Rate::from_mbps(l.rate_mbps),
                })
                .collect(),
            consumers: self
                .consumers
                .iter()
                .map(|c| ConsumerSetup {
                    name: c.name.clone(),
                    start: time(c.start_s),
                    stop: c.stop_s.map(time),
                    long_lived: c.long_lived,
                })
                .collect(),
            prefixes: self.prefixes.clone(),
            from: time(self.warmup_s),
            to: time(self.duration_s),
            bin: Span::from_secs_f64(self.bin_s),
            events: events.iter().map(|k| (*k).to_owned()).collect(),
        }
    }
}

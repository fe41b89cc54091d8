//! The description of a scenario in results.

use super::FlowsInfo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A node of the topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its role: `router`, `consumer`, `producer`, `switch`; used only for drawing.
    #[serde(default)]
    pub role: String,
    /// Whether the node does not forward packets of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host: bool,
    /// Horizontal position in a drawing, in any unit; with `None` the report chooses positions for all nodes.
    pub x: Option<f64>,
    /// Vertical position, pointing downwards.
    pub y: Option<f64>,
}

/// One direction of a link, at the position of its `DirectedLinkId`; the reverse direction is its neighbour.
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
    /// The mean over the measurement window, where events change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_rate_mbps: Option<f64>,
    /// Propagation delay.
    pub delay_ms: f64,
    /// Queue limit as written in the scenario, e.g. `100 packets`.
    #[serde(default)]
    pub queue: String,
}

impl LinkInfo {
    /// What utilisation is of.
    pub fn offered_mbps(&self) -> f64 {
        self.mean_rate_mbps.unwrap_or(self.rate_mbps)
    }
}

/// A consumer, at the position of its `ConsumerId`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsumerInfo {
    /// Its name.
    pub name: String,
    /// The node it runs on.
    pub node: String,
    /// The prefix that it requests.
    pub prefix: String,
    /// When it sends its first Interest.
    pub start_s: f64,
    /// When it stops, if before the end.
    pub stop_s: Option<f64>,
    /// Whether it always has more to request.
    pub long_lived: bool,
    /// Data that arrive later than this after their first Interest are late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<f64>,
    /// For a consumer whose flows come and go: the reference values for slowdowns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsInfo>,
}

/// A change during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventInfo {
    /// Time of the change, in s.
    pub at_s: f64,
    /// The kind, as in scenario files (`link-down`, …), or `planner-fails`, `planner-stand-by`, `planner-returns`.
    pub what: String,
    /// Name of the link or node that changes, or `planner`.
    pub target: String,
    /// The same in words.
    pub text: String,
}

/// The description of a scenario in results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: String,
    /// One or two sentences for the top of the report.
    #[serde(default)]
    pub description: String,
    /// Simulated time.
    pub duration_s: f64,
    /// End of the warm-up, which is in the series but not in the measurement window.
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
    /// By `DirectedLinkId`: two entries for each link, one per direction.
    pub links: Vec<LinkInfo>,
    /// By `ConsumerId`.
    pub consumers: Vec<ConsumerInfo>,
    /// Names of the cross traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross: Vec<String>,
    /// Prefix names by number.
    pub prefixes: Vec<String>,
    /// The changes during the run, in the order of time.
    #[serde(default)]
    pub events: Vec<EventInfo>,
    /// Notes of the reader: corrections, assumptions, and how series were adapted.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl ScenarioInfo {
    /// The position of each node by its name.
    pub fn node_numbers(&self) -> BTreeMap<&str, usize> {
        self.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect()
    }

    /// The times of changes during the run, in s, each time once.
    pub fn instants(&self) -> Vec<f64> {
        let mut instants: Vec<f64> = self.events.iter().map(|event| event.at_s).collect();
        instants.dedup();
        instants
    }
}

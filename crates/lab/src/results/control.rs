//! The messages between nodes and a planner in one run.

use super::ComponentEvent;
use ndnweir_sim::outcome::ControlCounters;
use serde::{Deserialize, Serialize};

/// A node began to send a prefix's Interests another way, as its planner ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct SwitchRun {
    /// Since the start of the run: when the order was given in a simulation, when the node was found to have carried it
    /// out in an emulation.
    pub at_s: f64,
    /// The node.
    pub node: String,
    /// The prefix.
    pub prefix: String,
}

/// The key of the scheme event that planners record with the node and the prefix of a switch.
pub const SWITCH: &str = "switch";

impl SwitchRun {
    /// Those among the scheme events of a run.
    pub(crate) fn all(events: &[ComponentEvent], nodes: &[String], prefixes: &[String]) -> Vec<SwitchRun> {
        let name = |names: &[String], id: usize| names.get(id).cloned().unwrap_or_else(|| format!("#{id}"));
        let switches = events.iter().filter(|event| event.key == SWITCH);
        let named = |event: &ComponentEvent| SwitchRun {
            at_s: event.at_s,
            node: name(nodes, event.id as usize),
            prefix: name(prefixes, event.value as usize),
        };
        switches.map(named).collect()
    }
}

/// Totals of the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct ControlRun {
    /// Messages from nodes to planners.
    pub messages: u64,
    /// Of these, lost.
    pub messages_lost: u64,
    /// Signals sent by nodes.
    pub signals_sent: u64,
    /// Signals that reached a planner.
    pub signals_heard: u64,
    /// Of these, for severe congestion, which is left to marks and consumers.
    pub signals_sieved: u64,
    /// Of these, about interfaces whose state was unknown or too old.
    pub signals_unknown: u64,
    /// Of these, without a router that could use another next hop.
    pub signals_without_shunt: u64,
    /// Of these, without a better path.
    pub signals_not_better: u64,
    /// Of these, held back: too soon after another switch or a change of the topology, or because of a possible loop.
    pub signals_held: u64,
    /// Of these, answered with a switch.
    pub signals_acted: u64,
    /// Switches of a prefix at a router to another next hop.
    pub switches: u64,
    /// Orders sent, retransmissions included.
    pub orders: u64,
    /// Of these, lost.
    pub orders_lost: u64,
    /// Of these, not carried out by the node.
    pub orders_rejected: u64,
}

impl From<&ControlCounters> for ControlRun {
    fn from(counters: &ControlCounters) -> ControlRun {
        let ControlCounters { messages, messages_lost, signals, orders, orders_lost, orders_rejected, tally } =
            *counters;
        ControlRun {
            messages,
            messages_lost,
            signals_sent: signals,
            signals_heard: tally.signals,
            signals_sieved: tally.sieved,
            signals_unknown: tally.unknown,
            signals_without_shunt: tally.without_shunt,
            signals_not_better: tally.not_better,
            signals_held: tally.held,
            signals_acted: tally.acted,
            switches: tally.switches,
            orders,
            orders_lost,
            orders_rejected,
        }
    }
}

impl ControlRun {
    /// Every counter with its name.
    pub fn counts(&self) -> [(&'static str, u64); 14] {
        [
            ("messages", self.messages),
            ("messages_lost", self.messages_lost),
            ("signals_sent", self.signals_sent),
            ("signals_heard", self.signals_heard),
            ("signals_sieved", self.signals_sieved),
            ("signals_unknown", self.signals_unknown),
            ("signals_without_shunt", self.signals_without_shunt),
            ("signals_not_better", self.signals_not_better),
            ("signals_held", self.signals_held),
            ("signals_acted", self.signals_acted),
            ("switches", self.switches),
            ("orders", self.orders),
            ("orders_lost", self.orders_lost),
            ("orders_rejected", self.orders_rejected),
        ]
    }
}

//! The messages between nodes and a planner in one run.

use ndnweir_sim::outcome::ControlCounters;
use serde::{Deserialize, Serialize};

/// Totals of the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

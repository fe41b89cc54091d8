//! The collector's input about a scenario.

use super::bins::Subjects;
use crate::results::{FlowsInfo, ScenarioInfo};
use ndnweir_core::units::{Duration, Rate, Time};

/// One direction of a link, at the position of its `DirectedLinkId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSetup {
    /// Its name in results, e.g. `R1>R2`.
    pub name: String,
    /// Index of the sending node in [`Setup::nodes`].
    pub from: u32,
    /// Index of the receiving node.
    pub to: u32,
    /// Nominal rate, or its mean where events change it: the base of utilisation.
    pub rate: Rate,
}

/// A consumer, at the position of its `ConsumerId`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerSetup {
    /// Its name in results.
    pub name: String,
    /// When it sends its first Interest.
    pub start: Time,
    /// When it stops; `None` means at the end of the run or of its object.
    pub stop: Option<Time>,
    /// Whether it always has more to request: only such flows count for fairness and the optimum.
    pub long_lived: bool,
    /// Data that arrive later than this after their first Interest are late.
    pub deadline: Option<Duration>,
    /// For a consumer whose flows come and go: the reference values for slowdowns.
    pub flows: Option<FlowsInfo>,
}

/// The collector's input about the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Node names by `NodeId`.
    pub nodes: Vec<String>,
    /// Directed links by `DirectedLinkId`.
    pub links: Vec<LinkSetup>,
    /// Consumers by `ConsumerId`.
    pub consumers: Vec<ConsumerSetup>,
    /// Prefix names by number.
    pub prefixes: Vec<String>,
    /// Start of the measurement window: the end of the warm-up.
    pub from: Time,
    /// End of the measurement window and of the series.
    pub to: Time,
    /// Width of the bins of every series; a multiple of the sampling interval. It is increased as
    /// [`super::bin_width`] has it.
    pub bin: Duration,
    /// When the network changes, in s, each instant once.
    pub changes: Vec<f64>,
    /// Bytes of an Interest on the wire.
    pub interest_bytes: u64,
    /// Keys of scheme events to keep.
    pub events: Vec<String>,
}

impl Setup {
    /// How many there are of what has series.
    pub(super) fn subjects(&self) -> Subjects {
        Subjects { links: self.links.len(), nodes: self.nodes.len(), consumers: self.consumers.len() }
    }
}

fn time(s: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(s)
}

impl ScenarioInfo {
    /// The collector's input; scheme events with the given keys are kept.
    pub fn setup(&self, events: &[&str]) -> Setup {
        let numbers = self.node_numbers();
        let node = |name: &str| numbers.get(name).copied().unwrap_or(0) as u32;
        Setup {
            nodes: self.nodes.iter().map(|n| n.name.clone()).collect(),
            links: self
                .links
                .iter()
                .map(|l| LinkSetup {
                    name: l.name.clone(),
                    from: node(&l.from),
                    to: node(&l.to),
                    rate: Rate::from_mbps(l.offered_mbps()),
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
                    deadline: c.deadline_ms.map(|ms| Duration::from_secs_f64(ms / 1e3)),
                    flows: c.flows.clone(),
                })
                .collect(),
            prefixes: self.prefixes.clone(),
            from: time(self.warmup_s),
            to: time(self.duration_s),
            bin: Duration::from_secs_f64(self.bin_s),
            changes: self.instants(),
            interest_bytes: self.interest_wire_bytes,
            events: events.iter().map(|k| (*k).to_owned()).collect(),
        }
    }
}

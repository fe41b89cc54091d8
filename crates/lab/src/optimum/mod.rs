//! The optimum: what an ideal scheme would give the long-lived flows.
//!
//! Two answers to one multi-commodity flow problem. The *max-min fair* allocation raises the smallest rate as far as it
//! goes, then the next, and so on (successive linear programs whose duals tell which flows are stuck, after Nace and Pióro, IEEE Comm. Surveys 10(4), 2008);
//! it is the ceiling drawn in reports. The *maximal total* ignores fairness.
//! Rates are goodput: a link carries `data_wire / payload` bits for each payload bit that comes down it, and
//! `interest_wire / payload` bits for each that comes up the other way. Losses, queues and start-up do not exist here.
//!
//! The solver is `microlp`, a sparse simplex in Rust behind `good_lp`: its vertex solutions are exact to rounding, where
//! an interior-point solver (`clarabel`) stops at a tolerance and brings a far larger tree of dependencies.

mod coupled;
mod lp;
mod paths;
mod waterfill;

pub use coupled::{Subflow, coupled};
pub use waterfill::water_filling;

use crate::results::Scenario;
use ndnweir_core::units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Flows times links beyond which no optimum is computed: the programs would take minutes.
const MAX_SIZE: usize = 40_000;
/// The same for the largest total, which is only a remark.
const MAX_SIZE_OF_TOTAL: usize = 5_000;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Sending node.
    pub from: usize,
    /// Receiving node.
    pub to: usize,
    /// Its rate on the wire.
    pub rate: Rate,
    /// The way back, where the Interests of its Data run; none charges them to nobody.
    pub reverse: Option<usize>,
}

/// Which links the Data of a flow may cross.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Routes {
    /// Any mix of these paths; each lists links from a producer to the consumer.
    Paths(Vec<Vec<usize>>),
    /// Any mix of ways from any producer over these links; none allows all.
    Any {
        /// Nodes that hold the content.
        producers: Vec<usize>,
        /// Links that routing makes usable.
        usable: Option<Vec<usize>>,
    },
}

/// A long-lived flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The consumer's name.
    pub name: String,
    /// The consumer's node.
    pub consumer: usize,
    /// Where its Data may come.
    pub routes: Routes,
}

/// Packet sizes, which turn wire rates into goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Content bytes of a Data packet.
    pub payload_bytes: u64,
    /// A Data packet with all headers and framing.
    pub data_wire_bytes: u64,
    /// An Interest with framing.
    pub interest_wire_bytes: u64,
}

/// A network and its long-lived flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of nodes.
    pub nodes: usize,
    /// Directed links.
    pub links: Vec<Link>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Packet sizes.
    pub sizes: Sizes,
}

/// A consumer's rate in the optimum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsumerOptimum {
    /// The consumer.
    pub name: String,
    /// Its goodput.
    pub goodput_mbps: f64,
}

/// A link's load in the optimum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOptimum {
    /// The link direction.
    pub name: String,
    /// Wire bits of Data and Interests over its rate. Where several routings give the same rates, this is one of them,
    /// without needless detours.
    pub utilization: f64,
}

/// The computed ceiling of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Why there is none; all other values are then absent.
    #[serde(default)]
    pub undefined: Option<String>,
    /// Total goodput of the max-min fair allocation.
    pub total_mbps: Option<f64>,
    /// Jain index of the max-min fair allocation.
    pub jain: Option<f64>,
    /// Largest total goodput of any allocation; not computed for more than 5000 flows times links.
    pub max_total_mbps: Option<f64>,
    /// The max-min fair rates, in the order of the flows.
    pub consumers: Vec<ConsumerOptimum>,
    /// The loads that go with them.
    pub links: Vec<LinkOptimum>,
}

impl Optimum {
    /// No optimum, with the reason the report prints, e.g. "routers cache Data".
    pub fn undefined(reason: impl Into<String>) -> Optimum {
        Optimum { undefined: Some(reason.into()), ..Optimum::default() }
    }

    /// The rate of a consumer in 10⁶ bit/s.
    pub fn goodput(&self, consumer: &str) -> Option<f64> {
        self.consumers.iter().find(|c| c.name == consumer).map(|c| c.goodput_mbps)
    }
}

impl Problem {
    /// The problem of a scenario's long-lived consumers, each served by any producer of its prefix over any link.
    ///
    /// `producers` maps prefixes to node names. Link `2·i` and `2·i + 1` are taken as there and back.
    pub fn new(scenario: &Scenario, producers: &BTreeMap<String, Vec<String>>) -> Problem {
        let node = |name: &str| scenario.nodes.iter().position(|n| n.name == name);
        let links: Vec<Link> = (scenario.links.iter().enumerate())
            .map(|(i, l)| Link {
                name: l.name.clone(),
                // A link to an unknown node ends outside the network and carries nothing.
                from: node(&l.from).unwrap_or(scenario.nodes.len()),
                to: node(&l.to).unwrap_or(scenario.nodes.len()),
                rate: Rate::from_mbps(l.rate_mbps),
                reverse: Some(i ^ 1).filter(|r| *r < scenario.links.len()),
            })
            .collect();
        let flows = (scenario.consumers.iter().filter(|c| c.long_lived))
            .map(|c| Flow {
                name: c.name.clone(),
                consumer: node(&c.node).unwrap_or(scenario.nodes.len()),
                routes: Routes::Any {
                    producers: producers.get(&c.prefix).into_iter().flatten().filter_map(|n| node(n)).collect(),
                    usable: None,
                },
            })
            .collect();
        Problem {
            nodes: scenario.nodes.len() + 1,
            links,
            flows,
            sizes: Sizes {
                payload_bytes: scenario.payload_bytes,
                data_wire_bytes: scenario.data_wire_bytes,
                interest_wire_bytes: scenario.interest_wire_bytes,
            },
        }
    }

    /// Why the problem has no answer, if it has none.
    fn refuse(&self) -> Option<String> {
        if self.flows.is_empty() {
            return Some("no long-lived flow".to_owned());
        }
        if self.sizes.payload_bytes == 0 || self.sizes.data_wire_bytes == 0 {
            return Some("packets without payload".to_owned());
        }
        let size = self.flows.len().saturating_mul(self.links.len());
        if size > MAX_SIZE && !self.single_paths() {
            return Some(format!(
                "{} flows over {} links are too many for the solver",
                self.flows.len(),
                self.links.len()
            ));
        }
        for flow in &self.flows {
            let local = match &flow.routes {
                Routes::Paths(paths) => paths.iter().any(Vec::is_empty),
                Routes::Any { producers, .. } => producers.contains(&flow.consumer),
            };
            if local {
                return Some(format!("{} is at a producer of its prefix, so no link limits it", flow.name));
            }
            let links: Vec<usize> = match &flow.routes {
                Routes::Paths(paths) => paths.iter().flatten().copied().collect(),
                Routes::Any { usable, .. } => usable.iter().flatten().copied().collect(),
            };
            if links.iter().any(|l| *l >= self.links.len()) {
                return Some(format!("{} is routed over a link that does not exist", flow.name));
            }
        }
        None
    }

    fn single_paths(&self) -> bool {
        self.flows.iter().all(|f| matches!(&f.routes, Routes::Paths(paths) if paths.len() == 1))
    }

    /// The max-min fair rates in 10⁶ bit/s, the loads that go with them, and the largest total.
    pub fn solve(&self) -> Optimum {
        if let Some(reason) = self.refuse() {
            return Optimum::undefined(reason);
        }
        match self.solved() {
            Ok(optimum) => optimum,
            Err(reason) => Optimum::undefined(format!("the solver gave up: {reason}")),
        }
    }

    fn solved(&self) -> Result<Optimum, String> {
        let mut program = lp::Program::new(self);
        let rates = if self.single_paths() { water_filling(self) } else { program.max_min()? };
        let loads = program.loads(&rates)?;
        // To the digits that can be told apart, so that 12.9999998 reads 13.
        let round = |rate: f64| crate::results::significant(rate, 6);
        let rates: Vec<f64> = rates.into_iter().map(round).collect();
        let total: f64 = round(rates.iter().sum());
        let small = self.flows.len() * self.links.len() <= MAX_SIZE_OF_TOTAL;
        let most = if small { Some(round(program.max_total()?).max(total)) } else { None };
        Ok(Optimum {
            undefined: None,
            total_mbps: Some(total),
            jain: crate::metrics::jain(&rates),
            max_total_mbps: most,
            consumers: (self.flows.iter().zip(&rates))
                .map(|(f, r)| ConsumerOptimum { name: f.name.clone(), goodput_mbps: *r })
                .collect(),
            links: (self.links.iter().zip(loads))
                .map(|(l, utilization)| LinkOptimum { name: l.name.clone(), utilization })
                .collect(),
        })
    }

    /// Wire bits per payload bit on the way down (Data) and on the way back (Interests).
    fn overhead(&self) -> (f64, f64) {
        let payload = self.sizes.payload_bytes as f64;
        (self.sizes.data_wire_bytes as f64 / payload, self.sizes.interest_wire_bytes as f64 / payload)
    }
}

//! The optimum: the rates that an ideal scheme would give the long-lived flows.
//!
//! There are two solutions of one multi-commodity flow problem. The *max-min fair* allocation raises the smallest rate
//! as far as possible, then the next, and so on (linear programs whose duals show which flows are limited, after Nace
//! and Pióro, IEEE Comm. Surveys 10(4), 2008; one simplex of our own covers all of them, another one large networks);
//! it is the ceiling drawn in reports, and has a certificate (see [`Allocation::check`]). The *maximal total* ignores
//! fairness. Rates are goodput: a link carries `data_wire / payload` bits for each payload bit that crosses it
//! downstream, and `interest_wire / payload` bits for each payload bit that crosses its reverse. Losses, queues and
//! startup are not modelled.
//!
//! All other programs are solved by `microlp`, a sparse simplex in Rust, through `good_lp`: its vertex solutions are
//! exact to rounding, whereas an interior-point solver (`clarabel`) stops at a tolerance and has far more dependencies.

mod certificate;
mod completion;
mod coupled;
mod draws;
mod error;
mod filling;
mod large;
mod lp;
mod paths;
#[cfg(test)]
mod tests;
mod waterfill;

pub use certificate::{Allocation, Level};
pub use completion::Transfer;
pub use coupled::{Subflow, coupled};
pub use error::{AllocationError, CertificateError, ProblemError, SolverError};
pub use waterfill::water_filling;

pub use crate::results::{Attained, ConsumerOptimum, LinkOptimum, Optimum, Physical};

use crate::results::ScenarioInfo;
use ndnweir_core::units::Rate;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Limit on flows times links; beyond it, the tables alone would take gigabytes.
const MAX_SIZE: usize = 20_000_000;
/// Beyond this number of flows times links, [`large`] solves the problem instead of [`filling`].
const MAX_SIZE_OF_FILLING: usize = 100_000;
/// Limit on the work for a large network, in elementary operations: from 10 to 20 seconds.
const MAX_WORK: u64 = 14_000_000_000;
/// The same limit for successive linear programs: for the largest total, which is only a remark, for loads without
/// unnecessary detours, and if the simplex of [`filling`] fails.
const MAX_SIZE_OF_PROGRAMS: usize = 5_000;
/// The largest allowed fraction that a flow can gain without lowering one with a smaller rate.
const MAX_GAIN: f64 = 0.01;
/// Limit on the number of searches for checking a certificate; if more are needed, only a part of the levels is
/// checked.
const MAX_SEARCHES: usize = 20_000;

/// Paths, as hops from a producer to the consumer, with the rate on each path.
type Carried = Vec<(Vec<usize>, f64)>;

/// Rates and paths by flow, and what is known about them if they are not proved.
type Rates = (Vec<f64>, Vec<Carried>, Option<String>);

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectedLink {
    /// Its name.
    pub name: String,
    /// Sending node.
    pub from: usize,
    /// Receiving node.
    pub to: usize,
    /// Its rate on the wire.
    pub rate: Rate,
    /// The reverse direction, which carries the Interests of its Data; with `None` they are not charged to any link.
    pub reverse: Option<usize>,
}

/// A hop of Data from one NDN node to the next, possibly across switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Sending node.
    pub from: usize,
    /// Receiving node.
    pub to: usize,
    /// The links that Data cross, by position.
    pub data: Vec<usize>,
    /// The links that their Interests cross.
    pub interests: Vec<usize>,
}

/// The paths that the Data of a flow may take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowedLinks {
    /// Any mix of these paths; each lists hops from a producer to the consumer.
    Paths(Vec<Vec<usize>>),
    /// Any mix of loop-free paths from any producer over these hops; `None` allows all hops.
    Any {
        /// Nodes that have the content.
        producers: Vec<usize>,
        /// Hops that routing allows.
        usable: Option<Vec<usize>>,
    },
}

/// A long-lived flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDemand {
    /// The consumer's name.
    pub name: String,
    /// The consumer's node.
    pub consumer: usize,
    /// The allowed paths of its Data.
    pub routes: AllowedLinks,
}

/// Packet sizes, which turn wire rates into goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Content bytes of a Data packet.
    pub payload_bytes: u64,
    /// Bytes of a Data packet with all headers and framing.
    pub data_wire_bytes: u64,
    /// Bytes of an Interest with framing.
    pub interest_wire_bytes: u64,
}

/// A network and its long-lived flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of nodes.
    pub nodes: usize,
    /// Nodes that no path crosses.
    pub hosts: Vec<usize>,
    /// Directed links.
    pub links: Vec<DirectedLink>,
    /// Hops that Data can take; if empty, one over each link, with Interests on the return path.
    pub hops: Vec<Hop>,
    /// Flows.
    pub flows: Vec<FlowDemand>,
    /// Packet sizes.
    pub sizes: Sizes,
}

impl Problem {
    /// The problem of a scenario's long-lived consumers, each served by any producer of its prefix over any link.
    ///
    /// `producers` maps prefixes to node names. Directed links `2·i` and `2·i + 1` are the two directions of a link.
    pub fn new(scenario: &ScenarioInfo, producers: &BTreeMap<String, Vec<String>>) -> Problem {
        let numbers = scenario.node_numbers();
        let node = |name: &str| numbers.get(name).copied();
        let links: Vec<DirectedLink> = (scenario.links.iter().enumerate())
            .map(|(i, l)| DirectedLink {
                name: l.name.clone(),
                // A link to an unknown node ends outside the network and carries no traffic.
                from: node(&l.from).unwrap_or(scenario.nodes.len()),
                to: node(&l.to).unwrap_or(scenario.nodes.len()),
                rate: Rate::from_mbps(l.rate_mbps),
                reverse: Some(i ^ 1).filter(|r| *r < scenario.links.len()),
            })
            .collect();
        let flows = (scenario.consumers.iter().filter(|c| c.long_lived))
            .map(|c| FlowDemand {
                name: c.name.clone(),
                consumer: node(&c.node).unwrap_or(scenario.nodes.len()),
                routes: AllowedLinks::Any {
                    producers: producers.get(&c.prefix).into_iter().flatten().filter_map(|n| node(n)).collect(),
                    usable: None,
                },
            })
            .collect();
        Problem {
            nodes: scenario.nodes.len() + 1,
            hosts: (0..scenario.nodes.len()).filter(|&n| scenario.nodes[n].host).collect(),
            links,
            hops: Vec::new(),
            flows,
            sizes: Sizes {
                payload_bytes: scenario.payload_bytes,
                data_wire_bytes: scenario.data_wire_bytes,
                interest_wire_bytes: scenario.interest_wire_bytes,
            },
        }
    }

    /// Checks that the problem has a solution and is not too large.
    fn check(&self) -> Result<(), ProblemError> {
        if self.flows.is_empty() {
            return Err(ProblemError::NoFlow);
        }
        if self.sizes.payload_bytes == 0 || self.sizes.data_wire_bytes == 0 {
            return Err(ProblemError::NoPayload);
        }
        let hops = if self.hops.is_empty() { self.links.len() } else { self.hops.len() };
        if !self.single_paths() {
            self.check_size()?;
        }
        for flow in &self.flows {
            let local = match &flow.routes {
                AllowedLinks::Paths(paths) => paths.iter().any(Vec::is_empty),
                AllowedLinks::Any { producers, .. } => producers.contains(&flow.consumer),
            };
            if local {
                return Err(ProblemError::Local(flow.name.clone()));
            }
            let used: Vec<usize> = match &flow.routes {
                AllowedLinks::Paths(paths) => paths.iter().flatten().copied().collect(),
                AllowedLinks::Any { usable, .. } => usable.iter().flatten().copied().collect(),
            };
            if used.iter().any(|h| *h >= hops) {
                return Err(ProblemError::UnknownHop(flow.name.clone()));
            }
        }
        Ok(())
    }

    /// Checks that the problem is not too large to be tried, which does not depend on the routes.
    ///
    /// # Errors
    /// [`ProblemError::TooLarge`].
    pub fn check_size(&self) -> Result<(), ProblemError> {
        let (flows, links) = (self.flows.len(), self.links.len());
        if flows.saturating_mul(links) > MAX_SIZE { Err(ProblemError::TooLarge { flows, links }) } else { Ok(()) }
    }

    fn single_paths(&self) -> bool {
        self.flows.iter().all(|f| matches!(&f.routes, AllowedLinks::Paths(paths) if paths.len() <= 1))
    }

    /// The max-min fair rates in 10⁶ bit/s, the corresponding loads, and the largest total.
    pub fn solve(&self) -> Optimum {
        if let Err(reason) = self.check() {
            return Optimum::undefined(reason.to_string());
        }
        match self.solved() {
            Ok(optimum) => optimum,
            Err(reason) => Optimum::undefined(format!("the solver gave up: {reason}")),
        }
    }

    fn solved(&self) -> Result<Optimum, SolverError> {
        if let Some(single) = self.only_paths() {
            return single.solved();
        }
        let small = self.flows.len() * self.links.len() <= MAX_SIZE_OF_PROGRAMS;
        let mut estimate = None;
        let (rates, loads, most) = if self.single_paths() {
            let rates = water_filling(self);
            let carried = self.flows.iter().zip(&rates).map(|(f, r)| match &f.routes {
                AllowedLinks::Paths(paths) => paths.first().map(|path| (path.clone(), *r)).into_iter().collect(),
                AllowedLinks::Any { .. } => Vec::new(),
            });
            let loads = self.loads(&carried.collect::<Vec<_>>());
            let most = if small { Some(lp::Program::new(self).max_total()?) } else { None };
            (rates, loads, most)
        } else {
            let (rates, paths, note) = self.proved()?;
            estimate = note;
            match small {
                true => {
                    // The rates and loads of these programs differ by their relaxation. The rates are proved without them,
                    // so that a program that loses its digits takes away no more than it alone would tell.
                    let mut program = lp::Program::new(self);
                    let loads = program.max_min().and_then(|reference| program.loads(&reference));
                    let most = program.max_total().ok();
                    (rates, loads.unwrap_or_else(|_| self.loads(&paths)), most)
                }
                false => (rates, self.loads(&paths), None),
            }
        };
        // Rounded to the significant digits, so that 12.9999998 becomes 13.
        let round = |rate: f64| crate::results::significant(rate, 6);
        let rates: Vec<f64> = rates.into_iter().map(round).collect();
        let total: f64 = round(rates.iter().sum());
        let most = most.map(|most| round(most).max(total));
        Ok(Optimum {
            undefined: None,
            estimate,
            total_mbps: Some(total),
            jain: crate::metrics::jain(&rates),
            max_total_mbps: most,
            consumers: (self.flows.iter().zip(&rates))
                .map(|(f, r)| ConsumerOptimum { name: f.name.clone(), goodput_mbps: *r })
                .collect(),
            links: (self.links.iter().zip(loads))
                .map(|(l, utilization)| LinkOptimum { name: l.name.clone(), utilization })
                .collect(),
            physical: None,
            completions: Vec::new(),
        })
    }

    /// Whether the problem is for [`large`].
    fn is_large(&self) -> bool {
        self.flows.len().saturating_mul(self.links.len()) > MAX_SIZE_OF_FILLING
    }

    /// A large problem in which every flow has at most one path, with these paths.
    fn only_paths(&self) -> Option<Problem> {
        if !self.is_large() || self.flows.iter().all(|flow| matches!(flow.routes, AllowedLinks::Paths(_))) {
            return None;
        }
        let paths = paths::Paths::without_paths(self);
        let single = |(f, flow): (usize, &FlowDemand)| {
            let only = paths.only(f)?.into_iter().collect();
            Some(FlowDemand { routes: AllowedLinks::Paths(only), ..flow.clone() })
        };
        let flows = self.flows.iter().enumerate().map(single).collect::<Option<Vec<_>>>()?;
        Some(Problem { flows, ..self.clone() })
    }

    /// The max-min fair allocation.
    fn filled(&self) -> Result<Allocation, SolverError> {
        if self.is_large() { large::outcome(self, MAX_WORK).found } else { filling::fill(self) }
    }

    /// The max-min fair allocation with its certificate, by one simplex over all levels. For a large network the work
    /// is limited, alike on every machine.
    ///
    /// # Errors
    /// [`AllocationError`], if there is none.
    pub fn allocate(&self) -> Result<Allocation, AllocationError> {
        self.check()?;
        Ok(self.filled()?)
    }

    /// Rates and paths of an allocation with a valid certificate; without one, those of linear programs if the network
    /// is small, or an estimate, and what is known about it, if it is large.
    fn proved(&self) -> Result<Rates, SolverError> {
        if self.is_large() {
            return self.judged(large::outcome(self, MAX_WORK));
        }
        match self.judged(large::Outcome { found: filling::fill(self), estimate: None }) {
            Err(_) if self.flows.len() * self.links.len() <= MAX_SIZE_OF_PROGRAMS => {
                let mut program = lp::Program::new(self);
                let rates = program.max_min()?;
                Ok((rates, program.known(), None))
            }
            // What loses its digits here may not there.
            Err(_) => self.judged(large::outcome(self, MAX_WORK)),
            found => found,
        }
    }

    /// What was found if its certificate is valid, or else the estimate.
    fn judged(&self, outcome: large::Outcome) -> Result<Rates, SolverError> {
        let gain = outcome.found.and_then(|found| {
            let every = (found.levels.len() * self.flows.len()).div_ceil(MAX_SEARCHES);
            Ok((found.check(self, every)?, found))
        });
        match (gain, outcome.estimate) {
            (Ok((gain, found)), _) if gain <= MAX_GAIN => Ok((found.rates, found.paths, None)),
            (_, Some((found, note))) => Ok((found.rates, found.paths, Some(note))),
            (Ok((gain, _)), _) => Err(SolverError::Gain(gain)),
            (Err(reason), _) => Err(reason),
        }
    }

    /// The hops that Data can take.
    fn all_hops(&self) -> Cow<'_, [Hop]> {
        if !self.hops.is_empty() {
            return Cow::Borrowed(&self.hops);
        }
        let hop = |(l, link): (usize, &DirectedLink)| Hop {
            from: link.from,
            to: link.to,
            data: vec![l],
            interests: link.reverse.into_iter().collect(),
        };
        Cow::Owned(self.links.iter().enumerate().map(hop).collect())
    }

    /// Utilisation of each link for these rates on paths.
    fn loads(&self, carried: &[Vec<(Vec<usize>, f64)>]) -> Vec<f64> {
        let (down, up) = self.overhead();
        let hops = self.all_hops();
        let mut loads = vec![0.0; self.links.len()];
        for (hop, rate) in carried.iter().flatten().flat_map(|(path, rate)| path.iter().map(move |h| (*h, *rate))) {
            hops[hop].data.iter().for_each(|l| loads[*l] += down * rate);
            hops[hop].interests.iter().for_each(|l| loads[*l] += up * rate);
        }
        let part = |(load, link): (f64, &DirectedLink)| utilization(load, link.rate.mbps());
        loads.into_iter().zip(&self.links).map(part).collect()
    }

    /// Wire bits per payload bit downstream (Data) and upstream (Interests).
    fn overhead(&self) -> (f64, f64) {
        let payload = self.sizes.payload_bytes as f64;
        (self.sizes.data_wire_bytes as f64 / payload, self.sizes.interest_wire_bytes as f64 / payload)
    }
}

/// A load over a capacity, rounded to the significant digits.
fn utilization(load: f64, capacity: f64) -> f64 {
    if capacity > 0.0 { ((load / capacity).clamp(0.0, 1.0) * 1e6).round() / 1e6 } else { 0.0 }
}

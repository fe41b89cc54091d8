//! `rfa`: the request forwarding algorithm; Interests go where few are pending.
//!
//! Source: Carofiglio, Gallo, Muscariello, Papalini, Wang, "Optimal multipath congestion control and request forwarding
//! in information-centric networks" (ICNP 2013), whose text was not available; law from the authors' simulator
//! (CCNPL-Sim), the load-balancing strategies of NFD and hICN, and, for `greedy`, the simulator of Ye et al. Per prefix
//! and face: the Interests pending there, PI, and their mean, updated whenever one is sent or answered. The next hop is
//! drawn in proportion to 1/mean, or (greedy) is the one with the largest 1/(1 + PI). Deviations: PI counts
//! out-records, not packets, so an Interest sent twice to a face is one; every record of an entry ends with the Data,
//! the NACK or the timeout that ends it, once (Ye et al. may count one twice); the face an Interest came from is not a
//! next hop; a change of the FIB keeps what is known of the hops that stay (hICN forgets all, and then counts the
//! answers to what it forgot).

use super::{
    Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, OutRecord, Strategy, TimeoutEvent,
};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::shared::draw::by_weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the next hop is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// At random, in proportion to 1/mean PI: the authors.
    Probabilistic,
    /// The largest 1/(1 + PI), a face never used counting 0.5, the first in FIB order among equals: Ye et al.
    Greedy,
}

/// What happens to a retransmission while an Interest sent for the entry may still be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmissions {
    /// It is not forwarded: NFD's load balancer.
    Hold,
    /// It is forwarded like a new Interest: Ye et al.
    Forward,
}

/// Parameters of [`Rfa`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How the next hop is chosen.
    pub mode: Mode,
    /// Retransmissions while one is pending.
    pub retransmissions: Retransmissions,
    /// Probabilistic: weight of the old mean at each update, in [0, 1); 0.9 in all sources.
    pub smoothing: f64,
    /// Probabilistic: a mean below this, in Interests, is set to `idle-mean`; hICN.
    pub idle_below: f64,
    /// Probabilistic: the mean of a face that has nothing pending for long, in Interests; 0.1 in all sources.
    pub idle_mean: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            mode: Mode::Probabilistic,
            retransmissions: Retransmissions::Hold,
            smoothing: 0.9,
            idle_below: 1e-3,
            idle_mean: 0.1,
        }
    }
}

/// Prefixes that are counted; Interests of further ones take the first next hop.
const MAX_PREFIXES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Load {
    face: FaceId,
    pending: u32,
    mean: f64,
    weight: f64,
    used: bool,
}

impl Load {
    fn new(face: FaceId) -> Load {
        Load { face, pending: 0, mean: 0.0, weight: 1.0, used: false }
    }

    fn update(&mut self, pending: u32, params: &Params) {
        self.pending = pending;
        self.used = true;
        self.mean = params.smoothing * self.mean + (1.0 - params.smoothing) * f64::from(pending);
        if self.mean < params.idle_below {
            self.mean = params.idle_mean;
        }
        self.weight = 1.0 / self.mean;
    }

    fn score(&self) -> f64 {
        if self.used { 1.0 / (1.0 + f64::from(self.pending)) } else { 0.5 }
    }
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Rfa {
    #[state(skip)]
    params: Params,
    loads: BTreeMap<PrefixId, Vec<Load>>,
}

impl Component for Rfa {
    const NAME: &'static str = "rfa";
    const SUMMARY: &'static str = "Interests go where few are pending (OMCC's request forwarding)";
    const SOURCE: &'static str = "Carofiglio et al., ICNP 2013; CCNPL-Sim, NFD and hICN load balancers; Ye et al.";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if !(0.0..1.0).contains(&params.smoothing) {
            let help = "give a number from 0 up and below 1";
            return Err(SchemeError::value("smoothing", params.smoothing, "is out of range", help));
        }
        for (name, value) in [("idle-below", params.idle_below), ("idle-mean", params.idle_mean)] {
            if !(1e-9..=1e9).contains(&value) {
                return Err(SchemeError::value(name, value, "is not a mean", "give a positive number of Interests"));
            }
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Rfa {
        Rfa { params: params.clone(), loads: BTreeMap::new() }
    }
}

impl Rfa {
    /// The loads of a prefix; none if too many prefixes are counted already.
    fn loads(&mut self, prefix: PrefixId) -> Option<&mut Vec<Load>> {
        if self.loads.len() >= MAX_PREFIXES && !self.loads.contains_key(&prefix) {
            return None;
        }
        Some(self.loads.entry(prefix).or_default())
    }

    fn choose(&mut self, event: &InterestArrival<'_>, ctx: &mut Ctx<'_>) -> Option<FaceId> {
        let first = event.eligible().next()?.face;
        let greedy = self.params.mode == Mode::Greedy;
        let Some(loads) = self.loads(event.prefix) else { return Some(first) };
        for hop in event.hops {
            if loads.iter().all(|load| load.face != hop.face) {
                loads.push(Load::new(hop.face));
            }
        }
        let known = || event.eligible().filter_map(|hop| loads.iter().find(|load| load.face == hop.face));
        if greedy {
            let better = |best: Option<&'_ Load>, load| best.is_none_or(|best| Load::score(load) > best.score());
            return known().fold(None, |best, load| if better(best, load) { Some(load) } else { best }).map(|l| l.face);
        }
        let drawn = by_weight(ctx.rng, known().map(|load| load.weight))?;
        known().nth(drawn).map(|load| load.face)
    }

    fn sent(&mut self, prefix: PrefixId, face: FaceId) {
        let Some(loads) = self.loads.get_mut(&prefix) else { return };
        if let Some(load) = loads.iter_mut().find(|load| load.face == face) {
            load.update(load.pending.saturating_add(1), &self.params);
        }
    }

    fn ended(&mut self, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        let Some(loads) = self.loads.get_mut(&prefix) else { return };
        if let Some(load) = loads.iter_mut().find(|load| load.face == face) {
            load.update(load.pending.saturating_sub(1), &self.params);
            ctx.trace.record(ctx.now, "pending", u64::from(face.0), f64::from(load.pending));
        }
    }

    /// Every Interest of the entry that is still counted has ended.
    fn all_ended(&mut self, prefix: PrefixId, sent: &[OutRecord], ctx: &mut Ctx<'_>) {
        for record in sent.iter().filter(|record| record.nacked.is_none()) {
            self.ended(prefix, record.face, ctx);
        }
    }
}

impl Strategy for Rfa {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let again = event.arrival == Arrival::Retransmission && self.params.retransmissions == Retransmissions::Forward;
        if event.arrival != Arrival::New && !again && event.pending(ctx.now) {
            return;
        }
        let Some(face) = self.choose(event, ctx) else {
            if event.arrival == Arrival::New {
                choice.reject(NackReason::NoRoute);
            }
            return;
        };
        choice.send(face);
        if event.record(face).is_none_or(|record| record.nacked.is_some()) {
            self.sent(event.prefix, face);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        self.all_ended(event.prefix, event.sent, ctx);
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        self.ended(event.prefix, event.face, ctx);
        super::process_nack(event, choice);
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        self.all_ended(event.prefix, event.sent, ctx);
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        if hops.is_empty() {
            self.loads.remove(&prefix);
        } else if let Some(loads) = self.loads.get_mut(&prefix) {
            loads.retain(|load| hops.iter().any(|hop| hop.face == load.face));
        }
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        if self.params.mode == Mode::Greedy {
            return;
        }
        let loads = self.loads.get(&prefix).map_or(&[][..], Vec::as_slice);
        let weight = |hop: &NextHop| loads.iter().find(|load| load.face == hop.face).map_or(1.0, |load| load.weight);
        let total: f64 = hops.iter().map(weight).sum();
        out.extend(hops.iter().map(|hop| weight(hop) / total));
    }
}

#[cfg(test)]
mod tests;

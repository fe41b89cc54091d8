//! `pcon`: shares of the Interests per next hop that marks shift (PCON's fwPerc).
//!
//! Every prefix has one share per next hop. An Interest draws its next hop by the shares; a marked Data takes a
//! fraction off the share of the face it came by and spreads it evenly over the others. A small part of the Interests
//! probes all other next hops. Source: Schneider, Yi, Zhang, Zhang, ICN 2016, §5, and the authors' NFD strategy (2016);
//! specification §2.1.
//!
//! As in the authors' code: a draw both chooses and probes; marked NACKs shift at most once per 110 ms in the whole
//! node; an Interest that expires takes an absolute step off the face it first went to, once per upstream it had.
//!
//! Three switches, off by default, come from later work:
//! - `distance = "hops"`: the paper's f(Distance) = hops from the congested link; the authors' code leaves it out. That
//!   f(d) = d is the reading of a third-party port.
//! - `flow-aware`, resource pooling C (Sakamoto, Hayamizu, Yamamoto, IEICE ComEx 13, 2024, equation 4): the fraction is
//!   multiplied by the number of flows that share the congested link, and is at most the whole share.
//! - `suppress`, resource pooling B: see [`super::selective`]. A router with two or more eligible next hops says so in
//!   the Interest ([`Field::MarksFiltered`]), and those further from the consumer leave marks alone. Marks that are
//!   held back still shift shares.
//!
//! Distance and flow count arrive with the mark, written by the `pooling` meter; without it they count as 1.
//!
//! Deviations: shortest path means lowest cost, then lowest face number (there: lowest face number). Probes do not go
//! back to where the Interest came from. Without an eligible next hop a new Interest is rejected (there: dropped); if
//! the eligible ones have no share, the cheapest is used (there: an assertion). A NACK passes on at once, except that
//! for a probed Interest the other upstreams may still answer. When routing changes the set of next hops, those that
//! stay keep their shares, scaled to a sum of 1.

use super::selective::{MarkFilter, Suppress};
use super::shares::{Init, Shares};
use super::{Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Strategy, TimeoutEvent};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the distance from the congested link weakens a reaction: the paper's f(Distance).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// Not at all: f = 1.
    One,
    /// In proportion: f = hops.
    Hops,
}

/// Parameters of [`Pcon`]; defaults are the authors'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of its share that a face loses per marked Data, from 0 to 1 (CHANGE_PER_MARK, 0.02; the paper: 0.01 to
    /// 0.03).
    pub change: f64,
    /// Part of the Interests that probe all other next hops, from 0 to 1 (PROBING_PERCENTAGE, 0.001).
    pub probing: f64,
    /// Least time between two reactions of the node to marked NACKs (TIME_BETWEEN_FW_UPDATE, 110 ms).
    pub nack_interval: Duration,
    /// The shares a prefix begins with (INIT_SHORTEST_PATH).
    pub init: Init,
    /// How the distance from the congested link weakens a reaction (authors' code: not at all).
    pub distance: Distance,
    /// Multiplies a reaction by the flows that share the congested link (resource pooling C, equation 4; PCON: off).
    pub flow_aware: bool,
    /// Which marks a branching router holds back after it passed one on (resource pooling B; PCON: none).
    pub suppress: Suppress,
    /// For how long it holds them back (resource pooling B: the CoDel interval, 110 ms).
    pub suppress_interval: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            change: 0.02,
            probing: 0.001,
            nack_interval: Duration::from_millis(110),
            init: Init::Shortest,
            distance: Distance::One,
            flow_aware: false,
            suppress: Suppress::None,
            suppress_interval: Duration::from_millis(110),
        }
    }
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Pcon {
    #[state(skip)]
    params: Params,
    shares: Shares,
    /// The last reaction to a marked NACK.
    last_nack: Option<Time>,
    filter: MarkFilter,
    flow_count: Option<Slot>,
    mark_distance: Option<Slot>,
    marks_filtered: Option<Slot>,
}

/// Value of the PIT entry's note once the Interest was probed.
const PROBED: u8 = 1;

impl Component for Pcon {
    const NAME: &'static str = "pcon";
    const SUMMARY: &'static str = "shares per next hop, shifted 2 % away from a face by each marked Data";
    const SOURCE: &'static str = "Schneider et al., ICN 2016, and its authors' NFD strategy";
    const FIELDS: &'static [Field] = &[Field::FlowCount, Field::MarkDistance, Field::MarksFiltered];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        let switches = [params.flow_aware, params.distance == Distance::Hops, params.suppress != Suppress::None];
        Pcon::FIELDS.iter().zip(switches).filter(|(_, on)| *on).map(|(&field, _)| field).collect()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("change", params.change, 0.0, 1.0)?;
        check::number("probing", params.probing, 0.0, 1.0)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Pcon {
        let needs = Pcon::needs(params);
        let mut slot = |field| needs.contains(&field).then(|| env.slot(field));
        Pcon {
            params: params.clone(),
            shares: Shares::default(),
            last_nack: None,
            filter: MarkFilter::default(),
            flow_count: slot(Field::FlowCount),
            mark_distance: slot(Field::MarkDistance),
            marks_filtered: slot(Field::MarksFiltered),
        }
    }
}

impl Pcon {
    /// Equations 1 and 4: what a mark takes off a share of `part`.
    fn reduction(&self, part: f64, packet: &Packet) -> f64 {
        let carried = |slot: Option<Slot>| slot.map_or(1, |slot| packet.fields.get(slot).max(1));
        part * self.params.change / f64::from(carried(self.mark_distance)) * f64::from(carried(self.flow_count))
    }

    /// A mark came from `face`.
    fn on_mark(&mut self, prefix: PrefixId, face: FaceId, packet: &Packet) {
        // The content store is not a face of the prefix.
        if let Some(part) = self.shares.part(prefix, face) {
            self.shares.spread(prefix, face, self.reduction(part, packet));
        }
    }
}

impl Strategy for Pcon {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending && event.arrival != Arrival::Retransmission {
            return;
        }
        let u = ctx.rng.unit();
        let Some(face) = self.shares.choose(event, u) else {
            if !pending {
                choice.reject(NackReason::NoRoute);
            }
            return;
        };
        choice.send(face);
        if let Some(slot) = self.marks_filtered
            && event.eligible().nth(1).is_some()
        {
            choice.stamp(slot, 1);
        }
        if u <= self.params.probing {
            for hop in event.eligible().filter(|hop| hop.face != face) {
                choice.probe(hop.face);
            }
            *event.note = PROBED;
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, _: &mut Ctx<'_>) {
        if event.packet.mark == 0 || event.local {
            return;
        }
        self.on_mark(event.prefix, event.face, event.packet);
    }

    fn propagate_mark(&mut self, event: &DataReturn<'_>, downstream: FaceId, ctx: &mut Ctx<'_>) -> u8 {
        let Some(slot) = self.marks_filtered else { return event.packet.mark };
        let branches = event.hops.iter().filter(|hop| hop.face != downstream).nth(1).is_some();
        if event.packet.mark == 0 || !branches || event.interest_fields.get(slot) > 0 {
            return event.packet.mark;
        }
        let Params { suppress, suppress_interval, .. } = self.params;
        if self.filter.passes(suppress, suppress_interval, event.prefix, event.face, downstream, ctx.now) {
            return event.packet.mark;
        }
        ctx.trace.record(ctx.now, "mark-held-back", u64::from(event.face.0), 1.0);
        0
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let rested = self.last_nack.is_none_or(|last| ctx.now >= last + self.params.nack_interval);
        if event.packet.mark > 0 && rested && self.shares.hops(event.prefix) > 1 {
            self.last_nack = Some(ctx.now);
            self.on_mark(event.prefix, event.face, event.packet);
        }
        match *event.note {
            PROBED => super::process_nack(event, choice),
            _ => choice.reject(event.packet.reason),
        }
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, _: &mut Ctx<'_>) {
        let Some(first) = event.sent.first() else { return };
        for _ in event.sent {
            self.shares.spread(event.prefix, first.face, self.params.change);
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        self.shares.route(prefix, hops, self.params.init);
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        self.shares.list(prefix, hops, out);
    }
}

#[cfg(test)]
mod tests;

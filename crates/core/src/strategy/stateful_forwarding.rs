//! `stateful-forwarding`: the forwarding part of Stateful Forwarding; faces have colours, and NACKs are retried.
//!
//! Source: Yi et al., Computer Communications 36 (2013), as their code has it, since the text was not at hand: colours,
//! ranking, best route or smart flooding, retransmission rounds from ndnSIM 1.0; retry timer and probes from NDNFD. Per
//! prefix a face is Green after Data, Yellow at first and after a NACK (Congestion or NoRoute) or a timeout. A face
//! that routing takes away is Red there; here it is not a next hop, and Yellow when it comes back, which is the same.
//!
//! Ours, where the codes differ or are silent: NACKs downstream carry the least severe reason; the retry timer is
//! ndn-cxx's estimator per prefix and face, doubled once for all that was in flight; a timer that ends when no face is
//! left waits for the lifetime; an Interest that only a single next hop could take has no timer; a neighbour that gives
//! up while it waits for us is answered with a NACK instead of being dropped in silence; probes have a nonce of their
//! own.

mod retries;

use super::{
    Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Released, Strategy, TimeoutEvent,
};
use crate::check;
use crate::component::{Component, Env};
use crate::consumer::Timer;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::shared::rtt::RttEstimator;
use crate::units::{Duration, Time};
use retries::{Due, Retries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many next hops an Interest takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The best ranked: ndnSIM 1.0's BestRoute.
    BestRoute,
    /// The best ranked if it is Green, else all: ndnSIM 1.0's SmartFlooding.
    SmartFlooding,
}

/// Parameters of [`StatefulForwarding`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How many next hops an Interest takes.
    pub mode: Mode,
    /// The probability that an Interest is also copied to another next hop; 0.1 in NDNFD.
    pub probing: f64,
    /// Whether an Interest that stays unanswered for its face's timeout is sent to the next face; NDNFD.
    pub retry_timer: bool,
    /// Time since the last transmission after which a retransmission opens another round; 100 ms in ndnSIM 1.0.
    pub round: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params { mode: Mode::BestRoute, probing: 0.1, retry_timer: true, round: Duration::from_millis(100) }
    }
}

/// Prefixes whose faces have colours; Interests of further ones go by cost.
const MAX_PREFIXES: usize = 1 << 16;

/// A next hop as one prefix sees it.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct Known {
    hop: NextHop,
    green: bool,
    rtt: RttEstimator,
    /// When the timeout was last doubled.
    backed_off: Time,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct StatefulForwarding {
    #[state(skip)]
    params: Params,
    prefixes: BTreeMap<PrefixId, Vec<Known>>,
    retries: Retries,
}

impl Component for StatefulForwarding {
    const NAME: &'static str = "stateful-forwarding";
    const SUMMARY: &'static str =
        "Stateful Forwarding's colours: faces that answer first, NACKs tried elsewhere, probes";
    const SOURCE: &'static str = "Yi et al., Computer Communications 36 (2013), after the code of ndnSIM 1.0 and NDNFD; \
         estimator and what ends a retry: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("probing", params.probing, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> StatefulForwarding {
        StatefulForwarding { params: params.clone(), prefixes: BTreeMap::new(), retries: Retries::default() }
    }
}

impl StatefulForwarding {
    /// Makes what is known of a prefix agree with its next hops.
    fn follow(&mut self, prefix: PrefixId, hops: &[NextHop]) {
        if self.prefixes.len() >= MAX_PREFIXES && !self.prefixes.contains_key(&prefix) {
            return;
        }
        let known = self.prefixes.entry(prefix).or_default();
        if known.len() == hops.len() && known.iter().zip(hops).all(|(known, hop)| known.hop == *hop) {
            return;
        }
        let mut old = std::mem::take(known);
        for &hop in hops {
            let at = old.iter().position(|known| known.hop.face == hop.face);
            let fresh =
                || Known { hop, green: false, rtt: RttEstimator::new(Timer::ndn_cxx()), backed_off: Time::ZERO };
            let kept = at.map(|at| old.swap_remove(at)).map(|known| Known { hop, ..known });
            known.push(kept.unwrap_or_else(fresh));
        }
    }

    fn known_mut(&mut self, prefix: PrefixId, face: FaceId) -> Option<&mut Known> {
        self.prefixes.get_mut(&prefix)?.iter_mut().find(|known| known.hop.face == face)
    }

    fn set_colour(&mut self, prefix: PrefixId, face: FaceId, green: bool, ctx: &mut Ctx<'_>) {
        if let Some(known) = self.known_mut(prefix, face)
            && known.green != green
        {
            known.green = green;
            ctx.trace.record(ctx.now, "green", u64::from(face.0), f64::from(u8::from(green)));
        }
    }

    fn is_green(&self, prefix: PrefixId, face: FaceId) -> bool {
        let known = self.prefixes.get(&prefix).and_then(|all| all.iter().find(|known| known.hop.face == face));
        known.is_some_and(|known| known.green)
    }

    /// Those of `hops` that are `usable`, Green before Yellow, then by cost, then in routing's order.
    fn ranked(&self, prefix: PrefixId, hops: &[NextHop], usable: impl Fn(FaceId) -> bool) -> Vec<FaceId> {
        let mut found: Vec<NextHop> = hops.iter().copied().filter(|hop| usable(hop.face)).collect();
        found.sort_by_key(|hop| (!self.is_green(prefix, hop.face), hop.cost));
        found.into_iter().map(|hop| hop.face).collect()
    }

    /// As [`Self::ranked`], of the latest next hops.
    fn ranked_known(&self, prefix: PrefixId, usable: impl Fn(FaceId) -> bool) -> Vec<FaceId> {
        let known = self.prefixes.get(&prefix).map_or(&[][..], Vec::as_slice);
        let hops: Vec<NextHop> = known.iter().map(|known| known.hop).collect();
        self.ranked(prefix, &hops, usable)
    }

    fn timeout(&self, prefix: PrefixId, face: FaceId) -> Duration {
        let known = self.prefixes.get(&prefix).and_then(|all| all.iter().find(|known| known.hop.face == face));
        known.map_or(Timer::ndn_cxx().initial, |known| known.rtt.rto())
    }

    /// The first of `ranked` gets the Interest, or the next that admits it; its retry timer starts.
    fn send_first(
        &mut self,
        event: &InterestArrival<'_>,
        ranked: &[FaceId],
        choice: &mut ForwardingDecision,
        ctx: &mut Ctx<'_>,
    ) {
        let Some((&first, rest)) = ranked.split_first() else { return };
        if self.params.mode == Mode::SmartFlooding && !self.is_green(event.prefix, first) {
            ranked.iter().for_each(|face| choice.send(*face));
            return;
        }
        choice.send(first);
        rest.iter().for_each(|face| choice.fallback(*face));
        if self.params.retry_timer && event.eligible().nth(1).is_some() {
            let timeout = self.timeout(event.prefix, first);
            self.retries.start(event, first, rest, ctx.now, timeout);
        }
        if ctx.rng.unit() < self.params.probing && !rest.is_empty() {
            let other = ctx.rng.below(rest.len() as u64) as usize;
            rest.get(other).into_iter().for_each(|face| choice.probe(*face));
        }
    }
}

impl Strategy for StatefulForwarding {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        self.follow(event.prefix, event.hops);
        let pending = event.pending(ctx.now);
        if pending && (event.arrival != Arrival::Retransmission || ctx.now < event.last_sent() + self.params.round) {
            return;
        }
        if pending {
            *event.note = event.note.saturating_add(1);
        }
        // In each round a face may be used again.
        let rounds = *event.note;
        let fresh = |face| !pending || event.record(face).is_none_or(|record| record.sends <= rounds);
        let ranked = self.ranked(event.prefix, event.hops, |face| face != event.in_face && fresh(face));
        if ranked.is_empty() && !pending {
            choice.reject(NackReason::NoRoute);
            return;
        }
        self.send_first(event, &ranked, choice, ctx);
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        self.retries.end(event.packet.name);
        if event.sent.iter().all(|record| record.face != event.face) {
            return;
        }
        self.set_colour(event.prefix, event.face, true, ctx);
        if let (Some(rtt), Some(known)) = (event.rtt, self.known_mut(event.prefix, event.face)) {
            known.rtt.sample(rtt, 1);
        }
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let (name, reason) = (event.packet.name, event.packet.reason);
        let in_vain = self.retries.has_timed_out(name, event.face);
        let gives_up = reason != NackReason::Duplicate;
        if gives_up && !in_vain {
            self.set_colour(event.prefix, event.face, false, ctx);
        }
        if gives_up && event.downstreams.contains(&event.face) && event.downstreams.len() > 1 {
            choice.reject_one(event.face, reason);
        }
        let open =
            |record: &&super::OutRecord| record.nacked.is_none() && !self.retries.has_timed_out(name, record.face);
        let mut waiting = event.sent.iter().filter(open).map(|record| record.face);
        let least = event.sent.iter().filter_map(|record| record.nacked).min().unwrap_or(reason);
        let (one, other) = (waiting.next(), waiting.next());
        drop(waiting);
        self.retries.nacked(name, event.face);
        if let Some(last) = one {
            if other.is_none() && event.downstreams.contains(&last) {
                choice.reject_one(last, least);
            }
            return;
        }
        let from = event.downstreams.iter().copied().find(|face| *face != event.face).unwrap_or(event.face);
        let untried = |face| face != from && event.sent.iter().all(|record| record.face != face);
        let ranked = self.ranked(event.prefix, event.hops, untried);
        let Some((&first, rest)) = ranked.split_first() else {
            self.retries.end(name);
            choice.reject(least);
            return;
        };
        choice.send(first);
        rest.iter().for_each(|face| choice.fallback(*face));
        self.retries.retry_after_nack(name, first, rest, ctx.now, self.timeout(event.prefix, first));
    }

    fn on_rejection(&mut self, packet: &Packet, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        if let Some(next) = self.retries.rejected(packet.name, face, ctx.now) {
            let timeout = self.timeout(prefix, next);
            self.retries.set(packet.name, next, ctx.now, timeout);
        }
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        self.retries.end(event.name);
        for record in event.sent {
            self.set_colour(event.prefix, record.face, false, ctx);
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        self.follow(prefix, hops);
    }

    fn release(&mut self, ctx: &mut Ctx<'_>) -> Option<Released> {
        while let Some(Due { name, prefix, silent }) = self.retries.due(ctx.now) {
            if let Some((face, since)) = silent {
                self.set_colour(prefix, face, false, ctx);
                // Interests that were in flight together are one loss.
                if let Some(known) = self.known_mut(prefix, face).filter(|known| known.backed_off <= since) {
                    known.rtt.back_off();
                    known.backed_off = ctx.now;
                }
            }
            let ranked = self.ranked_known(prefix, |face| self.retries.may_try(name, face));
            let Some(&face) = ranked.first() else {
                self.retries.exhaust(name);
                continue;
            };
            let timeout = self.timeout(prefix, face);
            if let Some(packet) = self.retries.again(name, face, ctx.now, timeout) {
                return Some(Released { packet, face, held: false });
            }
        }
        None
    }

    fn next_wake(&self) -> Time {
        self.retries.next_due()
    }
}

#[cfg(test)]
mod tests;

//! `asf`: adaptive smoothed-RTT forwarding; the next hop that answers fastest.
//!
//! Source: NFD's ASF strategy, version 5, as of 24.07 (technical report NDN-0042). Per prefix and face a smoothed
//! round-trip time; working faces come first, by it, then faces never measured, then faces that timed out, these two by
//! cost. Occasionally a new Interest is also sent, with a nonce of its own, to another face.
//!
//! Ours: timeouts and lifetimes are checked when the prefix is used next, which changes nothing else; NFD keeps an
//! answered PIT entry for 50 ms to receive answers of slower probes, here the strategy remembers them for as long, so
//! that an Interest which arrives within is new; the end of the first probe's wait is continuous (NFD: whole
//! milliseconds).

mod measurements;

use super::{DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, NameId, PrefixId};
use crate::packet::{Kind, NackReason, Packet};
use crate::shared::draw::by_weight;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::units::{Duration, Time};
use measurements::{Late, LateRecord, Namespace, Rank, ToProbe};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parameters of [`Asf`]; defaults are NFD's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Time between two probes of a prefix; at least 1 s.
    pub probing_interval: Duration,
    /// The first probe comes after a uniform draw from zero to this.
    pub first_probe: Duration,
    /// So many timeouts without Data between them make a face timed out.
    pub max_timeouts: u32,
    /// How long a measurement lasts unless renewed; more than `probing-interval`.
    pub measurement_lifetime: Duration,
    /// How long after Data the answers to other copies of the Interest still count.
    pub late: Duration,
    /// When retransmissions are not forwarded to an upstream.
    pub suppression: SuppressionParams,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            probing_interval: Duration::from_millis(60_000),
            first_probe: Duration::from_millis(5000),
            max_timeouts: 3,
            measurement_lifetime: Duration::from_millis(300_000),
            late: Duration::from_millis(50),
            suppression: SuppressionParams::default(),
        }
    }
}

/// Prefixes that are measured; Interests of further ones take the cheapest next hop.
const MAX_PREFIXES: usize = 1 << 16;

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Asf {
    #[state(skip)]
    params: Params,
    suppression: Suppression,
    namespaces: BTreeMap<PrefixId, Namespace>,
    late: Late,
}

impl Component for Asf {
    const NAME: &'static str = "asf";
    const SUMMARY: &'static str = "the next hop with the least smoothed round-trip time; probes the others";
    const SOURCE: &'static str = "NFD asf v5; technical report NDN-0042";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::least("probing-interval", params.probing_interval, Duration::from_millis(1000))?;
        if params.measurement_lifetime <= params.probing_interval {
            let help = format!("give more than probing-interval = {}", params.probing_interval);
            let lifetime = params.measurement_lifetime;
            return Err(SchemeError::value("measurement-lifetime", lifetime, "ends before the next probe", help));
        }
        if params.max_timeouts == 0 {
            return Err(SchemeError::value("max-timeouts", 0, "is not a number of timeouts", "give at least 1"));
        }
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Asf {
        let suppression = Suppression::new(params.suppression.clone());
        Asf { params: params.clone(), suppression, namespaces: BTreeMap::new(), late: Late::default() }
    }
}

impl Asf {
    /// The state of a prefix, brought up to date; none if too many prefixes are measured already.
    fn namespace(&mut self, prefix: PrefixId, now: Time) -> Option<&mut Namespace> {
        if self.namespaces.len() >= MAX_PREFIXES && !self.namespaces.contains_key(&prefix) {
            return None;
        }
        let namespace = self.namespaces.entry(prefix).or_default();
        namespace.settle(now, self.params.max_timeouts, self.params.measurement_lifetime);
        Some(namespace)
    }

    /// The best of `hops` for forwarding.
    fn best(&mut self, prefix: PrefixId, hops: impl Iterator<Item = NextHop>, now: Time) -> Option<FaceId> {
        let namespace = self.namespace(prefix, now);
        let rank = |hop: &NextHop| match &namespace {
            Some(namespace) => namespace.rank(*hop),
            None => (Rank::Unmeasured, Duration::MAX, hop.cost, hop.face),
        };
        hops.min_by_key(rank).map(|hop| hop.face)
    }

    /// The Interest goes to `face`: its measurement is in use, and a timeout runs unless one does already.
    fn forwarded(&mut self, prefix: PrefixId, face: FaceId, name: NameId, now: Time) {
        let lifetime = self.params.measurement_lifetime;
        if let Some(namespace) = self.namespace(prefix, now) {
            let info = namespace.face_mut(face, now + lifetime);
            info.expires = now + lifetime;
            if info.timer.is_none() {
                info.timer = Some((name, now + info.rtt.rto()));
            }
        }
    }

    /// The face to probe when `used` gets the Interest, if a probe is due.
    fn probe(&mut self, event: &InterestArrival<'_>, used: FaceId, ctx: &mut Ctx<'_>) -> Option<FaceId> {
        let (now, interval, first) = (ctx.now, self.params.probing_interval, self.params.first_probe);
        let namespace = self.namespace(event.prefix, now)?;
        let due = *namespace.probe_at.get_or_insert_with(|| {
            let wait = Duration::from_nanos(ctx.rng.below(first.nanos().saturating_add(1)));
            now + wait
        });
        if now < due {
            return None;
        }
        let mut others: Vec<_> =
            event.eligible().filter(|hop| hop.face != used).map(|hop| namespace.rank_to_probe(hop)).collect();
        others.sort_unstable();
        let count = others.len();
        let chosen = match others.first()?.0 {
            // An unmeasured face comes before any draw.
            ToProbe::Unmeasured => 0,
            _ => by_weight(ctx.rng, (0..count).map(|rank| (count - rank) as f64))?,
        };
        namespace.probe_at = Some(now + interval);
        others.get(chosen).map(|&(_, _, _, face)| face)
    }

    /// Data from a face whose Interest went out at `sent`.
    fn measured(&mut self, prefix: PrefixId, face: FaceId, name: NameId, sent: Time, ctx: &mut Ctx<'_>) {
        let lifetime = self.params.measurement_lifetime;
        let Some(info) = self.namespace(prefix, ctx.now).and_then(|namespace| namespace.known_mut(face)) else {
            return;
        };
        info.data(name, ctx.now.since(sent), ctx.now + lifetime);
        ctx.trace.record(ctx.now, "srtt", u64::from(face.0), info.rtt.srtt().secs());
    }

    fn rejected(&mut self, prefix: PrefixId, face: FaceId, name: NameId, ctx: &mut Ctx<'_>) {
        if let Some(info) = self.namespace(prefix, ctx.now).and_then(|namespace| namespace.known_mut(face)) {
            info.nack(name);
        }
    }

    /// A retransmission to `face`, unless it was sent there too recently. Whether it goes.
    fn resend(&self, event: &InterestArrival<'_>, face: FaceId, choice: &mut ForwardingDecision, now: Time) -> bool {
        let suppressed = event
            .record(face)
            .is_some_and(|record| self.suppression.suppresses(record.sends.saturating_sub(1), now.since(record.sent)));
        if !suppressed {
            choice.send(face);
        }
        !suppressed
    }
}

impl Strategy for Asf {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let (now, prefix, name) = (ctx.now, event.prefix, event.packet.name);
        if !event.pending(now) {
            let Some(face) = self.best(prefix, event.eligible(), now) else {
                choice.reject(NackReason::NoRoute);
                return;
            };
            choice.send(face);
            self.forwarded(prefix, face, name, now);
            if let Some(other) = self.probe(event, face, ctx) {
                choice.probe(other);
                self.forwarded(prefix, other, name, now);
            }
        } else if let Some(face) = self.best(prefix, event.unused(now), now) {
            if self.resend(event, face, choice, now) {
                self.forwarded(prefix, face, name, now);
            }
        } else if let Some(hop) = event.used_earliest() {
            self.resend(event, hop.face, choice, now);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let name = event.packet.name;
        let Some(record) = event.sent.iter().find(|record| record.face == event.face) else { return };
        self.measured(event.prefix, event.face, name, record.sent, ctx);
        let others = event.sent.iter().filter(|other| other.face != event.face && other.nacked.is_none());
        let others = others.map(|other| LateRecord { face: other.face, nonce: other.nonce, sent: other.sent });
        self.late.keep(name, others, ctx.now, self.params.late);
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        self.rejected(event.prefix, event.face, event.packet.name, ctx);
        super::process_nack(event, choice);
    }

    fn on_late(&mut self, packet: &Packet, face: FaceId, prefix: PrefixId, ctx: &mut Ctx<'_>) {
        let nonce = (packet.kind == Kind::Nack).then_some(packet.nonce);
        let Some(record) = self.late.take(packet.name, face, nonce, ctx.now) else { return };
        if packet.kind == Kind::Nack {
            self.rejected(prefix, face, packet.name, ctx);
        } else {
            self.measured(prefix, face, packet.name, record.sent, ctx);
            self.late.renew(packet.name, ctx.now, self.params.late);
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        if hops.is_empty() {
            self.namespaces.remove(&prefix);
        }
    }
}

#[cfg(test)]
mod tests;

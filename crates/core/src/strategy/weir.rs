//! `weir`: shares per next hop that move towards the higher level, served in turns.

use super::{DataReturn, ForwardingDecision, InterestArrival, NextHop, Strategy, TimeoutEvent};
use super::{Arrival, shares::cheapest};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::shared::explicit::of_field;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How fast shares move, per second and unit of relative difference of levels.
    pub gain: f64,
    /// The least share of a next hop.
    pub least: f64,
    /// How much links count that are not the narrowest of their path, from 0 to 1.
    pub breadth: f64,
    /// Time constant of a next hop's level.
    pub smoothing: Duration,
    /// When retransmissions are not forwarded; NFD's best-route.
    pub suppression: SuppressionParams,
}

impl Default for Params {
    fn default() -> Params {
        let suppression = SuppressionParams::default();
        Params { gain: 4.0, least: 0.01, breadth: 0.5, smoothing: Duration::from_millis(50), suppression }
    }
}

/// The longest time that one change of shares stands for, in s.
const LONGEST: f64 = 0.1;
/// Shares change at most this often, in s.
const SHORTEST: f64 = 0.005;

#[derive(Clone, Copy, Debug)]
struct Hop {
    face: FaceId,
    share: f64,
    credit: f64,
    /// In bit/s; 0 before the first.
    level: f64,
    seen: Time,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    hops: Vec<Hop>,
    changed: Time,
}

/// The strategy.
#[derive(Clone, Debug)]
pub struct Weir {
    params: Params,
    rate: Slot,
    soft: Slot,
    prefixes: Vec<Entry>,
    suppression: Suppression,
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "next hops in turns, by shares that move to where Data carry the higher level";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::SecondaryRate];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("gain", params.gain, 0.0, 1000.0)?;
        check::number("breadth", params.breadth, 0.0, 1.0)?;
        check::number("least", params.least, 0.0, 0.1)?;
        check::least("smoothing", params.smoothing, Duration::from_millis(1))?;
        params.suppression.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let suppression = Suppression::new(params.suppression.clone());
        let (rate, soft) = (env.slot(Field::ExplicitRate), env.slot(Field::SecondaryRate));
        Weir { params: params.clone(), rate, soft, prefixes: Vec::new(), suppression }
    }
}

impl Entry {
    /// The next in turn among those that `may`: every one gains its share, and the one with most pays for all.
    fn turn(&mut self, may: impl Fn(FaceId) -> bool) -> Option<FaceId> {
        let total: f64 = self.hops.iter().filter(|hop| may(hop.face)).map(|hop| hop.share).sum();
        if total <= 0.0 {
            return None;
        }
        let mut best: Option<usize> = None;
        for (i, hop) in self.hops.iter_mut().enumerate().filter(|(_, hop)| may(hop.face)) {
            hop.credit += hop.share / total;
            best = Some(i);
        }
        for (i, hop) in self.hops.iter().enumerate().filter(|(_, hop)| may(hop.face)) {
            if best.is_none_or(|best| hop.credit >= self.hops[best].credit) {
                best = Some(i);
            }
        }
        let best = self.hops.get_mut(best?)?;
        best.credit = (best.credit - 1.0).clamp(-2.0, 2.0);
        Some(best.face)
    }

    fn shift(&mut self, params: &Params, elapsed: f64) {
        if self.hops.iter().any(|hop| hop.level <= 0.0) {
            return;
        }
        let mean = |hops: &[Hop], top: f64| hops.iter().map(|hop| hop.share * hop.level.min(top)).sum::<f64>();
        // A level without bound says no more than that it is higher.
        let used = mean(&self.hops, f64::MAX).min(2.0 * self.hops.iter().map(|hop| hop.level).fold(f64::MAX, f64::min));
        let middle = mean(&self.hops, 2.0 * used.max(1.0)).max(1.0);
        for hop in &mut self.hops {
            let better = (hop.level / middle - 1.0).clamp(-0.5, 1.0);
            hop.share = (hop.share * (1.0 + params.gain * elapsed * better)).max(params.least);
        }
        let total: f64 = self.hops.iter().map(|hop| hop.share).sum();
        for hop in &mut self.hops {
            hop.share /= total;
        }
    }
}

impl Strategy for Weir {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending && event.arrival != Arrival::New {
            if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
                return;
            }
            *event.note = self.suppression.grown(*event.note);
            if event.arrival == Arrival::Retransmission && let Some(entry) = self.prefixes.get_mut(event.prefix.index()) {
                for hop in entry.hops.iter_mut().filter(|hop| event.sent.iter().any(|sent| sent.face == hop.face)) {
                    hop.level *= 0.9;
                }
            }
            let unused = event.unused(ctx.now).next().is_some();
            let turn = self.prefixes.get_mut(event.prefix.index()).and_then(|entry| {
                entry.turn(|face| event.unused(ctx.now).any(|hop| hop.face == face))
            });
            let face = if unused { turn.or_else(|| cheapest(event.unused(ctx.now))) } else { event.used_earliest().map(|hop| hop.face) };
            if let Some(face) = face {
                choice.send(face);
            }
            return;
        }
        let turn = self.prefixes.get_mut(event.prefix.index()).and_then(|entry| {
            entry.turn(|face| event.eligible().any(|hop| hop.face == face))
        });
        match turn.or_else(|| cheapest(event.eligible())) {
            Some(face) => choice.send(face),
            None => choice.reject(NackReason::NoRoute),
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        if entry.hops.len() < 2 {
            return;
        }
        let Some(level) = of_field(event.packet.fields.get(self.rate)) else { return };
        let soft = of_field(event.packet.fields.get(self.soft)).unwrap_or(level).min(level);
        let level = level - self.params.breadth * (level - soft);
        let smoothing = self.params.smoothing.secs();
        if let Some(hop) = entry.hops.iter_mut().find(|hop| hop.face == event.face) {
            let since = ctx.now.since(hop.seen).secs();
            let gain = if hop.level > 0.0 { since / (since + smoothing) } else { 1.0 };
            hop.level += gain * (level - hop.level);
            hop.seen = ctx.now;
        }
        let elapsed = ctx.now.since(entry.changed).secs();
        if elapsed >= SHORTEST {
            entry.changed = ctx.now;
            entry.shift(&self.params, elapsed.min(LONGEST));
        }
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, _: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        for hop in entry.hops.iter_mut().filter(|hop| event.sent.iter().any(|sent| sent.face == hop.face)) {
            hop.level *= 0.5;
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], ctx: &mut Ctx<'_>) {
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Entry::default);
        }
        let entry = &mut self.prefixes[prefix.index()];
        let old = std::mem::take(&mut entry.hops);
        let best = cheapest(hops.iter().copied());
        let fresh = |hop: &NextHop| {
            let share = if Some(hop.face) == best { 1.0 } else { self.params.least };
            Hop { face: hop.face, share, credit: 0.0, level: 0.0, seen: ctx.now }
        };
        entry.hops = hops.iter().map(|hop| old.iter().find(|known| known.face == hop.face).copied().unwrap_or(fresh(hop))).collect();
        let total: f64 = entry.hops.iter().map(|hop| hop.share).sum();
        entry.hops.iter_mut().for_each(|hop| hop.share /= total.max(1e-9));
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        let entry = self.prefixes.get(prefix.index());
        let share = |hop: &NextHop| entry?.hops.iter().find(|known| known.face == hop.face).map(|known| known.share);
        out.extend(hops.iter().map(|hop| share(hop).unwrap_or(0.0)));
    }
}

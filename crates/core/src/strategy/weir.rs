//! `weir`: shares per next hop that move towards the higher level, served in turns.
//!
//! Source: ours. What moves shares is what the meter [`crate::meter::weir`] writes into Data; shares grow in proportion
//! to themselves and to how far a next hop's level is above the mean, as in replicator dynamics and, with windows, in
//! MPTCP's coupling. Serving in turns is smooth weighted round robin: drawn splits queue more than counted ones.

use super::shares::cheapest;
use super::{Arrival, DataReturn, ForwardingDecision, InterestArrival, NextHop, OutRecord, Strategy, TimeoutEvent};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::shared::explicit::{of_field, round_trip_of_field};
use crate::shared::longer_way;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::shared::weir::{self, Slots, UNKNOWN};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// By which part of itself a share moves per reaction, for a next hop whose level is twice the mean.
    pub gain: f64,
    /// How long routers and this node take to see what a share did; two round trips come on top.
    pub reaction: Duration,
    /// The share at first of a next hop that is not the cheapest, over that of the cheapest. Where few Interests pass it
    /// would take minutes to find what such a next hop can carry if it began with the least share.
    pub first_share: f64,
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
        Params {
            gain: 0.8,
            reaction: Duration::from_millis(150),
            first_share: 0.2,
            least: 0.01,
            breadth: 0.5,
            smoothing: Duration::from_millis(50),
            suppression,
        }
    }
}

/// The part of the shares whose lowest level bounds what others count as.
const SOME: f64 = 0.1;
/// No next hop falls behind or gets ahead by more turns.
const MOST_CREDIT: f64 = 2.0;
/// The least share of a path whose level is low, over that of others.
const LEAST_PROBES: f64 = 0.05;
/// Shares are positive, so that they have a sum.
const NEVER_NOTHING: f64 = 1e-9;
/// What is left of the level of a next hop, when an Interest that went there is retransmitted or expires (ours).
const AFTER_RETRANSMISSION: f64 = 0.9;
const AFTER_TIMEOUT: f64 = 0.5;
/// What is left of its share, if nothing has come from it since that Interest (ours).
const AFTER_SILENCE: f64 = 0.5;
/// A next hop that was not asked for this long gets the next Interest: levels grow old, and where few Interests pass, a
/// share alone would take minutes to ask.
const PROBE_AFTER: Duration = Duration::from_millis(2000);
/// One such Interest of a prefix comes at most this often.
const PROBE_SPACING: Duration = Duration::from_millis(100);
/// How much the soft least counts at most, in least levels: it is more where what bounds the path is a link that the
/// Data of others fill and Interests alone would pass. Of two ways with such links this takes that whose Data are free.
/// Fitted, among 1, 1.05, 1.1, 1.15, 1.25, 1.5 and 2.
const LENIENT: f64 = 1.25;
/// By how much the first level of a next hop changes its share at most.
const MOST_FIRST: f64 = 16.0;
/// By how many reactions shares move at once, at most: where few Interests of a prefix pass, Data are far apart, and each
/// tells what holds until the next.
const MOST_REACTIONS: f64 = 4.0;
/// The longest round trip that counts.
const LONGEST: Duration = Duration::from_millis(10_000);
/// Shares change at most this often, in s.
const SHORTEST: f64 = 0.005;

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Hop {
    face: FaceId,
    /// The part of the Interests that it gets.
    share: f64,
    /// Turns that it waits for.
    credit: f64,
    /// In bit/s; 0 before the first.
    level: f64,
    /// When a Data told it last.
    seen: Time,
    /// When an Interest last went there.
    asked: Option<Time>,
    /// The mean round trip.
    srtt: Option<Duration>,
}

impl Hop {
    /// A Data took `rtt`. What another next hop answered first takes that long at least.
    fn took(&mut self, rtt: Duration, at_least: bool) {
        self.srtt = Some(match self.srtt {
            Some(srtt) if at_least => srtt.max(rtt),
            Some(srtt) => srtt * 7 / 8 + rtt / 8,
            None => rtt,
        });
    }
}

/// The next hops of a prefix.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Entry {
    hops: Vec<Hop>,
    /// When shares moved last.
    changed: Time,
    /// When a next hop was last asked because it had not been for long.
    probed: Option<Time>,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Weir {
    #[state(skip)]
    params: Params,
    slots: Slots,
    longer_way: Slot,
    prefixes: Vec<Entry>,
    suppression: Suppression,
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "next hops in turns, by shares that move to where Data carry the higher level";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = weir::STRATEGY_FIELDS;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        // A share grows by exp(gain · 4) at once, which must not be infinite.
        check::number("gain", params.gain, 0.0, 100.0)?;
        check::number("breadth", params.breadth, 0.0, 1.0)?;
        check::number("first-share", params.first_share, 0.0, 1.0)?;
        check::number("least", params.least, 0.0, 0.1)?;
        check::least("reaction", params.reaction, Duration::from_millis(1))?;
        check::least("smoothing", params.smoothing, Duration::from_millis(1))?;
        params.suppression.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let suppression = Suppression::new(params.suppression.clone());
        let (slots, longer_way) = (Slots::new(env), env.slot(Field::LongerWay));
        Weir { params: params.clone(), slots, longer_way, prefixes: Vec::new(), suppression }
    }
}

impl Entry {
    /// The next among those that `may`: one that was not asked for long, or the next in turn, which are taken so that each
    /// gains its share of a turn and the one with most pays for it.
    fn turn(&mut self, now: Time, may: impl Fn(FaceId) -> bool) -> Option<FaceId> {
        let total: f64 = self.hops.iter().filter(|hop| may(hop.face)).map(|hop| hop.share).sum();
        self.hops.iter_mut().filter(|hop| may(hop.face)).for_each(|hop| hop.credit += hop.share / total);
        let next = match self.overdue(now, &may) {
            Some(probe) => probe,
            None => {
                let credit = |&i: &usize, &j: &usize| self.hops[i].credit.total_cmp(&self.hops[j].credit);
                // Of equals the first.
                (0..self.hops.len()).rev().filter(|&i| may(self.hops[i].face)).max_by(credit)?
            }
        };
        let hop = &mut self.hops[next];
        hop.credit = (hop.credit - 1.0).clamp(-MOST_CREDIT, MOST_CREDIT);
        hop.asked = Some(now);
        Some(hop.face)
    }

    /// The next hop that was asked longest ago, if that is too long.
    fn overdue(&mut self, now: Time, may: impl Fn(FaceId) -> bool) -> Option<usize> {
        if now.since(*self.probed.get_or_insert(now)) < PROBE_SPACING {
            return None;
        }
        let late = |hop: &Hop| hop.asked.is_none_or(|asked| now.since(asked) >= PROBE_AFTER);
        let overdue = (0..self.hops.len()).filter(|&i| may(self.hops[i].face) && late(&self.hops[i]));
        let first = overdue.min_by_key(|&i| self.hops[i].asked)?;
        self.probed = Some(now);
        Some(first)
    }

    /// The mean of levels by shares, each at most `most`; 0 if none is known.
    fn mean(&self, most: f64) -> f64 {
        let all = self.told();
        if all > 0.0 { self.known().map(|hop| hop.share * hop.level.min(most)).sum::<f64>() / all } else { 0.0 }
    }

    /// The sum of the shares of next hops that told a level.
    fn told(&self) -> f64 {
        self.known().map(|hop| hop.share).sum()
    }

    /// If a Data tells the first level of a next hop, its share becomes what levels say beside those of the others,
    /// without waiting for it to get there by itself.
    fn begin(&mut self, face: FaceId, level: f64) {
        let Some(first) = self.hops.iter().position(|hop| hop.face == face && hop.level == 0.0) else { return };
        let mean = self.mean(f64::MAX);
        if mean > 0.0 {
            self.hops[first].share *= (level / mean).clamp(1.0 / MOST_FIRST, MOST_FIRST);
            self.normalise();
        }
    }

    /// Moves shares of next hops that told a level, `reactions` after they moved last.
    fn shift(&mut self, params: &Params, reactions: f64) {
        // The level of a link that is free says no more than that it is higher.
        let middle = self.mean(2.0 * self.mean(f64::MAX).min(2.0 * self.low()));
        for hop in self.hops.iter_mut().filter(|hop| hop.level > 0.0) {
            let better = (hop.level / middle - 1.0).clamp(-1.0, 1.0);
            // A path is probed in proportion to what it may carry.
            let least = params.least * (hop.level / middle).clamp(LEAST_PROBES, 1.0);
            let grown = hop.share * libm::exp(params.gain * reactions * better);
            hop.share = grown.max(least.max(NEVER_NOTHING));
        }
        self.normalise();
    }

    /// Next hops that told a level.
    fn known(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(|hop| hop.level > 0.0)
    }

    /// The lowest level that, with those below it, [`SOME`] of these shares have. A next hop that is hardly asked and tells
    /// next to nothing must not hide how the others differ.
    fn low(&self) -> f64 {
        let all = self.told();
        let part = |level: f64| self.known().filter(|hop| hop.level <= level).map(|hop| hop.share).sum::<f64>();
        self.known().map(|hop| hop.level).filter(|level| part(*level) >= SOME * all).fold(f64::MAX, f64::min)
    }

    fn normalise(&mut self) {
        let total: f64 = self.hops.iter().map(|hop| hop.share).sum();
        self.hops.iter_mut().for_each(|hop| hop.share /= total);
    }

    /// The mean round trip of the longest way that is still asked.
    fn longest(&self) -> Option<Duration> {
        let last = self.hops.iter().filter_map(|hop| hop.asked).max();
        let in_use = |hop: &&Hop| hop.asked.zip(last).is_some_and(|(asked, last)| last.since(asked) < PROBE_AFTER * 2);
        self.hops.iter().filter(in_use).filter_map(|hop| hop.srtt).max()
    }

    /// By how much that exceeds the mean round trip over `face`.
    fn longer_than(&self, face: FaceId) -> Duration {
        let here = self.hops.iter().find(|hop| hop.face == face).and_then(|hop| hop.srtt);
        here.zip(self.longest()).map_or(Duration::ZERO, |(here, longest)| longest.max(here) - here)
    }

    /// Whether one of these next hops has not had its mean round trip yet. Where the way is longer than suppression lasts,
    /// another consumer's Interest would be answered twice.
    fn may_answer(&self, sent: &[OutRecord], now: Time) -> bool {
        sent.iter().any(|record| {
            let hop = self.hops.iter().find(|hop| hop.face == record.face);
            hop.and_then(|hop| hop.srtt).is_some_and(|srtt| now.since(record.sent) < srtt)
        })
    }

    /// What was sent to these next hops was not answered.
    fn weaken(&mut self, sent: &[OutRecord]) {
        for hop in self.hops.iter_mut().filter(|hop| sent.iter().any(|record| record.face == hop.face)) {
            hop.level *= AFTER_TIMEOUT;
        }
    }

    /// What was sent to these next hops is sent again. One that had time to answer twice, and from which nothing has come
    /// since, is taken for gone.
    fn doubt(&mut self, sent: &[OutRecord], now: Time) {
        for record in sent {
            let Some(hop) = self.hops.iter_mut().find(|hop| hop.face == record.face) else { continue };
            hop.level *= AFTER_RETRANSMISSION;
            if hop.seen < record.sent && hop.srtt.is_some_and(|srtt| now.since(record.sent) > srtt * 2) {
                hop.share *= AFTER_SILENCE;
            }
        }
        self.normalise();
    }
}

impl Weir {
    /// Takes a turn among these next hops; the cheapest if the prefix has none.
    fn turn(&mut self, now: Time, prefix: PrefixId, hops: impl Iterator<Item = NextHop> + Clone) -> Option<FaceId> {
        let entry = self.prefixes.get_mut(prefix.index());
        let turn = entry.and_then(|entry| entry.turn(now, |face| hops.clone().any(|hop| hop.face == face)));
        turn.or_else(|| cheapest(hops))
    }
}

impl Strategy for Weir {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if !event.pending(ctx.now) {
            match self.turn(ctx.now, event.prefix, event.eligible()) {
                Some(face) => choice.send(face),
                None => choice.reject(NackReason::NoRoute),
            }
            return;
        }
        let entry = self.prefixes.get(event.prefix.index());
        if event.arrival != Arrival::Retransmission && entry.is_some_and(|entry| entry.may_answer(event.sent, ctx.now))
        {
            return;
        }
        if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
            return;
        }
        *event.note = self.suppression.grown(*event.note);
        if event.arrival == Arrival::Retransmission
            && let Some(entry) = self.prefixes.get_mut(event.prefix.index())
        {
            entry.doubt(event.sent, ctx.now);
        }
        let unused = self.turn(ctx.now, event.prefix, event.unused(ctx.now));
        if let Some(face) = unused.or_else(|| event.used_earliest().map(|hop| hop.face)) {
            choice.send(face);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        for record in event.sent.iter().filter(|record| record.nacked.is_none()) {
            let Some(hop) = entry.hops.iter_mut().find(|hop| hop.face == record.face) else { continue };
            if record.face != event.face {
                hop.took(ctx.now.since(record.sent), true);
            } else if let Some(rtt) = event.rtt {
                hop.took(rtt, false);
            }
        }
        if entry.hops.len() < 2 {
            return;
        }
        let Some(level) = of_field(event.packet.fields.get(self.slots.rate)) else { return };
        let soft = Some(event.packet.fields.get(self.slots.soft)).filter(|soft| *soft != UNKNOWN);
        let soft = soft.and_then(of_field).unwrap_or(level).min(LENIENT * level);
        let level = level - self.params.breadth * (level - soft);
        entry.begin(event.face, level);
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
            let rtt = round_trip_of_field(event.interest_fields.get(self.slots.round_trip));
            let longest = entry.longest().map_or(rtt, |longest| rtt.max(longest.secs()));
            let reaction = self.params.reaction.secs() + 2.0 * longest.min(LONGEST.secs());
            entry.shift(&self.params, (elapsed / reaction).min(MOST_REACTIONS));
        }
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, _: &mut Ctx<'_>) {
        if let Some(entry) = self.prefixes.get_mut(event.prefix.index()) {
            entry.weaken(event.sent);
        }
    }

    fn stamp_data(&mut self, event: &DataReturn<'_>, fields: &mut Fields) {
        let Some(entry) = self.prefixes.get(event.prefix.index()).filter(|entry| entry.hops.len() > 1) else { return };
        longer_way::stamp(fields, self.longer_way, entry.longer_than(event.face));
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], ctx: &mut Ctx<'_>) {
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Entry::default);
        }
        let cheapest = hops.iter().map(|hop| hop.cost).min();
        let first = self.params.first_share.max(NEVER_NOTHING);
        let fresh = |hop: &NextHop| {
            let share = if Some(hop.cost) == cheapest { 1.0 } else { first };
            Hop { face: hop.face, share, credit: 0.0, level: 0.0, seen: ctx.now, asked: None, srtt: None }
        };
        let entry = &mut self.prefixes[prefix.index()];
        let known = |hop: &NextHop| entry.hops.iter().find(|known| known.face == hop.face).copied();
        entry.hops = hops.iter().map(|hop| known(hop).unwrap_or_else(|| fresh(hop))).collect();
        entry.normalise();
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        let entry = self.prefixes.get(prefix.index());
        let share = |hop: &NextHop| entry?.hops.iter().find(|known| known.face == hop.face).map(|known| known.share);
        out.extend(hops.iter().map(|hop| share(hop).unwrap_or(0.0)));
    }
}

#[cfg(test)]
mod tests;

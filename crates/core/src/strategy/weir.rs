//! `weir`: shares per next hop that move towards the higher level, served in turns.
//!
//! Source: ours. What moves shares is what the meter [`crate::meter::weir`] writes into Data; shares grow in proportion
//! to themselves and to how far a next hop's level is above the mean, as in replicator dynamics and, with windows, in
//! MPTCP's coupling. Serving in turns is smooth weighted round robin: drawn splits queue more than counted ones. Where a
//! neighbour tells no level it is [`super::overflow`].

mod entry;
mod hop;
mod open;
mod round;
mod swing;
mod untold;

use super::overflow::{self, Overflow};
use super::shares::cheapest;
use super::{
    Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Strategy, TimeoutEvent, process_nack,
};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::{FaceId, PrefixId};
use crate::packet::{Kind, NackReason, Packet};
use crate::shared::explicit::{NO_PACE, end_of_field, round_trip_of_field, to_field};
use crate::shared::longer_way;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::shared::weir::{self, Slots};
use crate::units::{Duration, Time};
use entry::{Entry, NEVER_NOTHING};
use hop::{Hop, Turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swing::Swings;
use untold::Told;

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// By which part of itself a share moves per reaction, for a next hop whose level is twice the mean.
    pub gain: f64,
    /// The part of their speed that shares keep at each turn of a swing that does not die away; 1 for all.
    pub damping: f64,
    /// How long routers and this node take to see what a share did; two round trips come on top.
    pub reaction: Duration,
    /// The share at first of a next hop that is not the cheapest, over that of the cheapest. Where few Interests pass it
    /// would take minutes to find what such a next hop can carry if it began with the least share.
    pub first_share: f64,
    /// Whether next hops that are not the cheapest get Interests while one of these answers.
    pub dearer: bool,
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
            gain: 1.6,
            damping: 0.7,
            reaction: Duration::from_millis(150),
            first_share: 0.2,
            dearer: true,
            least: 0.01,
            breadth: 0.5,
            smoothing: Duration::from_millis(50),
            suppression,
        }
    }
}

/// By how many reactions shares move at once, at most: where few Interests of a prefix pass, Data are far apart, and each
/// tells what holds until the next.
const MOST_REACTIONS: f64 = 4.0;
/// The longest round trip that counts.
const LONGEST: Duration = Duration::from_millis(10_000);
/// Shares change at most this often, in s.
const SHORTEST: f64 = 0.005;

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Weir {
    #[state(skip)]
    params: Params,
    slots: Slots,
    longer_way: Slot,
    prefixes: Vec<Entry>,
    suppression: Suppression,
    /// For prefixes with a next hop that tells no level.
    fallback: Overflow,
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
        check::number("damping", params.damping, 0.1, 1.0)?;
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
        let shared = overflow::Params { suppression: params.suppression.clone(), ..overflow::Params::default() };
        let fallback = Overflow::new(&shared, env);
        Weir { params: params.clone(), slots, longer_way, prefixes: Vec::new(), suppression, fallback }
    }
}

impl Weir {
    /// Takes a turn among the eligible next hops of an Interest that are `free`; the cheapest if the prefix has none.
    fn turn(
        &mut self,
        now: Time,
        event: &InterestArrival<'_>,
        free: impl Fn(&NextHop) -> bool,
        left: Option<Duration>,
    ) -> Option<Turn> {
        let may = |hop: &NextHop| hop.face != event.in_face && free(hop);
        let (entry, dearer) = (self.prefixes.get_mut(event.prefix.index()), self.params.dearer);
        let turn = entry.and_then(|entry| {
            let most = left.and_then(|left| entry.time_for(now, left));
            entry.turn(now, most, dearer, |i, face| match event.hops.get(i) {
                // As a rule both have the same order.
                Some(hop) if hop.face == face => may(hop),
                _ => event.hops.iter().any(|hop| hop.face == face && may(hop)),
            })
        });
        turn.or_else(|| {
            cheapest(event.hops.iter().copied().filter(may)).map(|face| Turn { face, is_first: false, copy: None })
        })
    }

    fn falls_back(&self, prefix: PrefixId) -> bool {
        self.prefixes.get(prefix.index()).is_some_and(Entry::falls_back)
    }

    /// The prefix falls back now, to windows that begin, or no longer: levels go on from the shares that windows had.
    fn change_over(&mut self, prefix: PrefixId, hops: &[NextHop], ctx: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(prefix.index()) else { return };
        if entry.falls_back() {
            self.fallback.on_next_hops(prefix, hops, ctx);
            return;
        }
        let mut shares = Vec::new();
        self.fallback.shares(prefix, hops, &mut shares);
        entry.begin_again(hops.iter().map(|hop| hop.face).zip(shares));
        self.fallback.on_next_hops(prefix, &[], ctx);
    }
}

impl Strategy for Weir {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if self.falls_back(event.prefix) {
            self.fallback.on_interest(event, choice, ctx);
            return;
        }
        if !event.pending(ctx.now) {
            let left = end_of_field(event.packet.fields.get(self.slots.round_trip)).map(Duration::from_secs_f64);
            match self.turn(ctx.now, event, |_| true, left) {
                Some(turn) => {
                    turn.send(choice);
                    if turn.is_first {
                        choice.stamp(self.slots.rate, to_field(NO_PACE));
                    }
                }
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
        // What goes once more to one that is silent alone would be lost again; but it may be the only one that has it.
        let entry = self.prefixes.get(event.prefix.index());
        let silent = |face| entry.is_some_and(|entry| entry.is_silent(face, ctx.now));
        let answering = || event.eligible().filter(|hop| !silent(hop.face));
        let had_it_once = answering().filter_map(|hop| event.record(hop.face)).filter(|record| !record.resent());
        let again = had_it_once.min_by_key(|record| record.sent);
        let any_unused = answering().any(|hop| event.is_unused(hop.face, ctx.now));
        if let Some(record) = again.filter(|_| !any_unused) {
            choice.send(record.face);
        } else if let Some(turn) = self.turn(ctx.now, event, |hop| event.is_unused(hop.face, ctx.now), None) {
            turn.send(choice);
        } else if let Some(hop) = event.used_earliest() {
            choice.send(hop.face);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        for record in event.sent.iter().filter(|record| record.nacked.is_none()) {
            let Some(hop) = entry.hops.iter_mut().find(|hop| hop.face == record.face) else { continue };
            if record.face != event.face {
                hop.overtaken(record.sent, ctx.now);
                continue;
            }
            hop.came();
            if let Some(rtt) = event.rtt {
                hop.answered(ctx.now, rtt, event.packet.mark > 0);
            }
        }
        if entry.hops.len() < 2 {
            return;
        }
        if entry.count_untold(event.face, Told::by(event, self.slots)) {
            self.change_over(event.prefix, event.hops, ctx);
        }
        if self.falls_back(event.prefix) {
            self.fallback.on_data(event, ctx);
            return;
        }
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        entry.longer = entry.longer_than(ctx.now, event.face);
        if !entry.hear(ctx.now, event.face, &event.packet.fields, self.slots, &self.params) {
            return;
        }
        let elapsed = ctx.now.since(entry.changed).secs();
        if elapsed >= SHORTEST {
            entry.changed = ctx.now;
            let rtt = round_trip_of_field(event.interest_fields.get(self.slots.round_trip));
            let longest = entry.longest(ctx.now).map_or(rtt, |longest| rtt.max(longest.secs()));
            let reaction = self.params.reaction.secs() + 2.0 * longest.min(LONGEST.secs());
            if entry.begun.is_none_or(|begun| ctx.now.since(begun).secs() >= reaction) {
                entry.shift(&self.params, (elapsed / reaction).min(MOST_REACTIONS));
            }
        }
    }

    fn propagate_mark(&mut self, event: &DataReturn<'_>, downstream: FaceId, ctx: &mut Ctx<'_>) -> u8 {
        if self.falls_back(event.prefix) {
            return self.fallback.propagate_mark(event, downstream, ctx);
        }
        let entry = self.prefixes.get(event.prefix.index());
        if entry.is_some_and(|entry| entry.keeps_mark(ctx.now, event.face)) { 0 } else { event.packet.mark }
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if self.falls_back(event.prefix) {
            self.fallback.on_nack(event, choice, ctx);
            return;
        }
        if event.packet.reason == NackReason::NoRoute
            && let Some(entry) = self.prefixes.get_mut(event.prefix.index())
            && let Some(hop) = entry.hops.iter_mut().find(|hop| hop.face == event.face)
            && let Some(record) = event.sent.iter().find(|record| record.face == event.face)
        {
            hop.refused(record.sent, ctx.now);
        }
        process_nack(event, choice);
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        if self.falls_back(event.prefix) {
            self.fallback.on_timeout(event, ctx);
            return;
        }
        if let Some(entry) = self.prefixes.get_mut(event.prefix.index()) {
            entry.weaken(event.sent);
        }
    }

    fn on_late(&mut self, packet: &Packet, face: FaceId, prefix: PrefixId, ctx: &mut Ctx<'_>) {
        if self.falls_back(prefix) {
            self.fallback.on_late(packet, face, prefix, ctx);
            return;
        }
        // What a long way answers after others were asked again is the first that it tells.
        let Some(entry) = self.prefixes.get_mut(prefix.index()).filter(|entry| entry.hops.len() > 1) else { return };
        let Some(hop) = entry.hops.iter_mut().find(|hop| hop.face == face) else { return };
        if packet.kind != Kind::Data {
            return;
        }
        // So it does answer, as a copy for one that was gone shows.
        let sent = if hop.is_gone(ctx.now) { hop.asked } else { hop.tried };
        hop.came();
        if hop.level > 0.0 {
            return;
        }
        let Some(sent) = sent else { return };
        hop.took(ctx.now.since(sent), true);
        entry.hear(ctx.now, face, &packet.fields, self.slots, &self.params);
    }

    fn on_rejection(&mut self, packet: &Packet, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        if self.falls_back(prefix) {
            self.fallback.on_rejection(packet, prefix, face, ctx);
        }
    }

    fn stamp_data(&mut self, event: &DataReturn<'_>, fields: &mut Fields) {
        if self.falls_back(event.prefix) {
            self.fallback.stamp_data(event, fields);
            return;
        }
        let Some(entry) = self.prefixes.get(event.prefix.index()).filter(|entry| entry.hops.len() > 1) else { return };
        longer_way::stamp(fields, self.longer_way, entry.longer);
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], ctx: &mut Ctx<'_>) {
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Entry::default);
        }
        let cheapest = hops.iter().map(|hop| hop.cost).min();
        let first = self.params.first_share.max(NEVER_NOTHING);
        let fresh = |hop: &NextHop| {
            let share = if Some(hop.cost) == cheapest { 1.0 } else { first };
            Hop::new(*hop, share, ctx.now)
        };
        let entry = &mut self.prefixes[prefix.index()];
        let known = |hop: &NextHop| {
            let mut known = *entry.hops.iter().find(|known| known.face == hop.face)?;
            known.cost = hop.cost;
            Some(known)
        };
        let is_same = entry.hops.len() == hops.len() && hops.iter().all(|hop| known(hop).is_some());
        entry.hops = hops.iter().map(|hop| known(hop).unwrap_or_else(|| fresh(hop))).collect();
        if !is_same {
            // What swung may have been another way.
            entry.swings = Swings::default();
        }
        entry.asked_until = Time::ZERO;
        entry.normalise();
        if entry.judge() {
            self.change_over(prefix, hops, ctx);
        } else if entry.falls_back() {
            self.fallback.on_next_hops(prefix, hops, ctx);
        }
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        if self.falls_back(prefix) {
            self.fallback.shares(prefix, hops, out);
            return;
        }
        let entry = self.prefixes.get(prefix.index());
        let share = |hop: &NextHop| entry?.hops.iter().find(|known| known.face == hop.face).map(|known| known.share);
        out.extend(hops.iter().map(|hop| share(hop).unwrap_or(0.0)));
    }
}

#[cfg(test)]
mod tests;

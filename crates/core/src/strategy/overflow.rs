//! `overflow`: the nearest of the cheapest next hops, and the next one for what does not fit.
//!
//! Of the next hops of least cost each has a window of Interests, which Data let grow as long as it is filled and marks
//! cut. An Interest goes to the nearest while most of its window is free, and else to the one whose window is filled
//! least. A mark goes on downstream only when no other next hop takes more: until then the strategy has reacted to it by
//! moving traffic, and the consumer need not. So no rate of a link has to be known. With one next hop, and for
//! retransmissions, it is `best-route`.
//!
//! A next hop that has left three Interests since its last Data unanswered gets no more, but a copy of one each second,
//! until it answers. Data say how much longer the longest way in use is ([`Field::LongerWay`]), so that a consumer does not take
//! what comes by it for lost.
//!
//! Source: ours. Windows per next hop are those of [`super::b_icp`] and of MPTCP's subflows; that a branching router
//! reacts before the consumer is PCON's (Schneider et al., ICN 2016, §5).

mod hop;

use super::{
    DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, OutRecord, Strategy, TimeoutEvent,
    process_nack,
};
use crate::check;
use crate::component::{Component, Env};
use crate::consumer::MAX_WINDOW;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::{FaceId, NameId, PrefixId};
use crate::packet::{Kind, NackReason, Packet, flags};
use crate::shared::longer_way;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::units::{Duration, Time};
use hop::Hop;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Overflow`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window of a next hop, in Interests.
    pub initial_window: f64,
    /// By how much each Data lets a filled window grow until the first mark.
    pub start: f64,
    /// The same afterwards.
    pub growth: f64,
    /// The most that a mark leaves away: it multiplies the window by this or more.
    pub beta: f64,
    /// The largest window.
    pub most: f64,
    /// Up to which part of its window the nearest next hop gets all Interests.
    pub light: f64,
    /// For how many round trips after a mark a next hop counts as full.
    pub patience: f64,
    /// When retransmissions are not forwarded; NFD's best-route.
    pub suppression: SuppressionParams,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 8.0,
            start: 0.5,
            growth: 0.1,
            beta: 0.8,
            most: MAX_WINDOW,
            light: 0.5,
            patience: 8.0,
            suppression: SuppressionParams::default(),
        }
    }
}

/// The next hops of a prefix; none if it has only one.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Entry {
    hops: Vec<Hop>,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Overflow {
    #[state(skip)]
    params: Params,
    longer_way: Slot,
    prefixes: Vec<Entry>,
    suppression: Suppression,
}

impl Component for Overflow {
    const NAME: &'static str = "overflow";
    const SUMMARY: &'static str = "the nearest of the cheapest next hops; what does not fit goes to the others";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = &[Field::LongerWay];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("initial-window", params.initial_window, 1.0, MAX_WINDOW)?;
        check::number("start", params.start, 0.0, 1.0)?;
        check::number("growth", params.growth, 0.0, 1.0)?;
        check::factor("beta", params.beta)?;
        check::number("most", params.most, params.initial_window, MAX_WINDOW)?;
        check::number("light", params.light, 0.0, 1.0)?;
        check::number("patience", params.patience, 0.0, 1000.0)?;
        params.suppression.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Overflow {
        let suppression = Suppression::new(params.suppression.clone());
        Overflow { params: params.clone(), longer_way: env.slot(Field::LongerWay), prefixes: Vec::new(), suppression }
    }
}

/// Where an Interest goes.
#[derive(Clone, Copy)]
struct Chosen {
    face: FaceId,
    /// The silent next hop that gets a copy, to show whether it answers.
    copy: Option<FaceId>,
}

impl Chosen {
    fn send(self, choice: &mut ForwardingDecision) {
        choice.send(self.face);
        if let Some(copy) = self.copy {
            choice.probe(copy);
        }
    }
}

impl Entry {
    fn hop(&mut self, face: FaceId) -> Option<&mut Hop> {
        self.hops.iter_mut().find(|hop| hop.face == face)
    }

    /// The hop for the next Interest among those that `may`: one that has to show how it answers, the nearest that is
    /// hardly filled, or the least filled. Those that are silent come last: while another answers they get copies alone,
    /// since an Interest that waits for them is the consumer's loss.
    fn choose(&self, light: f64, may: impl Fn(FaceId) -> bool, several: bool, now: Time) -> Option<Chosen> {
        let usable = || self.hops.iter().filter(|hop| may(hop.face));
        let due = || usable().filter(|hop| several && hop.probe_due(now));
        let answered = usable().any(|hop| hop.answers(now));
        if let Some(probed) = due().find(|hop| !(answered && hop.is_silent(now))) {
            return Some(Chosen { face: probed.face, copy: None });
        }
        let any_live = usable().any(|hop| !hop.is_silent(now));
        let candidates = || usable().filter(|hop| !any_live || !hop.is_silent(now));
        let nearest = candidates().min_by_key(|hop| hop.srtt.unwrap_or_default());
        let filled = |a: &&Hop, b: &&Hop| a.fill(now).total_cmp(&b.fill(now));
        let hop = nearest.filter(|hop| hop.fill(now) < light).or_else(|| candidates().min_by(filled))?;
        Some(Chosen { face: hop.face, copy: due().next().map(|silent| silent.face) })
    }

    /// Whether an Interest of this name went to one next hop alone to show how that answers, which still has time.
    fn waits_for(&self, name: NameId, now: Time) -> bool {
        let answered = self.hops.iter().any(|hop| hop.answers(now));
        self.hops.iter().any(|hop| hop.is_probed_by(name, now) && !(answered && hop.is_silent(now)))
    }

    /// Whether this next hop is silent.
    fn is_silent(&self, face: FaceId, now: Time) -> bool {
        self.hops.iter().any(|hop| hop.face == face && hop.is_silent(now))
    }

    /// The Interest goes to `face`. `probes`: another next hop could answer it.
    fn sent(&mut self, event: &InterestArrival<'_>, face: FaceId, probes: bool, now: Time) {
        let before = event.record(face).map(|record| record.sent);
        if let Some(hop) = self.hop(face) {
            hop.sent(event.packet.name, before, probes, now);
        }
    }

    /// The next hops of the same cost as this one, which it shares Interests with.
    fn peers(&self, face: FaceId) -> impl Iterator<Item = &Hop> {
        let cost = self.hops.iter().find(|hop| hop.face == face).map(|hop| hop.cost);
        self.hops.iter().filter(move |hop| Some(hop.cost) == cost)
    }

    /// Whether no next hop but this one takes more.
    fn is_full_but(&self, face: FaceId, params: &Params, now: Time) -> bool {
        !self.peers(face).any(|hop| hop.face != face && hop.takes_more(params, now))
    }

    /// By how much the mean round trip of the longest way in use exceeds that over `face`.
    fn longer_than(&self, face: FaceId) -> Duration {
        let mean = |hop: &Hop| hop.srtt.filter(|_| !hop.has_gone());
        let here = self.peers(face).find(|hop| hop.face == face).and_then(mean);
        let longest = self.peers(face).filter_map(mean).max();
        here.zip(longest).map_or(Duration::ZERO, |(here, longest)| longest - here)
    }

    /// These were sent and will not be answered.
    fn lose(&mut self, sent: &[OutRecord], now: Time) {
        for record in sent.iter().filter(|record| record.nacked.is_none()) {
            if let Some(hop) = self.hop(record.face) {
                hop.lose(record.sent, now);
            }
        }
    }
}

impl Overflow {
    /// The next hop among those of least cost that are not all silent, to which the Interest now goes. `again`: it is pending,
    /// and silent ones are left out.
    fn choose(
        &mut self,
        event: &InterestArrival<'_>,
        hops: impl Iterator<Item = NextHop> + Clone,
        again: bool,
        now: Time,
    ) -> Option<Chosen> {
        let mut entry = self.prefixes.get_mut(event.prefix.index()).filter(|entry| !entry.hops.is_empty());
        let silent = |hop: &NextHop| entry.as_ref().is_some_and(|entry| entry.is_silent(hop.face, now));
        let hops = hops.filter(|hop| !(again && silent(hop)));
        let live = hops.clone().filter(|hop| !silent(hop)).map(|hop| hop.cost).min();
        let least = live.or_else(|| hops.clone().map(|hop| hop.cost).min())?;
        // What is cheaper is silent: it may get a copy.
        let cheapest = hops.filter(|hop| hop.cost <= least);
        let first = Chosen { face: cheapest.clone().next()?.face, copy: None };
        let Some(known) = entry.as_ref() else { return Some(first) };
        let may = |face| cheapest.clone().any(|hop| hop.face == face);
        let several = cheapest.clone().nth(1).is_some();
        let chosen = known.choose(self.params.light, may, several, now).unwrap_or(first);
        if let Some(entry) = &mut entry {
            entry.sent(event, chosen.face, several, now);
            if let Some(copy) = chosen.copy {
                entry.sent(event, copy, true, now);
            }
        }
        Some(chosen)
    }

    /// Where an Interest goes once more that went to all next hops but silent ones: where it was sent the longest time
    /// ago.
    fn again(&mut self, event: &InterestArrival<'_>, now: Time) -> Option<Chosen> {
        let entry = self.prefixes.get_mut(event.prefix.index());
        let silent = |face| entry.as_ref().is_some_and(|entry| entry.is_silent(face, now));
        let live = event.eligible().filter(|hop| event.record(hop.face).is_some() && !silent(hop.face));
        let live = live.min_by_key(|hop| event.record(hop.face).map(|record| record.sent));
        let face = match live {
            Some(hop) => hop.face,
            None if event.unused(now).next().is_some() => return None,
            None => event.used_earliest()?.face,
        };
        if let Some(entry) = entry {
            entry.sent(event, face, false, now);
        }
        Some(Chosen { face, copy: None })
    }
}

impl Strategy for Overflow {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if !event.pending(ctx.now) {
            match self.choose(event, event.eligible(), false, ctx.now) {
                Some(chosen) => chosen.send(choice),
                None => choice.reject(NackReason::NoRoute),
            }
            return;
        }
        let entry = self.prefixes.get(event.prefix.index());
        if entry.is_some_and(|entry| entry.waits_for(event.packet.name, ctx.now)) {
            return;
        }
        if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
            return;
        }
        *event.note = self.suppression.grown(*event.note);
        let unused = self.choose(event, event.unused(ctx.now), true, ctx.now);
        let live = unused.or_else(|| self.again(event, ctx.now));
        if let Some(chosen) = live.or_else(|| self.choose(event, event.unused(ctx.now), false, ctx.now)) {
            chosen.send(choice);
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Some(entry) = self.prefixes.get_mut(event.prefix.index()) else { return };
        for record in event.sent.iter().filter(|record| record.nacked.is_none()) {
            let Some(hop) = entry.hop(record.face) else { continue };
            if record.face == event.face {
                hop.answered(record.sent, event.rtt, &self.params, ctx.now);
                if event.packet.mark > 0 {
                    hop.marked(&self.params, ctx.now);
                }
            } else {
                hop.overtaken(record.sent, ctx.now);
            }
        }
    }

    fn propagate_mark(&mut self, event: &DataReturn<'_>, _: FaceId, ctx: &mut Ctx<'_>) -> u8 {
        let mark = event.packet.mark;
        let Some(entry) = self.prefixes.get(event.prefix.index()).filter(|_| mark > 0) else { return mark };
        if entry.is_full_but(event.face, &self.params, ctx.now) {
            return mark;
        }
        ctx.trace.record(ctx.now, "mark-held-back", u64::from(event.face.0), 1.0);
        0
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if let Some(entry) = self.prefixes.get_mut(event.prefix.index())
            && let Some(record) = event.sent.iter().find(|record| record.face == event.face)
            && let Some(hop) = entry.hop(event.face)
        {
            match event.packet.reason {
                NackReason::Congestion => {
                    hop.forget(record.sent, ctx.now);
                    hop.marked(&self.params, ctx.now);
                }
                NackReason::Duplicate => hop.forget(record.sent, ctx.now),
                _ => hop.lose(record.sent, ctx.now),
            }
        }
        process_nack(event, choice);
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) {
        if let Some(entry) = self.prefixes.get_mut(event.prefix.index()) {
            entry.lose(event.sent, ctx.now);
        }
    }

    /// Another next hop has answered: the copy of a silent one shows that it answers again.
    fn on_late(&mut self, packet: &Packet, face: FaceId, prefix: PrefixId, ctx: &mut Ctx<'_>) {
        let hop = self.prefixes.get_mut(prefix.index()).and_then(|entry| entry.hop(face));
        if let Some(hop) = hop.filter(|_| packet.kind == Kind::Data) {
            let once = !packet.has(flags::LINK_RETRANSMITTED);
            hop.answered_late(packet.name, once, &self.params, ctx.now);
        }
    }

    fn on_rejection(&mut self, _: &Packet, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        if let Some(hop) = self.prefixes.get_mut(prefix.index()).and_then(|entry| entry.hop(face)) {
            hop.forget(ctx.now, ctx.now);
        }
    }

    fn stamp_data(&mut self, event: &DataReturn<'_>, fields: &mut Fields) {
        let Some(entry) = self.prefixes.get(event.prefix.index()).filter(|entry| !entry.hops.is_empty()) else {
            return;
        };
        longer_way::stamp(fields, self.longer_way, entry.longer_than(event.face));
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Entry::default);
        }
        let entry = &mut self.prefixes[prefix.index()];
        let several = hops.iter().filter(|_| hops.len() > 1);
        let known = |next: &NextHop| {
            let mut known = entry.hops.iter().find(|known| known.face == next.face)?.clone();
            known.cost = next.cost;
            Some(known)
        };
        entry.hops = several.map(|next| known(next).unwrap_or_else(|| Hop::new(*next, &self.params))).collect();
    }

    /// The windows, as parts of their sum.
    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        let Some(entry) = self.prefixes.get(prefix.index()).filter(|entry| !entry.hops.is_empty()) else { return };
        let least = hops.iter().map(|hop| hop.cost).min();
        let window = |hop: &NextHop| {
            let known = entry.hops.iter().find(|known| known.face == hop.face && Some(hop.cost) == least);
            known.map_or(0.0, Hop::window)
        };
        let sum: f64 = hops.iter().map(window).sum();
        out.extend(hops.iter().map(|hop| window(hop) / sum));
    }
}

#[cfg(test)]
mod tests;

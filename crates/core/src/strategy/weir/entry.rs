//! The next hops of a prefix: whose turn it is, what they tell, and how their shares move.

use super::super::OutRecord;
use super::Params;
use super::hop::{GONE, Hop, Turn};
use super::swing::Swings;
use crate::fields::Fields;
use crate::ids::FaceId;
use crate::shared::explicit::of_field;
use crate::shared::weir::{OPEN, Slots, UNKNOWN};
use crate::units::{Duration, Time};

/// The part of the shares whose lowest level bounds what others count as.
const SOME: f64 = 0.1;
/// The least share of a path whose level is low, over that of others.
const LEAST_PROBES: f64 = 0.05;
/// Shares are positive, so that they have a sum.
pub(super) const NEVER_NOTHING: f64 = 1e-9;
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
/// The soft least counts as no more least levels. It is more than one where nothing on the path bounds this flow, or where
/// what does is a link that the Data of others fill and Interests alone would pass: a link that is free has a level that
/// says no more than that. Fitted, with the fourth root of it that counts, among 2, 3, 4, 5 and 10.
const MOST_SOFT: f64 = 4.0;
/// By how much the first level of a next hop changes its share at most.
const MOST_FIRST: f64 = 16.0;
/// Levels of next hops that told their first less than so long ago are compared by that (ours).
const BEGINNING: Duration = Duration::from_millis(1000);

/// By so much the part that a next hop gets moves with each Interest.
const TURN: f64 = 1.0 / 64.0;

/// What the level of a path counts as, of its least and its soft least. A flow that the path does not bound is told what it
/// can reach at once, which is the same on many paths; the soft least says which of them others need. It moves shares the
/// less the farther it is from what this flow has: the whole of it makes shares run to links that are free, and they lose.
fn counted(least: f64, soft: f64, breadth: f64) -> f64 {
    if soft > least { least * (soft / least).min(MOST_SOFT).sqrt().sqrt() } else { least - breadth * (least - soft) }
}

/// The next hops of a prefix.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Entry {
    pub(super) hops: Vec<Hop>,
    /// When shares moved last.
    pub(super) changed: Time,
    /// When a first level moved them last. They rest for a reaction then: until counts have followed, levels still tell of
    /// the shares before.
    pub(super) begun: Option<Time>,
    /// When a next hop was last asked because it had not been for long.
    probed: Option<Time>,
    /// Until then all were asked within [`PROBE_AFTER`].
    #[state(skip)]
    pub(super) asked_until: Time,
    /// How much longer other ways take than the last Data.
    pub(super) longer: Duration,
    pub(super) swings: Swings,
    /// See [`Entry::falls_back`].
    pub(super) falls_back: bool,
}

impl Entry {
    /// The next among those that `may`, by their place here and face: one that was not asked for long, or the next in
    /// turn, which are taken so that each gains its share of a turn and the one with most pays for it. None that takes more
    /// than `most`, if one does not; none that costs more than the cheapest that is not gone, unless `dearer`.
    pub(super) fn turn(
        &mut self,
        now: Time,
        most: Option<Duration>,
        dearer: bool,
        may: impl Fn(usize, FaceId) -> bool,
    ) -> Option<Turn> {
        if let [only] = &mut self.hops[..]
            && most.is_none()
            && !only.was_open
            && may(0, only.face)
        {
            only.may = true;
            // What it gains of a turn is all of it.
            only.credit += 1.0;
            if now >= self.asked_until {
                self.overdue(now);
            }
            return Some(self.hops[0].take(now, None));
        }
        let (mut are_limited, mut any_gone, mut any_unproven, mut total) = (false, false, false, 0.0);
        for (i, hop) in self.hops.iter_mut().enumerate() {
            are_limited |= hop.was_open;
            hop.may = may(i, hop.face);
            any_gone |= hop.may && hop.is_gone(now);
            any_unproven |= hop.may && hop.has_to_answer();
            total += if hop.may { hop.share } else { 0.0 };
        }
        if !dearer {
            self.leave_out_dearer(now);
        }
        let copy = if any_gone { self.leave_out_gone(now) } else { None };
        if any_unproven {
            self.leave_out_unproven(now);
        }
        if are_limited || any_gone || any_unproven || !dearer || most.is_some() {
            self.narrow(now, are_limited, most);
            total = self.hops.iter().filter(|hop| hop.may).map(|hop| hop.share).sum();
        }
        let mut most_credit: Option<(usize, f64)> = None;
        for (i, hop) in self.hops.iter_mut().enumerate().filter(|(_, hop)| hop.may) {
            hop.credit += hop.share / total;
            // Of equals the first.
            if most_credit.is_none_or(|(_, most)| hop.credit.total_cmp(&most).is_gt()) {
                most_credit = Some((i, hop.credit));
            }
        }
        let overdue = if now < self.asked_until { None } else { self.overdue(now) };
        let next = overdue.or(most_credit.map(|(i, _)| i))?;
        self.hops[next].count_asked();
        if are_limited {
            self.hops.iter_mut().for_each(|hop| hop.part *= 1.0 - TURN);
            let hop = &mut self.hops[next];
            hop.part += TURN;
            hop.round.ask(now, hop.srtt);
        }
        Some(self.hops[next].take(now, copy))
    }

    /// Those that cost more than the cheapest that may and is not gone may not.
    fn leave_out_dearer(&mut self, now: Time) {
        let least = self.hops.iter().filter(|hop| hop.may && !hop.is_gone(now)).map(|hop| hop.cost).min();
        self.hops.iter_mut().for_each(|hop| hop.may &= least.is_none_or(|least| hop.cost <= least));
    }

    /// While another may, those that are gone may not; the one among them that gets a copy now, to show whether it
    /// answers again. An Interest for it alone would be the consumer's loss.
    #[inline(never)]
    fn leave_out_gone(&mut self, now: Time) -> Option<FaceId> {
        if !self.hops.iter().any(|hop| hop.may && !hop.is_gone(now)) {
            return None;
        }
        let mut copy = None;
        for hop in self.hops.iter_mut().filter(|hop| hop.may && hop.is_gone(now)) {
            hop.may = false;
            if copy.is_none() && hop.asked.is_none_or(|asked| now.since(asked) >= GONE) {
                hop.asked = Some(now);
                copy = Some(hop.face);
            }
        }
        copy
    }

    /// While another answers, those from which nothing ever came may not, if they have been asked enough.
    #[inline(never)]
    fn leave_out_unproven(&mut self, now: Time) {
        if self.hops.iter().any(|hop| hop.may && hop.has_answered() && !hop.is_gone(now)) {
            self.hops.iter_mut().for_each(|hop| hop.may &= !hop.has_to_answer());
        }
    }

    /// Of those that may, ways without room do not while others answer, nor those that take too long, if one does not.
    #[inline(never)]
    fn narrow(&mut self, now: Time, are_limited: bool, most: Option<Duration>) {
        let has_room = |hop: &Hop| !are_limited || !hop.has_none() || hop.round.has_room(now, hop.srtt);
        // Not to one that fell silent.
        if self.hops.iter().any(|hop| hop.may && has_room(hop) && hop.answers(now)) {
            self.hops.iter_mut().for_each(|hop| hop.may &= has_room(hop));
        }
        let in_time = |hop: &Hop| most.is_none_or(|most| hop.srtt.is_some_and(|srtt| srtt <= most));
        if self.hops.iter().any(|hop| hop.may && in_time(hop)) {
            self.hops.iter_mut().for_each(|hop| hop.may &= in_time(hop));
        }
    }

    /// The next hop that was asked longest ago, if that is too long; none is until [`Entry::asked_until`].
    #[inline(never)]
    fn overdue(&mut self, now: Time) -> Option<usize> {
        if now.since(*self.probed.get_or_insert(now)) < PROBE_SPACING {
            return None;
        }
        let late = |hop: &Hop| hop.asked.is_none_or(|asked| now.since(asked) >= PROBE_AFTER);
        let overdue = (0..self.hops.len()).filter(|&i| self.hops[i].may && late(&self.hops[i]));
        let first = overdue.min_by_key(|&i| self.hops[i].asked);
        match first {
            Some(_) => self.probed = Some(now),
            None => {
                let asked = self.hops.iter().map(|hop| hop.asked).min().flatten();
                self.asked_until = asked.map_or(Time::ZERO, |asked| asked + PROBE_AFTER);
            }
        }
        first
    }

    /// The mean by shares of what next hops that told a level count as; 0 if none has.
    fn mean(&self, of: impl Fn(&Hop) -> f64) -> f64 {
        let all = self.told();
        if all > 0.0 { self.known().map(|hop| hop.share * of(hop)).sum::<f64>() / all } else { 0.0 }
    }

    /// The sum of the shares of next hops that told a level.
    fn told(&self) -> f64 {
        self.known().map(|hop| hop.share).sum()
    }

    /// A Data from `face` tells the level of its way; whether it says one.
    pub(super) fn hear(&mut self, now: Time, face: FaceId, fields: &Fields, slots: Slots, params: &Params) -> bool {
        if fields.get(slots.rate) == OPEN {
            return self.guess(now, face);
        }
        let Some(least) = of_field(fields.get(slots.rate)) else { return false };
        let soft = Some(fields.get(slots.soft)).filter(|soft| *soft != UNKNOWN);
        let soft = soft.and_then(of_field).unwrap_or(least);
        let level = counted(least, soft, params.breadth);
        let Some(at) = self.hops.iter().position(|hop| hop.face == face) else { return true };
        if self.hops[at].end_guess() {
            self.end_open(now, face, soft);
        } else if self.hops[at].level == 0.0 {
            self.begin(now, at, level, least);
        }
        if let Some(hop) = self.hops.get_mut(at) {
            let since = now.since(hop.seen).secs();
            let gain = if hop.level > 0.0 { since / (since + params.smoothing.secs()) } else { 1.0 };
            hop.level += gain * (level - hop.level);
            hop.seen = now;
        }
        true
    }

    /// If a Data tells the first level of a next hop, its share becomes what levels say beside those of the others,
    /// without waiting for it to get there by itself. Of those that have begun but now the first levels are compared,
    /// which are what as many flows could have.
    fn begin(&mut self, now: Time, new: usize, level: f64, least: f64) {
        let beside = |hop: &Hop| match hop.first {
            Some((at, first)) if now.since(at) < BEGINNING => level * first / least,
            _ => hop.level,
        };
        let mean = self.mean(beside);
        self.hops[new].first = Some((now, least));
        if mean > 0.0 {
            self.begun = Some(now);
            self.hops[new].share *= (level / mean).clamp(1.0 / MOST_FIRST, MOST_FIRST);
            self.normalise();
        }
    }

    /// Moves shares of next hops that told a level, `reactions` after they moved last.
    pub(super) fn shift(&mut self, params: &Params, reactions: f64) {
        // The level of a link that is free says no more than that it is higher.
        let most = 2.0 * self.mean(|hop| hop.level).min(2.0 * self.low());
        let middle = self.mean(|hop| hop.level.min(most));
        let gain = params.gain * self.swings.speed();
        for hop in self.hops.iter_mut().filter(|hop| hop.level > 0.0) {
            let better = (hop.level / middle - 1.0).clamp(-1.0, 1.0);
            // A path is probed in proportion to what it may carry.
            let least = params.least * (hop.level / middle).clamp(LEAST_PROBES, 1.0);
            let grown = hop.share * libm::exp(gain * reactions * better);
            hop.share = grown.max(least.max(NEVER_NOTHING));
        }
        self.normalise();
        self.swings.moved(self.hops.iter().map(|hop| hop.share), reactions, params.damping);
    }

    /// Next hops that told a level.
    fn known(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(|hop| hop.level > 0.0)
    }

    /// The lowest level that, with those below it, [`SOME`] of these shares have. A next hop that is hardly asked and tells
    /// next to nothing must not hide how the others differ.
    pub(super) fn low(&self) -> f64 {
        let all = self.told();
        let part = |level: f64| self.known().filter(|hop| hop.level <= level).map(|hop| hop.share).sum::<f64>();
        self.known().map(|hop| hop.level).filter(|level| part(*level) >= SOME * all).fold(f64::MAX, f64::min)
    }

    pub(super) fn normalise(&mut self) {
        let total: f64 = self.hops.iter().map(|hop| hop.share).sum();
        self.hops.iter_mut().for_each(|hop| hop.share /= total);
    }

    /// How long an answer may take, so as to come no later than the last by the shortest way, to a flow that sends its last
    /// Interest when `left` has passed.
    pub(super) fn time_for(&self, now: Time, left: Duration) -> Option<Duration> {
        let shortest = self.hops.iter().filter(|hop| hop.answers(now)).filter_map(|hop| hop.srtt).min()?;
        Some(shortest + shortest / 4 + left)
    }

    /// Next hops that are still asked, and not for a sign of life alone.
    fn in_use(&self, now: Time) -> impl Iterator<Item = &Hop> {
        let last = self.hops.iter().filter_map(|hop| hop.asked).max();
        let in_use =
            move |hop: &&Hop| hop.asked.zip(last).is_some_and(|(asked, last)| last.since(asked) < PROBE_AFTER * 2);
        self.hops.iter().filter(in_use).filter(move |hop| !hop.is_gone(now))
    }

    /// The round trip of the longest of them.
    pub(super) fn longest(&self, now: Time) -> Option<Duration> {
        self.in_use(now).filter_map(|hop| hop.takes(now)).max()
    }

    /// By how much that, or the last there if its queue has grown, exceeds the mean round trip over `face`.
    pub(super) fn longer_than(&self, now: Time, face: FaceId) -> Duration {
        let here = self.hops.iter().find(|hop| hop.face == face).and_then(|hop| hop.srtt);
        let longest = self.in_use(now).filter_map(|hop| hop.takes(now).map(|takes| takes.max(hop.latest))).max();
        here.zip(longest).map_or(Duration::ZERO, |(here, longest)| longest.max(here) - here)
    }

    /// Whether one of these next hops has not had its mean round trip yet. Where the way is longer than suppression lasts,
    /// another consumer's Interest would be answered twice.
    pub(super) fn may_answer(&self, sent: &[OutRecord], now: Time) -> bool {
        sent.iter().any(|record| {
            let hop = self.hops.iter().find(|hop| hop.face == record.face);
            hop.and_then(|hop| hop.srtt).is_some_and(|srtt| now.since(record.sent) < srtt)
        })
    }

    /// What was sent to these next hops was not answered.
    pub(super) fn weaken(&mut self, sent: &[OutRecord]) {
        for hop in self.hops.iter_mut().filter(|hop| sent.iter().any(|record| record.face == hop.face)) {
            hop.level *= AFTER_TIMEOUT;
        }
    }

    /// Whether nothing has come from it for long, or ever, though it was asked.
    pub(super) fn is_silent(&self, face: FaceId, now: Time) -> bool {
        self.hops.iter().any(|hop| hop.face == face && (hop.is_gone(now) || hop.has_to_answer()))
    }

    /// What was sent to these next hops is sent again. One that had time to answer twice, and from which nothing has come
    /// since, is taken for gone.
    pub(super) fn doubt(&mut self, sent: &[OutRecord], now: Time) {
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

//! `weir`: sends at the mean of the levels that its Data carry; a window takes over where those say too much or nothing.
//!
//! Source: ours. Data that come by several paths carry a level each, so that their mean weighs levels by shares; the
//! router's part is the meter [`crate::meter::weir`], which counts flows by the pace that Interests state. A link whose
//! router writes no level shows itself by marks, by losses under a queue or by many losses: then the window is that of
//! [`super::bic`], from what was in flight on, until it no longer limits.

use super::bic;
use super::windowed::{Reaction, Windowed};
use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields};
use crate::shared::explicit::{MOST_LEFT, RateSender, ending_to_field, round_trip_to_field, to_field};
use crate::shared::weir::{self, Losses, OPEN, OUTAGE, Slots, UNKNOWN, level_of};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Interests outstanding at most, in bandwidth-delay products, where levels hold.
    pub headroom: f64,
    /// Interests outstanding at most before the first level, in segments.
    pub initial_window: f64,
    /// Where no level holds: how close to the window of the last cut the search of [`bic`] ends, in segments.
    pub equal: f64,
    /// Where no level holds: which signals count, and how often. Where levels hold a share of lost segments of up to its
    /// `noise` says nothing.
    pub reaction: Reaction,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        let window = bic::Params::default();
        // In silence the pace halves already, so that the timer need not. Where several Data are lost a flow must not wait
        // for its timer: others take its part meanwhile, and lose Data once it comes back.
        Params {
            headroom: 3.0,
            initial_window: window.initial_window,
            equal: window.equal,
            reaction: Reaction { noise: weir::NOISE, ..window.reaction },
            timer: Timer { backoff_cap: 2, loss_detection: true, ..Timer::default() },
        }
    }
}

impl Params {
    /// Where levels do not hold.
    fn window(&self) -> bic::Params {
        let Params { initial_window, equal, reaction, timer, .. } = *self;
        bic::Params { initial_window, equal, reaction, timer, ..bic::Params::default() }
    }
}

/// A level counts as at most this multiple of the pace, so that one Data cannot make a burst.
const MOST_RISE: f64 = 2.0;
/// The least window once a level is known: two Data measure a pace.
const LEAST_WINDOW: f64 = 4.0;
/// Routers change levels once in so long: in less nobody can make room, and who loses all that it has outstanding is
/// silent until its timer expires. So headroom is for so long at least.
const SLOT: Duration = Duration::from_millis(10);
/// But only so long after the first level, the meter's `smoothing`: many may begin at once and know nothing of each other.
const COUNTED: Duration = Duration::from_millis(100);
/// Levels that have not come for this long, or for [`STALE_ROUND_TRIPS`], no longer hold.
const STALE: Duration = Duration::from_millis(1000);
const STALE_ROUND_TRIPS: u64 = 4;
/// Or for so many where all Data say that no link of their way has one, as when a learned rate is forgotten.
const OPEN_ROUND_TRIPS: u64 = 2;

/// A window is paced at this multiple of itself in a round trip, so that it may grow.
const BURST: f64 = 2.0;
/// For so many round trips after the first level a lower one holds at once.
const BEGINNING: u64 = 3;
/// The part of its pace that a newcomer sends for one round trip: of others that begin within it none has been told.
const FIRST: f64 = 0.5;
/// But whoever is done within so many round trips sends by all of it: what it may send too much is little.
const SHORT: f64 = 2.0;
/// Round trips up to this multiple of the least one show no queue, so that a mark says nothing where levels are told.
const NO_QUEUE: f64 = 1.1;
/// It is no silence where so few Data would have come at the pace.
const SILENT_GAPS: u64 = 4;
/// How long Interests live by default (NDN packet format). In a silence they leave by gaps as long as it has lasted, so that
/// each is twice the one before, and by no more than this. A level that leaves less than one Data in it is none: a true one
/// would come too seldom to correct a false one.
const LIFETIME: Duration = Duration::from_millis(4000);

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Weir {
    #[state(skip)]
    params: Params,
    slots: Slots,
    sender: RateSender,
    fallback: Windowed<bic::Law>,
    /// Whether the window was cut and has not reached what levels allow since.
    is_cut: bool,
    /// Whether Data say that a link on their way has no level.
    is_partial: bool,
    /// Whether Data say that routers write levels, and no link has told one yet: forwarders learn rates, simulations do not.
    #[state(skip)]
    is_open: bool,
    srtt: Duration,
    /// The least round trip.
    least: Option<Duration>,
    /// When the last Data came, and the last level.
    last: Time,
    told: Time,
    /// When the first level came, and the round trip then: of several ways that of the shortest, as a rule.
    began: Option<(Time, Duration)>,
    /// The window after a silence, which each Data lets grow by one until levels limit.
    restart: Option<f64>,
    /// When that silence was noticed.
    silent: Option<Time>,
    /// The share of segments lost of late.
    lost: Losses,
    /// Segments to be requested after the next Interest, if that is known.
    rest: Option<u64>,
    /// The least gap to the next Interest in a silence, and whether the last Data ended one.
    quiet: Duration,
    ended: bool,
    round: Round,
    /// [`Consumer::window`], which only Data and failures change.
    window: f64,
}

/// Data that arrive within round trips.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Round {
    since: Time,
    /// In this one, and in the one before.
    data: u32,
    before: u32,
}

impl Round {
    fn on_data(&mut self, now: Time, srtt: Duration) {
        if now.since(self.since) >= srtt {
            *self = Round { since: now, data: 0, before: self.data };
        }
        self.data = self.data.saturating_add(1);
    }

    /// In one round trip, of late.
    fn delivered(&self) -> u32 {
        self.data.max(self.before)
    }
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "sends at the mean of the levels that Data carry";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = weir::FIELDS;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("headroom", params.headroom, 1.0, 1000.0)?;
        params.window().check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let window = params.window();
        let mut weir = Weir {
            slots: Slots::new(env),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            fallback: Windowed::new(bic::Law::new(&window, bic::Edition::Ndnsim), window.reaction, window.timer),
            is_cut: false,
            is_partial: false,
            is_open: false,
            srtt: Duration::ZERO,
            least: None,
            last: Time::ZERO,
            told: Time::ZERO,
            began: None,
            restart: None,
            silent: None,
            lost: Losses::default(),
            rest: None,
            quiet: Duration::ZERO,
            ended: false,
            round: Round::default(),
            window: 0.0,
            params: params.clone(),
        };
        weir.window = weir.find_window();
        weir
    }
}

impl Weir {
    fn follow(&mut self, level: f64, since: f64, ctx: &mut Ctx<'_>) {
        let (began, first_rtt) = *self.began.get_or_insert((ctx.now, self.srtt));
        let next = match self.sender.rate() {
            None => level,
            // Others that begin at the same time are counted one by one.
            Some(pace) if level < pace && ctx.now.since(began) < first_rtt * BEGINNING => level,
            Some(pace) => {
                let gain = since / (since + self.srtt.secs().max(0.001));
                pace + gain * (level.min(MOST_RISE * pace) - pace)
            }
        };
        ctx.trace.record(ctx.now, "rate", 0, next);
        self.sender.set(next);
    }

    /// What levels allow, in segments; none without one.
    fn allowed(&self) -> Option<f64> {
        let is_counted = self.began.is_some_and(|(began, _)| self.told.since(began) > COUNTED);
        let time = if is_counted { self.srtt.max(SLOT) } else { self.srtt };
        let product = self.sender.rate()? * time.secs() / (8.0 * self.sender.size());
        // Answers that do not come must not pile up Interests.
        Some((self.params.headroom * product + 1.0).clamp(LEAST_WINDOW, MAX_WINDOW))
    }

    /// The window hears of something; a cut while levels held begins from what was delivered in a round trip.
    fn hear(&mut self, flight: &Flight, event: impl FnOnce(&mut Windowed<bic::Law>)) {
        let cuts = self.fallback.decreases();
        if self.levels_hold() {
            self.fallback.take_over(flight.in_flight.min(self.round.delivered()).max(1));
        }
        event(&mut self.fallback);
        self.is_cut |= self.fallback.decreases() > cuts;
    }

    fn levels_hold(&self) -> bool {
        self.sender.rate().is_some() && !self.is_cut && !self.is_partial
    }

    /// Whether a mark says nothing, as all links on the way tell levels and nothing waits on them.
    fn is_false_mark(&self) -> bool {
        let is_empty = self.least.is_some_and(|least| self.srtt <= least.scale(NO_QUEUE));
        is_empty && self.sender.rate().is_some() && !self.is_partial
    }

    /// How long the last level holds.
    fn stale(&self, is_open: bool) -> Duration {
        let long = STALE.max(self.srtt * STALE_ROUND_TRIPS);
        if is_open { long.min(self.srtt * OPEN_ROUND_TRIPS) } else { long }
    }

    /// In bit/s, what is sent at most.
    fn limit(&self, now: Time) -> f64 {
        let limit = BURST * self.window_rate();
        match self.sender.rate().zip(self.began) {
            Some((pace, (began, _))) if now.since(began) < self.srtt && !self.is_short(pace) => limit.min(FIRST * pace),
            _ => limit,
        }
    }

    /// Whether what is left takes no longer than [`SHORT`] at this pace.
    fn is_short(&self, pace: f64) -> bool {
        let bits = |rest: u64| (rest as f64 + 1.0) * 8.0 * self.sender.size();
        self.rest.is_some_and(|rest| bits(rest) <= SHORT * pace * self.srtt.secs())
    }

    /// What is left to be sent, in round trips; none if that is more than can be said, or unknown.
    fn left(&self) -> Option<f64> {
        let rest = self.rest.zip(self.sender.mean_gap()).filter(|_| self.srtt > Duration::ZERO);
        let left = rest.map(|(rest, gap)| rest as f64 * gap.secs() / self.srtt.secs());
        left.filter(|left| *left <= MOST_LEFT)
    }

    /// Whether no Data had come until now for `least` and some round trips. A probe ends a silence before timers do.
    fn was_silent(&self, now: Time, least: Duration) -> bool {
        if now.since(self.last) < least {
            return false;
        }
        let gaps = self.sender.mean_gap().map(|gap| gap * SILENT_GAPS);
        gaps.is_some_and(|gaps| now.since(self.last) >= gaps.max(self.srtt * 2))
    }

    /// What is known of the way does not hold after a silence.
    fn begin_again(&mut self, now: Time) {
        self.restart = Some(1.0);
        self.forgive(now);
    }

    /// What an outage took says nothing of the queues on the way.
    fn forgive(&mut self, now: Time) {
        (self.is_cut, self.lost, self.silent) = (false, Losses::default(), Some(now));
    }

    /// What arrived of late, in bit/s. While links are open the window comes to more, as it fills their queues, and routers
    /// would count too few flows.
    fn delivery_rate(&self) -> f64 {
        f64::from(self.round.delivered()) * 8.0 * self.sender.size() / self.srtt.secs().max(0.001)
    }

    /// What the window comes to, in bit/s; no bound where levels hold, but after a silence.
    fn window_rate(&self) -> f64 {
        if (self.levels_hold() && self.restart.is_none()) || self.srtt == Duration::ZERO {
            return f64::MAX;
        }
        self.find_window() * 8.0 * self.sender.size() / self.srtt.secs()
    }

    /// The window now, in segments.
    fn find_window(&self) -> f64 {
        let restart = self.restart.unwrap_or(MAX_WINDOW);
        match self.allowed() {
            Some(allowed) if self.levels_hold() => allowed.min(restart),
            Some(allowed) => allowed.min(self.fallback.window()).min(restart),
            None => self.fallback.window(),
        }
    }

    /// An Interest failed.
    fn fail(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind == Congestion::Timeout && self.sender.timed_out(event.sent, ctx.now) {
            self.begin_again(ctx.now);
        }
        // What was sent before a silence went with the way that fell silent, and says nothing of the one after it.
        if self.silent.is_some_and(|silent| event.sent < silent) && self.levels_hold() {
            return;
        }
        if matches!(event.kind, Congestion::Timeout | Congestion::Loss) {
            self.lost.count(true);
            // A link with a level loses little, as when flows begin.
            if self.levels_hold() && self.lost.share() <= self.params.reaction.noise {
                return;
            }
        }
        self.hear(&event.flight, |fallback| fallback.on_congestion(event, ctx));
        self.sender.limit(self.limit(ctx.now));
    }
}

impl Consumer for Weir {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.srtt = event.flight.srtt;
        self.sender.on_data(event.size, ctx.now);
        self.lost.count(false);
        self.round.on_data(ctx.now, self.srtt);
        if self.was_silent(ctx.now, self.params.timer.min) {
            self.begin_again(ctx.now);
        } else if self.levels_hold() && self.was_silent(ctx.now, OUTAGE) {
            self.forgive(ctx.now);
        }
        let since = ctx.now.since(self.last).secs();
        self.last = ctx.now;
        self.ended = self.quiet > Duration::ZERO;
        self.quiet = Duration::ZERO;
        self.least = event.rtt.into_iter().chain(self.least).min();
        let mark = if event.mark > 0 && self.is_false_mark() { 0 } else { event.mark };
        self.hear(&event.flight, |fallback| fallback.on_data(&DataEvent { mark, ..*event }, ctx));
        let told = event.fields.get(self.slots.rate);
        let (level, is_open) = (level_of(told), told == OPEN);
        let slowest = 8.0 * self.sender.size() / LIFETIME.secs();
        self.is_partial |= level.is_some_and(|level| level < slowest);
        if let Some(level) = level.filter(|level| *level >= slowest) {
            self.is_partial = event.fields.get(self.slots.soft) == UNKNOWN;
            self.told = ctx.now;
            if self.is_open {
                // Cuts before it were for queues that no level told of, and its part is in what links count already.
                self.is_cut = false;
                self.began.get_or_insert((Time::ZERO, self.srtt));
            }
            self.follow(level, since, ctx);
        } else if ctx.now.since(self.told) > self.stale(is_open) {
            self.sender.clear();
        }
        // Of several ways one may say it, and another have no level.
        self.is_open = self.sender.rate().is_none() && (is_open || self.is_open);
        let allowed = self.allowed().unwrap_or(MAX_WINDOW);
        self.is_cut &= self.fallback.window() < allowed;
        self.restart = self.restart.map(|window| window + 1.0).filter(|window| *window < allowed);
        self.sender.limit(self.limit(ctx.now));
        self.window = self.find_window();
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        self.fail(event, ctx);
        self.window = self.find_window();
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn may_send(&self, flight: &Flight) -> bool {
        match self.sender.rate() {
            Some(_) => f64::from(flight.in_flight) < self.window,
            None => self.fallback.may_send(flight),
        }
    }

    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        self.fallback.on_sent(event, ctx);
        self.sender.sent(ctx.now);
        let silence = ctx.now.since(self.last);
        let is_silent = self.was_silent(ctx.now, self.params.timer.min);
        self.quiet = if is_silent { silence.min(LIFETIME) } else { Duration::ZERO };
    }

    fn pacing(&self, flight: &Flight) -> Option<Duration> {
        self.sender.pacing().map(|gap| gap.max(self.quiet)).or_else(|| self.fallback.pacing(flight))
    }

    fn on_rest(&mut self, segments: Option<u64>) {
        self.rest = segments;
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        let round_trip = self.left().map_or(round_trip_to_field(self.srtt), |left| ending_to_field(self.srtt, left));
        fields.set(self.slots.round_trip, round_trip);
        // The least that a field says is a newcomer's.
        let pace = self.sender.rate().map(|rate| rate.min(self.window_rate()));
        let pace = pace.or_else(|| self.is_open.then(|| self.delivery_rate()));
        fields.set(self.slots.rate, pace.map_or(1, to_field));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn ends_gap(&self) -> bool {
        self.ended
    }

    fn retransmits_on_nack(&self) -> bool {
        self.fallback.retransmits_on_nack()
    }

    fn decreases(&self) -> u64 {
        self.sender.cuts() + self.fallback.decreases()
    }
}

#[cfg(test)]
mod tests;

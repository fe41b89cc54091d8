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
use crate::shared::explicit::{RateSender, of_field, round_trip_to_field, to_field};
use crate::shared::weir::{self, Slots, UNKNOWN};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Interests outstanding at most, in bandwidth-delay products, where levels hold.
    pub headroom: f64,
    /// The largest share of lost segments that says nothing where levels hold.
    pub noise: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        // In silence the pace halves already, so that the timer need not.
        Params { headroom: 3.0, noise: 0.1, timer: Timer { backoff_cap: 2, ..Timer::default() } }
    }
}

impl Params {
    /// Where levels do not hold.
    fn window(&self) -> bic::Params {
        let reaction = Reaction { noise: self.noise, ..Reaction::default() };
        bic::Params { reaction, timer: self.timer, ..bic::Params::default() }
    }
}

/// A level counts as at most this multiple of the pace, so that one Data cannot make a burst.
const MOST_RISE: f64 = 2.0;
/// The least window once a level is known: two Data measure a pace.
const LEAST_WINDOW: f64 = 4.0;
/// Levels that have not come for this long, or for [`STALE_ROUND_TRIPS`], no longer hold.
const STALE: Duration = Duration::from_millis(1000);
const STALE_ROUND_TRIPS: u64 = 4;

/// A window is paced at this multiple of itself in a round trip, so that it may grow.
const BURST: f64 = 2.0;
/// Segments over which the share of losses is averaged.
const LOSS_MEMORY: f64 = 256.0;
/// For so many round trips after the first level a lower one holds at once.
const BEGINNING: u64 = 3;

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
    srtt: Duration,
    /// When the last Data came, and the last level.
    last: Time,
    told: Time,
    /// When the first level came.
    began: Option<Time>,
    /// The window after a silence, which each Data lets grow by one until levels limit.
    restart: Option<f64>,
    /// The share of segments lost of late.
    lost: f64,
    round: Round,
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
        Weir {
            slots: Slots::new(env),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            fallback: Windowed::new(bic::Law::new(&window, bic::Edition::Ndnsim), window.reaction, window.timer),
            is_cut: false,
            is_partial: false,
            srtt: Duration::ZERO,
            last: Time::ZERO,
            told: Time::ZERO,
            began: None,
            restart: None,
            lost: 0.0,
            round: Round::default(),
            params: params.clone(),
        }
    }
}

impl Weir {
    fn follow(&mut self, level: f64, since: f64, ctx: &mut Ctx<'_>) {
        let began = *self.began.get_or_insert(ctx.now);
        let next = match self.sender.rate() {
            None => level,
            // Others that begin at the same time are counted one by one.
            Some(pace) if level < pace && ctx.now.since(began) < self.srtt * BEGINNING => level,
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
        let product = self.sender.rate()? * self.srtt.secs() / (8.0 * self.sender.size());
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

    /// What the window comes to, in bit/s; no bound where levels hold.
    fn window_rate(&self) -> f64 {
        if self.levels_hold() || self.srtt == Duration::ZERO {
            return f64::MAX;
        }
        self.window() * 8.0 * self.sender.size() / self.srtt.secs()
    }
}

impl Consumer for Weir {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.srtt = event.flight.srtt;
        self.sender.on_data(event.size, ctx.now);
        self.lost -= self.lost / LOSS_MEMORY;
        self.round.on_data(ctx.now, self.srtt);
        let since = ctx.now.since(self.last).secs();
        self.last = ctx.now;
        self.hear(&event.flight, |fallback| fallback.on_data(event, ctx));
        if let Some(level) = of_field(event.fields.get(self.slots.rate)) {
            self.is_partial = event.fields.get(self.slots.soft) == UNKNOWN;
            self.told = ctx.now;
            self.follow(level, since, ctx);
        } else if ctx.now.since(self.told) > STALE.max(self.srtt * STALE_ROUND_TRIPS) {
            self.sender.clear();
        }
        let allowed = self.allowed().unwrap_or(MAX_WINDOW);
        self.is_cut &= self.fallback.window() < allowed;
        self.restart = self.restart.map(|window| window + 1.0).filter(|window| *window < allowed);
        self.sender.limit(BURST * self.window_rate());
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind == Congestion::Timeout && self.sender.timed_out(event.sent, ctx.now) {
            self.restart = Some(1.0);
        }
        if matches!(event.kind, Congestion::Timeout | Congestion::Loss) {
            self.lost += (1.0 - self.lost) / LOSS_MEMORY;
            // A link with a level loses little, as when flows begin.
            if self.levels_hold() && self.lost <= self.params.noise {
                return;
            }
        }
        self.hear(&event.flight, |fallback| fallback.on_congestion(event, ctx));
        self.sender.limit(BURST * self.window_rate());
    }

    fn window(&self) -> f64 {
        let restart = self.restart.unwrap_or(MAX_WINDOW);
        match self.allowed() {
            Some(allowed) if self.levels_hold() => allowed.min(restart),
            Some(allowed) => allowed.min(self.fallback.window()).min(restart),
            None => self.fallback.window(),
        }
    }

    fn may_send(&self, flight: &Flight) -> bool {
        match self.sender.rate() {
            Some(_) => f64::from(flight.in_flight) < self.window(),
            None => self.fallback.may_send(flight),
        }
    }

    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        self.fallback.on_sent(event, ctx);
        self.sender.sent(ctx.now);
    }

    fn pacing(&self, flight: &Flight) -> Option<Duration> {
        self.sender.pacing().or_else(|| self.fallback.pacing(flight))
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        fields.set(self.slots.round_trip, round_trip_to_field(self.srtt));
        // The least that a field says is a newcomer's.
        fields.set(self.slots.rate, self.sender.rate().map_or(1, |rate| to_field(rate.min(self.window_rate()))));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn retransmits_on_nack(&self) -> bool {
        self.fallback.retransmits_on_nack()
    }

    fn decreases(&self) -> u64 {
        self.sender.cuts() + self.fallback.decreases()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;

    // RTT 40 ms. The first level, 8 Mbit/s, is the pace, and 4 Mbit/s within three round trips after it at once. 10 ms later
    // 100 Mbit/s count as 8, gain 10/50: 4 + 0.2 · 4 = 4.8. 110 ms later 2 Mbit/s: gain 110/150, 4.8 − 2.8 · 11/15 = 2.7467.
    // Of 1000 B: 2.7467 Mbit/s · 40 ms = 13.733 packets, times 3, plus 1.
    #[test]
    fn the_pace_is_the_mean_of_the_levels_and_bounds_what_is_outstanding() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
        assert_eq!((consumer.window(), consumer.pacing(&flight)), (1.0, None));
        let mut told = |ms: u64, kbps: u32| {
            let mut fields = Fields::default();
            fields.set(consumer.slots.rate, kbps);
            let now = Time::ZERO + Duration::from_millis(ms);
            let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
            let event = DataEvent { segment: 0, sent, rtt, mark: 0, size, fields: &fields, flight };
            consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
            let mut stamped = Fields::default();
            consumer.stamp(1, &mut stamped);
            (stamped.get(consumer.slots.rate), consumer.window())
        };
        let paces = [(40, 8000), (50, 4000), (60, 100_000), (170, 2000)].map(|(ms, kbps)| told(ms, kbps).0);
        assert_eq!(paces, [8000, 4000, 4800, 2746]);
        let (pace, window) = told(170, 0);
        assert_eq!(pace, 2746, "a Data without a level changes nothing");
        assert!((window - 42.2).abs() < 1e-6, "{window}");
        assert_eq!(consumer.decreases(), 2);
    }

    // Levels allow 8 Mbit/s · 40 ms = 40 packets of 1000 B, times 3, plus 1. A Data each ms: 40 in a round trip. A mark with 50
    // in flight: 0.8 · 40 = 32 packets, 6.4 Mbit/s, and Data let the window grow until it has 121 again.
    #[test]
    fn a_mark_cuts_to_a_part_of_what_was_delivered_until_the_window_has_grown_to_what_levels_allow() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let mut told = |segment: u64, mark: u8| {
            let mut fields = Fields::default();
            fields.set(consumer.slots.rate, 8000);
            let flight = Flight {
                in_flight: 50,
                next_segment: segment + 50,
                highest_received: Some(segment),
                srtt: Duration::from_millis(40),
            };
            let now = Time::ZERO + Duration::from_millis(40 + segment);
            let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
            let event = DataEvent { segment, sent, rtt, mark, size, fields: &fields, flight };
            consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
            let mut stamped = Fields::default();
            consumer.stamp(1, &mut stamped);
            (consumer.window(), stamped.get(consumer.slots.rate), consumer.is_cut)
        };
        let before = (0..100).map(|segment| told(segment, 0)).last();
        assert!(before.is_some_and(|(window, ..)| (window - 121.0).abs() < 1e-6));
        assert_eq!(told(100, 1), (32.0, 6400, true));
        let grown = (101..20_000).map(|segment| told(segment, 0)).take_while(|(_, _, is_cut)| *is_cut).count();
        assert!((500..10_000).contains(&grown), "{grown}");
        let (window, rate, _) = told(20_001, 0);
        assert!((window - 121.0).abs() < 1e-6 && rate == 8000, "{window} {rate}");
    }

    #[test]
    fn without_levels_it_is_bic_and_levels_that_stop_leave_what_was_delivered() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let mut bic = <bic::Bic as Component>::new(&bic::Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let mut at = |segment: u64, ms: u64, kbps: u32| {
            let mut fields = Fields::default();
            fields.set(consumer.slots.rate, kbps);
            let flight = Flight {
                in_flight: 30,
                next_segment: segment + 30,
                highest_received: Some(segment),
                srtt: Duration::from_millis(40),
            };
            let now = Time::ZERO + Duration::from_millis(ms);
            let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
            let event = DataEvent { segment, sent, rtt, mark: 0, size, fields: &fields, flight };
            let mut ctx = Ctx { now, rng: &mut rng, trace: &mut trace };
            bic.on_data(&event, &mut ctx);
            consumer.on_data(&event, &mut ctx);
            (consumer.window(), bic.window(), consumer.pacing(&flight))
        };
        for segment in 0..200 {
            let (window, of_bic, pace) = at(segment, segment, 0);
            assert_eq!((window, pace), (of_bic, None));
        }
        let (window, _, pace) = at(200, 200, 8000);
        assert!((window - 121.0).abs() < 1e-6 && pace.is_some());
        assert!(at(201, 1100, 0).2.is_some(), "not yet for a second");
        let (window, _, pace) = at(202, 1201, 0);
        assert!((1.0..4.0).contains(&window) && pace.is_none(), "{window}");
    }
}

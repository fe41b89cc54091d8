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
use crate::fields::{Field, Fields, Slot};
use crate::shared::explicit::{RateSender, of_field, to_field};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// A level counts as at most this multiple of the pace.
    pub most: f64,
    /// Interests outstanding at most, in bandwidth-delay products, where levels hold.
    pub headroom: f64,
    /// The window where they do not hold: all of [`bic`]'s parameters.
    pub window: bic::Params,
}

impl Default for Params {
    fn default() -> Params {
        let reaction = Reaction { noise: 0.1, ..Reaction::default() };
        Params { most: 2.0, headroom: 3.0, window: bic::Params { reaction, ..bic::Params::default() } }
    }
}

/// The least window once a level is known: two Data measure a pace.
const LEAST_WINDOW: f64 = 4.0;
/// Levels that have not come for this long, or for [`STALE_ROUND_TRIPS`], no longer hold.
const STALE: Duration = Duration::from_millis(1000);
const STALE_ROUND_TRIPS: u64 = 4;

/// The consumer.
#[derive(Clone, Debug)]
pub struct Weir {
    params: Params,
    rate: Slot,
    round_trip: Slot,
    sender: RateSender,
    fallback: Windowed<bic::Law>,
    /// Whether the window was cut and has not reached what levels allow since.
    is_cut: bool,
    srtt: Duration,
    /// When the last Data came, and the last level.
    last: Time,
    told: Time,
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "sends at the mean of the levels that Data carry";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::RoundTrip];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("most", params.most, 1.01, 1000.0)?;
        check::number("headroom", params.headroom, 1.0, 1000.0)?;
        params.window.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let window = &params.window;
        Weir {
            rate: env.slot(Field::ExplicitRate),
            round_trip: env.slot(Field::RoundTrip),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            fallback: Windowed::new(bic::Law::new(window, bic::Edition::Ndnsim), window.reaction, window.timer)
                .starting(window.startup, env),
            is_cut: false,
            srtt: Duration::ZERO,
            last: Time::ZERO,
            told: Time::ZERO,
            params: params.clone(),
        }
    }
}

impl Weir {
    fn follow(&mut self, level: f64, since: f64, ctx: &mut Ctx<'_>) {
        let next = match self.sender.rate() {
            None => level,
            Some(pace) => {
                let gain = since / (since + self.srtt.secs().max(0.001));
                pace + gain * (level.min(self.params.most * pace) - pace)
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

    /// The window hears of something; a cut while levels held begins from what was in flight.
    fn hear(&mut self, flight: &Flight, event: impl FnOnce(&mut Windowed<bic::Law>)) {
        let (cuts, levels_hold) = (self.fallback.decreases(), self.sender.rate().is_some() && !self.is_cut);
        if levels_hold {
            self.fallback.take_over(flight.in_flight);
        }
        event(&mut self.fallback);
        self.is_cut |= self.fallback.decreases() > cuts;
    }
}

impl Consumer for Weir {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.srtt = event.flight.srtt;
        self.sender.on_data(event.size, ctx.now);
        let since = ctx.now.since(self.last).secs();
        self.last = ctx.now;
        self.hear(&event.flight, |fallback| fallback.on_data(event, ctx));
        if let Some(level) = of_field(event.fields.get(self.rate)) {
            self.told = ctx.now;
            self.follow(level, since, ctx);
        } else if ctx.now.since(self.told) > STALE.max(self.srtt * STALE_ROUND_TRIPS) {
            self.sender.clear();
        }
        if self.allowed().is_some_and(|allowed| self.fallback.window() >= allowed) {
            self.is_cut = false;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind == Congestion::Timeout {
            self.sender.timed_out(event.sent, ctx.now);
        }
        // Where levels hold, a timer's loss may be noise as well.
        let kind = match event.kind {
            Congestion::Timeout if self.sender.rate().is_some() => Congestion::Loss,
            kind => kind,
        };
        self.hear(&event.flight, |fallback| fallback.on_congestion(&CongestionEvent { kind, ..*event }, ctx));
    }

    fn window(&self) -> f64 {
        match self.allowed() {
            Some(allowed) if self.is_cut => allowed.min(self.fallback.window()),
            Some(allowed) => allowed,
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
        let micros = self.srtt.nanos() / 1000;
        fields.set(self.round_trip, u32::try_from(micros).unwrap_or(u32::MAX));
        let window = self.fallback.window() * 8.0 * self.sender.size() / self.srtt.secs().max(1e-6);
        let most = if self.is_cut { window } else { f64::MAX };
        fields.set(self.rate, self.sender.rate().map_or(0, |rate| to_field(rate.min(most))));
    }

    fn timer(&self) -> Timer {
        self.params.window.timer
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

    // RTT 40 ms. The first level, 8 Mbit/s, is the pace. 10 ms later 4 Mbit/s: gain 10/50, 8 − 0.2 · 4 = 7.2. 10 ms later 100
    // Mbit/s count as 14.4: 7.2 + 0.2 · 7.2 = 8.64. Of 1000 B: 8.64 Mbit/s · 40 ms = 43.2 packets, times 3, plus 1.
    #[test]
    fn the_pace_is_the_mean_of_the_levels_and_bounds_what_is_outstanding() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let flight = Flight { in_flight: 1, srtt: Duration::from_millis(40), ..Flight::default() };
        assert_eq!((consumer.window(), consumer.pacing(&flight)), (1.0, None));
        let mut told = |ms: u64, kbps: u32| {
            let mut fields = Fields::default();
            fields.set(consumer.rate, kbps);
            let now = Time::ZERO + Duration::from_millis(ms);
            let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
            let event = DataEvent { segment: 0, sent, rtt, mark: 0, size, fields: &fields, flight };
            consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
            let mut stamped = Fields::default();
            consumer.stamp(1, &mut stamped);
            (stamped.get(consumer.rate), consumer.window())
        };
        assert_eq!([told(40, 8000).0, told(50, 4000).0, told(60, 100_000).0], [8000, 7200, 8640]);
        let (pace, window) = told(60, 0);
        assert_eq!(pace, 8640, "a Data without a level changes nothing");
        assert!((window - 130.6).abs() < 1e-6, "{window}");
        assert_eq!(consumer.decreases(), 1);
    }
}

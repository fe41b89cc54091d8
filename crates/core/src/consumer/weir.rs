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
    /// Interests outstanding at most, in bandwidth-delay products, where levels hold.
    pub headroom: f64,
    /// The largest share of lost segments that is taken for noise of the path while round trips show no queue.
    pub noise: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { headroom: 3.0, noise: 0.1, timer: Timer::default() }
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
        check::number("headroom", params.headroom, 1.0, 1000.0)?;
        params.window().check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let window = params.window();
        Weir {
            rate: env.slot(Field::ExplicitRate),
            round_trip: env.slot(Field::RoundTrip),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            fallback: Windowed::new(bic::Law::new(&window, bic::Edition::Ndnsim), window.reaction, window.timer),
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

    // Levels allow 8 Mbit/s · 40 ms = 40 packets of 1000 B, times 3, plus 1. A mark with 50 in flight: 0.8 · 50 = 40 packets,
    // that is the pace as well, and Data let the window grow until it has 121 again.
    #[test]
    fn a_mark_cuts_to_a_part_of_what_is_in_flight_until_the_window_has_grown_to_what_levels_allow() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let mut told = |segment: u64, mark: u8| {
            let mut fields = Fields::default();
            fields.set(consumer.rate, 8000);
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
            (consumer.window(), stamped.get(consumer.rate), consumer.is_cut)
        };
        told(0, 0);
        let (window, ..) = told(1, 0);
        assert!((window - 121.0).abs() < 1e-6, "{window}");
        assert_eq!(told(2, 1), (40.0, 8000, true));
        assert_eq!(told(200, 1), (32.0, 6400, true));
        let grown = (201..20_000).map(|segment| told(segment, 0)).take_while(|(_, _, is_cut)| *is_cut).count();
        assert!((500..10_000).contains(&grown), "{grown}");
        let (window, rate, _) = told(20_001, 0);
        assert!((window - 121.0).abs() < 1e-6 && rate == 8000, "{window} {rate}");
    }

    #[test]
    fn without_levels_it_is_bic_and_levels_that_stop_leave_what_is_in_flight() {
        let mut layout = FieldLayout::new();
        let mut consumer = Weir::new(&Params::default(), &mut Env { layout: &mut layout });
        let mut bic = <bic::Bic as Component>::new(&bic::Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let mut at = |segment: u64, ms: u64, kbps: u32| {
            let mut fields = Fields::default();
            fields.set(consumer.rate, kbps);
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
        assert!((30.0..31.0).contains(&window) && pace.is_none(), "{window}");
    }
}

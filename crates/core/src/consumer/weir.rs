//! `weir`: sends at the mean of the levels that its Data carry.
//!
//! Source: ours. Data that come by several paths carry a level each, so that their mean weighs levels by shares; the
//! router's part is the meter [`crate::meter::weir`], which counts flows by the pace that Interests state.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer, check_window};
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
    /// Interests outstanding until the first level comes, in segments.
    pub initial_window: f64,
    /// A level counts as at most this multiple of the pace.
    pub most: f64,
    /// Interests outstanding at most, in bandwidth-delay products.
    pub headroom: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, most: 2.0, headroom: 3.0, timer: Timer::default() }
    }
}

/// The least window once a level is known: two Data measure a pace.
const LEAST_WINDOW: f64 = 4.0;

/// The consumer.
#[derive(Clone, Debug)]
pub struct Weir {
    params: Params,
    rate: Slot,
    round_trip: Slot,
    sender: RateSender,
    srtt: Duration,
    last: Time,
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "sends at the mean of the levels that Data carry";
    const SOURCE: &'static str = "ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::RoundTrip];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::number("most", params.most, 1.01, 1000.0)?;
        check::number("headroom", params.headroom, 1.0, 1000.0)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        Weir {
            rate: env.slot(Field::ExplicitRate),
            round_trip: env.slot(Field::RoundTrip),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            srtt: Duration::ZERO,
            last: Time::ZERO,
            params: params.clone(),
        }
    }
}

impl Consumer for Weir {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.srtt = event.flight.srtt;
        self.sender.on_data(event.size, ctx.now);
        let since = ctx.now.since(self.last).secs();
        self.last = ctx.now;
        let Some(level) = of_field(event.fields.get(self.rate)) else { return };
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

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind == Congestion::Timeout {
            self.sender.timed_out(event.sent, ctx.now);
        }
    }

    fn window(&self) -> f64 {
        let Some(rate) = self.sender.rate() else { return self.params.initial_window };
        // Answers that do not come must not pile up Interests.
        let product = rate * self.srtt.secs() / (8.0 * self.sender.size());
        (self.params.headroom * product + self.params.initial_window).clamp(LEAST_WINDOW, MAX_WINDOW)
    }

    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        self.sender.sent(ctx.now);
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.sender.pacing()
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        let micros = self.srtt.nanos() / 1000;
        fields.set(self.round_trip, u32::try_from(micros).unwrap_or(u32::MAX));
        fields.set(self.rate, self.sender.rate().map_or(0, to_field));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.sender.cuts()
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

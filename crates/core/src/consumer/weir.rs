//! `weir`: sends at the mean of the levels that its Data carry.

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
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, most: 2.0, timer: Timer::default() }
    }
}

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
        if self.sender.rate().is_some() { MAX_WINDOW } else { self.params.initial_window }
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

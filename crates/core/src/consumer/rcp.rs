//! `rcp`: sends at the rate that the last Data carried.
//!
//! Source: N. Dukkipati, N. McKeown, "Why flow-completion time is the right metric for congestion control", CCR 36(1),
//! 2006, and the authors' agent for ns-2 (`rcp-host.cc`, as published in richardhsu/cs244-14-rcp, 8c40326): packets
//! carry the sender's round-trip time, and the smallest rate of the path comes back; the sender paces at it and does
//! nothing else. The router's part is the meter [`crate::meter::rcp`].
//!
//! What NDN changes: the consumer sets the rate of Data, so its Interests carry the round-trip time and its Data the
//! rate; there is no SYN, so one Interest is outstanding until a Data has brought a rate. Ours: a Data without a rate
//! leaves the last one; the pace is between 1 and 10⁸ packets/s; it halves in silence (see [`Silence`]).
//!
//! [`Silence`]: crate::shared::explicit::Silence

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer, check_window};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::explicit::{RateSender, of_field, round_trip_to_field};
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Rcp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Interests outstanding until the first rate comes, in segments; the source sends one SYN.
    pub initial_window: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Rcp {
    #[state(skip)]
    params: Params,
    rate: Slot,
    round_trip: Slot,
    sender: RateSender,
    srtt: Duration,
}

impl Component for Rcp {
    const NAME: &'static str = "rcp";
    const SUMMARY: &'static str = "sends at the explicit rate that Data carry";
    const SOURCE: &'static str =
        "Dukkipati, McKeown, CCR 2006; authors' ns-2 agent; Interests instead of a SYN, pace in silence: ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::RoundTrip];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Rcp {
        Rcp {
            rate: env.slot(Field::ExplicitRate),
            round_trip: env.slot(Field::RoundTrip),
            // Without a rate the size does not matter, and a Data that brings one brings a size.
            sender: RateSender::new(Bytes::new(1250), None),
            srtt: Duration::ZERO,
            params: params.clone(),
        }
    }
}

impl Consumer for Rcp {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.srtt = event.flight.srtt;
        self.sender.on_data(event.size, ctx.now);
        if let Some(rate) = of_field(event.fields.get(self.rate)) {
            if self.sender.rate() != Some(rate) {
                ctx.trace.record(ctx.now, "rate", 0, rate);
            }
            self.sender.set(rate);
        }
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
        fields.set(self.round_trip, round_trip_to_field(self.srtt));
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
    use crate::units::Time;

    #[test]
    fn the_pace_is_the_last_rate_received_and_interests_carry_the_round_trip() {
        let mut layout = FieldLayout::new();
        let mut consumer = Rcp::new(&Params::default(), &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let flight = |in_flight| Flight { in_flight, srtt: Duration::from_micros(40_000), ..Flight::default() };
        assert!(consumer.may_send(&flight(0)) && !consumer.may_send(&flight(1)));
        assert_eq!(consumer.pacing(&flight(1)), None);
        let mut gap_after = |ms: u64, kbps: u32| {
            let mut fields = Fields::default();
            fields.set(consumer.rate, kbps);
            let now = Time::ZERO + Duration::from_millis(ms);
            let (sent, size, rtt) = (Time::ZERO, Bytes::new(1000), Some(Duration::from_millis(40)));
            let event = DataEvent { segment: 0, sent, rtt, mark: 0, size, fields: &fields, flight: flight(1) };
            consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
            consumer.pacing(&flight(1)).map(|gap| gap.nanos() / 1000)
        };
        // 8000 bit: at 4 Mbit/s 2 ms, at 1 kbit/s 8 s, which is cut to 1 s; then 8000 bit at 4.3 Tbit/s, cut to 10 ns.
        assert_eq!([4000, 0, 1, u32::MAX].map(|kbps| gap_after(40, kbps)), [2000, 2000, 1_000_000, 0].map(Some));
        assert!(consumer.may_send(&flight(5000)));
        let mut stamped = Fields::default();
        consumer.stamp(7, &mut stamped);
        assert_eq!(stamped.get(consumer.round_trip), 40_000);
        assert_eq!(consumer.decreases(), 1);
    }
}

//! `qsccp`: sends at a mean of the rates that Data carry, in a class of service.
//!
//! Source: the authors' simulator of QSCCP (Bai et al., "QoS-aware congestion control protocol for ICN"; qsccp/qsccp,
//! branch opensource, 35e902f, `apps/ndn-consumer-qsccp.cpp`): 100 kbit/s at first; with each Data that carries a rate
//! r ← 0.8·r + 0.2·rate; an Interest every S/r. The routers' part is the shaper [`crate::shaper::qsccp`].
//!
//! Ours: the default class is best effort (there CS6); S is measured (there a parameter that Interests carry); the pace
//! is between 1 and 10⁸ packets/s and halves in silence (see [`Silence`]).
//!
//! [`Silence`]: crate::shared::explicit::Silence

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::explicit::{RateSender, of_field};
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class of service, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Priority, up to 20 % of a link.
    Cs7,
    /// Priority, up to 20 %.
    Cs6,
    /// Priority, up to 30 %.
    Ef,
    /// Weight 5.
    Af4,
    /// Weight 4.
    Af3,
    /// Weight 3.
    Af2,
    /// Weight 2.
    Af1,
    /// Best effort: weight 1.
    Be,
}

/// Parameters of [`Qsccp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The class of service of its Interests (ours: best effort).
    pub class: Class,
    /// The first rate; 100 kbit/s in the authors' code.
    pub initial_rate: Rate,
    /// What a new rate weighs; 0.2 in the authors' code.
    pub gain: f64,
    /// S before the first Data, in bytes on the wire (ours).
    pub data_size: Bytes,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        let (initial_rate, data_size) = (Rate::from_bps(100_000), Bytes::new(1250));
        Params { class: Class::Be, initial_rate, gain: 0.2, data_size, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Qsccp {
    #[state(skip)]
    params: Params,
    explicit: Slot,
    class: Slot,
    sender: RateSender,
}

impl Component for Qsccp {
    const NAME: &'static str = "qsccp";
    const SUMMARY: &'static str = "sends at a mean of the explicit rates that Data carry, in a class of service";
    const SOURCE: &'static str =
        "Bai et al., QSCCP: the authors' simulator (qsccp/qsccp); default class, pace in silence: ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::ServiceClass];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if params.initial_rate == Rate::ZERO {
            return Err(SchemeError::value("initial-rate", 0, "would never send", "give a rate such as \"100kbps\""));
        }
        check::number("gain", params.gain, 1e-3, 1.0)?;
        check::data_size("data-size", params.data_size)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Qsccp {
        Qsccp {
            explicit: env.slot(Field::ExplicitRate),
            class: env.slot(Field::ServiceClass),
            sender: RateSender::new(params.data_size, Some(params.initial_rate.bps() as f64)),
            params: params.clone(),
        }
    }
}

impl Consumer for Qsccp {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.sender.on_data(event.size, ctx.now);
        if let (Some(told), Some(rate)) = (of_field(event.fields.get(self.explicit)), self.sender.rate()) {
            let rate = rate + self.params.gain * (told - rate);
            self.sender.set(rate);
            ctx.trace.record(ctx.now, "rate", 0, rate);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind == Congestion::Timeout {
            self.sender.timed_out(event.sent, ctx.now);
        }
    }

    fn window(&self) -> f64 {
        MAX_WINDOW
    }

    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        self.sender.sent(ctx.now);
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.sender.pacing()
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        fields.set(self.class, self.params.class as u32 + 1);
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

    // 100 kbit/s and 10 000 bit: 0.1 s. Told 1 Mbit/s: 0.8·100 + 0.2·1000 = 280 kbit/s, then 0.8·280 + 200 = 424.
    #[test]
    fn each_rate_counts_a_fifth() {
        let mut consumer = Qsccp::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() });
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let gap = |consumer: &Qsccp| 10_000.0 / consumer.pacing(&Flight::default()).unwrap().secs() / 1000.0;
        assert!((gap(&consumer) - 100.0).abs() < 1e-3);
        for (told, expected) in [(0, 100.0), (1000, 280.0), (1000, 424.0)] {
            let mut fields = Fields::default();
            fields.set(consumer.explicit, told);
            let (size, flight, now) = (Bytes::new(1250), Flight::default(), Time::ZERO);
            let event = DataEvent { segment: 0, sent: now, rtt: None, mark: 0, size, fields: &fields, flight };
            consumer.on_data(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
            assert!((gap(&consumer) - expected).abs() < 1e-3);
        }
        let mut fields = Fields::default();
        consumer.stamp(0, &mut fields);
        assert_eq!(fields.get(consumer.class), 8);
    }
}

//! `relentless`: gives up one segment of the window per congestion NACK.
//!
//! The consumer of HIS' evaluation. Source: ndn-consumer-window-relentless of its first author's code (github
//! wygivan/ndnSIM, branch cc-new), after Mathis' Relentless TCP. That marks and losses count like NACKs is ours.
//!
//! As it gives up in proportion to its marks (with probability p of a mark its window comes to rest at 1/p), it may use
//! the low-latency queue of DualPI2 (RFC 9332; see [`crate::queue::dualpi2`]).

use super::windowed::{Cause, Gate, React, Reaction, Window, WindowLaw, Windowed};
use super::{DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Field;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Relentless`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; 1 in the author's code.
    pub initial_window: f64,
    /// The smallest window, in segments; 1 in the author's code.
    pub floor: f64,
    /// Segments given up per NACK; 1 in the author's code.
    pub step: f64,
    /// Whether its packets request the low-latency queue of DualPI2 (ours: no).
    pub low_latency: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, floor: 1.0, step: 1.0, low_latency: false, timer: Timer::default() }
    }
}

/// The window law.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law {
    window: Window,
    ssthresh: f64,
    step: f64,
}

impl WindowLaw for Law {
    fn increase(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        let window = self.window.get();
        self.window.set(window + if window < self.ssthresh { 1.0 } else { 1.0 / window });
    }

    fn decrease(&mut self, _: Cause, _: &Flight, _: &mut Ctx<'_>) {
        self.window.set(self.window.get() - self.step);
        self.ssthresh = self.window.get();
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn jump(&mut self, window: f64, avoid: bool) {
        self.window.set(window);
        if avoid {
            self.ssthresh = self.window.get();
        }
    }
}

/// The consumer.
pub type Relentless = Windowed<Law>;

impl Component for Relentless {
    const NAME: &'static str = "relentless";
    const SUMMARY: &'static str = "gives up one segment of the window per congestion NACK";
    const SOURCE: &'static str = "code of Wang et al., ICN 2013 (HIS), after Relentless TCP; marks and losses: ours";
    const FIELDS: &'static [Field] = &[Field::LowLatency];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        if params.low_latency { vec![Field::LowLatency] } else { Vec::new() }
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::number("step", params.step, 0.01, 1e4)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Relentless {
        let window = Window::new(params.initial_window, params.floor);
        let law = Law { window, ssthresh: MAX_WINDOW, step: params.step };
        let always = React::Always;
        let reaction =
            Reaction { marks: always, losses: always, nacks: always, recovery: 0.0, gate: Gate::Below, noise: 0.0 };
        let low_latency = params.low_latency.then(|| env.slot(Field::LowLatency));
        Windowed::new(law, reaction, params.timer).with_low_latency(low_latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::parse_params;
    use crate::consumer::{Congestion, CongestionEvent, Consumer};
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::packet::NackReason;
    use crate::units::Time;
    use serde_json::json;

    #[test]
    fn its_interests_request_the_low_latency_queue_only_when_configured() {
        let stamped = |params: serde_json::Value| {
            let params = parse_params::<Relentless>(&params).unwrap();
            let mut layout = FieldLayout::new();
            let mut consumer: Relentless = Component::new(&params, &mut Env { layout: &mut layout });
            let mut fields = Fields::default();
            consumer.stamp(0, &mut fields);
            (Relentless::needs(&params), layout.find(Field::LowLatency).map(|slot| fields.get(slot)))
        };
        assert_eq!(stamped(json!({ "low-latency": true })), (vec![Field::LowLatency], Some(1)));
        assert_eq!(stamped(json!({})), (Vec::new(), None));
    }

    #[test]
    fn each_nack_takes_one_segment_and_ends_slow_start() {
        let params = parse_params::<Relentless>(&json!({ "initial-window": 10.0 })).unwrap();
        let mut consumer: Relentless = Component::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let (mut rng, mut trace, fields) = (Rng::derive(1, &[]), Trace::default(), Fields::default());
        for _ in 0..3 {
            let kind = Congestion::Nack { reason: NackReason::Congestion, marked: false };
            let (sent, flight) = (Time::ZERO, Flight::default());
            let event = CongestionEvent { kind, segment: 0, sent, fields: &fields, flight };
            consumer.on_congestion(&event, &mut Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace });
        }
        assert_eq!((consumer.window(), consumer.law().ssthresh), (7.0, 7.0));
    }
}

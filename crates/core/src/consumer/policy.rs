//! `policy`: a window law that was learnt, as layers of weights.
//!
//! Steps, observation and action are those of the environment `ndnweir/Consumer-v0` of the Python package, in which a
//! policy is trained: at the first Data or failure after an interval the policy sees eight numbers of what happened since
//! its last step, and multiplies the window by 2 to the power of what it answers. Source: ours.
//!
//! Layers are sums of products and a rational activation, and the logarithms of the observation are those of this
//! program, not of the machine: the same weights give the same windows everywhere.

mod network;

pub use network::{Layer, OBSERVATIONS};

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest window that a policy reaches, in segments.
const LARGEST: f64 = 1e6;

/// Parameters of [`Policy`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The layers, the first one first, each with `weights`, a row for each of its outputs, and `bias`, a number for each
    /// output.
    pub layers: Vec<Layer>,
    /// A step is made at the first Data or failure after this time.
    pub interval: Duration,
    /// The window at the start, in segments.
    pub initial_window: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    /// Not learnt: one layer that grows the window by 2^0.2 a step, less for queues, marks, losses and NACKs.
    fn default() -> Params {
        let weights = vec![vec![0.0, 0.0, 0.0, -0.8, -5.0, -2.0, -2.0, 0.0]];
        Params {
            layers: vec![Layer { weights, bias: vec![1.0] }],
            interval: Duration::from_millis(100),
            initial_window: 2.0,
            timer: Timer::default(),
        }
    }
}

/// What happened since the last step.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Step {
    data: u64,
    marks: u64,
    losses: u64,
    nacks: u64,
    rtts: f64,
    samples: u64,
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Policy {
    #[state(skip)]
    params: Params,
    window: f64,
    /// When the next step may be made, in seconds.
    due: f64,
    /// The least round-trip time so far, in seconds; 0 before the first.
    least: f64,
    step: Step,
    decreases: u64,
}

impl Component for Policy {
    const NAME: &'static str = "policy";
    const SUMMARY: &'static str =
        "a learnt window law: layers of weights, trained in the Python package's environments";
    const SOURCE: &'static str = "ours: the environment ndnweir/Consumer-v0; the default weights are written by hand";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        network::check(&params.layers)?;
        check::least("interval", params.interval, Duration::from_millis(1))?;
        check_window("initial-window", params.initial_window)?;
        if params.initial_window > LARGEST {
            let help = format!("give at most {LARGEST:e}");
            return Err(SchemeError::value("initial-window", params.initial_window, "is too large", help));
        }
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Policy {
        let window = params.initial_window;
        Policy { params: params.clone(), window, due: 0.0, least: 0.0, step: Step::default(), decreases: 0 }
    }
}

impl Policy {
    /// Window, mean and least round-trip time in ms, their ratio, marks, losses and NACKs per Data, and Interests in
    /// flight per window; natural logarithms of one more where values have no bound. In single precision, as the
    /// environment gives them.
    fn observation(&self, in_flight: u32) -> [f64; OBSERVATIONS] {
        let step = &self.step;
        let count = step.data.max(1) as f64;
        let rtt = if step.samples > 0 { step.rtts / step.samples as f64 } else { self.least };
        let ratio = if self.least > 0.0 { rtt / self.least } else { 1.0 };
        let values = [
            libm::log1p(self.window),
            libm::log1p(1000.0 * rtt),
            libm::log1p(1000.0 * self.least),
            ratio.min(100.0),
            (step.marks as f64 / count).min(1.0),
            libm::log1p(step.losses as f64 / count),
            libm::log1p(step.nacks as f64 / count),
            (f64::from(in_flight) / self.window).min(100.0),
        ];
        values.map(|value| f64::from(value as f32))
    }

    /// Makes a step, if it is time.
    fn act(&mut self, flight: &Flight, ctx: &mut Ctx<'_>) {
        // In seconds, as the environment has it.
        let now = Time::secs(ctx.now);
        if now < self.due {
            return;
        }
        let exponent = network::answer(&self.params.layers, &self.observation(flight.in_flight));
        let before = self.window;
        self.window = (before * libm::exp2(exponent)).clamp(1.0, LARGEST);
        self.due = now + self.params.interval.secs();
        self.step = Step::default();
        if self.window < before {
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window);
        }
    }
}

impl Consumer for Policy {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.step.data += 1;
        self.step.marks += u64::from(event.mark > 0);
        if let Some(rtt) = event.rtt.map(Duration::secs) {
            self.step.rtts += rtt;
            self.step.samples += 1;
            self.least = if self.least > 0.0 { self.least.min(rtt) } else { rtt };
        }
        self.act(&event.flight, ctx);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        match event.kind {
            Congestion::Nack { .. } => self.step.nacks += 1,
            Congestion::Timeout | Congestion::Loss => self.step.losses += 1,
        }
        self.act(&event.flight, ctx);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests;

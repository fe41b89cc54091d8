//! `level-aimd`: cuts the window in proportion to the congestion level that Data carry.
//!
//! Stands in for the consumers of CoopCon (Li et al., IEEE TNSM 2023) and FleCom (Li et al., INFOCOM workshops 2023),
//! whose laws are not public. Public, from the ndnSieve paper: consumers adjust their window gradually (CoopCon), by an
//! amount computed from the level of congestion (FleCom). All else is ours: + 1 per Data until the first level above 0,
//! then + 1/cwnd; at a level L above 0, at most once per round trip, cwnd · (1 − `gain` · L); a timeout and a
//! congestion NACK count as level 1.

use super::windowed::Window;
use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::shared::guard::WindowGuard;
use crate::shared::level::of_field;
use crate::shared::slow_start::SlowStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`LevelAimd`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments.
    pub initial_window: f64,
    /// The smallest window, in segments.
    pub floor: f64,
    /// Part of the window that a level of 1 takes, in (0, 1).
    pub gain: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, floor: 1.0, gain: 0.5, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct LevelAimd {
    gain: f64,
    timer: Timer,
    level: Slot,
    window: Window,
    start: SlowStart,
    guard: WindowGuard,
    decreases: u64,
}

impl Component for LevelAimd {
    const NAME: &'static str = "level-aimd";
    const SUMMARY: &'static str = "cuts the window in proportion to the congestion level that Data carry";
    const SOURCE: &'static str =
        "stands in for Li et al., IEEE TNSM 2023 and INFOCOM workshops 2023, whose laws are not public; ours";
    const FIELDS: &'static [Field] = &[Field::CongestionLevel];
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::factor("gain", params.gain)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> LevelAimd {
        LevelAimd {
            gain: params.gain,
            timer: params.timer,
            level: env.slot(Field::CongestionLevel),
            window: Window::new(params.initial_window, params.floor),
            // The window never exceeds it, so only a level ends slow start.
            start: SlowStart::new(2.0 * MAX_WINDOW),
            guard: WindowGuard::new(0.0),
            decreases: 0,
        }
    }
}

impl LevelAimd {
    fn cut(&mut self, level: f64, flight: &Flight, ctx: &mut Ctx<'_>) {
        self.start.end_at(0.0);
        if self.guard.admit(flight) {
            self.window.set(self.window.get() * (1.0 - self.gain * level));
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window.get());
        }
    }
}

impl Consumer for LevelAimd {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let level = of_field(event.fields.get(self.level));
        if level > 0.0 {
            return self.cut(level, &event.flight, ctx);
        }
        let window = self.window.get();
        let step = self.start.step(window);
        self.window.set(window + step);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if !event.kind.is_other_nack() {
            self.cut(1.0, &event.flight, ctx);
        }
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{assert_close, script, trace};
    use super::*;
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::shared::level::to_field;
    use crate::units::{Bytes, Duration, Time};

    // 1 + 9 = 10; the timeout counts as level 1: half of it; then + 1/5.
    #[test]
    fn the_window_grows_by_one_per_data_until_the_first_signal_and_then_by_its_inverse() {
        let windows = trace::<LevelAimd>(&Params::default(), &script("D9 T D1"));
        assert_close(&windows, &[(8, 10.0), (9, 5.0), (10, 5.2)]);
    }

    // 100 · (1 − 0.5 · 0.2) = 90; the second level within the window of Data changes nothing, segment 151 is beyond it.
    #[test]
    fn a_level_cuts_in_proportion_and_once_per_round_trip() {
        let mut layout = FieldLayout::new();
        let params = Params { initial_window: 100.0, ..Params::default() };
        let mut consumer = LevelAimd::new(&params, &mut Env { layout: &mut layout });
        let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::default());
        let mut fields = Fields::default();
        fields.set(consumer.level, to_field(0.2));
        for (segment, window) in [(50, 90.0), (51, 90.0), (150, 90.0), (151, 81.0)] {
            let flight = Flight {
                in_flight: 99,
                next_segment: segment + 100,
                highest_received: Some(segment),
                srtt: Duration::from_millis(100),
            };
            let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
            let event = DataEvent {
                segment,
                sent: Time::ZERO,
                rtt: None,
                mark: 0,
                size: Bytes::new(1066),
                fields: &fields,
                flight,
            };
            consumer.on_data(&event, &mut ctx);
            assert!((consumer.window() - window).abs() < 1e-6, "{segment} {}", consumer.window());
        }
    }
}

//! `ndnsieve`: one segment more per Data, one less per marked Data.
//!
//! Equations 4 and 5 as printed: cwnd + 1 for each unmarked Data, cwnd − 1 for each marked one. The law has no other
//! signal, no slow start and no timeout.
//!
//! Source: Ma et al., Discover Applied Sciences 2024, §4.3. Ours: first window and floor 1; `step = "per-window"`, a
//! what-if that reads the equations' index as a step of one round trip: slow start until the first mark, then ± 1/cwnd
//! per Data; what the window does on a timeout, which the paper leaves to future work (default: nothing; the fetcher
//! retransmits); congestion NACKs leave the window alone.

use super::windowed::{Cause, Gate, React, Reaction, Window, WindowLaw, Windowed};
use super::{DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::slow_start::SlowStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a step of equations 4 and 5 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// One Data: ± 1 per Data, as printed.
    PerData,
    /// One window of Data: + 1 per Data until the first mark, then ± 1/cwnd (ours).
    PerWindow,
}

/// What a timeout does to the window, besides the retransmission (ours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Timeouts {
    /// Nothing.
    Retransmit,
    /// One segment less, once per window.
    Decrement,
    /// Half, once per window.
    Halve,
}

/// Parameters of [`NdnSieve`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; 1 is ours.
    pub initial_window: f64,
    /// The smallest window, in segments; 1 is ours.
    pub floor: f64,
    /// What a step is; per Data as printed.
    pub step: Step,
    /// What a timeout does to the window; ours.
    pub timeouts: Timeouts,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 1.0,
            floor: 1.0,
            step: Step::PerData,
            timeouts: Timeouts::Retransmit,
            timer: Timer::default(),
        }
    }
}

/// The window law.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law {
    window: Window,
    step: Step,
    start: SlowStart,
    halve: bool,
}

impl Law {
    fn size(&self) -> f64 {
        match self.step {
            Step::PerWindow if !self.start.applies(self.window.get()) => 1.0 / self.window.get(),
            _ => 1.0,
        }
    }
}

impl WindowLaw for Law {
    fn increase(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        self.window.set(self.window.get() + self.size());
    }

    fn decrease(&mut self, cause: Cause, _: &Flight, _: &mut Ctx<'_>) {
        self.start.end_at(0.0);
        let window = self.window.get();
        self.window.set(match cause {
            Cause::Mark => window - self.size(),
            Cause::Loss if self.halve => window / 2.0,
            Cause::Loss => window - 1.0,
        });
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn jump(&mut self, window: f64, avoid: bool) {
        self.window.set(window);
        if avoid {
            self.start.end_at(0.0);
        }
    }
}

/// The consumer.
pub type NdnSieve = Windowed<Law>;

impl Component for NdnSieve {
    const NAME: &'static str = "ndnsieve";
    const SUMMARY: &'static str = "one segment more per Data, one less per marked Data";
    const SOURCE: &'static str = "Ma et al., Discover Applied Sciences 2024, equations 4 and 5; per-window step: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> NdnSieve {
        let law = Law {
            window: Window::new(params.initial_window, params.floor),
            step: params.step,
            // The window never exceeds it, so only a mark or timeout ends slow start.
            start: SlowStart::new(2.0 * MAX_WINDOW),
            halve: params.timeouts == Timeouts::Halve,
        };
        let losses = match params.timeouts {
            Timeouts::Retransmit => React::Never,
            Timeouts::Decrement | Timeouts::Halve => React::OncePerWindow,
        };
        let reaction = Reaction {
            marks: React::Always,
            losses,
            nacks: React::Never,
            recovery: 0.0,
            gate: Gate::Below,
            noise: 0.0,
        };
        Windowed::new(law, reaction, params.timer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{assert_close, script, trace};
    use super::*;

    #[test]
    fn each_data_adds_one_segment_and_each_marked_one_takes_one() {
        let windows = trace::<NdnSieve>(&Params::default(), &script("D9 M3 D1"));
        assert_close(&windows, &[(0, 2.0), (8, 10.0), (9, 9.0), (11, 7.0), (12, 8.0)]);
    }

    #[test]
    fn the_window_never_falls_below_one_segment() {
        assert_close(&trace::<NdnSieve>(&Params::default(), &script("D1 M5 D1")), &[(5, 1.0), (6, 2.0)]);
    }

    // Python: w = 10; w -= 1/w → 9.9; w += 1/w → 10.001010101…; w -= 1/w → 9.901020200…
    // The first mark ends slow start and is itself a step of one round trip.
    #[test]
    fn per_window_steps_grow_by_slow_start_until_the_first_mark() {
        let params = Params { step: Step::PerWindow, ..Params::default() };
        let windows = trace::<NdnSieve>(&params, &script("D9 M1 D1 M1"));
        assert_close(&windows, &[(8, 10.0), (9, 9.9), (10, 10.001_010_101_01), (11, 9.901_020_201)]);
    }

    #[test]
    fn timeouts_do_what_is_configured() {
        for (timeouts, after) in [(Timeouts::Retransmit, 10.0), (Timeouts::Decrement, 9.0), (Timeouts::Halve, 5.0)] {
            let params = Params { timeouts, ..Params::default() };
            assert_close(&trace::<NdnSieve>(&params, &script("D9 T1")), &[(9, after)]);
        }
    }
}

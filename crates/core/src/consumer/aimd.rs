//! `aimd`: additive increase, multiplicative decrease.
//!
//! Slow start adds one segment per unmarked Data; congestion avoidance adds one per window; a cut halves the window.
//! Source: RFC 5681 §3.1 in the form of ndnSIM 2.8's ConsumerPcon, which is also ndn-tools' pipeline but for constants.
//!
//! Deviations: ndnSIM's floor is its initial window; here both are parameters with the same default. ndnSIM has no
//! limit of slow start before the first cut; here it is `ssthresh`, by default the largest window of all.

use super::startup::Startup;
use super::windowed::{self, Cause, Reaction, Window, WindowLaw, Windowed, check_start};
use super::{DataEvent, Flight, MAX_WINDOW, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Field;
use crate::shared::slow_start::SlowStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Aimd`]; defaults are ndnSIM 2.8's ConsumerPcon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; `floor` if that is more (ConsumerWindow: 1; ndn-tools: 2).
    pub initial_window: f64,
    /// The smallest window, in segments (ConsumerPcon: its initial window; ndn-tools: 2).
    pub floor: f64,
    /// Where the first slow start ends, in segments (both sources: unlimited).
    pub ssthresh: f64,
    /// Segments added per Data in slow start (both sources: 1).
    pub slow_start_step: f64,
    /// Segments added per window in congestion avoidance (both sources: 1).
    pub increase: f64,
    /// Divides the increase by the whole part of the window, as ndn-tools does, instead of by the window.
    pub whole_window: bool,
    /// What a cut multiplies the window by (RFC 5681 and both sources: 0.5).
    pub beta: f64,
    /// Which signals count, and how often (ConsumerPcon).
    pub reaction: Reaction,
    /// How the first window is found (source: slow start).
    pub startup: Startup,
    /// The retransmission timer (ndnSIM's Consumer).
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 1.0,
            floor: 1.0,
            ssthresh: MAX_WINDOW,
            slow_start_step: 1.0,
            increase: 1.0,
            whole_window: false,
            beta: 0.5,
            reaction: Reaction::default(),
            startup: Startup::default(),
            timer: Timer::default(),
        }
    }
}

/// The window law.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law {
    window: Window,
    start: SlowStart,
    slow_start_step: f64,
    increase: f64,
    whole_window: bool,
    beta: f64,
}

impl Law {
    /// The window up to which it grows by slow start, in segments.
    pub fn threshold(&self) -> f64 {
        self.start.threshold()
    }

    /// The law by itself, for who keeps segments and timers elsewhere.
    pub fn new(params: &Params) -> Law {
        Law {
            window: Window::new(params.initial_window, params.floor),
            start: SlowStart::new(params.ssthresh),
            slow_start_step: params.slow_start_step,
            increase: params.increase,
            whole_window: params.whole_window,
            beta: params.beta,
        }
    }
}

impl WindowLaw for Law {
    fn increase(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        let window = self.window.get();
        let step = if self.start.applies(window) {
            self.slow_start_step
        } else if self.whole_window {
            self.increase / libm::floor(window)
        } else {
            self.increase / window
        };
        self.window.set(window + step);
    }

    fn decrease(&mut self, _: Cause, _: &Flight, _: &mut Ctx<'_>) {
        let cut = self.window.get() * self.beta;
        self.start.end_at(cut);
        self.window.set(cut);
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn jump(&mut self, window: f64, avoid: bool) {
        self.window.set(window);
        if avoid {
            self.start.end_at(self.window.get());
        }
    }
}

/// The consumer.
pub type Aimd = Windowed<Law>;

impl Component for Aimd {
    const NAME: &'static str = "aimd";
    const SUMMARY: &'static str = "additive increase, multiplicative decrease, reacting to marks and timeouts";
    const SOURCE: &'static str = "RFC 5681 §3.1; ndnSIM 2.8 ConsumerPcon";
    const FIELDS: &'static [Field] = windowed::FIELDS;
    type Params = Params;

    fn needs(_: &Params) -> Vec<Field> {
        Vec::new()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_start(params.initial_window, params.floor, params.ssthresh)?;
        check::number("slow-start-step", params.slow_start_step, 0.0, 1000.0)?;
        check::number("increase", params.increase, 0.0, 1000.0)?;
        check::factor("beta", params.beta)?;
        params.reaction.check()?;
        params.startup.check()?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Aimd {
        Windowed::new(Law::new(params), params.reaction, params.timer).announcing(env).starting(params.startup, env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{Step, trace};
    use super::*;
    use Step::{Data, Mark, Timeout};

    fn run(params: Params, steps: &[Step]) -> Vec<f64> {
        trace::<Aimd>(&params, steps)
    }

    #[test]
    fn slow_start_then_one_segment_per_window() {
        // By hand: 1 → 2 → 3 → 4; cut to 2 (and slow start ends there); 2 + 1/2; 2.5 + 1/2.5; 2.9 + 1/2.9.
        let windows = run(Params::default(), &[Data, Data, Data, Mark, Data, Data, Data]);
        assert_eq!(windows, [2.0, 3.0, 4.0, 2.0, 2.5, 2.9, 2.9 + 1.0 / 2.9]);
    }

    #[test]
    fn the_window_never_falls_below_the_floor() {
        let always = Reaction { losses: super::super::windowed::React::Always, ..Reaction::default() };
        let params = Params { reaction: always, ..Params::default() };
        assert_eq!(run(params, &[Data, Timeout, Timeout, Timeout, Data]), [2.0, 1.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn ndn_tools_divides_by_the_whole_part_of_the_window() {
        // By hand, threshold 2: 2 + 1/2, 2.5 + 1/2, 3 + 1/3.
        let params = Params { initial_window: 2.0, floor: 2.0, ssthresh: 2.0, whole_window: true, ..Params::default() };
        assert_eq!(run(params, &[Data, Data, Data]), [2.5, 3.0, 3.0 + 1.0 / 3.0]);
    }

    #[test]
    fn one_reaction_per_one_and_a_half_windows() {
        // Four Data (segments 0 to 3), next is 4 + window: marks right after each other cut once.
        let windows = run(Params::default(), &[Data, Data, Data, Data, Mark, Mark, Mark]);
        assert_eq!(windows, [2.0, 3.0, 4.0, 5.0, 2.5, 2.5, 2.5]);
    }

    #[test]
    fn nonsense_is_rejected() {
        let check = |params: Params| Aimd::check(&params).unwrap_err().to_string();
        assert!(check(Params { beta: 1.0, ..Params::default() }).contains("beta"));
        assert!(check(Params { beta: f64::NAN, ..Params::default() }).contains("beta"));
        assert!(check(Params { initial_window: 0.0, ..Params::default() }).contains("initial-window"));
        assert!(check(Params { floor: 0.5, ..Params::default() }).contains("floor"));
        assert!(check(Params { increase: -1.0, ..Params::default() }).contains("increase"));
        let timer = Timer { backoff_cap: 0, ..Timer::default() };
        assert!(check(Params { timer, ..Params::default() }).contains("backoff-cap"));
    }
}

//! `bic`: binary increase congestion control.
//!
//! Below a small window it is AIMD. Above, the window searches by halves between the window after the last cut and the
//! one before it, by at most a fixed step per round trip; once there, it probes beyond with doubling steps.
//! Source: ndnSIM 2.8's ConsumerPcon (`BicIncrease`, `BicDecrease`), after Xu, Harfoush, Rhee, INFOCOM 2004.
//!
//! Two quirks of the source are kept, since every published number has them: a cut does not end probing, and on the
//! first pass the target is still 0, so the first step at the low window goes back by one; from then on the window
//! grows by the largest step per round trip until the first cut.
//!
//! Deviations: the source's floor is its initial window and holds for cuts only; here it is a parameter and holds for
//! every change. `ssthresh` limits the first slow start; the source has no such limit.

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

/// Parameters of [`Bic`]; defaults are ndnSIM 2.8's ConsumerPcon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; `floor` if that is more (ConsumerWindow: 1).
    pub initial_window: f64,
    /// The smallest window, in segments (ConsumerPcon: its initial window).
    pub floor: f64,
    /// Where the first slow start ends, in segments; only felt below `low-window` (source: unlimited).
    pub ssthresh: f64,
    /// Below this window, in segments, the law is AIMD (BIC_LOW_WINDOW: 14).
    pub low_window: f64,
    /// The most the window grows per window, in segments (BIC_MAX_INCREMENT: 16).
    pub max_increment: f64,
    /// What a cut multiplies the window by (CubicBeta: 0.8).
    pub beta: f64,
    /// The search ends, and probing begins, this close to the window of the last cut, in segments (source: 10⁻⁵; Xu et
    /// al. let no step be smaller than S_min = 0.01).
    pub equal: f64,
    /// After a cut at a lower window than the last, aims half-way below it (source: always).
    pub fast_convergence: bool,
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
            low_window: 14.0,
            max_increment: 16.0,
            beta: 0.8,
            equal: 1e-5,
            fast_convergence: true,
            reaction: Reaction::default(),
            startup: Startup::default(),
            timer: Timer::default(),
        }
    }
}

impl Params {
    /// Rejects constants outside their ranges.
    pub(super) fn check(&self) -> Result<(), SchemeError> {
        check_start(self.initial_window, self.floor, self.ssthresh)?;
        check::number("low-window", self.low_window, 1.0, MAX_WINDOW)?;
        check::number("max-increment", self.max_increment, 1.0, 1e6)?;
        check::factor("beta", self.beta)?;
        check::number("equal", self.equal, 1e-9, 1.0)?;
        self.reaction.check()?;
        self.startup.check()?;
        self.timer.check()
    }
}

/// How two implementations by the same author differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(super) enum Edition {
    /// ndnSIM 2.8: slow start below the threshold, probing targets are real numbers.
    Ndnsim,
    /// The 2016 artefact: slow start up to and at the threshold, probing targets are cut to whole segments.
    Pcon2016,
}

/// The window law.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law {
    window: Window,
    start: SlowStart,
    edition: Edition,
    low_window: f64,
    max_increment: f64,
    beta: f64,
    equal: f64,
    fast_convergence: bool,
    min: f64,
    max: f64,
    target: f64,
    probing: bool,
    probe_step: f64,
    probe_target: f64,
}

impl Law {
    pub(super) fn new(params: &Params, edition: Edition) -> Law {
        Law {
            window: Window::new(params.initial_window, params.floor),
            start: SlowStart::new(params.ssthresh),
            edition,
            low_window: params.low_window,
            max_increment: params.max_increment,
            beta: params.beta,
            equal: params.equal,
            fast_convergence: params.fast_convergence,
            min: 0.0,
            max: f64::MAX,
            target: 0.0,
            probing: false,
            probe_step: 0.0,
            probe_target: 0.0,
        }
    }

    fn set_probe_target(&mut self) {
        let target = self.window.get() + self.probe_step;
        self.probe_target = if self.edition == Edition::Pcon2016 { libm::trunc(target) } else { target };
    }

    fn increase_low(&mut self) {
        let window = self.window.get();
        let slow_start = match self.edition {
            Edition::Ndnsim => self.start.applies(window),
            Edition::Pcon2016 => self.start.applies_up_to(window),
        };
        self.window.set(window + if slow_start { 1.0 } else { 1.0 / window });
    }

    fn search(&mut self) {
        let window = self.window.get();
        self.window.set(window + (self.target - window).min(self.max_increment) / window);
        if self.window.get() + self.equal < self.max {
            self.min = self.window.get();
            self.target = middle(self.max, self.min);
        } else {
            self.probing = true;
            self.probe_step = 1.0;
            self.set_probe_target();
            self.max = f64::MAX;
        }
    }

    fn probe(&mut self) {
        let window = self.window.get();
        self.window.set(window + self.probe_step / window);
        if self.window.get() >= self.probe_target {
            self.probe_step *= 2.0;
            self.set_probe_target();
        }
        if self.probe_step >= self.max_increment {
            self.probing = false;
        }
    }
}

fn middle(a: f64, b: f64) -> f64 {
    a / 2.0 + b / 2.0
}

impl WindowLaw for Law {
    fn increase(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        if self.window.get() < self.low_window {
            self.increase_low();
        } else if self.probing {
            self.probe();
        } else {
            self.search();
        }
    }

    fn decrease(&mut self, _: Cause, _: &Flight, _: &mut Ctx<'_>) {
        let window = self.window.get();
        let cut = window * self.beta;
        self.window.set(cut);
        if window < self.low_window {
            self.start.end_at(cut);
            return;
        }
        let before = self.max;
        self.min = cut;
        self.max = if self.fast_convergence && before > window { middle(window, cut) } else { window };
        self.target = middle(self.max, self.min);
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn jump(&mut self, window: f64, avoid: bool) {
        self.window.set(window);
        self.min = self.window.get();
        self.max = f64::MAX;
        self.target = middle(self.max, self.min);
        self.probing = false;
        if avoid {
            self.start.end_at(self.min);
        }
    }
}

/// The consumer.
pub type Bic = Windowed<Law>;

impl Component for Bic {
    const NAME: &'static str = "bic";
    const SUMMARY: &'static str = "binary increase: searches the window of the last cut by halves, then probes beyond";
    const SOURCE: &'static str = "Xu, Harfoush, Rhee, INFOCOM 2004; ndnSIM 2.8 ConsumerPcon";
    const FIELDS: &'static [Field] = windowed::FIELDS;
    type Params = Params;

    fn needs(_: &Params) -> Vec<Field> {
        Vec::new()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        params.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Bic {
        Windowed::new(Law::new(params, Edition::Ndnsim), params.reaction, params.timer)
            .announcing(env)
            .starting(params.startup, env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{assert_close, marks_always, script, trace};
    use super::*;

    /// Every expected value of these tests comes from a separate program written from the law's description alone.
    #[test]
    fn the_first_pass_steps_back_by_one_at_the_low_window_and_then_grows_linearly() {
        let windows = trace::<Bic>(&Params::default(), &script("D16"));
        assert_eq!(windows[11..15], [13.0, 14.0, 13.0, 14.0]);
        assert_eq!(windows[15], 14.0 + 16.0 / 14.0);
    }

    #[test]
    fn search_probing_and_fast_convergence_follow_the_calculated_trace() {
        let params = Params { reaction: marks_always(), ..Params::default() };
        let windows = trace::<Bic>(&params, &script("D60 M D400 M D300 M D600 M D200"));
        assert_close(
            &windows,
            &[
                (59, 40.66151480336178),
                (60, 32.52921184268943),
                (61, 32.59171184268943),
                (160, 35.65323138902903),
                (460, 36.580553168328905),
                (461, 29.264442534663125),
                (761, 32.889325195346665),
                (762, 26.311460156277334),
                (1000, 29.549361613241143),
                (1361, 29.60028399028707),
                (1563, 26.58036466175724),
            ],
        );
    }

    #[test]
    fn below_the_low_window_it_is_aimd_with_its_own_beta() {
        let params = Params { reaction: marks_always(), ..Params::default() };
        let windows = trace::<Bic>(&params, &script("D7 M D4 M D3"));
        assert_close(&windows, &[(6, 8.0), (7, 6.4), (8, 6.55625), (11, 7.003653318825585), (12, 5.6029226550604685)]);
    }

    #[test]
    fn nonsense_is_rejected() {
        let check = |params: Params| Bic::check(&params).unwrap_err().to_string();
        assert!(check(Params { beta: 0.0, ..Params::default() }).contains("beta"));
        assert!(check(Params { equal: 0.0, ..Params::default() }).contains("equal"));
        assert!(check(Params { low_window: f64::NAN, ..Params::default() }).contains("low-window"));
        assert!(check(Params { max_increment: 0.0, ..Params::default() }).contains("max-increment"));
        assert!(check(Params { ssthresh: 1e9, ..Params::default() }).contains("ssthresh"));
        let reaction = Reaction { recovery: -1.0, ..Reaction::default() };
        assert!(check(Params { reaction, ..Params::default() }).contains("recovery"));
        let reaction = Reaction { noise: 1.5, ..Reaction::default() };
        assert!(check(Params { reaction, ..Params::default() }).contains("noise"));
    }
}

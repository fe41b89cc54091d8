//! `pcon`: the consumer of PCON as its authors published it in 2016.
//!
//! BIC with β 0.5 that reacts to every mark, because the CoDel routers of the scheme space their marks; NACKs and
//! timeouts are reacted to once per window. Source: Schneider, Yi, Zhang, Zhang, "A Practical Congestion Control Scheme
//! for Named Data Networking", ICN 2016, and the authors' ndnSIM fork (`ConsumerCC`), read at commit b56ebc1.
//!
//! It differs from `bic` (the same author's later ConsumerPcon) in β, the reaction profile, the send gate (in flight ≤
//! window), the timer (scan 10 ms, multiplier cap 8), slow start at the threshold itself, and probing targets that are
//! whole segments.
//!
//! Deviations: after a timeout the source applies its floor only when the next Data arrives, here immediately. There an
//! unmarked NACK even grows the window and causes an immediate retransmission; here every NACK for congestion counts as
//! a loss, and the fetcher delays the retransmission. Nothing in the source generates NACKs.

use super::bic;
use super::startup::Startup;
use super::windowed::{self, Cause, Reaction, WindowLaw, Windowed};
use super::{DataEvent, Flight, MAX_WINDOW, Timer};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Field;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Pcon`]; defaults are those of the authors' 2016 code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; `floor` if that is more (`Window`: 1).
    pub initial_window: f64,
    /// The smallest window, in segments (source: its initial window).
    pub floor: f64,
    /// Where the first slow start ends, in segments; only felt below `low-window` (source: unlimited).
    pub ssthresh: f64,
    /// Below this window, in segments, the law is AIMD (LOW_WINDOW: 14).
    pub low_window: f64,
    /// The most the window grows per window, in segments (MAX_INCREMENT: 16).
    pub max_increment: f64,
    /// What a cut multiplies the window by (BETA: 0.5).
    pub beta: f64,
    /// After a cut at a lower window than the last, aims half-way below it (source: always).
    pub fast_convergence: bool,
    /// Which signals count, and how often (source: every mark, other signals once per window).
    pub reaction: Reaction,
    /// How the first window is found (source: slow start).
    pub startup: Startup,
    /// The retransmission timer (source: minimum 200 ms, multiplier up to 8, scan every 10 ms).
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
            beta: 0.5,
            fast_convergence: true,
            reaction: Reaction::pcon_2016(),
            startup: Startup::default(),
            timer: Timer::pcon_2016(),
        }
    }
}

impl Params {
    fn bic(&self) -> bic::Params {
        bic::Params {
            initial_window: self.initial_window,
            floor: self.floor,
            ssthresh: self.ssthresh,
            low_window: self.low_window,
            max_increment: self.max_increment,
            beta: self.beta,
            fast_convergence: self.fast_convergence,
            reaction: self.reaction,
            startup: self.startup,
            timer: self.timer,
            ..bic::Params::default()
        }
    }
}

/// The window law: BIC in its 2016 edition.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law(bic::Law);

impl WindowLaw for Law {
    fn increase(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.0.increase(event, ctx);
    }
    fn decrease(&mut self, cause: Cause, flight: &Flight, ctx: &mut Ctx<'_>) {
        self.0.decrease(cause, flight, ctx);
    }
    fn window(&self) -> f64 {
        self.0.window()
    }
    fn jump(&mut self, window: f64, avoid: bool) {
        self.0.jump(window, avoid);
    }
}

/// The consumer.
pub type Pcon = Windowed<Law>;

impl Component for Pcon {
    const NAME: &'static str = "pcon";
    const SUMMARY: &'static str = "PCON's consumer of 2016: BIC with β 0.5, cut by every mark";
    const SOURCE: &'static str = "Schneider, Yi, Zhang, Zhang, ICN 2016; the authors' ndnSIM fork, ConsumerCC";
    const FIELDS: &'static [Field] = windowed::FIELDS;
    type Params = Params;

    fn needs(_: &Params) -> Vec<Field> {
        Vec::new()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        params.bic().check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Pcon {
        let law = bic::Law::new(&params.bic(), bic::Edition::Pcon2016);
        Windowed::new(Law(law), params.reaction, params.timer).announcing(env).starting(params.startup, env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{assert_close, script, trace};
    use super::*;

    /// Every expected value of these tests comes from a separate program written from the law's description alone.
    #[test]
    fn every_mark_halves_the_window_and_probing_follows_the_calculated_trace() {
        let windows = trace::<Pcon>(&Params::default(), &script("D60 M D400 M D300 M D600 M D200"));
        assert_close(
            &windows,
            &[
                (59, 40.66151480336178),
                (60, 20.33075740168089),
                (61, 20.58075740168089),
                (460, 30.486408280724312),
                (461, 15.243204140362156),
                (762, 11.42883801008673),
                (1000, 17.140986854858333),
                (1360, 62.373551472352),
                (1362, 62.88553879338653),
                (1450, 42.22958089860994),
                (1563, 45.793166997159894),
            ],
        );
    }

    #[test]
    fn slow_start_includes_its_threshold() {
        // 8 is cut to 4, the threshold; one more step of slow start, then 5 + 1/5.
        let windows = trace::<Pcon>(&Params::default(), &script("D7 M D2"));
        assert_eq!(windows[6..], [8.0, 4.0, 5.0, 5.2]);
    }

    #[test]
    fn marks_count_each_but_timeouts_once_per_window() {
        // 16 in slow start is never reached: the 14th Data steps back to 13 (see bic). From 8: two marks, two timeouts.
        let windows = trace::<Pcon>(&Params::default(), &script("D7 M2 T2"));
        assert_eq!(windows[6..], [8.0, 4.0, 2.0, 1.0, 1.0]);
        let windows = trace::<Pcon>(&Params::default(), &script("D12 M T2"));
        assert_eq!(windows[11..], [13.0, 6.5, 3.25, 3.25]);
    }
}

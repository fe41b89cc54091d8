//! `cubic`: the window is a cubic function of the time since the last cut.
//!
//! Two laws. `ndnsim` is ndnSIM 2.8's ConsumerPcon (after RFC 8312): target W(t) = C·(t − K)³ + Wmax with
//! K = ∛(Wmax·(1 − β)/C), growth of max(0, W(t) − w)/w per unmarked Data, β 0.8, no TCP-friendly region.
//! `rfc9438` is RFC 9438: target W(t + RTT) between w and 1.5 w (§4.2, §4.4, §4.5), Reno-friendly region grown per Data
//! (§4.3), fast convergence (§4.7), β 0.7. Constants left out take the values of the chosen law.
//!
//! Deviations: a timeout is cut like a mark (RFC 9438 §4.8 restarts from one segment), since it is an NDN consumer's
//! ordinary sign of a loss; cuts start from the window, not the flight size (§4.6 allows it with a limited window);
//! the Reno-friendly estimate never lowers the window. `ndnsim` with `reno-friendly` uses ndn-tools' estimate
//! β·Wmax + 3(1 − β)/(1 + β)·t/srtt. If congestion avoidance starts without a cut, Wmax is the window and K is 0, as
//! RFC 9438 §4.10 says; ndnSIM leaves that case undefined. Idle time counts in t, as in ndnSIM.

use super::startup::Startup;
use super::windowed::{self, Cause, Reaction, Window, WindowLaw, Windowed, check_start};
use super::{DataEvent, Flight, MAX_WINDOW, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::Field;
use crate::shared::slow_start::SlowStart;
use crate::units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Which CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "lowercase")]
pub enum Edition {
    /// ndnSIM 2.8's ConsumerPcon.
    #[default]
    Ndnsim,
    /// RFC 9438.
    Rfc9438,
}

/// Parameters of [`Cubic`]; defaults are those of the chosen law.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Which CUBIC; also decides the defaults of the constants.
    pub law: Edition,
    /// The first window, in segments; `floor` if that is more (ConsumerWindow: 1).
    pub initial_window: f64,
    /// The smallest window, in segments (ConsumerPcon: its initial window).
    pub floor: f64,
    /// Where the first slow start ends, in segments (both laws: unlimited).
    pub ssthresh: f64,
    /// Steepness C, in segments/s³ (both laws: 0.4).
    pub c: f64,
    /// What a cut multiplies the window by (ndnsim: 0.8; RFC 9438 §4.6: 0.7).
    pub beta: f64,
    /// Grows at least as fast as Reno would (ndnsim: switched off in the source; RFC 9438 §4.3: on).
    pub reno_friendly: bool,
    /// After a cut at a lower window than the last, remembers less than it (ndnsim: off; RFC 9438 §4.7: on).
    pub fast_convergence: bool,
    /// How far below the last one a cut counts as lower, as a ratio (ndnsim: 0.99; RFC 9438: 1).
    pub fast_convergence_ratio: f64,
    /// The target is at most so many windows (ndnsim: unlimited; RFC 9438 §4.2: 1.5).
    pub target_limit: f64,
    /// Which signals count, and how often (ConsumerPcon).
    pub reaction: Reaction,
    /// How the first window is found (source: slow start).
    pub startup: Startup,
    /// The retransmission timer (ndnSIM's Consumer).
    pub timer: Timer,
}

impl Params {
    /// The values of a law's source.
    pub fn of(law: Edition) -> Params {
        let rfc = law == Edition::Rfc9438;
        Params {
            law,
            initial_window: 1.0,
            floor: 1.0,
            ssthresh: MAX_WINDOW,
            c: 0.4,
            beta: if rfc { 0.7 } else { 0.8 },
            reno_friendly: rfc,
            fast_convergence: rfc,
            fast_convergence_ratio: if rfc { 1.0 } else { 0.99 },
            target_limit: if rfc { 1.5 } else { MAX_WINDOW },
            reaction: Reaction::default(),
            startup: Startup::default(),
            timer: Timer::default(),
        }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params::of(Edition::default())
    }
}

/// [`Params`] as given: what is left out follows the law.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Given {
    law: Edition,
    initial_window: f64,
    floor: f64,
    ssthresh: f64,
    c: f64,
    #[serde(deserialize_with = "given")]
    beta: Option<f64>,
    #[serde(deserialize_with = "given")]
    reno_friendly: Option<bool>,
    #[serde(deserialize_with = "given")]
    fast_convergence: Option<bool>,
    #[serde(deserialize_with = "given")]
    fast_convergence_ratio: Option<f64>,
    #[serde(deserialize_with = "given")]
    target_limit: Option<f64>,
    reaction: Reaction,
    startup: Startup,
    timer: Timer,
}

/// A value that is given must be one: an explicit null is no way to leave it out.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Default for Given {
    fn default() -> Given {
        let Params { law, initial_window, floor, ssthresh, c, reaction, startup, timer, .. } = Params::default();
        Given {
            law,
            initial_window,
            floor,
            ssthresh,
            c,
            beta: None,
            reno_friendly: None,
            fast_convergence: None,
            fast_convergence_ratio: None,
            target_limit: None,
            reaction,
            startup,
            timer,
        }
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Params, D::Error> {
        let given = Given::deserialize(deserializer)?;
        let source = Params::of(given.law);
        Ok(Params {
            law: given.law,
            initial_window: given.initial_window,
            floor: given.floor,
            ssthresh: given.ssthresh,
            c: given.c,
            beta: given.beta.unwrap_or(source.beta),
            reno_friendly: given.reno_friendly.unwrap_or(source.reno_friendly),
            fast_convergence: given.fast_convergence.unwrap_or(source.fast_convergence),
            fast_convergence_ratio: given.fast_convergence_ratio.unwrap_or(source.fast_convergence_ratio),
            target_limit: given.target_limit.unwrap_or(source.target_limit),
            reaction: given.reaction,
            startup: given.startup,
            timer: given.timer,
        })
    }
}

/// The window law.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Law {
    params: Params,
    window: Window,
    start: SlowStart,
    /// Start of the present stage of congestion avoidance; none before the first and after a jump.
    epoch: Option<Time>,
    max: f64,
    /// What the next cut is compared with to see whether windows fall.
    last_max: f64,
    /// Seconds from the epoch to the plateau.
    k: f64,
    /// RFC 9438: the Reno-friendly estimate, and the window before the last cut.
    reno: f64,
    prior: f64,
}

impl Law {
    /// The window up to which it grows by slow start, in segments.
    pub fn threshold(&self) -> f64 {
        self.start.threshold()
    }

    /// The law by itself, for who keeps segments and timers elsewhere.
    pub fn new(params: &Params) -> Law {
        Law {
            params: params.clone(),
            window: Window::new(params.initial_window, params.floor),
            start: SlowStart::new(params.ssthresh),
            epoch: None,
            max: 0.0,
            last_max: 0.0,
            k: 0.0,
            reno: 0.0,
            prior: 0.0,
        }
    }

    fn w(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.params.c * from_plateau * from_plateau * from_plateau + self.max
    }

    /// By how much a Reno flow with this β grows per round trip for the same mean window (RFC 9438 §4.3).
    fn reno_slope(&self) -> f64 {
        3.0 * (1.0 - self.params.beta) / (1.0 + self.params.beta)
    }

    fn avoid(&mut self, t: f64, srtt: f64) {
        let window = self.window.get();
        let limit = self.params.target_limit * window;
        let target = match self.params.law {
            Edition::Ndnsim => {
                let reno = if self.params.reno_friendly && srtt > 0.0 {
                    self.max * self.params.beta + self.reno_slope() * t / srtt
                } else {
                    0.0
                };
                self.w(t).max(reno)
            }
            Edition::Rfc9438 => {
                let slope = if self.reno < self.prior { self.reno_slope() } else { 1.0 };
                self.reno += slope / window;
                if self.params.reno_friendly && self.w(t) < self.reno {
                    self.window.set(self.reno.max(window));
                    return;
                }
                self.w(t + srtt)
            }
        };
        self.window.set(window + (target.min(limit) - window).max(0.0) / window);
    }

    fn begin_without_cut(&mut self, now: Time) {
        let window = self.window.get();
        self.epoch = Some(now);
        self.max = window;
        self.k = 0.0;
        self.reno = window;
        self.prior = window;
    }
}

impl WindowLaw for Law {
    fn increase(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let window = self.window.get();
        if self.start.applies(window) {
            self.window.set(window + 1.0);
            return;
        }
        if self.epoch.is_none() {
            self.begin_without_cut(ctx.now);
        }
        let t = self.epoch.map_or(0.0, |epoch| ctx.now.since(epoch).secs());
        self.avoid(t, event.flight.srtt.secs());
    }

    fn decrease(&mut self, _: Cause, _: &Flight, ctx: &mut Ctx<'_>) {
        let window = self.window.get();
        let beta = self.params.beta;
        let falling = window < self.last_max * self.params.fast_convergence_ratio;
        self.max = if self.params.fast_convergence && falling { window * (1.0 + beta) / 2.0 } else { window };
        self.window.set(window * beta);
        self.start.end_at(self.window.get());
        self.prior = window;
        self.reno = self.window.get();
        self.epoch = Some(ctx.now);
        let rise = match self.params.law {
            Edition::Ndnsim => {
                self.last_max = window;
                self.max * (1.0 - beta)
            }
            Edition::Rfc9438 => {
                self.last_max = self.max;
                (self.max - self.window.get()).max(0.0)
            }
        };
        self.k = libm::cbrt(rise / self.params.c);
    }

    fn window(&self) -> f64 {
        self.window.get()
    }

    fn jump(&mut self, window: f64, avoid: bool) {
        self.window.set(window);
        self.epoch = None;
        if avoid {
            self.start.end_at(self.window.get());
        }
    }
}

/// The consumer.
pub type Cubic = Windowed<Law>;

impl Component for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "the window is a cubic function of the time since the last cut";
    const SOURCE: &'static str = "ndnSIM 2.8 ConsumerPcon (after RFC 8312); RFC 9438";
    const FIELDS: &'static [Field] = windowed::FIELDS;
    type Params = Params;

    fn needs(_: &Params) -> Vec<Field> {
        Vec::new()
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_start(params.initial_window, params.floor, params.ssthresh)?;
        check::number("c", params.c, 1e-6, 1e6)?;
        check::factor("beta", params.beta)?;
        check::number("fast-convergence-ratio", params.fast_convergence_ratio, 0.0, 1.0)?;
        check::number("target-limit", params.target_limit, 1.0, MAX_WINDOW)?;
        params.reaction.check()?;
        params.startup.check()?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Cubic {
        Windowed::new(Law::new(params), params.reaction, params.timer).announcing(env).starting(params.startup, env)
    }
}

#[cfg(test)]
mod tests {
    use super::super::windowed::test_support::{Step, assert_close, marks_always, script, trace};
    use super::*;

    /// Slow start to 100, a cut, 60 × (0.1 s, three Data), a cut, the same again.
    fn long() -> Vec<Step> {
        let stage = "w0.1 D3 ".repeat(60);
        script(&format!("D99 M {stage} M {stage}"))
    }

    /// Slow start to 10, a cut, 30 × (0.1 s, eight Data): round trips of a small window.
    fn small() -> Vec<Step> {
        script(&format!("D9 M {}", "w0.1 D8 ".repeat(30)))
    }

    fn run(params: Params, steps: &[Step]) -> Vec<f64> {
        trace::<Cubic>(&Params { reaction: marks_always(), ..params }, steps)
    }

    fn ndnsim() -> Params {
        Params::of(Edition::Ndnsim)
    }

    fn rfc9438() -> Params {
        Params::of(Edition::Rfc9438)
    }

    /// Every expected value of these tests comes from a separate program written from the law's description alone.
    #[test]
    fn the_ndnsim_law_follows_the_calculated_trace() {
        let windows = run(ndnsim(), &long());
        assert_close(
            &windows,
            &[
                (98, 100.0),
                (99, 80.0),
                (100, 80.01981052739967),
                (129, 82.40190897077873),
                (189, 90.21836266549654),
                (279, 97.12179372266804),
                (280, 77.69743497813444),
                (281, 77.71743393934506),
                (460, 94.59706203718312),
            ],
        );
        assert_close(
            &run(ndnsim(), &small()),
            &[(8, 10.0), (9, 8.0), (10, 8.041345302153179), (249, 10.72482881532419)],
        );
    }

    #[test]
    fn fast_convergence_reno_friendliness_and_the_target_limit_change_the_ndnsim_law_as_calculated() {
        let fast = run(Params { fast_convergence: true, ..ndnsim() }, &long());
        assert_close(&fast, &[(279, 97.12179372266804), (281, 77.69743497813444), (460, 86.8272023520364)]);
        let reno = run(Params { reno_friendly: true, ..ndnsim() }, &small());
        assert_close(&reno, &[(10, 8.041666666666666), (97, 11.37760588640128), (249, 17.47409021073541)]);
        let limited = run(Params { target_limit: 1.02, ..ndnsim() }, &long());
        assert_close(&limited, &[(129, 80.5986774981059), (460, 70.47894199848353)]);
    }

    #[test]
    fn the_rfc_9438_law_follows_the_calculated_trace() {
        let windows = run(rfc9438(), &long());
        assert_close(
            &windows,
            &[
                (99, 70.0),
                (100, 70.05812925893879),
                (189, 85.80642031887368),
                (279, 95.12886432806097),
                (280, 66.59020502964268),
                (460, 81.17588501032134),
            ],
        );
        let slow = run(Params { fast_convergence: false, ..rfc9438() }, &long());
        assert_close(&slow, &[(281, 66.64926222136523), (460, 91.00260425989666)]);
    }

    #[test]
    fn the_reno_friendly_region_of_rfc_9438_carries_small_windows() {
        let windows = run(rfc9438(), &small());
        assert_close(&windows, &[(9, 7.0), (10, 7.118402070783459), (97, 13.390717419886588), (249, 21.9956467541592)]);
        let plain = run(Params { reno_friendly: false, ..rfc9438() }, &small());
        assert_close(&plain, &[(17, 7.573570260986836), (249, 10.496666278094445)]);
    }

    #[test]
    fn constants_left_out_follow_the_law() {
        let parse = |json| serde_json::from_value::<Params>(json).unwrap();
        assert_eq!(parse(serde_json::json!({ "law": "rfc9438" })), rfc9438());
        assert_eq!(parse(serde_json::json!({ "law": "rfc9438", "beta": 0.5 })).beta, 0.5);
        assert_eq!(parse(serde_json::json!({})), ndnsim());
    }

    #[test]
    fn congestion_avoidance_without_a_cut_starts_on_its_plateau() {
        // Threshold 8: Wmax 8 and K 0, so after 1 s the target is 8.4 and the window 8 + 0.4/8.
        let params = Params { ssthresh: 8.0, ..ndnsim() };
        assert_close(&run(params, &script("D8 w1 D")), &[(6, 8.0), (7, 8.0), (8, 8.05)]);
    }

    #[test]
    fn ten_idle_days_leave_a_finite_window() {
        for params in [ndnsim(), rfc9438()] {
            let windows = run(params, &script("D20 M w864000 D5"));
            assert!(windows.iter().all(|w| (1.0..=MAX_WINDOW).contains(w)));
        }
        // RFC 9438's target is at most half above the window: 14 becomes 14.5, not the largest window of all.
        assert_eq!(run(rfc9438(), &script("D19 M w864000 D"))[20], 14.5);
    }
}

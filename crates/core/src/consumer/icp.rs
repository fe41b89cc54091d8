//! `icp`: the Interest control protocol; AIMD whose only signal is a timer between the least and the largest RTT.
//!
//! Source: Carofiglio, Gallo, Muscariello, "ICP: Design and evaluation of an Interest control protocol for
//! content-centric networking" (NOMEN 2012), whose text was not available: preset `paper` follows descriptions of it,
//! preset `ccnpl` its authors' simulator CCNPL-Sim. Timer: τ = RTTmin + δ·(RTTmax − RTTmin) over the last samples.
//! Expiry: window × β, at most once per τ. Ours: a lower bound of τ on paths whose RTT hardly varies, where τ would lie
//! below many samples; doubling of τ while no sample comes (a longer path would otherwise time out forever, as
//! retransmitted segments give no samples); the timer before the samples suffice; a NACK for congestion counts as an
//! expiry.

use super::preset::params_with_presets;
use super::rtt_window::{RttWindow, check_samples};
use super::{CongestionEvent, Consumer, DataEvent, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published versions of ICP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// δ 0.5 over 20 samples, real window.
    #[default]
    Paper,
    /// δ 0.8 over 30 samples, integer window.
    Ccnpl,
}

params_with_presets! { Preset;
    /// The window at the start, in segments; ours.
    initial_window: f64,
    /// η: growth per window of Data, in segments; 1 in both sources.
    increase: f64,
    /// β: what a cut multiplies the window by, in (0, 1); 0.5 in both sources.
    decrease: f64,
    /// Whether the window counts whole segments, as in the authors' simulator: it grows after each full window, is
    /// rounded down by a cut, and is not cut before there are enough samples.
    integer_window: bool,
    /// δ: where τ lies between the least and the largest RTT, in [0, 1].
    delta: f64,
    /// RTT samples that τ is computed from.
    samples: u32,
    /// τ until there are enough samples; ours.
    initial_timeout: Duration,
    /// Spread of the samples below which τ is at least 1.05 times the largest; ours.
    idle_spread: Duration,
}

impl Preset {
    fn params(self) -> Params {
        let paper = Params {
            preset: None,
            initial_window: 1.0,
            increase: 1.0,
            decrease: 0.5,
            integer_window: false,
            delta: 0.5,
            samples: 20,
            initial_timeout: Duration::from_millis(1000),
            idle_spread: Duration::from_millis(1),
        };
        match self {
            Preset::Paper => paper,
            Preset::Ccnpl => Params {
                integer_window: true,
                delta: 0.8,
                samples: 30,
                initial_timeout: Duration::from_millis(2000),
                ..paper
            },
        }
    }
}

/// The least τ, so that a source on this node is not sent Interests without end.
const MIN_TAU: Duration = Duration::from_millis(1);
/// How often τ may double while no sample comes.
const MAX_DOUBLINGS: u32 = 6;
/// How far τ keeps above the largest RTT of an idle path, as a factor.
const IDLE_MARGIN: f64 = 1.05;

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Icp {
    #[state(skip)]
    params: Params,
    window: f64,
    /// Data since the window last changed, for the integer window.
    received: f64,
    rtts: RttWindow,
    last_cut: Option<Time>,
    /// Whether a sample came since the last expiry that was reacted to.
    sampled: bool,
    doublings: u32,
    decreases: u64,
}

impl Component for Icp {
    const NAME: &'static str = "icp";
    const SUMMARY: &'static str = "AIMD on a timer set between the least and the largest round-trip time";
    const SOURCE: &'static str = "Carofiglio, Gallo, Muscariello, NOMEN 2012; CCNPL-Sim";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::number("increase", params.increase, 1e-3, 100.0)?;
        check::factor("decrease", params.decrease)?;
        check_samples("samples", params.samples)?;
        check::number("delta", params.delta, 0.0, 1.0)?;
        check::least("initial-timeout", params.initial_timeout, MIN_TAU)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Icp {
        Icp {
            params: params.clone(),
            window: params.initial_window,
            received: 0.0,
            rtts: RttWindow::new(params.samples),
            last_cut: None,
            sampled: false,
            doublings: 0,
            decreases: 0,
        }
    }
}

impl Icp {
    /// τ, before any doubling.
    fn tau(&self) -> Duration {
        let Some((least, most)) = self.rtts.extremes().filter(|_| self.rtts.is_full()) else {
            return self.params.initial_timeout;
        };
        let tau = least + (most - least).scale(self.params.delta);
        let idle = most - least < self.params.idle_spread;
        let floor = if idle { most.scale(IDLE_MARGIN) } else { Duration::ZERO };
        tau.max(floor).max(MIN_TAU)
    }

    fn timeout(&self) -> Duration {
        self.tau() * (1 << self.doublings)
    }

    fn cut(&mut self, ctx: &mut Ctx<'_>) {
        let cut = self.params.decrease * self.window;
        self.window = if self.params.integer_window { libm::floor(cut) } else { cut }.max(1.0);
        self.received = 0.0;
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window);
    }
}

impl Consumer for Icp {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.received += 1.0;
        if !self.params.integer_window {
            self.window += self.params.increase / self.window;
        } else if self.received >= self.window {
            self.window += self.params.increase;
            self.received = 0.0;
        }
        self.window = self.window.min(MAX_WINDOW);
        if let Some(rtt) = event.rtt {
            self.rtts.push(rtt);
            self.sampled = true;
            self.doublings = 0;
            if ctx.trace.is_on() {
                ctx.trace.record(ctx.now, "tau", 0, self.tau().millis());
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind.is_other_nack() {
            return;
        }
        let timeout = self.timeout();
        if self.last_cut.is_some_and(|last| ctx.now.since(last) <= timeout) {
            return;
        }
        self.last_cut = Some(ctx.now);
        if !self.sampled {
            self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        }
        self.sampled = false;
        if self.rtts.is_full() || !self.params.integer_window {
            self.cut(ctx);
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn timer(&self) -> Timer {
        Timer { scan: Duration::ZERO, ..Timer::default() }
    }

    fn retransmission_timeout(&self) -> Option<Duration> {
        Some(self.timeout())
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests {
    use super::super::Congestion;
    use super::super::testing::{Driver, driver};
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, proptest};
    use serde_json::json;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn tau(fetch: &Driver<Icp>) -> f64 {
        fetch.consumer.retransmission_timeout().unwrap().millis()
    }

    // Samples of 20 + 2i ms, i = 0…: the last 20 of 25 are 30…68: τ = 30 + 0.5·38 = 49;
    // the last 30 of 35 are 30…88: τ = 30 + 0.8·58 = 76.4.
    #[test]
    fn tau_lies_between_the_extremes_of_the_last_samples() {
        for (preset, before, first, n, expected) in [("paper", 19, 1000.0, 25, 49.0), ("ccnpl", 29, 2000.0, 35, 76.4)] {
            let mut fetch = driver::<Icp>(json!({ "preset": preset }));
            for i in 0..n {
                if i == before {
                    assert_eq!(tau(&fetch), first, "{preset}");
                }
                fetch.data_of(0, Some(ms(20 + 2 * i)), false);
            }
            assert_eq!(tau(&fetch), expected, "{preset}");
        }
    }

    #[test]
    fn on_a_path_with_constant_rtt_tau_is_five_percent_above_it() {
        let mut fetch = driver::<Icp>(json!({}));
        (0..20).for_each(|_| fetch.data(false));
        assert_eq!(tau(&fetch), 21.0);
        let mut local = driver::<Icp>(json!({}));
        (0..20).for_each(|_| local.data_of(0, Some(Duration::ZERO), false));
        assert_eq!(tau(&local), 1.0, "never zero");
    }

    // Python: w = 1.0; for _ in range(4): w += 1/w → 2, 2.5, 2.9, 3.244828; then halved: 1.622414.
    #[test]
    fn the_papers_window_grows_by_one_over_w_and_is_halved_at_most_once_per_tau() {
        let mut fetch = driver::<Icp>(json!({}));
        (0..4).for_each(|_| fetch.data(false));
        assert!((fetch.window() - 3.244_828).abs() < 1e-6);
        fetch.wait(ms(5000));
        fetch.congestion(Congestion::Timeout);
        fetch.congestion(Congestion::Timeout);
        fetch.wait(ms(1000));
        fetch.congestion(Congestion::Timeout);
        assert!((fetch.window() - 1.622_414).abs() < 1e-6, "τ is 1 s until there are 20 samples");
        fetch.wait(Duration::from_nanos(1));
        fetch.congestion(Congestion::Timeout);
        assert_eq!((fetch.window(), fetch.consumer.decreases()), (1.0, 2));
    }

    #[test]
    fn the_simulators_window_grows_after_each_full_window_and_is_halved_rounding_down() {
        let mut fetch = driver::<Icp>(json!({ "preset": "ccnpl" }));
        // 1 + 2 + 3 + 4 + 5 + 6 = 21 Data make 7; 28 make 8; the 30th sample allows a cut to 4; 7 → 3.
        (0..21).for_each(|_| fetch.data(false));
        assert_eq!(fetch.window(), 7.0);
        fetch.congestion(Congestion::Timeout);
        assert_eq!(fetch.window(), 7.0, "fewer than 30 samples");
        fetch.wait(ms(10_000));
        (0..7).for_each(|_| fetch.data(false));
        assert_eq!(fetch.window(), 8.0);
        (0..2).for_each(|_| fetch.data(false));
        fetch.congestion(Congestion::Timeout);
        assert_eq!(fetch.window(), 4.0);
        fetch.wait(ms(10_000));
        (0..15).for_each(|_| fetch.data(false));
        assert_eq!(fetch.window(), 7.0, "4 + 5 + 6 Data after the cut: the count started again");
        fetch.congestion(Congestion::Timeout);
        assert_eq!(fetch.window(), 3.0);
    }

    #[test]
    fn tau_doubles_while_only_retransmitted_segments_come_back_and_recovers_with_the_first_sample() {
        let mut fetch = driver::<Icp>(json!({}));
        (0..20).for_each(|_| fetch.data(false));
        let mut seen = Vec::new();
        for _ in 0..4 {
            fetch.wait(ms(100_000));
            fetch.congestion(Congestion::Timeout);
            fetch.data_of(0, None, false);
            seen.push(tau(&fetch));
        }
        assert_eq!(seen, [21.0, 42.0, 84.0, 168.0], "the first expiry follows samples");
        fetch.data(false);
        assert_eq!(tau(&fetch), 21.0);
    }

    #[test]
    fn a_preset_is_overridden_by_explicit_values_and_reads_back_as_itself() {
        let fetch = driver::<Icp>(json!({ "preset": "ccnpl", "delta": 0.6 }));
        assert_eq!((fetch.consumer.params.delta, fetch.consumer.params.samples), (0.6, 30));
        let written = serde_json::to_value(&fetch.consumer.params).unwrap();
        assert_eq!(written.get("preset"), None);
        assert_eq!(serde_json::from_value::<Params>(written).unwrap(), fetch.consumer.params);
        assert!(
            serde_json::from_value::<Params>(json!({ "bta": 1 })).unwrap_err().to_string().contains("unknown field")
        );
    }

    #[test]
    fn every_parameter_has_an_effect() {
        let outcome = |params: serde_json::Value| {
            let mut fetch = driver::<Icp>(params);
            let mut seen = Vec::new();
            for i in 0..90_u64 {
                let rtt = if i < 40 { 20_000 + 40 * (i % 20) } else { 20_000 + 500 * i };
                fetch.data_of(0, Some(Duration::from_micros(rtt)).filter(|_| i < 80), false);
                fetch.wait(ms(10));
                if i % 8 == 7 {
                    fetch.congestion(Congestion::Timeout);
                }
                if i >= 80 {
                    fetch.wait(ms(60_000));
                    fetch.congestion(Congestion::Timeout);
                }
                seen.push((tau(&fetch), fetch.window()));
            }
            seen
        };
        let plain = outcome(json!({}));
        for params in [
            json!({ "preset": "ccnpl" }),
            json!({ "initial-window": 2.0 }),
            json!({ "increase": 2.0 }),
            json!({ "decrease": 0.8 }),
            json!({ "integer-window": true }),
            json!({ "delta": 0.7 }),
            json!({ "samples": 25 }),
            json!({ "initial-timeout": "50ms" }),
            json!({ "idle-spread": "0" }),
        ] {
            assert!(outcome(params.clone()) != plain, "{params}");
        }
    }

    proptest! {
        #[test]
        fn the_window_and_tau_stay_in_bounds(
            steps in prop::collection::vec(any::<(u8, bool, u64)>(), 1..300), ccnpl in any::<bool>(),
        ) {
            let mut fetch = driver::<Icp>(json!({ "preset": if ccnpl { "ccnpl" } else { "paper" } }));
            for (kind, marked, wait) in steps {
                fetch.wait(Duration::from_nanos(wait >> 14));
                fetch.any(kind, marked);
                prop_assert!(fetch.window() >= 1.0 && fetch.window() <= MAX_WINDOW);
                prop_assert!(tau(&fetch) >= 1.0 && tau(&fetch) <= 64.0 * 2000.0);
            }
            fetch.wait(ms(864_000_000));
            fetch.congestion(Congestion::Timeout);
            prop_assert!(fetch.window() >= 1.0);
        }
    }
}

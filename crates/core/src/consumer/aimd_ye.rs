//! `aimd-ye`: the AIMD consumer of HbHCM + PAQM.
//!
//! Ye, Lee, Qiao 2020 say only "naive AIMD"; the law and its constants are those of the first author's simulator.
//! A mark cuts the window by an eighth and further marks are ignored for two windows of Data; ignored marks count as
//! plain Data. Timeouts only retransmit.
//! Ours: a NACK for congestion counts as a mark (the simulator has none).

use super::{Congestion, CongestionEvent, Consumer, DataEvent, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::packet::NackReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`AimdYe`]; all from the authors' simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The window at the start, in segments.
    pub initial_window: f64,
    /// Growth per Data until the first cut, in segments.
    pub slow_start: f64,
    /// Growth per window of Data after it, in segments.
    pub increase: f64,
    /// What a cut multiplies the window by, in (0, 1).
    pub decrease: f64,
    /// How long marks are ignored after a cut, in windows (before the cut) of Data.
    pub hold: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 5.0,
            slow_start: 0.5,
            increase: 2.0,
            decrease: 0.875,
            hold: 2.0,
            timer: Timer::default(),
        }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct AimdYe {
    #[state(skip)]
    params: Params,
    window: f64,
    slow_start: bool,
    /// Data (this one included) that must still come before a mark counts again.
    ignored: u64,
    decreases: u64,
}

impl Component for AimdYe {
    const NAME: &'static str = "aimd-ye";
    const SUMMARY: &'static str = "AIMD of HbHCM + PAQM: marks cut by an eighth, once per two windows";
    const SOURCE: &'static str = "simulator of Ye et al. (HbHCM + PAQM, 2020)";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::number("slow-start", params.slow_start, 1e-3, 100.0)?;
        check::number("increase", params.increase, 1e-3, 100.0)?;
        check::factor("decrease", params.decrease)?;
        check::number("hold", params.hold, 0.0, 100.0)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> AimdYe {
        let window = params.initial_window;
        AimdYe { params: params.clone(), window, slow_start: true, ignored: 0, decreases: 0 }
    }
}

impl AimdYe {
    fn cut(&mut self, ctx: &mut Ctx<'_>) {
        self.ignored = (self.params.hold * self.window) as u64;
        self.window = (self.params.decrease * self.window).max(1.0);
        self.slow_start = false;
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window);
    }
}

impl Consumer for AimdYe {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.ignored = self.ignored.saturating_sub(1);
        if event.mark > 0 && self.ignored == 0 {
            self.cut(ctx);
            return;
        }
        let grown = match self.slow_start {
            true => self.params.slow_start,
            false => self.params.increase / self.window,
        };
        self.window = (self.window + grown).min(MAX_WINDOW);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let rejected = matches!(event.kind, Congestion::Nack { reason: NackReason::Congestion, .. });
        if rejected && self.ignored == 0 {
            self.cut(ctx);
        }
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
mod tests {
    use super::super::testing::{Driver, driver};
    use super::*;
    use crate::units::Duration;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    fn new() -> Driver<AimdYe> {
        driver(serde_json::Value::Null)
    }

    #[test]
    fn the_window_starts_at_5_and_grows_by_half_a_segment_per_data() {
        let mut fetch = new();
        assert_eq!(fetch.window(), 5.0);
        fetch.data(false);
        fetch.data(false);
        assert_eq!(fetch.window(), 6.0);
    }

    // Python: w = 8.0; w *= 0.875 → 7.0; then w += 2/w → 7.285714, 7.560224.
    #[test]
    fn the_first_mark_cuts_by_an_eighth_and_ends_slow_start() {
        let mut fetch = new();
        (0..6).for_each(|_| fetch.data(false));
        assert_eq!(fetch.window(), 8.0);
        fetch.data(true);
        assert_eq!(fetch.window(), 7.0);
        fetch.data(false);
        fetch.data(false);
        assert!((fetch.window() - 7.560_224).abs() < 1e-6);
    }

    // The counter is set to ⌊2 · 8⌋ = 16 and counts every Data: the 16th marked Data after the cut is the next that
    // counts, the 15 before it grow the window.
    #[test]
    fn marks_are_ignored_for_two_windows_of_data_and_count_as_plain_data() {
        let mut fetch = new();
        (0..6).for_each(|_| fetch.data(false));
        (0..16).for_each(|_| fetch.data(true));
        assert_eq!(fetch.consumer.decreases(), 1);
        assert!(fetch.window() > 10.0);
        fetch.data(true);
        assert_eq!(fetch.consumer.decreases(), 2);
    }

    #[test]
    fn timeouts_leave_the_window_alone_and_congestion_nacks_do_not() {
        let mut fetch = new();
        fetch.congestion(Congestion::Timeout);
        fetch.congestion(Congestion::Nack { reason: NackReason::NoRoute, marked: true });
        assert_eq!(fetch.window(), 5.0);
        fetch.congestion(Congestion::Nack { reason: NackReason::Congestion, marked: false });
        assert_eq!(fetch.window(), 4.375);
    }

    #[test]
    fn every_parameter_has_an_effect() {
        let outcome = |key: &str, value: f64| {
            let mut fetch = driver::<AimdYe>(serde_json::json!({ key: value }));
            (0..60).for_each(|i| fetch.data(i % 10 == 9));
            fetch.window()
        };
        let plain = outcome("hold", 2.0);
        for (key, value) in
            [("initial-window", 6.0), ("slow-start", 1.0), ("increase", 1.0), ("decrease", 0.5), ("hold", 0.5)]
        {
            assert_ne!(outcome(key, value), plain, "{key}");
        }
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(steps in prop::collection::vec(any::<(u8, bool, u64)>(), 1..300)) {
            let mut fetch = new();
            for (kind, marked, wait) in steps {
                fetch.wait(Duration::from_nanos(wait >> 14));
                fetch.any(kind, marked);
                prop_assert!(fetch.window() >= 1.0 && fetch.window() <= MAX_WINDOW);
            }
            fetch.wait(Duration::from_millis(864_000_000));
            fetch.data(true);
            prop_assert!(fetch.window() >= 1.0);
        }
    }
}

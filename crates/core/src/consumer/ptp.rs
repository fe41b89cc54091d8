//! `ptp`: a window for each path, which the Interests take by its label; stands in for PTP.
//!
//! Source: Ye, Lee et al., "PTP: Path-specified transport protocol for concurrent multipath transmission in named data
//! networks" (Computer Networks, 2018), of which the abstract alone is public: labels by which consumers control each
//! path, routing without labels for discovery. The window law is that of the per-path consumer in the first author's
//! simulator (yyhtbs/ndnSIM-2.7-SLIM, 0e76617); that it is PTP's is our assumption. Ours: one window per label and the
//! choice of the path with most room; one Interest in 100 without a label; paths forgotten after 2 s.

use super::windowed::Window;
use super::{CongestionEvent, Consumer, DataEvent, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::paths::Paths;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ptp`]; from the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window of a path, and that after a timeout, in segments.
    pub initial_window: f64,
    /// A cut goes no lower, in segments.
    pub floor: f64,
    /// A round-trip time this much above the least of the path is congestion.
    pub delay: Duration,
    /// What a cut multiplies the window by, beside least over present round-trip time; in (0, 1).
    pub decrease: f64,
    /// After a cut, Data of the path that cause none, in windows.
    pub hold: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 1.0,
            floor: 2.0,
            delay: Duration::from_millis(20),
            decrease: 0.85,
            hold: 2.0,
            timer: Timer::default(),
        }
    }
}

/// One path's window.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct PathWindow {
    window: Window,
    least: Duration,
    slow_start: bool,
    /// Data that must still come before a cut.
    held: u64,
}

impl PathWindow {
    fn new(params: &Params) -> PathWindow {
        PathWindow { window: Window::new(params.initial_window, 1.0), least: Duration::MAX, slow_start: true, held: 0 }
    }

    /// A Data came by it; whether it cut the window.
    fn on_data(&mut self, rtt: Option<Duration>, params: &Params) -> bool {
        self.held = self.held.saturating_sub(1);
        let window = self.window.get();
        if let Some(rtt) = rtt {
            self.least = self.least.min(rtt);
            if rtt >= self.least + params.delay && self.held == 0 {
                self.held = (params.hold * window) as u64;
                self.slow_start = false;
                self.window.set((params.decrease * window * self.least.secs() / rtt.secs()).max(params.floor));
                return true;
            }
        }
        self.window.set(window + if self.slow_start { 1.0 } else { 1.0 / window });
        false
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Ptp {
    #[state(skip)]
    params: Params,
    paths: Paths<PathWindow>,
    label: Slot,
    decreases: u64,
}

impl Component for Ptp {
    const NAME: &'static str = "ptp";
    const SUMMARY: &'static str = "stands in for PTP: a window for each path by its delay, Interests steered by labels";
    const SOURCE: &'static str =
        "abstract of Ye et al., Computer Networks 2018; law of Ye's simulator; choice of paths, discovery: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::least("delay", params.delay, Duration::from_micros(1))?;
        check::factor("decrease", params.decrease)?;
        check::number("hold", params.hold, 0.0, 100.0)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Ptp {
        Ptp {
            paths: Paths::new(PathWindow::new(params)),
            label: env.slot(Field::PathLabel),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Consumer for Ptp {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.paths.release(event.segment);
        let label = event.fields.get(self.label);
        let params = &self.params;
        let path = self.paths.on_data(label, ctx.now, || PathWindow::new(params));
        let cut = path.on_data(event.rtt, params);
        self.decreases += u64::from(cut);
        ctx.trace.record(ctx.now, "path-window", label.into(), path.window.get());
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let initial = self.params.initial_window;
        let path = self.paths.release(event.segment);
        if let Some(path) = path.filter(|_| !event.kind.is_other_nack()) {
            path.state.window.set(initial);
            self.decreases += 1;
            ctx.trace.record(ctx.now, "path-window", path.label.into(), initial);
        }
    }

    fn window(&self) -> f64 {
        self.paths.window(|path| path.window.get())
    }

    fn stamp(&mut self, segment: u64, fields: &mut Fields) {
        let label = self.paths.assign_roomiest(segment, |path| path.window.get());
        fields.set(self.label, label);
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
    use super::super::Congestion;
    use super::super::testing::{Driver, driver};
    use super::*;

    fn new() -> Driver<Ptp> {
        driver(serde_json::Value::Null)
    }

    fn ms(t: u64) -> Option<Duration> {
        Some(Duration::from_millis(t))
    }

    // Least 20 ms. 9 Data: 1 to 10. 40 ms is congestion: max(2, 0.85 · 10 · 20/40) = 4.25; the next 19 Data cut nothing
    // and grow the window at 40 ms too, as in the source, by 1/w each. The 20th cuts: 0.85 · w/2.
    #[test]
    fn the_window_is_cut_in_proportion_to_the_delay_and_grows_while_a_cut_must_wait() {
        let mut fetch = new();
        (0..9).for_each(|_| fetch.data_of(5, ms(20), false));
        assert_eq!(fetch.window(), 10.0);
        fetch.data_of(5, ms(40), false);
        assert_eq!(fetch.window(), 4.25);
        let mut expected = 4.25;
        for _ in 0..19 {
            fetch.data_of(5, ms(40), false);
            expected += 1.0 / expected;
        }
        assert_eq!((fetch.window(), fetch.consumer.decreases()), (expected, 1));
        fetch.data_of(5, ms(40), false);
        let cut = 0.85 * expected * 0.5;
        assert!((fetch.window() - cut).abs() < 1e-12 && fetch.consumer.decreases() == 2, "{}", fetch.window());
        fetch.data_of(5, ms(39), false);
        assert!((fetch.window() - cut - 1.0 / cut).abs() < 1e-12);
    }

    #[test]
    fn each_path_has_a_window_and_interests_take_the_one_with_most_room() {
        let mut fetch = new();
        let slot = fetch.label;
        (0..3).for_each(|_| fetch.data_of(5, ms(20), false));
        (0..2).for_each(|_| fetch.data_of(6, ms(80), false));
        // Windows of 4 and 3: the other path is new and begins with 1.
        assert_eq!(fetch.window(), 7.0);
        let mut next = |segment| {
            let mut fields = Fields::default();
            fetch.consumer.stamp(segment, &mut fields);
            fields.get(slot)
        };
        assert_eq!((100..107).map(&mut next).collect::<Vec<_>>(), [5, 5, 6, 5, 6, 5, 6]);
    }

    #[test]
    fn a_timeout_takes_the_path_of_its_interest_to_the_first_window_and_marks_nothing() {
        let mut fetch = new();
        (0..5).for_each(|_| fetch.data_of(5, ms(20), true));
        let mut fields = Fields::default();
        fetch.consumer.stamp(5, &mut fields);
        assert_eq!(fetch.window(), 6.0);
        fetch.congestion(Congestion::Timeout);
        assert_eq!(fetch.window(), 1.0);
    }
}

//! `cctcp`: a window and a timer for each source that Data are expected from; stands in for CCTCP.
//!
//! Source: Saino, Cocora, Pavlou, "CCTCP: A scalable receiver-driven congestion control protocol for content centric
//! networking" (ICC 2013), from memory: Interests announce the next names, nodes that hold one say so in the Data that
//! pass, and the consumer so predicts the source of each segment and keeps window and timer per source; TCP's laws.
//! Loss rule, predictions and constants are not public. Ours: a source is what a path label distinguishes; a segment is
//! expected from the source of the last Data, as caches hold runs of segments; Interests announce nothing. The fetcher
//! has one timeout for all that is in flight: the longest of the sources concerned.

use super::windowed::Window;
use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shared::gap::Gap;
use crate::shared::paths::{Known, Paths};
use crate::shared::rtt::RttEstimator;
use crate::shared::slow_start::SlowStart;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Cctcp`]; ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window of a source, which cuts do not go below, in segments.
    pub initial_window: f64,
    /// What a cut multiplies the window by, in (0, 1).
    pub decrease: f64,
    /// The retransmission timer of each source.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 2.0, decrease: 0.5, timer: Timer::default() }
    }
}

/// One source.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct Source {
    window: Window,
    start: SlowStart,
    rtt: RttEstimator,
    gap: Gap,
    /// When the window was cut last.
    cut: Option<Time>,
}

impl Source {
    fn new(params: &Params) -> Source {
        Source {
            window: Window::new(params.initial_window, params.initial_window),
            start: SlowStart::new(2.0 * MAX_WINDOW),
            rtt: RttEstimator::new(params.timer),
            gap: Gap::default(),
            cut: None,
        }
    }

    /// A loss, at most one per round trip. Whether it counted.
    fn on_loss(&mut self, now: Time, params: &Params) -> bool {
        if self.cut.is_some_and(|cut| now.since(cut) < self.rtt.srtt()) {
            return false;
        }
        self.cut = Some(now);
        self.window.set(self.window.get() * params.decrease);
        self.start.end_at(self.window.get());
        true
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Cctcp {
    #[state(skip)]
    params: Params,
    sources: Paths<Source>,
    /// The label of the last Data: where the next segment is expected from.
    expected: u32,
    label: Slot,
    decreases: u64,
}

impl Component for Cctcp {
    const NAME: &'static str = "cctcp";
    const SUMMARY: &'static str = "stands in for CCTCP: a window and a timer for each source that Data come from";
    const SOURCE: &'static str = "Saino et al., ICC 2013, without its anticipated Interests; sources, prediction: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::factor("decrease", params.decrease)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Cctcp {
        Cctcp {
            sources: Paths::new(Source::new(params)).without_discovery(),
            expected: 0,
            label: env.slot(Field::PathLabel),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Consumer for Cctcp {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.sources.release(event.segment);
        let (label, params) = (event.fields.get(self.label), &self.params);
        self.expected = label;
        let first = self.sources.first_in_flight(label);
        let source = self.sources.on_data(label, ctx.now, || Source::new(params));
        if let Some(rtt) = event.rtt {
            source.rtt.sample(rtt, event.flight.in_flight);
        }
        let window = source.window.get();
        source.window.set(window + source.start.step(window));
        if source.gap.on_data(event.segment, first) && source.on_loss(ctx.now, params) {
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", label.into(), source.window.get());
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        let Some(source) = self.sources.release(event.segment) else { return };
        if event.kind.is_other_nack() {
            return;
        }
        if event.kind == super::Congestion::Timeout {
            source.state.rtt.back_off();
        }
        if source.state.on_loss(ctx.now, &self.params) {
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", source.label.into(), source.state.window.get());
        }
    }

    /// The window of the source that the next segment is expected from, and what is in flight from others.
    fn window(&self) -> f64 {
        let part = |source: &Known<Source>| {
            if source.label == self.expected { source.state.window.get() } else { f64::from(source.in_flight) }
        };
        self.sources.iter().map(part).sum::<f64>().clamp(1.0, MAX_WINDOW)
    }

    fn may_send(&self, flight: &Flight) -> bool {
        flight.in_flight == 0 || f64::from(flight.in_flight) < self.window()
    }

    fn stamp(&mut self, segment: u64, _: &mut Fields) {
        let expected = self.expected;
        self.sources.assign(segment, |known| known.iter().position(|source| source.label == expected).unwrap_or(0));
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn retransmission_timeout(&self) -> Option<Duration> {
        let concerned = |source: &&Known<Source>| source.in_flight > 0 || source.label == self.expected;
        self.sources.iter().filter(concerned).map(|source| source.state.rtt.rto()).max()
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

    fn new() -> Driver<Cctcp> {
        driver(serde_json::Value::Null)
    }

    fn ms(t: u64) -> Option<Duration> {
        Some(Duration::from_millis(t))
    }

    fn request(fetch: &mut Driver<Cctcp>, segments: std::ops::Range<u64>) {
        segments.for_each(|segment| fetch.consumer.stamp(segment, &mut Fields::default()));
    }

    // From 2: 6 after four Data of source 5. Then source 6 brings one: its window is 3; 4 of the other are in flight.
    #[test]
    fn the_source_of_the_last_data_governs_and_what_others_owe_stays_in_flight() {
        let mut fetch = new();
        request(&mut fetch, 0..9);
        (0..4).for_each(|_| fetch.data_of(5, ms(20), false));
        assert_eq!(fetch.window(), 6.0);
        fetch.data_of(6, ms(80), false);
        assert_eq!(fetch.window(), 3.0 + 4.0);
        request(&mut fetch, 9..11);
        fetch.data_of(5, ms(20), false);
        assert_eq!(fetch.window(), 7.0 + 2.0);
    }

    // A round trip of 300 ms: 300 + 4 · 150 ms; of 20 ms: at least 200 ms. The longer counts while Interests to its
    // source are in flight.
    #[test]
    fn the_timeout_is_the_longest_of_the_sources_in_flight() {
        let mut fetch = new();
        request(&mut fetch, 0..3);
        fetch.data_of(5, ms(300), false);
        let far = fetch.consumer.retransmission_timeout().unwrap();
        assert!((far.millis() - 900.0).abs() < 1.0, "{}", far.millis());
        fetch.data_of(6, ms(20), false);
        assert_eq!(fetch.consumer.retransmission_timeout(), Some(far));
        fetch.data_of(6, ms(20), false);
        assert_eq!(fetch.consumer.retransmission_timeout(), ms(200));
    }

    #[test]
    fn a_source_is_cut_once_per_round_trip_and_others_are_not() {
        let mut fetch = new();
        request(&mut fetch, 0..40);
        (0..6).for_each(|_| fetch.data_of(5, ms(20), false));
        assert_eq!(fetch.window(), 8.0);
        fetch.wait(Duration::from_millis(1));
        fetch.congestion(Congestion::Loss);
        assert_eq!((fetch.window(), fetch.consumer.decreases()), (4.0, 1));
        fetch.data_of(5, ms(20), false);
        assert_eq!(fetch.window(), 4.25);
        fetch.congestion(Congestion::Loss);
        assert_eq!(fetch.consumer.decreases(), 1);
        fetch.wait(Duration::from_millis(20));
        fetch.data_of(5, ms(20), false);
        fetch.congestion(Congestion::Loss);
        assert_eq!(fetch.consumer.decreases(), 2);
    }
}

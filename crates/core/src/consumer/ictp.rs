//! `ictp`: TCP turned to the receiver: slow start, congestion avoidance, fast retransmit and timer at the consumer.
//!
//! Source: Salsano, Detti, Cancellieri, Pomposini, Blefari-Melazzi, "Transport-layer issues in information centric
//! networks" (ICN workshop, 2012), and draft-salsano-ictp, of which is public: a receiver-driven TCP, one Interest per
//! segment, with RFC 2581 as its congestion control; here RFC 5681, its successor. Ours: what counts as in flight and
//! as later; the fetcher retransmits when its timer ends, not at the third later segment, since a consumer cannot make
//! it; the timer is the fetcher's; marks do nothing; a NACK for congestion is a loss.

use super::windowed::Window;
use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, SentEvent, Timer, check_window};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::gap::Gap;
use crate::shared::slow_start::SlowStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Parameters of [`Ictp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; RFC 2581.
    pub initial_window: f64,
    /// The threshold after a loss goes no lower, in segments; RFC 5681, equation 4.
    pub floor: f64,
    /// The first threshold of slow start, in segments; RFC 5681: arbitrarily high.
    pub ssthresh: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 2.0, floor: 2.0, ssthresh: super::MAX_WINDOW, timer: Timer::default() }
    }
}

/// The window after a timeout (RFC 5681 §3.1).
const LOSS_WINDOW: f64 = 1.0;
/// The most Interests in flight that are followed; the first is forgotten beyond that. Ours.
const MAX_STORED: usize = 1 << 17;

/// The consumer.
#[derive(Clone, Debug)]
pub struct Ictp {
    params: Params,
    window: Window,
    start: SlowStart,
    in_flight: BTreeSet<u64>,
    gap: Gap,
    /// No further loss counts until a segment from here on arrives.
    until: u64,
    decreases: u64,
}

impl Component for Ictp {
    const NAME: &'static str = "ictp";
    const SUMMARY: &'static str = "stands in for ICTP: the congestion control of TCP, at the receiver";
    const SOURCE: &'static str = "draft-salsano-ictp, which refers to RFC 2581; here RFC 5681, and completions of ours";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check_window("ssthresh", params.ssthresh)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Ictp {
        Ictp {
            window: Window::new(params.initial_window, LOSS_WINDOW),
            start: SlowStart::new(params.ssthresh),
            in_flight: BTreeSet::new(),
            gap: Gap::default(),
            until: 0,
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Ictp {
    /// A loss, at most one per window of segments; the window it leaves if that is not half of what is in flight.
    fn on_loss(&mut self, flight: &Flight, window: Option<f64>, ctx: &mut Ctx<'_>) {
        if flight.highest_received.is_some_and(|highest| highest < self.until) {
            return;
        }
        self.until = flight.next_segment;
        let half = (f64::from(flight.in_flight) / 2.0).max(self.params.floor);
        self.start.end_at(half);
        self.window.set(window.unwrap_or(half));
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window.get());
    }
}

impl Consumer for Ictp {
    fn on_sent(&mut self, event: &SentEvent, _: &mut Ctx<'_>) {
        self.in_flight.insert(event.segment);
        if self.in_flight.len() > MAX_STORED {
            self.in_flight.pop_first();
        }
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.in_flight.remove(&event.segment);
        if self.gap.on_data(event.segment, self.in_flight.first().copied()) {
            return self.on_loss(&event.flight, None, ctx);
        }
        let window = self.window.get();
        let step = self.start.step(window);
        self.window.set(window + step);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        self.in_flight.remove(&event.segment);
        match event.kind {
            kind if kind.is_other_nack() => {}
            Congestion::Timeout => self.on_loss(&event.flight, Some(LOSS_WINDOW), ctx),
            _ => self.on_loss(&event.flight, None, ctx),
        }
    }

    fn window(&self) -> f64 {
        self.window.get()
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
    use super::super::testing_path::{Path, path};
    use super::super::windowed::test_support::{assert_close, script, trace};
    use super::*;
    use crate::units::Duration;

    // Slow start from 2: 3, 4, …, 12 after ten Data. The timeout of the oldest of 12: threshold 6, window 1; then 2, 3,
    // 4, 5, 6 and 6 + 1/6.
    #[test]
    fn a_timeout_restarts_slow_start_up_to_half_of_what_was_in_flight() {
        let windows = trace::<Ictp>(&Params::default(), &script("D10 T D6"));
        assert_close(&windows, &[(0, 3.0), (9, 12.0), (10, 1.0), (15, 6.0), (16, 6.0 + 1.0 / 6.0)]);
    }

    // A second timeout of the same window changes nothing: no segment beyond it has arrived.
    #[test]
    fn one_window_is_cut_once() {
        let windows = trace::<Ictp>(&Params::default(), &script("D10 T T D1"));
        assert_close(&windows, &[(10, 1.0), (11, 1.0), (12, 2.0)]);
    }

    #[test]
    fn a_loss_halves_what_is_in_flight() {
        let mut path: Path<Ictp> = path(serde_json::Value::Null, Duration::from_millis(1), Duration::from_millis(20));
        path.room = Duration::from_millis(10);
        let mut windows = Vec::new();
        path.run(Duration::from_millis(2000), |path, _| windows.push(path.consumer.window()));
        assert!(path.consumer.decreases() > 1);
        let cut = windows.windows(2).find(|pair| pair[1] < pair[0]).unwrap();
        assert!(cut[1] >= 2.0 && cut[1] <= cut[0] / 2.0 + 1.0, "{cut:?}");
    }
}

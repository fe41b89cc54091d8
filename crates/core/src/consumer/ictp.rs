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
use std::collections::BTreeMap;

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
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Ictp {
    #[state(skip)]
    params: Params,
    window: Window,
    start: SlowStart,
    /// By segment, the order in which its latest Interest left.
    in_flight: BTreeMap<u64, u64>,
    sent: u64,
    gap: Gap,
    /// Interests before this one left before the latest cut: no loss of them counts (RFC 6582's `recover`).
    until: u64,
    /// Whether Data arrived since the latest cut.
    received: bool,
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
            in_flight: BTreeMap::new(),
            sent: 0,
            gap: Gap::default(),
            until: 0,
            received: true,
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Ictp {
    /// The Interest that left as number `order` was lost, by its timer or otherwise; at most one of a window counts.
    /// The timer of what was lost before a cut stands in for TCP's fast retransmit, unless nothing arrived since: then
    /// it is the retransmission timer of RFC 5681, which leaves one segment whatever came before.
    fn on_loss(&mut self, order: u64, timeout: bool, flight: &Flight, ctx: &mut Ctx<'_>) {
        if order >= self.until {
            let half = (f64::from(flight.in_flight) / 2.0).max(self.params.floor);
            self.start.end_at(half);
            self.window.set(if timeout { LOSS_WINDOW } else { half });
        } else if timeout && !self.received && self.window.get() > LOSS_WINDOW {
            self.window.set(LOSS_WINDOW);
        } else {
            return;
        }
        (self.until, self.received) = (self.sent, false);
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window.get());
    }
}

impl Consumer for Ictp {
    fn on_sent(&mut self, event: &SentEvent, _: &mut Ctx<'_>) {
        self.in_flight.insert(event.segment, self.sent);
        self.sent += 1;
        if self.in_flight.len() > MAX_STORED {
            self.in_flight.pop_first();
        }
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.in_flight.remove(&event.segment);
        self.received = true;
        let first = self.in_flight.first_key_value().map(|(&segment, &order)| (segment, order));
        let shown = self.gap.on_data(event.segment, first.map(|(segment, _)| segment));
        if let Some((_, order)) = first.filter(|_| shown) {
            return self.on_loss(order, false, &event.flight, ctx);
        }
        let window = self.window.get();
        let step = self.start.step(window);
        self.window.set(window + step);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        // One that is not followed any more is an old one.
        let order = self.in_flight.remove(&event.segment).unwrap_or(0);
        if !event.kind.is_other_nack() {
            self.on_loss(order, event.kind == Congestion::Timeout, &event.flight, ctx);
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
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::units::{Bytes, Duration, Time};

    // Slow start from 2: 3, 4, …, 12 after ten Data. The timeout of the oldest of 12: threshold 6, window 1; then 2,
    // 3, 4, 5, 6 and 6 + 1/6.
    #[test]
    fn a_timeout_restarts_slow_start_up_to_half_of_what_was_in_flight() {
        let windows = trace::<Ictp>(&Params::default(), &script("D10 T D6"));
        assert_close(&windows, &[(0, 3.0), (9, 12.0), (10, 1.0), (15, 6.0), (16, 6.0 + 1.0 / 6.0)]);
    }

    struct Flying {
        consumer: Ictp,
        flight: Flight,
    }

    impl Flying {
        /// From a window of 2 with so many segments in flight.
        fn new(segments: u32) -> Flying {
            let consumer = Ictp::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() });
            let mut flying = Flying { consumer, flight: Flight::default() };
            (0..segments).for_each(|segment| flying.sent(segment.into()));
            flying
        }

        fn call(&mut self, hook: impl FnOnce(&mut Ictp, &Flight, &Fields, &mut Ctx<'_>)) -> f64 {
            let (mut rng, mut trace, fields) = (Rng::derive(1, &[]), Trace::default(), Fields::default());
            let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
            hook(&mut self.consumer, &self.flight, &fields, &mut ctx);
            self.consumer.window()
        }

        fn sent(&mut self, segment: u64) {
            self.flight.in_flight += 1;
            self.flight.next_segment = self.flight.next_segment.max(segment + 1);
            let retransmission = false;
            self.call(|ictp, &flight, _, ctx| ictp.on_sent(&SentEvent { segment, retransmission, flight }, ctx));
        }

        fn data(&mut self, segment: u64) -> f64 {
            let (sent, rtt, mark, size) = (Time::ZERO, None, 0, Bytes::new(1066));
            let window = self.call(|ictp, &flight, fields, ctx| {
                ictp.on_data(&DataEvent { segment, sent, rtt, mark, size, fields, flight }, ctx);
            });
            self.flight.in_flight -= 1;
            window
        }

        fn timeout(&mut self, segment: u64) -> f64 {
            let (kind, sent) = (Congestion::Timeout, Time::ZERO);
            let window = self.call(|ictp, &flight, fields, ctx| {
                ictp.on_congestion(&CongestionEvent { kind, segment, sent, fields, flight }, ctx);
            });
            self.flight.in_flight -= 1;
            window
        }
    }

    // Of segments 0 to 9, 0 is lost: 1 and 2 grow the window to 4, 3 shows the loss with 8 in flight (0 and 3 to 9):
    // 4. Its timeout is the retransmission then, after segment 4 arrived (4 + 1/4), and changes nothing; nor does that
    // of 5, of the same window. A timeout of 10, sent after the cut, with 5 in flight: threshold 2.5, window 1.
    #[test]
    fn what_was_lost_before_a_cut_changes_nothing_when_its_timer_ends() {
        let mut flying = Flying::new(10);
        assert_eq!([1, 2, 3].map(|segment| flying.data(segment)), [3.0, 4.0, 4.0]);
        flying.sent(10);
        assert_eq!(flying.data(4), 4.25);
        assert_eq!([0, 5].map(|segment| flying.timeout(segment)), [4.25, 4.25]);
        assert_eq!(flying.timeout(10), 1.0);
        assert_eq!([6, 7, 8].map(|segment| flying.data(segment)), [2.0, 3.0, 3.0 + 1.0 / 3.0]);
    }

    // As above, but after the cut nothing arrives: the first timeout leaves one segment, the second changes nothing.
    #[test]
    fn silence_after_a_loss_leaves_one_segment() {
        let mut flying = Flying::new(10);
        assert_eq!([1, 2, 3].map(|segment| flying.data(segment)), [3.0, 4.0, 4.0]);
        assert_eq!([0, 4].map(|segment| flying.timeout(segment)), [1.0, 1.0]);
        // Slow start up to the threshold of 4.
        assert_eq!([5, 6, 7, 8].map(|segment| flying.data(segment)), [2.0, 3.0, 4.0, 4.25]);
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

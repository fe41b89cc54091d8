//! `prague`: Prague, the scalable congestion control of L4S (RFC 9330), in segments.
//!
//! Source: L4STeam/udp_prague (`prague_cc.cpp`, e8e3435), of the authors of draft-briscoe-iccrg-prague-congestion-control;
//! slow start as in that draft and in Linux' TCP Prague, which the UDP code lacks; the first share of marks from Linux'
//! DCTCP (1), since slow start needs a cut.
//!
//! What NDN changes: Data carry their mark themselves, so nothing is echoed, and every Data is an acknowledgement. Data
//! have one size, so the law's choice of a packet size has no part here. A NACK for congestion counts as a loss.
//! Left out: the two rates 3 % above and below within a round trip, the return of a cut when a loss was reordering (the
//! fetcher waits before it takes reordering for loss), and the mode that controls a rate where round trips are shorter
//! than 2 ms.

use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Prague`]; from the authors' UDP code where nothing else is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments.
    pub initial_window: f64,
    /// The smallest window, in segments.
    pub floor: f64,
    /// The round-trip time that shorter ones are taken for: flows below it grow as if they had it.
    pub reference_rtt: Duration,
    /// The part of each new share of marks that enters their mean, in (0, 1).
    pub gain: f64,
    /// The mean share of marks before the first mark; 1 in Linux' DCTCP.
    pub initial_alpha: f64,
    /// The queue that a flow without marks for long may add in a round trip; a segment if that is more.
    pub growth_queue: Duration,
    /// Virtual round trips without a mark before the window grows by `growth-queue`; one more for each 15.36 Mbit/s of
    /// the own rate.
    pub growth_wait: u32,
    /// How much faster than a window per round trip Interests may be sent outside of slow start; twice that in slow
    /// start, as in Linux.
    pub pacing_gain: f64,
    /// Whether its packets request the low-latency queue of DualPI2.
    pub low_latency: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 10.0,
            floor: 2.0,
            reference_rtt: Duration::from_millis(25),
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
            growth_queue: Duration::from_millis(1),
            growth_wait: 7,
            pacing_gain: 1.0,
            low_latency: true,
            timer: Timer::default(),
        }
    }
}

/// One virtual round trip more to wait before faster growth for each such step of the own rate, in bit/s.
const GROWTH_STEP: f64 = 15_360_000.0;

/// A time that lasts at least a window of segments and a virtual round trip.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Round {
    until: u64,
    since: Time,
}

impl Round {
    fn new(flight: &Flight, now: Time) -> Round {
        Round { until: flight.next_segment, since: now }
    }

    fn has_ended(self, flight: &Flight, now: Time, virtual_rtt: Duration) -> bool {
        flight.highest_received.is_some_and(|highest| highest >= self.until) && now.since(self.since) >= virtual_rtt
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Prague {
    #[state(skip)]
    params: Params,
    window: f64,
    slow_start: bool,
    /// The mean share of marks.
    alpha: f64,
    received: u64,
    marked: u64,
    /// What `received` and `marked` are counted over; none before the first Data.
    counted: Option<Round>,
    /// After a cut for a mark, until the next one may follow.
    reduced: Option<Round>,
    /// After a cut for a loss; nothing grows meanwhile.
    recovering: Option<Round>,
    /// Virtual round trips until the window grows by `growth-queue`.
    until_growth: u64,
    low_latency: Option<Slot>,
    decreases: u64,
}

impl Component for Prague {
    const NAME: &'static str = "prague";
    const SUMMARY: &'static str =
        "Prague of L4S: cuts in proportion to the share of marks, grows alike at all short RTTs";
    const SOURCE: &'static str = "udp_prague and draft-briscoe-iccrg-prague-congestion-control; NACKs, sizes: ours";
    const FIELDS: &'static [Field] = &[Field::LowLatency];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        if params.low_latency { Self::FIELDS.to_vec() } else { Vec::new() }
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::least("reference-rtt", params.reference_rtt, Duration::from_micros(1))?;
        check::factor("gain", params.gain)?;
        check::number("initial-alpha", params.initial_alpha, 0.0, 1.0)?;
        check::number("pacing-gain", params.pacing_gain, 0.1, 100.0)?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Prague {
        Prague {
            window: params.initial_window.max(params.floor),
            slow_start: true,
            alpha: params.initial_alpha,
            received: 0,
            marked: 0,
            counted: None,
            reduced: None,
            recovering: None,
            until_growth: u64::from(params.growth_wait),
            low_latency: params.low_latency.then(|| env.slot(Field::LowLatency)),
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Prague {
    fn virtual_rtt(&self, flight: &Flight) -> Duration {
        flight.srtt.max(self.params.reference_rtt)
    }

    /// Segments per second; 0 while the round-trip time is unknown.
    fn rate(&self, srtt: Duration) -> f64 {
        if srtt == Duration::ZERO { 0.0 } else { self.window / srtt.secs() }
    }

    fn set(&mut self, window: f64) {
        self.window = window.min(MAX_WINDOW).max(self.params.floor);
    }

    /// Renews the mean share of marks once a window and a virtual round trip have passed.
    fn count(&mut self, event: &DataEvent<'_>, now: Time) {
        self.received += 1;
        self.marked += u64::from(event.mark > 0);
        let virtual_rtt = self.virtual_rtt(&event.flight);
        match self.counted {
            None => self.counted = Some(Round::new(&event.flight, now)),
            Some(round) if round.has_ended(&event.flight, now, virtual_rtt) => {
                let share = self.marked as f64 / self.received as f64;
                self.alpha += (share - self.alpha) * self.params.gain;
                (self.received, self.marked) = (0, 0);
                self.counted = Some(Round::new(&event.flight, now));
                self.until_growth = self.until_growth.saturating_sub(1);
            }
            Some(_) => {}
        }
    }

    fn grow(&mut self, event: &DataEvent<'_>) {
        if self.slow_start {
            return self.set(self.window + 1.0);
        }
        let srtt = event.flight.srtt;
        let ratio = srtt.secs() / self.virtual_rtt(&event.flight).secs();
        let queue = self.rate(srtt) * self.params.growth_queue.secs();
        let step = if self.until_growth > 0 { 1.0 } else { queue.max(1.0) };
        self.set(self.window + step * ratio * ratio / self.window);
    }

    fn cut(&mut self, factor: f64, ctx: &mut Ctx<'_>) {
        self.set(self.window * factor);
        self.slow_start = false;
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window);
    }

    fn on_mark(&mut self, size: Bytes, flight: &Flight, ctx: &mut Ctx<'_>) {
        if self.reduced.is_some() || self.recovering.is_some() {
            return;
        }
        let bps = self.rate(flight.srtt) * size.bits() as f64;
        self.until_growth = (bps / GROWTH_STEP) as u64 + u64::from(self.params.growth_wait);
        self.cut(1.0 - self.alpha / 2.0, ctx);
        self.reduced = Some(Round::new(flight, ctx.now));
    }

    fn on_loss(&mut self, flight: &Flight, ctx: &mut Ctx<'_>) {
        if self.recovering.is_some() {
            return;
        }
        // Virtual round trips until a flow at the reference round-trip time would have the same rate again.
        let reference = self.params.reference_rtt.secs();
        let waits = self.rate(flight.srtt) / 2.0 * reference * reference / self.virtual_rtt(flight).secs();
        self.until_growth = waits as u64;
        self.cut(0.5, ctx);
        self.recovering = Some(Round::new(flight, ctx.now));
    }
}

impl Consumer for Prague {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.count(event, ctx.now);
        let virtual_rtt = self.virtual_rtt(&event.flight);
        let lasts = |round: &Round| !round.has_ended(&event.flight, ctx.now, virtual_rtt);
        self.recovering = self.recovering.filter(lasts);
        self.reduced = self.reduced.filter(lasts);
        if event.mark > 0 {
            self.on_mark(event.size, &event.flight, ctx);
        } else if self.recovering.is_none() {
            self.grow(event);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if !event.kind.is_other_nack() {
            self.on_loss(&event.flight, ctx);
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self, flight: &Flight) -> Option<Duration> {
        let gain = self.params.pacing_gain * if self.slow_start { 2.0 } else { 1.0 };
        let rate = self.rate(flight.srtt) * gain;
        (rate > 0.0).then(|| Duration::from_secs_f64(1.0 / rate))
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn stamp(&mut self, _: u64, fields: &mut Fields) {
        if let Some(slot) = self.low_latency {
            fields.set(slot, 1);
        }
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

    fn new() -> Driver<Prague> {
        driver(serde_json::Value::Null)
    }

    /// A virtual round trip of `marked` marked and other Data, one window of them; the driver's srtt is 20 ms.
    fn round(fetch: &mut Driver<Prague>, marked: u32) {
        let window = fetch.window() as u32;
        fetch.wait(Duration::from_millis(25));
        (0..window).for_each(|i| fetch.data(i < marked));
    }

    #[test]
    fn slow_start_adds_a_segment_per_data_until_the_first_mark_halves_the_window() {
        let mut fetch = new();
        (0..6).for_each(|_| fetch.data(false));
        assert_eq!(fetch.window(), 16.0);
        fetch.data(true);
        // α is 1 still.
        assert_eq!(fetch.window(), 8.0);
        fetch.data(false);
        // (20 ms / 25 ms)² / 8.
        assert!((fetch.window() - 8.08).abs() < 1e-12);
    }

    // Python: a = 1; a += (2/12 - a)/16 → 0.947916…; W = 16 · (1 - a/2).
    #[test]
    fn the_share_of_marks_is_averaged_once_per_window_and_virtual_round_trip() {
        let mut fetch = new();
        fetch.data(true);
        assert_eq!(fetch.window(), 5.0);
        let alpha = fetch.consumer.alpha;
        fetch.data(true);
        assert_eq!((alpha, fetch.consumer.alpha), (1.0, 1.0));
        // Ten more, the last beyond the window that was out at the first (segments 0 to 10), and 25 ms later.
        (0..8).for_each(|_| fetch.data(false));
        fetch.wait(Duration::from_millis(25));
        fetch.data(false);
        assert_eq!(fetch.consumer.alpha, 1.0);
        fetch.data(false);
        assert!((fetch.consumer.alpha - (1.0 + (2.0 / 12.0 - 1.0) / 16.0)).abs() < 1e-12);
    }

    #[test]
    fn a_second_mark_within_a_round_trip_changes_nothing_and_one_after_it_cuts_by_half_of_alpha() {
        let mut fetch = new();
        fetch.data(true);
        let cut = fetch.window();
        fetch.data(true);
        assert_eq!(fetch.window(), cut);
        (0..3).for_each(|_| round(&mut fetch, 0));
        let (before, alpha) = (fetch.window(), fetch.consumer.alpha);
        assert!(alpha < 1.0);
        fetch.wait(Duration::from_millis(25));
        fetch.data(true);
        assert!((fetch.window() - before * (1.0 - fetch.consumer.alpha / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn a_loss_halves_the_window_once_and_nothing_grows_until_a_round_trip_has_passed() {
        let mut fetch = new();
        fetch.data(false);
        fetch.congestion(Congestion::Loss);
        assert_eq!(fetch.window(), 5.5);
        fetch.congestion(Congestion::Timeout);
        fetch.data(false);
        assert_eq!(fetch.window(), 5.5);
        (0..4).for_each(|_| round(&mut fetch, 0));
        assert!(fetch.window() > 5.5);
    }

    // 20 ms and W segments are 50·W per second, so 1 ms of queue is W/20 segments: more than one from W = 20 on.
    #[test]
    fn a_flow_without_marks_for_long_adds_a_millisecond_of_queue_per_round_trip() {
        let mut fetch = new();
        (0..90).for_each(|_| fetch.data(false));
        fetch.data(true);
        assert_eq!(fetch.window(), 50.0);
        let wait = fetch.consumer.until_growth;
        // 100 segments per 20 ms of 1066 bytes are 42.64 Mbit/s: two steps of 15.36 Mbit/s, and 7.
        assert_eq!(wait, 9);
        (0..9).for_each(|_| round(&mut fetch, 0));
        assert_eq!(fetch.consumer.until_growth, 0);
        let before = fetch.window();
        fetch.data(false);
        let step = before / 20.0 * 0.64 / before;
        assert!((fetch.window() - before - step).abs() < 1e-9, "{} {}", fetch.window() - before, step);
    }

    #[test]
    fn interests_are_paced_over_the_round_trip_and_twice_as_fast_in_slow_start() {
        let mut fetch = new();
        let flight = Flight { srtt: Duration::from_millis(20), ..Flight::default() };
        assert_eq!(fetch.consumer.pacing(&flight), Some(Duration::from_millis(1)));
        assert_eq!(fetch.consumer.pacing(&Flight::default()), None);
        fetch.data(true);
        assert_eq!(fetch.consumer.pacing(&flight), Some(Duration::from_millis(4)));
    }
}

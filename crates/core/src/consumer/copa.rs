//! `copa`: Copa, a window that aims at a queueing delay of 1/(δ · rate).
//!
//! Source: the authors' code (venkatarun95/genericCC, `markoviancc.cc` and `rtt-window.cc`, 18299d6) of Arun,
//! Balakrishnan, "Copa: Practical delay-based congestion control for the Internet" (NSDI 2018). In competition with flows
//! that fill the queue, 1/δ grows by 1 per round trip and is halved by losses; the code halves at every loss, here at most
//! once per round trip.
//!
//! What NDN changes: round trips to a cache are shorter, so the least round-trip time may belong to another path than most
//! Data; nothing here knows. Copa ignores marks. A NACK for congestion and a timeout count as losses. The times looked
//! back over are exact to 1/64, so that memory is bounded.

use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::extreme::Extreme;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Copa`]; all from the authors' code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; it stays for two windows of Data less one.
    pub initial_window: f64,
    /// The smallest window, in segments.
    pub floor: f64,
    /// δ: a flow aims at 1/δ segments in the queue.
    pub delta: f64,
    /// Whether 1/δ grows beyond that while other flows keep the queue filled.
    pub competitive: bool,
    /// The part of the range of round-trip times of the last four, above the least, that a queue must fall below to count
    /// as nearly empty.
    pub empty: f64,
    /// The share of lost segments, over two round trips and 20 segments, above which the window is cut.
    pub loss_threshold: f64,
    /// What such a cut multiplies the window by, in (0, 1).
    pub loss_cut: f64,
    /// From how many round trips in one direction on each doubles the velocity; the authors' code: 1, other
    /// implementations and, by accounts of it, the paper: 3.
    pub steady: u32,
    /// How long the least round-trip time is remembered, at least 20 of it.
    pub memory: Duration,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 10.0,
            floor: 2.0,
            delta: 0.5,
            competitive: true,
            empty: 0.1,
            loss_threshold: 0.3,
            loss_cut: 0.7,
            steady: 1,
            memory: Duration::from_millis(10_000),
            timer: Timer::default(),
        }
    }
}

/// The weight of a sample in the smoothed round-trip time that sets the times looked back over.
const SRTT_GAIN: f64 = 1.0 / 16.0;
/// Segments over which losses are counted, at the least.
const COUNTED: u64 = 20;

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Copa {
    #[state(skip)]
    params: Params,
    window: f64,
    slow_start: bool,
    delta: f64,
    received: u64,
    /// In seconds, as all round-trip times here; 0 before the first.
    srtt: f64,
    latest: f64,
    least: Extreme,
    /// The least of the last half of a round trip: the round trip without jitter.
    standing: Extreme,
    recent_least: Extreme,
    recent_largest: Extreme,
    /// Steps per Data, in 1/δ segments per window; doubled by each round trip in the same direction.
    velocity: f64,
    /// Whether the last round trip went up (1) or down (-1).
    direction: f64,
    /// How many round trips before it went the same way.
    same: u32,
    /// Data since `turned` that went up, less those that went down.
    balance: i64,
    /// When the last round trip of the velocity began.
    turned: Time,
    /// When δ was last changed, and when that was for a loss.
    delta_changed: Option<Time>,
    delta_lost: Option<Time>,
    /// Since when losses are counted; of how many segments, how many.
    counting: Time,
    counted: u64,
    lost: u64,
    decreases: u64,
}

impl Component for Copa {
    const NAME: &'static str = "copa";
    const SUMMARY: &'static str = "Copa: aims at a queueing delay of 1/(δ · rate), by the delay alone";
    const SOURCE: &'static str = "code of Arun, Balakrishnan, NSDI 2018; NACKs and timeouts as losses: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::number("delta", params.delta, 1e-3, 100.0)?;
        check::number("empty", params.empty, 0.0, 1.0)?;
        check::number("loss-threshold", params.loss_threshold, 0.0, 1.0)?;
        check::factor("loss-cut", params.loss_cut)?;
        check::number("steady", f64::from(params.steady), 1.0, 1000.0)?;
        check::least("memory", params.memory, Duration::from_millis(1))?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Copa {
        Copa {
            window: params.initial_window.max(params.floor),
            slow_start: true,
            delta: params.delta,
            received: 0,
            srtt: 0.0,
            latest: 0.0,
            least: Extreme::least(),
            standing: Extreme::least(),
            recent_least: Extreme::least(),
            recent_largest: Extreme::largest(),
            velocity: 1.0,
            direction: 1.0,
            same: 0,
            balance: 1,
            turned: Time::ZERO,
            delta_changed: None,
            delta_lost: None,
            counting: Time::ZERO,
            counted: 0,
            lost: 0,
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Copa {
    fn set(&mut self, window: f64) {
        self.window = window.min(MAX_WINDOW).max(self.params.floor);
    }

    fn sample(&mut self, rtt: Duration, now: Time) {
        let sample = rtt.secs();
        if self.srtt == 0.0 {
            self.srtt = sample;
        }
        self.srtt += SRTT_GAIN * (sample - self.srtt);
        self.latest = sample;
        let memory = self.params.memory.max(Duration::from_secs_f64(20.0 * self.least.get().unwrap_or(0.0)));
        let within = |round_trips: f64| memory.min(Duration::from_secs_f64(round_trips * self.srtt));
        let (half, four) = (within(0.5), within(4.0));
        self.least.push(sample, now, memory);
        self.standing.push(sample, now, half);
        self.recent_least.push(sample, now, four);
        self.recent_largest.push(sample, now, four);
    }

    /// Whether the queue was nearly empty within the last four round trips, as it is among flows of Copa alone.
    fn is_alone(&self) -> bool {
        let extremes = self.least.get().zip(self.recent_least.get()).zip(self.recent_largest.get());
        extremes.is_none_or(|((least, recent_least), largest)| {
            recent_least <= least + self.params.empty * (largest - least)
        })
    }

    /// Changes δ after a Data.
    fn adapt(&mut self, now: Time) {
        let round_trip = Duration::from_secs_f64(self.latest);
        let passed = |since: Option<Time>| since.is_none_or(|since| now.since(since) > round_trip);
        if !self.params.competitive {
            return;
        }
        if self.is_alone() {
            if passed(self.delta_lost) {
                self.delta = self.params.delta;
                self.delta_changed = Some(now);
            }
        } else if passed(self.delta_changed) {
            self.delta = (1.0 / (1.0 / self.delta + 1.0)).max(1.0 / MAX_WINDOW);
            self.delta_changed = Some(now);
        }
    }

    /// Moves the window after a Data.
    fn step(&mut self, now: Time) {
        let (Some(least), Some(standing)) = (self.least.get(), self.standing.get()) else { return };
        if (self.received as f64) < 2.0 * self.params.initial_window - 1.0 {
            return;
        }
        let queueing = standing - least;
        let target = if queueing > 0.0 { standing / (queueing * self.delta) } else { f64::INFINITY };
        if self.slow_start {
            self.set(self.window + 1.0);
            self.slow_start = self.window < target;
            return;
        }
        if now.since(self.turned).secs() > self.latest {
            if self.direction * self.balance as f64 > 0.0 {
                self.same = self.same.saturating_add(1);
                if self.same >= self.params.steady {
                    self.velocity *= 2.0;
                }
            } else {
                (self.velocity, self.same) = (1.0, 0);
                self.direction = -self.direction;
            }
            self.turned = now;
            self.balance = 0;
        }
        if self.velocity > self.window * self.delta {
            self.velocity /= 2.0;
        }
        self.velocity = self.velocity.max(1.0);
        let step = self.velocity / (self.delta * self.window);
        if self.window < target {
            self.balance += 1;
            self.set(self.window + step);
        } else {
            self.balance -= 1;
            self.set(self.window - step);
        }
    }

    /// Counts a segment, and cuts the window where too many are lost.
    fn count(&mut self, lost: bool, ctx: &mut Ctx<'_>) {
        self.counted += 1;
        self.lost += u64::from(lost);
        if ctx.now.since(self.counting).secs() <= 2.0 * self.latest || self.counted <= COUNTED {
            return;
        }
        let share = self.lost as f64 / self.counted as f64;
        (self.counting, self.counted, self.lost) = (ctx.now, 0, 0);
        if share > self.params.loss_threshold {
            self.set(self.window * self.params.loss_cut);
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window);
        }
    }
}

impl Consumer for Copa {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        if let Some(rtt) = event.rtt {
            self.sample(rtt, ctx.now);
        }
        self.adapt(ctx.now);
        self.step(ctx.now);
        self.count(false, ctx);
        self.received += 1;
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind.is_other_nack() {
            return;
        }
        let round_trip = Duration::from_secs_f64(self.latest);
        let passed = self.delta_lost.is_none_or(|since| ctx.now.since(since) > round_trip);
        if self.params.competitive && !self.is_alone() && passed {
            self.delta = (2.0 * self.delta).min(self.params.delta);
            self.delta_lost = Some(ctx.now);
        }
        self.count(true, ctx);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.standing.get().map(|rtt| Duration::from_secs_f64(0.5 * rtt / self.window))
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

    fn new() -> Driver<Copa> {
        driver(serde_json::Value::Null)
    }

    fn data(fetch: &mut Driver<Copa>, times: u32, rtt_ms: u64) {
        for _ in 0..times {
            fetch.wait(Duration::from_millis(1));
            fetch.data_of(0, Some(Duration::from_millis(rtt_ms)), false);
        }
    }

    #[test]
    fn the_first_window_stays_for_two_windows_of_data_less_one_and_then_grows_by_one_per_data() {
        let mut fetch = new();
        data(&mut fetch, 19, 20);
        assert_eq!(fetch.window(), 10.0);
        data(&mut fetch, 5, 20);
        assert_eq!(fetch.window(), 15.0);
    }

    // A queueing delay of 20 ms over 20 ms: the target is 40 / (20 · 0.5) = 4 segments.
    #[test]
    fn slow_start_ends_at_the_target_and_the_window_then_falls_by_one_over_delta_per_window() {
        let mut fetch = new();
        data(&mut fetch, 29, 20);
        assert_eq!(fetch.window(), 20.0);
        // The least of the last half round trip is 20 ms until those have gone; slow start goes on meanwhile.
        data(&mut fetch, 60, 40);
        assert!(!fetch.consumer.slow_start);
        let before = fetch.window();
        fetch.consumer.velocity = 1.0;
        fetch.consumer.turned = fetch.now;
        data(&mut fetch, 1, 40);
        assert!((before - fetch.window() - 2.0 / before).abs() < 1e-9);
    }

    #[test]
    fn each_round_trip_in_the_same_direction_doubles_the_velocity_and_a_turn_resets_it() {
        for (steady, expected) in [(1, [2.0, 4.0, 8.0, 16.0]), (3, [1.0, 1.0, 2.0, 4.0])] {
            let mut fetch: Driver<Copa> = driver(serde_json::json!({ "steady": steady }));
            let copa = &mut fetch.consumer;
            (copa.slow_start, copa.window, copa.received, copa.direction, copa.balance) = (false, 100.0, 100, 1.0, 0);
            fetch.now = Time::from_nanos(1_000_000_000);
            fetch.consumer.turned = fetch.now;
            // No queue: the target is infinite. 20 ms per round trip, judged at the 21st ms.
            let mut velocities = Vec::new();
            for _ in 0..4 {
                data(&mut fetch, 21, 20);
                velocities.push(fetch.consumer.velocity);
            }
            assert_eq!(velocities, expected);
            // 40 ms with a window far above the target of 4: down, and the round trips are counted anew.
            data(&mut fetch, 100, 40);
            assert!(fetch.consumer.direction == -1.0 && fetch.consumer.same < 4);
        }
    }

    #[test]
    fn a_queue_that_never_empties_makes_the_flow_competitive_and_one_that_does_ends_it() {
        let mut fetch = new();
        data(&mut fetch, 30, 20);
        data(&mut fetch, 800, 60);
        assert!(fetch.consumer.delta < 0.2, "{}", fetch.consumer.delta);
        let delta = fetch.consumer.delta;
        fetch.congestion(Congestion::Loss);
        assert_eq!(fetch.consumer.delta, (2.0 * delta).min(0.5));
        data(&mut fetch, 200, 20);
        assert_eq!(fetch.consumer.delta, 0.5);
    }

    #[test]
    fn marks_change_nothing_and_a_third_of_segments_lost_cuts_the_window() {
        let (mut marked, mut plain) = (new(), new());
        for _ in 0..50 {
            marked.data(true);
            plain.data(false);
        }
        assert_eq!(marked.window(), plain.window());
        let before = marked.window();
        for _ in 0..60 {
            marked.wait(Duration::from_millis(1));
            marked.congestion(Congestion::Loss);
        }
        assert!(marked.window() < before && marked.consumer.decreases() >= 1);
    }

    #[test]
    fn interests_are_sent_at_twice_the_window_per_round_trip() {
        let mut fetch = new();
        data(&mut fetch, 3, 20);
        assert_eq!(fetch.consumer.pacing(&Flight::default()), Some(Duration::from_millis(1)));
    }
}

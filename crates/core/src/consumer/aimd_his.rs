//! `aimd-his`: additive increase, multiplicative decrease of what is in flight, on NACKs.
//!
//! The other consumer of HIS' evaluation. Source: ndn-consumer-window-aimd and ndn-consumer-window of its first
//! author's code (github wygivan/ndnSIM, branch cc-new). Slow start adds one segment per Data; then one is added once
//! the window and one more Data have come; a NACK or timeout of an Interest sent after the last decrease sets window
//! and threshold to half of what is in flight, at least `floor`. Ours: losses found before the timeout count like
//! timeouts; marks have no effect.

use super::{CongestionEvent, Consumer, DataEvent, MAX_WINDOW, Timer, check_window};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::guard::RoundTripGuard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`AimdHis`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; 1 in the author's code.
    pub initial_window: f64,
    /// The smallest window after a decrease, in segments; 2 in the author's code.
    pub floor: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 1.0, floor: 2.0, timer: Timer::default() }
    }
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct AimdHis {
    window: f64,
    ssthresh: f64,
    /// Data since the window last grew or shrank, in congestion avoidance.
    count: f64,
    floor: f64,
    guard: RoundTripGuard,
    decreases: u64,
    timer: Timer,
}

impl Component for AimdHis {
    const NAME: &'static str = "aimd-his";
    const SUMMARY: &'static str = "halves what is in flight, at most once for what was sent before (HIS)";
    const SOURCE: &'static str = "code of Wang et al., ICN 2013 (HIS); losses and marks: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> AimdHis {
        AimdHis {
            window: params.initial_window,
            ssthresh: MAX_WINDOW,
            count: 0.0,
            floor: params.floor,
            guard: RoundTripGuard::default(),
            decreases: 0,
            timer: params.timer,
        }
    }
}

impl Consumer for AimdHis {
    fn on_data(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        if self.window >= self.ssthresh && self.count < self.window {
            self.count += 1.0;
            return;
        }
        if self.window >= self.ssthresh {
            self.count = 0.0;
        }
        self.window = (self.window + 1.0).min(MAX_WINDOW);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if !self.guard.admit(event.sent, ctx.now) {
            return;
        }
        // The code removes the failed Interest before it halves, in whole numbers.
        let others = event.flight.in_flight.saturating_sub(1);
        self.window = f64::from(others / 2).clamp(self.floor, MAX_WINDOW);
        self.ssthresh = self.window;
        self.count = 0.0;
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.window);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::{Congestion, Flight};
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::packet::NackReason;
    use crate::units::{Bytes, Duration, Time};

    struct Bench {
        consumer: AimdHis,
        rng: Rng,
        trace: Trace,
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    impl Bench {
        fn new() -> Bench {
            let consumer = AimdHis::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() });
            Bench { consumer, rng: Rng::derive(1, &[]), trace: Trace::default() }
        }

        fn data(&mut self, count: usize) -> f64 {
            for _ in 0..count {
                let (size, fields, flight) = (Bytes::new(1000), &Fields::default(), Flight::default());
                let event = DataEvent { segment: 0, sent: at(0), rtt: None, mark: 0, size, fields, flight };
                let mut ctx = Ctx { now: at(0), rng: &mut self.rng, trace: &mut self.trace };
                self.consumer.on_data(&event, &mut ctx);
            }
            self.consumer.window()
        }

        fn nack(&mut self, sent: u64, now: u64, in_flight: u32) -> f64 {
            let kind = Congestion::Nack { reason: NackReason::Congestion, marked: false };
            let (sent, fields, flight) = (at(sent), &Fields::default(), Flight { in_flight, ..Flight::default() });
            let event = CongestionEvent { kind, segment: 0, sent, fields, flight };
            let mut ctx = Ctx { now: at(now), rng: &mut self.rng, trace: &mut self.trace };
            self.consumer.on_congestion(&event, &mut ctx);
            self.consumer.window()
        }
    }

    // By hand: slow start 1 to 12; of 12 in flight 11 remain, half of them 5; then 6 Data for the next segment, 7 for
    // that after it.
    #[test]
    fn slow_start_a_cut_to_half_of_what_is_in_flight_then_a_segment_per_window_and_one_data() {
        let mut bench = Bench::new();
        assert_eq!(bench.data(11), 12.0);
        assert_eq!(bench.nack(10, 20, 12), 5.0);
        assert_eq!((bench.data(5), bench.data(1)), (5.0, 6.0));
        assert_eq!((bench.data(6), bench.data(1)), (6.0, 7.0));
    }

    #[test]
    fn only_interests_sent_after_the_last_decrease_count() {
        let mut bench = Bench::new();
        bench.data(40);
        assert_eq!(bench.nack(10, 50, 41), 20.0);
        assert_eq!(bench.nack(50, 55, 30), 20.0);
        assert_eq!(bench.nack(51, 90, 20), 9.0);
        assert_eq!(bench.consumer.decreases(), 2);
    }

    #[test]
    fn the_window_falls_to_two_at_least() {
        assert_eq!(Bench::new().nack(0, 10, 1), 2.0);
    }
}

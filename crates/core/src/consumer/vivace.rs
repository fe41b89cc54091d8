//! `vivace`: PCC Vivace, which learns the rate at which a utility of rate, delay and loss is largest.
//!
//! Source: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey, Schapira, "PCC Vivace: Online-Learning Congestion Control" (NSDI
//! 2018), its latency-aware form; constants and steps from the authors' code (PCCproject/PCC-Uspace, branches
//! `NSDI-2018` 98ac946 and `master` 30c2cfe, which differ; the page says which where).
//!
//! What NDN changes: an interval's Interests are the packets sent, their Data the answers; round trips to a cache and
//! to the producer in one interval look like a delay that changes. Marks do nothing, as in the source. Ours: a timeout
//! and a NACK for congestion are losses; an interval ends with its own answers, retransmissions count for the interval
//! in which they were sent.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::{Ctx, Rng};
use crate::error::SchemeError;
use crate::shared::guard::RoundTripGuard;
use crate::shared::monitor::{Interval, Measured, Monitor};
use crate::units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most Interests whose interval is stored; the oldest then counts as lost.
const MAX_STORED: usize = 1 << 17;
/// b: what a round-trip time that grows by a second per second costs, per Mbit/s.
const LATENCY: f64 = 900.0;
/// ω₀: the largest change, as a part of the rate.
const BOUND: f64 = 0.05;
/// The least change, in Mbit/s.
const MIN_CHANGE: f64 = 0.5;

/// Parameters of [`Vivace`]; sources on the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first rate: ten packets of 1400 B in 100 ms.
    pub initial_rate: Rate,
    /// The least rate.
    pub min_rate: Rate,
    /// ε: how far probes lie beside the rate, as a part of it.
    pub probe: f64,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_rate: Rate::from_bps(1_120_000),
            min_rate: Rate::from_bps(500_000),
            probe: 0.05,
            timer: Timer::default(),
        }
    }
}

/// t: the exponent of the rate in the utility.
const EXPONENT: f64 = 0.9;
/// c: what the share of losses costs, per Mbit/s.
const LOSS: f64 = 11.35;
/// θ₀: Mbit/s of change per unit of gradient.
const CONVERSION: f64 = 1.0;
/// δ: how much the bound of changes grows for each change that reached it.
const BOUND_STEP: f64 = 0.06;
/// Pairs of probes that must agree.
const PAIRS: usize = 2;
/// Growth of round-trip times is cut to multiples of this, so that less counts as none.
const LEAST_GRADIENT: f64 = 0.02;
/// No rate is above this, in Mbit/s.
const MAX_MBPS: f64 = 1e6;
/// The share of losses above which the rate is halved.
const EMERGENCY: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
enum Mode {
    /// Doubles until the utility falls.
    Starting,
    /// Pairs above and below the rate; whether the first of each pair is the one above.
    Probing([bool; PAIRS]),
    /// Follows the gradient.
    Moving,
}

/// The consumer. Rates are in Mbit/s.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Vivace {
    #[state(skip)]
    params: Params,
    mode: Mode,
    rate: f64,
    /// Rate and utility of the interval before.
    last: (f64, f64),
    /// Changes in the same direction so far (τ), and the direction; changes that reached the bound (k).
    repeated: u32,
    upwards: bool,
    bounded: u32,
    monitor: Monitor,
    /// Bytes of the last Data.
    size: f64,
    /// When a timeout before the first answer halved the rate last.
    silence: RoundTripGuard,
    decreases: u64,
}

impl Component for Vivace {
    const NAME: &'static str = "vivace";
    const SUMMARY: &'static str = "PCC Vivace: climbs the utility of rate, growth of delay and loss by its gradient";
    const SOURCE: &'static str = "Dong et al., NSDI 2018, and its authors' code; NACKs and timeouts as losses: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        for (name, rate) in [("initial-rate", params.initial_rate), ("min-rate", params.min_rate)] {
            check::number(name, rate.bps() as f64, 1000.0, MAX_MBPS * 1e6)?;
        }
        check::number("probe", params.probe, 1e-3, 0.5)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Vivace {
        Vivace {
            mode: Mode::Starting,
            rate: mbps(params.initial_rate).max(mbps(params.min_rate)),
            last: (0.0, 0.0),
            repeated: 0,
            upwards: true,
            bounded: 0,
            monitor: Monitor::new(MAX_STORED),
            size: 1400.0,
            silence: RoundTripGuard::default(),
            decreases: 0,
            params: params.clone(),
        }
    }
}

fn mbps(rate: Rate) -> f64 {
    rate.bps() as f64 * 1e-6
}

/// m(τ): how much faster the rate moves after τ changes in the same direction.
fn amplifier(repeated: u32) -> f64 {
    let tau = f64::from(repeated);
    match repeated {
        0..3 => tau + 1.0,
        3..6 => 2.0 * tau - 2.0,
        6..9 => 4.0 * tau - 14.0,
        _ => 8.0 * tau - 50.0,
    }
}

impl Vivace {
    fn utility(&self, measured: &Measured) -> f64 {
        let cut = libm::trunc(measured.gradient / LEAST_GRADIENT) * LEAST_GRADIENT;
        let x = measured.mbps;
        libm::pow(x, EXPONENT) - LATENCY * x * cut - LOSS * x * measured.loss
    }

    fn set_rate(&mut self, rate: f64) {
        self.decreases += u64::from(rate < self.rate);
        self.rate = rate.min(MAX_MBPS).max(mbps(self.params.min_rate));
    }

    fn probe(&mut self, rng: &mut Rng) {
        self.mode = Mode::Probing([0; PAIRS].map(|_| rng.below(2) == 1));
    }

    /// The rate of the next interval, and whether it is measured for a decision.
    fn next_interval(&self) -> (f64, bool) {
        let measured = self.monitor.measured();
        match self.mode {
            Mode::Probing(first_above) if measured < 2 * PAIRS => {
                let above = first_above[measured / 2] == measured.is_multiple_of(2);
                let side = if above { self.params.probe } else { -self.params.probe };
                (self.rate * (1.0 + side), true)
            }
            Mode::Probing(_) => (self.rate, false),
            Mode::Starting | Mode::Moving => (self.rate, measured == 0),
        }
    }

    /// The change of rate that a gradient leads to.
    fn change(&mut self, gradient: f64) -> f64 {
        let upwards = gradient > 0.0;
        if upwards != self.upwards {
            (self.repeated, self.bounded) = (0, 0);
        }
        self.upwards = upwards;
        let wanted = gradient.abs() * CONVERSION * amplifier(self.repeated);
        self.repeated = (self.repeated + 1).min(1000);
        let bound = (BOUND + BOUND_STEP * f64::from(self.bounded)) * self.rate;
        if wanted > bound {
            self.bounded = (self.bounded + 1).min(1000);
        } else {
            self.bounded = self.bounded.saturating_sub(1);
        }
        let size = wanted.min(bound).max(MIN_CHANGE);
        if upwards { size } else { -size }
    }

    /// All intervals of a decision were answered.
    fn decide(&mut self, intervals: &[Interval], rng: &mut Rng) {
        let seen: Vec<(f64, f64, f64)> = intervals
            .iter()
            .filter_map(|interval| {
                let measured = interval.measure(self.size)?;
                Some((interval.rate(), self.utility(&measured), measured.loss))
            })
            .collect();
        if seen.len() < intervals.len() {
            return;
        }
        if seen.iter().any(|&(_, _, loss)| loss > EMERGENCY) {
            self.set_rate(self.rate / 2.0);
            (self.repeated, self.bounded) = (0, 0);
            return self.probe(rng);
        }
        match (self.mode, &seen[..]) {
            (Mode::Starting, &[(rate, utility, _)]) => {
                if utility > self.last.1 {
                    self.last = (rate, utility);
                    self.set_rate(2.0 * self.rate);
                } else {
                    self.set_rate(self.rate / 2.0);
                    self.probe(rng);
                }
            }
            (Mode::Probing(_), pairs) => self.decide_probes(pairs, rng),
            (Mode::Moving, &[(rate, utility, _)]) => {
                let run = rate - self.last.0;
                if run == 0.0 {
                    return self.probe(rng);
                }
                let before = self.upwards;
                let change = self.change((utility - self.last.1) / run);
                self.last = (rate, utility);
                self.set_rate(self.rate + change);
                if self.upwards != before {
                    self.probe(rng);
                }
            }
            _ => {}
        }
    }

    fn decide_probes(&mut self, seen: &[(f64, f64, f64)], rng: &mut Rng) {
        let slope = |pair: &[(f64, f64, f64)]| (pair[0].1 - pair[1].1) / (pair[0].0 - pair[1].0);
        let slopes: Vec<f64> = seen.chunks_exact(2).map(slope).collect();
        let agree = slopes.iter().all(|slope| (*slope > 0.0) == (slopes[0] > 0.0));
        if slopes.len() < PAIRS || !agree {
            (self.repeated, self.bounded) = (0, 0);
            return self.probe(rng);
        }
        let utility = seen.iter().map(|&(_, utility, _)| utility).sum::<f64>() / seen.len() as f64;
        self.last = (self.rate, utility);
        let change = self.change(slopes.iter().sum::<f64>() / slopes.len() as f64);
        self.set_rate(self.rate + change);
        self.mode = Mode::Moving;
    }

    /// Before the first answer there are no intervals to judge: there each timeout of an Interest sent since the last
    /// such one halves the rate, as a monitor that times out does in the authors' code [N].
    fn answer_silence(&mut self, event: &CongestionEvent<'_>, now: Time) {
        let silent = event.flight.srtt == Duration::ZERO && event.kind == Congestion::Timeout;
        if silent && self.silence.admit(event.sent, now) {
            self.set_rate(self.rate / 2.0);
            self.monitor.begin(self.rate, false, Duration::ZERO);
        }
    }

    /// Decides as soon as all intervals of a decision were answered.
    fn check_intervals(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(intervals) = self.monitor.take_answered(ctx.now) {
            self.decide(&intervals, ctx.rng);
            ctx.trace.record(ctx.now, "rate-mbps", 0, self.rate);
            ctx.trace.record(ctx.now, "utility", 0, self.last.1);
        }
    }
}

impl Consumer for Vivace {
    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        if self.monitor.is_interval_over(event.flight.srtt, ctx.now) {
            let (rate, measured) = self.next_interval();
            self.monitor.begin(rate, measured, event.flight.srtt);
        }
        self.monitor.on_sent(event.segment, ctx.now);
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.size = event.size.get().max(1) as f64;
        self.monitor.on_answer(event.segment, event.rtt);
        self.check_intervals(ctx);
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind.is_other_nack() {
            // Answered, and no loss; requested again it is of another interval.
            self.monitor.on_answer(event.segment, None);
        } else {
            self.monitor.on_lost(event.segment);
            self.answer_silence(event, ctx.now);
        }
        self.check_intervals(ctx);
    }

    /// The rate is the only limit; what is outstanding is bounded by rate × timeout.
    fn window(&self) -> f64 {
        MAX_WINDOW
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        let rate = self.monitor.rate().unwrap_or(self.rate);
        Some(Duration::from_secs_f64(8e-6 * self.size / rate))
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.decreases
    }
}

#[cfg(test)]
mod tests;

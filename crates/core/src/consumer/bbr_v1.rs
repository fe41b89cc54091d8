//! `bbr-v1`: BBR of 2016, which sends at the largest recent delivery rate and keeps twice its product with the least
//! round-trip time in flight.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 (2017) §4, in segments. Preset `ndn-fork`: the values by
//! which the consumer for NDN of Bai et al. (qsccp/ndn-tools, `tools/cc/bbr`, b8d07f6) differs from it; that one
//! measures ProbeRTT by a clock of its own, which is not copied. Preset `linux`: what Linux's BBR has in addition
//! (`net/ipv4/tcp_bbr.c`, version 6): a pace 1 % below the measured rate, room for aggregated arrivals, and windows of
//! whole segments. The simulator's model of TCP with BBR is this one.
//!
//! What NDN changes: the receiver paces Interests and measures the delivery rate where it uses it; Data arrive one by
//! one, so the law's allowance for acknowledgements in bunches has no part. Ours: no sample counts as limited by the
//! application but those of ProbeRTT; timeouts count as losses, one by one, instead of a collapse to one segment; a
//! NACK for congestion is a loss. Marks do nothing, as in the source.

use super::preset::params_with_presets;
use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::{Ctx, Rng};
use crate::error::SchemeError;
use crate::shared::delivery::Delivery;
use crate::shared::round_trips::{LargestOfRounds, Plateau, RoundTrips};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod aggregation;
mod room;

use aggregation::Aggregation;
use room::Room;

/// Versions of BBR v1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The Internet-Draft of 2017.
    #[default]
    Draft,
    /// The largest rate never expires, Startup ends at the first round that brings no larger one, and the window is
    /// 2/ln 2 of the product throughout.
    NdnFork,
    /// The draft with what Linux has in addition.
    Linux,
}

params_with_presets! { Preset;
    /// The first window, in segments.
    initial_window: f64,
    /// The smallest window, and that of ProbeRTT, in segments.
    floor: f64,
    /// Round trips that the largest delivery rate is taken over.
    bandwidth_rounds: u32,
    /// How long the least round-trip time counts before ProbeRTT measures it again.
    rtt_memory: Duration,
    /// How long ProbeRTT lasts at the smallest window, beside a round trip.
    probe_rtt: Duration,
    /// Pacing gain of Startup; Drain has its reciprocal.
    high_gain: f64,
    /// Window over rate × least round-trip time in ProbeBW.
    window_gain: f64,
    /// Growth of the rate in a round trip below which the path counts as filled.
    full_growth: f64,
    /// Round trips with less growth that end Startup.
    full_rounds: u32,
    /// By how much of it the pace stays below gain × delivery rate.
    pacing_margin: f64,
    /// Round trips over which the largest number of Data that arrived beyond rate × time is taken; the window has room
    /// for it. 0: none.
    aggregation_rounds: u32,
    /// Whether segments in flight are counted as in Linux: the product whole, its sum with what is sent at once even
    /// and two more while ProbeBW sends faster, what is in flight as the next leave; at once leave those of 1/1024 s.
    whole_segments: bool,
    /// The retransmission timer.
    timer: Timer,
}

impl Params {
    /// The values of a version.
    pub fn of(preset: Preset) -> Params {
        preset.params()
    }
}

impl Preset {
    fn params(self) -> Params {
        let high_gain = 2.0 / std::f64::consts::LN_2;
        let draft = Params {
            preset: None,
            initial_window: 10.0,
            floor: 4.0,
            bandwidth_rounds: 10,
            rtt_memory: Duration::from_millis(10_000),
            probe_rtt: Duration::from_millis(200),
            high_gain,
            window_gain: 2.0,
            full_growth: 1.25,
            full_rounds: 3,
            pacing_margin: 0.0,
            aggregation_rounds: 0,
            whole_segments: false,
            timer: Timer::default(),
        };
        match self {
            Preset::Draft => draft,
            Preset::NdnFork => {
                Params { bandwidth_rounds: u32::MAX, window_gain: high_gain, full_growth: 1.0, full_rounds: 1, ..draft }
            }
            Preset::Linux => Params { pacing_margin: 0.01, aggregation_rounds: 5, whole_segments: true, ..draft },
        }
    }
}

/// Pacing gains of ProbeBW, each for a least round-trip time.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The room for aggregated arrivals is at most what arrives in this time, in seconds (Linux's
/// `bbr_extra_acked_max_us`).
const AGGREGATION_TIME: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// A loss, until Data of an Interest sent after it arrives.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Recovery {
    until: u64,
    /// The round trip in which it began: as many Interests leave as Data arrive.
    round: u64,
    /// The window before it.
    prior: f64,
}

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct BbrV1 {
    params: Params,
    state: State,
    window: f64,
    /// In segments per second, as all rates here; 0 before the first sample.
    pacing_rate: f64,
    delivery: Delivery,
    /// Delivery rates over the last `bandwidth_rounds`.
    rates: LargestOfRounds,
    rounds: RoundTrips,
    least: Option<(Duration, Time)>,
    plateau: Plateau,
    is_filled: bool,
    /// Place in the cycle, and since when.
    cycle: usize,
    cycle_since: Time,
    /// Losses since the last Data.
    lost: u32,
    /// ProbeRTT: when it may end, and whether a round trip has begun since its window was reached; the window before
    /// it.
    done: Option<(Time, bool)>,
    prior_window: f64,
    aggregation: Aggregation,
    recovery: Option<Recovery>,
    /// When the next segments leave, if that is known.
    departure: Time,
    decreases: u64,
}

impl Component for BbrV1 {
    const NAME: &'static str = "bbr-v1";
    const SUMMARY: &'static str = "BBR of 2016: paces at the largest recent delivery rate, blind to marks and losses";
    const SOURCE: &'static str = "draft-cardwell-iccrg-bbr-congestion-control-00; ndn-tools fork of Bai et al. as preset; losses one by one: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        if params.bandwidth_rounds == 0 {
            let help = "give at least 1";
            return Err(SchemeError::value("bandwidth-rounds", 0, "looks back over nothing", help));
        }
        check::least("rtt-memory", params.rtt_memory, Duration::from_millis(1))?;
        check::number("high-gain", params.high_gain, 1.0, 100.0)?;
        check::number("window-gain", params.window_gain, 1.0, 100.0)?;
        check::number("full-growth", params.full_growth, 1.0, 100.0)?;
        check::number("pacing-margin", params.pacing_margin, 0.0, 0.5)?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> BbrV1 {
        let window = params.initial_window.max(params.floor);
        BbrV1 {
            state: State::Startup,
            window,
            pacing_rate: 0.0,
            delivery: Delivery::default(),
            rates: LargestOfRounds::default(),
            rounds: RoundTrips::default(),
            least: None,
            plateau: Plateau::default(),
            is_filled: false,
            cycle: 0,
            cycle_since: Time::ZERO,
            lost: 0,
            done: None,
            prior_window: window,
            aggregation: Aggregation::default(),
            recovery: None,
            departure: Time::ZERO,
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl BbrV1 {
    /// The largest delivery rate of the last round trips.
    fn bandwidth(&self) -> f64 {
        self.rates.get()
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.high_gain,
            State::Drain => 1.0 / self.params.high_gain,
            State::ProbeBw => CYCLE[self.cycle],
            State::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.params.high_gain,
            State::ProbeBw => self.params.window_gain,
            State::ProbeRtt => 1.0,
        }
    }

    /// The pace before any rate is known; none without a round-trip time, which TCP has from its handshake (§4.2.1).
    fn first_pace(&self, srtt: Duration) -> Option<f64> {
        let first =
            self.params.high_gain * self.params.initial_window / srtt.secs() * (1.0 - self.params.pacing_margin);
        (srtt > Duration::ZERO).then_some(first)
    }

    /// The pace permits the next segments at this time: Linux counts what is in flight then.
    pub fn departs(&mut self, at: Time) {
        self.departure = at;
    }

    fn room(&self, size: f64) -> Room {
        Room { pace: self.pacing_rate, size, whole: self.params.whole_segments }
    }

    /// What will be in flight as the next segments leave.
    fn in_flight_then(&self, in_flight: u32, size: f64, now: Time) -> f64 {
        let arrives = self.bandwidth() * self.departure.since(now).secs();
        self.room(size).in_flight(in_flight, arrives, self.pacing_gain() > 1.0)
    }

    /// `gain` times what fills the path and `extra` segments, with room for what is sent at once.
    fn target(&self, gain: f64, extra: f64, size: f64) -> f64 {
        let Some((least, _)) = self.least else { return self.params.initial_window };
        self.room(size).target(
            gain * self.bandwidth() * least.secs(),
            extra,
            self.state == State::ProbeBw && self.cycle == 0,
        )
    }

    fn check_filled(&mut self, round_starts: bool) {
        if self.is_filled || !round_starts {
            return;
        }
        let (rate, params) = (self.rates.get(), &self.params);
        self.is_filled = self.plateau.on_round(rate, params.full_growth, params.full_rounds);
    }

    fn enter_probe_bw(&mut self, now: Time, rng: &mut Rng) {
        self.state = State::ProbeBw;
        // Any phase but the one that drains.
        self.cycle = (CYCLE.len() - rng.below(7) as usize) % CYCLE.len();
        self.cycle_since = now;
    }

    fn advance_cycle(&mut self, in_flight: u32, size: f64, now: Time) {
        let Some((least, _)) = self.least else { return };
        let has_lasted = now.since(self.cycle_since) > least;
        let (gain, in_flight) = (CYCLE[self.cycle], self.in_flight_then(in_flight, size, now));
        let ends = if gain > 1.0 {
            has_lasted && (self.lost > 0 || in_flight >= self.target(gain, 0.0, size))
        } else {
            has_lasted || (gain < 1.0 && in_flight <= self.target(1.0, 0.0, size))
        };
        if ends {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_since = now;
        }
    }

    /// Takes a round-trip time; whether the least one had expired.
    fn take_rtt(&mut self, rtt: Option<Duration>, now: Time) -> bool {
        let expired = self.least.is_some_and(|(_, since)| now.since(since) > self.params.rtt_memory);
        if let Some(rtt) = rtt
            && self.least.is_none_or(|(least, _)| rtt <= least || expired)
        {
            self.least = Some((rtt, now));
        }
        expired
    }

    fn probe_rtt(&mut self, expired: bool, round_starts: bool, in_flight: u32, ctx: &mut Ctx<'_>) {
        if self.state != State::ProbeRtt {
            if !expired {
                return;
            }
            self.state = State::ProbeRtt;
            self.prior_window = self.recovery.map_or(self.window, |recovery| recovery.prior.max(self.window));
            self.done = None;
        }
        // What is sent now does not show what the path can carry.
        self.delivery.limit(in_flight);
        match &mut self.done {
            None if f64::from(in_flight) <= self.params.floor => {
                self.done = Some((ctx.now + self.params.probe_rtt, false));
                self.rounds.restart(self.delivery.delivered());
            }
            None => {}
            Some((end, has_lasted)) => {
                *has_lasted |= round_starts;
                if *has_lasted && ctx.now > *end {
                    self.leave_probe_rtt(ctx);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, ctx: &mut Ctx<'_>) {
        self.least = self.least.map(|(least, _)| (least, ctx.now));
        self.window = self.window.max(self.prior_window);
        if self.is_filled {
            self.enter_probe_bw(ctx.now, ctx.rng);
        } else {
            self.state = State::Startup;
        }
    }

    fn set_window(&mut self, flight: &Flight, size: f64) {
        let extra =
            if self.is_filled { self.aggregation.extra().min(self.bandwidth() * AGGREGATION_TIME) } else { 0.0 };
        let target = self.target(self.window_gain(), extra, size);
        if let Some(recovery) = self.recovery
            && flight.highest_received.is_some_and(|highest| highest >= recovery.until)
        {
            self.window = self.window.max(recovery.prior);
            self.recovery = None;
        }
        match self.recovery {
            Some(recovery) if recovery.round == self.rounds.count() => {
                self.window = self.window.max(f64::from(flight.in_flight));
            }
            _ if self.is_filled => self.window = (self.window + 1.0).min(target),
            _ if self.window < target || (self.delivery.delivered() as f64) < self.params.initial_window => {
                self.window += 1.0;
            }
            _ => {}
        }
        self.window = self.window.min(MAX_WINDOW).max(self.params.floor);
        if self.state == State::ProbeRtt {
            self.window = self.params.floor;
        }
    }
}

impl Consumer for BbrV1 {
    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        self.delivery.on_sent(event.segment, event.flight.in_flight, ctx.now);
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let (size, in_flight) = (event.size.get().max(1) as f64, event.flight.in_flight);
        let sample = self.delivery.on_data(event.segment, ctx.now, self.least.map(|(least, _)| least));
        let delivered = self.delivery.delivered();
        let round_starts = sample.is_some_and(|sample| self.rounds.on_data(sample.prior_delivered, delivered));
        if let Some(sample) = sample
            && let Some(rate) = sample.rate
        {
            if !sample.limited || rate >= self.bandwidth() {
                self.rates.push(rate, self.rounds.count(), self.params.bandwidth_rounds);
            }
            if self.params.aggregation_rounds > 0 {
                let (bandwidth, rounds) = (self.bandwidth(), self.params.aggregation_rounds);
                self.aggregation.on_data(bandwidth, self.window, round_starts.then_some(rounds), ctx.now);
            }
        }
        if self.state == State::ProbeBw {
            self.advance_cycle(in_flight, size, ctx.now);
        }
        self.lost = 0;
        self.check_filled(round_starts);
        if self.state == State::Startup && self.is_filled {
            self.state = State::Drain;
        }
        let left = self.in_flight_then(in_flight.saturating_sub(1), size, ctx.now);
        if self.state == State::Drain && left <= self.target(1.0, 0.0, size) {
            self.enter_probe_bw(ctx.now, ctx.rng);
        }
        let expired = self.take_rtt(event.rtt, ctx.now);
        self.probe_rtt(expired, round_starts, in_flight.saturating_sub(1), ctx);
        if self.pacing_rate == 0.0 {
            self.pacing_rate = self.first_pace(event.flight.srtt).unwrap_or(0.0);
        }
        let rate = self.pacing_gain() * self.bandwidth() * (1.0 - self.params.pacing_margin);
        if self.is_filled || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        self.set_window(&event.flight, size);
        ctx.trace.record(ctx.now, "bandwidth", 0, self.bandwidth());
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        self.delivery.on_failed(event.segment);
        if event.kind.is_other_nack() {
            return;
        }
        self.lost = self.lost.saturating_add(1);
        if self.recovery.is_none() {
            let prior = if self.state == State::ProbeRtt { self.prior_window } else { self.window };
            self.recovery = Some(Recovery { until: event.flight.next_segment, round: self.rounds.count(), prior });
            self.window = self.window.min(f64::from(event.flight.in_flight) + 1.0);
            self.decreases += 1;
            ctx.trace.record(ctx.now, "decrease", 0, self.window);
        }
        self.window = (self.window - 1.0).max(self.params.floor);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self, flight: &Flight) -> Option<Duration> {
        let rate = if self.pacing_rate > 0.0 { self.pacing_rate } else { self.first_pace(flight.srtt)? };
        Some(Duration::from_secs_f64(1.0 / rate))
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

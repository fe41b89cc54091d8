//! `bbr`: BBR version 3, which models the path by a rate and a volume, each with a bound for long and one for short.
//!
//! Source: draft-ietf-ccwg-bbr (4ce5e87), §5, in segments; names of its variables stand in brackets where ours differ.
//!
//! What NDN changes: the receiver paces Interests and measures the delivery rate where it uses it; every Data is an
//! acknowledgement, so bunches of acknowledgements are bunches of Data, such as a switch makes [extra_acked]; caches
//! shorten the round trip at once. CongestionMark takes the place of ECN-CE, for which the draft names no response but
//! that it must count as congestion: a marked Data counts as a lost segment, without a retransmission (ours).
//!
//! Ours: timeouts count as losses, one by one, instead of a collapse to one segment; a NACK for congestion is a loss.
//! Left out: what restores a state when a loss turns out to have been none (the fetcher reports no such thing), and
//! what follows an idle application (a consumer does not know it).

use super::{CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer, check_window};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::bunch::Bunch;
use crate::shared::delivery::{Delivery, Sample};
use crate::shared::round_trips::{LargestOfRounds, Plateau, RoundTrips};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod model;
mod probing;

/// Parameters of [`Bbr`]; all from the draft but where another source is named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in segments; RFC 6928.
    pub initial_window: f64,
    /// The smallest window, in segments.
    pub floor: f64,
    /// Pacing gain of Startup.
    pub startup_gain: f64,
    /// Pacing gain of Drain.
    pub drain_gain: f64,
    /// Window over rate × least round-trip time.
    pub window_gain: f64,
    /// The part of the rate that is not used, so that queues drain.
    pub margin: f64,
    /// The share of segments lost in a round trip that a probe must not exceed.
    pub loss_threshold: f64,
    /// What a round trip with losses multiplies the bounds by at the least, in (0, 1).
    pub beta: f64,
    /// The part of the volume bound that is left to others, in (0, 1).
    pub headroom: f64,
    /// Cycles of probing that the largest rate is taken over.
    pub bandwidth_cycles: u32,
    /// How long the least round-trip time counts.
    pub rtt_memory: Duration,
    /// How often ProbeRTT measures it again, if it was not met meanwhile.
    pub probe_rtt_interval: Duration,
    /// How long ProbeRTT lasts at its window, beside a round trip.
    pub probe_rtt: Duration,
    /// Whether a marked Data counts as a lost segment; ours.
    pub marks: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            initial_window: 10.0,
            floor: 4.0,
            startup_gain: 2.77,
            drain_gain: 0.5,
            window_gain: 2.0,
            margin: 0.01,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            bandwidth_cycles: 2,
            rtt_memory: Duration::from_millis(10_000),
            probe_rtt_interval: Duration::from_millis(5000),
            probe_rtt: Duration::from_millis(200),
            marks: true,
            timer: Timer::default(),
        }
    }
}

/// Window over rate × least round-trip time in ProbeRTT [ProbeRTTCwndGain].
const PROBE_RTT_GAIN: f64 = 0.5;
/// Growth of the rate in a round trip below which the path may be full, and how many such there are when it is.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Losses that do not adjoin, in one round trip, from which Startup ends [BBRStartupFullLossCnt].
const STARTUP_LOSSES: u32 = 6;
/// Round trips that the allowance for bunches is taken over [ExtraAckedFilterLen].
const BUNCH_ROUNDS: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
enum State {
    Startup,
    Drain,
    /// The four of ProbeBW.
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn probes_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Whether more is sent than is known to fit [IsProbingBW].
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// What arriving Data show [ack_phase].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
enum Feedback {
    Nothing,
    Refilling,
    ProbeStarting,
    Probe,
    ProbeStopping,
}

/// A loss, until Data of an Interest sent after it arrive.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Recovery {
    until: u64,
    /// The round trip in which it began.
    round: u64,
}

/// The consumer. Rates are in segments per second, volumes in segments; an infinite bound is none.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Bbr {
    #[state(skip)]
    params: Params,
    state: State,
    feedback: Feedback,
    window: f64,
    /// 0 before the first round-trip time.
    pacing_rate: f64,
    delivery: Delivery,
    rounds: RoundTrips,
    /// Delivery rates by cycle of ProbeBW [max_bw].
    rates: LargestOfRounds,
    cycle: u64,
    /// The rate in force [bw], and its bound for short.
    rate: f64,
    short_rate: f64,
    /// The bounds on the volume in flight.
    short_volume: f64,
    long_volume: f64,
    /// Largest of the last round trip.
    latest_rate: f64,
    latest_volume: f64,
    /// Delivered Data at which the round trip ends in which losses are counted.
    loss_round_end: u64,
    lost_in_round: bool,
    /// Losses in it that do not adjoin; the last lost segment.
    loss_runs: u32,
    last_lost: Option<u64>,
    recovery: Option<Recovery>,
    /// The least round-trip time, and that since the last ProbeRTT; with when they were met.
    least: Option<(Duration, Time)>,
    recent: Option<(Duration, Time)>,
    recent_expired: bool,
    plateau: Plateau,
    is_plateau: bool,
    /// Whether the path was ever full.
    is_filled: bool,
    drain_round: u64,
    /// Whether losses say something of a probe [is_bw_probe_sample].
    judges_probe: bool,
    too_high: bool,
    precautionary: bool,
    /// Growth of the long volume: Data since the last step, Data per step, round trips.
    grown_data: f64,
    step_data: f64,
    up_rounds: u32,
    rounds_since_up: u64,
    probe_wait: Duration,
    cycle_since: Time,
    /// ProbeRTT: when it may end, and whether a round trip has passed at its window; the window before it.
    done: Option<Time>,
    round_done: bool,
    prior_window: f64,
    /// Bunches of Data: since when they are counted, how many, and the largest by round trip.
    bunch: Bunch,
    bunches: LargestOfRounds,
    /// Whether the window was full in this and in the last round trip.
    full_now: bool,
    full_before: bool,
    decreases: u64,
}

impl Component for Bbr {
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str = "BBR version 3: rate and volume of the path, bounded by losses and marks";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr; marks and timeouts as losses: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check_window("floor", params.floor)?;
        check::number("startup-gain", params.startup_gain, 1.0, 100.0)?;
        check::factor("drain-gain", params.drain_gain)?;
        check::number("window-gain", params.window_gain, 1.0, 100.0)?;
        check::number("margin", params.margin, 0.0, 0.5)?;
        check::factor("loss-threshold", params.loss_threshold)?;
        check::factor("beta", params.beta)?;
        check::factor("headroom", params.headroom)?;
        check::number("bandwidth-cycles", f64::from(params.bandwidth_cycles), 1.0, 1000.0)?;
        check::least("rtt-memory", params.rtt_memory, Duration::from_millis(1))?;
        check::least("probe-rtt-interval", params.probe_rtt_interval, Duration::from_millis(1))?;
        params.timer.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Bbr {
        let window = params.initial_window.max(params.floor);
        Bbr {
            state: State::Startup,
            feedback: Feedback::Nothing,
            window,
            pacing_rate: 0.0,
            delivery: Delivery::default(),
            rounds: RoundTrips::default(),
            rates: LargestOfRounds::default(),
            cycle: 0,
            rate: 0.0,
            short_rate: f64::INFINITY,
            short_volume: f64::INFINITY,
            long_volume: f64::INFINITY,
            latest_rate: 0.0,
            latest_volume: 0.0,
            loss_round_end: 0,
            lost_in_round: false,
            loss_runs: 0,
            last_lost: None,
            recovery: None,
            least: None,
            recent: None,
            recent_expired: false,
            plateau: Plateau::default(),
            is_plateau: false,
            is_filled: false,
            drain_round: 0,
            judges_probe: false,
            too_high: false,
            precautionary: false,
            grown_data: 0.0,
            step_data: f64::INFINITY,
            up_rounds: 0,
            rounds_since_up: 0,
            probe_wait: Duration::ZERO,
            cycle_since: Time::ZERO,
            done: None,
            round_done: false,
            prior_window: window,
            bunch: Bunch::default(),
            bunches: LargestOfRounds::default(),
            full_now: false,
            full_before: false,
            decreases: 0,
            params: params.clone(),
        }
    }
}

impl Bbr {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => self.params.drain_gain,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            // The draft's 2.25 where the default is 2.
            State::Up => self.params.window_gain * 1.125,
            State::ProbeRtt => PROBE_RTT_GAIN,
            _ => self.params.window_gain,
        }
    }

    /// `gain` times what a rate fills the path with [BDPMultiple].
    fn product(&self, rate: f64, gain: f64) -> f64 {
        self.least.map_or(self.params.initial_window, |(least, _)| gain * rate * least.secs())
    }

    /// The same with room for what is sent at once [QuantizationBudget], in the simplest form that QUIC has.
    fn quantized(&self, volume: f64, size: f64) -> f64 {
        let quantum = (self.pacing_rate * 1e-3).min(65_536.0 / size);
        let volume = volume.max(quantum).max(self.params.floor);
        if self.state == State::Up { volume + 2.0 } else { volume }
    }

    /// The volume bound with room left for others [InflightWithHeadroom].
    fn with_headroom(&self) -> f64 {
        let headroom = (self.params.headroom * self.long_volume).max(1.0);
        if self.long_volume.is_finite() { (self.long_volume - headroom).max(self.params.floor) } else { f64::INFINITY }
    }

    fn probe_rtt_window(&self) -> f64 {
        self.product(self.rate, PROBE_RTT_GAIN).max(self.params.floor)
    }

    /// Whether the window was full at any time of the last round trip.
    fn is_window_limited(&self) -> bool {
        self.full_now || self.full_before
    }

    fn set_pacing_rate(&mut self, srtt: Duration) {
        if self.pacing_rate == 0.0 && srtt > Duration::ZERO {
            self.pacing_rate = self.params.startup_gain * self.params.initial_window / srtt.secs();
        }
        let rate = self.pacing_gain() * self.rate * (1.0 - self.params.margin);
        if rate > 0.0 && (self.is_filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn set_window(&mut self, size: f64) {
        let most = self.quantized(self.product(self.rate, self.window_gain()) + self.bunches.get(), size);
        if self.is_filled {
            self.window = (self.window + 1.0).min(most);
        } else if self.window < most || (self.delivery.delivered() as f64) < self.params.initial_window {
            self.window += 1.0;
        }
        self.window = self.window.max(self.params.floor);
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Down | State::Refill | State::Up => self.long_volume,
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = bound.min(self.short_volume).max(self.params.floor);
        self.window = self.window.min(bound).min(MAX_WINDOW);
    }

    fn save_window(&mut self) {
        let unmoved = self.recovery.is_none() && self.state != State::ProbeRtt;
        self.prior_window = if unmoved { self.window } else { self.prior_window.max(self.window) };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// What a Data shows whose Interest was given up or forgotten: no rate, and a window of Data since (ours).
    fn unknown(&self, flight: &Flight) -> Sample {
        let prior_delivered = self.delivery.delivered().saturating_sub(flight.in_flight.max(1).into());
        Sample { prior_delivered, rate: None, delivered: 0, in_flight: flight.in_flight, lost: 0, limited: true }
    }

    /// What a Data shows changes model and state [UpdateModelAndState].
    fn update(&mut self, sample: &Sample, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let (size, in_flight) = (event.size.get().max(1) as f64, f64::from(event.flight.in_flight.saturating_sub(1)));
        let round_starts = self.rounds.on_data(sample.prior_delivered, self.delivery.delivered());
        if round_starts {
            self.rounds_since_up += 1;
            (self.full_before, self.full_now) = (self.full_now, false);
        }
        let loss_round_starts = self.take_sample(sample);
        self.count_bunch(ctx.now);
        self.check_plateau(sample, round_starts);
        if loss_round_starts {
            self.check_startup_losses(sample);
        }
        if self.state == State::Startup && self.is_filled {
            self.state = State::Drain;
            self.drain_round = self.rounds.count();
        }
        let drained = in_flight <= self.quantized(self.product(self.rate, 1.0), size);
        if self.state == State::Drain && (drained || self.rounds.count() > self.drain_round + 3) {
            self.start_down(ctx);
        }
        self.advance(sample, round_starts, in_flight, size, ctx);
        self.take_rtt(event.rtt, ctx.now);
        self.check_probe_rtt(round_starts, in_flight, ctx);
        if loss_round_starts {
            (self.latest_rate, self.latest_volume) = (sample.rate.unwrap_or(0.0), sample.delivered as f64);
            self.loss_runs = 0;
        }
        self.rate = self.rates.get().min(self.short_rate);
    }
}

impl Consumer for Bbr {
    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) {
        self.delivery.on_sent(event.segment, event.flight.in_flight, ctx.now);
        self.full_now |= f64::from(event.flight.in_flight) >= self.window;
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        let sample = self.delivery.on_data(event.segment, ctx.now, self.least.map(|(least, _)| least));
        if self.recovery.is_some_and(|recovery| event.flight.highest_received >= Some(recovery.until)) {
            self.recovery = None;
            self.restore_window();
        }
        let mut sample = sample.unwrap_or_else(|| self.unknown(&event.flight));
        if event.mark > 0 && self.params.marks {
            self.delivery.on_marked();
            sample.lost += 1;
            self.on_lost(event.segment, sample.in_flight, sample.lost, &event.flight, ctx);
        }
        self.update(&sample, event, ctx);
        self.set_pacing_rate(event.flight.srtt);
        self.set_window(event.size.get().max(1) as f64);
        if ctx.trace.is_on() {
            ctx.trace.record(ctx.now, "bandwidth", 0, self.rates.get());
            ctx.trace.record(ctx.now, "state", 0, f64::from(self.state as u8));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        if event.kind.is_other_nack() {
            return self.delivery.on_failed(event.segment);
        }
        if let Some(failed) = self.delivery.on_lost(event.segment) {
            self.on_lost(event.segment, failed.in_flight, failed.lost, &event.flight, ctx);
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        // Before the first round-trip time it counts as a millisecond.
        let first = self.params.startup_gain * self.params.initial_window * 1e3;
        let rate = if self.pacing_rate > 0.0 { self.pacing_rate } else { first };
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

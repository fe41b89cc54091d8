//! The rate of one path: probes beside it, follows the gradient of the utility, as in the authors' `tcp_mpcc.c`.
//!
//! Rates are in Mbit/s here, in bytes per second there. Left out, as it acts once: the first probe is wider by a
//! hundredth of the rate.

use super::{MAX_WINDOW, Params};
use crate::ctx::{Ctx, Rng};
use crate::shared::guard::RoundTripGuard;
use crate::shared::monitor::{Interval, Measured, Monitor};
use crate::shared::rtt::SmoothedRtt;
use crate::units::{Duration, Time};

/// No rate is below this (25,000 bytes per second), or above the other, which is ours.
pub(super) const MIN_MBPS: f64 = 0.2;
pub(super) const MAX_MBPS: f64 = 1e6;
/// The utility counts bytes per second.
const BYTES_PER_MBIT: f64 = 125_000.0;
/// The exponent of the rate in the utility.
const EXPONENT: f64 = 0.9;
/// What the share of losses costs, per byte per second.
const LOSS: f64 = 11.0;
/// Smaller slopes of the round-trip time count as none.
const LEAST_SLOPE: f64 = 0.03;
/// Fewer losses than this share count as none until the rate has stopped doubling.
const START_LOSS: f64 = 0.15;
/// The part of its rate that an interval must have been sent at for the rate to double again, and how often it may not
/// be.
const USED: f64 = 0.9;
const START_ATTEMPTS: u32 = 2;
/// ε: how far probes lie beside the rate, as a part of the flow's total rate.
const PROBE: f64 = 0.05;
/// Pairs of probes that must agree.
const PAIRS: usize = 2;
/// Rates that differ by less than this part give no gradient.
const LEAST_DIFFERENCE: f64 = 0.001;
/// The largest change as a part of the flow's total rate, and how much that grows for each change that reached it.
const BOUND: f64 = 0.05;
/// The least change, in Mbit/s (62,500 bytes per second).
const MIN_CHANGE: f64 = 0.5;
/// How much the amplifier of changes grows, and how many changes in one direction it waits for after a turn.
const AMPLIFIER_STEP: u32 = 2;
const MAX_SWING: u32 = 2;
/// More losses than this, among more Interests than this, in three of four probes or one later interval halve the rate.
const EMERGENCY: f64 = 0.3;
const EMERGENCY_SENT: u32 = 100;
/// An interval lasts so many smoothed round-trip times.
const INTERVAL_RTTS: f64 = 1.5;
/// The window: so many times what the rate keeps in flight, and at least so many segments.
const WINDOW_RTTS: f64 = 2.0;
const MIN_WINDOW: f64 = 4.0;
/// The most Interests of a path whose interval is stored; the oldest then counts as lost. Ours.
const MAX_STORED: usize = 1 << 15;

#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
enum Mode {
    /// Doubles until the utility falls; how often it may stay as it is.
    Starting(u32),
    /// Pairs above and below the rate; whether the first of each pair is the one above.
    Probing([bool; PAIRS]),
    /// Follows the gradient.
    Moving,
}

/// The direction of the last decision.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
enum Direction {
    Up,
    Down,
    Stay,
}

/// A rate at which a path sent, and the utility it had.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
struct Seen {
    rate: f64,
    utility: f64,
}

/// The learner.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct Learner {
    mode: Mode,
    rate: f64,
    /// The rate that the other paths know of.
    advertised: f64,
    /// What is known of theirs, in total.
    others: f64,
    last: Seen,
    direction: Direction,
    amplifier: u32,
    bounded: u32,
    swing: u32,
    monitor: Monitor,
    srtt: SmoothedRtt,
    /// When a Data last came, or silence last halved the rate.
    silence: RoundTripGuard,
    /// Its share of the turns that it has not used.
    pub(super) credit: f64,
}

impl Learner {
    /// A path that begins; `others`: what the other paths send at.
    pub(super) fn new(params: &Params, others: f64) -> Learner {
        let rate = params.initial_rate.bps() as f64 * 1e-6;
        Learner {
            mode: Mode::Starting(START_ATTEMPTS),
            rate,
            advertised: rate,
            others,
            last: Seen { rate, utility: f64::NEG_INFINITY },
            direction: Direction::Up,
            amplifier: 0,
            bounded: 0,
            swing: 0,
            monitor: Monitor::new(MAX_STORED),
            srtt: SmoothedRtt::default(),
            silence: RoundTripGuard::default(),
            credit: 0.0,
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn advertised(&self) -> f64 {
        self.advertised
    }

    /// The rate of the present interval.
    pub(super) fn sends_at(&self) -> f64 {
        self.monitor.rate().unwrap_or(self.rate)
    }

    /// Interests that may be outstanding, with Data of `size` bytes.
    pub(super) fn window(&self, size: f64) -> f64 {
        let rtt = self.srtt.get().unwrap_or_default().secs();
        (WINDOW_RTTS * self.sends_at() * BYTES_PER_MBIT * rtt / size).clamp(MIN_WINDOW, MAX_WINDOW)
    }

    pub(super) fn on_sent(&mut self, segment: u64, now: Time) {
        let lasts = self.srtt.get().unwrap_or_default().scale(INTERVAL_RTTS);
        if self.monitor.is_interval_over(lasts, now) {
            // Before the first round-trip time nothing can be measured, so that no probe is of use.
            let (rate, measured) = if lasts == Duration::ZERO { (self.rate, false) } else { self.next_interval() };
            self.monitor.begin(rate.max(MIN_MBPS), measured, lasts);
        }
        self.monitor.on_sent(segment, now);
    }

    pub(super) fn on_answer(&mut self, segment: u64, rtt: Option<Duration>) {
        self.monitor.on_answer(segment, rtt);
    }

    pub(super) fn on_lost(&mut self, segment: u64) {
        self.monitor.on_lost(segment);
    }

    /// A Data came by this path.
    pub(super) fn on_data(&mut self, rtt: Option<Duration>, now: Time) {
        self.silence.reject_until(now);
        if let Some(rtt) = rtt {
            self.srtt.sample(rtt);
        }
    }

    /// An Interest that left at `sent` timed out. Halves the rate if nothing came since before that; whether it did.
    pub(super) fn on_timeout(&mut self, sent: Time, ctx: &mut Ctx<'_>) -> bool {
        let silent = self.silence.admit(sent, ctx.now);
        if silent {
            self.set_rate(self.rate / 2.0);
            self.advertised = self.rate;
            self.monitor = Monitor::new(MAX_STORED);
            self.probe(self.others, ctx.rng);
        }
        silent
    }

    /// u = X^0.9 − X · g − 11 · X · L, X the rate of all paths together in bytes per second, g and L those of this
    /// path.
    fn utility(&self, rate: f64, measured: &Measured, latency: bool) -> f64 {
        let starts = matches!(self.mode, Mode::Starting(_));
        let total = (rate + self.others) * BYTES_PER_MBIT;
        let counts = latency && measured.gradient.abs() >= LEAST_SLOPE && !(starts && measured.gradient < 0.0);
        let slope = if counts { measured.gradient } else { 0.0 };
        let loss = if starts && measured.loss < START_LOSS { 0.0 } else { measured.loss };
        libm::pow(total, EXPONENT) - total * slope - LOSS * total * loss
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(MIN_MBPS, MAX_MBPS);
    }

    fn probe(&mut self, others: f64, rng: &mut Rng) {
        self.others = others;
        self.mode = Mode::Probing([0; PAIRS].map(|_| rng.below(2) == 1));
    }

    /// The rates of a pair of probes, the higher first: a part of the total rate away from that of the path, so that a
    /// path with a small part of it moves.
    fn probes(&self) -> (f64, f64) {
        let distance = PROBE * (self.rate + self.others);
        let high = self.rate + distance;
        (high, if self.rate < distance { high / 2.0 } else { self.rate - distance })
    }

    /// The rate of the next interval, and whether it is measured for a decision.
    fn next_interval(&self) -> (f64, bool) {
        let measured = self.monitor.measured();
        match self.mode {
            Mode::Probing(first_above) if measured < 2 * PAIRS => {
                let (high, low) = self.probes();
                let above = first_above[measured / 2] == measured.is_multiple_of(2);
                (if above { high } else { low }, true)
            }
            Mode::Probing(_) => (self.rate, false),
            Mode::Starting(_) | Mode::Moving => (self.rate, measured == 0),
        }
    }

    /// Decides, if all intervals of a decision were answered; `others`: what the other paths now send at. Whether it
    /// did.
    pub(super) fn decide(&mut self, others: f64, size: f64, latency: bool, ctx: &mut Ctx<'_>) -> bool {
        let Some(intervals) = self.monitor.take_answered(ctx.now) else { return false };
        let measured: Vec<Measured> = intervals.iter().filter_map(|interval| interval.measure(size)).collect();
        if measured.len() < intervals.len() {
            return false;
        }
        let seen = intervals.iter().zip(&measured).map(|(interval, measured)| {
            let rate = interval.rate();
            Seen { rate, utility: self.utility(rate, measured, latency) }
        });
        let seen: Vec<Seen> = seen.collect();
        let lossy = |(interval, measured): (&Interval, &Measured)| {
            usize::from(measured.loss > EMERGENCY && interval.sent() > EMERGENCY_SENT)
        };
        let emergencies: usize = intervals.iter().zip(&measured).map(lossy).sum();
        match (self.mode, &seen[..]) {
            (Mode::Starting(attempts), &[seen]) => self.decide_start(attempts, seen, measured[0].mbps, others, ctx),
            (Mode::Probing(_), seen) => self.decide_probes(seen, emergencies, others, ctx.rng),
            (Mode::Moving, &[seen]) => self.decide_move(seen, emergencies, others, ctx.rng),
            // What was measured for another mode.
            _ => {}
        }
        true
    }

    fn decide_start(&mut self, attempts: u32, seen: Seen, sent_at: f64, others: f64, ctx: &mut Ctx<'_>) {
        if seen.utility > self.last.utility && sent_at > USED * seen.rate {
            self.last = seen;
            self.set_rate(2.0 * self.rate);
            self.mode = Mode::Starting(START_ATTEMPTS);
        } else if attempts > 0 {
            self.mode = Mode::Starting(attempts - 1);
        } else {
            let before = self.last.rate;
            self.last.rate = self.rate;
            self.set_rate(before);
            self.probe(others, ctx.rng);
        }
    }

    fn decide_probes(&mut self, seen: &[Seen], emergencies: usize, others: f64, rng: &mut Rng) {
        let gradients: Vec<f64> = seen.chunks_exact(2).map(|pair| gradient(pair[0], pair[1])).collect();
        let change = match gradients[..] {
            _ if emergencies > PAIRS => -self.rate / 2.0,
            // Of two pairs that agree the smaller gradient counts.
            [a, b] if a * b > 0.0 => self.change(a.signum() * a.abs().min(b.abs())),
            _ => 0.0,
        };
        self.direction = direction(change);
        let before = self.rate;
        self.set_rate(self.rate + change);
        self.advertised = self.rate;
        if self.rate == before {
            return self.probe(others, rng);
        }
        // The worse probe of the first pair is what the first move is compared with.
        self.last = if seen[1].utility < seen[0].utility { seen[1] } else { seen[0] };
        self.mode = Mode::Moving;
    }

    fn decide_move(&mut self, seen: Seen, emergencies: usize, others: f64, rng: &mut Rng) {
        if emergencies > 0 {
            self.set_rate(self.rate / 2.0);
            return self.probe(others, rng);
        }
        let gradient = gradient(seen, self.last);
        let change = if gradient == 0.0 { 0.0 } else { self.change(gradient) };
        self.last = seen;
        if direction(change) == self.direction {
            self.set_rate(self.rate + change);
        } else {
            self.probe(others, rng);
        }
    }

    /// The change of rate that a gradient leads to.
    fn change(&mut self, gradient: f64) -> f64 {
        let turned = direction(gradient) != self.direction;
        if turned {
            (self.amplifier, self.bounded) = (0, 0);
            self.swing = (self.swing + 1).min(MAX_SWING);
        }
        // A gradient of 1 is a change of a Mbit/s.
        let mut size = gradient.abs() * f64::from(1 + self.amplifier);
        if !turned && self.swing > 0 {
            self.swing -= 1;
        } else if !turned {
            self.amplifier = (self.amplifier + AMPLIFIER_STEP).min(1000);
        }
        let bound = BOUND * f64::from(1 + self.bounded) * (self.rate + self.others);
        if size > bound {
            self.bounded = (self.bounded + 1).min(1000);
            size = bound;
        } else {
            self.bounded = self.bounded.saturating_sub(1);
        }
        if turned {
            self.bounded = 0;
        }
        size.max(MIN_CHANGE).min(self.rate / 2.0) * gradient.signum()
    }
}

fn direction(change: f64) -> Direction {
    if change > 0.0 {
        Direction::Up
    } else if change < 0.0 {
        Direction::Down
    } else {
        Direction::Stay
    }
}

/// Change of the utility per byte per second; 0 between rates that are too near each other.
fn gradient(a: Seen, b: Seen) -> f64 {
    let difference = b.rate - a.rate;
    if difference.abs() < LEAST_DIFFERENCE * a.rate || a.rate <= 0.0 {
        return 0.0;
    }
    let gradient = (b.utility - a.utility) / (difference * BYTES_PER_MBIT);
    if gradient.is_finite() { gradient } else { 0.0 }
}

#[cfg(test)]
mod tests;

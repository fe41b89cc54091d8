//! The rate of a link that nobody states, learned at its sender from acks of the frames it sent.
//!
//! Source: ours. Delay shows a queue as in TCP Vegas (Brakmo, Peterson, IEEE JSAC 1995); what is acknowledged while one
//! stands is the rate of the link, as in BBR (draft-ietf-ccwg-bbr, §4.1), which also has the least delay of the last ten
//! seconds. BBR looks for more rate by a quarter each eight round trips; here that is asked more seldom the longer the
//! rate has been the same, since all flows of the link share what is learned.
//!
//! - Until a queue has been seen there is no rate, and none is needed.
//! - A queue *stands* in an interval in which every frame came later than the earliest of late by [`QUEUE`] or more. What
//!   arrived meanwhile, as the slope of a line through bits sent over times of arrival, is the rate. So it is where frames
//!   arrive as regularly as from a queue and each later than the one before. Clocks need not agree, as only differences of
//!   delays count; what the return path and its acks do does not matter.
//! - The rate is stated less a part until the queue has gone, or most of it in twice the time that this takes. One that
//!   does not go is none of the link's sender: the path has changed, or others fill it. The rate is forgotten, and delays
//!   count from there.
//! - Arrivals that are off their line by more than [`IRREGULAR`] come from no queue: delays vary.
//! - Where more frames are lost than noise explains, a queue too short to be seen overflows: the rate is what arrived.
//! - A neighbour that says no more when frames arrive has no rate after ten seconds. Whatever it says, the rate is
//!   [`LEAST`] at least, so that it can be raised again.
//! - While the rate is used to the full without a queue, it is raised, and by more each time, until a queue is seen.

mod line;
mod losses;
#[cfg(test)]
mod tests;

use super::extreme::Extreme;
use crate::units::{Duration, Rate, Time};
use line::Line;
use losses::Losses;

/// The least interval.
const INTERVAL: Duration = Duration::from_millis(20);
/// The fewest frames of an interval of which the time of arrival is known.
const FRAMES: u32 = 8;
/// A delay beyond it, in s, is that of another clock.
const LONGEST: f64 = 60.0;
/// So many lost frames are those of another count.
const MOST_LOST: u32 = 1 << 30;
/// The least delay that is a queue, beside that of frames that leave together.
const QUEUE: Duration = Duration::from_millis(2);
/// By how much arrivals of a queue are off their line at most: delays that vary by more are none.
const IRREGULAR: Duration = Duration::from_micros(500);
/// By how much arrivals are off at most where they show by their rate alone that a link is full; the same in frames.
const REGULAR: Duration = Duration::from_micros(100);
const REGULAR_FRAMES: f64 = 0.1;
/// By how much delays grow then, in s per s, where a rate is known, and where none is.
const GROWTH: f64 = 0.015;
const FIRST_GROWTH: f64 = 0.1;
/// What the largest burst counts after another frame.
const BURST_FADES: f64 = 0.999;
/// How long the least delay counts; as in BBR.
const BASE: Duration = Duration::from_millis(10_000);
/// In about this time a queue is drained, by this part of the rate at most.
const DRAIN_TIME: Duration = Duration::from_millis(100);
const MOST_DRAIN: f64 = 0.2;
/// A rate is used to the full where this part of it is sent.
const USED: f64 = 0.9;
/// How a rate is raised at first, and at most; each time by twice as much.
const FIRST_RISE: f64 = 0.03;
const MOST_RISE: f64 = 0.25;
/// How long senders take to follow a rise.
const REACTION: Duration = Duration::from_millis(150);
/// How long a rate holds before it is raised: this at first, twice as long each time it proves right, and at most.
const FIRST_HOLD: Duration = Duration::from_millis(500);
const PROVED_HOLD: Duration = Duration::from_millis(2_000);
const MOST_HOLD: Duration = Duration::from_millis(8_000);
/// A rate proves right if the next is within this part of it.
const SAME: f64 = 0.03;
/// The least rate that is stated: at a lower one so few frames would leave that a false rate stood for hours.
const LEAST: Rate = Rate::from_bps(64_000);
/// The most.
const MOST: Rate = Rate::from_bps(1_000_000_000_000);
/// After a queue that was not ours none is looked for so long; twice as long each time, up to this.
const FIRST_PATIENCE: Duration = Duration::from_millis(500);
const MOST_PATIENCE: Duration = Duration::from_millis(30_000);

/// A frame that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// When it left.
    pub at: Time,
    /// Bits that had been sent before it, see [`LearnedRate::sent`].
    pub before: u64,
    /// Its number among those that left.
    pub number: u64,
}

/// What a neighbour says of the arrival of a frame. It assumes nothing of the clock but that it runs as ours does; a lie
/// changes the rate at which the liar is sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When, in µs by its clock, modulo 2³².
    pub time: u32,
    /// How many frames had arrived with it, modulo 2³².
    pub count: u32,
}

/// What came in an interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    since: Time,
    sent: u64,
    /// Frames of which the time of arrival is known, and the least of their delays, in s.
    timed: u32,
    least: f64,
}

impl Interval {
    fn new(since: Time, sent: u64) -> Interval {
        Interval { since, sent, timed: 0, least: f64::INFINITY }
    }
}

/// The part of the rate by which a queue is drained.
fn part_of(queue: Duration) -> f64 {
    (queue.secs() / DRAIN_TIME.secs()).min(MOST_DRAIN)
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No queue has stood, or none of ours.
    Open,
    /// A queue that was so long then is drained by a part of the rate.
    Drain { since: Time, queue: Duration, part: f64 },
    /// The rate holds until then; later it is raised where it is used.
    Hold { until: Time },
}

/// Learns the rate of one link.
#[derive(Clone, Debug)]
pub struct LearnedRate {
    /// Bits sent.
    sent: u64,
    /// Of the first arrival that was told: its time less that of departure, in µs, and its number less the count. Delays
    /// and losses count from them.
    offset: Option<(u32, u32)>,
    base: Extreme,
    /// Since when acks tell of no arrival.
    untold: Option<Time>,
    /// The least round trip of a frame and its ack.
    round_trip: Duration,
    interval: Interval,
    /// Of bits, without what was lost, over times of arrival; of delays over times of departure.
    line: Line,
    delays: Line,
    losses: Losses,
    /// Whether frames came regularly in the last interval.
    regular: bool,
    /// In bit/s, once there is one.
    rate: Option<f64>,
    /// The last rate at which a queue stood.
    proved: f64,
    phase: Phase,
    /// When the link was seen to be full last.
    known: Time,
    rise: f64,
    hold: Duration,
    patience: Duration,
    /// Before it no queue is looked for.
    blind: Time,
    /// The mean size of a frame, in bits.
    frame: f64,
    /// The largest burst of late, in bits: frames of a packet leave together, and wait for each other. When the last frame
    /// left, and bits that left with it.
    burst: f64,
    together: (Time, f64),
}

impl Default for LearnedRate {
    fn default() -> LearnedRate {
        LearnedRate {
            sent: 0,
            offset: None,
            base: Extreme::least(),
            untold: None,
            round_trip: Duration::MAX,
            interval: Interval::new(Time::ZERO, 0),
            line: Line::default(),
            delays: Line::default(),
            losses: Losses::default(),
            regular: false,
            rate: None,
            proved: 0.0,
            phase: Phase::Open,
            known: Time::ZERO,
            rise: FIRST_RISE,
            hold: FIRST_HOLD,
            patience: FIRST_PATIENCE,
            blind: Time::ZERO,
            frame: 0.0,
            burst: 0.0,
            together: (Time::ZERO, 0.0),
        }
    }
}

impl LearnedRate {
    /// The rate to be stated; none while nothing has shown one.
    pub fn rate(&self) -> Option<Rate> {
        let part = match self.phase {
            Phase::Drain { part, .. } => 1.0 - part,
            _ => 1.0,
        };
        self.rate.map(|rate| Rate::from_bps((rate * part) as u64).clamp(LEAST, MOST))
    }

    /// Bits sent so far: what a frame that leaves now has before it.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// A frame of so many bits leaves; `idle` if no other is unacknowledged.
    pub fn on_sent(&mut self, now: Time, bits: u64, idle: bool) {
        self.sent = self.sent.saturating_add(bits);
        self.frame += (bits as f64 - self.frame) / 64.0;
        let (last, before) = self.together;
        // At a low rate each frame is acknowledged before the next may leave.
        let pace = self.rate().map_or(Duration::ZERO, |rate| Duration::from_secs_f64(before / rate.bps() as f64));
        let pauses = idle && now.since(last) > pace.scale(1.5);
        let together = if last == now { before + bits as f64 } else { bits as f64 };
        self.together = (now, together);
        self.burst = together.max(self.burst * BURST_FADES);
        if pauses {
            // What is acknowledged over a pause tells no rate.
            self.begin(now, false);
        }
    }

    /// A frame is acknowledged.
    pub fn on_ack(&mut self, now: Time, frame: Frame, arrival: Option<Arrival>) {
        self.round_trip = self.round_trip.min(now.since(frame.at));
        match arrival {
            Some(arrival) => self.arrived(now, frame, arrival),
            // Acks fill several frames, of which the last tells.
            None if self.rate.is_some() && now.since(*self.untold.get_or_insert(now)) > BASE => {
                let LearnedRate { sent, frame, .. } = *self;
                *self = LearnedRate { sent, frame, ..LearnedRate::default() };
                self.begin(now, false);
            }
            None => {}
        }
        let long = INTERVAL.max(self.round_trip.scale(0.25));
        if self.interval.timed >= FRAMES && now.since(self.interval.since) >= long {
            self.end(now);
        }
    }

    fn arrived(&mut self, now: Time, frame: Frame, arrival: Arrival) {
        self.untold = None;
        let passed = arrival.time.wrapping_sub((frame.at.nanos() / 1000) as u32);
        let missing = (frame.number as u32).wrapping_sub(arrival.count);
        let (offset, none) = *self.offset.get_or_insert((passed, missing));
        let delay = f64::from(passed.wrapping_sub(offset).cast_signed()) / 1e6;
        let lost = missing.wrapping_sub(none).cast_signed();
        if delay.abs() > LONGEST || lost.unsigned_abs() > MOST_LOST {
            // Another clock, or another count.
            (self.offset, self.base) = (None, Extreme::least());
            self.begin(now, false);
            return;
        }
        self.base.push(delay, now, BASE);
        self.delays.add(frame.at.secs(), delay);
        self.line.add(frame.at.secs() + delay, frame.before as f64 - self.frame * f64::from(lost));
        if frame.at >= self.known {
            self.losses.count(frame.number, lost);
        }
        self.interval.timed += 1;
        self.interval.least = self.interval.least.min(delay);
    }

    /// Whether the neighbour says when frames arrive.
    pub fn is_told(&self) -> bool {
        self.offset.is_some()
    }

    fn begin(&mut self, now: Time, standing: bool) {
        self.interval = Interval::new(now, self.sent);
        if !standing {
            (self.line, self.delays) = (Line::default(), Line::default());
        }
    }

    fn end(&mut self, now: Time) {
        let Interval { since, sent, least, .. } = self.interval;
        let behind = least - self.base.get().unwrap_or(least);
        // How long the last of the frames that leave together waits for the others.
        let own = self.rate.or(self.line.slope(FRAMES)).map_or(0.0, |rate| self.burst / rate);
        let queue = Duration::from_secs_f64((behind - own).max(0.0));
        let raised = self.rate.is_some_and(|rate| rate > self.proved);
        let overflows = self.losses.overflow(raised);
        // By chance a few frames come regularly where delays vary.
        let regular = std::mem::replace(&mut self.regular, self.line.off() <= IRREGULAR.secs()) && self.regular;
        let stands = regular && queue >= QUEUE && now >= self.blind;
        let time = now.since(since).secs();
        let used = (self.sent - sent) as f64 / time;
        let keep = match self.phase {
            Phase::Open | Phase::Hold { .. } if stands || self.is_full(own / time) => self.full(now, queue),
            Phase::Open | Phase::Hold { .. } if overflows && regular => self.full(now, Duration::ZERO),
            Phase::Open => false,
            Phase::Hold { until } => {
                self.raise(now, until, used);
                false
            }
            Phase::Drain { since, queue: first, part } => self.drain(now, (since, first, part), queue, least),
        };
        self.begin(now, keep || stands);
    }

    /// Whether frames arrived regularly and later each, by more than `own` in s per s, so that there is a queue, however
    /// short. Where each packet has several frames the first of one and the last of another differ by what they wait for
    /// each other.
    fn is_full(&self, own: f64) -> bool {
        let Some(rate) = self.line.slope(FRAMES) else { return false };
        let growth = if self.rate.is_some() { GROWTH } else { FIRST_GROWTH };
        let is_regular = self.line.off() <= REGULAR.secs().max(REGULAR_FRAMES * self.frame / rate);
        is_regular && self.delays.steepness() >= growth.max(own)
    }

    /// The link is full; whether what is acknowledged from here on goes on with the line.
    fn full(&mut self, now: Time, queue: Duration) -> bool {
        let Some(rate) = self.slope() else { return true };
        let is_same = (rate - self.proved).abs() <= SAME * self.proved;
        self.hold = match () {
            () if is_same => (self.hold * 2).min(MOST_HOLD),
            () if queue == Duration::ZERO => FIRST_HOLD,
            () => PROVED_HOLD,
        };
        (self.rate, self.proved, self.rise) = (Some(rate), rate, FIRST_RISE);
        self.known = now;
        self.losses.begin();
        self.phase = Phase::Drain { since: now, queue, part: part_of(queue) };
        true
    }

    /// The rate of the link while a queue stands, in bit/s; what noise takes was carried too.
    fn slope(&self) -> Option<f64> {
        let slope = self.line.slope(FRAMES)? / (1.0 - self.losses.noise());
        Some(slope.clamp(LEAST.bps() as f64, MOST.bps() as f64))
    }

    fn raise(&mut self, now: Time, until: Time, used: f64) {
        let Some(rate) = self.rate.filter(|rate| now >= until && used >= USED * rate) else { return };
        self.losses.settle();
        self.rate = Some(rate * (1.0 + self.rise));
        self.rise = (2.0 * self.rise).min(MOST_RISE);
        self.phase = Phase::Hold { until: now + REACTION.max(self.round_trip * 2) };
    }

    /// Whether the queue still stands, which `first` was when it began to be drained.
    fn drain(&mut self, now: Time, (since, first, part): (Time, Duration, f64), queue: Duration, least: f64) -> bool {
        if queue < QUEUE.scale(0.5) || first == Duration::ZERO {
            self.phase = Phase::Hold { until: now + self.hold };
            self.patience = FIRST_PATIENCE;
            return false;
        }
        // A shorter one may end within the interval, and then what is acknowledged is what is sent.
        if let Some(rate) = self.slope().filter(|_| queue >= QUEUE && self.line.off() <= IRREGULAR.secs()) {
            (self.rate, self.proved) = (Some(rate), rate);
        }
        // What was under way when it was found still comes to it.
        if queue > first && now.since(self.known) <= DRAIN_TIME + self.round_trip * 2 {
            self.phase = Phase::Drain { since: now, queue, part: part_of(queue) };
            return true;
        }
        // By then it could have gone twice.
        let time = first.scale(2.0 / part).max(self.round_trip * 4);
        if now.since(since) <= time {
            return true;
        }
        if queue > first.scale(0.5) {
            (self.rate, self.proved, self.phase) = (None, 0.0, Phase::Open);
            self.base = Extreme::least();
            self.base.push(least, now, BASE);
            self.blind = now + self.patience;
            self.patience = (self.patience * 2).min(MOST_PATIENCE);
            return false;
        }
        // It has gone; what is left are delays that vary.
        self.phase = Phase::Hold { until: now + self.hold };
        false
    }
}

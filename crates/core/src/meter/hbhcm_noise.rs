//! How much of a hop's delay is no queue: jitter, and processes that wake late.
//!
//! Jitter that keeps the order is not a spread around a mean. The denser the traffic, the more often a packet waits for
//! one before it that drew a large delay; under load even the least delay stays far above what a lone packet meets. So
//! no window over delays alone tells it from a queue. But a queue stands only where more arrives than can leave: while
//! it stands, the hop carries its most. Hence, of two times of which one carried clearly less, the delay of that one
//! was noise, as far as the busier one had it too. Three things come off a delay before the law sees it:
//!
//! 1. **passing peaks**: the least delay of the last few Data counts, not each of them;
//! 2. **the floor**: the mean delay of a round that carried clearly less than the best round of late;
//! 3. **the spread**: how far, on average, delays of a round lay below the largest before them in it. A queue that
//!    builds up has none of that, however fast.
//!
//! And none of a delay counts while others fill the queue ([`Foreign`]).
//!
//! At first, while each round carries more than the one before, there is nothing to compare with. Then a delay counts
//! only where Data come evenly, as a standing queue lets them go (`Filling`).
//!
//! What a round carries is what came between each Interest and its Data, over the time that took (Little's law), and
//! not what came between two instants: jitter moves arrivals by its whole size, but hardly the mean round trip.
//!
//! Ours. Related: BBR (Cardwell et al., 2016) needs its most bandwidth and its least delay for the same reason, and
//! takes a pipe for full once its rate no longer grows; the least over an interval is CoDel's (RFC 8289).

use super::hbhcm_foreign::Foreign;
use crate::units::{Bytes, Duration, Time};
use std::collections::VecDeque;

/// Data of which the least delay counts; a queue does not drain and come back within four.
const LATEST: usize = 4;
/// Data that a round has at least, so that its means are none of a lone packet.
const ROUND_DATA: u32 = 4;
/// The least length of a round: longer than a process of a busy machine sleeps beyond its time, a few milliseconds.
const ROUND: Duration = Duration::from_millis(20);
/// A round of more than so many base round trips (or [`ROUND`]s) has pauses in it and tells nothing of the hop.
const PAUSE: u64 = 8;
/// Below this share of the best rate a round carries clearly less. BIC and CUBIC keep 0.8 and 0.7 of their window at a
/// cut, and without a queue the rate follows the window.
const LESS: f64 = 0.85;
/// From this share on a round is as good as the best, and its delay is that of the busy hop.
const AS_GOOD: f64 = 0.9;
/// The most that is ever noise: beyond, losses are the better signal than a delay nobody can use.
const MOST: Duration = Duration::from_millis(50);
/// Weight of the latest round in the spread.
const NEWEST: f64 = 0.25;
/// Instants of which it is known what had arrived by then, and how many of them fall into a round trip at least.
const INSTANTS: usize = 256;
const PER_TRIP: u64 = 64;

/// A hop has been filled once so many rounds in a row carried hardly more ([`LESS`]) than the one before.
const EVEN_ROUNDS: u32 = 2;
/// Arrivals that are compared: the latest eight gaps with the fastest three of 32 Data.
const GAPS: usize = 32;
const LATEST_GAPS: usize = 8;
const FEW_GAPS: usize = 3;
/// Gaps this many times the least on average are still even.
const EVENLY: f64 = 1.5;

/// Bytes that arrived, by time.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Arrived {
    /// Each instant, and the bytes up to it.
    by: VecDeque<(Time, u64)>,
    bytes: u64,
}

impl Arrived {
    fn add(&mut self, size: Bytes, apart: Duration, now: Time) {
        self.bytes = self.bytes.wrapping_add(size.get());
        match self.by.back_mut() {
            Some((at, bytes)) if now.since(*at) < apart => *bytes = self.bytes,
            _ => {
                if self.by.len() == INSTANTS {
                    self.by.pop_front();
                }
                self.by.push_back((now, self.bytes));
            }
        }
    }

    /// What comes now has waited for nothing that came before: after a pause the way is empty, and fills.
    fn forget(&mut self) {
        self.by.drain(..self.by.len().saturating_sub(1));
    }

    /// Bytes after `then`, unless that is too long ago.
    fn since(&self, then: Time) -> Option<u64> {
        let before = self.by.partition_point(|(at, _)| *at <= then).checked_sub(1)?;
        self.by.get(before).map(|(_, bytes)| self.bytes.wrapping_sub(*bytes))
    }
}

/// Whether a hop is still being filled, and what tells a queue from noise until then.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Filling {
    /// Rounds in a row that carried hardly more than the one before.
    even_rounds: u32,
    /// When the latest Data came.
    times: VecDeque<Time>,
}

impl Filling {
    fn arrived(&mut self, now: Time) {
        if self.times.len() == GAPS {
            self.times.pop_front();
        }
        self.times.push_back(now);
    }

    /// A round carried this much, the one before it that much.
    fn round(&mut self, rate: f64, before: Option<f64>) {
        let grown = before.is_none_or(|before| before < LESS * rate);
        self.even_rounds = if grown && !self.is_over() { 0 } else { (self.even_rounds + 1).min(EVEN_ROUNDS) };
    }

    fn is_over(&self) -> bool {
        self.even_rounds >= EVEN_ROUNDS
    }

    /// Whether the latest Data came about as fast as a few did at best: from a standing queue they leave at the rate of
    /// the hop, one like the other. Jitter that keeps the order, and a window that the hop waits for, let them come in
    /// bunches.
    fn comes_evenly(&self) -> bool {
        let mean_gap = |end: usize, gaps: usize| self.times[end].since(self.times[end - gaps]).secs() / gaps as f64;
        let Some(last) = self.times.len().checked_sub(1).filter(|last| *last >= LATEST_GAPS) else { return false };
        let least = (FEW_GAPS..=last).map(|end| mean_gap(end, FEW_GAPS)).fold(f64::MAX, f64::min);
        mean_gap(last, LATEST_GAPS) <= EVENLY * least
    }
}

/// Data between two instants.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Round {
    since: Time,
    /// Data that measured a delay, the sum of those, the largest so far, and the sum of how far each lay below it.
    delays: u32,
    sum: Duration,
    peak: Duration,
    below: Duration,
    /// Of those whose Interest is not too old: how many, what arrived between it and them, and how long that took.
    timed: u32,
    bytes: u64,
    waited: Duration,
    /// Whether a Data of it had been lost before.
    lossy: bool,
}

impl Round {
    fn new(since: Time) -> Round {
        let zero = Duration::ZERO;
        Round { since, delays: 0, sum: zero, peak: zero, below: zero, timed: 0, bytes: 0, waited: zero, lossy: false }
    }
}

/// A round that is over.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Done {
    /// Bytes per second.
    rate: f64,
    /// Mean delay.
    delay: Duration,
    lossy: bool,
}

/// The busiest time of late.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Best {
    rate: f64,
    at: Time,
    /// Mean delay of the latest round that was as good.
    delay: Duration,
}

/// The noise of one hop.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct HopNoise {
    window: Duration,
    tolerance: Duration,
    arrived: Arrived,
    filling: Filling,
    foreign: Foreign,
    trip: Duration,
    round: Option<Round>,
    last: Option<Done>,
    best: Option<Best>,
    floor: Duration,
    floor_at: Time,
    /// A floor if no loss of its time shows in the next round either.
    likely: Option<Duration>,
    spread: Duration,
    latest: [Duration; LATEST],
    next: usize,
}

impl HopNoise {
    /// `window`: how long the best rate counts, and a floor once found. `tolerance`: by how much the delay may have
    /// grown since the busiest time and not be the queue of a hop that has become slower.
    pub fn new(window: Duration, tolerance: Duration) -> HopNoise {
        HopNoise {
            window,
            tolerance,
            arrived: Arrived::default(),
            filling: Filling::default(),
            foreign: Foreign::new(window, tolerance),
            trip: Duration::ZERO,
            round: None,
            last: None,
            best: None,
            floor: Duration::ZERO,
            floor_at: Time::ZERO,
            likely: None,
            spread: Duration::ZERO,
            latest: [Duration::ZERO; LATEST],
            next: 0,
        }
    }

    /// A Data came through the hop, whether or not it measures a delay.
    pub fn delivered(&mut self, size: Bytes, now: Time) {
        self.arrived.add(size, self.trip / PER_TRIP, now);
    }

    /// A Data came that was link-retransmitted on the way or asked for twice. Losses take from what a round carries,
    /// queue or none.
    pub fn lossy(&mut self) {
        if let Some(round) = &mut self.round {
            round.lossy = true;
        }
    }

    /// What is left without noise of the `delay` of a Data that came `waited` after its Interest. `base`: the hop's
    /// least round trip.
    pub fn remove(&mut self, delay: Duration, waited: Duration, base: Duration, now: Time) -> Duration {
        self.trip = waited;
        self.filling.arrived(now);
        let length = base.max(ROUND);
        match self.round.as_mut().filter(|round| now.since(round.since) <= length * PAUSE) {
            None => {
                (self.round, self.last) = (Some(Round::new(now)), None);
                self.filling.even_rounds = 0;
                self.arrived.forget();
            }
            Some(round) => {
                round.delays += 1;
                round.sum = round.sum + delay;
                round.peak = round.peak.max(delay);
                round.below = round.below + (round.peak - delay);
                if let Some(bytes) = self.arrived.since(now - waited) {
                    round.timed += 1;
                    round.bytes = round.bytes.saturating_add(bytes);
                    round.waited = round.waited + waited;
                }
                if now.since(round.since) >= length && round.delays >= ROUND_DATA {
                    let over = std::mem::replace(round, Round::new(now));
                    self.finish(&over, now);
                }
            }
        }
        if now.since(self.floor_at) > self.window {
            self.floor = Duration::ZERO;
        }
        self.latest[self.next] = delay;
        self.next = (self.next + 1) % LATEST;
        let least = self.latest.iter().fold(delay, |least, each| least.min(*each));
        let left = least - self.noise();
        let counts = !self.foreign.fills(now) && (self.filling.is_over() || self.filling.comes_evenly());
        if counts { left } else { Duration::ZERO }
    }

    /// Delay that is taken for noise now: floor and spread.
    pub fn noise(&self) -> Duration {
        (self.floor + self.spread).min(MOST)
    }

    fn finish(&mut self, round: &Round, now: Time) {
        let data = u64::from(round.delays);
        self.spread = self.spread.scale(1.0 - NEWEST) + (round.below / data).scale(NEWEST);
        if round.waited == Duration::ZERO {
            self.last = None;
            return;
        }
        let rate = round.bytes as f64 / round.waited.secs();
        let done = Done { rate, delay: round.sum / data, lossy: round.lossy };
        self.foreign.round(done.delay, round.bytes as f64 / f64::from(round.timed), now);
        if let Some(noise) = self.likely.take().filter(|_| !round.lossy) {
            self.found(noise, now);
        }
        self.filling.round(done.rate, self.last.map(|last| last.rate));
        let Some(last) = self.last.replace(done) else { return };
        // Two rounds have to agree, as a pause takes from one what it gives to the next.
        let (lesser, more) = if done.rate < last.rate { (done, last) } else { (last, done) };
        let known = self.best.filter(|best| now.since(best.at) <= self.window);
        let mut best = match known {
            Some(known) if lesser.rate < known.rate => known,
            _ => Best { rate: lesser.rate, at: now, delay: lesser.delay },
        };
        if let Some(known) = known.filter(|known| known.rate < LESS * lesser.rate) {
            self.found(known.delay.min(lesser.delay), now);
        }
        if lesser.rate >= AS_GOOD * best.rate {
            best.delay = lesser.delay;
        }
        self.best = Some(best);
        let less = more.rate < LESS * best.rate && !done.lossy && !last.lossy;
        if less && lesser.delay <= best.delay + self.tolerance {
            self.likely = Some(done.delay.min(last.delay).min(best.delay));
        }
    }

    fn found(&mut self, noise: Duration, now: Time) {
        if noise >= self.floor {
            (self.floor, self.floor_at) = (noise.min(MOST), now);
        }
    }
}

#[cfg(test)]
mod tests;

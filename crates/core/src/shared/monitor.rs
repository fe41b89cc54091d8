//! Monitor intervals of PCC: what was sent at one rate, and what became of it.

use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// The fewest Interests of an interval.
const LEAST_SENT: u32 = 5;
/// What is not answered so many smoothed round trips after the last Interest of its interval counts as lost; ours.
const PATIENCE: u64 = 4;

/// What was sent at one rate.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(crate) struct Interval {
    number: u64,
    /// In Mbit/s.
    rate: f64,
    /// Whether a decision needs it; others fill the time until answers come.
    is_measured: bool,
    least_duration: Duration,
    first: Time,
    last: Time,
    sent: u32,
    answered: u32,
    lost: u32,
    /// Sums over round-trip times y and the times x of their Interests since the first, in seconds.
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

/// What an interval shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The rate at which its Interests asked for Data.
    pub(crate) mbps: f64,
    /// Growth of the round-trip time, in seconds per second.
    pub(crate) gradient: f64,
    /// Share of its segments that were lost.
    pub(crate) loss: f64,
}

impl Interval {
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Interests sent.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// Whether all is answered, or what is not counts as lost.
    fn is_answered(&self, now: Time) -> bool {
        self.answered + self.lost >= self.sent || now.since(self.last) > self.least_duration * PATIENCE
    }

    /// None if all was sent at one instant. `size` is that of a Data, in bytes.
    pub(crate) fn measure(&self, size: f64) -> Option<Measured> {
        let lasted = self.last.since(self.first).secs();
        if lasted <= 0.0 || self.sent < 2 {
            return None;
        }
        let spread = self.count * self.xx - self.x * self.x;
        let gradient = if spread > 0.0 { (self.count * self.xy - self.x * self.y) / spread } else { 0.0 };
        let mbps = f64::from(self.sent - 1) * size * 8e-6 / lasted;
        Some(Measured { mbps, gradient, loss: f64::from(self.lost) / f64::from(self.sent) })
    }
}

/// The intervals that a decision waits for, and the present one at the end.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(crate) struct Monitor {
    intervals: VecDeque<Interval>,
    /// The interval of each Interest without an answer, and when it was sent.
    open: BTreeMap<u64, (u64, Time)>,
    begun: u64,
    most_open: usize,
}

impl Monitor {
    /// Stores the interval of at most so many Interests; the oldest then counts as lost.
    pub(crate) fn new(most_open: usize) -> Monitor {
        Monitor { intervals: VecDeque::new(), open: BTreeMap::new(), begun: 0, most_open }
    }

    /// How many intervals a decision waits for.
    pub(crate) fn measured(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.is_measured).count()
    }

    /// The rate of the present interval.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.intervals.back().map(|interval| interval.rate)
    }

    /// Whether the next Interest begins a new interval.
    pub(crate) fn is_interval_over(&self, srtt: Duration, now: Time) -> bool {
        let Some(present) = self.intervals.back() else { return true };
        if srtt == Duration::ZERO {
            return false;
        }
        let lasted = now.since(present.first) >= present.least_duration;
        if present.is_measured { present.sent >= LEAST_SENT && lasted } else { self.measured() == 0 }
    }

    /// Begins an interval. Before the first round-trip time none can be measured.
    pub(crate) fn begin(&mut self, rate: f64, is_measured: bool, srtt: Duration) {
        self.begun += 1;
        let is_measured = is_measured && srtt > Duration::ZERO;
        let (first, last) = (Time::ZERO, Time::ZERO);
        self.intervals.retain(|interval| interval.is_measured);
        self.intervals.push_back(Interval {
            number: self.begun,
            rate,
            is_measured,
            least_duration: srtt,
            first,
            last,
            sent: 0,
            answered: 0,
            lost: 0,
            count: 0.0,
            x: 0.0,
            y: 0.0,
            xx: 0.0,
            xy: 0.0,
        });
    }

    pub(crate) fn on_sent(&mut self, segment: u64, now: Time) {
        let Some(present) = self.intervals.back_mut() else { return };
        if present.sent == 0 {
            present.first = now;
        }
        present.last = now;
        present.sent += 1;
        let before = self.open.insert(segment, (present.number, now));
        let is_full = self.open.len() > self.most_open;
        let forgotten = if is_full { self.open.pop_first().map(|(_, open)| open) } else { None };
        for (number, _) in before.into_iter().chain(forgotten) {
            self.with(number, |interval| interval.lost += 1);
        }
    }

    pub(crate) fn on_answer(&mut self, segment: u64, rtt: Option<Duration>) {
        let Some((number, sent)) = self.open.remove(&segment) else { return };
        self.with(number, |interval| {
            interval.answered += 1;
            if let Some(rtt) = rtt {
                let (x, y) = (sent.since(interval.first).secs(), rtt.secs());
                interval.count += 1.0;
                interval.x += x;
                interval.y += y;
                interval.xx += x * x;
                interval.xy += x * y;
            }
        });
    }

    pub(crate) fn on_lost(&mut self, segment: u64) {
        if let Some((number, _)) = self.open.remove(&segment) {
            self.with(number, |interval| interval.lost += 1);
        }
    }

    fn with(&mut self, number: u64, change: impl FnOnce(&mut Interval)) {
        if let Some(interval) = self.intervals.iter_mut().find(|interval| interval.number == number) {
            change(interval);
        }
    }

    /// The intervals of a decision, once each was answered and one that none waits for goes on.
    pub(crate) fn take_answered(&mut self, now: Time) -> Option<Vec<Interval>> {
        let goes_on = self.intervals.back().is_some_and(|present| !present.is_measured);
        let waits = self.intervals.iter().any(|interval| interval.is_measured && !interval.is_answered(now));
        if !goes_on || waits || self.measured() == 0 {
            return None;
        }
        let present = self.intervals.pop_back()?;
        let mut answered: Vec<Interval> = self.intervals.drain(..).collect();
        self.intervals.push_back(present);
        answered.iter_mut().for_each(|interval| interval.lost = interval.sent.saturating_sub(interval.answered));
        Some(answered)
    }
}

//! The states of one path: bandwidth filling, fairness convergence, queue draining.

use super::{AFTER_DRAIN, MAX_RATE, MIN_RATE, Params};
use crate::units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(super) enum State {
    /// Bandwidth filling: above, at and below the rate, for an interval each; which of them ends next.
    Filling(u8),
    /// Fairness convergence: which of three intervals ends next.
    Converging(u8),
    /// Queue draining.
    Draining,
}

/// One path's rate.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub(super) struct Machine {
    state: State,
    /// In packets per second: that of the law, and that at which Interests leave.
    rate: f64,
    sending: f64,
    /// Turns of this path to send, in Interests.
    pub(super) credit: f64,
    interval: Duration,
    due: Time,
    /// Since when Data are counted, how many, and their round-trip times.
    since: Time,
    received: u32,
    samples: u32,
    rtt_sum: f64,
    longest: Duration,
    least: Duration,
    marked: bool,
    /// The step of the rate, in packets per second (ρ).
    step: f64,
    /// The backlogs of the last three intervals.
    backlogs: [f64; 3],
}

impl Machine {
    pub(super) fn new(params: &Params) -> Machine {
        Machine {
            state: State::Filling(0),
            rate: params.initial_rate,
            sending: params.initial_rate,
            credit: 0.0,
            interval: params.initial_interval,
            due: Time::NEVER,
            since: Time::ZERO,
            received: 0,
            samples: 0,
            rtt_sum: 0.0,
            longest: Duration::ZERO,
            least: Duration::MAX,
            marked: false,
            step: 1.0,
            backlogs: [0.0; 3],
        }
    }

    pub(super) fn sends_at(&self) -> f64 {
        self.sending
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn backlog(&self) -> f64 {
        self.backlogs[2]
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn on_data(&mut self, rtt: Option<Duration>, marked: bool) {
        self.received += 1;
        self.marked |= marked;
        if let Some(rtt) = rtt {
            self.samples += 1;
            self.rtt_sum += rtt.secs();
            self.longest = self.longest.max(rtt);
            self.least = self.least.min(rtt);
        }
    }

    /// Begins with bandwidth filling.
    pub(super) fn start(&mut self, now: Time, params: &Params) {
        self.count_afresh(now);
        self.fill(now, params);
    }

    fn count_afresh(&mut self, now: Time) {
        (self.since, self.received, self.samples, self.rtt_sum) = (now, 0, 0, 0.0);
        (self.longest, self.marked) = (Duration::ZERO, false);
    }

    /// Data received per second since counting began, and how many of them wait in queues by Little's law; counts
    /// afresh, with the longest round-trip time as the interval from now on.
    fn measure(&mut self, now: Time, params: &Params) -> (f64, f64) {
        let lasted = now.since(self.since).secs();
        let rate = if lasted > 0.0 { f64::from(self.received) / lasted } else { 0.0 };
        let queueing = if self.samples > 0 { self.rtt_sum / f64::from(self.samples) - self.least.secs() } else { 0.0 };
        if self.longest > Duration::ZERO {
            self.interval = self.longest.min(params.longest_rtt).max(Duration::from_millis(1));
        }
        self.count_afresh(now);
        (rate, rate * queueing.max(0.0))
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(MIN_RATE, MAX_RATE);
        self.sending = self.rate;
    }

    fn fill(&mut self, now: Time, params: &Params) {
        self.state = State::Filling(0);
        self.sending = self.rate * (1.0 + params.probe);
        self.due = now + self.interval;
    }

    fn converge(&mut self, now: Time, params: &Params) {
        self.state = State::Converging(0);
        let backlog = self.backlogs[2];
        let step = if backlog < params.target {
            self.step
        } else if backlog > params.target {
            -self.step
        } else {
            0.0
        };
        self.set_rate(self.rate + step);
        self.due = now + self.interval;
    }

    /// The interval has ended.
    pub(super) fn advance(&mut self, now: Time, params: &Params) {
        match self.state {
            State::Filling(0) => self.next_filling(now, 1, self.rate),
            State::Filling(1) => self.next_filling(now, 2, self.rate * (1.0 - params.probe)),
            State::Filling(_) => self.decide_filling(now, params),
            State::Converging(interval) => {
                let (_, backlog) = self.measure(now, params);
                self.backlogs[usize::from(interval.min(2))] = backlog;
                self.due = now + self.interval;
                if interval < 2 {
                    self.state = State::Converging(interval + 1);
                } else {
                    self.decide_converging(now, params);
                }
            }
            State::Draining => {
                let (_, backlog) = self.measure(now, params);
                if backlog > 0.0 {
                    self.due = now + self.interval.scale(0.5);
                } else {
                    self.set_rate(self.rate * AFTER_DRAIN);
                    self.fill(now, params);
                }
            }
        }
    }

    fn next_filling(&mut self, now: Time, next: u8, rate: f64) {
        self.state = State::Filling(next);
        self.sending = rate;
        self.due = now + self.interval;
    }

    fn decide_filling(&mut self, now: Time, params: &Params) {
        let (marked, samples) = (self.marked, self.samples);
        let (received, backlog) = self.measure(now, params);
        self.backlogs = [backlog; 3];
        if received == 0.0 || samples == 0 {
            // Nothing shows that more would fit.
            self.fill(now, params);
        } else if backlog <= params.filled && !marked {
            self.set_rate(self.rate * (1.0 + params.probe));
            self.fill(now, params);
        } else {
            self.step = 1.0;
            self.set_rate(received);
            self.converge(now, params);
        }
    }

    fn decide_converging(&mut self, now: Time, params: &Params) {
        let [first, before, last] = self.backlogs;
        if last <= params.filled {
            self.fill(now, params);
        } else if last > params.excess {
            self.state = State::Draining;
            self.sending = MIN_RATE;
            self.due = now + self.interval.scale(0.5);
        } else {
            let slope = ((last - first) / 3.0).abs();
            if slope < 1.0 {
                self.step += 1.0;
            } else if slope > 1.0 {
                self.step = (self.step - 1.0).max(1.0);
            }
            let crossed_up = before <= params.target && params.target <= last;
            let crossed_down = last <= params.target && params.target <= before;
            if crossed_up || crossed_down {
                self.step = 1.0;
            }
            self.converge(now, params);
        }
    }
}

//! The sender of a transfer: segments in flight, loss detection and timing.

use super::{Ack, Segment};
use ndnweir_core::consumer::windowed::{Cause, WindowLaw};
use ndnweir_core::consumer::{DataEvent, Estimator, Flight, Timer, cubic};
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::Fields;
use ndnweir_core::shared::rtt::RttEstimator;
use ndnweir_core::units::{Bytes, Duration, Time};
use std::collections::VecDeque;

/// Number of acknowledged segments above a gap after which it counts as lost (RFC 6675, DupThresh).
const THRESHOLD: u32 = 3;

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Number of times that the window was reduced after losses detected from acknowledgements.
    pub recoveries: u64,
    /// Number of times that the retransmission timer expired.
    pub timeouts: u64,
}

/// A segment above the cumulative acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    transmissions: u32,
    /// Selectively acknowledged.
    sacked: bool,
    /// In flight, as far as the sender can infer.
    in_flight: bool,
}

/// The sending end of a transfer.
#[derive(Debug)]
pub struct Sender {
    law: cubic::Law,
    estimator: RttEstimator,
    /// The segments from `first` on.
    window: VecDeque<Sent>,
    first: u32,
    /// Number of segments of the transfer.
    total: u32,
    in_flight: u32,
    sacked: u32,
    /// Segments in `window` that are considered lost and have not been retransmitted.
    lost: u32,
    /// Recovery, also after a timeout, ends when all segments below this number are acknowledged.
    recover: u32,
    /// Whether the window is held during recovery.
    recovering: bool,
    /// The first segment at the last timeout: repeated timeouts of one segment reduce the threshold only once.
    timed_out: Option<u32>,
    deadline: Time,
    rng: Rng,
    trace: Trace,
    counters: SenderCounters,
}

impl Sender {
    /// The sender of `total` segments, with the constants of RFC 9438.
    pub fn new(total: u32) -> Sender {
        let params = cubic::Params { initial_window: 10.0, ..cubic::Params::of(cubic::Edition::Rfc9438) };
        let timer = Timer {
            estimator: Estimator::Ndnsim,
            min: Duration::from_millis(200),
            max: Duration::from_millis(60_000),
            ..Timer::default()
        };
        Sender {
            law: cubic::Law::new(&params),
            estimator: RttEstimator::new(timer),
            window: VecDeque::new(),
            first: 0,
            total,
            in_flight: 0,
            sacked: 0,
            lost: 0,
            recover: 0,
            recovering: false,
            timed_out: None,
            deadline: Time::NEVER,
            // The law draws no random numbers.
            rng: Rng::derive(0, &[]),
            trace: Trace::new(false),
            counters: SenderCounters::default(),
        }
    }

    /// The window, in segments.
    pub fn window(&self) -> f64 {
        self.law.window()
    }

    /// The counters.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    /// Whether everything is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.first >= self.total
    }

    /// Sends no new segments from now on.
    pub fn stop(&mut self) {
        self.total = self.next();
    }

    /// When [`Sender::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Time {
        self.deadline
    }

    fn next(&self) -> u32 {
        self.first + self.window.len() as u32
    }

    fn flight(&self) -> Flight {
        Flight {
            in_flight: self.in_flight,
            next_segment: self.next().into(),
            highest_received: None,
            srtt: self.estimator.srtt(),
        }
    }

    /// A segment to send now; call it until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if f64::from(self.in_flight + 1) > self.law.window() {
            return None;
        }
        let place = if self.lost > 0 {
            self.window.iter().position(|sent| !sent.sacked && !sent.in_flight)?
        } else {
            if self.next() >= self.total {
                return None;
            }
            self.window.push_back(Sent { at: now, transmissions: 0, sacked: false, in_flight: false });
            self.window.len() - 1
        };
        let sent = &mut self.window[place];
        if sent.transmissions > 0 {
            self.lost -= 1;
            self.counters.retransmissions += 1;
        }
        (sent.at, sent.transmissions, sent.in_flight) = (now, sent.transmissions + 1, true);
        self.in_flight += 1;
        self.counters.sent += 1;
        if self.deadline == Time::NEVER {
            self.deadline = now + self.estimator.rto();
        }
        Some(Segment { number: self.first + place as u32, transmission: sent.transmissions })
    }

    /// Handles an acknowledgement.
    pub fn ack(&mut self, now: Time, ack: Ack) {
        let mut delivered = self.take(now, ack.segment, Some(ack.transmission));
        let advances = ack.next > self.first;
        while self.first < ack.next && !self.window.is_empty() {
            delivered += self.take(now, self.first, None);
            self.window.pop_front();
            self.sacked -= 1;
            self.first += 1;
        }
        if advances {
            self.deadline = if self.window.is_empty() { Time::NEVER } else { now + self.estimator.rto() };
            self.timed_out = self.timed_out.filter(|&first| first >= self.first);
        }
        if self.recovering && self.first >= self.recover {
            self.recovering = false;
        }
        let found = self.find_losses();
        if found && !self.recovering {
            self.recovering = true;
            self.recover = self.next();
            self.counters.recoveries += 1;
            self.cut(now);
        } else if !self.recovering {
            (0..delivered).for_each(|_| self.increase(now, ack.segment));
        }
    }

    /// Records the arrival of a segment; returns 1 if it was not known. `transmission` identifies the transmission for
    /// the RTT sample.
    fn take(&mut self, now: Time, number: u32, transmission: Option<u32>) -> u32 {
        let Some(sent) = number.checked_sub(self.first).and_then(|place| self.window.get_mut(place as usize)) else {
            return 0;
        };
        if sent.sacked {
            return 0;
        }
        sent.sacked = true;
        self.sacked += 1;
        if std::mem::replace(&mut sent.in_flight, false) {
            self.in_flight -= 1;
        } else {
            self.lost -= 1;
        }
        if transmission == Some(sent.transmissions) {
            let rtt = now.since(sent.at);
            self.estimator.sample(rtt, self.in_flight);
        }
        1
    }

    /// Marks segments with enough acknowledged segments above them as lost. Returns whether one of these was first sent
    /// after the last window reduction. Retransmitted segments wait for the timer.
    fn find_losses(&mut self) -> bool {
        if self.sacked < THRESHOLD {
            return false;
        }
        let (mut above, mut anew) = (0, false);
        for (place, sent) in self.window.iter_mut().enumerate().rev() {
            if sent.sacked {
                above += 1;
            } else if above >= THRESHOLD && sent.in_flight && sent.transmissions == 1 {
                sent.in_flight = false;
                self.in_flight -= 1;
                self.lost += 1;
                anew |= self.first + place as u32 >= self.recover;
            }
        }
        anew
    }

    /// The time of [`Sender::poll_timeout`] has come: all segments that are not acknowledged count as lost, and the
    /// window restarts (RFC 9438 section 4.8, RFC 6298 section 5).
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        self.counters.timeouts += 1;
        if self.timed_out != Some(self.first) {
            self.timed_out = Some(self.first);
            self.cut(now);
        }
        self.law.jump(1.0, false);
        for sent in self.window.iter_mut().filter(|sent| !sent.sacked) {
            self.lost += u32::from(std::mem::replace(&mut sent.in_flight, false));
        }
        self.in_flight = 0;
        self.recovering = false;
        self.recover = self.next();
        self.estimator.back_off();
        self.deadline = now + self.estimator.rto();
    }

    fn cut(&mut self, now: Time) {
        let flight = self.flight();
        let Sender { law, rng, trace, .. } = self;
        law.decrease(Cause::Loss, &flight, &mut Ctx { now, rng, trace });
    }

    fn increase(&mut self, now: Time, segment: u32) {
        let flight = self.flight();
        let event = DataEvent {
            segment: segment.into(),
            sent: now,
            rtt: None,
            mark: 0,
            size: Bytes::ZERO,
            fields: &Fields::default(),
            flight,
        };
        let Sender { law, rng, trace, .. } = self;
        law.increase(&event, &mut Ctx { now, rng, trace });
    }
}

#[cfg(test)]
mod tests;

//! Adaptive real-time media below NDN: NADA (RFC 8698), a rate from queueing delay and losses.
//!
//! The source sends datagrams at equal gaps at its reference rate; there is no encoder, no rate-shaping buffer and no
//! ECN. The receiver reports every 100 ms. Clocks of both ends agree, to a microsecond.

use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use std::collections::VecDeque;

/// Constants of RFC 8698 §4.1, table 2; times in milliseconds.
const PRIO: f64 = 1.0;
const XREF_MS: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU_MS: f64 = 500.0;
const LOGWIN: Duration = Duration::from_millis(500);
const QEPS_MS: f64 = 10.0;
const DFILT_MS: f64 = 120.0;
const GAMMA_MAX: f64 = 0.5;
const QBOUND_MS: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH_MS: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const DLOSS_MS: f64 = 10.0;
/// Smoothing of the loss ratio (§5.1.2).
const ALPHA: f64 = 0.1;
/// Delays of which the least is taken (§5.1.1).
const TAPS: usize = 15;
/// The least rate, and the first (RMIN); less where the highest is less.
const RMIN: Rate = Rate::from_bps(150_000);
/// Target interval of reports (DELTA).
pub const DELTA: Duration = Duration::from_millis(100);
/// Largest congestion signal, as in the authors' implementation for ns-3 (cisco/ns3-rmcat), not in the RFC.
const XMAX_MS: f64 = 500.0;
/// Loss intervals that are averaged (RFC 5348 §5.4), and their weights.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Datagrams of one window that are kept, and reports under way: more are forgotten, the oldest first.
const MOST_KEPT: usize = 8192;
const MOST_REPORTS: usize = 256;

/// What the receiver tells the source.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub struct Report {
    /// Aggregate congestion signal `x_curr`, in milliseconds.
    pub signal_ms: f64,
    /// Whether the path is taken to be underused (`rmode` = 0).
    pub ramps_up: bool,
    /// Rate received within the last window, in bit/s.
    pub received_bps: f64,
    /// When the last datagram that arrived was sent.
    pub echo: Time,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Arrival {
    at: Time,
    number: u32,
    delay: Duration,
    size: u32,
}

/// The receiving end.
#[derive(Debug, Default, ndnweir_state::Value)]
pub struct Receiver {
    window: VecDeque<Arrival>,
    least: Option<Duration>,
    last: Option<Arrival>,
    /// Smoothed loss ratio.
    loss: f64,
    /// Datagrams from one loss event to the next, latest first; the first of them is still open.
    intervals: VecDeque<u32>,
    event: Option<Time>,
    reports: VecDeque<(u32, Report)>,
    reported: u32,
}

impl Receiver {
    /// Handles a datagram of `size` bytes with this number, sent at `sent`.
    pub fn datagram(&mut self, now: Time, number: u32, sent: Time, size: u32) {
        let delay = now.since(sent);
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        if let Some(interval) = self.intervals.front_mut() {
            *interval += 1;
        }
        let expected = self.last.map_or(number, |last| last.number + 1);
        // Losses within one report interval are one event: the receiver does not know the round-trip time.
        if number > expected && self.event.is_none_or(|event| now.since(event) >= DELTA) {
            self.event = Some(now);
            self.intervals.push_front(0);
            self.intervals.truncate(WEIGHTS.len() + 1);
        }
        let arrival = Arrival { at: now, number, delay, size };
        if number >= expected {
            self.last = Some(arrival);
        }
        self.window.push_back(arrival);
        self.forget(now);
    }

    fn forget(&mut self, now: Time) {
        while self.window.len() > MOST_KEPT || self.window.front().is_some_and(|a| now.since(a.at) > LOGWIN) {
            self.window.pop_front();
        }
    }

    /// The number of a report that is sent now; `None` if nothing has arrived yet.
    pub fn report(&mut self, now: Time) -> Option<u32> {
        let (last, least) = (self.last?, self.least?);
        self.forget(now);
        let queueing = |delay: Duration| (delay - least).millis();
        let first = self.window.iter().map(|a| a.number).min().unwrap_or(last.number);
        let expected = last.number.saturating_sub(first) + 1;
        let lost = f64::from(expected) - self.window.len().max(1) as f64;
        let ratio = (lost / f64::from(expected)).clamp(0.0, 1.0);
        self.loss += ALPHA * (ratio - self.loss);
        let recent = self.window.iter().rev().take(TAPS).map(|a| a.delay);
        let queue = queueing(recent.min().unwrap_or(last.delay));
        let penalty = DLOSS_MS * (self.loss / PLRREF).powi(2);
        let signal_ms = (self.warped(queue) + penalty).min(XMAX_MS);
        let calm = self.window.iter().all(|a| queueing(a.delay) < QEPS_MS);
        let bits: u64 = self.window.iter().map(|a| u64::from(a.size) * 8).sum();
        let received_bps = bits as f64 / LOGWIN.secs();
        let ramps_up = calm && ratio == 0.0;
        let report = Report { signal_ms, ramps_up, received_bps, echo: last.at - last.delay };
        self.reported += 1;
        self.reports.push_back((self.reported, report));
        if self.reports.len() > MOST_REPORTS {
            self.reports.pop_front();
        }
        Some(self.reported)
    }

    /// The report with this number, once it has crossed the path back; earlier ones are out of date then.
    pub fn take(&mut self, number: u32) -> Option<Report> {
        while self.reports.front().is_some_and(|report| report.0 < number) {
            self.reports.pop_front();
        }
        if self.reports.front()?.0 == number { self.reports.pop_front().map(|report| report.1) } else { None }
    }

    /// The queueing delay as it counts (§4.2, equation 1): while losses are seen, one above QTH counts less the longer
    /// it is, so that the source does not starve beside others that wait for losses. Ends gradually MULTILOSS to
    /// MULTILOSS + 1 average loss intervals after the last loss.
    fn warped(&self, queue: f64) -> f64 {
        let Some(&open) = self.intervals.front() else { return queue };
        let bent = if queue > QTH_MS { QTH_MS * libm::exp(-LAMBDA * (queue - QTH_MS) / QTH_MS) } else { queue };
        let closed = self.intervals.iter().skip(1).zip(WEIGHTS);
        let (sum, weight) = closed.fold((0.0, 0.0), |(sum, of), (&n, w)| (sum + w * f64::from(n), of + w));
        let average = if weight > 0.0 { sum / weight } else { f64::from(open).max(1.0) };
        let over = (f64::from(open) / average.max(1.0) - MULTILOSS).clamp(0.0, 1.0);
        over * queue + (1.0 - over) * bent
    }
}

/// The source.
#[derive(Debug, ndnweir_state::Value)]
pub struct Sender {
    lowest: f64,
    highest: f64,
    size: Bytes,
    /// Reference rate `r_ref`, in bit/s.
    rate: f64,
    signal_ms: f64,
    heard: Option<Time>,
    number: u32,
    next: Time,
}

impl Sender {
    /// A source of at most this rate, with datagrams of this size, from `start` on.
    pub fn new(highest: Rate, size: Bytes, start: Time) -> Sender {
        let highest = highest.bps() as f64;
        let lowest = (RMIN.bps() as f64).min(highest);
        Sender { lowest, highest, size, rate: lowest, signal_ms: 0.0, heard: None, number: 0, next: start }
    }

    /// When the next datagram leaves.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Sends a datagram if one is due: its number.
    pub fn poll_transmit(&mut self, now: Time) -> Option<u32> {
        if now < self.next {
            return None;
        }
        self.next = now + Rate::from_bps(self.rate as u64).transmission_time(self.size).max(Duration::from_nanos(1));
        self.number += 1;
        Some(self.number - 1)
    }

    /// Handles a report (§4.3): accelerated ramp-up (equations 3 and 4) or gradual update (5 to 7).
    pub fn report(&mut self, now: Time, report: Report) {
        let since = self.heard.replace(now).map_or(DELTA, |heard| now.since(heard)).millis();
        let before = std::mem::replace(&mut self.signal_ms, report.signal_ms);
        if report.ramps_up {
            let rtt = now.since(report.echo).millis();
            let gamma = (QBOUND_MS / (rtt + DELTA.millis() + DFILT_MS)).min(GAMMA_MAX);
            self.rate = self.rate.max((1.0 + gamma) * report.received_bps);
        } else {
            let offset = report.signal_ms - PRIO * XREF_MS * self.highest / self.rate;
            let change = report.signal_ms - before;
            self.rate -=
                KAPPA * (since / TAU_MS) * (offset / TAU_MS) * self.rate + KAPPA * ETA * (change / TAU_MS) * self.rate;
        }
        self.rate = self.rate.clamp(self.lowest, self.highest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn source() -> Sender {
        Sender::new(Rate::from_bps(1_500_000), Bytes::new(1500), at(0))
    }

    fn report(signal_ms: f64, ramps_up: bool, received_bps: f64, echo: Time) -> Report {
        Report { signal_ms, ramps_up, received_bps, echo }
    }

    // 12,000 bits at 150 kbit/s are 80 ms. A round trip of 30 ms: gamma = 50 / (30 + 100 + 120) = 0.2.
    #[test]
    fn an_underused_path_lets_the_rate_grow_by_the_delay_that_one_round_may_cause() {
        let mut sender = source();
        assert_eq!((sender.poll_transmit(at(0)), sender.next()), (Some(0), at(80)));
        sender.report(at(130), report(0.0, true, 200_000.0, at(100)));
        assert!((sender.rate - 240_000.0).abs() < 1e-6, "{}", sender.rate);
        sender.report(at(230), report(0.0, true, 100_000.0, at(200)));
        assert!((sender.rate - 240_000.0).abs() < 1e-6, "never less than before: {}", sender.rate);
        sender.report(at(330), report(0.0, true, 9e9, at(300)));
        assert_eq!(sender.rate, 1_500_000.0);
    }

    // From 600 kbit/s: offset = 40 - 10 * 1500 / 600 = 15, change = 40; 100 ms since the last report.
    // 600 (1 - 0.5 * 0.2 * 15/500 - 0.5 * 2 * 40/500) = 600 (1 - 0.003 - 0.08) = 550.2. The same signal again:
    // offset = 40 - 15000 / 550.2 = 12.737, 550.2 (1 - 0.1 * 12.737 / 500) = 548.798.
    #[test]
    fn a_queue_lowers_the_rate_by_its_length_and_by_its_growth() {
        let mut sender = source();
        sender.rate = 600_000.0;
        sender.heard = Some(at(0));
        sender.report(at(100), report(40.0, false, 0.0, at(60)));
        assert!((sender.rate - 550_200.0).abs() < 1e-3, "{}", sender.rate);
        sender.report(at(200), report(40.0, false, 0.0, at(160)));
        assert!((sender.rate - 548_798.4).abs() < 1.0, "{}", sender.rate);
    }

    // At rest the signal is PRIO * XREF * RMAX / r: with a standing queue of 20 ms half of RMAX.
    #[test]
    fn under_a_standing_queue_of_20_ms_the_rate_settles_at_half_of_the_highest() {
        let mut sender = source();
        for round in 1..4000 {
            sender.report(at(100 * round), report(20.0, false, 0.0, at(100 * round)));
        }
        assert!((sender.rate - 750_000.0).abs() < 1.0, "{}", sender.rate);
    }

    // 10 datagrams a window of 100 B; delays 20 ms, then 80: 60 ms of queue, all taps above QTH, no loss.
    #[test]
    fn the_receiver_tells_queueing_delay_rate_and_whether_the_path_was_calm() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.report(at(0)), None);
        for n in 0..10 {
            receiver.datagram(at(50 * n + 20), n as u32, at(50 * n), 100);
        }
        let number = receiver.report(at(480)).unwrap();
        let told = receiver.take(number).unwrap();
        assert_eq!(told, report(0.0, true, 16_000.0, at(450)));
        for n in 10..30 {
            receiver.datagram(at(50 * n + 80), n as u32, at(50 * n), 100);
        }
        let (first, second) = (receiver.report(at(1531)).unwrap(), receiver.report(at(1532)).unwrap());
        let told = receiver.take(second).unwrap();
        assert_eq!((told.signal_ms, told.ramps_up), (60.0, false));
        assert_eq!(receiver.take(first), None, "an earlier one is out of date");
    }

    // Datagrams 0 to 9 but 5: of ten one is missing, 0.1; smoothed 0.01, which is PLRREF: 10 ms. The queue of 150 ms
    // counts 50 exp(-0.5 * 2) = 18.394.
    #[test]
    fn losses_cost_their_square_and_make_long_queues_count_less() {
        let mut receiver = Receiver::default();
        for n in (0..10).filter(|n| *n != 5) {
            let delay = if n == 0 { 20 } else { 170 };
            receiver.datagram(at(40 * n + delay), n as u32, at(40 * n), 100);
        }
        // The first one left the window when the last came; it stands in it again, so that ten were sent in it.
        receiver.window.push_front(Arrival { at: at(200), number: 0, delay: Duration::from_millis(170), size: 100 });
        let number = receiver.report(at(535)).unwrap();
        let told = receiver.take(number).unwrap();
        assert!((told.signal_ms - (18.393_97 + 10.0)).abs() < 1e-4, "{}", told.signal_ms);
        assert!(!told.ramps_up);
    }
}

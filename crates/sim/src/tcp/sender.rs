//! The sender of a transfer: when it sends what, and its timers.

use super::burst::{Bursts, Chance};
use super::law::{Algorithm, Law};
use super::scoreboard::{Acked, Detection, Lost, Scoreboard};
use super::{Ack, Segment};
use ndnweir_core::consumer::{Congestion, CongestionEvent, DataEvent, Flight, SentEvent, Timer};
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::Fields;
use ndnweir_core::shared::rtt::RttEstimator;
use ndnweir_core::units::{Bytes, Duration, Time};

/// TCP's retransmission timeout is at least this much above the smoothed round-trip time, as in Linux; RFC 6298 has 1 s
/// in all.
const LEAST_SPREAD: Duration = Duration::from_millis(200);
/// The retransmission timeout before the first sample (RFC 6298 §2.1), and the largest of all (§2.5).
const INITIAL_RTO: Duration = Duration::from_millis(1000);
const LARGEST_RTO: Duration = Duration::from_millis(60_000);

/// RFC 9002 kGranularity, and the max_ack_delay that endpoints announce by default (RFC 9000 §18.2).
const GRANULARITY: Duration = Duration::from_millis(1);
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The probe timeout before the first sample: kInitialRtt of 333 ms and four times the half of it (RFC 9002 §6.2.2).
const INITIAL_PTO: Duration = Duration::from_millis(999);
/// RFC 9002 kPersistentCongestionThreshold.
const PERSISTENT: u64 = 3;
/// Transmissions that a probe timeout permits beyond the window (RFC 9002 §6.2.4).
const PROBES: u32 = 2;

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct SenderCounters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Number of recoveries that losses detected from acknowledgements began.
    pub recoveries: u64,
    /// Number of times that the retransmission timer or the probe timeout expired.
    pub timeouts: u64,
}

/// The sending end of a transfer.
#[derive(Debug, ndnweir_state::Value)]
pub struct Sender {
    law: Law,
    is_quic: bool,
    /// Bytes of a segment on its link.
    size: Bytes,
    estimator: RttEstimator,
    latest_rtt: Duration,
    board: Scoreboard,
    /// Number of segments of the transfer.
    total: u32,
    /// Recovery, also after a timeout, ends when all segments below this number are acknowledged; with QUIC, when a
    /// transmission from `recover_order` on is.
    recover: u32,
    recover_order: u64,
    /// Whether the window is held during recovery.
    recovering: bool,
    /// The first segment at the last timeout: repeated timeouts of one segment reduce the threshold only once.
    timed_out: Option<u32>,
    /// TCP's retransmission timer.
    deadline: Time,
    /// QUIC: when transmissions count as lost by time, since when the probe timeout runs, how often it expired in a
    /// row, and transmissions that it permits.
    late: Time,
    since: Time,
    expired: u32,
    probes: u32,
    bursts: Bursts,
    /// Whether only the pace keeps it from sending.
    is_paced: bool,
    rng: Rng,
    trace: Trace,
    counters: SenderCounters,
    acked: Vec<Acked>,
    lost: Vec<Lost>,
}

impl Sender {
    /// The sender of `total` segments of `size` bytes on the link.
    pub fn new(algorithm: Algorithm, total: u32, size: u32, rng: Rng) -> Sender {
        Sender {
            law: Law::new(algorithm),
            is_quic: algorithm == Algorithm::QuicReno,
            size: Bytes::new(size.into()),
            estimator: RttEstimator::new(Timer::default()),
            latest_rtt: Duration::ZERO,
            board: Scoreboard::default(),
            total,
            recover: 0,
            recover_order: 0,
            recovering: false,
            timed_out: None,
            deadline: Time::NEVER,
            late: Time::NEVER,
            since: Time::ZERO,
            expired: 0,
            probes: 0,
            bursts: Bursts::new(),
            is_paced: false,
            rng,
            trace: Trace::new(false),
            counters: SenderCounters::default(),
            acked: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The window, in segments.
    pub fn window(&self) -> f64 {
        self.law.window()
    }

    /// Segments in flight, as far as the sender can infer.
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
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
        self.board.first() >= self.total
    }

    /// Sends no new segments from now on.
    pub fn stop(&mut self) {
        self.total = self.board.next();
    }

    /// When [`Sender::handle_timeout`] and [`Sender::poll_transmit`] are to be called.
    pub fn poll_timeout(&self) -> Time {
        let release = if self.is_paced { self.bursts.next() } else { Time::NEVER };
        let timer = if self.is_quic { self.late.min(self.probe_at()) } else { self.deadline };
        timer.min(release)
    }

    /// When the probe timeout expires.
    fn probe_at(&self) -> Time {
        if self.board.in_flight() == 0 {
            return Time::NEVER;
        }
        // 60 s at most: RFC 9002 gives no limit.
        let pto = self.probe_timeout().nanos().saturating_mul(1 << self.expired.min(16));
        self.since + Duration::from_nanos(pto).min(LARGEST_RTO)
    }

    fn retransmission_timeout(&self) -> Duration {
        let once = match self.estimator.srtt() {
            Duration::ZERO => INITIAL_RTO,
            srtt => srtt + Duration::from_nanos(4 * self.estimator.deviation().nanos()).max(LEAST_SPREAD),
        };
        Duration::from_nanos(once.nanos().saturating_mul(self.estimator.multiplier().into())).min(LARGEST_RTO)
    }

    fn probe_timeout(&self) -> Duration {
        match self.estimator.srtt() {
            Duration::ZERO => INITIAL_PTO,
            srtt => {
                let spread = Duration::from_nanos(4 * self.estimator.deviation().nanos()).max(GRANULARITY);
                srtt + spread + MAX_ACK_DELAY
            }
        }
    }

    fn flight(&self) -> Flight {
        Flight {
            in_flight: self.board.in_flight(),
            next_segment: self.board.next().into(),
            highest_received: self.board.first().checked_sub(1).map(u64::from),
            srtt: self.estimator.srtt(),
        }
    }

    /// A segment to send now; call it until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.is_paced = false;
        let is_probe = self.probes > 0;
        if !is_probe && f64::from(self.board.in_flight() + 1) > self.law.window() {
            self.bursts.end();
            return None;
        }
        let is_new = self.board.next() < self.total;
        if self.board.lost() == 0 && !is_new && !is_probe {
            return None;
        }
        if !self.bursts.take() {
            if !is_probe && now < self.bursts.next() {
                self.is_paced = true;
                return None;
            }
            let count = if self.is_quic { 1 } else { self.burst(now)? };
            self.bursts.begin(now, count, self.law.pacing(&self.flight()), !self.is_quic);
        }
        self.probes = self.probes.saturating_sub(1);
        let segment = self.board.send(now, is_new)?;
        let retransmission = segment.transmission > 1;
        self.counters.sent += 1;
        self.counters.retransmissions += u64::from(retransmission);
        // As in Linux, it begins anew with a retransmission of what it waits for.
        if self.deadline == Time::NEVER || (retransmission && segment.number == self.board.first()) {
            self.deadline = now + self.retransmission_timeout();
        }
        self.since = now;
        let event = SentEvent { segment: segment.number.into(), retransmission, flight: self.flight() };
        let Sender { law, rng, trace, .. } = self;
        law.on_sent(&event, &mut Ctx { now, rng, trace });
        Some(segment)
    }

    /// How many segments leave now.
    fn burst(&self, now: Time) -> Option<u32> {
        let (flight, window, lost) = (self.flight(), self.law.window() as u32, self.board.lost());
        self.bursts.size(&Chance {
            now,
            rate: self.law.rate(&flight, self.board.outstanding()),
            is_paced: self.law.pacing(&flight).is_some(),
            size: self.size.get(),
            window,
            free: window.saturating_sub(self.board.in_flight()).max(1),
            waiting: if lost > 0 { lost } else { self.total - self.board.next() },
            // Until everything is acknowledged that was sent when the recovery began or the timer expired.
            repairs: lost > 0 || self.board.first() < self.recover,
            oldest: self.board.oldest(),
            srtt: flight.srtt,
        })
    }

    /// Handles an acknowledgement.
    pub fn ack(&mut self, now: Time, ack: Ack) {
        let mut acked = std::mem::take(&mut self.acked);
        let before = self.board.largest();
        let advances = self.board.take(now, ack, &mut acked);
        for rtt in acked.iter().filter_map(|acked| acked.rtt) {
            self.latest_rtt = rtt;
            self.bursts.take_rtt(rtt);
            self.estimator.sample(rtt, self.board.in_flight());
        }
        if !acked.is_empty() {
            self.expired = 0;
        }
        if advances {
            self.deadline = if self.board.is_empty() { Time::NEVER } else { now + self.retransmission_timeout() };
            self.timed_out = self.timed_out.filter(|&first| first >= self.board.first());
        }
        if self.recovering && !self.is_quic && self.board.first() >= self.recover {
            self.recovering = false;
        }
        self.find_losses(now, before);
        for (i, one) in acked.iter().enumerate() {
            let grows = if self.is_quic { one.order >= self.recover_order } else { !self.recovering };
            self.on_acked(now, *one, (acked.len() - i) as u32, grows);
        }
        acked.clear();
        self.acked = acked;
    }

    /// `pending`: how many arrivals the law has not been notified of, this one included.
    fn on_acked(&mut self, now: Time, acked: Acked, pending: u32, grows: bool) {
        let flight = self.flight();
        let event = DataEvent {
            segment: acked.number.into(),
            sent: acked.sent,
            rtt: acked.rtt,
            mark: 0,
            size: self.size,
            fields: &Fields::default(),
            flight: Flight { in_flight: flight.in_flight + pending, ..flight },
        };
        let Sender { law, bursts, rng, trace, .. } = self;
        law.on_acked(&event, grows, bursts.next(), &mut Ctx { now, rng, trace });
    }

    /// Detects losses; `before` is the latest transmission that was acknowledged earlier.
    fn find_losses(&mut self, now: Time, before: Option<u64>) {
        let mut lost = std::mem::take(&mut self.lost);
        let rtt = self.estimator.srtt().max(self.latest_rtt);
        // RFC 9002 kTimeThreshold: 9/8.
        let wait = Duration::from_nanos(rtt.nanos() / 8 * 9).max(GRANULARITY);
        let detection = if self.is_quic { Detection::Packets(wait) } else { Detection::Selective };
        self.late = self.board.find_losses(detection, now, &mut lost);
        let begins = lost.iter().any(|one| match self.is_quic {
            true => one.order >= self.recover_order,
            // Retransmissions are part of the recovery that they belong to.
            false => !self.recovering && one.is_first && one.number >= self.recover,
        });
        if begins {
            self.recovering = true;
            self.recover = self.board.next();
            self.recover_order = self.board.order();
            self.counters.recoveries += 1;
            let flight = self.flight();
            let Sender { law, rng, trace, .. } = self;
            law.reduce(&flight, &mut Ctx { now, rng, trace });
        }
        self.on_lost(now, Congestion::Loss, &lost);
        if self.is_quic && self.is_persistent(&lost, before) {
            self.law.restart();
            self.recover_order = 0;
        }
        lost.clear();
        self.lost = lost;
    }

    fn on_lost(&mut self, now: Time, kind: Congestion, lost: &[Lost]) {
        let flight = self.flight();
        for (i, one) in lost.iter().enumerate() {
            let in_flight = flight.in_flight + (lost.len() - i) as u32;
            let (segment, sent) = (one.number.into(), one.sent);
            let flight = Flight { in_flight, ..flight };
            let event = CongestionEvent { kind, segment, sent, fields: &Fields::default(), flight };
            let Sender { law, rng, trace, .. } = self;
            law.on_lost(&event, &mut Ctx { now, rng, trace });
        }
    }

    /// Whether losses without an arrival between them are so far apart that congestion persists (RFC 9002 §7.6).
    fn is_persistent(&self, lost: &[Lost], before: Option<u64>) -> bool {
        let sent = || lost.iter().filter(|one| Some(one.order) > before).map(|one| one.sent);
        let (Some(first), Some(last), Some(_)) = (sent().min(), sent().max(), before) else { return false };
        last.since(first).nanos() > PERSISTENT * self.probe_timeout().nanos()
    }

    /// Does what is due: where the retransmission timer expires, all segments that are not acknowledged count as lost,
    /// and the window restarts (RFC 9438 §4.8, RFC 6298 §5); a probe timeout permits two transmissions (RFC 9002
    /// §6.2.4).
    pub fn handle_timeout(&mut self, now: Time) {
        if !self.is_quic {
            if now >= self.deadline {
                self.time_out(now);
            }
        } else if now >= self.late {
            self.find_losses(now, self.board.largest());
        } else if now >= self.probe_at() {
            self.counters.timeouts += 1;
            self.expired += 1;
            self.since = now;
            self.probes = PROBES;
        }
    }

    fn time_out(&mut self, now: Time) {
        self.counters.timeouts += 1;
        if self.timed_out != Some(self.board.first()) {
            self.timed_out = Some(self.board.first());
            let flight = self.flight();
            let Sender { law, rng, trace, .. } = self;
            law.reduce(&flight, &mut Ctx { now, rng, trace });
        }
        self.law.restart();
        let mut lost = std::mem::take(&mut self.lost);
        self.board.lose_all(&mut lost);
        self.on_lost(now, Congestion::Timeout, &lost);
        lost.clear();
        self.lost = lost;
        self.recovering = false;
        self.recover = self.board.next();
        self.estimator.back_off();
        self.deadline = now + self.retransmission_timeout();
    }
}

#[cfg(test)]
mod tests;

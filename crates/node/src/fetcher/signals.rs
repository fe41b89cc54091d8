//! How a fetch detects that an Interest failed: the retransmission timer, loss detection and NACKs.

use super::Fetcher;
use super::loss::Recovery;
use super::segments::{Slot, State};
use ndnweir_core::consumer::{Congestion, CongestionEvent, Consumer, Estimator};
use ndnweir_core::fields::Fields;
use ndnweir_core::packet::{NackReason, Packet};
use ndnweir_core::units::{Duration, Time};

/// The shortest pause before a rejected segment is requested again.
const SHORTEST_HOLD: Duration = Duration::from_millis(1);
/// The longest.
const LONGEST_HOLD: Duration = Duration::from_millis(60_000);
/// A timeout of the consumer's own counts as at least this, so that time passes between two of a segment.
const SHORTEST_TIMEOUT: Duration = Duration::from_micros(1);

impl Fetcher {
    /// The timeout common to all Interests, computed when the timer fires: ndnSIM's, or the consumer's own.
    #[inline(always)]
    fn common_timeout(&self) -> Option<Duration> {
        let of_estimator = (self.timer.estimator == Estimator::Ndnsim).then(|| self.rtt.rto());
        if self.asks_timeout { self.consumers_timeout().or(of_estimator) } else { of_estimator }
    }

    #[inline(never)]
    fn consumers_timeout(&self) -> Option<Duration> {
        self.consumer.retransmission_timeout().map(|timeout| timeout.max(SHORTEST_TIMEOUT))
    }

    /// The timeout an Interest keeps from its sending on (ndn-cxx): the RTO, but no longer than its lifetime.
    pub(crate) fn own_timeout(&self) -> Duration {
        let rto = self.rtt.rto();
        if self.config.lifetime > Duration::ZERO { rto.min(self.config.lifetime) } else { rto }
    }

    /// Whether an Interest times out only once its deadline has passed, as ndn-tools' comparison has it.
    fn times_out_after_deadline(&self) -> bool {
        self.timer.scan > Duration::ZERO
    }

    /// When there is something for the timer to find.
    #[inline]
    fn first_timeout(&self) -> Option<Time> {
        let slot = self.segments.oldest_outstanding().and_then(|oldest| self.segments.get(oldest))?;
        Some(match self.common_timeout() {
            Some(timeout) => slot.sent + timeout,
            None if self.times_out_after_deadline() => self.next_deadline + Duration::from_nanos(1),
            None => self.next_deadline,
        })
    }

    /// When the timer next finds something. Scans that would find nothing are skipped.
    #[inline(always)]
    pub(crate) fn scan_due(&self) -> Time {
        let Some(due) = self.first_timeout() else { return Time::NEVER };
        match self.scanned {
            Some(scanned) if due <= scanned => self.next_check_from(scanned + Duration::from_nanos(1)),
            _ => self.next_check_from(due),
        }
    }

    /// The timer fires at multiples of its period since the start of the run.
    fn next_check_from(&self, time: Time) -> Time {
        let period = self.timer.scan.nanos();
        if period == 0 {
            return time;
        }
        time.nanos().div_ceil(period).checked_mul(period).map_or(Time::NEVER, Time::from_nanos)
    }

    /// Scans for timeouts if that is due; else notes that every scan up to now found nothing, so that an RTO that
    /// shrinks later does not affect them. A packet at hand (`before_packet`) that is handled late goes first.
    #[inline(always)]
    pub(crate) fn scan_if_due(&mut self, now: Time, before_packet: bool) {
        // A scan is not before what it finds: mostly that is known without a division.
        if self.first_timeout().is_none_or(|first| first > now) {
            self.note_scanned(now);
        } else {
            self.scan_overdue(now, before_packet);
        }
    }

    /// Every scan up to now found nothing.
    #[inline(always)]
    fn note_scanned(&mut self, now: Time) {
        if self.timer.scan > Duration::ZERO {
            self.scanned = Some(now);
        }
    }

    /// [`Fetcher::scan_if_due`] where there is something to find.
    #[inline(never)]
    fn scan_overdue(&mut self, now: Time, before_packet: bool) {
        let due = self.scan_due();
        if due > now {
            return self.note_scanned(now);
        }
        if before_packet && (due < now || self.timer.scan == Duration::ZERO) {
            return;
        }
        self.scanned = Some(now);
        match self.common_timeout() {
            Some(timeout) => self.scan_oldest_first(now, timeout),
            None => self.scan_all(now),
        }
    }

    /// ndnSIM: one RTO for the whole scan, though each timeout doubles the multiplier.
    fn scan_oldest_first(&mut self, now: Time, timeout: Duration) {
        while let Some(segment) = self.segments.oldest_outstanding() {
            let Some(slot) = self.segments.get(segment) else { return };
            if slot.sent + timeout > now {
                return;
            }
            self.time_out(now, segment);
        }
    }

    /// ndn-tools: every Interest by its own deadline.
    fn scan_all(&mut self, now: Time) {
        self.next_deadline = Time::NEVER;
        let mut at = self.segments.oldest_outstanding();
        while let Some(segment) = at {
            at = self.segments.following(segment);
            let Some(slot) = self.segments.get(segment) else { return };
            if slot.deadline < now || (slot.deadline == now && !self.times_out_after_deadline()) {
                self.time_out(now, segment);
            } else {
                self.next_deadline = self.next_deadline.min(slot.deadline);
            }
        }
    }

    fn time_out(&mut self, now: Time, segment: u64) {
        self.counters.timeouts += 1;
        self.fail(now, segment, Congestion::Timeout);
        if self.consumer.retransmission_timeout().is_none() {
            self.back_off(segment);
        }
    }

    /// ndnSIM backs off for every segment, ndn-tools once per loss event: not for segments requested before the last.
    fn back_off(&mut self, segment: u64) {
        if self.timer.estimator == Estimator::NdnCxx {
            if self.backoff_point.is_some_and(|point| segment <= point) {
                return;
            }
            self.backoff_point = self.segments.next().checked_sub(1);
        }
        self.rtt.back_off();
    }

    /// Gives an outstanding Interest up.
    fn fail(&mut self, now: Time, segment: u64, kind: Congestion) {
        self.report_failure(now, segment, kind, &Fields::default());
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(slot) = self.segments.get_mut(segment) {
            slot.nacks = 0;
            slot.lost = kind == Congestion::Loss;
            slot.probed = false;
        }
        self.segments.set_state(segment, State::Waiting);
    }

    fn report_failure(&mut self, now: Time, segment: u64, kind: Congestion, fields: &Fields) {
        let sent = self.segments.get(segment).map_or(now, |slot| slot.sent);
        let flight = self.flight();
        self.report(now, CongestionEvent { kind, segment, sent, fields, flight });
    }

    /// Something was sent or arrived.
    pub(crate) fn on_activity(&mut self, now: Time) {
        if let Some(recovery) = &mut self.recovery {
            recovery.on_activity(now);
        }
    }

    /// When the Interest sent longest ago counts as lost; none if it was not overtaken. See [`super::loss`].
    fn loss_due(&self) -> Option<Time> {
        let recovery = self.recovery.as_ref()?;
        let slot = self.segments.get(self.segments.oldest_outstanding()?)?;
        recovery.lost_at(slot.sent, slot.order, self.rtt.srtt())
    }

    /// When a loss is detected or a probe is due.
    #[inline(always)]
    pub(crate) fn recovery_due(&self) -> Time {
        if self.recovery.is_none() {
            return Time::NEVER;
        }
        self.loss_due().unwrap_or_else(|| self.probe_at())
    }

    /// Gives up Interests that were overtaken long enough ago.
    #[inline(always)]
    pub(crate) fn detect_losses(&mut self, now: Time) {
        if self.recovery.is_some() {
            self.give_up_overtaken(now);
        }
    }

    #[inline(never)]
    fn give_up_overtaken(&mut self, now: Time) {
        while self.loss_due().is_some_and(|due| due <= now)
            && let Some(segment) = self.segments.oldest_outstanding()
        {
            self.count_loss();
            self.fail(now, segment, Congestion::Loss);
        }
    }

    fn count_loss(&mut self) {
        self.counters.losses += 1;
        if let Some(recovery) = &mut self.recovery {
            recovery.on_loss(self.counters.interests);
        }
    }

    /// When to retransmit the Interest that has been outstanding for the longest time, if no outstanding one was
    /// overtaken.
    pub(super) fn probe_at(&self) -> Time {
        match &self.recovery {
            Some(recovery) if self.segments.outstanding() > 0 => recovery.probe_at(self.rtt.srtt()),
            _ => Time::NEVER,
        }
    }

    /// Whether [`Fetcher::probe_at`] has come.
    #[inline(always)]
    pub(super) fn probe_is_due(&self, now: Time) -> bool {
        let due = |recovery: &Recovery| recovery.probe_is_due(now, self.rtt.srtt());
        self.segments.outstanding() > 0 && self.recovery.as_ref().is_some_and(due)
    }

    /// The segment to probe for now. It stays in flight, whatever the window: only the answer shows what was lost.
    pub(crate) fn next_probe(&mut self, now: Time) -> Option<u64> {
        if !self.active || !self.probe_is_due(now) || self.loss_due().is_some() {
            return None;
        }
        let segment = self.segments.oldest_outstanding()?;
        self.recovery.as_mut()?.probe(now);
        self.segments.request_again(segment);
        Some(segment)
    }

    /// An answer came `elapsed` after the latest Interest for its segment: whether it is the answer to that one or to
    /// an earlier, and what follows. One that was link-retransmitted was in flight before the segment was given up.
    pub(crate) fn check_spurious_retransmission(
        &mut self,
        now: Time,
        segment: u64,
        slot: &Slot,
        elapsed: Duration,
        link_retransmitted: bool,
        fields: &Fields,
    ) {
        let (once, srtt) = (slot.retransmissions == 0, self.rtt.srtt());
        let Some(recovery) = &mut self.recovery else { return };
        recovery.on_activity(now);
        if link_retransmitted {
            recovery.on_link_retransmission();
        }
        let to_earlier = !once && (link_retransmitted || recovery.too_soon(elapsed, srtt));
        if !to_earlier && !link_retransmitted {
            let longer = recovery.longer_way().map_or(0, |slot| fields.get(slot));
            recovery.on_answer(slot.sent, slot.order, elapsed, once, Duration::from_micros(u64::from(longer)));
        }
        if slot.lost && (to_earlier || slot.state == State::Waiting) {
            self.counters.false_losses += 1;
            recovery.on_spurious_loss(self.counters.interests);
        }
        if slot.probed && !to_earlier {
            self.count_loss();
            self.report_failure(now, segment, Congestion::Loss, &Fields::default());
        }
    }

    /// A NACK arrived; see the head of [`crate::fetcher`] for what follows.
    pub(crate) fn on_nack(&mut self, now: Time, packet: &Packet) {
        self.counters.nacks += 1;
        let segment = u64::from(packet.name.segment);
        let outstanding = self.segments.get(segment).is_some_and(|slot| slot.state == State::Outstanding);
        if !outstanding || packet.reason == NackReason::Duplicate {
            return;
        }
        let kind = Congestion::Nack { reason: packet.reason, marked: packet.mark > 0 };
        self.report_failure(now, segment, kind, &packet.fields);
        if !self.consumer.retransmits_on_nack() {
            return;
        }
        let half = if self.rtt.srtt() > Duration::ZERO { self.rtt.srtt() / 2 } else { self.rtt.rto() / 2 };
        let pause = match packet.reason {
            NackReason::Congestion => {
                self.back_off(segment);
                half
            }
            _ => self.rtt.rto(),
        };
        let Some(slot) = self.segments.get_mut(segment) else { return };
        let doubled = pause.max(SHORTEST_HOLD) * (1 << slot.nacks.min(16));
        slot.nacks = slot.nacks.saturating_add(1);
        self.hold(segment, now + doubled.min(LONGEST_HOLD));
    }

    /// An outstanding segment is not requested again before `until`.
    fn hold(&mut self, segment: u64, until: Time) {
        self.next_release = self.next_release.min(until);
        self.segments.hold(segment, until);
    }

    /// Whether a segment was requested and has not arrived.
    pub fn is_outstanding(&self, segment: u64) -> bool {
        self.active && self.segments.get(segment).is_some_and(|slot| slot.state != State::Received)
    }

    /// The nonce of the latest Interest for a segment that has not arrived: a NACK with another one is not an answer to
    /// it.
    pub fn latest_nonce(&self, segment: u64) -> Option<u32> {
        let awaited = self.segments.get(segment).filter(|slot| slot.state != State::Received);
        awaited.map(|slot| slot.nonce)
    }

    /// The Data that came for a segment was not valid: it is requested again after `pause`. That is no sign of
    /// congestion and no sample of the path, since anyone may have made it. Whether an Interest for it was outstanding.
    pub fn reject(&mut self, now: Time, segment: u64, pause: Duration) -> bool {
        let outstanding = self.segments.get(segment).is_some_and(|slot| slot.state == State::Outstanding);
        if self.active && outstanding {
            self.hold(segment, now + pause.clamp(SHORTEST_HOLD, LONGEST_HOLD));
        }
        self.active && outstanding
    }

    /// Segments whose pause is over may be requested again, and no longer count as in flight.
    pub(crate) fn release_held(&mut self, now: Time) {
        if now < self.next_release {
            return;
        }
        self.next_release = Time::NEVER;
        while let Some((until, segment)) = self.segments.first_held() {
            if until > now {
                self.next_release = until;
                return;
            }
            self.in_flight = self.in_flight.saturating_sub(1);
            self.segments.set_state(segment, State::Waiting);
        }
    }
}

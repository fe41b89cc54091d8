//! The model of the path: rate, volume, round-trip time, and what losses do to them (draft-ietf-ccwg-bbr §5.5).

use super::{BUNCH_ROUNDS, Bbr, FULL_GROWTH, FULL_ROUNDS, Recovery, STARTUP_LOSSES, State};
use crate::consumer::Flight;
use crate::ctx::Ctx;
use crate::shared::delivery::Sample;
use crate::shared::round_trips::Plateau;
use crate::units::{Duration, Time};

impl Bbr {
    /// Takes rate and volume of a sample. Whether a round trip in which losses are counted begins.
    pub(super) fn take_sample(&mut self, sample: &Sample) -> bool {
        let rate = sample.rate.unwrap_or(0.0);
        self.latest_rate = self.latest_rate.max(rate);
        self.latest_volume = self.latest_volume.max(sample.delivered as f64);
        let starts = sample.prior_delivered >= self.loss_round_end;
        if starts {
            self.loss_round_end = self.delivery.delivered();
        }
        if rate > 0.0 && (rate >= self.rates.get() || !sample.limited) {
            self.rates.push(rate, self.cycle, self.params.bandwidth_cycles);
        }
        if starts {
            if self.lost_in_round && !self.state.accelerates() {
                self.lower_short_bounds();
            }
            self.lost_in_round = false;
        }
        starts
    }

    /// A round trip without a probe brought losses [AdaptLowerBoundsFromCongestion].
    pub(super) fn lower_short_bounds(&mut self) {
        let rate = if self.short_rate.is_finite() { self.short_rate } else { self.rates.get() };
        let volume = if self.short_volume.is_finite() { self.short_volume } else { self.window };
        self.short_rate = self.latest_rate.max(self.params.beta * rate);
        self.short_volume = self.latest_volume.max(self.params.beta * volume);
        self.decreases += 1;
    }

    pub(super) fn reset_short_bounds(&mut self) {
        (self.short_rate, self.short_volume) = (f64::INFINITY, f64::INFINITY);
    }

    /// Data that came in bunches, beyond what the rate explains [UpdateACKAggregation].
    pub(super) fn count_bunch(&mut self, now: Time) {
        let rate = self.rate;
        let extra = self.bunch.on_data(|time| rate * time.secs(), now).min(self.window);
        let rounds = if self.is_filled { BUNCH_ROUNDS } else { 1 };
        self.bunches.push(extra, self.rounds.count(), rounds);
    }

    /// Whether the path is full, since the rate does not grow [CheckFullBWReached].
    pub(super) fn check_plateau(&mut self, sample: &Sample, round_starts: bool) {
        if self.is_plateau || !round_starts || sample.limited {
            return;
        }
        if let Some(rate) = sample.rate {
            self.is_plateau = self.plateau.on_round(rate, FULL_GROWTH, FULL_ROUNDS);
            self.is_filled |= self.is_plateau;
        }
    }

    pub(super) fn restart_plateau(&mut self, rate: f64) {
        (self.plateau, self.is_plateau) = (Plateau::from(rate), false);
    }

    /// Whether the path is full, since too much was lost [CheckStartupHighLoss].
    pub(super) fn check_startup_losses(&mut self, sample: &Sample) {
        let lasts = self.recovery.is_some_and(|recovery| self.rounds.count() > recovery.round);
        let many = self.loss_runs >= STARTUP_LOSSES && self.is_too_high(sample.in_flight, sample.lost);
        if self.state == State::Startup && lasts && many {
            self.is_filled = true;
            self.long_volume = self.product(self.rate, 1.0).max(self.latest_volume);
            self.decreases += 1;
        }
    }

    pub(super) fn take_rtt(&mut self, rtt: Option<Duration>, now: Time) {
        let is_old = |met: Option<(Duration, Time)>, memory| met.is_none_or(|(_, at)| now.since(at) > memory);
        self.recent_expired = self.recent.is_some() && is_old(self.recent, self.params.probe_rtt_interval);
        if let Some(rtt) = rtt
            && (self.recent_expired || self.recent.is_none_or(|(least, _)| rtt < least))
        {
            self.recent = Some((rtt, now));
        }
        let Some((recent, _)) = self.recent else { return };
        if is_old(self.least, self.params.rtt_memory) || self.least.is_none_or(|(least, _)| recent < least) {
            self.least = self.recent;
        }
    }

    /// Whether more than the threshold of what was in flight is lost.
    pub(super) fn is_too_high(&self, in_flight: u32, lost: u64) -> bool {
        lost as f64 > f64::from(in_flight) * self.params.loss_threshold
    }

    /// A segment is lost or marked [HandleLostPacket]: `in_flight` when it was requested, `lost` since then.
    pub(super) fn on_lost(&mut self, segment: u64, in_flight: u32, lost: u64, flight: &Flight, ctx: &mut Ctx<'_>) {
        if !self.lost_in_round {
            self.loss_round_end = self.delivery.delivered();
        }
        self.lost_in_round = true;
        if self.last_lost.is_none_or(|last| segment != last.wrapping_add(1)) {
            self.loss_runs = self.loss_runs.saturating_add(1);
        }
        self.last_lost = Some(segment);
        if self.recovery.is_none() {
            self.save_window();
            self.recovery = Some(Recovery { until: flight.next_segment, round: self.rounds.count() });
        }
        if self.judges_probe && self.is_too_high(in_flight, lost) {
            self.end_probe(self.volume_at_loss(in_flight, lost), ctx);
        }
    }

    /// The volume in flight at which losses crossed the threshold [InflightAtLoss].
    pub(super) fn volume_at_loss(&self, in_flight: u32, lost: u64) -> f64 {
        let threshold = self.params.loss_threshold;
        let (before, lost_before) = (f64::from(in_flight) - 1.0, lost as f64 - 1.0);
        before + (threshold * before - lost_before) / (1.0 - threshold)
    }

    /// A probe put too much in flight [HandleInflightTooHigh].
    fn end_probe(&mut self, volume: f64, ctx: &mut Ctx<'_>) {
        (self.too_high, self.judges_probe) = (true, false);
        let target = self.product(self.rate, 1.0).min(self.window);
        self.long_volume = volume.max(self.params.beta * target);
        self.decreases += 1;
        ctx.trace.record(ctx.now, "decrease", 0, self.long_volume.min(self.window));
        if self.state == State::Up {
            self.start_down(ctx);
        }
    }
}

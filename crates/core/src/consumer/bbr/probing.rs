//! The cycle of ProbeBW and ProbeRTT (draft-ietf-ccwg-bbr §5.3.3 and §5.3.4).

use super::{Bbr, Feedback, State};
use crate::ctx::Ctx;
use crate::shared::delivery::Sample;
use crate::units::Duration;

impl Bbr {
    pub(super) fn start_down(&mut self, ctx: &mut Ctx<'_>) {
        (self.lost_in_round, self.latest_rate, self.latest_volume) = (false, 0.0, 0.0);
        self.step_data = f64::INFINITY;
        self.rounds_since_up = ctx.rng.below(2);
        self.probe_wait = Duration::from_secs_f64(2.0 + ctx.rng.unit());
        self.cycle_since = ctx.now;
        self.feedback = Feedback::ProbeStopping;
        self.rounds.restart(self.delivery.delivered());
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_bounds();
        (self.up_rounds, self.grown_data) = (0, 0.0);
        self.precautionary = false;
        self.feedback = Feedback::Refilling;
        self.rounds.restart(self.delivery.delivered());
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &Sample) {
        self.judges_probe = true;
        self.feedback = Feedback::ProbeStarting;
        self.rounds.restart(self.delivery.delivered());
        self.restart_plateau(sample.rate.unwrap_or(0.0));
        self.state = State::Up;
        self.raise_slope();
    }

    /// The state of ProbeBW after a Data [UpdateProbeBWCyclePhase].
    pub(super) fn advance(
        &mut self,
        sample: &Sample,
        round_starts: bool,
        in_flight: f64,
        size: f64,
        ctx: &mut Ctx<'_>,
    ) {
        if !self.is_filled || self.adapt_long_bounds(sample, round_starts) {
            return;
        }
        let goes_down = self.state == State::Up && self.is_time_to_go_down(sample, in_flight);
        match self.state {
            State::Down | State::Cruise => {
                let full = self.quantized(self.product(self.rates.get(), 1.0), size);
                if self.is_time_to_probe(ctx) {
                    self.start_refill();
                } else if self.state == State::Down && in_flight <= self.with_headroom() && in_flight <= full {
                    self.state = State::Cruise;
                }
            }
            State::Refill if round_starts => self.start_up(sample),
            State::Up if goes_down => {
                self.too_high = false;
                self.start_down(ctx);
            }
            _ => {}
        }
    }

    /// After 2 to 3 s, or as many round trips as a loss-based flow would need [IsTimeToProbeBW].
    fn is_time_to_probe(&self, ctx: &Ctx<'_>) -> bool {
        let volume = self.product(self.rate, 1.0).min(self.window);
        ctx.now.since(self.cycle_since) > self.probe_wait || self.rounds_since_up as f64 >= volume.min(63.0)
    }

    pub(super) fn is_time_to_go_down(&mut self, sample: &Sample, in_flight: f64) -> bool {
        // What was in flight up to this Data: without it, a window of the long volume is never full when Data arrive,
        // and caution would never end a probe.
        if self.too_high && in_flight + 1.0 >= self.long_volume {
            self.precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.window >= self.long_volume {
            self.restart_plateau(sample.rate.unwrap_or(0.0));
            return false;
        }
        self.is_plateau
    }

    /// The bounds for long after a Data [AdaptLongTermModel]. Whether it has changed the state.
    fn adapt_long_bounds(&mut self, sample: &Sample, round_starts: bool) -> bool {
        if self.feedback == Feedback::ProbeStarting && round_starts {
            self.feedback = Feedback::Probe;
        }
        if self.feedback == Feedback::ProbeStopping && round_starts {
            self.judges_probe = false;
            self.feedback = Feedback::Nothing;
            if self.state.probes_bw() {
                self.cycle += u64::from(!sample.limited);
                if self.precautionary && !self.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.is_too_high(sample.in_flight, sample.lost) || self.long_volume.is_infinite() {
            return false;
        }
        self.long_volume = self.long_volume.max(f64::from(sample.in_flight));
        if self.state == State::Up {
            self.grow_long_volume(round_starts);
        }
        false
    }

    /// By 1, 2, 4 … segments per round trip while the window is used up to it [ProbeInflightLongtermUpward].
    fn grow_long_volume(&mut self, round_starts: bool) {
        if !self.is_window_limited() || self.window < self.long_volume {
            return;
        }
        self.grown_data += 1.0;
        if self.grown_data >= self.step_data {
            let steps = libm::floor(self.grown_data / self.step_data);
            self.grown_data -= steps * self.step_data;
            self.long_volume += steps;
        }
        if round_starts {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.step_data = (self.window / growth).max(1.0);
    }

    pub(super) fn check_probe_rtt(&mut self, round_starts: bool, in_flight: f64, ctx: &mut Ctx<'_>) {
        if self.state != State::ProbeRtt && self.recent_expired {
            self.state = State::ProbeRtt;
            self.save_window();
            self.done = None;
            self.feedback = Feedback::ProbeStopping;
            self.rounds.restart(self.delivery.delivered());
        }
        if self.state != State::ProbeRtt {
            return;
        }
        self.delivery.limit(in_flight as u32);
        match self.done {
            None if in_flight <= self.probe_rtt_window() => {
                self.done = Some(ctx.now + self.params.probe_rtt);
                self.round_done = false;
                self.rounds.restart(self.delivery.delivered());
            }
            Some(end) => {
                self.round_done |= round_starts;
                if self.round_done && ctx.now > end {
                    self.end_probe_rtt(ctx);
                }
            }
            None => {}
        }
    }

    fn end_probe_rtt(&mut self, ctx: &mut Ctx<'_>) {
        self.recent = self.recent.map(|(least, _)| (least, ctx.now));
        self.restore_window();
        self.reset_short_bounds();
        if self.is_filled {
            self.start_down(ctx);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

//! The cycle that probes for bandwidth (5.3.3) and ProbeRTT (5.3.4).

use super::{AckPhase, Bbr3Model, FLOOR, State::*};

impl Bbr3Model {
    pub(super) fn probe_bw(&mut self, now: f64, in_flight: f64, draw: &mut dyn FnMut() -> (u64, f64)) {
        if !self.full_reached || self.adapt_long() || !self.in_probe_bw() {
            return;
        }
        let goes_down = self.state == Up && self.is_time_to_go_down(in_flight);
        match self.state {
            Down | Cruise => {
                let rounds = self.bdp.min(self.cwnd).min(63.0);
                if now > self.cycle_stamp + self.wait || self.rounds_since_probe as f64 >= rounds {
                    self.start_refill();
                } else if self.state == Down
                    && in_flight <= self.with_headroom()
                    && in_flight <= self.in_flight_target(self.max_bw)
                {
                    self.state = Cruise;
                }
            }
            Refill if self.round_start => {
                self.probe_sample = true;
                self.phase = AckPhase::Starting;
                self.next_round = self.delivered;
                self.reset_full_bw();
                self.full_bw = self.rate;
                self.state = Up;
                self.raise_slope();
            }
            Up if goes_down => {
                self.too_high = false;
                self.start_down(now, draw);
            }
            _ => {}
        }
    }

    fn is_time_to_go_down(&mut self, in_flight: f64) -> bool {
        // The volume is reached when something is sent; an acknowledgement taken off it first never finds it so.
        if self.too_high && in_flight + 1.0 >= self.long {
            self.precautionary = true;
            self.note("precautionary");
            return true;
        }
        if self.limited() && self.cwnd >= self.long {
            self.reset_full_bw();
            self.full_bw = self.rate;
            return false;
        }
        self.full_now
    }

    fn adapt_long(&mut self) -> bool {
        if self.phase == AckPhase::Starting && self.round_start {
            self.phase = AckPhase::Feedback;
        }
        if self.phase == AckPhase::Stopping && self.round_start {
            self.probe_sample = false;
            self.phase = AckPhase::Init;
            if self.in_probe_bw() && !self.sample_limited {
                self.slots = [self.slots[1], 0.0];
            }
            if self.in_probe_bw() && self.precautionary && !self.too_high {
                self.note("again after caution");
                self.start_refill();
                return true;
            }
        }
        if !self.too_much_lost() && self.long.is_finite() {
            self.long = self.long.max(self.tx_in_flight);
            if self.state == Up && self.limited() && self.cwnd >= self.long {
                self.note("long volume grows");
                self.up_acked += 1.0;
                if self.up_acked >= self.per_inc {
                    let delta = (self.up_acked / self.per_inc).floor();
                    self.up_acked -= delta * self.per_inc;
                    self.long += delta;
                }
                if self.round_start {
                    self.raise_slope();
                }
            }
        }
        false
    }

    pub(super) fn update_min_rtt(&mut self, now: f64, rtt: f64) {
        self.probe_expired = now > self.probe_stamp + 5e9;
        if rtt < self.probe_delay || self.probe_expired {
            (self.probe_delay, self.probe_stamp) = (rtt, now);
        }
        if self.probe_delay < self.min_rtt || now > self.min_stamp + 10e9 {
            (self.min_rtt, self.min_stamp) = (self.probe_delay, self.probe_stamp);
        }
    }

    pub(super) fn probe_rtt_cwnd(&mut self) -> f64 {
        self.bdp_multiple(self.bw, 0.5).max(FLOOR)
    }

    pub(super) fn check_probe_rtt(&mut self, now: f64, in_flight: f64, draw: &mut dyn FnMut() -> (u64, f64)) {
        if self.state != ProbeRtt && self.probe_expired {
            self.state = ProbeRtt;
            self.save_cwnd();
            self.probe_done = 0.0;
            self.phase = AckPhase::Stopping;
            self.next_round = self.delivered;
        }
        if self.state != ProbeRtt {
            return;
        }
        self.app_limited = (self.delivered + in_flight as u64).max(1);
        if self.probe_done == 0.0 {
            if in_flight <= self.probe_rtt_cwnd() {
                (self.probe_done, self.probe_round_done) = (now + 200e6, false);
                self.next_round = self.delivered;
            }
            return;
        }
        self.probe_round_done |= self.round_start;
        if self.probe_round_done && now > self.probe_done {
            self.probe_stamp = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            (self.bw_short, self.short) = (f64::INFINITY, f64::INFINITY);
            if self.full_reached {
                self.start_down(now, draw);
                self.state = Cruise;
            } else {
                self.note("back to Startup");
                self.state = Startup;
            }
        }
    }
}

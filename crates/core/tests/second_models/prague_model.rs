//! Prague as L4STeam/udp_prague@e8e3435 has it (`prague_cc.cpp`), for packets of one size. Times in µs, sizes in B.

const REFERENCE_RTT: f64 = 25_000.0;
const LEAST_RATE: f64 = 12_500.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Init,
    Avoid,
    InLoss,
    Reduced,
}

pub struct PragueModel {
    packet: f64,
    state: State,
    by_rate: bool,
    pub srtt: f64,
    pub virtual_rtt: f64,
    pub alpha: f64,
    /// B/s.
    pub rate: f64,
    /// B.
    pub window: f64,
    /// Virtual round trips until growth is faster.
    pub wait: f64,
    received: i64,
    marked: i64,
    lost: i64,
    alpha_at: (f64, i64, i64, i64),
    reduced_at: (f64, i64),
    loss_at: (f64, i64),
}

impl PragueModel {
    pub fn new(packet: f64) -> PragueModel {
        PragueModel {
            packet,
            state: State::Init,
            by_rate: false,
            srtt: 0.0,
            virtual_rtt: 0.0,
            alpha: 0.0,
            rate: LEAST_RATE,
            window: 10.0 * packet,
            wait: 7.0,
            received: 0,
            marked: 0,
            lost: 0,
            alpha_at: (0.0, 0, 0, 0),
            reduced_at: (0.0, 0),
            loss_at: (0.0, 0),
        }
    }

    /// A flow in congestion avoidance: the window from which the component starts, and the share of marks it has.
    pub fn in_avoidance(packet: f64, packets: f64, alpha: f64) -> PragueModel {
        let state = State::Avoid;
        PragueModel { window: packet * packets, alpha, state, ..PragueModel::new(packet) }
    }

    fn waits(&self) -> f64 {
        (self.rate / 1_920_000.0).floor() + 7.0
    }

    /// A packet arrives (or is found lost: `rtt` is none), `sent` had been sent by then.
    pub fn on_packet(&mut self, now: f64, rtt: Option<f64>, mark: bool, sent: i64) {
        let (lost, marked) = (self.lost + i64::from(rtt.is_none()), self.marked + i64::from(mark));
        let received = self.received + i64::from(rtt.is_some());
        if let Some(rtt) = rtt {
            self.srtt = if self.state == State::Init { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
            self.virtual_rtt = self.srtt.max(REFERENCE_RTT);
        }
        if self.state == State::Init {
            self.window = self.srtt * self.rate / 1e6;
            self.state = State::Avoid;
        }
        if self.srtt <= 2000.0 || self.srtt <= self.packet * 1e6 / self.rate {
            self.by_rate = true;
        } else {
            if self.by_rate {
                self.window = self.srtt * self.rate / 1e6;
            }
            self.by_rate = false;
        }
        let (since, at_sent, at_received, at_marked) = self.alpha_at;
        if received + lost > at_sent && now - since >= self.virtual_rtt && received > at_received {
            let share = (marked - at_marked) as f64 / (received - at_received) as f64;
            self.alpha = (self.alpha + (share - self.alpha) / 16.0).min(1.0);
            self.alpha_at = (now, sent, received, marked);
            self.wait = (self.wait - 1.0).max(0.0);
        }
        if self.state == State::InLoss && received + lost > self.loss_at.1 && now - self.loss_at.0 >= self.virtual_rtt {
            self.state = State::Avoid;
        }
        if self.state != State::InLoss && lost > self.lost {
            self.wait = self.rate / 2.0 / self.packet * REFERENCE_RTT / self.virtual_rtt * REFERENCE_RTT / 1e6;
            self.wait = self.wait.floor();
            if self.by_rate {
                self.rate /= 2.0;
            } else {
                self.window /= 2.0;
            }
            self.state = State::InLoss;
            self.loss_at = (now, sent);
        }
        if self.state != State::InLoss && rtt.is_some() && !mark {
            let millisecond = self.rate / 1e3;
            let step = if millisecond < self.packet || self.wait > 0.0 { self.packet } else { millisecond };
            if self.by_rate {
                let packets = self.rate * self.virtual_rtt / 1e6 / self.packet;
                self.rate += step * 1e6 / self.virtual_rtt / packets;
            } else {
                let scale = (self.srtt / self.virtual_rtt).powi(2);
                self.window += self.packet * step / self.window * scale;
            }
        }
        if self.state == State::Reduced
            && received + lost > self.reduced_at.1
            && now - self.reduced_at.0 >= self.virtual_rtt
        {
            self.state = State::Avoid;
        }
        if self.state == State::Avoid && mark {
            self.wait = self.waits();
            if self.by_rate {
                self.rate -= self.rate * self.alpha / 2.0;
            } else {
                self.window -= self.window * self.alpha / 2.0;
            }
            self.state = State::Reduced;
            self.reduced_at = (now, sent);
        }
        if !self.by_rate {
            self.rate = self.window / self.srtt * 1e6;
        }
        self.rate = self.rate.max(LEAST_RATE);
        self.window = self.rate * self.srtt / 1e6;
        (self.received, self.marked, self.lost) = (received, marked, lost);
    }
}

//! BBR as draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017) specifies it, for packets of one size; times in
//! s. Section numbers are the draft's. Written from memory of the draft and checked against its description; without
//! losses.

const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const MIN_PIPE: f64 = 4.0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// What is remembered of a packet when it is sent (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub delivered: u64,
    pub delivered_time: f64,
    pub first_sent_time: f64,
    pub sent_time: f64,
    pub limited: bool,
}

pub struct BbrModel {
    pub state: State,
    pub delivered: u64,
    delivered_time: f64,
    first_sent_time: f64,
    next_round_delivered: u64,
    round_count: u64,
    round_start: bool,
    /// Rates in packets/s with the round they were measured in.
    filter: Vec<(u64, f64)>,
    pub rtprop: f64,
    rtprop_stamp: f64,
    rtprop_expired: bool,
    full_bw: f64,
    full_bw_count: u32,
    filled_pipe: bool,
    pub pacing_gain: f64,
    cwnd_gain: f64,
    cycle_index: usize,
    cycle_stamp: f64,
    probe_rtt_done: Option<f64>,
    probe_rtt_round_done: bool,
    prior_cwnd: f64,
    pub cwnd: f64,
    pub pacing_rate: f64,
    initial_cwnd: f64,
    /// Until so much is delivered, samples are limited by the application (ProbeRTT says so of its own).
    limited_until: u64,
    packet_size: f64,
}

impl BbrModel {
    pub fn new(now: f64, initial_cwnd: f64, packet_size: f64) -> BbrModel {
        BbrModel {
            state: State::Startup,
            delivered: 0,
            delivered_time: now,
            first_sent_time: now,
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            filter: Vec::new(),
            rtprop: f64::INFINITY,
            rtprop_stamp: now,
            rtprop_expired: false,
            full_bw: 0.0,
            full_bw_count: 0,
            filled_pipe: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle_index: 0,
            cycle_stamp: now,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            prior_cwnd: 0.0,
            cwnd: initial_cwnd,
            pacing_rate: 0.0,
            initial_cwnd,
            limited_until: 0,
            packet_size,
        }
    }

    pub fn send(&mut self, now: f64, in_flight_before: u64) -> SentPacket {
        if in_flight_before == 0 {
            self.first_sent_time = now;
            self.delivered_time = now;
        }
        SentPacket {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            sent_time: now,
            limited: self.limited_until > 0,
        }
    }

    pub fn bandwidth(&self) -> f64 {
        self.filter.iter().map(|&(_, rate)| rate).fold(0.0, f64::max)
    }

    /// 4.2.3.2: the estimated BDP times a gain, and room for what is sent at once.
    fn inflight(&self, gain: f64) -> f64 {
        if self.rtprop.is_infinite() {
            return self.initial_cwnd;
        }
        // 4.2.2: the send quantum.
        let quantum = match self.pacing_rate * self.packet_size * 8.0 {
            bps if bps < 1.2e6 => 1.0,
            bps if bps < 24e6 => 2.0,
            _ => (self.pacing_rate * 0.001).min(65_536.0 / self.packet_size),
        };
        gain * self.bandwidth() * self.rtprop + 3.0 * quantum
    }

    /// An acknowledgement of one packet; `draw` gives a whole number from 0 to 6 (4.3.4.2), `in_flight` is counted
    /// after it, `srtt` after its sample.
    pub fn on_ack(
        &mut self,
        now: f64,
        packet: SentPacket,
        rtt: Option<f64>,
        srtt: f64,
        in_flight: u64,
        draw: &mut dyn FnMut() -> usize,
    ) {
        // 4.2.1: a round trip is known for the first time; TCP has it from its handshake.
        if self.pacing_rate == 0.0 {
            self.pacing_rate = HIGH_GAIN * self.initial_cwnd / srtt;
        }
        if self.delivered >= self.limited_until {
            self.limited_until = 0;
        }
        // Delivery rate: the larger of the send and the acknowledgement interval.
        self.delivered += 1;
        self.delivered_time = now;
        let send_elapsed = packet.sent_time - packet.first_sent_time;
        let ack_elapsed = self.delivered_time - packet.delivered_time;
        self.first_sent_time = packet.sent_time;
        let interval = send_elapsed.max(ack_elapsed);
        let rate = (self.delivered - packet.delivered) as f64 / interval;

        // 4.1.1.3 and 4.1.1.5.
        self.round_start = packet.delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = self.delivered;
            self.round_count += 1;
        }
        let counts = interval > 0.0 && (self.rtprop.is_infinite() || interval >= self.rtprop);
        if counts && (!packet.limited || rate >= self.bandwidth()) {
            let round = self.round_count;
            self.filter.retain(|&(at, _)| at + 10 > round);
            self.filter.push((round, rate));
        }
        // 4.3.4.3: advance the cycle.
        if self.state == State::ProbeBw {
            let mut full_length = now - self.cycle_stamp > self.rtprop;
            let prior_in_flight = (in_flight + 1) as f64;
            if self.pacing_gain > 1.0 {
                full_length &= prior_in_flight >= self.inflight(self.pacing_gain);
            } else if self.pacing_gain < 1.0 {
                full_length |= prior_in_flight <= self.inflight(1.0);
            }
            if full_length {
                self.advance_cycle(now);
            }
        }
        // 4.3.2.2: full pipe.
        if !self.filled_pipe && self.round_start {
            if self.bandwidth() >= self.full_bw * 1.25 {
                self.full_bw = self.bandwidth();
                self.full_bw_count = 0;
            } else {
                self.full_bw_count += 1;
                self.filled_pipe = self.full_bw_count >= 3;
            }
        }
        // 4.3.3.
        if self.state == State::Startup && self.filled_pipe {
            (self.state, self.pacing_gain, self.cwnd_gain) = (State::Drain, 1.0 / HIGH_GAIN, HIGH_GAIN);
        }
        if self.state == State::Drain && in_flight as f64 <= self.inflight(1.0) {
            self.enter_probe_bw(now, draw());
        }
        // 4.1.2.3.
        self.rtprop_expired = now > self.rtprop_stamp + 10.0;
        if let Some(rtt) = rtt
            && (rtt <= self.rtprop || self.rtprop_expired)
        {
            (self.rtprop, self.rtprop_stamp) = (rtt, now);
        }
        // 4.3.5.
        if self.state != State::ProbeRtt && self.rtprop_expired {
            (self.state, self.pacing_gain, self.cwnd_gain) = (State::ProbeRtt, 1.0, 1.0);
            self.prior_cwnd = self.cwnd;
            self.probe_rtt_done = None;
        }
        if self.state == State::ProbeRtt {
            self.limited_until = (self.delivered + in_flight).max(1);
            match self.probe_rtt_done {
                None if in_flight as f64 <= MIN_PIPE => {
                    self.probe_rtt_done = Some(now + 0.2);
                    self.probe_rtt_round_done = false;
                    self.next_round_delivered = self.delivered;
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && now > done {
                        self.rtprop_stamp = now;
                        self.cwnd = self.cwnd.max(self.prior_cwnd);
                        if self.filled_pipe {
                            self.enter_probe_bw(now, draw());
                        } else {
                            (self.state, self.pacing_gain, self.cwnd_gain) = (State::Startup, HIGH_GAIN, HIGH_GAIN);
                        }
                    }
                }
            }
        }
        // 4.2.1: pacing never slows before the pipe was filled.
        let paced = self.pacing_gain * self.bandwidth();
        if self.filled_pipe || paced > self.pacing_rate {
            self.pacing_rate = paced;
        }
        // 4.2.3: the window.
        let target = self.inflight(self.cwnd_gain);
        if self.filled_pipe {
            self.cwnd = (self.cwnd + 1.0).min(target);
        } else if self.cwnd < target || (self.delivered as f64) < self.initial_cwnd {
            self.cwnd += 1.0;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE);
        }
    }

    fn enter_probe_bw(&mut self, now: f64, drawn: usize) {
        (self.state, self.cwnd_gain) = (State::ProbeBw, 2.0);
        self.cycle_index = 7 - drawn;
        self.advance_cycle(now);
    }

    fn advance_cycle(&mut self, now: f64) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % 8;
        self.pacing_gain = CYCLE[self.cycle_index];
    }
}

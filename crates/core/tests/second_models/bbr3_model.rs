//! BBR version 3 as draft-ietf-ccwg-bbr (4ce5e87) has it, for segments of one size that arrive in order. Times in ns,
//! rates in segments per ns. What follows an idle application and a loss that was none is left out.

mod probing;

const FLOOR: f64 = 4.0;
const LOSS: f64 = 0.02;
const BETA: f64 = 0.7;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}
use State::*;

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a packet remembers of the moment when it was sent.
#[derive(Clone, Copy)]
pub struct SentPacket {
    at: f64,
    first_send: f64,
    delivered_time: f64,
    delivered: u64,
    app_limited: bool,
    in_flight: u64,
    lost: u64,
}

#[derive(Default)]
pub struct Bbr3Model {
    pub state: State,
    pub cwnd: f64,
    pub pace: f64,
    /// Of cases that not every path meets.
    pub reached: Vec<&'static str>,
    initial: f64,
    seen_rtt: bool,
    delivered: u64,
    delivered_time: f64,
    first_send: f64,
    app_limited: u64,
    lost: u64,
    // The sample of this acknowledgement.
    rate: f64,
    sample_delivered: u64,
    tx_in_flight: f64,
    sample_lost: f64,
    sample_limited: bool,
    // Rounds.
    next_round: u64,
    round_start: bool,
    round: u64,
    rounds_since_probe: u64,
    // The model.
    slots: [f64; 2],
    max_bw: f64,
    bw: f64,
    bw_short: f64,
    long: f64,
    short: f64,
    bdp: f64,
    min_rtt: f64,
    min_stamp: f64,
    probe_delay: f64,
    probe_stamp: f64,
    probe_expired: bool,
    probe_done: f64,
    probe_round_done: bool,
    prior_cwnd: f64,
    extra: Vec<(u64, f64)>,
    extra_start: f64,
    extra_delivered: f64,
    full_bw: f64,
    full_count: u32,
    full_now: bool,
    full_reached: bool,
    drain_round: u64,
    phase: AckPhase,
    per_inc: f64,
    up_acked: f64,
    up_rounds: u32,
    probe_sample: bool,
    too_high: bool,
    precautionary: bool,
    cycle_stamp: f64,
    wait: f64,
    bw_latest: f64,
    in_flight_latest: f64,
    loss_round: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    /// Until a segment from this one on arrives, there is recovery; when it began, in rounds.
    recovery: Option<(u64, u64)>,
    ranges: u32,
    last_lost: Option<u64>,
    limited: [bool; 2],
}

impl Bbr3Model {
    pub fn new(now: f64, initial: f64) -> Bbr3Model {
        let never = f64::INFINITY;
        Bbr3Model {
            cwnd: initial,
            pace: 2.77 * initial / 1e6,
            initial,
            bw_short: never,
            long: never,
            short: never,
            min_rtt: never,
            min_stamp: now,
            probe_delay: never,
            probe_stamp: now,
            extra_start: now,
            per_inc: never,
            ..Bbr3Model::default()
        }
    }

    fn note(&mut self, what: &'static str) {
        if !self.reached.contains(&what) {
            self.reached.push(what);
        }
    }

    /// A packet is sent while `before` are in flight.
    pub fn send(&mut self, now: f64, before: u64) -> SentPacket {
        if before == 0 {
            (self.first_send, self.delivered_time) = (now, now);
        }
        self.limited[1] |= (before + 1) as f64 >= self.cwnd;
        SentPacket {
            at: now,
            first_send: self.first_send,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            app_limited: self.app_limited != 0,
            in_flight: before + 1,
            lost: self.lost,
        }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, Down | Cruise | Refill | Up)
    }

    fn limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    fn too_much_lost(&self) -> bool {
        self.sample_lost > self.tx_in_flight * LOSS
    }

    fn bdp_multiple(&mut self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt.is_infinite() {
            return self.initial;
        }
        self.bdp = bw * self.min_rtt;
        gain * self.bdp
    }

    fn quantized(&self, volume: f64) -> f64 {
        let quantum = (self.pace * 1e6).clamp(2.0, 65_536.0 / 1250.0);
        volume.max(quantum).max(FLOOR) + if self.state == Up { 2.0 } else { 0.0 }
    }

    fn in_flight_target(&mut self, bw: f64) -> f64 {
        let volume = self.bdp_multiple(bw, 1.0);
        self.quantized(volume)
    }

    fn with_headroom(&self) -> f64 {
        if self.long.is_infinite() { self.long } else { (self.long - (0.15 * self.long).max(1.0)).max(FLOOR) }
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_count, self.full_now) = (0.0, 0, false);
    }

    fn start_down(&mut self, now: f64, draw: &mut dyn FnMut() -> (u64, f64)) {
        (self.loss_in_round, self.bw_latest, self.in_flight_latest) = (false, 0.0, 0.0);
        self.per_inc = f64::INFINITY;
        let (rounds, seconds) = draw();
        (self.rounds_since_probe, self.wait) = (rounds, (2.0 + seconds) * 1e9);
        self.cycle_stamp = now;
        self.phase = AckPhase::Stopping;
        self.next_round = self.delivered;
        self.state = Down;
    }

    fn start_refill(&mut self) {
        (self.bw_short, self.short) = (f64::INFINITY, f64::INFINITY);
        (self.up_rounds, self.up_acked, self.precautionary) = (0, 0.0, false);
        self.phase = AckPhase::Refilling;
        self.next_round = self.delivered;
        self.state = Refill;
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.per_inc = (self.cwnd / growth).max(1.0);
    }

    fn save_cwnd(&mut self) {
        let plain = self.recovery.is_none() && self.state != ProbeRtt;
        self.prior_cwnd = if plain { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// A packet is found lost; `next` is the first segment that was never sent.
    pub fn on_loss(
        &mut self,
        now: f64,
        (segment, packet): (u64, SentPacket),
        next: u64,
        draw: &mut dyn FnMut() -> (u64, f64),
    ) {
        self.lost += 1;
        if self.recovery.is_none() {
            self.save_cwnd();
            self.recovery = Some((next, self.round));
        }
        if self.last_lost.is_none_or(|last| last + 1 != segment) {
            self.ranges += 1;
        }
        self.last_lost = Some(segment);
        if !self.loss_in_round {
            self.loss_round = self.delivered;
        }
        self.loss_in_round = true;
        if !self.probe_sample {
            return;
        }
        (self.tx_in_flight, self.sample_lost) = (packet.in_flight as f64, (self.lost - packet.lost) as f64);
        if self.too_much_lost() {
            let (before, lost) = (self.tx_in_flight - 1.0, self.sample_lost - 1.0);
            self.tx_in_flight = before + (LOSS * before - lost) / (1.0 - LOSS);
            (self.too_high, self.probe_sample) = (true, false);
            if !packet.app_limited {
                self.long = self.tx_in_flight.max(self.bdp.min(self.cwnd) * BETA);
            }
            self.note(if self.state == Up { "too high in Up" } else { "too high otherwise" });
            if self.state == Up {
                self.start_down(now, draw);
            }
        }
    }

    /// A Data arrives, after which `in_flight` are in flight; if it is marked, with the first segment never sent.
    pub fn on_ack(
        &mut self,
        now: f64,
        marked: Option<u64>,
        (segment, packet): (u64, SentPacket),
        (srtt, in_flight): (f64, f64),
        draw: &mut dyn FnMut() -> (u64, f64),
    ) {
        let rtt = now - packet.at;
        // 4.1.2.
        self.delivered += 1;
        self.delivered_time = now;
        self.first_send = packet.at;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let interval = (packet.at - packet.first_send).max(now - packet.delivered_time);
        self.sample_delivered = self.delivered - packet.delivered;
        self.rate = self.sample_delivered as f64 / interval;
        (self.tx_in_flight, self.sample_lost) = (packet.in_flight as f64, (self.lost - packet.lost) as f64);
        self.sample_limited = packet.app_limited;
        if !self.seen_rtt {
            (self.seen_rtt, self.pace) = (true, 2.77 * self.initial / srtt);
        }
        if self.recovery.is_some_and(|(until, _)| segment >= until) {
            self.recovery = None;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        // A mark counts as a lost segment that also arrived, as the component's page says.
        if let Some(next) = marked {
            self.on_loss(now, (segment, packet), next, draw);
            (self.tx_in_flight, self.sample_lost) = (packet.in_flight as f64, (self.lost - packet.lost) as f64);
        }
        self.latest_signals(&packet);
        self.congestion_signals(&packet);
        self.aggregation(now);
        self.check_full_bw();
        self.check_startup(in_flight, now, draw);
        self.probe_bw(now, in_flight, draw);
        self.update_min_rtt(now, rtt);
        self.check_probe_rtt(now, in_flight, draw);
        if self.loss_round_start {
            (self.bw_latest, self.in_flight_latest, self.ranges) = (self.rate, self.sample_delivered as f64, 0);
        }
        self.bw = self.max_bw.min(self.bw_short);
        self.control();
    }

    fn latest_signals(&mut self, packet: &SentPacket) {
        self.bw_latest = self.bw_latest.max(self.rate);
        self.in_flight_latest = self.in_flight_latest.max(self.sample_delivered as f64);
        self.loss_round_start = packet.delivered >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = self.delivered;
        }
    }

    fn congestion_signals(&mut self, packet: &SentPacket) {
        self.round_start = packet.delivered >= self.next_round;
        if self.round_start {
            self.next_round = self.delivered;
            self.round += 1;
            self.rounds_since_probe += 1;
            self.limited = [self.limited[1], false];
        }
        if self.rate >= self.max_bw || !self.sample_limited {
            self.slots[1] = self.slots[1].max(self.rate);
            self.max_bw = self.slots[0].max(self.slots[1]);
        }
        if !self.loss_round_start {
            return;
        }
        if !matches!(self.state, Startup | Refill | Up) && self.loss_in_round {
            if self.bw_short.is_infinite() {
                self.bw_short = self.max_bw;
            }
            if self.short.is_infinite() {
                self.short = self.cwnd;
            }
            self.bw_short = self.bw_latest.max(BETA * self.bw_short);
            self.short = self.in_flight_latest.max(BETA * self.short);
            self.note("short bounds");
        }
        self.loss_in_round = false;
    }

    fn aggregation(&mut self, now: f64) {
        let mut expected = self.bw * (now - self.extra_start);
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += 1.0;
        let (extra, round) = ((self.extra_delivered - expected).min(self.cwnd), self.round);
        let length = if self.full_reached { 10 } else { 1 };
        self.extra.retain(|&(at, _)| round - at < length);
        match self.extra.last_mut() {
            Some((at, most)) if *at == round => *most = most.max(extra),
            _ => self.extra.push((round, extra)),
        }
    }

    fn check_full_bw(&mut self) {
        if self.full_now || !self.round_start || self.sample_limited {
            return;
        }
        if self.rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = self.rate;
            return;
        }
        self.full_count += 1;
        self.full_now = self.full_count >= 3;
        self.full_reached |= self.full_now;
    }

    fn check_startup(&mut self, in_flight: f64, now: f64, draw: &mut dyn FnMut() -> (u64, f64)) {
        if self.state == Startup && !self.full_reached {
            let whole_round = self.recovery.is_some_and(|(_, began)| self.round > began);
            if self.loss_round_start && whole_round && self.ranges >= 6 && self.too_much_lost() {
                self.note("high loss in Startup");
                self.full_reached = true;
                self.long = self.bdp.max(self.in_flight_latest);
            }
        }
        if self.state == Startup && self.full_reached {
            (self.state, self.drain_round) = (Drain, self.round);
        }
        if self.state == Drain && (in_flight <= self.in_flight_target(self.bw) || self.round > self.drain_round + 3) {
            self.start_down(now, draw);
        }
    }

    fn control(&mut self) {
        let (pacing_gain, cwnd_gain) = match self.state {
            Startup => (2.77, 2.0),
            Drain => (0.5, 2.0),
            Down => (0.9, 2.0),
            Cruise | Refill => (1.0, 2.0),
            Up => (1.25, 2.25),
            ProbeRtt => (1.0, 0.5),
        };
        let rate = pacing_gain * self.bw * 0.99;
        if self.full_reached || rate > self.pace {
            self.pace = rate;
        }
        let extra = self.extra.iter().fold(0.0_f64, |most, &(_, extra)| most.max(extra));
        let volume = self.bdp_multiple(self.bw, cwnd_gain) + extra;
        let most = self.quantized(volume);
        if self.full_reached {
            self.cwnd = (self.cwnd + 1.0).min(most);
        } else if self.cwnd < most || (self.delivered as f64) < self.initial {
            self.cwnd += 1.0;
        }
        self.cwnd = self.cwnd.max(FLOOR);
        if self.state == ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let bound = match self.state {
            Down | Refill | Up => self.long,
            ProbeRtt | Cruise => self.with_headroom(),
            Startup | Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(bound.min(self.short).max(FLOOR));
    }
}

use super::super::Congestion;
use super::*;
use crate::ctx::Trace;
use crate::fields::{FieldLayout, Fields};
use crate::units::Bytes;

/// A path of one bottleneck with an endless queue: a Data every `gap` at most, after `delay`.
struct Path {
    bbr: BbrV1,
    now: Time,
    gap: Duration,
    delay: Duration,
    free: Time,
    /// Arrivals of Data: time, segment, when its Interest was sent.
    coming: VecDeque<(Time, u64, Time)>,
    next_send: Time,
    segment: u64,
    rng: Rng,
    trace: Trace,
}

impl Path {
    fn new(params: serde_json::Value, gap: Duration, delay: Duration) -> Path {
        let params = crate::component::parse_params::<BbrV1>(&params).unwrap();
        let bbr = BbrV1::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let (rng, trace) = (Rng::derive(1, &[]), Trace::new(false));
        let (now, free, next_send) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Path { bbr, now, gap, delay, free, coming: VecDeque::new(), next_send, segment: 0, rng, trace }
    }

    fn flight(&self, received: Option<u64>) -> Flight {
        let srtt = if received.is_some() { self.delay } else { Duration::ZERO };
        let in_flight = self.coming.len() as u32;
        Flight { in_flight, next_segment: self.segment, highest_received: received, srtt }
    }

    /// Sends what may be sent now.
    fn send(&mut self, received: Option<u64>) {
        while self.next_send <= self.now && self.bbr.may_send(&self.flight(received)) {
            let at = self.free.max(self.now + self.delay) + self.gap;
            self.free = at;
            self.coming.push_back((at, self.segment, self.now));
            self.segment += 1;
            let flight = self.flight(received);
            let event = SentEvent { segment: self.segment - 1, retransmission: false, flight };
            self.bbr.on_sent(&event, &mut Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace });
            self.next_send = self.now + self.bbr.pacing(&flight).unwrap_or_default();
        }
    }

    /// Runs for a while, and calls `each` after every Data.
    fn run(&mut self, duration: Duration, mut each: impl FnMut(&Path, Duration)) {
        let end = self.now + duration;
        let mut received = self.segment.checked_sub(self.coming.len() as u64 + 1);
        self.send(received);
        while self.now < end {
            let arrival = self.coming.front().map_or(Time::NEVER, |&(at, ..)| at);
            let may_send = self.bbr.may_send(&self.flight(received));
            let sending = if may_send { self.next_send } else { Time::NEVER };
            self.now = arrival.min(sending.max(self.now));
            if arrival <= self.now {
                let (_, segment, sent) = self.coming[0];
                received = Some(segment);
                let (rtt, fields) = (self.now.since(sent), Fields::default());
                let flight = self.flight(received);
                let size = Bytes::new(1250);
                let event = DataEvent { segment, sent, rtt: Some(rtt), mark: 0, size, fields: &fields, flight };
                self.bbr.on_data(&event, &mut Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace });
                self.coming.pop_front();
                each(self, rtt);
            }
            self.send(received);
        }
    }
}

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

// 1,000 segments/s (10 Mbit/s of 1250 B) and a least round trip of 51 ms: the product is 51 segments.
#[test]
fn a_lone_flow_finds_rate_and_round_trip_of_its_path() {
    let mut path = Path::new(serde_json::Value::Null, ms(1), ms(50));
    path.run(ms(3000), |_, _| {});
    assert_eq!(path.bbr.state, State::ProbeBw);
    assert!((path.bbr.bandwidth() - 1000.0).abs() < 20.0, "{}", path.bbr.bandwidth());
    assert_eq!(path.bbr.least.unwrap().0, ms(51));
    // 2 · 51 and three times two segments.
    assert!((path.bbr.window() - 108.0).abs() < 3.0, "{}", path.bbr.window());
}

#[test]
fn startup_ends_three_rounds_after_the_rate_stopped_growing_and_drain_empties_the_queue() {
    let mut path = Path::new(serde_json::Value::Null, ms(1), ms(50));
    let mut filled = None;
    path.run(ms(3000), |path, _| {
        if path.bbr.state == State::Drain && filled.is_none() {
            filled = Some((path.now, path.bbr.full_count));
        }
    });
    let (at, count) = filled.unwrap();
    assert_eq!(count, 3);
    // From 10 segments to 51 takes three round trips, and three more of at most 150 ms follow.
    assert!(at.secs() < 0.8, "{}", at.secs());
    let mut least = Duration::MAX;
    path.run(ms(1000), |_, rtt| least = least.min(rtt));
    // Drain ends when 51 segments and three times two are left in flight after an arrival: one more before it.
    assert!(least <= ms(58), "{}", least.millis());
}

#[test]
fn after_ten_seconds_four_segments_stay_in_flight_for_200_ms() {
    let mut path = Path::new(serde_json::Value::Null, ms(1), ms(50));
    let (mut began, mut ended, mut smallest) = (None, None, f64::MAX);
    path.run(ms(15_000), |path, _| match (path.bbr.state, began) {
        (State::ProbeRtt, None) => began = Some(path.now),
        (State::ProbeRtt, _) => smallest = smallest.min(path.bbr.window()),
        (_, Some(_)) if ended.is_none() => ended = Some(path.now),
        _ => {}
    });
    let (began, ended) = (began.unwrap(), ended.unwrap());
    assert!(began.secs() > 10.0 && began.secs() < 12.0, "{}", began.secs());
    let lasted = ended.since(began).millis();
    assert!((200.0..450.0).contains(&lasted), "{lasted}");
    assert_eq!(smallest, 4.0);
    assert_eq!(path.bbr.state, State::ProbeBw);
}

#[test]
fn the_cycle_probes_drains_and_cruises() {
    let mut path = Path::new(serde_json::Value::Null, ms(1), ms(50));
    path.run(ms(2000), |_, _| {});
    let mut gains = Vec::new();
    path.run(ms(2000), |path, _| {
        let gain = path.bbr.pacing_gain();
        if gains.last() != Some(&gain) {
            gains.push(gain);
        }
    });
    let cycle = [1.25, 0.75, 1.0];
    let first = cycle.iter().position(|gain| Some(gain) == gains.first()).unwrap();
    assert!(gains.len() > 6);
    assert!(gains.iter().enumerate().all(|(i, gain)| *gain == cycle[(first + i) % 3]), "{gains:?}");
}

#[test]
fn a_loss_keeps_a_round_of_what_is_in_flight_and_then_the_window_returns() {
    let mut path = Path::new(serde_json::Value::Null, ms(1), ms(50));
    path.run(ms(3000), |_, _| {});
    let (before, fields) = (path.bbr.window(), Fields::default());
    let flight = path.flight(path.segment.checked_sub(path.coming.len() as u64 + 1));
    let segment = path.coming[0].1;
    let event = CongestionEvent { kind: Congestion::Loss, segment, sent: Time::ZERO, fields: &fields, flight };
    path.bbr.on_congestion(&event, &mut Ctx { now: path.now, rng: &mut path.rng, trace: &mut path.trace });
    assert!(path.bbr.window() <= f64::from(flight.in_flight));
    path.run(ms(300), |_, _| {});
    assert!((path.bbr.window() - before).abs() < 3.0);
}

#[test]
fn the_fork_never_forgets_its_largest_rate_and_leaves_startup_at_once() {
    let mut fork = Path::new(serde_json::json!({ "preset": "ndn-fork" }), ms(1), ms(50));
    fork.run(ms(2000), |_, _| {});
    let before = fork.bbr.bandwidth();
    fork.gap = ms(4);
    fork.run(ms(5000), |_, _| {});
    assert_eq!(fork.bbr.bandwidth(), before);
    let mut draft = Path::new(serde_json::Value::Null, ms(1), ms(50));
    draft.run(ms(2000), |_, _| {});
    draft.gap = ms(4);
    draft.run(ms(8000), |_, _| {});
    assert!((draft.bbr.bandwidth() - 250.0).abs() < 15.0, "{}", draft.bbr.bandwidth());
}

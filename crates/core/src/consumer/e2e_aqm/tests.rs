use super::*;
use crate::component::parse_params;
use crate::consumer::Congestion;
use crate::ctx::{Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::packet::NackReason;
use serde_json::{Value, json};

struct Bench {
    consumer: E2eAqm,
    rng: Rng,
    trace: Trace,
    segment: u64,
    srtt: Duration,
}

fn bench(params: &Value) -> Bench {
    let params = parse_params::<E2eAqm>(params).unwrap();
    let consumer = E2eAqm::new(&params, &mut Env { layout: &mut FieldLayout::new() });
    let (rng, trace) = (Rng::derive(1, &[]), Trace::default());
    Bench { consumer, rng, trace, segment: 0, srtt: Duration::from_millis(20) }
}

impl Bench {
    fn flight(&self) -> Flight {
        let next_segment = self.segment + self.consumer.window() as u64;
        let highest_received = self.segment.checked_sub(1);
        Flight { in_flight: self.consumer.window() as u32, next_segment, highest_received, srtt: self.srtt }
    }

    /// A Data at `ms` that tells `reading` of `link`; the window after it.
    fn hears(&mut self, ms: f64, link: u32, reading: LinkReading) -> f64 {
        let (link, state) = LinkMark { link, hops: 3, reading }.to_fields();
        let mut fields = Fields::default();
        fields.set(self.consumer.slots.0, link);
        fields.set(self.consumer.slots.1, state);
        let now = Time::ZERO + Duration::from_secs_f64(ms / 1e3);
        let (rtt, size) = (Some(self.srtt), Bytes::new(1100));
        let flight = self.flight();
        let event = DataEvent { segment: self.segment, sent: Time::ZERO, rtt, mark: 0, size, fields: &fields, flight };
        self.segment += 1;
        let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
        self.consumer.on_data(&event, &mut ctx);
        self.consumer.window()
    }

    fn delay(&mut self, ms: f64, link: u32, delay_ms: f64) -> f64 {
        self.hears(ms, link, LinkReading::Delay(Duration::from_secs_f64(delay_ms / 1e3)))
    }

    fn rate(&mut self, ms: f64, link: u32, mbps: f64) -> f64 {
        self.hears(ms, link, LinkReading::Rate(Rate::from_mbps(mbps)))
    }

    fn fails(&mut self, kind: Congestion) -> f64 {
        let (fields, flight) = (Fields::default(), self.flight());
        let event = CongestionEvent { kind, segment: self.segment, sent: Time::ZERO, fields: &fields, flight };
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.rng, trace: &mut self.trace };
        self.consumer.on_congestion(&event, &mut ctx);
        self.consumer.window()
    }
}

/// A consumer in congestion avoidance whose own rate is above that of the link: every cut that is due is made.
fn guilty(window: f64) -> Bench {
    let mut bench = bench(&json!({ "initial-window": window, "ssthresh": 1.0 }));
    // The floor is the initial window; here it only gets in the way.
    bench.consumer.window = Window::new(window, 1.0);
    bench
}

// 40 segments of 1040 B in 20 ms are 16.64 Mbit/s, more than the link's 8. Slow start grows by 1 per Data, congestion
// avoidance by 1/w. Due 100 ms after the first delay above 5 ms, then 100/√2 = 70.71, 100/√3 = 57.74 and 50 later: at
// 110, 180.71, 238.45. A Data at the very instant is not late enough.
#[test]
fn cuts_fall_due_by_the_law_of_codel_while_the_delay_is_above_the_target() {
    let mut bench = guilty(40.0);
    assert_eq!(bench.rate(0.0, 1, 8.0), 40.025);
    let grown = 40.025 + 1.0 / 40.025;
    assert_eq!(bench.delay(10.0, 1, 6.0), grown);
    assert_eq!(bench.delay(110.0, 1, 6.0), grown + 1.0 / grown);
    let before = grown + 1.0 / grown;
    assert_eq!(bench.delay(110.1, 1, 6.0), before / 2.0);
    let after = before / 2.0;
    assert_eq!(bench.delay(180.7, 1, 6.0), after + 1.0 / after);
    // 20.07 segments still are 8.35 Mbit/s; the rate is lowered so that the others are due as well.
    let after = bench.rate(180.71, 1, 1.0);
    assert_eq!(bench.delay(180.72, 1, 6.0), after / 2.0);
    let after = bench.delay(238.4, 1, 6.0);
    assert_eq!(bench.delay(238.5, 1, 6.0), after / 2.0);
    assert_eq!(bench.consumer.decreases(), 3);
}

#[test]
fn a_delay_at_the_target_ends_the_incident() {
    let mut bench = guilty(40.0);
    bench.rate(0.0, 1, 8.0);
    bench.delay(10.0, 1, 6.0);
    bench.delay(50.0, 1, 5.0);
    bench.delay(60.0, 1, 6.0);
    bench.delay(150.0, 1, 6.0);
    assert_eq!(bench.consumer.decreases(), 0);
    bench.delay(161.0, 1, 6.0);
    assert_eq!(bench.consumer.decreases(), 1);
}

#[test]
fn nothing_is_judged_before_the_rate_of_the_link_is_known_and_links_are_judged_apart() {
    let mut bench = guilty(40.0);
    bench.delay(0.0, 1, 6.0);
    bench.delay(200.0, 1, 6.0);
    // The rate arrives while the last delay is above the target: the incident begins here.
    bench.rate(210.0, 1, 1.0);
    bench.rate(310.0, 2, 1.0);
    bench.delay(311.0, 2, 6.0);
    assert_eq!(bench.consumer.decreases(), 0, "due at 310 on link 1, of which nothing was heard since");
    bench.rate(312.0, 1, 1.0);
    assert_eq!(bench.consumer.decreases(), 1, "a rate brings the cut too, the delay is remembered");
}

// 25 segments of 1040 B in 20 ms are 10.4 Mbit/s: of a link of 104 Mbit/s a tenth. 4000 cuts due: 400 ± 5·√(4000·0.09).
#[test]
fn a_due_cut_is_made_with_the_consumers_share_of_the_link() {
    let mut made = 0_i32;
    let mut bench = bench(&json!({ "initial-window": 25.0, "ssthresh": 1.0 }));
    for round in 0..4000 {
        let at = f64::from(round) * 1000.0;
        bench.consumer.window = Window::new(25.0, 1.0);
        bench.rate(at, 1, 104.0);
        bench.delay(at, 1, 6.0);
        bench.consumer.window = Window::new(25.0, 1.0);
        made += i32::from(bench.delay(at + 100.5, 1, 6.0) < 25.0);
        bench.delay(at + 200.0, 1, 0.0);
    }
    assert!((made - 400).abs() < 95, "{made}");
}

// 100 · 1040 B = 832,000 bit: 8 ms at 104 Mbit/s. Slow start only.
#[test]
fn slow_start_ends_at_more_than_a_hundred_packets_of_queue() {
    let mut bench = bench(&json!({}));
    assert_eq!((1..40).map(|ms| bench.rate(f64::from(ms), 1, 104.0)).last(), Some(40.0));
    assert_eq!(bench.delay(40.0, 1, 7.9), 41.0);
    assert_eq!(bench.delay(41.0, 1, 8.1), 20.5);
    assert_eq!(bench.delay(42.0, 1, 8.1), 20.5 + 1.0 / 20.5, "now in congestion avoidance");
}

// The source's counter has 8 bits. The 255th due cut leaves 100/√256 = 6.25 ms to the next, the 256th 100 ms.
#[test]
fn the_count_begins_again_after_256_due_cuts() {
    let mut bench = bench(&json!({ "ssthresh": 1.0, "marks": "never" }));
    bench.rate(0.0, 1, 8.0);
    bench.delay(0.0, 1, 6.0);
    let gaps: Vec<f64> = (0..257)
        .map(|_| {
            let due = bench.consumer.links[0].due.unwrap();
            bench.delay(due.secs() * 1e3 + 0.001, 1, 6.0);
            bench.consumer.links[0].due.unwrap().since(due).millis()
        })
        .collect();
    for (n, gap) in [(0, 70.710_678), (1, 57.735_027), (254, 6.25), (255, 100.0), (256, 70.710_678)] {
        assert!((gaps[n] - gap).abs() < 1e-5, "{n}: {}", gaps[n]);
    }
}

#[test]
fn every_timeout_cuts_down_to_the_initial_window_and_nacks_do_nothing() {
    let mut bench = bench(&json!({}));
    for ms in 0..6 {
        bench.rate(f64::from(ms), 1, 8.0);
    }
    assert_eq!(bench.fails(Congestion::Nack { reason: NackReason::Congestion, marked: true }), 7.0);
    let windows: Vec<f64> = (0..4).map(|_| bench.fails(Congestion::Timeout)).collect();
    assert_eq!(windows, [3.5, 1.75, 1.0, 1.0]);
    // The threshold is half of the last window: congestion avoidance from the start.
    assert_eq!(bench.rate(10.0, 1, 8.0), 2.0);
    assert_eq!(bench.rate(11.0, 1, 8.0), 2.5);
}

#[test]
fn as_many_links_are_kept_as_allowed_and_the_one_heard_of_longest_ago_makes_room() {
    let mut bench = bench(&json!({}));
    for link in 1..=MAX_LINKS as u32 {
        bench.rate(f64::from(link), link, 8.0);
    }
    bench.rate(100.0, 1, 8.0);
    bench.rate(101.0, 1000, 8.0);
    assert_eq!(bench.consumer.links.len(), MAX_LINKS);
    let kept = |number| bench.consumer.links.iter().any(|link| link.number == number);
    assert!(kept(1) && kept(1000) && !kept(2));
}

#[test]
fn nonsense_is_rejected() {
    let check = |params: Value| parse_params::<E2eAqm>(&params).unwrap_err().to_string();
    assert!(check(json!({ "beta": 1.0 })).contains("beta"));
    assert!(check(json!({ "interval": "0" })).contains("interval"));
    assert!(check(json!({ "initial-window": 0.0 })).contains("initial-window"));
    assert!(check(json!({ "burst": -1.0 })).contains("burst"));
}

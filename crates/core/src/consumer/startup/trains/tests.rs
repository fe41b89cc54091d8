//! Trains of four over a bottleneck, computed by hand.

use crate::component::{Component, Env, parse_params};
use crate::consumer::aimd::Aimd;
use crate::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, SentEvent};
use crate::ctx::{Ctx, Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::units::{Bytes, Time};
use serde_json::{Value, json};

struct Bench {
    consumer: Aimd,
    rng: Rng,
    trace: Trace,
    segment: u64,
    in_flight: u32,
}

fn at(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn bench(startup: Value) -> Bench {
    let mut startup = startup;
    startup["kind"] = json!("packet-train");
    startup["train-length"] = json!(4);
    let params = parse_params::<Aimd>(&json!({ "startup": startup })).unwrap();
    let consumer = <Aimd as Component>::new(&params, &mut Env { layout: &mut FieldLayout::new() });
    Bench { consumer, rng: Rng::derive(1, &[]), trace: Trace::new(true), segment: 0, in_flight: 0 }
}

impl Bench {
    fn flight(&self) -> Flight {
        Flight { in_flight: self.in_flight, ..Flight::default() }
    }

    /// Sends at `us` all that may leave, spaced as the consumer says; when each left.
    fn send(&mut self, us: u64) -> Vec<u64> {
        let (mut now, mut left) = (us, Vec::new());
        while left.len() < 100 && self.consumer.may_send(&self.flight()) {
            self.in_flight += 1;
            let event = SentEvent { segment: 0, retransmission: false, flight: self.flight() };
            self.consumer.on_sent(&event, &mut Ctx { now: at(now), rng: &mut self.rng, trace: &mut self.trace });
            left.push(now);
            now += self.consumer.pacing(&self.flight()).map_or(0, |gap| gap.nanos() / 1000);
        }
        left
    }

    fn data(&mut self, us: u64, sent: u64, marked: bool) -> f64 {
        let (now, fields) = (at(us), Fields::default());
        let event = DataEvent {
            segment: self.segment,
            sent: at(sent),
            rtt: Some(now.since(at(sent))),
            mark: u8::from(marked),
            size: Bytes::new(1250),
            fields: &fields,
            flight: self.flight(),
        };
        self.consumer.on_data(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        (self.segment, self.in_flight) = (self.segment + 1, self.in_flight - 1);
        self.consumer.window()
    }

    fn fails(&mut self) -> f64 {
        let (fields, flight) = (Fields::default(), self.flight());
        let event = CongestionEvent { kind: Congestion::Loss, segment: 0, sent: at(0), fields: &fields, flight };
        self.consumer.on_congestion(&event, &mut Ctx { now: at(0), rng: &mut self.rng, trace: &mut self.trace });
        self.consumer.window()
    }

    /// A train whose Data arrive at these times; the window after it.
    fn train(&mut self, sent: u64, arrivals: [u64; 4]) -> (Vec<u64>, f64) {
        let left = self.send(sent);
        let mut window = 0.0;
        for (&left, arrived) in left.iter().zip(arrivals) {
            window = self.data(arrived, left, false);
        }
        (left, window)
    }

    fn recorded(&mut self, key: &str) -> Vec<f64> {
        self.trace.drain().filter(|event| event.key == key).map(|event| event.value).collect()
    }
}

// Data 1000 µs apart: gB. Distances 500 + 125 = 625 µs; the output of 1000 µs is more than half again as far, so the
// next is max(625, (625 + 1000)/2) + 125 = 937.5 µs. 1000 is 6.7 % more, so one more: 1062.5 µs, and the Data keep it.
// PTR = 1/1062.5 µs; the least round trip is that of the first Data, 40 ms: 37.647 segments.
#[test]
fn distances_grow_until_data_arrive_as_far_apart_as_interests_left() {
    let mut bench = bench(json!({}));
    let (left, window) = bench.train(0, [40_000, 41_000, 42_000, 43_000]);
    assert_eq!((left, window), (vec![0; 4], 1.0));
    let (left, window) = bench.train(50_000, [90_000, 91_000, 92_000, 93_000]);
    assert_eq!((left, window), (vec![50_000, 50_625, 51_250, 51_875], 1.0));
    let (left, _) = bench.train(100_000, [140_000, 141_000, 142_000, 143_000]);
    assert_eq!(left, [100_000, 100_937, 101_874, 102_811]);
    bench.send(200_000);
    let arrivals = [0, 1, 2, 3].map(|n| 240_000_000 + n * 1_062_500);
    let mut window = 0.0;
    for (n, arrival) in arrivals.into_iter().enumerate() {
        window = bench.data(arrival / 1000, 200_000 + n as u64 * 1062, false);
    }
    // Arrivals in whole µs: 240,000, 241,062, 242,125, 243,187; 3187/3 µs, cut to 1,062,333 ns.
    assert!((window - 40e-3 / 1_062_333e-9).abs() < 1e-6, "{window}");
    let rates = bench.recorded("train-rate");
    assert_eq!((rates.len(), rates[0]), (4, 1000.0));
    // Congestion avoidance: + 1/w per Data.
    bench.send(300_000);
    let before = bench.consumer.window();
    assert!((bench.data(340_000, 300_000, false) - before - 1.0 / before).abs() < 1e-9);
}

// gB = 1000 µs from the first train. The second is sent 625 µs apart and arrives 1000, 2000 and 1500 µs apart: those
// above 1005 µs count as grown, by 1000 + 500 of 4500 µs: 1000 · (1 − 1500/4500) = 666.67 segments/s. It would go on;
// it was the last allowed: 666.67 · 40 ms = 26.67 segments. PTR would be 3/4500 µs, the same here.
#[test]
fn igi_takes_from_the_bottleneck_what_made_distances_grow() {
    for (estimate, window) in [("igi", 26.666_666), ("ptr", 26.666_666)] {
        let mut bench = bench(json!({ "estimate": estimate, "attempts": 2 }));
        bench.train(0, [40_000, 41_000, 42_000, 43_000]);
        let (_, found) = bench.train(50_000, [90_000, 91_000, 93_000, 94_500]);
        assert!((found - window).abs() < 1e-4, "{estimate} {found}");
    }
    // 900, 2000 and 1500 µs apart: one is below gB. IGI 1000 · (1 − 1500/4400) = 659.09; PTR 3/4400 µs = 681.82.
    for (estimate, window) in [("igi", 26.363_636), ("ptr", 27.272_727)] {
        let mut bench = bench(json!({ "estimate": estimate, "attempts": 2 }));
        bench.train(0, [40_000, 41_000, 42_000, 43_000]);
        let (_, found) = bench.train(50_000, [90_000, 90_900, 92_900, 94_400]);
        assert!((found - window).abs() < 1e-4, "{estimate} {found}");
    }
}

#[test]
fn marks_do_nothing_while_trains_run() {
    let mut bench = bench(json!({ "attempts": 1 }));
    bench.send(0);
    for (n, us) in [40_000, 41_000, 42_000].into_iter().enumerate() {
        assert_eq!(bench.data(us, 0, n == 1), 1.0);
    }
    assert_eq!(bench.data(43_000, 0, true), 40.0);
    assert_eq!(bench.consumer.decreases(), 0);
}

#[test]
fn a_failed_interest_ends_the_search_with_the_last_whole_train_or_the_laws_own_start() {
    let mut whole = bench(json!({}));
    whole.train(0, [40_000, 41_000, 42_000, 43_000]);
    whole.send(50_000);
    assert_eq!(whole.fails(), 40.0);
    let mut none = bench(json!({}));
    none.send(0);
    none.data(40_000, 0, false);
    none.fails();
    assert_eq!(none.consumer.window(), 1.0);
    assert!(!none.consumer.may_send(&Flight { in_flight: 2, ..Flight::default() }), "the law's window counts again");
}

#[test]
fn a_train_leaves_only_when_the_last_has_arrived_and_the_window_is_capped() {
    let mut bench = bench(json!({ "cap": 10.0, "attempts": 1 }));
    assert_eq!(bench.send(0).len(), 4);
    assert!(bench.send(1).is_empty());
    (0..3).for_each(|n| {
        bench.data(40_000 + n * 1000, 0, false);
    });
    assert!(bench.send(43_500).is_empty());
    assert_eq!(bench.data(43_000, 0, false), 10.0);
}

//! Expected windows: equation 3 computed with Python's fractions from the times written here, apart from the code.

use super::*;
use crate::component::{Component, parse_params};
use crate::consumer::aimd::Aimd;
use crate::consumer::{Consumer, Flight, SentEvent};
use crate::ctx::{Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::units::Bytes;
use proptest::prelude::{any, prop, prop_assert, proptest};
use serde_json::{Value, json};

/// A Data: segment, when its Interest left and when it arrived in µs, and what may be wrong with it.
#[derive(Clone, Copy, Debug)]
struct Back {
    segment: u64,
    sent: u64,
    arrived: u64,
    marked: bool,
    resent: bool,
    label: u32,
}

fn back(segment: u64, sent: u64, arrived: u64) -> Back {
    Back { segment, sent, arrived, marked: false, resent: false, label: 7 }
}

fn at(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

struct Bench {
    consumer: Aimd,
    label: Option<Slot>,
    rng: Rng,
    trace: Trace,
}

/// AIMD with a packet-pair startup, in a run with or without path labels.
fn bench(startup: Value, labels: bool) -> Bench {
    let mut startup = startup;
    startup["kind"] = json!("packet-pair");
    let params = parse_params::<Aimd>(&json!({ "startup": startup })).unwrap();
    let mut layout = FieldLayout::new();
    let label = if labels { layout.slot(Field::PathLabel) } else { None };
    let consumer = <Aimd as Component>::new(&params, &mut Env { layout: &mut layout });
    Bench { consumer, label, rng: Rng::derive(1, &[]), trace: Trace::new(true) }
}

impl Bench {
    fn data(&mut self, back: Back) -> f64 {
        let mut fields = Fields::default();
        if let Some(slot) = self.label {
            fields.set(slot, back.label);
        }
        let (sent, now) = (at(back.sent), at(back.arrived));
        let event = DataEvent {
            segment: back.segment,
            sent,
            rtt: (!back.resent).then(|| now.since(sent)),
            mark: u8::from(back.marked),
            size: Bytes::new(1080),
            fields: &fields,
            flight: Flight { highest_received: Some(back.segment), next_segment: 50, ..Flight::default() },
        };
        self.consumer.on_data(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        self.consumer.window()
    }

    fn sent(&mut self, us: u64) -> Option<Duration> {
        let event = SentEvent { segment: 9, retransmission: false, flight: Flight::default() };
        self.consumer.on_sent(&event, &mut Ctx { now: at(us), rng: &mut self.rng, trace: &mut self.trace });
        self.consumer.pacing(&Flight::default())
    }

    fn recorded(&mut self, key: &str) -> Vec<f64> {
        self.trace.drain().filter(|event| event.key == key).map(|event| event.value).collect()
    }
}

/// Segment 0 answered at 41 ms, then 1 and 2, sent together at 41 ms.
const FIRST: Back = Back { segment: 0, sent: 0, arrived: 41_000, marked: false, resent: false, label: 7 };

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b
}

// 40 Mbit/s, 1080 B: 216 µs apart. (81.616 − 41)/0.216 = 40616/216 = 188.037037…; then 188.037… + 1/188.037….
#[test]
fn the_first_pair_sets_the_window_of_equation_3_and_ends_slow_start() {
    let mut bench = bench(json!({}), true);
    assert_eq!(bench.data(FIRST), 2.0);
    assert_eq!(bench.data(back(1, 41_000, 81_616)), 3.0);
    assert!(close(bench.data(back(2, 41_000, 81_832)), 188.037_037_037_037_04));
    assert!(close(bench.data(back(3, 81_616, 122_232)), 188.042_355_138_277_94));
    assert!(close(bench.recorded("pair-rate")[0], 40e6));
}

#[test]
fn the_estimate_of_the_pair_is_recorded() {
    let mut bench = bench(json!({ "cap": 50.0 }), false);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    assert_eq!(bench.data(back(2, 41_000, 81_832)), 50.0, "the cap");
    let records: Vec<_> = bench.trace.drain().map(|event| (event.key, event.value)).collect();
    assert!(close(records[0].1, 188.037_037_037_037_04) && records[0].0 == "pair-window");
    assert_eq!(records[2], ("startup-window", 50.0));
}

// 40.616/0.4 = 101.54.
#[test]
fn data_closer_than_the_least_gap_count_as_that_far_apart() {
    let mut bench = bench(json!({ "min-gap": "400us" }), false);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    assert!(close(bench.data(back(2, 41_000, 81_832)), 101.54));
    assert!(close(bench.recorded("pair-rate")[0], 21.6e6), "8,640 bits in 400 µs");
}

// A slow link: 40 ms for a Data. (61 − 21)/(101 − 61) = 1, below the 4 reached by slow start.
#[test]
fn the_window_never_shrinks_to_an_estimate_but_slow_start_ends() {
    // A second pair could only lower the estimate.
    for pairs in [1, 2] {
        let mut bench = bench(json!({ "pairs": pairs }), false);
        bench.data(back(0, 0, 21_000));
        bench.data(back(1, 21_000, 61_000));
        assert_eq!(bench.data(back(2, 21_000, 101_000)), 4.0);
        assert_eq!(bench.data(back(3, 61_000, 141_000)), 4.25);
    }
}

#[test]
fn a_pair_that_tells_nothing_is_passed_over_and_the_next_one_counts() {
    let good = [back(1, 41_000, 81_616), back(2, 41_000, 81_832)];
    let marked = [Back { marked: true, ..good[0] }, good[1]];
    let reordered = [good[1], Back { arrived: 81_900, ..good[0] }];
    let together = [good[0], Back { arrived: 81_616, ..good[1] }];
    let other_path = [good[0], Back { label: 8, ..good[1] }];
    let resent = [good[0], Back { resent: true, ..good[1] }];
    for (pair, why) in [(marked, 1.0), (reordered, 2.0), (together, 2.0), (other_path, 3.0), (resent, 4.0)] {
        // With marks ignored, since the cut of a mark would end the search.
        let mut bench = bench(json!({}), true);
        let marks_ignored = json!({ "startup": { "kind": "packet-pair" }, "reaction": { "marks": "never" } });
        let mut layout = FieldLayout::new();
        bench.label = layout.slot(Field::PathLabel);
        let params = parse_params::<Aimd>(&marks_ignored).unwrap();
        bench.consumer = <Aimd as Component>::new(&params, &mut Env { layout: &mut layout });
        bench.data(FIRST);
        let windows = pair.map(|data| bench.data(data));
        assert!(windows[1] <= 4.0, "{pair:?}");
        assert_eq!(bench.recorded("pair-discarded"), [why], "{pair:?}");
        // The next two leave at 81.9 ms: (122.516 − 81.9)/0.216 again.
        bench.data(back(3, 81_900, 122_516));
        assert!(close(bench.data(back(4, 81_900, 122_732)), 188.037_037_037_037_04));
    }
}

#[test]
fn interests_that_left_apart_or_with_another_segment_between_are_not_a_pair() {
    for second in [back(2, 41_001, 81_832), back(3, 41_000, 81_832)] {
        let mut bench = bench(json!({}), false);
        bench.data(FIRST);
        bench.data(back(1, 41_000, 81_616));
        assert_eq!(bench.data(second), 4.0);
    }
}

#[test]
fn a_cut_ends_the_search() {
    let mut bench = bench(json!({}), false);
    bench.data(FIRST);
    assert_eq!(bench.data(Back { marked: true, ..back(1, 41_000, 81_616) }), 1.0);
    bench.data(back(3, 82_000, 122_616));
    assert!(bench.data(back(4, 82_000, 122_832)) < 4.0);
}

// Two paths of 20 and 35 ms, 10 and 20 Mbit/s (864 and 432 µs). The split pair says (66 − 46)/(81 − 66) = 1.33; the
// other way round its Data would be out of order.
#[test]
fn a_pair_over_two_paths_is_recognised_by_its_labels() {
    let mut bench = bench(json!({}), true);
    bench.data(back(0, 0, 46_000));
    bench.data(Back { label: 1, ..back(1, 46_000, 66_000) });
    assert_eq!(bench.data(Back { label: 2, ..back(2, 46_000, 81_000) }), 4.0);
    assert_eq!(bench.recorded("pair-discarded"), [3.0]);
    bench.data(Back { label: 1, ..back(3, 66_000, 86_000) });
    // 20 ms/864 µs = 23.148148….
    assert!(close(bench.data(Back { label: 1, ..back(4, 66_000, 86_864) }), 23.148_148_148_148_15));
}

// Path 1 of 20 ms and 1000 µs, path 2 of 35 ms and 432 µs: 20 and 35,000/432 = 81.018518…. Two of seven Data came by
// path 1: 20 · 7/2 = 70; by path 2 81.018518 · 7/5 = 113.4 would do.
#[test]
fn every_path_has_an_estimate_and_the_window_overfills_none() {
    let mut bench = bench(json!({}), true);
    let by = |label, back| Back { label, ..back };
    bench.data(by(2, back(0, 0, 35_000)));
    bench.data(by(2, back(1, 35_000, 70_000)));
    bench.data(Back { resent: true, ..by(2, back(2, 35_000, 70_432)) });
    bench.data(by(1, back(3, 70_000, 90_000)));
    assert_eq!(bench.data(by(1, back(4, 70_000, 91_000))), 6.0, "path 2 brought two Data in a row, but no estimate");
    bench.data(by(2, back(5, 70_432, 105_432)));
    assert!(close(bench.data(by(2, back(6, 70_432, 105_864))), 70.0));
    let windows = bench.recorded("pair-window");
    assert!(close(windows[0], 20.0) && close(windows[1], 81.018_518_518_518_52), "{windows:?}");
}

// As before, but path 1 takes 4 ms for a Data: 20/4 = 5, which slow start has passed when the pair counts, with 6.
#[test]
fn slow_start_does_not_go_beyond_one_estimate_while_it_waits_for_another() {
    let mut bench = bench(json!({}), true);
    let by = |label, back| Back { label, ..back };
    bench.data(by(2, back(0, 0, 35_000)));
    bench.data(by(2, back(1, 35_000, 70_000)));
    bench.data(Back { resent: true, ..by(2, back(2, 35_000, 70_432)) });
    bench.data(by(1, back(3, 70_000, 90_000)));
    assert_eq!(bench.data(by(1, back(4, 70_000, 94_000))), 6.0);
    assert_eq!(bench.recorded("startup-window"), [6.0]);
    assert!(close(bench.data(by(2, back(5, 70_432, 105_432))), 6.0 + 1.0 / 6.0));
}

// Paths of 20 and 35 ms without labels, also where the run carries them but no router wrote one. The first Data came by the longer path alone; the pair (66 − 46 = 20 ms, 81 −
// 46 = 35 ms) would say 20/15 = 1.33 and end slow start.
#[test]
fn without_labels_round_trips_show_some_pairs_over_two_paths() {
    let back = |segment, sent, arrived| Back { label: 0, ..back(segment, sent, arrived) };
    for carried in [false, true] {
        let mut bench = bench(json!({}), carried);
        bench.data(back(0, 11_000, 46_000));
        bench.data(back(1, 46_000, 66_000));
        assert_eq!(bench.data(back(2, 46_000, 81_000)), 4.0);
        assert_eq!(bench.recorded("pair-discarded"), [5.0]);
        bench.data(back(3, 66_000, 86_000));
        assert!(close(bench.data(back(4, 66_000, 86_864)), 23.148_148_148_148_15));
    }
}

// Where a queue of others has drained, both are faster than the Data before: 20/0.864 again.
#[test]
fn without_labels_a_pair_that_is_faster_than_all_before_counts() {
    let mut bench = bench(json!({}), false);
    bench.data(back(0, 11_000, 46_000));
    bench.data(back(1, 46_000, 66_000));
    assert!(close(bench.data(back(2, 46_000, 66_864)), 23.148_148_148_148_15));
}

// Without labels: 40616/216 = 188.04 and, from a pair 100 µs apart that came over two paths, 40616/100 = 406.16.
#[test]
fn of_several_pairs_the_smallest_window_counts() {
    let mut bench = bench(json!({ "pairs": 2 }), false);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    assert_eq!(bench.data(back(2, 41_000, 81_716)), 4.0);
    bench.data(back(3, 81_900, 122_516));
    assert!(close(bench.data(back(4, 81_900, 122_732)), 188.037_037_037_037_04));
}

#[test]
fn after_so_many_attempts_slow_start_is_left_alone() {
    let mut bench = bench(json!({ "attempts": 1 }), false);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    bench.data(back(2, 41_000, 81_616));
    bench.data(back(3, 81_900, 122_516));
    assert_eq!(bench.data(back(4, 81_900, 122_732)), 6.0);
}

#[test]
fn after_so_many_attempts_the_pairs_that_counted_must_do() {
    let mut bench = bench(json!({ "attempts": 2, "pairs": 2 }), true);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    assert_eq!(bench.data(back(2, 41_000, 81_832)), 4.0);
    bench.data(back(3, 81_900, 122_516));
    assert!(close(bench.data(Back { label: 8, ..back(4, 81_900, 122_732) }), 188.037_037_037_037_04));
}

// 40.616 ms/188.037 = 216 µs, from 81.832 to 122.448 ms.
#[test]
fn a_paced_window_spreads_over_one_round_trip() {
    let mut bench = bench(json!({ "send": "paced" }), false);
    bench.data(FIRST);
    bench.data(back(1, 41_000, 81_616));
    assert_eq!(bench.sent(81_700), None, "the pair itself is never paced");
    bench.data(back(2, 41_000, 81_832));
    assert_eq!(bench.sent(81_832), Some(Duration::from_micros(216)));
    assert_eq!(bench.sent(122_447), Some(Duration::from_micros(216)));
    assert_eq!(bench.sent(122_448), None);
}

#[test]
fn nonsense_is_rejected() {
    let check = |startup: Value| parse_params::<Aimd>(&json!({ "startup": startup })).unwrap_err().to_string();
    assert!(check(json!({ "cap": 0.0 })).contains("startup.cap"));
    assert!(check(json!({ "pairs": 0 })).contains("startup.pairs"));
    assert!(check(json!({ "pairs": 9 })).contains("startup.attempts"));
    assert!(check(json!({ "kind": "quick" })).contains("packet-pair"));
}

proptest! {
    // Whatever comes back: one jump at most, never down, never beyond the cap or what slow start had reached.
    #[test]
    fn a_fetch_jumps_once_and_only_up(
        backs in prop::collection::vec((0_u64..6, 0_u64..3, 0_u64..1000, any::<bool>(), 0_u32..2), 1..60),
    ) {
        let mut bench = bench(json!({ "cap": 100.0 }), true);
        let mut now = 1000;
        for (segment, sent, later, resent, label) in backs {
            now += later;
            let before = bench.consumer.window();
            let window = bench.data(Back { resent, label, ..back(segment, sent * 500, now) });
            prop_assert!(window > before && window <= 100.0_f64.max(before + 1.0));
        }
        prop_assert!(bench.recorded("startup-window").len() <= 1);
    }
}

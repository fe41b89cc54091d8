//! Expected values: ns-3's algorithm written down separately, with exact square roots.

use super::super::harness::{Bench, ms};
use super::*;
use serde_json::json;

/// One departure per millisecond with the same waiting time; the milliseconds at which one did not just pass.
fn picked(bench: &mut Bench<Cobalt>, from: u64, to: u64, sojourn_ms: u64) -> Vec<u64> {
    let duration = Duration::from_millis(sojourn_ms);
    (from..to).filter(|&t| bench.dequeue(ms(t), duration, 10_000) != Verdict::Pass).collect()
}

fn next_ms(bench: &Bench<Cobalt>) -> f64 {
    bench.marker.next.secs() * 1e3
}

// Below the target until 9: next = 9 + 100 = 109. At 10 the incident begins: count 1, next = 110. 110: count 2,
// next = 180.71; 181: count 3, 238.45; 239: 288.45; 289: 333.17; 334: 373.99; 374: 411.79; 412: 447.14; 448: 480.48;
// 481: count 10, next = 512.10.
#[test]
fn the_second_gap_is_already_the_shorter_one() {
    let mut bench = Bench::new(&json!({}));
    assert_eq!(picked(&mut bench, 0, 10, 1), [0; 0]);
    assert_eq!(picked(&mut bench, 10, 500, 6), [110, 181, 239, 289, 334, 374, 412, 448, 481]);
    assert_eq!(bench.marker.count, 10);
    assert!((next_ms(&bench) - 512.099_787).abs() < 1e-3);
}

// The incident above ends at 500. The count falls when due: at 513 to 9, next = 512.10 + 33.33 = 545.43, and so on,
// with next never more than a gap away from the last packet: at 699 it is 5 and due at 704.13. The next incident begins
// at 700 with next = 700 + 100/√5 = 744.72; 745: count 6.
#[test]
fn the_count_falls_by_the_schedule_and_the_next_incident_continues_from_it() {
    let mut bench = Bench::new(&json!({}));
    picked(&mut bench, 0, 10, 1);
    picked(&mut bench, 10, 500, 6);
    assert_eq!(picked(&mut bench, 500, 700, 1), [0; 0]);
    assert_eq!(bench.marker.count, 5);
    assert!((next_ms(&bench) - 704.131_094).abs() < 1e-3);
    assert_eq!(picked(&mut bench, 700, 900, 6), [745, 786, 824, 859, 893]);
}

// As above up to 390 (count 7, next = 411.79). Departures at 600, 601 and 602 are over the target: at 600 the count is
// 8 and next = 447.14, in the past, so next = 600; at 601 the count is 9 and next = 633.33.
#[test]
fn after_a_pause_one_departure_catches_up_and_the_rest_of_the_schedule_is_skipped() {
    let mut bench = Bench::new(&json!({}));
    picked(&mut bench, 0, 10, 1);
    picked(&mut bench, 10, 390, 6);
    assert_eq!(picked(&mut bench, 600, 603, 6), [600, 601]);
    assert_eq!(bench.marker.count, 9);
    assert!((next_ms(&bench) - 633.333_333).abs() < 1e-3);
}

#[test]
fn a_wait_at_the_target_exactly_is_not_an_incident() {
    let mut bench = Bench::new(&json!({}));
    assert_eq!(picked(&mut bench, 0, 300, 5), [0; 0]);
}

// The first packet of all at 1: next was 0, so it is set to 1, and the packet at 2 is picked; count 2, next = 71.71.
#[test]
fn a_queue_that_was_never_seen_below_the_target_is_picked_from_at_once() {
    let mut bench = Bench::new(&json!({ "action": "drop" }));
    assert_eq!(bench.dequeue(ms(1), Duration::from_millis(6), 10_000), Verdict::Pass);
    assert_eq!(bench.dequeue(ms(2), Duration::from_millis(6), 10_000), Verdict::Drop);
    assert_eq!(picked(&mut bench, 3, 300, 6), [72, 130, 180, 225, 265]);
}

// Count 7 and next = 411.79 as above. Polls of an empty queue at these instants: each takes one off the count if due.
#[test]
fn an_empty_queue_lowers_the_count() {
    let mut bench = Bench::new(&json!({}));
    picked(&mut bench, 0, 10, 1);
    picked(&mut bench, 10, 400, 6);
    let expected = [(420, 6, 452.61), (460, 5, 497.33), (470, 5, 497.33), (520, 4, 547.33), (600, 3, 605.07)];
    for (t, count, next) in expected {
        bench.idle(ms(t));
        assert_eq!(bench.marker.count, count);
        assert!((next_ms(&bench) - next).abs() < 0.01);
    }
}

// 3 ms after the start is no more than the target; 6 is; 8 is 2 ms later; 12 and 18 are 6 ms later.
#[test]
fn an_overflow_raises_blue_at_most_once_per_target_and_starts_an_incident() {
    let mut bench = Bench::<Cobalt>::new(&json!({}));
    for (t, blue) in [(3, 0.0), (6, 1.0), (8, 1.0), (12, 2.0), (18, 3.0)] {
        bench.overflow(ms(t), 100_000);
        assert_eq!(bench.marker.blue * 256.0, blue);
        assert_eq!((bench.marker.count, bench.marker.next, bench.marker.picking), (1, ms(t), true));
    }
}

#[test]
fn very_long_waits_raise_blue_and_empty_queues_lower_it() {
    let mut bench = Bench::<Cobalt>::new(&json!({}));
    for (t, blue) in [(10, 1.0), (12, 1.0), (15, 1.0), (16, 2.0), (22, 3.0)] {
        bench.dequeue(ms(t), Duration::from_millis(401), 10_000);
        assert_eq!(bench.marker.blue * 256.0, blue);
    }
    bench.dequeue(ms(30), Duration::from_millis(400), 10_000);
    assert_eq!(bench.marker.blue * 256.0, 3.0, "400 ms is not above 400 ms");
    // Last change at 22: 26 is too soon, 28 and 40 are not.
    for (t, blue) in [(26, 48.0), (28, 47.0), (40, 46.0)] {
        bench.idle(ms(t));
        assert_eq!(bench.marker.blue * 4096.0, blue);
    }
}

#[test]
fn what_blue_picks_is_dropped_even_when_codel_marks() {
    let mut bench = Bench::<Cobalt>::new(&json!({ "increment": 0.25 }));
    bench.overflow(ms(10), 100_000);
    let drops = (0..4000).filter(|_| bench.dequeue(ms(11), Duration::ZERO, 10_000) == Verdict::Drop).count();
    // A quarter of 4000, give or take four standard deviations (27.4).
    assert!((890..=1110).contains(&drops), "{drops}");
}

#[test]
fn every_packet_above_the_ce_threshold_is_marked() {
    let mut bench = Bench::new(&json!({ "ce-threshold": "2ms" }));
    assert_eq!(picked(&mut bench, 0, 3, 2), [0; 0]);
    assert_eq!(picked(&mut bench, 3, 6, 3), [3, 4, 5]);
    let mut bench = Bench::new(&json!({ "ce-threshold": "2ms", "action": "drop" }));
    assert_eq!(picked(&mut bench, 3, 6, 3), [0; 0]);
}

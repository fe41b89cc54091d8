use super::super::codel_pcon::CodelPcon;
use super::super::harness::{Bench, ms};
use super::*;
use crate::fields::{FieldLayout, Fields, window_to_field};
use crate::ids::NameId;
use crate::packet::Packet;
use serde_json::{Value, json};

/// A packet of a flow, with its consumer's window unless that is 0.
fn packet(flow: u32, window: f64) -> Packet {
    let mut fields = Fields::default();
    let slot = FieldLayout::new().slot(Field::ConsumerWindow).unwrap();
    fields.set(slot, window_to_field(window));
    Packet { name: NameId { flow: FlowId(flow), segment: 0 }, fields, ..Packet::default() }
}

/// One packet leaves and one joins per millisecond, flows in turn; each has waited for 6 ms. The times of marks.
fn marks(params: Value, windows: &[f64], to_ms: u64) -> Vec<u64> {
    let mut bench: Bench<CwndCodel> = Bench::new(&params);
    let mut times = Vec::new();
    for t in 1000..to_ms {
        bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        let flow = t as usize % windows.len();
        if bench.offer(ms(t), &packet(flow as u32, windows[flow]), 10_000) == Verdict::Mark(1) {
            times.push(t);
        }
    }
    times
}

// When marks fall due under these arrivals is computed beside the tests of `codel-pcon`.
const DUE: [u64; 6] = [1101, 1211, 1289, 1353, 1408, 1458];

#[test]
fn a_flow_alone_flows_of_one_size_and_flows_that_say_nothing_are_marked_as_by_pcon() {
    for windows in [&[20.0][..], &[7.0, 7.0, 7.0], &[0.0, 0.0], &[0.0, 9.0]] {
        for law in ["selection", "additive"] {
            assert_eq!(marks(json!({ "law": law }), windows, 1461), DUE, "{windows:?} {law}");
        }
    }
    assert_eq!(marks(json!({ "exponent": 0.0 }), &[1.0, 50.0], 1461), DUE, "g = 0 is PCON");
}

// With so large an exponent (1/2)^1000 is none: each due mark waits for the next millisecond that is 2 modulo 3.
#[test]
fn with_a_large_exponent_a_mark_waits_for_the_largest_flow() {
    let expected: Vec<u64> = DUE.iter().map(|t| t + (2 + 3 - t % 3) % 3).collect();
    assert_eq!(expected, [1103, 1211, 1289, 1355, 1409, 1460]);
    assert_eq!(marks(json!({ "exponent": 1000.0 }), &[10.0, 10.0, 20.0], 1461), expected);
}

// A mark that falls due before the small flow's packet (every second time) lands there with probability 1/2: 1/4 of all
// go to it with g = 1, and 1/2 · (1/2)^8 = 0.2 % with g = 8.
#[test]
fn a_flow_with_half_the_window_gets_its_share_of_the_marks() {
    for (exponent, expected, tolerance) in [(1.0, 0.25, 0.04), (8.0, 0.002, 0.006)] {
        let times = marks(json!({ "exponent": exponent }), &[10.0, 20.0], 15_000);
        let small = times.iter().filter(|&t| t % 2 == 0).count() as f64 / times.len() as f64;
        assert!((small - expected).abs() < tolerance, "g = {exponent}: {small} of {}", times.len());
    }
}

// From a program of its own (Python, fractions): due times, credits of gain · (w − m)/m up to 2, one spent per due time
// unless the flow got the ordinary mark. Windows 10, 10, 40: mean 20, the third flow (2 modulo 3) earns 1 per due mark.
#[test]
fn extra_marks_follow_the_excess_over_the_mean_window() {
    let additive = |gain: f64| json!({ "law": "additive", "gain": gain });
    let windows = [10.0, 10.0, 40.0];
    assert_eq!(marks(additive(1.0), &windows, 1461), [1101, 1103, 1211, 1289, 1353, 1355, 1408, 1409, 1458, 1460]);
    let half = [1101, 1211, 1289, 1353, 1355, 1408, 1409, 1458, 1460];
    assert_eq!(marks(additive(0.5), &windows, 1461), half);
    // Windows 10, 20, 30: the same mean, an excess of 1/2.
    assert_eq!(marks(additive(1.0), &[10.0, 20.0, 30.0], 1461), half);
    assert_eq!(marks(additive(0.0), &windows, 1461), DUE);
}

#[test]
fn a_flow_silent_for_longer_than_the_activity_window_is_forgotten() {
    let run = |silence: u64| {
        let mut bench: Bench<CwndCodel> = Bench::new(&json!({ "exponent": 1000.0 }));
        bench.offer(ms(1101 - silence), &packet(1, 50.0), 10_000);
        for t in 1000..1102 {
            bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        }
        bench.offer(ms(1101), &packet(0, 10.0), 10_000)
    };
    assert_eq!(run(500), Verdict::Pass, "half a second counts");
    assert_eq!(run(501), Verdict::Mark(1));
}

#[test]
fn what_has_not_landed_when_the_queue_is_short_again_is_discarded() {
    let mut bench: Bench<CwndCodel> = Bench::new(&json!({ "exponent": 1000.0 }));
    for t in 1000..1102 {
        bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        bench.offer(ms(t), &packet(1 + u32::from(t == 1101), if t == 1101 { 5.0 } else { 50.0 }), 10_000);
    }
    bench.dequeue(ms(1102), Duration::from_millis(5), 10_000);
    assert_eq!(bench.offer(ms(1102), &packet(1, 50.0), 10_000), Verdict::Pass);
    for t in 1103..1300 {
        bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        let verdict = bench.offer(ms(t), &packet(1, 50.0), 10_000);
        // Over from 1204 on, but not before the next mark of the last incident: 1101 + 110 = 1211.
        assert_eq!(verdict == Verdict::Mark(1), t == 1211, "{t}");
        if t == 1211 {
            break;
        }
    }
}

#[test]
fn the_table_of_flows_is_bounded_and_takes_new_flows_once_old_ones_are_silent() {
    let mut bench: Bench<CwndCodel> = Bench::new(&json!({}));
    for flow in 0..10_000 {
        bench.offer(ms(1000), &packet(flow, 10.0), 10_000);
    }
    assert_eq!(bench.marker.flows.len(), MAX_FLOWS);
    bench.offer(ms(2000), &packet(20_000, 10.0), 10_000);
    assert_eq!(bench.marker.flows.len(), 1);
}

#[test]
fn any_window_and_any_order_of_flows_is_survived() {
    let mut bench: Bench<CwndCodel> = Bench::new(&json!({ "law": "additive", "gain": 1000.0 }));
    let mut plain: Bench<CodelPcon> = Bench::new(&json!({}));
    for t in 1000..4000_u64 {
        bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        plain.dequeue(ms(t), Duration::from_millis(6), 10_000);
        let window = [0.004, 1.0, 16e6, 0.0][(t % 4) as usize];
        let marked = bench.offer(ms(t), &packet((t * 7919 % 13) as u32, window), 10_000) == Verdict::Mark(1);
        let ordinary = plain.enqueue(ms(t), 10_000) == Verdict::Mark(1);
        assert!(marked || !ordinary, "no ordinary mark is lost at {t}");
    }
}

// NameEntry 9 claims the largest window there is, and sends a packet each 400 ms; flow 0 fills the queue.
#[test]
fn a_flow_that_claims_a_huge_window_and_sends_little_keeps_no_marks_from_others() {
    let mut bench: Bench<CwndCodel> = Bench::new(&json!({}));
    let mut times = Vec::new();
    for t in 1000..2000 {
        bench.dequeue(ms(t), Duration::from_millis(6), 10_000);
        if t == 1000 || t % 400 == 50 {
            bench.offer(ms(t), &packet(9, 16e6), 10_000);
        } else if bench.offer(ms(t), &packet(0, 20.0), 10_000) == Verdict::Mark(1) {
            times.push(t);
        }
    }
    // Due at 1101 and landed 100 ms later, while the claim counts, and so on.
    assert_eq!(times.first(), Some(&1201));
    assert!(times.len() >= 5, "{times:?}");
}

#[test]
fn nonsense_is_rejected() {
    let check = |params: Params| CwndCodel::check(&params).unwrap_err().to_string();
    assert!(check(Params { exponent: -1.0, ..Params::default() }).contains("exponent"));
    assert!(check(Params { gain: f64::NAN, ..Params::default() }).contains("gain"));
    assert!(check(Params { factor: 0.0, ..Params::default() }).contains("factor"));
    assert!(check(Params { interval: Duration::ZERO, ..Params::default() }).contains("interval"));
}

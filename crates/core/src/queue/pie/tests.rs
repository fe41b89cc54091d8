//! Expected probabilities: RFC 8033 §4.2 written down separately.

use super::super::harness::{Bench, ms};
use super::*;
use serde_json::{Value, json};

/// A bench whose last packet waited `wait` at 20 ms, after the first update at 15 ms.
fn bench(wait: Duration, params: &Value) -> Bench<Pie> {
    let mut bench = Bench::new(params);
    bench.dequeue(ms(20), wait, 10_000);
    bench
}

/// The probability after the update number `k`, at k · 15 ms.
fn probability(bench: &mut Bench<Pie>, k: u64) -> f64 {
    bench.enqueue(ms(15 * k), 0);
    bench.marker.probability
}

// Delay 40 ms from 20 ms on. Update 2: (0.125 · 0.025 + 1.25 · 0.04) / 2048 = 2.594e-5. From then on the delay does not
// change: + 0.003125 / 128 per update up to 1e-4, / 32 up to 1e-3 (update 10: 5.142e-4), / 8 up to 1e-2, / 2 up to 0.1,
// then + 0.003125 a time (the table of §4.2).
#[test]
fn the_probability_grows_in_steps_that_are_scaled_to_it() {
    let mut bench = bench(Duration::from_millis(40), &json!({}));
    let expected = [
        (1, 0.0),
        (2, 2.593_994_140_625e-5),
        (3, 5.035_400_390_625e-5),
        (4, 7.476_806_640_625e-5),
        (10, 5.142_211_914_062_5e-4),
        (14, 9.048_461_914_062_5e-4),
        (20, 2.955_627_441_406_25e-3),
        (40, 1.194_000_244_140_625e-2),
        (60, 4.319_000_244_140_628e-2),
        (100, 0.110_377_502_441_406_16),
        (150, 0.266_627_502_441_405_7),
        (199, 0.419_752_502_441_405_16),
    ];
    for (k, p) in expected {
        let got = probability(&mut bench, k);
        assert!((got - p).abs() <= 1e-12, "update {k}: {got}, not {p}");
    }
}

// As above up to update 199. Then no delay: update 200 takes 1.25 · 0.04 + 0.125 · 0.015 off, later ones 0.001875 and
// 2 % of the rest. After update 219: 0.2213234; it is 0 after 117 more, and the burst allowance is back.
#[test]
fn without_delay_the_probability_decays_to_nothing_and_a_burst_is_allowed_again() {
    let mut bench = bench(Duration::from_millis(40), &json!({}));
    probability(&mut bench, 199);
    assert_eq!(bench.marker.allowance, Duration::ZERO);
    bench.idle(ms(199 * 15 + 1));
    assert!((probability(&mut bench, 219) - 0.221_323_403_739_015_7).abs() < 1e-12);
    assert!(probability(&mut bench, 335) > 0.0);
    assert_eq!(probability(&mut bench, 336), 0.0);
    assert_eq!(bench.marker.allowance, Duration::from_millis(150));
}

// A delay that jumps from 0 to 100 ms: 0.125 · 0.085 + 1.25 · 0.1 = 0.135625. At a probability of 0.1 the step is cut
// to 0.02; at 0.05 it is halved instead: 0.1178125.
#[test]
fn above_ten_per_cent_the_probability_grows_by_two_at_most() {
    for (before, after) in [(0.1, 0.12), (0.05, 0.117_812_5)] {
        let mut bench = bench(Duration::from_millis(100), &json!({}));
        bench.marker.probability = before;
        assert!((probability(&mut bench, 2) - after).abs() < 1e-12);
    }
}

// Ten updates (2 to 11) take the allowance of 150 ms away: at 164 ms nothing is picked, at 165 ms everything that the
// probability of 1 (set here) allows.
#[test]
fn a_burst_is_let_through_for_150_ms() {
    let mut bench = bench(Duration::from_millis(40), &json!({}));
    bench.enqueue(ms(30), 10_000);
    bench.marker.probability = 1.0;
    assert_eq!(bench.enqueue(ms(164), 10_000), Verdict::Pass);
    assert_eq!(bench.enqueue(ms(165), 10_000), Verdict::Drop);
}

// 40 ms of delay at the last update: not safe; two packets (2500 B) in the queue are exempt, a third makes it three.
// With 7 ms, below half of the target, up to a probability of 0.2.
#[test]
fn short_queues_are_left_alone() {
    let ready = |wait, probability| {
        let mut bench = bench(Duration::from_millis(wait), &json!({ "burst": "0ms" }));
        bench.enqueue(ms(30), 0);
        (bench.marker.probability, bench.marker.sum) = (probability, 9.0);
        bench
    };
    assert_eq!(ready(40, 0.05).enqueue(ms(31), 2500), Verdict::Pass);
    assert_eq!(ready(40, 0.05).enqueue(ms(31), 2501), Verdict::Mark(1));
    assert_eq!(ready(7, 0.19).enqueue(ms(31), 10_000), Verdict::Pass);
    assert_eq!(ready(7, 0.2).enqueue(ms(31), 10_000), Verdict::Drop);
    assert_eq!(ready(8, 0.05).enqueue(ms(31), 10_000), Verdict::Mark(1));
}

#[test]
fn packets_are_marked_up_to_ten_per_cent_and_dropped_above_or_when_configured() {
    for (probability, action, verdict) in
        [(0.1, "mark", Verdict::Mark(1)), (0.100_001, "mark", Verdict::Drop), (0.1, "drop", Verdict::Drop)]
    {
        let mut bench = bench(Duration::from_millis(40), &json!({ "burst": "0ms", "action": action }));
        bench.enqueue(ms(30), 0);
        (bench.marker.probability, bench.marker.sum) = (probability, 9.0);
        assert_eq!(bench.enqueue(ms(31), 10_000), verdict);
    }
}

// At a probability of 0.05 the sum is 0.85 at the 17th packet after one that was picked and 8.5 at the 170th. Between
// them chance decides: the mean distance is 16 + (1 − 0.95^154)/0.05 = 36.0, its standard deviation about 19.5; over
// 2000 distances four standard errors are 1.8.
#[test]
fn packets_picked_are_neither_too_close_nor_too_far_apart() {
    let mut bench = bench(Duration::from_millis(40), &json!({ "burst": "0ms" }));
    bench.enqueue(ms(30), 0);
    let (mut distances, mut since) = (Vec::new(), 0);
    while distances.len() < 2000 {
        bench.marker.probability = 0.05;
        since += 1;
        if bench.enqueue(ms(31), 10_000) != Verdict::Pass {
            distances.push(since);
            since = 0;
        }
    }
    // Sums of 0.05 may round to either side of 0.85 and 8.5.
    assert!(distances.iter().all(|d| (17..=171).contains(d)));
    let mean = f64::from(distances.iter().sum::<i32>()) / 2000.0;
    assert!((mean - 36.0).abs() < 1.8, "{mean}");
}

#[test]
fn an_overflow_starts_the_sum_again() {
    let mut bench = bench(Duration::from_millis(40), &json!({ "burst": "0ms" }));
    bench.enqueue(ms(30), 0);
    (bench.marker.probability, bench.marker.sum) = (0.05, 9.0);
    bench.overflow(ms(31), 100_000);
    assert_eq!(bench.enqueue(ms(31), 10_000), Verdict::Pass);
}

#[test]
fn a_pause_of_years_costs_a_bounded_number_of_updates_and_keeps_the_rhythm() {
    let mut bench = bench(Duration::from_nanos(15_000_001), &json!({}));
    let year = 365 * 86_400_000;
    bench.enqueue(ms(100 * year), 0);
    assert!(bench.marker.next_update > ms(100 * year));
    assert!(bench.marker.next_update <= ms(100 * year + 15));
    assert_eq!(bench.marker.next_update.nanos() % 15_000_000, 0);
    bench.enqueue(Time::NEVER, 0);
}

//! Windows computed by hand from RFC 5681 and the formulas of the laws, whose own tests are beside them.

use super::super::testing::{Driver, driver};
use super::*;
use crate::units::Duration;
use serde_json::json;

fn new(coupling: &str) -> Driver<Coupled> {
    driver(json!({ "coupling": coupling }))
}

fn ms(t: u64) -> Option<Duration> {
    Some(Duration::from_millis(t))
}

/// Windows of the paths in the order found.
fn windows(fetch: &Driver<Coupled>) -> Vec<f64> {
    fetch.consumer.paths.iter().map(|path| path.state.window.get()).collect()
}

fn close(a: &[f64], b: &[f64]) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} instead of {b:?}");
}

/// Paths 5 and 6 of 100 and 50 ms, with windows of 10 and 5 in congestion avoidance.
fn two(coupling: &str) -> Driver<Coupled> {
    let mut fetch = new(coupling);
    (0..18).for_each(|_| fetch.data_of(5, ms(100), false));
    (0..8).for_each(|_| fetch.data_of(6, ms(50), false));
    fetch.wait(Duration::from_millis(1000));
    fetch.data_of(5, ms(100), true);
    fetch.data_of(6, ms(50), true);
    close(&windows(&fetch), &[10.0, 5.0]);
    fetch
}

// 2 + 18 = 20, halved: 10. 2 + 8 = 10, halved: 5. Then rates 100 and 100: one Data of path 5 gains 2000/40,000. Then
// rates 100.5 and 100, w/T² 1005 and 2000: 2000/200.5² = 0.049750…
#[test]
fn linked_increases_follow_slow_start() {
    let mut fetch = two("lia");
    fetch.data_of(5, ms(100), false);
    fetch.data_of(6, ms(50), false);
    close(&windows(&fetch), &[10.05, 5.0 + 2000.0 / (200.5 * 200.5)]);
}

// Since the last loss nothing, before it 19 and 9 Data: l/T² is 1900 and 3600, so the second path is best and not the
// largest. 10 + 0.025 − 0.5/10.
#[test]
fn opportunistic_increases_take_from_the_largest_window() {
    let mut fetch = two("olia");
    fetch.data_of(5, ms(100), false);
    close(&windows(&fetch), &[9.975, 5.0]);
    // Rates 99.75 and 100, w/T² of path 6 2000, l still 19 and 9: 5 + 2000/199.75² + 0.5/5.
    fetch.data_of(6, ms(50), false);
    close(&windows(&fetch), &[9.975, 5.1 + 2000.0 / (199.75 * 199.75)]);
}

// In `two` the first cut is at rates 200 and 200, the second at 100 and 200. Equal rates 100 and 100 after it: 10 +
// 200 · 500/(10 · 10 · 40,000) = 10.025.
#[test]
fn balanced_adaptation_with_equal_rates_grows_by_its_part_of_tcp() {
    let mut fetch = two("balia");
    fetch.data_of(5, ms(100), false);
    close(&windows(&fetch), &[10.025, 5.0]);
}

#[test]
fn what_was_sent_before_a_cut_does_not_cut_again() {
    let mut fetch = two("lia");
    // Sent 1 ms before the cut, and 1 ms after it.
    fetch.wait(Duration::from_millis(99));
    fetch.data_of(5, ms(100), true);
    close(&windows(&fetch), &[10.0, 5.0]);
    fetch.wait(Duration::from_millis(2));
    fetch.data_of(5, ms(100), true);
    close(&windows(&fetch), &[5.0, 5.0]);
    assert_eq!(fetch.consumer.decreases(), 3);
}

/// The label of an Interest for the next segment.
fn request(fetch: &mut Driver<Coupled>, segment: u64) -> u32 {
    let mut fields = Fields::default();
    let slot = fetch.label;
    fetch.consumer.stamp(segment, &mut fields);
    fields.get(slot)
}

// Segments from 28 on: two Data of slow start on path 5 and one on 6 came in `two` with the cuts.
#[test]
fn a_timeout_takes_one_path_to_one_segment_and_slow_start_ends_at_half() {
    let mut fetch = two("lia");
    assert_eq!(request(&mut fetch, 28), 5, "the path with most room");
    fetch.wait(Duration::from_millis(1000));
    fetch.congestion(Congestion::Timeout);
    close(&windows(&fetch), &[1.0, 5.0]);
    (0..4).for_each(|_| fetch.data_of(5, ms(100), false));
    close(&windows(&fetch), &[5.0, 5.0]);
    // Rates 50 and 100, w/T² 500 and 2000: 2000/150² = 0.0889.
    fetch.data_of(5, ms(100), false);
    close(&windows(&fetch), &[5.0 + 2000.0 / 22_500.0, 5.0]);
}

#[test]
fn a_nack_for_congestion_halves_and_another_does_nothing() {
    use crate::packet::NackReason;
    for (reason, left) in [(NackReason::Congestion, 5.0), (NackReason::NoRoute, 10.0)] {
        let mut fetch = two("lia");
        request(&mut fetch, 28);
        fetch.wait(Duration::from_millis(1000));
        fetch.congestion(Congestion::Nack { reason, marked: false });
        close(&windows(&fetch), &[left, 5.0]);
    }
}

#[test]
fn a_path_that_was_cut_does_not_stop_the_others() {
    let mut fetch = two("lia");
    let labels: Vec<u32> = (100..115).map(|segment| request(&mut fetch, segment)).collect();
    assert_eq!(labels.iter().filter(|label| **label == 5).count(), 10);
    let flight = Flight { in_flight: 15, ..Flight::default() };
    assert!(!fetch.consumer.may_send(&flight));
    fetch.wait(Duration::from_millis(1000));
    fetch.data_of(5, ms(100), true);
    // 10 in flight and a window of 5 on path 5; the other has 5 of 5.
    assert!(!fetch.consumer.may_send(&flight));
    fetch.data_of(6, ms(50), false);
    assert!(fetch.consumer.may_send(&flight), "5 in flight and 5.05 allowed");
    assert_eq!(request(&mut fetch, 200), 6);
}

#[test]
fn nacked_interests_that_wait_to_be_sent_again_keep_their_places() {
    let mut fetch = two("lia");
    for segment in 100..115 {
        request(&mut fetch, segment);
        fetch.consumer.paths.release(segment);
    }
    let held = |in_flight| Flight { in_flight, ..Flight::default() };
    assert!(!fetch.consumer.may_send(&held(15)), "no path has a window of more than 10");
    assert!(fetch.consumer.may_send(&held(9)));
}

#[test]
fn cuts_leave_two_segments_under_lia_and_one_under_its_successors() {
    for (coupling, threshold) in [("lia", 2.0), ("balia", 1.0)] {
        let mut fetch = two(coupling);
        for _ in 0..8 {
            fetch.wait(Duration::from_millis(1000));
            fetch.data_of(5, ms(100), true);
            fetch.data_of(6, ms(50), false);
        }
        close(&windows(&fetch)[..1], &[threshold]);
    }
}

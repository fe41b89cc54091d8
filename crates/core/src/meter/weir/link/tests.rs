use super::super::tests::{LINK, view};
use super::*;

const STATED: f64 = 10e6;

/// The capacity after each slot of 10 ms of a link of 10 Mbit/s with a queue that stands, which serves these parts of a
/// slot's worth.
fn capacities(parts: impl Iterator<Item = f64>) -> Vec<f64> {
    let (mut link, mut sent) = (Link::new(STATED, &view(LINK, None, 0)), 0.0);
    let after = parts.map(|part| {
        sent += part * 0.01 * STATED;
        link.serve(STATED, sent as u64, 1e6, 0.01);
        link.capacity / STATED
    });
    after.collect()
}

#[test]
fn a_link_that_delivers_in_bursts_each_tenth_of_a_second_is_not_taken_for_a_slow_one() {
    let bursts = (1..=1000).map(|slot| if slot % 10 == 0 { 10.0 } else { 0.0 });
    assert_eq!(capacities(bursts), [1.0; 1000]);
}

// The queue stands from the end of the first slot on. After 20 more the link owes half of 0.2 s: what it is late by may be
// jitter. Then 0.1 s, in ten slots, take 1 − 0.9^10 = 0.65 of the way to a half.
#[test]
fn a_link_of_half_the_rate_is_believed_for_a_fifth_of_a_second() {
    let half = capacities(std::iter::repeat_n(0.5, 32));
    assert!(half[..20].iter().all(|c| *c == 1.0), "{half:?}");
    assert!((half[31] - (0.5 + 0.5 * 0.9f64.powi(11))).abs() < 0.03, "{half:?}");
}

// A link of half the rate that delivers in bursts of 0.2 s: its mean counts, not what leaves between bursts.
#[test]
fn a_slow_link_with_bursts_is_taken_for_about_what_it_brings() {
    let bursts = capacities((1..=1000).map(|slot| if slot % 20 == 0 { 10.0 } else { 0.0 }));
    let mean: f64 = bursts[500..].iter().sum::<f64>() / 500.0;
    assert!((0.3..0.6).contains(&mean), "{mean}");
}

/// Whether a link counts as lossy after each of two turns of 30 Data for Interests that were sent again, at `first` and
/// `second` ms; the last Interest before the first of them left at 0. 1 − (1 − 1/256)^30 = 0.11.
fn lossy_after(first: u64, second: u64) -> [bool; 2] {
    let mut link = Link::new(STATED, &view(LINK, None, 0));
    link.asked(Time::ZERO);
    [first, second].map(|ms| {
        (0..30).for_each(|_| link.answered(true, Time::ZERO + Duration::from_millis(ms)));
        link.is_lossy()
    })
}

#[test]
fn what_is_asked_again_within_a_second_after_an_outage_of_a_tenth_does_not_make_a_link_lossy() {
    assert_eq!(lossy_after(99, 100), [true, true]);
    assert_eq!(lossy_after(100, 1099), [false, false]);
    assert_eq!(lossy_after(100, 1100), [false, true]);
}

// What docs/measurements/weir.md says that a link takes: itself, and up to 256 parts of flows.
#[test]
fn the_state_of_a_link_is_bounded() {
    let sizes = [size_of::<Egress>(), size_of::<Link>(), super::super::parts::ENTRY];
    assert!(sizes[0] <= 16 && sizes[1] <= 728 && sizes[2] <= 24, "{sizes:?}");
}

//! Bursts, computed by hand for segments of 1500 B: 1448 B of payload.

use super::*;

fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

/// CUBIC with 200 segments in 24 ms, at 100 ms: 1.2 windows per round trip are 10,000 segments a second.
fn chance() -> Chance {
    Chance {
        now: us(100_000),
        rate: Some(10_000.0),
        is_paced: false,
        size: 1500,
        window: 200,
        free: 20,
        waiting: 1000,
        repairs: false,
        oldest: Some(us(76_100)),
        srtt: Duration::from_millis(24),
    }
}

/// The last burst left 0.5 ms before.
fn bursts() -> Bursts {
    Bursts { left: 0, next: us(99_500), least_rtt: Duration::from_millis(20) }
}

// 14.48 MB/s are 14,140 B in 1/1024 s: nine segments. 2,000 segments a second are 2,828 B, one; two is the least, and
// one where 100 a second are paced: 144,800 B/s. 10⁵ a second are 141,406 B, of which 65,536 hold 45.
#[test]
fn a_burst_holds_what_leaves_in_a_thousandth_of_a_second() {
    let most = |rate, is_paced| bursts().most(&Chance { rate: Some(rate), is_paced, ..chance() });
    let found = [(10_000.0, false), (2_000.0, false), (100.0, false), (100.0, true), (104.0, true), (1e5, true)];
    assert_eq!(found.map(|(rate, is_paced)| most(rate, is_paced)), [9, 2, 2, 1, 2, 45]);
}

// 1 ms holds 512 µs once: half of 65,536 B more, (14,140 + 32,768)/1448 = 32.4. 3 ms five times: 2,048 B, 11.2. 20 ms
// and 39 times nothing.
#[test]
fn bursts_are_larger_on_short_paths() {
    let most = |least_rtt| Bursts { least_rtt, ..bursts() }.most(&chance());
    assert_eq!([1, 3, 20].map(|ms| most(Duration::from_millis(ms))), [32, 11, 9]);
    assert_eq!(most(Duration::MAX), 9);
}

// The first unacknowledged segment is due at 100.1 ms. A third of 24 is 8.
#[test]
fn a_sender_waits_until_the_window_holds_a_burst() {
    let size = |given: Chance| bursts().size(&given);
    assert_eq!(size(Chance { free: 2, ..chance() }), None);
    assert_eq!(size(Chance { free: 8, ..chance() }), None);
    assert_eq!(size(Chance { free: 9, ..chance() }), Some(9));
    assert_eq!(size(Chance { free: 8, window: 24, ..chance() }), Some(8), "a third of the window");
    assert_eq!(size(Chance { free: 2, repairs: true, ..chance() }), Some(2));
    assert_eq!(size(Chance { free: 3, waiting: 3, ..chance() }), Some(3), "there is no more to send");
    assert_eq!(size(Chance { free: 2, oldest: Some(us(76_900)), ..chance() }), None, "due in 0.9 ms");
    assert_eq!(size(Chance { free: 2, oldest: Some(us(77_100)), ..chance() }), Some(2), "due in 1.1 ms");
    assert_eq!(size(Chance { free: 2, oldest: None, ..chance() }), Some(2));
    assert_eq!(size(Chance { free: 2, now: us(100_600), ..chance() }), Some(2), "silent for 1.1 ms");
}

// Half of 5 is 2: two bursts at least share a window.
#[test]
fn no_burst_takes_more_than_half_of_the_window() {
    let size = |window, free| bursts().size(&Chance { window, free, repairs: true, ..chance() });
    assert_eq!([size(5, 5), size(1, 1), size(200, 200)], [Some(2), Some(1), Some(9)]);
}

// Two segments 0.6 ms apart. The second burst is 0.3 ms late, which counts; the third 7.6 ms, of which 0.6 count, half
// of its length; what is not to be made up for is spaced by its whole length.
#[test]
fn paced_bursts_are_spaced_by_their_length_less_what_they_are_late() {
    let mut bursts = Bursts::new();
    let mut next = |at, credit| {
        bursts.begin(us(at), 2, Some(Duration::from_micros(600)), credit);
        bursts.next()
    };
    assert_eq!([next(0, true), next(1_500, true), next(10_000, true)], [us(1_200), us(2_400), us(10_600)]);
    assert_eq!(next(20_000, false), us(21_200));
}

#[test]
fn the_segments_of_a_burst_leave_together_unless_the_window_closes() {
    let mut bursts = Bursts::new();
    bursts.begin(us(0), 3, None, true);
    assert_eq!([bursts.take(), bursts.take(), bursts.take()], [true, true, false]);
    bursts.begin(us(0), 3, None, true);
    bursts.end();
    assert!(!bursts.take());
}

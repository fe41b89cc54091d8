use super::*;
use proptest::prelude::{prop, prop_assert, proptest};

const BASE: Duration = Duration::from_millis(20);

/// A hop with the bounds of `measured`, and the time.
struct Hop {
    noise: HopNoise,
    now: Time,
}

impl Hop {
    fn new() -> Hop {
        Hop { noise: HopNoise::new(Duration::from_millis(10_000), Duration::from_millis(5)), now: Time::ZERO }
    }

    /// `data` Data of 1000 B, one every `gap` ms, delayed by `delay(i)` ms; what is left of the last delay, in ms.
    fn feed(&mut self, data: u64, gap: u64, delay: impl Fn(u64) -> u64) -> f64 {
        self.bunches(data, 1, gap, delay)
    }

    /// As `feed`, but `size` Data at a time.
    fn bunches(&mut self, data: u64, size: u64, gap: u64, delay: impl Fn(u64) -> u64) -> f64 {
        let mut left = Duration::ZERO;
        for i in 0..data {
            if i % size == 0 {
                self.now += Duration::from_millis(gap);
            }
            let delay = Duration::from_millis(delay(i));
            self.noise.delivered(Bytes::new(1000), self.now);
            left = self.noise.remove(delay, BASE + delay, BASE, self.now);
        }
        left.millis()
    }
}

// Rounds of 20 ms: three with 20 Data, then three with 10. The first slow round has a fast one beside it; with the
// second both carry half of the best, and their 12 ms are less than the 13 ms of the best: the floor is 12 ms.
#[test]
fn a_delay_that_half_the_traffic_does_not_lessen_is_noise_and_a_queue_on_top_of_it_is_not() {
    let mut hop = Hop::new();
    assert_eq!(hop.feed(61, 1, |_| 13), 13.0, "nothing is known yet");
    assert_eq!(hop.feed(30, 2, |_| 12), 0.0);
    // 12 + 8 ms at the full rate, from the fourth Data on.
    assert_eq!(hop.feed(LATEST as u64 - 1, 1, |_| 20), 0.0);
    assert_eq!(hop.feed(1, 1, |_| 20), 8.0);
    assert_eq!(hop.feed(300, 1, |_| 20), 8.0, "and it stays a queue");
}

// 500 Data/s with 6 ms, then 1000 with 9: the hop was not full at 500, so its 6 ms were no queue.
#[test]
fn what_delayed_before_more_came_through_was_noise() {
    let mut hop = Hop::new();
    assert_eq!(hop.feed(100, 2, |_| 6), 6.0);
    hop.feed(60, 1, |_| 6);
    assert_eq!(hop.feed(61, 1, |_| 9), 3.0);
}

#[test]
fn a_queue_at_an_even_rate_is_not_noise_however_long_it_stands_and_however_fast_it_grew() {
    let mut hop = Hop::new();
    hop.feed(100, 1, |_| 0);
    // From 0 to 20 ms within 20 ms; the least of the last four lies three behind.
    assert_eq!(hop.feed(20, 1, |i| i), 16.0);
    assert_eq!(hop.feed(3000, 1, |_| 20), 20.0);
}

#[test]
fn a_queue_before_a_hop_that_has_become_slower_is_no_noise() {
    let mut hop = Hop::new();
    hop.feed(100, 1, |_| 5);
    assert_eq!(hop.feed(500, 2, |_| 25), 25.0);
}

#[test]
fn a_peak_of_three_data_is_no_delay_at_all() {
    let mut hop = Hop::new();
    hop.feed(100, 1, |_| 0);
    assert_eq!(hop.feed(3, 1, |_| 30), 0.0);
}

// Every second Data of a round lies 10 ms below the one before it, at most half of them: up to 5 ms of spread, and more
// the more rounds there were.
#[test]
fn delays_that_go_up_and_down_within_a_round_are_allowed_their_spread() {
    let mut hop = Hop::new();
    hop.feed(201, 1, |i| 10 * (i % 2));
    let noise = hop.noise.noise().millis();
    assert!(noise > 4.0 && noise <= 5.0, "{noise}");
    assert_eq!(hop.feed(4, 1, |_| 30), 30.0 - noise);
}

#[test]
fn noise_is_forgotten_after_its_window_and_a_pause_says_nothing_of_the_hop() {
    let mut hop = Hop::new();
    hop.feed(61, 1, |_| 13);
    hop.feed(30, 2, |_| 12);
    hop.now += Duration::from_millis(5000);
    assert_eq!(hop.feed(61, 1, |_| 12), 0.0);
    hop.now += Duration::from_millis(10_001);
    assert_eq!(hop.feed(61, 1, |_| 12), 12.0);
}

// Twice as many Data after 40 ms, eight at a time, delayed by 12 ms: a queue would send them evenly. Nor does the size of
// the delay matter: a window that is sent at once through 20 ms of jitter is delayed by as much in its second round.
#[test]
fn while_more_comes_through_every_round_only_even_arrivals_mean_a_queue() {
    let mut hop = Hop::new();
    hop.feed(1, 1, |_| 0);
    assert_eq!(hop.bunches(16, 8, 20, |_| 12), 0.0);
    assert_eq!(hop.bunches(32, 8, 10, |_| 12), 0.0);
    assert_eq!(hop.bunches(8, 8, 10, |_| 60), 0.0, "large");

    let mut hop = Hop::new();
    hop.feed(12, 1, |i| i);
    assert_eq!(hop.feed(1, 1, |_| 9), 9.0, "twelve gaps of 1 ms are even: the least of the last four delays counts");
}

// As the first test, but a Data that had been lost comes in the slow rounds, or in the one after them.
#[test]
fn rounds_with_losses_say_nothing_of_noise() {
    for lost_in in [0..30, 30..40] {
        let mut hop = Hop::new();
        hop.feed(100, 1, |_| 13);
        for i in 0..30 {
            if lost_in.contains(&i) {
                hop.noise.lossy();
            }
            hop.feed(1, 2, |_| 12);
        }
        let floor = hop.noise.floor;
        assert_eq!(floor, Duration::ZERO, "{lost_in:?}");
    }
}

proptest! {
    #[test]
    fn no_history_makes_noise_of_more_than_its_bound_or_a_delay_larger(
        steps in prop::collection::vec((0u64..100_000_000, 0u64..1_000_000_000, 0u64..70_000), 1..300),
    ) {
        let mut hop = Hop::new();
        for (wait, delay, size) in steps {
            hop.now += Duration::from_nanos(wait);
            hop.noise.delivered(Bytes::new(size), hop.now);
            let delay = Duration::from_nanos(delay);
            if size % 7 == 0 {
                hop.noise.lossy();
            }
            prop_assert!(hop.noise.remove(delay, BASE + delay, BASE, hop.now) <= delay);
            prop_assert!(hop.noise.noise() <= MOST);
            prop_assert!(hop.noise.arrived.by.len() <= INSTANTS && hop.noise.filling.times.len() <= GAPS);
        }
    }
}

use super::*;
use crate::ctx::Rng;
use proptest::prelude::{any, prop, prop_assert, proptest};
use std::collections::VecDeque;

/// Bits of a frame of 1400 B on the wire.
const FRAME: u64 = 11_200;
/// What the neighbour's clock shows when ours begins.
const CLOCK: u64 = 4_294_000_000;

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A link with a drop-tail queue behind its sender, and a neighbour that says of each frame when it came.
struct Link {
    learned: LearnedRate,
    /// In bit/s.
    rate: f64,
    /// One way.
    delay: Duration,
    /// Of frames.
    queue: usize,
    /// Frames that leave together.
    together: u64,
    /// Of frames, beyond the queue.
    noise: f64,
    /// A frame may take so much longer; order is kept.
    jitter: Duration,
    rng: Rng,
    free: Time,
    last: Time,
    /// What waits, by when it has left.
    waiting: VecDeque<Time>,
    /// Acks under way.
    acks: VecDeque<(Time, Frame, Arrival)>,
    number: u64,
    count: u32,
    outstanding: usize,
    now: Time,
    /// The longest wait of late.
    longest: Duration,
    /// By how much the neighbour's clock runs too fast, and whether it says when frames come.
    lie: f64,
    tells: bool,
}

impl Link {
    fn new(mbps: f64) -> Link {
        Link {
            learned: LearnedRate::default(),
            rate: mbps * 1e6,
            delay: Duration::from_millis(10),
            queue: 1000,
            together: 1,
            noise: 0.0,
            jitter: Duration::ZERO,
            rng: Rng::derive(1, &[]),
            free: Time::ZERO,
            last: Time::ZERO,
            waiting: VecDeque::new(),
            acks: VecDeque::new(),
            number: 7,
            count: 0,
            outstanding: 0,
            now: Time::ZERO,
            longest: Duration::ZERO,
            lie: 1.0,
            tells: true,
        }
    }

    fn leave(&mut self) {
        let now = self.now;
        let frame = Frame { at: now, before: self.learned.sent(), number: self.number };
        self.learned.on_sent(now, FRAME, self.outstanding == 0);
        self.number += 1;
        self.waiting.retain(|left| *left > now);
        if self.waiting.len() >= self.queue {
            return;
        }
        self.longest = self.longest.max(self.free.since(now));
        self.free = self.free.max(now) + Duration::from_secs_f64(FRAME as f64 / self.rate);
        self.waiting.push_back(self.free);
        if self.rng.unit() < self.noise {
            return;
        }
        let late = self.jitter.scale(self.rng.unit());
        self.last = self.last.max(self.free + self.delay + late);
        self.count += 1;
        // A lie begins again each half second, before it is taken for another clock.
        let since = (self.last.nanos() / 1000) % 500_000;
        let clock = (CLOCK + self.last.nanos() / 1000 + (since as f64 * (self.lie - 1.0)) as u64) as u32;
        self.acks.push_back((self.last + self.delay, frame, Arrival { time: clock, count: self.count }));
        self.outstanding += 1;
    }

    /// Sends for `seconds` at what `pace` makes of the rate that is stated, both in bit/s.
    fn run(&mut self, seconds: f64, pace: impl Fn(Option<f64>) -> f64) -> Option<f64> {
        let until = self.now + Duration::from_secs_f64(seconds);
        self.longest = Duration::ZERO;
        let mut next = self.now;
        while self.now < until {
            self.now = next.min(self.acks.front().map_or(Time::NEVER, |ack| ack.0));
            while let Some((_, frame, arrival)) = self.acks.pop_front_if(|ack| ack.0 <= self.now) {
                self.outstanding -= 1;
                self.learned.on_ack(self.now, frame, self.tells.then_some(arrival));
            }
            if next <= self.now {
                (0..self.together).for_each(|_| self.leave());
                let stated = self.learned.rate().map(|rate| rate.bps() as f64);
                next = self.now + Duration::from_secs_f64((self.together * FRAME) as f64 / pace(stated));
            }
        }
        self.learned.rate().map(|rate| rate.mbps())
    }
}

/// As a shaper with enough to send.
fn all(stated: Option<f64>) -> f64 {
    stated.unwrap_or(13e6)
}

#[track_caller]
fn is_about(found: Option<f64>, mbps: f64, part: f64) {
    let rate = found.expect("a rate");
    assert!((rate / mbps - 1.0).abs() <= part, "{rate} in place of {mbps}");
}

#[test]
fn a_line_has_the_slope_of_its_points_and_says_how_far_they_are_off() {
    let mut line = Line::default();
    [(1.0, 10.0), (2.0, 30.0), (3.0, 50.0)].into_iter().for_each(|(time, value)| line.add(time, value));
    assert!((line.steepness() - 20.0).abs() < 1e-9);
    assert!(line.off() < 1e-6);
    // Least squares through these four: slope 17, values off by −2, 1, 4, −3, so √(30/4) of 17 in time.
    line.add(4.0, 60.0);
    assert!((line.steepness() - 17.0).abs() < 1e-9);
    assert!((line.off() - 7.5f64.sqrt() / 17.0).abs() < 1e-9);
    assert_eq!(line.slope(5), None);
}

#[test]
fn a_link_that_is_not_full_has_no_rate() {
    let mut link = Link::new(10.0);
    assert_eq!(link.run(30.0, |_| 9.5e6), None);
    assert!(link.learned.is_told());
}

#[test]
fn a_full_link_has_its_rate_and_its_queue_goes() {
    let mut link = Link::new(10.0);
    is_about(link.run(0.5, all), 10.0, 0.2);
    is_about(link.run(1.0, all), 10.0, 0.01);
    link.run(10.0, |stated| 0.99 * all(stated));
    let found = link.run(20.0, |stated| 0.99 * all(stated));
    is_about(found, 10.0, 0.06);
    assert!(link.longest < Duration::from_millis(8), "{:?}", link.longest);
}

#[test]
fn packets_of_several_frames_make_no_queue_where_they_leave_at_the_rate() {
    for (mbps, pace) in [(20.0, 0.98), (20.0, 0.93), (5.0, 0.97), (100.0, 0.97)] {
        let mut link = Link { together: 6, ..Link::new(mbps) };
        link.run(2.0, |stated| stated.unwrap_or(1.2e6 * mbps));
        is_about(link.learned.rate().map(|rate| rate.mbps()), mbps, 0.01);
        for _ in 0..20 {
            link.run(0.5, |stated| stated.map_or(1.2e6 * mbps, |rate| rate * pace));
            // It may be raised for a moment, and less is stated while a queue is drained.
            let rate = link.learned.rate.map(|rate| rate / 1e6);
            assert!(rate.is_some_and(|rate| rate >= 0.99 * mbps), "{rate:?} in place of {mbps}");
        }
    }
}

#[test]
fn what_the_return_path_does_says_nothing() {
    let mut link = Link::new(10.0);
    link.run(1.0, |_| 5e6);
    // Acks wait for 40 ms: the neighbour's clock says that frames did not.
    for ack in &mut link.acks {
        ack.0 += Duration::from_millis(40);
    }
    assert_eq!(link.run(2.0, |_| 5e6), None);
}

#[test]
fn a_link_that_gets_slower_is_found_within_half_a_second_and_one_that_gets_faster_within_ten() {
    let mut link = Link::new(10.0);
    link.run(3.0, |stated| 0.99 * all(stated));
    link.rate = 5e6;
    is_about(link.run(0.5, |stated| 0.99 * all(stated)), 5.0, 0.25);
    is_about(link.run(2.0, |stated| 0.99 * all(stated)), 5.0, 0.06);
    link.rate = 20e6;
    is_about(link.run(10.0, |stated| 0.99 * all(stated)), 20.0, 0.06);
}

#[test]
fn losses_that_are_noise_are_none_of_a_queue() {
    for seed in 0..5 {
        let mut link = Link { noise: 0.01, rng: Rng::derive(seed, &[]), ..Link::new(10.0) };
        assert_eq!(link.run(60.0, |_| 5e6), None);
        is_about(link.run(10.0, |stated| 0.99 * all(stated)), 10.0, 0.1);
    }
}

#[test]
fn a_queue_too_short_to_be_seen_overflows() {
    let mut link = Link { queue: 2, ..Link::new(10.0) };
    is_about(link.run(3.0, all), 10.0, 0.05);
}

#[test]
fn delays_that_vary_tell_no_rate() {
    for seed in 0..5 {
        let mut link = Link { jitter: Duration::from_millis(20), rng: Rng::derive(seed, &[]), ..Link::new(10.0) };
        for pace in [1e6, 2e6, 4e6, 8e6] {
            assert_eq!(link.run(2.0, |_| pace), None, "seed {seed}, {pace} bit/s");
        }
    }
}

#[test]
fn a_delay_that_does_not_go_is_none_of_ours_and_the_rate_is_forgotten() {
    let mut link = Link::new(10.0);
    link.run(3.0, |stated| 0.99 * all(stated));
    link.delay = Duration::from_millis(40);
    let mut forgotten = false;
    for _ in 0..20 {
        forgotten |= link.run(0.1, |stated| stated.unwrap_or(4e6).min(4e6)).is_none();
    }
    assert!(forgotten);
    assert_eq!(link.run(5.0, |_| 4e6), None);
}

// The queue of 32 ms goes within half a second, but from then on the path takes 5 ms longer.
#[test]
fn a_queue_of_which_a_part_does_not_go_is_not_drained_for_good() {
    let mut link = Link::new(100.0);
    link.run(0.15, |_| 130e6);
    assert!(matches!(link.learned.phase, Phase::Drain { .. }), "{:?}", link.learned.phase);
    link.delay = Duration::from_millis(15);
    let rate = link.run(2.0, all);
    assert!(rate.is_none_or(|rate| rate >= 97.0), "{rate:?}");
}

#[test]
fn a_pause_tells_no_rate() {
    let mut link = Link::new(10.0);
    for _ in 0..40 {
        link.run(0.05, |_| 9e6);
        link.now += Duration::from_millis(200);
    }
    assert_eq!(link.learned.rate(), None);
}

#[test]
fn a_neighbour_that_begins_again_is_measured_anew() {
    let mut learned = LearnedRate::default();
    let mut arrive = |at: u64, time: u32, count: u32| {
        let frame = Frame { at: ms(at), before: learned.sent(), number: at };
        learned.on_sent(ms(at), FRAME, false);
        learned.on_ack(ms(at + 20), frame, Some(Arrival { time, count }));
        learned.is_told()
    };
    assert!(arrive(1, 11_000, 1));
    assert!(!arrive(2, 900_000_000, 2));
    assert!(arrive(3, 900_001_000, 3));
    assert!(!arrive(4, 900_002_000, 1 << 31));
}

#[test]
fn a_neighbour_that_lied_gets_the_rate_of_its_link_again_within_a_minute_of_its_last_lie() {
    for lie in [2.0, 10.0, 100.0] {
        let mut link = Link::new(100.0);
        link.run(3.0, |stated| stated.unwrap_or(130e6));
        link.lie = lie;
        link.run(20.0, |stated| stated.unwrap_or(130e6));
        assert!(link.learned.rate().is_none_or(|rate| rate >= LEAST), "{lie}");
        link.lie = 1.0;
        is_about(link.run(60.0, |stated| stated.unwrap_or(130e6)), 100.0, 0.1);
    }
}

#[test]
fn a_neighbour_that_says_no_more_when_frames_come_has_no_rate_after_ten_seconds() {
    let mut link = Link::new(10.0);
    is_about(link.run(5.0, all), 10.0, 0.21);
    link.tells = false;
    assert!(link.run(8.0, all).is_some());
    assert_eq!((link.run(4.0, all), link.learned.is_told()), (None, false));
}

proptest! {
    #[test]
    fn whatever_a_neighbour_says_the_rate_is_a_number_of_bits(
        told in prop::collection::vec((any::<u32>(), any::<u32>(), 0u64..50, 0u32..20_000), 1..400),
        honest in any::<bool>(),
    ) {
        let (mut learned, mut now) = (LearnedRate::default(), Time::ZERO);
        for (number, (time, count, wait, bits)) in told.into_iter().enumerate() {
            let frame = Frame { at: now, before: learned.sent(), number: number as u64 };
            learned.on_sent(now, u64::from(bits), wait == 0);
            now += Duration::from_millis(wait);
            let near = Arrival { time: (now.nanos() / 1000) as u32 + time % 5000, count: number as u32 };
            learned.on_ack(now, frame, Some(if honest { near } else { Arrival { time, count } }));
            prop_assert!(learned.rate().is_none_or(|rate| (LEAST..=MOST).contains(&rate)));
        }
    }
}

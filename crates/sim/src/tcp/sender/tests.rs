//! Tests against traces and closed forms computed by hand, over a path of constant delay without a queue.

use super::*;
use crate::tcp::{Receiver, Rule};
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::VecDeque;
use std::ops::Range;

const RTT: u64 = 100;

/// Each segment is acknowledged at once.
const SINGLE: Rule = Rule { every: 1, delay: Duration::ZERO, quick: 0 };

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

/// A sender and a receiver with the round-trip time between them; the k-th transmission is lost if `lose` returns true.
struct Path<F> {
    sender: Sender,
    receiver: Receiver,
    acks: VecDeque<(Time, Ack)>,
    now: Time,
    lose: F,
    sent: u64,
    /// One of so many acknowledgements is lost.
    ack_loss: u64,
    /// A segment of which so many transmissions are lost.
    doomed: (u32, u32),
    /// When everything is lost.
    dark: Range<Time>,
    delivered: u64,
}

impl<F: FnMut(u64) -> bool> Path<F> {
    fn new(lose: F) -> Path<F> {
        Path::with(Algorithm::Cubic, u32::MAX, lose)
    }

    fn with(algorithm: Algorithm, total: u32, lose: F) -> Path<F> {
        let sender = Sender::new(algorithm, total, 1500, Rng::derive(1, &[]));
        let receiver = Receiver::new(SINGLE, total);
        Path {
            sender,
            receiver,
            acks: VecDeque::new(),
            now: Time::ZERO,
            lose,
            sent: 0,
            ack_loss: u64::MAX,
            doomed: (0, 0),
            dark: Time::NEVER..Time::NEVER,
            delivered: 0,
        }
    }

    fn send(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let (doomed, times) = self.doomed;
            let is_doomed = segment.number == doomed && segment.transmission <= times;
            let lost = (self.lose)(self.sent) || is_doomed || self.dark.contains(&self.now);
            self.sent += 1;
            if !lost {
                let (ack, fresh) = self.receiver.segment(self.now, segment);
                self.delivered += u64::from(fresh);
                self.acknowledge(ack);
            }
        }
    }

    fn acknowledge(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        if !self.sent.is_multiple_of(self.ack_loss) {
            self.acks.push_back((self.now + Duration::from_millis(RTT), ack));
        }
    }

    /// Continues until `end`; calls `look` after each event.
    fn run(&mut self, end: Time, mut look: impl FnMut(Time, &Sender)) {
        self.send();
        loop {
            let next = self.acks.front().map_or(Time::NEVER, |ack| ack.0).min(self.sender.poll_timeout());
            let next = next.min(self.receiver.poll_timeout());
            if next > end {
                return;
            }
            self.now = next;
            if let Some(ack) = self.receiver.handle_timeout(next) {
                self.acknowledge(Some(ack));
                continue;
            }
            match self.acks.front() {
                Some(&(at, ack)) if at == next => {
                    self.acks.pop_front();
                    self.sender.ack(next, ack);
                }
                _ => self.sender.handle_timeout(next),
            }
            self.send();
            look(self.now, &self.sender);
        }
    }
}

// Ten segments immediately, then one more for each that is acknowledged: 10, 20, 40, 80 per round trip.
#[test]
fn slow_start_begins_with_ten_segments_and_doubles_every_round_trip() {
    let mut path = Path::new(|_| false);
    let mut sent = Vec::new();
    for round in 0..4 {
        path.run(ms(round * RTT), |_, _| ());
        sent.push(path.sent);
    }
    assert_eq!(sent, [10, 30, 70, 150]);
    assert_eq!(path.sender.srtt(), Duration::from_millis(RTT));
}

// The sixteen of the beginning one by one: ten, and six of the next twenty; the other fourteen in pairs, 13 in all. The
// forty after them are acknowledged in twenty pairs. Each acknowledgement opens the window for twice what it says.
#[test]
fn acknowledgements_in_pairs_let_slow_start_double_every_round_trip() {
    let mut path = Path::new(|_| false);
    path.receiver = Receiver::new(Rule::TCP, u32::MAX);
    let (mut sent, mut acks) = (Vec::new(), Vec::new());
    for round in 0..4 {
        path.run(ms(round * RTT), |_, _| ());
        sent.push(path.sent);
        acks.push(path.acks.len());
    }
    assert_eq!((sent, acks), (vec![10, 30, 70, 150], vec![10, 13, 20, 40]));
}

/// W(t) of RFC 9438 section 4.2 with C 0.4 and beta 0.7, after a cut at `max`.
fn cubic(max: f64, t: f64) -> f64 {
    let k = libm::cbrt(max * 0.3 / 0.4);
    0.4 * libm::pow(t - k, 3.0) + max
}

// By hand for a cut at 100: K = cbrt(75) = 4.217 s; W(1) = 86.68, W(2) = 95.63, W(K) = 100, W(6) = 102.27. The target
// is W(t + RTT), reached within a round trip, so that the window lies between W(t) and W(t + RTT), rounded by a
// segment.
#[test]
fn after_a_loss_the_window_follows_the_cubic_function() {
    for (t, w) in [(0.0, 70.0), (1.0, 86.68), (2.0, 95.63), (4.2172, 100.0), (6.0, 102.27)] {
        assert!((cubic(100.0, t) - w).abs() < 0.02, "{t}: {}", cubic(100.0, t));
    }
    // 10 + 20 + 40 + 80 segments are sent in slow start; the 51st of the next 160 is lost. By then the window has grown
    // by the 50 before it and by two after it: 212.
    let mut path = Path::new(|sent| sent == 200);
    let (mut cut, mut max, mut last) = (None, 0.0, 0.0);
    let mut checked = 0;
    path.run(ms(8000), |now, sender| {
        if cut.is_none() && sender.counters().recoveries == 1 {
            (cut, max) = (Some(now), last);
            assert!((sender.window() - 0.7 * max).abs() < 1e-9, "{} after {max}", sender.window());
        }
        last = sender.window();
        let t = cut.map_or(0.0, |cut| now.since(cut).secs());
        // The lost segment holds the window for a round trip. Later, Reno's estimate would be above.
        if (0.5..6.0).contains(&t) {
            let (low, high) = (cubic(max, t - 0.2), cubic(max, t + 0.1));
            assert!((low - 1.0..=high + 1.0).contains(&last), "{t} s: {last}, not {low} to {high}");
            checked += 1;
        }
    });
    assert!(max == 212.0 && checked > 1000, "{max} {checked}");
    assert_eq!((path.sender.counters().timeouts, path.sender.counters().retransmissions), (0, 1));
}

// RFC 9438 section 5.1, equation 6: where one of 1/p segments is lost, the mean window is 1.054 RTT^0.75 / p^0.75. For
// p = 1/20 000 and 100 ms that is 315 segments.
#[test]
fn the_mean_window_under_periodic_losses_is_that_of_the_closed_form() {
    const PERIOD: u64 = 20_000;
    let mut path = Path::new(|sent| sent % PERIOD == PERIOD - 1);
    path.run(ms(100_000), |_, _| ());
    let before = path.sent;
    path.run(ms(700_000), |_, _| ());
    let mean = (path.sent - before) as f64 * RTT as f64 / 600_000.0;
    let expected = 1.054 * libm::pow(RTT as f64 / 1000.0, 0.75) * libm::pow(PERIOD as f64, 0.75);
    assert!((mean / expected - 1.0).abs() < 0.08, "{mean} of {expected}");
    assert_eq!(path.sender.counters().timeouts, 0);
}

#[test]
fn all_losses_of_a_window_are_retransmitted_in_one_recovery() {
    let mut path = Path::new(|sent| (100..110).contains(&sent) || sent == 120);
    path.run(ms(3000), |_, _| ());
    let counters = path.sender.counters();
    assert_eq!((counters.recoveries, counters.retransmissions, counters.timeouts), (1, 11, 0));
    assert!(path.receiver.next() > 1000);
}

// By hand: 10 and 20 segments arrive; the 40 of the third round trip (sent at 200 ms) are lost, and so are the
// retransmissions after three timeouts. After 29 equal samples the deviation is near zero, so that the timer lies 200
// ms above the round trip: it expires 300, 600, 1200 and 2400 ms after the last acknowledgement or the retransmission.
#[test]
fn the_timer_backs_off_and_the_window_begins_anew() {
    let mut path = Path::new(|sent| (30..73).contains(&sent));
    let mut timeouts = Vec::new();
    path.run(ms(20_000), |now, sender| {
        if sender.counters().timeouts as usize > timeouts.len() {
            timeouts.push((now, sender.window()));
        }
    });
    assert_eq!(timeouts, [500, 1100, 2300, 4700].map(|at| (ms(at), 1.0)));
    assert!(path.receiver.next() > 1000, "it goes on: {}", path.receiver.next());
}

#[test]
fn a_finite_transfer_ends_when_all_is_acknowledged() {
    let mut path = Path::with(Algorithm::Cubic, 50, |sent| sent == 3);
    path.run(ms(5000), |_, _| ());
    assert!(path.sender.is_complete());
    assert_eq!((path.receiver.next(), path.sent, path.sender.poll_timeout()), (50, 51, Time::NEVER));
}

// A cut at 212, as above, halves the window; each round trip from the end of the recovery adds one segment.
#[test]
fn after_a_loss_reno_halves_its_window_and_adds_a_segment_per_round_trip() {
    let mut path = Path::with(Algorithm::Reno, u32::MAX, |sent| sent == 200);
    let mut windows = Vec::new();
    path.run(ms(3000), |now, sender| {
        if sender.counters().recoveries == 1 {
            windows.push((now, sender.window()));
        }
    });
    let (cut, first) = windows[0];
    assert_eq!(first, 106.0);
    for (rounds, window) in [(1, 106.0), (2, 107.0), (10, 115.0), (20, 125.0)] {
        let at = cut + Duration::from_millis(rounds * RTT);
        let seen = windows.iter().rev().find(|w| w.0 <= at).unwrap().1;
        assert!((seen - window).abs() < 1.5, "{rounds} round trips: {seen} instead of {window}");
    }
}

// Acknowledgements of one segment each, all at one instant: the first finds a sender that was silent for a round trip,
// and where a later one opens the window by one segment, that waits for the next. After the last none is due for long.
#[test]
fn in_congestion_avoidance_segments_leave_in_twos() {
    let mut path = Path::with(Algorithm::Reno, u32::MAX, |sent| sent == 200);
    path.run(ms(2000), |_, _| ());
    let (mut before, mut sent) = (path.sent, Vec::new());
    path.run(ms(2100), |_, sender| {
        sent.push(sender.counters().sent - before);
        before = sender.counters().sent;
    });
    let (inner, twos) = (&sent[1..sent.len() - 1], sent.iter().filter(|&&count| count == 2).count());
    assert!(inner.iter().all(|&count| count == 0 || count == 2) && twos > 50, "{sent:?}");
    assert_eq!((sent.first(), sent.last()), (Some(&1), Some(&1)));
}

// Where one of N segments is lost, the window rises from W/2 to W in W/2 round trips, which send 3/8 W² = N; its mean
// is 3/4 W = sqrt(3/2 N). For N = 2400 that is 60 segments.
#[test]
fn the_mean_window_of_reno_under_periodic_losses_is_that_of_the_closed_form_with_tcp_and_with_quic() {
    const PERIOD: u64 = 2400;
    for algorithm in [Algorithm::Reno, Algorithm::QuicReno] {
        let mut path = Path::with(algorithm, u32::MAX, |sent| sent % PERIOD == PERIOD - 1);
        path.run(ms(100_000), |_, _| ());
        let before = path.sent;
        path.run(ms(500_000), |_, _| ());
        let mean = (path.sent - before) as f64 * RTT as f64 / 400_000.0;
        assert!((mean / 60.0 - 1.0).abs() < 0.06, "{algorithm:?}: {mean}");
        assert_eq!(path.sender.counters().timeouts, 0);
    }
}

// The 101st segment is lost twice.
#[test]
fn a_retransmission_that_is_lost_is_sent_again_without_a_timeout() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno, Algorithm::BbrV1] {
        let mut path = Path::with(algorithm, u32::MAX, |_| false);
        let (mut retransmissions, mut seen) = (0, 0);
        path.doomed = (100, 2);
        path.run(ms(4000), |_, sender| {
            retransmissions = sender.counters().retransmissions;
            seen = sender.counters().timeouts;
        });
        assert_eq!((retransmissions, seen), (2, 0), "{algorithm:?}");
        assert!(path.receiver.next() > 1000);
    }
}

// Ten at once; nine arrive at 100 ms, each adds a segment: 19. The ninth is overtaken by one only, so it counts as lost
// 9/8 of a round trip after it was sent, at 112.5 ms. Its retransmission ends the transfer at 212.5 ms.
#[test]
fn quic_detects_by_time_what_too_few_segments_overtook() {
    let mut path = Path::with(Algorithm::QuicReno, 10, |sent| sent == 8);
    let mut seen = Vec::new();
    path.run(ms(2000), |now, sender| seen.push((now.since(Time::ZERO).nanos(), sender.window())));
    assert_eq!(seen[8], (100_000_000, 19.0));
    assert_eq!(&seen[9..], [(112_500_000, 9.5), (212_500_000, 10.0 - 0.5 + 1.0 / 9.5)]);
    let counters = path.sender.counters();
    assert_eq!((counters.sent, counters.recoveries, counters.timeouts), (11, 1, 0));
}

// The last of ten is lost. After nine samples of 100 ms the deviation is 50 (3/4)^8 = 5.0056 ms, so the probe timeout
// is 100 + 20.023 + 25 ms from the last transmission, at 145.023 ms. Two probes leave; the window stays.
#[test]
fn quic_probes_for_what_nothing_overtook_and_keeps_its_window() {
    let mut path = Path::with(Algorithm::QuicReno, 10, |sent| sent == 9);
    let mut seen = Vec::new();
    path.run(ms(2000), |now, sender| seen.push((now.since(Time::ZERO).nanos() / 1000, sender.window())));
    assert_eq!(&seen[8..11], [(100_000, 19.0), (145_022, 19.0), (245_022, 20.0)]);
    let counters = path.sender.counters();
    assert_eq!((counters.sent, counters.recoveries, counters.timeouts), (12, 0, 1));
    assert!(path.sender.is_complete());
}

// From 1 s to 4 s nothing arrives: losses lie further apart than three probe timeouts, so that the window falls to two
// segments (RFC 9002 section 7.6.2). After a gap of a round trip it is halved only.
#[test]
fn quic_takes_losses_without_arrivals_between_them_for_persistent_congestion() {
    for (end, persistent) in [(4000, true), (1100, false)] {
        let mut path = Path::with(Algorithm::QuicReno, u32::MAX, |_| false);
        path.dark = ms(1000)..ms(end);
        let mut least = f64::MAX;
        path.run(ms(8000), |at, sender| {
            least = least.min(if at > ms(1000) { sender.window() } else { f64::MAX });
        });
        // The acknowledgement that shows it adds a segment.
        assert_eq!(least == 3.0, persistent, "{least}");
        assert!(path.receiver.next() > 5000, "it goes on: {}", path.receiver.next());
    }
}

// 1.25 windows per round trip: 8 ms apart for ten segments and 100 ms.
#[test]
fn quic_spaces_its_segments() {
    let mut path = Path::with(Algorithm::QuicReno, u32::MAX, |sent| sent == 10);
    let mut times: Vec<(Time, f64)> = Vec::new();
    let mut sent = 0;
    path.run(ms(4000), |now, sender| {
        if sender.counters().sent > sent {
            assert!(sender.counters().sent == sent + 1 || sent == 0, "one by one");
            sent = sender.counters().sent;
            times.push((now, sender.window()));
        }
    });
    for pair in times[200..].windows(2) {
        let gap = pair[1].0.since(pair[0].0).secs();
        assert!(gap >= 0.99 * 0.1 / (1.25 * pair[1].1), "{gap} s with {} segments", pair[1].1);
    }
}

const ALL: [Algorithm; 4] = [Algorithm::Cubic, Algorithm::Reno, Algorithm::BbrV1, Algorithm::QuicReno];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    // Bursts, isolated losses, lost acknowledgements, and then a path that works: the transfer ends, and every
    // transmission is accounted for.
    #[test]
    fn a_transfer_ends_after_any_losses_and_accounts_for_every_transmission(
        kind in 0usize..4,
        total in 1u32..600,
        bursts in prop::collection::vec((0u64..900, 1u64..60), 0..12),
        every in 2u64..50,
        ack_loss in 2u64..50,
        end in 0u64..1200,
    ) {
        let lose = |sent: u64| {
            let in_burst = bursts.iter().any(|&(from, count)| (from..from + count).contains(&sent));
            sent < end && (sent.is_multiple_of(every) || in_burst)
        };
        let mut path = Path::with(ALL[kind], total, lose);
        path.receiver = Receiver::new(if kind == 3 { Rule::QUIC } else { Rule::TCP }, total);
        path.ack_loss = ack_loss;
        let mut in_flight = 0;
        path.run(ms(100_000_000), |_, sender| in_flight = sender.in_flight());
        let counters = path.sender.counters();
        prop_assert!(path.sender.is_complete(), "{:?} of {total}", path.receiver.next());
        prop_assert_eq!((path.receiver.next(), path.delivered), (total, u64::from(total)));
        prop_assert_eq!((counters.sent, in_flight), (path.sent, 0));
        prop_assert_eq!(counters.sent - counters.retransmissions, u64::from(total));
        prop_assert!(path.sender.window() >= 1.0 && path.sender.window().is_finite());
        prop_assert_eq!(path.sender.poll_timeout(), Time::NEVER);
    }
}

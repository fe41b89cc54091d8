//! Tests against traces and closed forms computed by hand, over a path of constant delay without a queue.

use super::*;
use crate::tcp::Receiver;

const RTT: u64 = 100;

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
}

impl<F: FnMut(u64) -> bool> Path<F> {
    fn new(lose: F) -> Path<F> {
        let (sender, receiver) = (Sender::new(u32::MAX), Receiver::default());
        Path { sender, receiver, acks: VecDeque::new(), now: Time::ZERO, lose, sent: 0 }
    }

    fn send(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let lost = (self.lose)(self.sent);
            self.sent += 1;
            if !lost {
                let (ack, _) = self.receiver.segment(segment);
                self.acks.push_back((self.now + Duration::from_millis(RTT), ack));
            }
        }
    }

    /// Continues until `end`; calls `look` after each event.
    fn run(&mut self, end: Time, mut look: impl FnMut(Time, &Sender)) {
        self.send();
        loop {
            let next = self.acks.front().map_or(Time::NEVER, |ack| ack.0).min(self.sender.poll_timeout());
            if next > end {
                return;
            }
            self.now = next;
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
// retransmissions after three timeouts. After 29 equal samples the deviation is near zero, so that the timer has its
// minimum, 200 ms: it expires at 400, 800, 1600 and 3200 ms.
#[test]
fn the_timer_backs_off_and_the_window_begins_anew() {
    let mut path = Path::new(|sent| (30..73).contains(&sent));
    let mut timeouts = Vec::new();
    path.run(ms(20_000), |now, sender| {
        if sender.counters().timeouts as usize > timeouts.len() {
            timeouts.push((now, sender.window()));
        }
    });
    assert_eq!(timeouts, [400, 800, 1600, 3200].map(|at| (ms(at), 1.0)));
    assert!(path.receiver.next() > 1000, "it goes on: {}", path.receiver.next());
}

#[test]
fn a_finite_transfer_ends_when_all_is_acknowledged() {
    let mut path = Path::new(|sent| sent == 3);
    path.sender = Sender::new(50);
    path.run(ms(5000), |_, _| ());
    assert!(path.sender.is_complete());
    assert_eq!((path.receiver.next(), path.sent, path.sender.poll_timeout()), (50, 51, Time::NEVER));
}

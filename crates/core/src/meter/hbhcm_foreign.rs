//! A queue that others fill: it stands although little is left of what was in flight.
//!
//! A standing queue of a hop's own packets holds at most what is in flight, so that its delay falls faster than that
//! does. Where the delay stays, others keep the queue full, or the way has grown longer; marks then only take from
//! those who heed them, and losses are the better signal. A hop that becomes slower has its delay rise first, with as
//! much in flight, and then fall with it.
//!
//! Schemes that keep queues short move shares among each other while the delay stays, too: only delay that none of them
//! leaves standing counts.
//!
//! Ours. Related: modes beside traffic that fills buffers in Copa (Arun and Balakrishnan 2018), by queues that never
//! empty, and in Nimbus (Goyal et al. 2022), by probing.

use crate::units::{Duration, Time};

/// Delay counts from this multiple of what is tolerated on: 30 ms of `measured`. Fitted: with 4 two tunnels of
/// `measured` that share a link took each other for foreign, with 6 they do not.
const STANDING: f64 = 6.0;
/// The delay stays while it is at least this part of the highest.
const STAYS: f64 = 0.8;
/// Little is in flight from this part of the most on. Fitted among 0.33 to 0.7, beside TCP.
const LITTLE: f64 = 0.6;
/// How many windows delay counts as others' before marks try it again. A trial costs some seconds of growth.
const WINDOWS: u64 = 3;

/// Whether others fill the queue of a hop.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Foreign {
    window: Duration,
    least: Duration,
    standing: Option<Standing>,
    until: Time,
}

/// Rounds in a row whose delay stayed.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Standing {
    highest: Duration,
    /// The most bytes in flight.
    most: f64,
}

impl Foreign {
    /// `window`: a third of how long delay counts as others'. `tolerance`: what is tolerated without a mark.
    pub fn new(window: Duration, tolerance: Duration) -> Foreign {
        Foreign { window, least: tolerance.scale(STANDING), standing: None, until: Time::ZERO }
    }

    /// A round is over with this mean delay, and so many bytes in flight on average.
    pub fn round(&mut self, delay: Duration, flight: f64, now: Time) {
        if delay < self.least || self.fills(now) {
            self.standing = None;
            return;
        }
        let stays = |standing: &Standing| delay >= standing.highest.scale(STAYS);
        self.standing = match self.standing.filter(stays) {
            None => Some(Standing { highest: delay, most: flight }),
            Some(standing) if flight <= LITTLE * standing.most => {
                self.until = now + self.window * WINDOWS;
                None
            }
            Some(standing) => Some(Standing { highest: standing.highest.max(delay), most: standing.most.max(flight) }),
        };
    }

    /// Whether others fill the queue now.
    pub fn fills(&self, now: Time) -> bool {
        now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(10_000);
    const TOLERANCE: Duration = Duration::from_millis(5);

    /// When others first were found to fill the queue, in ms, by rounds of (end in ms, delay in ms, packets in flight).
    fn found(rounds: impl IntoIterator<Item = (u64, f64, f64)>) -> Option<u64> {
        let mut foreign = Foreign::new(WINDOW, TOLERANCE);
        rounds.into_iter().find_map(|(at, delay, flight)| {
            let now = Time::ZERO + Duration::from_millis(at);
            foreign.round(Duration::from_nanos((delay * 1e6) as u64), flight, now);
            foreign.fills(now).then_some(at)
        })
    }

    #[test]
    fn a_delay_that_stays_while_six_tenths_of_the_flight_are_left_is_others() {
        let window = |n: i32| 60.0 * 0.8f64.powi(n);
        // 60, 48, 38.4, 30.7: the third cut leaves less than 36.
        assert_eq!(found((0..10).map(|n| (100 * n as u64, 100.0, window(n)))), Some(300));
        // As it rises, too.
        assert_eq!(found((0..10).map(|n| (100 * n as u64, 40.0 + 20.0 * f64::from(n), window(n)))), Some(300));
    }

    #[test]
    fn the_queue_of_a_link_that_became_slower_is_never_others_however_windows_are_cut() {
        // Base round trip 50 ms, 60 packets of 8 kbit in flight; from 10 to 1 Mbit/s, so that W packets take 8·W ms.
        // The delay of the first rounds rises while nobody knows; then it is 8·W − 50 ms.
        for cut in [0.3f64, 0.5, 0.7, 0.8, 0.9, 0.98] {
            let rising = (0..8).map(|n| (50 * n, 5.0 + 50.0 * n as f64, 60.0));
            let cuts = (0..40).map(|n| {
                let window = 60.0 * cut.powi(n);
                (1000 + 400 * n as u64, (8.0 * window - 50.0).max(0.0), window)
            });
            assert_eq!(found(rising.chain(cuts)), None, "cut {cut}");
        }
    }

    #[test]
    fn delay_that_schemes_with_short_queues_leave_standing_is_never_others() {
        assert_eq!(found((0..50u64).map(|n| (100 * n, 29.0, 60.0 / (1.0 + n as f64)))), None);
    }

    #[test]
    fn after_three_windows_marks_try_again() {
        let mut foreign = Foreign::new(WINDOW, TOLERANCE);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        foreign.round(Duration::from_millis(100), 60.0, at(0));
        foreign.round(Duration::from_millis(100), 30.0, at(100));
        assert!(foreign.fills(at(30_099)) && !foreign.fills(at(30_100)));
        // What was in flight before counts no more.
        foreign.round(Duration::from_millis(100), 30.0, at(30_200));
        foreign.round(Duration::from_millis(100), 29.0, at(30_300));
        assert!(!foreign.fills(at(30_300)));
    }
}

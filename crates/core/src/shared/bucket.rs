//! A leaky bucket that drains continuously.

use crate::units::{Duration, Time};

/// Holds up to a depth of packets and leaks at a rate; what does not fit is rejected.
///
/// Source: Interest limits of ndnSIM 1.0 as the hop-by-hop schemes use them. A new depth holds at once, and a level
/// above it stays and blocks until it has leaked away; a depth below one packet counts as one, since otherwise nothing
/// would ever pass (ours).
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct LeakyBucket {
    /// Packets.
    level: f64,
    /// Packets.
    depth: f64,
    /// Packets per second.
    rate: f64,
    leaked: Time,
}

impl LeakyBucket {
    /// An empty bucket: `rate` in packets/s, `depth` in packets.
    pub fn new(now: Time, rate: f64, depth: f64) -> LeakyBucket {
        LeakyBucket { level: 0.0, depth: sane_depth(depth), rate: sane_rate(rate), leaked: now }
    }

    /// Whether one more packet fits.
    pub fn has_room(&mut self, now: Time) -> bool {
        self.leak(now);
        // The slack keeps rounding of the leak from rejecting a packet at the instant returned by `room_at`.
        self.depth - self.level >= 1.0 - 1e-9
    }

    /// Puts one packet in; call it only after [`LeakyBucket::has_room`].
    pub fn add(&mut self, now: Time) {
        self.leak(now);
        self.level += 1.0;
    }

    /// The earliest instant from `now` on with room for one packet, if nothing is added meanwhile.
    pub fn room_at(&mut self, now: Time) -> Time {
        self.leak(now);
        let excess = self.level + 1.0 - self.depth;
        if excess <= 0.0 {
            return now;
        }
        if self.rate <= 0.0 {
            return Time::NEVER;
        }
        now + Duration::from_nanos(libm::ceil(excess / self.rate * 1e9) as u64)
    }

    /// Leaks at the old rate up to now, and at `rate` packets/s from now on.
    pub fn set_rate(&mut self, now: Time, rate: f64) {
        self.leak(now);
        self.rate = sane_rate(rate);
    }

    /// Changes the depth, in packets.
    pub fn set_depth(&mut self, depth: f64) {
        self.depth = sane_depth(depth);
    }

    /// Packets in the bucket.
    pub fn level(&mut self, now: Time) -> f64 {
        self.leak(now);
        self.level
    }

    /// Packets the bucket may hold.
    pub fn depth(&self) -> f64 {
        self.depth
    }

    /// Packets leaked per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn leak(&mut self, now: Time) {
        let leaked = self.rate * now.since(self.leaked).secs();
        self.level = (self.level - leaked).max(0.0);
        self.leaked = self.leaked.max(now);
    }
}

fn sane_depth(depth: f64) -> f64 {
    if depth > 1.0 { depth.min(1e15) } else { 1.0 }
}

fn sane_rate(rate: f64) -> f64 {
    if rate > 0.0 { rate.min(1e15) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_leak_is_continuous_and_a_whole_free_place_is_needed() {
        // 1000 packets/s, depth 2.5: two packets leave 0.5 free; the third fits 0.5 ms later.
        let mut bucket = LeakyBucket::new(at(0), 1000.0, 2.5);
        assert!(bucket.has_room(at(0)));
        bucket.add(at(0));
        bucket.add(at(0));
        assert!(!bucket.has_room(at(0)));
        let room = bucket.room_at(at(0));
        assert_eq!(room, Time::from_nanos(500_000));
        assert!(bucket.has_room(room));
        assert_eq!(bucket.level(at(1)), 1.0);
        assert_eq!(bucket.level(at(1000)), 0.0);
    }

    #[test]
    fn a_smaller_depth_holds_at_once_and_the_level_only_leaks() {
        let mut bucket = LeakyBucket::new(at(0), 100.0, 10.0);
        for _ in 0..10 {
            bucket.add(at(0));
        }
        bucket.set_depth(4.0);
        assert_eq!(bucket.level(at(0)), 10.0);
        // Room for one more once 7 of 10 have leaked, at 100/s: 70 ms.
        assert_eq!(bucket.room_at(at(0)), at(70));
        assert!(!bucket.has_room(at(69)) && bucket.has_room(at(70)));
    }

    #[test]
    fn a_new_rate_counts_from_its_own_instant() {
        let mut bucket = LeakyBucket::new(at(0), 100.0, 10.0);
        for _ in 0..10 {
            bucket.add(at(0));
        }
        bucket.set_rate(at(50), 1000.0);
        assert_eq!(bucket.level(at(52)), 3.0);
        bucket.set_rate(at(52), 0.0);
        bucket.set_depth(3.0);
        assert_eq!(bucket.room_at(at(60)), Time::NEVER);
    }

    #[test]
    fn a_depth_below_one_packet_still_lets_single_packets_pass() {
        let mut bucket = LeakyBucket::new(at(0), 1.0, 0.06);
        assert!(bucket.has_room(at(0)));
        bucket.add(at(0));
        assert!(!bucket.has_room(at(999)) && bucket.has_room(at(1000)));
    }

    #[test]
    fn absurd_numbers_do_not_poison_the_bucket() {
        for number in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let mut bucket = LeakyBucket::new(at(0), number, number);
            bucket.add(at(0));
            assert!(bucket.level(Time::NEVER).is_finite());
            assert!(bucket.room_at(at(1)) >= at(1));
        }
    }
}

//! A token bucket.

use ndnweir_core::units::{Duration, Time};

/// Fills at a rate up to a size. What is taken may be of any unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    level: f64,
    size: f64,
    per_second: f64,
    filled: Time,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(now: Time, size: f64, per_second: f64) -> Bucket {
        Bucket { level: size, size, per_second, filled: now }
    }

    /// What is in it now.
    pub(super) fn level(&mut self, now: Time) -> f64 {
        self.level = (self.level + now.since(self.filled).secs() * self.per_second).min(self.size);
        self.filled = self.filled.max(now);
        self.level
    }

    /// Takes this amount if it is available.
    pub(super) fn take(&mut self, now: Time, much: f64) -> bool {
        let enough = self.level(now) >= much;
        if enough {
            self.level -= much;
        }
        enough
    }

    /// Takes this much, and goes below zero by what is not there.
    pub(super) fn owe(&mut self, now: Time, much: f64) {
        self.level(now);
        self.level -= much;
    }

    /// Adds this much, also beyond its size, until it is next used.
    pub(super) fn put(&mut self, now: Time, much: f64) {
        self.level = (self.level(now) + much).min(self.size);
    }

    pub(super) fn is_full(&mut self, now: Time) -> bool {
        self.level(now) >= self.size
    }

    /// How long until it is not empty.
    pub(super) fn until_some(&mut self, now: Time) -> Duration {
        let missing = -self.level(now).min(0.0);
        Duration::from_secs_f64(missing / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn it_gives_its_size_at_once_and_its_rate_afterwards() {
        let mut bucket = Bucket::new(at(0), 10.0, 100.0);
        assert_eq!((0..20).filter(|_| bucket.take(at(0), 1.0)).count(), 10);
        assert_eq!((0..1000).filter(|&ms| bucket.take(at(ms), 1.0)).count(), 99);
        assert!(bucket.is_full(at(5000)));
        assert!(!bucket.take(at(5000), 10.5), "never more than its size");
    }

    #[test]
    fn what_is_owed_is_paid_before_more_is_given() {
        let mut bucket = Bucket::new(at(0), 1.0, 10.0);
        bucket.owe(at(0), 3.0);
        assert_eq!(bucket.until_some(at(0)), Duration::from_millis(200));
        assert!(!bucket.take(at(100), 0.1));
        assert!(bucket.take(at(250), 0.1));
    }
}

//! The process's clock, in the units of the sans-IO crates.

use ndnweir_core::units::{Duration, Time};
use nix::time::{ClockId, clock_gettime};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The machine's monotonic time in nanoseconds, the same for all its processes.
pub fn monotonic() -> u64 {
    // The call fails only for clocks that do not exist.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(std::time::Duration::from).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// A number that differs from one process and run to the next.
pub fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40
}

/// Time since the process made its clock; it never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// What it showed then.
    shown: Duration,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Clock {
    /// A clock that shows one second: zero stays a time before anything happened.
    pub fn new() -> Clock {
        Clock { start: Instant::now(), shown: Duration::from_millis(1000) }
    }

    /// A clock that shows zero at `origin`, an instant of [`monotonic`] that has passed.
    pub fn since(origin: u64) -> Clock {
        let passed = std::time::Duration::from_nanos(monotonic().saturating_sub(origin));
        let now = Instant::now();
        Clock { start: now.checked_sub(passed).unwrap_or(now), shown: Duration::ZERO }
    }

    /// Now.
    pub fn now(&self) -> Time {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX >> 1);
        Time::ZERO + self.shown + Duration::from_nanos(elapsed)
    }

    /// The time of day: since the Unix epoch.
    pub fn unix(&self) -> std::time::Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// How long to wait from now until `time`: zero when it has passed, none when it never comes.
    pub fn until(&self, time: Time) -> Option<std::time::Duration> {
        if time == Time::NEVER {
            return None;
        }
        Some(std::time::Duration::from_nanos(time.since(self.now()).nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_count_from_one_origin_agree() {
        let origin = monotonic();
        let (one, other) = (Clock::since(origin), Clock::since(origin));
        let (before, between, after) = (one.now(), other.now(), one.now());
        let slack = Duration::from_millis(1);
        assert!(before <= between + slack && between <= after + slack);
    }

    #[test]
    fn a_time_that_has_passed_needs_no_wait_and_one_that_never_comes_has_none() {
        let clock = Clock::new();
        assert_eq!(clock.until(Time::ZERO), Some(std::time::Duration::ZERO));
        assert_eq!(clock.until(Time::NEVER), None);
        let soon = clock.now() + Duration::from_millis(50);
        assert!(clock.until(soon).is_some_and(|wait| wait <= std::time::Duration::from_millis(50)));
    }
}

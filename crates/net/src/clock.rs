//! The process's clock, in the units of the sans-IO crates.

use ndnweir_core::units::{Span, Time};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the process made its clock; it never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Clock {
    /// A clock that shows one second: zero stays a time before anything happened.
    pub fn new() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Now.
    pub fn now(&self) -> Time {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX - 1_000_000_000);
        Time::ZERO + Span::from_nanos(elapsed.saturating_add(1_000_000_000))
    }

    /// The time of day: since the Unix epoch.
    pub fn unix(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// How long to wait from now until `time`: zero when it has passed, none when it never comes.
    pub fn until(&self, time: Time) -> Option<Duration> {
        if time == Time::NEVER {
            return None;
        }
        Some(Duration::from_nanos(time.since(self.now()).nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_has_passed_needs_no_wait_and_one_that_never_comes_has_none() {
        let clock = Clock::new();
        assert_eq!(clock.until(Time::ZERO), Some(Duration::ZERO));
        assert_eq!(clock.until(Time::NEVER), None);
        let soon = clock.now() + Span::from_millis(50);
        assert!(clock.until(soon).is_some_and(|wait| wait <= Duration::from_millis(50)));
    }
}

//! The schedule: one pending instant per source of events.
//!
//! A source is a directed link (its next arrival), a node (its next timeout) or an application. Each has at most one
//! pending event, so a schedule is as large as the network and not as the traffic in it. Events of one instant are due
//! in the order of their ranks, and of one rank in the order of their sources' numbers.

pub mod tournament;

use ndnweir_core::units::Time;

/// When an event is due, and its rank among the events of that instant.
///
/// Both are one number, so that a schedule compares them at once: the instant in nanoseconds, below 2^48 (78 hours), and
/// 16 bits of rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ndnweir_state::Value)]
pub struct Due(u64);

/// The rank of an event among those of its instant: the lowest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventRank(u16);

impl EventRank {
    /// Changes of the network precede everything.
    pub const CHANGE: EventRank = EventRank(0);
    /// A node's timeout, after the arrivals.
    pub const TIMEOUT: EventRank = EventRank(0xfffc);
    /// An application's timeout.
    pub const APPLICATION: EventRank = EventRank(0xfffd);
    /// Messages between nodes and the planner.
    pub const CONTROL: EventRank = EventRank(0xfffe);
    /// Samples, after everything else.
    pub const SAMPLE: EventRank = EventRank(0xffff);

    /// The arrival of a packet that joined its sender's queue `age` nanoseconds before: the one that joined first
    /// arrives first. Ages that differ by less than one part in 2048 have the same rank.
    #[inline]
    pub const fn arrival(age: u32) -> EventRank {
        let shift = 20 - (age | 0xfff).leading_zeros();
        EventRank(0xfffb - ((shift << 11) + (age >> shift)) as u16)
    }
}

impl Due {
    /// No event.
    pub const NEVER: Due = Due(u64::MAX);

    /// At an instant; never if that is beyond what a schedule can hold.
    #[inline]
    pub const fn new(at: Time, rank: EventRank) -> Due {
        if at.nanos() >> 48 == 0 { Due(at.nanos() << 16 | rank.0 as u64) } else { Due::NEVER }
    }

    /// The last that an event at an instant can have.
    pub fn last(at: Time) -> Due {
        Due::new(at, EventRank::SAMPLE).min(Due(u64::MAX - 1))
    }

    /// The instant.
    #[inline]
    pub fn at(self) -> Time {
        if self == Due::NEVER { Time::NEVER } else { Time::from_nanos(self.0 >> 16) }
    }
}

/// Holds the next instant of every source.
pub trait Schedule {
    /// A schedule of `sources` sources with nothing pending.
    fn new(sources: usize) -> Self;

    /// Sets the next event of `source`; [`Due::NEVER`] for none.
    fn set(&mut self, source: u32, due: Due);

    /// The next event of `source`.
    fn get(&self, source: u32) -> Due;

    /// The earliest event and its source (the lowest-numbered of those of its rank); [`Due::NEVER`] if there is none.
    fn next(&self) -> (Due, u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Duration;

    #[test]
    fn of_one_instant_the_packet_that_joined_first_comes_first_and_before_any_timeout() {
        let at = Time::ZERO + Duration::from_millis(86_400_000);
        let ages = [0, 1, 4095, 4096, 5000, 1 << 20, (1 << 20) + 4096, 3_000_000_000, u32::MAX];
        let dues = ages.map(|age| Due::new(at, EventRank::arrival(age)));
        assert!(dues.is_sorted_by(|younger, older| older < younger), "{dues:?}");
        assert!(Due::new(at, EventRank::CHANGE) < dues[ages.len() - 1] && dues[0] < Due::new(at, EventRank::TIMEOUT));
        assert!(dues.iter().all(|due| due.at() == at));
        assert!(Due::new(at, EventRank::SAMPLE) < Due::new(at + Duration::from_nanos(1), EventRank::CHANGE));
    }

    #[test]
    fn ranks_never_rise_with_age() {
        let ages = (0..u32::MAX).step_by(40_503);
        assert!(ages.map(EventRank::arrival).is_sorted_by(|younger, older| older <= younger));
    }

    #[test]
    fn events_beyond_every_run_are_never_due() {
        assert_eq!(Due::new(Time::from_nanos(1 << 48), EventRank::CHANGE), Due::NEVER);
        assert_eq!(Due::new(Time::NEVER, EventRank::SAMPLE).at(), Time::NEVER);
    }
}

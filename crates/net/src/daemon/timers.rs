//! Periodic tasks of the process.

use ndnweir_core::units::{Duration, Time};

/// How often idle faces are looked for and metrics are written.
const HOUSEKEEPING: Duration = Duration::from_millis(1000);
/// For how long no replaceable face is searched for, after none was found.
const SEARCH_PAUSE: Duration = Duration::from_millis(100);

/// The times.
#[derive(Debug)]
pub(super) struct Timers {
    housekeeping: Time,
    no_way_until: Time,
}

impl Timers {
    pub(super) fn new(now: Time) -> Timers {
        Timers { housekeeping: now + HOUSEKEEPING, no_way_until: now }
    }

    /// When something is due.
    pub(super) fn next(&self) -> Time {
        self.housekeeping
    }

    /// Whether housekeeping is due; its next time is then set.
    pub(super) fn take_housekeeping(&mut self, now: Time) -> bool {
        let due = self.housekeeping <= now;
        if due {
            self.housekeeping = now + HOUSEKEEPING;
        }
        due
    }

    /// Whether a replaceable face may be searched for: a search through all faces for each new peer would take too much
    /// time.
    pub(super) fn may_search_replaceable_face(&self, now: Time) -> bool {
        self.no_way_until <= now
    }

    /// There was no such face.
    pub(super) fn found_no_room(&mut self, now: Time) {
        self.no_way_until = now + SEARCH_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn housekeeping_is_due_once_a_second_and_late_after_a_pause() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut timers = Timers::new(at(0));
        assert_eq!((timers.take_housekeeping(at(999)), timers.next()), (false, at(1000)));
        assert!(timers.take_housekeeping(at(1700)) && !timers.take_housekeeping(at(1700)));
        assert_eq!(timers.next(), at(2700));
    }

    #[test]
    fn room_is_sought_again_a_tenth_of_a_second_after_there_was_none() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut timers = Timers::new(at(0));
        assert!(timers.may_search_replaceable_face(at(0)));
        timers.found_no_room(at(5));
        assert!(!timers.may_search_replaceable_face(at(104)) && timers.may_search_replaceable_face(at(105)));
    }
}

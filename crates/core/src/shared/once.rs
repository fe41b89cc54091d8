//! At most one reduction of a rate per congestion.
//!
//! Source: "NACK-based hop-by-hop rate control", JIP 26 (2018), §3 and Fig. 3. After a reduction the rate stays as it
//! is until the Data or NACK arrives that answers the first Interest sent at the reduced rate.

use crate::units::Time;

/// The state of a (face, content name).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub enum State {
    /// No congestion known.
    #[default]
    Normal,
    /// Reduced; no Interest has left at the reduced rate yet.
    Congestion,
    /// Waits for the answer to the first Interest sent at the reduced rate.
    Check {
        /// When that Interest left (T_send).
        since: Time,
    },
}

impl State {
    /// For records: 0 normal, 1 congestion, 2 check.
    pub const fn number(self) -> f64 {
        match self {
            State::Normal => 0.0,
            State::Congestion => 1.0,
            State::Check { .. } => 2.0,
        }
    }
}

/// The automaton: decides whether a signal may change the rate.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct OncePerCongestion {
    state: State,
}

impl OncePerCongestion {
    /// An automaton in the normal state.
    pub const fn new() -> OncePerCongestion {
        OncePerCongestion { state: State::Normal }
    }

    /// Its state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// An Interest leaves.
    pub const fn on_sent(&mut self, now: Time) {
        if matches!(self.state, State::Congestion) {
            self.state = State::Check { since: now };
        }
    }

    /// Whether Data for an Interest that left at `sent` may raise the rate.
    pub fn admits_data(&mut self, sent: Time) -> bool {
        let admits = self.counts(sent);
        if admits {
            self.state = State::Normal;
        }
        admits
    }

    /// Whether a congestion NACK for an Interest that left at `sent` may lower the rate.
    pub fn admits_nack(&mut self, sent: Time) -> bool {
        let admits = self.counts(sent);
        if admits {
            self.state = State::Congestion;
        }
        admits
    }

    fn counts(&self, sent: Time) -> bool {
        match self.state {
            State::Normal => true,
            State::Congestion => false,
            State::Check { since } => sent >= since,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    #[test]
    fn the_sequence_of_the_papers_figure_3_lowers_the_rate_once() {
        // t1..t7 of Fig. 3 at 10 ms steps: NACK at t2 for an Interest of 0 ms; a NACK and Data at t3, t4 for Interests
        // sent before; the first Interest at the reduced rate at t5; a NACK at t6 for an older one; its own Data at t7.
        let mut once = OncePerCongestion::new();
        assert!(once.admits_nack(ms(0)));
        assert_eq!(once.state(), State::Congestion);
        assert!(!once.admits_nack(ms(5)) && !once.admits_data(ms(3)));
        once.on_sent(ms(50));
        assert_eq!(once.state(), State::Check { since: ms(50) });
        assert!(!once.admits_nack(ms(15)));
        assert_eq!(once.state(), State::Check { since: ms(50) });
        assert!(once.admits_data(ms(50)));
        assert_eq!(once.state(), State::Normal);
    }

    #[test]
    fn only_the_first_interest_after_a_reduction_is_waited_for() {
        let mut once = OncePerCongestion::new();
        once.admits_nack(ms(0));
        once.on_sent(ms(10));
        once.on_sent(ms(20));
        assert_eq!(once.state(), State::Check { since: ms(10) });
        assert!(!once.admits_data(ms(9)) && once.admits_data(ms(15)));
    }

    #[test]
    fn congestion_that_continues_at_the_reduced_rate_lowers_it_again() {
        let mut once = OncePerCongestion::new();
        once.admits_nack(ms(0));
        once.on_sent(ms(10));
        assert!(once.admits_nack(ms(10)));
        assert_eq!(once.state(), State::Congestion);
        assert!(!once.admits_nack(ms(10)));
        once.on_sent(ms(30));
        assert!(!once.admits_nack(ms(29)) && once.admits_nack(ms(30)));
    }

    #[test]
    fn in_the_normal_state_interests_change_nothing() {
        let mut once = OncePerCongestion::new();
        once.on_sent(ms(1));
        assert!(once.admits_data(ms(0)));
        assert_eq!(once.state(), State::Normal);
    }
}

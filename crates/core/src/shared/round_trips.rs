//! Round trips counted by Data, and what is remembered by their count.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.1 and draft-ietf-ccwg-bbr §5.3.1 and §5.5, which share
//! both.

use std::collections::VecDeque;

/// A round trip lasts until Data of an Interest arrive that was sent after it began.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct RoundTrips {
    count: u64,
    /// Delivered Data when the present one began.
    began: u64,
}

impl RoundTrips {
    /// A Data arrived whose Interest was sent after `prior_delivered` Data; `delivered` have arrived by now. Whether a
    /// round trip begins with it.
    pub fn on_data(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        let starts = prior_delivered >= self.began;
        if starts {
            self.began = delivered;
            self.count += 1;
        }
        starts
    }

    /// The present round trip begins anew.
    pub fn restart(&mut self, delivered: u64) {
        self.began = delivered;
    }

    /// How many have begun.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The most values that are stored.
const MAX_STORED: usize = 1024;

/// The largest value of the last rounds, of whatever they are.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct LargestOfRounds {
    /// By round, decreasing values.
    values: VecDeque<(u64, f64)>,
}

impl LargestOfRounds {
    /// Adds a value of the present round, and forgets those of rounds that are not among the last `rounds`.
    pub fn push(&mut self, value: f64, round: u64, rounds: u32) {
        while self.values.back().is_some_and(|&(_, smaller)| smaller <= value) {
            self.values.pop_back();
        }
        // Of one round only the largest is stored, so as many as rounds at most.
        if self.values.back().is_none_or(|&(last, _)| last != round) && self.values.len() < MAX_STORED {
            self.values.push_back((round, value));
        }
        let first = round.saturating_sub(u64::from(rounds) - 1);
        while self.values.len() > 1 && self.values[0].0 < first {
            self.values.pop_front();
        }
    }

    /// The largest; 0 before the first.
    pub fn get(&self) -> f64 {
        self.values.front().map_or(0.0, |&(_, value)| value)
    }
}

/// Finds out that a rate has stopped growing although more is sent.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Plateau {
    /// The rate that growth is measured from.
    base: f64,
    rounds: u32,
}

impl Plateau {
    /// Begins at this rate.
    pub fn from(base: f64) -> Plateau {
        Plateau { base, rounds: 0 }
    }

    /// A round trip has passed. Whether it was the `rounds`th in a row in which the rate was below `growth` times that
    /// before them.
    pub fn on_round(&mut self, rate: f64, growth: f64, rounds: u32) -> bool {
        if rate > self.base && rate >= self.base * growth {
            *self = Plateau::from(rate);
            return false;
        }
        self.rounds = self.rounds.saturating_add(1);
        self.rounds >= rounds
    }

    /// Round trips in a row without growth.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_with_data_of_an_interest_sent_after_it_began() {
        let mut trips = RoundTrips::default();
        assert!(trips.on_data(0, 1));
        assert!(!trips.on_data(0, 2) && trips.on_data(1, 3));
        assert!(!trips.on_data(2, 4) && trips.on_data(3, 5));
        trips.restart(7);
        assert!(!trips.on_data(6, 8) && trips.on_data(7, 9));
        assert_eq!(trips.count(), 4);
    }

    #[test]
    fn the_largest_of_two_rounds_is_forgotten_with_its_round() {
        let mut largest = LargestOfRounds::default();
        assert_eq!(largest.get(), 0.0);
        let mut push = |value, round| {
            largest.push(value, round, 2);
            largest.get()
        };
        assert_eq!((push(5.0, 0), push(3.0, 0), push(4.0, 1)), (5.0, 5.0, 5.0));
        assert_eq!((push(2.0, 2), push(1.0, 3), push(9.0, 3)), (4.0, 2.0, 9.0));
    }

    #[test]
    fn three_rounds_below_a_quarter_more_are_a_plateau() {
        let mut plateau = Plateau::default();
        let rounds = [100.0, 150.0, 160.0, 187.5, 200.0, 210.0, 234.0];
        let found = rounds.map(|rate| plateau.on_round(rate, 1.25, 3));
        assert_eq!(found, [false, false, false, false, false, false, true]);
    }
}

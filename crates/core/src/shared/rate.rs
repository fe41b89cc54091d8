//! The Interest rate of one content at one interface: additive increase, multiplicative decrease.
//!
//! Source: "NACK-based hop-by-hop rate control", JIP 26 (2018), §4.1.1 (r + 1 packet/s per Data up to L, r / 2 per
//! NACK) and §3 ([`OncePerCongestion`]). The same law at consumers and routers.

use super::once::{OncePerCongestion, State};
use crate::check;
use crate::error::SchemeError;
use crate::units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No rate is above this, in packets/s.
pub const MAX_RATE: f64 = 1e12;

/// How the rate moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Law {
    /// Added per Data, in packets/s; 1 in the source.
    pub increase: f64,
    /// What a congestion NACK multiplies the rate by; 0.5 in the source.
    pub decrease: f64,
    /// The lowest rate, in packets/s; 1 is the lowest the source reports (ours).
    pub floor: f64,
    /// Whether one congestion lowers the rate only once: the method the source proposes.
    pub once: bool,
    /// Added per Data instead, in packets/s, within a tenth of the rate before the last cut; none is the source, which
    /// leaves a congestion avoidance to future work. Ours: the recovery from a cut is as fast as without, and so is
    /// growth beyond the remembered rate.
    pub slow: Option<f64>,
}

/// How near the rate before the last cut growth is slow, as a fraction of that rate (ours).
const SLOW_GROWTH_RANGE: f64 = 0.1;

impl Default for Law {
    fn default() -> Law {
        Law { increase: 1.0, decrease: 0.5, floor: 1.0, once: false, slow: None }
    }
}

impl Law {
    /// Rejects a law that does not move or could stop forever.
    ///
    /// # Errors
    /// A sentence that names the parameter, its value and a valid one.
    pub fn check(&self) -> Result<(), SchemeError> {
        check::number("law.increase", self.increase, 1e-6, 1e6)?;
        check::factor("law.decrease", self.decrease)?;
        if let Some(slow) = self.slow {
            check::number("law.slow", slow, 1e-6, 1e6)?;
        }
        check::number("law.floor", self.floor, 1e-3, 1e6)
    }
}

/// A rate under the law.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Rated {
    rate: f64,
    once: OncePerCongestion,
    /// The rate before the last cut.
    congested: f64,
}

impl Rated {
    /// Starts at `limit` packets/s, as the source does.
    pub fn new(limit: f64) -> Rated {
        Rated { rate: sane(limit), once: OncePerCongestion::new(), congested: f64::INFINITY }
    }

    /// In packets/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The state of the automaton; always normal without it.
    pub fn state(&self) -> State {
        self.once.state()
    }

    /// Goes to `limit`, for components that follow the limit only.
    pub fn follow(&mut self, limit: f64) {
        self.rate = sane(limit);
    }

    /// An Interest leaves.
    pub fn on_sent(&mut self, now: Time) {
        self.once.on_sent(now);
    }

    /// Data for an Interest that left at `sent`; `limit` is L. Whether the law took it into account.
    pub fn on_data(&mut self, law: &Law, sent: Time, limit: f64) -> bool {
        let counts = !law.once || self.once.admits_data(sent);
        if counts {
            self.rate = sane((self.rate + self.growth(law)).min(limit.max(law.floor)));
        }
        counts
    }

    /// A congestion NACK for an Interest that left at `sent`. Whether the law took it into account.
    pub fn on_nack(&mut self, law: &Law, sent: Time) -> bool {
        let counts = !law.once || self.once.admits_nack(sent);
        if counts {
            self.congested = self.rate;
            self.rate = sane((self.rate * law.decrease).max(law.floor));
        }
        counts
    }

    /// What a Data adds now.
    fn growth(&self, law: &Law) -> f64 {
        // Before the first cut the memory is infinite, and nothing is near it.
        let near =
            self.congested.is_finite() && (self.rate - self.congested).abs() < SLOW_GROWTH_RANGE * self.congested;
        law.slow.filter(|_| near).unwrap_or(law.increase)
    }
}

fn sane(rate: f64) -> f64 {
    if rate > 1e-3 { rate.min(MAX_RATE) } else { 1e-3 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    #[test]
    fn a_burst_of_nacks_halves_down_to_the_floor_without_the_automaton() {
        // 1000 → 500 → … after 9 halvings 1.953125, then the floor of 1 (S4 Fig. 7 a).
        let (law, mut rated) = (Law::default(), Rated::new(1000.0));
        for _ in 0..9 {
            assert!(rated.on_nack(&law, ms(0)));
        }
        assert_eq!(rated.rate(), 1.953125);
        rated.on_nack(&law, ms(0));
        assert_eq!(rated.rate(), 1.0);
        for _ in 0..12 {
            rated.on_data(&law, ms(0), 10.5);
        }
        assert_eq!(rated.rate(), 10.5);
    }

    #[test]
    fn with_the_automaton_four_congestions_in_a_row_take_1000_to_62_5() {
        // S4 §4.2.1, B = 1 Mb/s: one halving per round, for Interests sent at the rate of the round before.
        let (law, mut rated) = (Law { once: true, ..Law::default() }, Rated::new(1000.0));
        let mut rates = Vec::new();
        for round in 0..4 {
            let first = ms(100 * round);
            rated.on_sent(first);
            let counted = (0..10).filter(|i| rated.on_nack(&law, first + Duration::from_millis(*i))).count();
            assert_eq!(counted, 1);
            rates.push(rated.rate());
        }
        assert_eq!(rates, [500.0, 250.0, 125.0, 62.5]);
    }

    #[test]
    fn growth_is_slow_only_near_the_rate_that_congested_last() {
        let (law, mut rated) = (Law { slow: Some(0.5), ..Law::default() }, Rated::new(400.0));
        rated.on_nack(&law, ms(0));
        // From 200 one by one to 361, inside a tenth below 400; then by halves to 440, a tenth above; then one by one
        // again.
        let data_until = |rated: &mut Rated, rate: f64| {
            (1..10_000).find(|_| {
                rated.on_data(&law, ms(0), 1000.0);
                rated.rate() >= rate
            })
        };
        assert_eq!(data_until(&mut rated, 361.0), Some(161));
        assert_eq!(data_until(&mut rated, 440.0), Some(158));
        assert_eq!(data_until(&mut rated, 600.0), Some(160));
        // A burst of NACKs leaves the last rate that still congested.
        for _ in 0..2 {
            rated.on_nack(&law, ms(0));
        }
        assert_eq!(rated.rate(), 150.0);
        // 300 congested last: by one to 271, then by halves.
        assert_eq!(data_until(&mut rated, 271.0), Some(121));
        assert_eq!(data_until(&mut rated, 290.0), Some(38));
    }

    #[test]
    fn a_limit_of_nothing_leaves_the_floor() {
        let mut rated = Rated::new(0.0);
        rated.on_data(&Law::default(), ms(0), 0.0);
        assert_eq!(rated.rate(), 1.0);
        assert!(Rated::new(f64::NAN).rate() > 0.0 && Rated::new(f64::INFINITY).rate() <= MAX_RATE);
    }
}

//! `chopcop`: random early marking of CHoPCoP, by the length of the queue of Data; stands in for it.
//!
//! Source: Zhang, Zhang, Reznik, Liu, Qian, Xu, "A transport protocol for content-centric networking with explicit
//! congestion control" (ICCCN, 2014), of which the abstract alone is public: random early marking signals congestion.
//! The probability is ours: 0 up to `low` of the queue's limit, rising to `probability` at `high`, 1 above.

use super::{EnqueueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::packet::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Chopcop`]; ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The part of the queue's limit up to which nothing is marked.
    pub low: f64,
    /// The part above which everything is marked.
    pub high: f64,
    /// The probability just below that.
    pub probability: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { low: 0.2, high: 0.6, probability: 0.1 }
    }
}

/// Rejects parts of a limit that bound no range.
pub(crate) fn check_range(low: f64, high: f64) -> Result<(), SchemeError> {
    if low > 0.0 && low < high && high <= 1.0 {
        return Ok(());
    }
    let wrong = format!("and high = {high} bound no range");
    Err(SchemeError::value("low", low, &wrong, "give 0 < low < high ≤ 1, such as 0.2 and 0.6"))
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Chopcop {
    #[state(skip)]
    params: Params,
}

impl Component for Chopcop {
    const NAME: &'static str = "chopcop";
    const SUMMARY: &'static str = "stands in for CHoPCoP's random early marking, by the length of the queue";
    const SOURCE: &'static str = "abstract of Zhang et al., ICCCN 2014; probability: ours";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_range(params.low, params.high)?;
        check::number("probability", params.probability, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Chopcop {
        Chopcop { params: params.clone() }
    }
}

impl Chopcop {
    fn probability(&self, occupancy: f64) -> f64 {
        let Params { low, high, probability } = self.params;
        match occupancy {
            q if q > high => 1.0,
            q if q > low => probability * (q - low) / (high - low),
            _ => 0.0,
        }
    }
}

impl Marker for Chopcop {
    fn predictable(&self) -> bool {
        true
    }

    fn watches_departures(&self) -> bool {
        false
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        if event.packet.kind != Kind::Data {
            return Verdict::Pass;
        }
        let probability = self.probability(event.queue.occupancy());
        if probability > 0.0 && ctx.rng.unit() < probability { Verdict::Mark(1) } else { Verdict::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use crate::packet::Packet;
    use serde_json::json;

    // A limit of 100 packets of 1250 B: 40 packets are half way from 20 to 60: 0.05.
    #[test]
    fn the_probability_rises_between_a_fifth_and_three_fifths_of_the_limit() {
        let mut bench = Bench::<Chopcop>::new(&json!({}));
        let data = Packet { kind: Kind::Data, ..Packet::default() };
        let mut marks = |packets: u64, packet: &Packet| {
            (0..10_000).filter(|_| bench.offer(ms(0), packet, packets * 1250) == Verdict::Mark(1)).count()
        };
        assert_eq!((marks(20, &data), marks(61, &data)), (0, 10_000));
        // Standard deviation √(10000 · 0.05 · 0.95) = 22.
        assert!(marks(40, &data).abs_diff(500) < 100);
        assert_eq!(marks(90, &Packet::default()), 0, "an Interest");
    }
}

//! `weighted`: every Interest takes a next hop drawn in proportion to fixed weights.
//!
//! Source: ours. NFD has no weighted load balancer; NDN-DPDK has one, which draws by integer weights of the FIB entry.
//! Ours: the weights come from a list by rank of cost, or are the inverse of the cost; they are renormalised over the
//! eligible next hops; retransmissions meet best-route's suppression and are drawn among the unused next hops.

use super::{ForwardingDecision, InterestArrival, NextHop, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::shared::draw::by_weight;
use crate::shared::suppression::{Suppression, SuppressionParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weighted`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Weights of the next hops, the cheapest first, those of equal cost in routing's order; next hops beyond the list
    /// weigh as its last. Empty: each weighs 1/cost.
    pub weights: Vec<f64>,
    /// When retransmissions are not forwarded; NFD's best-route.
    pub suppression: SuppressionParams,
}

/// More next hops than this need no weights of their own.
const MAX_WEIGHTS: usize = 64;

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Weighted {
    weights: Vec<f64>,
    suppression: Suppression,
}

impl Component for Weighted {
    const NAME: &'static str = "weighted";
    const SUMMARY: &'static str = "a next hop drawn in proportion to weights, given or 1/cost";
    const SOURCE: &'static str = "ours, after NDN-DPDK's weighted strategy; suppression of NFD's best-route";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        if params.weights.len() > MAX_WEIGHTS {
            let message = format!("weights has {} entries", params.weights.len());
            return Err(SchemeError::about("weights", message, format!("give at most {MAX_WEIGHTS}")));
        }
        for &weight in &params.weights {
            check::number("weights", weight, 0.0, 1e6)?;
        }
        if !params.weights.is_empty() && params.weights.iter().all(|&weight| weight == 0.0) {
            return Err(SchemeError::about("weights", "weights are all 0", "give at least one that is positive"));
        }
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Weighted {
        let suppression = Suppression::new(params.suppression.clone());
        Weighted { weights: params.weights.clone(), suppression }
    }
}

impl Weighted {
    /// The weight of `hop`, one of `hops`.
    fn weight(&self, hops: &[NextHop], hop: NextHop) -> f64 {
        let Some(last) = self.weights.last() else { return 1.0 / f64::from(hop.cost.max(1)) };
        let rank = hops.iter().position(|known| known.face == hop.face).unwrap_or(usize::MAX);
        *self.weights.get(rank).unwrap_or(last)
    }

    fn draw(
        &self,
        hops: &[NextHop],
        mut among: impl Iterator<Item = NextHop> + Clone,
        ctx: &mut Ctx<'_>,
    ) -> Option<FaceId> {
        let drawn = by_weight(ctx.rng, among.clone().map(|hop| self.weight(hops, hop)))?;
        among.nth(drawn).map(|hop| hop.face)
    }
}

impl Strategy for Weighted {
    fn wakes(&self) -> bool {
        false
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if !event.pending(ctx.now) {
            match self.draw(event.hops, event.eligible(), ctx) {
                Some(face) => choice.send(face),
                None => choice.reject(NackReason::NoRoute),
            }
            return;
        }
        if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
            return;
        }
        *event.note = self.suppression.grown(*event.note);
        let drawn = self.draw(event.hops, event.unused(ctx.now), ctx);
        if let Some(face) = drawn.or_else(|| event.used_earliest().map(|hop| hop.face)) {
            choice.send(face);
        }
    }

    fn shares(&self, _: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        let total: f64 = hops.iter().map(|&hop| self.weight(hops, hop)).sum();
        let share = |weight: f64, first: bool| if total > 0.0 { weight / total } else { f64::from(u8::from(first)) };
        out.extend(hops.iter().enumerate().map(|(i, &hop)| share(self.weight(hops, hop), i == 0)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::super::harness::{Bench, sent};
    use super::*;
    use serde_json::{Value, json};

    fn bench(params: &Value) -> Bench<Weighted> {
        Bench::new(params, &[(1, 1), (2, 2), (3, 4)])
    }

    /// How many of 28 000 new Interests from `in_face` go to faces 1 to 3.
    fn counts(params: &Value, in_face: u16) -> [u32; 3] {
        let (mut bench, mut counts) = (bench(params), [0; 3]);
        for _ in 0..28_000 {
            let chosen = bench.interest(0, in_face, Arrival::New, &[]);
            assert_eq!(chosen.len(), 1);
            counts[usize::from(chosen[0]) - 1] += 1;
        }
        counts
    }

    // Weights 1, 1/2, 1/4: shares 4/7, 2/7, 1/7. Standard deviations below √(28000/4) = 84.
    #[test]
    fn without_a_list_the_weight_is_the_inverse_of_the_cost() {
        let counts = counts(&json!({}), 0);
        assert!(counts[0].abs_diff(16_000) < 420 && counts[1].abs_diff(8_000) < 420, "{counts:?}");
        let shares = bench(&json!({})).shares();
        assert!(shares.iter().zip([4.0, 2.0, 1.0]).all(|(share, n)| (share - n / 7.0).abs() < 1e-12), "{shares:?}");
    }

    // Weights 3, 1, 1 for the three hops: 16 800, 5 600, 5 600. From face 1 only 1 : 1 remain.
    #[test]
    fn a_list_gives_weights_by_rank_its_last_to_the_rest_and_they_are_renormalised_over_the_eligible() {
        let weights = json!({ "weights": [3.0, 1.0] });
        let all = counts(&weights, 0);
        assert!(all[0].abs_diff(16_800) < 420 && all[1].abs_diff(5_600) < 350, "{all:?}");
        let without = counts(&weights, 1);
        assert!(without[0] == 0 && without[1].abs_diff(14_000) < 420, "{without:?}");
    }

    #[test]
    fn a_weight_of_zero_is_used_only_when_nothing_else_is_left() {
        let weights = json!({ "weights": [1.0, 0.0] });
        assert_eq!(counts(&weights, 0), [28_000, 0, 0]);
        assert_eq!(counts(&weights, 1), [0, 28_000, 0]);
    }

    #[test]
    fn retransmissions_are_suppressed_and_then_take_an_unused_hop_or_the_one_used_longest_ago() {
        let mut bench = bench(&json!({ "weights": [1.0, 1.0, 0.0] }));
        assert!(bench.interest(9, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
        assert_eq!(bench.interest(10, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
        assert!(bench.interest(29, 0, Arrival::Joining, &[sent(1, 0), sent(2, 10)]).is_empty());
        assert_eq!(bench.interest(30, 0, Arrival::Joining, &[sent(1, 0), sent(2, 10)]), [3]);
        let all = [sent(1, 5), sent(2, 10), sent(3, 30)];
        assert_eq!(bench.interest(70, 0, Arrival::Retransmission, &all), [1]);
    }

    #[test]
    fn without_an_eligible_hop_a_new_interest_is_rejected() {
        let mut bench: Bench<Weighted> = Bench::new(&json!({}), &[(1, 0)]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
        assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
    }

    #[test]
    fn weights_that_make_no_sense_are_rejected() {
        for weights in [json!([0.0]), json!([-1.0]), json!([1e9]), json!(vec![1.0; 65])] {
            let params = serde_json::from_value(json!({ "weights": weights })).unwrap();
            assert!(Weighted::check(&params).unwrap_err().message.contains("weights"));
        }
    }
}

//! `best-route`: the cheapest next hop.
//!
//! Source: NFD's best-route strategy, version 5: a new Interest takes the lowest-cost eligible next hop; a
//! retransmission, unless suppressed, the lowest-cost one not used yet, and when all are used the one used longest ago.
//! Suppression is per PIT entry and exponential: 10 ms, doubled after every retransmission let through, up to 250 ms.
//! An Interest is new when no out-record is unanswered, from whatever downstream; the suppression interval is then not
//! reset.
//!
//! Deviation: NFD's out-records keep their own expiry; see [`super::OutRecord::expiry`].

use super::{InterestArrival, Strategy};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::packet::NackReason;
use crate::shared::suppression::{Suppression, SuppressionParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`BestRoute`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// When retransmissions are not forwarded.
    pub suppression: SuppressionParams,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct BestRoute {
    suppression: Suppression,
}

impl Component for BestRoute {
    const NAME: &'static str = "best-route";
    const SUMMARY: &'static str = "the cheapest next hop; retransmissions try the others";
    const SOURCE: &'static str = "NFD best-route v5";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> BestRoute {
        BestRoute { suppression: Suppression::new(params.suppression.clone()) }
    }
}

impl Strategy for BestRoute {
    fn wakes(&self) -> bool {
        false
    }

    fn takes_cheapest(&self) -> bool {
        true
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(
        &mut self,
        event: &mut InterestArrival<'_>,
        choice: &mut super::ForwardingDecision,
        ctx: &mut Ctx<'_>,
    ) {
        if event.pending(ctx.now) {
            return self.on_pending(event, choice, ctx);
        }
        // The cheapest comes first, of equal ones that which is given first.
        match event.eligible().next() {
            Some(hop) => choice.send(hop.face),
            None => choice.reject(NackReason::NoRoute),
        }
    }
}

impl BestRoute {
    /// An Interest for what an upstream may still answer.
    fn on_pending(
        &mut self,
        event: &mut InterestArrival<'_>,
        choice: &mut super::ForwardingDecision,
        ctx: &mut Ctx<'_>,
    ) {
        if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
            return;
        }
        *event.note = self.suppression.grown(*event.note);
        let cheapest = event.unused(ctx.now).min_by_key(|hop| hop.cost);
        if let Some(hop) = cheapest.or_else(|| event.used_earliest()) {
            choice.send(hop.face);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::super::harness::{Bench, nacked, sent};
    use super::*;
    use crate::ids::FaceId;
    use serde_json::json;

    const HOPS: &[(u16, u32)] = &[(1, 1), (2, 5), (3, 9)];

    fn bench() -> Bench<BestRoute> {
        Bench::new(&json!({}), HOPS)
    }

    #[test]
    fn a_new_interest_takes_the_cheapest_hop_but_never_goes_back() {
        assert_eq!(bench().interest(0, 0, Arrival::New, &[]), [1]);
        assert_eq!(bench().interest(0, 1, Arrival::New, &[]), [2]);
    }

    #[test]
    fn without_an_eligible_hop_a_new_interest_is_rejected_and_a_later_one_ignored() {
        let mut bench: Bench<BestRoute> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
        let choice = bench.choice(50, 1, Arrival::Joining, &[sent(1, 0)]);
        assert_eq!((choice.rejection(), choice.copies().len()), (None, 0));
    }

    #[test]
    fn a_retransmission_within_ten_milliseconds_is_suppressed_from_any_downstream() {
        assert!(bench().interest(9, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
        assert!(bench().interest(9, 7, Arrival::Joining, &[sent(1, 0)]).is_empty());
        assert_eq!(bench().interest(10, 7, Arrival::Joining, &[sent(1, 0)]), [2]);
    }

    // Intervals 10, 20, 40, 80, 160, 250, 250 ms since the last transmission on any face.
    #[test]
    fn the_suppression_interval_doubles_with_every_retransmission_let_through() {
        let mut bench = bench();
        for interval in [10, 20, 40, 80, 160, 250, 250] {
            assert!(bench.interest(interval - 1, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
            assert_eq!(bench.interest(interval, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
        }
    }

    #[test]
    fn later_retransmissions_try_the_unused_hops_then_the_one_used_longest_ago() {
        let mut bench = bench();
        assert_eq!(bench.interest(11, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
        assert_eq!(bench.interest(31, 0, Arrival::Retransmission, &[sent(1, 0), sent(2, 11)]), [3]);
        let all = [sent(1, 90), sent(2, 11), sent(3, 31)];
        assert_eq!(bench.interest(200, 0, Arrival::Retransmission, &all), [2]);
    }

    #[test]
    fn a_hop_that_rejected_stays_used_until_its_interest_expires() {
        // Hop 1 rejected at once and hop 2 has not answered: the unused one is 3; when that is used too, 1 was used
        // earliest.
        let records = [nacked(1, NackReason::NoRoute), sent(2, 1)];
        assert_eq!(bench().interest(20, 0, Arrival::Retransmission, &records), [3]);
        let all = [nacked(1, NackReason::NoRoute), sent(2, 1), sent(3, 20)];
        assert_eq!(bench().interest(60, 0, Arrival::Retransmission, &all), [1]);
    }

    #[test]
    fn an_interest_that_is_new_again_leaves_the_suppression_interval_as_it_was() {
        let mut bench = bench();
        assert_eq!(bench.interest(10, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
        assert_eq!(bench.interest(11, 0, Arrival::Retransmission, &[nacked(1, NackReason::Congestion)]), [1]);
        assert!(bench.interest(30, 0, Arrival::Retransmission, &[sent(1, 11)]).is_empty());
        assert_eq!(bench.interest(31, 0, Arrival::Retransmission, &[sent(1, 11)]), [2]);
    }

    #[test]
    fn an_expired_hop_counts_as_unused() {
        // Lifetime 2 s: at 2.1 s the Interest sent at 0 has ended, the one sent at 1 s has not.
        assert_eq!(bench().interest(2100, 0, Arrival::Retransmission, &[sent(1, 0), sent(2, 1000)]), [1]);
    }

    #[test]
    fn when_no_upstream_owes_an_answer_an_interest_is_new_again() {
        let records = [nacked(1, NackReason::Congestion)];
        assert_eq!(bench().interest(1, 0, Arrival::Retransmission, &records), [1]);
        assert_eq!(bench().interest(2001, 7, Arrival::Joining, &[sent(1, 0)]), [1]);
    }

    #[test]
    fn all_hops_rejecting_gives_one_nack_downstream() {
        let mut bench = bench();
        let choice = bench.nack(5, 1, 0, &[nacked(1, NackReason::Congestion)]);
        assert_eq!(choice.rejection(), Some(NackReason::Congestion));
        assert!(bench.nack(5, 1, 0, &[nacked(1, NackReason::Congestion), sent(2, 3)]).rejection().is_none());
        assert_eq!(choice.copies().first().map(|copy| copy.face), None::<FaceId>);
    }
}

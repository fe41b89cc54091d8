//! `multicast`: every next hop.
//!
//! Source: NFD's multicast strategy, version 5: an Interest goes to all eligible next hops; each upstream has an
//! exponential suppression of its own (10 ms, doubled after every retransmission sent there, up to 250 ms). Without a
//! next hop the Interest waits for its lifetime, a NACK is noted but never answered downstream, and an Interest that
//! loops is dropped without a NACK. A next hop that routing adds gets the Interests that are pending, without
//! suppression.
//!
//! The interval of one upstream follows from how often the Interest was sent there: it grows only when it really left.
//! Deviation: what a new next hop gets has a full hop limit and no MustBeFresh, which the PIT does not keep.

use super::{ForwardingDecision, InterestArrival, NackReturn, Strategy};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::shared::suppression::{Suppression, SuppressionParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Multicast`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// When retransmissions are not forwarded to an upstream.
    pub suppression: SuppressionParams,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Multicast {
    suppression: Suppression,
}

impl Component for Multicast {
    const NAME: &'static str = "multicast";
    const SUMMARY: &'static str = "every next hop at once";
    const SOURCE: &'static str = "NFD multicast v5";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Multicast {
        Multicast { suppression: Suppression::new(params.suppression.clone()) }
    }
}

impl Strategy for Multicast {
    fn wakes(&self) -> bool {
        false
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        for hop in event.eligible() {
            let suppressed = event.record(hop.face).is_some_and(|record| {
                self.suppression.suppresses(record.sends.saturating_sub(1), ctx.now.since(record.sent))
            });
            if !suppressed {
                choice.send(hop.face);
            }
        }
    }

    fn on_nack(&mut self, _: &mut NackReturn<'_>, _: &mut ForwardingDecision, _: &mut Ctx<'_>) {}

    fn sends_pending_to_new_hops(&self) -> bool {
        true
    }

    fn rejects_loops(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, nacked, sent};
    use super::super::{Arrival, OutRecord};
    use super::*;
    use crate::packet::NackReason;
    use serde_json::json;

    fn bench() -> Bench<Multicast> {
        Bench::new(&json!({}), &[(1, 1), (2, 5), (3, 5)])
    }

    #[test]
    fn every_hop_but_the_way_back_gets_the_interest() {
        assert_eq!(bench().interest(0, 0, Arrival::New, &[]), [1, 2, 3]);
        assert_eq!(bench().interest(0, 2, Arrival::New, &[]), [1, 3]);
    }

    // Face 1 was sent to once, at 0: suppressed until 10. Face 2 three times, last at 0: until 40. Face 3 not yet.
    #[test]
    fn each_upstream_is_suppressed_by_its_own_history() {
        let records = [sent(1, 0), OutRecord { sends: 3, ..sent(2, 0) }];
        assert_eq!(bench().interest(9, 0, Arrival::Retransmission, &records), [3]);
        assert_eq!(bench().interest(10, 0, Arrival::Joining, &records), [1, 3]);
        assert_eq!(bench().interest(39, 0, Arrival::Joining, &records), [1, 3]);
        assert_eq!(bench().interest(40, 0, Arrival::Retransmission, &records), [1, 2, 3]);
    }

    #[test]
    fn an_upstream_that_rejected_is_suppressed_like_any_other() {
        let records = [nacked(1, NackReason::NoRoute), sent(2, 0), sent(3, 0)];
        assert!(bench().interest(9, 0, Arrival::Retransmission, &records).is_empty());
    }

    #[test]
    fn neither_a_missing_hop_nor_a_nack_is_answered() {
        let mut alone: Bench<Multicast> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(alone.choice(0, 1, Arrival::New, &[]).rejection(), None);
        let choice = bench().nack(1, 1, 0, &[nacked(1, NackReason::NoRoute)]);
        assert_eq!((choice.rejection(), choice.rejection_of_one()), (None, None));
    }
}

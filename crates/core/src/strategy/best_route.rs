//! `best-route`: the cheapest next hop.
//!
//! Source: NFD's best-route strategy, version 5: a new Interest takes the lowest-cost eligible next hop; a
//! retransmission, unless suppressed, the lowest-cost one not used yet, and when all are used the one used longest ago.
//! Suppression is per PIT entry and exponential: 10 ms, doubled after every forwarded retransmission up to 250 ms.

use super::{Arrival, Choice, InterestArrival, Strategy};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::packet::NackReason;
use crate::shared::suppression::{Suppression, SuppressionParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`BestRoute`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// When retransmissions are not forwarded.
    pub suppression: SuppressionParams,
}

/// The strategy.
#[derive(Clone, Debug)]
pub struct BestRoute {
    suppression: Suppression,
}

impl Component for BestRoute {
    const NAME: &'static str = "best-route";
    const SUMMARY: &'static str = "the cheapest next hop; retransmissions try the others";
    const SOURCE: &'static str = "NFD best-route v5";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> BestRoute {
        BestRoute { suppression: Suppression::new(params.suppression.clone()) }
    }
}

impl Strategy for BestRoute {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut Choice, ctx: &mut Ctx<'_>) {
        // NFD calls an Interest new unless an upstream still owes an answer, whoever asks.
        let pending = event.sent.iter().any(|record| record.nacked.is_none());
        if event.arrival == Arrival::New || !pending {
            match event.eligible().min_by_key(|hop| hop.cost) {
                Some(hop) => choice.send(hop.face),
                None => choice.refuse(NackReason::NoRoute),
            }
            return;
        }
        let last = event.sent.iter().map(|record| record.sent).max().unwrap_or_default();
        if self.suppression.suppresses(*event.note, ctx.now.since(last)) {
            return;
        }
        let used = |hop: &super::NextHop| event.sent.iter().find(|record| record.face == hop.face);
        let unused = event.eligible().filter(|hop| used(hop).is_none()).min_by_key(|hop| hop.cost);
        let earliest = || event.eligible().min_by_key(|hop| used(hop).map(|record| record.sent));
        if let Some(hop) = unused.or_else(earliest) {
            choice.send(hop.face);
            *event.note = self.suppression.grown(*event.note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NextHop, OutRecord};
    use super::*;
    use crate::component::parse_params;
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;
    use crate::ids::{FaceId, PrefixId};
    use crate::packet::Packet;
    use crate::units::{Span, Time};

    fn choose(arrival: Arrival, now_ms: u64, sent: &[OutRecord], note: &mut u8) -> Choice {
        let params = parse_params::<BestRoute>(&serde_json::Value::Null).unwrap();
        let mut strategy = BestRoute::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        let hops = [NextHop { face: FaceId(1), cost: 1 }, NextHop { face: FaceId(2), cost: 5 }];
        let (mut rng, mut trace, mut choice) = (Rng::derive(0, &[]), Trace::default(), Choice::default());
        let mut ctx = Ctx { now: Time::ZERO + Span::from_millis(now_ms), rng: &mut rng, trace: &mut trace };
        let packet = Packet::default();
        let mut event = InterestArrival {
            packet: &packet,
            in_face: FaceId(0),
            prefix: PrefixId(0),
            hops: &hops,
            arrival,
            sent,
            note,
        };
        strategy.on_interest(&mut event, &mut choice, &mut ctx);
        choice
    }

    fn sent(face: u16, ms: u64) -> OutRecord {
        let sent = Time::ZERO + Span::from_millis(ms);
        OutRecord { sent, nonce: 1, face: FaceId(face), nacked: None, resent: false }
    }

    #[test]
    fn a_new_interest_takes_the_cheapest_hop() {
        assert_eq!(choose(Arrival::New, 0, &[], &mut 0).copies()[0].face, FaceId(1));
    }

    #[test]
    fn a_retransmission_within_ten_milliseconds_is_suppressed() {
        assert!(choose(Arrival::Retransmission, 9, &[sent(1, 0)], &mut 0).copies().is_empty());
    }

    #[test]
    fn a_later_retransmission_tries_the_unused_hop_then_the_one_used_longest_ago() {
        let mut note = 0;
        assert_eq!(choose(Arrival::Retransmission, 11, &[sent(1, 0)], &mut note).copies()[0].face, FaceId(2));
        assert_eq!(note, 1, "the suppression interval has doubled");
        let both = [sent(1, 0), sent(2, 11)];
        assert!(choose(Arrival::Retransmission, 30, &both, &mut note).copies().is_empty());
        assert_eq!(choose(Arrival::Retransmission, 32, &both, &mut note).copies()[0].face, FaceId(1));
    }
}

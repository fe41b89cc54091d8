//! `random`: any next hop, all with equal probability.
//!
//! Source: NFD's random strategy, version 1: every Interest, retransmitted or joining a pending one, goes to one of the
//! eligible next hops, drawn uniformly; costs do not count and nothing is suppressed.
//!
//! Deviation: without an eligible next hop NFD rejects the Interest and ends the PIT entry even if others wait for it;
//! here a pending entry stays and only the new downstream is rejected.

use super::{ForwardingDecision, InterestArrival, Strategy};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;
use crate::packet::NackReason;

/// The strategy.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Random;

impl Component for Random {
    const NAME: &'static str = "random";
    const SUMMARY: &'static str = "a next hop drawn uniformly for every Interest";
    const SOURCE: &'static str = "NFD random v1";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> Random {
        Random
    }
}

impl Strategy for Random {
    fn wakes(&self) -> bool {
        false
    }

    fn watches_data(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let drawn = ctx.rng.below(event.eligible().count() as u64);
        match event.eligible().nth(drawn as usize) {
            Some(hop) => choice.send(hop.face),
            None if event.pending(ctx.now) => choice.reject_one(event.in_face, NackReason::NoRoute),
            None => choice.reject(NackReason::NoRoute),
        }
    }

    fn shares(&self, _: crate::ids::PrefixId, hops: &[super::NextHop], out: &mut Vec<f64>) {
        out.extend(hops.iter().map(|_| 1.0 / hops.len() as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::super::harness::{Bench, sent};
    use super::*;
    use crate::ids::FaceId;
    use serde_json::json;

    #[test]
    fn the_draw_is_uniform_among_the_eligible_whatever_they_cost() {
        let mut bench: Bench<Random> = Bench::new(&json!({}), &[(1, 1), (2, 100), (3, 0), (4, 1)]);
        let mut counts = [0_u32; 5];
        for _ in 0..30_000 {
            let chosen = bench.interest(0, 4, Arrival::New, &[]);
            assert_eq!(chosen.len(), 1);
            counts[usize::from(chosen[0])] += 1;
        }
        // Standard deviation √(30000 · 1/3 · 2/3) = 82.
        assert!(counts[1..4].iter().all(|n| n.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(counts[4], 0);
    }

    #[test]
    fn retransmissions_and_joining_interests_are_forwarded_at_once() {
        let mut bench: Bench<Random> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.interest(0, 0, Arrival::Retransmission, &[sent(1, 0)]), [1]);
        assert_eq!(bench.interest(0, 7, Arrival::Joining, &[sent(1, 0)]), [1]);
    }

    #[test]
    fn without_an_eligible_hop_only_the_requesting_downstream_is_rejected() {
        let mut bench: Bench<Random> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
        let joining = bench.choice(0, 1, Arrival::Joining, &[sent(1, 0)]);
        assert_eq!(joining.rejection_of_one(), Some((FaceId(1), NackReason::NoRoute)));
        assert_eq!(joining.rejection(), None);
    }
}

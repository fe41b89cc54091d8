//! `pcon`: shares of the Interests per next hop that marks shift (PCON's fwPerc).
//!
//! Every prefix has one share per next hop. An Interest draws its next hop by the shares; a marked Data takes a fraction
//! off the share of the face it came by and spreads it evenly over the others. A small part of the Interests probes all
//! other next hops. Source: Schneider, Yi, Zhang, Zhang, ICN 2016, §5, and the authors' NFD strategy (2016);
//! specification §2.1.
//!
//! As in the authors' code: adaptation does not weaken with the distance to the congested link (the paper's
//! f(Distance) is 1); a draw both chooses and probes; marked NACKs shift at most once per 110 ms in the whole node; an
//! Interest that expires takes an absolute step off the face it first went to, once per upstream it had.
//!
//! Deviations: shortest path means lowest cost, then lowest face number (there: lowest face number). Probes do not go
//! back to where the Interest came from. Without an eligible next hop a new Interest is refused (there: dropped); if
//! the eligible ones have no share, the cheapest is used (there: an assertion). A NACK passes on at once, except that for
//! a probed Interest the other upstreams may still answer. When routing changes the set of next hops, those that stay
//! keep their shares, scaled to a sum of 1.

use super::{Arrival, Choice, DataReturn, InterestArrival, NackReturn, NextHop, Strategy, TimeoutEvent};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shares a prefix begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Everything on the lowest cost.
    Shortest,
    /// The same for all.
    Equal,
}

/// Parameters of [`Pcon`]; defaults are the authors'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Part of its share that a face loses per marked Data, from 0 to 1 (CHANGE_PER_MARK, 0.02; the paper: 0.01 to 0.03).
    pub change: f64,
    /// Part of the Interests that probe all other next hops, from 0 to 1 (PROBING_PERCENTAGE, 0.001).
    pub probing: f64,
    /// Least time between two reactions of the node to marked NACKs (TIME_BETWEEN_FW_UPDATE, 110 ms).
    pub nack_interval: Span,
    /// The shares a prefix begins with (INIT_SHORTEST_PATH).
    pub init: Init,
}

impl Default for Params {
    fn default() -> Params {
        Params { change: 0.02, probing: 0.001, nack_interval: Span::from_millis(110), init: Init::Shortest }
    }
}

/// A face's part of a prefix's Interests.
#[derive(Clone, Copy, Debug)]
struct Share {
    face: FaceId,
    part: f64,
}

/// The strategy.
#[derive(Clone, Debug)]
pub struct Pcon {
    params: Params,
    /// By prefix; grows only when routing sets one.
    prefixes: Vec<Vec<Share>>,
    /// The last reaction to a marked NACK.
    last_nack: Option<Time>,
}

/// Value of the PIT entry's note once the Interest was probed.
const PROBED: u8 = 1;

impl Component for Pcon {
    const NAME: &'static str = "pcon";
    const SUMMARY: &'static str = "shares per next hop, shifted 2 % away from a face by each marked Data";
    const SOURCE: &'static str = "Schneider et al., ICN 2016, and its authors' NFD strategy";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        for (name, value) in [("change", params.change), ("probing", params.probing)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} = {value} must be from 0 to 1"));
            }
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Pcon {
        Pcon { params: params.clone(), prefixes: Vec::new(), last_nack: None }
    }
}

/// The lowest cost, then the lowest face number.
fn cheapest(hops: impl Iterator<Item = NextHop>) -> Option<FaceId> {
    hops.min_by_key(|hop| (hop.cost, hop.face)).map(|hop| hop.face)
}

impl Pcon {
    fn initial(&self, hops: &[NextHop]) -> Vec<Share> {
        let best = cheapest(hops.iter().copied());
        let part = |face| match self.params.init {
            Init::Equal => 1.0 / hops.len() as f64,
            Init::Shortest if Some(face) == best => 1.0,
            Init::Shortest => 0.0,
        };
        hops.iter().map(|hop| Share { face: hop.face, part: part(hop.face) }).collect()
    }

    fn of(&self, prefix: PrefixId) -> &[Share] {
        self.prefixes.get(prefix.index()).map_or(&[], |shares| shares)
    }

    fn part(&self, prefix: PrefixId, face: FaceId) -> Option<f64> {
        self.of(prefix).iter().find(|share| share.face == face).map(|share| share.part)
    }

    /// Moves up to `step` of the share of `face` evenly to the others.
    fn reduce(&mut self, prefix: PrefixId, face: FaceId, step: f64) {
        let Some(part) = self.part(prefix, face) else { return };
        let Some(shares) = self.prefixes.get_mut(prefix.index()) else { return };
        if shares.len() < 2 {
            return;
        }
        let step = step.min(part);
        let gain = step / (shares.len() - 1) as f64;
        for share in shares.iter_mut() {
            share.part = if share.face == face { part - step } else { share.part + gain };
        }
        normalise(shares);
    }

    /// The next hop for the draw `u`.
    fn choose(&self, event: &InterestArrival<'_>, u: f64) -> Option<FaceId> {
        let shares = self.of(event.prefix);
        let part = |face| shares.iter().find(|share| share.face == face).map_or(0.0, |share| share.part);
        let total: f64 = event.eligible().map(|hop| part(hop.face)).sum();
        if total <= 0.0 {
            return cheapest(event.eligible());
        }
        let (mut reached, mut chosen) = (0.0, None);
        for hop in event.eligible() {
            let own = part(hop.face);
            reached += own / total;
            if own > 0.0 {
                chosen = Some(hop.face);
            }
            if u < reached {
                break;
            }
        }
        chosen
    }
}

/// Removes what rounding did to the sum.
fn normalise(shares: &mut [Share]) {
    let sum: f64 = shares.iter().map(|share| share.part).sum();
    for share in shares.iter_mut() {
        share.part /= sum;
    }
}

impl Strategy for Pcon {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut Choice, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending && event.arrival != Arrival::Retransmission {
            return;
        }
        let u = ctx.rng.unit();
        let Some(face) = self.choose(event, u) else {
            if !pending {
                choice.refuse(NackReason::NoRoute);
            }
            return;
        };
        choice.send(face);
        if u <= self.params.probing {
            for hop in event.eligible().filter(|hop| hop.face != face) {
                choice.probe(hop.face);
            }
            *event.note = PROBED;
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, _: &mut Ctx<'_>) {
        if event.packet.mark == 0 || event.local {
            return;
        }
        // The content store is no face of the prefix.
        if let Some(part) = self.part(event.prefix, event.face) {
            self.reduce(event.prefix, event.face, part * self.params.change);
        }
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut Choice, ctx: &mut Ctx<'_>) {
        let rested = self.last_nack.is_none_or(|last| ctx.now >= last + self.params.nack_interval);
        if event.packet.mark > 0 && rested && self.of(event.prefix).len() > 1 {
            self.last_nack = Some(ctx.now);
            if let Some(part) = self.part(event.prefix, event.face) {
                self.reduce(event.prefix, event.face, part * self.params.change);
            }
        }
        match *event.note {
            PROBED => super::process_nack(event, choice),
            _ => choice.refuse(event.packet.reason),
        }
    }

    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, _: &mut Ctx<'_>) {
        let Some(first) = event.sent.first() else { return };
        for _ in event.sent {
            self.reduce(event.prefix, first.face, self.params.change);
        }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        let mut shares = self.initial(hops);
        let kept: Vec<_> = hops.iter().map(|hop| self.part(prefix, hop.face)).collect();
        if kept.iter().flatten().sum::<f64>() > 0.0 {
            for (share, part) in shares.iter_mut().zip(kept) {
                share.part = part.unwrap_or(0.0);
            }
            normalise(&mut shares);
        }
        if self.prefixes.len() <= prefix.index() {
            self.prefixes.resize_with(prefix.index() + 1, Vec::new);
        }
        self.prefixes[prefix.index()] = shares;
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        out.extend(hops.iter().map(|hop| self.part(prefix, hop.face).unwrap_or(0.0)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, nacked, sent};
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn bench(params: Value, hops: &[(u16, u32)]) -> Bench<Pcon> {
        Bench::new(&params, hops)
    }

    fn close(shares: &[f64], expected: &[f64]) {
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?} {expected:?}");
    }

    #[test]
    fn all_begins_on_the_lowest_cost_then_the_lowest_face() {
        close(&bench(json!({}), &[(4, 2), (3, 1), (2, 1)]).shares(), &[0.0, 0.0, 1.0]);
        close(&bench(json!({ "init": "equal" }), &[(4, 2), (3, 1)]).shares(), &[0.5, 0.5]);
    }

    // After k marks the first face keeps 0.98^k: 0.98, 0.9604, 0.941192; the two others halve what it lost.
    #[test]
    fn each_mark_moves_two_percent_of_the_share_evenly_to_the_others() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2), (3, 2)]);
        for (first, other) in [(0.98, 0.01), (0.9604, 0.0198), (0.941_192, 0.029_404)] {
            bench.data(FaceId(1), 1, false);
            close(&bench.shares(), &[first, other, other]);
        }
        // 0.02 · 0.029404 = 0.00058808 off the second, half of it to each of the others.
        bench.data(FaceId(2), 1, false);
        close(&bench.shares(), &[0.941_486_04, 0.028_815_92, 0.029_698_04]);
    }

    #[test]
    fn unmarked_local_and_cached_data_and_strange_faces_move_nothing() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
        bench.data(FaceId(1), 0, false);
        bench.data(FaceId(1), 1, true);
        bench.data(FaceId::NONE, 1, false);
        bench.data(FaceId(7), 1, false);
        close(&bench.shares(), &[1.0, 0.0]);
    }

    #[test]
    fn marked_nacks_count_once_per_110_ms_and_pass_on_at_once() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
        let sent = [nacked(1, NackReason::Congestion), sent(2, 0)];
        for (ms, mark, expected) in [(0, 1, 0.98), (109, 1, 0.98), (110, 0, 0.98), (110, 1, 0.9604)] {
            assert_eq!(bench.nack(ms, 1, mark, &sent).refusal(), Some(NackReason::Congestion));
            close(&bench.shares(), &[expected, 1.0 - expected]);
        }
        bench.note = PROBED;
        assert_eq!(bench.nack(111, 1, 0, &sent).refusal(), None, "the probe may still answer");
    }

    // Two upstreams expired: twice 0.02 off the first one's face; then the rest of it when less than a step is left.
    #[test]
    fn an_expired_interest_takes_an_absolute_step_per_upstream_off_its_first_face() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
        bench.timeout(&[sent(1, 0), sent(2, 0)]);
        close(&bench.shares(), &[0.96, 0.04]);
        for _ in 0..49 {
            bench.timeout(&[sent(1, 0)]);
        }
        close(&bench.shares(), &[0.0, 1.0]);
    }

    #[test]
    fn a_retransmission_is_forwarded_and_another_downstream_joins() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
        assert_eq!(bench.interest(5, 0, Arrival::Retransmission, &[sent(1, 0)]), [1]);
        assert!(bench.interest(5, 7, Arrival::Joining, &[sent(1, 0)]).is_empty());
        assert_eq!(bench.interest(2001, 7, Arrival::Joining, &[sent(1, 0)]), [1], "the pending Interest has expired");
    }

    #[test]
    fn probes_reach_all_other_hops_but_not_the_way_back() {
        let mut bench = bench(json!({ "probing": 1.0 }), &[(1, 1), (2, 2), (3, 2)]);
        let choice = bench.choice(0, 3, Arrival::New, &[]);
        let copies: Vec<_> = choice.copies().iter().map(|copy| (copy.face.0, copy.new_nonce)).collect();
        assert_eq!(copies, [(1, false), (2, true)]);
    }

    // 0.1 % of 200,000 is 200, with a standard deviation of 14.
    #[test]
    fn one_interest_in_a_thousand_probes() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
        let probes: usize = (0..200_000).map(|_| bench.interest(0, 0, Arrival::New, &[]).len() - 1).sum();
        assert!((130..270).contains(&probes), "{probes}");
    }

    // 34 marks leave 0.98³⁴ = 0.5031 on the first face; standard deviation √(20000 · ¼) = 71.
    #[test]
    fn interests_follow_the_shares() {
        let mut bench = bench(json!({ "probing": 0.0 }), &[(1, 1), (2, 2)]);
        for _ in 0..34 {
            bench.data(FaceId(1), 1, false);
        }
        let first = (0..20_000).filter(|_| bench.interest(0, 0, Arrival::New, &[]) == [1]).count();
        assert!(first.abs_diff(10_062) < 300, "{first}");
    }

    #[test]
    fn if_only_the_way_back_has_a_share_the_cheapest_other_hop_is_used() {
        let mut bench = bench(json!({}), &[(1, 1), (2, 5), (3, 4)]);
        assert_eq!(bench.interest(0, 1, Arrival::New, &[]), [3]);
        let mut alone: Bench<Pcon> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(alone.choice(0, 1, Arrival::New, &[]).refusal(), Some(NackReason::NoRoute));
        assert_eq!(alone.choice(0, 1, Arrival::Retransmission, &[sent(1, 0)]).refusal(), None);
    }

    #[test]
    fn a_change_of_routes_keeps_what_it_can() {
        let mut bench = bench(json!({ "init": "equal" }), &[(1, 1), (2, 2), (3, 3), (4, 4)]);
        bench.route(&[(2, 9), (3, 3), (5, 1)]);
        close(&bench.shares(), &[0.5, 0.5, 0.0]);
        bench.route(&[(6, 1), (7, 2)]);
        close(&bench.shares(), &[0.5, 0.5]);
        bench.route(&[]);
        assert!(bench.shares().is_empty());
        assert_eq!(bench.choice(0, 0, Arrival::New, &[]).refusal(), Some(NackReason::NoRoute));
    }

    proptest! {
        #[test]
        fn shares_stay_within_0_and_1_and_sum_to_1(
            events in prop::collection::vec((0_u8..4, 1_u16..6, any::<bool>()), 1..400),
            change in 0.0..=1.0_f64,
            n in 1_u16..6,
        ) {
            let list: Vec<_> = (1..=n).map(|face| (face, u32::from(face))).collect();
            let mut bench = bench(json!({ "change": change }), &list);
            for (i, (what, face, marked)) in events.into_iter().enumerate() {
                match what {
                    0 => bench.timeout(&[sent(face, 0), sent(1, 0)]),
                    1 => drop(bench.nack(i as u64 * 60, face, u8::from(marked), &[nacked(face, NackReason::Congestion)])),
                    _ => bench.data(FaceId(face), u8::from(marked), false),
                }
                let shares = bench.shares();
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!(shares.iter().all(|part| (0.0..=1.0).contains(part)));
            }
        }
    }
}

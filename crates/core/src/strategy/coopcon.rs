//! `coopcon`: traffic leaves a severely congested path, and returns to the best one when it is free again.
//!
//! Stands in for CoopCon's redirection (Li et al., IEEE TNSM 2023), whose law is not public. Public, from its abstract
//! and the ndnSieve paper: redirection only on severe congestion, otherwise the best path. All else is ours: severe
//! congestion arrives as a CongestionMark (see the `coopcon` meter); the first router downstream with another next hop
//! moves `step` of the prefix's Interests to the cheapest other one, at most once per `spacing`, and removes the mark;
//! after `rest` without a mark it moves `back` per `spacing` to the best next hop again.

use super::shares::{Init, Shares, cheapest};
use super::{Arrival, DataReturn, ForwardingDecision, InterestArrival, NextHop, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::NackReason;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`CoopCon`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of a prefix's Interests that leaves a severely congested face at once, from 0 to 1.
    pub step: f64,
    /// Part that returns at once, from 0 to 1.
    pub back: f64,
    /// Least time between two moves of one prefix.
    pub spacing: Duration,
    /// How long no mark may have come before traffic returns.
    pub rest: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params { step: 0.1, back: 0.05, spacing: Duration::from_millis(100), rest: Duration::from_millis(1000) }
    }
}

/// When something last happened to a prefix.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct Last {
    mark: Option<Time>,
    move_: Option<Time>,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct CoopCon {
    #[state(skip)]
    params: Params,
    shares: Shares,
    /// By prefix; grows only when routing sets one.
    last: Vec<Last>,
}

impl Component for CoopCon {
    const NAME: &'static str = "coopcon";
    const SUMMARY: &'static str = "moves Interests off a severely congested path, and back to the best one later";
    const SOURCE: &'static str =
        "stands in for Li et al., IEEE TNSM 2023, whose law is not public: when it redirects, the rest ours";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("step", params.step, 0.0, 1.0)?;
        check::number("back", params.back, 0.0, 1.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> CoopCon {
        CoopCon { params: params.clone(), shares: Shares::default(), last: Vec::new() }
    }
}

fn elapsed(since: Option<Time>, now: Time, duration: Duration) -> bool {
    since.is_none_or(|since| now >= since + duration)
}

impl CoopCon {
    /// The largest share that is not on the best next hop returns in part, if its interval has passed.
    fn return_share(&mut self, prefix: PrefixId, hops: &[NextHop], now: Time) {
        let Params { back, spacing, rest, .. } = self.params;
        let Some(last) = self.last.get_mut(prefix.index()) else { return };
        if last.mark.is_none() || !elapsed(last.mark, now, rest) || !elapsed(last.move_, now, spacing) {
            return;
        }
        let Some(best) = cheapest(hops.iter().copied()) else { return };
        let part = |face| self.shares.part(prefix, face).unwrap_or(0.0);
        let others = hops.iter().map(|hop| hop.face).filter(|&face| face != best);
        let Some(from) = others.max_by(|&a, &b| part(a).total_cmp(&part(b))) else { return };
        if self.shares.transfer(prefix, from, best, back) > 0.0 {
            last.move_ = Some(now);
        }
    }
}

impl Strategy for CoopCon {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending && event.arrival != Arrival::Retransmission {
            return;
        }
        self.return_share(event.prefix, event.hops, ctx.now);
        match self.shares.choose(event, ctx.rng.unit()) {
            Some(face) => choice.send(face),
            None if !pending => choice.reject(NackReason::NoRoute),
            None => {}
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let Some(last) = self.last.get_mut(event.prefix.index()) else { return };
        if event.packet.mark == 0 || event.local || self.shares.part(event.prefix, event.face).is_none() {
            return;
        }
        last.mark = Some(ctx.now);
        if !elapsed(last.move_, ctx.now, self.params.spacing) {
            return;
        }
        let others = event.hops.iter().copied().filter(|hop| hop.face != event.face);
        let Some(to) = cheapest(others) else { return };
        let moved = self.shares.transfer(event.prefix, event.face, to, self.params.step);
        if moved > 0.0 {
            last.move_ = Some(ctx.now);
            ctx.trace.record(ctx.now, "redirect", u64::from(to.0), moved);
        }
    }

    fn propagate_mark(&mut self, event: &DataReturn<'_>, downstream: FaceId, _: &mut Ctx<'_>) -> u8 {
        let branches = event.hops.iter().filter(|hop| hop.face != downstream).nth(1).is_some();
        if branches { 0 } else { event.packet.mark }
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        self.shares.route(prefix, hops, Init::Shortest);
        if self.last.len() <= prefix.index() {
            self.last.resize_with(prefix.index() + 1, Last::default);
        }
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        self.shares.list(prefix, hops, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::Bench;
    use super::*;
    use crate::fields::Fields;
    use crate::packet::{Kind, Packet};
    use serde_json::json;

    /// Data from `face` with this mark; the mark that passes on.
    fn data(bench: &mut Bench<CoopCon>, ms: u64, face: u16, mark: u8) -> u8 {
        let packet = Packet { kind: Kind::Data, mark, ..Packet::default() };
        bench.data_with(ms, FaceId(face), &packet, false, &Fields::default())
    }

    fn close(shares: &[f64], expected: &[f64]) {
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?} {expected:?}");
    }

    #[test]
    fn a_mark_moves_a_tenth_once_per_100_ms_and_ends_at_the_branch() {
        let mut bench = Bench::<CoopCon>::new(&json!({}), &[(1, 1), (2, 2), (3, 3)]);
        assert_eq!(data(&mut bench, 0, 1, 1), 0);
        data(&mut bench, 99, 1, 1);
        close(&bench.shares(), &[0.9, 0.1, 0.0]);
        data(&mut bench, 100, 1, 1);
        close(&bench.shares(), &[0.8, 0.2, 0.0]);
        data(&mut bench, 300, 1, 0);
        close(&bench.shares(), &[0.8, 0.2, 0.0]);
    }

    #[test]
    fn with_one_next_hop_the_mark_is_passed_on() {
        let mut bench = Bench::<CoopCon>::new(&json!({}), &[(1, 1)]);
        assert_eq!(data(&mut bench, 0, 1, 1), 1);
        close(&bench.shares(), &[1.0]);
    }

    // The mark at 100 moved the second tenth; 5 % come back at 1100, 1200 and 1300, and the rest then.
    #[test]
    fn after_a_second_without_marks_a_twentieth_comes_back_per_100_ms() {
        let mut bench = Bench::<CoopCon>::new(&json!({}), &[(1, 1), (2, 2)]);
        data(&mut bench, 0, 1, 1);
        data(&mut bench, 100, 1, 1);
        for (ms, best) in [(1099, 0.8), (1100, 0.85), (1199, 0.85), (1200, 0.9), (1300, 0.95), (1400, 1.0), (1500, 1.0)]
        {
            bench.interest(ms, 0, Arrival::New, &[]);
            close(&bench.shares(), &[best, 1.0 - best]);
        }
    }
}

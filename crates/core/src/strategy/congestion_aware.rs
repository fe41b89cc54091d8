//! `congestion-aware`: Interests avoid the next hops that answer with NACKs.
//!
//! Source: congestion-aware.cc of HIS' first author's code (github wygivan/ndnSIM, branch cc-new). Per prefix and face
//! the part p of answers that are NACKs, measured over 100 ms and smoothed; the next hop is drawn in proportion to
//! (1/p)^k. An Interest that a shaper of this node rejects counts as a NACK of its face, Duplicate NACKs do not count.
//!
//! Ours: only eligible next hops are drawn; when a shaper rejects, the node tries the others (the code gives up);
//! retransmissions are subject to NFD's suppression; NoRoute stands for the code's give-up NACK. Left out: the smallest
//! p that the code passes downstream in its NACKs without using it.

use super::{DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::shared::draw::by_weight;
use crate::shared::suppression::{Suppression, SuppressionParams};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parameters of [`CongestionAware`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Traffic is split in proportion to (1/p)^k; 1 in the author's code.
    pub k: f64,
    /// How often p is updated; 100 ms in the author's code.
    pub interval: Duration,
    /// Weight of the old p at each update; 7/8 in the author's code.
    pub smoothing: f64,
    /// The smallest p; 1e-6 in the author's code.
    pub floor: f64,
    /// When retransmissions are not forwarded; NFD's best-route.
    pub suppression: SuppressionParams,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            k: 1.0,
            interval: Duration::from_millis(100),
            smoothing: 0.875,
            floor: 1e-6,
            suppression: SuppressionParams::default(),
        }
    }
}

/// Prefixes that are measured; Interests of further ones are spread evenly.
const MAX_PREFIXES: usize = 1 << 16;

/// The most intervals without an answer that are computed: after that many, p is practically at its floor.
const MAX_INTERVALS: u64 = 10_000;

#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Ratio {
    face: FaceId,
    p: f64,
    nacks: u32,
    data: u32,
    /// When the next update is due; none before the first answer.
    due: Option<Time>,
}

impl Ratio {
    fn settle(&mut self, params: &Params, ctx: &mut Ctx<'_>) {
        let Some(due) = self.due.filter(|due| *due <= ctx.now) else { return };
        let intervals = 1 + ctx.now.since(due).nanos() / params.interval.nanos();
        let answers = f64::from(self.nacks) + f64::from(self.data);
        let mut sample = if self.nacks > 0 { f64::from(self.nacks) / answers } else { 0.0 };
        for _ in 0..intervals.min(MAX_INTERVALS) {
            self.p = (params.smoothing * self.p + (1.0 - params.smoothing) * sample).max(params.floor);
            if sample == 0.0 && self.p == params.floor {
                break;
            }
            sample = 0.0;
        }
        (self.nacks, self.data) = (0, 0);
        let passed = Duration::from_nanos(params.interval.nanos().saturating_mul(intervals));
        self.due = Some(due + passed);
        ctx.trace.record(ctx.now, "nack-ratio", u64::from(self.face.0), self.p);
    }
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct CongestionAware {
    #[state(skip)]
    params: Params,
    suppression: Suppression,
    ratios: BTreeMap<PrefixId, Vec<Ratio>>,
}

impl Component for CongestionAware {
    const NAME: &'static str = "congestion-aware";
    const SUMMARY: &'static str = "Interests avoid next hops that answer with NACKs (HIS' multipath forwarding)";
    const SOURCE: &'static str = "code of Wang et al., ICN 2013 (HIS); suppression of NFD's best-route: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("k", params.k, 0.0, 16.0)?;
        check::factor("smoothing", params.smoothing)?;
        check::number("floor", params.floor, 1e-12, 1.0)?;
        check::least("interval", params.interval, Duration::from_millis(1))?;
        params.suppression.check()
    }

    fn new(params: &Params, _: &mut Env<'_>) -> CongestionAware {
        let suppression = Suppression::new(params.suppression.clone());
        CongestionAware { params: params.clone(), suppression, ratios: BTreeMap::new() }
    }
}

impl CongestionAware {
    fn answered(&mut self, prefix: PrefixId, face: FaceId, nack: bool, ctx: &mut Ctx<'_>) {
        let Some(ratio) = self.ratios.get_mut(&prefix).and_then(|all| all.iter_mut().find(|r| r.face == face)) else {
            return;
        };
        ratio.settle(&self.params, ctx);
        let counter = if nack { &mut ratio.nacks } else { &mut ratio.data };
        *counter = counter.saturating_add(1);
        ratio.due.get_or_insert(ctx.now + self.params.interval);
    }

    fn weight(&self, ratios: &[Ratio], face: FaceId) -> f64 {
        let p = ratios.iter().find(|ratio| ratio.face == face).map_or(self.params.floor, |ratio| ratio.p);
        libm::pow(self.params.floor / p, self.params.k)
    }

    fn draw(&mut self, event: &InterestArrival<'_>, ctx: &mut Ctx<'_>) -> Option<FaceId> {
        if event.hops.len() > 1 && (self.ratios.len() < MAX_PREFIXES || self.ratios.contains_key(&event.prefix)) {
            let (known, fresh) = (self.ratios.entry(event.prefix).or_default(), self.params.floor);
            for hop in event.hops {
                if known.iter().all(|ratio| ratio.face != hop.face) {
                    known.push(Ratio { face: hop.face, p: fresh, nacks: 0, data: 0, due: None });
                }
            }
            known.iter_mut().for_each(|ratio| ratio.settle(&self.params, ctx));
        }
        let ratios = self.ratios.get(&event.prefix).map_or(&[][..], Vec::as_slice);
        let drawn = by_weight(ctx.rng, event.eligible().map(|hop| self.weight(ratios, hop.face)))?;
        event.eligible().nth(drawn).map(|hop| hop.face)
    }
}

impl Strategy for CongestionAware {
    fn wakes(&self) -> bool {
        false
    }

    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let pending = event.pending(ctx.now);
        if pending {
            if self.suppression.suppresses(*event.note, ctx.now.since(event.last_sent())) {
                return;
            }
            *event.note = self.suppression.grown(*event.note);
        }
        match self.draw(event, ctx) {
            Some(face) => choice.send(face),
            None if pending => {}
            None => choice.reject(NackReason::NoRoute),
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        self.answered(event.prefix, event.face, false, ctx);
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        if event.packet.reason != NackReason::Duplicate {
            self.answered(event.prefix, event.face, true, ctx);
        }
        super::process_nack(event, choice);
    }

    fn on_rejection(&mut self, _: &Packet, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) {
        self.answered(prefix, face, true, ctx);
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        if hops.is_empty() {
            self.ratios.remove(&prefix);
        } else if let Some(ratios) = self.ratios.get_mut(&prefix) {
            ratios.retain(|ratio| hops.iter().any(|hop| hop.face == ratio.face));
        }
    }

    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) {
        let ratios = self.ratios.get(&prefix).map_or(&[][..], Vec::as_slice);
        let total: f64 = hops.iter().map(|hop| self.weight(ratios, hop.face)).sum();
        out.extend(hops.iter().map(|hop| self.weight(ratios, hop.face) / total));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::super::harness::{Bench, nacked, sent};
    use super::*;
    use serde_json::json;

    fn bench(params: serde_json::Value) -> Bench<CongestionAware> {
        let mut bench = Bench::new(&params, &[(1, 1), (2, 1)]);
        bench.interest(0, 0, Arrival::New, &[]);
        bench
    }

    fn answers(bench: &mut Bench<CongestionAware>, ms: u64, face: u16, nacks: u32, data: u32) {
        for _ in 0..nacks {
            bench.nack(ms, face, 0, &[nacked(face, NackReason::Congestion)]);
        }
        for _ in 0..data {
            bench.data_at(ms, face, &[sent(face, 0)]);
        }
    }

    fn p(bench: &mut Bench<CongestionAware>, ms: u64, face: u16) -> f64 {
        bench.interest(ms, 0, Arrival::New, &[]);
        bench.strategy.ratios[&PrefixId(0)].iter().find(|ratio| ratio.face == FaceId(face)).unwrap().p
    }

    // Update at 105 ms: p = 7/8 · 1e-6 + 1/8 · 1/4 = 0.031250875; at 205 ms without answers · 7/8; then twice more.
    #[test]
    fn the_ratio_is_smoothed_over_intervals_that_start_with_the_first_answer() {
        let mut bench = bench(json!({}));
        answers(&mut bench, 5, 1, 1, 3);
        assert_eq!(p(&mut bench, 104, 1), 1e-6);
        assert!((p(&mut bench, 105, 1) - 0.031_250_875).abs() < 1e-15);
        assert!((p(&mut bench, 204, 1) - 0.031_250_875).abs() < 1e-15);
        assert!((p(&mut bench, 410, 1) - 0.031_250_875 * 0.669_921_875).abs() < 1e-15);
        assert_eq!(p(&mut bench, 410, 2), 1e-6);
    }

    #[test]
    fn a_ratio_falls_back_to_its_floor_and_never_below() {
        let mut bench = bench(json!({}));
        answers(&mut bench, 0, 1, 5, 0);
        // p = 0.125000875 · (7/8)^n is below 1e-6 from n = 88 on: ln(125000.875)/ln(8/7) = 87.9.
        assert!(p(&mut bench, 100 + 8_700, 1) > 1e-6);
        assert_eq!(p(&mut bench, 100 + 8_800, 1), 1e-6);
        assert_eq!(p(&mut bench, 10_000_000, 1), 1e-6);
    }

    // With floor 0.1: p1 = 7/8 · 0.1 + 1/8 = 0.2125, p2 = 0.1. k = 1: 0.1/0.3125 = 0.32; k = 2: 0.01/0.05515625 =
    // 0.18130…
    #[test]
    fn traffic_is_split_in_proportion_to_the_inverse_ratio_to_the_power_k() {
        for (k, share) in [(1.0, 0.32), (2.0, 0.181_303_116)] {
            let mut bench = bench(json!({ "k": k, "floor": 0.1 }));
            answers(&mut bench, 0, 1, 4, 0);
            let first = (0..20_000).filter(|_| bench.interest(100, 0, Arrival::New, &[]) == [1]).count() as f64;
            assert!((bench.shares()[0] - share).abs() < 1e-8, "{:?}", bench.shares());
            assert!((first / 20_000.0 - share).abs() < 0.015, "{first}");
        }
    }

    #[test]
    fn duplicates_do_not_count_but_a_rejection_at_this_node_does() {
        let mut bench = bench(json!({}));
        bench.nack_for(0, 1, NackReason::Duplicate, &[nacked(1, NackReason::Duplicate)]);
        assert_eq!(p(&mut bench, 150, 1), 1e-6);
        bench.reject(200, 2);
        assert!((p(&mut bench, 300, 2) - 0.125_000_875).abs() < 1e-15);
    }

    #[test]
    fn a_prefix_with_a_single_next_hop_is_not_measured() {
        let mut bench: Bench<CongestionAware> = Bench::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
        answers(&mut bench, 0, 1, 3, 0);
        assert!(bench.strategy.ratios.is_empty());
    }

    #[test]
    fn retransmissions_are_suppressed_and_then_drawn_again() {
        let mut bench = bench(json!({}));
        assert!(bench.interest(9, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
        assert_eq!(bench.interest(10, 0, Arrival::Retransmission, &[sent(1, 0)]).len(), 1);
        assert!(bench.interest(29, 0, Arrival::Retransmission, &[sent(1, 10)]).is_empty());
    }
}

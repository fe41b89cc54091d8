//! `cwnd-codel`: PCON's marks, aimed at flows with large windows (resource pooling, method A).
//!
//! Marks fall due as in `codel-pcon`. Which packet gets one depends on the congestion windows of the flows in the
//! queue: a large window means that the flow also takes much from other paths, so it is marked more often. Source:
//! Sakamoto, Hayamizu, Yamamoto, "Toward a resource pooling fairness", IEICE ComEx 13, 2024, §3.1. The law itself is in
//! a two-page conference paper of 2023 whose text is not public; both laws here are our completion:
//!
//! - `selection`: a due mark lands on the packet at hand with probability (w/W)^g, else it waits for the next packet; w
//!   is the window of the packet's flow, W the largest of the flows active in this queue. g = 0 is PCON; the larger g,
//!   the more only the largest is marked. g = 8 was fitted on the paper's Table I, which can therefore not confirm it.
//! - `additive`: the due mark lands on the packet at hand, as in PCON. Then every active flow with a window w above the
//!   mean m of the active flows earns `gain` · (w − m)/m; a flow that has earned a whole mark spends it at the same due
//!   time on its next packet, unless it already got the ordinary mark: a second one within a round trip would be
//!   ignored.
//!
//! A flow is active while a packet of it joined within `activity`. The window comes with the packet
//! ([`Field::ConsumerWindow`]): an Interest carries it from its consumer, and the `pooling` meter writes it on Data
//! from the router's own PIT. A packet without one takes a due mark as in PCON.
//!
//! Deviations: none known from what is public. More than 4096 active flows are not distinguished: further ones are
//! treated as having no window.

use super::codel_pcon::IncidentDetector;
use super::{DequeueEvent, EnqueueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot, window_of_field};
use crate::ids::FlowId;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a mark finds its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// A due mark waits for a flow with a large window.
    Selection,
    /// Flows with large windows get marks on top of the due ones.
    Additive,
}

/// Parameters of [`CwndCodel`]; timing as the PCON authors', the rest ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time a packet may have (PCON's authors: 5 ms).
    pub target: Duration,
    /// How long it must be exceeded before the first mark (PCON's authors: 100 ms).
    pub interval: Duration,
    /// Gap after the first mark of an incident, in intervals (PCON's authors: 1.1).
    pub factor: f64,
    /// How a mark finds its flow (ours).
    pub law: Law,
    /// `selection`: the exponent g, at least 0 (ours: 8, fitted on the paper's Table I).
    pub exponent: f64,
    /// `additive`: extra marks per due mark and unit of relative excess, at least 0 (ours: 1).
    pub gain: f64,
    /// How long a flow counts after its last packet (ours: 500 ms).
    pub activity: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            factor: 1.1,
            law: Law::Selection,
            exponent: 8.0,
            gain: 1.0,
            activity: Duration::from_millis(500),
        }
    }
}

/// Flows distinguished at most.
const MAX_FLOWS: usize = 4096;

/// How long a mark waits for a large flow; then it lands on whatever comes. A flow that claims a huge window and sends
/// little would keep marks from all others.
const PATIENCE: Duration = Duration::from_millis(100);

/// Marks a flow can have saved up at most: one to spend, and one that had to wait.
const MAX_CREDIT: f64 = 2.0;

/// A flow seen in the queue.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct QueuedFlow {
    at: Time,
    window: f64,
    /// `additive`: marks earned and not spent.
    credit: f64,
    /// `additive`: the flow's next packet is marked.
    owed: bool,
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct CwndCodel {
    law: Law,
    exponent: f64,
    gain: f64,
    activity: Duration,
    slot: Slot,
    watch: IncidentDetector,
    /// When the pending mark fell due.
    pending: Option<Time>,
    flows: BTreeMap<FlowId, QueuedFlow>,
    /// When a full table was last cleared of inactive flows.
    cleared: Time,
}

impl Component for CwndCodel {
    const NAME: &'static str = "cwnd-codel";
    const SUMMARY: &'static str = "PCON's marks, aimed at flows with large congestion windows (resource pooling A)";
    const SOURCE: &'static str = "Sakamoto et al., IEICE ComEx 2024, §3.1; the law is our completion";
    const FIELDS: &'static [Field] = &[Field::ConsumerWindow];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        IncidentDetector::check(params.interval, params.factor)?;
        check::number("exponent", params.exponent, 0.0, 1000.0)?;
        check::number("gain", params.gain, 0.0, 1000.0)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> CwndCodel {
        CwndCodel {
            law: params.law,
            exponent: params.exponent,
            gain: params.gain,
            activity: params.activity,
            slot: env.slot(Field::ConsumerWindow),
            watch: IncidentDetector::new(params.target, params.interval, params.factor),
            pending: None,
            flows: BTreeMap::new(),
            cleared: Time::ZERO,
        }
    }
}

impl CwndCodel {
    fn note(&mut self, flow: FlowId, window: f64, now: Time) {
        let activity = self.activity;
        if let Some(seen) = self.flows.get_mut(&flow) {
            if now.since(seen.at) > activity {
                (seen.credit, seen.owed) = (0.0, false);
            }
            (seen.at, seen.window) = (now, window);
            return;
        }
        if self.flows.len() >= MAX_FLOWS && now.since(self.cleared) > activity {
            self.cleared = now;
            self.forget_inactive(now);
        }
        if self.flows.len() < MAX_FLOWS {
            self.flows.insert(flow, QueuedFlow { at: now, window, credit: 0.0, owed: false });
        }
    }

    fn forget_inactive(&mut self, now: Time) {
        self.flows.retain(|_, seen| now.since(seen.at) <= self.activity);
    }

    /// Whether a due mark lands on a packet of a flow with this window.
    fn selects(&mut self, window: f64, ctx: &mut Ctx<'_>) -> bool {
        self.forget_inactive(ctx.now);
        let largest = self.flows.values().fold(window, |largest, seen| largest.max(seen.window));
        let probability = libm::pow(window / largest, self.exponent);
        // Without a larger flow there is no draw, so that a single flow is marked exactly as by PCON.
        probability >= 1.0 || ctx.rng.unit() < probability
    }

    /// The active flows earn their extra marks; `marked` has just got the ordinary one.
    fn credit(&mut self, marked: FlowId, now: Time) {
        self.forget_inactive(now);
        let mean = self.flows.values().map(|seen| seen.window).sum::<f64>() / self.flows.len() as f64;
        for (&flow, seen) in &mut self.flows {
            let excess = (seen.window - mean) / mean;
            seen.credit = (seen.credit + self.gain * excess.max(0.0)).min(MAX_CREDIT);
            if seen.credit >= 1.0 && flow != marked {
                seen.credit -= 1.0;
                seen.owed = true;
            }
        }
    }

    fn take_owed(&mut self, flow: FlowId) -> bool {
        self.flows.get_mut(&flow).is_some_and(|seen| std::mem::take(&mut seen.owed))
    }
}

impl Marker for CwndCodel {
    fn predictable(&self) -> bool {
        true
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        let flow = event.packet.name.flow;
        let window = window_of_field(event.packet.fields.get(self.slot));
        if let Some(window) = window {
            self.note(flow, window, ctx.now);
        }
        let mut marked = self.law == Law::Additive && self.take_owed(flow);
        if !self.watch.is_over() {
            self.pending = None;
            return Verdict::Pass;
        }
        if let Some(since) = self.pending {
            let lands = match (self.law, window) {
                (Law::Selection, Some(window)) => ctx.now.since(since) >= PATIENCE || self.selects(window, ctx),
                _ => true,
            };
            self.pending = self.pending.filter(|_| !lands);
            marked |= lands;
            if self.law == Law::Additive {
                self.credit(flow, ctx.now);
            }
        }
        if marked { Verdict::Mark(1) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict {
        if self.watch.departs(event.sojourn, ctx.now) {
            self.pending = self.pending.or(Some(ctx.now));
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, _: &mut Ctx<'_>) {
        self.watch.idles();
    }
}

#[cfg(test)]
mod tests;

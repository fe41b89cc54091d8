//! `hobhis-2014`: HoBHIS with a queue and a share for each flow, and a rate that each flow must not exceed.
//!
//! Stands in for Rozhnova, Fdida, GLOBECOM 2014. Public is its purpose: fair shares among conversations, and protection
//! from users that request too much. The law is ours, made from that of 2012 ([`super::hobhis`]): every flow has a FIFO
//! of its own, served with γ = C/(N·S) + h·(B/N − q)/RTT, where N flows share the path of their Data and q Data of this
//! one wait there. Its tolerance rate γ + (room in the FIFO)/RTT goes downstream on Data and NACKs, where the smallest
//! on the path stays; routers and the consumer keep to what they receive, for 2 s or 4 packets at that rate. A full
//! FIFO is answered with a Congestion NACK.
//!
//! N counts the flows with pending Interests from the downstream face: what waits here or has left within its round
//! trip. Before the first round trip γ = C/(N·S), so that unanswered Interests get a share as well. A gap that is
//! longer than the round trip is recomputed after it, from the same start. A FIFO holds no more than can leave within a
//! part of an Interest's lifetime: otherwise all Interests would expire before they leave.

use super::hobhis::{RECHECK_INTERVAL, bps};
use super::{Admission, Answer, Downstream, FaceView, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::{FaceId, FlowId};
use crate::packet::{NackReason, Packet};
use crate::shared::flow_table::{FlowTable, MAX_FLOWS};
use crate::shared::grant::Grant;
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Parameters of [`Hobhis2014`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// h, how strongly the queue is corrected per round trip; 0.1 in the author's library of 2012.
    pub design: f64,
    /// B, the Data packets of all flows together that should wait downstream; 50 in that library.
    pub target: f64,
    /// Interests of one flow held at most; 100, that library's bound for all flows (ours).
    pub queue: u32,
    /// The part of its lifetime that an Interest may wait for its turn: a flow may hold what it lets out in that time,
    /// at least one Interest and at most `queue` (ours).
    pub patience: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { design: 0.1, target: 50.0, queue: 100, patience: 0.25 }
    }
}

/// Interests that may wait at one face, over all flows.
const MAX_HELD: u32 = 10_000;

/// When the Interest at the head of a flow's FIFO is examined.
#[derive(Clone, Copy, PartialEq, ndnweir_state::Value)]
enum Head {
    /// Then its gap is computed, again or for the first time.
    Again(Time),
    /// Then it may leave.
    Due(Time),
}

impl Head {
    fn at(self) -> Time {
        let (Head::Again(at) | Head::Due(at)) = self;
        at
    }
}

/// The Interests of a flow that wait.
#[derive(ndnweir_state::Value)]
struct FlowBacklog {
    packets: VecDeque<(Packet, FaceId)>,
    /// When the gap before the first began.
    since: Time,
    head: Head,
}

#[derive(ndnweir_state::Value)]
struct Hobhis2014Flow {
    /// In s.
    rtt: Option<f64>,
    /// γ when it was last computed, in packets/s.
    gamma: f64,
    /// The last tolerance rate from upstream.
    cap: Grant,
    /// Of its last Interest, in s.
    lifetime: f64,
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct Hobhis2014 {
    #[state(skip)]
    params: Params,
    slot: Slot,
    waiting: BTreeMap<u32, FlowBacklog>,
    /// The flows that wait, by when their heads are examined.
    heads: BTreeSet<(Time, u32)>,
    held: u32,
    data_size: SizeEstimate,
    interest_size: SizeEstimate,
    flows: FlowTable<Hobhis2014Flow>,
}

impl Component for Hobhis2014 {
    const NAME: &'static str = "hobhis-2014";
    const SUMMARY: &'static str = "HoBHIS with a queue, a share and a tolerance rate for each flow";
    const SOURCE: &'static str = "stands in for Rozhnova, Fdida, GLOBECOM 2014, whose law is not public: the law of 2012 from the \
         author's code, per flow; shares, tolerance rate and NACKs: ours";
    const STAND_IN: bool = true;
    const FIELDS: &'static [Field] = &[Field::ToleranceRate];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("design", params.design, 1e-6, 10.0)?;
        check::number("target", params.target, 1.0, 1e6)?;
        check::number("patience", params.patience, 0.001, 1.0)?;
        check::number("queue", params.queue.into(), 1.0, f64::from(MAX_HELD))
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Hobhis2014 {
        Hobhis2014 {
            params: params.clone(),
            slot: env.slot(Field::ToleranceRate),
            waiting: BTreeMap::new(),
            heads: BTreeSet::new(),
            held: 0,
            // First guesses of the library of 2012.
            data_size: SizeEstimate::new(Bytes::new(1000)),
            interest_size: SizeEstimate::new(Bytes::new(40)),
            flows: FlowTable::new(MAX_FLOWS),
        }
    }
}

impl Hobhis2014 {
    /// When an Interest may leave whose gap began at `since`.
    fn schedule(
        &mut self,
        id: FlowId,
        since: Time,
        downstream: &Downstream,
        out: &FaceView,
        ctx: &mut Ctx<'_>,
    ) -> Head {
        let (now, flows) = (ctx.now, f64::from(downstream.flows.max(1)));
        let share = bps(downstream.view.rate) / (8.0 * self.data_size.bytes()) / flows;
        let fastest = bps(out.rate) / (8.0 * self.interest_size.bytes());
        let flow = self.flows.entry(id, || Hobhis2014Flow { rtt: None, gamma: 0.0, cap: Grant::NONE, lifetime: 0.0 });
        let correction = flow
            .rtt
            .map_or(0.0, |rtt| self.params.design * (self.params.target / flows - f64::from(downstream.backlog)) / rtt);
        flow.gamma = (share + correction).max(0.0).min(flow.cap.at(now));
        ctx.trace.record(now, "gamma", id.0.into(), flow.gamma);
        if flow.gamma >= fastest {
            return Head::Due(now);
        }
        if flow.gamma <= 0.0 {
            return Head::Again(now + RECHECK_INTERVAL);
        }
        let due = (since + Duration::from_secs_f64(1.0 / flow.gamma)).max(now);
        let patience = flow.rtt.map_or(Duration::MAX, Duration::from_secs_f64).max(RECHECK_INTERVAL);
        if due.since(now) <= patience { Head::Due(due) } else { Head::Again(now + patience) }
    }

    /// Interests of a flow that wait.
    fn queue(&self, id: FlowId) -> f64 {
        self.waiting.get(&id.0).map_or(0, |waiting| waiting.packets.len()) as f64
    }

    /// Interests of a flow that may wait.
    fn places(&self, flow: &Hobhis2014Flow) -> f64 {
        (flow.gamma * flow.lifetime * self.params.patience).min(self.params.queue.into()).max(1.0).floor()
    }

    /// The tolerance rate of a flow, in packets/s.
    fn tolerance(&self, id: FlowId) -> Option<f64> {
        let flow = self.flows.get(id)?;
        let room = (self.places(flow) - self.queue(id)).max(0.0);
        Some(flow.gamma + flow.rtt.map_or(0.0, |rtt| room / rtt))
    }
}

impl Shaper for Hobhis2014 {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        // Consumers' and producers' own nodes do not shape.
        if event.out.local || event.downstream.view.local || event.out.rate.is_none() {
            return Admission::Pass;
        }
        self.interest_size.sample(event.packet.bytes());
        let (id, now) = (event.packet.name.flow, ctx.now);
        let places = self.flows.get(id).map_or(1.0, |flow| self.places(flow));
        if self.queue(id) >= places || self.held >= MAX_HELD {
            return Admission::Reject(NackReason::Congestion);
        }
        let entry = (*event.packet, event.downstream.view.face);
        if let Some(waiting) = self.waiting.get_mut(&id.0) {
            waiting.packets.push_back(entry);
        } else {
            // As in 2012 the first Interest leaves at once; here that of each flow.
            let first = self.flows.get(id).is_none();
            let head = self.schedule(id, now, &event.downstream, &event.out, ctx);
            if let Some(flow) = self.flows.get_mut(id) {
                flow.lifetime = f64::from(event.packet.lifetime_ms) / 1000.0;
            }
            if first || head == Head::Due(now) {
                return Admission::Pass;
            }
            self.heads.insert((head.at(), id.0));
            self.waiting.insert(id.0, FlowBacklog { packets: VecDeque::from([entry]), since: now, head });
        }
        self.held += 1;
        Admission::Hold
    }

    fn next_held(&self) -> Option<(FaceId, FlowId)> {
        let (_, id) = self.heads.first()?;
        let (_, downstream) = self.waiting.get(id)?.packets.front()?;
        Some((*downstream, FlowId(*id)))
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let (at, id) = *self.heads.first()?;
        if at > ctx.now {
            return None;
        }
        self.heads.pop_first();
        let mut waiting = self.waiting.remove(&id)?;
        if let Head::Again(_) = waiting.head {
            waiting.head = match &event.downstream {
                Some(downstream) => self.schedule(FlowId(id), waiting.since, downstream, &event.out, ctx),
                None => Head::Due(ctx.now),
            };
        }
        let leaves = matches!(waiting.head, Head::Due(at) if at <= ctx.now);
        let packet = leaves.then(|| waiting.packets.pop_front()).flatten().map(|(packet, _)| packet);
        if packet.is_some() {
            self.held -= 1;
            (waiting.since, waiting.head) = (ctx.now, Head::Again(ctx.now));
        }
        if !waiting.packets.is_empty() {
            self.heads.insert((waiting.head.at(), id));
            self.waiting.insert(id, waiting);
        }
        packet
    }

    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) {
        let id = answer.packet.name.flow;
        let sample = answer.rtt.filter(|_| answer.outcome == Outcome::Data).map(|rtt| rtt.secs().max(1e-6));
        if answer.outcome == Outcome::Data {
            self.data_size.sample(answer.packet.bytes());
        }
        let Some(flow) = self.flows.get_mut(id) else { return };
        flow.cap.receive(answer.packet.fields.get(self.slot), ctx.now);
        if let Some(rtt) = sample {
            flow.rtt = Some(flow.rtt.map_or(rtt, |old| 0.8 * rtt + 0.2 * old));
            ctx.trace.record(ctx.now, "rtt", id.0.into(), flow.rtt.unwrap_or_default());
        }
    }

    /// Upwards to whole packets/s: 0 would mean that there is no field, and a flow with a rate of zero could not send
    /// again.
    fn stamp(&self, flow: FlowId, fields: &mut Fields) {
        let Some(rate) = self.tolerance(flow) else { return };
        let (own, upstream) = ((rate.ceil() as u32).max(1), fields.get(self.slot));
        fields.set(self.slot, if upstream == 0 { own } else { own.min(upstream) });
    }

    fn next_wake(&self) -> Time {
        self.heads.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn held(&self) -> u32 {
        self.held
    }
}

#[cfg(test)]
mod tests;

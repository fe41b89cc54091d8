//! `chopcop`: while Data queue up, each flow sends Interests at its share of the link; stands in for CHoPCoP.
//!
//! Source: Zhang et al. (ICCCN, 2014), of which the abstract alone is public: fair share Interest shaping per hop; the
//! ndnSieve paper adds that a router delays Interests while its outgoing Data queue is above a threshold. The law is
//! ours: shaping towards a downstream face begins when its queue is above `high` of its limit and ends below `low`;
//! meanwhile a flow's Interests leave at C/(N·S), C the rate to that face, N the flows with pending Interests from it,
//! S the mean size of Data. What must wait waits in one queue of `queue` Interests; what finds it full is rejected,
//! which the scheme's consumer treats as lost.

use super::{Admission, Answer, Downstream, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, FlowId};
use crate::packet::{NackReason, Packet};
use crate::queue::chopcop::check_range;
use crate::shared::flow_table::{FlowTable, MAX_FLOWS};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Parameters of [`Chopcop`]; ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The part of the queue's limit below which shaping ends.
    pub low: f64,
    /// The part above which it begins.
    pub high: f64,
    /// Interests that may wait at a face, over all flows.
    pub queue: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { low: 0.2, high: 0.6, queue: 100 }
    }
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct Chopcop {
    #[state(skip)]
    params: Params,
    held: VecDeque<(Packet, FaceId)>,
    /// Downstream faces towards which Interests are shaped.
    shaped: BTreeSet<FaceId>,
    /// When the next Interest of a flow may leave.
    due: FlowTable<Time>,
    size: SizeEstimate,
}

impl Component for Chopcop {
    const NAME: &'static str = "chopcop";
    const SUMMARY: &'static str =
        "stands in for CHoPCoP's fair share Interest shaping, while the queue of Data is long";
    const SOURCE: &'static str = "abstract of Zhang et al., ICCCN 2014; law and bounds: ours";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_range(params.low, params.high)?;
        check::number("queue", params.queue.into(), 1.0, 10_000.0)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Chopcop {
        Chopcop {
            params: params.clone(),
            held: VecDeque::new(),
            shaped: BTreeSet::new(),
            due: FlowTable::new(MAX_FLOWS),
            size: SizeEstimate::new(Bytes::new(1250)),
        }
    }
}

impl Chopcop {
    /// Whether Interests whose Data leave by this face are shaped.
    fn is_shaped(&mut self, downstream: &Downstream) -> bool {
        let (face, size) = (downstream.view.face, self.size.bytes().max(1.0));
        let most = downstream.view.queue.limit.bytes(Bytes::new(size as u64)).get();
        let occupancy = f64::from(downstream.data) * size / most.max(1) as f64;
        if downstream.view.local || downstream.view.rate.is_none() || occupancy < self.params.low {
            self.shaped.remove(&face);
        } else if occupancy > self.params.high {
            self.shaped.insert(face);
        }
        self.shaped.contains(&face)
    }

    fn due(&self, flow: FlowId) -> Time {
        self.due.get(flow).copied().unwrap_or(Time::ZERO)
    }

    /// An Interest of the flow leaves; the next may follow after the time that N Data take.
    fn leave(&mut self, flow: FlowId, downstream: &Downstream, now: Time) {
        let Some(rate) = downstream.view.rate else { return };
        let flows = f64::from(downstream.flows.max(1));
        let gap = Duration::from_secs_f64(flows * 8.0 * self.size.bytes() / (rate.bps().max(1) as f64));
        *self.due.entry(flow, || Time::ZERO) = now + gap;
    }

    /// The place of the Interest whose flow may send first; of a flow the first.
    fn next(&self) -> Option<usize> {
        (0..self.held.len()).min_by_key(|&place| self.due(self.held[place].0.name.flow))
    }
}

impl Shaper for Chopcop {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        if event.out.local {
            return Admission::Pass;
        }
        let flow = event.packet.name.flow;
        let waits = self.held.iter().any(|(packet, _)| packet.name.flow == flow);
        if !self.is_shaped(&event.downstream) && !waits {
            return Admission::Pass;
        }
        if !waits && self.due(flow) <= ctx.now {
            self.leave(flow, &event.downstream, ctx.now);
            return Admission::Pass;
        }
        if self.held.len() >= self.params.queue as usize {
            return Admission::Reject(NackReason::Congestion);
        }
        self.held.push_back((*event.packet, event.downstream.view.face));
        Admission::Hold
    }

    fn next_held(&self) -> Option<(FaceId, FlowId)> {
        self.next().map(|place| (self.held[place].1, self.held[place].0.name.flow))
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let place = self.next()?;
        let flow = self.held[place].0.name.flow;
        let shaped = event.downstream.as_ref().is_some_and(|downstream| self.is_shaped(downstream));
        if shaped && self.due(flow) > ctx.now {
            return None;
        }
        if let Some(downstream) = &event.downstream {
            self.leave(flow, downstream, ctx.now);
        }
        self.held.remove(place).map(|(packet, _)| packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        if answer.outcome == Outcome::Data {
            self.size.sample(answer.packet.bytes());
        }
    }

    fn next_wake(&self) -> Time {
        self.next().map_or(Time::NEVER, |place| self.due(self.held[place].0.name.flow))
    }

    fn held(&self) -> u32 {
        self.held.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::harness::{Bench, ms};
    use serde_json::json;

    #[test]
    fn without_a_long_queue_nothing_is_shaped() {
        let mut bench = Bench::<Chopcop>::new(&json!({}));
        assert!((0..500).all(|_| bench.admit(ms(0), 1) == Admission::Pass));
    }

    // 10 Mbit/s, four flows, Data of 1250 B: one Interest per flow each 4 ms. From 61 of 100 waiting Data on.
    #[test]
    fn above_three_fifths_of_the_limit_each_flow_sends_at_its_share() {
        let mut bench = Bench::<Chopcop>::new(&json!({}));
        (bench.data, bench.flows) = (60, 4);
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        bench.data = 61;
        let flows = [1, 1, 1, 2];
        let verdicts = flows.map(|flow| bench.admit(ms(0), flow));
        assert_eq!(verdicts, [Admission::Pass, Admission::Hold, Admission::Hold, Admission::Pass]);
        // Between the thresholds it goes on.
        bench.data = 20;
        assert_eq!((bench.release(ms(3)), bench.shaper.next_wake()), (None, ms(4)));
        assert!(bench.release(ms(4)).is_some());
        assert_eq!((bench.release(ms(7)), bench.shaper.next_wake(), bench.shaper.held()), (None, ms(8), 1));
        bench.data = 19;
        assert!(bench.release(ms(7)).is_some(), "below a fifth it ends");
        assert_eq!(bench.admit(ms(7), 1), Admission::Pass);
    }

    #[test]
    fn a_hundred_interests_may_wait_and_more_are_rejected() {
        let mut bench = Bench::<Chopcop>::new(&json!({}));
        bench.data = 61;
        let verdicts: Vec<Admission> = (0..102).map(|_| bench.admit(ms(0), 1)).collect();
        assert_eq!(verdicts[0], Admission::Pass);
        assert!(verdicts[1..101].iter().all(|&verdict| verdict == Admission::Hold));
        assert_eq!(verdicts[101], Admission::Reject(NackReason::Congestion));
    }
}

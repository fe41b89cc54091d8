//! `hr-icp`: delays the Interests of flows that are bottlenecked at this node.
//!
//! An Interest whose flow has Data waiting on the return path must be covered by the flow's credit there (see the
//! discipline `drr`): credit for the Data it will bring is charged, or the Interest waits in its flow's FIFO. Source:
//! Carofiglio, Gallo, Muscariello, CCR 42(4) 2012; the credit rule from the authors' CCNPL-Sim, whose call site for the
//! delay is missing. The paper itself was not available.
//!
//! Ours: the delay queue (a FIFO per flow, its bound, flows served in turn), a Congestion NACK on overflow, retries
//! after each transmission time of a Data, one Interest at a time once the Data queue is gone; without a discipline
//! that gives credit nothing is delayed, unless `fluid` stands in for it: each flow's credit then grows at C/N, with N
//! the recent flows.

use super::{Admission, Answer, Downstream, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, FlowId};
use crate::packet::{NackReason, Packet};
use crate::shared::flow_table::{FlowTable, MAX_FLOWS};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of [`HrIcp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Interests of one flow that may wait (ours).
    pub queue: u32,
    /// The size of a Data before the first, in bytes on the wire (ours).
    pub data_size: Bytes,
    /// Whether credit is reckoned here, at C/N per flow, instead of read from the discipline: for links whose Data
    /// queue belongs to the operating system (ours).
    pub fluid: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { queue: 100, data_size: Bytes::new(1250), fluid: false }
    }
}

/// Interests that may wait at one face, over all flows.
const MAX_HELD: u32 = 10_000;

/// The most credit a flow may have, 80 000 bit, and what it starts with (CCNPL-Sim).
const MAX_CREDIT: f64 = 10_000.0;
/// A flow counts as active for this long after its last Interest.
const ACTIVE: Duration = Duration::from_millis(100);

/// Credit reckoned at C/N.
#[derive(ndnweir_state::Value)]
struct Fluid {
    /// Bytes.
    credit: f64,
    seen: Time,
    downstream: FaceId,
}

#[derive(ndnweir_state::Value)]
struct HeldInterest {
    packet: Packet,
    downstream: FaceId,
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct HrIcp {
    #[state(skip)]
    params: Params,
    size: SizeEstimate,
    waiting: BTreeMap<u32, VecDeque<HeldInterest>>,
    /// Flows that wait, in the order of their turns.
    turns: VecDeque<u32>,
    /// Turns in a row without a release.
    in_vain: usize,
    held: u32,
    /// Of the Interest that passed last.
    charge: Bytes,
    wake: Time,
    /// With `fluid`.
    fluid: FlowTable<Fluid>,
}

impl Component for HrIcp {
    const NAME: &'static str = "hr-icp";
    const SUMMARY: &'static str =
        "delays Interests of flows whose Data wait here, by credit per round of the Data queue";
    const SOURCE: &'static str = "Carofiglio, Gallo, Muscariello, CCR 2012; credit from the authors' CCNPL-Sim; delay \
         queue and its overflow: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("queue", params.queue.into(), 1.0, MAX_HELD.into())?;
        check::data_size("data-size", params.data_size)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> HrIcp {
        HrIcp {
            params: params.clone(),
            size: SizeEstimate::new(params.data_size),
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
            in_vain: 0,
            held: 0,
            charge: Bytes::ZERO,
            wake: Time::NEVER,
            fluid: FlowTable::new(MAX_FLOWS),
        }
    }
}

impl HrIcp {
    fn expected(&self) -> Bytes {
        Bytes::new(libm::ceil(self.size.bytes()) as u64)
    }

    /// Whether the flow's credit covers one more Data; if so, that is what will be charged.
    fn covers(&mut self, flow: u32, downstream: &Downstream, now: Time) -> bool {
        let expected = self.expected();
        if self.params.fluid {
            return self.covers_fluid(flow, downstream, now);
        }
        let (covers, charge) = match downstream.credit {
            None => (true, Bytes::ZERO),
            Some(credit) => (credit >= expected, expected),
        };
        self.charge = if covers { charge } else { Bytes::ZERO };
        covers
    }

    /// The same with credit that grows at C/N.
    fn covers_fluid(&mut self, flow: u32, downstream: &Downstream, now: Time) -> bool {
        let face = downstream.view.face;
        let Some(rate) = downstream.view.rate else { return true };
        let late = self.fluid.recent().take_while(|(_, f)| now.since(f.seen) <= ACTIVE);
        let others = late.filter(|(id, f)| id.0 != flow && f.downstream == face).count();
        let (size, share) = (self.size.bytes(), rate.bps() as f64 / 8.0 / (1 + others) as f64);
        let own = self.fluid.entry(FlowId(flow), || Fluid { credit: MAX_CREDIT, seen: now, downstream: face });
        own.credit = (own.credit + share * now.since(own.seen).secs()).min(MAX_CREDIT.max(size));
        (own.seen, own.downstream) = (now, face);
        let covers = own.credit >= size;
        if covers {
            own.credit -= size;
        }
        covers
    }

    /// When to try again: after a Data has had time to leave.
    fn retry(&self, downstream: Option<Rate>, now: Time) -> Time {
        let rate = downstream.filter(|rate| *rate > Rate::ZERO);
        let gap = rate.map_or(Duration::from_millis(100), |rate| rate.transmission_time(self.expected()));
        now + gap.max(Duration::from_micros(1)).min(Duration::from_millis(100))
    }
}

impl Shaper for HrIcp {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        self.charge = Bytes::ZERO;
        let flow = event.packet.name.flow.0;
        let queue = self.waiting.get(&flow).map_or(0, VecDeque::len);
        if queue == 0 && self.covers(flow, &event.downstream, ctx.now) {
            return Admission::Pass;
        }
        if queue >= self.params.queue as usize || self.held >= MAX_HELD {
            return Admission::Reject(NackReason::Congestion);
        }
        if queue == 0 {
            self.turns.push_back(flow);
        }
        if self.held == 0 {
            self.wake = self.retry(event.downstream.view.rate, ctx.now);
        }
        self.held += 1;
        let downstream = event.downstream.view.face;
        self.waiting.entry(flow).or_default().push_back(HeldInterest { packet: *event.packet, downstream });
        Admission::Hold
    }

    fn next_held(&self) -> Option<(FaceId, FlowId)> {
        let flow = *self.turns.front()?;
        let first = self.waiting.get(&flow)?.front()?;
        Some((first.downstream, FlowId(flow)))
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.charge = Bytes::ZERO;
        if ctx.now < self.wake {
            return None;
        }
        let flow = *self.turns.front()?;
        if event.downstream.as_ref().is_none_or(|downstream| self.covers(flow, downstream, ctx.now)) {
            self.in_vain = 0;
            if let Some(Downstream { view, credit: None, .. }) = &event.downstream
                && !self.params.fluid
            {
                // The flow's Data queue is empty: releasing all at once would refill it as a burst.
                self.wake = self.retry(view.rate, ctx.now);
            }
            self.turns.rotate_left(1);
            let queue = self.waiting.get_mut(&flow)?;
            let first = queue.pop_front()?;
            self.held -= 1;
            if queue.is_empty() {
                self.waiting.remove(&flow);
                self.turns.pop_back();
            }
            return Some(first.packet);
        }
        // One flow per attempt: the others have their turn at the next.
        self.turns.rotate_left(1);
        self.in_vain += 1;
        let rate = event.downstream.as_ref().and_then(|downstream| downstream.view.rate);
        let next = self.retry(rate, ctx.now);
        let flows = self.turns.len().max(1) as u64;
        self.wake = if self.in_vain >= self.turns.len() {
            self.in_vain = 0;
            next
        } else {
            ctx.now + (next.since(ctx.now) / flows).max(Duration::from_nanos(1))
        };
        None
    }

    fn charge(&self) -> Bytes {
        self.charge
    }

    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        if answer.outcome == Outcome::Data {
            self.size.sample(answer.packet.bytes());
        }
    }

    fn next_wake(&self) -> Time {
        if self.held > 0 { self.wake } else { Time::NEVER }
    }

    fn held(&self) -> u32 {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::harness::{Bench, ms};
    use serde_json::json;

    #[test]
    fn a_flow_without_a_queue_passes_and_one_without_credit_waits() {
        let mut bench = Bench::<HrIcp>::new(&json!({}));
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.shaper.charge(), Bytes::ZERO);
        bench.credit = Some(Bytes::new(1250));
        assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
        assert_eq!(bench.shaper.charge(), Bytes::new(1250));
        bench.credit = Some(Bytes::new(1249));
        assert_eq!(bench.admit(ms(0), 1), Admission::Hold);
        // Looked at again after the 1 ms a Data takes at 10 Mbit/s.
        assert_eq!(bench.shaper.next_wake(), ms(1));
        assert!(bench.release(ms(1)).is_none());
        assert_eq!(bench.shaper.next_wake(), ms(2));
        bench.credit = Some(Bytes::new(2000));
        assert!(bench.release(ms(2)).is_some());
        assert_eq!((bench.shaper.charge(), bench.shaper.held()), (Bytes::new(1250), 0));
    }

    #[test]
    fn reckoned_credit_gives_each_flow_its_part_of_the_link() {
        // 10 Mbit/s bring 1000 Data of 1250 B per second. One flow asks 2000 times per second, another 400 times: a
        // share is 500, so over 2 s 1000 and 8 of the first credit leave for the one, all 800 for the other.
        let mut bench = Bench::<HrIcp>::new(&json!({ "fluid": true }));
        let (mut released, mut second) = (0, 0);
        for half in 0..4000u64 {
            let now = Time::ZERO + Duration::from_micros(500 * half);
            released += usize::from(bench.admit(now, 1) == Admission::Pass);
            if half % 5 == 0 {
                second += usize::from(bench.admit(now, 2) == Admission::Pass);
            }
            released += std::iter::from_fn(|| bench.release(now)).count();
        }
        assert_eq!(second, 800);
        assert!((1000..=1012).contains(&released), "{released}");
    }

    #[test]
    fn waiting_flows_take_turns_and_keep_their_order() {
        let mut bench = Bench::<HrIcp>::new(&json!({}));
        bench.credit = Some(Bytes::ZERO);
        for flow in [1, 1, 1, 2, 2] {
            assert_eq!(bench.admit(ms(0), flow), Admission::Hold);
        }
        bench.credit = Some(Bytes::new(9000));
        let order: Vec<u32> = std::iter::from_fn(|| bench.release(ms(1))).map(|packet| packet.name.flow.0).collect();
        assert_eq!(order, [1, 2, 1, 2, 1]);
        assert_eq!(bench.shaper.next_wake(), Time::NEVER);
    }

    #[test]
    fn a_full_queue_of_one_flow_leaves_the_others_alone() {
        let mut bench = Bench::<HrIcp>::new(&json!({}));
        bench.credit = Some(Bytes::ZERO);
        let held = (0..150).filter(|_| bench.admit(ms(0), 1) == Admission::Hold).count();
        assert_eq!((held, bench.admit(ms(0), 1)), (100, Admission::Reject(NackReason::Congestion)));
        assert_eq!(bench.admit(ms(0), 2), Admission::Hold);
    }
}

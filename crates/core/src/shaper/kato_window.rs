//! `kato-window`: a window per face and flow, at the flow's share of the link by a count of pending flows.
//!
//! Stands in for Kato, Bandai, "A hop-by-hop window-based congestion control method for NDN", CCNC 2018. Public are the
//! title and, from the resource-pooling paper, that the flows sharing a link are counted from PIT entries. All else is
//! ours: the fair window is w* = C/S · RTT / N (N flows with Interests out by this face, RTT the smallest measured), w
//! grows by 1/w per Data up to `overshoot` · w* and halves at most once per RTT on a Congestion NACK; what exceeds the
//! window waits in a FIFO per flow of w* places, beyond which a Congestion NACK answers.

use super::{Admission, Answer, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::consumer::check_window;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::FlowId;
use crate::packet::{NackReason, Packet};
use crate::shared::flow_table::{FlowTable, MAX_FLOWS};
use crate::shared::outstanding::Outstanding;
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of [`KatoWindow`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window of a flow, in Interests.
    pub initial_window: f64,
    /// How far above the fair window a window may grow; a factor from 1.
    pub overshoot: f64,
    /// What a Congestion NACK multiplies the window by.
    pub beta: f64,
    /// The round trip assumed before the first measurement.
    pub initial_rtt: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 10.0, overshoot: 1.25, beta: 0.5, initial_rtt: Duration::from_millis(100) }
    }
}

/// Interests that may wait at one face, over all flows.
const MAX_HELD: u32 = 10_000;

#[derive(ndnweir_state::Value)]
struct KatoFlow {
    window: f64,
    rtt: Duration,
    last_cut: Time,
}

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct KatoWindow {
    #[state(skip)]
    params: Params,
    size: SizeEstimate,
    rate: Option<Rate>,
    flows: FlowTable<KatoFlow>,
    outstanding: Outstanding,
    /// Interests out, by flow.
    pending: BTreeMap<u32, u32>,
    waiting: BTreeMap<u32, VecDeque<Packet>>,
    /// Flows that wait, in the order of their turns.
    turns: VecDeque<u32>,
    held: u32,
}

impl Component for KatoWindow {
    const NAME: &'static str = "kato-window";
    const SUMMARY: &'static str = "a window per face and flow, at the flow's share of the link";
    const SOURCE: &'static str = "stands in for Kato, Bandai, CCNC 2018, whose law is not public: count of pending flows as the \
         resource-pooling paper uses it, the rest ours";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window)?;
        check::number("overshoot", params.overshoot, 1.0, 100.0)?;
        check::factor("beta", params.beta)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> KatoWindow {
        KatoWindow {
            params: params.clone(),
            size: SizeEstimate::new(Bytes::new(1250)),
            rate: None,
            flows: FlowTable::new(MAX_FLOWS),
            outstanding: Outstanding::default(),
            pending: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
            held: 0,
        }
    }
}

impl KatoWindow {
    /// w* of a flow with this round trip.
    fn fair(&self, rtt: Duration) -> f64 {
        let rtt = if rtt == Duration::MAX { self.params.initial_rtt } else { rtt };
        let rate = self.rate.map_or(f64::INFINITY, |rate| rate.bps() as f64 / (8.0 * self.size.bytes()));
        (rate * rtt.secs() / self.pending.len().max(1) as f64).clamp(1.0, 1e6)
    }

    fn has_room(&mut self, flow: u32) -> bool {
        let initial = self.params.initial_window;
        let fresh = || KatoFlow { window: initial, rtt: Duration::MAX, last_cut: Time::ZERO };
        let window = self.flows.entry(FlowId(flow), fresh).window;
        f64::from(self.pending.get(&flow).copied().unwrap_or(0)) < window
    }

    fn on_departure(&mut self, packet: &Packet, event: &super::FaceView, now: Time) {
        if self.outstanding.sent(packet, event.face, now).is_none() {
            *self.pending.entry(packet.name.flow.0).or_default() += 1;
        }
    }

    fn returned(&mut self, flow: u32) {
        if let Some(count) = self.pending.get_mut(&flow) {
            *count -= 1;
            if *count == 0 {
                self.pending.remove(&flow);
            }
        }
    }

    fn expire(&mut self, now: Time) {
        while let Some((name, _)) = self.outstanding.expired(now) {
            self.returned(name.flow.0);
        }
    }
}

impl Shaper for KatoWindow {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        self.rate = event.out.return_rate.or(event.out.rate);
        if event.out.local || self.rate.is_none() {
            return Admission::Pass;
        }
        self.expire(ctx.now);
        let flow = event.packet.name.flow.0;
        let again = self.outstanding.face(event.packet.name).is_some();
        let queue = self.waiting.get(&flow).map_or(0, VecDeque::len);
        if again || (self.has_room(flow) && queue == 0) {
            self.on_departure(event.packet, &event.out, ctx.now);
            return Admission::Pass;
        }
        let rtt = self.flows.get(FlowId(flow)).map_or(Duration::MAX, |flow| flow.rtt);
        if queue as f64 >= self.fair(rtt) || self.held >= MAX_HELD {
            return Admission::Reject(NackReason::Congestion);
        }
        if queue == 0 {
            self.turns.push_back(flow);
        }
        self.held += 1;
        self.waiting.entry(flow).or_default().push_back(*event.packet);
        Admission::Hold
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.expire(ctx.now);
        let place = (0..self.turns.len()).find(|&i| self.has_room(self.turns[i]))?;
        let flow = self.turns.remove(place)?;
        let queue = self.waiting.get_mut(&flow)?;
        let packet = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&flow);
        } else {
            self.turns.push_back(flow);
        }
        self.held -= 1;
        self.on_departure(&packet, &event.out, ctx.now);
        Some(packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) {
        let id = answer.packet.name.flow;
        if self.outstanding.answered(answer.packet.name).is_some() {
            self.returned(id.0);
        }
        if answer.outcome == Outcome::Data {
            self.size.sample(answer.packet.bytes());
        }
        let rtt = self.flows.get(id).map_or(Duration::MAX, |flow| flow.rtt).min(answer.rtt.unwrap_or(Duration::MAX));
        let most = self.params.overshoot * self.fair(rtt);
        let (beta, initial_rtt) = (self.params.beta, self.params.initial_rtt);
        let Some(flow) = self.flows.get_mut(id) else { return };
        match answer.outcome {
            Outcome::Data => {
                flow.rtt = rtt;
                flow.window = (flow.window + 1.0 / flow.window).min(most).max(1.0);
            }
            Outcome::Nack(NackReason::Congestion) => {
                let round_trip = if flow.rtt == Duration::MAX { initial_rtt } else { flow.rtt };
                if flow.last_cut == Time::ZERO || ctx.now.since(flow.last_cut) >= round_trip {
                    flow.window = (flow.window * beta).max(1.0);
                    flow.last_cut = ctx.now;
                }
            }
            _ => return,
        }
        ctx.trace.record(ctx.now, "window", id.0.into(), flow.window);
    }

    fn next_wake(&self) -> Time {
        if self.held > 0 { self.outstanding.next_deadline() } else { Time::NEVER }
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
    fn what_exceeds_the_window_waits_and_what_exceeds_the_fair_window_is_rejected() {
        // w* = 1 Mbit/s / 1250 B · 100 ms = 10 places; window 4.
        let mut bench = Bench::<KatoWindow>::new(&json!({ "initial-window": 4.0 })).link(1.0);
        let verdicts: Vec<Admission> = (0..16).map(|_| bench.admit(ms(0), 1)).collect();
        assert_eq!(verdicts[..4], [Admission::Pass; 4]);
        assert_eq!(verdicts[4..14], [Admission::Hold; 10]);
        assert_eq!(verdicts[14..], [Admission::Reject(NackReason::Congestion); 2]);
    }

    #[test]
    fn windows_end_at_the_share_of_the_flows_that_have_interests_out() {
        let mut bench = Bench::<KatoWindow>::new(&json!({ "initial-window": 4.0 })).link(1.0);
        bench.admit(ms(0), 1);
        for t in 0..400 {
            bench.answer(ms(100 + t), 1, ms(t), Outcome::Data);
        }
        // Alone: 1.25 · 100/s · 0.1 s = 12.5. Two flows: 6.25.
        assert_eq!(bench.shaper.flows.get(FlowId(1)).map(|flow| flow.window), Some(12.5));
        bench.admit(ms(600), 2);
        bench.answer(ms(700), 1, ms(600), Outcome::Data);
        assert_eq!(bench.shaper.flows.get(FlowId(1)).map(|flow| flow.window), Some(6.25));
    }

    #[test]
    fn nacks_of_one_round_trip_halve_once() {
        let mut bench = Bench::<KatoWindow>::new(&json!({ "initial-window": 8.0 })).link(1.0);
        bench.admit(ms(0), 1);
        for t in [50, 60, 149, 150] {
            bench.answer(ms(t), 1, ms(0), Outcome::Nack(NackReason::Congestion));
        }
        assert_eq!(bench.shaper.flows.get(FlowId(1)).map(|flow| flow.window), Some(2.0));
    }

    #[test]
    fn interests_that_are_never_answered_give_their_places_back_after_their_lifetime() {
        let mut bench = Bench::<KatoWindow>::new(&json!({ "initial-window": 2.0 })).link(1.0);
        assert_eq!((0..4).filter(|_| bench.admit(ms(0), 1) == Admission::Pass).count(), 2);
        assert_eq!((bench.shaper.held(), bench.shaper.next_wake()), (2, ms(4000)));
        assert!(bench.release(ms(3999)).is_none());
        assert!(bench.release(ms(4000)).is_some() && bench.release(ms(4000)).is_some());
    }
}

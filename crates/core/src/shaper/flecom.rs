//! `flecom`: releases stamped Interests at a little less than the rate their Data can come back at.
//!
//! Stands in for FleCom's Interest shaping (Li et al., INFOCOM workshops 2023), whose law is not public. All ours:
//! while the Interests that arrive carry [`Field::CongestionLevel`] (written by the `flecom` strategy of this node),
//! one leaves per S/(`rate`·C), C the rate at which the neighbour sends back and S the mean size of its Data; others
//! wait in a FIFO, and beyond `queue` are answered with a Congestion NACK. The first Interest without the stamp ends
//! shaping, and what waited leaves immediately.

use super::{Admission, Answer, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::packet::{NackReason, Packet};
use crate::shared::pacer::Pacer;
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of [`FleCom`]; all ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of the link's rate that shaped Interests request.
    pub rate: f64,
    /// Interests held at most.
    pub queue: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { rate: 0.95, queue: 100 }
    }
}

/// The shaper of one face.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct FleCom {
    #[state(skip)]
    params: Params,
    level: Slot,
    held: VecDeque<Packet>,
    shaping: bool,
    pacer: Pacer,
    size: SizeEstimate,
}

impl Component for FleCom {
    const NAME: &'static str = "flecom";
    const SUMMARY: &'static str = "paces Interests that the strategy wants shaped to 95 % of the link";
    const SOURCE: &'static str = "stands in for Li et al., INFOCOM workshops 2023, whose law is not public; ours";
    const FIELDS: &'static [Field] = &[Field::CongestionLevel];
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("rate", params.rate, 0.01, 10.0)?;
        check::number("queue", params.queue.into(), 1.0, 1e5)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> FleCom {
        FleCom {
            params: params.clone(),
            level: env.slot(Field::CongestionLevel),
            held: VecDeque::new(),
            shaping: false,
            pacer: Pacer::new(),
            size: SizeEstimate::new(Bytes::new(1250)),
        }
    }
}

impl FleCom {
    fn sent(&mut self, rate: Option<Rate>, now: Time) {
        let bps = rate.map_or(0.0, |rate| self.params.rate * rate.bps() as f64);
        let gap = (self.shaping && bps > 0.0).then(|| Duration::from_secs_f64(8.0 * self.size.bytes() / bps));
        self.pacer.sent(now, gap);
    }
}

impl Shaper for FleCom {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        if event.out.local {
            return Admission::Pass;
        }
        self.shaping = event.packet.fields.get(self.level) > 0;
        if self.held.is_empty() && (!self.shaping || self.pacer.ready(ctx.now)) {
            self.sent(event.out.return_rate, ctx.now);
            return Admission::Pass;
        }
        if self.shaping && self.held.len() >= self.params.queue as usize {
            return Admission::Reject(NackReason::Congestion);
        }
        self.held.push_back(*event.packet);
        Admission::Hold
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if self.shaping && !self.pacer.ready(ctx.now) {
            return None;
        }
        let packet = self.held.pop_front()?;
        self.sent(event.out.return_rate, ctx.now);
        Some(packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, _: &mut Ctx<'_>) {
        if answer.outcome == Outcome::Data {
            self.size.sample(answer.packet.bytes());
        }
    }

    fn next_wake(&self) -> Time {
        if self.held.is_empty() { Time::NEVER } else { self.pacer.due() }
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

    /// A face of 10 Mbit/s both ways.
    fn bench() -> Bench<FleCom> {
        Bench::new(&json!({ "rate": 0.5, "queue": 2 }))
    }

    /// Offers an Interest with or without the stamp.
    fn offer(bench: &mut Bench<FleCom>, at: u64, stamped: bool) -> Admission {
        let slot = bench.shaper.level;
        bench.fields.set(slot, u32::from(stamped));
        bench.admit(ms(at), 1)
    }

    // 1250 B at half of 10 Mbit/s: 2 ms.
    #[test]
    fn stamped_interests_leave_every_2_ms_and_a_full_queue_rejects() {
        let mut bench = bench();
        assert_eq!(offer(&mut bench, 1, true), Admission::Pass);
        assert_eq!(
            [0; 3].map(|_| offer(&mut bench, 1, true)),
            [Admission::Hold, Admission::Hold, Admission::Reject(NackReason::Congestion)]
        );
        assert_eq!(bench.shaper.next_wake(), ms(3));
        assert!(bench.release(ms(2)).is_none() && bench.release(ms(3)).is_some() && bench.release(ms(3)).is_none());
        assert!(bench.release(ms(5)).is_some());
        assert_eq!(bench.shaper.held(), 0);
    }

    #[test]
    fn an_interest_without_the_stamp_opens_the_gate_in_order() {
        let mut bench = bench();
        assert_eq!(offer(&mut bench, 1, false), Admission::Pass);
        assert_eq!(offer(&mut bench, 1, true), Admission::Pass);
        assert_eq!(offer(&mut bench, 1, true), Admission::Hold);
        assert_eq!(offer(&mut bench, 1, false), Admission::Hold);
        let left: Vec<u32> = std::iter::from_fn(|| bench.release(ms(1))).map(|packet| packet.tag).collect();
        assert_eq!(left, [3, 4]);
    }
}

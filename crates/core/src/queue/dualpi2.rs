//! `dualpi2`: two coupled queues, one for controls that keep queues short, one for all others (RFC 9332).
//!
//! A packet whose header field [`Field::LowLatency`] is set joins the low-latency queue (the L queue of the RFC), any
//! other the classic one. A PI controller follows the longer of both delays; its output p′ marks classic packets with
//! p′² and low-latency ones with 2·p′, or more when their own queue passes a ramp from 0.8 to 1.2 ms. So a control that
//! reacts in proportion to its marks gets about what one gets that halves. Where even that does not help, packets are
//! dropped with p′² in both queues. A weighted round robin leaves classic packets at least 1/16.
//! Source: RFC 9332, appendix A.1 and A.2 (figures 2 to 8).
//!
//! Deviations: the limit is the link's (the RFC: 250 ms at the link's rate), and a packet is dropped if itself does not
//! fit (the RFC keeps room for an MTU); every classic packet may be marked, unless `action = "drop"`, where the RFC
//! reads its ECN field. Of Linux's additions the one on credit is in: it changes only while both queues hold packets,
//! and is forgotten when both are empty; that packets pass while less than two MTUs wait is not. Ours: which header
//! field selects the queue, and that updates are applied at the next packet, at the instants at which they were due;
//! after 2¹⁶ of them without a packet the rest is skipped.

use super::{Action, Discipline, Limit, QueueView, Queued};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of [`DualPi2`]; defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The delay aimed at in the classic queue (RFC 9332 A.1: 15 ms).
    pub target: Duration,
    /// Time between two updates, at least 1 ms (RFC 9332 A.1, Tupdate: 16 ms).
    pub update: Duration,
    /// Probability per update and second of delay above the target (RFC 9332 A.1: 0.16 Hz).
    pub alpha: f64,
    /// Probability per update and second by which the delay has grown (RFC 9332 A.1: 3.2 Hz).
    pub beta: f64,
    /// What p′ is multiplied with for low-latency packets (RFC 9332 A.1, k: 2).
    pub coupling: f64,
    /// Delay of a low-latency packet from which on it may be marked (RFC 9332 A.1, minTh: 800 µs).
    pub ramp_start: Duration,
    /// By how much more delay it is marked for certain (RFC 9332 A.1, range: 400 µs).
    pub ramp_width: Duration,
    /// Packets in the low-latency queue up to which its ramp does not mark (RFC 9332 A.2, Th_len: 1).
    pub ramp_packets: u32,
    /// Bytes of low-latency packets for each byte of classic ones while both wait (RFC 9332 A.2: 1/16 is classic).
    pub low_latency_weight: u32,
    /// What happens to the classic packets picked (RFC 9332 lets ECN decide; ours: mark).
    pub action: Action,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            ramp_start: Duration::from_micros(800),
            ramp_width: Duration::from_micros(400),
            ramp_packets: 1,
            low_latency_weight: 15,
            action: Action::Mark,
        }
    }
}

/// The probability of marks on low-latency packets at which they are dropped as well (RFC 9332 A.1, p_Lmax).
const MAX_LOW_LATENCY: f64 = 1.0;
/// The most updates applied at one packet (ours).
const MAX_UPDATES: u32 = 1 << 16;

/// One of the two queues.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
struct Half {
    packets: VecDeque<Queued>,
    bytes: Bytes,
    /// Sum of probabilities that has not led to a mark yet (RFC 9332, figure 4).
    due: f64,
}

impl Half {
    fn push(&mut self, queued: Queued) {
        self.bytes += queued.packet.bytes();
        self.packets.push_back(queued);
    }

    fn pop(&mut self) -> Option<Queued> {
        let first = self.packets.pop_front()?;
        self.bytes = self.bytes - first.packet.bytes();
        Some(first)
    }

    /// How long the first packet has waited; nothing waits in an empty queue.
    fn delay(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |first| now.since(first.joined))
    }

    /// Whether it is this packet's turn at a probability: every 1/p-th one.
    fn recurs(&mut self, probability: f64) -> bool {
        self.due += probability;
        let turn = self.due > 1.0;
        if turn {
            self.due -= 1.0;
        }
        turn
    }
}

/// The queues and their controller.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct DualPi2 {
    #[state(skip)]
    params: Params,
    slot: Slot,
    low_latency: Half,
    classic: Half,
    /// p′.
    base: f64,
    /// The longer delay at the last update.
    former: Duration,
    next_update: Time,
    /// Above zero, a classic packet is next.
    credit: i64,
}

impl Component for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str = "DualPI2 of RFC 9332: a low-latency queue coupled to a classic one";
    const SOURCE: &'static str = "RFC 9332, appendix A; the header field that tells the queue: ours";
    const FIELDS: &'static [Field] = &[Field::LowLatency];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::least("update", params.update, Duration::from_millis(1))?;
        check::number("alpha", params.alpha, 0.0, 1e6)?;
        check::number("beta", params.beta, 0.0, 1e6)?;
        check::number("coupling", params.coupling, 1.0, 1e6)?;
        if params.low_latency_weight == 0 {
            let help = "give 1 or more, such as 15";
            return Err(SchemeError::value("low-latency-weight", 0, "would stop the low-latency queue", help));
        }
        Ok(())
    }

    fn new(params: &Params, env: &mut Env<'_>) -> DualPi2 {
        DualPi2 {
            slot: env.slot(Field::LowLatency),
            low_latency: Half::default(),
            classic: Half::default(),
            base: 0.0,
            former: Duration::ZERO,
            next_update: Time::ZERO + params.update,
            credit: 0,
            params: params.clone(),
        }
    }
}

impl DualPi2 {
    /// Applies the updates that were due up to now (RFC 9332, figure 8).
    fn catch_up(&mut self, ctx: &mut Ctx<'_>) {
        let Params { target, update, alpha, beta, .. } = self.params;
        let mut most = MAX_UPDATES;
        while self.next_update <= ctx.now {
            let at = self.next_update;
            let delay = self.classic.delay(at).max(self.low_latency.delay(at));
            let (now, former) = (delay.secs(), self.former.secs());
            let before = (self.base, self.former);
            self.base = (self.base + alpha * (now - target.secs()) + beta * (now - former)).clamp(0.0, 1.0);
            self.former = delay;
            let settled = before == (self.base, self.former);
            if !settled {
                ctx.trace.record(at, "dualpi2-probability", 0, self.base);
            }
            most -= 1;
            let skip = settled || most == 0;
            let skipped = if skip { ctx.now.since(at).nanos() / update.nanos() } else { 0 };
            self.next_update += update * (skipped + 1);
            if self.next_update == Time::NEVER {
                return;
            }
        }
    }

    /// p_CL: the coupled probability of a mark in the low-latency queue.
    fn coupled(&self) -> f64 {
        self.params.coupling * self.base
    }

    /// p_C: the probability in the classic queue.
    fn squared(&self) -> f64 {
        self.base * self.base
    }

    /// The probability that the low-latency queue's own delay calls for (RFC 9332, figure 5).
    fn ramp(&self, delay: Duration) -> f64 {
        let over = delay.nanos().saturating_sub(self.params.ramp_start.nanos());
        let width = self.params.ramp_width.nanos();
        if delay >= self.params.ramp_start + self.params.ramp_width { 1.0 } else { over as f64 / width.max(1) as f64 }
    }

    /// Whether the low-latency queue is next.
    fn low_latency_next(&self) -> bool {
        !self.low_latency.packets.is_empty() && (self.classic.packets.is_empty() || self.credit <= 0)
    }

    /// A low-latency packet that is sent; none if it is dropped instead.
    fn serve_low_latency(&mut self, dropped: &mut Vec<Packet>, now: Time) -> Option<Queued> {
        let waiting = self.low_latency.packets.len();
        let queued = self.low_latency.pop()?;
        if !self.classic.packets.is_empty() {
            self.credit += i64::from(queued.packet.size);
        }
        let (coupled, squared) = (self.coupled(), self.squared());
        let probability = if coupled < MAX_LOW_LATENCY {
            let own = waiting > self.params.ramp_packets as usize;
            let own = if own { self.ramp(now.since(queued.joined)) } else { 0.0 };
            own.max(coupled)
        } else {
            if self.low_latency.recurs(squared) {
                dropped.push(queued.packet);
                return None;
            }
            coupled
        };
        let mark = u8::from(self.low_latency.recurs(probability.min(1.0)));
        Some(Queued { mark, ..queued })
    }

    /// A classic packet that is sent; none if it is dropped instead.
    fn serve_classic(&mut self, dropped: &mut Vec<Packet>) -> Option<Queued> {
        let queued = self.classic.pop()?;
        if !self.low_latency.packets.is_empty() {
            self.credit -= i64::from(queued.packet.size) * i64::from(self.params.low_latency_weight);
        }
        let probability = self.squared();
        if !self.classic.recurs(probability) {
            return Some(queued);
        }
        // p_Cmax = 1/k².
        let most = 1.0 / (self.params.coupling * self.params.coupling);
        if self.params.action == Action::Drop || probability >= most {
            dropped.push(queued.packet);
            return None;
        }
        Some(Queued { mark: 1, ..queued })
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) {
        self.catch_up(ctx);
        let view = QueueView { packets: self.packets(), bytes: self.bytes(), limit, rate: None };
        if !view.fits(packet.bytes()) {
            dropped.push(packet);
            return;
        }
        let low_latency = packet.fields.get(self.slot) > 0;
        let half = if low_latency { &mut self.low_latency } else { &mut self.classic };
        half.push(Queued::new(packet, ctx));
    }

    fn dequeue(&mut self, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) -> Option<Queued> {
        self.catch_up(ctx);
        while self.packets() > 0 {
            let sent = if self.low_latency_next() {
                self.serve_low_latency(dropped, ctx.now)
            } else {
                self.serve_classic(dropped)
            };
            if sent.is_some() {
                return sent;
            }
        }
        self.credit = 0;
        None
    }

    fn packets(&self) -> u32 {
        (self.low_latency.packets.len() + self.classic.packets.len()) as u32
    }

    fn bytes(&self) -> Bytes {
        self.low_latency.bytes + self.classic.bytes
    }

    fn backlog(&self, flow: FlowId) -> (u32, Bytes) {
        let all = self.low_latency.packets.iter().chain(&self.classic.packets);
        let own = all.filter(|q| q.packet.kind == Kind::Data && q.packet.name.flow == flow);
        own.fold((0, Bytes::ZERO), |(n, bytes), q| (n + 1, bytes + q.packet.bytes()))
    }
}

#[cfg(test)]
mod tests;

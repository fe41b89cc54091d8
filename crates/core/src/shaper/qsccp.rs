//! `qsccp`: a link scheduler over Interests, by class of service and flow, and a rate for each flow, which Data take
//! along.
//!
//! Source: the authors' simulator of QSCCP (Bai et al., "QoS-aware congestion control protocol for ICN"; qsccp/qsccp,
//! branch opensource, 35e902f, NFD's `daemon/face/queues.{hpp,cpp}`, `TokenBucket.cpp`, `generic-link-service.cpp`).
//! The law is on the page. `dscpc` is the same under the name of its predecessor (Bai et al., WCNC 2022), whose law is
//! not public: a stand-in.
//!
//! Ours: a flow is a name without its last component (there the first component), and stays in the class of its first
//! Interest until it is forgotten; its Data's size is measured (there its Interests say it); Interests that find no
//! place get a NACK (there nothing); tokens accrue continuously (there every 4 ms), and what waits for them is looked
//! at again after 4 ms (there at the next Interest); the first Interest at an idle link leaves at once (there after its
//! gap); what is left of the link is never negative (there an unsigned difference); at most [`MAX_FLOWS`] flows have a
//! queue of their own, others share as many by the low bits of their number; a link of unknown rate has neither
//! scheduler nor rates; the class that Interests of penalised flows carry on is their own (there those of the priority
//! classes are swapped), and a neighbour's penalty ends with it. Not here: the code's tables of rates per next hop and
//! downstream (`QSCCPStrategy`), for flows that have several of these.

mod link;

use self::link::{Class, Link};
use super::{Admission, Answer, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::FlowId;
use crate::packet::{NackReason, Packet};
use crate::shared::explicit::{Schedule, gap, lower};
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows with a queue of their own; as many queues again are shared by all others. Ours.
pub const MAX_FLOWS: usize = 512;
/// When Interests that wait for tokens are looked at again (the code's tick).
const TICK: Duration = Duration::from_millis(4);
/// Periods without a packet that are made up for.
const MOST_PERIODS: u64 = 64;

/// Parameters of [`Qsccp`] and [`Dscpc`]; all but `data-size` from the authors' code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The time between two changes of the rates.
    pub period: Duration,
    /// The part of the link that is given away.
    pub utilisation: f64,
    /// Interests of one flow that may wait.
    pub queue: u32,
    /// Interests of one of the weighted classes that may wait.
    pub class_queue: u32,
    /// Bytes of Data that a flow may request per round.
    pub quantum: Bytes,
    /// The size of a Data before the first of a flow, in bytes on the wire (the code's 9000 bit).
    pub data_size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            period: Duration::from_millis(100),
            utilisation: 0.99,
            queue: 20,
            class_queue: 200,
            quantum: Bytes::new(2000),
            data_size: Bytes::new(1125),
        }
    }
}

/// The scheduler of one face; `STAND_IN` under the name of DSCPC.
#[derive(ndnweir_state::State)]
pub struct Scheduler<const STAND_IN: bool> {
    #[state(skip)]
    params: Params,
    class: Slot,
    explicit: Slot,
    link: Option<Link>,
    next: Time,
    /// Bits of Interests that came from the face, up to the last change.
    reverse: u64,
    schedule: Schedule,
    retry: Time,
}

/// QSCCP's scheduler.
pub type Qsccp = Scheduler<false>;
/// The same as a stand-in for DSCPC's.
pub type Dscpc = Scheduler<true>;

const FIELDS: &[Field] = &[Field::ServiceClass, Field::ExplicitRate];

impl Component for Qsccp {
    const NAME: &'static str = "qsccp";
    const SUMMARY: &'static str = "schedules Interests by class and flow and writes each flow's rate into Data";
    const SOURCE: &'static str = "Bai et al., QSCCP: the authors' simulator (qsccp/qsccp); flows by name, NACKs, \
         measured sizes: ours";
    const FIELDS: &'static [Field] = FIELDS;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_params(params)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Qsccp {
        Scheduler::build(params, env)
    }
}

impl Component for Dscpc {
    const NAME: &'static str = "dscpc";
    const SUMMARY: &'static str = "QSCCP's scheduler in place of DSCPC's, its predecessor";
    const SOURCE: &'static str =
        "stands in for Bai et al., WCNC 2022, whose law is not public: QSCCP of the same authors";
    const FIELDS: &'static [Field] = FIELDS;
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_params(params)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Dscpc {
        Scheduler::build(params, env)
    }
}

fn check_params(params: &Params) -> Result<(), SchemeError> {
    check::least("period", params.period, Duration::from_millis(1))?;
    check::number("utilisation", params.utilisation, 0.01, 1.0)?;
    check::number("queue", params.queue.into(), 1.0, 50.0)?;
    check::number("class-queue", params.class_queue.into(), 1.0, 10_000.0)?;
    if !(100..=1_000_000).contains(&params.quantum.get()) {
        let help = "give a size from 100B to 1MB, such as \"2kB\"";
        return Err(SchemeError::value("quantum", params.quantum, "is out of range", help));
    }
    check::data_size("data-size", params.data_size)
}

impl<const STAND_IN: bool> Scheduler<STAND_IN> {
    fn build(params: &Params, env: &mut Env<'_>) -> Self {
        let (class, explicit) = (env.slot(Field::ServiceClass), env.slot(Field::ExplicitRate));
        let (schedule, retry) = (Schedule::default(), Time::ZERO);
        let params = params.clone();
        Scheduler { params, class, explicit, link: None, next: Time::ZERO, reverse: 0, schedule, retry }
    }

    /// Changes the rates for every period that has passed; `reverse`: bits of Interests that came from the face.
    fn advance(&mut self, reverse: Option<u64>, ctx: &mut Ctx<'_>) {
        let (period, now) = (self.params.period, ctx.now);
        let Some(link) = &mut self.link else { return };
        if now < self.next {
            return;
        }
        let passed = now.since(self.next).nanos() / period.nanos() + 1;
        self.next += period * passed;
        // Only some calls know; the others leave the count to the next one.
        let back = reverse.map_or(0, |bits| bits.saturating_sub(self.reverse));
        self.reverse = reverse.unwrap_or(self.reverse);
        for number in 0..passed.min(MOST_PERIODS) {
            let back = if number == 0 { back as f64 / period.secs() } else { 0.0 };
            link.update(&self.params, back);
        }
        if ctx.trace.is_on() {
            link.rates().for_each(|(flow, rate)| ctx.trace.record(now, "flow-rate", flow.into(), rate));
        }
    }
}

impl<const STAND_IN: bool> Shaper for Scheduler<STAND_IN> {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        let Some(rate) = event.out.return_rate.filter(|rate| rate.bps() > 0 && !event.out.local) else {
            // What waits leaves at the pace it had.
            return Admission::Pass;
        };
        let capacity = self.params.utilisation * rate.bps() as f64;
        match &mut self.link {
            Some(link) => link.set_capacity(capacity),
            None => {
                self.link = Some(Link::new(capacity));
                self.next = ctx.now + self.params.period;
                self.reverse = event.reverse.interests_in.bits;
            }
        }
        self.advance(Some(event.reverse.interests_in.bits), ctx);
        let (class, is_penalised) = Class::of_field(event.packet.fields.get(self.class));
        let Some(link) = &mut self.link else { return Admission::Pass };
        if !link.offer(&self.params, event.packet, class, is_penalised, ctx.now) {
            return Admission::Reject(NackReason::Congestion);
        }
        self.retry = Time::ZERO;
        // It is released within this call of the node, if it is its turn.
        Admission::Hold
    }

    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.advance(Some(event.reverse.interests_in.bits), ctx);
        if self.schedule.due().max(self.retry) > ctx.now {
            return None;
        }
        let link = self.link.as_mut()?;
        let Some(next) = link.next(&self.params, ctx.now) else {
            self.retry = ctx.now + TICK;
            return None;
        };
        let mut packet = next.packet;
        if next.is_penalised {
            packet.fields.set(self.class, next.class.penalised_field());
        }
        self.schedule.sent(ctx.now, gap(link.capacity(), next.bits / 8.0));
        Some(packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) {
        self.advance(None, ctx);
        if let Some(link) = self.link.as_mut().filter(|_| answer.outcome == Outcome::Data) {
            link.sample(answer.packet.name.flow, answer.packet.bytes());
        }
    }

    fn stamp(&self, flow: FlowId, fields: &mut Fields) {
        if let Some(rate) = self.link.as_ref().and_then(|link| link.rate(flow)) {
            lower(fields, self.explicit, rate);
        }
    }

    fn next_wake(&self) -> Time {
        if self.held() > 0 { self.schedule.due().max(self.retry) } else { Time::NEVER }
    }

    fn held(&self) -> u32 {
        self.link.as_ref().map_or(0, Link::held)
    }
}

#[cfg(test)]
mod tests;

//! `mircc`: a short queue that paces Interests at the rate of the link their Data come by, and rates for two classes of
//! traffic, which Data take along.
//!
//! Source: M. Mahdian, S. Arianfar, J. Gibson, D. Oran, "MIRCC: Multipath-aware ICN rate-based congestion control", ICN
//! 2016, whose text was not available; law and constants from a complete implementation by others (Enidsky/mircc,
//! 6081c2c, `scenario/extensions/mircc-strategy.cpp`): third-party. The law is on the page.
//!
//! Where that code contradicts itself (ours): what primary traffic leaves is never negative (there an unsigned
//! difference); one round-trip sample per Data (there two); Interests that find the queue full, or lose their place to
//! a primary one, get a NACK (there nothing); the first Interest at an idle face leaves at once (there at the next
//! tick); S is measured (there 8696 bit). Ours: an Interest without a class is primary; periods in which nothing
//! happened are made up for at the next packet, 64 at most; a round trip counts as 10 s at most; a link of unknown rate
//! has no rates and no queue; the link's rate is what the driver reports (there Data carry it).

use super::{Admission, Answer, Outcome, ReleaseEvent, ShapeEvent, Shaper};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::FlowId;
use crate::packet::{NackReason, Packet};
use crate::shared::explicit::{Schedule, gap, lower};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The class of [`Field::ServiceClass`] whose Interests use what the primary ones leave.
pub const SECONDARY: u32 = 2;
/// The class of those that come first.
pub const PRIMARY: u32 = 1;

/// d before the first Data, in s.
const INITIAL_RTT: f64 = 0.03;

/// Parameters of [`Mircc`]; all but `data-size` from the implementation named above.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Whether there is a secondary class; if not, all Interests are primary.
    pub dual: bool,
    /// T, the time between two changes of the rates.
    pub period: Duration,
    /// The part of the link that is given away.
    pub utilisation: f64,
    /// β, the least gain of the queue.
    pub beta: f64,
    /// The part of its old value that a rate keeps at each change.
    pub memory: f64,
    /// The part of its old value that the mean round trip keeps at each Data.
    pub rtt_memory: f64,
    /// The first primary rate, at most that of the link.
    pub initial_rate: Rate,
    /// Interests that may wait.
    pub queue: u32,
    /// S before the first Data, in bytes on the wire (1087 in the implementation, for good).
    pub data_size: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            dual: true,
            period: Duration::from_millis(100),
            utilisation: 0.99,
            beta: 0.1,
            memory: 0.8,
            rtt_memory: 0.7,
            initial_rate: Rate::from_bps(1_000_000),
            queue: 10,
            data_size: Bytes::new(1087),
        }
    }
}

/// The most `queue` may be.
const MOST_QUEUE: f64 = 1000.0;
/// The longest and the shortest round trip that count, in s.
const LONGEST: f64 = 10.0;
const SHORTEST: f64 = 0.001;
/// Periods without a packet that are made up for: after these the rates no longer move.
const MOST_PERIODS: u64 = 64;

/// The rates of one class; in bit/s.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
struct ClassRate {
    base: f64,
    extra: f64,
    /// Demanded in this period, in bits, and in the last one, in bit/s.
    bits: f64,
    before: f64,
}

impl ClassRate {
    fn rate(&self) -> f64 {
        self.base + self.extra
    }

    /// One change: `capacity` is what this class may use, `reference` the rate that N is reckoned with, `queue` the
    /// queue over the mean round trip. The demand of the period in bit/s.
    fn update(&mut self, params: &Params, capacity: f64, reference: f64, queue: f64) -> f64 {
        let demand = self.bits / params.period.secs();
        let flows = (capacity.max(demand) / reference.max(1.0)).max(1.0);
        let growth = (demand - self.before) / demand.max(1.0);
        let beta = params.beta.max(growth);
        let base = ((capacity - beta * queue) / flows).clamp(0.0, capacity / flows);
        let extra = (self.rate() - demand / flows).clamp(0.0, capacity - base);
        self.base = params.memory * self.base + (1.0 - params.memory) * base;
        self.extra = params.memory * self.extra + (1.0 - params.memory) * extra;
        (self.bits, self.before) = (0.0, demand);
        demand
    }
}

/// A link of known rate.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Link {
    /// C, in bit/s.
    capacity: f64,
    primary: ClassRate,
    secondary: ClassRate,
    next: Time,
}

/// An Interest that waits, by its place in the order of arrival.
type Waiting = VecDeque<(u64, Packet)>;

/// The shaper of one face.
#[derive(ndnweir_state::State)]
pub struct Mircc {
    #[state(skip)]
    params: Params,
    class: Slot,
    explicit: Slot,
    /// Where Data carry the secondary rate, if there is one.
    second: Option<Slot>,
    link: Option<Link>,
    /// Mean round trip, in s.
    rtt: f64,
    size: SizeEstimate,
    primary: Waiting,
    secondary: Waiting,
    arrivals: u64,
    discarded: Waiting,
    schedule: Schedule,
}

impl Component for Mircc {
    const NAME: &'static str = "mircc";
    const SUMMARY: &'static str = "paces Interests at the link's rate and writes a rate for each class into Data";
    const SOURCE: &'static str = "Mahdian et al., ICN 2016; law from a third-party implementation (Enidsky/mircc); \
         NACKs, measured sizes: ours";
    const FIELDS: &'static [Field] = &[Field::ServiceClass, Field::ExplicitRate, Field::SecondaryRate];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        if params.dual { Self::FIELDS.to_vec() } else { vec![Field::ServiceClass, Field::ExplicitRate] }
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::least("period", params.period, Duration::from_millis(1))?;
        check::number("utilisation", params.utilisation, 0.01, 1.0)?;
        check::number("beta", params.beta, 0.0, 10.0)?;
        check::number("memory", params.memory, 0.0, 0.999)?;
        check::number("rtt-memory", params.rtt_memory, 0.0, 0.999)?;
        check::number("queue", params.queue.into(), 1.0, MOST_QUEUE)?;
        check::data_size("data-size", params.data_size)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Mircc {
        Mircc {
            class: env.slot(Field::ServiceClass),
            explicit: env.slot(Field::ExplicitRate),
            second: params.dual.then(|| env.slot(Field::SecondaryRate)),
            link: None,
            rtt: INITIAL_RTT,
            size: SizeEstimate::new(params.data_size),
            primary: VecDeque::new(),
            secondary: VecDeque::new(),
            arrivals: 0,
            discarded: VecDeque::new(),
            schedule: Schedule::default(),
            params: params.clone(),
        }
    }
}

impl Mircc {
    fn waiting(&self) -> usize {
        self.primary.len() + self.secondary.len()
    }

    /// Takes the link's rate, which may have changed. Whether it is known.
    fn take_capacity(&mut self, rate: Option<Rate>, now: Time) -> bool {
        let Some(rate) = rate.filter(|rate| rate.bps() > 0) else {
            self.link = None;
            return false;
        };
        let capacity = self.params.utilisation * rate.bps() as f64;
        match &mut self.link {
            Some(link) => link.capacity = capacity,
            None => {
                let base = (self.params.initial_rate.bps() as f64).min(capacity);
                let (primary, secondary) = (ClassRate { base, ..ClassRate::default() }, ClassRate::default());
                self.link = Some(Link { capacity, primary, secondary, next: now + self.params.period });
            }
        }
        true
    }

    /// Changes the rates for every period that has passed.
    fn advance(&mut self, ctx: &mut Ctx<'_>) {
        let (period, now) = (self.params.period, ctx.now);
        let waiting = self.waiting();
        let Some(link) = &mut self.link else { return };
        if now < link.next {
            return;
        }
        let passed = now.since(link.next).nanos() / period.nanos() + 1;
        link.next += period * passed;
        for _ in 0..passed.min(MOST_PERIODS) {
            // The queue's bits per period, as bit/s: the implementation's factor of 10 at T = 100 ms.
            let queue = waiting as f64 * 8.0 * self.size.bytes() / period.secs() / self.rtt.max(SHORTEST);
            let (capacity, before) = (link.capacity, link.primary.rate());
            let demand = link.primary.update(&self.params, capacity, before, queue);
            if self.params.dual {
                let (left, all) = ((capacity - demand).max(0.0), before + link.secondary.rate());
                link.secondary.update(&self.params, left, all, queue);
            }
        }
        if ctx.trace.is_on() {
            ctx.trace.record(now, "primary-rate", 0, link.primary.rate());
            ctx.trace.record(now, "secondary-rate", 0, link.secondary.rate());
        }
    }

    fn gap(&self) -> Duration {
        gap(self.link.map_or(0.0, |link| link.capacity), self.size.bytes())
    }
}

impl Shaper for Mircc {
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission {
        if event.out.local || !self.take_capacity(event.out.return_rate, ctx.now) {
            return Admission::Pass;
        }
        self.advance(ctx);
        let is_secondary = self.params.dual && event.packet.fields.get(self.class) == SECONDARY;
        let bits = 8.0 * self.size.bytes();
        if let Some(link) = &mut self.link {
            let class = if is_secondary { &mut link.secondary } else { &mut link.primary };
            class.bits += bits;
        }
        if self.waiting() == 0 && self.schedule.due() <= ctx.now {
            self.schedule.sent(ctx.now, self.gap());
            return Admission::Pass;
        }
        let places = self.params.queue as usize;
        if self.waiting() >= places {
            // What is given up is collected after every hook; should it not be, nothing more is displaced.
            let displaced = (!is_secondary && self.discarded.len() < places).then(|| self.secondary.pop_back());
            let Some(displaced) = displaced.flatten() else { return Admission::Reject(NackReason::Congestion) };
            self.discarded.push_back(displaced);
        }
        self.arrivals += 1;
        let queue = if is_secondary { &mut self.secondary } else { &mut self.primary };
        queue.push_back((self.arrivals, *event.packet));
        Admission::Hold
    }

    fn release(&mut self, _: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.advance(ctx);
        if self.schedule.due() > ctx.now {
            return None;
        }
        let first = |queue: &Waiting| queue.front().map_or(u64::MAX, |(place, _)| *place);
        let is_primary = first(&self.primary) < first(&self.secondary);
        let queue = if is_primary { &mut self.primary } else { &mut self.secondary };
        let (_, packet) = queue.pop_front()?;
        self.schedule.sent(ctx.now, self.gap());
        Some(packet)
    }

    fn discard(&mut self) -> Option<Packet> {
        self.discarded.pop_front().map(|(_, packet)| packet)
    }

    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) {
        self.advance(ctx);
        if answer.outcome != Outcome::Data {
            return;
        }
        self.size.sample(answer.packet.bytes());
        if let Some(rtt) = answer.rtt {
            let memory = self.params.rtt_memory;
            self.rtt = memory * self.rtt + (1.0 - memory) * rtt.secs().min(LONGEST);
        }
    }

    fn stamp(&self, _: FlowId, fields: &mut Fields) {
        let Some(link) = &self.link else { return };
        lower(fields, self.explicit, link.primary.rate());
        if let Some(slot) = self.second {
            lower(fields, slot, link.secondary.rate());
        }
    }

    fn next_wake(&self) -> Time {
        if self.waiting() > 0 { self.schedule.due() } else { Time::NEVER }
    }

    fn held(&self) -> u32 {
        (self.waiting() + self.discarded.len()) as u32
    }
}

#[cfg(test)]
mod tests;

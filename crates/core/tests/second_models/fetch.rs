//! A fetch that a consumer controls: a script decides the fate of each Interest. Data may come over several paths with
//! labels, out of order or not at all; what fails is retransmitted.

use ndnweir_core::component::Env;
use ndnweir_core::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, SentEvent};
use ndnweir_core::ctx::{Ctx, Rng, Trace, TraceEvent};
use ndnweir_core::fields::{Field, FieldLayout, Fields};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Bytes, Duration, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An Interest as it leaves; times in ns.
pub struct Request {
    /// How many left before it.
    pub number: u64,
    pub now: u64,
    /// The path label it carries; 0 is none.
    pub label: u32,
}

/// What becomes of an Interest, and when.
pub enum Fate {
    Arrives { at: u64, label: u32, level: u32, mark: u8 },
    Fails { at: u64, kind: Congestion },
}

impl Fate {
    /// Data that nobody labelled.
    pub fn data(at: u64) -> Fate {
        Fate::Arrives { at, label: 0, level: 0, mark: 0 }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Sent { segment: u64, label: u32 },
    Data { segment: u64, sent: u64, rtt: Option<u64>, label: u32, level: u32, mark: bool },
    Failed { kind: Congestion, segment: u64 },
    Woken,
}

struct Pending {
    segment: u64,
    sent: u64,
    fate: Fate,
}

pub struct Fetch<'a> {
    pub consumer: AnyConsumer,
    /// The fetch as the latest event showed it, the packet at hand still in flight.
    pub seen: Flight,
    pub flight: Flight,
    pub now: u64,
    script: Box<dyn FnMut(&Request) -> Fate + 'a>,
    /// By the instant at which it ends and the order in which it left.
    pending: BTreeMap<(u64, u64), Pending>,
    again: BTreeSet<u64>,
    requested_again: BTreeSet<u64>,
    sent: u64,
    may_send_from: u64,
    layout: FieldLayout,
    rng: Rng,
    trace: Trace,
    srtt: Option<f64>,
}

impl<'a> Fetch<'a> {
    pub fn new(name: &str, params: &Value, script: impl FnMut(&Request) -> Fate + 'a) -> Fetch<'a> {
        Fetch::of(|layout| AnyConsumer::build(name, params, &mut Env { layout }).unwrap(), script)
    }

    /// The same with a consumer of one's own making.
    pub fn of(
        build: impl FnOnce(&mut FieldLayout) -> AnyConsumer,
        script: impl FnMut(&Request) -> Fate + 'a,
    ) -> Fetch<'a> {
        let mut layout = FieldLayout::new();
        layout.slot(Field::PathLabel);
        layout.slot(Field::CongestionLevel);
        let consumer = build(&mut layout);
        Fetch {
            consumer,
            seen: Flight::default(),
            flight: Flight::default(),
            now: 1_000_000,
            script: Box::new(script),
            pending: BTreeMap::new(),
            again: BTreeSet::new(),
            requested_again: BTreeSet::new(),
            sent: 0,
            may_send_from: 0,
            layout,
            rng: Rng::derive(3, &[]),
            trace: Trace::default(),
            srtt: None,
        }
    }

    /// The same, with what the consumer records.
    pub fn recording(mut self) -> Fetch<'a> {
        self.trace = Trace::new(true);
        self
    }

    /// The stream of chance from which the consumer draws next.
    pub fn chance(&self) -> Rng {
        self.rng.clone()
    }

    /// What the consumer recorded since the last call.
    pub fn recorded(&mut self) -> Vec<TraceEvent> {
        self.trace.drain().collect()
    }

    fn with<R>(&mut self, hook: impl FnOnce(&mut AnyConsumer, &mut Ctx<'_>) -> R) -> R {
        let now = Time::from_nanos(self.now);
        hook(&mut self.consumer, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }

    fn get(&self, field: Field, fields: &Fields) -> u32 {
        self.layout.find(field).map_or(0, |slot| fields.get(slot))
    }

    fn send(&mut self) -> Step {
        let segment = self.again.pop_first().unwrap_or(self.flight.next_segment);
        let retransmission = segment < self.flight.next_segment;
        if retransmission {
            self.requested_again.insert(segment);
        } else {
            self.flight.next_segment += 1;
        }
        self.flight.in_flight += 1;
        self.seen = self.flight;
        let mut fields = Fields::default();
        self.consumer.stamp(segment, &mut fields);
        let label = self.get(Field::PathLabel, &fields);
        let event = SentEvent { segment, retransmission, flight: self.flight };
        self.with(|consumer, ctx| consumer.on_sent(&event, ctx));
        let fate = (self.script)(&Request { number: self.sent, now: self.now, label });
        let (Fate::Arrives { at, .. } | Fate::Fails { at, .. }) = fate;
        self.pending.insert((at.max(self.now), self.sent), Pending { segment, sent: self.now, fate });
        self.sent += 1;
        self.may_send_from = self.now + self.consumer.pacing(&self.flight).map_or(0, Duration::nanos);
        Step::Sent { segment, label }
    }

    fn answer(&mut self) -> Step {
        let ((now, _), Pending { segment, sent, fate }) = self.pending.pop_first().unwrap();
        self.now = now;
        let (sent_at, mut fields) = (Time::from_nanos(sent), Fields::default());
        let step = match fate {
            Fate::Arrives { label, level, mark, .. } => {
                for (field, value) in [(Field::PathLabel, label), (Field::CongestionLevel, level)] {
                    fields.set(self.layout.find(field).unwrap(), value);
                }
                let rtt = (!self.requested_again.remove(&segment)).then_some(now - sent);
                if let Some(rtt) = rtt {
                    let srtt = self.srtt.map_or(rtt as f64, |srtt| srtt + (rtt as f64 - srtt) / 8.0);
                    self.srtt = Some(srtt);
                    self.flight.srtt = Duration::from_nanos(srtt.round() as u64);
                }
                let highest = self.flight.highest_received.map_or(segment, |highest| highest.max(segment));
                self.flight.highest_received = Some(highest);
                self.seen = self.flight;
                let event = DataEvent {
                    segment,
                    sent: sent_at,
                    rtt: rtt.map(Duration::from_nanos),
                    mark,
                    size: Bytes::new(super::path::SIZE),
                    fields: &fields,
                    flight: self.flight,
                };
                self.with(|consumer, ctx| consumer.on_data(&event, ctx));
                Step::Data { segment, sent, rtt, label, level, mark: mark > 0 }
            }
            Fate::Fails { kind, .. } => {
                self.seen = self.flight;
                let event = CongestionEvent { kind, segment, sent: sent_at, fields: &fields, flight: self.flight };
                self.with(|consumer, ctx| consumer.on_congestion(&event, ctx));
                self.again.insert(segment);
                Step::Failed { kind, segment }
            }
        };
        self.flight.in_flight -= 1;
        step
    }

    /// What happens next: an answer goes before a wake-up, and both before an Interest of the same instant.
    pub fn step(&mut self) -> Step {
        let answer = self.pending.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        let wake = self.consumer.next_wake().nanos().max(self.now);
        let due = self.may_send_from.max(self.now);
        if self.consumer.may_send(&self.flight) && due < answer.min(wake) {
            self.now = due;
            return self.send();
        }
        if wake < answer {
            self.now = wake;
            self.with(|consumer, ctx| consumer.on_wake(ctx));
            return Step::Woken;
        }
        self.answer()
    }
}

/// A link with a queue: the instant at which what joins at `now` has been transmitted.
#[derive(Default)]
pub struct Link {
    pub busy_until: u64,
}

impl Link {
    pub fn transmit(&mut self, now: u64, service: u64) -> u64 {
        self.busy_until = self.busy_until.max(now) + service;
        self.busy_until
    }

    /// How long a packet that joins now would wait.
    pub fn wait(&self, now: u64) -> u64 {
        self.busy_until.saturating_sub(now)
    }
}

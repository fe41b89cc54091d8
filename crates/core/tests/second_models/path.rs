//! A consumer on a path with one queue: what it sends, what comes back, and what it then does.

use ndnweir_core::component::Env;
use ndnweir_core::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, SentEvent};
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::{FieldLayout, Fields};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Bytes, Duration, Time};
use serde_json::Value;
use std::collections::VecDeque;

/// Bytes of every Data.
pub const SIZE: u64 = 1250;

/// What the path does at a time and to a packet; times in ns.
pub struct Behaviour {
    /// The round trip without the queue.
    pub base: fn(u64) -> u64,
    /// The transmission of a Data.
    pub service: fn(u64) -> u64,
    /// Whether a packet of this number that waits so long is marked.
    pub marks: fn(u64, u64) -> bool,
    /// Whether a packet of this number is lost.
    pub loses: fn(u64) -> bool,
}

/// What happened.
pub enum Step {
    Sent { segment: u64, in_flight_before: u64 },
    Data { segment: u64, rtt: u64, mark: bool },
    Lost { segment: u64 },
}

struct Arrival {
    at: u64,
    segment: u64,
    sent: u64,
    mark: bool,
    lost: bool,
}

pub struct Path {
    pub consumer: AnyConsumer,
    pub flight: Flight,
    behaviour: Behaviour,
    pub now: u64,
    may_send_from: u64,
    busy_until: u64,
    returning: VecDeque<Arrival>,
    rng: Rng,
    trace: Trace,
    srtt: Option<f64>,
}

impl Path {
    pub fn new(name: &str, params: &Value, behaviour: Behaviour) -> Path {
        let mut layout = FieldLayout::new();
        let consumer = AnyConsumer::build(name, params, &mut Env { layout: &mut layout }).unwrap();
        Path {
            consumer,
            flight: Flight::default(),
            behaviour,
            now: 1_000_000,
            may_send_from: 0,
            busy_until: 0,
            returning: VecDeque::new(),
            rng: Rng::derive(3, &[]),
            trace: Trace::default(),
            srtt: None,
        }
    }

    /// The stream of chance from which the consumer draws next.
    pub fn chance(&self) -> Rng {
        self.rng.clone()
    }

    fn ctx(&mut self) -> (&mut AnyConsumer, Ctx<'_>) {
        let now = Time::from_nanos(self.now);
        (&mut self.consumer, Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }

    fn send(&mut self) -> Step {
        let in_flight_before = u64::from(self.flight.in_flight);
        let segment = self.flight.next_segment;
        self.flight.next_segment += 1;
        self.flight.in_flight += 1;
        let flight = self.flight;
        let (consumer, mut ctx) = self.ctx();
        consumer.on_sent(&SentEvent { segment, retransmission: false, flight }, &mut ctx);
        let start = self.now.max(self.busy_until);
        let waited = start - self.now;
        self.busy_until = start + (self.behaviour.service)(self.now);
        // In order, however the path changes.
        let at = (self.busy_until + (self.behaviour.base)(self.now)).max(self.returning.back().map_or(0, |a| a.at));
        let (mark, lost) = ((self.behaviour.marks)(segment, waited), (self.behaviour.loses)(segment));
        self.returning.push_back(Arrival { at, segment, sent: self.now, mark, lost });
        self.may_send_from = self.now + self.consumer.pacing(&flight).map_or(0, Duration::nanos);
        Step::Sent { segment, in_flight_before }
    }

    fn arrive(&mut self) -> Step {
        let Arrival { at, segment, sent, mark, lost } = self.returning.pop_front().unwrap();
        self.now = at;
        let (sent_at, fields) = (Time::from_nanos(sent), Fields::default());
        let step = if lost {
            let event = CongestionEvent {
                kind: Congestion::Loss,
                segment,
                sent: sent_at,
                fields: &fields,
                flight: self.flight,
            };
            let (consumer, mut ctx) = self.ctx();
            consumer.on_congestion(&event, &mut ctx);
            Step::Lost { segment }
        } else {
            let rtt = (at - sent) as f64;
            let srtt = self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0);
            self.srtt = Some(srtt);
            self.flight.srtt = Duration::from_nanos(srtt.round() as u64);
            self.flight.highest_received = Some(segment);
            let event = DataEvent {
                segment,
                sent: sent_at,
                rtt: Some(Duration::from_nanos(at - sent)),
                mark: u8::from(mark),
                size: Bytes::new(SIZE),
                fields: &fields,
                flight: self.flight,
            };
            let (consumer, mut ctx) = self.ctx();
            consumer.on_data(&event, &mut ctx);
            Step::Data { segment, rtt: at - sent, mark }
        };
        self.flight.in_flight -= 1;
        step
    }

    /// What happens next: a Data that arrives goes before an Interest of the same instant.
    pub fn step(&mut self) -> Step {
        let arrival = self.returning.front().map_or(u64::MAX, |arrival| arrival.at);
        if self.consumer.may_send(&self.flight) && self.may_send_from.max(self.now) < arrival {
            self.now = self.now.max(self.may_send_from);
            return self.send();
        }
        self.arrive()
    }
}

//! A path with one bottleneck that drives a consumer in unit tests.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, SentEvent};
use crate::component::{Component, Env, parse_params};
use crate::ctx::{Ctx, Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::units::{Bytes, Duration, Time};
use std::collections::VecDeque;

/// A Data on its way: when it arrives, its segment, when its Interest was sent; whether it is marked or lost.
#[derive(Clone, Copy)]
pub struct Coming {
    pub at: Time,
    pub segment: u64,
    pub sent: Time,
    pub mark: u8,
    pub lost: bool,
}

/// A bottleneck with an endless queue: a Data every `gap` at most, after `delay`.
pub struct Path<C> {
    pub consumer: C,
    pub now: Time,
    pub gap: Duration,
    pub delay: Duration,
    /// A Data that finds more than this in the queue is lost: found missing when it would have arrived.
    pub room: Duration,
    /// A Data that finds more than this in the queue is marked.
    pub mark_above: Duration,
    pub coming: VecDeque<Coming>,
    pub segment: u64,
    pub rng: Rng,
    pub trace: Trace,
    free: Time,
    next_send: Time,
}

/// A path without losses or marks.
pub fn path<C: Consumer + Component>(params: serde_json::Value, gap: Duration, delay: Duration) -> Path<C> {
    let params = parse_params::<C>(&params).unwrap();
    let mut layout = FieldLayout::new();
    let consumer = C::new(&params, &mut Env { layout: &mut layout });
    Path {
        consumer,
        now: Time::ZERO,
        gap,
        delay,
        room: Duration::MAX,
        mark_above: Duration::MAX,
        coming: VecDeque::new(),
        segment: 0,
        rng: Rng::derive(1, &[]),
        trace: Trace::new(false),
        free: Time::ZERO,
        next_send: Time::ZERO,
    }
}

impl<C: Consumer> Path<C> {
    pub fn flight(&self, received: Option<u64>) -> Flight {
        let srtt = if received.is_some() { self.delay } else { Duration::ZERO };
        let in_flight = self.coming.len() as u32;
        Flight { in_flight, next_segment: self.segment, highest_received: received, srtt }
    }

    /// The segment before those on their way.
    pub fn received(&self) -> Option<u64> {
        self.segment.checked_sub(self.coming.len() as u64 + 1)
    }

    /// Sends what may be sent now.
    fn send(&mut self, received: Option<u64>) {
        while self.next_send <= self.now && self.consumer.may_send(&self.flight(received)) {
            let reaches = self.now + self.delay;
            let queue = self.free.since(reaches);
            let lost = queue > self.room;
            if !lost {
                self.free = self.free.max(reaches) + self.gap;
            }
            let at = self.free.max(reaches);
            let mark = u8::from(queue > self.mark_above);
            self.coming.push_back(Coming { at, segment: self.segment, sent: self.now, mark, lost });
            self.consumer.stamp(self.segment, &mut Fields::default());
            self.segment += 1;
            let flight = self.flight(received);
            let event = SentEvent { segment: self.segment - 1, retransmission: false, flight };
            self.consumer.on_sent(&event, &mut Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace });
            self.next_send = self.now + self.consumer.pacing(&flight).unwrap_or_default();
        }
    }

    fn receive(&mut self, coming: Coming, received: &mut Option<u64>) {
        let fields = Fields::default();
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        let (segment, sent) = (coming.segment, coming.sent);
        let in_flight = self.coming.len() as u32;
        let mut flight =
            Flight { in_flight, next_segment: self.segment, highest_received: *received, srtt: self.delay };
        if coming.lost {
            let event = CongestionEvent { kind: Congestion::Loss, segment, sent, fields: &fields, flight };
            self.consumer.on_congestion(&event, &mut ctx);
            return;
        }
        *received = Some(segment);
        flight.highest_received = *received;
        let (rtt, size) = (Some(self.now.since(sent)), Bytes::new(1250));
        let event = DataEvent { segment, sent, rtt, mark: coming.mark, size, fields: &fields, flight };
        self.consumer.on_data(&event, &mut ctx);
    }

    /// Runs for a while, and calls `each` with the round-trip time after every Data.
    pub fn run(&mut self, duration: Duration, mut each: impl FnMut(&Path<C>, Duration)) {
        let end = self.now + duration;
        let mut received = self.received();
        self.send(received);
        while self.now < end {
            let arrival = self.coming.front().map_or(Time::NEVER, |coming| coming.at);
            let may_send = self.consumer.may_send(&self.flight(received));
            let sending = if may_send { self.next_send.max(self.now) } else { Time::NEVER };
            let wake = self.consumer.next_wake().max(self.now);
            self.now = arrival.min(sending).min(wake);
            if self.consumer.next_wake() <= self.now {
                self.consumer.on_wake(&mut Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace });
            }
            if arrival <= self.now {
                let coming = self.coming[0];
                self.receive(coming, &mut received);
                self.coming.pop_front();
                each(self, self.now.since(coming.sent));
            }
            self.send(received);
        }
    }
}

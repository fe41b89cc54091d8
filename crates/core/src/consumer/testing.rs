//! A minimal fetch that drives a consumer in unit tests.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight};
use crate::component::{Component, Env, parse_params};
use crate::ctx::{Ctx, Rng, Trace};
use crate::fields::{Field, FieldLayout, Fields, Slot};
use crate::packet::NackReason;
use crate::units::{Bytes, Duration, Time};

/// Drives a consumer with Data of chosen round-trip times, marks and labels.
pub struct Driver<C> {
    pub consumer: C,
    pub now: Time,
    pub label: Slot,
    rng: Rng,
    trace: Trace,
    segment: u64,
}

/// A consumer made of `params`, at time zero.
pub fn driver<C: Consumer + Component>(params: serde_json::Value) -> Driver<C> {
    let params = parse_params::<C>(&params).unwrap();
    let mut layout = FieldLayout::new();
    let consumer = C::new(&params, &mut Env { layout: &mut layout });
    let label = layout.slot(Field::PathLabel).unwrap();
    let (rng, trace) = (Rng::derive(1, &[]), Trace::new(false));
    Driver { consumer, now: Time::ZERO, label, rng, trace, segment: 0 }
}

impl<C: Consumer> Driver<C> {
    pub fn window(&self) -> f64 {
        self.consumer.window()
    }

    pub fn wait(&mut self, duration: Duration) {
        self.now += duration;
    }

    /// A Data with a round-trip time of 20 ms.
    pub fn data(&mut self, marked: bool) {
        self.data_of(0, Some(Duration::from_millis(20)), marked);
    }

    /// A Data by the route `label`.
    pub fn data_of(&mut self, label: u32, rtt: Option<Duration>, marked: bool) {
        let mut fields = Fields::default();
        fields.set(self.label, label);
        let event = DataEvent {
            segment: self.segment,
            sent: self.now - rtt.unwrap_or_default(),
            rtt,
            mark: u8::from(marked),
            size: Bytes::new(1066),
            fields: &fields,
            flight: self.flight(),
        };
        self.segment += 1;
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        self.consumer.on_data(&event, &mut ctx);
    }

    pub fn congestion(&mut self, kind: Congestion) {
        let fields = Fields::default();
        let flight = self.flight();
        let event = CongestionEvent { kind, segment: self.segment, sent: self.now, fields: &fields, flight };
        let mut ctx = Ctx { now: self.now, rng: &mut self.rng, trace: &mut self.trace };
        self.consumer.on_congestion(&event, &mut ctx);
    }

    /// Whatever `kind` stands for.
    pub fn any(&mut self, kind: u8, marked: bool) {
        match kind % 8 {
            0 => self.congestion(Congestion::Timeout),
            1 => self.congestion(Congestion::Loss),
            2 => self.congestion(Congestion::Nack { reason: NackReason::Congestion, marked }),
            3 => self.data_of(u32::from(kind), None, marked),
            _ => self.data_of(u32::from(kind), Some(Duration::from_micros(u64::from(kind) * 999)), marked),
        }
    }

    fn flight(&self) -> Flight {
        let highest_received = self.segment.checked_sub(1);
        let next_segment = self.segment + self.window() as u64;
        Flight { in_flight: self.window() as u32, next_segment, highest_received, srtt: Duration::from_millis(20) }
    }
}

//! A queue with a marker on a link: packets that join, leave and find it full, as an egress shows them to the marker.

use crate::bench::Bench;
use ndnweir_core::packet::Packet;
use ndnweir_core::queue::{DequeueEvent, EnqueueEvent, Limit, Marker, QueueView, Verdict};
use ndnweir_core::registry::AnyMarker;
use ndnweir_core::units::{Bytes, Rate, Time};
use serde_json::Value;
use std::collections::VecDeque;

pub struct Egress {
    /// The marker, and the clock.
    pub bench: Bench<AnyMarker>,
    pub limit: u32,
    pub rate: Rate,
    waiting: VecDeque<(Packet, u64)>,
    busy_until: Option<u64>,
    /// Since when nothing was transmitted; none while something is.
    pub idle_since: Option<u64>,
}

impl Egress {
    pub fn new(name: &str, params: &Value, limit: u32, rate: Rate) -> Egress {
        let mut bench = Bench::new(AnyMarker::build, name, params, &[]);
        bench.now = 0;
        Egress { bench, limit, rate, waiting: VecDeque::new(), busy_until: None, idle_since: None }
    }

    pub fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn view(&self) -> QueueView {
        let bytes = self.waiting.iter().fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.bytes());
        QueueView { packets: self.waiting(), bytes, limit: Limit::Packets(self.limit), rate: Some(self.rate) }
    }

    fn transmit(&mut self, at: u64) {
        self.bench.now = at;
        let Some((packet, joined)) = self.waiting.pop_front() else {
            (self.busy_until, self.idle_since) = (None, Some(at));
            return self.bench.with(|marker, ctx| marker.on_idle(ctx));
        };
        self.busy_until = Some(at + self.rate.transmission_time(packet.bytes()).nanos());
        let sojourn = Time::from_nanos(at).since(Time::from_nanos(joined));
        let event = DequeueEvent {
            kind: packet.kind,
            flow: packet.name.flow,
            size: packet.bytes(),
            sojourn,
            queue: self.view(),
        };
        let verdict = self.bench.with(|marker, ctx| marker.on_dequeue(&event, ctx));
        assert_eq!(verdict, Verdict::Pass, "this marker decides as packets join");
    }

    /// Lets time pass up to `until`; what ends at that instant has ended.
    pub fn pass(&mut self, until: u64) {
        while let Some(end) = self.busy_until.filter(|end| *end <= until) {
            self.transmit(end);
        }
        self.bench.now = until;
    }

    /// A packet joins; none if it found the queue full.
    pub fn offer(&mut self, packet: Packet) -> Option<Verdict> {
        let (queue, now) = (self.view(), self.bench.now);
        let event = EnqueueEvent { packet: &packet, queue };
        if !queue.fits(packet.bytes()) {
            self.bench.with(|marker, ctx| marker.on_overflow(&event, ctx));
            return None;
        }
        let verdict = self.bench.with(|marker, ctx| marker.on_enqueue(&event, ctx));
        if verdict != Verdict::Drop {
            self.waiting.push_back((packet, now));
            if self.busy_until.is_none() {
                self.idle_since = None;
                self.transmit(now);
            }
        }
        Some(verdict)
    }
}

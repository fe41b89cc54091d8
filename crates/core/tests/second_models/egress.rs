//! A queue with a marker on a link: packets that join, leave and find it full, as an egress shows them to the marker.

use ndnweir_core::component::Env;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::packet::Packet;
use ndnweir_core::queue::{DequeueEvent, EnqueueEvent, Limit, Marker, QueueView, Verdict};
use ndnweir_core::registry::AnyMarker;
use ndnweir_core::units::{Bytes, Rate, Time};
use serde_json::Value;
use std::collections::VecDeque;

pub struct Egress {
    pub marker: AnyMarker,
    pub limit: u32,
    pub rate: Rate,
    pub now: u64,
    waiting: VecDeque<(Packet, u64)>,
    busy_until: Option<u64>,
    rng: Rng,
    trace: Trace,
    /// Since when nothing was transmitted; none while something is.
    pub idle_since: Option<u64>,
}

impl Egress {
    pub fn new(name: &str, params: &Value, limit: u32, rate: Rate) -> Egress {
        let mut layout = FieldLayout::new();
        let marker = AnyMarker::build(name, params, &mut Env { layout: &mut layout }).unwrap();
        let (rng, trace) = (Rng::derive(5, &[]), Trace::default());
        let (waiting, busy_until, idle_since) = (VecDeque::new(), None, None);
        Egress { marker, limit, rate, now: 0, waiting, busy_until, rng, trace, idle_since }
    }

    /// The stream of chance from which the marker draws next.
    pub fn chance(&self) -> Rng {
        self.rng.clone()
    }

    pub fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn view(&self) -> QueueView {
        let bytes = self.waiting.iter().fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.bytes());
        QueueView { packets: self.waiting(), bytes, limit: Limit::Packets(self.limit), rate: Some(self.rate) }
    }

    fn with<R>(&mut self, at: u64, hook: impl FnOnce(&mut AnyMarker, &mut Ctx<'_>) -> R) -> R {
        let now = Time::from_nanos(at);
        hook(&mut self.marker, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace })
    }

    fn transmit(&mut self, at: u64) {
        let Some((packet, joined)) = self.waiting.pop_front() else {
            (self.busy_until, self.idle_since) = (None, Some(at));
            return self.with(at, |marker, ctx| marker.on_idle(ctx));
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
        let verdict = self.with(at, |marker, ctx| marker.on_dequeue(&event, ctx));
        assert_eq!(verdict, Verdict::Pass, "this marker decides as packets join");
    }

    /// Lets time pass up to `until`; what ends at that instant has ended.
    pub fn pass(&mut self, until: u64) {
        while let Some(end) = self.busy_until.filter(|end| *end <= until) {
            self.transmit(end);
        }
        self.now = until;
    }

    /// A packet joins; none if it found the queue full.
    pub fn offer(&mut self, packet: Packet) -> Option<Verdict> {
        let (queue, now) = (self.view(), self.now);
        let event = EnqueueEvent { packet: &packet, queue };
        if !queue.fits(packet.bytes()) {
            self.with(now, |marker, ctx| marker.on_overflow(&event, ctx));
            return None;
        }
        let verdict = self.with(now, |marker, ctx| marker.on_enqueue(&event, ctx));
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

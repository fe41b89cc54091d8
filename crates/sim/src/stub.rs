//! Temporary stand-ins.
#![allow(missing_docs)]
use ndnweir_core::consumer::*;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::ids::*;
use ndnweir_core::packet::*;
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::*;
use std::collections::BTreeMap;
pub struct FetcherConfig {
    pub flow: FlowId,
    pub number: u32,
    pub seed: u64,
    pub total: Option<u64>,
    pub interest_size: u32,
    pub lifetime: Span,
    pub trace: bool,
    pub max_window: usize,
}
pub struct Arrival {
    pub segment: u64,
    pub delay: Span,
    pub rtt: Option<Span>,
    pub retransmissions: u32,
    pub in_order: bool,
    pub completed: bool,
}
pub struct Fetcher {
    c: FetcherConfig,
    consumer: AnyConsumer,
    rng: Rng,
    trace: Trace,
    out: BTreeMap<u64, Time>,
    next: u64,
    on: bool,
    k: crate::observer::ConsumerCounters,
}
impl Fetcher {
    pub fn new(c: FetcherConfig, consumer: AnyConsumer) -> Fetcher {
        Fetcher {
            rng: Rng::derive(c.seed, &[7, c.number.into()]),
            trace: Trace::new(c.trace),
            c,
            consumer,
            out: BTreeMap::new(),
            next: 0,
            on: false,
            k: Default::default(),
        }
    }
    pub fn start(&mut self, _: Time) {
        self.on = true;
    }
    pub fn stop(&mut self, _: Time) {
        self.on = false;
    }
    fn flight(&self) -> Flight {
        Flight { in_flight: self.out.len() as u32, next_segment: self.next, highest_received: None, srtt: Span::ZERO }
    }
    pub fn handle(&mut self, now: Time, p: &Packet) -> Option<Arrival> {
        if p.kind != Kind::Data {
            return None;
        }
        let s = u64::from(p.name.segment);
        let sent = *self.out.get(&s)?;
        let flight = self.flight();
        self.consumer.on_data(
            &DataEvent {
                segment: s,
                sent,
                rtt: Some(now.since(sent)),
                mark: p.mark,
                size: p.bytes(),
                fields: &p.fields,
                flight,
            },
            &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace },
        );
        self.out.remove(&s);
        self.k.segments += 1;
        self.k.payload_bits += u64::from(p.payload) * 8;
        Some(Arrival {
            segment: s,
            delay: now.since(sent),
            rtt: Some(now.since(sent)),
            retransmissions: 0,
            in_order: true,
            completed: self.c.total == Some(self.k.segments),
        })
    }
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if !self.on || self.c.total.is_some_and(|t| self.next >= t) || !self.consumer.may_send(&self.flight()) {
            return None;
        }
        let s = self.next;
        self.next += 1;
        self.out.insert(s, now);
        self.k.interests += 1;
        Some(Packet {
            name: NameId { flow: self.c.flow, segment: s as u32 },
            nonce: self.rng.bits(),
            size: self.c.interest_size,
            lifetime_ms: (self.c.lifetime.nanos() / 1_000_000) as u32,
            hop_limit: 255,
            ..Packet::default()
        })
    }
    pub fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
    pub fn handle_timeout(&mut self, _: Time) {}
    pub fn counters(&self) -> crate::observer::ConsumerCounters {
        let mut k = self.k;
        k.in_flight = self.out.len() as u32;
        k.window = self.consumer.window();
        k
    }
    pub fn drain_trace(&mut self) -> impl Iterator<Item = ndnweir_core::ctx::TraceEvent> + '_ {
        self.trace.drain()
    }
}
pub struct ServerConfig {
    pub payload: u32,
    pub size: u32,
    pub freshness: Span,
    pub last: Option<u32>,
}
pub struct Server(ServerConfig);
impl Server {
    pub fn new(c: ServerConfig) -> Server {
        Server(c)
    }
    pub fn answer(&mut self, _: Time, i: &Packet) -> Packet {
        Packet { kind: Kind::Data, size: self.0.size, payload: self.0.payload, lifetime_ms: 0, mark: 0, ..*i }
    }
}

//! A fetcher and a server joined by one bottleneck link, with a clock of its own.

use ndnweir_core::component::{Env, Info};
use ndnweir_core::ctx::Rng;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::packet::{Kind, NackReason, Packet};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::fetcher::{Arrival, Fetcher, FetcherConfig};
use ndnweir_node::server::{Server, ServerConfig};
use std::collections::BTreeMap;

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

pub fn consumer(name: &str, params: serde_json::Value) -> AnyConsumer {
    AnyConsumer::build(name, &params, &mut Env { layout: &mut FieldLayout::new() }).unwrap()
}

pub fn started(config: FetcherConfig, consumer: AnyConsumer, now: Time) -> Fetcher {
    let mut fetcher = Fetcher::new(config, consumer);
    fetcher.start(now);
    fetcher
}

pub fn sent(fetcher: &mut Fetcher, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| fetcher.poll_transmit(now)).map(|packet| packet.name.segment).collect()
}

pub fn data(segment: u32) -> Packet {
    let mut packet = Packet { kind: Kind::Data, size: 1064, payload: 1024, ..Packet::default() };
    packet.name.segment = segment;
    packet
}

/// Whether a consumer takes this parameter: `timer` where the fetcher's timer is its own to choose, `reaction` where it
/// is a window law with a reaction profile.
pub fn takes(info: &Info, parameter: &str) -> bool {
    (info.defaults)().get(parameter).is_some()
}

/// Interests take the delay; Data wait in a queue of `limit` packets for the link, then take the delay.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: Rate,
    pub delay: Duration,
    pub limit: u64,
    /// Data that waited longer than this are marked, at most one per `spacing`.
    pub mark_above: Option<Duration>,
    pub spacing: Duration,
    /// Chances in 1000 that an Interest is lost, rejected for congestion, or its Data sent twice.
    pub lose: u64,
    pub reject: u64,
    pub double: u64,
    /// Up to so much extra delay for each Data, so that they arrive out of order.
    pub jitter: Duration,
    /// Chances in 1000 that a Data comes so much later, as one that a link retransmitted.
    pub late: u64,
    pub late_by: Duration,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            rate: Rate::from_mbps(10.0),
            delay: ms(25),
            limit: 60,
            mark_above: None,
            spacing: ms(100),
            lose: 0,
            reject: 0,
            double: 0,
            jitter: Duration::ZERO,
            late: 0,
            late_by: Duration::ZERO,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Interest(Packet),
    Answer(Packet),
}

pub struct World {
    pub now: Time,
    pub fetcher: Fetcher,
    pub server: Server,
    pub link: Link,
    pub arrivals: Vec<(Time, Arrival)>,
    pub sent: Vec<(Time, Packet)>,
    pub drops: u64,
    pub marks: u64,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    busy_until: Time,
    next_mark: Time,
    rng: Rng,
}

impl World {
    pub fn new(link: Link, server: ServerConfig, config: FetcherConfig, consumer: AnyConsumer) -> World {
        World {
            now: Time::ZERO,
            fetcher: Fetcher::new(config, consumer),
            server: Server::new(server),
            link,
            arrivals: Vec::new(),
            sent: Vec::new(),
            drops: 0,
            marks: 0,
            events: BTreeMap::new(),
            number: 0,
            busy_until: Time::ZERO,
            next_mark: Time::ZERO,
            rng: Rng::derive(9, &[]),
        }
    }

    fn push(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    fn chance(&mut self, per_mille: u64) -> bool {
        self.rng.below(1000) < per_mille
    }

    fn transmit(&mut self) {
        while let Some(packet) = self.fetcher.poll_transmit(self.now) {
            self.sent.push((self.now, packet));
            if self.chance(self.link.lose) {
                self.drops += 1;
            } else if self.chance(self.link.reject) {
                self.push(self.now, Event::Answer(packet.nack(NackReason::Congestion)));
            } else {
                self.push(self.now + self.link.delay, Event::Interest(packet));
            }
        }
    }

    fn serve(&mut self, interest: &Packet) {
        let mut data = self.server.answer(self.now, interest);
        let transmission = self.link.rate.transmission_time(data.bytes());
        let wait = self.busy_until.since(self.now);
        if wait.nanos() > transmission.nanos() * self.link.limit {
            self.drops += 1;
            return;
        }
        if self.link.mark_above.is_some_and(|above| wait > above) && self.now >= self.next_mark {
            data.mark = 1;
            self.marks += 1;
            self.next_mark = self.now + self.link.spacing;
        }
        self.busy_until = self.busy_until.max(self.now) + transmission;
        let jitter = Duration::from_nanos(self.rng.below(self.link.jitter.nanos() + 1));
        let late = if self.link.late > 0 && self.chance(self.link.late) { self.link.late_by } else { Duration::ZERO };
        self.push(self.busy_until + self.link.delay + jitter + late, Event::Answer(data));
        if self.chance(self.link.double) {
            self.push(self.busy_until + self.link.delay * 2, Event::Answer(data));
        }
    }

    pub fn start(&mut self) {
        self.fetcher.start(self.now);
        self.transmit();
    }

    /// Runs until `end`, or until nothing is left to happen.
    pub fn run_until(&mut self, end: Time) {
        loop {
            let event = self.events.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let timeout = self.fetcher.poll_timeout();
            let next = event.min(timeout);
            if next > end || next == Time::NEVER {
                self.now = end.max(self.now);
                return;
            }
            self.now = self.now.max(next);
            if timeout <= event {
                self.fetcher.handle_timeout(self.now);
            } else if let Some((_, event)) = self.events.pop_first() {
                match event {
                    Event::Interest(interest) => self.serve(&interest),
                    Event::Answer(packet) => {
                        if let Some(arrival) = self.fetcher.handle(self.now, &packet) {
                            self.arrivals.push((self.now, arrival));
                        }
                    }
                }
            }
            self.transmit();
        }
    }
}

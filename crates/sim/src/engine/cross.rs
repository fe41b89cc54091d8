//! Cross traffic: it uses the same queues as NDN packets, and nodes do not process it.

use super::process::Net;
use super::sink::Sink;
use crate::nada;
use crate::network::{CrossFlow, CrossKind, Network};
use crate::outcome::CrossCounters;
use crate::schedule::{Due, EventRank, Schedule};
use crate::tcp::{Ack, Algorithm, Receiver, Rule, Segment, Sender};
use ndnweir_core::ctx::Rng;
use ndnweir_core::ids::FlowId;
use ndnweir_core::packet::{Fragment, Packet, flags};
use ndnweir_core::units::{Bytes, Duration, Time};

/// Labels of the random streams (see [`Rng::derive`]).
const STREAM: u64 = 0x6372_6f73;
const LAW: u64 = 1;

/// Bytes of a report of NADA's receiver: IPv4, UDP and RTCP headers, and the three values (RFC 8698 §5.3). Ours.
const REPORT: u32 = 28 + 12 + 16;

/// The state of a flow's source.
#[derive(Debug, ndnweir_state::Value)]
enum State {
    Poisson,
    /// On until this time.
    OnOff(Time),
    Nada(Box<Media>),
    Tcp(Box<(Sender, Receiver)>),
}

/// Both ends of a flow of media, and when its receiver next reports.
#[derive(Debug, ndnweir_state::Value)]
struct Media {
    sender: nada::Sender,
    receiver: nada::Receiver,
    report: Time,
}

/// A flow, with both of its ends.
#[derive(Debug, ndnweir_state::Value)]
struct Flow {
    source: u32,
    state: State,
    rng: Rng,
    /// When it next sends a datagram or checks its timer.
    next: Time,
    counters: CrossCounters,
}

/// All flows.
#[derive(Debug, Default, ndnweir_state::State)]
pub(super) struct Cross {
    #[state(skip)]
    given: Vec<CrossFlow>,
    flows: Vec<Flow>,
    /// Channels from here on belong to cross traffic: two for each flow, the second one for the reverse direction.
    first_channel: u32,
}

impl Cross {
    pub(super) fn new(network: &Network, seed: u64, channels: usize) -> Cross {
        let flow = |(number, given): (usize, &CrossFlow)| {
            let mut rng = Rng::derive(seed, &[STREAM, number as u64]);
            let state = match given.kind {
                CrossKind::Poisson { .. } => State::Poisson,
                CrossKind::OnOff { on, .. } => State::OnOff(given.start + rng.exponential(on)),
                CrossKind::Nada { rate } => State::Nada(Box::new(Media {
                    sender: nada::Sender::new(rate, Bytes::new(given.size.into()), given.start),
                    receiver: nada::Receiver::default(),
                    report: given.start + nada::DELTA,
                })),
                CrossKind::Tcp { algorithm, segments, .. } => {
                    let law = Rng::derive(seed, &[STREAM, number as u64, LAW]);
                    let total = segments.unwrap_or(u32::MAX);
                    let rule = if algorithm == Algorithm::QuicReno { Rule::QUIC } else { Rule::TCP };
                    let sender = Sender::new(algorithm, total, given.size, law);
                    State::Tcp(Box::new((sender, Receiver::new(rule, total))))
                }
            };
            let wait = match (&state, given.gap()) {
                (State::Poisson, Some(gap)) => rng.exponential(gap),
                _ => Duration::ZERO,
            };
            Flow { source: 0, state, rng, next: given.start + wait, counters: CrossCounters::default() }
        };
        let flows = network.cross.iter().enumerate().map(flow).collect();
        Cross { given: network.cross.clone(), flows, first_channel: channels as u32 }
    }

    pub(super) fn count(&self) -> usize {
        self.flows.len()
    }

    /// Sets the event source of a flow; returns when its first event is due.
    pub(super) fn set_source(&mut self, flow: usize, source: u32) -> Time {
        self.flows[flow].source = source;
        self.flows[flow].next
    }

    pub(super) fn counters(&self) -> Vec<CrossCounters> {
        let read = |flow: &Flow| match &flow.state {
            State::Tcp(ends) => CrossCounters { sender: ends.0.counters(), ..flow.counters },
            _ => flow.counters,
        };
        self.flows.iter().map(read).collect()
    }

    /// The directed link at this hop of the path, in either direction.
    fn wire(&self, flow: usize, back: bool, hop: usize) -> Option<u32> {
        let path = &self.given[flow].path;
        if back { path.iter().rev().nth(hop).map(|wire| wire ^ 1) } else { path.get(hop).copied() }
    }
}

impl Flow {
    /// A datagram that is sent now; `None` if there is none.
    fn emit(&mut self, now: Time, given: &CrossFlow) -> Option<Packet> {
        let stopped = given.stop.is_some_and(|stop| now >= stop);
        if let State::Tcp(ends) = &mut self.state {
            if stopped {
                ends.0.stop();
            }
            let Segment { number, transmission } = ends.0.poll_transmit(now)?;
            return Some(Packet { nonce: number, payload: transmission, size: given.size, ..datagram() });
        }
        if stopped {
            self.next = Time::NEVER;
            return None;
        }
        if let State::Nada(media) = &mut self.state {
            let number = media.sender.poll_transmit(now)?;
            return Some(Packet { nonce: number, payload: micros(now), size: given.size, ..datagram() });
        }
        if now < self.next {
            return None;
        }
        self.advance(now, given);
        Some(Packet { size: given.size, ..datagram() })
    }

    /// Sets the time at which the next datagram is sent.
    fn advance(&mut self, now: Time, given: &CrossFlow) {
        let gap = given.gap().unwrap_or(Duration::MAX);
        self.next = match (&mut self.state, given.kind) {
            (State::OnOff(until), CrossKind::OnOff { on, off, .. }) => {
                let next = now + gap;
                if next < *until {
                    next
                } else {
                    let start = (*until).max(now) + self.rng.exponential(off);
                    *until = start + self.rng.exponential(on);
                    start.max(next)
                }
            }
            _ => now + self.rng.exponential(gap).max(Duration::from_nanos(1)),
        };
    }

    /// When the flow's next event is due.
    fn due(&self, given: &CrossFlow) -> Time {
        match &self.state {
            State::Tcp(ends) if ends.0.poll_timeout() == Time::NEVER && ends.0.counters().sent == 0 => given.start,
            State::Tcp(ends) => ends.0.poll_timeout().min(ends.1.poll_timeout()),
            State::Nada(_) if self.next == Time::NEVER => Time::NEVER,
            State::Nada(media) => media.sender.next().min(media.report),
            _ => self.next,
        }
    }
}

/// The microseconds of a time, which wrap after an hour and more.
fn micros(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}

/// The fields that all datagrams have in common.
fn datagram() -> Packet {
    Packet { flags: flags::FOREIGN, fragment: Fragment::FOREIGN, ..Packet::default() }
}

impl<S: Sink> Net<S> {
    /// Handles the event of a flow.
    pub(super) fn cross_due(&mut self, now: Time, number: usize) {
        if let State::Tcp(ends) = &mut self.cross.flows[number].state {
            if let Some(ack) = ends.1.handle_timeout(now) {
                self.cross_ack(now, number, ack);
                return self.cross_schedule(now, number);
            }
            ends.0.handle_timeout(now);
        }
        self.cross_report(now, number);
        self.cross_send(now, number);
    }

    /// A receiver of segments acknowledges.
    fn cross_ack(&mut self, now: Time, number: usize, ack: Ack) {
        let CrossKind::Tcp { ack: size, .. } = self.cross.given[number].kind else { return };
        let Ack { next, segment, transmission } = ack;
        let packet = Packet { nonce: segment, payload: transmission, lifetime_ms: next, size, ..datagram() };
        self.cross_offer(now, number, true, packet);
    }

    /// A receiver of media reports if it is time to.
    fn cross_report(&mut self, now: Time, number: usize) {
        let State::Nada(media) = &mut self.cross.flows[number].state else { return };
        if now < media.report {
            return;
        }
        media.report = now + nada::DELTA;
        let Some(report) = media.receiver.report(now) else { return };
        self.cross_offer(now, number, true, Packet { nonce: report, size: REPORT, ..datagram() });
    }

    /// A flow's datagram sets out, on its path or back.
    fn cross_offer(&mut self, now: Time, number: usize, back: bool, mut packet: Packet) {
        // Queues that distinguish flows distinguish this one from the contents, which are numbered from 0.
        packet.name.flow = FlowId(u32::MAX - number as u32);
        let channel = self.cross.first_channel + 2 * number as u32 + u32::from(back);
        if let Some(wire) = self.cross.wire(number, back, 0) {
            self.offer(now, wire, channel, packet);
        }
    }

    /// Sends all datagrams that a flow may send now.
    fn cross_send(&mut self, now: Time, number: usize) {
        loop {
            let given = &self.cross.given[number];
            let flow = &mut self.cross.flows[number];
            let Some(packet) = flow.emit(now, given) else { break };
            flow.counters.sent += 1;
            self.cross_offer(now, number, false, packet);
        }
        self.cross_schedule(now, number);
    }

    fn cross_schedule(&mut self, now: Time, number: usize) {
        let flow = &self.cross.flows[number];
        let due = flow.due(&self.cross.given[number]).max(now);
        self.schedule.set(flow.source, Due::new(due, EventRank::APPLICATION));
    }

    /// A datagram reaches the end of a link.
    pub(super) fn cross_arrival(&mut self, now: Time, channel: u32, mut packet: Packet) {
        let place = (channel - self.cross.first_channel) as usize;
        let (number, back) = (place / 2, place % 2 == 1);
        packet.tag += 1;
        if let Some(wire) = self.cross.wire(number, back, packet.tag as usize) {
            return self.offer(now, wire, channel, packet);
        }
        let given = &self.cross.given[number];
        let flow = &mut self.cross.flows[number];
        if let State::Nada(media) = &mut flow.state {
            if back {
                if let Some(report) = media.receiver.take(packet.nonce) {
                    media.sender.report(now, report);
                }
                return;
            }
            flow.counters.delivered += 1;
            let delay = Duration::from_micros(micros(now).wrapping_sub(packet.payload).into());
            return media.receiver.datagram(now, packet.nonce, now - delay, packet.size);
        }
        let State::Tcp(ends) = &mut flow.state else {
            flow.counters.delivered += 1;
            return;
        };
        let CrossKind::Tcp { segments, .. } = given.kind else { return };
        let (sender, receiver) = &mut **ends;
        if back {
            let ack = Ack { next: packet.lifetime_ms, segment: packet.nonce, transmission: packet.payload };
            sender.ack(now, ack);
            if segments.is_some() && sender.is_complete() {
                flow.counters.completed.get_or_insert(now);
            }
            return self.cross_send(now, number);
        }
        let segment = Segment { number: packet.nonce, transmission: packet.payload };
        let (ack, fresh) = receiver.segment(now, segment);
        flow.counters.delivered += u64::from(fresh);
        if let Some(ack) = ack {
            self.cross_ack(now, number, ack);
        }
        self.cross_schedule(now, number);
    }
}

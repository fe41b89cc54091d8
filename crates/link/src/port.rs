//! The egress of a switch port, or of an interface that several NDN faces share: a plain drop-tail queue below NDN.
//!
//! The same semantics as a node's predictable egress: a packet's departure is known when it joins, departures at an
//! instant precede arrivals at it, and the packet on the wire does not count as waiting.

use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::rate_trace::{RateTrace, TraceCursor};
use ndnweir_node::{DropCause, FaceCounters};
use std::collections::VecDeque;

/// A packet whose transmission has not ended.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct QueuedPacket {
    joined: Time,
    start: Time,
    end: Time,
    size: Bytes,
    /// None is no NDN packet.
    kind: Option<Kind>,
    /// Whether its start has been counted.
    started: bool,
}

/// The egress.
#[derive(Debug, ndnweir_state::State)]
pub struct Port {
    rate: Option<Rate>,
    /// When it can deliver, in place of a rate.
    #[state(perhaps)]
    trace: Option<TraceCursor>,
    limit: Limit,
    framing: Bytes,
    /// NDN packets that wait longer are marked.
    mark_after: Option<Duration>,
    up: bool,
    queue: VecDeque<QueuedPacket>,
    /// How many at the front of `queue` have started: 0 or 1 after settling.
    started: usize,
    waiting_bytes: Bytes,
    counters: FaceCounters,
}

impl Port {
    /// An empty one.
    pub fn new(rate: Option<Rate>, limit: Limit, framing: Bytes) -> Port {
        let (queue, counters) = (VecDeque::new(), FaceCounters::default());
        let waiting_bytes = Bytes::ZERO;
        let (trace, mark_after) = (None, None);
        Port { rate, trace, limit, framing, mark_after, up: true, queue, started: 0, waiting_bytes, counters }
    }

    /// An empty one that delivers as a trace says. A packet waits until it has left, so none counts as being on the
    /// wire.
    pub fn traced(trace: RateTrace, limit: Limit, framing: Bytes) -> Port {
        let rate = Some(trace.mean());
        Port { trace: Some(TraceCursor::new(trace)), ..Port::new(rate, limit, framing) }
    }

    /// Marks NDN packets that wait longer than this, as a switch with a threshold for ECN does (RFC 3168) whose mark the
    /// end of the tunnel copies (RFC 6040); none marks nothing.
    pub fn marking(self, mark_after: Option<Duration>) -> Port {
        Port { mark_after, ..self }
    }

    /// Takes a packet, and marks it if it waits for long; the instants its transmission starts and ends, or nothing if
    /// it is dropped.
    pub fn offer(&mut self, now: Time, packet: &mut Packet) -> Option<(Time, Time)> {
        self.settle(now);
        let size = packet.bytes() + self.framing;
        self.counters.offered_packets += 1;
        self.counters.offered_bits += size.bits();
        if !self.up {
            self.counters.drops[DropCause::Down] += 1;
            return None;
        }
        let packets = (self.queue.len() - self.started) as u32;
        let view = QueueView { packets, bytes: self.waiting_bytes, limit: self.limit, rate: self.rate };
        let start = self.rate.and_then(|_| self.queue.back()).map_or(now, |last| last.end);
        if (start > now || self.trace.is_some()) && !view.fits(size) {
            self.counters.drops[DropCause::Overflow] += 1;
            if kind_of(packet) == Some(Kind::Data) {
                self.counters.overflow_data_bits += size.bits();
            }
            return None;
        }
        let (start, end) = match (&mut self.trace, self.rate) {
            (Some(trace), _) => {
                let end = trace.serve(start, size);
                (end, end)
            }
            (None, Some(rate)) => (start, start + rate.transmission_time(size)),
            (None, None) => (now, now),
        };
        if let Some(kind) = kind_of(packet)
            && self.mark_after.is_some_and(|after| start.since(now) > after)
        {
            packet.mark = packet.mark.max(1);
            self.counters.count_mark(kind);
        }
        let entry = QueuedPacket { joined: now, start, end, size, kind: kind_of(packet), started: false };
        self.waiting_bytes += size;
        self.queue.push_back(entry);
        self.settle(now);
        Some((start, end))
    }

    /// Counts what has started and forgets what has ended by `now`.
    fn settle(&mut self, now: Time) {
        while let Some(entry) = self.queue.get_mut(self.started)
            && entry.start <= now
        {
            if !entry.started {
                entry.started = true;
                count(&mut self.counters, entry);
            }
            self.waiting_bytes = self.waiting_bytes - entry.size;
            self.started += 1;
        }
        while let Some(first) = self.queue.front()
            && first.end <= now
        {
            self.queue.pop_front();
            self.started -= 1;
        }
    }

    /// Changes the rate, which ends a trace; pushes the new (start, end) of every packet that had not left completely, oldest first.
    pub fn set_rate(&mut self, now: Time, rate: Rate, departures: &mut Vec<(Time, Time)>) {
        self.settle(now);
        let mut free = now;
        for (i, entry) in self.queue.iter_mut().enumerate() {
            if i < self.started {
                // The bits already sent were sent at the old rate.
                let left = entry.end.since(now).nanos() as f64 / entry.end.since(entry.start).nanos().max(1) as f64;
                entry.end = now + rate.transmission_time(entry.size).scale(left);
            } else {
                entry.start = free;
                entry.end = free + rate.transmission_time(entry.size);
            }
            free = entry.end;
            departures.push((entry.start, entry.end));
        }
        self.rate = Some(rate);
        self.trace = None;
    }

    /// Takes it down or up. Down empties the queue; returns how many packets had not left completely.
    pub fn set_up(&mut self, now: Time, up: bool) -> usize {
        self.settle(now);
        self.up = up;
        if up {
            return 0;
        }
        let unsent = self.queue.len();
        self.counters.drops[DropCause::Down] += unsent as u64;
        self.counters.cut += self.started as u64;
        self.queue.clear();
        if let Some(trace) = &mut self.trace {
            trace.rewind();
        }
        self.started = 0;
        self.waiting_bytes = Bytes::ZERO;
        unsent
    }

    /// The totals and the state of the queue; restarts the longest wait.
    pub fn counters(&mut self, now: Time) -> FaceCounters {
        self.settle(now);
        self.counters.queue_packets = (self.queue.len() - self.started) as u32;
        self.counters.queue_bytes = self.waiting_bytes;
        let read = self.counters;
        self.counters.sojourn_max = Duration::ZERO;
        read
    }
}

/// What an NDN packet is; none of a datagram that is not NDN.
pub(crate) fn kind_of(packet: &Packet) -> Option<Kind> {
    (!packet.has(flags::FOREIGN)).then_some(packet.kind)
}

fn count(counters: &mut FaceCounters, entry: &QueuedPacket) {
    match entry.kind {
        Some(kind) => counters.count_started(kind, entry.size.bits()),
        None => counters.count_other(entry.size.bits()),
    }
    let sojourn = entry.start.since(entry.joined);
    counters.sojourn_sum += u128::from(sojourn.nanos());
    counters.sojourn_count += 1;
    counters.sojourn_max = counters.sojourn_max.max(sojourn);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn data(size: u32) -> Packet {
        Packet { kind: Kind::Data, size, ..Packet::default() }
    }

    /// 8 Mbit/s: a byte per microsecond.
    fn port(limit: Limit) -> Port {
        Port::new(Some(Rate::from_mbps(8.0)), limit, Bytes::ZERO)
    }

    #[test]
    fn packets_leave_one_after_the_other_and_the_one_on_the_directed_link_does_not_wait() {
        let mut port = port(Limit::Packets(2));
        assert_eq!(port.offer(us(0), &mut data(100)), Some((us(0), us(100))));
        assert_eq!(port.offer(us(0), &mut data(100)), Some((us(100), us(200))));
        assert_eq!(port.offer(us(99), &mut data(100)), Some((us(200), us(300))));
        assert_eq!(port.offer(us(99), &mut data(100)), None);
        assert_eq!(port.offer(us(100), &mut data(100)), Some((us(300), us(400))), "a departure precedes an arrival");
        let counters = port.counters(us(400));
        counters.check().unwrap();
        assert_eq!((counters.data_packets, counters.drops.overflow, counters.overflow_data_bits), (4, 1, 800));
        assert_eq!(counters.sojourn_max, Duration::from_micros(200));
    }

    #[test]
    fn a_new_rate_holds_for_the_bits_not_sent_yet() {
        let mut port = port(Limit::Bytes(Bytes::new(1000)));
        port.offer(us(0), &mut data(100));
        port.offer(us(0), &mut data(100));
        let mut departures = Vec::new();
        port.set_rate(us(50), Rate::from_mbps(16.0), &mut departures);
        assert_eq!(departures, [(us(0), us(75)), (us(75), us(125))]);
    }

    // Lines at 2 and 5 ms, then 7, 10, 12 ...: each carries one packet of 1504 B.
    #[test]
    fn a_traced_port_delivers_when_its_trace_says_and_what_waits_for_that_is_in_the_queue() {
        let trace = RateTrace::parse("2\n5\n").unwrap();
        let mut port = Port::traced(trace, Limit::Packets(2), Bytes::ZERO);
        let ms = |n: u64| us(n * 1000);
        assert_eq!(port.offer(ms(0), &mut data(1504)), Some((ms(2), ms(2))));
        assert_eq!(port.offer(ms(1), &mut data(1504)), Some((ms(5), ms(5))));
        assert_eq!(port.offer(ms(1), &mut data(1504)), None, "two wait");
        assert_eq!(port.offer(ms(2), &mut data(1504)), Some((ms(7), ms(7))));
        assert_eq!(port.set_up(ms(6), false), 1);
        port.set_up(ms(6), true);
        assert_eq!(port.offer(ms(6), &mut data(1504)), Some((ms(7), ms(7))), "what was not used is there again");
        let mut departures = Vec::new();
        port.set_rate(ms(6), Rate::from_mbps(1.504 * 8.0), &mut departures);
        assert_eq!(departures, [(ms(6), ms(7))]);
        port.counters(ms(9)).check().unwrap();
    }

    #[test]
    fn a_port_that_goes_down_loses_what_has_not_left() {
        let mut port = port(Limit::Packets(9));
        for _ in 0..3 {
            port.offer(us(0), &mut data(100));
        }
        assert_eq!(port.set_up(us(100), false), 2);
        assert_eq!(port.offer(us(150), &mut data(100)), None);
        port.set_up(us(200), true);
        assert_eq!(port.offer(us(300), &mut data(100)), Some((us(300), us(400))));
        let counters = port.counters(us(300));
        counters.check().unwrap();
        assert_eq!(counters.drops[DropCause::Down], 3);
    }

    // A byte takes 1 us: the second waits 100 us, the third 200, and a foreign packet 300.
    #[test]
    fn ndn_packets_that_wait_longer_than_the_threshold_are_marked_and_others_are_not() {
        let mut port = port(Limit::Packets(9)).marking(Some(Duration::from_micros(150)));
        let mut marks = |packet: Packet| {
            let mut packet = packet;
            port.offer(us(0), &mut packet).unwrap();
            packet.mark
        };
        assert_eq!([marks(data(100)), marks(data(100)), marks(data(100))], [0, 0, 1]);
        assert_eq!(marks(Packet { flags: flags::FOREIGN, ..data(100) }), 0, "it is no NDN packet");
        assert_eq!(marks(Packet { mark: 7, ..data(100) }), 7, "a higher mark stays");
        assert_eq!(marks(Packet { kind: Kind::Interest, ..data(100) }), 1);
        let counters = port.counters(us(0));
        assert_eq!((counters.data_marks, counters.interest_marks), (2, 1));
    }
}

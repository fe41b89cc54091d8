//! One direction of an emulated link, without I/O: datagrams go in with their times of arrival and come out when they
//! have crossed it.

use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::{Rate, Span, Time};
use ndnweir_link::{Impairment, LinkTotals, Port, Way};
use ndnweir_node::FaceCounters;

use super::Direction;

/// The most datagrams under way on one direction; the next one is dropped and counted as an overflow of the queue.
const MAX_UNDER_WAY: usize = 1 << 20;

/// A datagram's bytes, kept until it and its copy have arrived.
#[derive(Debug, Default)]
struct Slot {
    bytes: Vec<u8>,
    uses: u8,
}

/// One direction.
#[derive(Debug)]
pub struct Pipe {
    port: Port,
    way: Way,
    slots: Vec<Slot>,
    free: Vec<u32>,
    departures: Vec<(Time, Time)>,
}

impl Pipe {
    /// An empty one; `wire` numbers it within the run, for its random draws.
    pub fn new(direction: &Direction, seed: u64, wire: u32) -> Pipe {
        let Direction { rate, delay, limit, framing, impairment } = *direction;
        Pipe {
            port: Port::new(rate, limit, framing),
            way: Way::new(delay, impairment, seed, wire),
            slots: Vec::new(),
            free: Vec::new(),
            departures: Vec::new(),
        }
    }

    /// A datagram arrived at the sending end at `at`, which is not before earlier ones.
    pub fn offer(&mut self, at: Time, datagram: &[u8]) {
        if self.way.under_way() >= MAX_UNDER_WAY {
            return;
        }
        let size = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
        let mut packet = Packet { kind: Kind::Data, size, ..Packet::default() };
        let Some((_, end)) = self.port.offer(at, &packet) else { return };
        packet.tag = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let copies = self.way.totals.copies;
        self.way.send(&packet, 0, end);
        let slot = &mut self.slots[packet.tag as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(datagram);
        slot.uses = 1 + u8::from(self.way.totals.copies > copies);
    }

    /// When the next datagram reaches the other end.
    pub fn next_arrival(&self) -> Time {
        self.way.next_arrival()
    }

    /// Hands `deliver` every datagram that has reached the other end by `now`, in order.
    pub fn arrive(&mut self, now: Time, mut deliver: impl FnMut(&[u8])) {
        while self.way.next_arrival() <= now {
            let Some(tag) = self.way.first().map(|first| first.packet.tag) else { return };
            let slot = &mut self.slots[tag as usize];
            if self.way.arrive().is_some() {
                deliver(&slot.bytes);
            }
            slot.uses -= 1;
            if slot.uses == 0 {
                self.free.push(tag);
            }
            self.way.clear_first();
        }
    }

    /// A new rate, for the bits not sent yet.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.departures.clear();
        self.port.set_rate(now, rate, &mut self.departures);
        self.way.reschedule(&self.departures);
    }

    /// A new delay, for datagrams not sent completely.
    pub fn set_delay(&mut self, now: Time, delay: Span) {
        self.way.set_delay(now, delay);
    }

    /// A new loss probability, for datagrams not sent completely.
    pub fn set_loss(&mut self, now: Time, loss: f64) {
        self.way.set_loss(now, loss);
    }

    /// Takes the direction down, which loses all that is in it, or up.
    pub fn set_up(&mut self, now: Time, up: bool) {
        let unsent = self.port.set_up(now, up);
        if !up {
            self.way.cut(unsent);
            self.slots.clear();
            self.free.clear();
        }
    }

    /// Counts of the queue up to `now`; Data stands for all datagrams. The longest sojourn starts anew.
    pub fn counters(&mut self, now: Time) -> FaceCounters {
        self.port.counters(now)
    }

    /// Counts of the way to the other end.
    pub fn totals(&self) -> LinkTotals {
        self.way.totals
    }

    /// Datagrams whose bytes are kept.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Default for Direction {
    /// Passes everything at once.
    fn default() -> Direction {
        Direction {
            rate: None,
            delay: Span::ZERO,
            limit: ndnweir_core::queue::Limit::Packets(1000),
            framing: ndnweir_core::units::Bytes::ZERO,
            impairment: Impairment::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::queue::Limit;
    use proptest::prelude::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    /// 8 Mbit/s, a byte per microsecond, and 1 ms to the other end.
    fn direction(limit: Limit) -> Direction {
        Direction { rate: Some(Rate::from_mbps(8.0)), delay: Span::from_millis(1), limit, ..Direction::default() }
    }

    fn arrivals(pipe: &mut Pipe) -> Vec<(u64, Vec<u8>)> {
        let mut out = Vec::new();
        while pipe.next_arrival() < Time::NEVER {
            let at = pipe.next_arrival();
            pipe.arrive(at, |bytes| out.push((at.nanos() / 1000, bytes.to_vec())));
        }
        out
    }

    #[test]
    fn what_is_read_late_leaves_as_if_it_had_been_read_in_time() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(10)), 1, 0);
        // Read at 5000 µs, but they had arrived at 0, 50 and 400.
        for (at, byte) in [(0, 1), (50, 2), (400, 3)] {
            pipe.offer(us(at), &[byte; 100]);
        }
        let times: Vec<u64> = arrivals(&mut pipe).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1100, 1200, 1500]);
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(2)), 1, 0);
        for byte in 0..5 {
            pipe.offer(us(0), &[byte; 100]);
        }
        let first: Vec<u8> = arrivals(&mut pipe).iter().map(|(_, bytes)| bytes[0]).collect();
        assert_eq!(first, [0, 1, 2], "one on the wire, two waiting");
        assert_eq!(pipe.counters(us(10_000)).drops.iter().sum::<u64>(), 2);
    }

    #[test]
    fn a_link_that_fails_forgets_what_it_carried() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(9)), 1, 0);
        for _ in 0..5 {
            pipe.offer(us(0), &[0; 100]);
        }
        pipe.set_up(us(150), false);
        pipe.offer(us(160), &[1; 100]);
        pipe.set_up(us(200), true);
        pipe.offer(us(300), &[2; 100]);
        assert_eq!(arrivals(&mut pipe), [(1400, vec![2; 100])]);
        assert_eq!(pipe.kept(), 0);
    }

    proptest! {
        #[test]
        fn every_datagram_is_delivered_lost_or_dropped_and_its_bytes_are_let_go(
            seed in any::<u64>(),
            loss in 0.0..0.5f64,
            duplicate in 0.0..0.5f64,
            reorder in 0.0..0.5f64,
            gaps in prop::collection::vec(0u64..300, 1..200),
        ) {
            let impairment = Impairment { loss, duplicate, reorder, reorder_delay: Span::from_millis(2), ..Impairment::default() };
            let mut pipe = Pipe::new(&Direction { impairment, ..direction(Limit::Packets(5)) }, seed, 0);
            let mut now = us(0);
            let mut delivered = 0;
            for (i, gap) in gaps.iter().enumerate() {
                now += Span::from_micros(*gap);
                pipe.arrive(now, |bytes| { assert!(bytes.iter().all(|b| *b == bytes[0])); delivered += 1; });
                pipe.offer(now, &[i as u8; 120]);
            }
            delivered += arrivals(&mut pipe).len() as u64;
            let totals = pipe.totals();
            let dropped: u64 = pipe.counters(Time::NEVER).drops.iter().sum();
            prop_assert_eq!(gaps.len() as u64 + totals.copies, delivered + totals.lost + dropped);
            prop_assert_eq!(pipe.kept(), 0);
        }
    }
}

//! One direction of an emulated link, without I/O: datagrams go in with their times of arrival and come out when they
//! have crossed it.

use super::{DirectionCounters, EmulatedDirection};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_link::{Impairment, Port, Propagation};
use ndnweir_node::{DropCause, FaceCounters};

/// The most datagrams in flight on one direction; the next one is dropped and counted as an overflow of the queue.
pub const MAX_IN_FLIGHT: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// The most memory for the bytes of datagrams in flight on one direction, 256 MiB: 10 Gbit/s for 0.2 s. What does not fit
/// is dropped in the same way.
pub const MAX_BYTES_IN_FLIGHT: usize = if cfg!(test) { 1 << 16 } else { 1 << 28 };

/// A datagram's bytes, kept until it and its copy have arrived.
#[derive(Debug, Default)]
struct DatagramSlot {
    bytes: Vec<u8>,
    uses: u8,
}

/// One direction.
#[derive(Debug)]
pub struct Pipe {
    port: Port,
    propagation: Propagation,
    /// The sender's rate, if it keeps to that itself.
    pace: Option<Rate>,
    framing: Bytes,
    /// The latest offer: times must not decrease.
    latest: Time,
    /// Datagrams dropped since too many were in flight.
    rejected: FaceCounters,
    slots: Vec<DatagramSlot>,
    free: Vec<u32>,
    /// Bytes of memory of all slots; free ones keep theirs only as long as half of the most is not exceeded.
    memory: usize,
    departures: Vec<(Time, Time)>,
}

impl Pipe {
    /// An empty one; `wire` numbers it within the run, for its random draws.
    pub fn new(direction: &EmulatedDirection, seed: u64, directed_link: u32) -> Pipe {
        let EmulatedDirection { rate, ref trace, paced, delay, limit, framing, impairment } = *direction;
        let port = match trace {
            Some(trace) => Port::traced(trace.clone(), limit, framing),
            None => Port::new(rate.filter(|_| !paced), limit, framing),
        };
        Pipe {
            port,
            propagation: Propagation::new(delay, impairment, seed, directed_link),
            pace: rate.filter(|_| paced),
            framing,
            latest: Time::ZERO,
            rejected: FaceCounters::default(),
            slots: Vec::new(),
            free: Vec::new(),
            memory: 0,
            departures: Vec::new(),
        }
    }

    /// A datagram of a channel reached the sending end at `at`; one that is reported late counts as if it had arrived
    /// with the one before it.
    pub fn offer(&mut self, at: Time, channel: u32, kind: Kind, datagram: &[u8]) {
        let at = at.max(self.latest);
        self.latest = at;
        let size = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
        let mut packet = Packet { kind, size, ..Packet::default() };
        let room = self.free.last().map_or(0, |&slot| self.slots[slot as usize].bytes.capacity());
        let more = datagram.len().saturating_sub(room);
        if self.propagation.in_flight() >= MAX_IN_FLIGHT || self.memory + more > MAX_BYTES_IN_FLIGHT {
            let bits = (packet.bytes() + self.framing).bits();
            self.rejected.offered_packets += 1;
            self.rejected.offered_bits += bits;
            self.rejected.drops[DropCause::Overflow] += 1;
            self.rejected.overflow_data_bits += if kind == Kind::Data { bits } else { 0 };
            return;
        }
        let Some((_, end)) = self.port.offer(at, &mut packet) else { return };
        let end = end + self.pace.map_or(Duration::ZERO, |rate| rate.transmission_time(packet.bytes() + self.framing));
        packet.tag = self.free.pop().unwrap_or_else(|| {
            self.slots.push(DatagramSlot::default());
            (self.slots.len() - 1) as u32
        });
        let copies = self.propagation.totals().copies;
        self.propagation.send(&packet, channel, at, end);
        let slot = &mut self.slots[packet.tag as usize];
        slot.bytes.clear();
        let before = slot.bytes.capacity();
        slot.bytes.reserve_exact(datagram.len());
        self.memory += slot.bytes.capacity() - before;
        slot.bytes.extend_from_slice(datagram);
        slot.uses = 1 + u8::from(self.propagation.totals().copies > copies);
    }

    /// When the next datagram reaches the other end.
    pub fn next_arrival(&self) -> Time {
        self.propagation.next_arrival()
    }

    /// The next datagram reaches the other end, whenever that is: its channel and kind, and its bytes in `bytes`; none
    /// if it was lost, or nothing is in flight.
    pub fn arrive(&mut self, bytes: &mut Vec<u8>) -> Option<(u32, Kind)> {
        let first = self.propagation.first()?;
        let (tag, channel, kind) = (first.packet.tag, first.channel(), first.packet.kind);
        let slot = &mut self.slots[tag as usize];
        let arrived = self.propagation.arrive().is_some();
        if arrived {
            bytes.clear();
            bytes.extend_from_slice(&slot.bytes);
        }
        slot.uses -= 1;
        if slot.uses == 0 {
            if self.memory > MAX_BYTES_IN_FLIGHT / 2 {
                self.memory -= std::mem::take(&mut slot.bytes).capacity();
            }
            self.free.push(tag);
        }
        self.propagation.clear_first();
        arrived.then_some((channel, kind))
    }

    /// A new rate, for the bits not sent yet; where the sender keeps to it, for the datagrams to come.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        if self.pace.is_some() {
            self.pace = Some(rate);
            return;
        }
        self.departures.clear();
        self.port.set_rate(now, rate, &mut self.departures);
        self.propagation.reschedule(&self.departures);
    }

    /// A new delay, for datagrams not sent completely.
    pub fn set_delay(&mut self, now: Time, delay: Duration) {
        self.propagation.set_delay(now, delay);
    }

    /// A new loss probability, for datagrams not sent completely.
    pub fn set_loss(&mut self, now: Time, loss: f64) {
        self.propagation.set_loss(now, loss);
    }

    /// Takes the direction down, which loses all that is in it, or up.
    pub fn set_up(&mut self, now: Time, up: bool) {
        let unsent = self.port.set_up(now, up);
        if !up {
            self.propagation.cut(unsent);
            self.slots.clear();
            self.free.clear();
            self.memory = 0;
        }
    }

    /// Counters of queue and propagation up to `now`. The longest sojourn starts again.
    pub fn counters(&mut self, now: Time) -> DirectionCounters {
        let (mut queue, rejected) = (self.port.counters(now), &self.rejected);
        queue.offered_packets += rejected.offered_packets;
        queue.offered_bits += rejected.offered_bits;
        queue.overflow_data_bits += rejected.overflow_data_bits;
        queue.drops[DropCause::Overflow] += rejected.drops[DropCause::Overflow];
        DirectionCounters {
            queue,
            propagation: self.propagation.totals(),
            in_flight: self.propagation.in_flight() as u64,
            memory_drops: rejected.drops[DropCause::Overflow],
        }
    }

    /// Datagrams whose bytes are stored.
    #[cfg(test)]
    fn stored(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Default for EmulatedDirection {
    /// Passes everything at once.
    fn default() -> EmulatedDirection {
        EmulatedDirection {
            rate: None,
            trace: None,
            paced: false,
            delay: Duration::ZERO,
            limit: Limit::Packets(1000),
            framing: Bytes::ZERO,
            impairment: Impairment::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_link::RateTrace;
    use proptest::prelude::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    /// 8 Mbit/s, a byte per microsecond, and 1 ms to the other end.
    fn direction(limit: Limit) -> EmulatedDirection {
        EmulatedDirection {
            rate: Some(Rate::from_mbps(8.0)),
            delay: Duration::from_millis(1),
            limit,
            ..EmulatedDirection::default()
        }
    }

    fn offer(pipe: &mut Pipe, at: u64, bytes: &[u8]) {
        pipe.offer(us(at), 0, Kind::Data, bytes);
    }

    /// What arrives until `end`: when, in µs, and what.
    fn until(pipe: &mut Pipe, end: Time) -> Vec<(u64, Vec<u8>)> {
        let (mut out, mut bytes) = (Vec::new(), Vec::new());
        while pipe.next_arrival() < Time::NEVER && pipe.next_arrival() <= end {
            let at = pipe.next_arrival();
            if pipe.arrive(&mut bytes).is_some() {
                out.push((at.nanos() / 1000, bytes.clone()));
            }
        }
        out
    }

    fn arrivals(pipe: &mut Pipe) -> Vec<(u64, Vec<u8>)> {
        until(pipe, Time::NEVER)
    }

    #[test]
    fn what_is_read_late_leaves_as_if_it_had_been_read_in_time() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(10)), 1, 0);
        // Read at 5000 µs, but they had arrived at 0, 50 and 400.
        for (at, byte) in [(0, 1), (50, 2), (400, 3)] {
            offer(&mut pipe, at, &[byte; 100]);
        }
        let times: Vec<u64> = arrivals(&mut pipe).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1100, 1200, 1500]);
    }

    #[test]
    fn where_the_sender_keeps_to_the_rate_a_datagram_takes_its_time_and_waits_for_none() {
        let framing = Bytes::new(20);
        let mut pipe = Pipe::new(&EmulatedDirection { paced: true, framing, ..direction(Limit::Packets(1)) }, 1, 0);
        // The second comes 40 µs early, as a sender that woke late catches up.
        for (at, len) in [(0, 80), (60, 80), (200, 30)] {
            offer(&mut pipe, at, &vec![1; len]);
        }
        pipe.set_rate(us(250), Rate::from_mbps(16.0));
        offer(&mut pipe, 300, &[1; 80]);
        let times: Vec<u64> = arrivals(&mut pipe).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1100, 1160, 1250, 1350]);
        assert_eq!(pipe.counters(us(2000)).queue.drops.total(), 0);
    }

    #[test]
    fn a_traced_direction_delivers_when_its_trace_says() {
        let trace = Some(RateTrace::parse("2\n5\n").unwrap());
        let mut pipe = Pipe::new(&EmulatedDirection { trace, rate: None, ..direction(Limit::Packets(9)) }, 1, 0);
        for byte in 0..3 {
            offer(&mut pipe, 100, &[byte; 1504]);
        }
        let times: Vec<u64> = arrivals(&mut pipe).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [3000, 6000, 8000], "1 ms after the lines at 2, 5 and 5 + 2 ms");
    }

    #[test]
    fn datagrams_reported_out_of_order_keep_the_order_of_reports() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(10)), 1, 0);
        offer(&mut pipe, 500, &[1; 100]);
        offer(&mut pipe, 300, &[2; 100]);
        assert_eq!(arrivals(&mut pipe), [(1600, vec![1; 100]), (1700, vec![2; 100])]);
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(2)), 1, 0);
        for byte in 0..5 {
            offer(&mut pipe, 0, &[byte; 100]);
        }
        let first: Vec<u8> = arrivals(&mut pipe).iter().map(|(_, bytes)| bytes[0]).collect();
        assert_eq!(first, [0, 1, 2], "one on the wire, two waiting");
        assert_eq!(pipe.counters(us(10_000)).queue.drops.total(), 2);
    }

    #[test]
    fn datagrams_beyond_the_most_in_flight_are_dropped_and_counted() {
        let mut pipe =
            Pipe::new(&EmulatedDirection { delay: Duration::from_millis(1), ..EmulatedDirection::default() }, 1, 0);
        for _ in 0..MAX_IN_FLIGHT + 3 {
            offer(&mut pipe, 0, &[1; 10]);
        }
        let counters = pipe.counters(us(1));
        counters.queue.check().unwrap();
        assert_eq!(counters.queue.drops[DropCause::Overflow], 3);
        assert_eq!(counters.queue.overflow_data_bits, 240);
        assert_eq!((counters.in_flight, arrivals(&mut pipe).len()), (MAX_IN_FLIGHT as u64, MAX_IN_FLIGHT));
    }

    #[test]
    fn bytes_in_flight_are_bounded_and_drops_for_want_of_memory_are_counted() {
        let mut pipe =
            Pipe::new(&EmulatedDirection { delay: Duration::from_millis(1), ..EmulatedDirection::default() }, 1, 0);
        // Small ones first, whose memory is not what large ones need.
        for (at, size, sent) in [(0, 100, 600), (2000, 1000, 80), (4000, 9000, 20), (6000, 100, 600)] {
            let fit = (MAX_BYTES_IN_FLIGHT / size).min(sent);
            (0..sent).for_each(|_| offer(&mut pipe, at, &vec![1; size]));
            assert!(pipe.memory <= MAX_BYTES_IN_FLIGHT, "{}", pipe.memory);
            let arrived = arrivals(&mut pipe).len();
            assert!(arrived * 2 >= fit && arrived <= fit, "{arrived} of {fit} with {size} bytes");
        }
        let counters = pipe.counters(us(8000));
        counters.queue.check().unwrap();
        assert!(counters.memory_drops > 0);
        assert_eq!(counters.memory_drops, counters.queue.drops[DropCause::Overflow]);
        assert_eq!(counters.propagation.arrived + counters.memory_drops, 1300);
    }

    #[test]
    fn a_link_that_fails_forgets_what_it_carried() {
        let mut pipe = Pipe::new(&direction(Limit::Packets(9)), 1, 0);
        for _ in 0..5 {
            offer(&mut pipe, 0, &[0; 100]);
        }
        pipe.set_up(us(150), false);
        offer(&mut pipe, 160, &[1; 100]);
        pipe.set_up(us(200), true);
        offer(&mut pipe, 300, &[2; 100]);
        assert_eq!(arrivals(&mut pipe), [(1400, vec![2; 100])]);
        assert_eq!(pipe.stored(), 0);
    }

    proptest! {
        #[test]
        fn every_datagram_is_delivered_lost_or_dropped_and_its_bytes_are_released(
            seed in any::<u64>(),
            paced in any::<bool>(),
            loss in 0.0..0.5f64,
            duplicate in 0.0..0.5f64,
            reorder in 0.0..0.5f64,
            gaps in prop::collection::vec(0u64..300, 1..200),
        ) {
            let reorder_delay = Duration::from_millis(2);
            let impairment = Impairment { loss, duplicate, reorder, reorder_delay, ..Impairment::default() };
            let mut pipe = Pipe::new(&EmulatedDirection { impairment, paced, ..direction(Limit::Packets(5)) }, seed, 0);
            let mut now = 0;
            let mut delivered = 0;
            for (i, gap) in gaps.iter().enumerate() {
                now += gap;
                let arrived = until(&mut pipe, us(now));
                prop_assert!(arrived.iter().all(|(_, bytes)| bytes.iter().all(|b| *b == bytes[0])));
                delivered += arrived.len() as u64;
                offer(&mut pipe, now, &[i as u8; 120]);
            }
            delivered += arrivals(&mut pipe).len() as u64;
            let DirectionCounters { queue, propagation, in_flight, .. } = pipe.counters(Time::NEVER);
            prop_assert_eq!(queue.check(), Ok(()));
            let dropped: u64 = queue.drops.total();
            prop_assert_eq!(gaps.len() as u64 + propagation.copies, delivered + propagation.lost + dropped);
            prop_assert_eq!((pipe.stored(), in_flight), (0, 0));
        }
    }
}

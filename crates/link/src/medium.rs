//! A shared half-duplex medium: one transmitter's worth of capacity for several senders, of which one sends at a time.
//!
//! Who has waiting frames takes turns, a frame each, and a sender with several links gives its turns to them in turn.
//! That is what contention comes to in the long run where all stations receive each other: equal chances per frame,
//! whatever its size. Collisions, back-off and acknowledgements are a constant time before each frame (`gap`); see M.
//! Heusse, F. Rousseau, G. Berger-Sabbatel, A. Duda, "Performance anomaly of 802.11b", IEEE INFOCOM 2003, which models
//! the overhead of a frame so.

use crate::port::kind_of;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{Limit, QueueView};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::{DropCause, FaceCounters};
use std::collections::VecDeque;

/// A frame that starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediumFrame {
    /// The link's place in the medium.
    pub link: usize,
    /// What was handed over with it.
    pub channel: u32,
    /// The packet.
    pub packet: Packet,
    /// When it joined its queue, and when its transmission starts and ends.
    pub times: [Time; 3],
}

/// The queue of one sender for one link.
#[derive(Debug, ndnweir_state::Value)]
struct LinkQueue {
    limit: Limit,
    framing: Bytes,
    up: bool,
    waiting: VecDeque<(Packet, u32, Time)>,
    bytes: Bytes,
    counters: FaceCounters,
}

/// The links of one sender.
#[derive(Debug, ndnweir_state::Value)]
struct Sender {
    node: u32,
    links: Vec<usize>,
    /// Whose turn it is.
    turn: usize,
}

/// The medium.
#[derive(Debug, ndnweir_state::Value)]
pub struct Medium {
    rate: Rate,
    gap: Duration,
    links: Vec<LinkQueue>,
    senders: Vec<Sender>,
    /// Whose turn it is.
    turn: usize,
    /// Until when the frame at hand takes, and its link.
    busy_until: Time,
    sending: usize,
}

impl Medium {
    /// An empty one. `gap` passes before each frame.
    pub fn new(rate: Rate, gap: Duration) -> Medium {
        let (links, senders) = (Vec::new(), Vec::new());
        Medium { rate, gap, links, senders, turn: 0, busy_until: Time::ZERO, sending: 0 }
    }

    /// Adds a direction of a link, at which `node` sends; its place.
    pub fn add(&mut self, node: u32, limit: Limit, framing: Bytes) -> usize {
        let place = self.links.len();
        let (waiting, counters) = (VecDeque::new(), FaceCounters::default());
        self.links.push(LinkQueue { limit, framing, up: true, waiting, bytes: Bytes::ZERO, counters });
        match self.senders.iter_mut().find(|sender| sender.node == node) {
            Some(sender) => sender.links.push(place),
            None => self.senders.push(Sender { node, links: vec![place], turn: 0 }),
        }
        place
    }

    /// Takes a packet; the frame that starts by that, which is another one where others wait.
    pub fn offer(&mut self, now: Time, link: usize, channel: u32, packet: &Packet) -> Option<MediumFrame> {
        // A departure at this instant precedes the arrival.
        let first = self.advance(now);
        let queue = &mut self.links[link];
        let size = packet.bytes() + queue.framing;
        queue.counters.offered_packets += 1;
        queue.counters.offered_bits += size.bits();
        let packets = queue.waiting.len() as u32;
        let view = QueueView { packets, bytes: queue.bytes, limit: queue.limit, rate: Some(self.rate) };
        if !queue.up {
            queue.counters.drops[DropCause::Down] += 1;
        } else if self.busy_until > now && !view.fits(size) {
            queue.counters.drops[DropCause::Overflow] += 1;
            if kind_of(packet) == Some(Kind::Data) {
                queue.counters.overflow_data_bits += size.bits();
            }
        } else {
            queue.bytes += size;
            queue.waiting.push_back((*packet, channel, now));
        }
        first.or_else(|| self.advance(now))
    }

    /// When [`Medium::advance`] is wanted.
    pub fn due(&self) -> Time {
        if self.links.iter().any(|queue| !queue.waiting.is_empty()) { self.busy_until } else { Time::NEVER }
    }

    /// Starts the next frame if nothing is on the air.
    pub fn advance(&mut self, now: Time) -> Option<MediumFrame> {
        if self.busy_until > now {
            return None;
        }
        let link = self.next()?;
        let queue = &mut self.links[link];
        let (packet, channel, joined) = queue.waiting.pop_front()?;
        let size = packet.bytes() + queue.framing;
        queue.bytes = queue.bytes - size;
        let start = now + self.gap;
        let end = start + self.rate.transmission_time(size);
        let sojourn = start.since(joined);
        match kind_of(&packet) {
            Some(kind) => queue.counters.count_started(kind, size.bits()),
            None => queue.counters.count_other(size.bits()),
        }
        queue.counters.sojourn_sum += u128::from(sojourn.nanos());
        queue.counters.sojourn_count += 1;
        queue.counters.sojourn_max = queue.counters.sojourn_max.max(sojourn);
        (self.busy_until, self.sending) = (end, link);
        Some(MediumFrame { link, channel, packet, times: [joined, start, end] })
    }

    /// The link whose turn it is among those with something to send.
    fn next(&mut self) -> Option<usize> {
        let Medium { links, senders, turn, .. } = self;
        let count = senders.len();
        for step in 0..count {
            let place = (*turn + step) % count;
            let sender = &mut senders[place];
            let own = sender.links.len();
            let found = (0..own).map(|k| (sender.turn + k) % own).find(|&k| !links[sender.links[k]].waiting.is_empty());
            if let Some(k) = found {
                sender.turn = (k + 1) % own;
                *turn = (place + 1) % count;
                return Some(sender.links[k]);
            }
        }
        None
    }

    /// Takes a link down, which loses its queue and its frame on the air, or up. Returns how many frames that had
    /// started had not left completely.
    pub fn set_up(&mut self, now: Time, link: usize, up: bool) -> usize {
        let queue = &mut self.links[link];
        queue.up = up;
        if up {
            return 0;
        }
        queue.counters.drops[DropCause::Down] += queue.waiting.len() as u64;
        queue.waiting.clear();
        queue.bytes = Bytes::ZERO;
        let cut = self.busy_until > now && self.sending == link;
        if cut {
            queue.counters.drops[DropCause::Down] += 1;
            queue.counters.cut += 1;
            self.busy_until = now;
        }
        usize::from(cut)
    }

    /// The totals and the state of a link's queue; restarts the longest wait.
    pub fn counters(&mut self, link: usize) -> FaceCounters {
        let queue = &mut self.links[link];
        queue.counters.queue_packets = queue.waiting.len() as u32;
        queue.counters.queue_bytes = queue.bytes;
        let read = queue.counters;
        queue.counters.sojourn_max = Duration::ZERO;
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn data(nonce: u32) -> Packet {
        Packet { kind: Kind::Data, size: 100, nonce, ..Packet::default() }
    }

    /// 8 Mbit/s, a byte per microsecond, 20 us before each frame. Node 0 sends on links 0 and 1, node 1 on link 2.
    fn medium(limit: u32) -> Medium {
        let mut medium = Medium::new(Rate::from_mbps(8.0), Duration::from_micros(20));
        for node in [0, 0, 1] {
            medium.add(node, Limit::Packets(limit), Bytes::ZERO);
        }
        medium
    }

    // By hand: a frame takes 20 + 100 us. Node 0 and node 1 alternate, node 0 between its links.
    #[test]
    fn senders_take_turns_and_a_sender_gives_its_turns_to_its_links_in_turn() {
        let mut medium = medium(9);
        let first = medium.offer(us(0), 0, 7, &data(0)).unwrap();
        assert_eq!((first.link, first.channel, first.times), (0, 7, [us(0), us(20), us(120)]));
        for (n, link) in [(1, 0), (2, 0), (3, 1), (4, 2), (5, 2)] {
            assert_eq!(medium.offer(us(1), link, 0, &data(n)), None);
        }
        let mut order = Vec::new();
        while medium.due() < Time::NEVER {
            let frame = medium.advance(medium.due()).unwrap();
            order.push((frame.packet.nonce, frame.times[1].nanos() / 1000));
        }
        assert_eq!(order, [(4, 140), (3, 260), (5, 380), (1, 500), (2, 620)]);
        (0..3).for_each(|link| medium.counters(link).check().unwrap());
    }

    #[test]
    fn what_finds_its_queue_full_is_lost_and_a_departure_makes_room_first() {
        let mut medium = medium(1);
        medium.offer(us(0), 0, 0, &data(0));
        assert_eq!(medium.offer(us(5), 2, 0, &data(1)), None);
        assert_eq!(medium.offer(us(6), 2, 0, &data(2)), None);
        assert_eq!(medium.counters(2).drops.overflow, 1);
        // At 120 us the first frame ends: the one that waits starts, and the next one has room.
        let started = medium.offer(us(120), 2, 0, &data(3)).unwrap();
        assert_eq!((started.packet.nonce, medium.counters(2).queue_packets), (1, 1));
        medium.counters(2).check().unwrap();
    }

    #[test]
    fn a_link_that_fails_frees_the_air() {
        let mut medium = medium(9);
        medium.offer(us(0), 0, 0, &data(0));
        medium.offer(us(0), 0, 0, &data(1));
        medium.offer(us(0), 2, 0, &data(2));
        assert_eq!((medium.set_up(us(50), 0, false), medium.set_up(us(50), 1, false)), (1, 0));
        assert_eq!(medium.due(), us(50));
        assert_eq!(medium.advance(us(50)).unwrap().packet.nonce, 2);
        assert_eq!(medium.offer(us(60), 0, 0, &data(3)), None);
        let counters = medium.counters(0);
        counters.check().unwrap();
        assert_eq!((counters.drops.down, counters.cut), (3, 1));
    }
}

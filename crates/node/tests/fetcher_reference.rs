//! Fetches through a chain of six nodes, compared with the same run of ndnSIM 2.8.
//!
//! 15,000 Data of 1024 B from one end of the chain to the other, 4 ms per link, the middle link 40 Mbit/s, the others
//! 100 Mbit/s, drop-tail queues in packets, NFD's marking in every queue. The expected completion times and drops were
//! measured with ndnSIM's ConsumerPcon. They depend on the window laws, the RTO with its back-off, the scan period and
//! on how Interests in flight are counted, so they catch an error in any of these.

use crate::fetcher_link::{at, consumer, ms};
use ndnweir_core::packet::Packet;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_node::fetcher::{Fetcher, FetcherConfig};
use ndnweir_node::server::{Server, ServerConfig};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};

/// Link framing of ndnSIM, in bytes.
const FRAMING: u64 = 2;
/// NFD marks while more bytes than this wait, at most this often at first.
const THRESHOLD: u64 = 65_536;
const INTERVAL: Duration = Duration::from_millis(100);

/// One direction of a link with its queue; the packet on the wire is not in the queue.
struct Egress {
    rate: Rate,
    limit: usize,
    busy_until: Time,
    waiting: VecDeque<(Time, u64)>,
    bytes: u64,
    marked: u32,
    next_mark: Option<Time>,
    drops: u64,
}

impl Egress {
    fn new(mbps: f64, limit: usize) -> Egress {
        Egress {
            rate: Rate::from_mbps(mbps),
            limit,
            busy_until: Time::ZERO,
            waiting: VecDeque::new(),
            bytes: 0,
            marked: 0,
            next_mark: None,
            drops: 0,
        }
    }

    fn mark(&mut self, now: Time, packet: &mut Packet) {
        if self.bytes <= THRESHOLD {
            self.next_mark = None;
            self.marked = 0;
            return;
        }
        match self.next_mark {
            None => self.next_mark = Some(now + INTERVAL),
            Some(due) if now >= due => {
                packet.mark = 1;
                self.marked += 1;
                self.next_mark = Some(due + INTERVAL.scale(1.0 / f64::from(self.marked + 1).sqrt()));
            }
            Some(_) => {}
        }
    }

    /// When the packet's last bit has left; none if the queue is full.
    fn send(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        while let Some((_, size)) = self.waiting.pop_front_if(|front| front.0 <= now) {
            self.bytes -= size;
        }
        self.mark(now, packet);
        if self.waiting.len() >= self.limit {
            self.drops += 1;
            return None;
        }
        let size = packet.bytes().get() + FRAMING;
        let start = self.busy_until.max(now);
        if start > now {
            self.waiting.push_back((start, size));
            self.bytes += size;
        }
        self.busy_until = start + self.rate.transmission_time(Bytes::new(size));
        Some(self.busy_until)
    }
}

/// Completion time and drops. Stages 0 to 4 are the links towards the producer, 5 to 9 those back.
fn fetch(name: &str, queue: usize, backoff_cap: u32) -> (f64, u64) {
    let rates = [100.0, 100.0, 40.0, 100.0, 100.0];
    let mut links: Vec<_> = rates.iter().chain(&rates).map(|&mbps| Egress::new(mbps, queue)).collect();
    let config = FetcherConfig { total: Some(15_000), ..FetcherConfig::default() };
    let mut fetcher = Fetcher::new(config, consumer(name, json!({ "timer": { "backoff-cap": backoff_cap } })));
    let mut server = Server::new(ServerConfig::default());
    let mut events: BTreeMap<(Time, u64), (usize, Packet)> = BTreeMap::new();
    let mut number = 0;
    let mut now = at(100);
    fetcher.start(now);
    let mut arrived = None;
    loop {
        let mut outgoing: Vec<(usize, Packet)> = arrived.take().into_iter().collect();
        outgoing.extend(std::iter::from_fn(|| fetcher.poll_transmit(now)).map(|interest| (0, interest)));
        for (link, mut packet) in outgoing {
            if let Some(end) = links[link].send(now, &mut packet) {
                number += 1;
                events.insert((end + ms(4), number), (link + 1, packet));
            }
        }
        if fetcher.is_complete() {
            return ((now - ms(100)).secs(), links.iter().map(|link| link.drops).sum());
        }
        let event = events.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let timeout = fetcher.poll_timeout();
        now = now.max(event.min(timeout));
        if timeout <= event {
            fetcher.handle_timeout(now);
        } else if let Some((_, (stage, packet))) = events.pop_first() {
            match stage {
                5 => arrived = Some((5, server.answer(now, &packet))),
                10 => {
                    fetcher.handle(now, &packet);
                }
                _ => arrived = Some((stage, packet)),
            }
        }
    }
}

fn compare(name: &str, queue: usize, backoff_cap: u32, seconds: f64, drops: u64) {
    let (measured, dropped) = fetch(name, queue, backoff_cap);
    assert!((measured - seconds).abs() < 0.001, "{name}, queue {queue}: {measured} s instead of {seconds}");
    assert!(dropped.abs_diff(drops) * 100 <= drops, "{name}, queue {queue}: {dropped} drops instead of {drops}");
}

#[test]
fn completion_and_drops_equal_those_of_ndnsim_with_a_queue_of_100() {
    compare("aimd", 100, 64, 16.589, 1018);
    compare("bic", 100, 64, 3.653, 12);
    compare("cubic", 100, 64, 3.537, 1531);
}

#[test]
fn completion_and_drops_equal_those_of_ndnsim_with_a_queue_of_500() {
    compare("aimd", 500, 64, 3.681, 504);
    compare("bic", 500, 64, 3.653, 0);
    compare("cubic", 500, 64, 3.509, 885);
}

#[test]
fn the_back_off_of_ndnsim_explains_the_slow_aimd_run() {
    compare("aimd", 100, 8, 5.389, 1018);
    compare("aimd", 100, 2, 4.189, 1018);
    compare("aimd", 100, 1, 3.989, 1018);
}

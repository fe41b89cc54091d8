//! The emulator at work: one thread that moves datagrams between the sockets over the links.

use super::run::{SharedCounters, Station};
use super::{EmulatedChange, EmulatedEvent, End, Pipe, arrival};
use crate::clock::Clock;
use crate::poll::Poll;
use ndnweir_core::packet::Kind;
use ndnweir_core::units::{Duration, Time};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The largest UDP datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Datagrams read from one socket before others are served.
const BATCH: usize = 256;
/// How often counters are published, and the thread checks whether it should stop.
const PUBLISH: Duration = Duration::from_millis(10);

/// The state of the thread, without the sockets.
pub(super) struct Worker {
    /// By direction.
    pub(super) pipes: Vec<Pipe>,
    /// In order of time.
    pub(super) events: Vec<EmulatedEvent>,
    pub(super) kind: fn(&[u8]) -> Kind,
    pub(super) clock: Clock,
}

impl Worker {
    pub(super) fn work(
        mut self,
        start: Time,
        mut stations: Vec<Station>,
        stop: &AtomicBool,
        published: &Mutex<SharedCounters>,
    ) -> io::Result<()> {
        let mut poll = Poll::new()?;
        for (key, station) in stations.iter().enumerate() {
            poll.sources().add(&station.socket, key)?;
        }
        let (mut buffer, mut crossed) = (vec![0; MAX_DATAGRAM], Vec::new());
        let mut ready = Vec::new();
        let mut next_event = 0;
        let mut publish = start;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            while let Some(event) = self.events.get(next_event).copied()
                && start + event.at <= now
            {
                self.deliver(start + event.at, &mut stations, &mut crossed);
                self.apply(start + event.at, event);
                next_event += 1;
            }
            self.deliver(now, &mut stations, &mut crossed);
            if publish <= now {
                self.publish(now, &stations, published);
                publish = now + PUBLISH;
            }
            let wake = self.next_arrival().map_or(Time::NEVER, |(at, _)| at);
            let wake = self.events.get(next_event).map_or(wake, |event| wake.min(start + event.at)).min(publish);
            poll.wait(self.clock.until(wake), &mut ready)?;
            for ready in &ready {
                self.read(ready.key, &mut stations[ready.key], &mut buffer)?;
            }
        }
        let now = self.clock.now();
        self.publish(now, &stations, published);
        Ok(())
    }

    fn read(&mut self, number: usize, station: &mut Station, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..BATCH {
            let received = match arrival::receive(&station.socket, &self.clock, buffer) {
                Ok(Some(received)) => received,
                Ok(None) => break,
                // An earlier datagram was sent to a port that is not listened on.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            match (station.process, received.from) {
                (None, from) => station.process = from,
                // A datagram from elsewhere is not the link's.
                (Some(known), Some(from)) if known != from => {
                    station.counters.on_demand_peers += 1;
                    continue;
                }
                _ => {}
            }
            station.counters.received += 1;
            let datagram = &buffer[..received.len];
            if let Some(&first) = station.route.first() {
                self.pipes[first].offer(received.at, number as u32, (self.kind)(datagram), datagram);
            }
        }
        Ok(())
    }

    /// When the next datagram has crossed a direction, and which.
    fn next_arrival(&self) -> Option<(Time, usize)> {
        let due = self.pipes.iter().enumerate().map(|(directed_link, pipe)| (pipe.next_arrival(), directed_link));
        due.min().filter(|(at, _)| *at < Time::NEVER)
    }

    /// Delivers what has crossed a direction by `now`, in the order of time.
    fn deliver(&mut self, now: Time, stations: &mut [Station], datagram: &mut Vec<u8>) {
        while let Some((at, directed_link)) = self.next_arrival().filter(|(at, _)| *at <= now) {
            let Some((from, kind)) = self.pipes[directed_link].arrive(datagram) else { continue };
            let route = &stations[from as usize].route;
            let next = route.iter().skip_while(|on| **on != directed_link).nth(1);
            match next {
                Some(&next) => self.pipes[next].offer(at, from, kind, datagram),
                None => send_to_process(&mut stations[from as usize ^ 1], datagram),
            }
        }
    }

    fn apply(&mut self, now: Time, EmulatedEvent { link, change, .. }: EmulatedEvent) {
        let pipes = &mut self.pipes[2 * link..2 * link + 2];
        let mut at = |end: End, act: &mut dyn FnMut(&mut Pipe)| act(&mut pipes[end.index()]);
        match change {
            EmulatedChange::Down | EmulatedChange::Up => {
                for end in [End::A, End::B] {
                    at(end, &mut |pipe| pipe.set_up(now, change == EmulatedChange::Up));
                }
            }
            EmulatedChange::Rate(end, rate) => at(end, &mut |pipe| pipe.set_rate(now, rate)),
            EmulatedChange::Delay(end, delay) => at(end, &mut |pipe| pipe.set_delay(now, delay)),
            EmulatedChange::Loss(end, loss) => at(end, &mut |pipe| pipe.set_loss(now, loss)),
        }
    }

    fn publish(&mut self, now: Time, stations: &[Station], published: &Mutex<SharedCounters>) {
        let mut published = published.lock().unwrap_or_else(PoisonError::into_inner);
        for (pipe, out) in self.pipes.iter_mut().zip(&mut published.directions) {
            let longest = out.queue.sojourn_max;
            *out = pipe.counters(now);
            out.queue.sojourn_max = out.queue.sojourn_max.max(longest);
        }
        published.ends = stations.iter().map(|station| station.counters).collect();
    }
}

/// Gives what has arrived to the process at an end.
fn send_to_process(to: &mut Station, datagram: &[u8]) {
    let sent = to.process.map(|process| to.socket.send_to(datagram, process));
    match sent {
        Some(Ok(_)) => to.counters.delivered += 1,
        _ => to.counters.undeliverable += 1,
    }
}

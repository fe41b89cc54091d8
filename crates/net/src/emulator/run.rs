//! The emulator at work: one thread that moves datagrams between the sockets of all links.

use super::{Change, DirectionCounters, End, Event, Link, Pipe, arrival};
use crate::clock::Clock;
use crate::poll::Poll;
use ndnweir_core::units::{Span, Time};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The largest UDP datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Datagrams read from one socket before others have their turn.
const BATCH: usize = 256;
/// Bytes the kernel should hold for each socket, so that nothing is lost before it is read.
const SOCKET_BUFFER: usize = 8 << 20;
/// How often counters are published, and the thread looks whether it should stop.
const PUBLISH: Span = Span::from_millis(10);

/// An end: its socket, the process behind it, and the direction that starts here.
struct Station {
    socket: UdpSocket,
    process: Option<SocketAddr>,
    pipe: Pipe,
    undeliverable: u64,
}

/// Links with bound sockets, not started yet.
pub struct Emulator {
    stations: Vec<Station>,
    events: Vec<Event>,
    clock: Clock,
}

/// An emulator at work; dropping it stops it.
pub struct Running {
    addresses: Vec<SocketAddr>,
    processes: Vec<Option<SocketAddr>>,
    stop: Arc<AtomicBool>,
    published: Arc<Mutex<Vec<DirectionCounters>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Emulator {
    /// Binds two sockets per link on free ports of `ip`. Events need not be sorted.
    ///
    /// # Errors
    /// If sockets cannot be made or bound, or an event names a link that does not exist.
    pub fn bind(ip: Ipv4Addr, links: &[Link], events: &[Event], seed: u64) -> io::Result<Emulator> {
        let ports: Vec<(u16, u16)> = links.iter().map(|_| (0, 0)).collect();
        Emulator::bind_ports(ip, links, &ports, events, seed)
    }

    /// The same on given ports, two per link; 0 is any free one.
    ///
    /// # Errors
    /// As [`Emulator::bind`].
    pub fn bind_ports(
        ip: Ipv4Addr,
        links: &[Link],
        ports: &[(u16, u16)],
        events: &[Event],
        seed: u64,
    ) -> io::Result<Emulator> {
        if let Some(event) = events.iter().find(|event| event.link >= links.len()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no link {}", event.link)));
        }
        let mut stations = Vec::new();
        for (link, &(port_a, port_b)) in links.iter().zip(ports) {
            for (process, direction, port) in [(link.a, &link.forth, port_a), (link.b, &link.back, port_b)] {
                let wire = stations.len() as u32;
                let socket = bind(SocketAddr::new(IpAddr::V4(ip), port))?;
                stations.push(Station { socket, process, pipe: Pipe::new(direction, seed, wire), undeliverable: 0 });
            }
        }
        let mut events = events.to_vec();
        events.sort_by_key(|event| event.at);
        Ok(Emulator { stations, events, clock: Clock::new() })
    }

    /// Where a process at an end of a link is to send its datagrams.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self, link: usize, end: End) -> io::Result<SocketAddr> {
        self.stations[2 * link + usize::from(end == End::B)].socket.local_addr()
    }

    /// Says where the process at an end of a link is.
    pub fn set_process(&mut self, link: usize, end: End, process: SocketAddr) {
        self.stations[2 * link + usize::from(end == End::B)].process = Some(process);
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system's.
    pub fn start(self) -> io::Result<Running> {
        let addresses = self.stations.iter().map(|s| s.socket.local_addr()).collect::<io::Result<Vec<_>>>()?;
        let processes = self.stations.iter().map(|s| s.process).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let published = Arc::new(Mutex::new(vec![DirectionCounters::default(); self.stations.len()]));
        let (stopping, publishing) = (stop.clone(), published.clone());
        let thread =
            std::thread::Builder::new().name("links".into()).spawn(move || self.work(&stopping, &publishing))?;
        Ok(Running { addresses, processes, stop, published, thread: Some(thread) })
    }

    fn work(mut self, stop: &AtomicBool, published: &Mutex<Vec<DirectionCounters>>) -> io::Result<()> {
        let mut poll = Poll::new()?;
        for (key, station) in self.stations.iter().enumerate() {
            poll.sources().add(&station.socket, key)?;
        }
        let start = self.clock.now();
        let mut buffer = vec![0; MAX_DATAGRAM];
        let mut ready = Vec::new();
        let mut next_event = 0;
        let mut publish = start;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            while let Some(event) = self.events.get(next_event)
                && start + event.at <= now
            {
                self.apply(start + event.at, *event);
                next_event += 1;
            }
            self.deliver(now);
            if publish <= now {
                self.publish(now, published);
                publish = now + PUBLISH;
            }
            let wake = self.stations.iter().map(|s| s.pipe.next_arrival()).min().unwrap_or(Time::NEVER);
            let wake = self.events.get(next_event).map_or(wake, |event| wake.min(start + event.at)).min(publish);
            poll.wait(self.clock.until(wake), &mut ready)?;
            for ready in &ready {
                self.read(ready.key, &mut buffer)?;
            }
        }
        let now = self.clock.now();
        self.publish(now, published);
        Ok(())
    }

    fn read(&mut self, key: usize, buffer: &mut [u8]) -> io::Result<()> {
        let station = &mut self.stations[key];
        for _ in 0..BATCH {
            let received = match arrival::receive(&station.socket, &self.clock, buffer) {
                Ok(Some(received)) => received,
                Ok(None) => break,
                // What an earlier datagram met at a port that nobody listens at.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            match (station.process, received.from) {
                (None, from) => station.process = from,
                // A stranger's datagram is none of the link's.
                (Some(known), Some(from)) if known != from => continue,
                _ => {}
            }
            station.pipe.offer(received.at, &buffer[..received.len]);
        }
        Ok(())
    }

    fn deliver(&mut self, now: Time) {
        for pair in self.stations.chunks_exact_mut(2) {
            let [a, b] = pair else { continue };
            cross(a, b, now);
            cross(b, a, now);
        }
    }

    fn apply(&mut self, now: Time, Event { link, change, .. }: Event) {
        let stations = &mut self.stations[2 * link..2 * link + 2];
        let mut at = |end, act: &mut dyn FnMut(&mut Pipe)| act(&mut stations[usize::from(end == End::B)].pipe);
        match change {
            Change::Down | Change::Up => {
                for end in [End::A, End::B] {
                    at(end, &mut |pipe| pipe.set_up(now, change == Change::Up));
                }
            }
            Change::Rate(end, rate) => at(end, &mut |pipe| pipe.set_rate(now, rate)),
            Change::Delay(end, delay) => at(end, &mut |pipe| pipe.set_delay(now, delay)),
            Change::Loss(end, loss) => at(end, &mut |pipe| pipe.set_loss(now, loss)),
        }
    }

    fn publish(&mut self, now: Time, published: &Mutex<Vec<DirectionCounters>>) {
        let mut published = published.lock().unwrap_or_else(PoisonError::into_inner);
        for (station, out) in self.stations.iter_mut().zip(published.iter_mut()) {
            let undeliverable = station.undeliverable;
            *out = DirectionCounters { queue: station.pipe.counters(now), way: station.pipe.totals(), undeliverable };
        }
    }
}

/// Hands what has crossed from one end to the process at the other.
fn cross(from: &mut Station, to: &mut Station, now: Time) {
    let Station { socket, process, undeliverable, .. } = to;
    from.pipe.arrive(now, |bytes| {
        let sent = process.map(|process| socket.send_to(bytes, process));
        if !matches!(sent, Some(Ok(_))) {
            *undeliverable += 1;
        }
    });
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot bind a UDP socket at {address}: {error}")))?;
    socket.set_nonblocking(true)?;
    let options = socket2::SockRef::from(&socket);
    options.set_recv_buffer_size(SOCKET_BUFFER)?;
    options.set_send_buffer_size(SOCKET_BUFFER)?;
    arrival::enable(&socket)?;
    Ok(socket)
}

impl Running {
    /// Where a process at an end of a link sends its datagrams, and from where it gets those of the other end.
    pub fn address(&self, link: usize, end: End) -> SocketAddr {
        self.addresses[2 * link + usize::from(end == End::B)]
    }

    /// Where the process at an end of a link was said to be.
    pub fn process(&self, link: usize, end: End) -> Option<SocketAddr> {
        self.processes[2 * link + usize::from(end == End::B)]
    }

    /// What the direction that starts at an end has done up to a few milliseconds ago.
    pub fn counters(&self, link: usize, end: End) -> DirectionCounters {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)[2 * link + usize::from(end == End::B)]
    }

    /// Stops the thread.
    ///
    /// # Errors
    /// What went wrong with its sockets.
    pub fn stop(mut self) -> io::Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the links' thread failed")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

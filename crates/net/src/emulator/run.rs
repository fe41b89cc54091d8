//! An emulator from its sockets to its end.

use super::work::Worker;
use super::{DirectionCounters, EmulatedEvent, EmulatedNetwork, End, EndCounters, Pipe, arrival};
use crate::clock::Clock;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes the kernel should hold for each socket, so that nothing is lost before it is read.
const SOCKET_BUFFER: usize = 8 << 20;

/// An end of a pair: its socket, the process behind it, and the directions that what it sends crosses.
pub(super) struct Station {
    pub(super) socket: UdpSocket,
    pub(super) process: Option<SocketAddr>,
    pub(super) route: Vec<usize>,
    pub(super) counters: EndCounters,
}

/// What is published of the work: by direction and by end.
#[derive(Default)]
pub(super) struct SharedCounters {
    pub(super) directions: Vec<DirectionCounters>,
    pub(super) ends: Vec<EndCounters>,
}

/// Links with bound sockets, not started yet.
pub struct Emulator {
    stations: Vec<Station>,
    worker: Worker,
}

/// An emulator at work; dropping it stops it.
pub struct Running {
    addresses: Vec<SocketAddr>,
    processes: Vec<Option<SocketAddr>>,
    stop: Arc<AtomicBool>,
    published: Arc<Mutex<SharedCounters>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Emulator {
    /// Binds two sockets per pair on `ip`.
    ///
    /// # Errors
    /// If sockets cannot be made or bound, or a route names a link that does not exist.
    pub fn bind(ip: Ipv4Addr, network: &EmulatedNetwork, seed: u64) -> io::Result<Emulator> {
        let mut stations = Vec::new();
        for pair in &network.pairs {
            for ((process, port), route) in pair.processes.iter().zip(pair.ports).zip(&pair.routes) {
                if let Some(directed_link) =
                    route.iter().find(|directed_link| **directed_link >= 2 * network.links.len())
                {
                    return Err(absent(directed_link / 2));
                }
                let (socket, counters) = (bind(SocketAddr::new(IpAddr::V4(ip), port))?, EndCounters::default());
                stations.push(Station { socket, process: *process, route: route.clone(), counters });
            }
        }
        let directions = network.links.iter().flatten();
        let pipes =
            directions.zip(0..).map(|(direction, directed_link)| Pipe::new(direction, seed, directed_link)).collect();
        let worker = Worker { pipes, events: Vec::new(), kind: network.kind, clock: Clock::new() };
        Ok(Emulator { stations, worker })
    }

    /// Where the process at an end of a pair is to send its datagrams.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self, pair: usize, end: End) -> io::Result<SocketAddr> {
        self.stations[2 * pair + end.index()].socket.local_addr()
    }

    /// Sets the address of the process at an end of a pair.
    pub fn set_process(&mut self, pair: usize, end: End, process: SocketAddr) {
        self.stations[2 * pair + end.index()].process = Some(process);
    }

    /// Starts the thread. The times of events count from now; they need not be sorted.
    ///
    /// # Errors
    /// The system's, or if an event names a link that does not exist.
    pub fn start(self, events: &[EmulatedEvent]) -> io::Result<Running> {
        let Emulator { stations, mut worker } = self;
        if let Some(event) = events.iter().find(|event| 2 * event.link >= worker.pipes.len()) {
            return Err(absent(event.link));
        }
        worker.events = events.to_vec();
        worker.events.sort_by_key(|event| event.at);
        let addresses = stations.iter().map(|s| s.socket.local_addr()).collect::<io::Result<Vec<_>>>()?;
        let processes = stations.iter().map(|s| s.process).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let published = Arc::new(Mutex::new(SharedCounters {
            directions: vec![DirectionCounters::default(); worker.pipes.len()],
            ends: vec![EndCounters::default(); stations.len()],
        }));
        let (stopping, publishing) = (stop.clone(), published.clone());
        let start = worker.clock.now();
        let work = move || worker.work(start, stations, &stopping, &publishing);
        let thread = std::thread::Builder::new().name("links".into()).spawn(work)?;
        Ok(Running { addresses, processes, stop, published, thread: Some(thread) })
    }
}

fn absent(link: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("there is no link {link}"))
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
    /// Where a process at an end of a pair sends its datagrams, and from where it gets those of the other end.
    pub fn address(&self, pair: usize, end: End) -> SocketAddr {
        self.addresses[2 * pair + end.index()]
    }

    /// The address that was set for the process at an end of a pair.
    pub fn process(&self, pair: usize, end: End) -> Option<SocketAddr> {
        self.processes[2 * pair + end.index()]
    }

    /// What the direction of a link that starts at an end has done up to a few milliseconds ago.
    pub fn counters(&self, link: usize, end: End) -> DirectionCounters {
        self.published().directions[2 * link + end.index()]
    }

    /// The same of all directions; the longest sojourns start again.
    pub fn sample(&self) -> Vec<DirectionCounters> {
        let mut published = self.published();
        let sample = published.directions.clone();
        published.directions.iter_mut().for_each(|direction| direction.queue.sojourn_max = Default::default());
        sample
    }

    /// Counters of an end of a pair.
    pub fn end_counters(&self, pair: usize, end: End) -> EndCounters {
        self.published().ends[2 * pair + end.index()]
    }

    fn published(&self) -> std::sync::MutexGuard<'_, SharedCounters> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
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

//! One connection to a forwarder: packets with their link headers, in both directions.

use super::waiter::{Waiter, Watched};
use crate::address;
use crate::face::stream::{Stream, StreamLink};
use crate::face::udp::UdpPort;
use crate::face_uri::FaceUri;
use ndnweir_core::units::Time;
use ndnweir_wire::LpHeader;
use ndnweir_wire::lp::{Fragmenter, LpPacketView, Reassembler};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The largest UDP payload sent: an Ethernet frame of 1500 bytes less IPv6 and UDP headers, as NFD has it less its
/// reserve for tunnels.
const DATAGRAM: usize = 1400;
/// How long a connection over TCP may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes read from the socket at once.
const READ: usize = 256 << 10;
/// Output waiting for the socket beyond which [`Connection::is_congested`], in bytes.
const BACKLOG: usize = 1 << 20;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[error(
    "no forwarder listens at {uri} ({problem}); start one with `ndnweir fwd`, or say where it is with --transport or \
     NDN_CLIENT_TRANSPORT"
)]
pub struct ConnectError {
    uri: FaceUri,
    problem: io::Error,
}

impl ConnectError {
    /// The system's error.
    pub fn problem(&self) -> &io::Error {
        &self.problem
    }
}

/// A connection.
pub struct Connection {
    transport: Watched<Transport>,
    reassembler: Reassembler,
    buffer: Box<[u8]>,
    reading: bool,
}

enum Transport {
    Stream { link: Box<StreamLink>, local: bool },
    Datagrams { fragmenter: Fragmenter, port: Box<UdpPort>, peer: SocketAddr, blocked: bool },
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Stream { link, .. } => link.as_fd(),
            Transport::Datagrams { port, .. } => port.socket().as_fd(),
        }
    }
}

impl Connection {
    /// Connects to `uri`; `key` identifies this link to the waiter, `first_sequence` a random number.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(
        uri: &FaceUri,
        waiter: &Waiter,
        key: usize,
        first_sequence: u64,
    ) -> Result<Connection, ConnectError> {
        let fail = |problem| ConnectError { uri: uri.clone(), problem };
        let transport = open(uri, first_sequence).map_err(fail)?;
        let transport = waiter.watch(transport, key).map_err(fail)?;
        Ok(Connection { transport, reassembler: Reassembler::default(), buffer: vec![0; READ].into(), reading: true })
    }

    /// Whether the forwarder treats this as a connection within its machine.
    pub fn is_local(&self) -> bool {
        match &*self.transport {
            Transport::Stream { local, .. } => *local,
            Transport::Datagrams { .. } => false,
        }
    }

    /// Queues a packet; [`Connection::flush`] sends it. A packet too large for the link is dropped.
    pub fn send(&mut self, header: &LpHeader, packet: &[u8]) {
        match &mut *self.transport {
            Transport::Stream { link, .. } => link.send_packet(header, packet),
            Transport::Datagrams { fragmenter, port, peer, .. } => {
                for fragment in fragmenter.fragment(header, packet).unwrap_or_default() {
                    port.send(*peer, &fragment);
                }
            }
        }
    }

    /// Whether so much output waits for the socket that nothing should be added.
    pub fn is_congested(&self) -> bool {
        match &*self.transport {
            Transport::Stream { link, .. } => link.pending() > BACKLOG,
            Transport::Datagrams { blocked, .. } => *blocked,
        }
    }

    /// Whether input wakes the waiter, from the next [`Connection::flush`] on.
    pub fn set_reading(&mut self, reading: bool) {
        self.reading = reading;
    }

    /// Writes as much as the socket takes now.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        let blocked = match &mut *self.transport {
            Transport::Stream { link, .. } => !link.flush()?,
            Transport::Datagrams { port, blocked, .. } => {
                *blocked = port.flush().unwrap_or(*blocked);
                *blocked
            }
        };
        self.transport.set_readiness(self.reading, blocked)
    }

    /// Reads what has arrived, up to a bound, and hands every whole packet to `take`. What is malformed is dropped.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn receive(&mut self, now: Time, mut take: impl FnMut(&LpHeader, &[u8])) -> io::Result<()> {
        let now = Duration::from_nanos(now.nanos());
        let reassembler = &mut self.reassembler;
        let mut frame = |frame: &[u8]| {
            let Ok(view) = LpPacketView::decode(frame) else { return };
            if let Ok(Some(whole)) = reassembler.push(now, 0, &view) {
                take(&whole.header, &whole.packet);
            }
        };
        match &mut *self.transport {
            Transport::Stream { link, .. } => link.receive(&mut self.buffer, frame).map(drop).map_err(io::Error::from),
            Transport::Datagrams { port, .. } => port.receive(|_, datagram| frame(datagram)).map(drop),
        }
    }
}

fn open(uri: &FaceUri, first_sequence: u64) -> io::Result<Transport> {
    let stream = |stream, local| Transport::Stream { link: Box::new(StreamLink::of_application(stream)), local };
    match uri {
        FaceUri::Unix(path) => {
            let socket = UnixStream::connect(path)?;
            socket.set_nonblocking(true)?;
            Ok(stream(Stream::Unix(socket), true))
        }
        FaceUri::Tcp(family, host, port) => address::connect_first(*family, host, *port, |peer| {
            let socket = TcpStream::connect_timeout(&peer, CONNECT_TIMEOUT)?;
            socket.set_nonblocking(true)?;
            Ok(stream(Stream::Tcp(socket), peer.ip().is_loopback()))
        }),
        FaceUri::Udp(family, host, port) => address::connect_first(*family, host, *port, |peer| {
            let port = Box::new(UdpPort::open(address::unspecified(peer))?);
            // So that the kernel reports when no socket listens there.
            port.socket().connect(peer)?;
            let fragmenter = Fragmenter::new(DATAGRAM, first_sequence);
            Ok(Transport::Datagrams { fragmenter, port, peer, blocked: false })
        }),
    }
}

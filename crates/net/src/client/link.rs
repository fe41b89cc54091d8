//! One connection to a forwarder: packets with their link headers, in both directions.

use super::waiter::{Waiter, Watched};
use crate::face::udp::UdpPort;
use crate::face_uri::{FaceUri, IpFamily};
use crate::framing::Deframer;
use ndnweir_core::units::Time;
use ndnweir_wire::LpHeader;
use ndnweir_wire::lp::{Fragmenter, LpPacketView, Reassembler};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// The largest UDP payload sent: an Ethernet frame of 1500 bytes less IPv6 and UDP headers, as NFD has it less its
/// reserve for tunnels.
const DATAGRAM: usize = 1400;
/// How long a connection over TCP may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes taken from the socket at once.
const READ: usize = 256 << 10;
/// Output waiting for the socket beyond which [`Link::is_congested`], in bytes.
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

/// A connection.
pub struct Connection {
    socket: Watched,
    io: Io,
    reassembler: Reassembler,
    buffer: Box<[u8]>,
    reading: bool,
}

enum Io {
    Stream { deframer: Deframer, out: Vec<u8>, sent: usize, local: bool },
    Datagrams { fragmenter: Fragmenter, port: Box<UdpPort>, peer: SocketAddr, blocked: bool },
}

impl Connection {
    /// Connects to `uri`; `key` is what the waiter will call this link, `first_sequence` a random number.
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
        let (socket, io) = open(uri, first_sequence).map_err(fail)?;
        socket.set_nonblocking(true).map_err(fail)?;
        let socket = waiter.watch(socket, key).map_err(fail)?;
        Ok(Connection { socket, io, reassembler: Reassembler::default(), buffer: vec![0; READ].into(), reading: true })
    }

    /// Whether the forwarder takes this for a connection within its machine.
    pub fn is_local(&self) -> bool {
        match &self.io {
            Io::Stream { local, .. } => *local,
            Io::Datagrams { .. } => false,
        }
    }

    /// Queues a packet; [`Link::flush`] sends it. A packet too large for the link is dropped, as a network would.
    pub fn send(&mut self, header: &LpHeader, packet: &[u8]) {
        match &mut self.io {
            Io::Stream { out, .. } if header.is_empty() => out.extend_from_slice(packet),
            Io::Stream { out, .. } => header.encode_into(Some(packet), out),
            Io::Datagrams { fragmenter, port, peer, .. } => {
                for fragment in fragmenter.fragment(header, packet).unwrap_or_default() {
                    port.send(*peer, &fragment);
                }
            }
        }
    }

    /// Whether so much output waits for the socket that nothing should be added.
    pub fn is_congested(&self) -> bool {
        match &self.io {
            Io::Stream { out, sent, .. } => out.len() - sent > BACKLOG,
            Io::Datagrams { blocked, .. } => *blocked,
        }
    }

    /// Whether input wakes the waiter, from the next [`Link::flush`] on.
    pub fn set_reading(&mut self, reading: bool) {
        self.reading = reading;
    }

    /// Gives the socket what it takes now.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut blocked = false;
        match &mut self.io {
            Io::Stream { out, sent, .. } => {
                while *sent < out.len() && !blocked {
                    match (&*self.socket).write(&out[*sent..]) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(n) => *sent += n,
                        Err(error) => blocked = would_block(error)?,
                    }
                }
                if *sent == out.len() {
                    out.clear();
                    *sent = 0;
                } else if *sent > BACKLOG {
                    out.drain(..*sent);
                    *sent = 0;
                }
            }
            Io::Datagrams { port, blocked: waits, .. } => {
                *waits = port.flush().unwrap_or(*waits);
                blocked = *waits;
            }
        }
        self.socket.want(self.reading, blocked)
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
        match &mut self.io {
            Io::Stream { deframer, .. } => {
                let n = match (&*self.socket).read(&mut self.buffer) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(n) => n,
                    Err(error) => return would_block(error).map(|_| ()),
                };
                deframer.push(&self.buffer[..n]);
                let broken = |error| io::Error::new(ErrorKind::InvalidData, error);
                while let Some(bytes) = deframer.next_frame().map_err(broken)? {
                    frame(bytes);
                }
            }
            Io::Datagrams { port, .. } => {
                port.receive(|_, datagram| frame(datagram))?;
            }
        }
        Ok(())
    }
}

/// True if the socket can take or give no more now; errors that mean more than that are passed on.
fn would_block(error: io::Error) -> io::Result<bool> {
    match error.kind() {
        ErrorKind::WouldBlock => Ok(true),
        ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}

fn open(uri: &FaceUri, first_sequence: u64) -> io::Result<(Socket, Io)> {
    let stream = |local| Io::Stream { deframer: Deframer::new(), out: Vec::new(), sent: 0, local };
    match uri {
        FaceUri::Unix(path) => {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.connect(&SockAddr::unix(path)?)?;
            Ok((socket, stream(true)))
        }
        FaceUri::Tcp(family, host, port) => each_address(*family, host, *port, |address| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.set_tcp_nodelay(true)?;
            socket.connect_timeout(&address.into(), CONNECT_TIMEOUT)?;
            Ok((socket, stream(address.ip().is_loopback())))
        }),
        FaceUri::Udp(family, host, port) => each_address(*family, host, *port, |peer| {
            let any = if peer.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
            let port = Box::new(UdpPort::open(SocketAddr::new(any, 0))?);
            // So that the kernel tells when nobody listens there.
            port.socket().connect(peer)?;
            let socket = port.socket().try_clone()?.into();
            let fragmenter = Fragmenter::new(DATAGRAM, first_sequence);
            Ok((socket, Io::Datagrams { fragmenter, port, peer, blocked: false }))
        }),
    }
}

/// The first address of the host that works; else the last error.
fn each_address<T>(
    family: IpFamily,
    host: &str,
    port: u16,
    mut connect: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let fits = |address: &SocketAddr| match family {
        IpFamily::Any => true,
        IpFamily::V4 => address.is_ipv4(),
        IpFamily::V6 => address.is_ipv6(),
    };
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address of this family");
    for address in (host, port).to_socket_addrs()?.filter(fits) {
        match connect(address) {
            Ok(connected) => return Ok(connected),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

//! A UDP port: datagrams in batches, with the kernel's segmentation and aggregation where it has them.

use super::sockets;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};

/// Bytes of one received batch: as much as the kernel aggregates.
const CHUNK: usize = 65_536;
/// Bytes that are handed to the kernel at once; with the headers the most that a datagram could have.
const MAX_SEND: usize = 65_000;
/// Bytes that wait here while the socket takes no more.
const MAX_BACKLOG: usize = 4 << 20;

/// Datagrams of one size to one address, the last perhaps shorter.
#[derive(Debug, Default)]
struct Batch {
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
    segment: usize,
    count: usize,
    /// The last datagram was shorter, so no other may follow.
    closed: bool,
}

impl Batch {
    fn takes(&self, to: SocketAddr, len: usize, most: usize) -> bool {
        self.to == Some(to)
            && !self.closed
            && len <= self.segment
            && self.count < most
            && self.bytes.len() + len <= MAX_SEND
    }
}

/// The port.
pub struct UdpPort {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffer: Vec<u8>,
    batch: Batch,
    backlog: VecDeque<Batch>,
    backlog_bytes: usize,
    /// The last result of [`UdpPort::flush`].
    waits: bool,
    dropped: u64,
}

impl UdpPort {
    /// Opens a port on an address.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn open(address: SocketAddr) -> io::Result<UdpPort> {
        let kind = socket2::Type::DGRAM;
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, None)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        let socket: UdpSocket = socket.into();
        socket.set_nonblocking(true)?;
        let local = socket.local_addr()?;
        let receive = sockets::size_buffers(&socket);
        tracing::debug!(%local, receive_buffer = receive, "udp port");
        let state = UdpSocketState::new((&socket).into())?;
        Ok(UdpPort {
            socket,
            state,
            local,
            buffer: vec![0; CHUNK * BATCH_SIZE],
            batch: Batch::default(),
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            waits: false,
            dropped: 0,
        })
    }

    /// The socket, to wait for.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Its own address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that were dropped because the socket took no more.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Receives the waiting datagrams, at most one batch, and gives each datagram to `take`. Whether there may be more.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn receive(&mut self, mut take: impl FnMut(SocketAddr, &[u8])) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let mut slices = self.buffer.chunks_mut(CHUNK).map(IoSliceMut::new);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let received = match self.state.recv((&self.socket).into(), &mut slices, &mut meta) {
            Ok(received) => received,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(e) => return Err(e),
        };
        for (meta, slice) in meta.iter().zip(&slices).take(received) {
            let bytes = &slice[..meta.len.min(slice.len())];
            for datagram in bytes.chunks(meta.stride.max(1)) {
                take(meta.addr, datagram);
            }
        }
        Ok(received == BATCH_SIZE)
    }

    /// Sends a datagram, perhaps not before [`UdpPort::flush`].
    pub fn send(&mut self, to: SocketAddr, datagram: &[u8]) {
        if !self.batch.takes(to, datagram.len(), self.state.max_gso_segments()) {
            self.close_batch();
            self.batch.to = Some(to);
            self.batch.segment = datagram.len();
        }
        self.batch.closed = datagram.len() < self.batch.segment;
        self.batch.bytes.extend_from_slice(datagram);
        self.batch.count += 1;
    }

    /// Hands what was sent to the kernel. While something has to wait, call again when the socket takes more; returns
    /// whether that is so when it has changed since the last time.
    pub fn flush(&mut self) -> Option<bool> {
        self.close_batch();
        while let Some(batch) = self.backlog.pop_front() {
            if !self.send_batch(&batch) {
                self.backlog.push_front(batch);
                break;
            }
            self.backlog_bytes -= batch.bytes.len();
        }
        let waits = !self.backlog.is_empty();
        (std::mem::replace(&mut self.waits, waits) != waits).then_some(waits)
    }

    /// Bytes that wait here and in the kernel.
    pub fn waiting(&self) -> u64 {
        self.backlog_bytes as u64 + sockets::waiting(&self.socket)
    }

    fn close_batch(&mut self) {
        if self.batch.count == 0 {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if self.backlog.is_empty() && self.send_batch(&batch) {
            self.batch = batch;
            self.batch.bytes.clear();
            (self.batch.count, self.batch.closed, self.batch.to) = (0, false, None);
        } else if self.backlog_bytes + batch.bytes.len() <= MAX_BACKLOG {
            self.backlog_bytes += batch.bytes.len();
            self.backlog.push_back(batch);
        } else {
            self.dropped += batch.count as u64;
        }
    }

    /// Gives a batch to the kernel. False if it takes no more now.
    fn send_batch(&mut self, batch: &Batch) -> bool {
        let Some(destination) = batch.to else { return true };
        let segment_size = (batch.count > 1).then_some(batch.segment);
        let transmit = Transmit { destination, ecn: None, contents: &batch.bytes, segment_size, src_ip: None };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            // Segmentation may just have turned out to be missing; then one by one.
            Err(_) if batch.count > 1 => {
                for datagram in batch.bytes.chunks(batch.segment.max(1)) {
                    let one = Transmit { contents: datagram, segment_size: None, ..transmit.clone() };
                    if self.state.try_send((&self.socket).into(), &one).is_err() {
                        self.dropped += 1;
                    }
                }
                true
            }
            Err(error) => {
                tracing::debug!(%destination, %error, "datagram not sent");
                self.dropped += 1;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_any_sizes_to_two_places_arrive_as_they_were_sent() {
        let mut near = UdpPort::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut far: Vec<UdpPort> = (0..2).map(|_| UdpPort::open("127.0.0.1:0".parse().unwrap()).unwrap()).collect();
        let mut expected = [Vec::new(), Vec::new()];
        for (i, len) in [1200, 1200, 700, 1200, 1300, 9, 9, 9, 8800, 1200].into_iter().cycle().take(60).enumerate() {
            let datagram = vec![i as u8; len];
            near.send(far[i / 3 % 2].local(), &datagram);
            expected[i / 3 % 2].push(datagram);
        }
        assert_eq!(near.flush(), None);
        let from = near.local();
        for (port, expected) in far.iter_mut().zip(expected) {
            let mut got = Vec::new();
            for _ in 0..1000 {
                port.receive(|addr, datagram| {
                    assert_eq!(addr, from);
                    got.push(datagram.to_vec());
                })
                .unwrap();
                if got.len() == expected.len() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert!(got == expected, "{} of {}", got.len(), expected.len());
        }
        assert_eq!(near.dropped(), 0);
    }
}

//! A stream to one peer: TCP or a Unix socket.

use super::sockets;
use crate::framing::{Deframer, FramingError};
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::LpHeader;
use ndnweir_wire::packet::frame_len;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Bytes taken back from the front of the backlog at once.
const COMPACT: usize = 64 << 10;
/// Bytes of memory kept for the next packets when all are written.
const SPARE_MEMORY: usize = 256 << 10;

/// Either kind of stream.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix stream socket.
    Unix(UnixStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }
}

impl From<StreamError> for io::Error {
    fn from(ended: StreamError) -> io::Error {
        match ended {
            StreamError::Closed => io::ErrorKind::UnexpectedEof.into(),
            StreamError::Failed(error) => error,
            StreamError::Framing(error) => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// Why a stream has ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The peer closed it.
    #[error("closed by the peer")]
    Closed,
    /// The socket failed.
    #[error("{0}")]
    Failed(#[from] io::Error),
    /// What it carries are not packets.
    #[error("{0}")]
    Framing(#[from] FramingError),
}

/// The stream with what was read and not yet taken, and what was sent and not yet written.
#[derive(Debug)]
pub struct StreamLink {
    stream: Stream,
    deframer: Deframer,
    backlog: Vec<u8>,
    /// Where in `backlog` the frame begins of which the next byte to write is.
    start: usize,
    written: usize,
    dropped: u64,
    /// Bytes of the kernel's send buffer, as requested; 0 if it was left alone.
    buffer: usize,
    /// Bytes written since the buffer has this size.
    since_sized: usize,
    /// Since when nothing has been read though something waits, and how much waited then.
    still: Option<(Time, u64)>,
    /// Whether the kernel has taken bytes since the last check.
    moved: bool,
    /// Nothing is kept for a peer that does not read, until it reads again.
    rejecting: bool,
    dialled: bool,
}

impl StreamLink {
    /// Wraps a stream that was opened from here.
    pub fn dialled(stream: Stream) -> StreamLink {
        StreamLink { dialled: true, ..StreamLink::new(stream, sockets::BUFFER) }
    }

    /// Wraps a connected, non-blocking stream, with this many bytes of send buffer in the kernel.
    pub fn new(stream: Stream, buffer: usize) -> StreamLink {
        sockets::size_buffers(&stream);
        sockets::size_send_buffer(&stream, buffer);
        StreamLink { buffer, ..StreamLink::of_application(stream) }
    }

    /// Wraps an application's non-blocking stream to its forwarder. The kernel's buffers stay as they are: what waits
    /// in them is not visible to queues of the forwarder.
    pub fn of_application(stream: Stream) -> StreamLink {
        if let Stream::Tcp(stream) = &stream {
            // Without it small packets wait for acknowledgements; a socket without the option is only slower.
            let _ = stream.set_nodelay(true);
        }
        StreamLink {
            stream,
            deframer: Deframer::new(),
            backlog: Vec::new(),
            start: 0,
            written: 0,
            dropped: 0,
            buffer: 0,
            since_sized: 0,
            still: None,
            moved: false,
            rejecting: false,
            dialled: false,
        }
    }

    /// Whether it was opened from here.
    pub fn is_dialled(&self) -> bool {
        self.dialled
    }

    /// The address of this end; none of a Unix socket.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.stream {
            Stream::Tcp(stream) => stream.local_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// The address of the other end; none of a Unix socket, and of a connection that was closed.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.stream {
            Stream::Tcp(stream) => stream.peer_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// Packets dropped because the peer does not read.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Bytes that wait here.
    pub fn pending(&self) -> usize {
        self.backlog.len() - self.written
    }

    /// Bytes of the kernel's send buffer, as requested.
    pub fn buffer(&self) -> usize {
        self.buffer
    }

    /// Whether the peer reads enough for a larger buffer.
    pub fn needs_larger_buffer(&self) -> bool {
        self.since_sized > 2 * self.buffer && self.buffer < sockets::BUFFER
    }

    /// Changes the kernel's send buffer.
    pub fn set_buffer(&mut self, buffer: usize) {
        sockets::size_send_buffer(&self.stream, buffer);
        (self.buffer, self.since_sized) = (buffer, 0);
    }

    /// Reads once and gives each whole frame to `take`. Whether there may be more.
    ///
    /// # Errors
    /// If the stream has ended; what came before was taken.
    pub fn receive(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> Result<bool, StreamError> {
        let read = match self.stream.read(buffer) {
            Ok(0) => return Err(StreamError::Closed),
            Ok(read) => read,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        self.deframer.push(&buffer[..read]);
        while let Some(frame) = self.deframer.next_frame()? {
            take(frame);
        }
        self.deframer.trim();
        Ok(read == buffer.len())
    }

    /// Sends a frame, not before [`StreamLink::flush`]; it is dropped if more than `most` bytes would wait then.
    pub fn send(&mut self, frame: &[u8], most: usize) {
        if self.rejecting || self.pending() + frame.len() > most {
            self.dropped += 1;
            return;
        }
        self.backlog.extend_from_slice(frame);
    }

    /// Sends a packet with its link header, not before [`StreamLink::flush`]. The caller checks [`StreamLink::pending`]
    /// before it sends another.
    pub fn send_packet(&mut self, header: &LpHeader, packet: &[u8]) {
        match header.is_empty() {
            true => self.backlog.extend_from_slice(packet),
            false => header.encode_into(Some(packet), &mut self.backlog),
        }
    }

    /// Writes what the socket takes. Whether all is written; if not, call again when the socket takes more.
    ///
    /// # Errors
    /// If the stream has ended.
    pub fn flush(&mut self) -> Result<bool, StreamError> {
        while self.written < self.backlog.len() {
            match self.stream.write(&self.backlog[self.written..]) {
                Ok(0) => return Err(StreamError::Closed),
                Ok(written) => {
                    self.written += written;
                    self.since_sized = self.since_sized.saturating_add(written);
                    (self.moved, self.rejecting) = (true, false);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if self.written - self.start >= COMPACT {
                        self.compact();
                    }
                    return Ok(false);
                }
                Err(e) => return Err(e.into()),
            }
        }
        self.backlog.clear();
        (self.start, self.written) = (0, 0);
        if self.backlog.capacity() > SPARE_MEMORY {
            self.backlog.shrink_to(SPARE_MEMORY);
        }
        Ok(true)
    }

    /// Frees the memory of frames that are written.
    fn compact(&mut self) {
        while let Ok(Some(len)) = frame_len(&self.backlog[self.start..])
            && self.start + len as usize <= self.written
        {
            self.start += len as usize;
        }
        self.backlog.drain(..self.start);
        self.written -= self.start;
        self.start = 0;
    }

    /// Drops what waits here except for the rest of a frame that has begun, and accepts nothing more until the peer
    /// reads.
    pub fn discard(&mut self) {
        self.compact();
        let mut kept = if self.written == 0 { 0 } else { self.end_of_frame(0) };
        let begun = kept;
        while kept < self.backlog.len() {
            kept = self.end_of_frame(kept);
            self.dropped += 1;
        }
        self.backlog.truncate(begun);
        self.backlog.shrink_to_fit();
        self.rejecting = true;
    }

    fn end_of_frame(&self, start: usize) -> usize {
        let len = frame_len(&self.backlog[start..]).ok().flatten();
        len.map_or(self.backlog.len(), |len| (start + len as usize).min(self.backlog.len()))
    }

    /// For how long the peer has read nothing though something waits for it. To be called periodically.
    pub fn stalled_for(&mut self, now: Time) -> Duration {
        let waiting = self.waiting();
        let moved = std::mem::take(&mut self.moved);
        match self.still {
            _ if waiting == 0 => {
                (self.still, self.rejecting) = (None, false);
            }
            // More may have been added to the kernel's buffer; less means that the peer has read.
            Some((_, before)) if !moved && waiting >= before => {}
            _ => self.still = Some((now, waiting)),
        }
        self.still.map_or(Duration::ZERO, |(since, _)| now.since(since))
    }

    /// Bytes that wait here and in the kernel.
    pub fn waiting(&self) -> u64 {
        self.pending() as u64 + sockets::waiting(&self.stream)
    }
}

impl AsFd for StreamLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_PENDING: usize = 1 << 20;

    fn pair() -> (StreamLink, StreamLink) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        (StreamLink::new(Stream::Unix(near), 16 << 10), StreamLink::new(Stream::Unix(far), 16 << 10))
    }

    #[test]
    fn a_peer_that_does_not_read_costs_bounded_memory_and_then_gets_whole_packets() {
        let (mut near, mut far) = pair();
        let mut frame = vec![6, 253, 0x1f, 0x40];
        frame.resize(4 + 8000, 9);
        for _ in 0..3000 {
            near.send(&frame, MAX_PENDING);
            near.flush().unwrap();
        }
        assert!(near.dropped() > 0);
        assert!(near.backlog.capacity() <= 2 * (MAX_PENDING + COMPACT), "{}", near.backlog.capacity());
        // The kernel doubles the requested size.
        assert!(near.waiting() as usize - near.pending() <= 3 * (16 << 10), "{}", near.waiting());
        let (mut got, mut buffer) = (0, vec![0; 65_536]);
        while got < 3000 - near.dropped() {
            near.flush().unwrap();
            far.receive(&mut buffer, |received| {
                assert!(received == frame);
                got += 1;
            })
            .unwrap();
        }
        assert_eq!(near.waiting(), 0);
    }

    #[test]
    fn the_backlog_is_dropped_at_the_end_of_a_packet_and_the_peer_gets_the_next_ones_when_it_reads_again() {
        let (mut near, mut far) = pair();
        let frame = |number: u8| {
            let mut frame = vec![6, 253, 0x1f, 0x40];
            frame.resize(4 + 8000, number);
            frame
        };
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for number in 0..100 {
            near.send(&frame(number), MAX_PENDING);
            near.flush().unwrap();
        }
        assert_eq!(
            (near.stalled_for(at(0)), near.stalled_for(at(3000))),
            (Duration::ZERO, Duration::from_millis(3000))
        );
        near.discard();
        assert!(near.pending() < 8004 && near.backlog.capacity() <= 3 * 8004, "{}", near.pending());
        let dropped = near.dropped();
        near.send(&frame(200), MAX_PENDING);
        assert_eq!(near.dropped(), dropped + 1, "nothing is kept for who does not read");
        let (mut got, mut buffer) = (Vec::new(), vec![0; 65_536]);
        for _ in 0..10 {
            far.receive(&mut buffer, |frame| got.push(frame.to_vec())).unwrap();
            near.flush().unwrap();
        }
        assert_eq!(got.len() as u64, 100 - dropped);
        assert_eq!(near.stalled_for(at(4000)), Duration::ZERO);
        near.send(&frame(201), MAX_PENDING);
        near.flush().unwrap();
        far.receive(&mut buffer, |frame| got.push(frame.to_vec())).unwrap();
        assert!(got.last() == Some(&frame(201)));
        assert!(
            got.iter()
                .enumerate()
                .all(|(at, got)| *got == frame(if at + 1 < 101 - dropped as usize { at as u8 } else { 201 }))
        );
    }

    #[test]
    fn the_end_of_a_stream_and_bytes_that_are_not_packets_end_it() {
        let (near, mut far) = pair();
        drop(near);
        assert!(matches!(far.receive(&mut [0; 64], |_| ()), Err(StreamError::Closed)));
        let (mut near, mut far) = pair();
        near.send(&[0xFD, 0, 1, 2], MAX_PENDING);
        near.flush().unwrap();
        assert!(matches!(far.receive(&mut [0; 64], |_| ()), Err(StreamError::Framing(_))));
    }
}

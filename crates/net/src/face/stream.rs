//! A stream to one peer: TCP or a Unix socket.

use super::sockets;
use crate::framing::{Deframer, FramingError};
use rustix::fd::{AsFd, BorrowedFd};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

/// Bytes that wait here while the socket takes no more.
const MAX_BACKLOG: usize = 8 << 20;
/// Bytes taken back from the front of the backlog at once.
const COMPACT: usize = 1 << 20;

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

/// Why a stream has ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The peer closed it.
    #[error("closed by the peer")]
    Closed,
    /// The socket failed.
    #[error("{0}")]
    Failed(#[from] io::Error),
    /// What it carries are no packets.
    #[error("{0}")]
    Framing(#[from] FramingError),
}

/// The stream with what was read and not yet taken, and what was sent and not yet written.
#[derive(Debug)]
pub struct StreamLink {
    stream: Stream,
    deframer: Deframer,
    backlog: Vec<u8>,
    written: usize,
    dropped: u64,
}

impl StreamLink {
    /// Takes a connected stream that does not block.
    pub fn new(stream: Stream) -> StreamLink {
        sockets::size_buffers(&stream);
        if let Stream::Tcp(stream) = &stream {
            // Without it small packets wait for acknowledgements; a socket that refuses is merely slower.
            let _ = stream.set_nodelay(true);
        }
        StreamLink { stream, deframer: Deframer::new(), backlog: Vec::new(), written: 0, dropped: 0 }
    }

    /// The address of this end; none of a Unix socket.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.stream {
            Stream::Tcp(stream) => stream.local_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// Packets dropped because the peer does not read.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Reads once and gives each whole frame to `take`. Whether there may be more.
    ///
    /// # Errors
    /// If the stream has ended; what came before was taken.
    pub fn receive(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> Result<bool, Ended> {
        let read = match self.stream.read(buffer) {
            Ok(0) => return Err(Ended::Closed),
            Ok(read) => read,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        self.deframer.push(&buffer[..read]);
        while let Some(frame) = self.deframer.next_frame()? {
            take(frame);
        }
        Ok(read == buffer.len())
    }

    /// Sends a frame, not before [`StreamLink::flush`].
    pub fn send(&mut self, frame: &[u8]) {
        if self.backlog.len() - self.written + frame.len() > MAX_BACKLOG {
            self.dropped += 1;
            return;
        }
        self.backlog.extend_from_slice(frame);
    }

    /// Writes what the socket takes. Whether all is away; if not, call again when the socket takes more.
    ///
    /// # Errors
    /// If the stream has ended.
    pub fn flush(&mut self) -> Result<bool, Ended> {
        while self.written < self.backlog.len() {
            match self.stream.write(&self.backlog[self.written..]) {
                Ok(0) => return Err(Ended::Closed),
                Ok(written) => self.written += written,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if self.written >= COMPACT {
                        self.backlog.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(false);
                }
                Err(e) => return Err(e.into()),
            }
        }
        self.backlog.clear();
        self.written = 0;
        Ok(true)
    }

    /// Bytes that wait here and in the kernel.
    pub fn waiting(&self) -> u64 {
        (self.backlog.len() - self.written) as u64 + sockets::waiting(&self.stream)
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

    fn pair() -> (StreamLink, StreamLink) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        (StreamLink::new(Stream::Unix(near)), StreamLink::new(Stream::Unix(far)))
    }

    #[test]
    fn a_peer_that_does_not_read_costs_bounded_memory_and_then_gets_whole_packets() {
        let (mut near, mut far) = pair();
        let mut frame = vec![6, 253, 0x1f, 0x40];
        frame.resize(4 + 8000, 9);
        for _ in 0..3000 {
            near.send(&frame);
            near.flush().unwrap();
        }
        assert!(near.dropped() > 0);
        assert!(near.backlog.capacity() <= 2 * (MAX_BACKLOG + COMPACT), "{}", near.backlog.capacity());
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
    fn the_end_of_a_stream_and_bytes_that_are_no_packets_end_it() {
        let (near, mut far) = pair();
        drop(near);
        assert!(matches!(far.receive(&mut [0; 64], |_| ()), Err(Ended::Closed)));
        let (mut near, mut far) = pair();
        near.send(&[0xFD, 0, 1, 2]);
        near.flush().unwrap();
        assert!(matches!(far.receive(&mut [0; 64], |_| ()), Err(Ended::Framing(_))));
    }
}

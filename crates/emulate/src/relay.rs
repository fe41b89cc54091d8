//! Passes TCP connections on with a delay, as a control channel of some length has.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Pieces on their way in one direction of a connection, and the bytes of each at most; then its sender waits.
const PIECES: usize = 256;
const PIECE: usize = 16 << 10;

/// Relays as long as it lives.
pub(super) struct Relay {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Relay {
    /// Accepts connections for `to`; every byte arrives `delay` later than it was sent.
    pub(super) fn start(to: SocketAddr, delay: Duration) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, ended) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let over = Arc::clone(&ended);
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                // Where nobody listens the connection ends again, as it would without a relay.
                if let Ok(far) = TcpStream::connect(to) {
                    let _ = join(near, far, delay);
                }
            }
        });
        Ok(Relay { address, ended })
    }

    /// Where it accepts connections.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // So that the thread looks.
        let _ = TcpStream::connect(self.address);
    }
}

fn join(near: TcpStream, far: TcpStream, delay: Duration) -> io::Result<()> {
    for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        to.set_nodelay(true)?;
        let (send, receive) = sync_channel(PIECES);
        std::thread::spawn(move || read(from, &send, delay));
        std::thread::spawn(move || write(to, &receive));
    }
    Ok(())
}

fn read(mut from: TcpStream, pieces: &SyncSender<(Instant, Vec<u8>)>, delay: Duration) {
    let mut piece = [0; PIECE];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if pieces.send((Instant::now() + delay, piece[..length].to_vec())).is_err() {
            break;
        }
    }
}

/// Writes each piece when it is due; when nothing comes any more, or nobody reads, the connection ends.
fn write(mut to: TcpStream, pieces: &Receiver<(Instant, Vec<u8>)>) {
    while let Ok((due, piece)) = pieces.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order_and_not_before_their_time_and_the_end_is_passed_on() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let delay = Duration::from_millis(50);
        let relay = Relay::start(server.local_addr().unwrap(), delay).unwrap();
        let mut near = TcpStream::connect(relay.address()).unwrap();
        let (mut far, _) = server.accept().unwrap();
        let sent = Instant::now();
        let text: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
        near.write_all(&text).unwrap();
        let mut there = vec![0; text.len()];
        far.read_exact(&mut there).unwrap();
        assert!(there == text && sent.elapsed() >= delay);
        far.write_all(b"x").unwrap();
        near.read_exact(&mut there[..1]).unwrap();
        assert!(there[0] == b'x' && sent.elapsed() >= 2 * delay);
        drop(near);
        assert_eq!(far.read(&mut there).unwrap(), 0, "the end of the connection is passed on");
    }
}

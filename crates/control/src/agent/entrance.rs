//! Connections that have not shown yet who they are: they have so long for it, and make room for others.
//!
//! A connection is known once its handshake is over (with certificates: once the client has proved its own) and it has
//! answered the first frames of HTTP/2. From then on keep-alive pings tell whether anybody is there.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Sleep;
use tonic::transport::server::Connected;

/// Connections at a time.
const CONNECTIONS: usize = 64;
/// Of these, from one address before they are known; for more, its oldest is closed.
const PER_ADDRESS: usize = 32;
/// Bytes that a client sends at least after its handshake: the preface of HTTP/2, or, if that came with the handshake,
/// its answer to our settings in a record of TLS (RFC 9113, sections 3.4 and 6.5.3; RFC 8446, section 5.2).
const FIRST_FRAMES: usize = 24;

/// Connections by number with their addresses; dropping an entry closes its connection.
type ByAge = BTreeMap<u64, (IpAddr, oneshot::Sender<()>)>;

/// Those that are not known, the oldest first.
#[derive(Clone, Default)]
struct Strangers(Arc<Mutex<ByAge>>);

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, ByAge> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest one of an address that has as many as it may have.
    fn bound(&self, address: IpAddr) {
        let mut all = self.lock();
        let of_address = |(number, (of, _)): (&u64, &(IpAddr, _))| (*of == address).then_some(*number);
        let numbers: Vec<u64> = all.iter().filter_map(of_address).collect();
        if numbers.len() >= PER_ADDRESS {
            all.remove(&numbers[0]);
        }
    }
}

/// What a connection is as long as it is not known.
struct Stranger {
    number: u64,
    all: Strangers,
    closed: oneshot::Receiver<()>,
    late: Pin<Box<Sleep>>,
    /// Bytes that came after the handshake.
    came: usize,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
    }
}

impl Stranger {
    /// Whether its time is over, or another one has its place.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let ended = self.late.as_mut().poll(cx).is_ready() || Pin::new(&mut self.closed).poll(cx).is_ready();
        if ended { Poll::Ready(io::ErrorKind::TimedOut.into()) } else { Poll::Pending }
    }
}

/// A connection that counts.
pub(super) struct Counted {
    stream: TcpStream,
    stranger: Option<Stranger>,
    /// Whether its handshake is over.
    shaken: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(stranger) = &mut this.stranger
            && let Poll::Ready(error) = stranger.poll_end(cx)
        {
            return Poll::Ready(Err(error));
        }
        let before = to.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, to);
        if let Some(stranger) = &mut this.stranger
            && this.shaken.load(Ordering::Relaxed)
        {
            stranger.came += to.filled().len() - before;
            if stranger.came >= FIRST_FRAMES {
                this.stranger = None;
            }
        }
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Counted {
    type ConnectInfo = <TcpStream as Connected>::ConnectInfo;

    /// Called when the handshake is over.
    fn connect_info(&self) -> Self::ConnectInfo {
        self.shaken.store(true, Ordering::Relaxed);
        self.stream.connect_info()
    }
}

/// Accepts connections that have so long to become known, as long as somebody receives them.
pub(super) async fn accept(
    listener: TcpListener,
    patience: Duration,
    accepted: tokio::sync::mpsc::Sender<io::Result<Counted>>,
) {
    let (room, strangers) = (Arc::new(Semaphore::new(CONNECTIONS)), Strangers::default());
    for number in 0.. {
        let Ok((stream, peer)) = listener.accept().await else {
            // No descriptors: others may be closed soon.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        strangers.bound(peer.ip());
        if room.available_permits() == 0 {
            strangers.lock().pop_first();
        }
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (close, closed) = oneshot::channel();
        strangers.lock().insert(number, (peer.ip(), close));
        let late = Box::pin(tokio::time::sleep(patience));
        let stranger = Some(Stranger { number, all: strangers.clone(), closed, late, came: 0 });
        let counted = Counted { stream, stranger, shaken: AtomicBool::new(false), _permit: permit };
        if accepted.send(Ok(counted)).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use tokio::io::AsyncReadExt;

    /// Far beyond what a loaded machine needs.
    const LONG: Duration = Duration::from_secs(600);

    /// Accepted connections, and a way to make them.
    async fn entrance(patience: Duration) -> (tokio::sync::mpsc::Receiver<io::Result<Counted>>, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (send, accepted) = tokio::sync::mpsc::channel(1);
        tokio::spawn(accept(listener, patience, send));
        (accepted, address)
    }

    async fn read(connection: &mut Counted) -> io::Result<usize> {
        connection.read(&mut [0; 64]).await
    }

    #[tokio::test]
    async fn a_connection_without_a_handshake_or_without_what_follows_it_is_closed() {
        let (mut accepted, address) = entrance(Duration::from_millis(20)).await;
        for (shaken, sent) in [(false, &[][..]), (false, &[1; 40]), (true, &[]), (true, &[1; FIRST_FRAMES - 1])] {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            client.write_all(sent).unwrap();
            let mut connection = accepted.recv().await.unwrap().unwrap();
            if shaken {
                connection.connect_info();
            }
            let error = loop {
                match read(&mut connection).await {
                    Ok(count) => assert!(count > 0),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{shaken} {}", sent.len());
        }
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let mut connection = accepted.recv().await.unwrap().unwrap();
        connection.connect_info();
        client.write_all(&[1; FIRST_FRAMES]).unwrap();
        assert_eq!(read(&mut connection).await.unwrap(), FIRST_FRAMES);
        tokio::time::sleep(Duration::from_millis(60)).await;
        client.write_all(b"later").unwrap();
        assert_eq!(read(&mut connection).await.unwrap(), 5, "it is known");
    }

    #[tokio::test]
    async fn the_oldest_that_is_not_known_is_closed_for_others_and_no_address_has_all_places() {
        let (mut accepted, address) = entrance(LONG).await;
        let mut known = Vec::new();
        for _ in 0..CONNECTIONS - 1 {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            let mut connection = accepted.recv().await.unwrap().unwrap();
            connection.connect_info();
            client.write_all(&[1; FIRST_FRAMES]).unwrap();
            read(&mut connection).await.unwrap();
            known.push((client, connection));
        }
        // There is one place left, for as many as come after one another.
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let mut last = accepted.recv().await.unwrap().unwrap();
        for _ in 0..3 {
            let next = std::net::TcpStream::connect(address).unwrap();
            assert_eq!(read(&mut last).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
            drop(last);
            last = accepted.recv().await.unwrap().unwrap();
            client = next;
        }
        drop((known, client, last));
        let mut strangers = Vec::new();
        for _ in 0..=PER_ADDRESS {
            let client = std::net::TcpStream::connect(address).unwrap();
            client.set_read_timeout(Some(LONG)).unwrap();
            strangers.push((client, accepted.recv().await.unwrap().unwrap()));
        }
        assert_eq!(read(&mut strangers[0].1).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let (mut oldest, connection) = strangers.swap_remove(0);
        drop(connection);
        assert!(matches!(oldest.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
}

//! Sockets at which connections arrive.

use super::unix::UnixPlace;
use super::{RunError, key};
use crate::face::stream::Stream;
use crate::face_uri::FaceUri;
use crate::poll::Sources;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

enum Listener {
    Tcp(TcpListener),
    Unix(UnixPlace),
}

/// An accepted connection.
pub(super) struct Accepted {
    pub(super) stream: Stream,
    /// Where it leads.
    pub(super) uri: FaceUri,
    /// Whether its peer is on this machine.
    pub(super) local: bool,
}

/// All of them, and the state of the log of rejected connections.
pub(super) struct Listeners {
    sources: Sources,
    listeners: Vec<Listener>,
    /// Whether they are paused until the next housekeeping, as the system has no descriptors left.
    paused: bool,
    /// Connections rejected since the last log message.
    rejected: u64,
}

impl Listeners {
    pub(super) fn new(sources: Sources) -> Listeners {
        Listeners { sources, listeners: Vec::new(), paused: false, rejected: 0 }
    }

    pub(super) fn listen_on_tcp(&mut self, address: SocketAddr) -> Result<(), RunError> {
        let listener = TcpListener::bind(address).map_err(|error| RunError::socket(format!("tcp {address}"), error))?;
        listener.set_nonblocking(true)?;
        tracing::info!(address = %listener.local_addr()?, "listening on tcp");
        self.sources.add(&listener, key::LISTENER + self.listeners.len())?;
        self.listeners.push(Listener::Tcp(listener));
        Ok(())
    }

    pub(super) fn listen_on_unix(&mut self, path: &Path) -> Result<(), RunError> {
        let what = || format!("unix {}", path.display());
        let failed = |(error, remedy)| RunError::Socket { what: what(), error, remedy };
        let place = UnixPlace::open(path).map_err(failed)?;
        tracing::info!(path = %path.display(), "listening on unix");
        self.sources.add(place.listener(), key::LISTENER + self.listeners.len())?;
        self.listeners.push(Listener::Unix(place));
        Ok(())
    }

    /// Accepts one connection, if one is still there. After an error that is not the peer's, none is accepted until
    /// [`Listeners::resume`].
    pub(super) fn accept(&mut self, index: usize) -> Option<io::Result<Accepted>> {
        let accepted = match self.listeners.get(index)? {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, peer)| {
                stream.set_nonblocking(true)?;
                // A listener for IPv6 may take IPv4 as well, in IPv6 addresses.
                let local = peer.ip().to_canonical().is_loopback();
                Ok(Accepted { stream: Stream::Tcp(stream), uri: FaceUri::tcp(peer), local })
            }),
            Listener::Unix(place) => place.listener().accept().and_then(|(stream, _)| {
                stream.set_nonblocking(true)?;
                let uri = FaceUri::Unix(place.path().to_owned());
                Ok(Accepted { stream: Stream::Unix(stream), uri, local: true })
            }),
        };
        match accepted {
            // The peer has closed the connection again, or there is none.
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => None,
            // There are no descriptors, or no memory. The connection would be offered again forever.
            Err(error) => {
                self.set_paused(true);
                Some(Err(error))
            }
            accepted => Some(accepted),
        }
    }

    /// Records a connection that was not accepted; the log reports it once until [`Listeners::resume`].
    pub(super) fn reject(&mut self, error: &io::Error) {
        if self.rejected == 0 {
            tracing::warn!(%error, "connection not accepted");
        }
        self.rejected += 1;
    }

    /// Resumes accepting.
    pub(super) fn resume(&mut self) {
        if self.rejected > 1 {
            tracing::warn!(connections = self.rejected, "not accepted within a second");
        }
        self.rejected = 0;
        if self.paused {
            self.set_paused(false);
        }
    }

    fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
        for (index, listener) in self.listeners.iter().enumerate() {
            let key = key::LISTENER + index;
            let wanted = match listener {
                Listener::Tcp(listener) => self.sources.set_readiness(listener, key, !paused, false),
                Listener::Unix(place) => self.sources.set_readiness(place.listener(), key, !paused, false),
            };
            if let Err(error) = wanted {
                tracing::debug!(%error, "poll");
            }
        }
    }

    /// Where connections are accepted.
    pub(super) fn uris(&self) -> impl Iterator<Item = FaceUri> + '_ {
        self.listeners.iter().filter_map(|listener| match listener {
            Listener::Tcp(listener) => Some(FaceUri::tcp(listener.local_addr().ok()?)),
            Listener::Unix(place) => Some(FaceUri::Unix(place.path().to_owned())),
        })
    }
}

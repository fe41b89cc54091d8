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

/// A connection that somebody opened.
pub(super) struct Accepted {
    pub(super) stream: Stream,
    /// Where it leads.
    pub(super) uri: FaceUri,
    /// Whether its peer is on this machine.
    pub(super) local: bool,
}

/// All of them, and what the log has said of connections that were rejected.
pub(super) struct Listeners {
    sources: Sources,
    listeners: Vec<Listener>,
    /// Whether they wait until the next housekeeping, as the system has no descriptors left.
    paused: bool,
    /// Connections rejected since the log said so.
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

    /// Takes one connection, if one is there still. After an error that is none of the peer's, nobody is accepted
    /// until [`Listeners::resume`].
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
            // Whoever wanted to connect has gone again, or nobody does.
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => None,
            // There are no descriptors, or no memory. The connection would be offered again without end.
            Err(error) => {
                self.set_paused(true);
                Some(Err(error))
            }
            accepted => Some(accepted),
        }
    }

    /// Takes note of a connection that was not taken in; the log says so once until [`Listeners::resume`].
    pub(super) fn reject(&mut self, error: &io::Error) {
        if self.rejected == 0 {
            tracing::warn!(%error, "connection not accepted");
        }
        self.rejected += 1;
    }

    /// Who could not be admitted may try again.
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
                Listener::Tcp(listener) => self.sources.want(listener, key, !paused, false),
                Listener::Unix(place) => self.sources.want(place.listener(), key, !paused, false),
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

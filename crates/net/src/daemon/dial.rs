//! Streams that the forwarder opens, and opens again when they end.

use super::faces::{SocketFace, Transport};
use super::{Daemon, key};
use crate::address;
use crate::face::stream::{Stream, StreamLink};
use crate::face_uri::FaceUri;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Duration, Time};
use nix::errno::Errno;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::fd::OwnedFd;

/// From one attempt to the next.
const RETRY: Duration = Duration::from_millis(2000);

fn start(uri: &FaceUri) -> io::Result<Option<Socket>> {
    let (domain, address) = match uri {
        FaceUri::Tcp(family, host, port) => {
            let address = address::first(*family, host, *port)?;
            (Domain::for_address(address), SockAddr::from(address))
        }
        FaceUri::Unix(path) => (Domain::UNIX, SockAddr::unix(path)?),
        FaceUri::Udp(..) => return Ok(None),
    };
    let socket = Socket::new(domain, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(Errno::EINPROGRESS as i32) => {}
        Err(e) => return Err(e),
    }
    Ok(Some(socket))
}

impl Daemon {
    /// Starts to connect a face's stream.
    pub(super) fn dial(&mut self, now: Time, id: FaceId) {
        let Some(link) = self.faces.get_mut(id) else { return };
        link.wants_writable = true;
        let key = key::STREAM + id.index();
        let dialing = start(&link.uri).and_then(|socket| {
            let Some(socket) = socket else { return Ok(Transport::Down { retry: Time::NEVER }) };
            self.poll.sources().add(&socket, key)?;
            self.poll.sources().set_readiness(&socket, key, true, true)?;
            Ok(Transport::Dialing(socket))
        });
        match dialing {
            Ok(transport) => link.transport = transport,
            Err(error) => {
                tracing::debug!(face = link.number, uri = %link.uri, %error, "not connected");
                link.transport = Transport::Down { retry: now + RETRY };
            }
        }
    }

    /// A socket that was being connected is connected, or failed.
    pub(super) fn dialled(&mut self, now: Time, id: FaceId) {
        let Some(link) = self.faces.get_mut(id) else { return };
        let Transport::Dialing(socket) = &link.transport else { return };
        let connected = match socket.take_error() {
            Ok(None) => socket.peer_addr().and_then(|_| socket.try_clone()),
            Ok(Some(error)) | Err(error) => Err(error),
        };
        let connected = connected.and_then(|socket| {
            let stream = match link.uri {
                FaceUri::Unix(_) => Stream::Unix(OwnedFd::from(socket).into()),
                FaceUri::Tcp(..) | FaceUri::Udp(..) => Stream::Tcp(socket.into()),
            };
            let stream = StreamLink::dialled(stream);
            self.poll.sources().remove(match &link.transport {
                Transport::Dialing(socket) => socket,
                _ => return Err(io::Error::other("not dialling")),
            })?;
            self.poll.sources().add(&stream, key::STREAM + id.index())?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => {
                tracing::info!(face = link.number, uri = %link.uri, "connected");
                link.transport = Transport::Stream(stream);
                link.wants_writable = false;
            }
            Err(error) => self.lost(now, id, &error),
        }
    }

    /// A stream has ended: a configured face waits for the next attempt, another one is removed.
    pub(super) fn lost(&mut self, now: Time, id: FaceId, why: &dyn std::fmt::Display) {
        let Some(link) = self.faces.get_mut(id) else { return };
        if link.is_on_demand() {
            self.close(now, id, &why.to_string());
            return;
        }
        tracing::warn!(face = link.number, uri = %link.uri, %why, "stream lost");
        let transport = std::mem::replace(&mut link.transport, Transport::Down { retry: now + RETRY });
        self.stop_waiting(&transport);
    }

    /// Makes the attempts that are due.
    pub(super) fn redial(&mut self, now: Time) {
        let due = |link: &SocketFace| matches!(link.transport, Transport::Down { retry } if retry <= now);
        let due: Vec<FaceId> = self.faces.iter().filter(|(_, link)| due(link)).map(|(id, _)| id).collect();
        for id in due {
            self.dial(now, id);
        }
    }
}

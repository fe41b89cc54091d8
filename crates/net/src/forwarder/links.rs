//! Faces with their sockets.

use super::config::{FaceSpec, RouteSpec};
use super::{ConfigError, Daemon, RunError, key};
use crate::face::sockets;
use crate::face::stream::{Stream, StreamLink};
use crate::face_uri::{FaceUri, IpFamily};
use crate::mgmt::ControlParameters;
use crate::mgmt::dataset::{FaceEventKind, Persistency};
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Time};
use ndnweir_node::FaceConfig;
use ndnweir_node::forwarder::{FaceOptions, Reliability};
use ndnweir_node::header::Trust;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Origin of routes that the configuration names (NFD, RibMgmt).
pub(super) const STATIC: u64 = 255;

/// Bytes that UDP and IPv4 add to a datagram.
const UDP_FRAMING: u64 = 28;

/// What carries a face's frames.
pub(super) enum Transport {
    Udp {
        port: usize,
        peer: SocketAddr,
    },
    Stream(StreamLink),
    /// A stream that is being connected.
    Dialing(socket2::Socket),
    /// The management of this forwarder.
    Management,
    /// A stream that could not be connected, or has ended, and is tried again.
    Down {
        retry: Time,
    },
}

/// A face with its socket.
pub(super) struct Link {
    /// The number that others know.
    pub(super) id: u64,
    pub(super) uri: FaceUri,
    pub(super) transport: Transport,
    /// One on demand came by itself and goes when its peer does.
    pub(super) persistency: Persistency,
    pub(super) local: bool,
    /// Whether its peer is known to be this forwarder's owner.
    pub(super) owner: bool,
    pub(super) mtu: Option<usize>,
    /// Whether losses on a UDP face are repaired if the neighbour takes part.
    pub(super) reliability: bool,
    pub(super) last_in: Time,
    /// Whether the poll waits for the socket to take more.
    pub(super) wants_writable: bool,
}

impl Link {
    pub(super) fn is_on_demand(&self) -> bool {
        self.persistency == Persistency::OnDemand
    }

    /// Neighbours that were named are asked to take part; who came by himself has to ask.
    fn wanted_reliability(&self) -> Reliability {
        match (self.reliability, self.is_on_demand()) {
            (false, _) => Reliability::Off,
            (true, true) => Reliability::OnRequest,
            (true, false) => Reliability::On,
        }
    }

    pub(super) fn is_datagram(&self) -> bool {
        matches!(self.transport, Transport::Udp { .. })
    }
}

/// A socket address as a face URI.
pub(super) fn uri_of(udp: bool, address: SocketAddr) -> FaceUri {
    let family = if address.is_ipv4() { IpFamily::V4 } else { IpFamily::V6 };
    let host = address.ip().to_string();
    match udp {
        true => FaceUri::Udp(family, host, address.port()),
        false => FaceUri::Tcp(family, host, address.port()),
    }
}

/// The first address of a host in a family.
pub(super) fn resolve(family: IpFamily, host: &str, port: u16) -> io::Result<SocketAddr> {
    let fits = |address: &SocketAddr| match family {
        IpFamily::Any => true,
        IpFamily::V4 => address.is_ipv4(),
        IpFamily::V6 => address.is_ipv6(),
    };
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address of that family"));
    (host, port).to_socket_addrs()?.find(fits).ok_or_else(missing)
}

impl Daemon {
    /// The face that leads to a place.
    pub(super) fn face_of(&self, uri: &FaceUri) -> Option<FaceId> {
        self.present().find(|(_, link)| link.uri == *uri).map(|(id, _)| id)
    }

    pub(super) fn add_configured(&mut self, spec: &FaceSpec) -> Result<FaceId, RunError> {
        let failed = |error| RunError::Socket { what: format!("face {}", spec.uri), error, remedy: "" };
        self.create(spec, Persistency::Permanent).map_err(failed)
    }

    pub(super) fn add_configured_route(&mut self, route: &RouteSpec) -> Result<(), ConfigError> {
        let now = self.clock.now();
        let failed = |why: &str| ConfigError::new(format!("route {}: {why}", route.prefix));
        let face = self.face_of(&route.to).and_then(|id| self.links[id.index()].as_ref());
        let parameters = ControlParameters {
            face_id: Some(face.ok_or_else(|| failed("its face is gone"))?.id),
            origin: Some(STATIC),
            cost: Some(route.cost.into()),
            ..ControlParameters::of_name(route.prefix.clone())
        };
        let registered = self.with_management(|management, daemon| management.register(parameters, now, daemon));
        registered.unwrap_or(Ok(())).map_err(|response| failed(&response.text))
    }

    /// Makes a face to a place that was named.
    pub(super) fn create(&mut self, spec: &FaceSpec, persistency: Persistency) -> io::Result<FaceId> {
        let now = self.clock.now();
        match &spec.uri {
            FaceUri::Udp(family, host, port) => {
                let peer = resolve(*family, host, *port)?;
                let port = self.port_for(peer)?;
                self.add_peer(now, port, peer, spec, persistency)
            }
            FaceUri::Tcp(family, host, port) => {
                let peer = resolve(*family, host, *port)?;
                let id = self.add(now, spec, Transport::Down { retry: now }, peer.ip().is_loopback(), persistency)?;
                self.dial(now, id);
                Ok(id)
            }
            FaceUri::Unix(_) => {
                let id = self.add(now, spec, Transport::Down { retry: now }, true, persistency)?;
                self.dial(now, id);
                Ok(id)
            }
        }
    }

    /// The port from which a peer is reached: one of its family that we listen on, so that the peer knows us by it.
    fn port_for(&mut self, peer: SocketAddr) -> io::Result<usize> {
        let reaches = |local: SocketAddr| {
            local.is_ipv4() == peer.is_ipv4()
                && (local.ip().is_loopback() == peer.ip().is_loopback() || local.ip().is_unspecified())
        };
        if let Some(port) = self.udp.iter().position(|port| reaches(port.local())) {
            return Ok(port);
        }
        let any = if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        self.open_port(SocketAddr::new(any, 0))
    }

    pub(super) fn add_peer(
        &mut self,
        now: Time,
        port: usize,
        peer: SocketAddr,
        spec: &FaceSpec,
        persistency: Persistency,
    ) -> io::Result<FaceId> {
        if let Some(&id) = self.by_peer.get(&(port, peer)) {
            if persistency != Persistency::OnDemand {
                self.adopt(id, persistency);
            }
            return Ok(id);
        }
        let id = self.add(now, spec, Transport::Udp { port, peer }, false, persistency)?;
        self.by_peer.insert((port, peer), id);
        Ok(id)
    }

    /// A peer that came by itself is now one that was named: its face stays, and its congestion fields count.
    pub(super) fn adopt(&mut self, id: FaceId, persistency: Persistency) {
        let now = self.clock.now();
        let link = self.links.get_mut(id.index()).and_then(Option::as_mut);
        let Some(link) = link.filter(|link| link.is_on_demand() && link.is_datagram()) else { return };
        link.persistency = persistency;
        self.peers -= 1;
        self.forwarder.set_trust(id, Trust::Neighbour);
        self.set_reliability(now, id);
    }

    /// Does what a face's settings say about repairs.
    pub(super) fn set_reliability(&mut self, now: Time, id: FaceId) {
        if let Some(link) = self.links.get(id.index()).and_then(Option::as_ref) {
            self.forwarder.set_reliability(now, id, link.wanted_reliability());
        }
    }

    /// Takes in a stream that somebody opened.
    pub(super) fn add_stream(&mut self, now: Time, stream: Stream, uri: FaceUri, local: bool) -> io::Result<FaceId> {
        let spec = FaceSpec { trust: local, ..FaceSpec::new(uri) };
        let id = self.add(now, &spec, Transport::Stream(StreamLink::new(stream)), local, Persistency::OnDemand)?;
        if let Some(Link { transport: Transport::Stream(stream), .. }) = &self.links[id.index()]
            && let Err(error) = self.poll.sources().add(stream, key::STREAM + id.index())
        {
            self.close(now, id, "cannot be waited for");
            return Err(error);
        }
        Ok(id)
    }

    pub(super) fn add(
        &mut self,
        now: Time,
        spec: &FaceSpec,
        transport: Transport,
        local: bool,
        persistency: Persistency,
    ) -> io::Result<FaceId> {
        let on_demand = persistency == Persistency::OnDemand;
        // Applications here find room however many come from elsewhere.
        let most = self.config.max_peers - if local { 0 } else { self.config.max_peers / 8 };
        if on_demand && self.peers >= most {
            return Err(io::Error::other("there are as many faces as there may be"));
        }
        let datagram = matches!(transport, Transport::Udp { .. });
        let node = FaceConfig {
            local,
            rate: spec.rate,
            return_rate: spec.return_rate.or(spec.rate),
            limit: if spec.rate.is_some() { spec.queue } else { Limit::Packets(0) },
            framing: if datagram { Bytes::new(UDP_FRAMING) } else { Bytes::ZERO },
            marker: spec.marker.clone(),
        };
        let number = self.next_id;
        let options = FaceOptions {
            node,
            trust: if spec.trust { Trust::Neighbour } else { Trust::Stranger },
            mtu: datagram.then_some(spec.mtu),
            reliability: Reliability::Off,
            mark_losses: spec.mark_losses,
            mark_kernel_queue: true,
            tell_incoming: matches!(transport, Transport::Management),
            number,
        };
        let id = self.forwarder.add_face(now, options).map_err(io::Error::other)?;
        self.next_id += 1;
        self.peers += usize::from(on_demand);
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        tracing::info!(face = number, uri = %spec.uri, local, "face added");
        let owner = match &transport {
            Transport::Stream(stream) if matches!(spec.uri, FaceUri::Unix(_)) => sockets::peer_is_owner(stream),
            _ => false,
        };
        self.links[id.index()] = Some(Link {
            id: number,
            uri: spec.uri.clone(),
            transport,
            persistency,
            local,
            owner,
            mtu: datagram.then_some(spec.mtu),
            reliability: spec.reliability,
            last_in: now,
            wants_writable: false,
        });
        self.set_reliability(now, id);
        self.by_id.insert(number, id);
        self.note_event(FaceEventKind::Created, id);
        Ok(id)
    }

    /// Takes a face away.
    pub(super) fn close(&mut self, now: Time, id: FaceId, why: &str) {
        self.note_event(FaceEventKind::Destroyed, id);
        let Some(link) = self.links.get_mut(id.index()).and_then(Option::take) else { return };
        tracing::info!(face = link.id, uri = %link.uri, why, "face removed");
        self.hang_up(&link.transport);
        if let Transport::Udp { port, peer } = link.transport {
            self.by_peer.remove(&(port, peer));
        }
        self.by_id.remove(&link.id);
        self.peers -= usize::from(link.is_on_demand());
        self.totals.gone = self.totals.gone.plus(self.forwarder.link_counters(id));
        self.forwarder.remove_face(now, id);
    }

    /// Stops waiting for the socket of a stream, before it is closed.
    pub(super) fn hang_up(&mut self, transport: &Transport) {
        if let Transport::Stream(stream) = transport {
            self.totals.backlog += stream.dropped();
        }
        let removed = match transport {
            Transport::Stream(stream) => self.poll.sources().remove(stream),
            Transport::Dialing(socket) => self.poll.sources().remove(socket),
            Transport::Udp { .. } | Transport::Down { .. } | Transport::Management => Ok(()),
        };
        if let Err(error) = removed {
            tracing::debug!(%error, "a socket was not waited for");
        }
    }
}

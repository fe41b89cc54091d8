//! Faces with their sockets.

use super::admission::{Origin, Rejected};
use super::config::{FaceSpec, RouteSpec};
use super::proof::Challenge;
use super::{ConfigError, Daemon, RunError, key};
use crate::face::sockets;
use crate::face::stream::{Stream, StreamLink};
use crate::face_uri::{FaceUri, IpFamily};
use crate::mgmt::ControlParameters;
use crate::mgmt::dataset::{FaceEventKind, Persistency};
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::forwarder::{FaceOptions, Reliability};
use ndnweir_node::header::FieldTrust;
use ndnweir_node::{FaceClass, FaceConfig};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Origin of routes that the configuration names (NFD, RibMgmt).
pub(super) const STATIC: u64 = 255;

/// After so long a UDP peer that has proved nothing gives way to others, and a stream on which nothing ever came.
const SILENT_PEER: Duration = Duration::from_millis(10_000);
const SILENT_STREAM: Duration = Duration::from_millis(2000);

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
pub(super) struct SocketFace {
    /// The number that others know.
    pub(super) id: u64,
    pub(super) uri: FaceUri,
    pub(super) transport: Transport,
    /// One on demand was made on demand and goes when its peer does.
    pub(super) persistency: Persistency,
    pub(super) local: bool,
    /// Whether its peer is known to be this forwarder's owner.
    pub(super) owner: bool,
    pub(super) mtu: Option<usize>,
    /// Whether lost frames on a UDP face are sent again if the neighbour takes part.
    pub(super) reliability: bool,
    pub(super) last_in: Time,
    /// Whether the poll waits for the socket to take more.
    pub(super) wants_writable: bool,
    /// Where it came from, if it was made on demand.
    pub(super) origin: Origin,
    /// Whether its user may register prefixes for it.
    pub(super) registers: bool,
    /// A UDP peer that was made on demand has not proved yet that its address is not forged.
    pub(super) challenge: Option<Box<Challenge>>,
}

impl SocketFace {
    pub(super) fn is_on_demand(&self) -> bool {
        self.persistency == Persistency::OnDemand
    }

    /// Whether it may end for want of packets.
    pub(super) fn may_expire(&self) -> bool {
        self.is_on_demand() && self.origin != Origin::Owner
    }

    /// Neighbours that were named are asked to take part; who came by himself has to ask.
    fn wanted_reliability(&self) -> Reliability {
        match (self.reliability, self.is_on_demand()) {
            (false, _) => Reliability::Off,
            (true, true) => Reliability::OnRequest,
            (true, false) => Reliability::On,
        }
    }

    /// What room its Interests have.
    pub(super) fn class(&self) -> FaceClass {
        match (self.local, self.is_on_demand()) {
            (true, _) => FaceClass::Local,
            (false, true) => FaceClass::OnDemand,
            (false, false) => FaceClass::Configured,
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

/// A number for who is at the other end, whatever its port: an IPv4 address, the first 64 bits of an IPv6 address (what
/// one customer of a provider has at least), or a whole link-local one. 0 is nobody in particular.
pub(super) fn group_of(uri: &FaceUri) -> u128 {
    let (FaceUri::Udp(_, host, _) | FaceUri::Tcp(_, host, _)) = uri else { return 0 };
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => address.to_ipv6_mapped().to_bits(),
        Ok(IpAddr::V6(address)) if address.is_unicast_link_local() => address.to_bits(),
        Ok(IpAddr::V6(address)) => address.to_bits() >> 64 << 64,
        Err(_) => 0,
    }
}

/// Where whoever is at the other end comes from.
pub(super) fn origin_of(transport: &Transport) -> Origin {
    let user = |stream: &StreamLink| match sockets::peer_user(stream) {
        Some(_) if sockets::peer_is_owner(stream) => Origin::Owner,
        user => Origin::User(user.unwrap_or(u32::MAX)),
    };
    match transport {
        Transport::Udp { peer, .. } => Origin::of_address(peer.ip()),
        Transport::Stream(stream) => match stream.peer() {
            Some(peer) => Origin::of_address(peer.ip()),
            None => user(stream),
        },
        Transport::Dialing(_) | Transport::Down { .. } | Transport::Management => Origin::Owner,
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
        // Ports that are listened on come first in the list.
        if let Some(port) = self.udp.iter().position(|port| reaches(port.local())) {
            return Ok(port);
        }
        let any = if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let port = self.open_port(SocketAddr::new(any, 0))?;
        self.outgoing.push(port);
        Ok(port)
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

    /// A peer that was made on demand is now one that was named: its face stays, and its congestion fields count.
    pub(super) fn adopt(&mut self, id: FaceId, persistency: Persistency) {
        let now = self.clock.now();
        let link = self.links.get_mut(id.index()).and_then(Option::as_mut);
        let Some(link) = link.filter(|link| link.is_on_demand() && link.is_datagram()) else { return };
        link.persistency = persistency;
        link.challenge = None;
        self.admission.leave(link.origin);
        self.forwarder.set_trust(id, FieldTrust::Neighbour);
        self.set_class(id);
        self.set_reliability(now, id);
    }

    /// Tells the node what room a face has.
    pub(super) fn set_class(&mut self, id: FaceId) {
        if let Some(link) = self.links.get(id.index()).and_then(Option::as_ref) {
            self.forwarder.set_class(id, link.class());
        }
    }

    /// Does what a face's settings say about link retransmissions.
    pub(super) fn set_reliability(&mut self, now: Time, id: FaceId) {
        if let Some(link) = self.links.get(id.index()).and_then(Option::as_ref) {
            self.forwarder.set_reliability(now, id, link.wanted_reliability());
        }
    }

    /// Takes in a stream that somebody opened.
    pub(super) fn add_stream(&mut self, now: Time, stream: Stream, uri: FaceUri, local: bool) -> io::Result<FaceId> {
        let spec = FaceSpec { trust: local, ..FaceSpec::new(uri) };
        let link = StreamLink::new(stream, self.backlogs.first_buffer());
        let id = self.add(now, &spec, Transport::Stream(link), local, Persistency::OnDemand)?;
        if let Some(SocketFace { transport: Transport::Stream(stream), .. }) = &self.links[id.index()]
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
        let origin = origin_of(&transport);
        if on_demand && let Err(why) = self.admit(now, origin, local) {
            if let Transport::Stream(stream) = &transport {
                self.backlogs.give_back(stream);
            }
            return Err(io::Error::other(why));
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
            // Known once the link is there.
            class: FaceClass::OnDemand,
            group: group_of(&spec.uri),
            trust: if spec.trust { FieldTrust::Neighbour } else { FieldTrust::Untrusted },
            mtu: datagram.then_some(spec.mtu),
            reliability: Reliability::Off,
            mark_losses: spec.mark_losses,
            mark_kernel_queue: true,
            tell_incoming: matches!(transport, Transport::Management),
            number,
        };
        let id = match self.forwarder.add_face(now, options) {
            Ok(id) => id,
            Err(why) => {
                if on_demand {
                    self.admission.leave(origin);
                }
                return Err(io::Error::other(why));
            }
        };
        self.next_id += 1;
        if self.links.len() <= id.index() {
            self.links.resize_with(id.index() + 1, || None);
        }
        tracing::info!(face = number, uri = %spec.uri, local, "face added");
        let owner = match &transport {
            Transport::Stream(stream) if matches!(spec.uri, FaceUri::Unix(_)) => sockets::peer_is_owner(stream),
            _ => false,
        };
        let registers = match origin {
            Origin::User(user) => self.users.may_register(&self.config.allow_local, user),
            Origin::Owner | Origin::Host(_) => false,
        };
        self.links[id.index()] = Some(SocketFace {
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
            origin,
            registers,
            challenge: (datagram && on_demand).then(Box::default),
        });
        self.set_class(id);
        self.set_reliability(now, id);
        self.by_id.insert(number, id);
        self.note_event(FaceEventKind::Created, id);
        Ok(id)
    }

    /// Admits somebody, if need be in the place of one who says nothing.
    fn admit(&mut self, now: Time, origin: Origin, local: bool) -> Result<(), Rejected> {
        let why = match self.admission.admit(now, origin, local) {
            Err(why @ (Rejected::Full | Rejected::Share)) if self.no_way_until <= now => why,
            other => return other,
        };
        let Some(id) = self.who_gives_way(now, origin, local, why) else {
            self.no_way_until = now + Duration::from_millis(100);
            return Err(why);
        };
        self.close(now, id, "gives way to another");
        self.admission.admit(now, origin, local)
    }

    /// The face that has been silent longest, of those that have shown nothing of use.
    fn who_gives_way(&self, now: Time, origin: Origin, local: bool, why: Rejected) -> Option<FaceId> {
        let gives_way = |(id, link): &(FaceId, &SocketFace)| {
            let concerned = match why {
                Rejected::Share => link.origin == origin,
                _ => link.local <= local,
            };
            let silent = now.since(link.last_in);
            let useless = match link.is_datagram() {
                true => link.challenge.is_some() && silent > SILENT_PEER,
                false => silent > SILENT_STREAM && !self.has_spoken(*id),
            };
            concerned && link.may_expire() && useless
        };
        self.present().filter(gives_way).min_by_key(|(_, link)| link.last_in).map(|(id, _)| id)
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
        if link.is_on_demand() {
            self.admission.leave(link.origin);
        }
        self.totals.gone = self.totals.gone.plus(self.forwarder.link_counters(id));
        self.forwarder.remove_face(now, id);
    }

    /// Stops waiting for the socket of a stream, before it is closed.
    pub(super) fn hang_up(&mut self, transport: &Transport) {
        if let Transport::Stream(stream) = transport {
            self.totals.backlog += stream.dropped();
            self.backlogs.give_back(stream);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn group(uri: &str) -> u128 {
        group_of(&uri.parse().unwrap())
    }

    #[test]
    fn ports_of_an_address_are_one_group_and_addresses_are_several() {
        assert_eq!(group("udp4://192.0.2.1:6363"), group("udp4://192.0.2.1:7"));
        assert_eq!(group("udp4://192.0.2.1:6363"), group("tcp4://192.0.2.1:6363"));
        assert_ne!(group("udp4://192.0.2.1:6363"), group("udp4://192.0.2.2:6363"));
        assert_eq!(group("udp6://[2001:db8::1]:6363"), group("udp6://[2001:db8::2]:6363"), "of one customer");
        assert_ne!(group("udp6://[2001:db8::1]:6363"), group("udp6://[2001:db8:0:1::1]:6363"));
        assert_ne!(group("udp6://[fe80::1]:6363"), group("udp6://[fe80::2]:6363"));
    }
}

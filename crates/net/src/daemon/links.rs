//! Faces that are made and removed.

use super::admission::{Origin, Rejected, network_of};
use super::config::{FaceSpec, RouteSpec};
use super::faces::{SocketFace, Transport};
use super::reload::Peers;
use super::{ConfigError, Daemon, RunError, key};
use crate::address;
use crate::face::sockets;
use crate::face::stream::{Stream, StreamLink};
use crate::face_uri::FaceUri;
use crate::mgmt::ControlParameters;
use crate::mgmt::dataset::{FaceEventKind, Persistency};
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::forwarder::{FaceOptions, Reliability};
use ndnweir_node::header::FieldTrust;
use ndnweir_node::{FaceClass, FaceConfig};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Origin of routes that the configuration names (NFD, RibMgmt).
pub(super) const STATIC: u64 = 255;

/// After this long an unproven UDP peer, or a stream on which nothing ever came, may be replaced by another.
const SILENT_PEER: Duration = Duration::from_millis(10_000);
const SILENT_STREAM: Duration = Duration::from_millis(2000);

/// Bytes that UDP and IP add to a datagram (RFC 768, RFC 791, RFC 8200).
fn datagram_framing(peer: SocketAddr) -> Bytes {
    Bytes::new(if peer.ip().to_canonical().is_ipv6() { 48 } else { 28 })
}

/// A number for the host at the other end, whatever its port: its [`network_of`] as an IPv6 address. 0 is none.
pub(super) fn group_of(uri: &FaceUri) -> u128 {
    let (FaceUri::Udp(_, host, _) | FaceUri::Tcp(_, host, _)) = uri else { return 0 };
    match host.parse().map(network_of) {
        Ok(IpAddr::V4(address)) => address.to_ipv6_mapped().to_bits(),
        Ok(IpAddr::V6(address)) => address.to_bits(),
        Err(_) => 0,
    }
}

/// The origin of the peer at the other end.
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

impl Daemon {
    /// Makes a face of the configuration, of which `peers` has the host.
    pub(super) fn add_configured(&mut self, spec: &FaceSpec, peers: &Peers) -> Result<FaceId, RunError> {
        let failed = |error| RunError::Socket { what: spec.to_string(), error, remedy: "" };
        self.create_at(spec, peers.get(&spec.uri).copied(), Persistency::Permanent).map_err(failed)
    }

    pub(super) fn add_configured_route(&mut self, route: &RouteSpec) -> Result<(), ConfigError> {
        let now = self.clock.now();
        let failed = |why: &str| route.at.error(format!("route {}: {why}", route.prefix));
        let face = self.faces.with_uri(&route.to).and_then(|id| self.faces.number(id));
        let parameters = ControlParameters {
            face_id: Some(face.ok_or_else(|| failed("its face is gone"))?),
            origin: Some(STATIC),
            cost: Some(route.cost.into()),
            ..ControlParameters::of_name(route.prefix.clone())
        };
        let registered = self.with_management(|management, daemon| management.register(parameters, now, daemon));
        registered.unwrap_or(Ok(())).map_err(|response| failed(&response.text))
    }

    /// Makes a face to where its URI leads now.
    pub(super) fn create(&mut self, spec: &FaceSpec, persistency: Persistency) -> io::Result<FaceId> {
        self.create_at(spec, address::of(&spec.uri)?, persistency)
    }

    /// Makes a face to an address, or a Unix socket.
    fn create_at(&mut self, spec: &FaceSpec, peer: Option<SocketAddr>, persistency: Persistency) -> io::Result<FaceId> {
        let now = self.clock.now();
        match (&spec.uri, peer) {
            (FaceUri::Udp(..), Some(peer)) => {
                let port = self.ports.port_for(peer)?;
                self.add_peer(now, port, peer, spec, persistency)
            }
            (_, peer) => {
                let local = peer.is_none_or(|peer| peer.ip().is_loopback());
                let id = self.add(now, spec, Transport::Down { retry: now }, local, persistency)?;
                self.dial(now, id);
                Ok(id)
            }
        }
    }

    pub(super) fn add_peer(
        &mut self,
        now: Time,
        port: usize,
        peer: SocketAddr,
        spec: &FaceSpec,
        persistency: Persistency,
    ) -> io::Result<FaceId> {
        if let Some(id) = self.faces.with_peer(port, peer) {
            if persistency != Persistency::OnDemand {
                self.adopt(id, persistency);
                if let Some(link) = self.faces.get_mut(id) {
                    // Found from now on by how it was configured, which may be a name of the host.
                    link.uri = spec.uri.clone();
                }
            }
            return Ok(id);
        }
        self.add(now, spec, Transport::Udp { port, peer }, false, persistency)
    }

    /// An on-demand peer becomes a configured one: its face stays, and its congestion fields count.
    pub(super) fn adopt(&mut self, id: FaceId, persistency: Persistency) {
        let now = self.clock.now();
        let Some(link) = self.faces.get_mut(id).filter(|link| link.is_on_demand() && link.is_datagram()) else {
            return;
        };
        link.persistency = persistency;
        link.challenge = None;
        self.admission.leave(link.origin);
        self.forwarder.set_trust(id, FieldTrust::Neighbour);
        self.set_class(id);
        self.set_reliability(now, id);
    }

    /// Passes the class of a face to the node.
    pub(super) fn set_class(&mut self, id: FaceId) {
        if let Some(link) = self.faces.get(id) {
            self.forwarder.set_class(id, link.class());
        }
    }

    /// Applies a face's settings of link retransmission.
    pub(super) fn set_reliability(&mut self, now: Time, id: FaceId) {
        if let Some(link) = self.faces.get(id) {
            self.forwarder.set_reliability(now, id, link.wanted_reliability());
        }
    }

    /// Adds the face of an accepted stream.
    pub(super) fn add_stream(&mut self, now: Time, stream: Stream, uri: FaceUri, local: bool) -> io::Result<FaceId> {
        let spec = FaceSpec { trust: local, ..FaceSpec::new(uri) };
        let link = StreamLink::new(stream, self.backlogs.first_buffer());
        let id = self.add(now, &spec, Transport::Stream(link), local, Persistency::OnDemand)?;
        if let Some(SocketFace { transport: Transport::Stream(stream), .. }) = self.faces.get(id)
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
        let framing = match &transport {
            Transport::Udp { peer, .. } => Some(datagram_framing(*peer)),
            _ => None,
        };
        let datagram = framing.is_some();
        let learns_rate = datagram && spec.learns_rate(self.config.scheme.parts.meter.name());
        let node = FaceConfig {
            local,
            rate: spec.rate,
            trace: None,
            return_rate: spec.return_rate.or(spec.rate),
            limit: if spec.rate.is_some() || learns_rate { spec.queue } else { Limit::Packets(0) },
            framing: framing.unwrap_or(Bytes::ZERO),
            mtu: None,
            cut_below: false,
            marker: spec.marker.clone(),
            discipline: None,
        };
        let number = self.faces.next_number();
        let options = FaceOptions {
            node,
            // Set once the link exists.
            class: FaceClass::OnDemand,
            group: group_of(&spec.uri),
            trust: if spec.trust { FieldTrust::Neighbour } else { FieldTrust::Untrusted },
            mtu: datagram.then_some(spec.mtu),
            reliability: Reliability::Off,
            mark_losses: spec.mark_losses,
            learns_rate,
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
        let owner = match &transport {
            Transport::Stream(stream) if matches!(spec.uri, FaceUri::Unix(_)) => sockets::peer_is_owner(stream),
            _ => false,
        };
        let registers = match origin {
            Origin::User(user) => self.users.may_register(&self.config.allow_local, user),
            Origin::Owner | Origin::Host(_) => false,
        };
        let face = SocketFace {
            number,
            uri: spec.uri.clone(),
            transport,
            persistency,
            local,
            owner,
            mtu: datagram.then_some(spec.mtu),
            rate: spec.rate,
            reliability: spec.reliability,
            last_in: now,
            wants_writable: false,
            origin,
            registers,
            challenge: (datagram && on_demand).then(Box::default),
        };
        tracing::info!(face = number, uri = face.place(), local, "face added");
        self.faces.insert(id, face);
        self.set_class(id);
        self.set_reliability(now, id);
        self.note_event(FaceEventKind::Created, id);
        Ok(id)
    }

    /// Admits a peer, if necessary in place of a silent one.
    fn admit(&mut self, now: Time, origin: Origin, local: bool) -> Result<(), Rejected> {
        let why = match self.admission.admit(now, origin, local) {
            Err(why @ (Rejected::Full | Rejected::Share)) if self.timers.may_search_replaceable_face(now) => why,
            other => return other,
        };
        let Some(id) = self.replaceable_face(now, origin, local, why) else {
            self.timers.found_no_room(now);
            return Err(why);
        };
        self.close(now, id, "replaced by another");
        self.admission.admit(now, origin, local)
    }

    /// The face that has been silent longest, of those that have sent nothing valid.
    fn replaceable_face(&self, now: Time, origin: Origin, local: bool, why: Rejected) -> Option<FaceId> {
        let is_replaceable = |(id, link): &(FaceId, &SocketFace)| {
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
        self.faces.iter().filter(is_replaceable).min_by_key(|(_, link)| link.last_in).map(|(id, _)| id)
    }

    /// Takes a face away.
    pub(super) fn close(&mut self, now: Time, id: FaceId, why: &str) {
        self.note_event(FaceEventKind::Destroyed, id);
        let Some(link) = self.faces.remove(id) else { return };
        tracing::info!(face = link.number, uri = link.place(), why, "face removed");
        self.stop_waiting(&link.transport);
        if link.is_on_demand() {
            self.admission.leave(link.origin);
        }
        self.totals.gone = self.totals.gone.plus(self.forwarder.link_counters(id));
        self.forwarder.remove_face(now, id);
        self.telemetry.forget(id);
        self.forget_configured(link.number);
    }

    /// Stops waiting for the socket of a stream, before it is closed.
    pub(super) fn stop_waiting(&mut self, transport: &Transport) {
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

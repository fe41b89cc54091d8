//! Sockets that are ready, and sending.

use super::admission::{Admission, Origin};
use super::backlogs::Backlogs;
use super::config::FaceSpec;
use super::faces::{SocketFace, Transport};
use super::listeners::Accepted;
use super::proof::{self, Challenge, Sign};
use super::{Daemon, key};
use crate::face::stream::{StreamError, StreamLink};
use crate::face::udp::UdpPort;
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::Persistency;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Bytes, Time};
use ndnweir_node::forwarder::Frames;
use std::net::SocketAddr;

/// Batches read from one socket before the others are served.
const MAX_BATCHES: usize = 4;

impl Daemon {
    /// A listener has connections.
    pub(super) fn on_listener(&mut self, index: usize) {
        let now = self.clock.now();
        let taken = match self.listeners.accept(index) {
            Some(Ok(Accepted { stream, uri, local })) => self.add_stream(now, stream, uri, local).map(drop),
            Some(Err(error)) => Err(error),
            None => return,
        };
        if let Err(error) = taken {
            self.listeners.reject(&error);
            self.totals.on_demand_peers += 1;
        }
    }

    /// A stream has bytes, or takes more.
    pub(super) fn on_stream(&mut self, id: FaceId, readable: bool, writable: bool) {
        let now = self.clock.now();
        if self.faces.get(id).is_some_and(|link| matches!(link.transport, Transport::Dialing(_))) {
            self.dialled(now, id);
            return;
        }
        if writable {
            self.faces.touch(id);
        }
        if !readable {
            return;
        }
        for _ in 0..MAX_BATCHES {
            let now = self.clock.now();
            let Some(SocketFace { transport: Transport::Stream(stream), last_in, .. }) = self.faces.get_mut(id) else {
                return;
            };
            *last_in = now;
            let forwarder = &mut self.forwarder;
            let more = stream.receive(&mut self.buffer, |frame| forwarder.receive(now, id, frame));
            self.send_all(now);
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(why) => {
                    self.lost(now, id, &why);
                    return;
                }
            }
        }
    }

    /// A UDP port has datagrams, or takes more.
    pub(super) fn on_port(&mut self, index: usize, readable: bool, writable: bool) {
        if writable {
            self.ports.touch(index);
        }
        if !readable {
            return;
        }
        for _ in 0..MAX_BATCHES {
            let now = self.clock.now();
            let Some(port) = self.ports.get_mut(index) else { return };
            let mut on_demand_peers: Vec<(SocketAddr, Vec<u8>)> = Vec::new();
            let (faces, forwarder, admission) = (&mut self.faces, &mut self.forwarder, &mut self.admission);
            let mut last = None;
            let more = port.receive(|peer, datagram| {
                let known = match last {
                    Some((address, id)) if address == peer => Some(id),
                    _ => faces.with_peer(index, peer),
                };
                let Some(id) = known else {
                    on_demand_peers.push((peer, datagram.to_vec()));
                    return;
                };
                if last.is_none_or(|(address, _)| address != peer) {
                    last = Some((peer, id));
                    if let Some(link) = faces.get_mut(id) {
                        link.last_in = now;
                    }
                }
                if let Some(link) = faces.get_mut(id) {
                    link.listen_for_proof(now, admission, datagram);
                }
                forwarder.receive(now, id, datagram);
            });
            for (peer, datagram) in on_demand_peers {
                self.on_on_demand_peer(now, index, peer, &datagram);
            }
            self.send_all(now);
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(%error, "udp receive");
                    return;
                }
            }
        }
    }

    /// A datagram from a peer without a face: one is made, if the datagram is a packet.
    fn on_on_demand_peer(&mut self, now: Time, port: usize, peer: SocketAddr, datagram: &[u8]) {
        if let Some(id) = self.faces.with_peer(port, peer) {
            self.receive(now, id, datagram);
            return;
        }
        // A port that is not listened on serves only the peers it was opened for.
        if !self.ports.is_listening(port) {
            self.totals.on_demand_peers += 1;
            return;
        }
        if ndnweir_wire::LpPacketView::decode(datagram).is_err() {
            self.totals.on_demand_peers += 1;
            return;
        }
        let mut spec = FaceSpec::new(FaceUri::udp(peer));
        (spec.trust, spec.mtu, spec.reliability) = (false, self.config.mtu, self.config.reliability);
        match self.add_peer(now, port, peer, &spec, Persistency::OnDemand) {
            Ok(id) => self.receive(now, id, datagram),
            Err(_) => self.totals.on_demand_peers += 1,
        }
    }

    fn receive(&mut self, now: Time, id: FaceId, datagram: &[u8]) {
        if let Some(link) = self.faces.get_mut(id) {
            link.listen_for_proof(now, &mut self.admission, datagram);
        }
        self.forwarder.receive(now, id, datagram);
    }

    /// Sends what the node transmits.
    pub(super) fn send_all(&mut self, now: Time) {
        loop {
            self.frames.clear();
            let Some(id) = self.forwarder.poll_transmit(now, &mut self.frames) else { break };
            let Some(link) = self.faces.get_mut(id) else { continue };
            match &mut link.transport {
                Transport::Udp { port, peer } => {
                    if let Some(challenge) = &mut link.challenge {
                        if self.forwarder.reliability(id).1 {
                            self.admission.proved(now, link.origin);
                            link.challenge = None;
                        } else if !may_send_unproven(
                            now,
                            challenge,
                            &mut self.admission,
                            link.origin,
                            &self.frames,
                            || self.forwarder.neighbour_sends_sequences(id),
                        ) {
                            self.totals.unproven += 1;
                            if let Some(last) = self.frames.iter().last() {
                                self.forwarder.kept_back(id, last);
                            }
                            continue;
                        }
                    }
                    self.ports.send(*port, *peer, self.frames.iter());
                }
                Transport::Stream(stream) => {
                    for frame in self.frames.iter() {
                        let before = stream.pending();
                        stream.send(frame, self.backlogs.most(self.admission.total()));
                        self.backlogs.change(before, stream.pending());
                    }
                }
                Transport::Management => {
                    self.request();
                    continue;
                }
                Transport::Dialing(_) | Transport::Down { .. } => self.totals.unconnected += 1,
            }
            self.faces.touch(id);
        }
        self.flush(now);
    }

    /// Hands what was sent to the kernel, and reads how much waits there.
    fn flush(&mut self, now: Time) {
        self.ports.flush();
        while let Some(id) = self.faces.pop_touched() {
            let Some(link) = self.faces.get_mut(id) else { continue };
            let waiting = match &mut link.transport {
                Transport::Udp { port, .. } => self.ports.get(*port).map_or(0, UdpPort::waiting),
                Transport::Stream(stream) => match flush_stream(stream, &mut self.backlogs) {
                    Ok(away) => {
                        if link.wants_writable == away {
                            link.wants_writable = !away;
                            if let Err(error) =
                                self.poll.sources().set_readiness(&*stream, key::STREAM + id.index(), true, !away)
                            {
                                tracing::debug!(%error, "poll");
                            }
                        }
                        stream.waiting()
                    }
                    Err(why) => {
                        self.lost(now, id, &why);
                        continue;
                    }
                },
                Transport::Dialing(_) | Transport::Down { .. } | Transport::Management => 0,
            };
            self.forwarder.set_kernel_queue(id, Bytes::new(waiting));
        }
    }
}

/// Writes what the socket takes; a reader that keeps up gets a larger buffer in the kernel.
fn flush_stream(stream: &mut StreamLink, backlogs: &mut Backlogs) -> Result<bool, StreamError> {
    let before = stream.pending();
    let away = stream.flush();
    backlogs.change(before, stream.pending());
    if away.as_ref().is_ok_and(|away| !away) && stream.needs_larger_buffer() {
        stream.set_buffer(backlogs.larger_buffer(stream.buffer()));
    }
    away
}

/// Whether a packet may be sent to a peer whose address may be forged. Packets other than Data are as small as what
/// they answer.
fn may_send_unproven(
    now: Time,
    challenge: &mut Challenge,
    admission: &mut Admission,
    origin: Origin,
    frames: &Frames,
    acks: impl Fn() -> bool,
) -> bool {
    let Some(first) = frames.iter().next() else { return true };
    if !proof::carries_data(first) {
        return true;
    }
    let bytes = frames.bytes.len();
    // A peer with link reliability is proved by its acks.
    admission.draws(now, origin, challenge.signs(), bytes) && (acks() || !challenge.withholds(first, bytes))
}

impl SocketFace {
    /// A datagram has come from a peer that may be unproven: counts it, and checks whether it proves the address.
    fn listen_for_proof(&mut self, now: Time, admission: &mut Admission, datagram: &[u8]) {
        let Some(challenge) = &mut self.challenge else { return };
        admission.received(now, self.origin, datagram.len());
        match challenge.received(datagram) {
            Sign::None => {}
            Sign::Hit => admission.reward(now, self.origin),
            Sign::Proved => {
                tracing::debug!(face = self.number, uri = %self.uri, "gets what is sent to it");
                admission.proved(now, self.origin);
                self.challenge = None;
            }
        }
    }
}

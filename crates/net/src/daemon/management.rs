//! The management protocol's place in the process: an application on an internal face.

use super::config::{ConfigError, FaceSpec, RouteSpec};
use super::faces::{SocketFace, Transport};
use super::links::STATIC;
use super::requests::Requests;
use super::{Daemon, RunError};
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{FaceEventKind, FaceStatus, Persistency};
use crate::mgmt::{Management, Requester, Timestamps};
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::Time;
use ndnweir_wire::{Component, DataView, InterestView, LpPacketView, Name};
use std::collections::VecDeque;

/// Requests and notifications handled at a time, before packets are served.
const MAX_TURNS: usize = 64;
/// Beyond this many, face events are handled immediately: none may be lost, since routes end with their faces.
const MAX_EVENTS: usize = 1024;

/// The management behind its face, and its queue.
pub(super) struct ManagementFace {
    id: FaceId,
    /// None while it is operating on the forwarder.
    protocol: Option<Management>,
    requests: Requests,
    /// Face events it has not been notified of yet.
    events: VecDeque<(FaceEventKind, FaceStatus)>,
}

impl ManagementFace {
    /// Without a face yet.
    pub(super) fn new(now: Time, protocol: Management) -> ManagementFace {
        let requests = Requests::new(now);
        ManagementFace { id: FaceId::NONE, protocol: Some(protocol), requests, events: VecDeque::new() }
    }

    /// Its face; [`FaceId::NONE`] if applications may not manage the forwarder.
    pub(super) fn id(&self) -> FaceId {
        self.id
    }

    /// When something waits for it.
    fn due(&mut self, now: Time) -> Time {
        if self.events.is_empty() { self.requests.due(now) } else { now }
    }
}

impl Daemon {
    /// Opens the internal face, if applications may manage the forwarder.
    pub(super) fn start_management(&mut self, now: Time) -> Result<(), RunError> {
        let nfd = || Name::new().with(Component::generic("localhost")).with(Component::generic("nfd"));
        if !self.config.management {
            // No other face may answer for it either.
            self.forwarder.reserve(nfd(), FaceId::NONE);
            return Ok(());
        }
        let spec = FaceSpec::new(FaceUri::Unix("/internal".into()));
        self.management.id = self.add(now, &spec, Transport::Management, true, Persistency::Permanent)?;
        let prefixes = self.management.protocol.as_ref().map(Management::prefixes).unwrap_or_default();
        for prefix in prefixes {
            self.forwarder.reserve(prefix.clone(), self.management.id);
            self.forwarder.add_next_hop(now, prefix.as_view(), self.management.id, 0).map_err(ConfigError::new)?;
        }
        Ok(())
    }

    /// Runs the management on this forwarder; none while it is running already.
    pub(super) fn with_management<T>(&mut self, work: impl FnOnce(&mut Management, &mut Daemon) -> T) -> Option<T> {
        let mut management = self.management.protocol.take()?;
        let done = work(&mut management, self);
        self.management.protocol = Some(management);
        Some(done)
    }

    pub(super) fn remove_configured_route(&mut self, route: &RouteSpec) {
        let Some(face_id) = self.faces.with_uri(&route.to).and_then(|id| self.faces.number(id)) else { return };
        self.with_management(|management, daemon| {
            management.unregister(route.prefix.as_view(), face_id, STATIC, daemon);
        });
    }

    /// Records a face event, for the management when it is free.
    pub(super) fn note_event(&mut self, kind: FaceEventKind, id: FaceId) {
        if let Some(status) = self.face_status(id) {
            self.management.events.push_back((kind, status));
        }
    }

    /// Passes requests to the management, and sends its answers.
    pub(super) fn manage(&mut self, now: Time) {
        let at = Timestamps { now, unix: self.clock.unix() };
        self.with_management(|management, daemon| {
            if management.next_timeout() <= now {
                management.handle_timeout(now, daemon);
            }
        });
        for _ in 0..MAX_TURNS.max(self.management.events.len().saturating_sub(MAX_EVENTS)) {
            if let Some((kind, face)) = self.management.events.pop_front() {
                let notification =
                    self.with_management(|management, daemon| management.face_event(kind, &face, daemon));
                // Later Interests are answered by the management.
                let waited_for =
                    |data: &Vec<u8>| DataView::decode(data).is_ok_and(|data| self.forwarder.answers_pending(&data));
                let notification = notification.flatten().filter(waited_for);
                self.inject(now, notification);
            } else if let Some((frame, charged)) = self.management.requests.pop(now) {
                let start = self.clock.now();
                let answer = self.answer(&frame, at);
                self.inject(now, answer);
                if charged {
                    self.management.requests.charge(now, self.clock.now().since(start));
                }
            } else {
                return;
            }
            self.send_all(now);
        }
    }

    /// When there is something for [`Daemon::manage`] to do; the rest is handled after the next packets.
    pub(super) fn management_due(&mut self, now: Time) -> Time {
        self.management.due(now)
    }

    /// The packet is for the management: it is queued.
    pub(super) fn request(&mut self) {
        for frame in self.frames.iter() {
            let face = LpPacketView::decode(frame).ok().and_then(|packet| packet.incoming_face_id);
            let owner = |face: &u64| {
                self.faces.with_number(*face).and_then(|id| self.faces.get(id)).is_some_and(|face| face.owner)
            };
            if !face.is_some_and(|face| self.management.requests.push(face, owner(&face), frame)) {
                self.totals.requests += 1;
            }
        }
    }

    fn inject(&mut self, now: Time, data: Option<Vec<u8>>) {
        if let Some(data) = data {
            self.forwarder.receive(now, self.management.id, &data);
        }
    }

    fn answer(&mut self, frame: &[u8], at: Timestamps) -> Option<Vec<u8>> {
        let packet = LpPacketView::decode(frame).ok()?;
        let from = self.faces.with_number(packet.incoming_face_id?)?;
        let SocketFace { number, local, owner, registers, .. } = self.faces.get(from)?;
        let from = Requester { face_id: *number, local: *local, owner: *owner, registers: *registers };
        let interest = InterestView::decode(packet.fragment.filter(|_| packet.nack.is_none())?).ok()?;
        self.with_management(|management, daemon| management.interest(&interest, from, at, daemon))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::Config;
    use crate::mgmt::ManagedForwarder;

    fn daemon(faces: &[&str]) -> (Daemon, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config { unix: Some(dir.path().join("s")), ..Config::default() };
        for uri in faces {
            let uri: FaceUri = uri.parse().unwrap();
            config.routes.push(RouteSpec::new("/a".parse().unwrap(), uri.clone(), 0));
            config.face(uri);
        }
        (Daemon::new(config).unwrap(), dir)
    }

    #[test]
    fn the_routes_of_a_face_go_with_it_however_much_else_happens_to_faces() {
        let (mut daemon, _dir) = daemon(&["udp4://127.0.0.1:9", "udp4://127.0.0.1:10"]);
        let now = daemon.clock.now();
        daemon.manage(now);
        assert_eq!(daemon.management.protocol.as_ref().unwrap().rib().len(), 2);
        let id = daemon.faces.with_uri(&"udp4://127.0.0.1:9".parse().unwrap()).unwrap();
        for _ in 0..3 * MAX_EVENTS {
            daemon.note_event(FaceEventKind::Up, id);
        }
        daemon.close(now, id, "test");
        for _ in 0..3 * MAX_EVENTS / MAX_TURNS {
            daemon.manage(now);
            assert!(daemon.management.events.len() <= MAX_EVENTS, "{}", daemon.management.events.len());
        }
        assert_eq!((daemon.management.events.len(), daemon.management.protocol.as_ref().unwrap().rib().len()), (0, 1));
    }

    #[test]
    fn no_route_for_names_of_the_management_is_accepted_and_the_rib_is_unchanged() {
        let (mut daemon, _dir) = daemon(&["udp4://127.0.0.1:9"]);
        let now = daemon.clock.now();
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let stream = crate::face::stream::Stream::Unix(near);
        let id = daemon.add_stream(now, stream, FaceUri::Unix("/x".into()), true).unwrap();
        let face_id = daemon.faces.number(id);
        for prefix in ["/localhost/nfd", "/localhost/nfd/faces/list"] {
            let parameters = crate::mgmt::ControlParameters {
                face_id,
                ..crate::mgmt::ControlParameters::of_name(prefix.parse().unwrap())
            };
            let rejected = daemon.with_management(|management, daemon| management.register(parameters, now, daemon));
            assert_eq!(rejected.unwrap().unwrap_err().code, 403, "{prefix}");
            let prefix: Name = prefix.parse().unwrap();
            assert_eq!(daemon.set_next_hop(prefix.as_view(), face_id.unwrap(), 0).unwrap_err().code, 403);
        }
        assert_eq!(daemon.management.protocol.as_ref().unwrap().rib().len(), 1);
    }

    #[test]
    fn the_traffic_of_a_face_is_counted_after_it_is_removed() {
        let (mut daemon, _dir) = daemon(&["udp4://127.0.0.1:9"]);
        let now = daemon.clock.now();
        let id = daemon.faces.with_uri(&"udp4://127.0.0.1:9".parse().unwrap()).unwrap();
        let interest = ndnweir_wire::InterestBuilder::new("/b".parse::<ndnweir_wire::Name>().unwrap().as_view())
            .nonce([1, 2, 3, 4])
            .encode()
            .unwrap();
        daemon.forwarder.receive(now, id, &interest);
        daemon.send_all(now);
        let before = daemon.status();
        // It came, and a NoRoute NACK was returned.
        assert_eq!((before.in_interests, before.out_nacks), (1, 1));
        daemon.close(now, id, "test");
        assert_eq!(daemon.status(), before_without_face(before));
    }

    /// Only the tables are smaller.
    fn before_without_face(before: crate::mgmt::dataset::ForwarderStatus) -> crate::mgmt::dataset::ForwarderStatus {
        crate::mgmt::dataset::ForwarderStatus { fib_entries: before.fib_entries - 1, ..before }
    }

    #[test]
    fn requests_that_the_management_has_no_time_for_are_bounded_and_counted() {
        let (mut daemon, _dir) = daemon(&[]);
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let now = daemon.clock.now();
        let stream = crate::face::stream::Stream::Unix(near);
        let id = daemon.add_stream(now, stream, FaceUri::Unix("/x".into()), true).unwrap();
        for i in 0..5000_u32 {
            let name: ndnweir_wire::Name = format!("/localhost/nfd/x/y/{i}").parse().unwrap();
            let interest = ndnweir_wire::InterestBuilder::new(name.as_view()).nonce(i.to_be_bytes()).encode().unwrap();
            daemon.forwarder.receive(now, id, &interest);
            daemon.send_all(now);
        }
        assert_eq!((daemon.management.requests.len(), daemon.totals.requests), (1024, 5000 - 1024));
    }
}

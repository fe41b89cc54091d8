//! The management protocol's place in the process: an application on an internal face.

use super::config::{ConfigError, FaceSpec, RouteSpec};
use super::links::{Link, STATIC, Transport};
use super::{Daemon, RunError};
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::FaceEventKind;
use crate::mgmt::{Management, Moment, Requester};
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::Time;
use ndnweir_wire::{DataView, InterestView, LpPacketView};

/// Requests and notifications taken at a time, before packets have their turn.
const MAX_TURNS: usize = 64;
/// Notifications kept for the management.
const MAX_EVENTS: usize = 1024;

impl Daemon {
    /// Opens the internal face, if applications may manage the forwarder.
    pub(super) fn start_management(&mut self, now: Time) -> Result<(), RunError> {
        if !self.config.management {
            return Ok(());
        }
        let spec = FaceSpec::new(FaceUri::Unix("/internal".into()));
        self.inside = self.add(now, &spec, Transport::Management, true, false)?;
        let prefixes = self.management.as_ref().map(Management::prefixes).unwrap_or_default();
        for prefix in prefixes {
            self.forwarder.add_next_hop(now, prefix.as_view(), self.inside, 0).map_err(ConfigError::new)?;
        }
        Ok(())
    }

    /// Lets the management work on this forwarder; none while it does so already.
    pub(super) fn with_management<T>(&mut self, work: impl FnOnce(&mut Management, &mut Daemon) -> T) -> Option<T> {
        let mut management = self.management.take()?;
        let done = work(&mut management, self);
        self.management = Some(management);
        Some(done)
    }

    pub(super) fn remove_configured_route(&mut self, route: &RouteSpec) {
        let Some(face_id) = self.face_of(&route.to).and_then(|id| Some(self.links[id.index()].as_ref()?.id)) else {
            return;
        };
        self.with_management(|management, daemon| {
            management.unregister(route.prefix.as_view(), face_id, STATIC, daemon);
        });
    }

    /// Takes note of what happened to a face, to be told when the management is free.
    pub(super) fn note_event(&mut self, kind: FaceEventKind, id: FaceId) {
        if let Some(status) = self.face_status(id) {
            self.face_events.push_back((kind, status));
        }
    }

    /// Gives the management what is for it, and sends what it answers.
    pub(super) fn manage(&mut self, now: Time) {
        let at = Moment { now, unix: self.clock.unix() };
        self.with_management(|management, daemon| {
            if management.next_timeout() <= now {
                management.handle_timeout(now, daemon);
            }
        });
        for _ in 0..MAX_TURNS {
            if let Some((kind, face)) = self.face_events.pop_front() {
                let told = self.with_management(|management, daemon| management.face_event(kind, &face, daemon));
                // Those who ask later get it from the management.
                let waited_for =
                    |data: &Vec<u8>| DataView::decode(data).is_ok_and(|data| self.forwarder.is_waited_for(&data));
                let told = told.flatten().filter(waited_for);
                self.inject(now, told);
            } else if let Some(frame) = self.requests.pop_front() {
                let answer = self.answer(&frame, at);
                self.inject(now, answer);
            } else {
                return;
            }
            self.send_all(now);
        }
        // What is left has its turn after the next packets.
        self.face_events.truncate(MAX_EVENTS);
        self.next_housekeeping = now;
    }

    fn inject(&mut self, now: Time, data: Option<Vec<u8>>) {
        if let Some(data) = data {
            self.forwarder.receive(now, self.inside, &data);
        }
    }

    fn answer(&mut self, frame: &[u8], at: Moment) -> Option<Vec<u8>> {
        let packet = LpPacketView::decode(frame).ok()?;
        let from = self.by_id.get(&packet.incoming_face_id?)?;
        let Link { id, local, owner, .. } = self.links[from.index()].as_ref()?;
        let from = Requester { face_id: *id, local: *local, owner: *owner };
        let interest = InterestView::decode(packet.fragment.filter(|_| packet.nack.is_none())?).ok()?;
        self.with_management(|management, daemon| management.interest(&interest, from, at, daemon))?
    }
}

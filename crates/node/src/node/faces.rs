//! Faces: added, replaced and counted.

use super::Node;
use crate::config::FaceConfig;
use crate::counters::FaceCounters;
use crate::egress::{Egress, Parts};
use crate::error::FaceError;
use crate::face::{Face, OwnQueue};
use crate::flows::FlowCounter;
use crate::streams;
use ndnweir_core::ids::FaceId;
use ndnweir_core::strategy::Strategy;
use ndnweir_core::units::Time;

impl Node {
    /// Makes room for exactly so many more faces.
    pub fn reserve_faces(&mut self, more: usize) {
        self.faces.reserve_exact(more);
        self.due.reserve_exact(more);
    }

    /// Adds a face; the first is number 0.
    ///
    /// # Errors
    /// If there are 65,535 already.
    pub fn add_face(&mut self, config: FaceConfig) -> Result<FaceId, FaceError> {
        let face = match u16::try_from(self.faces.len()) {
            Ok(number) if FaceId(number) != FaceId::NONE => FaceId(number),
            _ => return Err(FaceError::TooMany),
        };
        let built = self.build_face(face, config);
        self.faces.push(built);
        self.due.push(Time::NEVER);
        self.notify_face(face);
        Ok(face)
    }

    /// Puts a new face in place of one that is down (see [`Node::set_up`]). What is still pending from or to the former
    /// face then concerns the new one, so a driver waits for longer than Interests live.
    ///
    /// # Errors
    /// If there is no such face, or it is up.
    pub fn replace_face(&mut self, face: FaceId, config: FaceConfig) -> Result<(), FaceError> {
        if self.faces.get(face.index()).is_none_or(|face| face.egress.is_up()) {
            return Err(FaceError::NotReplaceable(face));
        }
        self.faces[face.index()] = self.build_face(face, config);
        self.due[face.index()] = Time::NEVER;
        self.note_down(false);
        self.notify_face(face);
        Ok(())
    }

    fn build_face(&self, face: FaceId, config: FaceConfig) -> Face {
        let plan = &self.plan;
        let instance = u64::from(face.0);
        let mut layout = plan.layout.clone();
        let parts = Parts {
            marker: plan.marker(config.marker.as_ref()),
            marker_rng: plan.stream(streams::MARKER, instance),
            discipline: plan.discipline(config.discipline.as_ref()),
            discipline_rng: plan.stream(streams::DISCIPLINE, instance),
        };
        Face {
            egress: Egress::new(face, &config, parts, plan.force_events),
            shaper: plan.scheme.shaper(&mut layout),
            shaper_rng: plan.stream(streams::SHAPER, instance),
            open: false,
            return_rate: config.return_rate,
            interests_in: Default::default(),
            flows: FlowCounter::new(self.flow_hash),
            own: (config.marker.is_some() || config.discipline.is_some())
                .then(|| Box::new(OwnQueue { marker: config.marker, discipline: config.discipline })),
        }
    }

    /// Notifies the strategies of a face.
    pub(super) fn notify_face(&mut self, face: FaceId) {
        let egress = &self.faces[face.index()].egress;
        for instance in self.strategies.each() {
            instance.strategy.on_face(face, egress.is_local(), egress.is_up());
        }
    }

    /// The totals of a face's egress and the state of its queue at `now`; all zero for a face that does not exist.
    pub fn face_counters(&mut self, now: Time, face: FaceId) -> FaceCounters {
        if face.index() >= self.faces.len() {
            return FaceCounters::default();
        }
        self.advance(now, face);
        self.faces[face.index()].egress.snapshot()
    }
}

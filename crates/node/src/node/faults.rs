//! Faults: rates that change, faces that go down, the node that loses its memory; and components from outside.
//!
//! The driver of a settled egress holds packets that have not left yet, so each call returns what happens to those.

use super::Node;
use super::extras::Extras;
use ndnweir_core::ids::FaceId;
use ndnweir_core::meter::Meter;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{AnyDiscipline, AnyMarker, AnyMeter, AnyShaper, AnyStrategy};
use ndnweir_core::shaper::Shaper;
use ndnweir_core::units::{Rate, Time};

impl Node {
    /// Changes the rate of a face from `now` on; the packet on the wire continues with what is left of it. At rate zero
    /// nothing leaves; without a rate everything leaves at once. Pushes the new (start, end) of the latest Transmits of
    /// that face, oldest first: all that had not left completely.
    pub fn set_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>, departures: &mut Vec<(Time, Time)>) {
        let Some(found) = self.faces.get_mut(face.index()) else { return };
        found.egress.set_rate(now, rate, departures, &mut self.out, &mut self.trace);
        let due = found.egress.due();
        self.note_due(face, due);
    }

    /// Changes how much may wait at a face that has a rate; what waits already stays.
    pub fn set_limit(&mut self, face: FaceId, limit: Limit) {
        if let Some(found) = self.faces.get_mut(face.index()) {
            found.egress.set_limit(limit);
        }
    }

    /// Sets whether the face's rate is learned, and nothing has shown that it bounds what is sent; see
    /// [`FaceView::open`](ndnweir_core::shaper::FaceView::open).
    pub fn set_open(&mut self, face: FaceId, open: bool) {
        if let Some(found) = self.faces.get_mut(face.index()) {
            found.open = open;
        }
    }

    /// Changes the rate at which the neighbour sends back, which shapers and meters may use. The face's shaper releases
    /// what it holds at the new rate at the node's next hook.
    pub fn set_return_rate(&mut self, face: FaceId, rate: Option<Rate>) {
        if let Some(found) = self.faces.get_mut(face.index()) {
            found.return_rate = rate;
            if self.shapes() {
                self.touched.push(face);
            }
        }
    }

    /// Takes a face down or up. A face that is down loses its queue, what it is offered and what arrives on it, each
    /// counted as [`crate::DropCause::Down`]. Returns how many of the latest Transmits of that face never left
    /// completely.
    pub fn set_up(&mut self, now: Time, face: FaceId, up: bool) -> usize {
        let Some(found) = self.faces.get_mut(face.index()) else { return 0 };
        let was_up = found.egress.is_up();
        let lost = found.egress.set_up(now, up, &mut self.out, &mut self.trace);
        let due = found.egress.due();
        self.note_due(face, due);
        if was_up != up {
            self.note_down(!up);
        }
        self.notify_face(face);
        lost
    }

    /// The node loses its PIT, content store, queues and the state of its components and starts again; the FIB, the
    /// faces and their rates stay. Returns, by face, how many of its latest Transmits never left completely.
    pub fn crash(&mut self, now: Time) -> Vec<usize> {
        let mut lost = Vec::with_capacity(self.faces.len());
        for face in &mut self.faces {
            lost.push(face.egress.flush(now, &mut self.out, &mut self.trace));
            face.flows.clear();
        }
        self.due.fill(Time::NEVER);
        (self.egress_wake, self.shaper_wake) = (Time::NEVER, Time::NEVER);
        self.counters.lost += self.usual.pending;
        self.usual.pending = 0;
        self.touched.clear();
        self.reports.clear();
        self.pit.clear();
        self.cs.clear();
        self.dead.clear();
        self.extras.set(Extras::DEAD.and(Extras::HOLDS), false);
        self.rebuild(now);
        self.initialise_strategies(now);
        lost
    }

    /// Fresh components. Their random streams continue, so that the time after a crash does not repeat the one before.
    fn rebuild(&mut self, now: Time) {
        let plan = &self.plan;
        let mut layout = plan.layout.clone();
        self.strategies.rebuild(&plan.layout);
        self.meter = plan.scheme.meter(&mut layout);
        for face in &mut self.faces {
            let marker = plan.marker(face.own.as_ref().and_then(|own| own.marker.as_ref()));
            let discipline = plan.discipline(face.own.as_ref().and_then(|own| own.discipline.as_ref()));
            face.egress.replace(now, Some(marker), Some(discipline), &mut self.out, &mut self.trace);
            face.shaper = plan.scheme.shaper(&mut layout);
        }
        self.note_plan();
    }

    /// Installs a component from outside the registry, before traffic flows. A crash restores the scheme's own.
    pub fn install(&mut self, now: Time, part: Custom) {
        match part {
            Custom::Strategy(strategy) => {
                self.strategies.root_mut().set_strategy(strategy);
                self.note_parts();
                self.initialise_strategies(now);
            }
            Custom::Meter(meter) => {
                self.extras.set(Extras::METERS, !meter.is_none());
                self.meter = meter;
                self.note_counting();
            }
            Custom::Shaper(face, shaper) => {
                if !shaper.is_none() {
                    self.extras.set(Extras::SHAPES, true);
                    self.note_counting();
                    self.strategies.shape_root();
                }
                if let Some(found) = self.faces.get_mut(face.index()) {
                    found.shaper = shaper;
                }
            }
            Custom::Queue(face, marker, discipline) => {
                if let Some(found) = self.faces.get_mut(face.index()) {
                    found.egress.replace(now, marker, discipline, &mut self.out, &mut self.trace);
                }
            }
        }
    }
}

/// A component from outside the registry, for one node or face.
pub enum Custom {
    /// The strategy of all names that have no choice of their own.
    Strategy(AnyStrategy),
    /// The node's meter.
    Meter(AnyMeter),
    /// A face's shaper.
    Shaper(FaceId, AnyShaper),
    /// A face's marker, discipline or both; what its queue holds is lost.
    Queue(FaceId, Option<AnyMarker>, Option<AnyDiscipline>),
}

//! What a node does as time passes: egresses advance, entries of the PIT expire, components are woken.

use super::extras::Extras;
use super::{MAX_REPORTS, Node};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::FaceId;
use ndnweir_core::meter::Meter;
use ndnweir_core::shaper::{FaceView, Shaper};
use ndnweir_core::units::{Duration, Time};

impl Node {
    /// When [`Node::handle_timeout`] must be called: perhaps early, never late, and due at once if it has passed;
    /// [`Time::NEVER`] if not at all.
    #[inline(always)]
    pub fn poll_timeout(&self) -> Time {
        let tables = self.pit.next_expiry().min(self.egress_wake);
        if self.extras.any(Extras::WAKES.and(Extras::HOOKS)) { tables.min(self.next_wake()) } else { tables }
    }

    /// When components want to be woken.
    #[inline(always)]
    fn next_wake(&self) -> Time {
        let others = self.extras.any(Extras::WAKES.and(Extras::SHAPES));
        if others { self.meter_wake.min(self.next_wake_of_others()) } else { self.meter_wake }
    }

    /// When strategies and shapers do.
    #[inline(never)]
    fn next_wake_of_others(&self) -> Time {
        let mut components = if self.extras.any(Extras::WAKES) { self.strategies.next_wake() } else { Time::NEVER };
        if self.shapes() {
            components = components.min(self.shaper_wake);
        }
        components.max(self.first_wake())
    }

    /// A component that requests the same instant repeatedly must not stop time.
    fn first_wake(&self) -> Time {
        self.woken + Duration::from_nanos(1)
    }

    /// After the meter was woken or replaced.
    pub(super) fn note_meter_wake(&mut self) {
        self.meter_wake = if self.meters() { self.meter.next_wake().max(self.first_wake()) } else { Time::NEVER };
    }

    /// Whether the tables that were read of a kept state are such as a node has: with others it might never return.
    pub fn is_sound(&mut self) -> bool {
        self.pit.is_sound() && self.cs.is_sound()
    }

    /// The time of [`Node::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.egress_wake <= now {
            self.advance_due(now);
        }
        while let Some(slot) = self.pit.expire(now) {
            self.on_expiry(now, slot);
        }
        self.wake_components(now);
    }

    fn advance_due(&mut self, now: Time) {
        let mut earliest = Time::NEVER;
        for (face, due) in self.faces.iter_mut().zip(&mut self.due) {
            if *due <= now {
                face.egress.advance(now, &mut self.out, &mut self.trace);
                *due = face.egress.due();
            }
            earliest = earliest.min(*due);
        }
        self.egress_wake = earliest;
    }

    fn wake_components(&mut self, now: Time) {
        self.woken = self.woken.max(now);
        if self.meter_wake <= now {
            let mut views = std::mem::take(&mut self.views);
            views.clear();
            views.extend((0..self.faces.len()).map(|i| self.view(now, FaceId(i as u16))));
            let mut ctx = Ctx { now, rng: &mut self.meter_rng, trace: &mut self.trace };
            self.meter.on_period(&views, &mut self.reports, &mut ctx);
            self.views = views;
            self.reports.truncate(MAX_REPORTS);
            self.note_meter_wake();
        }
        if self.shapes() && self.shaper_wake <= now {
            for (i, face) in self.faces.iter().enumerate() {
                if face.shaper.next_wake() <= now {
                    self.touched.push(FaceId(i as u16));
                }
            }
            self.shaper_wake = Time::NEVER;
        }
        let strategy = self.strategies.next_wake() <= now;
        self.release(now, strategy);
        if self.shapes() {
            self.shaper_wake = self.faces.iter().map(|face| face.shaper.next_wake()).min().unwrap_or(Time::NEVER);
        }
    }

    /// What components see of a face at `now`.
    pub(super) fn view(&mut self, now: Time, face: FaceId) -> FaceView {
        self.advance(now, face);
        self.faces[face.index()].view(face)
    }

    pub(super) fn advance(&mut self, now: Time, face: FaceId) {
        let egress = &mut self.faces[face.index()].egress;
        egress.advance(now, &mut self.out, &mut self.trace);
        let due = egress.due();
        self.note_due(face, due);
    }

    #[inline]
    pub(super) fn note_due(&mut self, face: FaceId, due: Time) {
        if due != self.due[face.index()] {
            self.due[face.index()] = due;
            self.egress_wake = self.egress_wake.min(due);
        }
    }
}

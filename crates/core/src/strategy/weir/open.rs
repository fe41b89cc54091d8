//! Ways of which no link has told a level, though all would: they have room, and it is found by filling them.

use super::entry::{Entry, NEVER_NOTHING};
use super::hop::Hop;
use crate::ids::FaceId;
use crate::units::Time;

/// What a way counts as that has not been full yet, over the mean level of the others.
const OPEN_LEVELS: f64 = 2.0;

impl Entry {
    /// No link on the way by `face` has shown yet that it bounds what is sent: it counts as a multiple of the others.
    pub(super) fn guess(&mut self, now: Time, face: FaceId) -> bool {
        let others = |hop: &&Hop| hop.level > 0.0 && !hop.is_open && hop.face != face;
        let all: f64 = self.hops.iter().filter(others).map(|hop| hop.share).sum();
        let mean = self.hops.iter().filter(others).map(|hop| hop.share * hop.level).sum::<f64>() / all;
        if !self.hops.iter().any(|hop| hop.was_open) {
            self.hops.iter_mut().for_each(|hop| hop.part = hop.share);
        }
        let Some(hop) = self.hops.iter_mut().find(|hop| hop.face == face) else { return false };
        hop.was_open = true;
        // Without others to compare it to, and where one fell silent that had told a level, nothing is known.
        if all <= 0.0 || (hop.level > 0.0 && !hop.is_open) {
            return false;
        }
        (hop.level, hop.is_open, hop.seen) = (OPEN_LEVELS * mean, true, now);
        true
    }

    /// The way by `face` tells its first level, and was open. Each such way was filled by itself and carried what it can:
    /// shares become the parts that they got, and of those whose links are known what came at most.
    pub(super) fn end_open(&mut self, now: Time, face: FaceId, level: f64) {
        let is_known = |hop: &Hop| hop.was_open && hop.round.best > 0.0 && (hop.face == face || !hop.has_none());
        self.hops.iter_mut().for_each(|hop| hop.share = hop.part.max(NEVER_NOTHING));
        let known = || self.hops.iter().filter(|hop| is_known(hop));
        let all: f64 = known().map(|hop| hop.share).sum();
        let best: f64 = known().map(|hop| hop.round.best).sum();
        let others = known().count() > 1;
        self.hops.iter_mut().filter(|hop| is_known(hop)).for_each(|hop| hop.share = all * hop.round.best / best);
        self.normalise();
        if others {
            self.begun = Some(now);
        }
        if let Some(hop) = self.hops.iter_mut().find(|hop| hop.face == face) {
            hop.first = Some((now, level));
        }
    }

    /// Whether a mark of a Data from `face` is for this node alone: where ways are open, each without a level has rounds of
    /// its own, and others can take what no longer goes there.
    pub(super) fn keeps_mark(&self, now: Time, face: FaceId) -> bool {
        let takes_more = |hop: &Hop| hop.face != face && hop.answers(now) && (!hop.has_none() || hop.round.grows());
        self.hops.iter().any(|hop| hop.was_open)
            && self.hops.iter().any(|hop| hop.face == face && hop.has_none())
            && self.hops.iter().any(takes_more)
    }
}

//! Prefixes with a next hop that tells no level: its neighbour writes none, or a link on its way has a rate that nobody
//! knows. Levels of the others say nothing of it, so that marks and round trips share the Interests of all.

use super::entry::{Entry, NEVER_NOTHING};
use super::hop::Hop;
use crate::ids::FaceId;

/// So many more Data without a level than with one show that a next hop tells none, and so many the other way that it does
/// (ours): a copy from elsewhere, or a mark that lasts for a moment, changes nothing.
const ENOUGH: u8 = 16;

impl Hop {
    /// A Data from it tells a level, or does not.
    fn count_untold(&mut self, tells: bool) {
        self.untold = if tells { self.untold.saturating_sub(1) } else { (self.untold + 1).min(ENOUGH) };
        match self.untold {
            0 => self.is_untold = false,
            ENOUGH => self.is_untold = true,
            _ => {}
        }
    }
}

impl Entry {
    /// Whether a next hop tells no level, and another strategy shares the Interests.
    pub(super) const fn falls_back(&self) -> bool {
        self.falls_back
    }

    /// A Data from `face` tells a level, or does not; whether the prefix falls back now.
    pub(super) fn count_untold(&mut self, face: FaceId, tells: bool) -> bool {
        if let Some(hop) = self.hops.iter_mut().find(|hop| hop.face == face) {
            hop.count_untold(tells);
        }
        self.judge()
    }

    /// Whether the prefix falls back now.
    pub(super) fn judge(&mut self) -> bool {
        self.falls_back = self.hops.len() > 1 && self.hops.iter().any(|hop| hop.is_untold);
        self.falls_back
    }

    /// Levels count again. Those of before are forgotten; shares are what next hops had in the meantime.
    pub(super) fn begin_again(&mut self, shares: impl Iterator<Item = (FaceId, f64)>) {
        for (face, share) in shares {
            if let Some(hop) = self.hops.iter_mut().find(|hop| hop.face == face) {
                *hop = hop.without_levels(share.max(NEVER_NOTHING));
            }
        }
        self.begun = None;
        self.normalise();
    }
}

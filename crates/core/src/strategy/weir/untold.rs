//! Prefixes with a next hop that tells no level: its neighbour writes none, a link on its way has a rate that nobody knows,
//! or consumers ask for none. Levels of the others say nothing of it, so that marks and round trips share the Interests of
//! all.

use super::super::DataReturn;
use super::entry::{Entry, NEVER_NOTHING};
use super::hop::Hop;
use crate::ids::FaceId;
use crate::shared::weir::{Slots, UNKNOWN};

/// So many more Data without a level than with one show that a next hop tells none, and so many the other way that it does
/// (ours): a copy from elsewhere, or a mark that lasts for a moment, changes nothing.
const ENOUGH: u8 = 16;
/// Of Data that no level was asked of it takes so many in a row (ours): where some flows have levels, these share the
/// Interests of all.
const MANY: u8 = 128;

/// What a Data says of its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// That it tells levels.
    Level,
    /// That it tells none.
    Nothing,
    /// Nothing at all: the Interest stated no pace, so that no level is told, or an application of this node answered.
    Unasked,
}

impl Told {
    pub(super) fn by(event: &DataReturn<'_>, slots: Slots) -> Told {
        let fields = &event.packet.fields;
        if fields.get(slots.rate) != 0 && fields.get(slots.soft) != UNKNOWN {
            Told::Level
        } else if event.local || event.interest_fields.get(slots.rate) == 0 {
            Told::Unasked
        } else {
            Told::Nothing
        }
    }
}

impl Hop {
    /// Whether that changes what is thought of it.
    fn count_untold(&mut self, told: Told) -> bool {
        let before = self.is_untold;
        match told {
            Told::Level => (self.unasked, self.untold) = (0, self.untold.saturating_sub(1)),
            Told::Nothing => self.untold = (self.untold + 1).min(ENOUGH),
            Told::Unasked => {
                self.unasked = self.unasked.saturating_add(1).min(MANY);
                if self.unasked == MANY {
                    self.untold = ENOUGH;
                }
            }
        }
        match self.untold {
            0 => self.is_untold = false,
            ENOUGH => self.is_untold = true,
            _ => {}
        }
        self.is_untold != before
    }
}

impl Entry {
    /// Whether a next hop tells no level, and another strategy shares the Interests.
    pub(super) const fn falls_back(&self) -> bool {
        self.falls_back
    }

    /// What a Data from `face` tells; whether the prefix changes over.
    pub(super) fn count_untold(&mut self, face: FaceId, told: Told) -> bool {
        let hop = self.hops.iter_mut().find(|hop| hop.face == face);
        hop.is_some_and(|hop| hop.count_untold(told)) && self.judge()
    }

    /// The prefix falls back while of those of least cost, if there are several, one tells no level. Whether it changes over.
    pub(super) fn judge(&mut self) -> bool {
        let least = self.hops.iter().map(|hop| hop.cost).min();
        let cheapest = || self.hops.iter().filter(|hop| Some(hop.cost) == least);
        let falls_back = cheapest().any(|hop| hop.is_untold) && cheapest().nth(1).is_some();
        std::mem::replace(&mut self.falls_back, falls_back) != falls_back
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

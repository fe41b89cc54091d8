//! What the consumer, meter and strategy of `weir` tell each other in header fields.

use crate::component::Env;
use crate::fields::{Field, Slot};
use crate::shared::explicit::of_field;
use crate::units::Duration;

/// The fields that each part uses.
pub const FIELDS: &[Field] = &[Field::ExplicitRate, Field::SecondaryRate, Field::RoundTrip];
/// Those of the strategy, which tells fetches of longer ways beside.
pub const STRATEGY_FIELDS: &[Field] = &[Field::ExplicitRate, Field::SecondaryRate, Field::RoundTrip, Field::LongerWay];
/// What [`Slots::soft`] says where the rate of a link on the way is unknown: the least number, which no level has.
pub const UNKNOWN: u32 = 1;
/// What [`Slots::rate`] of a Data says where routers write levels and no link of known rate was on the way, only ones whose
/// rate is still to be learned: the largest number.
pub const OPEN: u32 = u32::MAX;

/// A way that brought no Data for so long was away, and what it held is lost, which says nothing of queues. As long as a
/// link of stated rate may be behind it.
pub const OUTAGE: Duration = Duration::from_millis(100);
/// The largest share of losses that says nothing.
pub const NOISE: f64 = 0.1;
/// Over so many the share of losses is averaged.
const LOSS_MEMORY: f64 = 256.0;

/// The level in bit/s that a Data carries; none if no link has told one.
pub fn level_of(field: u32) -> Option<f64> {
    of_field(field).filter(|_| field != OPEN)
}

/// The share of losses of late.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct Losses(f64);

impl Losses {
    /// One more that was lost or was not.
    pub fn count(&mut self, lost: bool) {
        self.0 += (f64::from(u8::from(lost)) - self.0) / LOSS_MEMORY;
    }

    /// From 0 to 1.
    pub fn share(&self) -> f64 {
        self.0
    }
}

/// Where the fields are.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Slots {
    /// Interests: the pace of their consumer. Data: the least level of the path so far.
    pub rate: Slot,
    /// Data: the soft least of the levels, or [`UNKNOWN`].
    pub soft: Slot,
    /// Interests: the round trip of their consumer.
    pub round_trip: Slot,
}

impl Slots {
    /// Those of a run.
    pub fn new(env: &mut Env<'_>) -> Slots {
        Slots {
            rate: env.slot(Field::ExplicitRate),
            soft: env.slot(Field::SecondaryRate),
            round_trip: env.slot(Field::RoundTrip),
        }
    }
}

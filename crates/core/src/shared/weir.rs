//! What the consumer, meter and strategy of `weir` tell each other in header fields.

use crate::component::Env;
use crate::fields::{Field, Slot};

/// The fields that each part uses.
pub const FIELDS: &[Field] = &[Field::ExplicitRate, Field::SecondaryRate, Field::RoundTrip];
/// Those of the strategy, which tells fetches of longer ways beside.
pub const STRATEGY_FIELDS: &[Field] = &[Field::ExplicitRate, Field::SecondaryRate, Field::RoundTrip, Field::LongerWay];
/// What [`Slots::soft`] says where the rate of a link on the way is unknown: the least number, which no level has.
pub const UNKNOWN: u32 = 1;

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

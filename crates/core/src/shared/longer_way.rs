//! How much longer other ways take: what strategies that use several next hops write into Data.

use crate::fields::{Fields, Slot};
use crate::units::Duration;

/// A way counts as at most this much longer.
const LONGEST: Duration = Duration::from_millis(10_000);

/// Adds what the longest way in use takes `longer` from here to what it does upstream, in µs.
pub fn stamp(fields: &mut Fields, slot: Slot, longer: Duration) {
    let here = longer.min(LONGEST).nanos() / 1000;
    let all = u64::from(fields.get(slot)) + here;
    fields.set(slot, u32::try_from(all).unwrap_or(u32::MAX));
}

//! Congestion Status Filter: which signals reach the Cost Calculator.

use super::cache::Cache;
use super::topology::DataLink;
use crate::planner::PlannerCounters;
use crate::units::Time;

/// Whether a signal means mild congestion, by the occupancy in the cache; the tally counts the others.
pub(super) fn is_mild(cache: &Cache, link: DataLink, severe: f64, now: Time, tally: &mut PlannerCounters) -> bool {
    tally.signals += 1;
    tally.operations.filter += 1;
    match cache.state(link, now) {
        None => tally.unknown += 1,
        Some(state) if state.occupancy > severe => tally.sieved += 1,
        Some(_) => return true,
    }
    false
}

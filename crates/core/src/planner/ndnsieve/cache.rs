//! Global Information Cache: what routers last measured, and which routers are silent.

use super::topology::{DataLink, MAX_ROUTERS};
use crate::ids::{FaceId, PrefixId};
use crate::planner::RouterId;
use crate::units::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// Interfaces, and rates, kept at most.
const MAX_ENTRIES: usize = 1 << 20;

/// β and ε of one interface.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub(super) struct InterfaceState {
    /// Equation 1.
    pub(super) utilization: f64,
    /// Equation 2.
    pub(super) occupancy: f64,
    measured: Time,
    received: Time,
}

/// What routers last measured.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Cache {
    states: BTreeMap<(RouterId, FaceId), InterfaceState>,
    rates: BTreeMap<(RouterId, PrefixId, FaceId), Rate>,
    /// By router: when it last reported an interface.
    received: BTreeMap<RouterId, Time>,
    /// How long silence makes a router stale.
    patience: Duration,
}

impl Cache {
    /// An empty cache for which `patience` of silence makes a router stale.
    pub(super) fn new(patience: Duration) -> Cache {
        Cache { patience, ..Cache::default() }
    }

    /// A report has arrived. Invalid and outdated reports are ignored.
    pub(super) fn report(&mut self, link: DataLink, measured: Time, utilization: f64, occupancy: f64, now: Time) {
        let known = self.states.get(&link);
        let sane = utilization.is_finite() && utilization >= 0.0 && (0.0..=1.0).contains(&occupancy);
        let full = self.states.len() >= MAX_ENTRIES && known.is_none();
        if !sane || full || link.0.0 as usize >= MAX_ROUTERS || known.is_some_and(|known| known.measured > measured) {
            return;
        }
        self.states.insert(link, InterfaceState { utilization, occupancy, measured, received: now });
        self.received.insert(link.0, now);
    }

    /// A rate has arrived.
    pub(super) fn rate(&mut self, router: RouterId, prefix: PrefixId, face: FaceId, rate: Rate) {
        let key = (router, prefix, face);
        if self.rates.len() < MAX_ENTRIES || self.rates.contains_key(&key) {
            self.rates.insert(key, rate);
        }
    }

    /// The state of an interface; none if it is unknown or its router has been silent about it for too long.
    pub(super) fn state(&self, link: DataLink, now: Time) -> Option<InterfaceState> {
        self.states.get(&link).copied().filter(|state| now.since(state.received) <= self.patience)
    }

    /// Whether a router reports.
    pub(super) fn is_fresh(&self, router: RouterId, now: Time) -> bool {
        self.received.get(&router).is_some_and(|&received| now.since(received) <= self.patience)
    }

    /// How much Data of a prefix comes to a router by a face; none if the router never reported it.
    pub(super) fn rate_of(&self, router: RouterId, prefix: PrefixId, face: FaceId) -> Option<Rate> {
        self.rates.get(&(router, prefix, face)).copied()
    }

    /// How much Data of a prefix comes to a router by all faces; none if it never reported any.
    pub(super) fn total_rate(&self, router: RouterId, prefix: PrefixId) -> Option<Rate> {
        let of_prefix = self.rates.range((router, prefix, FaceId(0))..=(router, prefix, FaceId(u16::MAX)));
        of_prefix.map(|(_, rate)| rate.bps()).reduce(u64::saturating_add).map(Rate::from_bps)
    }

    /// Whether a router measures rates at all.
    pub(super) fn has_rates(&self, router: RouterId) -> bool {
        let (first, last) = ((router, PrefixId(0), FaceId(0)), (router, PrefixId(u32::MAX), FaceId(u16::MAX)));
        self.rates.range(first..=last).next().is_some()
    }

    /// Whether Data of a prefix comes to a router by a face, as far as it measures that.
    pub(super) fn carries(&self, router: RouterId, prefix: PrefixId, face: FaceId) -> bool {
        !self.has_rates(router) || self.rate_of(router, prefix, face).is_some_and(|rate| rate > Rate::ZERO)
    }
}

//! Which prefixes of a congested link are moved.

use super::cache::Cache;
use super::topology::{DataLink, RouterTable};
use crate::ctx::Rng;
use crate::ids::{FaceId, PrefixId};
use crate::planner::RouterId;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How prefixes are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// At random: line 6 of algorithm 1.
    Random,
    /// Those of the highest Data rate on the link (ours).
    HighestRate,
}

/// The router and interface that send Interests over a link whose Data `link` carries.
pub(super) fn downstream(topology: &RouterTable, link: DataLink) -> Option<(RouterId, FaceId)> {
    let interface = topology.interface(link.0, link.1)?;
    Some((interface.neighbour?, interface.peer?))
}

/// The prefixes whose Data a link carries: those the router behind it sends over it, and of which, as far as it
/// measures rates, Data comes.
pub(super) fn on_link(topology: &RouterTable, cache: &Cache, link: DataLink) -> Vec<PrefixId> {
    let Some((router, face)) = downstream(topology, link) else { return Vec::new() };
    let routes = topology.router(router).into_iter().flat_map(|router| &router.routes);
    let sent = routes.filter(|(_, route)| route.best() == Some(face)).map(|(&prefix, _)| prefix);
    sent.filter(|&prefix| cache.carries(router, prefix, face)).collect()
}

/// Num = max(1, round(a · FIBNum)).
pub(super) fn number(share: f64, fib_entries: u32) -> usize {
    libm::round(share * f64::from(fib_entries)).max(1.0) as usize
}

/// At most `count` of `prefixes`, all of the lowest priority among them.
pub(super) fn select(
    mut prefixes: Vec<PrefixId>,
    count: usize,
    how: Select,
    priority: impl Fn(PrefixId) -> u32,
    rate: impl Fn(PrefixId) -> Rate,
    rng: &mut Rng,
) -> Vec<PrefixId> {
    if let Some(lowest) = prefixes.iter().map(|&prefix| priority(prefix)).min() {
        prefixes.retain(|&prefix| priority(prefix) == lowest);
    }
    let count = count.min(prefixes.len());
    match how {
        Select::HighestRate => prefixes.sort_by_key(|&prefix| (std::cmp::Reverse(rate(prefix)), prefix)),
        Select::Random => rng.shuffle_front(&mut prefixes, count),
    }
    prefixes.truncate(count);
    prefixes
}

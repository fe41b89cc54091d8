//! FindShuntNode: which router can redirect a prefix around a congested link.

use super::cache::Cache;
use super::select::downstream;
use super::topology::{DataLink, RouterTable};
use crate::ids::{FaceId, PrefixId};
use crate::planner::RouterId;
use crate::units::Time;
use std::collections::BTreeSet;

/// Whether `router` has a next hop that leads to a producer of `prefix` without coming back, over the congested link or
/// past a silent router.
fn has_alternative(
    topology: &RouterTable,
    cache: &Cache,
    congested: DataLink,
    router: RouterId,
    prefix: PrefixId,
    now: Time,
    looked: &mut u64,
) -> bool {
    let Some(route) = topology.route(router, prefix) else { return false };
    let best = route.best();
    let others = route.planned().iter().map(|hop| hop.face).filter(|&face| Some(face) != best);
    others.into_iter().any(|face| {
        let path = topology.path(router, face, prefix, looked);
        path.is_some_and(|links| links.iter().all(|&link| link != congested && cache.is_fresh(link.0, now)))
    })
}

/// The shunt router for a prefix around a congested link: of the routers whose Interests of the prefix cross it, that
/// have an alternative (see [`has_alternative`]) and carry Data of the prefix, the one the fewest hops from it, and of
/// several such the one with the lowest number. Silent routers count as absent. `looked` counts routers and links.
pub(super) fn find_shunt(
    topology: &RouterTable,
    cache: &Cache,
    congested: DataLink,
    prefix: PrefixId,
    now: Time,
    looked: &mut u64,
) -> Option<RouterId> {
    let (first, face) = downstream(topology, congested)?;
    let sends = |router: RouterId, face: FaceId| topology.route(router, prefix).is_some_and(|r| r.best() == Some(face));
    if !sends(first, face) || !topology.interface(first, face)?.up {
        return None;
    }
    let mut layer = BTreeSet::from([first]);
    let mut seen = layer.clone();
    while !layer.is_empty() {
        for &router in layer.iter().filter(|&&router| cache.is_fresh(router, now)) {
            *looked += 1;
            let carries = topology.route(router, prefix).and_then(|route| route.best());
            if carries.is_some_and(|face| cache.carries(router, prefix, face))
                && has_alternative(topology, cache, congested, router, prefix, now, looked)
            {
                return Some(router);
            }
        }
        let mut further = BTreeSet::new();
        for &router in layer.iter().filter(|&&router| cache.is_fresh(router, now)) {
            for interface in topology.router(router).into_iter().flat_map(|router| router.faces.values()) {
                *looked += 1;
                let (Some(neighbour), Some(peer)) = (interface.neighbour, interface.peer) else { continue };
                let crosses = topology.interface(neighbour, peer).is_some_and(|back| back.up);
                if crosses && sends(neighbour, peer) && seen.insert(neighbour) {
                    further.insert(neighbour);
                }
            }
        }
        layer = further;
    }
    None
}

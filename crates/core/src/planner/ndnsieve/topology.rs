//! Topology Management: routers, links and next hops, as announced and as ordered.

use crate::ids::{FaceId, PrefixId};
use crate::planner::RouterId;
use crate::strategy::NextHop;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Router numbers are below this; others are ignored.
pub(super) const MAX_ROUTERS: usize = 1 << 16;
/// Pairs of router and prefix kept at most; later ones are not planned for.
pub(super) const MAX_ROUTES: usize = 1 << 20;

/// The cheapest next hop, the first of several.
pub(super) fn cheapest(hops: &[NextHop]) -> Option<FaceId> {
    hops.iter().min_by_key(|hop| hop.cost).map(|hop| hop.face)
}

/// A link, by the router and interface that send Data over it.
pub(super) type DataLink = (RouterId, FaceId);

/// An interface to another router.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub(super) struct Interface {
    /// The router behind it; none behind an application.
    pub(super) neighbour: Option<RouterId>,
    /// The neighbour's interface back.
    pub(super) peer: Option<FaceId>,
    /// Its capacity, as far as it is known.
    pub(super) rate: Option<Rate>,
    /// Whether it is up.
    pub(super) up: bool,
}

/// The next hops of one router for one prefix.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct PrefixNextHops {
    /// As routing gave them.
    pub(super) routing: Vec<NextHop>,
    /// As the router last reported.
    pub(super) in_force: Vec<NextHop>,
    /// As last ordered, until the router has confirmed.
    pub(super) ordered: Option<Vec<NextHop>>,
    /// When that was ordered.
    pub(super) given: Time,
    /// Best next hops that may be in force, as orders may be in transit, rejected or lost.
    pub(super) possible: Vec<FaceId>,
}

impl PrefixNextHops {
    /// As they are, or will be once the last order is carried out.
    pub(super) fn planned(&self) -> &[NextHop] {
        self.ordered.as_deref().unwrap_or(&self.in_force)
    }

    /// The planned best next hop.
    pub(super) fn best(&self) -> Option<FaceId> {
        cheapest(self.planned())
    }

    /// Whether the planner, not routing, chose the best next hop.
    pub(super) fn is_diverted(&self) -> bool {
        self.best() != cheapest(&self.routing)
    }

    pub(super) fn may_use(&mut self, face: Option<FaceId>) {
        if let Some(face) = face.filter(|face| !self.possible.contains(face)) {
            self.possible.push(face);
        }
    }
}

/// One router.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Router {
    /// Interfaces that lead somewhere else.
    pub(super) faces: BTreeMap<FaceId, Interface>,
    /// By prefix.
    pub(super) routes: BTreeMap<PrefixId, PrefixNextHops>,
}

/// All routers.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct RouterTable {
    routers: Vec<Router>,
    routes: usize,
}

impl RouterTable {
    /// A router that was announced.
    pub(super) fn router(&self, id: RouterId) -> Option<&Router> {
        self.routers.get(id.0 as usize)
    }

    fn router_mut(&mut self, id: RouterId) -> Option<&mut Router> {
        let index = id.0 as usize;
        if index >= MAX_ROUTERS {
            return None;
        }
        if index >= self.routers.len() {
            self.routers.resize(index + 1, Router::default());
        }
        self.routers.get_mut(index)
    }

    /// All routers in order.
    pub(super) fn routers(&self) -> impl Iterator<Item = (RouterId, &Router)> {
        self.routers.iter().enumerate().map(|(i, router)| (RouterId(i as u32), router))
    }

    /// An interface.
    pub(super) fn interface(&self, router: RouterId, face: FaceId) -> Option<&Interface> {
        self.router(router)?.faces.get(&face)
    }

    /// The next hops of a router for a prefix.
    pub(super) fn route(&self, router: RouterId, prefix: PrefixId) -> Option<&PrefixNextHops> {
        self.router(router)?.routes.get(&prefix)
    }

    /// The same, to change.
    pub(super) fn route_mut(&mut self, router: RouterId, prefix: PrefixId) -> Option<&mut PrefixNextHops> {
        self.routers.get_mut(router.0 as usize)?.routes.get_mut(&prefix)
    }

    /// Adds an interface; whether a known one has changed.
    pub(super) fn link(
        &mut self,
        id: RouterId,
        face: FaceId,
        neighbour: Option<RouterId>,
        rate: Option<Rate>,
        up: bool,
    ) -> bool {
        if neighbour.is_some_and(|n| n.0 as usize >= MAX_ROUTERS || n == id) {
            return false;
        }
        let Some(router) = self.router_mut(id) else { return false };
        let before = router.faces.insert(face, Interface { neighbour, peer: None, rate, up });
        for other in [before.and_then(|old| old.neighbour), neighbour].into_iter().flatten() {
            self.pair(id, other);
            self.pair(other, id);
        }
        before.is_some_and(|old| (old.neighbour, old.up) != (neighbour, up))
    }

    /// Finds the interfaces back from `b` to `a`. Parallel links pair up in the order of their numbers on both sides.
    fn pair(&mut self, a: RouterId, b: RouterId) {
        let back: Vec<FaceId> = self.router(b).map_or(Vec::new(), |router| faces_to(router, a).collect());
        let Some(router) = self.routers.get_mut(a.0 as usize) else { return };
        let faces: Vec<FaceId> = faces_to(router, b).collect();
        for (i, face) in faces.iter().enumerate() {
            if let Some(interface) = router.faces.get_mut(face) {
                interface.peer = back.get(i).copied();
            }
        }
    }

    /// Adds the costs of routing; whether it replaces others.
    pub(super) fn set_route(&mut self, id: RouterId, prefix: PrefixId, hops: &[NextHop]) -> bool {
        let full = self.routes >= MAX_ROUTES;
        let Some(router) = self.router_mut(id) else { return false };
        if full && !router.routes.contains_key(&prefix) {
            return false;
        }
        let new = !router.routes.contains_key(&prefix);
        let route = router.routes.entry(prefix).or_default();
        let changed = !new && route.routing != hops;
        // Orders in transit may still be carried out: their best next hops stay possible.
        let possible = if route.ordered.take().is_some() { std::mem::take(&mut route.possible) } else { Vec::new() };
        (route.routing, route.in_force, route.possible) = (hops.to_vec(), hops.to_vec(), possible);
        route.may_use(cheapest(hops));
        self.routes += usize::from(new);
        changed
    }

    /// Where an Interest goes from `router` by `face`, and the link its Data comes back by; the outer none if it goes
    /// nowhere, the inner one if to an application.
    pub(super) fn step(&self, router: RouterId, face: FaceId) -> Option<Option<(RouterId, DataLink)>> {
        let Some(interface) = self.interface(router, face) else { return Some(None) };
        let Some(neighbour) = interface.neighbour else { return Some(None) };
        match interface.peer {
            Some(peer) if interface.up => Some(Some((neighbour, (neighbour, peer)))),
            _ => None,
        }
    }

    /// The links by which Data comes to `router` if it sends Interests by `face` and every later router by its best
    /// next hop; none if they reach no producer or loop. `looked` counts the links.
    pub(super) fn path(
        &self,
        router: RouterId,
        face: FaceId,
        prefix: PrefixId,
        looked: &mut u64,
    ) -> Option<Vec<DataLink>> {
        let (mut at, mut out, mut links) = (router, face, Vec::new());
        while links.len() < self.routers.len() {
            *looked += 1;
            let Some((next, link)) = self.step(at, out)? else { return Some(links) };
            if next == router {
                return None;
            }
            links.push(link);
            at = next;
            out = self.route(at, prefix)?.best()?;
        }
        None
    }

    /// Whether `router` may send Interests of a prefix by `face` without any chance of a loop, whichever of the orders
    /// in flight are carried out.
    pub(super) fn is_safe(&self, router: RouterId, face: FaceId, prefix: PrefixId) -> bool {
        let behind = |id: RouterId, face: FaceId| self.interface(id, face).and_then(|interface| interface.neighbour);
        let mut seen = vec![false; self.routers.len()];
        let mut open: Vec<RouterId> = behind(router, face).into_iter().collect();
        while let Some(at) = open.pop() {
            if at == router {
                return false;
            }
            match seen.get_mut(at.0 as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let possible = self.route(at, prefix).map_or(&[][..], |route| &route.possible);
            open.extend(possible.iter().filter_map(|&face| behind(at, face)));
        }
        true
    }
}

fn faces_to(router: &Router, neighbour: RouterId) -> impl Iterator<Item = FaceId> + '_ {
    router.faces.iter().filter(move |(_, interface)| interface.neighbour == Some(neighbour)).map(|(&face, _)| face)
}

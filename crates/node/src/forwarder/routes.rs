//! Prefixes and their next hops, by name.

use super::Forwarder;
use crate::fib_tree::FibError;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::planner::{Order, RouterId};
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::Time;
use ndnweir_wire::{Name, NameView};
use std::collections::BTreeMap;

/// Next hops of one prefix at most.
pub const MAX_HOPS: usize = 64;

/// Why a route cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// There are as many prefixes, or next hops of this one, as there may be.
    #[error("the table of routes is full")]
    Full,
    /// There is no such face.
    #[error("there is no such face")]
    NoFace,
    /// `/localhost` may not leave this node.
    #[error("names under /localhost may not leave this node")]
    Scope,
    /// The prefix belongs to another face.
    #[error("names under this prefix belong to the forwarder's management")]
    Reserved,
}

/// A prefix with its next hops.
#[derive(Clone, Debug)]
pub struct Route<'a> {
    /// The prefix.
    pub prefix: NameView<'a>,
    /// Its number, which another prefix may have once this one is removed.
    pub id: PrefixId,
    /// Its next hops.
    pub hops: &'a [NextHop],
}

#[derive(Debug)]
pub(super) struct Routes {
    table: BTreeMap<Name, (PrefixId, Vec<NextHop>)>,
    /// Numbers of prefixes that were removed.
    free: Vec<PrefixId>,
    limit: usize,
    /// How often the table has changed.
    version: u64,
}

impl Routes {
    pub(super) fn new(limit: usize) -> Routes {
        Routes { table: BTreeMap::new(), free: Vec::new(), limit, version: 0 }
    }

    fn next(&mut self) -> Option<PrefixId> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        (self.table.len() < self.limit).then_some(PrefixId(self.table.len() as u32))
    }
}

/// Whether a name is under `/localhost`.
pub(super) fn is_localhost(name: NameView<'_>) -> bool {
    is_under(name, b"localhost")
}

/// Whether a name is under `/localhop`.
pub(super) fn is_localhop(name: NameView<'_>) -> bool {
    is_under(name, b"localhop")
}

fn is_under(name: NameView<'_>, first: &[u8]) -> bool {
    name.components().next().is_some_and(|component| component.is_generic() && component.value() == first)
}

impl Forwarder {
    /// Appends the shares of a prefix's Interests that the strategy sends to each face, if it splits them.
    pub fn shares(&self, prefix: NameView<'_>, out: &mut Vec<(FaceId, f64)>) {
        if let Some((id, _)) = self.routes.table.get(&prefix.to_owned()) {
            self.node.shares(self.choices.of(&elements(prefix)), *id, out);
        }
    }
}

/// The components of a name as whole elements.
pub(super) fn elements(name: NameView<'_>) -> Vec<&[u8]> {
    let mut rest = name.as_bytes();
    let element = |component: ndnweir_wire::ComponentView<'_>| {
        let (element, after) = rest.split_at(component.wire_len());
        rest = after;
        element
    };
    name.components().map(element).collect()
}

impl Forwarder {
    /// Adds a next hop, or changes its cost.
    ///
    /// # Errors
    /// [`RouteError`].
    pub fn add_next_hop(&mut self, now: Time, prefix: NameView<'_>, face: FaceId, cost: u32) -> Result<(), RouteError> {
        let Some(found) = self.faces.get(face.index()).filter(|face| face.up) else { return Err(RouteError::NoFace) };
        if is_localhost(prefix) && !found.local {
            return Err(RouteError::Scope);
        }
        if self.owner_of(prefix).is_some_and(|owner| owner != face) {
            return Err(RouteError::Reserved);
        }
        let hop = NextHop { face, cost };
        if let Some((id, hops)) = self.routes.table.get_mut(prefix.as_bytes()) {
            match hops.iter().position(|known| known.face == face) {
                Some(known) => hops[known] = hop,
                None if hops.len() >= MAX_HOPS => return Err(RouteError::Full),
                None => hops.push(hop),
            }
            self.node.set_route(now, *id, hops);
        } else {
            let id = self.routes.next().ok_or(RouteError::Full)?;
            if let Err(error) = self.tree.insert(&elements(prefix), id) {
                self.routes.free.push(id);
                return Err(match error {
                    FibError::Full | FibError::ComponentTooLong => RouteError::Full,
                });
            }
            self.routes.table.insert(prefix.to_owned(), (id, vec![hop]));
            self.node.set_route(now, id, &[hop]);
            self.bind_under(prefix);
        }
        self.routes.version += 1;
        self.account();
        Ok(())
    }

    /// Changes the costs of all next hops of a prefix together; nothing unless `costs` are for exactly these. Whether
    /// they were changed.
    pub fn set_costs(&mut self, now: Time, prefix: NameView<'_>, costs: &[NextHop]) -> bool {
        let Some((id, hops)) = self.routes.table.get_mut(prefix.as_bytes()) else { return false };
        let order = Order { router: RouterId(0), prefix: *id, hops: costs.to_vec(), election: 0 };
        if !self.node.apply_order(now, &order) {
            return false;
        }
        for hop in hops.iter_mut() {
            hop.cost = costs.iter().find(|new| new.face == hop.face).map_or(hop.cost, |new| new.cost);
        }
        self.routes.version += 1;
        true
    }

    /// A number that changes whenever a next hop does.
    pub fn routes_version(&self) -> u64 {
        self.routes.version
    }

    /// Removes a next hop. Whether there was one.
    pub fn remove_next_hop(&mut self, now: Time, prefix: NameView<'_>, face: FaceId) -> bool {
        // The owner of a reserved prefix keeps it as long as it is there.
        if self.owner_of(prefix) == Some(face) && self.faces.get(face.index()).is_some_and(|face| face.up) {
            return false;
        }
        let Some((id, hops)) = self.routes.table.get_mut(prefix.as_bytes()) else { return false };
        let before = hops.len();
        hops.retain(|hop| hop.face != face);
        if hops.len() == before {
            return false;
        }
        let id = *id;
        self.routes.version += 1;
        self.node.set_route(now, id, hops);
        if hops.is_empty() {
            self.routes.table.remove(prefix.as_bytes());
            self.routes.free.push(id);
            self.tree.remove(&elements(prefix));
            self.bind_under(prefix);
        }
        self.account();
        true
    }

    /// The prefixes with their next hops, in canonical order.
    pub fn routes(&self) -> impl Iterator<Item = Route<'_>> {
        self.routes.table.iter().map(|(name, (id, hops))| Route { prefix: name.as_view(), id: *id, hops })
    }

    pub(super) fn remove_routes_over(&mut self, now: Time, face: FaceId) {
        let over = |(_, hops): &(PrefixId, Vec<NextHop>)| hops.iter().any(|hop| hop.face == face);
        let names: Vec<Name> =
            self.routes.table.iter().filter(|(_, route)| over(route)).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.remove_next_hop(now, name.as_view(), face);
        }
    }

    /// Passes to the node the prefix of a flow and its strategy choice. The prefix is the longest with a route for its
    /// name, or for a delegation of its hint; the choice depends on its name alone. A default route does not apply to
    /// `/localhost`.
    pub(super) fn bind(&mut self, flow: FlowId) {
        let Ok(name) = NameView::from_value(self.names.name(flow)) else { return };
        let elements = elements(name);
        let hint = self.names.hint(flow);
        let mut prefix = if hint.is_empty() { self.tree.longest(&elements) } else { self.towards(hint) };
        if is_localhost(name) && prefix == self.tree.exact::<&[u8]>(&[]) {
            prefix = None;
        }
        let bound = self.node.bind_flow(flow, prefix);
        debug_assert!(bound, "flows are fewer than a node can have");
        self.node.assign_strategy(flow, self.choices.of(&elements));
    }

    pub(super) fn bind_under(&mut self, prefix: NameView<'_>) {
        let flows: Vec<FlowId> = self.names.under(prefix.as_bytes()).collect();
        for flow in flows {
            self.bind(flow);
        }
    }
}

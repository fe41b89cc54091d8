//! The prefixes there is something to plan for, and what the planner is told of routers' next hops of them.

use super::{Brain, Router, router_id};
use crate::controller::mirror::HopView;
use ndnweir_core::ids::PrefixId;
use ndnweir_core::planner::{Message, Order};
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Rate, Time};
use ndnweir_wire::Name;
use std::collections::BTreeMap;

/// Prefixes of all routers together at most.
const MAX_PREFIXES: usize = 1 << 16;

/// Names that mean something else on every node, and so have no path through a network.
fn is_of_one_node(name: &Name) -> bool {
    let first = name.as_view().components().next();
    first.is_some_and(|part| part.is_generic() && matches!(part.value(), b"localhost" | b"localhop"))
}

impl Brain {
    /// Tells the planner what is new of a router's next hops of all prefixes.
    pub(super) fn announce_entries(&mut self, now: Time, router: usize, orders: &mut Vec<Order>) {
        let names: Vec<Name> = self.routers[router].mirror.fib.keys().cloned().collect();
        for name in &names {
            self.prefix(now, name, orders);
        }
        for number in 0..self.names.len() {
            self.announce_entry(now, router, PrefixId(number as u32), orders);
        }
    }

    /// The number of a prefix for which there is something to plan: some router had a choice of next hops for it. One
    /// that is new is announced for all other routers too, as shorter and longer prefixes of theirs say where its
    /// Interests go.
    pub(super) fn prefix(&mut self, now: Time, name: &Name, orders: &mut Vec<Order>) -> Option<PrefixId> {
        if let Some(prefix) = self.prefixes.get(name) {
            return Some(*prefix);
        }
        let choice = |known: &Router| known.mirror.fib.get(name).is_some_and(|hops| hops.len() > 1);
        if self.names.len() >= MAX_PREFIXES || is_of_one_node(name) || !self.routers.iter().any(choice) {
            return None;
        }
        let prefix = PrefixId(u32::try_from(self.names.len()).ok()?);
        self.names.push(name.clone());
        self.prefixes.insert(name.clone(), prefix);
        for router in 0..self.routers.len() {
            self.announce_entry(now, router, prefix, orders);
        }
        Some(prefix)
    }

    /// The known prefixes whose next hops may follow from an entry of this one: itself, shorter and longer ones.
    pub(super) fn related(&self, name: &Name) -> Vec<PrefixId> {
        let longer = self.prefixes.range(name.clone()..);
        let longer = longer.take_while(|(other, _)| name.as_view().is_prefix_of(other.as_view())).map(|(_, id)| *id);
        let mut related: Vec<PrefixId> = longer.collect();
        let mut at = name.as_view();
        while let Some(shorter) = at.parent() {
            related.extend(self.prefixes.get(shorter.as_bytes()));
            at = shorter;
        }
        related
    }

    /// A router's next hops of a prefix, as forwarding finds them: those of the longest prefix of it that has any. A
    /// router that has none, but longer prefixes that do not lead to other routers, has producers of it.
    pub(super) fn hops(&self, router: usize, name: &Name) -> Option<BTreeMap<u64, HopView>> {
        let known = self.routers.get(router)?;
        let mut at = Some(name.as_view());
        while let Some(view) = at {
            if let Some(hops) = known.mirror.fib.get(view.as_bytes()) {
                return Some(hops.clone());
            }
            at = view.parent();
        }
        let longer = known.mirror.fib.range(name.clone()..);
        let longer = longer.take_while(|(other, _)| name.as_view().is_prefix_of(other.as_view()));
        let hops = longer.flat_map(|(_, hops)| hops).filter(|(face, _)| !known.links.contains_key(face));
        let hops: BTreeMap<u64, HopView> = hops.map(|(face, hop)| (*face, *hop)).collect();
        (!hops.is_empty()).then_some(hops)
    }

    /// Tells the planner a router's next hops of a prefix: those of its routes, and the costs in force.
    pub(super) fn announce_entry(&mut self, now: Time, router: usize, prefix: PrefixId, orders: &mut Vec<Order>) {
        let Some(name) = self.names.get(prefix.index()) else { return };
        let (election, hops) = (self.election, self.hops(router, name).unwrap_or_default());
        let known = &mut self.routers[router];
        let (mut routes, mut in_force) = (Vec::new(), Vec::new());
        for (face, hop) in hops {
            let (Some(cost), Some(id)) = (hop.cost, known.id(face)) else { continue };
            routes.push(NextHop { face: id, cost: hop.route_cost.unwrap_or(cost) });
            in_force.push(NextHop { face: id, cost });
        }
        let by_cost = |hop: &NextHop| (hop.cost, hop.face);
        routes.sort_by_key(by_cost);
        in_force.sort_by_key(by_cost);
        let id = router_id(router);
        let new_routes = known.routes.get(&prefix).map_or(!routes.is_empty(), |reported| *reported != routes);
        if new_routes {
            known.routes.insert(prefix, routes.clone());
            known.in_force.insert(prefix, routes.clone());
            self.notify(now, &Message::Routes { router: id, prefix, hops: routes }, orders);
        }
        let known = &mut self.routers[router];
        if known.ordered_at.get(&prefix).is_some_and(|at| known.read_at < *at) {
            return;
        }
        if known.in_force.get(&prefix).map_or(!in_force.is_empty(), |reported| *reported != in_force) {
            known.in_force.insert(prefix, in_force.clone());
            self.notify(now, &Message::Answer { router: id, prefix, election, hops: in_force }, orders);
        }
    }

    pub(super) fn announce_rates(&mut self, now: Time, router: usize, name: &Name, orders: &mut Vec<Order>) {
        let Some(prefix) = self.prefix(now, name, orders) else { return };
        for (face, hop) in self.routers[router].mirror.fib.get(name).cloned().unwrap_or_default() {
            let (Some(rate), Some(face)) = (hop.rate, self.routers[router].id(face)) else { continue };
            let rate = Rate::from_bps(rate);
            self.notify(now, &Message::PrefixRate { router: router_id(router), prefix, face, rate }, orders);
        }
    }
}

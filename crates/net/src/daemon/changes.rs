//! What a controller changes: a transaction of changes, carried out wholly or not at all.

use super::Daemon;
use super::strategies::{STRATEGY_PREFIX, name_of};
use crate::mgmt::ManagedForwarder;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::Rate;
use ndnweir_wire::{Component, Name};
use std::collections::BTreeMap;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Costs of next hops of a prefix, which change together. A face that is no next hop yet becomes one.
    Costs {
        /// The prefix.
        prefix: Name,
        /// By face; none gives back the cost of the routes, and removes a next hop that no route makes.
        costs: BTreeMap<u64, Option<u32>>,
    },
    /// The rate at which a face is sent on.
    Rate {
        /// The face.
        face: u64,
        /// Never 0.
        rate: Rate,
    },
    /// The strategy of a prefix, by the name in the registry; none removes the choice.
    Strategy {
        /// The prefix.
        prefix: Name,
        /// With parameters as the management protocol writes them, `name/key~value`; none inherits.
        strategy: Option<String>,
    },
    /// The size of the content store in packets.
    Cache(u64),
}

/// Why a change cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no such thing.
    Missing,
    /// The value cannot be used.
    Invalid,
    /// A table is full.
    Full,
    /// It may not be changed.
    Forbidden,
}

/// A transaction that was not carried out: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Rejected {
    /// The place of the change in the transaction.
    pub at: usize,
    /// The kind of reason.
    pub obstacle: Obstacle,
    /// The reason, for people.
    pub text: String,
}

type Outcome<T> = Result<T, (Obstacle, String)>;

/// The name under which the management protocol knows a strategy.
fn strategy_uri(text: &str) -> Outcome<Name> {
    let home = STRATEGY_PREFIX.into_iter().fold(Name::new(), |name, part| name.with(Component::generic(part)));
    let rest: Name = format!("/{}", text.trim_start_matches('/'))
        .parse()
        .map_err(|error| (Obstacle::Invalid, format!("{text}: {error}")))?;
    Ok(rest.as_view().components().fold(home, |name, part| name.with(part.to_owned())))
}

impl Daemon {
    /// Carries out all changes in their order, or none; the changes that lead back.
    ///
    /// # Errors
    /// The first that cannot be made; those before it are undone.
    pub fn apply(&mut self, changes: &[Change]) -> Result<Vec<Change>, Rejected> {
        let mut undo: Vec<Vec<Change>> = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let before = self.inverse(change);
            match self.change(change) {
                Ok(()) => undo.push(before),
                Err((obstacle, text)) => {
                    undo.push(before);
                    for change in undo.iter().rev().flatten() {
                        if let Err((_, why)) = self.change(change) {
                            tracing::error!(why, "a change could not be undone");
                        }
                    }
                    return Err(Rejected { at, obstacle, text });
                }
            }
        }
        Ok(undo.into_iter().rev().flatten().collect())
    }

    /// The changes that lead back from after a change to the present.
    fn inverse(&mut self, change: &Change) -> Vec<Change> {
        match change {
            Change::Costs { prefix, costs } => {
                let before = costs.keys().map(|face| (*face, self.cost_to_restore(prefix, *face)));
                vec![Change::Costs { prefix: prefix.clone(), costs: before.collect() }]
            }
            Change::Rate { face, .. } => {
                let rate = self.faces.with_number(*face).and_then(|id| self.faces.get(id)?.rate);
                rate.map(|rate| Change::Rate { face: *face, rate }).into_iter().collect()
            }
            Change::Strategy { prefix, .. } => {
                let chosen = self.forwarder.choices().find(|(name, _)| *name == prefix.as_view());
                let strategy = chosen.map(|(_, chosen)| {
                    let name = name_of(&chosen.strategy);
                    let parts = name.as_view().components().skip(STRATEGY_PREFIX.len());
                    parts.fold(Name::new(), |name, part| name.with(part.to_owned())).to_string()
                });
                vec![Change::Strategy { prefix: prefix.clone(), strategy }]
            }
            Change::Cache(_) => vec![Change::Cache(self.cs.capacity as u64)],
        }
    }

    /// The cost that a next hop has by a command, as routes do not know it; none if it has none or they do.
    fn cost_to_restore(&mut self, prefix: &Name, face: u64) -> Option<u32> {
        let configured = self.configured.get(&(prefix.clone(), face)).copied();
        let by_command = |daemon: &mut Daemon| {
            let id = daemon.faces.with_number(face)?;
            let route = daemon.forwarder.routes().find(|route| route.prefix == prefix.as_view())?;
            let cost = route.hops.iter().find(|hop| hop.face == id)?.cost;
            daemon.route_cost(prefix, face).is_none().then_some(cost)
        };
        configured.or_else(|| by_command(self))
    }

    /// The cost at which routes make a face a next hop of a prefix.
    pub(super) fn route_cost(&mut self, prefix: &Name, face: u64) -> Option<u32> {
        let cost = self.with_management(|management, _| management.rib().installed(prefix.as_view(), face));
        cost.flatten().map(|cost| u32::try_from(cost).unwrap_or(u32::MAX))
    }

    fn change(&mut self, change: &Change) -> Outcome<()> {
        let from_code = |failure: crate::mgmt::CommandFailure| {
            let obstacle = match failure.code {
                403 => Obstacle::Forbidden,
                404 | 410 => Obstacle::Missing,
                409 | 406 => Obstacle::Invalid,
                _ => Obstacle::Full,
            };
            (obstacle, failure.text)
        };
        match change {
            Change::Costs { prefix, costs } => self.change_costs(prefix, costs),
            Change::Rate { face, rate } => {
                let id = self.faces.with_number(*face).filter(|id| *id != self.management.id());
                let id = id.ok_or((Obstacle::Missing, format!("there is no face {face}")))?;
                if self.faces.get(id).is_some_and(|link| link.rate.is_none()) {
                    let text = format!("face {face} has no rate: give it one in the configuration of the forwarder");
                    return Err((Obstacle::Forbidden, text));
                }
                self.set_rate(id, *rate);
                Ok(())
            }
            Change::Strategy { prefix, strategy: Some(strategy) } => {
                let uri = strategy_uri(strategy)?;
                self.set_strategy(prefix.as_view(), uri.as_view()).map(drop).map_err(from_code)
            }
            Change::Strategy { prefix, strategy: None } if prefix.is_empty() => {
                Err((Obstacle::Forbidden, "the strategy of / can be changed, not removed".into()))
            }
            Change::Strategy { prefix, strategy: None } => {
                self.unset_strategy(prefix.as_view());
                Ok(())
            }
            Change::Cache(packets) => self.configure_cs(Some(*packets), None, None).map_err(from_code),
        }
    }

    fn change_costs(&mut self, prefix: &Name, costs: &BTreeMap<u64, Option<u32>>) -> Outcome<()> {
        let now = self.clock.now();
        let own = self.management.id();
        let route = self.forwarder.routes().find(|route| route.prefix == prefix.as_view());
        let mut hops: Vec<NextHop> = route.map(|route| route.hops.to_vec()).unwrap_or_default();
        if hops.iter().any(|hop| hop.face == own) {
            return Err((Obstacle::Forbidden, format!("{prefix} belongs to the forwarder's management")));
        }
        let mut added = Vec::new();
        let mut removed = Vec::new();
        for (&face, &cost) in costs {
            let id = self.faces.with_number(face).filter(|id| *id != own);
            let id = id.ok_or_else(|| (Obstacle::Missing, format!("there is no face {face}")))?;
            match (cost.or_else(|| self.route_cost(prefix, face)), hops.iter_mut().find(|hop| hop.face == id)) {
                (Some(cost), Some(hop)) => hop.cost = cost,
                (Some(cost), None) => added.push((id, cost)),
                (None, Some(_)) => removed.push(id),
                (None, None) => {}
            }
        }
        let failed = |error: ndnweir_node::forwarder::RouteError| {
            use ndnweir_node::forwarder::RouteError as E;
            let obstacle = match error {
                E::Full => Obstacle::Full,
                E::NoFace => Obstacle::Missing,
                E::Scope | E::Reserved => Obstacle::Forbidden,
            };
            (obstacle, format!("{prefix}: {error}"))
        };
        if !hops.is_empty() {
            self.forwarder.set_costs(now, prefix.as_view(), &hops);
        }
        for (id, cost) in added {
            self.forwarder.add_next_hop(now, prefix.as_view(), id, cost).map_err(failed)?;
        }
        for id in removed {
            self.forwarder.remove_next_hop(now, prefix.as_view(), id);
        }
        for (&face, &cost) in costs {
            match cost {
                Some(cost) => drop(self.configured.insert((prefix.clone(), face), cost)),
                None => drop(self.configured.remove(&(prefix.clone(), face))),
            }
        }
        Ok(())
    }

    /// The face is gone, and what was set for it.
    pub(super) fn forget_configured(&mut self, face: u64) {
        self.configured.retain(|(_, of), _| *of != face);
    }
}

#[cfg(test)]
mod tests;

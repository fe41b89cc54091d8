//! The routing information base: routes registered by applications and operators, and the resulting next hops.
//!
//! Source: NFD wiki, `RibMgmt`, "Route inheritance". The next hops of a prefix in the RIB are its own routes, one per
//! face at the lowest cost, and those it inherits: the routes with [`route_flags::CHILD_INHERIT`] of shorter prefixes,
//! for faces to which it has no route itself, the longest such prefix first. A prefix with a [`route_flags::CAPTURE`]
//! route inherits nothing, and hides shorter prefixes from longer ones.

use super::dataset::{RibEntry, RouteRecord};
use super::parameters::route_flags;
use ndnweir_core::units::Time;
use ndnweir_wire::{Name, NameView};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A route to a prefix. Face and origin distinguish it from the prefix's other routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RibRoute {
    /// Where Interests go.
    pub face_id: u64,
    /// Who made the route.
    pub origin: u64,
    /// Cost.
    pub cost: u64,
    /// Bits of [`route_flags`].
    pub flags: u64,
    /// When it ends; [`Time::NEVER`] when it has no end.
    pub expires: Time,
}

impl RibRoute {
    fn inherits(&self) -> bool {
        self.flags & route_flags::CHILD_INHERIT != 0
    }

    fn captures(&self) -> bool {
        self.flags & route_flags::CAPTURE != 0
    }
}

/// What must change in the FIB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FibChange {
    /// The prefix has this next hop, at this cost, whether it had it before or not.
    Set {
        /// The prefix.
        prefix: Name,
        /// Where Interests go.
        face_id: u64,
        /// Cost.
        cost: u64,
    },
    /// The prefix no longer has this next hop.
    Remove {
        /// The prefix.
        prefix: Name,
        /// Where Interests went.
        face_id: u64,
    },
}

/// The RIB has as many routes as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RIB is full: it has {0} routes")]
pub struct RibFull(pub usize);

/// Costs by face.
type Hops = BTreeMap<u64, u64>;

#[derive(Debug, Default)]
struct Entry {
    routes: Vec<RibRoute>,
    /// Next hops that the FIB has.
    installed: Hops,
}

impl Entry {
    fn captures(&self) -> bool {
        self.routes.iter().any(RibRoute::captures)
    }

    fn hops(&self, of: impl Fn(&RibRoute) -> bool) -> Hops {
        let mut hops = Hops::new();
        for route in self.routes.iter().filter(|route| of(route)) {
            let cost = hops.entry(route.face_id).or_insert(route.cost);
            *cost = route.cost.min(*cost);
        }
        hops
    }

    /// What longer prefixes inherit from this one.
    fn passed_on(&self) -> (Hops, bool) {
        (self.hops(RibRoute::inherits), self.captures())
    }
}

/// The RIB, bounded in routes.
#[derive(Debug)]
pub struct Rib {
    entries: BTreeMap<Name, Entry>,
    /// Prefixes by the faces of their routes.
    by_face: BTreeSet<(u64, Name)>,
    /// Routes that end, soonest first: time, prefix, face, origin.
    ends: BTreeSet<(Time, Name, u64, u64)>,
    routes: usize,
    max_routes: usize,
}

impl Rib {
    /// An empty RIB for at most this many routes.
    #[must_use]
    pub fn new(max_routes: usize) -> Rib {
        Rib { entries: BTreeMap::new(), by_face: BTreeSet::new(), ends: BTreeSet::new(), routes: 0, max_routes }
    }

    /// How many routes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes == 0
    }

    /// The route of this prefix, face and origin.
    #[must_use]
    pub fn route(&self, prefix: NameView<'_>, face_id: u64, origin: u64) -> Option<RibRoute> {
        let entry = self.entries.get(prefix.as_bytes())?;
        entry.routes.iter().find(|r| r.face_id == face_id && r.origin == origin).copied()
    }

    /// The cost at which routes make a face a next hop of this prefix; none where no route does.
    #[must_use]
    pub fn installed(&self, prefix: NameView<'_>, face_id: u64) -> Option<u64> {
        self.entries.get(prefix.as_bytes())?.installed.get(&face_id).copied()
    }

    /// Adds a route, or replaces the one with its face and origin.
    ///
    /// # Errors
    /// [`RibFull`]; nothing has changed then.
    pub fn register(&mut self, prefix: NameView<'_>, route: RibRoute) -> Result<Vec<FibChange>, RibFull> {
        let known = self.route(prefix, route.face_id, route.origin);
        if known.is_none() && self.routes >= self.max_routes {
            return Err(RibFull(self.routes));
        }
        Ok(self.change(&[prefix.to_owned()], |rib, _, entry| {
            if let Some(known) = known {
                entry.routes.retain(|r| *r != known);
                rib.forget(prefix, &known);
            }
            entry.routes.push(route);
            rib.routes += 1;
            rib.by_face.insert((route.face_id, prefix.to_owned()));
            if route.expires != Time::NEVER {
                rib.ends.insert((route.expires, prefix.to_owned(), route.face_id, route.origin));
            }
        }))
    }

    /// Takes a route out; no change when there is none.
    pub fn unregister(&mut self, prefix: NameView<'_>, face_id: u64, origin: u64) -> Vec<FibChange> {
        let Some(known) = self.route(prefix, face_id, origin) else { return Vec::new() };
        self.change(&[prefix.to_owned()], |rib, prefix, entry| rib.remove_where(prefix, entry, |route| *route == known))
    }

    /// Takes out all routes over a face that is gone.
    pub fn remove_face(&mut self, face_id: u64) -> Vec<FibChange> {
        let of_face = self.by_face.range((face_id, Name::new())..);
        let prefixes: Vec<Name> =
            of_face.take_while(|(face, _)| *face == face_id).map(|(_, name)| name.clone()).collect();
        self.change(&prefixes, |rib, prefix, entry| rib.remove_where(prefix, entry, |route| route.face_id == face_id))
    }

    /// Takes out the routes that end now or have ended.
    pub fn expire(&mut self, now: Time) -> Vec<FibChange> {
        let ended = self.ends.iter().take_while(|(at, ..)| *at <= now);
        let prefixes: BTreeSet<Name> = ended.map(|(_, prefix, ..)| prefix.clone()).collect();
        let prefixes: Vec<Name> = prefixes.into_iter().collect();
        self.change(&prefixes, |rib, prefix, entry| rib.remove_where(prefix, entry, |route| route.expires <= now))
    }

    /// When the next route ends; [`Time::NEVER`] when none does.
    #[must_use]
    pub fn next_end(&self) -> Time {
        self.ends.first().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// The dataset `rib/list`.
    #[must_use]
    pub fn list(&self, now: Time) -> Vec<RibEntry> {
        let left = |at: Time| (at != Time::NEVER).then(|| Duration::from_nanos(at.since(now).nanos()));
        let record = |r: &RibRoute| RouteRecord {
            face_id: r.face_id,
            origin: r.origin,
            cost: r.cost,
            flags: r.flags,
            expiration_period: left(r.expires),
        };
        let entry = |(name, entry): (&Name, &Entry)| RibEntry {
            name: name.clone(),
            routes: entry.routes.iter().map(record).collect(),
        };
        self.entries.iter().map(entry).collect()
    }

    /// Removes a route from all indices. The index of faces loses the prefix, so a route that is kept must be added
    /// again.
    fn forget(&mut self, prefix: NameView<'_>, route: &RibRoute) {
        self.routes -= 1;
        self.by_face.remove(&(route.face_id, prefix.to_owned()));
        if route.expires != Time::NEVER {
            self.ends.remove(&(route.expires, prefix.to_owned(), route.face_id, route.origin));
        }
    }

    /// Takes the routes of which this is true out of an entry and of all indices.
    fn remove_where(&mut self, prefix: &Name, entry: &mut Entry, is_removed: impl Fn(&RibRoute) -> bool) {
        let (out, kept): (Vec<RibRoute>, Vec<RibRoute>) = entry.routes.iter().partition(|route| is_removed(route));
        entry.routes = kept;
        for route in &out {
            self.forget(prefix.as_view(), route);
        }
        for route in &entry.routes {
            self.by_face.insert((route.face_id, prefix.clone()));
        }
    }

    /// Changes the entries of these prefixes, which are in order, and computes the next hops for them and for longer
    /// prefixes, once for each however many shorter ones have changed.
    fn change(&mut self, prefixes: &[Name], mut change: impl FnMut(&mut Rib, &Name, &mut Entry)) -> Vec<FibChange> {
        let (mut changes, mut affected) = (Vec::new(), BTreeSet::new());
        let mut roots: Vec<&Name> = Vec::new();
        for prefix in prefixes {
            let mut entry = self.entries.remove(prefix.as_bytes()).unwrap_or_default();
            let before = entry.passed_on();
            change(self, prefix, &mut entry);
            let within = roots.last().is_some_and(|root| root.as_view().is_prefix_of(prefix.as_view()));
            if !within && entry.passed_on() != before {
                roots.push(prefix);
            }
            if entry.routes.is_empty() {
                settle(prefix.as_view(), &mut entry.installed, Hops::new(), &BTreeSet::new(), &mut changes);
            } else {
                self.entries.insert(prefix.clone(), entry);
                affected.insert(prefix.clone());
            }
        }
        for root in roots {
            let longer = self.entries.range(root.clone()..).map(|(name, _)| name);
            affected.extend(longer.take_while(|name| root.as_view().is_prefix_of(name.as_view())).cloned());
        }
        for prefix in affected {
            self.resettle(prefix.as_view(), &mut changes);
        }
        changes
    }

    fn resettle(&mut self, prefix: NameView<'_>, changes: &mut Vec<FibChange>) {
        let wanted = self.wanted(prefix);
        if let Some(entry) = self.entries.get_mut(prefix.as_bytes()) {
            let own = entry.routes.iter().map(|route| route.face_id).collect();
            settle(prefix, &mut entry.installed, wanted, &own, changes);
        }
    }

    /// The next hops that a prefix of the RIB should have.
    fn wanted(&self, prefix: NameView<'_>) -> Hops {
        let Some(entry) = self.entries.get(prefix.as_bytes()) else { return Hops::new() };
        let mut hops = entry.hops(|_| true);
        let mut captured = entry.captures();
        let mut at = prefix;
        while !captured && let Some(shorter) = at.parent() {
            at = shorter;
            let Some(ancestor) = self.entries.get(at.as_bytes()) else { continue };
            for (face_id, cost) in ancestor.hops(RibRoute::inherits) {
                hops.entry(face_id).or_insert(cost);
            }
            captured = ancestor.captures();
        }
        hops
    }
}

/// Updates the FIB. A prefix's own next hops come before those it inherits: of equal costs the FIB prefers the one
/// added first, and an application's own prefix must not lose to a shorter one.
fn settle(prefix: NameView<'_>, installed: &mut Hops, wanted: Hops, own: &BTreeSet<u64>, changes: &mut Vec<FibChange>) {
    for (&face_id, _) in installed.iter().filter(|(face_id, _)| !wanted.contains_key(face_id)) {
        changes.push(FibChange::Remove { prefix: prefix.to_owned(), face_id });
    }
    let (first, inherited): (Vec<_>, Vec<_>) = wanted
        .iter()
        .filter(|(face_id, cost)| installed.get(face_id) != Some(cost))
        .partition(|(face_id, _)| own.contains(face_id));
    for (&face_id, &cost) in first.into_iter().chain(inherited) {
        changes.push(FibChange::Set { prefix: prefix.to_owned(), face_id, cost });
    }
    *installed = wanted;
}

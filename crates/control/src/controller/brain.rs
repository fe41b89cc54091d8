//! What the controller knows, and the planner that decides: no I/O, no clock.

mod links;
mod prefixes;

pub use links::LinkView;

use super::mirror::{Event, Mirror};
use crate::proto::gnmi::Notification;
use links::LinkReport;
use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::planner::{Message, Order, Planner, PlannerCounters, RouterId};
use ndnweir_core::registry::AnyPlanner;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::Name;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Decisions that are remembered.
const MAX_DECISIONS: usize = 256;
/// Label of the planner's random stream.
const STREAM: u64 = 0x6374_726c;

/// New costs of all next hops of a prefix for a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// The router's place in the configuration.
    pub router: usize,
    /// The prefix.
    pub prefix: Name,
    /// By number of the face.
    pub costs: BTreeMap<u64, u32>,
}

/// An order with the numbers that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// To whom.
    pub router: usize,
    /// The prefix.
    pub prefix: Name,
    /// By face: cost before and after.
    pub costs: Vec<(u64, Option<u32>, u32)>,
    /// What came last before it.
    pub reason: String,
}

#[derive(Default)]
struct Router {
    mirror: Mirror,
    /// Where neighbours reach it beside what it reports.
    uris: Vec<String>,
    connected: bool,
    last_report: Time,
    /// When what it reported last was read, by its own clock, in nanoseconds.
    read_at: i64,
    /// By prefix: when it carried out the last order, by the same clock. What was read before says nothing of the costs
    /// in force since.
    ordered_at: BTreeMap<PrefixId, i64>,
    /// Faces by number, as the planner counts them.
    ids: BTreeMap<u64, FaceId>,
    links: BTreeMap<u64, LinkReport>,
    routes: BTreeMap<PrefixId, Vec<NextHop>>,
    in_force: BTreeMap<PrefixId, Vec<NextHop>>,
}

impl Router {
    /// The planner's number of a face; none beyond the most there may be.
    fn id(&mut self, face: u64) -> Option<FaceId> {
        if let Some(id) = self.ids.get(&face) {
            return Some(*id);
        }
        let id = FaceId(u16::try_from(self.ids.len()).ok().filter(|id| *id < FaceId::NONE.0)?);
        self.ids.insert(face, id);
        Some(id)
    }

    fn face(&self, id: FaceId) -> Option<u64> {
        self.ids.iter().find(|(_, known)| **known == id).map(|(face, _)| *face)
    }
}

/// The controller.
pub struct Brain {
    planner: AnyPlanner,
    rng: Rng,
    trace: Trace,
    election: u64,
    stale: Duration,
    routers: Vec<Router>,
    prefixes: BTreeMap<Name, PrefixId>,
    names: Vec<Name>,
    decisions: VecDeque<Decision>,
    /// Routers whose links may have changed since all were announced, and when that was. Their next hops are announced
    /// after these: one over a face that the planner does not know would be a producer's.
    links_changed: BTreeSet<usize>,
    links_announced: Option<Time>,
    reason: String,
}

fn router_id(router: usize) -> RouterId {
    RouterId(u32::try_from(router).unwrap_or(u32::MAX))
}

impl Brain {
    /// A controller of that many routers; one that is silent for `stale` is left out.
    pub fn new(scheme: &Scheme, routers: usize, stale: Duration, seed: u64) -> Brain {
        let mut layout = scheme.layout();
        Brain {
            planner: scheme.planner(&mut layout),
            rng: Rng::derive(seed, &[STREAM]),
            trace: Trace::new(false),
            election: 1,
            stale,
            routers: (0..routers).map(|_| Router::default()).collect(),
            prefixes: BTreeMap::new(),
            names: Vec::new(),
            decisions: VecDeque::new(),
            links_changed: BTreeSet::new(),
            links_announced: None,
            reason: String::new(),
        }
    }

    /// Has faces with these URIs lead to a router, in addition to those on which it reports to listen.
    pub fn reached_at(&mut self, router: usize, uris: &[String]) {
        if let Some(known) = self.routers.get_mut(router) {
            known.uris = uris.to_vec();
        }
    }

    /// Begins anew with another election: nothing is believed that was not reported again.
    pub fn elect(&mut self, scheme: &Scheme, election: u64) {
        let mut layout = scheme.layout();
        self.planner = scheme.planner(&mut layout);
        self.planner.elect(election);
        self.election = election;
        for router in &mut self.routers {
            router.links.clear();
            router.routes.clear();
            router.in_force.clear();
        }
    }

    /// Tells the planner all that is known, as after [`Brain::elect`].
    pub fn announce_all(&mut self, now: Time) -> Vec<Costs> {
        let mut orders = Vec::new();
        self.announce_links(now, &mut orders);
        for router in 0..self.routers.len() {
            self.announce_entries(now, router, &mut orders);
        }
        self.translate(now, orders)
    }

    /// A connection to a router is there, with all that it reported, or ended.
    pub fn connected(&mut self, now: Time, router: usize, mirror: Option<Mirror>) -> Vec<Costs> {
        let mut orders = Vec::new();
        let Some(known) = self.routers.get_mut(router) else { return Vec::new() };
        known.connected = mirror.is_some();
        if let Some(mirror) = mirror {
            known.mirror = mirror;
            known.last_report = now;
            known.ordered_at.clear();
        }
        self.reason = format!("router {router} {}", if self.routers[router].connected { "reports" } else { "is lost" });
        self.links_changed.insert(router);
        self.announce_changed_links(now, &mut orders);
        self.translate(now, orders)
    }

    /// A notification of a router that is connected.
    pub fn notified(&mut self, now: Time, router: usize, notification: &Notification) -> Vec<Costs> {
        let mut orders = Vec::new();
        let Some(known) = self.routers.get_mut(router) else { return Vec::new() };
        let was_silent = now.since(known.last_report) > self.stale;
        known.last_report = now;
        known.read_at = notification.timestamp;
        let events = known.mirror.take(notification);
        if was_silent || events.iter().any(|event| matches!(event, Event::Listen | Event::Face(_))) {
            self.links_changed.insert(router);
        }
        self.announce_changed_links(now, &mut orders);
        for event in &events {
            match event {
                Event::Entry(_) if self.links_changed.contains(&router) => {}
                Event::Entry(name) => {
                    self.prefix(now, name, &mut orders);
                    for prefix in self.related(name) {
                        self.announce_entry(now, router, prefix, &mut orders);
                    }
                }
                Event::Rates(name) => self.announce_rates(now, router, name, &mut orders),
                Event::Sample(face) => self.sample(now, router, *face, &mut orders),
                Event::Signal(face) => self.signal(now, router, *face, &mut orders),
                Event::Listen | Event::Face(_) => {}
            }
        }
        self.translate(now, orders)
    }

    /// Time has passed: routers become stale, and the planner may have something to do.
    pub fn tick(&mut self, now: Time) -> Vec<Costs> {
        let mut orders = Vec::new();
        self.announce_links(now, &mut orders);
        if self.planner.next_wake() <= now {
            self.reason = "refresh".into();
            self.planner.on_wake(&mut orders, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        }
        self.translate(now, orders)
    }

    /// When [`Brain::tick`] is needed.
    pub fn next_wake(&self) -> Time {
        self.planner.next_wake()
    }

    /// An order was carried out: its costs are in force, since `at` by the router's clock, in nanoseconds.
    pub fn accepted(&mut self, now: Time, costs: &Costs, at: i64) -> Vec<Costs> {
        let mut orders = Vec::new();
        let Some(&prefix) = self.prefixes.get(&costs.prefix) else { return Vec::new() };
        let Some(known) = self.routers.get_mut(costs.router) else { return Vec::new() };
        let mut hops: Vec<NextHop> = Vec::new();
        for (face, cost) in &costs.costs {
            hops.extend(known.id(*face).map(|face| NextHop { face, cost: *cost }));
        }
        hops.sort_by_key(|hop| (hop.cost, hop.face));
        known.in_force.insert(prefix, hops.clone());
        known.ordered_at.insert(prefix, at);
        let (router, election) = (router_id(costs.router), self.election);
        self.notify(now, &Message::Answer { router, prefix, election, hops }, &mut orders);
        self.translate(now, orders)
    }

    /// An order was rejected: the costs that the router has are in force.
    pub fn rejected(&mut self, now: Time, costs: &Costs) -> Vec<Costs> {
        let mut orders = Vec::new();
        if let Some(known) = self.routers.get_mut(costs.router)
            && let Some(prefix) = self.prefixes.get(&costs.prefix)
        {
            known.in_force.remove(prefix);
            self.announce_entry(now, costs.router, *prefix, &mut orders);
        }
        self.translate(now, orders)
    }

    fn notify(&mut self, now: Time, message: &Message, orders: &mut Vec<Order>) {
        self.planner.on_message(message, orders, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
    }

    /// Whether a router's reports are recent.
    pub fn is_reporting(&self, now: Time, router: usize) -> bool {
        self.routers.get(router).is_some_and(|known| known.connected && now.since(known.last_report) <= self.stale)
    }

    fn sample(&mut self, now: Time, router: usize, face: u64, orders: &mut Vec<Order>) {
        let known = &mut self.routers[router];
        let Some(view) = known.mirror.faces.get(&face).cloned() else { return };
        let (Some(utilization), Some(id)) = (view.utilization, known.id(face)) else { return };
        // NFD's management has no queues: then no congestion is severe, and costs follow from utilisation alone.
        let occupancy = view.occupancy.unwrap_or(0.0);
        let router = router_id(router);
        self.notify(now, &Message::Report { router, measured: now, face: id, utilization, occupancy }, orders);
    }

    fn signal(&mut self, now: Time, router: usize, face: u64, orders: &mut Vec<Order>) {
        let known = &mut self.routers[router];
        let Some(id) = known.id(face) else { return };
        let fib_entries = u32::try_from(known.mirror.fib.len()).unwrap_or(u32::MAX);
        let state = known.mirror.faces.get(&face).map(|view| (view.utilization, view.occupancy));
        let (utilization, occupancy) = state.unwrap_or_default();
        let reported = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.3}"));
        let (utilization, occupancy) = (reported(utilization), reported(occupancy));
        self.reason = format!(
            "signal of router {router}, face {face}: last reported utilization {utilization}, occupancy {occupancy}"
        );
        let signal = Message::Signal { router: router_id(router), measured: now, face: id, fib_entries };
        self.notify(now, &signal, orders);
    }

    /// Orders with names and numbers of the routers.
    fn translate(&mut self, now: Time, orders: Vec<Order>) -> Vec<Costs> {
        let mut all = Vec::new();
        for order in orders {
            let router = order.router.0 as usize;
            let Some(known) = self.routers.get(router) else { continue };
            let Some(prefix) = self.names.get(order.prefix.index()).cloned() else { continue };
            let hops = self.hops(router, &prefix);
            let mut costs = BTreeMap::new();
            let mut reported = Vec::new();
            for hop in &order.hops {
                let Some(face) = known.face(hop.face) else { continue };
                costs.insert(face, hop.cost);
                reported.push((face, hops.as_ref().and_then(|hops| hops.get(&face)?.cost), hop.cost));
            }
            let decision =
                Decision { at: now, router, prefix: prefix.clone(), costs: reported, reason: self.reason.clone() };
            if self.decisions.len() >= MAX_DECISIONS {
                self.decisions.pop_front();
            }
            self.decisions.push_back(decision);
            all.push(Costs { router, prefix, costs });
        }
        all
    }

    /// The latest decisions, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Decision> {
        self.decisions.iter()
    }

    /// What the planner did so far.
    pub fn tally(&self) -> PlannerCounters {
        self.planner.tally()
    }

    /// Prefixes that some router has reported.
    pub fn prefixes(&self) -> usize {
        self.names.len()
    }
}

#[cfg(test)]
mod tests;

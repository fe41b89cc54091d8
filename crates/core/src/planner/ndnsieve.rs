//! `ndnsieve`: leads traffic around mildly congested links, one prefix at a time.
//!
//! A router's signal says that the utilisation β of a link is above th1. The Congestion Status Filter (`filter`) drops
//! it if the queue occupancy ε in the Global Information Cache (`cache`) is above th2: that is left to marks and
//! consumers. Otherwise Num prefixes of the link are selected (`select`), for each a shunt router is found (`shunt`),
//! and its next hops get as cost the metric of the path behind them (`cost`). The costs of shunt routers are refreshed
//! every T_p.
//!
//! Source: Ma et al., "A hybrid congestion control scheme for Named Data Networking via SDN", Discover Applied Sciences
//! 2024, §4.2, algorithm 1, equation 3.
//!
//! Ours, as the paper leaves it open: the metric is that of the path to the nearest producer over links as Data cross
//! them; cost = round(1000 · metric), made unequal so that no router breaks ties; Num = max(1, round(a · FIBNum)) with
//! a = 0; a switch needs a margin of 10 % and comes at most once per prefix and T_p; of several shunt routers the
//! nearest to the link; routers silent for 3 T_p are ignored; a change of the topology gives all traffic back to
//! routing and stops switches for a while; orders are repeated until answered, and none is given that could form a
//! loop, whichever orders in flight are carried out; priorities of prefixes; an election number.

mod cache;
mod cost;
mod filter;
mod select;
mod shunt;
mod topology;

pub use select::Select;

use super::{Message, Order, Planner, PlannerCounters, RouterId};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::strategy::NextHop;
use crate::units::{Duration, Rate, Time};
use cache::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use topology::{DataLink, RouterTable, cheapest};

/// Parameters of [`NdnSieve`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Queue occupancy above which congestion is severe and the signal is sieved; th2 = 0.9 in table 3.
    pub occupancy: f64,
    /// T_p, with which costs are refreshed and silence is measured; 0.5 s in table 3.
    pub period: Duration,
    /// How prefixes are selected; at random in algorithm 1.
    pub select: Select,
    /// a of algorithm 1: the share of a router's FIB entries selected per signal, at least one prefix. The paper gives
    /// no value; 0, so one prefix, is ours.
    pub share: f64,
    /// By how much another path's metric must be lower for a switch, as a share of the present one's; 0.1 is ours.
    pub margin: f64,
    /// Least time between two switches of a prefix; T_p is ours.
    pub switch_gap: Duration,
    /// Whether another path is compared as it would be with the prefix's own Data, and their share of what waits, on
    /// it, and no link is taken for busier than full. As printed it is taken as it is, so that an idle one always wins.
    /// Ours.
    pub moved_load: bool,
    /// Whether the refresh every T_p may switch, or only signals; §4.2.1: "the router will then divert traffic to the
    /// new optimal interface".
    pub refresh_switches: bool,
    /// No switches for so long after the topology has changed, so that routing can react first; 1 s is ours.
    pub settle: Duration,
    /// Priority of each prefix, by its number; 0 where the list ends. Prefixes of lower priority are moved first (ours;
    /// the paper's future work).
    pub priorities: Vec<u32>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            occupancy: 0.9,
            period: Duration::from_millis(500),
            select: Select::Random,
            share: 0.0,
            margin: 0.1,
            switch_gap: Duration::from_millis(500),
            moved_load: false,
            refresh_switches: true,
            settle: Duration::from_millis(1000),
            priorities: Vec::new(),
        }
    }
}

/// The result for one prefix, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PrefixOutcome {
    WithoutShunt,
    NotBetter,
    Held,
    Switched,
}

/// The links by which Data comes, none if a next hop leads nowhere.
type Path = Option<Vec<DataLink>>;

/// The planner.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct NdnSieve {
    #[state(skip)]
    params: Params,
    election: u64,
    /// Another planner has taken over.
    deposed: bool,
    topology: RouterTable,
    cache: Cache,
    /// Shunt routers, whose costs are refreshed.
    managed: BTreeSet<(PrefixId, RouterId)>,
    /// Routers that must get routing's costs back.
    restoring: BTreeSet<(PrefixId, RouterId)>,
    switched: BTreeMap<PrefixId, Time>,
    /// No switches before.
    settled: Time,
    next: Time,
    tally: PlannerCounters,
}

impl Component for NdnSieve {
    const NAME: &'static str = "ndnsieve";
    const SUMMARY: &'static str = "leads prefixes around mildly congested links by the costs of next hops";
    const SOURCE: &'static str =
        "Ma et al., Discover Applied Sciences 2024, §4.2; margin, switch gap, loop guard, priorities: ours";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("occupancy", params.occupancy, 0.0, 1.0)?;
        check::number("share", params.share, 0.0, 1.0)?;
        check::number("margin", params.margin, 0.0, 1.0)?;
        check::least("period", params.period, Duration::from_millis(1))?;
        if params.priorities.len() > 1 << 16 {
            let message = "priorities has more than 65536 entries";
            return Err(SchemeError::about("priorities", message, "leave out trailing zeros"));
        }
        Ok(())
    }

    fn new(params: &Params, _: &mut Env<'_>) -> NdnSieve {
        NdnSieve {
            params: params.clone(),
            election: 1,
            deposed: false,
            topology: RouterTable::default(),
            cache: Cache::new(params.period * 3),
            managed: BTreeSet::new(),
            restoring: BTreeSet::new(),
            switched: BTreeMap::new(),
            settled: Time::ZERO,
            next: Time::ZERO,
            tally: PlannerCounters::default(),
        }
    }
}

impl NdnSieve {
    /// Algorithm 1.
    fn on_signal(&mut self, link: DataLink, fib_entries: u32, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        if !filter::is_mild(&self.cache, link, self.params.occupancy, now, &mut self.tally) {
            return;
        }
        self.tally.operations.calculate += 1;
        let Self { params, topology, cache, .. } = &*self;
        let prefixes = select::on_link(topology, cache, link);
        let downstream = select::downstream(topology, link);
        let rate = |prefix| {
            let known = downstream.and_then(|(router, face)| cache.rate_of(router, prefix, face));
            known.unwrap_or(Rate::ZERO)
        };
        let priority = |prefix: PrefixId| params.priorities.get(prefix.index()).copied().unwrap_or(0);
        let count = select::number(params.share, fib_entries);
        let chosen = select::select(prefixes, count, params.select, priority, rate, ctx.rng);
        let mut outcome = PrefixOutcome::WithoutShunt;
        for prefix in chosen {
            let looked = &mut self.tally.operations.search;
            let Some(router) = shunt::find_shunt(&self.topology, &self.cache, link, prefix, now, looked) else {
                continue;
            };
            self.managed.insert((prefix, router));
            outcome = outcome.max(self.decide(router, prefix, true, orders, ctx));
        }
        *match outcome {
            PrefixOutcome::WithoutShunt => &mut self.tally.without_shunt,
            PrefixOutcome::NotBetter => &mut self.tally.not_better,
            PrefixOutcome::Held => &mut self.tally.held,
            PrefixOutcome::Switched => &mut self.tally.acted,
        } += 1;
    }

    /// Gives a shunt router the metrics of its next hops, and lets it switch if `may_switch` and nothing prevents it.
    fn decide(
        &mut self,
        router: RouterId,
        prefix: PrefixId,
        may_switch: bool,
        orders: &mut Vec<Order>,
        ctx: &mut Ctx<'_>,
    ) -> PrefixOutcome {
        let now = ctx.now;
        if self.deposed || now < self.settled || self.restoring.iter().any(|&(other, _)| other == prefix) {
            return PrefixOutcome::Held;
        }
        let Some(route) = self.topology.route(router, prefix) else { return PrefixOutcome::NotBetter };
        let Some(best) = route.best() else { return PrefixOutcome::NotBetter };
        let faces: Vec<FaceId> = route.planned().iter().map(|hop| hop.face).collect();
        let looked = &mut self.tally.operations.search;
        let paths: Vec<Path> = faces.iter().map(|face| self.topology.path(router, *face, prefix, looked)).collect();
        self.tally.operations.switch += paths.len() as u64;
        let present = faces.iter().position(|face| *face == best).and_then(|index| paths[index].as_deref());
        let metrics: Vec<(FaceId, Option<f64>)> = (faces.iter().zip(&paths))
            .map(|(face, path)| {
                (
                    *face,
                    path.as_ref().and_then(|path| self.metric(router, prefix, present.unwrap_or_default(), path, now)),
                )
            })
            .collect();
        // Without the present path's metric no path can be called better.
        let Some(metric) = metrics.iter().find(|(face, _)| *face == best).and_then(|(_, metric)| *metric) else {
            return PrefixOutcome::NotBetter;
        };
        let others = metrics.iter().filter_map(|&(face, other)| Some((face, other.filter(|_| face != best)?)));
        let better = others.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let better = better.filter(|(_, other)| *other < metric * (1.0 - self.params.margin));
        let mut outcome = if better.is_some() { PrefixOutcome::Held } else { PrefixOutcome::NotBetter };
        let rested = self.switched.get(&prefix).is_none_or(|&at| now >= at + self.params.switch_gap);
        let safe = |face| self.topology.is_safe(router, face, prefix);
        let target = match better {
            Some((face, _)) if may_switch && rested && safe(face) => {
                outcome = PrefixOutcome::Switched;
                face
            }
            _ => best,
        };
        let hops = metrics.iter().map(|&(face, metric)| NextHop { face, cost: cost::cost(metric) }).collect();
        let mut hops: Vec<NextHop> = hops;
        if target == best {
            // A path that is cheaper but not taken has the present one's cost.
            let least = cost::cost(Some(metric));
            hops.iter_mut().for_each(|hop| hop.cost = hop.cost.max(least));
        }
        if outcome == PrefixOutcome::Switched {
            self.switched.insert(prefix, now);
            self.tally.switches += 1;
            ctx.trace.record(now, "switch", u64::from(router.0), f64::from(prefix.0));
        }
        self.order(router, prefix, cost::ranked(hops, target), orders, now);
        outcome
    }

    /// Equation 3 for a path; with [`Params::moved_load`] as it would be if the prefix came by it, with its share of
    /// the queues of the `present` path.
    fn metric(
        &self,
        router: RouterId,
        prefix: PrefixId,
        present: &[DataLink],
        path: &[DataLink],
        now: Time,
    ) -> Option<f64> {
        if !self.params.moved_load {
            return cost::metric(&self.cache, path, |_| Some(cost::Added::default()), f64::INFINITY, now);
        }
        // By all faces: right after a switch Data comes by two.
        let rate = self.cache.total_rate(router, prefix);
        let share = |link: DataLink| Some(rate?.mbps() / self.topology.interface(link.0, link.1)?.rate?.mbps());
        let queued = |link: &DataLink| {
            let state = self.cache.state(*link, now)?;
            let load = state.utilization.min(1.0);
            Some(if load > 0.0 { state.occupancy * (share(*link)? / load).min(1.0) } else { 0.0 })
        };
        let added = |link: DataLink| {
            if present.contains(&link) {
                return Some(cost::Added::default());
            }
            let left = present.iter().filter(|link| !path.contains(link));
            let occupancy = left.filter_map(queued).fold(0.0, f64::max);
            Some(cost::Added { utilization: share(link)?, occupancy })
        };
        cost::metric(&self.cache, path, added, 1.0, now)
    }

    /// Gives an order, unless it would change nothing.
    fn order(&mut self, router: RouterId, prefix: PrefixId, hops: Vec<NextHop>, orders: &mut Vec<Order>, now: Time) {
        let Some(route) = self.topology.route_mut(router, prefix) else { return };
        let settled = route.ordered.is_some() || route.possible.len() <= 1;
        if route.planned() == hops && settled {
            return;
        }
        route.may_use(cheapest(&hops));
        (route.ordered, route.given) = (Some(hops.clone()), now);
        self.tally.orders += 1;
        orders.push(Order { router, prefix, hops, election: self.election });
    }

    /// The topology has changed: all redirected traffic returns to routing's next hops, and nothing is switched for a
    /// while.
    fn restore_routing_costs(&mut self, only: Option<PrefixId>, now: Time) {
        self.settled = self.settled.max(now + self.params.settle);
        for (router, announced) in self.topology.routers() {
            for (&prefix, route) in announced.routes.iter().filter(|(prefix, _)| only.is_none_or(|p| p == **prefix)) {
                if route.is_diverted() || route.possible.len() > 1 {
                    self.restoring.insert((prefix, router));
                }
            }
        }
    }

    /// Gives routers routing's costs back, each as soon as that cannot form a loop. Those nearest to the producer can
    /// go first in any case, so that all get there.
    fn restore(&mut self, orders: &mut Vec<Order>, now: Time) {
        if self.deposed {
            return;
        }
        for (prefix, router) in std::mem::take(&mut self.restoring) {
            let Some(route) = self.topology.route(router, prefix) else { continue };
            let Some(best) = cheapest(&route.routing) else { continue };
            if !self.topology.is_safe(router, best, prefix) {
                self.restoring.insert((prefix, router));
                continue;
            }
            let hops = cost::ranked(route.routing.clone(), best);
            self.order(router, prefix, hops, orders, now);
        }
    }

    /// Repeats orders that have not been answered for a period.
    fn retransmit_orders(&mut self, orders: &mut Vec<Order>, now: Time) {
        let mut late = Vec::new();
        for (router, announced) in self.topology.routers() {
            for (&prefix, route) in &announced.routes {
                if route.ordered.is_some() && now.since(route.given) >= self.params.period {
                    late.push((router, prefix));
                }
            }
        }
        for (router, prefix) in late {
            let Some(route) = self.topology.route_mut(router, prefix) else { continue };
            route.given = now;
            let hops = route.planned().to_vec();
            self.tally.orders += 1;
            orders.push(Order { router, prefix, hops, election: self.election });
        }
    }

    /// A router reports the costs in force.
    fn on_answer(&mut self, router: RouterId, prefix: PrefixId, election: u64, hops: &[NextHop]) {
        self.deposed |= election > self.election;
        let Some(route) = self.topology.route_mut(router, prefix).filter(|_| !hops.is_empty()) else { return };
        route.in_force = hops.to_vec();
        let mut ordered = route.ordered.clone().unwrap_or_default();
        let mut routing = hops.to_vec();
        ordered.sort_by_key(|hop| hop.face);
        routing.sort_by_key(|hop| hop.face);
        if ordered == routing {
            route.ordered = None;
            route.possible.clear();
        }
        route.may_use(cheapest(hops));
        // What a former planner redirected is refreshed by this one.
        if route.is_diverted() {
            self.managed.insert((prefix, router));
        }
    }
}

impl Planner for NdnSieve {
    fn elect(&mut self, election: u64) {
        (self.election, self.deposed) = (election, false);
    }

    fn on_message(&mut self, message: &Message, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        match *message {
            Message::Link { router, face, neighbour, rate, up } => {
                if self.topology.link(router, face, neighbour, rate, up) {
                    self.restore_routing_costs(None, now);
                    self.restore(orders, now);
                }
            }
            Message::Routes { router, prefix, ref hops } => {
                if self.topology.set_route(router, prefix, hops) {
                    self.restore_routing_costs(Some(prefix), now);
                    self.restore(orders, now);
                }
            }
            Message::Report { router, measured, face, utilization, occupancy } => {
                self.cache.report((router, face), measured, utilization, occupancy, now);
            }
            Message::PrefixRate { router, prefix, face, rate } => self.cache.rate(router, prefix, face, rate),
            Message::Signal { router, face, fib_entries, .. } => {
                self.on_signal((router, face), fib_entries, orders, ctx);
            }
            Message::Answer { router, prefix, election, ref hops } => {
                self.on_answer(router, prefix, election, hops);
                self.restore(orders, now);
            }
        }
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn on_wake(&mut self, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        self.next = Time::ZERO + self.params.period * (now.nanos() / self.params.period.nanos() + 1);
        if self.deposed {
            return;
        }
        self.retransmit_orders(orders, now);
        self.restore(orders, now);
        for (prefix, router) in self.managed.clone() {
            self.decide(router, prefix, self.params.refresh_switches, orders, ctx);
        }
    }

    fn tally(&self) -> PlannerCounters {
        self.tally
    }
}

#[cfg(test)]
mod tests;

//! Planners: one per network, setting the cost of every (router, prefix, next hop) from what routers report.
//!
//! A planner sees messages and gives orders; the channel between it and the routers (a simulated delay, or a network
//! protocol) belongs to the driver. All costs of one order take effect together or not at all.

pub mod ndnsieve;
pub mod none;

use crate::ctx::Ctx;
use crate::ids::{FaceId, PrefixId};
use crate::meter::Report;
use crate::strategy::NextHop;
use crate::units::{Rate, Time};

/// A router, numbered by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct RouterId(pub u32);

/// What the planner learns.
#[derive(Clone, Debug, PartialEq, ndnweir_state::Value)]
pub enum Message {
    /// A router's interface leads to a neighbour.
    Link {
        /// The router.
        router: RouterId,
        /// Its interface.
        face: FaceId,
        /// The neighbour; none for an application or an on-demand peer.
        neighbour: Option<RouterId>,
        /// Capacity from the router to the neighbour.
        rate: Option<Rate>,
        /// Whether it is up.
        up: bool,
    },
    /// Routing lets a router forward a prefix to these next hops at these costs, which are in force until an
    /// [`Message::Answer`] says otherwise. A next hop over a face that no [`Message::Link`] announced before leads to
    /// an application of the router.
    Routes {
        /// The router.
        router: RouterId,
        /// The prefix, numbered by the driver, the same in all routers.
        prefix: PrefixId,
        /// Its next hops.
        hops: Vec<NextHop>,
    },
    /// State of one interface, by period.
    Report {
        /// The router.
        router: RouterId,
        /// When it was measured.
        measured: Time,
        /// The interface.
        face: FaceId,
        /// Arriving bits over capacity; may exceed 1.
        utilization: f64,
        /// Queue length over its limit.
        occupancy: f64,
    },
    /// The utilisation of an interface is above its threshold.
    Signal {
        /// The router.
        router: RouterId,
        /// When it was measured.
        measured: Time,
        /// The interface.
        face: FaceId,
        /// FIB entries of the router that have next hops.
        fib_entries: u32,
    },
    /// The Data rate of a prefix on an interface.
    PrefixRate {
        /// The router.
        router: RouterId,
        /// The prefix.
        prefix: PrefixId,
        /// The interface its Data comes from.
        face: FaceId,
        /// Data rate over the last period.
        rate: Rate,
    },
    /// A router's answer to an order: the costs in force now.
    Answer {
        /// The router.
        router: RouterId,
        /// The prefix.
        prefix: PrefixId,
        /// The highest election the router has seen.
        election: u64,
        /// All next hops with the costs in force, cheapest first; those of the order if it was carried out.
        hops: Vec<NextHop>,
    },
}

impl Message {
    /// A report of a router's meter, as its planner receives it; `fib_entries` are those of the router.
    pub fn from_report(router: RouterId, measured: Time, report: Report, fib_entries: u32) -> Message {
        match report {
            Report::Interface { face, utilization, occupancy } => {
                Message::Report { router, measured, face, utilization, occupancy }
            }
            Report::Signal { face } => Message::Signal { router, measured, face, fib_entries },
            Report::PrefixRate { prefix, face, rate } => Message::PrefixRate { router, prefix, face, rate },
        }
    }
}

/// New costs for one (router, prefix), applied as a whole or not at all: a router whose next hops are not exactly these
/// rejects it.
#[derive(Clone, Debug, PartialEq, ndnweir_state::Value)]
pub struct Order {
    /// Who.
    pub router: RouterId,
    /// For which prefix.
    pub prefix: PrefixId,
    /// Each next hop with its new cost.
    pub hops: Vec<NextHop>,
    /// The election number of the planner; a router obeys the highest it has seen.
    pub election: u64,
}

/// What a planner did with the signals it received, and how much work that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct PlannerCounters {
    /// Signals received.
    pub signals: u64,
    /// Of these, left to marks and consumers, as congestion is severe.
    pub sieved: u64,
    /// Of these, from interfaces whose state is not known or too old.
    pub unknown: u64,
    /// Of these, without a selected prefix for which a shunt router exists.
    pub without_shunt: u64,
    /// Of these, without a path that is better by the margin.
    pub not_better: u64,
    /// Of these, held back by the least time between switches, a change of the topology or the danger of a loop.
    pub held: u64,
    /// Of these, answered with at least one switch.
    pub acted: u64,
    /// Orders that change the best next hop.
    pub switches: u64,
    /// All orders, repeated ones included.
    pub orders: u64,
    /// Basic operations: signals filtered, costs calculated, routers examined in the search for shunts, and next hops
    /// given a cost (the terms of ndnSieve's equations 7 and 8).
    pub operations: Operations,
}

impl std::ops::AddAssign for PlannerCounters {
    fn add_assign(&mut self, other: PlannerCounters) {
        self.signals += other.signals;
        self.sieved += other.sieved;
        self.unknown += other.unknown;
        self.without_shunt += other.without_shunt;
        self.not_better += other.not_better;
        self.held += other.held;
        self.acted += other.acted;
        self.switches += other.switches;
        self.orders += other.orders;
        self.operations.filter += other.operations.filter;
        self.operations.calculate += other.operations.calculate;
        self.operations.search += other.operations.search;
        self.operations.switch += other.operations.switch;
    }
}

/// Basic operations of a planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct Operations {
    /// Signals filtered: equation 7.
    pub filter: u64,
    /// Calculations after a mild signal: N_mc of equation 8.
    pub calculate: u64,
    /// Routers and links examined in the search for shunt routers: O_FSN of equation 8.
    pub search: u64,
    /// Next hops given a cost: O_switch of equation 8.
    pub switch: u64,
}

/// Decides costs for the network.
pub trait Planner {
    /// Whether this is the null planner, which drivers skip.
    fn is_none(&self) -> bool {
        false
    }

    /// Sets the election number of its orders from now on; initially 1.
    fn elect(&mut self, _election: u64) {}

    /// A message arrived.
    fn on_message(&mut self, message: &Message, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>);

    /// When [`Planner::on_wake`] must be called; [`Time::NEVER`] if not at all.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// The time requested has come.
    fn on_wake(&mut self, _orders: &mut Vec<Order>, _ctx: &mut Ctx<'_>) {}

    /// What it did so far.
    fn tally(&self) -> PlannerCounters {
        PlannerCounters::default()
    }
}

//! Planners: one per network, setting the cost of every (router, prefix, next hop) from what routers report.
//!
//! A planner sees messages and gives orders; the channel between it and the routers (a simulated delay, or a network
//! protocol) belongs to the driver. All costs of one order take effect together or not at all.

pub mod none;

use crate::ctx::Ctx;
use crate::ids::{FaceId, PrefixId};
use crate::meter::Report;
use crate::strategy::NextHop;
use crate::units::{Rate, Time};

/// A router, numbered by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RouterId(pub u32);

/// What the planner learns.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A router's interface leads to a neighbour.
    Link {
        /// The router.
        router: RouterId,
        /// Its interface.
        face: FaceId,
        /// The neighbour; none for an application or a stranger.
        neighbour: Option<RouterId>,
        /// Capacity from the router to the neighbour.
        rate: Option<Rate>,
        /// Whether it is up.
        up: bool,
    },
    /// A router can forward a prefix to these next hops at these costs.
    Routes {
        /// The router.
        router: RouterId,
        /// The prefix, numbered by the driver alike in all routers.
        prefix: PrefixId,
        /// Its next hops.
        hops: Vec<NextHop>,
    },
    /// A router's meter reports.
    Report {
        /// The router.
        router: RouterId,
        /// When it was measured.
        measured: Time,
        /// One interface.
        report: Report,
    },
    /// How much of a prefix passes an interface, for planners that pick the largest.
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
}

/// New costs for one (router, prefix), applied as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Who.
    pub router: RouterId,
    /// For which prefix.
    pub prefix: PrefixId,
    /// Each next hop with its new cost.
    pub hops: Vec<NextHop>,
    /// Which planner speaks; a router obeys the highest it has seen.
    pub election: u64,
}

/// Decides costs for the network.
pub trait Planner {
    /// Whether this is the null planner, which drivers skip.
    fn is_none(&self) -> bool {
        false
    }

    /// A message arrived.
    fn on_message(&mut self, message: &Message, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>);

    /// When [`Planner::on_wake`] is wanted; [`Time::NEVER`] if not at all.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// The time asked for has come.
    fn on_wake(&mut self, _orders: &mut Vec<Order>, _ctx: &mut Ctx<'_>) {}
}

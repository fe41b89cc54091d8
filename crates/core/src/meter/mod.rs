//! Meters: what a node measures as packets pass, stamps on them, marks from measurement and reports.
//!
//! One instance per node.

pub mod coopcon;
pub mod flecom;
pub mod hbhcm;
pub mod hbhcm_base;
pub mod hbhcm_foreign;
pub mod hbhcm_noise;
pub mod hbhcm_pair;
pub mod levels;
pub mod low_latency;
pub mod ndnsieve;
pub mod none;
pub mod paqm;
pub mod path_label;
pub mod pooling;
pub mod rcp;
pub mod weir;

use crate::ctx::Ctx;
use crate::ids::{FaceId, PrefixId};
use crate::packet::Packet;
use crate::shaper::FaceView;
use crate::units::{Duration, Rate, Time};

/// An Interest that is about to join the egress queue of `face`.
pub struct InterestOut<'a> {
    /// The Interest; its header fields may be written.
    pub packet: &'a mut Packet,
    /// Its FIB prefix.
    pub prefix: PrefixId,
    /// Where it leaves.
    pub face: FaceId,
}

/// A Data that satisfied a pending Interest, before any other component sees it.
pub struct DataIn<'a> {
    /// The Data; its mark and header fields may be changed.
    pub packet: &'a mut Packet,
    /// The FIB prefix of the Interest.
    pub prefix: PrefixId,
    /// Where it came from.
    pub face: FaceId,
    /// From the last Interest sent there to now.
    pub rtt: Duration,
    /// Whether that Interest had been sent there more than once, so that `rtt` may be wrong.
    pub retransmitted: bool,
    /// Whether `face` leads to an application on this node.
    pub local: bool,
}

/// A Data that is about to join the egress queue of one downstream face.
pub struct DataOut<'a> {
    /// The Data as this downstream will see it; its mark and header fields may be changed.
    pub packet: &'a mut Packet,
    /// The FIB prefix of the Interest.
    pub prefix: PrefixId,
    /// Where it leaves.
    pub face: FaceId,
    /// When the Interest it answers arrived from that face (the last one).
    pub interest_arrival: Time,
    /// Whether that Interest was retransmitted.
    pub retransmitted: bool,
    /// The header fields of that Interest, aggregated (see [`crate::fields::Aggregation`]).
    pub interest_fields: &'a crate::fields::Fields,
    /// Whether it comes from this node's content store.
    pub from_cache: bool,
    /// Distinct flows with pending Interests from that face.
    pub flows: u32,
}

/// A router's reports to the planner.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub enum Report {
    /// State of one interface, by period.
    Interface {
        /// The interface.
        face: FaceId,
        /// Arriving bits over capacity; may exceed 1 (ndnSieve, equation 1).
        utilization: f64,
        /// Queue length over its limit (ndnSieve, equation 2).
        occupancy: f64,
    },
    /// The utilisation of an interface is above its threshold.
    Signal {
        /// The interface.
        face: FaceId,
    },
    /// How much Data of a prefix comes from an interface.
    PrefixRate {
        /// The prefix.
        prefix: PrefixId,
        /// The interface the Data comes from.
        face: FaceId,
        /// Over the last reporting period.
        rate: Rate,
    },
}

/// Measures at a node's hooks.
pub trait Meter {
    /// Whether this is the null meter, which nodes skip.
    fn is_none(&self) -> bool {
        false
    }

    /// Whether it may read [`DataOut::flows`]; false saves nodes to count them.
    fn counts_flows(&self) -> bool {
        true
    }

    /// An Interest leaves.
    fn on_interest_out(&mut self, _event: &mut InterestOut<'_>, _ctx: &mut Ctx<'_>) {}

    /// A Data arrives.
    fn on_data_in(&mut self, _event: &mut DataIn<'_>, _ctx: &mut Ctx<'_>) {}

    /// A Data leaves.
    fn on_data_out(&mut self, _event: &mut DataOut<'_>, _ctx: &mut Ctx<'_>) {}

    /// When [`Meter::on_period`] must be called; [`Time::NEVER`] if not at all. It may change in that call alone: a node asks
    /// once it is set up, and after each.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// The time requested has come; reports to the planner are pushed to `reports`.
    fn on_period(&mut self, _faces: &[FaceView], _reports: &mut Vec<Report>, _ctx: &mut Ctx<'_>) {}
}

//! What a node and a face are built from, and what a node hands to its driver.

use crate::rate_trace::RateTrace;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::Packet;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::{DisciplineParams, MarkerParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Bytes, Rate, Time};

/// What a node is built from.
#[derive(Clone, Copy, Debug)]
pub struct NodeConfig<'a> {
    /// The node's number, for its random streams (see `streams`).
    pub number: u32,
    /// The run's seed.
    pub seed: u64,
    /// The scheme in force.
    pub scheme: &'a Scheme,
    /// The run's header fields, the same in every node.
    pub layout: &'a FieldLayout,
    /// The most PIT entries; an Interest beyond is answered with a Congestion NACK.
    pub pit_limit: usize,
    /// The most packets in the content store; 0 is none.
    pub cache: usize,
    /// How many prefixes there are: [`ndnweir_core::ids::PrefixId`]s are below it.
    pub prefixes: usize,
    /// Whether components record events.
    pub trace: bool,
    /// Never settle departures late, even where the queue is predictable: every egress gets timeouts while busy. The
    /// results are the same, which a property test checks.
    pub force_events: bool,
}

/// What a face is built from.
#[derive(Clone, Debug)]
pub struct FaceConfig {
    /// Whether it leads to an application on this node; such a face has no egress queue.
    pub local: bool,
    /// The rate at which the node sends on it; none passes packets through without a queue.
    pub rate: Option<Rate>,
    /// When the link can deliver, in place of a rate; `rate` is then its mean, which schemes see.
    pub trace: Option<RateTrace>,
    /// The rate at which the neighbour sends back, for shapers and meters.
    pub return_rate: Option<Rate>,
    /// The most that may wait (the packet on the wire excluded).
    pub limit: Limit,
    /// Bytes the link adds to each packet.
    pub framing: Bytes,
    /// The largest frame, `framing` excluded; larger packets are cut into NDNLPv2 fragments. None where no one cuts.
    pub mtu: Option<Bytes>,
    /// Whether the driver cuts when a packet leaves (a real forwarder): it queues whole, and counts with the headers
    /// and `framing` of its fragments. Otherwise fragments queue singly.
    pub cut_below: bool,
    /// A marker in place of the scheme's.
    pub marker: Option<ComponentChoice<MarkerParams>>,
    /// A discipline in place of the scheme's.
    pub discipline: Option<ComponentChoice<DisciplineParams>>,
}

impl FaceConfig {
    /// A face to an application on the node.
    pub fn local() -> FaceConfig {
        FaceConfig {
            local: true,
            rate: None,
            trace: None,
            return_rate: None,
            limit: Limit::Packets(0),
            framing: Bytes::ZERO,
            mtu: None,
            cut_below: false,
            marker: None,
            discipline: None,
        }
    }

    /// One end of a link with the same rate both ways.
    pub fn link(rate: Rate, limit: Limit) -> FaceConfig {
        FaceConfig {
            local: false,
            rate: Some(rate),
            trace: None,
            return_rate: Some(rate),
            limit,
            framing: Bytes::ZERO,
            mtu: None,
            cut_below: false,
            marker: None,
            discipline: None,
        }
    }
}

/// Where a packet goes that leaves as it is, the only one that does so because of an arrival; see
/// [`crate::Node::forward`]. Returned in two registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// Where; [`FaceId::NONE`] if there is no such packet.
    pub face: FaceId,
    /// When its last bit has left.
    pub end: Time,
}

impl Departure {
    /// There is no such packet.
    pub const NONE: Departure = Departure { face: FaceId::NONE, end: Time::NEVER };

    /// Whether there is one.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.face != FaceId::NONE
    }
}

/// A packet that leaves the node.
///
/// The Transmits of one face come in the order in which they leave. Those of a face with a predictable queue are given
/// out when they join it, with their future times.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub struct Transmit {
    /// Where.
    pub face: FaceId,
    /// What.
    pub packet: Packet,
    /// When it was offered to the face.
    pub joined: Time,
    /// When its first bit leaves.
    pub start: Time,
    /// When its last bit has left; equal to `start` on local faces and faces without a rate.
    pub end: Time,
}

//! What a run tells its observer.
//!
//! The engine measures nothing itself: it counts (see [`Snapshot`]) and reports events, and whoever runs it
//! decides what to keep. Every method has an empty default, so an observer that wants nothing costs nothing.

use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::FetcherCounters;
pub use ndnweir_node::{DropCause, FaceCounters as LinkCounters, NodeCounters};

/// A consumer application, numbered in the order of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u32);

/// One direction of a link: `2·i` is link `i` of the topology from its first to its second end, `2·i + 1` the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectedLinkId(pub u32);

/// A node, numbered in the order of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The links a Data packet crossed, as a number: equal for equal paths. Name it through [`Observer::path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// A segment that reached its consumer for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When it arrived.
    pub at: Time,
    /// Who asked for it.
    pub consumer: ConsumerId,
    /// Its number within the object.
    pub segment: u64,
    /// Content bytes, without names, headers and link framing.
    pub payload: Bytes,
    /// From the first Interest for the segment to this Data.
    pub delay: Duration,
    /// From the last Interest to this Data; none when the segment was requested more than once.
    pub rtt: Option<Duration>,
    /// The CongestionMark it carried; 0 is none.
    pub mark: u8,
    /// The way the Data came.
    pub path: PathId,
    /// Interests sent for it beyond the first.
    pub retransmissions: u32,
    /// Whether every earlier segment had arrived before.
    pub in_order: bool,
}

/// Running totals and state of one consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConsumerCounters {
    /// Interests sent, retransmissions included.
    pub interests: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Segments received for the first time.
    pub segments: u64,
    /// Content bits of these.
    pub payload_bits: u64,
    /// Data that arrived again.
    pub duplicates: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Marked Data received.
    pub marks: u64,
    /// Times the window was cut.
    pub decreases: u64,
    /// The congestion window now, in segments.
    pub window: f64,
    /// Interests outstanding now.
    pub in_flight: u32,
    /// Smoothed round-trip time now; zero before the first sample.
    pub srtt: Duration,
    /// Interests per second that the consumer paces to now; none if it does not pace.
    pub rate: Option<f64>,
}

impl From<FetcherCounters> for ConsumerCounters {
    fn from(c: FetcherCounters) -> ConsumerCounters {
        ConsumerCounters {
            interests: c.interests,
            retransmissions: c.retransmissions,
            segments: c.segments,
            payload_bits: c.payload_bits,
            duplicates: c.duplicates,
            timeouts: c.timeouts,
            nacks: c.nacks,
            marks: c.marks,
            decreases: c.decreases,
            window: c.window,
            in_flight: c.in_flight,
            srtt: c.srtt,
            rate: c.rate,
        }
    }
}

/// The share of a prefix's Interests that a node's strategy sends to one next hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Where.
    pub node: NodeId,
    /// The prefix, numbered in the order of the scenario.
    pub prefix: u32,
    /// The link towards the next hop.
    pub link: DirectedLinkId,
    /// In [0, 1].
    pub share: f64,
}

/// The state of the whole network at one instant; taken every sampling interval and at the end.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// When.
    pub at: Time,
    /// By [`DirectedLinkId`].
    pub links: &'a [LinkCounters],
    /// By [`ConsumerId`].
    pub consumers: &'a [ConsumerCounters],
    /// By [`NodeId`]; those of switches, and of emulated nodes all, are not there or zero.
    pub nodes: &'a [NodeCounters],
    /// Of every strategy that splits traffic; best-route and multicast report nothing.
    pub shares: &'a [Share],
}

/// Receives what happens in a run. All calls come in order of time.
pub trait Observer {
    /// A segment reached its consumer for the first time.
    fn delivered(&mut self, _delivery: &Delivery) {}
    /// A consumer has its whole object.
    fn completed(&mut self, _at: Time, _consumer: ConsumerId) {}
    /// First use of a path: the links its Data crosses, from the producer (or cache) to the consumer.
    fn path(&mut self, _path: PathId, _links: &[DirectedLinkId]) {}
    /// The state at a sampling instant.
    fn sample(&mut self, _snapshot: &Snapshot<'_>) {}
    /// A component reports something for the record (see the component's page for its keys), e.g. a mark or a state.
    fn scheme_event(&mut self, _at: Time, _node: NodeId, _key: &'static str, _id: u64, _value: f64) {}
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

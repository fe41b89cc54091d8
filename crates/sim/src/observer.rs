//! The observer of a run.
//!
//! The engine measures nothing itself: it counts (see [`Snapshot`]) and reports events, and the caller decides what to
//! keep. Every method has an empty default. It is called for what reaches an application, not for every hop, so that the
//! engine is compiled once, for any observer.

use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
pub use ndnweir_node::{
    Arrival, DropCause, Drops, FaceCounters as LinkCounters, FetcherCounters as ConsumerCounters, NodeCounters,
};
use ndnweir_state::State;

/// A consumer application, numbered in the order of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u32);

/// One direction of a link: `2·i` is link `i` of the topology from its first to its second end, `2·i + 1` the return
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ndnweir_state::Value)]
pub struct DirectedLinkId(pub u32);

/// A node, numbered in the order of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ndnweir_state::Value)]
pub struct NodeId(pub u32);

/// The links a Data packet crossed, as a number: equal for equal paths. Name it through [`Observer::path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ndnweir_state::Value)]
pub struct PathId(pub u32);

/// A segment that reached its consumer for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When it arrived.
    pub at: Time,
    /// Who requested it.
    pub consumer: ConsumerId,
    /// The way the Data came.
    pub path: PathId,
    /// What came.
    pub arrival: Arrival,
}

/// The share of a prefix's Interests that a node's strategy sends to one next hop.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
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

/// What happens to a flow of a consumer with many, or to its video (see [`crate::flows::Flows`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub enum FlowEvent {
    /// It arrived, and requests this number of Data.
    Began {
        /// How many.
        segments: u64,
    },
    /// All its Data have come.
    Completed {
        /// When it had arrived.
        began: Time,
        /// How many.
        segments: u64,
    },
    /// It arrived while too many were active, and never sends an Interest.
    Rejected,
    /// A player (see [`crate::player`]) opened a video, of which it has nothing to show yet.
    Opened,
    /// It requests a chunk in this bitrate.
    Chose {
        /// In bit/s.
        bps: u64,
        /// Whether the chunk before had another.
        switched: bool,
    },
    /// It begins or resumes to show the video.
    Plays,
    /// Its buffer is empty, and the video not at its end.
    Stalled,
    /// The video is at its end, or the player stops.
    Closed,
}

/// Receives what happens in a run. All calls come in order of time.
pub trait Observer {
    /// A consumer sends an Interest.
    fn requested(&mut self, _at: Time, _consumer: ConsumerId, _interest: &Packet) {}
    /// A segment reached its consumer for the first time.
    fn delivered(&mut self, _delivery: &Delivery) {}
    /// A consumer has its whole object.
    fn completed(&mut self, _at: Time, _consumer: ConsumerId) {}
    /// A flow of a consumer with many begins, ends or is rejected.
    fn flow(&mut self, _at: Time, _consumer: ConsumerId, _event: FlowEvent) {}
    /// First use of a path: the links its Data crosses, from the producer (or cache) to the consumer.
    fn path(&mut self, _path: PathId, _links: &[DirectedLinkId]) {}
    /// The state at a sampling instant.
    fn sample(&mut self, _snapshot: &Snapshot<'_>) {}
    /// A component records an event (see the component's page for its keys), e.g. a mark or a state.
    fn scheme_event(&mut self, _at: Time, _node: NodeId, _key: &'static str, _id: u64, _value: f64) {}
    /// Whether it wants to be told of anything but samples; one that does not is told nothing else, or it is, as comes
    /// cheaper.
    fn watches(&self) -> bool {
        true
    }
    /// Whether it wants to be told of Interests that consumers send; one that does not may be told or not.
    fn watches_requests(&self) -> bool {
        self.watches()
    }
    /// What it has gathered, to keep it with the state of a run; none if it cannot be kept.
    fn state(&mut self) -> Option<&mut dyn State> {
        None
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn watches(&self) -> bool {
        false
    }

    fn state(&mut self) -> Option<&mut dyn State> {
        Some(self)
    }
}

//! Shapers: whether an Interest may leave by an out-face now, later or not at all.
//!
//! One instance per out-face. The node calls [`Shaper::admit`] after the strategy chose the face and before the
//! Interest joins the egress queue.

pub mod chopcop;
pub mod ecp;
pub mod flecom;
pub mod his;
pub mod hobhis;
pub mod hobhis_2014;
pub mod hr_icp;
pub mod kato_window;
pub mod mircc;
pub mod none;
pub mod qsccp;
pub mod stateful;

use crate::ctx::Ctx;
use crate::fields::Fields;
use crate::ids::{FaceId, FlowId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::queue::QueueView;
use crate::units::{Bytes, Duration, Rate, Time};

/// A node's state of one of its faces.
#[derive(Clone, Copy, Debug)]
pub struct FaceView {
    /// Which.
    pub face: FaceId,
    /// Whether it leads to an application on this node.
    pub local: bool,
    /// The rate at which this node sends on it; none if unknown.
    pub rate: Option<Rate>,
    /// Whether the rate is learned, and nothing has shown that it bounds what is sent.
    pub open: bool,
    /// The rate at which the neighbour sends back; none if unknown.
    pub return_rate: Option<Rate>,
    /// What waits to be sent on it.
    pub queue: QueueView,
    /// Bits sent on it since the start, framing included.
    pub sent_bits: u64,
    /// Bits offered to it since the start, dropped packets included.
    pub offered_bits: u64,
}

/// Packets and their sizes since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct PacketCount {
    /// How many.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
}

/// The traffic of a face in the opposite direction of the shaper's Interests and of their Data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct Reverse {
    /// Interests that arrived.
    pub interests_in: PacketCount,
    /// Data that left, framing included.
    pub data_out: PacketCount,
}

/// The queue by which the Data of an Interest will leave this node.
#[derive(Clone, Copy, Debug)]
pub struct Downstream {
    /// The face the Interest arrived on.
    pub view: FaceView,
    /// Data packets waiting on it.
    pub data: u32,
    /// Of these, packets of the Interest's flow.
    pub backlog: u32,
    /// Flows with pending Interests from that face.
    pub flows: u32,
    /// Credit of the Interest's flow at the discipline (see [`crate::queue::Discipline::credit`]); none if the flow is
    /// not backlogged there or the discipline gives no credit.
    pub credit: Option<Bytes>,
}

/// An Interest that is about to leave.
#[derive(Clone, Copy, Debug)]
pub struct ShapeEvent<'a> {
    /// The Interest.
    pub packet: &'a Packet,
    /// Its FIB prefix.
    pub prefix: PrefixId,
    /// The face it would leave by.
    pub out: FaceView,
    /// The face it arrived on, by which its Data will leave.
    pub downstream: Downstream,
    /// The other direction of the face it would leave by.
    pub reverse: Reverse,
    /// The propagation delay by that face to the producer and back, if the driver knows it.
    pub base_rtt: Option<Duration>,
}

/// An opportunity to release held Interests.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseEvent {
    /// The shaper's face.
    pub out: FaceView,
    /// The other direction of the face.
    pub reverse: Reverse,
    /// The view that [`Shaper::next_held`] requested; none if it requested none or there is no such face.
    pub downstream: Option<Downstream>,
}

/// What a shaper decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may leave now.
    Pass,
    /// The shaper keeps a copy and will [`Shaper::release`] it.
    Hold,
    /// It may not leave by this face; the node tries another face or answers with a NACK.
    Reject(NackReason),
}

/// The outcome of an Interest that left by this face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Data.
    Data,
    /// A NACK.
    Nack(NackReason),
    /// Nothing within its lifetime.
    Timeout,
    /// The PIT entry ended through another face (its Data or a NACK downstream), so no answer will be reported.
    Superseded,
}

/// The answer to an Interest that left by this face.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Which kind.
    pub outcome: Outcome,
    /// The Data or NACK; otherwise the Interest's name only.
    pub packet: &'a Packet,
    /// The FIB prefix.
    pub prefix: PrefixId,
    /// When the Interest was sent (last).
    pub sent: Time,
    /// From that to now; none if it had been sent more than once.
    pub rtt: Option<Duration>,
}

/// Decides when Interests leave by one face.
pub trait Shaper {
    /// Whether this is the null shaper, which nodes skip.
    fn is_none(&self) -> bool {
        false
    }

    /// An Interest is about to leave.
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission;

    /// The downstream face and flow of the held Interest that is up next, whose Data queue [`Shaper::release`] needs;
    /// called before each call of it.
    fn next_held(&self) -> Option<(FaceId, FlowId)> {
        None
    }

    /// The next held Interest that may leave now; called after every hook and wake until it returns none.
    fn release(&mut self, _event: &ReleaseEvent, _ctx: &mut Ctx<'_>) -> Option<Packet> {
        None
    }

    /// The next held Interest that the shaper gives up; called after every hook and wake until it returns none. The node
    /// answers it with a Congestion NACK.
    fn discard(&mut self) -> Option<Packet> {
        None
    }

    /// Bytes of Data to charge to the flow of the Interest just passed or released, at the discipline of its downstream
    /// face; called after each [`Admission::Pass`] and each release.
    fn charge(&self) -> Bytes {
        Bytes::ZERO
    }

    /// An Interest that left was answered.
    fn on_answer(&mut self, _answer: &Answer<'_>, _ctx: &mut Ctx<'_>) {}

    /// Writes header fields of a Data or NACK of `flow` that goes downstream: one that arrived on the shaper's face, or
    /// a NACK for an Interest that might have left by it.
    fn stamp(&self, _flow: FlowId, _fields: &mut Fields) {}

    /// When [`Shaper::release`] should be called next; [`Time::NEVER`] if not by time.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// Interests held.
    fn held(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod harness;

//! Shapers: whether an Interest may leave by an out-face now, later or not at all.
//!
//! One instance per out-face. The node calls [`Shaper::admit`] after the strategy chose the face and before the
//! Interest joins the egress queue.

pub mod flecom;
pub mod his;
pub mod hobhis;
pub mod hobhis_2014;
pub mod hr_icp;
pub mod kato_window;
pub mod none;
pub mod stateful;

use crate::ctx::Ctx;
use crate::fields::Fields;
use crate::ids::{FaceId, FlowId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::queue::QueueView;
use crate::units::{Bytes, Duration, Rate, Time};

/// What a node knows about one of its faces.
#[derive(Clone, Copy, Debug)]
pub struct FaceView {
    /// Which.
    pub face: FaceId,
    /// Whether it leads to an application on this node.
    pub local: bool,
    /// The rate at which this node sends on it; none if unknown.
    pub rate: Option<Rate>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCount {
    /// How many.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
}

/// What passes over a face against the direction of the Interests a shaper lets out and of the Data they bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reverse {
    /// Interests that arrived.
    pub interests_in: PacketCount,
    /// Data that left, framing included.
    pub data_out: PacketCount,
}

/// Where the Data of an Interest will leave this node: what waits there.
#[derive(Clone, Copy, Debug)]
pub struct Downstream {
    /// The face the Interest came by.
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

/// An Interest that wants to leave.
#[derive(Clone, Copy, Debug)]
pub struct ShapeEvent<'a> {
    /// The Interest.
    pub packet: &'a Packet,
    /// Its FIB prefix.
    pub prefix: PrefixId,
    /// The face it would leave by.
    pub out: FaceView,
    /// The face it came by, where its Data will leave.
    pub downstream: Downstream,
    /// What passes the other way over the face it would leave by.
    pub reverse: Reverse,
    /// The propagation delay by that face to the producer and back, if the driver knows it.
    pub base_rtt: Option<Duration>,
}

/// The chance to let held Interests leave.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseEvent {
    /// The shaper's face.
    pub out: FaceView,
    /// What passes the other way over it.
    pub reverse: Reverse,
    /// What [`Shaper::asks`] asked about; none if it did not ask or there is no such face.
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

/// What became of an Interest that left by this face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Data.
    Data,
    /// A NACK.
    Nack(NackReason),
    /// Nothing within its lifetime.
    Timeout,
    /// The PIT entry ended through another face (its Data or a NACK downstream), so no answer will be told.
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

    /// An Interest wants to leave.
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission;

    /// The downstream face and flow of the held Interest that is up next, whose Data queue [`Shaper::release`] wants to
    /// see; asked before each call of it.
    fn asks(&self) -> Option<(FaceId, FlowId)> {
        None
    }

    /// The next held Interest that may leave now; called after every hook and wake until it gives none.
    fn release(&mut self, _event: &ReleaseEvent, _ctx: &mut Ctx<'_>) -> Option<Packet> {
        None
    }

    /// Bytes of Data to charge to the flow of the Interest just passed or released, at the discipline of its downstream
    /// face; asked after each [`Admission::Pass`] and each release.
    fn charge(&self) -> Bytes {
        Bytes::ZERO
    }

    /// An Interest that left was answered.
    fn on_answer(&mut self, _answer: &Answer<'_>, _ctx: &mut Ctx<'_>) {}

    /// Writes header fields of a Data or NACK of `flow` that goes downstream: one that came by the shaper's face, or a
    /// NACK for an Interest that might have left by it.
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

//! Shapers: whether an Interest may leave by an out-face now, later or not at all.
//!
//! One instance per out-face. The node calls [`Shaper::admit`] after the strategy chose the face and before the
//! Interest joins the egress queue.

pub mod none;

use crate::ctx::Ctx;
use crate::ids::{FaceId, PrefixId};
use crate::packet::{NackReason, Packet};
use crate::queue::QueueView;
use crate::units::{Rate, Span, Time};

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
    pub downstream: FaceView,
    /// Packets of the Interest's flow waiting as Data in the downstream queue; 0 if the queue does not count flows.
    pub downstream_backlog: u32,
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
    pub rtt: Option<Span>,
}

/// Decides when Interests leave by one face.
pub trait Shaper {
    /// Whether this is the null shaper, which nodes skip.
    fn is_none(&self) -> bool {
        false
    }

    /// An Interest wants to leave.
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission;

    /// The next held Interest that may leave now; called after every hook and wake until it gives none.
    fn release(&mut self, _face: &FaceView, _ctx: &mut Ctx<'_>) -> Option<Packet> {
        None
    }

    /// An Interest that left was answered.
    fn on_answer(&mut self, _answer: &Answer<'_>, _ctx: &mut Ctx<'_>) {}

    /// When [`Shaper::release`] should be called next; [`Time::NEVER`] if not by time.
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    /// Interests held.
    fn held(&self) -> u32 {
        0
    }
}

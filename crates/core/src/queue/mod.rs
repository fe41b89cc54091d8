//! Queues: a discipline (what is admitted, in which order it leaves) with a marker plugged in.
//!
//! Both sit at a face's egress, which lives in `ndnweir-node`. The egress counts, transmits and enforces the limit;
//! these decide.

pub mod chopcop;
pub mod cobalt;
pub mod codel;
pub mod codel_pcon;
pub mod cwnd_codel;
pub mod dpccp;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod e2e_aqm;
pub mod fifo;
pub mod fq_codel;
pub mod ndn_dpdk;
pub mod ndnsieve;
pub mod nfd;
pub mod pie;
pub mod red;

use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most a queue may hold; a packet in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ndnweir_state::Value)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// In packets of any size.
    Packets(u32),
    /// In bytes.
    Bytes(Bytes),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Packets(n) => write!(f, "{n} packets"),
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl Limit {
    /// The limit in bytes, taking `packet` per packet where it is in packets.
    pub fn bytes(self, packet: Bytes) -> Bytes {
        match self {
            Limit::Packets(n) => Bytes::new(u64::from(n).saturating_mul(packet.get())),
            Limit::Bytes(bytes) => bytes,
        }
    }
}

/// What waits at an egress; the packet being transmitted is not part of it.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: Bytes,
    /// The limit.
    pub limit: Limit,
    /// The rate the queue drains at; none when it is unknown (a kernel queue below the egress).
    pub rate: Option<Rate>,
}

impl QueueView {
    /// Whether a packet of `size` still fits.
    pub fn fits(&self, size: Bytes) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => self.bytes + size <= limit,
        }
    }

    /// How much of the limit is used, from 0 to 1; a queue that holds nothing counts as full.
    pub fn occupancy(&self) -> f64 {
        let (held, limit) = match self.limit {
            Limit::Packets(limit) => (u64::from(self.packets), u64::from(limit)),
            Limit::Bytes(limit) => (self.bytes.get(), limit.get()),
        };
        if held >= limit { 1.0 } else { held as f64 / limit as f64 }
    }
}

/// What a marker does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Leaves it unchanged.
    Pass,
    /// Sets the CongestionMark to at least this level (≥ 1).
    Mark(u8),
    /// Drops it.
    Drop,
}

/// What happens to a packet that an AQM picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is marked and sent.
    Mark,
    /// It is dropped.
    Drop,
}

impl Action {
    fn verdict(self) -> Verdict {
        match self {
            Action::Mark => Verdict::Mark(1),
            Action::Drop => Verdict::Drop,
        }
    }
}

/// A packet that is about to join a queue.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueEvent<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The queue before it joins.
    pub queue: QueueView,
}

/// A packet that starts its transmission.
#[derive(Clone, Copy, Debug)]
pub struct DequeueEvent {
    /// What it is.
    pub kind: Kind,
    /// Its flow.
    pub flow: FlowId,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Time since it joined the queue.
    pub sojourn: Duration,
    /// The queue behind it. For a predictable marker (see [`Marker::predictable`]) `packets` and `bytes` also count
    /// later arrivals.
    pub queue: QueueView,
}

/// Decides which packets of one egress queue are marked (or dropped early).
pub trait Marker {
    /// Whether `on_dequeue` always passes and depends only on `kind`, `size`, `sojourn` and the time.
    ///
    /// Then the egress may settle departures late, before its next read, and a packet-hop costs one event.
    fn predictable(&self) -> bool;

    /// A packet is about to join. Called only if it fits.
    fn on_enqueue(&mut self, _event: &EnqueueEvent<'_>, _ctx: &mut Ctx<'_>) -> Verdict {
        Verdict::Pass
    }

    /// Whether it is at rest: while no more than so many bytes wait, [`Marker::on_enqueue`] would let every packet pass and
    /// leave the marker as it is, and need not be called. Asked when it was made and after each call of that and of
    /// [`Marker::on_overflow`], of a marker that neither watches departures nor stamps.
    fn rests(&self) -> Option<Bytes> {
        None
    }

    /// Whether [`Marker::on_dequeue`] or [`Marker::on_idle`] do anything; false saves the egress what it would tell them.
    fn watches_departures(&self) -> bool {
        true
    }

    /// A packet starts its transmission; `ctx.now` is that instant.
    fn on_dequeue(&mut self, _event: &DequeueEvent, _ctx: &mut Ctx<'_>) -> Verdict {
        Verdict::Pass
    }

    /// A transmission ended and nothing waits.
    fn on_idle(&mut self, _ctx: &mut Ctx<'_>) {}

    /// A packet found the queue full and is dropped.
    fn on_overflow(&mut self, _event: &EnqueueEvent<'_>, _ctx: &mut Ctx<'_>) {}

    /// Whether [`Marker::stamp`] does anything; asked once.
    fn stamps(&self) -> bool {
        false
    }

    /// A packet joins that [`Marker::on_enqueue`] has not dropped; its header fields may be written.
    fn stamp(&mut self, _packet: &mut Packet, _ctx: &mut Ctx<'_>) {}
}

/// A packet in a discipline, with the time it joined.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// When it joined.
    pub joined: crate::units::Time,
    /// The level at which the discipline marks it as it leaves; 0 is none.
    pub mark: u8,
}

impl Queued {
    /// A packet that joins now.
    pub fn new(packet: Packet, ctx: &Ctx<'_>) -> Queued {
        Queued { packet, joined: ctx.now, mark: 0 }
    }
}

/// Orders the packets of one egress queue.
pub trait Discipline {
    /// Adds a packet. What must be dropped to keep the limit (often the packet itself) is pushed to `dropped`.
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>);

    /// The next packet to transmit. Packets that the discipline chooses to drop before it are pushed to
    /// `dropped`.
    fn dequeue(&mut self, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) -> Option<Queued>;

    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Bytes waiting.
    fn bytes(&self) -> Bytes;

    /// Packets and bytes of one flow's Data waiting.
    fn backlog(&self, flow: FlowId) -> (u32, Bytes);

    /// How many bytes of Data a backlogged flow may still request (HR-ICP); none if the flow is not backlogged or the
    /// discipline gives no credit.
    fn credit(&self, _flow: FlowId) -> Option<Bytes> {
        None
    }

    /// An Interest of `flow` left that will bring so many bytes of Data: takes them off its credit.
    fn charge(&mut self, _flow: FlowId, _bytes: Bytes) {}

    /// Whether this is plain first in, first out with drop at the tail, which the egress can then do itself.
    fn is_fifo(&self) -> bool {
        false
    }

    /// Whether [`Discipline::dequeue`] of an empty queue changes nothing that shows before the next packet joins, and
    /// records nothing: it may then be called as late as that, with the time at which the wire became free.
    fn rests_quietly(&self) -> bool {
        false
    }

    /// A packet that fits joins and leaves at once, as nothing waits and the wire is free: the same as
    /// [`Discipline::dequeue`] of the empty queue, if it was not called since, [`Discipline::enqueue`] and
    /// [`Discipline::dequeue`]. False, and nothing is done, if more may come of it.
    fn pass(&mut self, _flow: FlowId, _size: Bytes, _ctx: &mut Ctx<'_>) -> bool {
        false
    }
}

/// CoDel's control law: `factor · interval / √count`, cut to whole nanoseconds.
fn gap(interval: Duration, factor: f64, count: u64) -> Duration {
    Duration::from_nanos((factor * interval.nanos() as f64 / libm::sqrt(count.max(1) as f64)) as u64)
}

/// Rejects an interval of zero, with which every packet of an incident would be marked.
fn check_interval(interval: Duration) -> Result<(), SchemeError> {
    if interval > Duration::ZERO {
        return Ok(());
    }
    Err(SchemeError::value("interval", 0, "would mark every packet", "give a time such as \"100ms\""))
}

#[cfg(test)]
mod harness {
    //! Drives one marker by hand.

    use super::*;
    use crate::component::{Component, Env, parse_params};
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;
    use crate::units::Time;

    /// An instant in milliseconds.
    pub(super) fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    /// A marker with what its hooks need.
    pub(super) struct Bench<M> {
        pub(super) marker: M,
        pub(super) limit: Limit,
        pub(super) rate: Option<Rate>,
        rng: Rng,
        trace: Trace,
    }

    impl<M: Marker + Component> Bench<M> {
        pub(super) fn new(params: &serde_json::Value) -> Bench<M> {
            let params = parse_params::<M>(params).unwrap();
            let marker = M::new(&params, &mut Env { layout: &mut FieldLayout::new() });
            Bench { marker, limit: Limit::Packets(100), rate: None, rng: Rng::derive(0, &[]), trace: Trace::default() }
        }

        /// A packet joins a queue of `bytes`.
        pub(super) fn enqueue(&mut self, now: Time, bytes: u64) -> Verdict {
            self.offer(now, &Packet::default(), bytes)
        }

        /// This packet joins a queue of `bytes`.
        pub(super) fn offer(&mut self, now: Time, packet: &Packet, bytes: u64) -> Verdict {
            let queue = self.view(bytes);
            let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
            self.marker.on_enqueue(&EnqueueEvent { packet, queue }, &mut ctx)
        }

        /// A packet finds a queue of `bytes` full.
        pub(super) fn overflow(&mut self, now: Time, bytes: u64) {
            let queue = self.view(bytes);
            let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
            self.marker.on_overflow(&EnqueueEvent { packet: &Packet::default(), queue }, &mut ctx);
        }

        /// A packet leaves that has waited for `sojourn`; `behind` bytes stay.
        pub(super) fn dequeue(&mut self, now: Time, sojourn: Duration, behind: u64) -> Verdict {
            self.dequeue_kind(now, Kind::Data, sojourn, behind)
        }

        /// The same with a packet of this kind.
        pub(super) fn dequeue_kind(&mut self, now: Time, kind: Kind, sojourn: Duration, behind: u64) -> Verdict {
            let (flow, size, queue) = (FlowId(0), Bytes::new(1250), self.view(behind));
            let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
            self.marker.on_dequeue(&DequeueEvent { kind, flow, size, sojourn, queue }, &mut ctx)
        }

        /// The link falls idle.
        pub(super) fn idle(&mut self, now: Time) {
            self.marker.on_idle(&mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
        }

        fn view(&self, bytes: u64) -> QueueView {
            let packets = bytes.div_ceil(1250) as u32;
            QueueView { packets, bytes: Bytes::new(bytes), limit: self.limit, rate: self.rate }
        }
    }
}

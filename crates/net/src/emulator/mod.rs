//! Links on one machine: datagrams between real processes take the time, and suffer the fate, of a link.
//!
//! Every end of a link is a UDP socket on this machine. What a process sends to one end comes out of the other end
//! and goes to the process there. A datagram's time of arrival is the kernel's time stamp, and its departure is
//! computed from that, so that an emulator woken late loses no capacity of the link; only the delivery is late by as
//! much as the wake-up. The queue and the way are those of the simulator (`ndnweir-link`).

mod arrival;
mod pipe;
mod run;

pub use pipe::Pipe;
pub use run::{Emulator, Running};

use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Rate, Span};
use ndnweir_link::{Impairment, LinkTotals};
use ndnweir_node::FaceCounters;
use std::net::SocketAddr;

/// Bytes of the UDP and IPv4 headers, which a link carries beside the datagram.
pub const UDP_FRAMING: Bytes = Bytes::new(28);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// How fast it sends; none queues nothing.
    pub rate: Option<Rate>,
    /// How long a bit takes to the other end.
    pub delay: Span,
    /// The most its queue holds.
    pub limit: Limit,
    /// Bytes it carries beside each datagram.
    pub framing: Bytes,
    /// What goes wrong.
    pub impairment: Impairment,
}

/// A link and the processes it joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The process at the first end; none until it has sent something.
    pub a: Option<SocketAddr>,
    /// The process at the second end.
    pub b: Option<SocketAddr>,
    /// From the first to the second.
    pub forth: Direction,
    /// From the second to the first.
    pub back: Direction,
}

/// What changes during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Both directions of a link carry nothing.
    Down,
    /// They work again.
    Up,
    /// A new rate.
    Rate(End, Rate),
    /// A new delay.
    Delay(End, Span),
    /// A new loss probability.
    Loss(End, f64),
}

/// An end of a link, and the direction that starts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first.
    A,
    /// The second.
    B,
}

/// A change, when and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time since the emulator started.
    pub at: Span,
    /// The link's place in the list.
    pub link: usize,
    /// What.
    pub change: Change,
}

/// What one direction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionCounters {
    /// Its queue; Data stands for all datagrams.
    pub queue: FaceCounters,
    /// Its way to the other end.
    pub way: LinkTotals,
    /// Datagrams that arrived while no process was known at the other end, or that the system refused to send.
    pub undeliverable: u64,
}

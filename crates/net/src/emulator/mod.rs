//! Links on one machine: datagrams between real processes are delayed, lost and reordered as on links.
//!
//! Two processes are joined by two UDP sockets on this machine: what one sends to its socket crosses one link, or
//! several with switches between them, and goes from the other socket to the other process. A datagram's time of
//! arrival is the kernel's time stamp, and its departures are computed from that, so that an emulator woken late loses
//! no capacity of a link; only the delivery is late by as much as the wake-up. Queue and propagation are those of the
//! simulator (`ndnweir-link`).

mod arrival;
mod pipe;
mod run;
mod work;

pub use ndnweir_link::{Arq, BurstLoss, Impairment, RateTrace, TraceError};
pub use pipe::{MAX_BYTES_IN_FLIGHT, MAX_IN_FLIGHT, Pipe};
pub use run::{Emulator, Running};

use ndnweir_core::packet::Kind;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_link::LinkTotals;
use ndnweir_node::FaceCounters;
use std::net::SocketAddr;

/// Bytes of the UDP and IPv4 headers, which a link carries in addition to the datagram.
pub const UDP_FRAMING: Bytes = Bytes::new(28);

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulatedDirection {
    /// Its rate; none queues nothing.
    pub rate: Option<Rate>,
    /// When it can deliver, in place of a rate.
    pub trace: Option<RateTrace>,
    /// Whether the sender has the queue and keeps to the rate itself: a datagram then takes its transmission time, but
    /// does not queue.
    pub paced: bool,
    /// How long a bit takes to the other end.
    pub delay: Duration,
    /// The most its queue holds.
    pub limit: Limit,
    /// Bytes it carries in addition to each datagram.
    pub framing: Bytes,
    /// Its impairment.
    pub impairment: Impairment,
}

/// Two processes, and the links between them.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessPair {
    /// Their addresses; none until that end has received something.
    pub processes: [Option<SocketAddr>; 2],
    /// The ports they send to; 0 is any free one.
    pub ports: [u16; 2],
    /// The directions crossed by what each of them sends, in order: `2 * link`, and `2 * link + 1` the return path.
    pub routes: [Vec<usize>; 2],
}

/// Links, and the processes that they join.
#[derive(Clone, Debug)]
pub struct EmulatedNetwork {
    /// Both directions of every link.
    pub links: Vec<[EmulatedDirection; 2]>,
    /// The pairs of processes that exchange datagrams.
    pub pairs: Vec<ProcessPair>,
    /// What a datagram is, for the counters of queues.
    pub kind: fn(&[u8]) -> Kind,
}

impl EmulatedNetwork {
    /// A link between any two processes on given ports, the same in both directions.
    pub fn link(direction: EmulatedDirection, processes: [Option<SocketAddr>; 2], ports: [u16; 2]) -> EmulatedNetwork {
        let pair = ProcessPair { processes, ports, routes: [vec![0], vec![1]] };
        EmulatedNetwork { links: vec![[direction.clone(), direction]], pairs: vec![pair], kind: |_| Kind::Data }
    }
}

/// What changes during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EmulatedChange {
    /// Both directions of a link are down.
    Down,
    /// They work again.
    Up,
    /// A new rate.
    Rate(End, Rate),
    /// A new delay.
    Delay(End, Duration),
    /// A new loss probability.
    Loss(End, f64),
}

/// An end of a link or pair, and the direction that starts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first.
    A,
    /// The second.
    B,
}

impl End {
    /// Its place among the two.
    pub fn index(self) -> usize {
        usize::from(self == End::B)
    }
}

/// A change, when and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulatedEvent {
    /// Time since the emulator started.
    pub at: Duration,
    /// The link's place in the list.
    pub link: usize,
    /// What.
    pub change: EmulatedChange,
}

/// What one direction of a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionCounters {
    /// Its queue.
    pub queue: FaceCounters,
    /// Its way to the other end.
    pub propagation: LinkTotals,
    /// Datagrams in flight now.
    pub in_flight: u64,
    /// Of the queue's drops, those for want of memory: [`MAX_IN_FLIGHT`] or [`MAX_BYTES_IN_FLIGHT`] were in flight.
    pub memory_drops: u64,
}

/// Counters of one end of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounters {
    /// Datagrams that came from the process here.
    pub received: u64,
    /// Datagrams from elsewhere, which were discarded.
    pub on_demand_peers: u64,
    /// Datagrams handed to the process here.
    pub delivered: u64,
    /// Datagrams for it while its address was unknown, or that the system did not send.
    pub undeliverable: u64,
}

//! Models of bulk transfers that are not NDN, for traffic that shares links with it: segments and acknowledgements
//! without bytes.
//!
//! A [`Sender`] is a law that decides on window and pace ([`Algorithm`]), a scoreboard of segments, which all share,
//! and one of two ways to detect losses. TCP: selective acknowledgements with three acknowledged segments above a gap
//! (RFC 6675), three acknowledged later transmissions for a retransmission (after RFC 8985), and the retransmission
//! timer of RFC 6298, at least 200 ms above the smoothed round-trip time as in Linux, instead of 1 s. QUIC: packet
//! threshold 3, time threshold 9/8, probe timeout and persistent congestion (RFC 9002 §6, §7). TCP sends in the bursts
//! of Linux; a [`Receiver`] acknowledges every second segment.
//!
//! Not modelled: connection set-up, flow control, ECN, selective acknowledgements that Linux holds back above a gap,
//! tail loss probes of TCP, proportional rate reduction, and reductions that are undone. A model of BBR that finds
//! itself policed does not exist either.

mod burst;
mod hystart;
mod law;
mod receiver;
mod scoreboard;
mod sender;

pub use law::Algorithm;
pub use receiver::{Receiver, Rule};
pub use sender::{Sender, SenderCounters};

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All segments below this number have arrived.
    pub next: u32,
    /// The segment that is acknowledged, as in the first SACK block.
    pub segment: u32,
    /// Which transmission of that segment, counted from 1, as the timestamp option shows.
    pub transmission: u32,
}

/// A segment that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// Which transmission this is, from 1.
    pub transmission: u32,
}

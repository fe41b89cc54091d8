//! A model of TCP bulk transfer, for traffic that shares links with NDN: segments and acknowledgements without bytes.
//!
//! It models: slow start from ten segments (RFC 6928), CUBIC (RFC 9438, the same law as the `cubic` consumer's),
//! selective acknowledgements and loss recovery of RFC 6675 (three acknowledged segments above a gap), and the
//! retransmission timer of RFC 6298 with the minimum of 200 ms that Linux uses instead of 1 s.
//!
//! It does not model: connection set-up, flow control, ECN, delayed acknowledgements (every segment is acknowledged),
//! HyStart, pacing, proportional rate reduction, and RACK: a lost retransmission is sent again only after a timeout.

mod receiver;
mod sender;

pub use receiver::Receiver;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// Which transmission this is, from 1.
    pub transmission: u32,
}

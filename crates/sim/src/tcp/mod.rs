//! A model of TCP bulk transfer, for traffic that shares links with NDN: segments and acknowledgements without bytes.
//!
//! What it does: slow start from ten segments (RFC 6928), CUBIC (RFC 9438, the same law as the `cubic` consumer's),
//! selective acknowledgements and loss recovery as RFC 6675 has it (three acknowledged segments above a gap), the
//! retransmission timer of RFC 6298 with the 200 ms that Linux takes for least instead of 1 s.
//!
//! What it leaves out: connection set-up, flow control, ECN, delayed acknowledgements (every segment is acknowledged),
//! HyStart, pacing, proportional rate reduction, and RACK: a retransmission that is lost waits for the timer.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::{Sender, SenderCounters};

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All segments below it have come.
    pub next: u32,
    /// The segment that it answers: what SACK says anew.
    pub segment: u32,
    /// Which transmission of that segment, counted from 1: what the timestamp says.
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

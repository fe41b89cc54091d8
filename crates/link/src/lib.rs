//! A link below NDN, without I/O: a drop-tail queue with a rate ([`Port`]) and the way to the other end with delay and
//! misbehaviour ([`Way`]). The simulator and the link emulator share it.
//!
//! Where the queue at the sending end is an NDN node's own, it is the egress of `ndnweir-node`, and only the way is
//! used.

mod impairment;
mod port;
mod way;

pub use impairment::Impairment;
pub use port::Port;
pub use way::{InFlight, LinkTotals, Way};

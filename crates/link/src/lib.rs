//! A link below NDN, without I/O: a drop-tail queue with a rate ([`Port`]) and the propagation to the other end with
//! delay and impairments ([`Propagation`]). The simulator and the link emulator share it.
//!
//! Where the queue at the sending end is an NDN node's own, it is the egress of `ndnweir-node`, and only the
//! propagation is used.
//!
//! A packet here has a size and a kind. There are no names, PITs or schemes, and time may be simulated or real.

mod arq;
mod burst;
mod impairment;
mod medium;
mod port;
mod propagation;
mod ring;

pub use arq::Arq;
pub use burst::BurstLoss;
pub use impairment::Impairment;
pub use medium::{Medium, MediumFrame};
pub use ndnweir_node::rate_trace::{OPPORTUNITY, RateTrace, TraceError};
pub use port::Port;
pub use propagation::{InFlight, LinkTotals, MAX_CHANNELS, Propagation};

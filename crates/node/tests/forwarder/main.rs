//! The forwarder without I/O, fed with real bytes.

mod answers;
mod attacks;
mod bench;
mod bounds;
mod hints;
mod lies;
mod link_retransmissions;
mod links;
mod random;

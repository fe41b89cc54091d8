//! What a node does with names and payloads, for a driver that keeps the bytes behind them.
//!
//! A simulator's names and payloads cost nothing, so its nodes keep no such log. A forwarder turns it on with
//! [`crate::Node::log_uses`] and takes the entries, in order, after every call into the node. With them it counts how
//! often each tag (see [`ndnweir_core::packet::Packet::tag`]) and name is in use, and frees what is not. A
//! [`crate::Transmit`] is one use of its tag, which the driver ends itself once it has sent the packet.
//!
//! [`crate::Node::crash`] clears everything without an entry here; a driver that keeps a log makes a new node instead.

use ndnweir_core::ids::NameId;

/// The tag of an Interest that the node has made from what it knows of one that is gone: its driver makes the bytes
/// from the name. It is logged like any other tag and never freed.
pub const NO_PAYLOAD: u32 = u32::MAX;

/// One entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// One more place holds a packet with this tag: an egress (and then perhaps a Transmit), a shaper, the strategy.
    Held(u32),
    /// One of those places has released it.
    Released(u32),
    /// A PIT entry for this name begins.
    Pending(NameId),
    /// The PIT entry for this name has ended, and was answered or rejected.
    Settled(NameId),
    /// The PIT entry for this name has ended with its lifetime: nothing goes downstream.
    Expired(NameId),
    /// The content store holds a Data of this name and tag.
    Stored(NameId, u32),
    /// The content store no longer holds it.
    Evicted(NameId, u32),
}

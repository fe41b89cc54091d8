//! A packet as schemes and nodes see it: 64 bytes, no names, no payload.

use crate::fields::Fields;
use crate::ids::NameId;
use crate::units::{Bytes, Duration};

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ndnweir_state::Value)]
#[repr(u8)]
pub enum Kind {
    /// Requests Data.
    #[default]
    Interest,
    /// Answers an Interest.
    Data,
    /// Rejects an Interest (NDNLPv2 Nack around it).
    Nack,
}

/// Why an Interest was rejected, in NDNLPv2's order of severity: the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, ndnweir_state::Value)]
#[repr(u8)]
pub enum NackReason {
    /// NDNLPv2 code 50.
    Congestion,
    /// NDNLPv2 code 100: a nonce seen before.
    Duplicate,
    /// NDNLPv2 code 150.
    #[default]
    NoRoute,
}

/// Bits of [`Packet::flags`].
pub mod flags {
    /// Interest: only fresh Data will do.
    pub const MUST_BE_FRESH: u8 = 1;
    /// Interest: Data whose name is longer will do.
    pub const CAN_BE_PREFIX: u8 = 2;
    /// Data: came from a content store on the path (set by the node that served it, for this hop only).
    pub const FROM_CACHE: u8 = 4;
    /// Data: the last segment of its object.
    pub const FINAL: u8 = 8;
    /// Data: content stores do not store it, here and downstream (NDNLPv2's cache policy).
    pub const NO_CACHE: u8 = 16;
    /// Data: late, as it was link-retransmitted. Its round trip does not measure a queue.
    pub const LINK_RETRANSMITTED: u8 = 32;
    /// Data: this node's content store does not store it, as the driver stores it under its own name.
    pub const STORED: u8 = 64;
    /// No NDN packet but a datagram of other traffic on the same links, which no node sees (the simulator's).
    pub const FOREIGN: u8 = 128;
}

/// Which part of a packet this is that a link carries in several frames (NDNLPv2, "Fragmentation and Reassembly").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ndnweir_state::Value)]
pub struct Fragment {
    /// Its place, from 0.
    pub index: u8,
    /// How many there are; 0 of a packet that is whole.
    pub count: u8,
    /// Distinguishes the packets of one sender, modulo 256.
    pub sequence: u8,
}

impl Fragment {
    /// Of a datagram that is no NDN packet: the only part of nothing.
    pub const FOREIGN: Fragment = Fragment { index: 0, count: 1, sequence: 0 };
    /// Of a packet that is whole.
    pub const NONE: Fragment = Fragment { index: 0, count: 0, sequence: 0 };

    /// Whether the packet is whole.
    pub const fn is_none(self) -> bool {
        self.count == 0
    }
}

/// An Interest, Data or NACK.
#[derive(Clone, Copy, Debug, PartialEq, Default, ndnweir_state::Value)]
pub struct Packet {
    /// The interned name.
    pub name: NameId,
    /// Interest and NACK: the nonce.
    pub nonce: u32,
    /// Bytes on the wire, link framing excluded.
    pub size: u32,
    /// Data: bytes of content.
    pub payload: u32,
    /// Interest: lifetime; Data: freshness period. Milliseconds.
    pub lifetime_ms: u32,
    /// The driver's own: the payload's place in a real forwarder, the path travelled in the simulator.
    pub tag: u32,
    /// What it is.
    pub kind: Kind,
    /// NACK: why.
    pub reason: NackReason,
    /// CongestionMark; 0 is none.
    pub mark: u8,
    /// Interest: hops left.
    pub hop_limit: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Which part of it this is, between the cut at one node's egress and the arrival at the next node.
    pub fragment: Fragment,
    /// Per-hop information of the running scheme.
    pub fields: Fields,
}

impl Packet {
    /// The hop limit of a fresh Interest.
    pub const HOP_LIMIT: u8 = 255;

    /// How long an Interest lives, in ms: NDN's default of 4 s where it does not say.
    #[inline]
    pub const fn known_lifetime_ms(&self) -> u32 {
        if self.lifetime_ms == 0 { 4000 } else { self.lifetime_ms }
    }

    /// The same.
    pub const fn lifetime(&self) -> Duration {
        Duration::from_millis(self.known_lifetime_ms() as u64)
    }

    /// Bytes on the wire.
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
    /// Whether any of `bits` (see [`flags`]) is set.
    pub const fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }
    /// The NACK that rejects this Interest. It has the Interest's size, as NDNLPv2 carries the Interest in it.
    pub const fn nack(mut self, reason: NackReason) -> Packet {
        self.kind = Kind::Nack;
        self.reason = reason;
        self.mark = 0;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fits_one_cache_line() {
        assert!(size_of::<Packet>() <= 64, "{}", size_of::<Packet>());
    }

    #[test]
    fn congestion_is_the_least_severe_reason() {
        assert!(NackReason::Congestion < NackReason::Duplicate && NackReason::Duplicate < NackReason::NoRoute);
    }
}

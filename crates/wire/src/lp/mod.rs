//! NDNLPv2: the fields around a network-layer packet on one link, and fragments of packets too long for it.
//!
//! Source: the NDNLPv2 protocol page; TLV-TYPE numbers and the rules on order as ndn-cxx has them (`lp/tlv.hpp` and its
//! unit tests), defaults of fragmentation and reassembly as NFD has them.
//!
//! Header fields come in ascending order of their type, each at most once except Ack, and Fragment comes last. A field
//! whose type is in `800..=959` and divisible by 4 may be ignored by who does not know it; it is kept here as type and
//! bytes ([`LpHeader::set_extra`], [`LpPacketView::extras`]), and so carries the fields that this stack adds. Any other
//! unknown field makes the packet invalid.

mod field;
mod fragment;
mod header;
mod nack;
mod reassembly;
mod view;

pub use field::{ExtraField, ExtraFields, PitToken};
pub use fragment::{Cut, FragmentError, Fragmenter, MAX_FRAGMENTS};
pub use header::LpHeader;
pub use nack::NackReason;
pub use reassembly::{Reassembled, Reassembler, ReassemblerConfig, ReassemblyError, ReassemblyStats};
pub use view::LpPacketView;

/// Assigned TLV-TYPE numbers of NDNLPv2.
#[expect(missing_docs, reason = "the names are those of the protocol's page")]
pub mod types {
    pub const FRAGMENT: u32 = 80;
    pub const SEQUENCE: u32 = 81;
    pub const FRAG_INDEX: u32 = 82;
    pub const FRAG_COUNT: u32 = 83;
    /// Hop count of a simulator's dialect; not on the protocol's page.
    pub const HOP_COUNT: u32 = 84;
    pub const PIT_TOKEN: u32 = 98;
    pub const LP_PACKET: u32 = 100;
    pub const NACK: u32 = 800;
    pub const NACK_REASON: u32 = 801;
    pub const INCOMING_FACE_ID: u32 = 812;
    pub const NEXT_HOP_FACE_ID: u32 = 816;
    pub const CACHE_POLICY: u32 = 820;
    pub const CACHE_POLICY_TYPE: u32 = 821;
    pub const CONGESTION_MARK: u32 = 832;
    pub const ACK: u32 = 836;
    pub const TX_SEQUENCE: u32 = 840;
    pub const NON_DISCOVERY: u32 = 844;
    pub const PREFIX_ANNOUNCEMENT: u32 = 848;
}

/// CachePolicyType that requests a node not to cache the Data (NDNLPv2, "Cache Policy").
pub const CACHE_POLICY_NO_CACHE: u64 = 1;

/// Whether a header field of this type may be ignored by who does not know it.
#[must_use]
pub const fn is_ignorable(typ: u32) -> bool {
    typ >= 800 && typ <= 959 && typ & 3 == 0
}

/// Whether NDNLPv2 assigns this type to a header field that this crate reads.
#[must_use]
pub const fn is_assigned(typ: u32) -> bool {
    matches!(
        typ,
        types::FRAGMENT
            | types::SEQUENCE
            | types::FRAG_INDEX
            | types::FRAG_COUNT
            | types::HOP_COUNT
            | types::PIT_TOKEN
            | types::NACK
            | types::INCOMING_FACE_ID
            | types::NEXT_HOP_FACE_ID
            | types::CACHE_POLICY
            | types::CONGESTION_MARK
            | types::ACK
            | types::TX_SEQUENCE
            | types::NON_DISCOVERY
            | types::PREFIX_ANNOUNCEMENT
    )
}

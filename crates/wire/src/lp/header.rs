//! The header fields of an LpPacket, owned, and their encoding.

use super::field::{ExtraFields, PitToken};
use super::{NackReason, types};
use crate::error::EncodeError;
use crate::tlv;

/// The header fields of an LpPacket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LpHeader {
    /// Sequence: number of this LpPacket on its link; fragments of one packet have consecutive numbers.
    pub sequence: Option<u64>,
    /// FragIndex: place of the fragment, from 0; absent means 0.
    pub frag_index: Option<u64>,
    /// FragCount: number of fragments; absent means 1.
    pub frag_count: Option<u64>,
    /// HopCount of a simulator's dialect.
    pub hop_count: Option<u64>,
    /// PitToken.
    pub pit_token: Option<PitToken>,
    /// Nack: the fragment is an Interest that is being returned.
    pub nack: Option<NackReason>,
    /// IncomingFaceId: for a local application.
    pub incoming_face_id: Option<u64>,
    /// NextHopFaceId: requested by a local application.
    pub next_hop_face_id: Option<u64>,
    /// CachePolicyType (see [`super::CACHE_POLICY_NO_CACHE`]).
    pub cache_policy: Option<u64>,
    /// CongestionMark: 0 is no congestion, 1 and more by local agreement.
    pub congestion_mark: Option<u64>,
    /// Ack: TxSequence numbers received, in this order.
    pub acks: Vec<u64>,
    /// TxSequence: number of this transmission, when the link is made reliable.
    pub tx_sequence: Option<u64>,
    /// NonDiscovery: the Interest must not be used for self-learning.
    pub non_discovery: bool,
    /// PrefixAnnouncement: a whole Data packet.
    pub prefix_announcement: Option<Vec<u8>>,
    /// Header fields that NDNLPv2 does not assign (see [`Self::set_extra`]).
    pub extras: ExtraFields,
}

impl LpHeader {
    /// Sets a header field of our own, replacing any of the same type.
    ///
    /// # Errors
    /// [`EncodeError::HeaderFieldType`] unless the type is ignorable and not assigned by NDNLPv2.
    pub fn set_extra(&mut self, typ: u32, value: &[u8]) -> Result<(), EncodeError> {
        self.extras.set(typ, value)
    }

    /// Sets a header field of our own whose value is a NonNegativeInteger.
    ///
    /// # Errors
    /// As [`Self::set_extra`].
    pub fn set_extra_number(&mut self, typ: u32, number: u64) -> Result<(), EncodeError> {
        self.set_extra(typ, &number.to_be_bytes()[8 - tlv::nni_len(number)..])
    }

    /// The value of the first header field of this type, if it is none that NDNLPv2 assigns.
    #[must_use]
    pub fn extra(&self, typ: u32) -> Option<&[u8]> {
        self.extras.get(typ)
    }

    /// As [`Self::extra`], as a NonNegativeInteger.
    #[must_use]
    pub fn extra_number(&self, typ: u32) -> Option<u64> {
        self.extra(typ).and_then(tlv::read_nni)
    }

    /// Whether no field is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Encodes a network-layer packet with this header; without any field the packet stays bare, as NDNLPv2 allows.
    #[must_use]
    pub fn wrap(&self, packet: &[u8]) -> Vec<u8> {
        if self.is_empty() { packet.to_vec() } else { self.encode(Some(packet)) }
    }

    /// Encodes an LpPacket; without a fragment it is an idle packet.
    #[must_use]
    pub fn encode(&self, fragment: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::with_capacity(fragment.map_or(0, <[u8]>::len) + 64);
        self.encode_into(fragment, &mut out);
        out
    }

    /// As [`Self::encode`], appending to `out`.
    pub fn encode_into(&self, fragment: Option<&[u8]>, out: &mut Vec<u8>) {
        let fragment_len = fragment.map_or(0, |f| tlv::element_len(types::FRAGMENT, f.len()));
        let start = out.len();
        // The outer head as if there were no fields; where they make it longer, they are moved.
        let (head, guessed) = tlv::head_bytes(types::LP_PACKET, fragment_len);
        out.extend_from_slice(&head[..guessed]);
        let fields_start = out.len();
        self.write_fields(out);
        let (head, used) = tlv::head_bytes(types::LP_PACKET, fragment_len + (out.len() - fields_start));
        if used == guessed {
            out[start..fields_start].copy_from_slice(&head[..used]);
        } else {
            out.splice(start..fields_start, head.into_iter().take(used));
        }
        if let Some(fragment) = fragment {
            tlv::write_element(out, types::FRAGMENT, fragment);
        }
    }

    fn write_fields(&self, out: &mut Vec<u8>) {
        // Sequence numbers have a fixed width of 8 bytes.
        let fixed = |out: &mut Vec<u8>, typ, n: u64| tlv::write_element(out, typ, &n.to_be_bytes());
        if let Some(n) = self.sequence {
            fixed(out, types::SEQUENCE, n);
        }
        write_number(out, types::FRAG_INDEX, self.frag_index);
        write_number(out, types::FRAG_COUNT, self.frag_count);
        write_number(out, types::HOP_COUNT, self.hop_count);
        if let Some(token) = &self.pit_token {
            tlv::write_element(out, types::PIT_TOKEN, token.as_bytes());
        }
        if let Some(reason) = self.nack {
            reason.write(out);
        }
        let mut extras = self.extras.iter().peekable();
        let mut extras_below = |out: &mut Vec<u8>, limit: u32| {
            while let Some(e) = extras.next_if(|e| e.typ() < limit) {
                tlv::write_element(out, e.typ(), e.value());
            }
        };
        extras_below(out, types::INCOMING_FACE_ID);
        write_number(out, types::INCOMING_FACE_ID, self.incoming_face_id);
        write_number(out, types::NEXT_HOP_FACE_ID, self.next_hop_face_id);
        if let Some(policy) = self.cache_policy {
            let len = tlv::element_len(types::CACHE_POLICY_TYPE, tlv::nni_len(policy));
            tlv::write_head(out, types::CACHE_POLICY, len);
            tlv::write_nni_element(out, types::CACHE_POLICY_TYPE, policy);
        }
        extras_below(out, types::CONGESTION_MARK);
        write_number(out, types::CONGESTION_MARK, self.congestion_mark);
        for ack in &self.acks {
            fixed(out, types::ACK, *ack);
        }
        if let Some(n) = self.tx_sequence {
            fixed(out, types::TX_SEQUENCE, n);
        }
        if self.non_discovery {
            tlv::write_element(out, types::NON_DISCOVERY, &[]);
        }
        if let Some(announcement) = &self.prefix_announcement {
            tlv::write_element(out, types::PREFIX_ANNOUNCEMENT, announcement);
        }
        extras_below(out, u32::MAX);
    }
}

fn write_number(out: &mut Vec<u8>, typ: u32, value: Option<u64>) {
    if let Some(n) = value {
        tlv::write_nni_element(out, typ, n);
    }
}

//! An LpPacket inside a buffer.

use super::{LpHeader, NackReason, PitToken, is_assigned, is_ignorable, types};
use crate::error::{DecodeError, DecodeErrorKind as Kind, DecodeResult};
use crate::tlv::{self, Element, Reader, types as net};

/// An LpPacket, or a bare Interest or Data, which is a packet without header fields.
///
/// The meaning of the fields is that of the same fields of [`LpHeader`].
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "documented at LpHeader")]
pub struct LpPacketView<'a> {
    pub sequence: Option<u64>,
    pub frag_index: Option<u64>,
    pub frag_count: Option<u64>,
    pub hop_count: Option<u64>,
    pub pit_token: Option<PitToken>,
    pub nack: Option<NackReason>,
    pub incoming_face_id: Option<u64>,
    pub next_hop_face_id: Option<u64>,
    pub cache_policy: Option<u64>,
    pub congestion_mark: Option<u64>,
    pub tx_sequence: Option<u64>,
    pub non_discovery: bool,
    pub prefix_announcement: Option<&'a [u8]>,
    /// The packet, or the part of it, that is carried; `None` in an idle packet.
    pub fragment: Option<&'a [u8]>,
    /// The header fields as they stand.
    fields: &'a [u8],
    bare: bool,
}

impl<'a> LpPacketView<'a> {
    /// Reads a buffer that holds one LpPacket, Interest or Data and nothing else. What is inside the fragment, or the
    /// bare packet, is not looked at.
    ///
    /// # Errors
    /// [`DecodeError`] with the byte offset in `buf`.
    pub fn decode(buf: &'a [u8]) -> DecodeResult<Self> {
        let mut reader = Reader::new(buf);
        let element = reader.element()?;
        reader.finish()?;
        match element.typ {
            types::LP_PACKET => Self::from_element(&element),
            net::INTEREST | net::DATA => Ok(Self { fragment: Some(element.wire), bare: true, ..Self::default() }),
            other => Err(element.error(Kind::NotAPacket(other))),
        }
    }

    #[inline(always)]
    fn from_element(packet: &Element<'a>) -> DecodeResult<Self> {
        let mut view = Self { fields: packet.value, ..Self::default() };
        let mut reader = packet.nested();
        let mut previous = 0;
        while !reader.is_empty() {
            let e = reader.element()?;
            if !is_assigned(e.typ) && !is_ignorable(e.typ) {
                return Err(e.error(Kind::UnknownLpField(e.typ)));
            }
            let rank = if e.typ == types::FRAGMENT { u32::MAX } else { e.typ };
            // A field that we do not know may be one that repeats, as Ack is.
            let repeatable = e.typ == types::ACK || !is_assigned(e.typ);
            if rank < previous || (rank == previous && !repeatable) {
                return Err(e.error(Kind::OutOfOrder(e.typ)));
            }
            previous = rank;
            view.set(&e)?;
        }
        Ok(view)
    }

    #[inline(always)]
    fn set(&mut self, e: &Element<'a>) -> DecodeResult<()> {
        match e.typ {
            types::FRAGMENT => {
                self.fragment = Some(e.value);
                self.fields = &self.fields[..self.fields.len() - e.wire.len()];
            }
            types::SEQUENCE => self.sequence = Some(fixed(e)?),
            types::FRAG_INDEX => self.frag_index = Some(e.nni()?),
            types::FRAG_COUNT => self.frag_count = Some(e.nni()?),
            types::HOP_COUNT => self.hop_count = Some(e.nni()?),
            types::PIT_TOKEN => {
                self.pit_token = Some(PitToken::new(e.value).map_err(|_| e.bad_length())?);
            }
            types::NACK => self.nack = Some(NackReason::from_element(e)?),
            types::INCOMING_FACE_ID => self.incoming_face_id = Some(e.nni()?),
            types::NEXT_HOP_FACE_ID => self.next_hop_face_id = Some(e.nni()?),
            types::CACHE_POLICY => self.cache_policy = Some(cache_policy(e)?),
            types::CONGESTION_MARK => self.congestion_mark = Some(e.nni()?),
            types::ACK => {
                fixed(e)?;
            }
            types::TX_SEQUENCE => self.tx_sequence = Some(fixed(e)?),
            types::NON_DISCOVERY => {
                e.flag()?;
                self.non_discovery = true;
            }
            types::PREFIX_ANNOUNCEMENT => {
                // The announcement is a Data packet; whether it is a good one is for its reader to say.
                e.nested().expect(net::DATA)?;
                self.prefix_announcement = Some(e.value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether this is an Interest or Data without an LpPacket around it.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        self.bare
    }

    /// Whether the fragment is only a part of a packet.
    #[must_use]
    pub fn is_fragmented(&self) -> bool {
        self.frag_count.unwrap_or(1) != 1 || self.frag_index.unwrap_or(0) != 0
    }

    /// TxSequence numbers in Ack fields.
    pub fn acks(&self) -> impl Iterator<Item = u64> + use<'a> {
        self.elements().filter(|e| e.typ == types::ACK).filter_map(|e| tlv::read_nni(e.value))
    }

    /// Header fields that NDNLPv2 does not assign: type and bytes.
    pub fn extras(&self) -> impl Iterator<Item = (u32, &'a [u8])> + use<'a> {
        self.elements().filter(|e| !is_assigned(e.typ)).map(|e| (e.typ, e.value))
    }

    /// The value of the first header field of this type, if it is none that NDNLPv2 assigns.
    #[must_use]
    pub fn extra(&self, typ: u32) -> Option<&'a [u8]> {
        self.extras().find(|(t, _)| *t == typ).map(|(_, value)| value)
    }

    /// As [`Self::extra`], as a NonNegativeInteger.
    #[must_use]
    pub fn extra_number(&self, typ: u32) -> Option<u64> {
        self.extra(typ).and_then(tlv::read_nni)
    }

    /// A copy of the header that owns its bytes.
    #[must_use]
    pub fn to_header(&self) -> LpHeader {
        let mut header = LpHeader {
            sequence: self.sequence,
            frag_index: self.frag_index,
            frag_count: self.frag_count,
            hop_count: self.hop_count,
            pit_token: self.pit_token,
            nack: self.nack,
            incoming_face_id: self.incoming_face_id,
            next_hop_face_id: self.next_hop_face_id,
            cache_policy: self.cache_policy,
            congestion_mark: self.congestion_mark,
            acks: self.acks().collect(),
            tx_sequence: self.tx_sequence,
            non_discovery: self.non_discovery,
            prefix_announcement: self.prefix_announcement.map(<[u8]>::to_vec),
            extras: super::ExtraFields::default(),
        };
        for (typ, value) in self.extras() {
            header.extras.insert(typ, value);
        }
        header
    }

    fn elements(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let mut reader = Reader::new(self.fields);
        // Checked when the packet was decoded, so an error cannot occur; ending is the safe answer.
        core::iter::from_fn(move || reader.element().ok())
    }
}

fn fixed(e: &Element<'_>) -> DecodeResult<u64> {
    e.array().map(u64::from_be_bytes)
}

fn cache_policy(element: &Element<'_>) -> DecodeResult<u64> {
    let mut policy = None;
    let mut inner = element.nested();
    while !inner.is_empty() {
        let e = inner.element()?;
        match e.typ {
            types::CACHE_POLICY_TYPE if policy.is_none() => policy = Some(e.nni()?),
            types::CACHE_POLICY_TYPE => return Err(e.error(Kind::OutOfOrder(e.typ))),
            typ if is_ignorable(typ) => {}
            typ => return Err(e.error(Kind::UnknownLpField(typ))),
        }
    }
    policy.ok_or(DecodeError::new(element.offset, Kind::Missing(types::CACHE_POLICY_TYPE)))
}

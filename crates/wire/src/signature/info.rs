//! SignatureInfo and InterestSignatureInfo with their sub-elements.

use core::convert::Infallible;
use core::time::Duration;

use super::SignatureType;
use crate::elements::Ordered;
use crate::error::{DecodeError, DecodeErrorKind as Kind, DecodeResult};
use crate::name::NameView;
use crate::tlv::{self, Element, Reader, types};

/// The content of SignatureInfo or InterestSignatureInfo (packet specification, "Signature Elements").
///
/// Unrecognised non-critical sub-elements are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureInfo<'a> {
    /// SignatureType.
    pub signature_type: SignatureType,
    /// KeyLocator; an empty one counts as absent.
    pub key_locator: Option<KeyLocator<'a>>,
    /// SignatureNonce, SignatureTime and SignatureSeqNum.
    pub anti_replay: AntiReplay<'a>,
    /// ValidityPeriod, in certificates.
    pub validity: Option<ValidityPeriod>,
}

/// Elements by which a receiver tells a signed Interest from a replay of it. All are optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AntiReplay<'a> {
    /// SignatureNonce: at least 1 byte, 8 recommended.
    pub nonce: Option<&'a [u8]>,
    /// SignatureTime: since the Unix epoch, in whole milliseconds on the wire.
    pub time: Option<Duration>,
    /// SignatureSeqNum.
    pub seq_num: Option<u64>,
}

/// Where the key is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLocator<'a> {
    /// Name of a certificate or key, or a prefix of it.
    Name(NameView<'a>),
    /// Digest of the public key.
    Digest(&'a [u8]),
}

/// The time in which a certificate is valid, each end as the 15 bytes `yyyyMMddTHHmmss` in UTC
/// (packet specification, "Certificate", "Validity Period").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidityPeriod {
    /// NotBefore.
    pub not_before: [u8; 15],
    /// NotAfter.
    pub not_after: [u8; 15],
}

const SEQUENCE: [u32; 6] = [
    types::SIGNATURE_TYPE,
    types::KEY_LOCATOR,
    types::SIGNATURE_NONCE,
    types::SIGNATURE_TIME,
    types::SIGNATURE_SEQ_NUM,
    types::VALIDITY_PERIOD,
];

impl<'a> SignatureInfo<'a> {
    /// Only a signature type.
    #[must_use]
    pub const fn new(signature_type: SignatureType) -> Self {
        let anti_replay = AntiReplay { nonce: None, time: None, seq_num: None };
        Self { signature_type, key_locator: None, anti_replay, validity: None }
    }

    /// Reads the value again that [`Self::from_element`] has accepted.
    pub(crate) fn from_accepted(value: &'a [u8]) -> Option<Self> {
        Self::read(Reader::new(value), 0).ok()
    }

    /// Reads what the element holds, whatever its own type: the older signed Interests carry SignatureInfo in a name
    /// component.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset in the buffer that the element was read from.
    pub fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        Self::read(element.nested(), element.offset)
    }

    /// `offset` is where the whole element starts, for errors.
    fn read(reader: Reader<'a>, offset: usize) -> DecodeResult<Self> {
        let mut signature_type = None;
        let mut info = Self::new(SignatureType(0));
        let mut inner = Ordered::new(reader, &SEQUENCE);
        while let Some(e) = inner.next()? {
            match e.typ {
                types::SIGNATURE_TYPE => signature_type = Some(SignatureType(e.nni()?)),
                types::KEY_LOCATOR => info.key_locator = KeyLocator::from_element(&e)?,
                types::SIGNATURE_NONCE if e.value.is_empty() => return Err(e.bad_length()),
                types::SIGNATURE_NONCE => info.anti_replay.nonce = Some(e.value),
                types::SIGNATURE_TIME => {
                    info.anti_replay.time = Some(Duration::from_millis(e.nni()?));
                }
                types::SIGNATURE_SEQ_NUM => info.anti_replay.seq_num = Some(e.nni()?),
                _ => info.validity = Some(ValidityPeriod::from_element(&e)?),
            }
        }
        info.signature_type = signature_type.ok_or(DecodeError::new(offset, Kind::Missing(types::SIGNATURE_TYPE)))?;
        Ok(info)
    }

    /// Appends the element with the type given: SignatureInfo or InterestSignatureInfo.
    pub fn write(&self, out: &mut Vec<u8>, typ: u32) {
        let filled = tlv::write_nested(out, typ, 3, |out| {
            tlv::write_nni_element(out, types::SIGNATURE_TYPE, self.signature_type.0);
            if let Some(locator) = &self.key_locator {
                locator.write(out);
            }
            if let Some(nonce) = self.anti_replay.nonce {
                tlv::write_element(out, types::SIGNATURE_NONCE, nonce);
            }
            if let Some(time) = self.anti_replay.time {
                tlv::write_nni_element(out, types::SIGNATURE_TIME, crate::data::millis(time));
            }
            if let Some(number) = self.anti_replay.seq_num {
                tlv::write_nni_element(out, types::SIGNATURE_SEQ_NUM, number);
            }
            if let Some(validity) = &self.validity {
                validity.write(out);
            }
            Ok::<(), Infallible>(())
        });
        match filled {
            Ok(()) => {}
        }
    }
}

impl<'a> KeyLocator<'a> {
    fn from_element(element: &Element<'a>) -> DecodeResult<Option<Self>> {
        let mut inner = Ordered::new(element.nested(), &[types::NAME, types::KEY_DIGEST]);
        let Some(first) = inner.next()? else {
            return Ok(None);
        };
        let locator = match first.typ {
            types::NAME => Self::Name(NameView::from_element(&first)?),
            _ => Self::Digest(first.value),
        };
        match inner.next()? {
            None => Ok(Some(locator)),
            Some(second) => Err(second.error(Kind::OutOfOrder(second.typ))),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Name(name) => {
                tlv::write_head(out, types::KEY_LOCATOR, name.wire_len());
                name.write(out);
            }
            Self::Digest(digest) => {
                let len = tlv::element_len(types::KEY_DIGEST, digest.len());
                tlv::write_head(out, types::KEY_LOCATOR, len);
                tlv::write_element(out, types::KEY_DIGEST, digest);
            }
        }
    }
}

impl ValidityPeriod {
    /// Reads the element.
    ///
    /// # Errors
    /// [`DecodeError`] unless it holds two times of 15 bytes.
    pub fn from_element(element: &Element<'_>) -> DecodeResult<Self> {
        let (mut not_before, mut not_after) = (None, None);
        let mut inner = Ordered::new(element.nested(), &[types::NOT_BEFORE, types::NOT_AFTER]);
        while let Some(e) = inner.next()? {
            match e.typ {
                types::NOT_BEFORE => not_before = Some(e.array()?),
                _ => not_after = Some(e.array()?),
            }
        }
        Ok(Self {
            not_before: not_before.ok_or_else(|| element.error(Kind::Missing(types::NOT_BEFORE)))?,
            not_after: not_after.ok_or_else(|| element.error(Kind::Missing(types::NOT_AFTER)))?,
        })
    }

    /// Appends the element.
    pub fn write(&self, out: &mut Vec<u8>) {
        let len = tlv::element_len(types::NOT_BEFORE, 15) + tlv::element_len(types::NOT_AFTER, 15);
        tlv::write_head(out, types::VALIDITY_PERIOD, len);
        tlv::write_element(out, types::NOT_BEFORE, &self.not_before);
        tlv::write_element(out, types::NOT_AFTER, &self.not_after);
    }
}

//! Typed name components, borrowed and owned.
//!
//! Source: NDN packet specification v0.3, "Name"; component types from "Name Component Assignment policy".

use core::cmp::Ordering;
use core::fmt;

use crate::error::{DecodeErrorKind as Kind, DecodeResult, EncodeError};
use crate::tlv::{self, Element, types};

/// Length of a digest component's value in bytes (SHA-256).
pub const DIGEST_LEN: usize = 32;

/// A name component inside a buffer. The order is the canonical order: by type, then length, then bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentView<'a> {
    typ: u16,
    value: &'a [u8],
}

impl<'a> ComponentView<'a> {
    /// A component of any type.
    ///
    /// # Errors
    /// [`EncodeError::ComponentType`] unless the type is in `1..=65535`; [`EncodeError::DigestLength`] when a digest
    /// component does not have 32 bytes.
    #[inline]
    pub fn new(typ: u32, value: &'a [u8]) -> Result<Self, EncodeError> {
        let short = match u16::try_from(typ) {
            Ok(t) if t != 0 => t,
            _ => return Err(EncodeError::ComponentType(typ)),
        };
        if is_digest(typ) && value.len() != DIGEST_LEN {
            return Err(EncodeError::DigestLength(value.len()));
        }
        Ok(Self { typ: short, value })
    }

    /// A GenericNameComponent.
    #[must_use]
    pub const fn generic(value: &'a [u8]) -> Self {
        Self { typ: types::GENERIC_NAME_COMPONENT as u16, value }
    }

    /// Reads one element as a component.
    ///
    /// # Errors
    /// [`Kind::ComponentType`], or [`Kind::BadLength`] for a digest that does not have 32 bytes.
    #[inline]
    pub fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        match Self::new(element.typ, element.value) {
            Ok(component) => Ok(component),
            Err(EncodeError::ComponentType(_)) => Err(element.error(Kind::ComponentType(element.typ))),
            Err(_) => Err(element.bad_length()),
        }
    }

    /// TLV-TYPE, in `1..=65535`.
    #[must_use]
    pub const fn typ(&self) -> u32 {
        self.typ as u32
    }

    /// TLV-VALUE.
    #[must_use]
    pub const fn value(&self) -> &'a [u8] {
        self.value
    }

    /// Whether this is a GenericNameComponent.
    #[must_use]
    pub const fn is_generic(&self) -> bool {
        self.typ() == types::GENERIC_NAME_COMPONENT
    }

    /// Whether this is a KeywordNameComponent.
    #[must_use]
    pub const fn is_keyword(&self) -> bool {
        self.typ() == types::KEYWORD_NAME_COMPONENT
    }

    /// The digest, when this is an ImplicitSha256DigestComponent.
    #[must_use]
    pub fn as_implicit_digest(&self) -> Option<&'a [u8; DIGEST_LEN]> {
        (self.typ() == types::IMPLICIT_SHA256_DIGEST_COMPONENT).then(|| self.value.try_into().ok())?
    }

    /// The digest, when this is a ParametersSha256DigestComponent.
    #[must_use]
    pub fn as_parameters_digest(&self) -> Option<&'a [u8; DIGEST_LEN]> {
        (self.typ() == types::PARAMETERS_SHA256_DIGEST_COMPONENT).then(|| self.value.try_into().ok())?
    }

    /// The number, when this is a SegmentNameComponent (`seg=`) with a well-formed value.
    #[must_use]
    pub fn as_segment(&self) -> Option<u64> {
        self.as_number(types::SEGMENT_NAME_COMPONENT)
    }

    /// The number of bytes, when this is a ByteOffsetNameComponent (`off=`) with a well-formed value.
    #[must_use]
    pub fn as_byte_offset(&self) -> Option<u64> {
        self.as_number(types::BYTE_OFFSET_NAME_COMPONENT)
    }

    /// The number, when this is a VersionNameComponent (`v=`) with a well-formed value.
    #[must_use]
    pub fn as_version(&self) -> Option<u64> {
        self.as_number(types::VERSION_NAME_COMPONENT)
    }

    /// Microseconds since the Unix epoch, when this is a TimestampNameComponent (`t=`) with a well-formed value.
    #[must_use]
    pub fn as_timestamp(&self) -> Option<u64> {
        self.as_number(types::TIMESTAMP_NAME_COMPONENT)
    }

    /// The number, when this is a SequenceNumNameComponent (`seq=`) with a well-formed value.
    #[must_use]
    pub fn as_sequence_num(&self) -> Option<u64> {
        self.as_number(types::SEQUENCE_NUM_NAME_COMPONENT)
    }

    fn as_number(&self, typ: u32) -> Option<u64> {
        if self.typ() == typ { tlv::read_nni(self.value) } else { None }
    }

    /// Number of bytes of the whole element.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        tlv::element_len(self.typ(), self.value.len())
    }

    /// Appends the whole element.
    pub fn write(&self, out: &mut Vec<u8>) {
        tlv::write_element(out, self.typ(), self.value);
    }

    /// A copy that owns its bytes.
    #[must_use]
    pub fn to_owned(&self) -> Component {
        Component { typ: self.typ, value: self.value.into() }
    }
}

impl Ord for ComponentView<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.typ, self.value.len(), self.value).cmp(&(other.typ, other.value.len(), other.value))
    }
}

impl PartialOrd for ComponentView<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ComponentView<'_> {
    /// The URI form (see [`crate::uri`]).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::uri::format_component(self, f)
    }
}

/// A name component that owns its bytes. The order is the canonical order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Component {
    typ: u16,
    value: Box<[u8]>,
}

impl Component {
    /// A component of any type.
    ///
    /// # Errors
    /// As [`ComponentView::new`].
    pub fn new(typ: u32, value: &[u8]) -> Result<Self, EncodeError> {
        ComponentView::new(typ, value).map(|c| c.to_owned())
    }

    /// A GenericNameComponent.
    #[must_use]
    pub fn generic(value: impl AsRef<[u8]>) -> Self {
        ComponentView::generic(value.as_ref()).to_owned()
    }

    /// A KeywordNameComponent (`32=`).
    #[must_use]
    pub fn keyword(value: impl AsRef<[u8]>) -> Self {
        Self { typ: types::KEYWORD_NAME_COMPONENT as u16, value: value.as_ref().into() }
    }

    /// A SegmentNameComponent (`seg=`).
    #[must_use]
    pub fn segment(number: u64) -> Self {
        Self::number(types::SEGMENT_NAME_COMPONENT, number)
    }

    /// A ByteOffsetNameComponent (`off=`), in bytes.
    #[must_use]
    pub fn byte_offset(bytes: u64) -> Self {
        Self::number(types::BYTE_OFFSET_NAME_COMPONENT, bytes)
    }

    /// A VersionNameComponent (`v=`).
    #[must_use]
    pub fn version(number: u64) -> Self {
        Self::number(types::VERSION_NAME_COMPONENT, number)
    }

    /// A TimestampNameComponent (`t=`), in microseconds since the Unix epoch.
    #[must_use]
    pub fn timestamp(microseconds: u64) -> Self {
        Self::number(types::TIMESTAMP_NAME_COMPONENT, microseconds)
    }

    /// A SequenceNumNameComponent (`seq=`).
    #[must_use]
    pub fn sequence_num(number: u64) -> Self {
        Self::number(types::SEQUENCE_NUM_NAME_COMPONENT, number)
    }

    /// An ImplicitSha256DigestComponent.
    #[must_use]
    pub fn implicit_digest(digest: &[u8; DIGEST_LEN]) -> Self {
        Self { typ: types::IMPLICIT_SHA256_DIGEST_COMPONENT as u16, value: digest.as_slice().into() }
    }

    /// A ParametersSha256DigestComponent.
    #[must_use]
    pub fn parameters_digest(digest: &[u8; DIGEST_LEN]) -> Self {
        Self { typ: types::PARAMETERS_SHA256_DIGEST_COMPONENT as u16, value: digest.as_slice().into() }
    }

    pub(crate) fn number(typ: u32, number: u64) -> Self {
        let value = &number.to_be_bytes()[8 - tlv::nni_len(number)..];
        Self { typ: typ as u16, value: value.into() }
    }

    /// The same component, borrowed.
    #[must_use]
    pub fn as_view(&self) -> ComponentView<'_> {
        ComponentView { typ: self.typ, value: &self.value }
    }
}

impl Ord for Component {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_view().cmp(&other.as_view())
    }
}

impl PartialOrd for Component {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Component {
    /// The URI form (see [`crate::uri`]).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_view().fmt(f)
    }
}

impl core::str::FromStr for Component {
    type Err = crate::uri::UriError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        crate::uri::parse_component(s, 0)
    }
}

pub(crate) const fn is_digest(typ: u32) -> bool {
    matches!(typ, types::IMPLICIT_SHA256_DIGEST_COMPONENT | types::PARAMETERS_SHA256_DIGEST_COMPONENT)
}

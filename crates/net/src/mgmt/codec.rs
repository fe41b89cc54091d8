//! Common code of the protocol's elements: optional fields, written only when present, read in any order.

use ndnweir_wire::error::DecodeError;
use ndnweir_wire::tlv::{self, Element, Reader};
use ndnweir_wire::{Name, NameView};
use std::time::Duration;

/// Bytes that are not an element of the management protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// Not TLV, or a value that its type does not allow.
    #[error("malformed: {0}")]
    Malformed(#[from] DecodeError),
    /// A text that is not UTF-8.
    #[error("the text in element {0} is not UTF-8")]
    NotText(u32),
    /// An element that can stand only once.
    #[error("element {0} is repeated")]
    Repeated(u32),
    /// A required element is absent.
    #[error("element {0} is missing")]
    Missing(u32),
    /// A Data that is not a prefix announcement.
    #[error("no prefix announcement: {0}")]
    NoAnnouncement(&'static str),
    /// A number that its element does not allow.
    #[error("element {typ} cannot be {value}")]
    OutOfRange {
        /// Type of the element.
        typ: u32,
        /// The number found.
        value: u64,
    },
}

/// Result of reading.
pub type CodecResult<T> = Result<T, CodecError>;

/// A value that is the whole value of an element.
pub(super) trait Field: Sized {
    fn read(element: &Element<'_>) -> CodecResult<Self>;
    fn write(&self, out: &mut Vec<u8>, typ: u32);
}

impl Field for u64 {
    fn read(element: &Element<'_>) -> CodecResult<u64> {
        Ok(element.nni()?)
    }

    fn write(&self, out: &mut Vec<u8>, typ: u32) {
        tlv::write_nni_element(out, typ, *self);
    }
}

impl Field for String {
    fn read(element: &Element<'_>) -> CodecResult<String> {
        match std::str::from_utf8(element.value) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(CodecError::NotText(element.typ)),
        }
    }

    fn write(&self, out: &mut Vec<u8>, typ: u32) {
        tlv::write_element(out, typ, self.as_bytes());
    }
}

impl Field for Name {
    fn read(element: &Element<'_>) -> CodecResult<Name> {
        Ok(NameView::from_value(element.value)?.to_owned())
    }

    fn write(&self, out: &mut Vec<u8>, typ: u32) {
        tlv::write_element(out, typ, self.as_bytes());
    }
}

/// Puts a value read into its place, which must still be free.
pub(super) fn set<T: Field>(place: &mut Option<T>, element: &Element<'_>) -> CodecResult<()> {
    set_with(place, element, T::read)
}

/// As [`set`], with another decoder.
pub(super) fn set_with<T>(
    place: &mut Option<T>,
    element: &Element<'_>,
    read: impl FnOnce(&Element<'_>) -> CodecResult<T>,
) -> CodecResult<()> {
    if place.is_some() {
        return Err(CodecError::Repeated(element.typ));
    }
    *place = Some(read(element)?);
    Ok(())
}

/// Writes a field that is present.
pub(super) fn put<T: Field>(out: &mut Vec<u8>, typ: u32, field: &Option<T>) {
    if let Some(value) = field {
        value.write(out, typ);
    }
}

/// Writes numbers that are always present.
pub(super) fn put_numbers<const N: usize>(out: &mut Vec<u8>, numbers: [(u32, u64); N]) {
    for (typ, number) in numbers {
        tlv::write_nni_element(out, typ, number);
    }
}

/// A time in whole milliseconds.
pub(super) fn millis(element: &Element<'_>) -> CodecResult<Duration> {
    Ok(Duration::from_millis(element.nni()?))
}

/// Writes a time in whole milliseconds.
pub(super) fn put_millis(out: &mut Vec<u8>, typ: u32, field: Option<Duration>) {
    if let Some(time) = field {
        tlv::write_nni_element(out, typ, u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }
}

/// A time in nanoseconds.
pub(super) fn nanos(element: &Element<'_>) -> CodecResult<Duration> {
    Ok(Duration::from_nanos(element.nni()?))
}

/// Writes a time in nanoseconds.
pub(super) fn put_nanos(out: &mut Vec<u8>, typ: u32, field: Option<Duration>) {
    if let Some(time) = field {
        tlv::write_nni_element(out, typ, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// The Name inside an element such as Strategy.
pub(super) fn nested_name(element: &Element<'_>) -> CodecResult<Name> {
    let mut inner = element.nested();
    Name::read(&inner.expect(tlv::types::NAME)?)
}

/// Writes an element that holds a Name.
pub(super) fn put_nested_name(out: &mut Vec<u8>, typ: u32, name: &Name) {
    tlv::write_head(out, typ, name.as_view().wire_len());
    name.as_view().write(out);
}

/// Writes an element around what `fill` appends.
pub(super) fn wrap(out: &mut Vec<u8>, typ: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    fill(&mut value);
    tlv::write_element(out, typ, &value);
}

/// Reads a buffer that holds one element of this type and nothing else.
pub(super) fn only(bytes: &[u8], typ: u32) -> CodecResult<Element<'_>> {
    let mut reader = Reader::new(bytes);
    let element = reader.expect(typ)?;
    reader.finish()?;
    Ok(element)
}

/// Calls `take` for each element inside; it should ignore unknown ones, as NFD does.
pub(super) fn each<'a>(
    element: &Element<'a>,
    mut take: impl FnMut(&Element<'a>) -> CodecResult<()>,
) -> CodecResult<()> {
    let mut reader = element.nested();
    while !reader.is_empty() {
        take(&reader.element()?)?;
    }
    Ok(())
}

/// A required field.
pub(super) fn required<T>(field: Option<T>, typ: u32) -> CodecResult<T> {
    field.ok_or(CodecError::Missing(typ))
}

//! TLV elements: type and length numbers, non-negative integers, reading and writing.
//!
//! Source: NDN packet specification v0.3, "Type-Length-Value (TLV) Encoding" and "TLV Type Registry".

use crate::error::{DecodeError, DecodeErrorKind as Kind, DecodeResult};

/// Assigned TLV-TYPE numbers (packet specification, "TLV Type Registry"; those of NDNLPv2 are in [`crate::lp::types`]).
#[expect(missing_docs, reason = "the names are those of the registry")]
pub mod types {
    pub const IMPLICIT_SHA256_DIGEST_COMPONENT: u32 = 1;
    pub const PARAMETERS_SHA256_DIGEST_COMPONENT: u32 = 2;
    pub const INTEREST: u32 = 5;
    pub const DATA: u32 = 6;
    pub const NAME: u32 = 7;
    pub const GENERIC_NAME_COMPONENT: u32 = 8;
    pub const NONCE: u32 = 10;
    pub const INTEREST_LIFETIME: u32 = 12;
    pub const MUST_BE_FRESH: u32 = 18;
    pub const META_INFO: u32 = 20;
    pub const CONTENT: u32 = 21;
    pub const SIGNATURE_INFO: u32 = 22;
    pub const SIGNATURE_VALUE: u32 = 23;
    pub const CONTENT_TYPE: u32 = 24;
    pub const FRESHNESS_PERIOD: u32 = 25;
    pub const FINAL_BLOCK_ID: u32 = 26;
    pub const SIGNATURE_TYPE: u32 = 27;
    pub const KEY_LOCATOR: u32 = 28;
    pub const KEY_DIGEST: u32 = 29;
    pub const FORWARDING_HINT: u32 = 30;
    pub const KEYWORD_NAME_COMPONENT: u32 = 32;
    pub const CAN_BE_PREFIX: u32 = 33;
    pub const HOP_LIMIT: u32 = 34;
    pub const APPLICATION_PARAMETERS: u32 = 36;
    pub const SIGNATURE_NONCE: u32 = 38;
    pub const SIGNATURE_TIME: u32 = 40;
    pub const SIGNATURE_SEQ_NUM: u32 = 42;
    pub const INTEREST_SIGNATURE_INFO: u32 = 44;
    pub const INTEREST_SIGNATURE_VALUE: u32 = 46;
    pub const SEGMENT_NAME_COMPONENT: u32 = 50;
    pub const BYTE_OFFSET_NAME_COMPONENT: u32 = 52;
    pub const VERSION_NAME_COMPONENT: u32 = 54;
    pub const TIMESTAMP_NAME_COMPONENT: u32 = 56;
    pub const SEQUENCE_NUM_NAME_COMPONENT: u32 = 58;
    pub const VALIDITY_PERIOD: u32 = 253;
    pub const NOT_BEFORE: u32 = 254;
    pub const NOT_AFTER: u32 = 255;
}

/// Whether an unrecognised element of this type makes the packet invalid
/// (packet specification, "Considerations for Evolvability": types up to 31, and odd types).
#[must_use]
pub const fn is_critical(typ: u32) -> bool {
    typ <= 31 || typ & 1 == 1
}

/// Number of bytes of `n` as a type or length number: 1, 3, 5 or 9.
#[must_use]
pub const fn var_number_len(n: u64) -> usize {
    match n {
        0..=0xFC => 1,
        0xFD..=0xFFFF => 3,
        0x1_0000..=0xFFFF_FFFF => 5,
        _ => 9,
    }
}

/// Number of bytes of an element with this type and a value of `len` bytes.
#[must_use]
pub const fn element_len(typ: u32, len: usize) -> usize {
    var_number_len(typ as u64) + var_number_len(len as u64) + len
}

/// Number of bytes of `n` as a NonNegativeInteger: 1, 2, 4 or 8.
#[must_use]
pub const fn nni_len(n: u64) -> usize {
    match n {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

/// Reads a NonNegativeInteger; `None` unless the length is 1, 2, 4 or 8 bytes.
///
/// The specification does not demand the shortest form here, so `00 01` is 1.
#[must_use]
pub fn read_nni(value: &[u8]) -> Option<u64> {
    match *value {
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_be_bytes([a, b]))),
        [a, b, c, d] => Some(u64::from(u32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

/// Appends `n` as a type or length number in its shortest form.
pub fn write_var_number(out: &mut Vec<u8>, n: u64) {
    let mut bytes = [0; 9];
    let used = put_var_number(&mut bytes, n);
    out.extend_from_slice(&bytes[..used]);
}

/// Appends type and length of an element; the value, of `len` bytes, is for the caller to append.
pub fn write_head(out: &mut Vec<u8>, typ: u32, len: usize) {
    write_var_number(out, u64::from(typ));
    write_var_number(out, len as u64);
}

/// Appends a whole element.
pub fn write_element(out: &mut Vec<u8>, typ: u32, value: &[u8]) {
    write_head(out, typ, value.len());
    out.extend_from_slice(value);
}

/// Appends the bytes of a NonNegativeInteger in its shortest form, without type and length.
pub fn write_nni(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&n.to_be_bytes()[8 - nni_len(n)..]);
}

/// Appends an element whose value is a NonNegativeInteger in its shortest form.
pub fn write_nni_element(out: &mut Vec<u8>, typ: u32, n: u64) {
    write_head(out, typ, nni_len(n));
    write_nni(out, n);
}

/// Appends an element whose value is what `fill` appends. `expected_len` only saves a move when it is right.
pub fn write_nested<E>(
    out: &mut Vec<u8>,
    typ: u32,
    expected_len: usize,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.reserve(element_len(typ, expected_len));
    write_head(out, typ, expected_len);
    let head_end = out.len();
    fill(out)?;
    let len = out.len().saturating_sub(head_end);
    if len != expected_len {
        let (head, used) = head_bytes(typ, len);
        out.splice(start..head_end, head.into_iter().take(used));
    }
    Ok(())
}

/// Type and length of an element, and how many of these bytes are used.
pub(crate) fn head_bytes(typ: u32, len: usize) -> ([u8; 14], usize) {
    let mut bytes = [0; 14];
    let typ_len = put_var_number(&mut bytes, u64::from(typ));
    let len_len = put_var_number(&mut bytes[typ_len..], len as u64);
    (bytes, typ_len + len_len)
}

fn put_var_number(to: &mut [u8], n: u64) -> usize {
    let used = var_number_len(n);
    match used {
        1 => {}
        3 => to[0] = 0xFD,
        5 => to[0] = 0xFE,
        _ => to[0] = 0xFF,
    }
    let digits = used.max(2) - 1;
    to[used - digits..used].copy_from_slice(&n.to_be_bytes()[8 - digits..]);
    used
}

/// One TLV element inside a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// TLV-TYPE, never 0.
    pub typ: u32,
    /// TLV-VALUE.
    pub value: &'a [u8],
    /// The whole element: type, length and value.
    pub wire: &'a [u8],
    /// Byte offset of the element in the decoded buffer.
    pub offset: usize,
}

impl<'a> Element<'a> {
    /// Byte offset of the value in the decoded buffer.
    #[must_use]
    pub const fn value_offset(&self) -> usize {
        self.offset + (self.wire.len() - self.value.len())
    }

    /// A reader over the elements inside the value.
    #[must_use]
    pub const fn nested(&self) -> Reader<'a> {
        Reader { rest: self.value, offset: self.value_offset() }
    }

    /// The value as a NonNegativeInteger.
    ///
    /// # Errors
    /// [`Kind::BadLength`] unless the value has 1, 2, 4 or 8 bytes.
    pub fn nni(&self) -> DecodeResult<u64> {
        read_nni(self.value).ok_or_else(|| self.bad_length())
    }

    /// The value as exactly `N` bytes.
    ///
    /// # Errors
    /// [`Kind::BadLength`] when the value has another length.
    pub fn array<const N: usize>(&self) -> DecodeResult<[u8; N]> {
        self.value.try_into().map_err(|_| self.bad_length())
    }

    /// Checks that the value is empty, as that of a flag must be.
    ///
    /// # Errors
    /// [`Kind::BadLength`] when it is not.
    pub fn flag(&self) -> DecodeResult<()> {
        if self.value.is_empty() { Ok(()) } else { Err(self.bad_length()) }
    }

    pub(crate) fn bad_length(&self) -> DecodeError {
        self.error(Kind::BadLength { typ: self.typ, len: self.value.len() })
    }

    pub(crate) const fn error(&self, kind: Kind) -> DecodeError {
        DecodeError::new(self.offset, kind)
    }
}

/// Reads consecutive elements from a buffer without copying.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader over `buf`; offsets in elements and errors count from its start.
    #[must_use]
    pub const fn new(buf: &'a [u8]) -> Self {
        Self { rest: buf, offset: 0 }
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Byte offset of the next element.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// What is left to read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads type and length of the next element without consuming it: `(type, head bytes, value bytes)`.
    #[inline]
    pub(crate) fn head(&self) -> DecodeResult<(u32, usize, u64)> {
        // Nearly all elements have one byte of each.
        match *self.rest {
            [typ @ 1..=0xFC, len @ 0..=0xFC, ..] => Ok((u32::from(typ), 2, u64::from(len))),
            _ => self.long_head(),
        }
    }

    /// [`Reader::head`] of what holds a packet, whose length is longer, or of a field of a link header, whose type is.
    #[inline(never)]
    fn long_head(&self) -> DecodeResult<(u32, usize, u64)> {
        let shortest = |high: u8, low: u8| high > 0 || low >= 0xFD;
        match *self.rest {
            [typ @ 1..=0xFC, 0xFD, high, low, ..] if shortest(high, low) => {
                Ok((u32::from(typ), 4, u64::from(u16::from_be_bytes([high, low]))))
            }
            [0xFD, high, low, len @ 0..=0xFC, ..] if shortest(high, low) => {
                Ok((u32::from(u16::from_be_bytes([high, low])), 4, u64::from(len)))
            }
            _ => self.any_head(),
        }
    }

    #[cold]
    #[inline(never)]
    fn any_head(&self) -> DecodeResult<(u32, usize, u64)> {
        let (typ, type_len) = read_var_number(self.rest, self.offset)?;
        let typ = match u32::try_from(typ) {
            Ok(t) if t != 0 => t,
            _ => return Err(DecodeError::new(self.offset, Kind::TypeOutOfRange(typ))),
        };
        let (len, len_len) = read_var_number(&self.rest[type_len..], self.offset + type_len)?;
        Ok((typ, type_len + len_len, len))
    }

    /// Reads the next element.
    ///
    /// # Errors
    /// [`Kind::Truncated`] at the end of the buffer or inside an element, [`Kind::NonMinimalNumber`],
    /// [`Kind::TypeOutOfRange`].
    #[inline(always)]
    pub fn element(&mut self) -> DecodeResult<Element<'a>> {
        let (typ, head, len) = self.head()?;
        let available = self.rest.len() - head;
        let len = match usize::try_from(len) {
            Ok(n) if n <= available => n,
            _ => {
                let missing = len - available as u64;
                return Err(DecodeError::new(self.offset, Kind::Truncated { missing }));
            }
        };
        let (wire, rest) = self.rest.split_at(head + len);
        let element = Element { typ, value: &wire[head..], wire, offset: self.offset };
        self.rest = rest;
        self.offset += wire.len();
        Ok(element)
    }

    /// Reads the next element, which must have this type.
    ///
    /// # Errors
    /// As [`Self::element`], and [`Kind::Missing`] or [`Kind::UnexpectedType`].
    pub fn expect(&mut self, typ: u32) -> DecodeResult<Element<'a>> {
        if self.is_empty() {
            return Err(DecodeError::new(self.offset, Kind::Missing(typ)));
        }
        let element = self.element()?;
        if element.typ != typ {
            return Err(element.error(Kind::UnexpectedType { expected: typ, found: element.typ }));
        }
        Ok(element)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`Kind::TrailingBytes`] otherwise.
    pub fn finish(&self) -> DecodeResult<()> {
        if self.is_empty() { Ok(()) } else { Err(DecodeError::new(self.offset, Kind::TrailingBytes(self.rest.len()))) }
    }
}

/// Reads one type or length number: `(number, bytes used)`.
fn read_var_number(buf: &[u8], offset: usize) -> DecodeResult<(u64, usize)> {
    let truncated = |need: usize| DecodeError::new(offset, Kind::Truncated { missing: (need - buf.len()) as u64 });
    let (n, used) = match *buf {
        [] => return Err(truncated(1)),
        [first @ 0..=0xFC, ..] => (u64::from(first), 1),
        [0xFD, a, b, ..] => (u64::from(u16::from_be_bytes([a, b])), 3),
        [0xFE, a, b, c, d, ..] => (u64::from(u32::from_be_bytes([a, b, c, d])), 5),
        [0xFF, a, b, c, d, e, f, g, h, ..] => (u64::from_be_bytes([a, b, c, d, e, f, g, h]), 9),
        [0xFD, ..] => return Err(truncated(3)),
        [0xFE, ..] => return Err(truncated(5)),
        [0xFF, ..] => return Err(truncated(9)),
    };
    if var_number_len(n) != used {
        return Err(DecodeError::new(offset, Kind::NonMinimalNumber));
    }
    Ok((n, used))
}

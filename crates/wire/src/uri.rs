//! The `ndn:` URI form of names.
//!
//! Source: NDN packet specification v0.3, "NDN URI Scheme"; `seg=`, `off=`, `v=`, `t=` and `seq=` from the naming
//! conventions' revision 3 as listed in "Name Component Assignment policy".
//!
//! Printing never loses anything: a numeric component whose value is not the shortest form of a number, which the
//! friendly form would normalise, is printed by type number and bytes. Reading accepts characters that a URI would
//! have to escape, because names are typed by people; it does not accept what could have two meanings.

use core::fmt;

use thiserror::Error;

use crate::component::{Component, ComponentView, DIGEST_LEN};
use crate::name::{Name, NameView};
use crate::tlv::{self, types};

/// A text that is not a name: what is wrong, and at which byte of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{kind} (at byte {offset} of the name)")]
pub struct UriError {
    /// Byte offset in the text.
    pub offset: usize,
    /// What is wrong there.
    pub kind: UriErrorKind,
}

/// The ways in which a text can fail to be a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UriErrorKind {
    /// The text does not start with `/`, `ndn:/` or `ndn://`.
    #[error("a name starts with '/' or 'ndn:/'")]
    NotAbsolute,
    /// Nothing between two slashes, or after `=`.
    #[error("empty component; an empty value is written '...'")]
    Empty,
    /// `.` or `..`, which a relative URI would resolve.
    #[error("'.' and '..' are not components; a value of n periods is written with n + 3")]
    Periods,
    /// `%` without two hexadecimal digits.
    #[error("'%' must be followed by two hexadecimal digits")]
    Percent,
    /// Text before `=` is neither a type number in `1..=65535` without leading zeros nor a known word.
    #[error("unknown component type before '='")]
    Type,
    /// A number is not decimal digits without leading zeros, or exceeds 64 bits.
    #[error("expected a decimal number below 2^64 without leading zeros")]
    Number,
    /// A digest is not 64 hexadecimal digits (32 bytes).
    #[error("a digest is 64 hexadecimal digits")]
    Digest,
}

const NUMERIC: [(&str, u32); 5] = [
    ("seg", types::SEGMENT_NAME_COMPONENT),
    ("off", types::BYTE_OFFSET_NAME_COMPONENT),
    ("v", types::VERSION_NAME_COMPONENT),
    ("t", types::TIMESTAMP_NAME_COMPONENT),
    ("seq", types::SEQUENCE_NUM_NAME_COMPONENT),
];

const DIGEST: [(&str, u32); 2] = [
    ("sha256digest", types::IMPLICIT_SHA256_DIGEST_COMPONENT),
    ("params-sha256", types::PARAMETERS_SHA256_DIGEST_COMPONENT),
];

pub(crate) fn format_name(name: &NameView<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if name.is_empty() {
        return f.write_str("/");
    }
    name.components().try_for_each(|c| {
        f.write_str("/")?;
        format_component(&c, f)
    })
}

pub(crate) fn format_component(c: &ComponentView<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some((word, _)) = NUMERIC.iter().find(|(_, t)| *t == c.typ())
        && let Some(number) = tlv::read_nni(c.value())
        && tlv::nni_len(number) == c.value().len()
    {
        return write!(f, "{word}={number}");
    }
    if let Some((word, _)) = DIGEST.iter().find(|(_, t)| *t == c.typ()) {
        write!(f, "{word}=")?;
        return c.value().iter().try_for_each(|b| write!(f, "{b:02x}"));
    }
    if !c.is_generic() {
        write!(f, "{}=", c.typ())?;
    }
    if c.value().iter().all(|b| *b == b'.') {
        f.write_str("...")?;
    }
    c.value().iter().try_for_each(|&b| {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            write!(f, "{}", char::from(b))
        } else {
            write!(f, "%{b:02X}")
        }
    })
}

/// Reads a name from its URI form; the same as `text.parse::<Name>()`.
///
/// A trailing slash is ignored, and so is an authority after `ndn://`.
///
/// # Errors
/// [`UriError`] with the byte offset in `text`.
pub fn parse_name(text: &str) -> Result<Name, UriError> {
    let mut path = text;
    if let Some(prefix) = text.get(..4)
        && prefix.eq_ignore_ascii_case("ndn:")
    {
        path = &text[4..];
        if let Some(authority) = path.strip_prefix("//") {
            path = authority.find('/').map_or("/", |slash| &authority[slash..]);
        }
    }
    // `path` is a suffix of the text, except for a bare authority, where no error can follow.
    let mut offset = text.len().saturating_sub(path.len());
    let Some(mut rest) = path.strip_prefix('/') else {
        return Err(UriError { offset, kind: UriErrorKind::NotAbsolute });
    };
    offset += 1;
    let mut name = Name::new();
    while !rest.is_empty() {
        let (component, after) = rest.split_once('/').unwrap_or((rest, ""));
        name.push(parse_component(component, offset)?.as_view());
        offset += component.len() + 1;
        rest = after;
    }
    Ok(name)
}

/// Reads one component; `offset` is where it starts in the whole text, for errors.
pub(crate) fn parse_component(text: &str, offset: usize) -> Result<Component, UriError> {
    let error = |kind| UriError { offset, kind };
    let Some((word, value)) = text.split_once('=') else {
        return Ok(Component::generic(parse_value(text, offset)?));
    };
    let value_offset = offset + word.len() + 1;
    if let Some((_, typ)) = NUMERIC.iter().find(|(w, _)| *w == word) {
        let number = parse_number(value).ok_or(UriError { offset: value_offset, kind: UriErrorKind::Number })?;
        return Ok(Component::number(*typ, number));
    }
    let digest_error = UriError { offset: value_offset, kind: UriErrorKind::Digest };
    if let Some((_, typ)) = DIGEST.iter().find(|(w, _)| *w == word) {
        let bytes = parse_hex(value).ok_or(digest_error)?;
        return Component::new(*typ, &bytes).map_err(|_| digest_error);
    }
    let typ =
        parse_number(word).and_then(|n| u16::try_from(n).ok()).filter(|n| *n != 0).ok_or(error(UriErrorKind::Type))?;
    let bytes = parse_value(value, value_offset)?;
    Component::new(u32::from(typ), &bytes).map_err(|_| digest_error)
}

fn parse_value(text: &str, offset: usize) -> Result<Vec<u8>, UriError> {
    if text.is_empty() {
        return Err(UriError { offset, kind: UriErrorKind::Empty });
    }
    let raw = text.as_bytes();
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        if raw[at] == b'%' {
            let pair = raw.get(at + 1..at + 3).and_then(|d| Some((hex(d[0])?, hex(d[1])?)));
            let (high, low) = pair.ok_or(UriError { offset: offset + at, kind: UriErrorKind::Percent })?;
            bytes.push(high << 4 | low);
            at += 3;
        } else {
            bytes.push(raw[at]);
            at += 1;
        }
    }
    if bytes.iter().all(|b| *b == b'.') {
        if bytes.len() < 3 {
            return Err(UriError { offset, kind: UriErrorKind::Periods });
        }
        bytes.truncate(bytes.len() - 3);
    }
    Ok(bytes)
}

fn parse_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if digits && !leading_zero { text.parse().ok() } else { None }
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * DIGEST_LEN {
        return None;
    }
    text.as_bytes().chunks_exact(2).map(|d| Some(hex(d[0])? << 4 | hex(d[1])?)).collect()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|d| d as u8)
}

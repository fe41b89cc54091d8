//! Prefix announcements: signed Data with which a producer says that it serves a prefix, and for how long.
//!
//! Source: NFD wiki, `PrefixAnnouncement`. Name: `/PREFIX/32=PA/v=VERSION/seg=0`; ContentType 5; content:
//! ExpirationPeriod and perhaps ValidityPeriod, with unknown elements between or after them ignored unless they are
//! critical.

use super::codec::{CodecError, CodecResult, millis, put_millis, required, set_with};
use super::types;
use jiff::civil::DateTime;
use ndnweir_wire::data::content_type;
use ndnweir_wire::error::EncodeError;
use ndnweir_wire::signature::{Signer, ValidityPeriod};
use ndnweir_wire::tlv::{self, Reader};
use ndnweir_wire::{Component, DataBuilder, DataView, Name};
use std::time::Duration;

/// The keyword that ends the prefix.
const KEYWORD: &[u8] = b"PA";

/// The content of an announcement. Its signature identifies its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The prefix.
    pub prefix: Name,
    /// For how long from its receipt on it counts, in whole milliseconds on the wire.
    pub expiration: Duration,
    /// The time, in UTC, outside which it does not count.
    pub validity: Option<ValidityPeriod>,
}

impl Announcement {
    /// Reads an announcement. Its signature is not checked.
    ///
    /// # Errors
    /// [`CodecError`] when the Data is none.
    pub fn decode(data: &DataView<'_>) -> CodecResult<Announcement> {
        let name = data.name();
        let no = CodecError::NoAnnouncement;
        let at = name.len().checked_sub(3).ok_or(no("its name is too short"))?;
        let ends = |i: usize| name.get(at + i).ok_or(no("its name is too short"));
        if !ends(0)?.is_keyword() || ends(0)?.value() != KEYWORD {
            return Err(no("its name has no 32=PA where it should"));
        }
        if ends(1)?.as_version().is_none() || ends(2)?.as_segment().is_none() {
            return Err(no("its name does not end in version and segment"));
        }
        if data.content_type() != content_type::PREFIX_ANNOUNCEMENT {
            return Err(no("its content is of another type"));
        }
        let (mut expiration, mut validity) = (None, None);
        let mut content = Reader::new(data.content());
        while !content.is_empty() {
            let e = content.element()?;
            match e.typ {
                types::EXPIRATION_PERIOD => set_with(&mut expiration, &e, millis)?,
                tlv::types::VALIDITY_PERIOD => {
                    set_with(&mut validity, &e, |e| Ok(ValidityPeriod::from_element(e)?))?;
                }
                typ if tlv::is_critical(typ) => return Err(no("its content has a critical element that is not known")),
                _ => {}
            }
        }
        let expiration = required(expiration, types::EXPIRATION_PERIOD)?;
        Ok(Announcement { prefix: name.prefix(at).to_owned(), expiration, validity })
    }

    /// Makes the Data. A version is usually the time since the Unix epoch in milliseconds.
    ///
    /// # Errors
    /// As [`DataBuilder::sign`].
    pub fn sign(&self, version: u64, signer: &(impl Signer + ?Sized)) -> Result<Vec<u8>, EncodeError> {
        let parts = [Component::keyword(KEYWORD), Component::version(version), Component::segment(0)];
        let name = parts.into_iter().fold(self.prefix.clone(), Name::with);
        let mut content = Vec::new();
        put_millis(&mut content, types::EXPIRATION_PERIOD, Some(self.expiration));
        if let Some(validity) = &self.validity {
            validity.write(&mut content);
        }
        let data = DataBuilder::new(name.as_view()).content_type(content_type::PREFIX_ANNOUNCEMENT);
        data.content(&content).sign(signer)
    }

    /// For how long it counts from now on, a time since the Unix epoch; none when it is not valid now.
    #[must_use]
    pub fn valid_for(&self, now: Duration) -> Option<Duration> {
        let Some(validity) = &self.validity else { return Some(self.expiration) };
        let (from, to) = (since_epoch(&validity.not_before)?, since_epoch(&validity.not_after)?);
        (from <= now && now <= to).then(|| self.expiration.min(to - now))
    }
}

/// The time since the Unix epoch of `yyyyMMddTHHmmss` in UTC; zero before it, none when it is no time. A leap second
/// counts as the one before it.
fn since_epoch(text: &[u8; 15]) -> Option<Duration> {
    const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let is_written_so = |(at, byte): (usize, &u8)| if at == 8 { *byte == b'T' } else { byte.is_ascii_digit() };
    if !text.iter().enumerate().all(is_written_so) {
        return None;
    }
    let since = DateTime::strptime("%Y%m%dT%H%M%S", text).ok()?.duration_since(EPOCH);
    Some(Duration::try_from(since).unwrap_or_default())
}

//! Prefix announcements: signed Data with which a producer says that it serves a prefix, and for how long.
//!
//! Source: NFD wiki, `PrefixAnnouncement`. Name: `/PREFIX/32=PA/v=VERSION/seg=0`; ContentType 5; content:
//! ExpirationPeriod and perhaps ValidityPeriod, with unknown elements between or after them ignored unless they are
//! critical.

use super::codec::{CodecError, CodecResult, millis, put_millis, required, set_with};
use super::types;
use ndnweir_wire::data::content_type;
use ndnweir_wire::error::EncodeError;
use ndnweir_wire::signature::{Signer, ValidityPeriod};
use ndnweir_wire::tlv::{self, Reader};
use ndnweir_wire::{Component, DataBuilder, DataView, Name};
use std::time::Duration;

/// The keyword that ends the prefix.
const KEYWORD: &[u8] = b"PA";

/// What an announcement says. Whose it is, its signature says.
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
    pub fn lasts(&self, now: Duration) -> Option<Duration> {
        let Some(validity) = &self.validity else { return Some(self.expiration) };
        let (from, to) = (since_epoch(&validity.not_before)?, since_epoch(&validity.not_after)?);
        (from <= now && now <= to).then(|| self.expiration.min(to - now))
    }
}

/// Seconds since the Unix epoch of `yyyyMMddTHHmmss` in UTC; zero before it, none when it is no time.
fn since_epoch(text: &[u8; 15]) -> Option<Duration> {
    let number = |at: usize, digits: usize| {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        text[at..at + digits].iter().try_fold(0, |number, byte| Some(10 * number + digit(byte)?))
    };
    let (year, month, day) = (number(0, 4)?, number(4, 2)?, number(6, 2)?);
    let (hour, minute, second) = (number(9, 2)?, number(11, 2)?, number(13, 2)?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = |month: u64| match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let month_is = (1..=12).contains(&month) && (1..=days(month)).contains(&day);
    // A leap second counts as the one before it.
    if text[8] != b'T' || !month_is || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Of the years before this one, and before 1970.
    let leaps = |year: u64| year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let days_before = |year: u64| 365 * year + leaps(year);
    let date = days_before(year) + (1..month).map(days).sum::<u64>() + day - 1;
    let date = date.saturating_sub(days_before(1970));
    let seconds = if days_before(year) < days_before(1970) { 0 } else { 3600 * hour + 60 * minute + second.min(59) };
    Some(Duration::from_secs(86_400 * date + seconds))
}

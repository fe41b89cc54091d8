//! Reasons of a network Nack.

use core::fmt;

use super::types;
use crate::error::{DecodeErrorKind as Kind, DecodeResult};
use crate::tlv::{self, Element};

/// Why an Interest came back unanswered (NDNLPv2, "Network NACK").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NackReason {
    /// No reason given, or reason 0.
    #[default]
    Unspecified,
    /// The link or a queue is congested (50).
    Congestion,
    /// The Nonce was seen before (100).
    Duplicate,
    /// No next hop for the name (150).
    NoRoute,
    /// Any other number.
    Other(u64),
}

impl NackReason {
    /// The reason with this number.
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::Unspecified,
            50 => Self::Congestion,
            100 => Self::Duplicate,
            150 => Self::NoRoute,
            other => Self::Other(other),
        }
    }

    /// The number of the reason; 0 when unspecified.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::Unspecified => 0,
            Self::Congestion => 50,
            Self::Duplicate => 100,
            Self::NoRoute => 150,
            Self::Other(code) => code,
        }
    }

    /// Whether this reason is less severe: a lower number is, and no reason is the most severe. A node that got
    /// Nacks from all its next hops passes on the least severe reason.
    #[must_use]
    pub const fn is_less_severe_than(self, other: Self) -> bool {
        // Wraps 0 to the largest number.
        self.code().wrapping_sub(1) < other.code().wrapping_sub(1)
    }

    pub(super) fn from_element(element: &Element<'_>) -> DecodeResult<Self> {
        let mut reason = None;
        let mut inner = element.nested();
        while !inner.is_empty() {
            let e = inner.element()?;
            match e.typ {
                types::NACK_REASON if reason.is_none() => reason = Some(Self::from_code(e.nni()?)),
                types::NACK_REASON => return Err(e.error(Kind::OutOfOrder(e.typ))),
                typ if super::is_ignorable(typ) => {}
                typ => return Err(e.error(Kind::UnknownLpField(typ))),
            }
        }
        Ok(reason.unwrap_or_default())
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        if self.code() == 0 {
            tlv::write_head(out, types::NACK, 0);
            return;
        }
        let len = tlv::element_len(types::NACK_REASON, tlv::nni_len(self.code()));
        tlv::write_head(out, types::NACK, len);
        tlv::write_nni_element(out, types::NACK_REASON, self.code());
    }
}

impl fmt::Display for NackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unspecified => f.write_str("unspecified"),
            Self::Congestion => f.write_str("congestion"),
            Self::Duplicate => f.write_str("duplicate"),
            Self::NoRoute => f.write_str("no route"),
            Self::Other(code) => write!(f, "reason {code}"),
        }
    }
}

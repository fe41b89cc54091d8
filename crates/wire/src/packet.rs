//! Whichever packet a face delivers, and where it ends in a stream.

use crate::data::DataView;
use crate::error::{DecodeErrorKind as Kind, DecodeResult};
use crate::interest::InterestView;
use crate::tlv::{Reader, types};

/// NDN's practical limit on the size of a network-layer packet, in bytes (as in NFD and ndn-cxx).
pub const MAX_PACKET_SIZE: usize = 8800;

/// A network-layer packet: what an LpPacket carries once it is whole.
#[derive(Debug, Clone, Copy)]
pub enum PacketView<'a> {
    /// An Interest; a returned one when the link header has a Nack.
    Interest(InterestView<'a>),
    /// A Data packet.
    Data(DataView<'a>),
}

impl<'a> PacketView<'a> {
    /// Reads a buffer that holds one Interest or Data and nothing else. Neither the parameters digest nor the
    /// signature is checked.
    ///
    /// # Errors
    /// [`crate::DecodeError`] with the byte offset in `buf`.
    pub fn decode(buf: &'a [u8]) -> DecodeResult<Self> {
        let mut reader = Reader::new(buf);
        let element = reader.element()?;
        reader.finish()?;
        match element.typ {
            types::INTEREST => InterestView::from_element(&element).map(Self::Interest),
            types::DATA => DataView::from_element(&element).map(Self::Data),
            other => Err(element.error(Kind::NotAPacket(other))),
        }
    }
}

/// How many bytes the element at the start of `stream` has, once its type and length are there; `None` when they are
/// not. The element itself need not be there yet, so compare with a bound before waiting for it.
///
/// # Errors
/// [`crate::DecodeError`] when the type or length is malformed: the stream cannot be read any further.
pub fn frame_len(stream: &[u8]) -> DecodeResult<Option<u64>> {
    match Reader::new(stream).head() {
        Ok((_, head, len)) => Ok(Some(len.saturating_add(head as u64))),
        Err(e) if matches!(e.kind, Kind::Truncated { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

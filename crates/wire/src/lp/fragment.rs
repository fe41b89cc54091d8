//! Splitting a packet so that each part fits the link.

use core::ops::Range;

use thiserror::Error;

use super::{LpHeader, types};
use crate::tlv;

/// Most fragments that one packet is split into; the number that NFD accepts.
pub const MAX_FRAGMENTS: usize = 400;

/// Why a packet cannot be sent within the MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The header alone leaves no room for any of the packet.
    #[error("an MTU of {mtu} byte(s) leaves no room beside {header} byte(s) of link header")]
    NoRoom {
        /// Largest LpPacket in bytes.
        mtu: usize,
        /// Bytes that header and framing need.
        header: usize,
    },
    /// Too many fragments would be needed.
    #[error("{0} fragments needed, {MAX_FRAGMENTS} allowed")]
    TooMany(usize),
}

/// Splits packets for one link and numbers the parts (NDNLPv2, "Fragmentation and Reassembly").
#[derive(Debug, Clone)]
pub struct Fragmenter {
    mtu: usize,
    next_sequence: u64,
}

impl Fragmenter {
    /// For a link whose LpPackets must not exceed `mtu` bytes. Sequence numbers start at `first_sequence`, best a
    /// random number, so that a restarted node does not repeat those that its peer still remembers.
    #[must_use]
    pub const fn new(mtu: usize, first_sequence: u64) -> Self {
        Self { mtu, next_sequence: first_sequence }
    }

    /// Largest LpPacket in bytes.
    #[must_use]
    pub const fn mtu(&self) -> usize {
        self.mtu
    }

    /// Changes the largest LpPacket in bytes, from the next packet on.
    pub const fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu;
    }

    /// The LpPackets, or the one bare packet, that carry `packet` with `header`.
    ///
    /// When more than one is needed, the first carries the header, and all carry Sequence, FragIndex and FragCount,
    /// which replace those of `header`.
    ///
    /// # Errors
    /// [`FragmentError`].
    pub fn fragment(&mut self, header: &LpHeader, packet: &[u8]) -> Result<Vec<Vec<u8>>, FragmentError> {
        let whole = header.wrap(packet);
        if whole.len() <= self.mtu {
            return Ok(vec![whole]);
        }
        let cut = self.cut(header, packet.len(), 0)?;
        let part = |index| cut.header(index, header).encode(packet.get(cut.range(index)));
        Ok((0..cut.count()).map(part).collect())
    }

    /// How a packet of `len` bytes is cut if `spare` bytes are kept free in every part, for fields that come later.
    /// Every part has a Sequence, also a single one.
    ///
    /// # Errors
    /// [`FragmentError`].
    pub fn cut(&mut self, header: &LpHeader, len: usize, spare: usize) -> Result<Cut, FragmentError> {
        let fields = if header.sequence.or(header.frag_index).or(header.frag_count).is_none() {
            header.encode(None).len() + spare
        } else {
            let first = LpHeader { sequence: None, frag_index: None, frag_count: None, ..header.clone() };
            first.encode(None).len() + spare
        };
        // Outer head, Sequence, FragIndex, FragCount and the head of Fragment at their longest.
        let head = 2 + tlv::var_number_len(self.mtu as u64);
        let single = head + tlv::element_len(types::SEQUENCE, 8) + head;
        let framing = single + 2 * tlv::element_len(types::FRAG_INDEX, 2);
        let room = |header| match self.mtu.checked_sub(header) {
            Some(room) if room > 0 => Ok(room),
            _ => Err(FragmentError::NoRoom { mtu: self.mtu, header }),
        };
        let sequence = self.next_sequence;
        if room(single + fields)? >= len {
            self.next_sequence = sequence.wrapping_add(1);
            return Ok(Cut { sequence, count: 1, first: len, later: len, len });
        }
        let (first, later) = (room(framing + fields)?, room(framing + spare)?);
        let count = 1 + len.saturating_sub(first).div_ceil(later);
        if count > MAX_FRAGMENTS {
            return Err(FragmentError::TooMany(count));
        }
        self.next_sequence = sequence.wrapping_add(count as u64);
        Ok(Cut { sequence, count, first, later, len })
    }
}

/// How one packet is cut for its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    sequence: u64,
    count: usize,
    /// Bytes in the first part, and in each later one but the last.
    first: usize,
    later: usize,
    len: usize,
}

impl Cut {
    /// Number of parts, from 1.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Which bytes of the packet a part has.
    #[must_use]
    pub fn range(&self, index: usize) -> Range<usize> {
        let end = |parts: usize| (self.first + parts * self.later).min(self.len);
        index.checked_sub(1).map_or(0, end)..end(index)
    }

    /// The header of a part: that of the packet in the first one, and Sequence, FragIndex and FragCount.
    #[must_use]
    pub fn header(&self, index: usize, first: &LpHeader) -> LpHeader {
        let mut header = if index == 0 { first.clone() } else { LpHeader::default() };
        let parts = (self.count > 1).then_some(self.count as u64);
        header.sequence = Some(self.sequence.wrapping_add(index as u64));
        header.frag_index = parts.map(|_| index as u64);
        header.frag_count = parts;
        header
    }
}

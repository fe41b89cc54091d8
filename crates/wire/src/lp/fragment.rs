//! Splitting a packet so that each part fits the link.

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
        let mut first = header.clone();
        first.sequence = None;
        first.frag_index = None;
        first.frag_count = None;
        let fields = first.encode(None).len();
        // Outer head, Sequence, FragIndex, FragCount and the head of Fragment at their longest.
        let head = 2 + tlv::var_number_len(self.mtu as u64);
        let framing = head + tlv::element_len(types::SEQUENCE, 8) + 2 * tlv::element_len(types::FRAG_INDEX, 2) + head;
        let room = |header| match self.mtu.checked_sub(header) {
            Some(room) if room > 0 => Ok(room),
            _ => Err(FragmentError::NoRoom { mtu: self.mtu, header }),
        };
        let (first_room, later_room) = (room(framing + fields)?, room(framing)?);
        let (head, tail) = packet.split_at(first_room.min(packet.len()));
        let count = 1 + tail.len().div_ceil(later_room);
        if count > MAX_FRAGMENTS {
            return Err(FragmentError::TooMany(count));
        }
        let parts = core::iter::once(head).chain(tail.chunks(later_room));
        let mut fragments = Vec::with_capacity(count);
        for (index, part) in parts.enumerate() {
            let mut header = if index == 0 { core::mem::take(&mut first) } else { LpHeader::default() };
            header.sequence = Some(self.next_sequence);
            header.frag_index = Some(index as u64);
            header.frag_count = Some(count as u64);
            self.next_sequence = self.next_sequence.wrapping_add(1);
            fragments.push(header.encode(Some(part)));
        }
        Ok(fragments)
    }
}

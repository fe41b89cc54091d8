//! A downstream of a pending Interest.

use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;

/// The bit of [`InRecord::size_and_flags`] that says the Interest was retransmitted.
const RETRANSMITTED: u16 = 1 << 15;
/// The bit that says that the Interest (the last one) was marked.
const MARKED: u16 = 1 << 14;

/// A downstream that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub(crate) struct InRecord {
    /// When its Interest arrived (the last one).
    pub(crate) arrival: Time,
    /// The nonce of that Interest.
    pub(crate) nonce: u32,
    /// Where from.
    pub(crate) face: FaceId,
    size_and_flags: u16,
}

impl InRecord {
    /// Of nobody.
    pub(super) const NONE: InRecord = InRecord { arrival: Time::ZERO, nonce: 0, face: FaceId::NONE, size_and_flags: 0 };

    /// The Interest's bytes on the wire (up to 16 KiB; a packet has at most 8800).
    pub(crate) fn size(&self) -> u32 {
        u32::from(self.size_and_flags & !(RETRANSMITTED | MARKED))
    }

    /// Whether its Interest was retransmitted.
    pub(crate) fn was_retransmitted(&self) -> bool {
        self.size_and_flags & RETRANSMITTED != 0
    }

    /// Its Interest was retransmitted.
    pub(super) fn set_retransmitted(&mut self) {
        self.size_and_flags |= RETRANSMITTED;
    }

    /// Whether its Interest (the last one) was marked.
    pub(crate) fn marked(&self) -> bool {
        self.size_and_flags & MARKED != 0
    }

    /// The part of a size that a record can hold.
    #[inline(always)]
    pub(super) fn counted(size: u32) -> u32 {
        size.min(u32::from(MARKED - 1))
    }

    #[inline(always)]
    pub(super) fn of(packet: &Packet, face: FaceId, now: Time) -> InRecord {
        let size = InRecord::counted(packet.size) as u16;
        let marked = if packet.mark > 0 { MARKED } else { 0 };
        InRecord { arrival: now, nonce: packet.nonce, face, size_and_flags: size | marked }
    }
}

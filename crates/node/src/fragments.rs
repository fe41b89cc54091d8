//! How many bytes the fragments of a packet take on a link: the rule of `ndnweir-wire`, which a real forwarder cuts by,
//! without the bytes.

use ndnweir_core::units::Bytes;
use ndnweir_wire::lp::{Fragmenter, types};
use ndnweir_wire::{LpHeader, tlv};

/// The most fragments that a packet of the simulator has ([`ndnweir_core::packet::Fragment`] numbers them in 8 bits).
pub const MAX_FRAGMENTS: u32 = 255;

/// How packets are cut for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct Cut {
    /// Bytes of the packet in its first fragment, which has the header of the whole.
    first: u32,
    /// In each later one but the last.
    later: u32,
}

impl Cut {
    /// For a link that carries frames of `mtu` bytes; none if the fragments' headers leave no room for anything.
    pub fn new(mtu: Bytes) -> Option<Cut> {
        let mtu = usize::try_from(mtu.get()).ok()?;
        // Of a packet twice as large as the MTU the first two fragments are full.
        let cut = Fragmenter::new(mtu, 0).cut(&LpHeader::default(), 2 * mtu, 0).ok()?;
        let [first, later] = [0, 1].map(|index| u32::try_from(cut.range(index).len()));
        Some(Cut { first: first.ok()?, later: later.ok()? })
    }

    /// How many fragments a packet of `size` bytes has.
    pub const fn count(self, size: u32) -> u32 {
        1 + size.saturating_sub(self.first).div_ceil(self.later)
    }

    /// Bytes of all LpPackets of a packet of `size` bytes; `u32::MAX` at most.
    pub fn total(self, size: u32) -> u32 {
        let parts = self.count(size);
        let between = frame(self.later).saturating_mul(parts.saturating_sub(2));
        let last = if parts > 1 { self.frame(size, parts - 1) } else { 0 };
        self.frame(size, 0).saturating_add(between).saturating_add(last)
    }

    /// Bytes of the LpPacket that carries the part at `index` of a packet of `size` bytes.
    pub fn frame(self, size: u32, index: u32) -> u32 {
        let end = |parts: u32| size.min(self.first.saturating_add(parts.saturating_mul(self.later)));
        frame(end(index) - index.checked_sub(1).map_or(0, end))
    }
}

/// Bytes of an LpPacket that carries `body` bytes of a packet.
fn frame(body: u32) -> u32 {
    // FragIndex and FragCount are below 256.
    let header = tlv::element_len(types::SEQUENCE, 8)
        + tlv::element_len(types::FRAG_INDEX, 1)
        + tlv::element_len(types::FRAG_COUNT, 1);
    tlv::element_len(types::LP_PACKET, header + tlv::element_len(types::FRAGMENT, body as usize)) as u32
}

/// Bytes of a packet that an LpPacket of `frame` bytes carries.
pub fn body(frame: u32) -> u32 {
    // An LpPacket's head and fields take 20 to 28 bytes.
    (frame.saturating_sub(28)..frame).find(|&body| self::frame(body) == frame).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_as_large_as_those_that_a_forwarder_sends() {
        for mtu in [127, 300, 576, 1280, 1400, 1472, 1498] {
            for size in [mtu + 1, mtu + 2, 1064, 2000, 4040, 8040, 8800] {
                let packet = vec![6; size];
                let sent = Fragmenter::new(mtu, 7).fragment(&LpHeader::default(), &packet).unwrap();
                if sent.len() < 2 {
                    continue;
                }
                let cut = Cut::new(Bytes::new(mtu as u64)).unwrap();
                let size = size as u32;
                let ours: Vec<usize> = (0..cut.count(size)).map(|index| cut.frame(size, index) as usize).collect();
                assert_eq!(ours, sent.iter().map(Vec::len).collect::<Vec<_>>(), "{size} B over {mtu} B");
                assert_eq!(cut.total(size) as usize, ours.iter().sum::<usize>());
                assert_eq!(ours.iter().map(|&frame| body(frame as u32)).sum::<u32>(), size);
            }
        }
    }

    // By hand, for 1498 B: type and length of the LpPacket 4, Sequence 10, FragIndex 3, FragCount 3, head of Fragment
    // 4.
    #[test]
    fn a_large_fragment_has_24_bytes_of_headers() {
        assert_eq!((frame(1000), body(1024)), (1024, 1000));
    }

    #[test]
    fn every_body_is_found_from_its_frame() {
        assert!((1..3000).all(|size| body(frame(size)) == size));
    }

    #[test]
    fn headers_may_leave_no_room() {
        assert_eq!((Cut::new(Bytes::new(20)), Cut::new(Bytes::ZERO)), (None, None));
        assert!(Cut::new(Bytes::new(64)).is_some());
    }
}

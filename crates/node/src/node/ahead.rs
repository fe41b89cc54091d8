//! Memory asked for ahead of a packet that is about to arrive.
//!
//! In a large network all that a packet needs of a node is in far memory, and where one thing is stands in another. A
//! driver that knows some events before which packets arrive calls these functions in turn, each one event later than the
//! one before: what each reads was asked for by the one before it. They change nothing, and what they say may be wrong by
//! the time the packet arrives.

use super::Node;
use super::extras::Extras;
use crate::pit::Pit;
use ndnweir_core::ids::{FaceId, FlowId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch_first;
use std::mem::offset_of;

/// No entry.
const NO_SLOT: u32 = u32::MAX;

/// What is known of a packet that is about to arrive. All its fields are plain numbers: a value with bytes that may be
/// unset is copied by pieces that overlap, and a processor waits to read such a copy until all before it is written.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    name: NameId,
    /// Names the bucket of the PIT's index.
    bucket: u32,
    /// Its entry, or [`NO_SLOT`].
    slot: u32,
    /// Where an Interest goes; [`FaceId::NONE`] if that is not known.
    face: FaceId,
    kind: Kind,
    /// See [`Packet::tag`].
    tag: u32,
}

impl Expected {
    /// Of nothing.
    pub const NONE: Expected = Expected {
        name: NameId { flow: FlowId(0), segment: 0 },
        bucket: 0,
        slot: NO_SLOT,
        face: FaceId::NONE,
        kind: Kind::Interest,
        tag: 0,
    };

    /// Of a Data, what its driver knows of its path so far.
    #[inline(always)]
    pub fn path(&self) -> Option<u32> {
        (self.kind == Kind::Data).then_some(self.tag)
    }

    /// The segment.
    pub fn segment(&self) -> u32 {
        self.name.segment
    }
}

impl Node {
    /// First: asks for what every packet needs of the node.
    #[inline(always)]
    pub fn expect(&self) {
        prefetch_first(self, offset_of!(Node, pit) + Pit::USUAL);
    }

    /// Second: asks for what says where the entry of a packet is that will arrive at an instant, and where it may go.
    #[inline(always)]
    pub fn expect_packet(&self, packet: &Packet, at: Time) -> Expected {
        let Packet { kind, name, .. } = *packet;
        if kind == Kind::Interest {
            self.fib.expect(name.flow);
            if self.extras.any(Extras::DEAD) {
                self.dead.expect(packet.name, packet.nonce);
            }
        }
        Expected { kind, name, bucket: self.pit.expect(packet, at), tag: packet.tag, ..Expected::NONE }
    }

    /// Asks for what says where the entry of an Interest of this name is, and whether its nonce is dead.
    #[inline(always)]
    pub fn expect_name(&self, name: NameId, nonce: u32) {
        self.pit.expect_name(name);
        if self.extras.any(Extras::DEAD) {
            self.dead.expect(name, nonce);
        }
    }

    /// Third: asks for its entry.
    #[inline(always)]
    pub fn expect_entry(&self, expected: &mut Expected, at: Time) {
        expected.slot = self.pit.expect_entry(expected.bucket).unwrap_or(NO_SLOT);
        if expected.kind == Kind::Interest {
            self.pit.expect_neighbour(at);
            let face = self.fib.prefix(expected.name.flow).and_then(|prefix| self.fib.cheapest(prefix));
            expected.face = face.unwrap_or(FaceId::NONE);
        }
    }

    /// Fourth: asks for the face by which it probably leaves, and says which that is; [`FaceId::NONE`] if that is not
    /// known.
    #[inline(always)]
    pub fn expect_face(&self, expected: &Expected) -> FaceId {
        let answers = self.pit.expect_answer(expected.slot).unwrap_or(FaceId::NONE);
        let face = if expected.kind == Kind::Interest { expected.face } else { answers };
        match self.faces.get(face.index()) {
            Some(out) => out.egress.expect(),
            None => return FaceId::NONE,
        }
        face
    }

    /// Fifth: asks for what waits at the face, and for downstreams that stand apart.
    #[inline(always)]
    pub fn expect_queue(&self, expected: &Expected, face: FaceId) {
        if let Some(face) = self.faces.get(face.index()) {
            face.egress.expect_queue();
        }
        self.pit.expect_records(expected.slot);
    }
}

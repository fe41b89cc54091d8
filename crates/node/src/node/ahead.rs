//! Memory asked for ahead of a packet that is about to arrive.
//!
//! In a large network all that a packet needs of a node is in far memory, and where one thing is stands in another. A
//! driver that knows some events before which packets arrive calls these functions in turn, each one event later than the
//! one before: what each reads was asked for by the one before it. They change nothing, and what they say may be wrong by
//! the time the packet arrives.

use super::Node;
use super::extras::Extras;
use crate::pit::Pit;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::Time;
use ndnweir_prefetch::prefetch_first;
use std::mem::offset_of;

/// What is known of a packet that is about to arrive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    kind: Kind,
    name: NameId,
    /// Names the bucket of the PIT's index.
    tag: u32,
    slot: Option<u32>,
    face: Option<FaceId>,
}

impl Expected {
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
        Expected { kind, name, tag: self.pit.expect(packet, at), slot: None, face: None }
    }

    /// Asks for what says where the entry of an Interest of this name is.
    #[inline(always)]
    pub fn expect_name(&self, name: NameId) {
        self.pit.expect_name(name);
    }

    /// Third: asks for its entry.
    #[inline(always)]
    pub fn expect_entry(&self, expected: &mut Expected, at: Time) {
        expected.slot = self.pit.expect_entry(expected.tag);
        if expected.kind == Kind::Interest {
            self.pit.expect_neighbour(at);
            expected.face = self.fib.prefix(expected.name.flow).and_then(|prefix| self.fib.cheapest(prefix));
        }
    }

    /// Fourth: asks for the face by which it probably leaves, and says which that is.
    #[inline(always)]
    pub fn expect_face(&self, expected: &Expected) -> Option<FaceId> {
        let face = match expected.kind {
            Kind::Interest => {
                expected.slot.map(|slot| self.pit.expect_answer(slot));
                expected.face
            }
            Kind::Data | Kind::Nack => expected.slot.and_then(|slot| self.pit.expect_answer(slot)),
        }?;
        self.faces.get(face.index())?.egress.expect();
        Some(face)
    }

    /// Fifth: asks for what waits at the face, and for downstreams that stand apart.
    #[inline(always)]
    pub fn expect_queue(&self, expected: &Expected, face: FaceId) {
        if let Some(face) = self.faces.get(face.index()) {
            face.egress.expect_queue();
        }
        if let Some(slot) = expected.slot {
            self.pit.expect_records(slot);
        }
    }
}

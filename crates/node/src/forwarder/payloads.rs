//! The bytes of packets, which the node refers to by tag.

use crate::uses::NO_PAYLOAD;
use ndnweir_core::ids::{FaceId, FlowId};
use ndnweir_wire::InterestView;

/// The bytes of one network-layer packet.
#[derive(Debug, Default)]
pub(super) struct Payload {
    /// The whole packet.
    pub(super) wire: Vec<u8>,
    /// The flow of its name, which lives as long as this.
    flow: FlowId,
    /// The face it came from.
    pub(super) incoming: FaceId,
    /// Where the nonce and the hop limit of an Interest are; 0 where there is none.
    pub(super) nonce_at: u16,
    pub(super) hop_limit_at: u16,
    uses: u32,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    slots: Vec<Payload>,
    free: Vec<u32>,
    bytes: usize,
}

/// The overhead of a payload in addition to its bytes.
pub(super) const OVERHEAD: usize = size_of::<Payload>() + 16;

impl Payloads {
    /// Bytes in use, overhead included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Packets.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Adds a packet, with one use of it.
    pub(super) fn insert(&mut self, wire: &[u8], flow: FlowId, incoming: FaceId) -> u32 {
        self.bytes += wire.len() + OVERHEAD;
        let payload = Payload { wire: wire.to_vec(), flow, incoming, uses: 1, ..Payload::default() };
        match self.free.pop() {
            Some(tag) => {
                self.slots[tag as usize] = payload;
                tag
            }
            None => {
                self.slots.push(payload);
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// As [`Payloads::insert`], for an Interest, whose nonce and hop limit change here.
    pub(super) fn insert_interest(&mut self, interest: &InterestView<'_>, flow: FlowId, incoming: FaceId) -> u32 {
        let tag = self.insert(interest.wire(), flow, incoming);
        let offset = |at: Option<usize>| at.and_then(|at| u16::try_from(at).ok()).unwrap_or(0);
        let payload = &mut self.slots[tag as usize];
        payload.nonce_at = offset(interest.nonce_offset());
        payload.hop_limit_at = offset(interest.hop_limit_offset());
        tag
    }

    /// The packet of a tag in use.
    pub(super) fn get(&self, tag: u32) -> Option<&Payload> {
        self.slots.get(tag as usize).filter(|payload| payload.uses > 0)
    }

    /// As [`Payloads::get`], to change it in place.
    pub(super) fn get_mut(&mut self, tag: u32) -> Option<&mut Payload> {
        self.slots.get_mut(tag as usize).filter(|payload| payload.uses > 0)
    }

    /// One more use.
    pub(super) fn retain(&mut self, tag: u32) {
        if tag == NO_PAYLOAD {
            return;
        }
        if let Some(payload) = self.get_mut(tag) {
            payload.uses += 1;
        } else {
            debug_assert!(false, "a use is added to a payload that does not exist");
        }
    }

    /// One use fewer. The flow it had, if this was the last.
    pub(super) fn release(&mut self, tag: u32) -> Option<FlowId> {
        if tag == NO_PAYLOAD {
            return None;
        }
        let Some(payload) = self.get_mut(tag) else {
            debug_assert!(false, "a payload is released that does not exist");
            return None;
        };
        payload.uses -= 1;
        if payload.uses > 0 {
            return None;
        }
        let payload = std::mem::take(payload);
        self.bytes -= payload.wire.len() + OVERHEAD;
        self.free.push(tag);
        Some(payload.flow)
    }
}

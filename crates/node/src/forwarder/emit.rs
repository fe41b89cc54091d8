//! From packets to frames.

use super::Forwarder;
use super::reliability::FrameContent;
use crate::config::Transmit;
use crate::header;
use crate::uses::NO_PAYLOAD;
use ndnweir_core::ctx::{Ctx, Trace};
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{EnqueueEvent, Limit, Marker, QueueView, Verdict};
use ndnweir_core::units::{Bytes, Time};
use ndnweir_wire::{InterestView, LpHeader};

/// Frames of one packet, in the order they leave.
#[derive(Debug, Default)]
pub struct Frames {
    /// The frames, one after the other.
    pub bytes: Vec<u8>,
    /// Where each ends.
    pub ends: Vec<usize>,
}

impl Frames {
    /// Clears it, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a frame.
    pub fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    /// Appends an LpPacket.
    pub(super) fn push_packet(&mut self, header: &LpHeader, fragment: Option<&[u8]>) {
        header.encode_into(fragment, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The frames.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

impl Forwarder {
    /// Appends the frames of the next packet that leaves to `frames` and returns the face; call until none after every
    /// call that takes the time.
    pub fn poll_transmit(&mut self, now: Time, frames: &mut Frames) -> Option<FaceId> {
        if let Some(face) = self.poll_links(now, frames) {
            return Some(face);
        }
        loop {
            let Transmit { face, mut packet, .. } = self.node.poll_transmit()?;
            if packet.tag == NO_PAYLOAD && !self.rebuild(&mut packet) {
                self.counters.unsendable += 1;
                continue;
            }
            let sent = self.emit(now, face, packet, frames);
            self.release(packet.tag);
            if sent {
                return Some(face);
            }
        }
    }

    /// Encodes an Interest that the node has made itself; false if that is impossible. If its name went out of use
    /// while it waited, and its number was given to another name, it requests that one, and its Data is unsolicited
    /// downstream.
    fn rebuild(&mut self, packet: &mut Packet) -> bool {
        let Some(interest) = self.names.interest(packet) else { return false };
        let Ok(view) = InterestView::decode(&interest) else { return false };
        self.names.retain(packet.name.flow);
        packet.tag = self.payloads.insert_interest(&view, packet.name.flow, FaceId::NONE);
        true
    }

    fn emit(&mut self, now: Time, id: FaceId, packet: Packet, frames: &mut Frames) -> bool {
        let Some(payload) = self.payloads.get_mut(packet.tag) else {
            debug_assert!(false, "a packet leaves whose bytes are gone");
            return false;
        };
        let incoming = self.faces.get(payload.incoming.index()).map(|face| face.number);
        let Some(face) = self.faces.get_mut(id.index()).filter(|face| face.up) else { return false };
        if packet.kind != Kind::Data {
            patch(&mut payload.wire, payload.nonce_at, &packet.nonce.to_be_bytes());
        }
        if packet.kind == Kind::Interest {
            patch(&mut payload.wire, payload.hop_limit_at, &[packet.hop_limit]);
        }
        let mut header = header::write(&packet, &self.layout);
        if let Some(marker) = &mut face.marker {
            let queue = QueueView {
                packets: 0,
                bytes: face.kernel_queue,
                limit: Limit::Bytes(Bytes::new(u64::MAX)),
                rate: None,
            };
            let mut trace = Trace::default();
            let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut trace };
            if let Verdict::Mark(level) = marker.on_enqueue(&EnqueueEvent { packet: &packet, queue }, &mut ctx) {
                header.congestion_mark = header.congestion_mark.max(Some(u64::from(level)));
                face.counters.kernel_marks += 1;
            }
        }
        if packet.kind != Kind::Interest {
            let generation = self.names.generation(packet.name.flow);
            header.pit_token = self.tokens.take(packet.name, generation, id);
        }
        if face.tell_incoming {
            header.incoming_face_id = incoming;
        }
        let (before, ends) = (frames.bytes.len(), frames.ends.len());
        let sent = match (&mut face.fragmenter, &mut face.link) {
            (Some(fragmenter), Some(link)) => {
                let about = match packet.kind {
                    Kind::Interest => FrameContent::Interest(packet.name),
                    Kind::Data => FrameContent::Data,
                    Kind::Nack => FrameContent::Nack,
                };
                let held = link.bytes();
                let spare = self.unacknowledged.spare(face.trust, held);
                let sent = link.send(now, &header, &payload.wire, about, spare, fragmenter, frames);
                self.unacknowledged.change(face.trust, held, link.bytes());
                self.link_timers.set(id, link.poll_timeout(fragmenter.mtu()));
                sent
            }
            (Some(fragmenter), None) => {
                fragmenter.fragment(&header, &payload.wire).map(|parts| parts.iter().for_each(|part| frames.push(part)))
            }
            (None, _) if header.is_empty() => {
                frames.push(&payload.wire);
                Ok(())
            }
            (None, _) => {
                frames.push_packet(&header, Some(&payload.wire));
                Ok(())
            }
        };
        if sent.is_err() {
            self.counters.unsendable += 1;
            return false;
        }
        let counters = &mut face.counters;
        let (bytes, parts) = (frames.bytes.len() - before, frames.ends.len() - ends);
        counters.bytes_out += bytes as u64;
        counters.marked_out += u64::from(header.congestion_mark.is_some());
        match packet.kind {
            Kind::Interest => {
                counters.interests_out += 1;
                face.extend_quiet_from(now, packet.lifetime_ms);
            }
            Kind::Data => counters.data_out += 1,
            Kind::Nack => counters.nacks_out += 1,
        }
        if face.has_rate {
            self.node.took(now, id, packet.size, parts as u32, bytes as u32);
        }
        true
    }
}

fn patch(wire: &mut [u8], at: u16, bytes: &[u8]) {
    let at = usize::from(at);
    if at > 0
        && let Some(place) = wire.get_mut(at..at + bytes.len())
    {
        place.copy_from_slice(bytes);
    }
}

//! Packets of a run as a pcapng file, for Wireshark and NDN tools (the container is [`crate::pcapng`]'s).
//!
//! UDP datagrams between the nodes' addresses with an NDNLPv2 packet or a bare NDN packet in each. Interests
//! carry their name, nonce, lifetime and hop limit; Data a content of zero bytes of the payload's length and a valid
//! DigestSha256 signature; NACKs the Interest they reject; the header
//! is the forwarder's ([`ndnweir_node::header`]): CongestionMark, the reason of a NACK and the run's own fields.
//!
//! Sizes on the simulated wire are the scenario's, not the encoding's: the record's original length is the simulated
//! size plus the headers of Ethernet, IPv6 and UDP, the bytes are those of the encoding.

use crate::engine::PacketTap;
use crate::in_order::InOrder;
use crate::observer::{DirectedLinkId, NodeId};
use crate::pcapng::{self, Capture, HEADERS};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Fragment, Kind, Packet, flags};
use ndnweir_core::units::Time;
use ndnweir_node::header;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, LpHeader, Name};
use std::io::{self, Write};
use std::ops::Range;
use std::time::Duration;

/// The names behind the flows of a run.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    flows: Vec<Name>,
}

impl NameTable {
    /// A table of each flow's name without the segment, by [`ndnweir_core::ids::FlowId`].
    pub fn new(flows: Vec<Name>) -> NameTable {
        NameTable { flows }
    }

    /// The whole name; flows that are not in the table are called `/flow/N`.
    pub fn name(&self, name: NameId) -> Name {
        let flow = self.flows.get(name.flow.0 as usize).cloned();
        let flow = flow.unwrap_or_else(|| {
            Name::default().with(Component::generic("flow")).with(Component::generic(name.flow.0.to_string()))
        });
        match name.segment {
            NameId::WHOLE => flow,
            segment => flow.with(Component::segment(segment.into())),
        }
    }
}

/// Turns simulated packets into bytes.
#[derive(Clone, Debug)]
pub struct Encoder {
    names: NameTable,
    layout: FieldLayout,
    zeros: Vec<u8>,
}

impl Encoder {
    /// For a run with these names and header fields.
    pub fn new(names: NameTable, layout: &FieldLayout) -> Encoder {
        Encoder { names, layout: layout.clone(), zeros: Vec::new() }
    }

    /// The packet with its NDNLPv2 header, or without one if that would be empty; of a fragment, its part.
    pub fn encode(&mut self, packet: &Packet) -> Vec<u8> {
        let header = header::write(packet, &self.layout);
        let bare = self.bare(packet);
        if packet.fragment.is_none() {
            return header.wrap(&bare);
        }
        let Fragment { index, count, sequence } = packet.fragment;
        // The encoding is not as long as the simulated packet: all parts are equal.
        let part = bare.len().div_ceil(count.into());
        let (start, end) = (usize::from(index) * part, (usize::from(index) + 1) * part);
        let header = LpHeader {
            sequence: Some(u64::from(sequence) << 8 | u64::from(index)),
            frag_index: Some(index.into()),
            frag_count: Some(count.into()),
            ..if index == 0 {
                header
            } else {
                LpHeader { congestion_mark: header.congestion_mark, ..LpHeader::default() }
            }
        };
        header.encode(Some(&bare[start.min(bare.len())..end.min(bare.len())]))
    }

    fn bare(&mut self, packet: &Packet) -> Vec<u8> {
        let name = self.names.name(packet.name);
        match packet.kind {
            Kind::Interest | Kind::Nack => {
                let builder = InterestBuilder::new(name.as_view())
                    .can_be_prefix(packet.has(flags::CAN_BE_PREFIX))
                    .must_be_fresh(packet.has(flags::MUST_BE_FRESH))
                    .nonce(packet.nonce.to_be_bytes())
                    .lifetime(Duration::from_millis(packet.lifetime_ms.into()))
                    .hop_limit(packet.hop_limit);
                builder.encode().unwrap_or_default()
            }
            Kind::Data => {
                self.zeros.resize(self.zeros.len().max(packet.payload as usize), 0);
                let builder = DataBuilder::new(name.as_view()).content(&self.zeros[..packet.payload as usize]);
                let last = Component::segment(packet.name.segment.into());
                let builder = if packet.lifetime_ms > 0 {
                    builder.freshness_period(Duration::from_millis(packet.lifetime_ms.into()))
                } else {
                    builder
                };
                let builder = if packet.has(flags::FINAL) { builder.final_block_id(last.as_view()) } else { builder };
                builder.sign(&DigestSha256).unwrap_or_default()
            }
        }
    }
}

struct Record {
    link: DirectedLinkId,
    ends: [NodeId; 2],
    size: u32,
    bytes: Vec<u8>,
}

/// Writes a pcapng file, in order of time.
pub struct PcapWriter<W: Write> {
    out: W,
    encoder: Encoder,
    waiting: InOrder<Record>,
    error: Option<io::Error>,
}

impl<W: Write> PcapWriter<W> {
    /// Writes what comes before the packets.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, encoder: Encoder, capture: &Capture) -> io::Result<PcapWriter<W>> {
        pcapng::head(&mut out, capture)?;
        Ok(PcapWriter { out, encoder, waiting: InOrder::default(), error: None })
    }

    fn write_before(&mut self, now: Time) {
        while self.error.is_none()
            && let Some((at, record)) = self.waiting.pop_before(now)
        {
            self.error = self.write(at, &record).err();
        }
    }

    fn write(&mut self, at: Time, record: &Record) -> io::Result<()> {
        let frame = pcapng::frame(record.ends, &record.bytes);
        // Readers reject an original length below the captured one.
        let original = (frame.len() as u32).max(record.size.saturating_add(HEADERS as u32));
        pcapng::packet(&mut self.out, at, record.link, &frame, original)
    }

    /// Writes the rest and returns the output.
    ///
    /// # Errors
    /// The first failure of writing, also of earlier packets.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_before(Time::NEVER);
        match self.error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }
}

impl<W: Write> PacketTap for PcapWriter<W> {
    fn sent(&mut self, now: Time, waiting: Range<Time>, link: DirectedLinkId, ends: [NodeId; 2], packet: &Packet) {
        self.write_before(now);
        if self.error.is_some() {
            return;
        }
        let bytes = self.encoder.encode(packet);
        self.waiting.push(waiting.end, Record { link, ends, size: packet.size, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;
    use ndnweir_wire::lp::Reassembler;
    use ndnweir_wire::{LpPacketView, PacketView};

    fn encoder() -> Encoder {
        let name = Name::default().with(Component::generic("video"));
        Encoder::new(NameTable::new(vec![name]), &FieldLayout::new())
    }

    #[test]
    fn packets_decode_to_what_was_simulated() {
        let name = NameId { flow: FlowId(0), segment: 7 };
        let data = Packet { name, kind: Kind::Data, payload: 100, mark: 1, size: 160, ..Packet::default() };
        let bytes = encoder().encode(&data);
        let lp = LpPacketView::decode(&bytes).unwrap();
        assert_eq!(lp.congestion_mark, Some(1));
        let Some(fragment) = lp.fragment else { panic!("an LpPacket without a packet") };
        let PacketView::Data(view) = PacketView::decode(fragment).unwrap() else { panic!("no Data") };
        assert_eq!(view.name().to_string(), "/video/seg=7");
        assert_eq!(view.content(), [0; 100]);
        assert!(view.verify(&DigestSha256).is_ok());
    }

    #[test]
    fn fragments_are_put_together_by_who_reads_them() {
        let data = Packet { kind: Kind::Data, payload: 3000, size: 1024, ..Packet::default() };
        let (mut encoder, mut reassembler) = (encoder(), Reassembler::default());
        let mut whole = None;
        for (index, mark) in [(0, 0), (1, 1), (2, 0)] {
            let fragment = Fragment { index, count: 3, sequence: 9 };
            let bytes = encoder.encode(&Packet { fragment, mark, ..data });
            let view = LpPacketView::decode(&bytes).unwrap();
            let read = reassembler.push(Duration::ZERO, 0, &view).unwrap();
            whole = read.map(|read| (read.packet.into_owned(), read.header.congestion_mark));
        }
        let (bytes, mark) = whole.unwrap();
        let PacketView::Data(view) = PacketView::decode(&bytes).unwrap() else { panic!("no Data") };
        assert_eq!((view.content().len(), mark), (3000, Some(1)));
        assert!(view.verify(&DigestSha256).is_ok());
    }

    #[test]
    fn headers_are_those_of_the_forwarder_those_of_nacks_too() {
        let mut layout = FieldLayout::new();
        let slot = layout.slot(ndnweir_core::fields::Field::ToleranceRate).unwrap();
        let reason = ndnweir_core::packet::NackReason::Congestion;
        let mut nack = Packet { kind: Kind::Nack, reason, mark: 2, ..Packet::default() };
        nack.fields.set(slot, 99);
        let bytes = Encoder::new(NameTable::default(), &layout).encode(&nack);
        let lp = LpPacketView::decode(&bytes).unwrap();
        let read = header::LinkHeaderFields::of_view(&lp, &layout, header::FieldTrust::Neighbour);
        assert_eq!((read.nack, read.mark, read.fields), (Some(reason), 2, nack.fields));
        assert_eq!(lp.to_header(), header::write(&nack, &layout));
    }

    #[test]
    fn records_are_written_in_order_of_their_start() {
        let capture = Capture::default();
        let mut writer = PcapWriter::new(Vec::new(), encoder(), &capture).unwrap();
        let mut head = Vec::new();
        pcapng::head(&mut head, &capture).unwrap();
        let (at, ends) = (Time::from_nanos, [NodeId(0), NodeId(1)]);
        let packet = Packet { size: 5000, ..Packet::default() };
        writer.sent(at(0), at(0)..at(9_000_000_123), DirectedLinkId(2), ends, &packet);
        writer.sent(at(5), at(5)..at(5), DirectedLinkId(3), ends, &packet);
        let file = writer.finish().unwrap();
        let packets = file.strip_prefix(&head[..]).unwrap();
        let word = |i: usize| u32::from_le_bytes(packets[i..i + 4].try_into().unwrap());
        let second = word(4) as usize;
        // Block type and length, then interface, time (high and low half), captured and original length.
        assert_eq!([word(8), word(12), word(16), word(24)], [3, 0, 5, 5000 + HEADERS as u32]);
        let (late, high) = (9_000_000_123u64, second + 12);
        assert_eq!([word(second + 8), word(high), word(high + 4)], [2, (late >> 32) as u32, late as u32]);
        assert_eq!(packets.len(), second + word(second + 4) as usize);
    }
}

//! Packets of a run as a classic pcap file, for Wireshark and NDN tools.
//!
//! Ethernet frames (LINKTYPE_ETHERNET) of type 0x8624 with an NDNLPv2 packet or a bare NDN packet in each. Interests
//! carry their name, nonce, lifetime and hop limit; Data a content of zero bytes of the payload's length and a valid
//! DigestSha256 signature; NACKs the Interest they refuse; the header has CongestionMark and the run's own fields. The
//! MAC addresses are `02:00` followed by the link's number and its end.
//!
//! Sizes on the simulated wire are the scenario's, not the encoding's: the record's original length is the simulated
//! size plus the Ethernet header, the bytes are those of the encoding.

use crate::engine::PacketTap;
use crate::observer::LinkId;
use ndnweir_core::fields::{Field, FieldLayout, Slot};
use ndnweir_core::ids::NameId;
use ndnweir_core::packet::{Kind, Packet, flags};
use ndnweir_core::units::Time;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, LpHeader, NackReason, Name};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::time::Duration;

/// Ethernet type of NDN.
pub const ETHERTYPE: u16 = 0x8624;
const ETHERNET_HEADER: usize = 14;
const LINKTYPE_ETHERNET: u32 = 1;
/// Classic pcap with nanosecond timestamps.
const MAGIC: u32 = 0xa1b2_3c4d;
const SNAP_LENGTH: u32 = 1 << 18;

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

    /// The whole name; flows that the table does not have are called `/flow/N`.
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
    fields: Vec<(Field, Slot)>,
    zeros: Vec<u8>,
}

impl Encoder {
    /// For a run with these names and header fields.
    pub fn new(names: NameTable, layout: &FieldLayout) -> Encoder {
        Encoder { names, fields: layout.iter().collect(), zeros: Vec::new() }
    }

    /// The packet with its NDNLPv2 header, or without one if that would be empty.
    pub fn encode(&mut self, packet: &Packet) -> Vec<u8> {
        let mut header = LpHeader::default();
        if packet.mark > 0 {
            header.congestion_mark = Some(packet.mark.into());
        }
        if packet.kind == Kind::Nack {
            header.nack = Some(match packet.reason {
                ndnweir_core::packet::NackReason::Congestion => NackReason::Congestion,
                ndnweir_core::packet::NackReason::Duplicate => NackReason::Duplicate,
                ndnweir_core::packet::NackReason::NoRoute => NackReason::NoRoute,
            });
        }
        for &(field, slot) in &self.fields {
            let value = packet.fields.get(slot);
            if value > 0 {
                // The field table has only types that the header takes.
                let _ = header.set_extra_number(field.info().tlv_type, value.into());
            }
        }
        let name = self.names.name(packet.name);
        let bare = match packet.kind {
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
        };
        header.wrap(&bare)
    }
}

/// A packet that waits until no earlier one can come.
struct Record {
    at: Time,
    number: u64,
    wire: u32,
    size: u32,
    bytes: Vec<u8>,
}

impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl Eq for Record {}
impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Record) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Record {
    fn cmp(&self, other: &Record) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Writes a pcap file, in order of time.
pub struct PcapWriter<W: Write> {
    out: W,
    encoder: Encoder,
    waiting: BinaryHeap<Reverse<Record>>,
    number: u64,
    error: Option<io::Error>,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, encoder: Encoder) -> io::Result<PcapWriter<W>> {
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?;
        out.write_all(&[0; 8])?;
        out.write_all(&SNAP_LENGTH.to_le_bytes())?;
        out.write_all(&LINKTYPE_ETHERNET.to_le_bytes())?;
        Ok(PcapWriter { out, encoder, waiting: BinaryHeap::new(), number: 0, error: None })
    }

    fn write_before(&mut self, now: Time) {
        while self.error.is_none()
            && let Some(Reverse(first)) = self.waiting.peek()
            && first.at < now
        {
            if let Some(Reverse(record)) = self.waiting.pop()
                && let Err(error) = self.write(&record)
            {
                self.error = Some(error);
            }
        }
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let nanos = record.at.nanos();
        let captured = (record.bytes.len() + ETHERNET_HEADER) as u32;
        // Readers refuse an original length below the captured one.
        let original = captured.max(record.size.saturating_add(ETHERNET_HEADER as u32));
        for word in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, captured, original] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        let (link, way) = ((record.wire / 2).to_be_bytes(), (record.wire % 2) as u8);
        let address = |end: u8| [2, end, link[0], link[1], link[2], link[3]];
        self.out.write_all(&address(1 - way))?;
        self.out.write_all(&address(way))?;
        self.out.write_all(&ETHERTYPE.to_be_bytes())?;
        self.out.write_all(&record.bytes)
    }

    /// Writes what is left and gives the output back.
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
    fn sent(&mut self, now: Time, start: Time, link: LinkId, packet: &Packet) {
        self.write_before(now);
        if self.error.is_some() {
            return;
        }
        self.number += 1;
        let bytes = self.encoder.encode(packet);
        let record = Record { at: start, number: self.number, wire: link.0, size: packet.size, bytes };
        self.waiting.push(Reverse(record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ids::FlowId;
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
    fn records_are_written_in_order_of_their_start() {
        let mut writer = PcapWriter::new(Vec::new(), encoder()).unwrap();
        let at = Time::from_nanos;
        let packet = Packet { size: 5000, ..Packet::default() };
        writer.sent(at(0), at(9_000_000_123), LinkId(2), &packet);
        writer.sent(at(5), at(5), LinkId(3), &packet);
        let file = writer.finish().unwrap();
        let word = |i: usize| u32::from_le_bytes([file[i], file[i + 1], file[i + 2], file[i + 3]]);
        assert_eq!((word(0), word(20)), (MAGIC, 1));
        let second = 24 + 16 + word(32) as usize;
        assert_eq!([word(24), word(28), word(second), word(second + 4)], [0, 5, 9, 123]);
        assert_eq!(word(36), 5014);
        assert_eq!(file[24 + 16 + 12..][..2], [0x86, 0x24]);
    }
}

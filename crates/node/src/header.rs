//! Link headers: conversion between NDNLPv2 header fields and those of a [`Packet`].
//!
//! A CongestionMark above 255 counts as 255. Unknown Nack reasons below a known one count as that one, and
//! "unspecified", the most severe, as no route. Header fields that the running scheme does not use are skipped, and so
//! are those from a neighbour that is not trusted.

use ndnweir_core::fields::{FieldLayout, Fields};
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_wire::lp::{CACHE_POLICY_NO_CACHE, PitToken};
use ndnweir_wire::tlv::read_nni;
use ndnweir_wire::{LpHeader, LpPacketView, NackReason as WireReason};

/// Marks a Data that was link-retransmitted, so that it is late; without a value. Ours.
const LINK_RETRANSMITTED: u32 = 944;

/// Whose congestion fields count. Marks and NACKs always count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FieldTrust {
    /// A neighbour that was configured: its header fields are read.
    Neighbour,
    /// Anyone: our header fields are ignored.
    #[default]
    Untrusted,
}

/// The link header of a network-layer packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkHeaderFields {
    /// CongestionMark; 0 is none.
    pub mark: u8,
    /// Why the Interest comes back.
    pub nack: Option<NackReason>,
    /// Returned with the answer.
    pub token: Option<PitToken>,
    /// The sender requests that the Data not be cached.
    pub no_cache: bool,
    /// It is late, as it was link-retransmitted.
    pub link_retransmitted: bool,
    /// The running scheme's header fields.
    pub fields: Fields,
}

fn reason(reason: WireReason) -> NackReason {
    match reason.code() {
        1..=50 => NackReason::Congestion,
        51..=100 => NackReason::Duplicate,
        _ => NackReason::NoRoute,
    }
}

fn fields<'a>(extras: impl Iterator<Item = (u32, &'a [u8])>, layout: &FieldLayout, trust: FieldTrust) -> Fields {
    let mut fields = Fields::default();
    if trust == FieldTrust::Untrusted {
        return fields;
    }
    for (typ, value) in extras {
        let known = layout.iter().find(|(field, _)| field.info().tlv_type == typ);
        if let (Some((_, slot)), Some(value)) = (known, read_nni(value)) {
            fields.set(slot, u32::try_from(value).unwrap_or(u32::MAX));
        }
    }
    fields
}

impl LinkHeaderFields {
    /// Reads the header of an unfragmented packet.
    pub fn of_view(view: &LpPacketView<'_>, layout: &FieldLayout, trust: FieldTrust) -> LinkHeaderFields {
        LinkHeaderFields {
            mark: u8::try_from(view.congestion_mark.unwrap_or(0)).unwrap_or(u8::MAX),
            nack: view.nack.map(reason),
            token: view.pit_token,
            no_cache: view.cache_policy == Some(CACHE_POLICY_NO_CACHE),
            link_retransmitted: trust == FieldTrust::Neighbour && view.extra(LINK_RETRANSMITTED).is_some(),
            fields: fields(view.extras(), layout, trust),
        }
    }

    /// Reads the header of a reassembled packet.
    pub fn of_header(header: &LpHeader, layout: &FieldLayout, trust: FieldTrust) -> LinkHeaderFields {
        LinkHeaderFields {
            mark: u8::try_from(header.congestion_mark.unwrap_or(0)).unwrap_or(u8::MAX),
            nack: header.nack.map(reason),
            token: header.pit_token,
            no_cache: header.cache_policy == Some(CACHE_POLICY_NO_CACHE),
            link_retransmitted: trust == FieldTrust::Neighbour && header.extra(LINK_RETRANSMITTED).is_some(),
            fields: fields(header.extras.iter().map(|e| (e.typ(), e.value())), layout, trust),
        }
    }
}

/// The header with which a packet leaves; empty when there is nothing to say. A NACK carries header fields as any other
/// packet does: schemes send rates and tolerances back with it.
pub fn write(packet: &Packet, layout: &FieldLayout) -> LpHeader {
    let mut header = LpHeader::default();
    if packet.mark > 0 {
        header.congestion_mark = Some(u64::from(packet.mark));
    }
    if packet.kind == Kind::Nack {
        header.nack = Some(match packet.reason {
            NackReason::Congestion => WireReason::Congestion,
            NackReason::Duplicate => WireReason::Duplicate,
            NackReason::NoRoute => WireReason::NoRoute,
        });
    }
    if packet.kind == Kind::Data {
        header.cache_policy = packet.has(flags::NO_CACHE).then_some(CACHE_POLICY_NO_CACHE);
        if packet.has(flags::LINK_RETRANSMITTED) {
            let set = header.set_extra(LINK_RETRANSMITTED, &[]);
            debug_assert!(set.is_ok(), "a type that may be ignored");
        }
    }
    for (field, slot) in layout.iter() {
        let value = packet.fields.get(slot);
        if value > 0 {
            let set = header.set_extra_number(field.info().tlv_type, u64::from(value));
            debug_assert!(set.is_ok(), "the field table has types that may be ignored only");
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::fields::{FIELDS, Field};
    use proptest::prelude::*;

    fn layout() -> FieldLayout {
        let mut layout = FieldLayout::new();
        layout.slot(Field::HopRtt);
        layout.slot(Field::PathLabel);
        layout
    }

    fn data(mark: u8, hop_rtt: u32) -> Packet {
        let mut packet = Packet { kind: Kind::Data, mark, ..Packet::default() };
        let slot = layout().find(Field::HopRtt).unwrap();
        packet.fields.set(slot, hop_rtt);
        packet
    }

    fn read(bytes: &[u8], trust: FieldTrust) -> LinkHeaderFields {
        LinkHeaderFields::of_view(&LpPacketView::decode(bytes).unwrap(), &layout(), trust)
    }

    // Types by hand: 904 = 0x388 → FD 03 88; 832 = 0x340 → FD 03 40. 70,000 = 0x00011170 takes four bytes.
    #[test]
    fn a_mark_and_a_field_have_the_bytes_of_the_field_table() {
        let bytes = write(&data(2, 70_000), &layout()).encode(None);
        assert_eq!(bytes, [100, 13, 0xFD, 3, 0x40, 1, 2, 0xFD, 3, 0x88, 4, 0, 1, 0x11, 0x70]);
    }

    #[test]
    fn a_on_demand_peer_may_mark_but_its_fields_are_ignored() {
        let bytes = write(&data(1, 70_000), &layout()).encode(None);
        let neighbour = read(&bytes, FieldTrust::Neighbour);
        assert_eq!((neighbour.mark, neighbour.fields), (1, data(0, 70_000).fields));
        let on_demand_peer = read(&bytes, FieldTrust::Untrusted);
        assert_eq!((on_demand_peer.mark, on_demand_peer.fields), (1, Fields::default()));
    }

    #[test]
    fn fields_that_the_scheme_does_not_use_are_skipped_and_large_numbers_are_cut() {
        let mut header = LpHeader { congestion_mark: Some(1 << 40), ..LpHeader::default() };
        header.set_extra_number(928, 7).unwrap();
        header.set_extra_number(904, 1 << 40).unwrap();
        header.set_extra(908, &[1, 2, 3]).unwrap();
        let link_fields = read(&header.encode(None), FieldTrust::Neighbour);
        assert_eq!((link_fields.mark, link_fields.fields), (255, data(0, u32::MAX).fields));
        assert_eq!(LinkHeaderFields::of_header(&header, &layout(), FieldTrust::Neighbour), link_fields);
    }

    // 944 = 0x3B0.
    #[test]
    fn a_link_retransmitted_data_says_so_to_neighbours_that_trust_each_other() {
        let link_retransmitted = Packet { flags: flags::LINK_RETRANSMITTED, ..data(0, 0) };
        let bytes = write(&link_retransmitted, &layout()).encode(None);
        assert_eq!(bytes, [100, 4, 0xFD, 3, 0xB0, 0]);
        assert_eq!(
            [FieldTrust::Neighbour, FieldTrust::Untrusted].map(|trust| read(&bytes, trust).link_retransmitted),
            [true, false]
        );
    }

    /// What a header should say of this packet, from the packet itself.
    fn expected(packet: &Packet) -> LinkHeaderFields {
        let data = packet.kind == Kind::Data;
        LinkHeaderFields {
            mark: packet.mark,
            nack: (packet.kind == Kind::Nack).then_some(packet.reason),
            token: None,
            no_cache: data && packet.has(flags::NO_CACHE),
            link_retransmitted: data && packet.has(flags::LINK_RETRANSMITTED),
            fields: packet.fields,
        }
    }

    #[test]
    fn a_nack_carries_the_fields_of_its_scheme() {
        let nack = Packet { kind: Kind::Nack, reason: NackReason::Congestion, ..data(1, 70_000) };
        let link_fields = read(&write(&nack, &layout()).encode(None), FieldTrust::Neighbour);
        assert_eq!(
            (link_fields.nack, link_fields.mark, link_fields.fields),
            (Some(NackReason::Congestion), 1, nack.fields)
        );
    }

    proptest! {
        // All kinds, flags and fields one by one, with drawn marks, reasons and values.
        #[test]
        fn whatever_a_packet_of_any_kind_says_link_fields_itself_is_read_again(
            mark in any::<u8>(),
            reason in prop_oneof![
                Just(NackReason::Congestion), Just(NackReason::Duplicate), Just(NackReason::NoRoute)
            ],
            value in 1..=u32::MAX,
            more in any::<u32>(),
        ) {
            for kind in [Kind::Interest, Kind::Data, Kind::Nack] {
                for field in FIELDS.iter().map(|row| row.field) {
                    let mut layout = FieldLayout::new();
                    let (slot, other) = (layout.slot(field).unwrap(), layout.slot(Field::PathLabel).unwrap());
                    for flag in std::iter::once(0).chain((0..8).map(|bit| 1 << bit)).chain([u8::MAX]) {
                        let mut packet = Packet { kind, mark, reason, flags: flag, ..Packet::default() };
                        packet.fields.set(other, more);
                        packet.fields.set(slot, value);
                        let header = write(&packet, &layout);
                        prop_assert_eq!(LinkHeaderFields::of_header(&header, &layout, FieldTrust::Neighbour), expected(&packet));
                        let bytes = header.encode(Some(&[5, 3, 7, 1, 8]));
                        let view = LpPacketView::decode(&bytes).unwrap();
                        prop_assert_eq!(LinkHeaderFields::of_view(&view, &layout, FieldTrust::Neighbour), expected(&packet));
                    }
                }
            }
        }
    }

    #[test]
    fn reasons_in_between_count_as_the_next_known_one() {
        let read = |code| reason(WireReason::from_code(code));
        assert_eq!([1, 50].map(read), [NackReason::Congestion; 2]);
        assert_eq!([51, 100].map(read), [NackReason::Duplicate; 2]);
        assert_eq!([0, 101, 150, 999].map(read), [NackReason::NoRoute; 4]);
    }
}

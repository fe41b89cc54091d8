//! LpPackets that other implementations publish as test vectors, byte for byte.

use crate::common::hex;
use ndnweir_wire::error::DecodeErrorKind as Kind;
use ndnweir_wire::lp::{LpHeader, LpPacketView, NackReason, PitToken};

// ndn-cxx, tests/unit/lp/packet.t.cpp: EncodeFragment, EncodeSubTlv, EncodeZeroLengthTlv, EncodeSortOrder,
// DecodeNormal, DecodeIdle, DecodeEmpty, DecodeSeqNum; pit-token.t.cpp: Decode.
#[test]
fn link_packets_have_the_bytes_of_ndn_cxx() {
    let header = LpHeader::default;
    let fragment = hex("03E8");
    let cases: [(LpHeader, Option<&[u8]>, &str); 9] = [
        (LpHeader { sequence: Some(1000), ..header() }, Some(&fragment), "640E 510800000000000003E8 500203E8"),
        (LpHeader { nack: Some(NackReason::Duplicate), ..header() }, None, "6409 FD032005 FD03210164"),
        (LpHeader { nack: Some(NackReason::Unspecified), ..header() }, None, "6404 FD032000"),
        (LpHeader { non_discovery: true, ..header() }, None, "6404 FD034C00"),
        (
            LpHeader { frag_index: Some(0), frag_count: Some(1), acks: vec![2, 4, 3], ..header() },
            Some(&fragment),
            "642E 520100 530101 FD0344080000000000000002 FD0344080000000000000004 FD0344080000000000000003 500203E8",
        ),
        (LpHeader { frag_index: Some(0), frag_count: Some(1), ..header() }, None, "6406 520100 530101"),
        (header(), None, "6400"),
        (
            LpHeader { sequence: Some(0xA0A1_A2A3_A4A5_A6A7), ..header() },
            Some(&[0xFF, 0xFF]),
            "640E 5108A0A1A2A3A4A5A6A7 5002FFFF",
        ),
        (
            LpHeader { pit_token: PitToken::new(&hex("A0A1A2A3A4")).ok(), ..header() },
            Some(&[0xC0]),
            "640A 6205A0A1A2A3A4 5001C0",
        ),
    ];
    for (header, fragment, wire) in cases {
        let wire = hex(wire);
        assert_eq!(header.encode(fragment), wire);
        let view = LpPacketView::decode(&wire).unwrap();
        assert_eq!(view.to_header(), header);
        assert_eq!(view.fragment, fragment);
    }
}

// ndn-cxx, tests/unit/lp/packet.t.cpp: DecodeIgnoredHeader, DecodeBareNetworkLayerPacket; nack-header.t.cpp:
// DecodeUnknownReasonCode.
#[test]
fn what_is_unknown_but_harmless_is_accepted_as_in_ndn_cxx() {
    let wire = hex("640C 520100 FD03240102 500203E8");
    let view = LpPacketView::decode(&wire).unwrap();
    assert_eq!(view.extras().collect::<Vec<_>>(), [(804, &[2][..])]);
    assert_eq!(view.extra_number(804), Some(2));
    assert_eq!(view.to_header().encode(view.fragment), wire);

    let bare = hex("050A 070203E8 0A0401020304");
    let view = LpPacketView::decode(&bare).unwrap();
    assert!(view.is_bare());
    assert_eq!(view.fragment, Some(&bare[..]));
    assert_eq!(view.to_header().wrap(&bare), bare);

    let nack = hex("640C FD032008 FD0321041FFFFFFF");
    assert_eq!(LpPacketView::decode(&nack).unwrap().nack, Some(NackReason::Other(0x1FFF_FFFF)));
}

// ndn-cxx, tests/unit/lp/packet.t.cpp: DecodeRepeatedNonRepeatableHeader, DecodeRepeatedFragment,
// DecodeWrongOrderAmongHeaders, DecodeWrongOrderFragment, DecodeUnrecognizedHeader, DecodeSeqNum,
// DecodeUnrecognizedTlvType; pit-token.t.cpp: Decode.
#[test]
fn what_ndn_cxx_rejects_is_rejected_with_its_place() {
    for (wire, offset, kind) in [
        ("6406 520100 520101", 5, Kind::OutOfOrder(82)),
        ("6408 500203E8 500203E9", 6, Kind::OutOfOrder(80)),
        ("640A 530101 520100 500203E8", 5, Kind::OutOfOrder(82)),
        ("640A 520100 500203E8 530101", 9, Kind::OutOfOrder(83)),
        ("640C 520100 FD03220102 500203E8", 5, Kind::UnknownLpField(802)),
        ("640A 5104A4A5A6A7 5002FFFF", 2, Kind::BadLength { typ: 81, len: 4 }),
        ("0700", 0, Kind::NotAPacket(7)),
        ("6405 6200 5001C0", 2, Kind::BadLength { typ: 98, len: 0 }),
        (
            "6426 6221A0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0 5001C0",
            2,
            Kind::BadLength { typ: 98, len: 33 },
        ),
    ] {
        let error = LpPacketView::decode(&hex(wire)).unwrap_err();
        assert_eq!((error.offset, error.kind), (offset, kind), "{wire}");
    }
}

// Made with python-ndn 0.5.2 (ndn.encoding.ndnlp_v2).
#[test]
fn a_nack_with_token_and_mark_has_the_bytes_of_python_ndn() {
    let interest = hex("050B 070308016E 0A0400000001");
    let header = LpHeader {
        pit_token: PitToken::new(&[1, 2, 3, 4]).ok(),
        nack: Some(NackReason::Congestion),
        congestion_mark: Some(1),
        ..LpHeader::default()
    };
    let wire = hex("6423 620401020304 FD0320 05 FD03210132 FD03400101 500D 050B070308016E0A0400000001");
    assert_eq!(header.encode(Some(&interest)), wire);
    assert_eq!(LpPacketView::decode(&wire).unwrap().to_header(), header);
}

// ndn-cxx, tests/unit/lp/nack-header.t.cpp: IsLessSevere.
#[test]
fn congestion_is_less_severe_than_no_route_and_no_reason_is_worst() {
    use NackReason::{Congestion, Duplicate, NoRoute, Other, Unspecified};
    let order = [Congestion, Duplicate, NoRoute, Other(1000), Unspecified];
    for (i, a) in order.iter().enumerate() {
        for (j, b) in order.iter().enumerate() {
            assert_eq!(a.is_less_severe_than(*b), i < j, "{a} {b}");
        }
    }
}

#[test]
fn header_fields_of_our_own_are_sorted_among_the_assigned_ones() {
    let mut header = LpHeader {
        nack: Some(NackReason::NoRoute),
        congestion_mark: Some(1),
        incoming_face_id: Some(300),
        cache_policy: Some(1),
        ..LpHeader::default()
    };
    for typ in [900, 956, 804, 824, 900] {
        header.set_extra_number(typ, u64::from(typ) * 100).unwrap();
    }
    let wire = header.encode(Some(&[5]));
    let view = LpPacketView::decode(&wire).unwrap();
    assert_eq!(view.extras().map(|(t, _)| t).collect::<Vec<_>>(), [804, 824, 900, 956]);
    assert_eq!(view.extra_number(956), Some(95_600));
    assert_eq!(view.to_header(), header);
    for typ in [799, 801, 802, 832, 836, 848, 960, 98, 80] {
        assert!(header.set_extra(typ, &[]).is_err(), "{typ}");
    }
    assert!(header.extras.remove(900) && !header.extras.remove(900));
    header.extras.clear();
    assert!(header.extras.is_empty());
}

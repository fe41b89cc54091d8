//! Malformed input is an error that says where and what; nothing panics.

use crate::common::{self, hex, strategies};
use ndnweir_wire::error::DecodeErrorKind as Kind;
use ndnweir_wire::lp::LpPacketView;
use ndnweir_wire::signature::{AntiReplay, DigestSha256, HmacSha256};
use ndnweir_wire::tlv::Reader;
use ndnweir_wire::*;
use proptest::prelude::*;

fn interest_error(wire: &str) -> (usize, Kind) {
    let error = InterestView::decode(&hex(wire)).expect_err(wire);
    (error.offset, error.kind)
}

fn data_error(wire: &str) -> (usize, Kind) {
    let error = DataView::decode(&hex(wire)).expect_err(wire);
    (error.offset, error.kind)
}

// ndn-cxx, tests/unit/encoding/tlv.t.cpp, and the packet specification, "Variable-Size Encoding for Type and Length".
#[test]
fn numbers_must_be_in_their_shortest_form_and_types_in_range() {
    for (wire, offset, kind) in [
        ("", 0, Kind::Truncated { missing: 1 }),
        ("FD00", 0, Kind::Truncated { missing: 1 }),
        ("FE000100", 0, Kind::Truncated { missing: 1 }),
        ("FF", 0, Kind::Truncated { missing: 8 }),
        ("FD00FC00", 0, Kind::NonMinimalNumber),
        ("FE0000FFFF00", 0, Kind::NonMinimalNumber),
        ("FF00000000FFFFFFFF00", 0, Kind::NonMinimalNumber),
        ("FF000000010000000000", 0, Kind::TypeOutOfRange(1 << 32)),
        ("0000", 0, Kind::TypeOutOfRange(0)),
        ("05", 1, Kind::Truncated { missing: 1 }),
        ("05FD0001FF", 1, Kind::NonMinimalNumber),
        ("05FFFFFFFFFFFFFFFFFF", 0, Kind::Truncated { missing: u64::MAX }),
        ("050201", 0, Kind::Truncated { missing: 1 }),
    ] {
        let error = Reader::new(&hex(wire)).element().expect_err(wire);
        assert_eq!((error.offset, error.kind), (offset, kind), "{wire}");
    }
    for wire in ["FC00", "FD00FD00", "FE0001000000", "FEFFFFFFFF00"] {
        assert!(Reader::new(&hex(wire)).element().is_ok(), "{wire}");
    }
}

// ndn-cxx, tests/unit/interest.t.cpp: NotAnInterest, CriticalElementOutOfOrder, MissingName, BadName, BadCanBePrefix,
// BadMustBeFresh, BadForwardingHint, BadNonce, BadHopLimit, BadParametersDigest, UnrecognizedCriticalElement.
#[test]
fn malformed_interests_are_rejected_as_in_ndn_cxx() {
    let bad_length = |typ, len| Kind::BadLength { typ, len };
    let zero = "00".repeat(32);
    let two_digests = format!("054C 074A(080149 0220{zero} 080132 0220{zero})");
    let empty_digest = "0527 0725(080149 0220E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855)";
    let wrong_digest = format!("052B 0725(080149 0220{zero}) 2402CAFE");
    for (wire, offset, kind) in [
        ("4202CAFE", 0, Kind::UnexpectedType { expected: 5, found: 66 }),
        ("0505 0703080149 00", 7, Kind::TrailingBytes(1)),
        ("0507 FC00 0703080149", 2, Kind::UnexpectedType { expected: 7, found: 252 }),
        ("0507 2100 0703080149", 2, Kind::UnexpectedType { expected: 7, found: 33 }),
        ("0509 0703080149 1200 2100", 9, Kind::OutOfOrder(33)),
        ("0509 0703080149 2100 2100", 9, Kind::OutOfOrder(33)),
        ("050D 0703080149 0A044ACB1E4C 1200", 13, Kind::OutOfOrder(18)),
        ("0512 0703080149 0A044ACB1E4C 1E05(0703080148)", 13, Kind::OutOfOrder(30)),
        ("050F 0703080149 0C0276A1 0A044ACB1E4C", 11, Kind::OutOfOrder(10)),
        ("050C 0703080149 2201D6 0C0276A1", 10, Kind::OutOfOrder(12)),
        ("0500", 2, Kind::Missing(7)),
        ("0502 1200", 2, Kind::UnexpectedType { expected: 7, found: 18 }),
        ("0502 0700", 2, Kind::EmptyName),
        (&two_digests, 2, Kind::RepeatedParametersDigest),
        ("0508 0703080149 210102", 7, bad_length(33, 1)),
        ("0508 0703080149 120102", 7, bad_length(18, 1)),
        ("050C 0703080149 1E05(0703080248)", 11, Kind::Truncated { missing: 1 }),
        ("0509 0703080149 1E02(2100)", 9, Kind::UnknownCritical(33)),
        ("0507 0703080149 1E00", 7, Kind::Missing(7)),
        ("0512 0703080149 1E0B(1F09 1E023E15 0703080148)", 9, Kind::UnknownCritical(31)),
        ("0507 0703080149 0A00", 7, bad_length(10, 0)),
        ("050A 0703080149 0A0304C263", 7, bad_length(10, 3)),
        ("050C 0703080149 0A05EFA420B262", 7, bad_length(10, 5)),
        ("050A 0703080149 0C03010203", 7, bad_length(12, 3)),
        ("0507 0703080149 2200", 7, bad_length(34, 0)),
        ("0509 0703080149 22021356", 7, bad_length(34, 2)),
        ("0509 0703080149 2402CAFE", 2, Kind::MissingParametersDigest),
        (empty_digest, 2, Kind::UnexpectedParametersDigest),
        (&wrong_digest, 2, Kind::ParametersDigestMismatch),
        ("0507 0703080149 FB00", 7, Kind::UnknownCritical(251)),
        ("0510 0703080149 09030D0101 0A0401000000", 7, Kind::UnknownCritical(9)),
        ("0508 0706 0102CAFE 0800", 4, bad_length(1, 2)),
        ("0508 0706 FE0001000000", 4, Kind::ComponentType(65_536)),
    ] {
        assert_eq!(interest_error(wire), (offset, kind), "{wire}");
    }
    assert!(InterestView::decode_unchecked_digest(&hex(&wrong_digest)).is_ok());
}

// ndn-cxx, tests/unit/data.t.cpp: NotData, CriticalElementOutOfOrder, MissingName, MissingSignatureInfo,
// MissingSignatureValue, UnrecognizedNonCriticalElementBeforeName, UnrecognizedCriticalElement; signature-info.t.cpp:
// DecodeError.
#[test]
fn malformed_data_are_rejected_as_in_ndn_cxx() {
    for (wire, offset, kind) in [
        ("4202CAFE", 0, Kind::UnexpectedType { expected: 6, found: 66 }),
        ("060D 0700 1500 1400 1603(1B0100) 1700", 6, Kind::OutOfOrder(20)),
        ("060D 0700 1400 1603(1B0100) 1500 1700", 11, Kind::OutOfOrder(21)),
        ("0609 0700 1700 1603(1B0100)", 6, Kind::OutOfOrder(22)),
        ("060B 0700 1603(1B0100) 1700 1700", 11, Kind::OutOfOrder(23)),
        ("0607 1603(1B0100) 1700", 2, Kind::UnexpectedType { expected: 7, found: 22 }),
        ("0607 0703080144 1700", 0, Kind::Missing(22)),
        ("0607 0700 1603(1B0100)", 0, Kind::Missing(23)),
        ("060B FC00 0700 1603(1B0100) 1700", 2, Kind::UnexpectedType { expected: 7, found: 252 }),
        ("060B 0700 FB00 1603(1B0100) 1700", 4, Kind::UnknownCritical(251)),
        ("0606 0700 1600 1700", 4, Kind::Missing(27)),
        ("060B 0700 1605(1B0101 8300) 1700", 9, Kind::UnknownCritical(131)),
        ("060B 0700 1605(1B0101 2600) 1700", 9, Kind::BadLength { typ: 38, len: 0 }),
        ("060F 0700 1609(1B0101 1C04 0700 1D00) 1700", 13, Kind::OutOfOrder(29)),
        ("060D 0700 1607(1B0101 FD00FD00) 1700", 9, Kind::Missing(254)),
        ("060D 0700 1402(1A00) 1603(1B0100) 1700", 6, Kind::BadLength { typ: 26, len: 0 }),
        ("0611 0700 1406(1A04 0800 0800) 1603(1B0100) 1700", 10, Kind::TrailingBytes(2)),
        ("0610 0700 1405(190100 FB00) 1603(1B0100) 1700", 9, Kind::UnknownCritical(251)),
    ] {
        assert_eq!(data_error(wire), (offset, kind), "{wire}");
    }
}

#[test]
fn malformed_link_fields_are_rejected() {
    for (wire, offset, kind) in [
        ("6404 FD034000", 2, Kind::BadLength { typ: 832, len: 0 }),
        ("6405 FD034C0101", 2, Kind::BadLength { typ: 844, len: 1 }),
        ("6405 FD03440101", 2, Kind::BadLength { typ: 836, len: 1 }),
        ("6408 FD0320 04 FD032200", 6, Kind::UnknownLpField(802)),
        ("640E FD0320 0A FD03210132 FD03210132", 11, Kind::OutOfOrder(801)),
        ("6404 FD033400", 2, Kind::Missing(821)),
        ("6404 FD035000", 6, Kind::Missing(6)),
        ("6406 FD0350020500", 6, Kind::UnexpectedType { expected: 6, found: 5 }),
        ("6402 5500", 2, Kind::UnknownLpField(85)),
        ("6404 FD03C000", 2, Kind::UnknownLpField(960)),
        ("6408 FD038400 FD032400", 6, Kind::OutOfOrder(804)),
        ("6400 00", 2, Kind::TrailingBytes(1)),
    ] {
        let error = LpPacketView::decode(&hex(wire)).expect_err(wire);
        assert_eq!((error.offset, error.kind), (offset, kind), "{wire}");
    }
    // A field that we do not know may be one that repeats.
    let repeated = hex("640A FD03840101 FD03840102");
    let view = LpPacketView::decode(&repeated).unwrap();
    assert_eq!(view.extras().count(), 2);
    assert_eq!(view.to_header().encode(None), repeated);
}

#[test]
fn what_cannot_be_encoded_is_an_error() {
    let empty = Name::new();
    assert_eq!(InterestBuilder::new(empty.as_view()).encode(), Err(EncodeError::EmptyName));
    let digest = Component::parameters_digest(&[0; 32]);
    let one = Name::new().with(digest.clone());
    assert_eq!(InterestBuilder::new(one.as_view()).encode(), Err(EncodeError::UnexpectedParametersDigest));
    let two = one.clone().with(digest);
    let builder = InterestBuilder::new(two.as_view()).application_parameters(&[]);
    assert_eq!(builder.encode(), Err(EncodeError::RepeatedParametersDigest));
    assert!(builder.sign(&DigestSha256, AntiReplay::default()).is_ok());
    let no_nonce = AntiReplay { nonce: Some(&[]), ..AntiReplay::default() };
    assert_eq!(builder.sign(&DigestSha256, no_nonce), Err(EncodeError::EmptySignatureNonce));
    assert_eq!(Component::new(0, &[]), Err(EncodeError::ComponentType(0)));
    assert_eq!(Component::new(65_536, &[]), Err(EncodeError::ComponentType(65_536)));
    assert_eq!(Component::new(1, &[0; 31]), Err(EncodeError::DigestLength(31)));
    assert_eq!(lp::PitToken::new(&[0; 33]), Err(EncodeError::PitTokenLength(33)));
}

#[test]
fn the_parameters_digest_keeps_its_place_in_the_name() {
    let name = common::name("/a").with(Component::parameters_digest(&[9; 32])).with(Component::segment(1));
    let wire = InterestBuilder::new(name.as_view()).application_parameters(b"p").encode().unwrap();
    let view = InterestView::decode(&wire).unwrap();
    let types: Vec<_> = view.name().components().map(|c| c.typ()).collect();
    assert_eq!(types, [8, 2, 50]);
    assert_ne!(view.name(), name.as_view());
}

#[test]
fn a_stream_tells_how_long_its_first_packet_is() {
    let data = hex("06FD0100");
    for cut in 0..data.len() {
        assert_eq!(frame_len(&data[..cut]), Ok(None));
    }
    assert_eq!(frame_len(&data), Ok(Some(260)));
    assert_eq!(frame_len(&hex("6400")), Ok(Some(2)));
    assert!(frame_len(&hex("FD0001")).is_err());
    assert_eq!(frame_len(&hex("05FFFFFFFFFFFFFFFFFF")), Ok(Some(u64::MAX)));
}

/// Runs all decoders and all methods of what they return.
fn exercise(buf: &[u8]) {
    let _ = Name::decode(buf);
    let _ = NameView::from_value(buf);
    let _ = frame_len(buf);
    if let Ok(view) = InterestView::decode_unchecked_digest(buf) {
        let _ = (view.verify_parameters_digest(), view.verify(&DigestSha256), view.forwarding_hint().count());
        let _ = InterestBuilder::from_view(&view).encode();
    }
    if let Ok(view) = DataView::decode(buf) {
        let _ = (view.verify(&DigestSha256), view.full_name().to_string());
    }
    if let Ok(view) = LpPacketView::decode(buf) {
        let _ = (view.to_header().encode(view.fragment), view.acks().count(), view.extras().count());
        if let Some(fragment) = view.fragment {
            let _ = PacketView::decode(fragment);
        }
    }
}

fn assert_all_truncations_fail(wire: &[u8], decode: impl Fn(&[u8]) -> bool) {
    assert!(decode(wire));
    for cut in 0..wire.len() {
        assert!(!decode(&wire[..cut]), "accepted when cut to {cut} of {} bytes", wire.len());
        exercise(&wire[..cut]);
    }
}

proptest! {
    #[test]
    fn every_truncation_of_an_interest_is_an_error(parts in strategies::interest()) {
        let key = HmacSha256::new(b"k", None).unwrap();
        for wire in [parts.builder().encode().unwrap(), parts.builder().sign(&key, AntiReplay::default()).unwrap()] {
            assert_all_truncations_fail(&wire, |buf| InterestView::decode(buf).is_ok());
        }
    }

    #[test]
    fn every_truncation_of_a_data_packet_is_an_error(parts in strategies::data()) {
        assert_all_truncations_fail(&parts.encode(), |buf| DataView::decode(buf).is_ok());
    }

    #[test]
    fn every_truncation_of_a_link_packet_is_an_error(header in strategies::header(), fragment: Vec<u8>) {
        assert_all_truncations_fail(&header.encode(Some(&fragment)), |buf| LpPacketView::decode(buf).is_ok());
    }

    #[test]
    fn random_bytes_never_panic(buf: Vec<u8>) {
        exercise(&buf);
    }

    #[test]
    fn random_bytes_inside_a_packet_never_panic(typ in prop::sample::select(vec![5_u8, 6, 7, 100]), mut body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut wire = vec![typ, body.len() as u8];
        wire.append(&mut body);
        exercise(&wire);
    }

    #[test]
    fn changed_bytes_never_panic(parts in strategies::interest(), data in strategies::data(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        for mut wire in [parts.builder().encode().unwrap(), data.encode()] {
            for (at, value) in &changes {
                let at = at.index(wire.len());
                wire[at] = *value;
            }
            exercise(&wire);
        }
    }
}

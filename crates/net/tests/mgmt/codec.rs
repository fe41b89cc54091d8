//! Management elements and command Interests, byte for byte. The expected bytes were put together by a separate
//! script from the protocol's pages, with its own TLV writer and SHA-256.

use crate::{hex, name};
use ndnweir_net::mgmt::{
    CodecError, CommandFormat, ControlParameters, ControlResponse, Freshness, SignedCommand, command_name, route_flags,
    sign_command,
};
use ndnweir_wire::signature::{DigestSha256, VerifyError};
use ndnweir_wire::{InterestView, Name};
use std::time::Duration;

const ALL_FIELDS: &str = "686f07060801610801626902012c7215756470343a2f2f3139322e302e322e313a363336338115756470343a2f2f3139322e302e322e323a363336336f01ff6a010a8304000100008401076c01057001076b0507030801736d040036ee80850102870405f5e10088040001000089020578";

fn all_fields() -> ControlParameters {
    ControlParameters {
        name: Some(name("/a/b")),
        face_id: Some(300),
        uri: Some("udp4://192.0.2.1:6363".to_owned()),
        local_uri: Some("udp4://192.0.2.2:6363".to_owned()),
        origin: Some(255),
        cost: Some(10),
        capacity: Some(65536),
        count: Some(7),
        flags: Some(5),
        mask: Some(7),
        strategy: Some(name("/s")),
        expiration_period: Some(Duration::from_secs(3600)),
        face_persistency: Some(2),
        base_congestion_marking_interval: Some(Duration::from_millis(100)),
        default_congestion_threshold: Some(65536),
        mtu: Some(1400),
    }
}

#[test]
fn parameters_with_every_field_have_the_bytes_of_the_protocol() {
    assert_eq!(all_fields().encode(), hex(ALL_FIELDS));
    assert_eq!(ControlParameters::decode(&hex(ALL_FIELDS)), Ok(all_fields()));
}

#[test]
fn parameters_are_read_in_any_order_and_unknown_elements_are_skipped() {
    // Cost 1, an unknown element of type 251, FaceId 2.
    let read = ControlParameters::decode(&hex("68096a0101fb0169690102")).unwrap();
    assert_eq!((read.cost, read.face_id), (Some(1), Some(2)));
}

#[test]
fn a_repeated_field_and_a_text_that_is_not_utf8_are_rejected() {
    assert_eq!(ControlParameters::decode(&hex("68066a01016a0102")), Err(CodecError::Repeated(106)));
    assert_eq!(ControlParameters::decode(&hex("68037201ff")), Err(CodecError::NotText(114)));
}

#[test]
fn a_flag_means_nothing_unless_its_mask_says_so() {
    let mut parameters = all_fields();
    assert_eq!(parameters.flag(route_flags::CHILD_INHERIT), Some(true));
    assert_eq!(parameters.flag(route_flags::CAPTURE), Some(false));
    parameters.mask = Some(2);
    assert_eq!(parameters.flag(route_flags::CHILD_INHERIT), None);
}

#[test]
fn a_response_has_the_bytes_of_the_protocol() {
    let bytes = hex("65126602019467076e6f20666163656803690109");
    let response =
        ControlResponse { code: 404, text: "no face".to_owned(), body: Some(Box::new(ControlParameters::of_face(9))) };
    assert_eq!(response.encode(), bytes);
    assert_eq!(ControlResponse::decode(&bytes), Ok(response));
    assert_eq!(ControlResponse::decode(&hex("65026700")), Err(CodecError::Missing(102)));
}

const FRESHNESS: Freshness =
    Freshness { time: Duration::from_millis(1_700_000_000_000), nonce: [1, 2, 3, 4, 5, 6, 7, 8] };

const COMMANDS: [(CommandFormat, &str); 2] = [
    (
        CommandFormat::NameSuffix,
        "0575076708096c6f63616c686f737408036e666408037269620808726567697374657208076805070308016108080000018bcfe5680008080102030405060708080516031b010008221720fcb9c68284f0fcbad89df19c0cd6854bbc4a3bc6678333f4026b6344cf73cca412000a04010203040c0203e8",
    ),
    (
        CommandFormat::SignedInterest,
        "0595074a08096c6f63616c686f737408036e666408037269620808726567697374657208076805070308016102201b68448e6d648954a6455f383ebcd40492c82b839fc46637453ea2939d8ce58512000a04010203040c0203e824002c171b01002608010203040506070828080000018bcfe568002e205b9ec0e9f084404ecfff3566d6a94fc420ff4b73f88c453e15abebada5bb44f7",
    ),
];

fn register_a() -> Name {
    command_name(name("/localhost/nfd").as_view(), "rib", "register", &ControlParameters::of_name(name("/a")))
}

#[test]
fn a_signed_command_has_the_bytes_of_its_format_and_is_found_again_in_them() {
    for (format, bytes) in COMMANDS {
        let command = register_a();
        let signed = sign_command(command.as_view(), format, &DigestSha256, FRESHNESS, Duration::from_secs(1));
        assert_eq!(signed.unwrap(), hex(bytes), "{format:?}");

        let wire = hex(bytes);
        let interest = InterestView::decode(&wire).unwrap();
        let found = SignedCommand::find(&interest).unwrap();
        assert_eq!((found.format(), found.name()), (format, command.as_view()));
        assert_eq!(found.info().anti_replay.time, Some(FRESHNESS.time));
        assert_eq!(found.info().anti_replay.nonce, Some(FRESHNESS.nonce.as_slice()));
        assert_eq!(found.verify(&DigestSha256), Ok(()));
    }
}

#[test]
fn no_bit_of_a_signed_command_can_be_changed_unnoticed() {
    for (format, bytes) in COMMANDS {
        let original = hex(bytes);
        let reference = InterestView::decode(&original).map(|i| i.name().to_owned()).unwrap();
        for bit in 0..original.len() * 8 {
            let mut wire = original.clone();
            wire[bit / 8] ^= 1 << (bit % 8);
            let Ok(interest) = InterestView::decode_unchecked_digest(&wire) else { continue };
            // MustBeFresh, Nonce, InterestLifetime and HopLimit are for forwarders to change.
            let portion = InterestView::decode(&original).unwrap().parameters_portion().map(<[u8]>::to_vec);
            if interest.name() == reference.as_view() && interest.parameters_portion() == portion.as_deref() {
                continue;
            }
            let verified = SignedCommand::find(&interest).map(|c| c.verify(&DigestSha256));
            assert_ne!(verified, Some(Ok::<(), VerifyError>(())), "{format:?}, bit {bit}");
        }
    }
}

#[test]
fn an_unsigned_interest_has_no_signature_to_find() {
    let wire = ndnweir_wire::InterestBuilder::new(register_a().as_view()).encode().unwrap();
    assert!(SignedCommand::find(&InterestView::decode(&wire).unwrap()).is_none());
}

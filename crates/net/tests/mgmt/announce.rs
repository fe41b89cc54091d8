//! `rib/announce` and prefix announcements.
//!
//! `DIGEST`, `KEYED_BY_DIGEST` and `KEYED` are what NDNts 0.0.20250307 sent for `/example/ndnts` on 2026-11-21, with
//! `enableNfdPrefixReg` and its option `PrefixAnn`: announcement and command signed with a digest, the announcement
//! with the key `/example/operator/KEY/k1` made for the occasion, and both with it.

use crate::captured::{anchors, interest_of, rig_for, send};
use crate::fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER};
use crate::{hex, name};
use ndnweir_net::mgmt::dataset::{RibEntry, decode_all};
use ndnweir_net::mgmt::{Announcement, ControlParameters, ControlResponse, ManagementConfig, Requester};
use ndnweir_wire::signature::{AntiReplay, DigestSha256, Ed25519Signer, Signer, ValidityPeriod};
use ndnweir_wire::{DataBuilder, DataView, InterestBuilder, InterestView, Name};
use std::time::Duration;

const DIGEST: &str = "64fd011d620609eeffffffff50fd011105fd010d074108096c6f63616c686f737408036e666408037269620808616e6e6f756e63650220f8deb69640b749739e43b9417b8d9b5f49b717f6bf5ff549cb5a58ab110b6f020a047036ab720c020f9f24830681072108076578616d706c6508056e646e7473200250413608000001a1fd09c02e320100140318010515306d040036ee80fd00fd26fd00fe0f323032363131323154303633373137fd00ff0f32303236313132325430373337313716031b010017201628bf22b69054ed0014c2406fc9c538b4e423d7b93ed053d0c0f39af7a2584f2c171b01002608ec9f10892d41eaa62808000001a1fd09c03c2e204ae3bdb945104cefc8347148d15cd2bdeef97cc56a912a3fdc15c96daa74729c";
const KEYED_BY_DIGEST: &str = "64fd015d6206d34cffffffff50fd015105fd014d074108096c6f63616c686f737408036e666408037269620808616e6e6f756e6365022099801d538387d129e59ef9776748b1897abaa270e3ad9c34444a78b91a80a9cd0a0478a3bcd40c020f9f24c306c1072108076578616d706c6508056e646e7473200250413608000001a1fd09c960320100140318010515306d040036ee80fd00fd26fd00fe0f323032363131323154303633373139fd00ff0f32303236313132325430373337313916231b01051c1e071c08076578616d706c6508086f70657261746f7208034b455908026b311740ba3fdf8e7ebc1a3838aad1e730566c5851172b06a9dec6b713daf59d40d72e86dd5ebb2025b819d1abd26bc85f990a5a5b4c7f4bcb077490564ced494bab040d2c171b010026088737e9d3c2e0c5a72808000001a1fd09c9652e208a0f73738f379edfb1491d7d2e326c947ccf1a61d8cce03f0ed0178241b0136f";
const KEYED: &str = "64fd019d62060eefffffffff50fd019105fd018d074108096c6f63616c686f737408036e666408037269620808616e6e6f756e63650220475e8490431fc82ecacaa1bd4855a90d8b708a7e66b5d1467fcb79e7616b88ab0a04dd90d54d0c020f9f24c306c1072108076578616d706c6508056e646e7473200250413608000001a1fd09d254320100140318010515306d040036ee80fd00fd26fd00fe0f323032363131323154303633373231fd00ff0f32303236313132325430373337323116231b01051c1e071c08076578616d706c6508086f70657261746f7208034b455908026b3117407e2903e26d9238cb62b69b11a7fbcdc4cbf5eb2d25ad10a9c31bd5cdd45839bbe31c4cddd1e15b179730635209aa3931d60ae4695b3d7a2f0dd14e5d2fde790a2c371b01051c1e071c08076578616d706c6508086f70657261746f7208034b455908026b312608c8c1f76f7eaa85742808000001a1fd09d2592e40c094476b6a6861aa76707c984b36648f788f580714c3f41386ab6b4ff98703db8a9cc05f538394cd4aa591b4b86b2e43e9aaef178e247c88a34a5573bfba7e03";

const KEY: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAwdPLJPVZMWkq9exHJ8X0w8yntGXrg7fXT2uH5p0wc04=
-----END PUBLIC KEY-----
";

/// The rig's time is 2023-11-14, 22:13:20 UTC.
fn validity(not_before: &str, not_after: &str) -> Option<ValidityPeriod> {
    let time = |text: &str| text.as_bytes().try_into().unwrap();
    Some(ValidityPeriod { not_before: time(not_before), not_after: time(not_after) })
}

fn announcement(prefix: &str, seconds: u64) -> Announcement {
    Announcement { prefix: name(prefix), expiration: Duration::from_secs(seconds), validity: None }
}

/// A command with these parameters, signed at the rig's time.
fn command(rig: &mut Rig, top: &str, parameters: &[u8], signer: &dyn Signer) -> Vec<u8> {
    // Another one each time.
    rig.advance(Duration::from_millis(1));
    let name = name(&format!("{top}/nfd/rib/announce"));
    let anti_replay = AntiReplay { nonce: Some(&[7; 8]), time: Some(rig.at.unix), seq_num: None };
    InterestBuilder::new(name.as_view()).application_parameters(parameters).sign(signer, anti_replay).unwrap()
}

fn announce(rig: &mut Rig, announcement: &Announcement) -> ControlResponse {
    let data = announcement.sign(1, &DigestSha256).unwrap();
    let wire = command(rig, "/localhost", &data, &DigestSha256);
    send(rig, OWNER, &wire)
}

fn key() -> (Ed25519Signer, ManagementConfig) {
    let signer = Ed25519Signer::from_seed(&[7; 32], Some(name("/neighbour/KEY/1")));
    let spki = signer.verifier().to_spki_der().unwrap();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", crate::commands::base64(&spki));
    (signer, ManagementConfig { localhop: true, ..anchors(&[&pem], None) })
}

#[test]
fn announcements_of_ndnts_are_accepted_from_the_owner() {
    for captured in [DIGEST, KEYED_BY_DIGEST, KEYED] {
        let wire = interest_of(captured);
        let mut rig = rig_for(&wire, ManagementConfig::default());
        let response = send(&mut rig, OWNER, &wire);
        assert_eq!((response.code, response.text.as_str()), (200, "OK"));
        // Origin, cost and flags as NFD has them; valid for a day, announced for an hour.
        let expected = ControlParameters {
            face_id: Some(OWNER.face_id),
            origin: Some(129),
            cost: Some(2048),
            flags: Some(1),
            expiration_period: Some(Duration::from_secs(3600)),
            ..ControlParameters::of_name(name("/example/ndnts"))
        };
        assert_eq!(response.body.as_deref(), Some(&expected));
        assert_eq!(rig.forwarder.hops("/example/ndnts"), [(OWNER.face_id, 2048)]);
    }
}

#[test]
fn an_announcement_has_the_bytes_that_ndnts_writes() {
    let wire = interest_of(DIGEST);
    let parameters = InterestView::decode(&wire).unwrap().application_parameters().unwrap();
    let data = DataView::decode(parameters).unwrap();
    let read = Announcement::decode(&data).unwrap();
    let expected = Announcement {
        validity: validity("20261121T063717", "20261122T073717"),
        ..announcement("/example/ndnts", 3600)
    };
    assert_eq!(read, expected);
    // 0x1a1fd09c02e, the version.
    assert_eq!(expected.sign(1_795_246_637_102, &DigestSha256).as_deref(), Ok(parameters));
}

#[test]
fn both_the_command_and_the_announcement_of_a_on_demand_peer_need_a_trusted_key() {
    let config = anchors(&[KEY], Some("/example/operator"));
    for (captured, config, answer) in [
        (KEYED, ManagementConfig::default(), (403, "the command's signer is not authorised here")),
        (KEYED_BY_DIGEST, config.clone(), (403, "the command's signer is not authorised here")),
        (KEYED, config, (200, "OK")),
    ] {
        let wire = interest_of(captured);
        let mut rig = rig_for(&wire, config);
        let response = send(&mut rig, UNKNOWN_PEER, &wire);
        assert_eq!((response.code, response.text.as_str()), answer);
        let again = send(&mut rig, UNKNOWN_PEER, &wire);
        assert_eq!((again.code, rig.management.rib().len()), (403, usize::from(answer.0 == 200)));
    }
    let (signer, config) = key();
    let other = Ed25519Signer::from_seed(&[8; 32], Some(name("/neighbour/KEY/1")));
    let mut rig = Rig::new(config);
    for (by, text) in [
        (&DigestSha256 as &dyn Signer, "the announcement's signer is not authorised here"),
        (&other, "the announcement's signature does not match"),
        (&signer, "OK"),
    ] {
        let data = announcement("/a", 60).sign(1, by).unwrap();
        let wire = command(&mut rig, "/localhost", &data, &signer);
        assert_eq!(send(&mut rig, UNKNOWN_PEER, &wire).text, text);
    }
}

#[test]
fn no_changed_bit_in_a_captured_announcement_is_accepted() {
    let original = interest_of(KEYED);
    let view = InterestView::decode(&original).unwrap();
    let config = anchors(&[KEY], None);
    for at in 0..original.len() {
        let mut wire = original.clone();
        wire[at] ^= 1 << (at % 8);
        let Ok(changed) = InterestView::decode_unchecked_digest(&wire) else { continue };
        if changed.name() == view.name() && changed.parameters_portion() == view.parameters_portion() {
            continue;
        }
        let mut rig = rig_for(&original, config.clone());
        assert_ne!(rig.answer(UNKNOWN_PEER, &wire).map(|response| response.code), Some(200), "byte {at}");
        assert_eq!((rig.forwarder.fib.len(), rig.management.rib().len()), (0, 0));
    }
}

#[test]
fn the_owner_s_announcement_must_be_whole_but_may_have_any_signer() {
    let mut rig = Rig::new(ManagementConfig::default());
    let mut data = announcement("/a", 60).sign(1, &DigestSha256).unwrap();
    *data.last_mut().unwrap() ^= 1;
    let wire = command(&mut rig, "/localhost", &data, &DigestSha256);
    let response = send(&mut rig, OWNER, &wire);
    assert_eq!((response.code, response.text.as_str()), (403, "the announcement's signature does not match"));
    let (signer, _) = key();
    let data = announcement("/a", 60).sign(1, &signer).unwrap();
    let wire = command(&mut rig, "/localhost", &data, &DigestSha256);
    assert_eq!(send(&mut rig, OWNER, &wire).code, 200);
}

#[test]
fn a_neighbour_announces_under_localhop_with_a_trusted_key() {
    let (signer, config) = key();
    let data = announcement("/theirs", 60).sign(1, &signer).unwrap();
    for (localhop, answer) in [(true, Some(200)), (false, None)] {
        let mut rig = Rig::new(ManagementConfig { localhop, ..config.clone() });
        let wire = command(&mut rig, "/localhop", &data, &signer);
        assert_eq!(rig.answer(NEIGHBOUR, &wire).map(|response| response.code), answer);
        let hops = if localhop { vec![(NEIGHBOUR.face_id, 2048)] } else { vec![] };
        assert_eq!(rig.forwarder.hops("/theirs"), hops);
    }
}

#[test]
fn the_route_ends_with_the_announcement_s_time() {
    let mut rig = Rig::new(ManagementConfig::default());
    let listed = |rig: &mut Rig| -> Vec<Option<Duration>> {
        let listed = rig.fetch(OWNER, &name("/localhost/nfd/rib/list")).unwrap();
        let entries = decode_all::<RibEntry>(&listed).unwrap();
        entries.iter().flat_map(|entry| &entry.routes).map(|route| route.expiration_period).collect()
    };
    assert_eq!(announce(&mut rig, &announcement("/a", 60)).code, 200);
    // One that comes later counts, though it is shorter.
    assert_eq!(announce(&mut rig, &announcement("/a", 30)).code, 200);
    rig.advance(Duration::from_secs(29));
    rig.management.handle_timeout(rig.at.now, &mut rig.forwarder);
    assert_eq!(listed(&mut rig), [Some(Duration::from_secs(1))]);
    rig.advance(Duration::from_secs(1));
    rig.management.handle_timeout(rig.at.now, &mut rig.forwarder);
    assert_eq!((listed(&mut rig), rig.forwarder.hops("/a")), (vec![], vec![]));

    assert_eq!(announce(&mut rig, &announcement("/a", 60)).code, 200);
    let ended = announce(&mut rig, &announcement("/a", 0));
    assert_eq!((ended.code, ended.body.unwrap().expiration_period), (200, Some(Duration::ZERO)));
    assert_eq!(rig.management.rib().len(), 0);

    assert_eq!(announce(&mut rig, &announcement("/a", 60)).code, 200);
    let p = ControlParameters { origin: Some(129), ..ControlParameters::of_name(name("/a")) };
    assert_eq!(rig.command("rib/unregister", &p).0, 200);
    assert_eq!(rig.management.rib().len(), 0);
}

#[test]
fn an_announcement_counts_within_its_validity_only() {
    // The command comes 1 ms after 22:13:20.
    for (not_before, not_after, lasts) in [
        ("20231114T221320", "20231114T221330", Ok(9_999)),
        ("20231114T221321", "20231114T221330", Err(403)),
        ("20200101T000000", "20231114T221320", Err(403)),
        ("19000101T000000", "99991231T235959", Ok(60_000)),
        ("20231114T221320", "20231131T000000", Err(403)),
        ("20231114T221320", "20241314T000000", Err(403)),
        ("20231114 221320", "20241114T221320", Err(403)),
        ("2023111XT221320", "20241114T221320", Err(403)),
    ] {
        let mut rig = Rig::new(ManagementConfig::default());
        let announced = Announcement { validity: validity(not_before, not_after), ..announcement("/a", 60) };
        let response = announce(&mut rig, &announced);
        let found = match response.body {
            Some(body) if response.code == 200 => Ok(body.expiration_period.unwrap().as_millis()),
            _ => Err(response.code),
        };
        assert_eq!(found, lasts, "{not_before} to {not_after}");
    }
}

#[test]
fn times_are_those_of_the_calendar() {
    // Worked out with date(1).
    for (text, seconds) in [
        ("19700101T000000", 0),
        ("20000229T120000", 951_825_600),
        ("20240229T000000", 1_709_164_800),
        ("20261231T235959", 1_798_761_599),
        ("21000301T000001", 4_107_542_401),
        ("99991231T235959", 253_402_300_799),
    ] {
        let long = Duration::MAX;
        let announced =
            Announcement { prefix: Name::new(), expiration: long, validity: validity("00010101T000000", text) };
        assert_eq!(announced.valid_for(Duration::ZERO), Some(Duration::from_secs(seconds)), "{text}");
        assert_eq!(announced.valid_for(Duration::from_secs(seconds + 1)), None, "{text}");
    }
    for wrong in ["20230229T000000", "21000229T000000", "20230431T000000", "20230101T240000", "20230001T000000"] {
        let announced = Announcement { validity: validity(wrong, "99991231T235959"), ..announcement("/a", 1) };
        assert_eq!(announced.valid_for(Duration::from_secs(1_700_000_000)), None, "{wrong}");
    }
}

#[test]
fn an_invalid_announcement_is_answered_with_400_and_a_prefix_that_is_too_long_with_414() {
    let data = |text: &str, typ: u64, content: &str| {
        let name = name(text);
        DataBuilder::new(name.as_view()).content_type(typ).content(&hex(content)).sign(&DigestSha256).unwrap()
    };
    const GOOD: &str = "6d01ff";
    let long = format!("/{}/32=PA/v=1/seg=0", vec!["a"; 33].join("/"));
    let mut twice = data("/a/32=PA/v=1/seg=0", 5, GOOD);
    twice.extend(data("/a/32=PA/v=1/seg=0", 5, GOOD));
    for (parameters, code) in [
        (vec![], 400),
        (b"\x68\x00".to_vec(), 400),
        (twice, 400),
        (data("/a/32=PA/v=1", 5, GOOD), 400),
        (data("/v=1/seg=0", 5, GOOD), 400),
        (data("/a/PA/v=1/seg=0", 5, GOOD), 400),
        (data("/a/32=pa/v=1/seg=0", 5, GOOD), 400),
        (data("/a/32=PA/1/seg=0", 5, GOOD), 400),
        (data("/a/32=PA/v=1/seg=0", 0, GOOD), 400),
        (data("/a/32=PA/v=1/seg=0", 5, ""), 400),
        (data("/a/32=PA/v=1/seg=0", 5, "6d01ff6d01ff"), 400),
        (data("/a/32=PA/v=1/seg=0", 5, "6d01ff7f00"), 400),
        (data("/a/32=PA/v=1/seg=0", 5, "6d01ff1e00"), 400),
        (data("/a/32=PA/v=1/seg=0", 5, "6d03ffffff"), 400),
        (data("/a/32=PA/v=1/seg=0", 5, "6d01fffd00fd00"), 400),
        (data(&long, 5, GOOD), 414),
        (data("/a/32=PA/v=1/seg=0", 5, "7e006d01ff"), 200),
        (data("/32=PA/v=1/seg=0", 5, GOOD), 200),
    ] {
        let mut rig = Rig::new(ManagementConfig::default());
        let wire = command(&mut rig, "/localhost", &parameters, &DigestSha256);
        assert_eq!(send(&mut rig, OWNER, &wire).code, code, "{parameters:02x?}");
        assert_eq!(rig.management.rib().len(), usize::from(code == 200));
    }
}

#[test]
fn parameters_in_the_name_announce_nothing() {
    let mut rig = Rig::new(ManagementConfig::default());
    let p = ControlParameters::of_name(name("/a"));
    for _ in 0..2 {
        // In both formats.
        assert_eq!(rig.command("rib/announce", &p).0, 400);
    }
    assert_eq!(rig.management.rib().len(), 0);
    let counters = rig.management.counters();
    assert_eq!((counters.done, counters.failed), (0, 2));
}

#[test]
fn another_s_face_cannot_be_announced_for() {
    let from = Requester { face_id: 8, ..OWNER };
    let mut rig = Rig::new(ManagementConfig::default());
    let data = announcement("/a", 60).sign(1, &DigestSha256).unwrap();
    let wire = command(&mut rig, "/localhost", &data, &DigestSha256);
    assert_eq!(send(&mut rig, from, &wire).code, 200);
    assert_eq!(rig.forwarder.hops("/a"), [(8, 2048)], "the face on which the command came");
}

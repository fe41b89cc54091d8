//! A command is good once, and only for a while.

use crate::commands::base64;
use crate::fake::{NOW, OWNER, Rig};
use crate::name;
use ndnweir_net::mgmt::{
    CommandFormat, ControlParameters, Freshness, ManagementConfig, Requester, TrustAnchor, command_name, sign_command,
};
use ndnweir_wire::signature::{AntiReplay, DigestSha256, Ed25519Signer};
use ndnweir_wire::{InterestBuilder, Name};
use std::time::Duration;

fn register_a() -> Name {
    command_name(name("/localhost/nfd").as_view(), "rib", "register", &ControlParameters::of_name(name("/a")))
}

fn at(time: Duration, nonce: u64, format: CommandFormat) -> Vec<u8> {
    let freshness = Freshness { time, nonce: nonce.to_be_bytes() };
    sign_command(register_a().as_view(), format, &DigestSha256, freshness, Duration::from_secs(1)).unwrap()
}

fn outcome(rig: &mut Rig, wire: &[u8]) -> (u32, String) {
    let response = rig.answer(OWNER, wire).unwrap();
    (response.code, response.text)
}

#[test]
fn the_same_command_is_rejected_the_second_time_in_either_format() {
    for format in [CommandFormat::SignedInterest, CommandFormat::NameSuffix] {
        let mut rig = Rig::new(ManagementConfig::default());
        let wire = at(NOW.unix, 1, format);
        assert_eq!(outcome(&mut rig, &wire).0, 200);
        assert_eq!(outcome(&mut rig, &wire), (403, "the command has been seen before".to_owned()));
        assert_eq!(outcome(&mut rig, &at(NOW.unix, 2, format)).0, 200, "another nonce at the same time");
    }
}

#[test]
fn commands_may_overtake_each_other() {
    let mut rig = Rig::new(ManagementConfig::default());
    for millis in [30, 10, 20] {
        let time = NOW.unix + Duration::from_millis(millis);
        assert_eq!(outcome(&mut rig, &at(time, 1, CommandFormat::SignedInterest)).0, 200);
    }
}

#[test]
fn a_command_more_than_two_minutes_off_is_rejected() {
    let far = Duration::from_millis(120_001);
    for time in [NOW.unix - far, NOW.unix + far] {
        let mut rig = Rig::new(ManagementConfig::default());
        let (code, text) = outcome(&mut rig, &at(time, 1, CommandFormat::SignedInterest));
        assert_eq!(code, 403);
        assert!(text.contains("is the clock right?"), "{text}");
    }
}

#[test]
fn a_replay_stays_rejected_when_the_command_is_forgotten_for_its_age_or_for_its_number() {
    let mut rig = Rig::new(ManagementConfig::default());
    let wire = at(NOW.unix, 0, CommandFormat::SignedInterest);
    assert_eq!(outcome(&mut rig, &wire).0, 200);
    for nonce in 1..=1024 {
        let time = NOW.unix + Duration::from_millis(nonce);
        assert_eq!(outcome(&mut rig, &at(time, nonce, CommandFormat::SignedInterest)).0, 200);
    }
    assert_eq!(outcome(&mut rig, &wire).0, 403, "pushed out by newer ones");

    let mut rig = Rig::new(ManagementConfig::default());
    assert_eq!(outcome(&mut rig, &wire).0, 200);
    rig.advance(Duration::from_secs(121));
    let later = at(rig.at.unix, 1, CommandFormat::SignedInterest);
    assert_eq!(outcome(&mut rig, &later).0, 200);
    assert_eq!(outcome(&mut rig, &wire).0, 403, "too old");
}

#[test]
fn a_command_without_a_time_is_rejected() {
    let mut rig = Rig::new(ManagementConfig::default());
    let (command, nonce) = (register_a(), [1; 8]);
    let untimed = AntiReplay { nonce: Some(&nonce), time: None, seq_num: Some(1) };
    let wire = InterestBuilder::new(command.as_view()).sign(&DigestSha256, untimed).unwrap();
    assert_eq!(outcome(&mut rig, &wire).0, 403);
}

#[test]
fn a_crowd_of_faces_does_not_keep_a_newcomer_out() {
    let mut rig = Rig::new(ManagementConfig::default());
    for face_id in 1000..2100 {
        rig.forwarder.faces.insert(face_id, crate::fake::face(face_id, "fd://1"));
        let from = Requester { face_id, ..OWNER };
        let wire = at(NOW.unix, face_id, CommandFormat::SignedInterest);
        assert_eq!(rig.answer(from, &wire).unwrap().code, 200);
    }
}

/// A rib/register that the key of a trust anchor signed at a time, as an unknown peer recorded it.
fn of_anchor(signer: &Ed25519Signer, time: Duration, nonce: u64) -> Vec<u8> {
    let freshness = Freshness { time, nonce: nonce.to_be_bytes() };
    let lifetime = Duration::from_secs(1);
    sign_command(register_a().as_view(), CommandFormat::SignedInterest, signer, freshness, lifetime).unwrap()
}

const UNKNOWN_PEER: Requester = Requester { face_id: 301, local: true, owner: false, registers: false };

// The clock is an hour ahead for a while, by a fault or a forged time source.
#[test]
fn a_clock_that_is_set_ahead_and_back_allows_no_replays_and_no_lockout() {
    let signer = Ed25519Signer::from_seed(&[9; 32], Some(name("/op/KEY/1")));
    let spki = base64(&signer.verifier().to_spki_der().unwrap());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{spki}\n-----END PUBLIC KEY-----\n");
    let anchor = TrustAnchor::from_pem(&pem, None).unwrap();
    let mut rig = Rig::new(ManagementConfig { trust_anchors: vec![anchor], ..ManagementConfig::default() });
    rig.forwarder.faces.insert(UNKNOWN_PEER.face_id, crate::fake::face(UNKNOWN_PEER.face_id, "fd://1"));
    let code = |rig: &mut Rig, from, wire: &[u8]| rig.answer(from, wire).unwrap().code;
    let recorded = of_anchor(&signer, NOW.unix + Duration::from_secs(1), 1);
    rig.advance(Duration::from_secs(1));
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &recorded), 200);
    let hour = Duration::from_secs(3600);
    rig.at.unix += hour;
    // Now what is an hour old is removed.
    let ahead = of_anchor(&signer, rig.at.unix, 2);
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &ahead), 200);
    let own = at(rig.at.unix, 2, CommandFormat::SignedInterest);
    assert_eq!(code(&mut rig, OWNER, &own), 200);
    rig.at.unix -= hour;
    rig.advance(Duration::from_secs(1));
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &recorded), 403, "recorded before the clock was wrong");
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &ahead), 403, "and while it was");
    let (new, own) = (of_anchor(&signer, rig.at.unix, 3), at(rig.at.unix, 3, CommandFormat::SignedInterest));
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &new), 200);
    assert_eq!(code(&mut rig, OWNER, &own), 200);
    // An hour behind, only the owner may.
    rig.at.unix -= hour;
    let (late, own) = (of_anchor(&signer, rig.at.unix, 4), at(rig.at.unix, 4, CommandFormat::SignedInterest));
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &recorded), 403);
    assert_eq!(code(&mut rig, UNKNOWN_PEER, &late), 403, "from before the forwarder started");
    assert_eq!(code(&mut rig, OWNER, &own), 200);
}

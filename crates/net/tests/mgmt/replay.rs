//! A command is good once, and only for a while.

use crate::fake::{NOW, OWNER, Rig};
use crate::name;
use ndnweir_net::mgmt::{CommandFormat, Config, ControlParameters, Freshness, Requester, command_name, sign_command};
use ndnweir_wire::signature::{AntiReplay, DigestSha256};
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
fn the_same_command_is_refused_the_second_time_in_either_format() {
    for format in [CommandFormat::SignedInterest, CommandFormat::NameSuffix] {
        let mut rig = Rig::new(Config::default());
        let wire = at(NOW.unix, 1, format);
        assert_eq!(outcome(&mut rig, &wire).0, 200);
        assert_eq!(outcome(&mut rig, &wire), (403, "the command has been seen before".to_owned()));
        assert_eq!(outcome(&mut rig, &at(NOW.unix, 2, format)).0, 200, "another nonce at the same time");
    }
}

#[test]
fn commands_may_overtake_each_other() {
    let mut rig = Rig::new(Config::default());
    for millis in [30, 10, 20] {
        let time = NOW.unix + Duration::from_millis(millis);
        assert_eq!(outcome(&mut rig, &at(time, 1, CommandFormat::SignedInterest)).0, 200);
    }
}

#[test]
fn a_command_more_than_two_minutes_off_is_refused() {
    let far = Duration::from_millis(120_001);
    for time in [NOW.unix - far, NOW.unix + far] {
        let mut rig = Rig::new(Config::default());
        let (code, text) = outcome(&mut rig, &at(time, 1, CommandFormat::SignedInterest));
        assert_eq!(code, 403);
        assert!(text.contains("is the clock right?"), "{text}");
    }
}

#[test]
fn a_replay_stays_refused_when_the_command_is_forgotten_for_its_age_or_for_its_number() {
    let mut rig = Rig::new(Config::default());
    let wire = at(NOW.unix, 0, CommandFormat::SignedInterest);
    assert_eq!(outcome(&mut rig, &wire).0, 200);
    for nonce in 1..=1024 {
        let time = NOW.unix + Duration::from_millis(nonce);
        assert_eq!(outcome(&mut rig, &at(time, nonce, CommandFormat::SignedInterest)).0, 200);
    }
    assert_eq!(outcome(&mut rig, &wire).0, 403, "pushed out by newer ones");

    let mut rig = Rig::new(Config::default());
    assert_eq!(outcome(&mut rig, &wire).0, 200);
    rig.advance(Duration::from_secs(121));
    let later = at(rig.at.unix, 1, CommandFormat::SignedInterest);
    assert_eq!(outcome(&mut rig, &later).0, 200);
    assert_eq!(outcome(&mut rig, &wire).0, 403, "too old");
}

#[test]
fn a_command_without_a_time_is_refused() {
    let mut rig = Rig::new(Config::default());
    let (command, nonce) = (register_a(), [1; 8]);
    let untimed = AntiReplay { nonce: Some(&nonce), time: None, seq_num: Some(1) };
    let wire = InterestBuilder::new(command.as_view()).sign(&DigestSha256, untimed).unwrap();
    assert_eq!(outcome(&mut rig, &wire).0, 403);
}

#[test]
fn a_crowd_of_faces_does_not_keep_a_newcomer_out() {
    let mut rig = Rig::new(Config::default());
    for face_id in 1000..2100 {
        rig.forwarder.faces.insert(face_id, crate::fake::face(face_id, "fd://1"));
        let from = Requester { face_id, ..OWNER };
        let wire = at(NOW.unix, face_id, CommandFormat::SignedInterest);
        assert_eq!(rig.answer(from, &wire).unwrap().code, 200);
    }
}

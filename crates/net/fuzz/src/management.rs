//! What the target of the management does with its input.

#[allow(dead_code, clippy::duplicate_mod, reason = "shared with the tests of the protocol, which use all of it")]
#[path = "../../tests/mgmt/fake.rs"]
mod fake;

use fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER};
use ndnweir_net::mgmt::{Announcement, ManagementConfig};
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::{AntiReplay, DigestSha256};
use ndnweir_wire::tlv::write_element;
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, Name};
use std::time::Duration;

const VERBS: [&str; 17] = [
    "faces/create",
    "faces/update",
    "faces/destroy",
    "faces/query",
    "faces/list",
    "faces/channels",
    "faces/events",
    "fib/add-nexthop",
    "fib/remove-nexthop",
    "rib/register",
    "rib/unregister",
    "rib/list",
    "strategy-choice/set",
    "strategy-choice/unset",
    "cs/config",
    "cs/erase",
    "status/general",
];

/// Reads the input as requests of the owner, an on-demand peer and a neighbour: well-signed commands with any
/// parameters, announcements with any content, datasets with any filter, and any bytes as a packet. Answers must fit
/// their Interests, only the owner's commands may be done, and the bounds must hold throughout.
pub fn management(input: &[u8]) {
    let mut rig = Rig::new(ManagementConfig { localhop: true, max_routes: 8, ..ManagementConfig::default() });
    let mut rest = input;
    while let [op, verb, len, tail @ ..] = rest {
        let (bytes, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let from = [OWNER, UNKNOWN_PEER, NEIGHBOUR][usize::from(op >> 2) % 3];
        let packet = match op & 3 {
            0 => bytes.to_vec(),
            1 => dataset(VERBS[usize::from(*verb) % VERBS.len()], bytes),
            2 => announcement(&mut rig, *verb, bytes),
            _ => command(&mut rig, VERBS[usize::from(*verb) % VERBS.len()], bytes),
        };
        let Ok(interest) = InterestView::decode_unchecked_digest(&packet) else { continue };
        let done = rig.management.counters().done;
        if let Some(data) = rig.packet(from, &packet) {
            assert!(data.len() <= MAX_PACKET_SIZE);
            assert!(interest.matches(&DataView::decode(&data).expect("what is sent decodes")));
        }
        assert!(from == OWNER || rig.management.counters().done == done);
        assert!(rig.management.rib().len() <= 8);
    }
}

/// A command with any bytes as its parameters, or with an announcement of any content.
fn announcement(rig: &mut Rig, kind: u8, bytes: &[u8]) -> Vec<u8> {
    const NAMES: [&str; 4] =
        ["/a/32=PA/v=1/seg=0", "/32=PA/v=2/seg=0", "/a/b/32=PA/v=1/seg=0", "/a/32=PA/v=1/seg=0/more"];
    let of: Name = NAMES[usize::from(kind >> 1) % NAMES.len()].parse().expect("a name");
    let typ = 5 - u64::from(kind >> 7);
    let data = DataBuilder::new(of.as_view()).content_type(typ).content(bytes).sign(&DigestSha256);
    let parameters = if kind & 1 == 0 { data.expect("digests sign") } else { bytes.to_vec() };
    if let Ok(data) = DataView::decode(&parameters)
        && let Ok(read) = Announcement::decode(&data)
    {
        let again = read.sign(1, &DigestSha256).expect("digests sign");
        let again = DataView::decode(&again).expect("what is signed decodes");
        assert_eq!(Announcement::decode(&again), Ok(read.clone()));
        assert!(read.valid_for(rig.at.unix).is_none_or(|lasts| lasts <= read.expiration));
    }
    rig.advance(Duration::from_millis(1));
    let top = if kind & 64 == 0 { "/localhost" } else { "/localhop" };
    let name: Name = format!("{top}/nfd/rib/announce").parse().expect("a name");
    let anti_replay = AntiReplay { nonce: Some(&[kind]), time: Some(rig.at.unix), seq_num: None };
    let command = InterestBuilder::new(name.as_view()).application_parameters(&parameters);
    command.sign(&DigestSha256, anti_replay).expect("digests sign")
}

fn of_verb(verb: &str, last: Vec<u8>) -> Name {
    let parts = ["localhost", "nfd"].into_iter().chain(verb.split('/')).map(Component::generic);
    parts.chain([Component::generic(last)]).fold(Name::new(), Name::with)
}

fn dataset(verb: &str, filter: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    write_element(&mut element, 150, filter);
    let name = of_verb(verb, element);
    let count = if verb == "faces/query" { 5 } else { 4 };
    let builder = InterestBuilder::new(name.as_view().prefix(count)).can_be_prefix(true);
    builder.encode().unwrap_or_default()
}

fn command(rig: &mut Rig, verb: &str, parameters: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    write_element(&mut element, 104, parameters);
    rig.signed(&of_verb(verb, element), &DigestSha256)
}

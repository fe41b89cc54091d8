//! What the fuzz target does with its input. `tests/mgmt/fuzz_entries.rs` of the crate runs the same function on a
//! seeded generator, so that it is also run where no nightly compiler is.

#[allow(dead_code, reason = "shared with the tests of the protocol, which use all of it")]
#[path = "../../tests/mgmt/fake.rs"]
mod fake;

use fake::{NEIGHBOUR, OWNER, Rig, STRANGER};
use ndnweir_net::mgmt::Config;
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::tlv::write_element;
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, Name};

const VERBS: [&str; 16] = [
    "faces/create",
    "faces/update",
    "faces/destroy",
    "faces/query",
    "faces/list",
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

/// Reads the input as requests of the owner, a stranger and a neighbour: well-signed commands with any parameters,
/// datasets with any filter, and any bytes as a packet. Answers must fit their Interests, only the owner's commands may
/// be done, and the bounds must hold throughout.
pub fn management(input: &[u8]) {
    let mut rig = Rig::new(Config { localhop: true, max_routes: 8, ..Config::default() });
    let mut rest = input;
    while let [op, verb, len, tail @ ..] = rest {
        let (bytes, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let from = [OWNER, STRANGER, NEIGHBOUR][usize::from(op >> 2) % 3];
        let packet = match op & 3 {
            0 => bytes.to_vec(),
            1 => dataset(VERBS[usize::from(*verb) % VERBS.len()], bytes),
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

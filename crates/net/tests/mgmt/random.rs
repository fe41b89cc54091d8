//! Whatever arrives, management answers or drops it: no panic, no state that grows without bound, no command done
//! without authority.

use crate::fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER};
use crate::name;
use ndnweir_net::mgmt::dataset::{
    ChannelStatus, CsInfo, FaceEvent, FaceQuery, FaceStatus, FibEntry, ForwarderStatus, Item, RibEntry, StrategyChoice,
    decode_all,
};
use ndnweir_net::mgmt::{ControlParameters, ControlResponse, ManagementConfig, command_name};
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::tlv::write_element;
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, Name};
use proptest::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

fn reads_back<T: Item + PartialEq + Debug>(bytes: &[u8]) {
    let Ok(items) = decode_all::<T>(bytes) else { return };
    let mut written = Vec::new();
    items.iter().for_each(|item| item.write(&mut written));
    assert_eq!(decode_all::<T>(&written), Ok(items));
}

/// Elements with the protocol's own types, nested now and then, so that readers get beyond the first byte.
fn elements() -> impl Strategy<Value = Vec<u8>> {
    let typ = prop_oneof![Just(7u32), Just(8), 101u32..138, 144u32..155, 192u32..194, 1u32..300];
    let value = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..9),
        Just(b"udp4://192.0.2.1:6363".to_vec()),
        (1u32..200, prop::collection::vec(any::<u8>(), 0..5)).prop_map(|(typ, value)| {
            let mut out = Vec::new();
            write_element(&mut out, typ, &value);
            out
        }),
    ];
    let one = (typ, value).prop_map(|(typ, value)| {
        let mut out = Vec::new();
        write_element(&mut out, typ, &value);
        out
    });
    prop::collection::vec(one, 0..20).prop_map(|all| all.concat())
}

fn parameters() -> impl Strategy<Value = ControlParameters> {
    let number = || prop::option::of(prop_oneof![0u64..10, Just(300u64), any::<u64>()]);
    let uri = prop::option::of(prop_oneof![Just("udp4://192.0.2.7:1".to_owned()), ".{0,20}"]);
    let prefix = prop::option::of(
        prop::collection::vec("[a-c]", 0..40)
            .prop_map(|parts| parts.into_iter().map(Component::generic).fold(Name::new(), Name::with)),
    );
    let numbers = (number(), number(), number(), number(), number(), number(), number(), number(), number());
    (prefix, uri, numbers).prop_map(|(name, uri, n)| ControlParameters {
        strategy: name.clone().filter(|_| n.0.is_some()),
        name,
        uri,
        face_id: n.0,
        origin: n.1,
        cost: n.2,
        flags: n.3,
        mask: n.4,
        expiration_period: n.5.map(Duration::from_millis),
        face_persistency: n.6,
        count: n.7,
        mtu: n.8,
        ..ControlParameters::default()
    })
}

const VERBS: [(&str, &str); 13] = [
    ("faces", "create"),
    ("faces", "update"),
    ("faces", "destroy"),
    ("faces", "query"),
    ("fib", "add-nexthop"),
    ("fib", "remove-nexthop"),
    ("rib", "register"),
    ("rib", "unregister"),
    ("rib", "list"),
    ("strategy-choice", "set"),
    ("strategy-choice", "unset"),
    ("cs", "config"),
    ("cs", "erase"),
];

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), elements()]) {
        let mut wrapped = Vec::new();
        for typ in [101, 104, 128, 130, 150, 192] {
            write_element(&mut wrapped, typ, &bytes);
            for bytes in [&bytes, &wrapped] {
                reads_back::<FaceStatus>(bytes);
                reads_back::<FaceEvent>(bytes);
                reads_back::<FibEntry>(bytes);
                reads_back::<RibEntry>(bytes);
                reads_back::<StrategyChoice>(bytes);
                reads_back::<CsInfo>(bytes);
                reads_back::<ChannelStatus>(bytes);
                if let Ok(read) = ControlParameters::decode(bytes) {
                    prop_assert_eq!(ControlParameters::decode(&read.encode()), Ok(read));
                }
                if let Ok(read) = ControlResponse::decode(bytes) {
                    prop_assert_eq!(ControlResponse::decode(&read.encode()), Ok(read));
                }
                if let Ok(read) = FaceQuery::decode(bytes) {
                    prop_assert_eq!(FaceQuery::decode(&read.encode()), Ok(read));
                }
                if let Ok(read) = ForwarderStatus::decode(bytes) {
                    prop_assert_eq!(ForwarderStatus::decode(&read.encode()), Ok(read));
                }
            }
            wrapped.clear();
        }
    }

    #[test]
    fn any_interest_under_the_prefixes_is_answered_or_dropped(
        parts in prop::collection::vec(prop_oneof![Just(b"rib".to_vec()), Just(b"faces".to_vec()), Just(b"list".to_vec()),
            Just(b"register".to_vec()), Just(b"query".to_vec()), Just(b"events".to_vec()), elements()], 0..10),
        hop in any::<bool>(),
        can_be_prefix in any::<bool>(),
        parameters in prop::option::of(elements()),
    ) {
        let mut rig = Rig::new(ManagementConfig { localhop: true, ..ManagementConfig::default() });
        let top = name(if hop { "/localhop/nfd" } else { "/localhost/nfd" });
        let name = parts.iter().fold(top, |name, part| name.with(Component::generic(part)));
        let mut builder = InterestBuilder::new(name.as_view()).can_be_prefix(can_be_prefix);
        if let Some(parameters) = &parameters {
            builder = builder.application_parameters(parameters);
        }
        let wire = builder.encode().unwrap();
        for from in [OWNER, UNKNOWN_PEER, NEIGHBOUR] {
            if let Some(data) = rig.packet(from, &wire) {
                let interest = InterestView::decode(&wire).unwrap();
                prop_assert!(interest.matches(&DataView::decode(&data).unwrap()));
                prop_assert!(data.len() <= MAX_PACKET_SIZE);
            }
        }
        prop_assert_eq!((rig.management.counters().done, rig.management.rib().len()), (0, 0));
    }

    #[test]
    fn after_any_commands_fib_and_rib_agree_and_on_demand_peers_changed_nothing(
        steps in prop::collection::vec((0usize..VERBS.len(), parameters(), 0usize..3), 1..40),
    ) {
        let mut rig = Rig::new(ManagementConfig { localhop: true, max_routes: 8, ..ManagementConfig::default() });
        for (verb, parameters, from) in steps {
            let (module, verb) = VERBS[verb];
            let command = command_name(name("/localhost/nfd").as_view(), module, verb, &parameters);
            let wire = rig.signed(&command, &DigestSha256);
            let from = [OWNER, UNKNOWN_PEER, NEIGHBOUR][from];
            let before = rig.management.counters().done;
            rig.packet(from, &wire);
            prop_assert!(from == OWNER || rig.management.counters().done == before);
            if !rig.forwarder.faces.contains_key(&OWNER.face_id) {
                break;
            }
            prop_assert!(rig.management.rib().len() <= 8);
            for entry in rig.management.rib().list(rig.at.now) {
                for route in &entry.routes {
                    prop_assert!(rig.forwarder.faces.contains_key(&route.face_id));
                }
            }
        }
    }
}

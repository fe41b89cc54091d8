//! Datasets of a forwarder: bytes, segments, notifications.

use crate::fake::{NEIGHBOUR, OWNER, Rig, UNKNOWN_PEER, face};
use crate::{hex, name};
use ndnweir_net::mgmt::dataset::{
    ChannelStatus, CsInfo, FaceCounters, FaceEvent, FaceEventKind, FaceQuery, FaceStatus, FibEntry, ForwarderStatus,
    Item, LinkType, NextHop, Persistency, RibEntry, RouteRecord, Scope, StrategyChoice, decode_all, encode_all,
};
use ndnweir_net::mgmt::{ControlParameters, ControlResponse, ManagementConfig};
use ndnweir_wire::data::content_type;
use ndnweir_wire::{Component, DataView, InterestBuilder};
use std::fmt::Debug;
use std::time::Duration;

// Put together by a separate script from the protocol's pages.
const FACE: &str = "806d6902012c7215756470343a2f2f3139322e302e322e313a363336338115756470343a2f2f3139322e302e322e323a363336336d02ea60840100850101860102870405f5e100880400010000890205789001019101029701039201049301059801069404000111709501086c0104";
// The item and its LocalUri, with the length of "udp4://0.0.0.0:6363".
const CHANNEL: &str = "82158113756470343a2f2f302e302e302e303a36333633";
const EVENT: &str = "c041c101026902012c7215756470343a2f2f3139322e302e322e313a363336338115756470343a2f2f3139322e302e322e323a363336338401008501018601026c0104";
const FIB: &str = "8016070308016181066901016a010a81076902012c6a0100";
const RIB: &str = "80280706080161080162810c6901016f01006a01076c010181106901026f01ff6a01076c01016d0205dc";
const STRATEGY: &str = "800c07006b080706080173360105";
const CS: &str = "80128304000100006c010387010a810104820105";
const STATUS: &str = "8003782d3181080000018bcfe5680082080000018bcfe56ddc83010184010285010386010487010590010691010797010892010993010a98010b99010c9a010d";
const QUERY: &str = "960c830475647034840100850102";

fn same_bytes<T: Item + PartialEq + Debug>(item: T, bytes: &str) {
    let mut written = Vec::new();
    item.write(&mut written);
    assert_eq!(written, hex(bytes), "{item:?}");
    assert_eq!(decode_all::<T>(&hex(bytes)), Ok(vec![item]));
}

#[test]
fn every_item_has_the_bytes_of_the_protocol() {
    same_bytes(
        FaceStatus {
            face_id: 300,
            remote_uri: "udp4://192.0.2.1:6363".into(),
            local_uri: "udp4://192.0.2.2:6363".into(),
            expiration_period: Some(Duration::from_secs(60)),
            scope: Scope::NonLocal,
            persistency: Persistency::OnDemand,
            link_type: LinkType::AdHoc,
            base_congestion_marking_interval: Some(Duration::from_millis(100)),
            default_congestion_threshold: Some(65536),
            mtu: Some(1400),
            counters: FaceCounters {
                in_interests: 1,
                in_data: 2,
                in_nacks: 3,
                out_interests: 4,
                out_data: 5,
                out_nacks: 6,
                in_bytes: 70000,
                out_bytes: 8,
                ..FaceCounters::default()
            },
            flags: 4,
        },
        FACE,
    );
    same_bytes(
        FaceEvent {
            kind: FaceEventKind::Destroyed,
            face_id: 300,
            remote_uri: "udp4://192.0.2.1:6363".into(),
            local_uri: "udp4://192.0.2.2:6363".into(),
            scope: Scope::NonLocal,
            persistency: Persistency::OnDemand,
            link_type: LinkType::AdHoc,
            flags: 4,
        },
        EVENT,
    );
    same_bytes(ChannelStatus { local_uri: "udp4://0.0.0.0:6363".into() }, CHANNEL);
    let hop = |face_id, cost| NextHop { face_id, cost };
    same_bytes(FibEntry { name: name("/a"), next_hops: vec![hop(1, 10), hop(300, 0)] }, FIB);
    let route =
        |face_id, origin, expiration_period| RouteRecord { face_id, origin, cost: 7, flags: 1, expiration_period };
    let routes = vec![route(1, 0, None), route(2, 255, Some(Duration::from_millis(1500)))];
    same_bytes(RibEntry { name: name("/a/b"), routes }, RIB);
    same_bytes(StrategyChoice { name: name("/"), strategy: name("/s/v=5") }, STRATEGY);
    same_bytes(CsInfo { capacity: 65536, flags: 3, entries: 10, hits: 4, misses: 5 }, CS);
}

#[test]
fn the_general_status_has_the_bytes_of_the_protocol() {
    let status = ForwarderStatus {
        version: "x-1".into(),
        started: Duration::from_millis(1_700_000_000_000),
        now: Duration::from_millis(1_700_000_001_500),
        name_tree_entries: 1,
        fib_entries: 2,
        pit_entries: 3,
        measurements_entries: 4,
        cs_entries: 5,
        in_interests: 6,
        in_data: 7,
        in_nacks: 8,
        out_interests: 9,
        out_data: 10,
        out_nacks: 11,
        satisfied_interests: 12,
        unsatisfied_interests: 13,
        ..ForwarderStatus::default()
    };
    assert_eq!(status.encode(), hex(STATUS));
    let counts = ForwarderStatus { rejected_interests: 4, rejected_for_memory: 3, memory_drops: 2, ..status.clone() };
    let counts = ForwarderStatus { unsolicited_data: 1, ..counts };
    assert_eq!(ForwarderStatus::decode(&counts.encode()), Ok(counts));
    assert_eq!(ForwarderStatus::decode(&hex(STATUS)), Ok(status));
}

#[test]
fn a_query_has_the_bytes_of_the_protocol_and_picks_the_faces_that_fit_all_of_it() {
    let query = FaceQuery {
        uri_scheme: Some("udp4".into()),
        scope: Some(Scope::NonLocal),
        persistency: Some(Persistency::Permanent),
        ..FaceQuery::default()
    };
    assert_eq!(query.encode(), hex(QUERY));
    assert_eq!(FaceQuery::decode(&hex(QUERY)), Ok(query.clone()));
    let udp = face(1, "udp4://192.0.2.1:6363");
    assert!(!query.matches(&udp));
    assert!(query.matches(&FaceStatus { persistency: Persistency::Permanent, ..udp.clone() }));
    assert!(FaceQuery::default().matches(&udp));
    assert!(FaceQuery { uri_scheme: Some("unix".into()), ..FaceQuery::default() }.matches(&udp), "this end counts too");
    assert!(!FaceQuery { face_id: Some(2), ..FaceQuery::default() }.matches(&udp));
}

#[test]
fn a_large_dataset_comes_in_segments_of_one_version_that_stays_as_it_was() {
    let mut rig = Rig::new(ManagementConfig::default());
    for i in 0..1000 {
        rig.forwarder.faces.insert(1000 + i, face(1000 + i, "udp4://192.0.2.1:6363"));
    }
    let faces: Vec<FaceStatus> = rig.forwarder.faces.values().cloned().collect();
    let content = rig.fetch(UNKNOWN_PEER, &name("/localhost/nfd/faces/list")).unwrap();
    assert!(content.len() > 70_000);
    assert_eq!(decode_all::<FaceStatus>(&content), Ok(faces));

    let ask = InterestBuilder::new(name("/localhost/nfd/faces/list").as_view()).can_be_prefix(true).encode().unwrap();
    let first = rig.packet(OWNER, &ask).unwrap();
    let second_segment =
        DataView::decode(&first).unwrap().name().parent().unwrap().to_owned().with(Component::segment(1));
    rig.forwarder.faces.clear();
    let newer = rig.packet(OWNER, &ask).unwrap();
    assert!(DataView::decode(&newer).unwrap().name() > DataView::decode(&first).unwrap().name());
    let wire = InterestBuilder::new(second_segment.as_view()).encode().unwrap();
    let data = rig.packet(OWNER, &wire).unwrap();
    assert_eq!(DataView::decode(&data).unwrap().content().len(), 7000);
}

#[test]
fn an_empty_dataset_is_one_empty_segment() {
    let mut rig = Rig::new(ManagementConfig::default());
    assert_eq!(rig.fetch(OWNER, &name("/localhost/nfd/rib/list")), Some(Vec::new()));
}

#[test]
fn each_dataset_shows_its_table() {
    let mut rig = Rig::new(ManagementConfig::default());
    assert_eq!(rig.command("rib/register", &ControlParameters::of_name(name("/a"))).0, 200);
    let mut fetch = |what: &str| {
        rig.fetch(
            OWNER,
            &name("/localhost/nfd")
                .with(Component::generic(what.split_once('/').unwrap().0))
                .with(Component::generic(what.split_once('/').unwrap().1)),
        )
        .unwrap()
    };
    let fib = decode_all::<FibEntry>(&fetch("fib/list")).unwrap();
    assert_eq!(fib, [FibEntry { name: name("/a"), next_hops: vec![NextHop { face_id: 7, cost: 0 }] }]);
    let rib = decode_all::<RibEntry>(&fetch("rib/list")).unwrap();
    assert_eq!((rib.len(), rib[0].routes[0].flags), (1, 1));
    assert_eq!(decode_all::<StrategyChoice>(&fetch("strategy-choice/list")).unwrap().len(), 1);
    assert_eq!(decode_all::<CsInfo>(&fetch("cs/info")).unwrap()[0].entries, 40);
    let status = ForwarderStatus::decode(&fetch("status/general")).unwrap();
    assert_eq!((status.version.as_str(), status.fib_entries, status.now), ("fake", 1, rig.at.unix));
}

#[test]
fn a_query_for_faces_is_a_dataset_and_a_malformed_one_gets_a_nack_with_400() {
    let mut rig = Rig::new(ManagementConfig::default());
    let filter = FaceQuery { scope: Some(Scope::Local), ..FaceQuery::default() };
    let query = name("/localhost/nfd/faces/query").with(Component::generic(filter.encode()));
    let content = rig.fetch(OWNER, &query).unwrap();
    let ids: Vec<u64> = decode_all::<FaceStatus>(&content).unwrap().iter().map(|face| face.face_id).collect();
    assert_eq!(ids, [7, 8]);
    let bad =
        InterestBuilder::new(name("/localhost/nfd/faces/query/x").as_view()).can_be_prefix(true).encode().unwrap();
    let data = rig.packet(OWNER, &bad).unwrap();
    let data = DataView::decode(&data).unwrap();
    assert_eq!(data.content_type(), content_type::NACK);
    assert_eq!(ControlResponse::decode(data.content()).unwrap().code, 400);
}

#[test]
fn a_dataset_is_not_sent_to_other_machines_or_where_it_would_not_fit() {
    let mut rig = Rig::new(ManagementConfig::default());
    assert_eq!(rig.fetch(NEIGHBOUR, &name("/localhost/nfd/faces/list")), None);
    let exact = InterestBuilder::new(name("/localhost/nfd/faces/list").as_view()).encode().unwrap();
    assert_eq!(rig.packet(OWNER, &exact), None);
}

#[test]
fn old_datasets_make_room_for_new_ones() {
    let mut rig = Rig::new(ManagementConfig::default());
    let ask = InterestBuilder::new(name("/localhost/nfd/cs/info").as_view()).can_be_prefix(true).encode().unwrap();
    let names: Vec<_> = (0..17)
        .map(|_| rig.packet(OWNER, &ask).unwrap())
        .map(|data| DataView::decode(&data).unwrap().name().to_owned())
        .collect();
    let mut has = |at: usize| rig.packet(OWNER, &InterestBuilder::new(names[at].as_view()).encode().unwrap()).is_some();
    assert_eq!((has(0), has(1), has(16)), (false, true, true));
}

#[test]
fn face_events_are_numbered_notifications_that_late_subscribers_can_still_fetch() {
    let mut rig = Rig::new(ManagementConfig::default());
    let new = face(9, "udp4://192.0.2.1:6363");
    for number in 0..65 {
        let data = rig.management.face_event(FaceEventKind::Created, &new, &mut rig.forwarder).unwrap();
        let expected = name("/localhost/nfd/faces/events").with(Component::sequence_num(number));
        assert_eq!(DataView::decode(&data).unwrap().name(), expected.as_view());
    }
    let mut fetch = |number| {
        let name = name("/localhost/nfd/faces/events").with(Component::sequence_num(number));
        rig.packet(OWNER, &InterestBuilder::new(name.as_view()).encode().unwrap())
    };
    assert_eq!((fetch(0), fetch(65)), (None, None));
    let data = fetch(64).unwrap();
    let events = decode_all::<FaceEvent>(DataView::decode(&data).unwrap().content()).unwrap();
    assert_eq!(events, [FaceEvent::of(FaceEventKind::Created, &new)]);
}

#[test]
fn items_of_another_kind_and_items_without_their_fields_are_rejected() {
    assert!(decode_all::<FibEntry>(&hex("8100")).is_err());
    assert!(decode_all::<FibEntry>(&hex("8000")).is_err());
    assert!(decode_all::<FaceStatus>(&hex("8003690101")).is_err());
    assert!(encode_all::<FibEntry>(&[]).is_empty());
}

#[test]
fn channels_are_listed_to_applications() {
    let mut rig = Rig::new(ManagementConfig::default());
    let listed = rig.fetch(UNKNOWN_PEER, &name("/localhost/nfd/faces/channels")).unwrap();
    let channels: Vec<ChannelStatus> = decode_all(&listed).unwrap();
    let uris: Vec<&str> = channels.iter().map(|channel| channel.local_uri.as_str()).collect();
    assert_eq!(uris, ["udp4://0.0.0.0:6363", "unix:///run/nfd/nfd.sock"]);
}

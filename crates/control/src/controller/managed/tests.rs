//! Lists in the encoding that the NFD wiki publishes (FaceMgmt, FibMgmt, RibMgmt), as a forwarder answers with.

use super::*;
use crate::controller::mirror::{Event, FaceView, HopView};
use crate::proto::gnmi::Notification;
use ndnweir_core::units::Rate;
use ndnweir_net::mgmt::dataset::{FaceCounters, FaceStatus, FibEntry, NextHop, decode_all};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap();
    let long = [&[253], length.to_be_bytes().as_slice()].concat();
    let length = if length < 253 { vec![length as u8] } else { long };
    [&[kind], length.as_slice(), value].concat()
}

fn number(kind: u8, value: u32) -> Vec<u8> {
    tlv(kind, &value.to_be_bytes())
}

/// FaceStatus: FaceId, Uri, LocalUri, FaceScope, FacePersistency, LinkType, counters of packets and bytes, Flags.
fn face(id: u32, uri: &str, local: bool, out_data: u32, out_bytes: u32) -> Vec<u8> {
    let counters = [144, 145, 151, 146, 147, 152].map(|kind| number(kind, if kind == 147 { out_data } else { 0 }));
    let fields = [
        number(105, id),
        tlv(114, uri.as_bytes()),
        tlv(129, b"udp4://192.0.2.9:6363"),
        number(132, local.into()),
        number(133, 0),
        number(134, 0),
        counters.concat(),
        number(148, 0),
        number(149, out_bytes),
        number(108, 0),
    ];
    tlv(128, &fields.concat())
}

fn name(text: &str) -> Vec<u8> {
    tlv(7, &text.split('/').skip(1).flat_map(|part| tlv(8, part.as_bytes())).collect::<Vec<u8>>())
}

/// FibEntry: Name and NextHopRecords of FaceId and Cost.
fn fib(prefix: &str, hops: &[(u32, u32)]) -> Vec<u8> {
    let hops = hops.iter().flat_map(|(face, cost)| tlv(129, &[number(105, *face), number(106, *cost)].concat()));
    tlv(128, &[name(prefix), hops.collect()].concat())
}

/// RibEntry: Name and Routes of FaceId, Origin, Cost and Flags.
fn rib(prefix: &str, routes: &[(u32, u32, u32)]) -> Vec<u8> {
    let route = |&(face, origin, cost): &(u32, u32, u32)| {
        tlv(129, &[number(105, face), number(111, origin), number(106, cost), number(108, 1)].concat())
    };
    tlv(128, &[name(prefix), routes.iter().flat_map(route).collect()].concat())
}

const EAST: &str = "udp4://192.0.2.1:6363";
const PREFIX: &str = "/t";

/// The lists requested at `ms`, in their version `version`.
fn lists(ms: u64, version: u64, (out_data, out_bytes): (u32, u32), hops: &[(u32, u32)]) -> Lists {
    let faces = [face(256, "unix:///run/nfd/nfd.sock", true, 0, 0), face(257, EAST, false, out_data, out_bytes)];
    let version = format!("/localhost/nfd/faces/list/v={version}").parse().unwrap();
    Lists {
        at: Duration::from_millis(ms),
        version: Some(version),
        faces: decode_all(&faces.concat()).unwrap(),
        fib: decode_all(&fib(PREFIX, hops)).unwrap(),
        // Of two routes to one face the cheaper counts; 258 has none.
        rib: decode_all(&rib(PREFIX, &[(257, 255, 7), (257, 0, 3)])).unwrap(),
    }
}

fn view() -> View {
    View::new(BTreeMap::from([(EAST.to_owned(), Rate::from_bps(10_000_000))]), 0.85)
}

fn hops(mirror: &Mirror) -> Vec<(u64, Option<u32>, Option<u32>)> {
    mirror.fib[&PREFIX.parse::<Name>().unwrap()].iter().map(|(face, hop)| (*face, hop.cost, hop.route_cost)).collect()
}

#[test]
fn lists_of_nfd_become_what_a_router_with_gnmi_reports() {
    let (mut view, mut mirror) = (view(), Mirror::default());
    mirror.take(&view.take(lists(1000, 1, (0, 0), &[(257, 3), (258, 9)])));
    let east = FaceView { remote: Some(EAST.into()), rate: Some(10_000_000), up: true, ..FaceView::default() };
    assert_eq!(mirror.faces[&257], east, "no utilisation before the second list");
    assert!(mirror.faces[&256].local && mirror.faces[&256].rate.is_none());
    assert_eq!(hops(&mirror), [(257, Some(3), Some(3)), (258, Some(9), Some(9))]);
    // 500 packets of 1222 bytes, and 28 of UDP and IPv4 each, are 5 Mbit; in half a second of 10 Mbit/s that is all.
    let events = mirror.take(&view.take(lists(1500, 2, (500, 500 * 1222), &[(257, 3), (258, 9)])));
    assert_eq!(events, [Event::Sample(257), Event::Signal(257)], "above 0.85");
    assert_eq!(mirror.faces[&257].utilization, Some(1.0));
    assert_eq!(mirror.faces[&257].occupancy, None, "NFD does not report queues");
    // The same version, from a cache: nothing was measured, though time has passed.
    assert_eq!(view.take(lists(2000, 2, (500, 500 * 1222), &[(257, 3), (258, 9)])).update, []);
    // 100 packets more in a second.
    let events = mirror.take(&view.take(lists(2500, 3, (600, 600 * 1222), &[(257, 3), (258, 9)])));
    assert_eq!((events, mirror.faces[&257].utilization), (vec![Event::Sample(257)], Some(0.1)));
    // A counter that is lower than before is another forwarder's.
    mirror.take(&view.take(lists(3000, 4, (0, 0), &[(257, 3)])));
    assert_eq!(mirror.faces[&257].utilization, Some(0.1));
    assert_eq!(hops(&mirror), [(257, Some(3), Some(3))], "a next hop that is gone");
    let gone = Lists { faces: Vec::new(), ..lists(3500, 5, (0, 0), &[(257, 3)]) };
    mirror.take(&view.take(gone));
    assert!(mirror.faces.is_empty());
}

#[test]
fn a_list_that_a_cache_may_have_kept_since_before_an_order_does_not_undo_it() {
    let mut view = view();
    let prefix: Name = PREFIX.parse().unwrap();
    view.take(lists(1000, 1, (0, 0), &[(257, 3), (258, 9)]));
    let costs = BTreeMap::from([(257, 500), (258, 100)]);
    view.ordered(&prefix, Some(&costs), Duration::from_millis(1200));
    assert_eq!(view.in_force(&prefix), Some(costs.clone()));
    let nothing: Notification = view.take(lists(1600, 1, (0, 0), &[(257, 3), (258, 9)]));
    assert!(nothing.update.is_empty() && view.in_force(&prefix) == Some(costs), "{nothing:?}");
    // 1.1 s after the order the list is a new one: a route has changed, and the order is not in force any more.
    let mut mirror = Mirror::default();
    mirror.take(&view.take(lists(2300, 3, (0, 0), &[(257, 3), (258, 9)])));
    assert_eq!(hops(&mirror)[0], (257, Some(3), None), "its route is as it was");
    assert_eq!(view.in_force(&prefix), Some(BTreeMap::from([(257, 3), (258, 9)])));
    assert_eq!(mirror.fib[&prefix][&258], HopView { cost: Some(9), ..HopView::default() });
}

#[test]
fn the_cost_before_the_first_order_stays_that_of_the_route_where_no_route_explains_it() {
    let (mut view, mut mirror) = (view(), Mirror::default());
    mirror.take(&view.take(lists(1000, 1, (0, 0), &[(257, 3), (258, 9)])));
    mirror.take(&view.take(lists(5000, 2, (0, 0), &[(257, 400), (258, 100)])));
    assert_eq!(hops(&mirror), [(257, Some(400), Some(3)), (258, Some(100), Some(9))]);
}

/// Lists of any numbers, and prefixes and URIs that are there or not.
fn any_lists() -> impl Strategy<Value = Lists> {
    let face = (0_u64..4, "(udp4://192.0.2.1:6363|.{0,12})", any::<u64>(), any::<u64>(), any::<u64>());
    let face = face.prop_map(|(face_id, remote_uri, out_data, out_interests, out_bytes)| {
        let counters = FaceCounters { out_data, out_interests, out_bytes, ..FaceCounters::default() };
        let found: Vec<FaceStatus> = decode_all(&self::face(1, EAST, false, 0, 0)).unwrap();
        FaceStatus { face_id, remote_uri, counters, ..found[0].clone() }
    });
    let entry = ("(/t|/t/u|/)", proptest::collection::vec((0_u64..4, any::<u64>()), 0..4));
    let entry = entry.prop_map(|(name, hops)| FibEntry {
        name: name.parse().unwrap(),
        next_hops: hops.into_iter().map(|(face_id, cost)| NextHop { face_id, cost }).collect(),
    });
    let (faces, fib) = (proptest::collection::vec(face, 0..5), proptest::collection::vec(entry, 0..4));
    (any::<u32>(), faces, fib).prop_map(|(at, faces, fib)| {
        let rib = decode_all(&rib(PREFIX, &[(2, 0, 7)])).unwrap();
        Lists { at: Duration::from_millis(at.into()), version: None, faces, fib, rib }
    })
}

proptest! {
    #[test]
    fn whatever_a_forwarder_lists_the_mirror_has_what_is_in_the_last_list_and_no_more(
        all in proptest::collection::vec(any_lists(), 1..6),
    ) {
        let (mut view, mut mirror) = (view(), Mirror::default());
        for lists in all {
            let faces: BTreeSet<u64> = lists.faces.iter().map(|face| face.face_id).collect();
            let hops: BTreeSet<(Name, u64)> = (lists.fib.iter())
                .flat_map(|entry| entry.next_hops.iter().map(|hop| (entry.name.clone(), hop.face_id)))
                .collect();
            mirror.take(&view.take(lists));
            prop_assert_eq!(mirror.faces.keys().copied().collect::<BTreeSet<_>>(), faces);
            let mirrored = mirror.fib.iter().flat_map(|(name, hops)| hops.keys().map(|face| (name.clone(), *face)));
            prop_assert_eq!(mirrored.collect::<BTreeSet<_>>(), hops);
        }
    }
}

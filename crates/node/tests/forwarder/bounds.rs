//! Floods: every table stays within its bound, and the forwarder works again afterwards.

use super::bench::*;
use ndnweir_node::FaceClass;
use ndnweir_node::forwarder::{FaceOptions, Reliability};
use ndnweir_node::header::FieldTrust;
use ndnweir_wire::lp::Fragmenter;
use ndnweir_wire::{LpHeader, NackReason};

const MEMORY: u64 = 1 << 20;

fn small() -> Bench {
    let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| {
        (config.memory, config.pit_limit, config.cache) = (bytes(MEMORY), 500, 2000);
    };
    let mut bench = Bench::with(&serde_json::json!({}), change, vec![local(), local(), remote()]);
    bench.route("/a", 1);
    bench
}

fn works(bench: &mut Bench) {
    bench.wait(10_000);
    bench.take();
    bench.receive(0, &interest("/a/still/here", 1));
    bench.receive(1, &data("/a/still/here", b"yes", 0));
    assert_eq!(bench.take().last(), Some(&(0, data("/a/still/here", b"yes", 0))));
    bench.check_empty();
}

#[test]
fn a_flood_of_long_names_meets_the_bounds_of_memory_and_of_pending_interests() {
    let mut bench = small();
    let long = "x".repeat(4000);
    for i in 0..2000 {
        bench.receive(2, &interest(&format!("/a/{long}/{i}"), i));
        assert!(bench.forwarder.counters().held_bytes <= MEMORY);
        bench.take();
    }
    let (counters, node) = (bench.forwarder.counters(), bench.forwarder.node().counters());
    assert!(node.pit_memory > 0 && counters.full == 0, "{counters:?} {node:?}");
    assert!(node.pit <= 500);
    works(&mut bench);
}

#[test]
fn a_flood_of_short_names_is_rejected_when_the_table_of_pending_interests_is_full() {
    let mut bench = small();
    for i in 0..800 {
        bench.receive(2, &interest(&format!("/a/{i}"), i));
    }
    // One face gets room as long as it holds less than 7 times what is free: 438 of 500, for 7 * 62 = 434.
    let rejected = bench
        .take()
        .into_iter()
        .filter(|(face, frame)| *face == 2 && open(frame).1.nack == Some(NackReason::Congestion));
    assert_eq!(rejected.count(), 800 - 438);
    // There is room for another face, and for the flood none yet.
    bench.receive(0, &interest("/a/other", 1));
    assert_eq!(bench.take(), [(1, interest("/a/other", 1))]);
    bench.receive(1, &data("/a/other", b"yes", 0));
    assert_eq!(bench.take(), [(0, data("/a/other", b"yes", 0))]);
    bench.receive(2, &interest("/a/more", 1));
    assert_eq!(open(&bench.take()[0].1).1.nack, Some(NackReason::Congestion));
    works(&mut bench);
}

#[test]
fn the_content_store_is_evicted_when_memory_is_short() {
    let mut bench = small();
    for i in 0..1000 {
        bench.receive(0, &interest(&format!("/a/seg={i}"), i));
        bench.receive(1, &data(&format!("/a/seg={i}"), &[1; 4000], 0));
        assert!(bench.forwarder.counters().held_bytes <= MEMORY);
    }
    assert_eq!(bench.take().len(), 2000, "none was lost");
    let node = bench.forwarder.node().counters();
    assert!((100..260).contains(&node.cache), "{} packets of 4 kB", node.cache);
    assert_eq!(bench.forwarder.counters().full, 0);
    works(&mut bench);
}

#[test]
fn unsolicited_data_and_incomplete_packets_take_no_room() {
    let mut bench = small();
    for i in 0..2000_u32 {
        bench.receive(2, &data(&format!("/a/{i}"), &[1; 1000], 0));
        let header = LpHeader {
            sequence: Some(u64::from(i) * 10),
            frag_index: Some(1),
            frag_count: Some(3),
            ..LpHeader::default()
        };
        bench.receive(2, &header.encode(Some(&[7; 1000])));
    }
    let counters = bench.forwarder.counters();
    assert_eq!((counters.unsolicited, counters.held_bytes), (2000, 0));
    works(&mut bench);
}

/// A fragment of a packet whose others do not follow.
fn lonely(sequence: u64) -> Vec<u8> {
    let header = LpHeader { sequence: Some(sequence), frag_index: Some(0), frag_count: Some(2), ..LpHeader::default() };
    header.encode(Some(&[7; 1000]))
}

#[test]
fn faces_that_flood_with_fragments_share_a_limit_and_take_nothing_from_others() {
    const LIMIT: u64 = 1 << 20;
    const PEERS: u16 = 50;
    let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| config.fragments = bytes(LIMIT);
    let mut bench = Bench::with(
        &serde_json::json!({}),
        change,
        [local()].into_iter().chain((0..=PEERS).map(|_| remote())).collect(),
    );
    let honest = PEERS + 1;
    bench.route("/a", honest);
    bench.receive(0, &interest("/a/x", 1));
    bench.take();
    let answer = data("/a/x", &[5; 3000], 0);
    let parts = Fragmenter::new(1400, 1).fragment(&LpHeader::default(), &answer).unwrap();
    // The first peer alone has half of the limit; it shrinks as others come.
    for i in 0..2000 {
        bench.receive(1, &lonely(10 * i));
    }
    let alone = bench.forwarder.counters();
    assert!((LIMIT / 3..=LIMIT / 2).contains(&alone.fragment_bytes), "{alone:?}");
    assert!(alone.fragments_evicted > 1000, "{alone:?}");
    bench.receive(honest, &parts[0]);
    for i in 0..200 {
        for peer in 1..=PEERS {
            bench.receive(peer, &lonely(100_000 + 10 * i));
            assert!(bench.forwarder.counters().fragment_bytes <= LIMIT);
        }
    }
    let all = bench.forwarder.counters();
    // 50 floods get 1/51 of the limit each, 20 kB or at most 20 of these packets.
    let gone = all.fragments_evicted - alone.fragments_evicted;
    assert!(all.fragment_bytes > LIMIT * 4 / 5 && gone > 180 * u64::from(PEERS), "{all:?}");
    assert_eq!(bench.take(), []);
    for part in &parts[1..] {
        bench.receive(honest, part);
    }
    assert!(bench.take() == [(0, answer)], "what came before the flood is put together");
    bench.wait(600);
    bench.forwarder.expire_fragments(bench.now);
    let after = bench.forwarder.counters();
    assert_eq!(after.fragment_bytes, 0);
    // Each packet that began was reassembled, was dropped for a newer one, or timed out.
    let begun = 2000 + 200 * u64::from(PEERS);
    assert_eq!(after.fragments_evicted + after.fragments_late, begun, "{after:?}");
}

#[test]
fn on_demand_peers_leave_a_quarter_of_the_room_for_fragments_however_many_they_are() {
    const LIMIT: u64 = 1 << 20;
    const PEERS: u16 = 200;
    let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| config.fragments = bytes(LIMIT);
    let peers = (0..PEERS).map(|peer| on_demand_peer(peer.into()));
    let mut bench = Bench::with(&serde_json::json!({}), change, [local(), remote()].into_iter().chain(peers).collect());
    for i in 0..20 {
        (2..2 + PEERS).for_each(|peer| bench.receive(peer, &lonely(10 * i)));
    }
    let held = |bench: &Bench| bench.forwarder.counters().fragment_bytes;
    assert!((LIMIT * 2 / 3..=LIMIT * 3 / 4).contains(&held(&bench)), "{}", held(&bench));
    // A neighbour whose link loses a fragment of each of 50 packets keeps them until it is sent again.
    let evicted = bench.forwarder.counters().fragments_evicted;
    (0..50).for_each(|i| bench.receive(1, &lonely(10 * i)));
    assert_eq!(bench.forwarder.counters().fragments_evicted, evicted);
    // What belongs to a peer that is configured from now on, and to one that goes, makes room for other peers.
    let (class, before) = (FaceClass::Configured, held(&bench));
    bench.forwarder.set_class(ndnweir_core::ids::FaceId(2), class);
    bench.forwarder.remove_face(bench.now, ndnweir_core::ids::FaceId(3));
    (0..20).for_each(|i| bench.receive(4, &lonely(100_000 + 10 * i)));
    assert!(held(&bench) <= before, "{} of {before}", held(&bench));
    bench.wait(600);
    bench.forwarder.expire_fragments(bench.now);
    assert_eq!(held(&bench), 0);
}

#[test]
fn the_fragments_of_a_face_that_goes_make_room() {
    let mut bench = small();
    for i in 0..10 {
        bench.receive(2, &lonely(10 * i));
    }
    assert!(bench.forwarder.counters().fragment_bytes > 10_000);
    bench.forwarder.remove_face(bench.now, ndnweir_core::ids::FaceId(2));
    assert_eq!(bench.forwarder.counters().fragment_bytes, 0);
}

#[test]
fn routes_are_bounded_and_a_rejected_one_leaves_nothing_behind() {
    let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| config.prefixes = 3;
    let mut bench = Bench::with(&serde_json::json!({}), change, vec![local(), local()]);
    let face = ndnweir_core::ids::FaceId(1);
    let mut add = |text: &str| bench.forwarder.add_next_hop(ms(0), name(text).as_view(), face, 1).is_ok();
    assert_eq!([add("/a"), add("/b"), add("/c"), add("/d")], [true, true, true, false]);
    assert!(bench.forwarder.remove_next_hop(ms(0), name("/b").as_view(), face));
    assert!(bench.forwarder.add_next_hop(ms(0), name("/d").as_view(), face, 1).is_ok());
    assert_eq!(bench.forwarder.routes().count(), 3);
    bench.receive(0, &interest("/d/x", 1));
    assert_eq!(bench.take(), [(1, interest("/d/x", 1))]);
}

#[test]
fn faces_that_come_and_go_without_asking_do_not_use_the_numbers_up() {
    let mut bench = Bench::new(vec![local()]);
    for _ in 0..200_000 {
        let id = bench.forwarder.add_face(bench.now, local()).unwrap();
        bench.forwarder.remove_face(bench.now, id);
    }
    // Those that ask keep theirs for as long as they requested and a second: here 4 s.
    for _ in 0..5 {
        for i in 0..60_000 {
            let id = bench.forwarder.add_face(bench.now, local()).unwrap();
            if i % 4 == 0 {
                bench.receive(id.0, &interest("/nowhere", i));
            }
            bench.forwarder.remove_face(bench.now, id);
        }
        bench.wait(5001);
    }
    assert!(bench.forwarder.add_face(bench.now, local()).is_ok());
}

/// An on-demand peer that has link reliability and acknowledges once.
fn begin_link(bench: &mut Bench, face: u16, prefix: &str) {
    let header = LpHeader { tx_sequence: Some(1), ..LpHeader::default() };
    bench.receive(face, &header.encode(Some(&interest(&format!("{prefix}/first"), 1))));
    bench.receive(1, &data(&format!("{prefix}/first"), b"", 0));
    let sent = bench.take().into_iter().filter(|(to, _)| *to == face);
    let acks: Vec<u64> = sent.filter_map(|(_, frame)| open(&frame).1.tx_sequence).collect();
    assert_eq!(acks.len(), 1);
    bench.receive(face, &LpHeader { acks, ..LpHeader::default() }.encode(None));
    assert!(bench.forwarder.reliability(ndnweir_core::ids::FaceId(face)).1);
}

#[test]
fn on_demand_peers_that_acknowledge_nothing_leave_room_for_the_packets_of_others() {
    const PEERS: u16 = 12;
    let on_demand_peer =
        || FaceOptions { trust: FieldTrust::Untrusted, reliability: Reliability::OnRequest, ..remote() };
    let change = |config: &mut ndnweir_node::ForwarderConfig<'_>| (config.memory, config.cache) = (bytes(64 << 20), 0);
    let mut faces = vec![local(), local()];
    faces.extend((0..=PEERS).map(|_| on_demand_peer()));
    faces.push(FaceOptions { reliability: Reliability::OnRequest, ..remote() });
    let mut bench = Bench::with(&serde_json::json!({}), change, faces);
    bench.route("/a", 1);
    let limit = (64 << 20) / 8;
    // Every one would take 2 MB if it could: three times the limit together.
    for face in 2..2 + PEERS {
        begin_link(&mut bench, face, &format!("/a/{face}"));
    }
    for i in 0..250 {
        for face in 2..2 + PEERS {
            bench.receive(face, &interest(&format!("/a/{face}/{i}"), i));
            bench.receive(1, &data(&format!("/a/{face}/{i}"), &[7; 8000], 0));
        }
        bench.take();
    }
    let taken = bench.forwarder.counters().unacknowledged_bytes;
    assert!((limit / 4..=limit / 2).contains(&taken), "{taken} of {limit}");
    // Another on-demand peer's packets are protected, and those of a neighbour that is trusted.
    for (face, least) in [(2 + PEERS, 10), (3 + PEERS, 250)] {
        begin_link(&mut bench, face, &format!("/a/{face}"));
        let before = bench.forwarder.counters().unacknowledged_bytes;
        for i in 0..least {
            bench.receive(face, &interest(&format!("/a/{face}/{i}"), i));
            bench.receive(1, &data(&format!("/a/{face}/{i}"), &[7; 8000], 0));
        }
        let more = bench.forwarder.counters().unacknowledged_bytes - before;
        assert!(more > u64::from(least) * 8000, "face {face}: {more} bytes");
        bench.take();
    }
    assert!(bench.forwarder.counters().unacknowledged_bytes <= limit);
}

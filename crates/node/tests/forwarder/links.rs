//! Link layer: fragments, marks, fields, faces that come and go.

use super::bench::*;
use ndnweir_core::fields::Field;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::Bytes;
use ndnweir_node::FaceConfig;
use ndnweir_node::forwarder::FaceOptions;
use ndnweir_node::header::FieldTrust;
use ndnweir_wire::{LpHeader, LpPacketView};
use serde_json::json;

#[test]
fn a_large_data_crosses_a_small_mtu_between_two_forwarders() {
    let mut near = Bench::new(vec![local(), remote()]);
    let mut far = Bench::new(vec![local(), remote()]);
    near.route("/a", 1);
    far.route("/a", 0);
    near.receive(0, &interest("/a/x", 1));
    for (_, frame) in near.take() {
        far.receive(1, &frame);
    }
    let answer = data("/a/x", &[5; 8000], 0);
    far.take();
    far.receive(0, &answer);
    let fragments = far.take();
    // 8000 bytes in parts of less than 1400.
    assert_eq!(fragments.len(), 6);
    assert!(fragments.iter().all(|(_, frame)| frame.len() <= 1400));
    for (_, frame) in fragments.iter().rev() {
        near.receive(1, frame);
    }
    assert_eq!(near.take(), [(0, answer)]);
    near.check_empty();
}

#[test]
fn a_queue_above_nfds_threshold_below_a_face_is_marked_after_its_interval() {
    let marked = FaceOptions { mark_kernel_queue: true, mtu: None, ..remote() };
    let mut bench = Bench::new(vec![marked, local()]);
    bench.route("/a", 1);
    let mut marks = Vec::new();
    for t in 0..200 {
        bench.now = ms(t);
        // 64 KiB and one byte.
        bench.forwarder.set_kernel_queue(FaceId(0), bytes(65_537));
        bench.receive(0, &interest(&format!("/a/seg={t}"), t as u32));
        bench.receive(1, &data(&format!("/a/seg={t}"), b"", 0));
        let frames = bench.take();
        let (_, data) = frames.iter().find(|(face, _)| *face == 0).unwrap();
        if LpPacketView::decode(data).unwrap().congestion_mark == Some(1) {
            marks.push(t);
        }
    }
    // NFD: the first mark 100 ms after the queue is seen above, the next 100/√2 ms later.
    assert_eq!(marks, [100, 171]);
    assert_eq!(bench.forwarder.link_counters(FaceId(0)).kernel_marks, 2);
    bench.check_empty();
}

#[test]
fn a_rate_paces_and_its_queue_marks_with_the_scheme_s_marker() {
    let scheme = json!({ "marker": { "name": "nfd", "threshold": "3kB", "interval": "5ms" } });
    let mut bench = Bench::with(&scheme, |_| (), vec![paced(8.0, 100), local()]);
    bench.route("/a", 1);
    for t in 0..20 {
        bench.receive(0, &interest(&format!("/a/seg={t}"), t));
    }
    bench.take();
    for t in 0..20 {
        bench.receive(1, &data(&format!("/a/seg={t}"), &[0; 920], 0));
        bench.now += ndnweir_core::units::Duration::from_micros(500);
    }
    let early = bench.take().len();
    // About 1000 bytes take 1 ms at 8 Mbit/s, and 10 ms have passed.
    assert!((9..=11).contains(&early), "{early} of 20 have left");
    bench.wait(20);
    let rest = bench.take();
    assert_eq!(early + rest.len(), 20);
    let marked = rest.iter().filter(|(_, f)| LpPacketView::decode(f).unwrap().congestion_mark.is_some()).count();
    assert!(marked > 0, "the queue was above 3 kB for more than 5 ms");
    bench.check_empty();
}

#[test]
fn a_mark_on_an_interest_counts_from_neighbours_and_marks_no_data_of_others_for_on_demand_peers() {
    for (asker, marked) in [(remote(), 1), (on_demand_peer(1), 0)] {
        let mut bench = Bench::new(vec![asker, local(), remote()]);
        bench.route("/a", 2);
        let header = LpHeader { congestion_mark: Some(1), ..LpHeader::default() };
        bench.receive(0, &header.encode(Some(&interest("/a/x", 1))));
        bench.receive(1, &interest("/a/x", 2));
        bench.take();
        bench.receive(2, &data("/a/x", b"", 0));
        let marks = bench
            .take()
            .iter()
            .filter(|(_, frame)| LpPacketView::decode(frame).unwrap().congestion_mark.is_some())
            .count();
        assert_eq!(marks, 2 * marked);
    }
}

#[test]
fn a_rate_counts_each_fragment_with_its_headers_and_those_of_the_datagram() {
    let paced = paced(8.0, 100);
    let node = FaceConfig { framing: Bytes::new(28), ..paced.node.clone() };
    for mtu in [500, 1400, 9000] {
        let out = FaceOptions { node: node.clone(), mtu: Some(1000), ..paced.clone() };
        let mut bench = Bench::with(&json!({}), |_| (), vec![out, local()]);
        bench.forwarder.set_mtu(bench.now, FaceId(0), mtu);
        bench.route("/a", 1);
        for t in 0..11 {
            bench.receive(0, &interest(&format!("/a/seg={t}"), t));
        }
        bench.take();
        for t in 0..11 {
            bench.receive(1, &data(&format!("/a/seg={t}"), &[0; 8000], 0));
        }
        let first = bench.take();
        assert!(first.len() > 8000 / mtu, "the first leaves at once");
        let bytes: usize = first.iter().map(|(_, frame)| frame.len() + 28).sum();
        // A byte takes 1 us.
        bench.wait_us(10 * bytes as u64 - 1);
        assert_eq!(bench.take().len(), 9 * first.len(), "over frames of {mtu} B");
        bench.wait_us(1);
        assert_eq!(bench.take().len(), first.len(), "over frames of {mtu} B");
        bench.check_empty();
    }
}

#[test]
fn hops_are_measured_to_neighbours_that_measure_too_and_the_marks_of_others_pass() {
    let scheme = json!({ "meter": { "name": "hbhcm", "plain-ends": false } });
    let hop_rtt = Field::HopRtt.info().tlv_type;
    for trust in [FieldTrust::Neighbour, FieldTrust::Untrusted] {
        let upstream = FaceOptions { trust, mtu: None, ..remote() };
        let mut bench = Bench::with(&scheme, |_| (), vec![FaceOptions { mtu: None, ..remote() }, upstream]);
        bench.route("/a", 1);
        let mut marked = Vec::new();
        for t in 0..100 {
            bench.receive(0, &interest(&format!("/a/seg={t}"), t));
            // The answer takes 3 ms at first and 61 ms from the 20th on; the neighbour says that it waited for 1 ms.
            bench.wait(if t < 20 { 3 } else { 61 });
            let mut header = LpHeader { congestion_mark: (t == 10).then_some(1), ..LpHeader::default() };
            header.set_extra_number(hop_rtt, 10_000).unwrap();
            bench.receive(1, &header.encode(Some(&data(&format!("/a/seg={t}"), b"", 0))));
            let frames = bench.take();
            let (_, header) = open(&frames.iter().find(|(face, _)| *face == 0).unwrap().1);
            // In units of 0.1 µs.
            assert_eq!(header.extra_number(hop_rtt), Some(if t < 20 { 30_000 } else { 610_000 }));
            marked.extend(header.congestion_mark.map(|_| t));
        }
        match trust {
            FieldTrust::Neighbour => assert!(marked.len() > 1, "58 ms of queueing delay are marked"),
            FieldTrust::Untrusted => assert_eq!(marked, [10], "its field is not read, its mark is"),
        }
    }
}

#[test]
fn a_face_s_number_is_not_used_again_while_its_interests_may_be_pending() {
    let mut bench = Bench::new(vec![local(), local(), local()]);
    bench.route("/a", 1);
    bench.receive(2, &interest("/a/x", 1));
    bench.take();
    bench.forwarder.remove_face(bench.now, FaceId(2));
    assert_eq!(bench.forwarder.add_face(bench.now, local()), Ok(FaceId(3)));
    bench.receive(1, &data("/a/x", b"", 0));
    assert_eq!(bench.take(), [], "the downstream was removed");
    bench.wait(61_500);
    assert_eq!(bench.forwarder.add_face(bench.now, local()), Ok(FaceId(2)));
    bench.receive(2, &interest("/a/x", 2));
    assert_eq!(bench.take(), [(2, data("/a/x", b"", 0))]);
    bench.check_empty();
}

#[test]
fn a_local_face_with_the_option_gets_incoming_face_ids() {
    let told = FaceOptions { tell_incoming: true, number: 9, ..local() };
    let mut bench = Bench::new(vec![FaceOptions { number: 300, ..local() }, told]);
    bench.route("/a", 1);
    bench.receive(0, &interest("/a/x", 1));
    assert_eq!(open(&bench.take()[0].1).1.incoming_face_id, Some(300));
    bench.check_empty();
}

// A far forwarder sends 100 Data through a link of 8 Mbit/s, where about 1000 bytes take 1 ms, a near one on through
// another.
#[test]
fn the_two_halves_of_an_e2e_aqm_mark_cross_two_forwarders_together() {
    let scheme = json!({ "marker": { "name": "e2e-aqm", "delay-share": 1.0 } });
    let mut far = Bench::with(&scheme, |config| config.seed = 1, vec![paced(8.0, 100), local()]);
    let mut near = Bench::with(&scheme, |config| config.seed = 2, vec![paced(8.0, 100), paced(8.0, 100)]);
    far.route("/a", 1);
    near.route("/a", 1);
    for t in 0..100 {
        let wanted = interest(&format!("/a/seg={t}"), t);
        near.receive(0, &wanted);
        far.receive(0, &wanted);
    }
    near.wait(20);
    near.take();
    far.wait(20);
    far.take();
    for t in 0..100 {
        far.receive(1, &data(&format!("/a/seg={t}"), &[0; 920], 0));
    }
    let (id, state) = (Field::LinkId.info().tlv_type, Field::LinkState.info().tlv_type);
    let mut told: std::collections::BTreeMap<u64, u32> = std::collections::BTreeMap::new();
    let mut arrived = 0;
    for _ in 0..300 {
        far.wait(1);
        near.now = far.now;
        for (_, frame) in far.take() {
            let (_, header) = open(&frame);
            assert_eq!(header.extra_number(state).unwrap() >> 24, 1, "one hop has stamped");
            near.receive(1, &frame);
        }
        near.wait(0);
        for (_, frame) in near.take() {
            let (_, header) = open(&frame);
            let (link, mark) = (header.extra_number(id).unwrap(), header.extra_number(state).unwrap());
            assert_eq!((mark >> 24, mark >> 23 & 1), (2, 0), "two hops have stamped, of a delay");
            *told.entry(link).or_default() += 1;
            arrived += 1;
        }
    }
    assert_eq!((arrived, told.len()), (100, 2), "{told:?}");
    assert!(told.values().all(|&count| count > 25), "either hop about every second time: {told:?}");
}

//! Which Data answers which Interest, with which bytes.

use super::bench::*;
use ndnweir_core::ids::FaceId;
use ndnweir_node::forwarder::RouteError;
use ndnweir_wire::lp::PitToken;
use ndnweir_wire::{InterestView, LpHeader, NackReason};

fn two_apps() -> Bench {
    let mut bench = Bench::new(vec![local(), local(), remote()]);
    bench.route("/a", 1);
    bench
}

#[test]
fn an_interest_goes_along_the_longest_prefix_and_its_data_comes_back_to_the_byte() {
    let mut bench = two_apps();
    bench.route("/a/b", 2);
    bench.receive(0, &interest("/a/b/c", 7));
    assert_eq!(bench.take(), [(2, interest("/a/b/c", 7))]);
    let answer = data("/a/b/c", b"hello", 0);
    bench.receive(2, &answer);
    assert_eq!(bench.take(), [(0, answer.clone())]);
    bench.receive(1, &interest("/a/b/c", 8));
    assert_eq!(bench.take(), [(1, answer)], "from the content store");
    bench.check_empty();
}

#[test]
fn a_segment_number_that_is_not_in_its_shortest_form_is_another_name() {
    let mut bench = two_apps();
    // 50=%01 and 50=%00%01 are both "segment 1".
    for (i, component) in ["50=%01", "50=%00%01"].into_iter().enumerate() {
        let name = format!("/a/{component}");
        bench.receive(0, &interest(&name, i as u32));
        assert_eq!(bench.take().len(), 1, "not aggregated");
        let answer = data(&name, &[i as u8], 0);
        bench.receive(1, &answer);
        assert_eq!(bench.take(), [(0, answer)]);
    }
    for (i, component) in ["50=%00%01", "50=%01"].into_iter().enumerate() {
        bench.receive(0, &interest(&format!("/a/{component}"), 10 + i as u32));
        assert_eq!(bench.take(), [(0, data(&format!("/a/{component}"), &[1 - i as u8], 0))]);
    }
    bench.check_empty();
}

#[test]
fn one_data_answers_its_name_its_digest_and_every_pending_prefix() {
    let mut bench = Bench::new(vec![local(), local(), local(), local(), local()]);
    bench.route("/a", 4);
    let answer = data("/a/b/seg=3", b"x", 0);
    bench.receive(0, &interest("/a/b/seg=3", 1));
    bench.receive(1, &interest(&full_name("/a/b/seg=3", &answer), 2));
    bench.receive(2, &prefix_interest("/a", 3, false));
    bench.receive(3, &prefix_interest("/a/b/seg=3", 4, false));
    bench.receive(0, &interest("/a/b", 5));
    bench.take();
    bench.receive(4, &answer);
    let mut answered: Vec<u16> = bench
        .take()
        .into_iter()
        .map(|(face, frame)| {
            assert_eq!(frame, answer);
            face
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, [0, 1, 2, 3], "and /a/b without CanBePrefix is not answered");
    bench.receive(4, &answer);
    assert_eq!(bench.take(), [], "once");
    assert_eq!(bench.forwarder.counters().unsolicited, 1);
    bench.check_empty();
}

#[test]
fn what_is_stored_answers_prefixes_and_digests_and_freshness_counts() {
    let mut bench = two_apps();
    let (old, new) = (data("/a/v=1/seg=0", b"old", 10), data("/a/v=2/seg=0", b"new", 1000));
    for (answer, nonce) in [(&old, 1), (&new, 2)] {
        let text = if nonce == 1 { "/a/v=1/seg=0" } else { "/a/v=2/seg=0" };
        bench.receive(0, &interest(text, nonce));
        bench.receive(1, answer);
    }
    bench.take();
    bench.now = ms(50);
    bench.receive(0, &prefix_interest("/a", 3, false));
    assert_eq!(bench.take(), [(0, old.clone())], "the first in canonical order");
    bench.receive(0, &prefix_interest("/a", 4, true));
    assert_eq!(bench.take(), [(0, new.clone())], "the first that is fresh");
    bench.receive(0, &interest(&full_name("/a/v=1/seg=0", &old), 5));
    assert_eq!(bench.take(), [(0, old.clone())]);
    bench.receive(0, &interest(&full_name("/a/v=1/seg=0", &new), 6));
    assert_eq!(bench.take().len(), 1, "another digest is forwarded to the producer");
    bench.now = ms(2000);
    bench.receive(0, &prefix_interest("/a", 7, true));
    assert_eq!(bench.take(), [(1, prefix_interest("/a", 7, true))], "nothing is fresh any more");
    bench.check_empty();
}

#[test]
fn localhost_stays_on_this_node() {
    let mut bench = Bench::new(vec![local(), local(), remote()]);
    bench.route("/", 2);
    bench.receive(0, &interest("/localhost/x", 1));
    let (packet, header) = open(&bench.take()[0].1);
    assert_eq!((header.nack, packet), (Some(NackReason::NoRoute), interest("/localhost/x", 1)), "no default route");
    bench.route("/localhost", 1);
    bench.receive(2, &interest("/localhost/x", 2));
    bench.receive(2, &data("/localhost/x", b"", 0));
    assert_eq!((bench.take(), bench.forwarder.counters().scope), (vec![], 2));
    bench.receive(0, &interest("/localhost/x", 3));
    assert_eq!(bench.take().len(), 1);
    let rejected = bench.forwarder.add_next_hop(bench.now, name("/localhost/y").as_view(), FaceId(2), 1);
    assert_eq!(rejected, Err(RouteError::Scope));
    bench.check_empty();
}

#[test]
fn what_belongs_to_the_management_comes_from_there_only_and_is_never_cached() {
    let mut bench = Bench::new(vec![local(), local(), local()]);
    let (management, on_demand_peer) = (FaceId(0), FaceId(2));
    bench.forwarder.reserve(name("/localhost/nfd"), management);
    bench.route("/localhost/nfd", 0);
    bench.route("/localhost", 2);
    for prefix in ["/localhost/nfd", "/localhost/nfd/faces", "/localhost/nfd/x/y"] {
        let rejected = bench.forwarder.add_next_hop(bench.now, name(prefix).as_view(), on_demand_peer, 0);
        assert_eq!(rejected, Err(RouteError::Reserved), "{prefix}");
    }
    assert!(!bench.forwarder.remove_next_hop(bench.now, name("/localhost/nfd").as_view(), management));
    for nonce in 1..=3 {
        let sent = prefix_interest("/localhost/nfd/faces/list", nonce, true);
        bench.receive(1, &sent);
        assert_eq!(bench.take(), [(0, sent)], "to the management, not from the content store");
        // Another application answers faster, but is not reserved.
        bench.receive(2, &data("/localhost/nfd/faces/list/v=9/seg=0", b"forged", 60_000));
        assert_eq!((bench.take(), bench.forwarder.counters().scope), (vec![], u64::from(nonce)));
        let answer = data("/localhost/nfd/faces/list/v=1/seg=0", b"true", 60_000);
        bench.receive(0, &answer);
        // Behind a link header that requests not to cache it.
        let sent = bench.take();
        assert!(matches!(&sent[..], [(1, frame)] if frame.ends_with(&answer)), "{sent:?}");
    }
    assert_eq!(bench.forwarder.node().counters().cache, 0);
    // A prefix with only a common beginning is not reserved.
    bench.receive(1, &interest("/localhost/nfdx", 9));
    bench.receive(2, &data("/localhost/nfdx", b"", 0));
    assert_eq!(bench.take().len(), 2);
    bench.receive(0, &interest("/x", 10));
    bench.take();
}

#[test]
fn localhop_from_a_neighbour_reaches_applications_only() {
    let mut bench = Bench::new(vec![local(), remote(), remote()]);
    bench.route("/localhop", 2);
    bench.receive(1, &interest("/localhop/x", 1));
    assert_eq!(bench.take(), []);
    bench.receive(0, &interest("/localhop/y", 2));
    assert_eq!(bench.take(), [(2, interest("/localhop/y", 2))], "our own goes one hop");
    bench.route("/localhop/z", 0);
    bench.receive(1, &interest("/localhop/z", 3));
    assert_eq!(bench.take(), [(0, interest("/localhop/z", 3))]);
    bench.check_empty();
}

#[test]
fn the_hop_limit_is_lowered_in_place_and_a_missing_nonce_is_added() {
    use ndnweir_wire::InterestBuilder;
    let mut bench = Bench::new(vec![local(), remote()]);
    bench.route("/a", 1);
    let name = name("/a/b");
    bench.receive(0, &InterestBuilder::new(name.as_view()).hop_limit(3).encode().unwrap());
    let (face, frame) = bench.take().remove(0);
    let sent = InterestView::decode(&frame).unwrap();
    assert_eq!((face, sent.hop_limit()), (1, Some(2)));
    assert!(sent.nonce().is_some());
    for hops in [0, 1] {
        let name = super::bench::name(&format!("/a/c/{hops}"));
        bench.receive(0, &InterestBuilder::new(name.as_view()).nonce([1; 4]).hop_limit(hops).encode().unwrap());
        assert_eq!(bench.take(), [], "hop limit {hops} does not leave");
    }
    bench.check_empty();
}

#[test]
fn each_downstream_gets_its_own_token_back_and_nacks_bring_its_own_nonce() {
    let mut bench = Bench::new(vec![local(), local(), local()]);
    bench.route("/a", 2);
    let with_token = |token: u8, packet: &[u8]| {
        let header = LpHeader { pit_token: PitToken::new(&[token; 6]).ok(), ..LpHeader::default() };
        header.encode(Some(packet))
    };
    bench.receive(0, &with_token(1, &interest("/a/x", 10)));
    bench.receive(1, &with_token(2, &interest("/a/x", 20)));
    let sent = bench.take();
    assert_eq!(open(&sent[0].1).1.pit_token, None, "tokens do not travel on");
    bench.receive(2, &data("/a/x", b"", 0));
    let token = |frame: &[u8]| open(frame).1.pit_token.unwrap().as_bytes()[0];
    let tokens: Vec<(u16, u8)> = bench.take().iter().map(|(face, frame)| (*face, token(frame))).collect();
    assert_eq!(tokens, [(0, 1), (1, 2)]);

    bench.receive(0, &with_token(3, &interest("/a/y", 30)));
    bench.receive(1, &with_token(4, &interest("/a/y", 40)));
    bench.take();
    let nack = LpHeader { nack: Some(NackReason::Congestion), ..LpHeader::default() };
    bench.receive(2, &nack.encode(Some(&interest("/a/y", 30))));
    let rejected: Vec<_> = bench
        .take()
        .iter()
        .map(|(face, frame)| {
            let (packet, header) = open(frame);
            let nonce = InterestView::decode(&packet).unwrap().nonce().unwrap();
            (*face, header.nack, nonce[3], token(frame))
        })
        .collect();
    let congestion = Some(NackReason::Congestion);
    assert_eq!(rejected, [(0, congestion, 30, 3), (1, congestion, 40, 4)]);
    bench.check_empty();
}

#[test]
fn an_added_or_removed_route_applies_to_names_in_use() {
    let mut bench = Bench::new(vec![local(), local(), local()]);
    bench.route("/a", 1);
    bench.receive(0, &interest("/a/b/seg=0", 1));
    bench.receive(1, &data("/a/b/seg=0", b"", 0));
    bench.route("/a/b", 2);
    bench.take();
    bench.receive(0, &interest("/a/b/seg=1", 2));
    assert_eq!(bench.take(), [(2, interest("/a/b/seg=1", 2))]);
    bench.forwarder.remove_face(bench.now, FaceId(2));
    bench.receive(0, &interest("/a/b/seg=2", 3));
    assert_eq!(bench.take(), [(1, interest("/a/b/seg=2", 3))]);
    bench.forwarder.remove_next_hop(bench.now, name("/a").as_view(), FaceId(1));
    bench.receive(0, &interest("/a/b/seg=3", 4));
    assert_eq!(open(&bench.take()[0].1).1.nack, Some(NackReason::NoRoute));
    bench.check_empty();
}

#[test]
fn interests_with_parameters_go_on_to_the_byte() {
    use ndnweir_wire::InterestBuilder;
    let mut bench = two_apps();
    let name = name("/a/command");
    let builder = InterestBuilder::new(name.as_view()).nonce([1, 2, 3, 4]).application_parameters(b"do it");
    let sent = builder.encode().unwrap();
    bench.receive(0, &sent);
    assert_eq!(bench.take(), [(1, sent.clone())]);
    let full = InterestView::decode(&sent).unwrap().name().to_string();
    let answer = data(&full, b"done", 0);
    bench.receive(1, &answer);
    assert_eq!(bench.take(), [(0, answer)]);
    bench.check_empty();
}

/// The face of what left, and the name and nonce of its Interest.
fn asked(bench: &mut Bench) -> Vec<(u16, String, Option<[u8; 4]>)> {
    let interest = |(face, frame): (u16, Vec<u8>)| {
        let packet = open(&frame).0;
        let interest = InterestView::decode(&packet).ok()?;
        Some((face, interest.name().to_string(), interest.nonce()))
    };
    bench.take().into_iter().filter_map(interest).collect()
}

#[test]
fn a_next_hop_that_was_silent_is_asked_again_once_its_answer_to_a_copy_comes_late() {
    let scheme = serde_json::json!({ "base": "measured" });
    let mut bench = Bench::with(&scheme, |_| (), vec![local(), remote(), remote()]);
    bench.route("/a", 1);
    bench.route("/a", 2);
    let ask = |bench: &mut Bench, n: u32| {
        bench.receive(0, &interest(&format!("/a/{n}"), n));
        asked(bench).into_iter().map(|(face, _, nonce)| (face, nonce == Some(n.to_be_bytes()))).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut bench, 1), [(1, true)]);
    bench.wait(10);
    bench.receive(1, &data("/a/1", b"x", 0));
    assert_eq!(ask(&mut bench, 2), [(2, true)]);
    bench.wait(1100);
    // It never answered: others go where answers come from, and one a second also there, with a nonce of its own.
    for (n, copied) in [(3, true), (4, false)] {
        let sent = ask(&mut bench, n);
        assert_eq!(sent, [(1, true), (2, false)][..1 + usize::from(copied)], "{n}");
        bench.wait(10);
        bench.receive(1, &data(&format!("/a/{n}"), b"x", 0));
    }
    bench.wait(20);
    bench.take();
    bench.receive(2, &data("/a/3", b"x", 0));
    assert_eq!(bench.take(), [], "it comes for nobody");
    bench.wait(1100);
    assert_eq!(ask(&mut bench, 5), [(1, true)], "and shows that the next hop answers");
}

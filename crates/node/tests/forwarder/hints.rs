//! Interests with a ForwardingHint.

use super::bench::*;
use ndnweir_core::ids::FaceId;
use ndnweir_wire::{InterestBuilder, InterestView, LpHeader, NackReason};

/// Applications at 0 and 1, links to `/near` at 2, to `/far` at 3, and to the names themselves at 4.
fn crossing() -> Bench {
    let mut bench = Bench::new(vec![local(), local(), remote(), remote(), remote()]);
    bench.route("/near", 2);
    bench.route("/far", 3);
    bench.route("/a", 4);
    bench
}

fn rejected(bench: &mut Bench, face: u16) -> Option<NackReason> {
    match &bench.take()[..] {
        [(to, frame)] if *to == face => open(frame).1.nack,
        other => panic!("{} packets", other.len()),
    }
}

#[test]
fn an_interest_goes_to_the_first_delegation_with_a_route_and_its_data_comes_back() {
    let mut bench = crossing();
    for (i, (hint, to)) in
        [(&["/near"][..], 2), (&["/far/away", "/near"], 3), (&["/unknown", "/near"], 2), (&["/a/x"], 4)]
            .into_iter()
            .enumerate()
    {
        let text = format!("/a/{i}");
        let sent = hinted(&text, hint, i as u32);
        bench.receive(0, &sent);
        assert_eq!(bench.take(), [(to, sent)], "{hint:?}: and the hint travels on");
        let answer = data(&text, b"x", 0);
        bench.receive(to, &answer);
        assert_eq!(bench.take(), [(0, answer)]);
    }
    bench.receive(0, &hinted("/a/5", &["/unknown", "/other"], 9));
    assert_eq!(rejected(&mut bench, 0), Some(NackReason::NoRoute), "though the name has a route");
    bench.check_empty();
}

#[test]
fn with_a_default_route_the_first_delegation_decides() {
    let mut bench = crossing();
    bench.route("/", 1);
    bench.receive(0, &hinted("/a/x", &["/unknown", "/near"], 1));
    assert_eq!(bench.take().remove(0).0, 1);
    bench.check_empty();
}

#[test]
fn in_the_producers_region_the_hint_is_taken_off_and_the_name_decides() {
    let mut bench = crossing();
    bench.forwarder.set_regions(vec![name("/far/site/7"), name("/other")]);
    for (i, hint) in [&["/far/site"][..], &["/far/site/7"], &["/near", "/far"], &["/other"]].into_iter().enumerate() {
        let (text, nonce) = (format!("/a/{i}"), i as u32);
        bench.receive(0, &hinted(&text, hint, nonce));
        assert_eq!(bench.take(), [(4, interest(&text, nonce))], "{hint:?}");
    }
    let longer = hinted("/a/x", &["/far/site/7/rack"], 9);
    bench.receive(0, &longer);
    assert_eq!(bench.take(), [(3, longer)], "a delegation longer than the region is elsewhere");
    bench.check_empty();
}

#[test]
fn nine_delegations_are_one_more_than_count() {
    let mut bench = crossing();
    let mut hint = vec!["/unknown"; 7];
    hint.push("/near");
    let eighth = hinted("/a/x", &hint, 1);
    bench.receive(0, &eighth);
    assert_eq!(bench.take(), [(2, eighth)]);
    hint.insert(0, "/unknown");
    bench.forwarder.set_regions(vec![name("/near")]);
    bench.receive(0, &hinted("/a/y", &hint, 2));
    assert_eq!(rejected(&mut bench, 0), Some(NackReason::NoRoute));
    bench.check_empty();
}

#[test]
fn other_hints_are_pending_apart_and_data_answers_those_that_went_where_it_comes_from() {
    let mut bench = Bench::new(vec![local(), local(), remote(), remote(), remote(), local()]);
    for (prefix, face) in [("/near", 2), ("/far", 3), ("/a", 4)] {
        bench.route(prefix, face);
    }
    let answer = data("/a/b/seg=3", b"x", 0);
    let sent = [
        (0, hinted("/a/b/seg=3", &["/near"], 1), 2),
        (1, hinted("/a/b/seg=3", &["/far"], 2), 3),
        (5, interest("/a/b/seg=3", 3), 4),
    ];
    for (from, packet, to) in &sent {
        bench.receive(*from, packet);
        assert_eq!(bench.take(), [(*to, packet.clone())]);
    }
    bench.receive(1, &hinted("/a/b/seg=3", &["/near"], 4));
    assert_eq!(bench.take(), [], "the same hint is aggregated");
    for (from, to) in [(3, &[1][..]), (2, &[0, 1]), (4, &[5])] {
        bench.receive(from, &answer);
        let mut answered: Vec<u16> = bench.take().iter().map(|(face, _)| *face).collect();
        answered.sort_unstable();
        assert_eq!(answered, to, "from {from}");
    }
    bench.receive(3, &answer);
    assert_eq!((bench.take(), bench.forwarder.counters().unsolicited), (vec![], 1), "once");
    bench.check_empty();
}

#[test]
fn prefixes_digests_and_the_content_store_work_with_hints() {
    let mut bench = crossing();
    let (answer, near) = (data("/a/b/c", b"x", 1000), name("/near"));
    let with = |text: &str, nonce: u8, prefix: bool| {
        let name = name(text);
        let builder = InterestBuilder::new(name.as_view()).nonce([0, 0, 0, nonce]).can_be_prefix(prefix);
        builder.forwarding_hint([near.as_view()]).encode().unwrap()
    };
    bench.receive(0, &with("/a", 1, true));
    bench.receive(1, &with(&full_name("/a/b/c", &answer), 2, false));
    assert_eq!(bench.take().iter().map(|(face, _)| *face).collect::<Vec<_>>(), [2, 2]);
    bench.receive(2, &answer);
    assert_eq!(bench.take(), [(0, answer.clone()), (1, answer.clone())]);
    for (i, (text, prefix)) in
        [("/a/b/c", false), ("/a/b/c", true), ("/a/b", true), (&full_name("/a/b/c", &answer), false)]
            .into_iter()
            .enumerate()
    {
        bench.receive(0, &with(text, 10 + i as u8, prefix));
        assert_eq!(bench.take(), [(0, answer.clone())], "{text} from the content store");
    }
    bench.receive(0, &interest("/a/b/c", 20));
    assert_eq!(bench.take(), [(0, answer)], "as without a hint");
    bench.check_empty();
}

#[test]
fn a_hint_leads_nothing_out_of_localhost_and_nothing_into_it() {
    let mut bench = crossing();
    bench.route("/localhost/app", 1);
    bench.receive(0, &hinted("/localhost/app/x", &["/near"], 1));
    assert_eq!(bench.take(), [(1, interest("/localhost/app/x", 1))]);
    bench.receive(0, &hinted("/localhost/x", &["/near"], 2));
    assert_eq!(rejected(&mut bench, 0), Some(NackReason::NoRoute));
    bench.receive(2, &hinted("/localhost/app/y", &["/near"], 3));
    assert_eq!((bench.take(), bench.forwarder.counters().scope), (vec![], 1));
    bench.receive(2, &hinted("/a/x", &["/localhost/app"], 4));
    assert_eq!(rejected(&mut bench, 2), Some(NackReason::NoRoute));
    bench.check_empty();
}

#[test]
fn a_localhop_interest_from_a_neighbour_does_not_follow_its_hint_to_another() {
    let mut bench = crossing();
    bench.receive(2, &hinted("/localhop/x", &["/far"], 1));
    assert_eq!(bench.take(), []);
    bench.receive(0, &hinted("/localhop/y", &["/far"], 2));
    assert_eq!(bench.take(), [(3, hinted("/localhop/y", &["/far"], 2))], "our own goes one hop");
    bench.check_empty();
}

#[test]
fn an_interest_that_comes_back_over_another_link_is_rejected_as_a_loop() {
    let mut bench = crossing();
    bench.receive(2, &hinted("/a/x", &["/far"], 1));
    bench.take();
    bench.receive(3, &hinted("/a/x", &["/far"], 1));
    assert_eq!(rejected(&mut bench, 3), Some(NackReason::Duplicate));
    assert_eq!(bench.forwarder.node().counters().loops, 1);
    bench.check_empty();
}

#[test]
fn a_nack_finds_its_interest_with_the_hint_or_without_it() {
    let mut bench = crossing();
    let nack = LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::default() };
    for (nonce, returned) in [(1, hinted("/a/x", &["/near"], 1)), (2, interest("/a/x", 2))] {
        bench.receive(0, &hinted("/a/x", &["/near"], nonce));
        bench.receive(1, &hinted("/a/x", &["/far"], 100 + nonce));
        bench.take();
        bench.receive(2, &nack.encode(Some(&returned)));
        let (packet, header) = open(&bench.take().remove(0).1);
        assert_eq!(header.nack, Some(NackReason::NoRoute));
        assert_eq!(InterestView::decode(&packet).unwrap().nonce(), Some(nonce.to_be_bytes()));
        bench.receive(3, &data("/a/x", b"", 0));
        assert_eq!(bench.take().iter().map(|(face, _)| *face).collect::<Vec<_>>(), [1], "the other one waited on");
        bench.forwarder.evict(usize::MAX);
    }
    bench.receive(2, &nack.encode(Some(&interest("/a/x", 3))));
    assert_eq!(bench.forwarder.counters().unmatched_nacks, 1);
    bench.check_empty();
}

#[test]
fn an_added_or_removed_route_to_a_delegation_applies_to_names_in_use() {
    let mut bench = crossing();
    let sent = |segment: u32| hinted(&format!("/a/b/seg={segment}"), &["/new", "/near"], segment);
    bench.receive(0, &sent(0));
    bench.route("/new", 3);
    bench.receive(0, &sent(1));
    bench.forwarder.remove_face(bench.now, FaceId(3));
    bench.receive(0, &sent(2));
    assert_eq!(bench.take().iter().map(|(face, _)| *face).collect::<Vec<_>>(), [2, 3, 2]);
    bench.check_empty();
}

#[test]
fn hints_count_as_memory() {
    let bench = |memory| Bench::with(&serde_json::json!({}), |c| c.memory = bytes(memory), vec![local(), local()]);
    let long = "/".to_owned() + &"x".repeat(2000);
    for (memory, fits) in [(20_000, true), (4000, false)] {
        let mut bench = bench(memory);
        bench.route("/x", 1);
        bench.receive(0, &hinted("/a", &["/x", &long], 1));
        assert_eq!(bench.take().len(), usize::from(fits));
        let counters = bench.forwarder.counters();
        assert_eq!(counters.full, u64::from(!fits));
        // In the name's entry, for the packet has left.
        assert!(!fits || (2000..2500).contains(&counters.held_bytes), "{counters:?}");
        bench.check_empty();
    }
}

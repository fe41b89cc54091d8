use super::super::harness::{Bench, at, nacked, sent};
use super::super::{Arrival, Copy};
use super::*;
use crate::ids::NameId;
use crate::packet::Kind;
use serde_json::json;

/// Two next hops of cost 1 and one of 5; windows of 4.
fn bench() -> Bench<Overflow> {
    Bench::new(&json!({ "initial-window": 4.0 }), &[(1, 1), (2, 1), (3, 5)])
}

/// An Interest at `ms`, which must go to `face`.
fn ask(bench: &mut Bench<Overflow>, ms: u64, face: u16) {
    assert_eq!(bench.interest(ms, 0, Arrival::New, &[]), [face], "at {ms} ms");
}

/// Its Data from `face`, with a mark or none; the mark that goes on.
fn answer(bench: &mut Bench<Overflow>, from: u64, to: u64, face: u16, mark: u8) -> u8 {
    bench.packet.mark = mark;
    let passed = bench.data_at(to, face, &[sent(face, from)]);
    bench.packet.mark = 0;
    passed
}

/// Round trips of 10 ms over the first and of 60 ms over the second.
fn two_ways() -> Bench<Overflow> {
    let mut bench = bench();
    ask(&mut bench, 0, 1);
    ask(&mut bench, 0, 2);
    ask(&mut bench, 0, 1);
    answer(&mut bench, 0, 10, 1, 0);
    answer(&mut bench, 0, 10, 1, 0);
    answer(&mut bench, 0, 60, 2, 0);
    bench
}

#[test]
fn the_nearest_gets_all_until_half_its_window_is_used_and_then_the_least_filled() {
    let mut bench = two_ways();
    // 2 of 4 at the first; then equal parts of both windows.
    for face in [1, 1, 2, 2, 1, 2, 1, 2] {
        ask(&mut bench, 100, face);
    }
}

#[test]
fn dearer_next_hops_get_all_while_every_cheaper_one_is_silent() {
    let mut bench = two_ways();
    for _ in 0..3 {
        bench.timeout_at(200, &[sent(1, 150), sent(2, 150)]);
    }
    // While it is not known that the third answers, one Interest of each goes alone; then copies do.
    let sent: Vec<u16> = (0..5).map(|_| bench.interest(5000, 0, Arrival::New, &[])[0]).collect();
    assert_eq!(sent.iter().filter(|&&face| face == 3).count(), 3, "{sent:?}");
    answer(&mut bench, 5000, 5010, 3, 0);
    let copied: Vec<Vec<u16>> = (0..3).map(|_| bench.interest(9000, 0, Arrival::New, &[])).collect();
    assert!(copied.iter().all(|faces| faces[0] == 3) && copied[0].len() == 2, "{copied:?}");
    answer(&mut bench, 9000, 9010, 1, 0);
    ask(&mut bench, 9020, 1);
}

#[test]
fn dearer_next_hops_are_for_retransmissions_alone() {
    let mut bench = two_ways();
    for _ in 0..20 {
        assert_ne!(bench.interest(100, 0, Arrival::New, &[]), [3]);
    }
    let both = [sent(1, 100), sent(2, 100)];
    assert_eq!(bench.interest(200, 0, Arrival::Retransmission, &both), [3]);
    assert_eq!(bench.interest(100, 1, Arrival::New, &[])[0], 2, "never back to where it came from");
}

#[test]
fn without_a_next_hop_an_interest_is_rejected_and_with_one_it_goes_there() {
    let mut bench: Bench<Overflow> = Bench::new(&json!({}), &[(1, 1)]);
    assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
    (0..100).for_each(|_| ask(&mut bench, 0, 1));
    assert_eq!(answer(&mut bench, 0, 10, 1, 1), 1, "its mark is the consumer's");
}

// A window grows by 0.5 for each Data that comes while it is filled, until the first mark or loss, then by 0.1.
#[test]
fn only_a_filled_window_grows_fast_until_the_first_mark() {
    let mut bench = two_ways();
    let window = |bench: &Bench<Overflow>, i: usize| bench.strategy.prefixes[0].hops[i].window();
    (0..8).for_each(|_| drop(bench.interest(100, 0, Arrival::New, &[])));
    answer(&mut bench, 100, 110, 1, 0);
    assert_eq!((window(&bench, 0), window(&bench, 1)), (4.5, 4.0));
    answer(&mut bench, 100, 110, 1, 0);
    assert_eq!(window(&bench, 0), 4.5, "3 of 4.5 were under way");
    answer(&mut bench, 100, 110, 1, 1);
    assert_eq!(window(&bench, 0), 4.5, "a mark without a longer round trip shows no queue");
    (0..4).for_each(|_| drop(bench.interest(120, 0, Arrival::New, &[])));
    answer(&mut bench, 120, 130, 1, 0);
    assert!((window(&bench, 0) - 4.6).abs() < 1e-9, "{}", window(&bench, 0));
}

#[test]
fn no_window_grows_beyond_the_most() {
    let mut bench: Bench<Overflow> = Bench::new(&json!({ "initial-window": 1.0, "most": 1.2 }), &[(1, 1), (2, 1)]);
    ask(&mut bench, 0, 1);
    answer(&mut bench, 0, 10, 1, 0);
    assert_eq!(bench.strategy.prefixes[0].hops[0].window(), 1.2);
}

// Both are full at 112 ms and had marks at 110 and 112 ms; 8 round trips of 10 ms after its mark the first takes more.
#[test]
fn a_full_next_hop_takes_more_again_eight_round_trips_after_its_last_mark() {
    for (patience, at, passes) in [(8.0, 190, 1), (8.0, 191, 0), (20.0, 191, 1)] {
        let params = json!({ "initial-window": 4.0, "patience": patience });
        let mut bench: Bench<Overflow> = Bench::new(&params, &[(1, 1), (2, 1)]);
        ask(&mut bench, 0, 1);
        ask(&mut bench, 0, 2);
        answer(&mut bench, 0, 10, 1, 0);
        answer(&mut bench, 0, 60, 2, 0);
        (0..16).for_each(|_| drop(bench.interest(100, 0, Arrival::New, &[])));
        answer(&mut bench, 100, 110, 1, 1);
        assert_eq!(answer(&mut bench, 100, at, 2, 1), passes, "{patience} round trips, at {at} ms");
    }
}

#[test]
fn a_mark_goes_on_only_when_no_other_next_hop_takes_more() {
    let mut bench = two_ways();
    (0..12).for_each(|_| drop(bench.interest(100, 0, Arrival::New, &[])));
    assert_eq!(answer(&mut bench, 100, 110, 1, 1), 0, "the second is still in its start");
    assert_eq!(answer(&mut bench, 100, 112, 2, 1), 1, "both are full");
    assert_eq!(answer(&mut bench, 100, 160, 2, 0), 0);
    for _ in 0..3 {
        answer(&mut bench, 100, 160, 2, 0);
    }
    assert_eq!(answer(&mut bench, 100, 160, 1, 1), 0, "the second has room again");
}

/// The first of two ways that answered is silent now.
fn one_silent() -> Bench<Overflow> {
    let mut bench = two_ways();
    (0..3).for_each(|_| bench.timeout_at(100, &[sent(1, 90)]));
    bench
}

#[test]
fn a_silent_next_hop_gets_a_copy_of_one_interest_a_second_until_it_answers() {
    let mut bench = one_silent();
    let copies = |choice: ForwardingDecision| choice.copies().to_vec();
    let (to, copy) = (Copy { face: FaceId(2), new_nonce: false }, Copy { face: FaceId(1), new_nonce: true });
    assert_eq!(copies(bench.choice(200, 0, Arrival::New, &[])), [to, copy]);
    (0..20).for_each(|_| ask(&mut bench, 1199, 2));
    assert_eq!(copies(bench.choice(1200, 0, Arrival::New, &[])), [to, copy]);
    bench.data_at(1210, 1, &[sent(1, 1200), sent(2, 1200)]);
    ask(&mut bench, 1210, 1);
}

#[test]
fn a_silent_next_hop_that_answers_later_than_another_is_used_again() {
    let mut bench = one_silent();
    bench.packet.name = NameId { segment: 7, ..NameId::default() };
    assert_eq!(bench.interest(200, 0, Arrival::New, &[]), [2, 1]);
    bench.data_at(260, 2, &[sent(2, 200), sent(1, 200)]);
    let silent = |bench: &Bench<Overflow>| bench.strategy.prefixes[0].hops[0].is_silent(at(5000));
    let data = Packet { kind: Kind::Data, ..bench.packet };
    bench.late(270, 2, &data);
    bench.late(270, 1, &Packet { name: NameId::default(), ..data });
    bench.late(270, 1, &data.nack(NackReason::Duplicate));
    assert!(silent(&bench), "another's Data, another name and a NACK show nothing");
    bench.late(5000, 1, &data);
    assert!(silent(&bench), "nor what took more than 4 s");
    bench.late(280, 1, &data);
    // A mean of 10 ms before, and 80 ms.
    let mean = bench.strategy.prefixes[0].hops[0].srtt.map(|srtt| srtt.millis());
    assert!(!silent(&bench) && mean.is_some_and(|mean| (mean - 18.75).abs() < 1e-9), "{mean:?}");
    ask(&mut bench, 300, 1);
}

#[test]
fn a_next_hop_that_never_answered_holds_up_one_interest_and_no_more() {
    let mut bench = bench();
    ask(&mut bench, 0, 1);
    answer(&mut bench, 0, 10, 1, 0);
    ask(&mut bench, 10, 2);
    assert_eq!(bench.interest(1010, 0, Arrival::New, &[]), [1, 2]);
    assert!(!(1011..1500).any(|ms| bench.interest(ms, 0, Arrival::New, &[]) != [1]));
    assert_eq!(bench.interest(2010, 0, Arrival::New, &[]), [1, 2]);
}

// Without that an Interest that was copied there, or was lost elsewhere, would wait for who does not answer.
#[test]
fn a_retransmission_goes_to_a_silent_next_hop_only_where_all_are_silent() {
    let mut bench = one_silent();
    bench.route(&[(1, 1), (2, 1)]);
    assert_eq!(bench.interest(200, 0, Arrival::New, &[]), [2, 1]);
    let again = |bench: &mut Bench<Overflow>, ms, sent: &[OutRecord]| {
        bench.note = 0;
        bench.interest(ms, 0, Arrival::Retransmission, sent)
    };
    assert_eq!(again(&mut bench, 300, &[sent(1, 200), sent(2, 200)]), [2], "it had a copy");
    assert_eq!(again(&mut bench, 400, &[sent(2, 300)]), [2], "it had none");
    (0..3).for_each(|_| bench.timeout_at(500, &[sent(2, 490)]));
    assert_eq!(again(&mut bench, 1900, &[sent(2, 1700)]), [1]);
}

// The other way would answer first, and the Data that shows how long this one takes would come for nothing.
#[test]
fn the_first_interest_of_a_way_is_not_sent_by_another_before_it_had_a_second() {
    let mut bench = bench();
    ask(&mut bench, 0, 1);
    answer(&mut bench, 0, 10, 1, 0);
    ask(&mut bench, 10, 2);
    let name = NameId { segment: 7, ..NameId::default() };
    let again = |bench: &mut Bench<Overflow>, ms| bench.interest(ms, 0, Arrival::Retransmission, &[sent(2, 10)]);
    assert!(again(&mut bench, 500).is_empty());
    bench.packet.name = name;
    assert_eq!(again(&mut bench, 500), [1], "another one is");
    bench.packet.name = NameId::default();
    assert_eq!(again(&mut bench, 1010), [1]);
    bench.data_at(1020, 1, &[sent(2, 9), sent(1, 1010)]);
    bench.data_at(1020, 1, &[sent(2, 30), sent(1, 1010)]);
    bench.data_at(1020, 1, &[sent(2, 10), sent(1, 1010)]);
    assert!(!bench.strategy.prefixes[0].hops[1].is_silent(at(1000)), "one was lost, two may still come");
}

#[test]
fn interests_that_nobody_can_answer_do_not_silence_a_next_hop_whose_data_come() {
    let mut bench = two_ways();
    for ms in (100..1000).step_by(100) {
        ask(&mut bench, ms, 1);
        answer(&mut bench, ms, ms + 10, 1, 0);
        (0..3).for_each(|_| bench.timeout_at(ms + 20, &[sent(1, ms)]));
    }
    assert!(
        !bench.strategy.prefixes[0].hops[0].is_silent(at(1000)) && bench.strategy.prefixes[0].hops[0].window() >= 4.0
    );
}

#[test]
fn with_one_cheapest_next_hop_the_first_interest_is_sent_again_as_best_route_does() {
    let mut bench: Bench<Overflow> = Bench::new(&json!({}), &[(1, 1), (2, 5)]);
    ask(&mut bench, 0, 1);
    assert_eq!(bench.interest(20, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
}

#[test]
fn when_all_are_silent_interests_still_go_out() {
    let mut bench = two_ways();
    for _ in 0..3 {
        bench.timeout_at(100, &[sent(1, 90), sent(2, 90)]);
    }
    assert!([1, 2].contains(&bench.interest(200, 0, Arrival::New, &[])[0]));
}

#[test]
fn a_rejection_for_lack_of_a_route_counts_as_a_loss_and_congestion_as_a_mark() {
    let mut bench = two_ways();
    for _ in 0..3 {
        let record = OutRecord { nacked: Some(NackReason::NoRoute), ..sent(1, 50) };
        bench.nack_for(100, 1, NackReason::NoRoute, &[record]);
    }
    assert!(bench.strategy.prefixes[0].hops[0].is_silent(at(1000)));
    let congested = [nacked(2, NackReason::Congestion)];
    for _ in 0..3 {
        assert_eq!(bench.nack(100, 2, 0, &congested).rejection(), Some(NackReason::Congestion));
    }
    assert!(!bench.strategy.prefixes[0].hops[1].is_silent(at(1000)));
}

// The mean over the second is 60 ms, over the first 10 ms: 50,000 µs more, beside what was longer upstream.
#[test]
fn data_say_by_how_much_the_longest_way_in_use_is_longer() {
    let mut bench = two_ways();
    let slot = bench.strategy.longer_way;
    let mut packet = Packet { kind: Kind::Data, ..Packet::default() };
    let stamped = |bench: &mut Bench<Overflow>, face, packet: &Packet| {
        bench.data_for(100, face, packet, &[], &Fields::default()).get(slot)
    };
    assert_eq!(stamped(&mut bench, 1, &packet), 50_000);
    assert_eq!(stamped(&mut bench, 2, &packet), 0);
    packet.fields.set(slot, 7000);
    assert_eq!(stamped(&mut bench, 1, &packet), 57_000);
    packet.fields.set(slot, u32::MAX);
    assert_eq!(stamped(&mut bench, 1, &packet), u32::MAX);
}

#[test]
fn shares_are_the_windows_of_the_cheapest_next_hops() {
    let mut bench = two_ways();
    assert_eq!(bench.shares(), [0.5, 0.5, 0.0]);
    bench.route(&[(1, 1)]);
    assert!(bench.shares().is_empty());
}

#[test]
fn nonsense_is_rejected() {
    let check = |params: Params| Overflow::check(&params).unwrap_err().to_string();
    assert!(check(Params { initial_window: 0.0, ..Params::default() }).contains("initial-window"));
    assert!(check(Params { beta: 1.5, ..Params::default() }).contains("beta"));
    assert!(check(Params { light: f64::NAN, ..Params::default() }).contains("light"));
    assert!(check(Params { most: 2.0, ..Params::default() }).contains("most"));
}

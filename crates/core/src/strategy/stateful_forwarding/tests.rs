use super::super::OutRecord;
use super::super::harness::{Bench, nacked, sent};
use super::*;
use crate::packet::NackReason::{Congestion, Duplicate, NoRoute};
use serde_json::json;

const HOPS: &[(u16, u32)] = &[(1, 1), (2, 5), (3, 9)];

fn bench() -> Bench<StatefulForwarding> {
    Bench::new(&json!({ "probing": 0.0 }), HOPS)
}

fn new(bench: &mut Bench<StatefulForwarding>, ms: u64) -> Vec<u16> {
    bench.packet.name.segment += 1;
    bench.interest(ms, 0, Arrival::New, &[])
}

fn faces(choice: &ForwardingDecision) -> (Vec<u16>, Vec<u16>) {
    (
        choice.copies().iter().map(|copy| copy.face.0).collect(),
        choice.alternatives().iter().map(|face| face.0).collect(),
    )
}

#[test]
fn the_cheapest_yellow_face_comes_first_and_the_others_if_it_does_not_admit() {
    assert_eq!(faces(&bench().choice(0, 0, Arrival::New, &[])), (vec![1], vec![2, 3]));
    assert_eq!(faces(&bench().choice(0, 1, Arrival::New, &[])), (vec![2], vec![3]));
}

#[test]
fn a_green_face_comes_before_cheaper_yellow_ones() {
    let mut bench = bench();
    bench.data_at(5, 3, &[sent(3, 0)]);
    assert_eq!(faces(&bench.choice(10, 0, Arrival::New, &[])), (vec![3], vec![1, 2]));
    bench.data_at(15, 2, &[sent(2, 0)]);
    assert_eq!(faces(&bench.choice(20, 0, Arrival::New, &[])), (vec![2], vec![3, 1]));
}

#[test]
fn congestion_and_no_route_turn_a_face_yellow_and_a_duplicate_does_not() {
    for (reason, first) in [(Congestion, 1), (NoRoute, 1), (Duplicate, 3)] {
        let mut bench = bench();
        bench.data_at(5, 3, &[sent(3, 0)]);
        bench.nack_for(6, 3, reason, &[nacked(3, reason), sent(1, 0)]);
        assert_eq!(new(&mut bench, 10), [first], "{reason:?}");
    }
}

#[test]
fn a_timeout_turns_every_face_of_the_entry_yellow() {
    let mut bench = bench();
    bench.data_at(5, 3, &[sent(3, 0)]);
    bench.data_at(5, 2, &[sent(2, 0)]);
    bench.timeout_at(9, &[sent(3, 0), sent(2, 0)]);
    assert_eq!(new(&mut bench, 10), [1]);
}

#[test]
fn a_face_that_routing_takes_away_and_gives_back_is_yellow() {
    let mut bench = bench();
    bench.data_at(5, 2, &[sent(2, 0)]);
    bench.route(&[(1, 1), (3, 9)]);
    bench.route(HOPS);
    assert_eq!(new(&mut bench, 10), [1]);
}

#[test]
fn a_nack_sends_the_interest_to_the_next_face_when_no_other_may_still_answer() {
    let mut bench = bench();
    let waiting = bench.nack_for(5, 1, Congestion, &[nacked(1, Congestion), sent(2, 0)]);
    assert_eq!((faces(&waiting).0, waiting.rejection()), (vec![], None));
    let retried = bench.nack_for(5, 1, Congestion, &[nacked(1, Congestion)]);
    assert_eq!(faces(&retried), (vec![2], vec![3]));
}

#[test]
fn when_every_face_rejected_the_least_severe_reason_goes_downstream() {
    let records = [nacked(1, NoRoute), nacked(2, Congestion), nacked(3, NoRoute)];
    assert_eq!(bench().nack_for(5, 3, NoRoute, &records).rejection(), Some(Congestion));
    let records = records.map(|record| OutRecord { nacked: Some(NoRoute), ..record });
    assert_eq!(bench().nack_for(5, 3, NoRoute, &records).rejection(), Some(NoRoute));
}

#[test]
fn a_nack_is_not_retried_over_the_downstream_face() {
    let mut bench = bench();
    bench.downstreams = vec![FaceId(2)];
    assert_eq!(faces(&bench.nack_for(5, 1, Congestion, &[nacked(1, Congestion)])), (vec![3], vec![]));
}

#[test]
fn a_neighbour_that_gives_up_no_longer_waits_itself() {
    let mut bench = bench();
    bench.downstreams = vec![FaceId(0), FaceId(1)];
    let choice = bench.nack_for(5, 1, Congestion, &[nacked(1, Congestion), sent(2, 0), sent(3, 0)]);
    assert_eq!(choice.rejection_of_one(), Some((FaceId(1), Congestion)));
    let choice = bench.nack_for(5, 1, Duplicate, &[nacked(1, Duplicate), sent(2, 0), sent(3, 0)]);
    assert_eq!(choice.rejection_of_one(), None);
}

// The timeout of a face without samples is 1 s.
#[test]
fn an_interest_that_stays_unanswered_goes_to_the_next_face_and_so_on_until_none_is_left() {
    let mut bench = bench();
    new(&mut bench, 0);
    assert!(bench.release(999).is_empty());
    assert_eq!(bench.release(1000), [2]);
    assert!(bench.release(1999).is_empty());
    bench.packet.lifetime_ms = 2000;
    // At 2000 the third; at 3000 nothing is left, and its lifetime of 2 s is over.
    assert_eq!(bench.release(2000), [3]);
    assert!(bench.release(3000).is_empty());
    assert_eq!(bench.strategy.retries.len(), 0);
    assert_eq!(bench.strategy.next_wake(), Time::NEVER);
}

#[test]
fn data_ends_the_timer_and_a_green_face_that_stays_silent_turns_yellow_and_waits_twice_as_long() {
    let mut bench = bench();
    new(&mut bench, 0);
    bench.data_at(60, 1, &[sent(1, 0)]);
    assert_eq!(bench.strategy.next_wake(), Time::NEVER);
    // One sample of 60 ms: 60 + 4 · 30 = 180, at least 200 ms.
    new(&mut bench, 100);
    assert!(bench.release(299).is_empty());
    assert_eq!(bench.release(300), [2]);
    bench.data_at(360, 2, &[sent(1, 100), sent(2, 300)]);
    assert_eq!(new(&mut bench, 400), [2], "1 is Yellow now");
    assert_eq!(bench.strategy.timeout(PrefixId(0), FaceId(1)), Duration::from_millis(400));
}

#[test]
fn interests_in_flight_together_double_the_timeout_once() {
    let mut bench = bench();
    for ms in [0, 10, 20] {
        new(&mut bench, ms);
    }
    assert_eq!(bench.release(1000), [2]);
    assert_eq!(bench.release(1020), [2, 2]);
    assert_eq!(bench.strategy.timeout(PrefixId(0), FaceId(1)), Duration::from_millis(2000));
    new(&mut bench, 1030);
    assert_eq!(bench.release(3030).len(), 4);
    assert_eq!(bench.strategy.timeout(PrefixId(0), FaceId(1)), Duration::from_millis(4000));
}

#[test]
fn a_late_nack_of_a_face_that_was_given_up_changes_nothing() {
    let mut bench = bench();
    new(&mut bench, 0);
    assert_eq!(bench.release(1000), [2]);
    let late = bench.nack_for(1100, 1, Congestion, &[nacked(1, Congestion), sent(2, 1000)]);
    assert_eq!((faces(&late).0, late.rejection()), (vec![], None));
    // The second rejects too: the third is left, although the first never answered in time.
    let retried = bench.nack_for(1200, 2, Congestion, &[sent(1, 0), nacked(2, Congestion)]);
    assert_eq!(faces(&retried).0, [3]);
}

#[test]
fn when_the_shaper_of_a_retry_rejects_the_next_face_is_tried_at_once() {
    let mut bench = bench();
    new(&mut bench, 0);
    assert_eq!(bench.release(1000), [2]);
    bench.reject(1000, 2);
    assert_eq!(bench.release(1000), [3]);
}

#[test]
fn when_the_shaper_of_the_first_face_rejects_the_timer_is_that_of_the_face_that_took_the_interest() {
    let mut bench = bench();
    new(&mut bench, 0);
    bench.reject(0, 1);
    assert_eq!(bench.release(1000), [1], "2 was silent; 1 had not been sent to");
    new(&mut bench, 2000);
    (1..=3).for_each(|face| bench.reject(2000, face));
    assert_eq!(bench.strategy.retries.len(), 1, "all rejected: the node rejects it");
}

#[test]
fn smart_flooding_takes_one_green_face_or_else_all() {
    let mut bench: Bench<StatefulForwarding> = Bench::new(&json!({ "mode": "smart-flooding", "probing": 0.0 }), HOPS);
    assert_eq!(new(&mut bench, 0), [1, 2, 3]);
    bench.data_at(5, 2, &[sent(1, 0), sent(2, 0), sent(3, 0)]);
    assert_eq!(new(&mut bench, 10), [2]);
}

#[test]
fn a_retransmission_opens_a_round_100_ms_after_the_last_transmission_and_another_downstream_none() {
    let mut bench = bench();
    assert!(bench.interest(99, 0, Arrival::Retransmission, &[sent(1, 0)]).is_empty());
    assert!(bench.interest(150, 7, Arrival::Joining, &[sent(1, 0)]).is_empty());
    assert_eq!(bench.interest(100, 0, Arrival::Retransmission, &[sent(1, 0)]), [1]);
    // In the second round a face sent to three times is used up.
    let worn = [OutRecord { sends: 3, ..sent(1, 100) }];
    assert_eq!(bench.interest(200, 0, Arrival::Retransmission, &worn), [2]);
}

// Standard deviation of 20 000 draws with p = 0.1: 42; of the halves 31.
#[test]
fn a_tenth_of_the_interests_is_copied_with_a_new_nonce_to_any_other_face() {
    let mut bench: Bench<StatefulForwarding> = Bench::new(&json!({}), HOPS);
    let mut counts = [0_u32; 4];
    for ms in 0..20_000 {
        bench.packet.name.segment = ms as u32;
        let choice = bench.choice(ms, 0, Arrival::New, &[]);
        assert_eq!((choice.copies()[0].face, choice.copies()[0].new_nonce), (FaceId(1), false));
        for probe in &choice.copies()[1..] {
            assert!(probe.new_nonce);
            counts[usize::from(probe.face.0)] += 1;
        }
        bench.data_at(ms, 1, &[sent(1, ms)]);
    }
    assert!(counts[2].abs_diff(1000) < 150 && counts[3].abs_diff(1000) < 150 && counts[1] == 0, "{counts:?}");
}

#[test]
fn without_an_eligible_hop_an_interest_is_rejected() {
    let mut bench: Bench<StatefulForwarding> = Bench::new(&json!({}), &[(1, 1)]);
    assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NoRoute));
}

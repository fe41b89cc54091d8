use super::super::harness::{Bench, at, nacked, sent};
use super::super::{Arrival, OutRecord};
use super::*;
use serde_json::json;

const HOPS: &[(u16, u32)] = &[(1, 1), (2, 5), (3, 9)];

/// No probe within the first million seconds.
fn quiet() -> Bench<Asf> {
    Bench::new(&json!({ "first-probe": "1000000s" }), HOPS)
}

/// Data from `face` for an Interest sent at `from`, `rtt` later.
fn data(bench: &mut Bench<Asf>, face: u16, from: u64, rtt: u64) {
    bench.data_at(from + rtt, face, &[sent(face, from)]);
}

fn new(bench: &mut Bench<Asf>, ms: u64) -> Vec<u16> {
    bench.packet.name.segment += 1;
    bench.interest(ms, 0, Arrival::New, &[])
}

#[test]
fn a_working_face_comes_before_an_unmeasured_one_and_this_before_a_timed_out_one() {
    let mut bench = quiet();
    assert_eq!(new(&mut bench, 0), [1]);
    bench.nack(5, 1, 0, &[nacked(1, NackReason::NoRoute)]);
    assert_eq!(new(&mut bench, 10), [2]);
    data(&mut bench, 2, 10, 80);
    assert_eq!(new(&mut bench, 100), [2]);
    // From face 2 itself: 3 is unmeasured, 1 timed out.
    assert_eq!(bench.interest(100, 2, Arrival::New, &[]), [3]);
    bench.nack(110, 3, 0, &[nacked(3, NackReason::NoRoute)]);
    // Both timed out: by cost.
    assert_eq!(bench.interest(120, 2, Arrival::New, &[]), [1]);
}

// Samples of face 1: 60, then 180: 60 + 120/8 = 75 ms. Face 2: 70 ms.
#[test]
fn among_working_faces_the_least_smoothed_round_trip_wins_whatever_it_costs() {
    let mut bench = quiet();
    new(&mut bench, 0);
    data(&mut bench, 1, 0, 60);
    bench.interest(60, 1, Arrival::New, &[]);
    data(&mut bench, 2, 60, 70);
    assert_eq!(new(&mut bench, 200), [1]);
    data(&mut bench, 1, 200, 180);
    assert_eq!(new(&mut bench, 400), [2]);
}

#[test]
fn a_retransmitted_interest_still_gives_a_sample_from_its_last_transmission() {
    let mut bench = quiet();
    new(&mut bench, 0);
    bench.data_at(90, 1, &[OutRecord { sends: 2, ..sent(1, 50) }]);
    let namespace = bench.strategy.namespace(PrefixId(0), at(90)).unwrap();
    assert_eq!(namespace.known_mut(FaceId(1)).unwrap().rtt.srtt(), Duration::from_millis(40));
}

// The timeout is 1 s before the first sample, and one runs at a time: Interests at 0, 1000 and 2000 start one each,
// which end at 1000, 2000 and 3000.
#[test]
fn the_third_timeout_in_a_row_makes_a_face_timed_out() {
    let mut bench = quiet();
    for (ms, face) in [(0, 1), (500, 1), (1000, 1), (2000, 1), (2999, 1), (3000, 2)] {
        assert_eq!(new(&mut bench, ms), [face], "{ms}");
    }
}

#[test]
fn data_between_them_restarts_the_count_of_timeouts() {
    let mut bench = quiet();
    new(&mut bench, 0);
    new(&mut bench, 1000);
    // For another Interest than that of the timer, which runs on: 2000 is the first timeout again.
    bench.packet.name.segment = 1;
    data(&mut bench, 1, 1400, 100);
    // With one sample of 100 ms the timeout is 100 + 4 · 50 = 300 ms: from 2000 to 2300, 2300 to 2600.
    for (ms, face) in [(2000, 1), (2300, 1), (2599, 1), (2600, 2)] {
        assert_eq!(new(&mut bench, ms), [face], "{ms}");
    }
}

#[test]
fn the_data_a_timer_waits_for_stops_it() {
    let mut bench = quiet();
    for round in 0..5 {
        new(&mut bench, 1000 * round);
        data(&mut bench, 1, 1000 * round, 60);
    }
    assert_eq!(new(&mut bench, 60_000), [1]);
    let namespace = bench.strategy.namespace(PrefixId(0), at(60_000)).unwrap();
    assert_eq!(namespace.rank(NextHop { face: FaceId(1), cost: 1 }).0, Rank::Working);
}

#[test]
fn measurements_end_five_minutes_after_their_last_use() {
    let mut bench = quiet();
    new(&mut bench, 0);
    bench.nack(5, 1, 0, &[nacked(1, NackReason::Congestion)]);
    assert_eq!(new(&mut bench, 299_000), [2], "the prefix is in use");
    assert_eq!(new(&mut bench, 299_999), [2]);
    assert_eq!(new(&mut bench, 300_001), [1], "the face has been forgotten");
}

fn probed(bench: &mut Bench<Asf>, ms: u64) -> Vec<(u16, bool)> {
    bench.packet.name.segment += 1;
    let choice = bench.choice(ms, 0, Arrival::New, &[]);
    choice.copies().iter().map(|copy| (copy.face.0, copy.new_nonce)).collect()
}

#[test]
fn the_first_probe_comes_within_five_seconds_and_the_next_a_minute_after_it() {
    let mut bench: Bench<Asf> = Bench::new(&json!({}), HOPS);
    let mut probes = Vec::new();
    for tenth in 0..1300 {
        let ms = 100 * tenth;
        let copies = probed(&mut bench, ms);
        assert_eq!(copies[0], (1, false));
        if let Some(&(face, new_nonce)) = copies.get(1) {
            assert!(new_nonce, "a probe has a nonce of its own");
            probes.push((ms, face));
        }
        data(&mut bench, 1, ms, 20);
    }
    // Of the two never measured the cheaper, and, as it never answered and is still unmeasured, again.
    let at: Vec<u64> = probes.iter().map(|probe| probe.0).collect();
    assert!(at[0] <= 5000 && at[1] == at[0] + 60_000 && at[2] == at[1] + 60_000, "{probes:?}");
    assert!(probes.iter().all(|probe| probe.1 == 2), "{probes:?}");
}

#[test]
fn a_retransmission_is_not_probed() {
    let mut bench: Bench<Asf> = Bench::new(&json!({ "first-probe": "0ms" }), HOPS);
    assert_eq!(bench.interest(0, 0, Arrival::Retransmission, &[sent(1, 0)]), [2]);
    assert_eq!(probed(&mut bench, 50).len(), 2);
}

// Four faces, 1 in use, the others measured at 30, 40 and 50 ms: drawn with 3/6, 2/6, 1/6.
#[test]
fn measured_faces_are_probed_by_rank() {
    let mut bench: Bench<Asf> = Bench::new(&json!({ "first-probe": "0ms", "probing-interval": "1s" }), HOPS);
    bench.route(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
    let mut counts = [0_u32; 5];
    for round in 0..12_000 {
        let ms = 1000 * round;
        for (face, rtt) in [(1, 20), (2, 30), (3, 40), (4, 50)] {
            bench.strategy.forwarded(PrefixId(0), FaceId(face), bench.packet.name, at(ms));
            data(&mut bench, face, ms, rtt);
        }
        let copies = probed(&mut bench, ms + 500);
        counts[usize::from(copies[1].0)] += 1;
    }
    // Standard deviation at most √(12000/4) = 55.
    assert!(counts[1] == 0 && counts[2].abs_diff(6000) < 250 && counts[3].abs_diff(4000) < 250, "{counts:?}");
}

#[test]
fn the_answer_to_a_probe_counts_until_50_ms_after_the_data_and_not_later() {
    for (late, working) in [(50, true), (51, false)] {
        let mut bench: Bench<Asf> = Bench::new(&json!({ "first-probe": "0ms" }), HOPS);
        assert_eq!(probed(&mut bench, 0), [(1, false), (2, true)]);
        bench.data_at(20, 1, &[sent(1, 0), sent(2, 0)]);
        let packet = Packet { kind: Kind::Data, ..bench.packet };
        bench.late(20 + late, 2, &packet);
        let rank = bench.strategy.namespace(PrefixId(0), at(100)).unwrap().rank(NextHop { face: FaceId(2), cost: 5 });
        assert_eq!(rank.0 == Rank::Working, working, "{late}");
        if working {
            assert_eq!(rank.1, Duration::from_millis(70));
        }
    }
}

#[test]
fn a_late_nack_with_the_probes_nonce_times_its_face_out() {
    let mut bench: Bench<Asf> = Bench::new(&json!({ "first-probe": "0ms" }), HOPS);
    probed(&mut bench, 0);
    bench.data_at(20, 1, &[sent(1, 0), OutRecord { nonce: 7, ..sent(2, 0) }]);
    for (nonce, rank) in [(6, Rank::Unmeasured), (7, Rank::TimedOut)] {
        let nack = Packet { nonce, ..bench.packet }.nack(NackReason::NoRoute);
        bench.late(30, 2, &nack);
        let namespace = bench.strategy.namespace(PrefixId(0), at(30)).unwrap();
        assert_eq!(namespace.rank(NextHop { face: FaceId(2), cost: 5 }).0, rank);
    }
}

#[test]
fn retransmissions_take_the_best_unused_face_then_the_one_used_longest_ago_each_with_its_own_suppression() {
    let mut bench = quiet();
    assert_eq!(
        bench.interest(1, 0, Arrival::Retransmission, &[sent(1, 0)]),
        [2],
        "a face not used yet is not suppressed"
    );
    let all = [sent(1, 0), sent(2, 1), OutRecord { sends: 2, ..sent(3, 2) }];
    assert!(bench.interest(9, 0, Arrival::Retransmission, &all).is_empty());
    assert_eq!(bench.interest(10, 0, Arrival::Joining, &all), [1]);
    // Face 1 was sent to three times, last at 100: 40 ms. It was used earliest.
    let later = [OutRecord { sends: 3, ..sent(1, 100) }, sent(2, 101), sent(3, 102)];
    assert!(bench.interest(139, 0, Arrival::Retransmission, &later).is_empty());
    assert_eq!(bench.interest(140, 0, Arrival::Retransmission, &later), [1]);
}

#[test]
fn without_a_next_hop_a_new_interest_is_rejected_and_all_nacks_go_downstream() {
    let mut bench: Bench<Asf> = Bench::new(&json!({}), &[(1, 1)]);
    assert_eq!(bench.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
    let choice = bench.nack(5, 1, 0, &[nacked(1, NackReason::Congestion)]);
    assert_eq!(choice.rejection(), Some(NackReason::Congestion));
}

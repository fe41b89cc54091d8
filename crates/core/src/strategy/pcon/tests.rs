use super::super::harness::{Bench, nacked, sent};
use super::*;
use crate::fields::{FieldLayout, Fields};
use crate::packet::Kind;
use proptest::prelude::*;
use serde_json::{Value, json};

fn bench(params: Value, hops: &[(u16, u32)]) -> Bench<Pcon> {
    Bench::new(&params, hops)
}

fn close(shares: &[f64], expected: &[f64]) {
    assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?} {expected:?}");
}

#[test]
fn all_begins_on_the_lowest_cost_then_the_lowest_face() {
    close(&bench(json!({}), &[(4, 2), (3, 1), (2, 1)]).shares(), &[0.0, 0.0, 1.0]);
    close(&bench(json!({ "init": "equal" }), &[(4, 2), (3, 1)]).shares(), &[0.5, 0.5]);
}

// After k marks the first face keeps 0.98^k: 0.98, 0.9604, 0.941192; the two others halve what it lost.
#[test]
fn each_mark_moves_two_percent_of_the_share_evenly_to_the_others() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2), (3, 2)]);
    for (first, other) in [(0.98, 0.01), (0.9604, 0.0198), (0.941_192, 0.029_404)] {
        bench.data(FaceId(1), 1, false);
        close(&bench.shares(), &[first, other, other]);
    }
    // 0.02 · 0.029404 = 0.00058808 off the second, half of it to each of the others.
    bench.data(FaceId(2), 1, false);
    close(&bench.shares(), &[0.941_486_04, 0.028_815_92, 0.029_698_04]);
}

#[test]
fn unmarked_local_and_cached_data_and_strange_faces_move_nothing() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
    bench.data(FaceId(1), 0, false);
    bench.data(FaceId(1), 1, true);
    bench.data(FaceId::NONE, 1, false);
    bench.data(FaceId(7), 1, false);
    close(&bench.shares(), &[1.0, 0.0]);
}

#[test]
fn marked_nacks_count_once_per_110_ms_and_pass_on_at_once() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
    let sent = [nacked(1, NackReason::Congestion), sent(2, 0)];
    for (ms, mark, expected) in [(0, 1, 0.98), (109, 1, 0.98), (110, 0, 0.98), (110, 1, 0.9604)] {
        assert_eq!(bench.nack(ms, 1, mark, &sent).rejection(), Some(NackReason::Congestion));
        close(&bench.shares(), &[expected, 1.0 - expected]);
    }
    bench.note = PROBED;
    assert_eq!(bench.nack(111, 1, 0, &sent).rejection(), None, "the probe may still answer");
}

// Two upstreams expired: twice 0.02 off the first one's face; then the rest of it when less than a step is left.
#[test]
fn an_expired_interest_takes_an_absolute_step_per_upstream_off_its_first_face() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
    bench.timeout(&[sent(1, 0), sent(2, 0)]);
    close(&bench.shares(), &[0.96, 0.04]);
    for _ in 0..49 {
        bench.timeout(&[sent(1, 0)]);
    }
    close(&bench.shares(), &[0.0, 1.0]);
}

#[test]
fn a_retransmission_is_forwarded_and_another_downstream_joins() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
    assert_eq!(bench.interest(5, 0, Arrival::Retransmission, &[sent(1, 0)]), [1]);
    assert!(bench.interest(5, 7, Arrival::Joining, &[sent(1, 0)]).is_empty());
    assert_eq!(bench.interest(2001, 7, Arrival::Joining, &[sent(1, 0)]), [1], "the pending Interest has expired");
}

#[test]
fn probes_reach_all_other_hops_but_not_the_way_back() {
    let mut bench = bench(json!({ "probing": 1.0 }), &[(1, 1), (2, 2), (3, 2)]);
    let choice = bench.choice(0, 3, Arrival::New, &[]);
    let copies: Vec<_> = choice.copies().iter().map(|copy| (copy.face.0, copy.new_nonce)).collect();
    assert_eq!(copies, [(1, false), (2, true)]);
}

// 0.1 % of 200,000 is 200, with a standard deviation of 14.
#[test]
fn one_interest_in_a_thousand_probes() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 2)]);
    let probes: usize = (0..200_000).map(|_| bench.interest(0, 0, Arrival::New, &[]).len() - 1).sum();
    assert!((130..270).contains(&probes), "{probes}");
}

// 34 marks leave 0.98³⁴ = 0.5031 on the first face; standard deviation √(20000 · ¼) = 71.
#[test]
fn interests_follow_the_shares() {
    let mut bench = bench(json!({ "probing": 0.0 }), &[(1, 1), (2, 2)]);
    for _ in 0..34 {
        bench.data(FaceId(1), 1, false);
    }
    let first = (0..20_000).filter(|_| bench.interest(0, 0, Arrival::New, &[]) == [1]).count();
    assert!(first.abs_diff(10_062) < 300, "{first}");
}

#[test]
fn if_only_the_way_back_has_a_share_the_cheapest_other_hop_is_used() {
    let mut bench = bench(json!({}), &[(1, 1), (2, 5), (3, 4)]);
    assert_eq!(bench.interest(0, 1, Arrival::New, &[]), [3]);
    let mut alone: Bench<Pcon> = Bench::new(&json!({}), &[(1, 1)]);
    assert_eq!(alone.choice(0, 1, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
    assert_eq!(alone.choice(0, 1, Arrival::Retransmission, &[sent(1, 0)]).rejection(), None);
}

#[test]
fn a_change_of_routes_keeps_what_it_can() {
    let mut bench = bench(json!({ "init": "equal" }), &[(1, 1), (2, 2), (3, 3), (4, 4)]);
    bench.route(&[(2, 9), (3, 3), (5, 1)]);
    close(&bench.shares(), &[0.5, 0.5, 0.0]);
    bench.route(&[(6, 1), (7, 2)]);
    close(&bench.shares(), &[0.5, 0.5]);
    bench.route(&[]);
    assert!(bench.shares().is_empty());
    assert_eq!(bench.choice(0, 0, Arrival::New, &[]).rejection(), Some(NackReason::NoRoute));
}

/// The slots of a strategy that needs all three header fields, in their order.
fn slots() -> [Slot; 3] {
    let mut layout = FieldLayout::new();
    Pcon::FIELDS.iter().map(|&field| layout.slot(field).unwrap()).collect::<Vec<_>>().try_into().unwrap()
}

/// A marked Data with this flow count and distance.
fn marked(flows: u32, distance: u32) -> Packet {
    let mut packet = Packet { kind: Kind::Data, mark: 1, ..Packet::default() };
    packet.fields.set(slots()[0], flows);
    packet.fields.set(slots()[1], distance);
    packet
}

fn pooling(suppress: &str) -> Value {
    json!({ "distance": "hops", "flow-aware": true, "suppress": suppress })
}

// Equations 1 to 4 by Python's fractions. 1 flow at 1 hop: 0.98; at 2 hops 1 − 0.01: 0.9702; 3 flows at 2 hops
// 1 − 0.03: 0.941094; 100 flows would take twice the share, so all of it.
#[test]
fn a_reaction_grows_with_the_flows_and_weakens_with_the_distance() {
    let mut bench = bench(pooling("all"), &[(1, 1), (2, 2)]);
    for (flows, distance, first) in [(1, 1, 0.98), (1, 2, 0.9702), (3, 2, 0.941_094), (100, 1, 0.0)] {
        bench.data_with(0, FaceId(1), &marked(flows, distance), false, &Fields::default());
        close(&bench.shares(), &[first, 1.0 - first]);
    }
}

// Equation 4 at R1 of the paper's topology: 2 flows, share 0.75 of the other face: 0.75 − 0.75 · 0.02 · 2 = 0.72.
#[test]
fn two_flows_on_the_congested_link_double_the_step_and_what_is_not_switched_on_is_ignored() {
    let mut bench = bench(json!({ "flow-aware": true, "init": "equal" }), &[(1, 1), (2, 2)]);
    let steps = (0..35).find(|_| {
        bench.data_with(0, FaceId(2), &marked(1, 9), false, &Fields::default());
        bench.shares()[0] > 0.75
    });
    assert_eq!(steps, Some(34), "0.5 · 0.98^35 = 0.2465");
    let before = bench.shares()[0];
    bench.data_with(0, FaceId(1), &marked(2, 9), false, &Fields::default());
    close(&bench.shares(), &[before * 0.96, 1.0 - before * 0.96]);
}

#[test]
fn a_mark_without_count_and_distance_counts_as_one_flow_one_hop_away() {
    let mut bench = bench(pooling("none"), &[(1, 1), (2, 2)]);
    bench.data(FaceId(1), 1, false);
    close(&bench.shares(), &[0.98, 0.02]);
}

#[test]
fn marks_held_back_still_move_shares() {
    let mut bench = bench(json!({ "suppress": "others" }), &[(1, 1), (2, 2)]);
    let (data, interest_fields) = (Packet { kind: Kind::Data, mark: 2, ..Packet::default() }, Fields::default());
    assert_eq!(bench.data_with(1000, FaceId(1), &data, false, &interest_fields), 2);
    close(&bench.shares(), &[0.98, 0.02]);
    assert_eq!(bench.data_with(1050, FaceId(2), &data, false, &interest_fields), 0);
    // 0.02 · 0.02 = 0.0004 back from the second face.
    close(&bench.shares(), &[0.9804, 0.0196]);
    assert_eq!(bench.data_with(1060, FaceId(1), &data, false, &interest_fields), 2);
    assert_eq!(bench.data_with(1110, FaceId(2), &data, false, &interest_fields), 2);
}

#[test]
fn only_the_branching_router_nearest_the_consumer_holds_marks_back() {
    let data = Packet { kind: Kind::Data, mark: 1, ..Packet::default() };
    let mut filtered = Fields::default();
    filtered.set(FieldLayout::new().slot(Field::MarksFiltered).unwrap(), 1);
    let both = |hops: &[(u16, u32)], interest_fields: &Fields| {
        let mut bench = bench(json!({ "suppress": "all" }), hops);
        [1, 2].map(|face| bench.data_with(1000, FaceId(face), &data, false, interest_fields))
    };
    assert_eq!(both(&[(1, 1), (2, 2)], &Fields::default()), [1, 0]);
    assert_eq!(both(&[(1, 1), (2, 2)], &filtered), [1, 1], "a router nearer the consumer does it");
    assert_eq!(both(&[(1, 1), (0, 2)], &Fields::default()), [1, 1], "the return path is not a branch");
}

#[test]
fn a_branching_router_says_in_the_interest_that_it_filters() {
    let slot = FieldLayout::new().slot(Field::MarksFiltered).unwrap();
    let marks = |suppress: &str, hops: &[(u16, u32)]| {
        let choice = bench(json!({ "suppress": suppress }), hops).choice(0, 0, Arrival::New, &[]);
        choice.stamped(&Packet::default()).map(|packet| packet.fields.get(slot))
    };
    assert_eq!(marks("all", &[(1, 1), (2, 2)]), Some(1));
    assert_eq!(marks("all", &[(1, 1), (0, 2)]), None, "one eligible next hop only");
    assert_eq!(marks("none", &[(1, 1), (2, 2)]), None);
}

proptest! {
    #[test]
    fn shares_stay_within_0_and_1_and_sum_to_1(
        events in prop::collection::vec((0_u8..4, 1_u16..6, any::<bool>()), 1..400),
        change in 0.0..=1.0_f64,
        n in 1_u16..6,
    ) {
        let list: Vec<_> = (1..=n).map(|face| (face, u32::from(face))).collect();
        let mut bench = bench(json!({ "change": change }), &list);
        for (i, (what, face, marked)) in events.into_iter().enumerate() {
            match what {
                0 => bench.timeout(&[sent(face, 0), sent(1, 0)]),
                1 => drop(bench.nack(i as u64 * 60, face, u8::from(marked), &[nacked(face, NackReason::Congestion)])),
                _ => bench.data(FaceId(face), u8::from(marked), false),
            }
            let shares = bench.shares();
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(shares.iter().all(|part| (0.0..=1.0).contains(part)));
        }
    }
}

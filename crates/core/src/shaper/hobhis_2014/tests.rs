use super::*;
use crate::fields::FieldLayout;
use crate::shaper::harness::{Bench, ms};
use crate::units::Rate;
use serde_json::json;

/// Two flows share the return path, 1 Mbit/s; flow 1 knows its round trip, 80 ms, and Data of 1250 B.
fn warm() -> Bench<Hobhis2014> {
    let mut bench = Bench::new(&json!({ "design": 0.7, "target": 60.0, "patience": 1.0 })).link(10.0);
    bench.downstream_rate = Some(Rate::from_mbps(1.0));
    bench.flows = 2;
    assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
    bench.answer(ms(80), 1, ms(0), Outcome::Data);
    bench
}

fn slot() -> Slot {
    FieldLayout::new().slot(Field::ToleranceRate).unwrap()
}

/// What is on a packet of `flow` that came with `upstream` when it continues downstream.
fn stamped(bench: &Bench<Hobhis2014>, flow: u32, upstream: u32) -> u32 {
    let mut fields = Fields::default();
    fields.set(slot(), upstream);
    bench.shaper.stamp(FlowId(flow), &mut fields);
    fields.get(slot())
}

#[test]
fn the_gap_follows_the_share_of_capacity_and_target() {
    // C/S = 1e6 / 10 000 = 100/s, of which half; B/N = 30. Empty queue: 50 + 0.7·30/0.08 = 312.5/s, 3.2 ms.
    // At 30: 50/s, 20 ms. At 34: 50 − 0.7·4/0.08 = 15/s, 66.667 ms. At 40: below 0, again in 0.1 ms.
    for (queue, gap) in [(0, 3_200_000), (30, 20_000_000), (34, 66_666_667), (40, 100_000)] {
        let mut bench = warm();
        (bench.data, bench.backlog) = (2 * queue, queue);
        assert_eq!(bench.admit(ms(100), 1), Admission::Hold);
        let wake = bench.shaper.next_wake().since(ms(100)).nanos();
        assert!(wake.abs_diff(gap) <= 1, "queue {queue}: {wake}");
        assert_eq!(bench.release(ms(100) + Duration::from_nanos(wake)).is_some(), queue < 40);
    }
}

#[test]
fn before_the_first_round_trip_a_flow_has_its_share_of_data() {
    // The first leaves at once; then 1e6 / 8000 / 2 = 62.5/s, 16 ms, as a Data is taken to have 1000 B.
    let mut bench = Bench::<Hobhis2014>::new(&json!({})).link(10.0);
    (bench.downstream_rate, bench.flows) = (Some(Rate::from_mbps(1.0)), 2);
    assert_eq!(bench.admit(ms(0), 1), Admission::Pass);
    assert_eq!(bench.admit(ms(10), 1), Admission::Hold);
    assert_eq!(bench.shaper.next_wake(), ms(26));
    // Nothing is known of the time in which the FIFO may fill.
    assert_eq!(stamped(&bench, 1, 0), 63);
}

#[test]
fn a_long_gap_is_computed_again_after_a_round_trip_from_the_same_start() {
    // At 35: 50 − 0.7·5/0.08 = 6.25/s, 160 ms. After 80 ms the queue is at 30, so 20 ms would have been enough.
    let mut bench = warm();
    bench.backlog = 35;
    bench.admit(ms(100), 1);
    assert_eq!(bench.shaper.next_wake(), ms(180));
    bench.backlog = 30;
    assert!(bench.release(ms(179)).is_none());
    assert!(bench.release(ms(180)).is_some());
}

#[test]
fn the_tolerance_rate_is_what_would_fill_the_fifo_in_a_round_trip_and_the_smallest_of_the_way_stays() {
    let mut bench = warm();
    bench.backlog = 30;
    // One held: 50 + 99/0.08 = 1287.5. Full: 50.
    bench.admit(ms(100), 1);
    assert_eq!(stamped(&bench, 1, 0), 1288);
    assert_eq!(stamped(&bench, 1, 5000), 1288);
    assert_eq!(stamped(&bench, 1, 40), 40);
    let rejected = (0..120).filter(|_| bench.admit(ms(100), 1) != Admission::Hold).count();
    assert_eq!((rejected, stamped(&bench, 1, 0)), (21, 50));
    // A flow without Interests here gets no field.
    assert_eq!((stamped(&bench, 9, 0), stamped(&bench, 9, 7)), (0, 7));
}

#[test]
fn a_flow_that_may_send_nothing_gets_one_packet_per_second_since_zero_would_mean_no_limit() {
    let mut bench = warm();
    bench.backlog = 40;
    assert_eq!((0..101).filter(|_| bench.admit(ms(100), 1) == Admission::Hold).count(), 1);
    assert_eq!(stamped(&bench, 1, 0), 1);
}

#[test]
fn no_more_wait_than_can_leave_within_a_part_of_their_lifetime() {
    // 50/s · 4 s · 0.1 = 20.
    let mut bench = warm();
    bench.shaper.params.patience = 0.1;
    bench.backlog = 30;
    assert_eq!((0..120).filter(|_| bench.admit(ms(100), 1) == Admission::Hold).count(), 20);
    assert_eq!(stamped(&bench, 1, 0), 50);
}

#[test]
fn what_routers_upstream_tolerate_caps_the_rate() {
    let mut bench = warm();
    bench.fields.set(slot(), 25);
    bench.answer(ms(160), 1, ms(80), Outcome::Nack(NackReason::Congestion));
    bench.backlog = 30;
    assert_eq!(bench.admit(ms(200), 1), Admission::Hold);
    assert_eq!(bench.shaper.next_wake(), ms(240));
}

#[test]
fn each_flow_has_a_queue_of_its_own_and_leaves_in_order_at_its_own_rate() {
    let mut bench = warm();
    bench.admit(ms(80), 2);
    bench.answer(ms(160), 2, ms(80), Outcome::Data);
    bench.backlog = 30;
    let rejected = |bench: &mut Bench<Hobhis2014>, flow, count: u32| {
        (0..count).filter(|_| matches!(bench.admit(ms(200), flow), Admission::Reject(_))).count()
    };
    assert_eq!((rejected(&mut bench, 1, 300), rejected(&mut bench, 2, 60)), (200, 0));
    assert_eq!(bench.shaper.held(), 160);
    let mut left = [Vec::new(), Vec::new()];
    while bench.shaper.next_wake() <= ms(1200) {
        let now = bench.shaper.next_wake().max(ms(200));
        if let Some(packet) = bench.release(now) {
            left[packet.name.flow.0 as usize - 1].push(packet.name.segment);
        }
    }
    // 50/s each for one second.
    assert_eq!((left[0].len(), left[1].len()), (50, 50));
    assert!(left.iter().all(|segments| segments.is_sorted()));
}

#[test]
fn applications_on_this_node_are_not_shaped_and_get_no_fields() {
    let mut bench = Bench::<Hobhis2014>::new(&json!({}));
    bench.downstream_local = true;
    assert!((0..200).all(|_| bench.admit(ms(0), 1) == Admission::Pass));
    assert_eq!(stamped(&bench, 1, 0), 0);
}

#[test]
fn a_flood_of_flows_keeps_memory_bounded() {
    let mut bench = Bench::<Hobhis2014>::new(&json!({}));
    for flow in 0..40_000 {
        bench.admit(ms(0), flow / 2);
    }
    assert_eq!((bench.shaper.flows.len(), bench.shaper.held()), (MAX_FLOWS, MAX_HELD));
}

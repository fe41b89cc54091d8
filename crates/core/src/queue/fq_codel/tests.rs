use super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::ids::NameId;
use crate::queue::harness::ms;
use serde_json::{Value, json};

struct Bench {
    queue: FqCodel,
    limit: Limit,
    rng: Rng,
    trace: Trace,
}

impl Bench {
    fn new(packets: u32, params: &Value) -> Bench {
        let params = parse_params::<FqCodel>(params).unwrap();
        let queue = FqCodel::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        Bench { queue, limit: Limit::Packets(packets), rng: Rng::derive(1, &[]), trace: Trace::default() }
    }

    /// A packet joins; the flows and segments that are dropped for it.
    fn put(&mut self, now: Time, flow: u32, segment: u32, size: u32) -> Vec<(u32, u32)> {
        let name = NameId { flow: FlowId(flow), segment };
        let packet = Packet { name, kind: Kind::Data, size, ..Packet::default() };
        let mut dropped = Vec::new();
        let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
        self.queue.enqueue(packet, self.limit, &mut dropped, &mut ctx);
        dropped.iter().map(|packet| (packet.name.flow.0, packet.name.segment)).collect()
    }

    /// The flow, segment and mark of the next packet, and how many were dropped before it.
    fn take(&mut self, now: Time) -> Option<((u32, u32, u8), usize)> {
        let mut dropped = Vec::new();
        let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
        let queued = self.queue.dequeue(&mut dropped, &mut ctx)?;
        Some(((queued.packet.name.flow.0, queued.packet.name.segment, queued.mark), dropped.len()))
    }
}

// By hand from RFC 8290 §4, quantum 1500: flow 1 sends 0 and 1 (credit 1500, 500, −500); flow 1 gets 1500 and goes to
// the old list; flow 2 sends its first 500 B. Flow 3 arrives: it is new, behind flow 2 on the new list. Flow 2 sends
// two more (credit 1000, 500, 0), gets 1500 and goes behind flow 1; flow 3 sends; then flow 1 its last two.
#[test]
fn new_flows_go_first_and_old_ones_share_bytes() {
    let mut bench = Bench::new(100, &json!({}));
    (0..4).for_each(|i| assert!(bench.put(ms(0), 1, i, 1000).is_empty()));
    (0..3).for_each(|i| assert!(bench.put(ms(0), 2, i, 500).is_empty()));
    let mut order: Vec<_> = (0..3).filter_map(|_| bench.take(ms(0))).collect();
    bench.put(ms(0), 3, 0, 100);
    order.extend(std::iter::from_fn(|| bench.take(ms(0))));
    let order: Vec<_> = order.iter().map(|((flow, segment, _), _)| (*flow, *segment)).collect();
    assert_eq!(order, [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (1, 2), (1, 3)]);
}

// Flow 1 has sent its first packets and takes turns when before each packet that leaves a flow of one packet comes. At
// 0.75 it gets one of four, but for the first, which is saved up.
#[test]
fn flows_of_one_packet_each_leave_those_that_wait_their_part() {
    for (part, wanted) in [(1.0, 0), (0.75, 9), (0.5, 19)] {
        let mut bench = Bench::new(1000, &json!({ "first-part": part }));
        (0..100).for_each(|i| drop(bench.put(ms(0), 1, i, 1000)));
        (0..2).for_each(|_| assert_eq!(bench.take(ms(0)).unwrap().0.0, 1));
        let mut from_first = 0;
        for flow in 2..42 {
            bench.put(ms(0), flow, 0, 1000);
            from_first += u32::from(bench.take(ms(0)).unwrap().0.0 == 1);
        }
        assert_eq!(from_first, wanted, "{part}");
    }
}

// Of ten packets flow 1 has three, and flows that had no queue hold more than half: the last of these goes, not flow 1's.
#[test]
fn flows_without_a_queue_that_hold_more_than_their_part_lose_what_is_too_much() {
    for (part, lost) in [(1.0, (1, 2)), (0.5, (9, 0))] {
        let mut bench = Bench::new(10, &json!({ "first-part": part }));
        (0..5).for_each(|i| drop(bench.put(ms(0), 1, i, 1000)));
        (0..2).for_each(|_| assert_eq!(bench.take(ms(0)).unwrap().0.0, 1));
        (2..9).for_each(|flow| drop(bench.put(ms(0), flow, 0, 1000)));
        assert_eq!(bench.take(ms(0)).unwrap().0.0, 2, "flow 1 takes turns by now");
        bench.put(ms(0), 2, 1, 1000);
        assert_eq!(bench.put(ms(0), 9, 0, 1000).first(), Some(&lost), "{part}");
    }
}

// Flow 1 has sent a packet and rests; it comes back behind ten flows that had no queue, and flow 2, which sends three. One
// of the ten is saved up, and one goes before each of the three.
#[test]
fn a_flow_that_had_a_queue_does_not_wait_for_all_that_had_none() {
    for (part, wanted) in [(1.0, 10), (0.5, 4)] {
        let mut bench = Bench::new(100, &json!({ "first-part": part }));
        bench.put(ms(0), 1, 0, 1000);
        while bench.take(ms(0)).is_some() {}
        (0..3).for_each(|i| drop(bench.put(ms(1), 2, i, 1000)));
        (3..13).for_each(|flow| drop(bench.put(ms(1), flow, 0, 1000)));
        bench.put(ms(1), 1, 1, 1000);
        let order: Vec<u32> = std::iter::from_fn(|| bench.take(ms(1))).map(|((flow, ..), _)| flow).collect();
        let before = order.iter().take_while(|&&flow| flow != 1).filter(|&&flow| flow > 2).count();
        assert_eq!(before, wanted, "{part}");
    }
}

#[test]
fn flows_of_one_packet_each_take_each_others_queues_and_not_that_of_a_flow_that_came_back() {
    for (part, keeps) in [(1.0, false), (0.5, true)] {
        let mut bench = Bench::new(100, &json!({ "first-part": part, "flows": 3 }));
        for flow in [1, 1, 2, 3, 4, 5, 6] {
            bench.put(ms(0), flow, 0, 1000);
            while bench.take(ms(0)).is_some() {}
        }
        assert_eq!(bench.queue.homes.contains_key(&FlowId(1)), keeps, "{part}");
    }
}

// Flow 1 holds 8000 B when the eleventh packet comes: from its head go packets until half, 4000 B, is gone.
#[test]
fn the_fattest_flow_loses_half_of_its_queue_from_the_head_but_not_more_than_a_batch() {
    for (params, lost) in [(json!({}), 4), (json!({ "drop-batch": 2 }), 2)] {
        let mut bench = Bench::new(10, &params);
        (0..8).for_each(|i| assert!(bench.put(ms(0), 1, i, 1000).is_empty()));
        (0..2).for_each(|i| assert!(bench.put(ms(0), 2, i, 1000).is_empty()));
        let expected: Vec<_> = (0..lost).map(|i| (1, i)).collect();
        assert_eq!(bench.put(ms(0), 2, 2, 1000), expected);
        assert_eq!(bench.queue.backlog(FlowId(1)), (8 - lost, Bytes::new(u64::from(8 - lost) * 1000)));
    }
}

/// Flow 1 sends 1250 B per millisecond from 0 on, flow 2 100 B every 50 ms; from 12 ms on one packet leaves per
/// millisecond, and two when flow 2 has sent. The instants of marks and of drops, all on flow 1.
fn standing_queue(params: &Value) -> (Vec<u64>, Vec<u64>) {
    let mut bench = Bench::new(1000, params);
    let (mut marks, mut drops) = (Vec::new(), Vec::new());
    for t in 0..700_u32 {
        let now = ms(u64::from(t));
        bench.put(now, 1, t, 1250);
        if t % 50 == 0 {
            bench.put(now, 2, t, 100);
        }
        for _ in 0..if t < 12 { 0 } else { 1 + u32::from(t % 50 == 0) } {
            let ((flow, segment, mark), dropped) = bench.take(now).unwrap();
            drops.extend((0..dropped).map(|_| u64::from(t)));
            assert!(flow == 1 || segment == t || segment == 0, "a sparse flow does not wait");
            if mark > 0 {
                assert_eq!(flow, 1, "only the flow with a standing queue is marked");
                marks.push(u64::from(t));
            }
        }
    }
    (marks, drops)
}

// From the pseudocode of RFC 8290 and 8289, written down separately: the queue of flow 1 is over the target from 12 ms
// on (a wait of 12 ms), so the first mark is at 112, the next due at 212, 282.71, 340.45, 390.45, 435.17, 475.99,
// 513.79, 549.14, 582.48, 614.10, 644.25, 673.12.
#[test]
fn a_standing_queue_is_marked_as_codel_does_while_a_sparse_flow_passes_at_once() {
    let (marks, drops) = standing_queue(&json!({}));
    assert_eq!(marks, [112, 212, 283, 341, 391, 436, 476, 514, 550, 583, 615, 645, 674]);
    assert!(drops.is_empty());
}

// The same instants, until the ninth drop leaves only 4 packets, that is waits below the target.
#[test]
fn dropping_ends_the_standing_queue() {
    let (marks, drops) = standing_queue(&json!({ "action": "drop" }));
    assert_eq!(drops, [112, 212, 283, 341, 391, 436, 476, 514, 550]);
    assert!(marks.is_empty());
}

// From the pseudocode of RFC 8289 §5, written down separately. 400 packets joined at 0. At 400 ms the instants 206,
// 276.71, 334.45 and 384.45 have passed: four drops before the packet that leaves; at 500: 429.17 and 469.99.
#[test]
fn after_a_pause_a_dropping_queue_catches_up_at_once() {
    let mut bench = Bench::new(1000, &json!({ "action": "drop" }));
    (0..400).for_each(|i| assert!(bench.put(ms(0), 1, i, 1250).is_empty()));
    let left: Vec<_> = [6, 106, 107, 400, 401, 402, 500].map(|t| bench.take(ms(t)).unwrap()).into();
    let left: Vec<_> = left.iter().map(|((_, segment, _), dropped)| (*dropped, *segment)).collect();
    assert_eq!(left, [(0, 0), (1, 2), (0, 3), (4, 8), (0, 9), (0, 10), (2, 13)]);
}

#[test]
fn a_queue_that_codel_empties_gives_nothing_and_comes_back_later() {
    let mut bench = Bench::new(1000, &json!({ "action": "drop", "mtu": "0B", "interval": "10ms" }));
    (0..3).for_each(|i| assert!(bench.put(ms(0), 1, i, 1250).is_empty()));
    bench.put(ms(0), 1, 3, 0);
    // Over the target at 10, dropped from 20 on; the packet behind the last has nothing behind it and leaves.
    assert_eq!(bench.take(ms(10)), Some(((1, 0, 0), 0)));
    assert_eq!(bench.take(ms(20)), Some(((1, 2, 0), 1)));
    assert_eq!(bench.take(ms(60)), Some(((1, 3, 0), 0)));
    assert_eq!(bench.take(ms(60)), None);
    assert!(bench.put(ms(70), 1, 4, 1250).is_empty());
    assert_eq!(bench.take(ms(70)), Some(((1, 4, 0), 0)));
}

#[test]
fn when_all_queues_are_taken_a_new_flow_takes_an_empty_one_or_shares() {
    let mut bench = Bench::new(100, &json!({ "flows": 2 }));
    for flow in [10, 11, 12] {
        bench.put(ms(0), flow, 0, 1000);
    }
    // Flow 12 is a guest of queue 12 mod 2 = 0, flow 10's.
    assert_eq!(bench.queue.queues.len(), 2);
    assert_eq!(bench.queue.backlog(FlowId(12)), (1, Bytes::new(1000)));
    let order: Vec<_> = std::iter::from_fn(|| bench.take(ms(0))).map(|((flow, ..), _)| flow).collect();
    assert_eq!(order, [10, 12, 11]);
    // All are empty: flow 13 takes the queue that was left first.
    bench.put(ms(1), 13, 0, 1000);
    assert_eq!(bench.queue.homes.len(), 2);
    assert!(bench.queue.homes.contains_key(&FlowId(13)));
}

#[test]
fn a_flood_of_flows_keeps_the_state_bounded() {
    let mut bench = Bench::new(10, &json!({}));
    for flow in 0..10_000 {
        bench.put(ms(0), flow, 0, 1000);
    }
    assert_eq!((bench.queue.queues.len(), bench.queue.packets()), (1024, 10));
    assert!(bench.queue.homes.len() <= 1024 + 10);
}

// Of two, one lets packets pass where nothing waits and hears of the free wire only when the next packet joins; flows are
// more than queues, so that it matters in which order these became empty.
#[test]
fn a_packet_that_passes_and_a_wire_that_is_noticed_late_change_nothing() {
    for part in [1.0, 0.5] {
        one_lets_packets_pass(part);
    }
}

fn one_lets_packets_pass(part: f64) {
    let params = json!({ "flows": 3, "quantum": "600B", "target": "1ms", "interval": "4ms", "first-part": part });
    let (mut eager, mut lazy) = (Bench::new(8, &params), Bench::new(8, &params));
    let (mut draw, mut now, mut due, mut free, mut passed) = (Rng::derive(7, &[]), 0, None, 0, 0);
    for segment in 0..20_000 {
        now += draw.below(8);
        // Transmissions of 2 ms end before the next packet joins.
        while let Some(end) = due.filter(|&end| end <= now) {
            let waits = lazy.queue.packets() > 0;
            let next = eager.take(ms(end));
            if waits {
                assert_eq!(next, lazy.take(ms(end)));
            }
            due = next.map(|_| end + 2);
            if due.is_none() {
                assert!(!waits);
                free = end;
            }
        }
        let (flow, size) = (draw.below(6) as u32, 100 + draw.below(1400) as u32);
        let mut ctx = Ctx { now: ms(now), rng: &mut lazy.rng, trace: &mut lazy.trace };
        if due.is_none() && lazy.queue.pass(FlowId(flow), Bytes::new(u64::from(size)), &mut ctx) {
            passed += 1;
        } else {
            if due.is_none() {
                assert_eq!(lazy.take(ms(free)), None);
            }
            assert_eq!(eager.put(ms(now), flow, segment, size), lazy.put(ms(now), flow, segment, size));
            if due.is_none() {
                assert_eq!(eager.take(ms(now)), lazy.take(ms(now)));
                due = Some(now + 2);
            }
            continue;
        }
        assert!(eager.put(ms(now), flow, segment, size).is_empty());
        assert_eq!(eager.take(ms(now)), Some(((flow, segment, 0), 0)));
        due = Some(now + 2);
        assert_eq!(eager.queue.backlog(FlowId(flow)), lazy.queue.backlog(FlowId(flow)));
    }
    assert!(passed > 1000, "{passed}");
}

// What docs/measurements/weir.md says that a flow and a packet take in a queue.
#[test]
fn the_state_of_a_queue_is_small() {
    let sizes = [size_of::<Queue>(), size_of::<Queued>()];
    assert!(sizes[0] <= 128 && sizes[1] <= 80, "{sizes:?}");
}

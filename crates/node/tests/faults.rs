//! Rates that change, faces that go down, nodes that crash.

use crate::common::*;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::packet::Packet;
use ndnweir_core::units::{Rate, Time};
use ndnweir_node::{DropCause, Node};

const DOWN: DropCause = DropCause::Down;

/// Four Data (1 ms each) given to face 0 at 10 ms.
fn busy(force_events: bool) -> Node {
    let setup = Setup { force_events, cache: 10, ..Setup::default() };
    let mut node = setup.node(&[link(100), link(100)]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    for i in 0..4 {
        give(&mut node, ms(0), 0, interest(i, i));
    }
    wake(&mut node, ms(10));
    for i in 0..4 {
        node.handle(ms(10), FaceId(1), data(i));
    }
    node
}

#[test]
fn after_a_change_of_rate_the_packet_on_the_wire_continues_with_the_rest() {
    let mut node = busy(false);
    assert_eq!(drain(&mut node).len(), 4);
    let mut departures = Vec::new();
    node.set_rate(us(11_500), FaceId(0), Some(Rate::from_mbps(5.0)), &mut departures);
    assert_eq!(departures, [(ms(11), us(12_500)), (us(12_500), us(14_500)), (us(14_500), us(16_500))]);
    departures.clear();
    node.set_rate(us(12_000), FaceId(0), Some(Rate::from_mbps(2.5)), &mut departures);
    assert_eq!(departures[0], (ms(11), ms(13)), "250 of 500 µs at the former rate were left");
    departures.clear();
    node.set_rate(us(12_500), FaceId(0), Some(Rate::ZERO), &mut departures);
    assert_eq!(departures, [(ms(11), Time::NEVER), (Time::NEVER, Time::NEVER), (Time::NEVER, Time::NEVER)]);
    departures.clear();
    node.set_rate(us(20_000), FaceId(0), Some(Rate::from_mbps(10.0)), &mut departures);
    assert_eq!(departures[0], (ms(11), us(20_125)), "1250 bits are left");
    departures.clear();
    node.set_rate(us(20_000), FaceId(0), None, &mut departures);
    assert_eq!(departures, [(ms(11), ms(20)), (ms(20), ms(20)), (ms(20), ms(20))]);
    check(&mut node, ms(20));
}

#[test]
fn a_face_that_goes_down_loses_what_has_not_left_completely() {
    for force_events in [false, true] {
        let mut node = busy(force_events);
        let mut out = drain(&mut node);
        out.extend(wake(&mut node, us(11_500)));
        let lost = node.set_up(us(11_500), FaceId(0), false);
        assert_eq!(out.len() - lost, 1, "one Data had left");
        let counters = node.face_counters(us(11_500), FaceId(0));
        assert_eq!((counters.drops[DOWN], counters.cut, counters.queue_packets), (3, 1, 0));
        assert!(give(&mut node, ms(12), 0, interest(7, 7)).is_empty(), "a node that is down sends nothing");
        node.set_up(ms(13), FaceId(0), true);
        let out = give(&mut node, ms(13), 0, interest(3, 8));
        assert_eq!(out[0].end, ms(14), "answered from the store by an empty queue");
        assert_eq!(node.counters().down, 1);
    }
}

#[test]
fn what_a_down_face_is_offered_is_lost_and_its_interest_times_out() {
    let mut node = router(&Setup::default());
    node.set_up(ms(0), FaceId(1), false);
    assert!(give(&mut node, ms(0), 0, interest(1, 1)).is_empty());
    assert_eq!(node.face_counters(ms(0), FaceId(1)).drops[DOWN], 1);
    wake(&mut node, ms(1000));
    assert_eq!((node.counters().pit_expired, node.counters().pending), (1, 0));
}

#[test]
fn a_crash_loses_tables_and_queues_and_keeps_the_routes() {
    let mut node = busy(false);
    drain(&mut node);
    give(&mut node, ms(11), 0, interest(9, 9));
    let lost = node.crash(us(11_500));
    assert_eq!(lost, [3, 0], "the Interest had left at 11.04 ms");
    let counters = node.counters();
    assert_eq!((counters.lost, counters.pending, counters.pit, counters.cache), (1, 0, 0, 0));
    assert!(give(&mut node, ms(12), 1, data(9)).is_empty(), "forgotten");
    let out = give(&mut node, ms(13), 0, interest(0, 20));
    assert_eq!((out[0].face, out[0].end), (FaceId(1), us(13_040)), "not cached any more, routed as before");
    assert_eq!(give(&mut node, ms(14), 1, data(0))[0].end, ms(15));
    wake(&mut node, ms(5000));
    check(&mut node, ms(5000));
    assert_eq!(node.poll_timeout(), Time::NEVER);
}

#[test]
fn absurd_sizes_and_rates_neither_panic_nor_stop_the_others() {
    let mut node = router(&Setup::default());
    let huge = Packet { size: u32::MAX, lifetime_ms: u32::MAX, ..interest(1, 1) };
    let out = give(&mut node, ms(0), 0, huge);
    assert!(out[0].end > ms(3_000_000));
    node.set_rate(ms(1), FaceId(1), Some(Rate::from_bps(u64::MAX)), &mut Vec::new());
    assert!(give(&mut node, ms(2), 0, interest(2, 2))[0].end <= ms(3));
    assert_eq!(node.set_up(ms(3), FaceId(77), false), 0);
}

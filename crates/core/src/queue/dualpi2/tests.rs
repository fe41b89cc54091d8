//! Expected traces: the pseudocode of RFC 9332, appendix A, computed by hand.

use super::super::harness::ms;
use super::*;
use crate::component::parse_params;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;
use crate::ids::NameId;
use serde_json::{Value, json};

struct Bench {
    queues: DualPi2,
    slot: Slot,
    limit: Limit,
    rng: Rng,
    trace: Trace,
}

const CLASSIC: bool = false;
const LOW: bool = true;

impl Bench {
    fn new(params: &Value) -> Bench {
        let params = parse_params::<DualPi2>(params).unwrap();
        let mut layout = FieldLayout::new();
        let queues = DualPi2::new(&params, &mut Env { layout: &mut layout });
        let slot = layout.find(Field::LowLatency).unwrap();
        Bench { queues, slot, limit: Limit::Packets(1000), rng: Rng::derive(1, &[]), trace: Trace::default() }
    }

    /// A packet of 1000 B joins; whether it fits.
    fn joins(&mut self, now: Time, low: bool) -> bool {
        let name = NameId { flow: FlowId(u32::from(low)), ..NameId::default() };
        let mut packet = Packet { kind: Kind::Data, size: 1000, name, ..Packet::default() };
        packet.fields.set(self.slot, u32::from(low));
        let mut dropped = Vec::new();
        let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
        self.queues.enqueue(packet, self.limit, &mut dropped, &mut ctx);
        dropped.is_empty()
    }

    /// The next packet: whether it is a low-latency one, its mark, and how many were dropped before it.
    fn dequeue(&mut self, now: Time) -> Option<(bool, u8, usize)> {
        let mut dropped = Vec::new();
        let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
        let queued = self.queues.dequeue(&mut dropped, &mut ctx)?;
        Some((queued.packet.fields.get(self.slot) > 0, queued.mark, dropped.len()))
    }

    /// Which of `n` packets of one kind that wait for nothing are marked, from 1 on.
    fn marked(&mut self, n: usize, low: bool) -> Vec<usize> {
        let all = (1..=n).filter_map(|i| {
            self.joins(ms(1), low);
            self.dequeue(ms(1)).filter(|sent| sent.1 > 0).map(|_| i)
        });
        all.collect()
    }
}

// One classic packet that waits: 0.16 · (0.016 k − 0.015) + 3.2 · 0.016 = 0.0488 + 0.00256 k at update k, so that
// p′ = 0.0488 k + 0.00128 k (k + 1).
#[test]
fn the_base_probability_follows_the_delay_and_its_growth() {
    let mut bench = Bench::new(&json!({}));
    bench.joins(ms(0), CLASSIC);
    for (k, p) in [(1, 0.051_36), (2, 0.105_28), (3, 0.161_76), (4, 0.220_8), (8, 0.482_56)] {
        bench.joins(ms(16 * k), LOW);
        assert!((bench.queues.base - p).abs() < 1e-12, "update {k}: {} is not {p}", bench.queues.base);
    }
}

// The same with a low-latency packet alone (line 2a of figure 8).
#[test]
fn the_longer_of_both_delays_counts() {
    let mut bench = Bench::new(&json!({}));
    bench.joins(ms(0), LOW);
    bench.joins(ms(16), CLASSIC);
    bench.joins(ms(32), CLASSIC);
    assert!((bench.queues.base - 0.105_28).abs() < 1e-12, "{}", bench.queues.base);
}

// Nothing waits: 0.16 · 0.015 = 0.0024 off per update, so 0.024 takes ten; of growth there is none.
#[test]
fn without_a_queue_the_base_probability_falls_to_nothing() {
    let mut bench = Bench::new(&json!({}));
    bench.queues.base = 0.024;
    bench.dequeue(ms(9 * 16));
    assert!((bench.queues.base - 0.0024).abs() < 1e-12);
    bench.dequeue(ms(11 * 16));
    assert_eq!(bench.queues.base, 0.0);
    let year = 365 * 86_400_000;
    bench.dequeue(ms(100 * year));
    assert!(bench.queues.next_update > ms(100 * year) && bench.queues.next_update <= ms(100 * year + 16));
    bench.dequeue(Time::NEVER);
}

// p′ = 0.4: p_C = 0.16 adds up to 1.12 at the 7th packet, 1.08 at the 13th, 1.04 at the 19th.
#[test]
fn classic_packets_are_marked_with_the_square() {
    let mut bench = Bench::new(&json!({}));
    bench.queues.base = 0.4;
    assert_eq!(bench.marked(20, CLASSIC), [7, 13, 19]);
}

// p′ = 0.15: p_CL = 0.3 adds up to 1.2 at the 4th packet and 1.1 at the 7th.
#[test]
fn low_latency_packets_are_marked_with_twice_the_base_probability() {
    let mut bench = Bench::new(&json!({}));
    bench.queues.base = 0.15;
    assert_eq!(bench.marked(8, LOW), [4, 7]);
}

#[test]
fn the_ramp_rises_from_800_to_1200_microseconds() {
    let queues = Bench::new(&json!({})).queues;
    for (us, p) in [(0, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1199, 0.9975), (1200, 1.0), (9000, 1.0)] {
        assert!((queues.ramp(Duration::from_micros(us)) - p).abs() < 1e-12, "{us} µs");
    }
    let step = Bench::new(&json!({ "ramp-start": "1ms", "ramp-width": "0ms" })).queues;
    assert_eq!((step.ramp(Duration::from_micros(999)), step.ramp(Duration::from_millis(1))), (0.0, 1.0));
}

// All have waited 2 ms, beyond the ramp: certain marks but for the sum that must exceed 1, and for the last packet,
// which is alone.
#[test]
fn a_low_latency_packet_that_is_alone_is_not_marked_for_its_own_delay() {
    let mut bench = Bench::new(&json!({}));
    (0..4).for_each(|_| assert!(bench.joins(ms(1), LOW)));
    let marks: Vec<u8> = (0..4).filter_map(|_| bench.dequeue(ms(3))).map(|sent| sent.1).collect();
    assert_eq!(marks, [0, 1, 1, 0]);
}

// Credit 0: low. 1000 after it: classic, − 15,000 + 1000. Fourteen low ones bring it to 0, the fifteenth above.
#[test]
fn while_both_wait_one_byte_in_sixteen_is_classic() {
    let mut bench = Bench::new(&json!({}));
    (0..40).for_each(|_| {
        bench.joins(ms(1), LOW);
        bench.joins(ms(1), CLASSIC);
    });
    let order: Vec<bool> = (0..34).filter_map(|_| bench.dequeue(ms(1))).map(|sent| sent.0).collect();
    let classic: Vec<usize> = (0..34).filter(|i| !order[*i]).collect();
    assert_eq!(classic, [1, 17, 33]);
}

#[test]
fn a_low_latency_packet_does_not_wait_for_classic_ones_and_the_credit_is_forgotten_when_idle() {
    let mut bench = Bench::new(&json!({}));
    (0..10).for_each(|_| assert!(bench.joins(ms(1), CLASSIC)));
    assert_eq!(bench.dequeue(ms(1)), Some((CLASSIC, 0, 0)));
    bench.joins(ms(2), LOW);
    assert_eq!(bench.dequeue(ms(2)), Some((LOW, 0, 0)));
    assert_eq!(bench.queues.credit, 1000);
    while bench.dequeue(ms(2)).is_some() {}
    assert_eq!((bench.queues.credit, bench.queues.packets(), bench.queues.bytes()), (0, 0, Bytes::ZERO));
}

// p′ = 0.5: p_CL = 1 is p_Lmax, p_C = 0.25 is p_Cmax. The sum passes 1 at the 5th packet, which is dropped; all others
// of the low-latency queue are marked.
#[test]
fn overload_drops_with_the_square_in_both_queues() {
    for low in [LOW, CLASSIC] {
        let mut bench = Bench::new(&json!({}));
        bench.queues.base = 0.5;
        (0..8).for_each(|_| assert!(bench.joins(ms(1), low)));
        let sent: Vec<_> =
            std::iter::from_fn(|| bench.dequeue(ms(1))).map(|(_, mark, dropped)| (mark, dropped)).collect();
        let mark = u8::from(low);
        assert_eq!(sent, [(mark, 0), (mark, 0), (mark, 0), (mark, 0), (mark, 1), (mark, 0), (mark, 0)]);
    }
}

#[test]
fn classic_packets_may_be_dropped_instead_of_marked() {
    let mut bench = Bench::new(&json!({ "action": "drop" }));
    bench.queues.base = 0.4;
    (0..8).for_each(|_| assert!(bench.joins(ms(1), CLASSIC)));
    let sent: Vec<_> = std::iter::from_fn(|| bench.dequeue(ms(1))).map(|(_, mark, dropped)| (mark, dropped)).collect();
    assert_eq!(sent, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 1)]);
}

#[test]
fn both_queues_share_the_limit_and_tell_what_a_flow_has_waiting() {
    let mut bench = Bench::new(&json!({}));
    bench.limit = Limit::Packets(3);
    assert!(bench.joins(ms(1), LOW) && bench.joins(ms(1), CLASSIC) && bench.joins(ms(1), CLASSIC));
    assert!(!bench.joins(ms(1), LOW));
    assert_eq!(bench.queues.backlog(FlowId(0)), (2, Bytes::new(2000)));
    assert_eq!(bench.queues.backlog(FlowId(1)), (1, Bytes::new(1000)));
}

#[test]
fn parameters_that_make_no_sense_are_rejected_with_a_remedy() {
    let wrong = |params: Value| parse_params::<DualPi2>(&params).unwrap_err().to_string();
    assert!(wrong(json!({ "update": "0ms" })).contains("at least \"1ms\""));
    assert!(wrong(json!({ "coupling": 0.5 })).contains("from 1"));
    assert!(wrong(json!({ "low-latency-weight": 0 })).contains("15"));
    assert!(wrong(json!({ "beta": -1 })).contains("beta"));
}

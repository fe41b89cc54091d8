use super::link::discount;
use super::*;
use crate::fields::FieldLayout;
use crate::shaper::harness::{Bench, ms};
use serde_json::json;

/// Fields of an Interest of the class with this number (0: CS7 … 7: BE).
fn of_class(number: u32) -> Fields {
    let (mut layout, mut fields) = (FieldLayout::new(), Fields::default());
    fields.set(layout.slot(Field::ServiceClass).unwrap(), number + 1);
    fields
}

/// The rate in kbit/s that a Data of the flow takes, which came with none.
fn rate(bench: &Bench<Qsccp>, flow: u32) -> u32 {
    let mut fields = Fields::default();
    bench.shaper.stamp(FlowId(flow), &mut fields);
    fields.get(bench.shaper.explicit)
}

fn near(rate: u32, expected: f64) {
    assert!((f64::from(rate) - expected).abs() <= 1.0, "{rate} {expected}");
}

fn bench() -> Bench<Qsccp> {
    Bench::new(&json!({ "data-size": "1250B" }))
}

/// Offers this many Interests of a class and flow and lets out what may leave until `end`.
fn offer(bench: &mut Bench<Qsccp>, at: u64, end: u64, class: u32, flow: u32, count: u32) {
    bench.fields = of_class(class);
    for _ in 0..count {
        bench.admit(ms(at), flow);
    }
    for t in at..end {
        while bench.release(ms(t)).is_some() {}
    }
}

// σ(0) = (π/2 + atan 4)/3 + 0.034 = (1.570796 + 1.325818)/3 + 0.034 = 0.999538; σ(½) = 0.557599; σ(1) = 0.115661.
#[test]
fn a_full_queue_leaves_an_eighth_of_the_rate() {
    for (filled, expected) in [(0.0, 0.999_538), (0.5, 0.557_599), (1.0, 0.115_661)] {
        assert!((discount(filled) - expected).abs() < 1e-5, "{}", discount(filled));
    }
}

// C = 9.9 Mbit/s. BE's part is 9.9/15 = 0.66 Mbit/s, at first shared alike. In 100 ms flow 1 asks for 10 Data of 10 000
// bit = 1 Mbit/s, flow 2 for 1 = 0.1 Mbit/s: the class is busy (1.1 > 0.66), no other is, so all that is left is its
// own: rest = 9.9 − 0.66 = 9.24, available 0.66 + 9.24 = 9.9. Each flow 4.95; flow 1 at 1 < 4.45 = 4.95 − 0.5, so is
// flow 2: no flow is fast, so nothing is shared out: 4.95 · σ(0) = 4.947713 each. Second period: flow 1 asks for 46
// Data = 4.6 Mbit/s > 4.45, flow 2 for 0.1: used 4.95 + 0.1, fast 1; ratio 4.6/4.95 > 0.8: flow 1 gets 4.95 + (9.9 −
// 5.05) = 9.8 · σ = 9.795472; the class: 4.7 of 0.66 busy as before.
#[test]
fn rates_follow_the_law_computed_by_hand() {
    let mut bench = bench();
    offer(&mut bench, 1, 50, 7, 1, 10);
    near(rate(&bench, 1), 660.0);
    offer(&mut bench, 50, 60, 7, 2, 1);
    near(rate(&bench, 1), 330.0);
    offer(&mut bench, 101, 102, 7, 2, 1);
    near(rate(&bench, 1), 4947.713);
    near(rate(&bench, 2), 4947.713);
    for i in 0..46 {
        offer(&mut bench, 103 + 2 * i, 105 + 2 * i, 7, 1, 1);
    }
    bench.answer(ms(201), 1, ms(150), Outcome::Data);
    near(rate(&bench, 1), 9795.472);
    near(rate(&bench, 2), 4947.713);
}

// EF (2) asks for 1 Mbit/s, AF4 (3) and BE (7) for 3 each: 8.9 is left for weighted classes; AF4's part 8.9/3 =
// 2.966667, BE's 0.593333, both busy. rest = 8.9 − 3.56 = 5.34, of which AF4 takes 5/6 = 4.45, BE 1/6 = 0.89: 7.416667
// and 1.483333. EF's is 0.3 · 9.9 = 2.97. One flow each: AF4 at 3 of 7.416667: not fast. EF at 1 of 2.97: no. BE at 3 >
// 0.983: fast, but nothing remains. BE: 3/1.483 > 1.2 is greedy once. Of AF4's 30 Interests and of BE's, 20 find a
// place; in 60 ms 55 could leave, so the queues are empty at the end.
#[test]
fn classes_share_by_weight_what_priority_leaves() {
    let mut bench = bench();
    offer(&mut bench, 1, 1, 2, 1, 10);
    offer(&mut bench, 1, 1, 3, 2, 30);
    offer(&mut bench, 1, 100, 7, 3, 30);
    assert_eq!(bench.shaper.held(), 0);
    bench.answer(ms(101), 1, ms(50), Outcome::Data);
    let sigma = discount(0.0);
    for (flow, expected) in [(1, 2970.0), (2, 7416.667), (3, 1483.333)] {
        near(rate(&bench, flow), expected * sigma);
    }
}

// 40 Interests of AF4 and of BE, in two flows each so that all have a place. Places in virtual time: AF4 2000, 4000, …;
// BE 10 000, 20 000, …. BE's first leaves after AF4's fifth, which has the same place and is more urgent, and so on.
#[test]
fn the_weighted_classes_take_turns_in_virtual_time() {
    let mut bench = bench();
    for flow in 0..4 {
        bench.fields = of_class(if flow < 2 { 3 } else { 7 });
        for _ in 0..20 {
            assert_eq!(bench.admit(ms(1), flow), Admission::Hold);
        }
    }
    let order: Vec<u32> = (1..40).filter_map(|t| bench.release(ms(t))).map(|packet| packet.name.flow.0).collect();
    let be: Vec<usize> = (0..24).filter(|&i| order[i] >= 2).collect();
    assert_eq!(be, [5, 11, 17, 23]);
    // Within AF4 a quantum of 16 000 bit covers one Data of 10 000, then two, since the rest of a round is kept.
    assert_eq!(order[..5], [0, 1, 0, 0, 1]);
}

// EF may have 0.3 · 9.9 = 2.97 Mbit/s: 297 Data of 10 000 bit in a second, after its bucket of 16.
#[test]
fn a_priority_class_goes_first_up_to_its_limit() {
    let mut bench = bench();
    let mut left = [0, 0];
    for t in 1..2001 {
        for (class, flow) in [(2, 1), (7, 2)] {
            bench.fields = of_class(class);
            bench.admit(ms(t), flow);
        }
        while let Some(packet) = bench.release(ms(t)) {
            left[usize::from(packet.name.flow == FlowId(2))] += 1;
        }
    }
    assert!((578..=612).contains(&left[0]), "{left:?}");
    assert!((1965..=1990).contains(&(left[0] + left[1])), "{left:?}");
}

#[test]
fn a_greedy_flow_is_penalised_after_five_periods_and_upstream_nodes_learn_it() {
    let mut bench = bench();
    let mut class = 0;
    for t in 1..700 {
        bench.fields = of_class(7);
        for flow in [1, 1, 1, 2] {
            bench.admit(ms(t), flow);
        }
        while let Some(packet) = bench.release(ms(t)) {
            if packet.name.flow == FlowId(1) {
                class = packet.fields.get(bench.shaper.class);
            }
        }
    }
    assert_eq!(class, 16, "BE is 8, penalised 16");
    bench.fields = of_class(7 + 8);
    assert_eq!(link::Class::of_field(16), (link::Class::of_field(8).0, true));
    assert_eq!(link::Class::of_field(0), link::Class::of_field(8));
}

#[test]
fn flows_beyond_the_bound_share_queues() {
    let mut bench = bench();
    let held = (0..100_000).filter(|flow| bench.admit(ms(1), *flow) == Admission::Hold).count();
    assert_eq!(held, 200, "the limit of a weighted class");
    bench.fields = of_class(0);
    for flow in 100_000..200_000 {
        bench.admit(ms(1), flow);
    }
    assert!(bench.shaper.link.as_ref().unwrap().rates().count() <= 2 * MAX_FLOWS);
    assert!(bench.shaper.held() as usize <= 2 * MAX_FLOWS * 20 + 200);
}

#[test]
fn a_link_of_unknown_rate_is_left_alone() {
    let mut bench = bench();
    bench.rate = None;
    assert!((0..50).all(|flow| bench.admit(ms(0), flow) == Admission::Pass));
    assert_eq!(rate(&bench, 1), 0);
}

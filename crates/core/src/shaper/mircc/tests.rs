use super::*;
use crate::fields::FieldLayout;
use crate::shaper::harness::{Bench, ms};
use serde_json::json;

/// Fields of an Interest of this class.
fn of_class(class: u32) -> Fields {
    let (mut layout, mut fields) = (FieldLayout::new(), Fields::default());
    fields.set(layout.slot(Field::ServiceClass).unwrap(), class);
    fields
}

/// Primary and secondary rate in kbit/s that a Data takes, which came with nothing.
fn stamped(bench: &Bench<Mircc>) -> (u32, u32) {
    let mut fields = Fields::default();
    bench.shaper.stamp(FlowId(0), &mut fields);
    (fields.get(bench.shaper.explicit), bench.shaper.second.map_or(0, |slot| fields.get(slot)))
}

fn close(rates: (u32, u32), expected: (f64, f64)) {
    let near = |rate: u32, expected: f64| (f64::from(rate) - expected).abs() <= 1.0;
    assert!(near(rates.0, expected.0) && near(rates.1, expected.1), "{rates:?} {expected:?}");
}

// C = 0.99 · 10 = 9.9 Mbit/s, S = 1250 B = 10 000 bit, T = 100 ms. R_p = 1 Mbit/s, R_s = 0.
//
// First period: 5 primary Interests = 50 000 bit: y_p = 0.5 Mbit/s. N = 9.9/1 = 9.9. β = max(0.1, 0.5/0.5) = 1, no
// queue.
//   base' = 9.9/9.9 = 1; extra' = 1 − 0.5/9.9 = 0.949495. base = 0.8·1 + 0.2·1 = 1; extra = 0.2·0.949495 = 0.189899.
//   Secondary: C_s = 9.4, y_s = 0, N_s = 9.4/(1 + 0) = 9.4: base' = 1, extra' = min(0 − 0, …) = 0. base = 0.2, extra =
//   0.
// Second period: 20 primary = 2 Mbit/s, 10 secondary = 1 Mbit/s. R_p = 1.189899, R_s = 0.2.
//   N = 9.9/1.189899 = 8.320034; base' = 1.189899; extra' = 1.189899 − 2/8.320034 = 0.949515.
//   base = 0.8 + 0.2379798 = 1.0379798; extra = 0.8·0.189899 + 0.2·0.949515 = 0.341822. R_p = 1.379802.
//   C_s = 7.9, N_s = 7.9/1.389899 = 5.683866: base' = 1.389899; extra' = max(0.2 − 1/5.683866, 0) = 0.024064.
//   base = 0.16 + 0.27798 = 0.43798; extra = 0.2·0.024064 = 0.004813. R_s = 0.442793.
#[test]
fn rates_follow_the_law_computed_by_hand() {
    let mut bench = Bench::<Mircc>::new(&json!({ "data-size": "1250B", "queue": 1000 }));
    for i in 0..5 {
        bench.fields = of_class(PRIMARY);
        bench.admit(ms(15 * i), 1);
    }
    assert_eq!(stamped(&bench), (1000, 1));
    // The queue is empty at the end of the first period, and again at that of the second.
    while bench.release(ms(99)).is_some() {}
    for i in 0..30 {
        bench.fields = of_class(if i % 3 == 2 { SECONDARY } else { PRIMARY });
        bench.admit(ms(101 + 2 * i), 1);
        while bench.release(ms(102 + 2 * i)).is_some() {}
        if i == 0 {
            close(stamped(&bench), (1189.899, 200.0));
        }
    }
    bench.answer(ms(200), 1, ms(170), Outcome::Data);
    close(stamped(&bench), (1379.802, 442.793));
}

// As the first period above with 4 Interests waiting at its end and a round trip of 30 ms: y_p = 0.6 Mbit/s, q = 40 000
// bit / 0.1 s = 400 000, q/d = 13.333·10⁶, β = 1: C − β·q/d < 0, so base' = 0; extra' = min(1 − 0.6/9.9, 9.9) =
// 0.939394. base = 0.8; extra = 0.187879. Secondary: K = 9.3, N = 9.3, β = 0.1: base' = (9.3 − 1.3333)/9.3 = 0.856631;
// base = 0.171326.
#[test]
fn a_queue_takes_from_the_base_rate() {
    let mut bench = Bench::<Mircc>::new(&json!({ "data-size": "1250B" }));
    bench.admit(ms(0), 1);
    for _ in 0..5 {
        bench.admit(ms(99), 1);
    }
    assert_eq!(bench.shaper.held(), 4, "two passed: one at 0, one after a pause");
    bench.answer(ms(100), 1, ms(70), Outcome::Data);
    close(stamped(&bench), (987.879, 171.326));
}

#[test]
fn interests_leave_at_the_links_rate_in_the_order_of_arrival() {
    // 9.9 Mbit/s bring one Data of 1250 B per 1.0101 ms.
    let mut bench = Bench::<Mircc>::new(&json!({ "data-size": "1250B" }));
    let admissions = [1, 2, 1].map(|class| {
        bench.fields = of_class(class);
        bench.admit(ms(0), class)
    });
    assert_eq!(admissions, [Admission::Pass, Admission::Hold, Admission::Hold]);
    assert!(bench.release(ms(1)).is_none());
    assert_eq!(bench.shaper.next_wake().nanos(), 1_010_101);
    assert_eq!(bench.release(ms(2)).map(|packet| packet.name.flow), Some(FlowId(2)));
    assert!(bench.release(ms(2)).is_none());
    assert_eq!(bench.release(ms(4)).map(|packet| packet.name.flow), Some(FlowId(1)));
    assert_eq!(bench.shaper.next_wake(), Time::NEVER);
}

#[test]
fn a_primary_interest_takes_the_place_of_the_newest_secondary_one() {
    let mut bench = Bench::<Mircc>::new(&json!({}));
    bench.fields = of_class(SECONDARY);
    let first: Vec<Admission> = (0..12).map(|flow| bench.admit(ms(0), flow)).collect();
    assert_eq!(first[0], Admission::Pass);
    assert!(first[1..11].iter().all(|admission| *admission == Admission::Hold));
    assert_eq!(first[11], Admission::Reject(NackReason::Congestion));
    bench.fields = of_class(PRIMARY);
    assert_eq!(bench.admit(ms(0), 20), Admission::Hold);
    assert_eq!(bench.shaper.discard().map(|packet| packet.name.flow), Some(FlowId(10)));
    assert!(bench.shaper.discard().is_none());
    assert_eq!(bench.shaper.held(), 10);
    // With primary ones only there is nobody to displace. An Interest without a class is primary.
    bench.fields = Fields::default();
    assert_eq!((0..9).filter(|flow| bench.admit(ms(0), 30 + flow) == Admission::Hold).count(), 9);
    assert_eq!(bench.admit(ms(0), 40), Admission::Reject(NackReason::Congestion));
}

#[test]
fn a_link_of_unknown_rate_is_left_alone() {
    let mut bench = Bench::<Mircc>::new(&json!({}));
    bench.rate = None;
    assert!((0..50).all(|flow| bench.admit(ms(0), flow) == Admission::Pass));
    assert_eq!(stamped(&bench), (0, 0));
    bench.rate = Some(Rate::ZERO);
    assert_eq!(bench.admit(ms(1), 1), Admission::Pass);
}

#[test]
fn an_idle_link_offers_all_it_has() {
    let mut bench = Bench::<Mircc>::new(&json!({}));
    bench.admit(ms(0), 1);
    bench.admit(ms(86_400_000), 1);
    let (primary, secondary) = stamped(&bench);
    assert!((9700..=9900).contains(&primary) && (9700..=9900).contains(&secondary), "{primary} {secondary}");
}

use super::super::testing_path::{Path, path};
use super::*;
use crate::ctx::Trace;
use crate::fields::{FieldLayout, Fields};

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

fn alone() -> Vivace {
    Vivace::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() })
}

/// 1,000 segments/s of 1250 B: 10 Mbit/s.
fn new() -> Path<Vivace> {
    path(serde_json::Value::Null, ms(1), ms(50))
}

// 10^0.9 = 7.9433; 900 · 10 · 0.02 = 180; 11.35 · 10 · 0.1 = 11.35.
#[test]
fn utility_is_rate_less_growth_of_delay_and_loss() {
    let vivace = alone();
    let utility = |gradient, loss| vivace.utility(&Measured { mbps: 10.0, gradient, loss });
    assert!((utility(0.0, 0.0) - 7.943_282_347).abs() < 1e-6);
    assert_eq!(utility(0.019, 0.0), utility(0.0, 0.0), "below 0.02 no growth");
    assert!((utility(0.0, 0.0) - utility(0.039, 0.0) - 180.0).abs() < 1e-9);
    assert!((utility(-0.03, 0.0) - utility(0.0, 0.0) - 180.0).abs() < 1e-9, "a queue that drains is worth as much");
    assert!((utility(0.0, 0.0) - utility(0.0, 0.1) - 11.35).abs() < 1e-9);
}

#[test]
fn the_amplifier_rises_by_one_two_four_and_eight_times_the_number_of_changes() {
    let factors: Vec<f64> = (0..11).map(amplifier).collect();
    assert_eq!(factors, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0, 18.0, 22.0, 30.0]);
}

// At 100 Mbit/s: gradient 4 gives 4, then 8 bounded by 5, 12 bounded by 11, 16 within 17, 24 above 11 again; a gradient
// of −0.1 gives 0.1, raised to 0.5.
#[test]
fn changes_are_bounded_by_a_part_of_the_rate_that_grows_while_they_reach_it() {
    let mut vivace = alone();
    vivace.rate = 100.0;
    let changes = [4.0, 4.0, 4.0, 4.0, 4.0, -0.1].map(|gradient| vivace.change(gradient));
    assert!(changes.iter().zip([4.0, 5.0, 11.0, 16.0, 11.0, -0.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{changes:?}");
    assert_eq!((vivace.repeated, vivace.bounded), (1, 0));
}

// Round trips of 50, 52, 54 ms for Interests 10 ms apart grow by 0.2; four gaps of 1250 B in 40 ms are 1 Mbit/s.
#[test]
fn an_interval_measures_rate_growth_and_loss() {
    let mut monitor = Monitor::new(MAX_STORED);
    let at = |t| Time::ZERO + ms(t);
    monitor.begin(1.0, true, ms(40));
    for segment in 0..5 {
        monitor.on_sent(segment, at(10 * segment));
    }
    assert!(monitor.is_interval_over(ms(40), at(40)) && !monitor.is_interval_over(ms(40), at(39)));
    for segment in 0..3 {
        monitor.on_answer(segment, Some(ms(50 + 2 * segment)));
    }
    monitor.on_answer(3, None);
    monitor.on_lost(4);
    assert!(monitor.take_answered(at(90)).is_none(), "the next interval has not begun");
    monitor.begin(1.0, false, ms(40));
    let answered = monitor.take_answered(at(90)).unwrap();
    let measured = answered[0].measure(1250.0).unwrap();
    assert!((measured.mbps - 1.0).abs() < 1e-9 && (measured.gradient - 0.2).abs() < 1e-9);
    assert_eq!((measured.loss, answered.len(), monitor.measured()), (0.2, 1, 0));
}

#[test]
fn pairs_that_disagree_leave_the_rate_and_pairs_that_agree_move_it() {
    let mut vivace = alone();
    let mut rng = Rng::derive(1, &[]);
    vivace.rate = 10.0;
    vivace.probe(&mut rng);
    vivace.decide_probes(&[(10.5, 3.0, 0.0), (9.5, 2.0, 0.0), (9.5, 3.0, 0.0), (10.5, 2.0, 0.0)], &mut rng);
    assert_eq!(vivace.rate, 10.0);
    assert!(matches!(vivace.mode, Mode::Probing(_)));
    // Slopes 0.6 and 0.2: 0.4 · 1 is raised to 0.5, which is the bound.
    vivace.decide_probes(&[(10.5, 2.6, 0.0), (9.5, 2.0, 0.0), (9.5, 2.0, 0.0), (10.5, 2.2, 0.0)], &mut rng);
    assert_eq!((vivace.rate, vivace.mode), (10.5, Mode::Moving));
    assert!((vivace.last.1 - 2.2).abs() < 1e-9);
}

#[test]
fn a_lone_flow_fills_most_of_the_path_without_a_standing_queue() {
    let mut path = new();
    path.run(ms(20_000), |_, _| {});
    let (mut data, mut sum) = (0.0, 0.0);
    path.run(ms(20_000), |_, rtt| (data, sum) = (data + 1.0, sum + rtt.millis()));
    assert!(data > 14_000.0, "{data}");
    assert!(sum / data < 150.0, "{}", sum / data);
}

#[test]
fn more_than_half_of_an_interval_lost_halves_the_rate() {
    let mut path = new();
    path.run(ms(5000), |_, _| {});
    let before = path.consumer.rate;
    path.room = Duration::ZERO;
    path.gap = ms(10);
    path.run(ms(3000), |_, _| {});
    assert!(path.consumer.rate < 0.5 * before, "{} after {before}", path.consumer.rate);
}

#[test]
fn what_is_not_answered_four_round_trips_after_its_interval_counts_as_lost() {
    let mut monitor = Monitor::new(MAX_STORED);
    let at = |t| Time::ZERO + ms(t);
    monitor.begin(1.0, true, ms(40));
    (0..5).for_each(|segment| monitor.on_sent(segment, at(10 * segment)));
    (0..4).for_each(|segment| monitor.on_answer(segment, Some(ms(50))));
    monitor.begin(1.0, false, ms(40));
    assert!(monitor.take_answered(at(200)).is_none());
    let answered = monitor.take_answered(at(201)).unwrap();
    assert_eq!(answered[0].measure(1250.0).unwrap().loss, 0.2);
}

// 1.12 Mbit/s, and no answer: of what left in the first second the first timeout counts, then that of an Interest sent
// after it; 500 kbit/s is the least. 1400 B at 0.56 Mbit/s are 20 ms.
#[test]
fn silence_before_the_first_answer_halves_the_rate_once_per_timeout() {
    let mut vivace = alone();
    let (mut rng, mut trace, fields) = (Rng::derive(1, &[]), Trace::default(), Fields::default());
    let flight = Flight::default();
    let mut timeout = |vivace: &mut Vivace, sent, now| {
        let mut ctx = Ctx { now: Time::ZERO + ms(now), rng: &mut rng, trace: &mut trace };
        let (kind, segment, sent) = (Congestion::Timeout, sent, Time::ZERO + ms(sent));
        vivace.on_congestion(&CongestionEvent { kind, segment, sent, fields: &fields, flight }, &mut ctx);
        vivace.pacing(&flight).unwrap()
    };
    assert_eq!(vivace.pacing(&flight), Some(ms(10)));
    assert_eq!([0, 10, 20].map(|sent| timeout(&mut vivace, sent, 1000 + sent)), [ms(20); 3]);
    assert_eq!(timeout(&mut vivace, 1000, 3000), ms(20), "sent at the instant of the cut, so not after it");
    assert_eq!(timeout(&mut vivace, 1020, 3020).nanos(), 22_400_000);
    assert_eq!(timeout(&mut vivace, 3040, 9000).nanos(), 22_400_000);
}

// What a NACK for another reason than congestion answers is no loss, also when it is requested again.
#[test]
fn a_nack_for_another_reason_is_no_loss() {
    let mut vivace = alone();
    let (mut rng, mut trace, fields) = (Rng::derive(1, &[]), Trace::default(), Fields::default());
    vivace.monitor.begin(1.0, true, ms(40));
    (0..5).for_each(|segment| vivace.monitor.on_sent(segment, Time::ZERO + ms(10 * segment)));
    vivace.monitor.begin(1.0, false, ms(40));
    let kind = Congestion::Nack { reason: crate::packet::NackReason::NoRoute, marked: false };
    let now = Time::ZERO + ms(50);
    let (segment, sent, flight) = (2, now, Flight::default());
    let mut ctx = Ctx { now, rng: &mut rng, trace: &mut trace };
    vivace.on_congestion(&CongestionEvent { kind, segment, sent, fields: &fields, flight }, &mut ctx);
    vivace.monitor.on_sent(2, now);
    [0, 1, 3, 4].into_iter().for_each(|segment| vivace.monitor.on_answer(segment, None));
    let intervals = vivace.monitor.take_answered(now).unwrap();
    assert_eq!(intervals[0].measure(1250.0).unwrap().loss, 0.0);
}

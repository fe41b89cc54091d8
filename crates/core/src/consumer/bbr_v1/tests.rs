use super::super::Congestion;
use super::super::testing_path::{Path, path};
use super::*;
use crate::fields::Fields;

fn new(gap: Duration, delay: Duration) -> Path<BbrV1> {
    path(serde_json::Value::Null, gap, delay)
}

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

// 1,000 segments/s (10 Mbit/s of 1250 B) and a least round trip of 51 ms: the product is 51 segments.
#[test]
fn a_lone_flow_finds_rate_and_round_trip_of_its_path() {
    let mut path = new(ms(1), ms(50));
    path.run(ms(3000), |_, _| {});
    assert_eq!(path.consumer.state, State::ProbeBw);
    assert!((path.consumer.bandwidth() - 1000.0).abs() < 20.0, "{}", path.consumer.bandwidth());
    assert_eq!(path.consumer.least.unwrap().0, ms(51));
    // 2 · 51 and three times two segments.
    assert!((path.consumer.window() - 108.0).abs() < 3.0, "{}", path.consumer.window());
}

#[test]
fn startup_ends_three_rounds_after_the_rate_stopped_growing_and_drain_empties_the_queue() {
    let mut path = new(ms(1), ms(50));
    let mut filled = None;
    path.run(ms(3000), |path, _| {
        if path.consumer.state == State::Drain && filled.is_none() {
            filled = Some((path.now, path.consumer.plateau.rounds()));
        }
    });
    let (at, count) = filled.unwrap();
    assert_eq!(count, 3);
    // From 10 segments to 51 takes three round trips, and three more of at most 150 ms follow.
    assert!(at.secs() < 0.8, "{}", at.secs());
    let mut least = Duration::MAX;
    path.run(ms(1000), |_, rtt| least = least.min(rtt));
    // Drain ends at 51 segments and three times two.
    assert!(least <= ms(57), "{}", least.millis());
}

#[test]
fn after_ten_seconds_four_segments_stay_in_flight_for_200_ms() {
    let mut path = new(ms(1), ms(50));
    let (mut began, mut ended, mut smallest) = (None, None, f64::MAX);
    path.run(ms(15_000), |path, _| match (path.consumer.state, began) {
        (State::ProbeRtt, None) => began = Some(path.now),
        (State::ProbeRtt, _) => smallest = smallest.min(path.consumer.window()),
        (_, Some(_)) if ended.is_none() => ended = Some(path.now),
        _ => {}
    });
    let (began, ended) = (began.unwrap(), ended.unwrap());
    assert!(began.secs() > 10.0 && began.secs() < 12.0, "{}", began.secs());
    let lasted = ended.since(began).millis();
    assert!((200.0..450.0).contains(&lasted), "{lasted}");
    assert_eq!(smallest, 4.0);
    assert_eq!(path.consumer.state, State::ProbeBw);
}

#[test]
fn the_cycle_probes_drains_and_cruises() {
    let mut path = new(ms(1), ms(50));
    path.run(ms(2000), |_, _| {});
    let mut gains = Vec::new();
    path.run(ms(2000), |path, _| {
        let gain = path.consumer.pacing_gain();
        if gains.last() != Some(&gain) {
            gains.push(gain);
        }
    });
    let cycle = [1.25, 0.75, 1.0];
    let first = cycle.iter().position(|gain| Some(gain) == gains.first()).unwrap();
    assert!(gains.len() > 6);
    assert!(gains.iter().enumerate().all(|(i, gain)| *gain == cycle[(first + i) % 3]), "{gains:?}");
}

#[test]
fn a_loss_keeps_a_round_of_what_is_in_flight_and_then_the_window_returns() {
    let mut path = new(ms(1), ms(50));
    path.run(ms(3000), |_, _| {});
    let (before, fields) = (path.consumer.window(), Fields::default());
    let flight = path.flight(path.received());
    let segment = path.coming[0].segment;
    let event = CongestionEvent { kind: Congestion::Loss, segment, sent: Time::ZERO, fields: &fields, flight };
    path.consumer.on_congestion(&event, &mut Ctx { now: path.now, rng: &mut path.rng, trace: &mut path.trace });
    assert!(path.consumer.window() <= f64::from(flight.in_flight));
    path.run(ms(300), |_, _| {});
    assert!((path.consumer.window() - before).abs() < 3.0);
}

#[test]
fn the_fork_never_forgets_its_largest_rate_and_leaves_startup_at_once() {
    let mut fork = path::<BbrV1>(serde_json::json!({ "preset": "ndn-fork" }), ms(1), ms(50));
    fork.run(ms(2000), |_, _| {});
    let before = fork.consumer.bandwidth();
    fork.gap = ms(4);
    fork.run(ms(5000), |_, _| {});
    assert_eq!(fork.consumer.bandwidth(), before);
    let mut draft = new(ms(1), ms(50));
    draft.run(ms(2000), |_, _| {});
    draft.gap = ms(4);
    draft.run(ms(8000), |_, _| {});
    assert!((draft.consumer.bandwidth() - 250.0).abs() < 15.0, "{}", draft.consumer.bandwidth());
}

// 1,000 segments/s and 11 ms: ProbeRTT's four segments bring at most 4 in 11 ms, 364/s, and its 200 ms are 18 round
// trips, more than the largest rate is remembered for.
#[test]
fn probe_rtt_does_not_lower_the_rate() {
    for preset in ["draft", "linux"] {
        let mut path = path::<BbrV1>(serde_json::json!({ "preset": preset }), ms(1), ms(10));
        path.run(ms(9000), |_, _| {});
        let mut smallest = f64::MAX;
        path.run(ms(4000), |path, _| smallest = smallest.min(path.consumer.bandwidth()));
        assert!(smallest > 800.0, "{preset}: {smallest}");
    }
}

#[test]
fn with_the_values_of_linux_the_pace_stays_one_percent_below_the_rate() {
    let mut path = path::<BbrV1>(serde_json::json!({ "preset": "linux" }), ms(1), ms(50));
    path.run(ms(3000), |_, _| {});
    let expected = 0.99 * path.consumer.pacing_gain() * path.consumer.bandwidth();
    assert!((path.consumer.pacing_rate / expected - 1.0).abs() < 1e-9);
    // Data come one by one: the one at hand, beside 2 · 51 and three times two segments.
    assert!((path.consumer.window() - 109.0).abs() < 5.0, "{}", path.consumer.window());
}

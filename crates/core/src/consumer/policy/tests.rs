//! Traces computed by hand.

use super::super::testing::{Driver, driver};
use super::*;
use crate::component::parse_params;
use crate::packet::NackReason;
use proptest::prelude::{any, prop, prop_assert, proptest};
use serde_json::{Value, json};

fn layer(weights: [f64; 8], bias: f64) -> Value {
    json!({ "weights": [weights], "bias": [bias] })
}

fn of(layers: Value) -> Driver<Policy> {
    driver(json!({ "layers": layers }))
}

/// A policy whose exponent is half of one number of the observation, made small.
fn sees(number: usize, scale: f64) -> Driver<Policy> {
    let mut weights = [0.0; 8];
    weights[number] = scale;
    of(json!([layer(weights, 0.0)]))
}

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn a_bias_alone_doubles_the_window_at_each_step_and_steps_are_an_interval_apart() {
    let mut fetch = of(json!([layer([0.0; 8], 3.0)]));
    assert_eq!(fetch.window(), 2.0);
    fetch.data(false);
    // 3 is cut to 1: times 2.
    assert_eq!(fetch.window(), 4.0);
    fetch.wait(MS(99));
    fetch.data(false);
    assert_eq!(fetch.window(), 4.0);
    fetch.wait(MS(1));
    fetch.data(false);
    assert_eq!(fetch.window(), 8.0);
    fetch.wait(MS(500));
    fetch.congestion(Congestion::Timeout);
    assert_eq!(fetch.window(), 16.0);
}

#[test]
fn the_window_stays_between_one_segment_and_a_million() {
    let mut falls = of(json!([layer([0.0; 8], -1.0)]));
    falls.data(false);
    falls.wait(MS(100));
    falls.data(false);
    assert_eq!((falls.window(), falls.consumer.decreases()), (1.0, 1));
    let mut grows = of(json!([layer([0.0; 8], 1.0)]));
    for _ in 0..30 {
        grows.data(false);
        grows.wait(MS(100));
    }
    assert_eq!(grows.window(), 1e6);
}

// A step with round-trip times of 20 and 60 ms has their mean over the least, 2; times 0.25 is 2^0.5.
#[test]
fn the_ratio_of_round_trip_times_is_that_of_their_mean_to_the_least_of_all() {
    let mut fetch = sees(3, 0.25);
    fetch.data_of(0, Some(MS(20)), false);
    // Ratio 1: 2 · 2^0.25.
    assert!((fetch.window() - 2.378_414_230).abs() < 1e-9);
    fetch.wait(MS(50));
    fetch.data_of(0, Some(MS(20)), false);
    fetch.wait(MS(50));
    fetch.data_of(0, Some(MS(60)), false);
    // 2 · 2^0.25 · 2^0.5.
    assert!((fetch.window() - 3.363_585_661).abs() < 1e-9);
    // No sample: the least stands for it.
    fetch.wait(MS(100));
    fetch.data_of(0, None, false);
    assert!((fetch.window() - 4.0).abs() < 1e-9);
}

// Of four Data one is marked: 2 · 2^(2 · 0.25). The counts begin anew at the next step.
#[test]
fn marks_are_per_data_of_the_step() {
    let mut fetch = sees(4, 2.0);
    fetch.data(false);
    assert_eq!(fetch.window(), 2.0);
    (0..3).for_each(|i| fetch.data(i == 1));
    fetch.wait(MS(100));
    fetch.data(false);
    assert!((fetch.window() - 2.828_427_125).abs() < 1e-9);
    fetch.wait(MS(100));
    fetch.data(false);
    assert!((fetch.window() - 2.828_427_125).abs() < 1e-9);
}

// ln(1 + 3 / 2) = 0.916291 losses, or NACKs, per Data; timeouts and losses count alike.
#[test]
fn losses_and_nacks_are_logarithms_per_data() {
    let nack = Congestion::Nack { reason: NackReason::NoRoute, marked: false };
    for (number, kinds) in [(5, [Congestion::Timeout, Congestion::Loss, Congestion::Loss]), (6, [nack; 3])] {
        let mut fetch = sees(number, 1.0);
        fetch.data(false);
        kinds.into_iter().for_each(|kind| fetch.congestion(kind));
        fetch.data(false);
        fetch.wait(MS(100));
        fetch.data(false);
        assert!((fetch.window() - 2.0 * 1.887_256_8).abs() < 1e-6, "{}", fetch.window());
    }
}

// Two hidden outputs: 3 becomes 3/4 and -1 becomes -1/2; 0.75 - 0.5 = 0.25, 2 · 2^0.25.
#[test]
fn hidden_outputs_are_divided_by_one_more_than_their_size() {
    let hidden = json!({ "weights": [vec![0.0; 8], vec![0.0; 8]], "bias": [3.0, -1.0] });
    let mut fetch = of(json!([hidden, { "weights": [[1.0, 1.0]], "bias": [0.0] }]));
    fetch.data(false);
    assert!((fetch.window() - 2.378_414_230).abs() < 1e-9);
}

// The first observation at a window of 2, with 20 ms: ln 3, ln 21, ln 21, 1, 0, 0, 0, in flight / 2.
#[test]
fn the_first_observation_is_as_computed_by_hand() {
    let mut fetch = of(json!([layer([0.0; 8], 0.0)]));
    fetch.wait(MS(1000));
    fetch.consumer.due = 10.0;
    fetch.data(false);
    let expected = [1.098_612_3, 3.044_522_4, 3.044_522_4, 1.0, 0.0, 0.0, 0.0, 3.5];
    for (found, expected) in fetch.consumer.observation(7).into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

#[test]
fn layers_that_do_not_fit_are_rejected_with_what_is_wrong() {
    let row = || vec![0.0; 8];
    let one = |weights: Value, bias: Value| json!([{ "weights": weights, "bias": bias }]);
    let cases = [
        (json!([]), "there are 0"),
        (json!(vec![layer([0.0; 8], 0.0); 5]), "there are 5"),
        (one(json!([]), json!([])), "has 0 rows"),
        (one(json!([row(), row()]), json!([0, 0])), "the last, has 2 rows"),
        (one(json!([[1.0]]), json!([0.0])), "row 1 has 1 weights"),
        (one(json!([row()]), json!([])), "has 0 numbers of bias"),
        (one(json!([row()]), json!([1e7])), "out of range"),
        (json!([layer([0.0; 8], 0.0), layer([0.0; 8], 0.0)]), "layer 2, row 1 has 8 weights"),
        (json!([{ "weights": vec![row(); 65], "bias": [0] }, layer([0.0; 8], 0.0)]), "has 65 rows"),
        (one(json!([row()]), Value::Null), "layers"),
    ];
    for (layers, words) in cases {
        let error = parse_params::<Policy>(&json!({ "layers": layers })).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = parse_params::<Policy>(&json!({ "initial-window": 2e6 })).unwrap_err().to_string();
    assert!(error.contains("too large"), "{error}");
}

proptest! {
    #[test]
    fn the_window_stays_a_number_under_any_weights(
        weights in prop::collection::vec(-1e6..1e6f64, 8),
        steps in prop::collection::vec(any::<(u8, bool, u64)>(), 1..100),
    ) {
        let mut fetch = of(json!([{ "weights": [weights], "bias": [0.0] }]));
        for (kind, marked, wait) in steps {
            fetch.wait(Duration::from_nanos(wait >> 14));
            fetch.any(kind, marked);
            prop_assert!((1.0..=1e6).contains(&fetch.window()));
        }
    }
}

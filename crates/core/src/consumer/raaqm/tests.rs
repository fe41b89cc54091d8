use super::super::Congestion;
use super::super::testing::{Driver, driver};
use super::*;
use proptest::prelude::{any, prop, prop_assert, proptest};
use serde_json::{Value, json};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn preset(name: &str) -> Driver<Raaqm> {
    driver(json!({ "preset": name }))
}

/// The probability after samples of 20, 21, …, 49 ms and then `rtt`, which pushes the 20 out.
fn probability(preset: &str, rtt: u64) -> f64 {
    let params = preset_params(preset);
    let mut rtts = RttWindow::new(30);
    (20..50).for_each(|rtt| rtts.push(ms(rtt)));
    rtts.push(ms(rtt));
    params.probability(ms(rtt), &rtts, ms(20))
}

fn preset_params(preset: &str) -> Params {
    serde_json::from_value(json!({ "preset": preset })).unwrap()
}

// RTTmin 21, RTTmax 49, R 35, so (R − min)/(max − min) = 14/28 = 1/2 and, with the dead band of 5 ms, 9/23.
// Python: 1e-5 + 0.02/2 = 0.01001; 1e-5 + 0.2/2 = 0.10001; 1e-5 + 0.49999·9/23 = 0.195658…; 1e-4 + 0.05/2 = 0.0251.
#[test]
fn the_probability_of_a_cut_follows_each_presets_constants() {
    for (preset, expected) in
        [("downloader", 0.010_01), ("hicn", 0.100_01), ("ye", 0.195_658_260_869_565_2), ("qsccp", 0.025_1)]
    {
        assert!((probability(preset, 35) - expected).abs() < 1e-9, "{preset}: {}", probability(preset, 35));
    }
    // The least and the largest RTT: p_min (nothing within the dead band) and p_min + p_slope.
    assert_eq!(probability("downloader", 21), 1e-5);
    assert_eq!(probability("ye", 25), 0.0);
    assert!((probability("ye", 26) - 1e-5).abs() < 1e-12);
    assert!((probability("ye", 49) - 0.5).abs() < 1e-12);
    assert!((probability("hicn", 60) - 0.200_01).abs() < 1e-12);
}

// RTTmin 20 (now gone from the samples), RTTmax 49, low 25: 1e-5 + 0.49999·(35 − 25)/(49 − 25) = 0.208339….
#[test]
fn the_shortest_round_trip_of_the_route_may_be_remembered_forever() {
    let params: Params = serde_json::from_value(json!({ "preset": "ye", "least": "ever" })).unwrap();
    let mut rtts = RttWindow::new(30);
    (20..50).for_each(|rtt| rtts.push(ms(rtt)));
    rtts.push(ms(35));
    assert!((params.probability(ms(35), &rtts, ms(20)) - 0.208_339_166_666_666_7).abs() < 1e-12);
}

#[test]
fn before_30_samples_only_the_preset_ye_cuts() {
    for (preset, expected) in [("downloader", 0.0), ("hicn", 0.0), ("ye", 0.5), ("qsccp", 0.0)] {
        let mut rtts = RttWindow::new(30);
        rtts.push(ms(20));
        rtts.push(ms(40));
        assert!((preset_params(preset).probability(ms(40), &rtts, ms(20)) - expected).abs() < 1e-12, "{preset}");
    }
}

#[test]
fn rtts_that_do_not_vary_leave_the_least_probability() {
    for (preset, extra_us, expected) in [("downloader", 0, 1e-5), ("hicn", 999, 1e-5), ("qsccp", 99, 1e-4)] {
        let mut rtts = RttWindow::new(30);
        (0..29).for_each(|_| rtts.push(ms(20)));
        rtts.push(Duration::from_micros(20_000 + extra_us));
        assert_eq!(
            preset_params(preset).probability(Duration::from_micros(20_000 + extra_us), &rtts, ms(20)),
            expected
        );
    }
}

#[test]
fn the_downloaders_window_grows_by_one_per_full_window() {
    let mut fetch = preset("downloader");
    // 1 + 2 + 3 + 4 Data make 5.
    (0..10).for_each(|_| fetch.data(false));
    assert_eq!(fetch.window(), 5.0);
    fetch.congestion(Congestion::Timeout);
    assert_eq!(fetch.window(), 2.5);
    assert_eq!(fetch.consumer.retransmission_timeout(), Some(ms(1000)));
}

// Python: w = 1; for _ in range(3): w += 1/w → 2, 2.5, 2.9.
#[test]
fn hicns_window_grows_by_one_over_w_up_to_512_and_times_out_by_a_fifth() {
    let mut fetch = preset("hicn");
    (0..3).for_each(|_| fetch.data(false));
    assert!((fetch.window() - 2.9).abs() < 1e-12);
    fetch.congestion(Congestion::Timeout);
    assert!((fetch.window() - 2.32).abs() < 1e-12);
    let mut full = driver::<Raaqm>(json!({ "preset": "hicn", "initial-window": 512.0, "p-min": 0.0 }));
    full.data(false);
    assert_eq!(full.window(), 512.0);
}

#[test]
fn the_windows_of_ye_and_qsccp_start_slowly_until_the_first_cut() {
    let mut ye = preset("ye");
    (0..9).for_each(|_| ye.data(false));
    assert_eq!(ye.window(), 10.0);
    ye.congestion(Congestion::Timeout);
    assert_eq!(ye.window(), 1.0);
    let mut qsccp = preset("qsccp");
    (0..19).for_each(|_| qsccp.data(false));
    assert_eq!(qsccp.window(), 20.0);
    (0..20).for_each(|_| qsccp.congestion(Congestion::Timeout));
    assert_eq!(qsccp.window(), 10.0, "the floor");
    qsccp.data(false);
    assert_eq!(qsccp.window(), 10.1, "slow start is over");
}

// Marks as the signal make the cuts certain: W = 10, cut to 8.75 and ⌊10⌋ = 10 Data of the route held, the tenth not.
#[test]
fn a_cut_by_one_route_holds_that_route_for_a_window_of_its_data_and_no_other() {
    let mut fetch = driver::<Raaqm>(json!({ "preset": "ye", "signal": "marks", "initial-window": 10.0 }));
    let rtt = Some(ms(20));
    fetch.data_of(1, rtt, true);
    assert_eq!(fetch.window(), 8.75);
    (0..9).for_each(|_| fetch.data_of(1, rtt, true));
    assert_eq!(fetch.consumer.decreases(), 1);
    fetch.data_of(2, rtt, true);
    assert_eq!(fetch.consumer.decreases(), 2);
    fetch.data_of(1, rtt, true);
    assert_eq!(fetch.consumer.decreases(), 3);
}

#[test]
fn a_slow_route_does_not_raise_the_probability_of_a_fast_one() {
    let mut fetch = driver::<Raaqm>(json!({ "preset": "ye", "p-min": 0.0 }));
    for _ in 0..1000 {
        fetch.data_of(1, Some(ms(20)), false);
        fetch.data_of(2, Some(ms(200)), false);
    }
    assert_eq!(fetch.consumer.decreases(), 0);
    let mut blind = driver::<Raaqm>(json!({ "preset": "ye", "p-min": 0.0 }));
    for _ in 0..100 {
        blind.data_of(0, Some(ms(20)), false);
        blind.data_of(0, Some(ms(200)), false);
    }
    assert!(blind.consumer.decreases() > 0, "without labels the routes look like one that varies");
}

#[test]
fn the_route_unused_for_longest_is_forgotten() {
    let mut fetch = driver::<Raaqm>(json!({}));
    for label in (0..64).chain([0, 99]) {
        fetch.data_of(label, Some(ms(20)), false);
    }
    let known = |label| fetch.consumer.routes.iter().any(|route| route.label == label);
    assert!(known(0) && known(99) && !known(1));
    assert_eq!(fetch.consumer.routes.len(), 64);
}

#[test]
fn every_parameter_has_an_effect() {
    let outcome = |params: Value| {
        let mut fetch = driver::<Raaqm>(params);
        let mut windows = Vec::new();
        for i in 0..4000_u64 {
            let label = 1 + (i % 3) as u32;
            fetch.data_of(label, Some(Duration::from_micros(20_000 + i + 97 * (i % 61))), i % 11 == 0);
            if i % 1500 == 1499 {
                fetch.congestion(Congestion::Timeout);
            }
            windows.push(fetch.window());
        }
        let timer = fetch.consumer.timer();
        (windows, fetch.consumer.retransmission_timeout(), timer)
    };
    let plain = outcome(json!({}));
    for params in [
        json!({ "preset": "hicn" }),
        json!({ "initial-window": 2.0 }),
        json!({ "min-window": 8.0 }),
        json!({ "max-window": 9.0 }),
        json!({ "decrease": 0.7 }),
        json!({ "increase": 2.0 }),
        json!({ "growth": "per-data" }),
        json!({ "slow-start": true }),
        json!({ "grow-with-cut": false }),
        json!({ "samples": 10 }),
        json!({ "least": "ever" }),
        json!({ "needs-samples": false }),
        json!({ "p-min": 0.1 }),
        json!({ "p-slope": 0.1 }),
        json!({ "dead-band": "3ms" }),
        json!({ "min-spread": "10ms" }),
        json!({ "hold": 8.0 }),
        json!({ "signal": "both" }),
        json!({ "signal": "marks" }),
        json!({ "on-timeout": "reset" }),
        json!({ "timeout": "2s" }),
        json!({ "timer": { "min": "1s" } }),
    ] {
        assert!(outcome(params.clone()) != plain, "{params}");
    }
}

#[test]
fn wrong_parameters_are_rejected() {
    use crate::component::parse_params;
    let error = |value: Value| parse_params::<Raaqm>(&value).unwrap_err().to_string();
    assert!(error(json!({ "preset": "omcc" })).contains("downloader"));
    assert!(error(json!({ "p-slope": 2.0 })).contains("from 0 to 1"));
    assert!(error(json!({ "max-window": 1.0, "initial-window": 2.0 })).contains("max-window"));
    assert!(error(json!({ "decrease": 1.0 })).contains("below 1"));
}

proptest! {
    #[test]
    fn the_window_stays_finite_and_at_least_one_and_the_routes_are_bounded(
        steps in prop::collection::vec(any::<(u8, bool, u64, u32)>(), 1..400), preset in 0usize..4,
    ) {
        let preset = ["downloader", "hicn", "ye", "qsccp"][preset];
        let mut fetch = driver::<Raaqm>(json!({ "preset": preset, "signal": "both" }));
        for (kind, marked, wait, label) in steps {
            fetch.wait(Duration::from_nanos(wait >> 14));
            fetch.any(kind, marked);
            fetch.data_of(label, Some(Duration::from_nanos(wait)), marked);
            prop_assert!(fetch.window() >= 1.0 && fetch.window() <= MAX_WINDOW);
            prop_assert!(fetch.consumer.routes.len() <= 64);
        }
        fetch.wait(ms(864_000_000));
        fetch.data(true);
        prop_assert!(fetch.window() >= 1.0);
    }
}

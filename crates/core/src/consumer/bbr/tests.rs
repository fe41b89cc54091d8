use super::super::testing_path::{Path, path};
use super::*;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

/// 1,000 segments/s (10 Mbit/s of 1250 B) and a least round trip of 51 ms: the product is 51 segments.
fn new() -> Path<Bbr> {
    path(serde_json::Value::Null, ms(1), ms(50))
}

fn alone() -> Bbr {
    Bbr::new(&Params::default(), &mut Env { layout: &mut FieldLayout::new() })
}

#[test]
fn a_lone_flow_finds_rate_and_round_trip_and_leaves_hardly_a_queue() {
    let mut path = new();
    path.run(ms(4000), |_, _| {});
    assert!(path.consumer.is_filled && path.consumer.long_volume.is_infinite());
    assert!((path.consumer.rates.get() - 1000.0).abs() < 20.0, "{}", path.consumer.rates.get());
    assert_eq!(path.consumer.least.unwrap().0, ms(51));
    // 2 · 51, a Data or two of bunches, and 2.25 times instead of 2 and two segments more while probing.
    assert!((102.0..120.0).contains(&path.consumer.window()), "{}", path.consumer.window());
    let (mut sum, mut count, mut data) = (0.0, 0.0, 0);
    path.run(ms(900), |_, rtt| (sum, count, data) = (sum + rtt.millis(), count + 1.0, data + 1));
    assert!(sum / count < 60.0, "{}", sum / count);
    assert!(data > 850, "{data}");
}

#[test]
fn the_cycle_drains_cruises_refills_and_probes() {
    let mut path = new();
    path.run(ms(1500), |_, _| {});
    let (mut states, mut waited) = (Vec::new(), Duration::ZERO);
    path.run(ms(3300), |path, _| {
        if states.last() != Some(&path.consumer.state) {
            states.push(path.consumer.state);
        }
        waited = path.consumer.probe_wait;
    });
    let cycle = [State::Down, State::Cruise, State::Refill, State::Up];
    let first = cycle.iter().position(|state| Some(state) == states.first()).unwrap();
    assert!(states.len() >= 4, "{states:?}");
    assert!(states.iter().enumerate().all(|(i, state)| *state == cycle[(first + i) % 4]), "{states:?}");
    assert!(waited >= ms(2000) && waited <= ms(3000));
}

// Half of 51 segments for 200 ms, five seconds after the least round trip was met last.
#[test]
fn probe_rtt_halves_what_is_in_flight_every_five_seconds() {
    let mut path = new();
    let (mut began, mut ended, mut smallest) = (None, None, f64::MAX);
    path.run(ms(12_000), |path, _| match (path.consumer.state, began) {
        (State::ProbeRtt, None) => began = Some(path.now),
        (State::ProbeRtt, _) if ended.is_none() => smallest = smallest.min(path.consumer.window()),
        (_, Some(_)) if ended.is_none() => ended = Some(path.now),
        _ => {}
    });
    let lasted = ended.unwrap().since(began.unwrap()).millis();
    assert!((200.0..400.0).contains(&lasted), "{lasted}");
    assert!((24.0..28.0).contains(&smallest), "{smallest}");
}

#[test]
fn losses_beyond_the_threshold_bound_the_volume_where_they_began() {
    let bbr = alone();
    // 100 in flight, 3 lost: 99 + (0.02 · 99 − 2)/0.98; with 2 lost 99 + (1.98 − 1)/0.98 = 100.
    assert!((bbr.volume_at_loss(100, 3) - (99.0 - 0.02 / 0.98)).abs() < 1e-9);
    assert!((bbr.volume_at_loss(100, 2) - 100.0).abs() < 1e-9);
    assert!(bbr.is_too_high(100, 3) && !bbr.is_too_high(100, 2));
}

#[test]
fn a_round_trip_with_losses_lowers_the_short_bounds_by_three_tenths_at_most() {
    let mut bbr = alone();
    bbr.rates.push(1000.0, 0, 2);
    (bbr.window, bbr.latest_rate, bbr.latest_volume) = (100.0, 600.0, 50.0);
    bbr.lower_short_bounds();
    assert_eq!((bbr.short_rate, bbr.short_volume), (700.0, 70.0));
    (bbr.latest_rate, bbr.latest_volume) = (650.0, 40.0);
    bbr.lower_short_bounds();
    assert_eq!((bbr.short_rate, bbr.short_volume), (650.0, 49.0));
    bbr.long_volume = 100.0;
    assert_eq!(bbr.with_headroom(), 85.0);
    bbr.long_volume = 4.5;
    assert_eq!(bbr.with_headroom(), 4.0);
}

// A window of 40: a segment per 40 Data in the first round trip, then per 40/2 and, from a window of 42, per 42/4.
#[test]
fn the_volume_bound_grows_twice_as_fast_in_each_round_trip() {
    let mut bbr = alone();
    (bbr.state, bbr.is_filled, bbr.window, bbr.full_now) = (State::Refill, true, 40.0, true);
    bbr.long_volume = 40.0;
    let (delivered, in_flight, lost, limited) = (40, 40, 0, false);
    let sample = Sample { prior_delivered: 0, rate: Some(1000.0), delivered, in_flight, lost, limited };
    let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::new(false));
    let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
    bbr.advance(&sample, true, 39.0, 1250.0, &mut ctx);
    assert_eq!((bbr.state, bbr.step_data), (State::Up, 40.0));
    let mut bounds = Vec::new();
    for _ in 0..3 {
        for data in 0..40 {
            bbr.window = bbr.long_volume;
            bbr.advance(&sample, data == 39, 39.0, 1250.0, &mut ctx);
            bbr.full_now = true;
        }
        bounds.push(bbr.long_volume);
    }
    assert_eq!(bounds, [41.0, 43.0, 46.0]);
}

#[test]
fn a_shallow_queue_ends_startup_by_losses_and_bounds_what_is_in_flight() {
    let mut path = new();
    path.room = ms(5);
    path.run(ms(20_000), |_, _| {});
    // 51 segments fill the path and 5 the queue.
    let bound = path.consumer.long_volume;
    assert!((40.0..75.0).contains(&bound), "{bound}");
    let (mut data, mut lost) = (0.0, path.segment);
    path.run(ms(5000), |_, _| data += 1.0);
    lost = path.segment - lost - data as u64;
    assert!(data > 4000.0, "{data}");
    assert!((lost as f64) < 0.05 * data, "{lost} of {data}");
}

#[test]
fn marks_count_as_losses_unless_they_are_switched_off() {
    let mut bounded = new();
    bounded.mark_above = ms(5);
    bounded.run(ms(10_000), |_, _| {});
    assert!(bounded.consumer.long_volume.is_finite() && bounded.consumer.decreases() > 0);
    let mut blind = path::<Bbr>(serde_json::json!({ "marks": false }), ms(1), ms(50));
    blind.mark_above = ms(5);
    blind.run(ms(10_000), |_, _| {});
    assert!(blind.consumer.long_volume.is_infinite() && blind.consumer.decreases() == 0);
}

// The window holds what is in flight to the long volume, here 40, so that 39 are left when a Data has come.
#[test]
fn after_a_probe_that_lost_too_much_the_next_ends_as_soon_as_its_volume_is_in_flight() {
    let mut consumer = alone();
    (consumer.state, consumer.too_high, consumer.long_volume) = (State::Up, true, 40.0);
    let sample = consumer.unknown(&Flight::default());
    assert!(!consumer.is_time_to_go_down(&sample, 38.0) && !consumer.precautionary);
    assert!(consumer.is_time_to_go_down(&sample, 39.0) && consumer.precautionary);
}

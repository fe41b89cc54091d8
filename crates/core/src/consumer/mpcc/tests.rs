use super::super::testing::{Driver, driver};
use super::super::testing_path::{Path, path};
use super::*;
use crate::ctx::{Ctx, Rng, Trace};

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

/// 1,000 segments/s of 1250 B: 10 Mbit/s.
fn new() -> Path<Mpcc> {
    path(serde_json::Value::Null, ms(1), ms(50))
}

#[test]
fn a_lone_flow_fills_most_of_the_path() {
    let mut path = new();
    path.run(ms(20_000), |_, _| {});
    let (mut data, mut sum) = (0.0, 0.0);
    path.run(ms(20_000), |_, rtt| (data, sum) = (data + 1.0, sum + rtt.millis()));
    assert!(data > 16_000.0, "{data}");
    assert!(sum / data < 250.0, "{}", sum / data);
}

/// The label of an Interest for `segment`, which is sent.
fn request(fetch: &mut Driver<Mpcc>, segment: u64) -> u32 {
    let mut fields = Fields::default();
    let (slot, now) = (fetch.label, fetch.now);
    fetch.consumer.stamp(segment, &mut fields);
    let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::default());
    let event = SentEvent { segment, retransmission: false, flight: Flight::default() };
    fetch.consumer.on_sent(&event, &mut Ctx { now, rng: &mut rng, trace: &mut trace });
    fields.get(slot)
}

// Two paths of 4 Mbit/s, which each keep 50 segments of 1066 B in flight at most: 4 Mbit/s · 2 · 50 ms = 46.9.
#[test]
fn paths_take_turns_in_proportion_to_their_rates_while_they_have_room() {
    let mut fetch: Driver<Mpcc> = driver(serde_json::Value::Null);
    fetch.data_of(5, Some(ms(50)), false);
    fetch.data_of(6, Some(ms(50)), false);
    let labels: Vec<u32> = (10..20).map(|segment| request(&mut fetch, segment)).collect();
    assert_eq!(labels.iter().filter(|label| **label == 5).count(), 5, "{labels:?}");
    // 1066 B at 8 Mbit/s are 1.066 ms.
    assert_eq!(fetch.consumer.pacing(&Flight::default()), Some(Duration::from_micros(1066)));
    for segment in 20..104 {
        request(&mut fetch, segment);
    }
    assert!(!fetch.consumer.may_send(&Flight { in_flight: 94, ..Flight::default() }));
    assert!(fetch.consumer.may_send(&Flight::default()), "nothing is in flight");
}

#[test]
fn each_path_learns_of_the_rates_of_the_others() {
    let mut fetch: Driver<Mpcc> = driver(serde_json::Value::Null);
    fetch.data_of(5, Some(ms(50)), false);
    fetch.data_of(6, Some(ms(50)), false);
    assert_eq!((fetch.consumer.others(5), fetch.consumer.others(6), fetch.consumer.others(7)), (4.0, 4.0, 8.0));
}

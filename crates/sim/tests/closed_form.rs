//! Runs whose results can be computed by hand.

use crate::common;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_sim::bench::{DATA_SIZE, FRAMING, INTEREST_SIZE, PAYLOAD, consumer, link, producer};
use ndnweir_sim::network::{Network, NodeKind, Traffic};
use ndnweir_sim::observer::{Delivery, Observer, Snapshot};
use ndnweir_sim::{Outcome, RunOptions, run};
use serde_json::json;

fn fixed_window(window: f64) -> Scheme {
    Scheme::resolve("fixed-window", &json!({ "consumer": { "name": "fixed", "window": window } })).unwrap()
}

/// C – R – P, rates in Mbit/s, 10 ms per link.
fn chain(rates: &[f64], queue: u32, seconds: u64) -> Network {
    let links = rates.iter().enumerate();
    let links = links.map(|(i, &rate)| link(i, i + 1, Rate::from_mbps(rate), Duration::from_millis(10), queue));
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; rates.len() + 1],
        links: links.collect(),
        prefixes: 1,
        producers: vec![producer(rates.len(), 0)],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        duration: Duration::from_millis(1000 * seconds),
        ..Network::default()
    }
}

fn simulate(network: &Network, scheme: &Scheme) -> (Outcome, Vec<Delivery>) {
    let (outcome, keep) = common::simulate(network, scheme, RunOptions::full());
    (outcome, keep.deliveries)
}

fn on_directed_link(size: u32) -> Bytes {
    Bytes::new(size.into()) + FRAMING
}

/// Propagation and transmission of one Interest and its Data over every link.
fn round_trip(rates: &[f64]) -> Duration {
    rates.iter().fold(Duration::ZERO, |sum, &rate| {
        let rate = Rate::from_mbps(rate);
        let both = rate.transmission_time(on_directed_link(INTEREST_SIZE))
            + rate.transmission_time(on_directed_link(DATA_SIZE));
        sum + both + Duration::from_millis(20)
    })
}

#[test]
fn a_window_of_one_sees_the_round_trip_of_the_closed_form_to_the_nanosecond() {
    let rates = [10.0, 3.0, 100.0];
    let (_, deliveries) = simulate(&chain(&rates, 100, 10), &fixed_window(1.0));
    let expected = round_trip(&rates);
    assert!(
        deliveries.iter().all(|d| d.arrival.rtt == Some(expected) && d.arrival.delay == expected && d.arrival.in_order)
    );
    let count = (Duration::from_millis(10_000).nanos() / expected.nanos()) as usize;
    assert_eq!(deliveries.len(), count);
    assert!(deliveries.windows(2).all(|pair| pair[1].at.since(pair[0].at) == expected));
}

#[test]
fn a_window_below_the_bandwidth_delay_product_carries_window_over_round_trip() {
    let rates = [10.0, 10.0];
    let (_, deliveries) = simulate(&chain(&rates, 100, 60), &fixed_window(20.0));
    let rtt = round_trip(&rates).secs();
    let measured = deliveries.len() as f64 / 60.0;
    let expected = 20.0 / rtt;
    assert!((measured / expected - 1.0).abs() < 1e-3, "{measured} {expected}");
}

#[test]
fn a_saturated_link_carries_all_of_its_rate_and_its_queue_is_the_rest_of_the_window() {
    let rates = [100.0, 10.0, 100.0];
    let window = 100.0;
    let (outcome, deliveries) = simulate(&chain(&rates, 1000, 60), &fixed_window(window));
    let bottleneck = Rate::from_mbps(10.0);
    let per_data = bottleneck.transmission_time(on_directed_link(DATA_SIZE));
    let steady: Vec<_> = deliveries.iter().skip(500).collect();
    assert!(steady.windows(2).all(|pair| pair[1].at.since(pair[0].at) == per_data), "back to back");
    let goodput =
        (steady.len() - 1) as f64 * f64::from(PAYLOAD) * 8.0 / steady[steady.len() - 1].at.since(steady[0].at).secs();
    let ceiling = 10e6 * f64::from(PAYLOAD) / f64::from(DATA_SIZE + 2);
    assert!((goodput / ceiling - 1.0).abs() < 1e-6, "{goodput} {ceiling}");
    let rtt = steady[0].arrival.rtt.unwrap();
    assert_eq!(rtt, per_data * window as u64, "Little's law");
    // The return path over the middle link, from its first Data on, is never idle.
    let first = Time::ZERO + round_trip(&rates[1..]) - Duration::from_millis(10);
    let busy =
        outcome.links[3].data_bits as f64 / (10e6 * (Time::ZERO + Duration::from_millis(60_000)).since(first).secs());
    assert!((0.999..1.001).contains(&busy), "{busy}");
}

#[test]
fn a_finite_object_is_delivered_once_and_completes() {
    struct Done(Vec<Time>, Vec<u64>);
    impl Observer for Done {
        fn completed(&mut self, at: Time, _: ndnweir_sim::observer::ConsumerId) {
            self.0.push(at);
        }
        fn delivered(&mut self, delivery: &Delivery) {
            self.1.push(delivery.arrival.segment);
        }
        fn sample(&mut self, snapshot: &Snapshot<'_>) {
            assert_eq!(snapshot.consumers.len(), 1);
        }
    }
    let mut network = chain(&[10.0], 100, 5);
    network.consumers[0].traffic = Traffic::Fetch { segments: Some(50), consumer: None };
    let mut done = Done(Vec::new(), Vec::new());
    let outcome = run(&network, &fixed_window(1.0), 1, &mut done, RunOptions::full()).unwrap();
    outcome.check().unwrap();
    assert_eq!(done.0, [Time::ZERO + round_trip(&[10.0]) * 50]);
    assert_eq!(done.1, (0..50).collect::<Vec<u64>>());
}

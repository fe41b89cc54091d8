//! The fetcher's rules, one by one.

use crate::fetcher_link::{Link, World, at, consumer, data, ms, sent, started};
use ndnweir_core::consumer::{CongestionEvent, Consumer, DataEvent, Flight, Timer};
use ndnweir_core::ctx::Ctx;
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fetcher::{Fetcher, FetcherConfig};
use ndnweir_node::server::ServerConfig;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn fixed(window: f64, timer: serde_json::Value) -> AnyConsumer {
    consumer("fixed", json!({ "window": window, "timer": timer }))
}

fn nack(segment: u32, reason: NackReason) -> Packet {
    Packet { kind: Kind::Nack, reason, ..data(segment) }
}

/// What a test's own consumer does.
#[derive(Default)]
struct Probe {
    window: f64,
    gap: Option<Duration>,
    /// The gap once a Data has come, if another.
    later: Option<Duration>,
    own_timeout: Option<Duration>,
    waits_after_nack: bool,
    wake: Time,
    failures: Arc<AtomicU32>,
    /// What is to be requested after each Interest; `u64::MAX` if that is unknown.
    rests: Arc<Mutex<Vec<u64>>>,
    timer: Timer,
}

impl Consumer for Probe {
    fn on_data(&mut self, _: &DataEvent<'_>, _: &mut Ctx<'_>) {
        self.gap = self.later.or(self.gap);
    }
    fn on_congestion(&mut self, _: &CongestionEvent<'_>, _: &mut Ctx<'_>) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn pacing(&self, _: &Flight) -> Option<Duration> {
        self.gap
    }
    fn timer(&self) -> Timer {
        self.timer
    }
    fn retransmission_timeout(&self) -> Option<Duration> {
        self.own_timeout
    }
    fn ends_gap(&self) -> bool {
        self.later.is_some()
    }
    fn retransmits_on_nack(&self) -> bool {
        !self.waits_after_nack
    }
    fn on_rest(&mut self, segments: Option<u64>) {
        self.rests.lock().unwrap().push(segments.unwrap_or(u64::MAX));
    }
    fn next_wake(&self) -> Time {
        self.wake
    }
    fn on_wake(&mut self, _: &mut Ctx<'_>) {
        self.failures.fetch_add(100, Ordering::Relaxed);
    }
}

fn probe(probe: Probe) -> AnyConsumer {
    AnyConsumer::Custom(Box::new(probe))
}

fn probing(window: f64) -> Probe {
    Probe { window, wake: Time::NEVER, ..Probe::default() }
}

#[test]
fn timeouts_are_looked_for_at_multiples_of_the_scan_period() {
    let mut fetcher = started(FetcherConfig::default(), fixed(2.0, json!({})), at(10));
    assert_eq!(sent(&mut fetcher, at(10)), [0, 1]);
    // Initial RTO 1 s: due at 1.010 s, seen by the look at 1.050 s.
    assert_eq!(fetcher.poll_timeout(), at(1050));
    fetcher.handle_timeout(at(1050));
    assert_eq!(fetcher.counters().timeouts, 2);
    // Both timed out in one scan although the first doubled the multiplier; the lowest goes first.
    assert_eq!(sent(&mut fetcher, at(1050)), [0, 1]);
    // Multiplier 4: 1.05 + 4 s.
    assert_eq!(fetcher.poll_timeout(), at(5050));
}

#[test]
fn an_rto_that_shrinks_does_not_reach_back_to_past_looks() {
    let mut fetcher = started(FetcherConfig::default(), fixed(3.0, json!({})), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1, 2]);
    // A round trip of 20 ms: RTO 200 ms. Segments 1 and 2 time out, which makes it 800 ms for segment 3, sent at 20 ms.
    fetcher.handle(at(20), &data(0));
    assert_eq!(sent(&mut fetcher, at(20)), [3]);
    fetcher.handle_timeout(at(200));
    assert_eq!((sent(&mut fetcher, at(200)), fetcher.poll_timeout()), (vec![1, 2], at(850)));
    // Segment 1 was requested twice: no sample. Segment 4 gives one, and the RTO is 200 ms again: segment 3 is overdue
    // since 220 ms, but the scans at 250 and 300 ms did not find it so. The next one does.
    fetcher.handle(at(330), &data(1));
    assert_eq!((sent(&mut fetcher, at(330)), fetcher.poll_timeout()), (vec![4], at(850)));
    fetcher.handle(at(343), &data(4));
    assert_eq!(fetcher.poll_timeout(), at(350));
    fetcher.handle_timeout(at(350));
    assert_eq!(fetcher.counters().timeouts, 3);
}

#[test]
fn a_look_at_the_instant_a_data_arrives_comes_first() {
    let mut fetcher = started(FetcherConfig::default(), fixed(1.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    let arrival = fetcher.handle(at(1000), &data(0)).unwrap();
    assert_eq!((arrival.delay, fetcher.counters().timeouts), (ms(1000), 1));
}

#[test]
fn late_data_of_a_segment_that_timed_out_counts_as_received() {
    let mut fetcher = started(FetcherConfig::default(), fixed(1.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle_timeout(at(1000));
    let arrival = fetcher.handle(at(1001), &data(0)).unwrap();
    assert_eq!((arrival.retransmissions, arrival.rtt), (0, Some(ms(1001))));
    // ndnSIM takes no sample from it.
    assert_eq!(fetcher.counters().srtt, Duration::ZERO);
    assert_eq!(sent(&mut fetcher, at(1001)), [1]);
}

#[test]
fn in_flight_is_counted_as_the_source_of_the_timer_counts_it() {
    // Four out at 0 s. All time out at 1 s, four are requested again. The Data of the first copies arrive late.
    let run = |timer: serde_json::Value| {
        let mut fetcher = started(FetcherConfig::default(), fixed(4.0, timer), at(0));
        sent(&mut fetcher, at(0));
        fetcher.handle_timeout(at(1010));
        fetcher.handle(at(1015), &data(0));
        fetcher.handle(at(1015), &data(1));
        let in_flight = fetcher.flight().in_flight;
        let again = sent(&mut fetcher, at(1015));
        (in_flight, again)
    };
    // Nothing was in flight any more, so neither count can go below zero here.
    assert_eq!(run(json!({ "scan": "10ms" })), (0, vec![2, 3, 4, 5]));
    // With one outstanding, ndnSIM counts it as answered when late Data of another comes; ndn-tools does not.
    let run = |timer: serde_json::Value| {
        let mut fetcher = started(FetcherConfig::default(), fixed(2.0, timer), at(0));
        assert_eq!(sent(&mut fetcher, at(0)), [0, 1]);
        fetcher.handle_timeout(at(1010));
        let first = fetcher.poll_transmit(at(1010)).map(|packet| packet.name.segment);
        fetcher.handle(at(1015), &data(1));
        (first, fetcher.flight().in_flight, fetcher.counters().in_flight)
    };
    assert_eq!(run(json!({ "scan": "10ms" })), (Some(0), 0, 1));
    assert_eq!(run(json!({ "estimator": "ndn-cxx", "scan": "10ms" })), (Some(0), 1, 1));
}

#[test]
fn ndn_cxx_keeps_the_rto_of_the_sending_and_times_out_only_later_than_it() {
    let timer = json!({ "estimator": "ndn-cxx", "scan": "10ms" });
    let config = FetcherConfig { lifetime: ms(4000), ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(2.0, timer), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1]);
    fetcher.handle(at(100), &data(0));
    assert_eq!(sent(&mut fetcher, at(100)), [2]);
    // Segment 2 has the new RTO of 300 ms: later than 400 ms is 410 ms. Segment 1 keeps 1 s.
    assert_eq!(fetcher.poll_timeout(), at(410));
    fetcher.handle_timeout(at(410));
    assert_eq!((fetcher.counters().timeouts, sent(&mut fetcher, at(410))), (1, vec![2]));
    // Asked for again with a doubled RTO; the next scan that may find something is for segment 1, after 1 s.
    assert_eq!(fetcher.poll_timeout(), at(1010));
}

#[test]
fn ndn_cxx_gives_an_interest_up_at_the_end_of_its_lifetime() {
    let config = FetcherConfig { lifetime: ms(400), ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(1.0, json!({ "estimator": "ndn-cxx", "scan": "0" })), at(0));
    sent(&mut fetcher, at(0));
    assert_eq!(fetcher.poll_timeout(), at(400));
}

#[test]
fn ndn_cxx_backs_off_once_per_loss_event() {
    let config = FetcherConfig { lifetime: ms(60_000), ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(8.0, json!({ "estimator": "ndn-cxx", "scan": "0" })), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle_timeout(at(1000));
    assert_eq!(fetcher.counters().timeouts, 8);
    sent(&mut fetcher, at(1000));
    assert_eq!(fetcher.poll_timeout(), at(3000));
}

#[test]
fn a_timeout_of_the_consumers_own_replaces_the_estimators() {
    let own =
        Probe { own_timeout: Some(ms(30)), timer: Timer { scan: Duration::ZERO, ..Timer::default() }, ..probing(1.0) };
    let mut fetcher = started(FetcherConfig::default(), probe(own), at(0));
    sent(&mut fetcher, at(0));
    for round in 1..5 {
        assert_eq!(fetcher.poll_timeout(), at(30 * round));
        fetcher.handle_timeout(at(30 * round));
        assert_eq!(sent(&mut fetcher, at(30 * round)), [0]);
    }
}

#[test]
fn a_scheduled_interest_is_not_moved_by_a_new_pace() {
    let paced = Probe { gap: Some(ms(7)), ..probing(3.0) };
    let mut fetcher = started(FetcherConfig::default(), probe(paced), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0]);
    assert_eq!(fetcher.poll_timeout(), at(7));
    fetcher.handle(at(3), &data(0));
    assert!(sent(&mut fetcher, at(6)).is_empty());
    assert_eq!(sent(&mut fetcher, at(7)), [1]);
}

// A Data comes after 3 ms; the gap of 7 or 2 ms is one of 1 ms then, and is not put off.
#[test]
fn a_data_ends_a_gap_where_the_consumer_says_so() {
    for (gap, due) in [(7, 4), (2, 2)] {
        let paced = Probe { gap: Some(ms(gap)), later: Some(ms(1)), ..probing(3.0) };
        let mut fetcher = started(FetcherConfig::default(), probe(paced), at(0));
        assert_eq!(sent(&mut fetcher, at(0)), [0]);
        fetcher.handle(at(3), &data(0));
        assert_eq!(fetcher.poll_timeout().min(at(due)), at(due));
        assert!(sent(&mut fetcher, at(due.max(3))) == [1]);
    }
}

#[test]
fn a_consumer_that_always_wants_to_be_woken_does_not_stop_the_clock() {
    let restless = Probe { wake: at(5), ..probing(1.0) };
    let mut fetcher = started(FetcherConfig::default(), probe(restless), at(0));
    assert_eq!(fetcher.poll_timeout(), at(5));
    fetcher.handle_timeout(at(5));
    assert!(fetcher.poll_timeout() > at(5));
}

#[test]
fn a_congestion_nack_pauses_its_segment_and_keeps_its_place_in_the_window() {
    let failures = Arc::new(AtomicU32::new(0));
    let rejected = Probe { failures: failures.clone(), ..probing(2.0) };
    let mut fetcher = started(FetcherConfig::default(), probe(rejected), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1]);
    fetcher.handle(at(100), &data(0));
    assert_eq!(sent(&mut fetcher, at(100)), [2]);
    // Rejected at once: nothing more is sent until half of the round trip of 100 ms has passed.
    fetcher.handle(at(100), &nack(2, NackReason::Congestion));
    assert!(sent(&mut fetcher, at(100)).is_empty());
    assert_eq!((failures.load(Ordering::Relaxed), fetcher.counters().nacks), (1, 1));
    assert_eq!(fetcher.poll_timeout(), at(150));
    fetcher.handle_timeout(at(150));
    assert_eq!(sent(&mut fetcher, at(150)), [2]);
    // Rejected again: twice as long.
    fetcher.handle(at(150), &nack(2, NackReason::Congestion));
    assert_eq!(fetcher.poll_timeout(), at(250));
}

#[test]
fn a_consumer_that_ignores_nacks_waits_for_the_timeout() {
    let patient = Probe { waits_after_nack: true, ..probing(1.0) };
    let mut fetcher = started(FetcherConfig::default(), probe(patient), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle(at(5), &nack(0, NackReason::Congestion));
    fetcher.handle(at(6), &nack(0, NackReason::NoRoute));
    assert!(sent(&mut fetcher, at(6)).is_empty());
    assert_eq!(fetcher.poll_timeout(), at(1000));
}

#[test]
fn a_duplicate_nack_is_ignored() {
    let mut fetcher = started(FetcherConfig::default(), probe(probing(1.0)), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle(at(5), &nack(0, NackReason::Duplicate));
    assert_eq!((fetcher.flight().in_flight, fetcher.poll_timeout()), (1, at(1000)));
}

#[test]
fn a_path_without_route_costs_few_interests() {
    // A face that rejects at the same instant, for a day.
    let mut fetcher = started(FetcherConfig::default(), probe(probing(10.0)), at(0));
    let mut now = at(0);
    let mut interests = 0;
    while now < at(24 * 3_600_000) {
        while let Some(interest) = fetcher.poll_transmit(now) {
            interests += 1;
            fetcher.handle(now, &interest.nack(NackReason::NoRoute));
        }
        now = fetcher.poll_timeout();
        fetcher.handle_timeout(now);
    }
    // Ten segments, at most one try a minute each once the pauses have grown.
    assert!((1000..=10 * (24 * 60 + 10)).contains(&interests), "{interests}");
}

#[test]
fn retransmissions_go_before_new_segments_from_the_lowest() {
    let mut fetcher = started(FetcherConfig::default(), fixed(3.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    fetcher.handle(at(900), &data(0));
    assert_eq!(sent(&mut fetcher, at(900)), [3]);
    fetcher.handle_timeout(at(60_000));
    assert_eq!(sent(&mut fetcher, at(60_000)), [1, 2, 3]);
    assert_eq!(fetcher.counters().retransmissions, 3);
}

#[test]
fn a_finite_object_completes_once_and_then_nothing_happens() {
    let config = FetcherConfig { total: Some(3), ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(8.0, json!({})), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1, 2]);
    let arrived = |fetcher: &mut Fetcher, segment| fetcher.handle(at(10), &data(segment)).unwrap();
    let first = arrived(&mut fetcher, 2);
    assert!(!first.in_order && !first.completed);
    assert!(arrived(&mut fetcher, 0).in_order);
    let last = arrived(&mut fetcher, 1);
    assert!(last.in_order && last.completed && fetcher.is_complete());
    assert_eq!(fetcher.poll_timeout(), Time::NEVER);
    assert!(fetcher.handle(at(11), &data(1)).is_none());
    assert_eq!(fetcher.counters().duplicates, 1);
}

#[test]
fn the_final_segment_ends_the_object_and_drops_requests_beyond_it() {
    let server = ServerConfig { last_segment: Some(20), ..ServerConfig::default() };
    let mut world = World::new(Link::default(), server, FetcherConfig::default(), fixed(8.0, json!({})));
    world.start();
    world.run_until(at(60_000));
    assert!(world.fetcher.is_complete());
    assert_eq!((world.arrivals.len(), world.fetcher.flight().in_flight), (21, 0));
    let mut fetcher = started(FetcherConfig::default(), fixed(8.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    let last = Packet { flags: flags::FINAL, ..data(0) };
    assert!(fetcher.handle(at(1), &last).unwrap().completed);
    assert_eq!((fetcher.flight().in_flight, fetcher.counters().in_flight), (0, 0));
}

// Four segments: one is left after the third. Then they turn out to be three, and those on their way time out: when segment
// 1 is requested again segment 2 is left, and after that nothing.
#[test]
fn a_consumer_hears_how_much_is_to_be_requested_once_that_is_known() {
    let rests = Arc::new(Mutex::new(Vec::new()));
    let config = FetcherConfig { total: None, ..FetcherConfig::default() };
    let mut fetcher = started(config, probe(Probe { rests: rests.clone(), ..probing(2.0) }), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1]);
    fetcher.limit(4);
    fetcher.handle(at(10), &data(0));
    assert_eq!(sent(&mut fetcher, at(10)), [2]);
    fetcher.limit(3);
    fetcher.handle_timeout(at(3000));
    assert_eq!(sent(&mut fetcher, at(3000)), [1, 2]);
    assert_eq!(*rests.lock().unwrap(), [u64::MAX, u64::MAX, 1, 1, 0]);
}

#[test]
fn a_stopped_fetch_neither_sends_nor_listens_and_can_go_on() {
    let mut fetcher = started(FetcherConfig::default(), fixed(2.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    fetcher.stop(at(5));
    assert!(fetcher.handle(at(6), &data(0)).is_none());
    assert!(sent(&mut fetcher, at(6)).is_empty());
    assert_eq!((fetcher.poll_timeout(), fetcher.counters().unexpected), (Time::NEVER, 1));
    fetcher.start(at(2000));
    fetcher.handle_timeout(fetcher.poll_timeout());
    assert_eq!(sent(&mut fetcher, at(2000)), [0, 1]);
}

#[test]
fn the_table_is_bounded_and_reaching_the_bound_is_counted() {
    let config = FetcherConfig { max_window: 10, ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(50.0, json!({})), at(0));
    assert_eq!(sent(&mut fetcher, at(0)).len(), 10);
    fetcher.handle(at(1), &data(5));
    assert!(sent(&mut fetcher, at(1)).is_empty());
    fetcher.handle(at(1), &data(0));
    assert_eq!((sent(&mut fetcher, at(1)), fetcher.counters().table_full), (vec![10], 3));
}

#[test]
fn every_interest_has_a_nonce_of_its_own_from_the_applications_stream() {
    let nonces = |number| {
        let config = FetcherConfig { number, ..FetcherConfig::default() };
        let mut fetcher = started(config, fixed(100.0, json!({})), at(0));
        let mut nonces: Vec<_> = std::iter::from_fn(|| fetcher.poll_transmit(at(0))).map(|p| p.nonce).collect();
        fetcher.handle_timeout(at(1000));
        nonces.extend(std::iter::from_fn(|| fetcher.poll_transmit(at(1000))).map(|p| p.nonce));
        nonces
    };
    let first = nonces(1);
    assert_eq!(first, nonces(1));
    assert_ne!(first, nonces(2));
    let mut distinct = first.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((first.len(), distinct.len()), (200, 200));
}

#[test]
fn a_paced_window_is_spread_over_the_round_trip_once_that_is_known() {
    let config = FetcherConfig { pace: Some(1.0), ..FetcherConfig::default() };
    let mut fetcher = started(config, fixed(4.0, json!({})), at(0));
    assert_eq!(sent(&mut fetcher, at(0)), [0, 1, 2, 3]);
    fetcher.handle(at(100), &data(0));
    fetcher.handle(at(100), &data(1));
    // 100 ms / 4 = 25 ms from one to the next; the first may have been due 1 ms ago.
    assert_eq!(sent(&mut fetcher, at(100)), [4]);
    assert_eq!((sent(&mut fetcher, at(123)), fetcher.poll_timeout()), (vec![], at(124)));
    assert_eq!(sent(&mut fetcher, at(124)), [5]);
}

#[test]
fn an_object_found_to_be_short_is_requested_no_further() {
    let mut fetcher = started(FetcherConfig::default(), fixed(8.0, json!({})), at(0));
    assert_eq!(sent(&mut fetcher, at(0)).len(), 8);
    fetcher.handle(at(10), &data(0));
    fetcher.limit(3);
    assert_eq!((fetcher.flight().in_flight, sent(&mut fetcher, at(10))), (2, vec![]));
    fetcher.handle(at(11), &data(2));
    assert!(!fetcher.is_complete() && fetcher.handle(at(11), &data(7)).is_none());
    assert!(fetcher.handle(at(12), &data(1)).is_some_and(|arrival| arrival.completed));
}

#[test]
fn packets_that_make_no_sense_change_nothing() {
    let mut fetcher = started(FetcherConfig::default(), fixed(2.0, json!({})), at(0));
    sent(&mut fetcher, at(0));
    let mut other_flow = data(0);
    other_flow.name.flow.0 = 9;
    for packet in [data(7), data(u32::MAX), other_flow, Packet::default(), nack(9, NackReason::Congestion)] {
        assert!(fetcher.handle(at(1), &packet).is_none());
    }
    assert_eq!((fetcher.flight().in_flight, fetcher.counters().unexpected), (2, 4));
}

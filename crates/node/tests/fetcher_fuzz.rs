//! Random packets, times and orders for a fetcher over every consumer.

use crate::fetcher_link::{consumer, takes};
use ndnweir_core::consumer::{Consumer, Estimator};
use ndnweir_core::ctx::Rng;
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fetcher::{Fetcher, FetcherConfig, FetcherCounters, LossDetection};
use serde_json::json;

fn random_packet(rng: &mut Rng, highest: u64) -> Packet {
    let kind = [Kind::Data, Kind::Data, Kind::Data, Kind::Nack, Kind::Interest][rng.below(5) as usize];
    let reason = [NackReason::Congestion, NackReason::Duplicate, NackReason::NoRoute][rng.below(3) as usize];
    let mut packet = Packet { kind, reason, size: 1064, payload: 1024, ..Packet::default() };
    packet.mark = u8::from(rng.below(10) == 0);
    packet.flags = if rng.below(3000) == 0 { flags::FINAL } else { 0 };
    packet.name.segment = match rng.below(200) {
        0 => u32::MAX - rng.below(3) as u32,
        1 => rng.below(10) as u32,
        _ => highest.saturating_sub(rng.below(40)) as u32,
    };
    packet.name.flow.0 = u32::from(rng.below(100) == 0);
    packet
}

fn run(name: &str, estimator: &str, scan: &str, seed: u64) -> (FetcherCounters, usize) {
    let mut rng = Rng::derive(seed, &[1]);
    let loss = seed.is_multiple_of(2).then(LossDetection::default);
    let max_window = [7, 300, 3_000][seed as usize % 3];
    let config = FetcherConfig { seed, loss, max_window, trace: true, ..FetcherConfig::default() };
    let timer = json!({ "timer": { "estimator": estimator, "scan": scan } });
    let choosable = AnyConsumer::ALL.iter().any(|info| info.name == name && takes(info, "timer"));
    let consumer = consumer(name, if choosable { timer } else { json!({}) });
    let exact = consumer.timer().estimator == Estimator::NdnCxx;
    let mut fetcher = Fetcher::new(config, consumer);
    let (mut now, mut traced) = (Time::ZERO, 0);
    fetcher.start(now);
    for step in 0..3000 {
        match rng.below(100) {
            0 => fetcher.stop(now),
            1 => fetcher.start(now),
            2 => now += Duration::from_millis(rng.below(10 * 24 * 3_600_000)),
            3..20 => now += Duration::from_nanos(rng.below(30_000_000)),
            20..40 if fetcher.poll_timeout() != Time::NEVER => {
                now = now.max(fetcher.poll_timeout());
                fetcher.handle_timeout(now);
            }
            40..45 => fetcher.handle_timeout(now),
            _ => {
                let packet = random_packet(&mut rng, fetcher.flight().next_segment);
                let before = fetcher.counters().segments;
                let arrival = fetcher.handle(now, &packet);
                assert_eq!(fetcher.counters().segments - before, u64::from(arrival.is_some()));
            }
        }
        let mut burst = 0;
        while burst < rng.below(200) && fetcher.poll_transmit(now).is_some() {
            burst += 1;
        }
        let (counters, flight) = (fetcher.counters(), fetcher.flight());
        let context = format!("{name} {estimator} {scan} seed {seed} step {step}: {counters:?} {flight:?}");
        if exact {
            assert!(flight.in_flight >= counters.in_flight, "{context}");
        }
        assert!(counters.retransmissions <= counters.interests, "{context}");
        assert!(counters.segments <= flight.next_segment, "{context}");
        traced += fetcher.drain_trace().count();
        // The clock must be able to leave this instant.
        let mut guard = 0;
        while fetcher.poll_timeout() <= now {
            fetcher.handle_timeout(now);
            while guard < 100_000 && fetcher.poll_transmit(now).is_some() {
                guard += 1;
            }
            guard += 1;
            assert!(guard < 100_000, "stuck: {context}");
        }
    }
    (fetcher.counters(), traced)
}

#[test]
fn random_operations_neither_break_nor_stop_a_fetch_and_repeat_exactly() {
    for info in AnyConsumer::ALL {
        for (estimator, scan) in [("ndnsim", "50ms"), ("ndnsim", "0"), ("ndn-cxx", "10ms"), ("ndn-cxx", "0")] {
            for seed in 0..6 {
                assert_eq!(run(info.name, estimator, scan, seed), run(info.name, estimator, scan, seed));
            }
        }
    }
}

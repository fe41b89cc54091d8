//! Links whose rate follows a trace.

use crate::common;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_sim::RunOptions;
use ndnweir_sim::bench::consumer;
use ndnweir_sim::network::{Change, Direction, Link, LinkDirection, Network, NodeKind, Producer, RateTrace, Traffic};
use serde_json::json;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// C - P, 10 ms each way; Data of `size` bytes come as the trace says, Interests take no time.
fn network(trace: &str, size: u32, segments: Option<u64>, queue: u32) -> Network {
    let trace = RateTrace::parse(trace).unwrap();
    let mut link = Link::symmetric(0, 1, Direction::traced(trace, ms(10), Limit::Packets(queue)));
    (link.forward.rate, link.forward.trace) = (None, None);
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 2],
        links: vec![link],
        prefixes: 1,
        producers: vec![Producer { node: 1, prefix: 0, payload: size - 40, size, freshness: Duration::ZERO }],
        consumers: vec![consumer(0, 0, Traffic::Fetch { segments, consumer: None })],
        duration: ms(2000),
        ..Network::default()
    }
}

fn window(window: f64) -> Scheme {
    Scheme::resolve("fixed-window", &json!({ "consumer": { "name": "fixed", "window": window } })).unwrap()
}

fn arrivals(network: &Network, scheme: &Scheme, force_events: bool) -> Vec<u64> {
    let options = RunOptions { force_events, ..RunOptions::full() };
    let (_, keep) = common::simulate(network, scheme, options);
    keep.deliveries.iter().map(|delivery| delivery.at.nanos() / 1_000_000).collect()
}

// By hand: all four Interests reach P at 10 ms. Lines at 8, 12, 12, 20 and again at 28, 32, 32, 40 ms: deliveries of
// 1504 B at 12, 12, 20 and 28 ms, and 10 ms on the way.
#[test]
fn full_packets_leave_at_the_lines_of_the_trace_whichever_way_the_queue_is_driven() {
    let network = network("8\n12\n12\n20\n", 1504, Some(4), 100);
    for force_events in [false, true] {
        assert_eq!(arrivals(&network, &window(4.0), force_events), [22, 22, 30, 38]);
    }
}

// 3008 B take two lines each: 12 and 12, 20 and 28 ms.
#[test]
fn larger_packets_take_several_lines() {
    let network = network("8\n12\n12\n20\n", 3008, Some(2), 100);
    assert_eq!(arrivals(&network, &window(2.0), false), [22, 38]);
}

// A window of 1: sent at 0, delivered at 12, there at 22; the next Interest is at P at 32 ms, a line's instant. The
// lines between are lost.
#[test]
fn unused_opportunities_are_lost() {
    let network = network("8\n12\n12\n20\n", 1504, Some(3), 100);
    assert_eq!(arrivals(&network, &window(1.0), false), [22, 42, 62]);
}

#[test]
fn a_full_window_gets_the_mean_rate_and_what_does_not_fit_is_dropped() {
    // 12 lines in 24 ms: 6.016 Mbit/s, of which all is used.
    let lines: String = (1..=12).map(|n| format!("{}\n", 2 * n)).collect();
    let with_room = common::simulate(&network(&lines, 1504, None, 100), &window(40.0), RunOptions::full()).1;
    // One every 2 ms from 12 to 2000 ms, 10 ms later here.
    assert!((988..=996).contains(&with_room.deliveries.len()), "{}", with_room.deliveries.len());
    let (outcome, _) = common::simulate(&network(&lines, 1504, None, 5), &window(40.0), RunOptions::full());
    assert!(outcome.links[1].drops.overflow > 0);
}

// The trace ends at 100 ms; from there on 12.032 Mbit/s carry a packet a millisecond.
#[test]
fn a_change_of_rate_ends_a_trace() {
    let mut network = network("50\n", 1504, Some(10), 100);
    let rate = ndnweir_core::units::Rate::from_bps(12_032_000);
    let change = Change::Rate { link: 0, direction: LinkDirection::Backward, rate };
    network.changes = vec![(Time::ZERO + ms(100), change)];
    let found = arrivals(&network, &window(10.0), false);
    assert_eq!(found[..2], [60, 110]);
    assert!(found[2..].windows(2).all(|pair| pair[1] - pair[0] == 1), "{found:?}");
}

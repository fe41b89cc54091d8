//! Traffic that is not NDN on the same links.

use crate::common;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, link, producer};
use ndnweir_sim::network::{CrossFlow, CrossKind, Impairment, Network, NodeKind, Traffic};
use ndnweir_sim::tcp::Algorithm;
use ndnweir_sim::{Outcome, RunOptions};

const RATE: f64 = 10.0;

/// C - A - B - P, of which A - B is narrow: 10 Mbit/s, 10 ms, 50 packets. Other traffic goes from A to B, or from B to
/// A.
fn network(cross: Vec<CrossFlow>, seconds: u64) -> Network {
    let wide = |a, b| link(a, b, Rate::from_mbps(100.0), Duration::from_millis(1), 1000);
    Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 4],
        links: vec![wide(0, 1), link(1, 2, Rate::from_mbps(RATE), Duration::from_millis(10), 50), wide(2, 3)],
        cross,
        prefixes: 1,
        producers: vec![producer(3, 0)],
        consumers: Vec::new(),
        duration: Duration::from_millis(1000 * seconds),
        ..Network::default()
    }
}

fn fetch() -> ndnweir_sim::network::Consumer {
    consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })
}

fn flow(path: Vec<u32>, kind: CrossKind) -> CrossFlow {
    CrossFlow { path, kind, size: 1500, start: Time::ZERO, stop: None }
}

fn simulate(network: &Network) -> Outcome {
    let (outcome, _) = common::simulate(network, &Scheme::named("cubic").unwrap(), RunOptions::full());
    for mut link in outcome.links.iter().copied() {
        // What the link loses on the way is added to what its queue counts.
        link.drops.loss = 0;
        link.check().unwrap();
    }
    outcome
}

// 3 Mbit/s of 1500 B are 250 a second; in 100 s 25 000 with a standard deviation of 158.
#[test]
fn poisson_datagrams_come_at_their_mean_rate_with_the_spread_of_their_distribution() {
    let outcome = simulate(&network(vec![flow(vec![2], CrossKind::Poisson { rate: Rate::from_mbps(3.0) })], 100));
    let sent = outcome.cross[0].sent;
    assert!(sent.abs_diff(25_000) < 500 && sent != 25_000, "{sent}");
    assert_eq!(outcome.cross[0].delivered, outcome.propagations[2].arrived);
    assert_eq!(outcome.links[2].other_packets, outcome.propagations[2].sent);
    assert_eq!((outcome.links[2].data_packets, outcome.links[2].interest_packets), (0, 0));
}

// M/D/1 at a load of 0.8: the mean wait is load / (2 (1 - load)) = 2 service times of 1502 B at 10 Mbit/s (Pollaczek
// and Khinchine). The queue has room for 50, which is as good as endless here.
#[test]
fn a_queue_of_poisson_datagrams_waits_as_the_closed_form_says() {
    let service = 1502.0 * 8.0 / (RATE * 1e6);
    let rate = Rate::from_bps((0.8 / service * 1500.0 * 8.0) as u64);
    let outcome = simulate(&network(vec![flow(vec![2], CrossKind::Poisson { rate })], 1000));
    let link = &outcome.links[2];
    let wait = link.sojourn_sum as f64 / link.sojourn_count as f64 / 1e9;
    assert!((wait / (2.0 * service) - 1.0).abs() < 0.05, "{} service times", wait / service);
}

// On for 2 s and off for 1 s in the mean: two thirds of 4.5 Mbit/s are 250 a second.
#[test]
fn on_off_traffic_has_its_mean_rate_and_pauses() {
    let (on, off) = (Duration::from_millis(2000), Duration::from_millis(1000));
    let kind = CrossKind::OnOff { rate: Rate::from_mbps(4.5), on, off };
    let outcome = simulate(&network(vec![flow(vec![2], kind)], 3000));
    let rate = outcome.cross[0].sent as f64 / 3000.0;
    assert!((rate / 250.0 - 1.0).abs() < 0.08, "{rate}");
}

#[test]
fn datagrams_cross_several_links_and_stop_in_time() {
    let kind = CrossKind::Poisson { rate: Rate::from_mbps(1.0) };
    let stop = Some(Time::ZERO + Duration::from_millis(5000));
    let outcome = simulate(&network(vec![CrossFlow { stop, ..flow(vec![0, 2, 4], kind) }], 10));
    let arrived = [0, 2, 4].map(|wire: usize| outcome.propagations[wire].arrived);
    let sent = outcome.cross[0].sent;
    assert!((350..480).contains(&sent), "{sent}");
    assert_eq!((arrived, outcome.cross[0].delivered), ([sent; 3], sent));
}

// Data come from B to A, as the datagrams do: they share one drop-tail queue, and the fetch gets what is left.
#[test]
fn other_traffic_takes_its_share_of_the_queue_from_a_fetch() {
    let goodput = |cross: Vec<CrossFlow>| {
        let mut network = network(cross, 30);
        network.consumers = vec![fetch()];
        let outcome = simulate(&network);
        assert!(outcome.links[3].data_marks == 0, "nothing marks below NDN");
        outcome.consumers[0].segments as f64 * 1024.0 * 8.0 / 30e6
    };
    let silent = goodput(vec![flow(vec![3], CrossKind::Poisson { rate: Rate::from_bps(1000) })]);
    let half = goodput(vec![flow(vec![3], CrossKind::Poisson { rate: Rate::from_mbps(5.0) })]);
    assert!(silent > 5.0 && (2.0..5.0).contains(&half) && half < 0.75 * silent, "{silent} {half}");
}

// A lone transfer fills the link: 1502 B per segment and 10 Mbit/s are 832 a second; the queue of 50 holds more than
// the delay times the rate (24 segments), so that a cut to 0.7 does not empty it.
#[test]
fn a_tcp_transfer_fills_its_link_and_repairs_its_losses_without_timeouts() {
    let tcp = CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: None, ack: 52 };
    let outcome = simulate(&network(vec![flow(vec![2], tcp)], 60));
    let cross = outcome.cross[0];
    let share = cross.delivered as f64 / (60.0 * RATE * 1e6 / (1502.0 * 8.0));
    assert!((0.97..=1.0).contains(&share), "{share}");
    assert!(cross.sender.recoveries > 3 && cross.sender.timeouts <= 1, "{cross:?}");
    assert!(cross.sender.retransmissions < cross.delivered / 50, "{cross:?}");
}

#[test]
fn two_tcp_transfers_share_a_link_and_a_finite_one_completes() {
    let long = || flow(vec![2], CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: None, ack: 52 });
    let start = Time::ZERO + Duration::from_millis(5000);
    let short = CrossFlow {
        start,
        ..flow(vec![2], CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: Some(1000), ack: 52 })
    };
    let outcome = simulate(&network(vec![long(), long(), short], 120));
    let [a, b] = [0, 1].map(|i: usize| outcome.cross[i].delivered as f64);
    assert!((0.5..2.0).contains(&(a / b)), "{a} {b}");
    assert_eq!(outcome.cross[2].delivered, 1000);
    assert!(outcome.cross[2].completed > Some(start));
}

// One way loses 1 % of segments at random, far below what the queue would. RFC 9438 section 5.1: where Reno's window is
// larger than CUBIC's, the flow does as Reno would, sqrt(3 / (2 p)) / RTT in the mean, here 12.2 segments; CUBIC's
// would be 1.054 (0.0212 / 0.01)^0.75 = 1.9. Random instead of periodic losses, and timers, cost some of it.
#[test]
fn at_random_losses_and_a_short_round_trip_the_rate_is_that_of_reno() {
    let tcp = CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: None, ack: 52 };
    let mut network = network(vec![flow(vec![2], tcp)], 600);
    network.links[1].forward.impairment = Impairment { loss: 0.01, ..Impairment::default() };
    (network.links[1].forward.limit, network.links[1].forward.rate) =
        (Limit::Packets(1000), Some(Rate::from_mbps(100.0)));
    let outcome = simulate(&network);
    let window = outcome.cross[0].delivered as f64 / 600.0 * 0.0202;
    assert!((0.75..1.15).contains(&(window / 12.25)), "{window}");
}

fn transfer(algorithm: Algorithm) -> CrossKind {
    CrossKind::Tcp { algorithm, segments: None, ack: 52 }
}

/// The link's mean wait in ms.
fn wait(outcome: &Outcome) -> f64 {
    outcome.links[2].sojourn_sum as f64 / outcome.links[2].sojourn_count as f64 / 1e6
}

// TCP acknowledges sixteen one by one, and the other 984 in pairs: 508. QUIC all in pairs: 500.
#[test]
fn a_transfer_without_losses_is_acknowledged_in_pairs() {
    for (algorithm, acks) in [(Algorithm::Cubic, 508), (Algorithm::BbrV1, 508), (Algorithm::QuicReno, 500)] {
        let kind = CrossKind::Tcp { algorithm, segments: Some(1000), ack: 52 };
        let mut network = network(vec![flow(vec![2], kind)], 10);
        network.links[1].forward.limit = Limit::Packets(2000);
        let outcome = simulate(&network);
        assert_eq!((outcome.cross[0].delivered, outcome.links[3].other_packets), (1000, acks), "{algorithm:?}");
    }
}

// 50 segments are three times the delay times the rate. BBR alone keeps what fills the path and three times two
// segments, 7 ms, where the others fill the queue.
#[test]
fn a_bbr_transfer_fills_its_link_with_a_short_queue() {
    let run = |algorithm| {
        let outcome = simulate(&network(vec![flow(vec![2], transfer(algorithm))], 60));
        (outcome.cross[0].delivered as f64 / (60.0 * RATE * 1e6 / (1502.0 * 8.0)), wait(&outcome))
    };
    let (share, short) = run(Algorithm::BbrV1);
    assert!((0.95..=1.0).contains(&share) && short < 12.0, "{share} {short}");
    for algorithm in [Algorithm::Cubic, Algorithm::Reno, Algorithm::QuicReno] {
        let (share, long) = run(algorithm);
        assert!((0.97..=1.0).contains(&share) && long > 2.0 * short, "{algorithm:?} {share} {long}");
    }
}

// Each of two flows measures its share of the rate and keeps twice its product in flight: of these two products one
// fills the path, and one waits, here 100 ms (Hock et al. 2017, section III; they found up to one and a half). In the
// second minute: the later flow takes the first one's queue for the path until it has measured without.
#[test]
fn two_bbr_transfers_keep_about_one_product_of_rate_and_delay_in_the_queue() {
    let run = |seconds| {
        let start = Time::ZERO + Duration::from_millis(700);
        let later = CrossFlow { start, ..flow(vec![2], transfer(Algorithm::BbrV1)) };
        let mut network = network(vec![flow(vec![2], transfer(Algorithm::BbrV1)), later], seconds);
        let link = &mut network.links[1];
        for direction in [&mut link.forward, &mut link.backward] {
            direction.delay = Duration::from_millis(50);
            direction.limit = Limit::Packets(500);
        }
        simulate(&network)
    };
    let [first, both] = [60, 120].map(run);
    let waits = [&first, &both].map(|run| (run.links[2].sojourn_sum as f64 / 1e9, run.links[2].sojourn_count as f64));
    let products = (waits[1].0 - waits[0].0) / (waits[1].1 - waits[0].1) / 0.1;
    let shares = [0, 1].map(|i: usize| (both.cross[i].delivered - first.cross[i].delivered) as f64);
    assert!((0.75..1.5).contains(&products), "{products}");
    assert!((0.5..2.0).contains(&(shares[0] / shares[1])), "{shares:?}");
}

#[test]
fn every_transfer_accounts_for_its_segments_and_is_the_same_with_the_same_seed() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno, Algorithm::BbrV1, Algorithm::QuicReno] {
        let mut network = network(vec![flow(vec![2], transfer(algorithm)), flow(vec![2], transfer(algorithm))], 30);
        network.links[1].forward.impairment = Impairment { loss: 0.001, ..Impairment::default() };
        let outcome = simulate(&network);
        let sent: u64 = outcome.cross.iter().map(|cross| cross.sent).sum();
        let (link, way) = (&outcome.links[2], &outcome.propagations[2]);
        let waiting = sent - link.other_packets - link.drops.overflow;
        assert!(waiting <= 50 && link.drops.overflow > 0 && way.lost > 0, "{algorithm:?}: {waiting}");
        for cross in &outcome.cross {
            assert_eq!(cross.sent, cross.sender.sent);
            assert!(cross.delivered <= cross.sent - cross.sender.retransmissions, "{algorithm:?}: {cross:?}");
        }
        assert_eq!(outcome.cross, simulate(&network).cross);
    }
}

#[test]
fn other_traffic_that_cannot_be_is_rejected() {
    let kind = CrossKind::Poisson { rate: Rate::from_mbps(1.0) };
    for (path, problem) in [
        (vec![], "crosses no link"),
        (vec![9], "does not exist"),
        (vec![0, 4], "do not follow each other"),
        (vec![0, 1], "twice"),
    ] {
        let error = network(vec![flow(path, kind)], 1).check().unwrap_err().0;
        assert!(error.contains(problem), "{error}");
    }
    let zero = CrossKind::Poisson { rate: Rate::ZERO };
    assert!(network(vec![flow(vec![2], zero)], 1).check().is_err());
    let huge = CrossFlow { size: 70_000, ..flow(vec![2], kind) };
    assert!(network(vec![huge], 1).check().is_err());
}

// Alone on 10 Mbit/s it reaches its highest rate within seconds (from 150 kbit/s by 1.2 a report; ten times takes 13
// reports) and keeps it: 1 Mbit/s of 1500 B are 83 datagrams a second.
#[test]
fn adaptive_media_alone_reaches_its_highest_rate_and_keeps_it() {
    let media = CrossKind::Nada { rate: Rate::from_mbps(1.0) };
    let outcome = simulate(&network(vec![flow(vec![2], media)], 60));
    let counters = outcome.cross[0];
    assert!((4_700..=5_000).contains(&counters.sent), "{counters:?}");
    assert!(counters.sent - counters.delivered <= 2, "{counters:?}");
}

// 10 Mbit/s carry four of 3 Mbit/s each with a queue: at rest all have the same signal, so the same rate (RFC 8698
// §4.3), 2.5 Mbit/s; the signal is 10 · 3 / 2.5 = 12 ms.
#[test]
fn adaptive_media_share_a_link_evenly_and_keep_its_queue_short() {
    let media = CrossKind::Nada { rate: Rate::from_mbps(3.0) };
    let outcome = simulate(&network((0..4).map(|_| flow(vec![2], media)).collect(), 120));
    let rates: Vec<f64> = outcome.cross.iter().map(|c| c.delivered as f64 * 1500.0 * 8.0 / 120.0 / 1e6).collect();
    assert!(rates.iter().sum::<f64>() > 9.2, "{rates:?}");
    assert!(rates.iter().all(|rate| (2.1..2.9).contains(rate)), "{rates:?}");
    assert!(outcome.cross.iter().all(|c| c.sent - c.delivered < 40), "no loss but what is under way");
}

// CUBIC keeps a queue of 25 to 50 packets (30 to 60 ms) there; media react to it and keep more than their least rate.
#[test]
fn adaptive_media_yield_to_a_transfer_that_fills_the_buffer_and_do_not_starve() {
    let media = CrossKind::Nada { rate: Rate::from_mbps(3.0) };
    let tcp = CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: None, ack: 52 };
    let outcome = simulate(&network(vec![flow(vec![2], media), flow(vec![2], tcp)], 120));
    let rate = outcome.cross[0].delivered as f64 * 1500.0 * 8.0 / 120.0 / 1e6;
    assert!((0.3..2.0).contains(&rate), "{rate}");
}

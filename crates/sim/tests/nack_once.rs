//! The linear topology of "NACK-based hop-by-hop rate control" (JIP 26, 2018), §4.2.1, against what the paper reports.
//!
//! Every link has 10 ms, fixed beforehand: with it the round trip and the first NACK bursts of the paper agree.
//! Accepted: Data rate within 2 %, first burst within 2 NACKs, times within 0.1 s.

use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::network::{Consumer, Direction, Link, Network, NodeKind, Producer, Traffic};
use ndnweir_sim::observer::{NodeId, Observer, Snapshot};
use ndnweir_sim::{RunOptions, run};

const DURATION: f64 = 10.0;

/// When NACKs and Data came to the consumer, to the millisecond.
#[derive(Default)]
struct Log {
    nacks: Vec<(f64, u64)>,
    data: u64,
    lowest: Vec<f64>,
    so_far: u64,
}

impl Observer for Log {
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        let consumer = &snapshot.consumers[0];
        if consumer.nacks > self.so_far {
            self.nacks.push((snapshot.at.secs(), consumer.nacks - self.so_far));
            self.so_far = consumer.nacks;
        }
        self.data = consumer.segments;
    }

    fn scheme_event(&mut self, _: Time, _: NodeId, key: &'static str, _: u64, value: f64) {
        if key == "rate" {
            self.lowest.push(value);
        }
    }
}

impl Log {
    /// NACKs that follow each other within 0.3 s are one burst: its start and size.
    fn bursts(&self) -> Vec<(f64, u64)> {
        let mut bursts: Vec<(f64, u64)> = Vec::new();
        let mut last = f64::MIN;
        for &(at, count) in &self.nacks {
            match bursts.last_mut() {
                Some(burst) if at - last < 0.3 => burst.1 += count,
                _ => bursts.push((at, count)),
            }
            last = at;
        }
        bursts
    }

    fn rate(&self) -> f64 {
        self.data as f64 / DURATION
    }

    fn lowest(&self) -> f64 {
        self.lowest.iter().copied().fold(f64::MAX, f64::min)
    }
}

/// Con–NR1–NR2–NR3–Pro at 10 Mbit/s, but for NR1–NR2 and NR2–NR3.
fn line(scheme: &str, first: f64, second: f64) -> Log {
    let link = |i: usize, mbps: f64| {
        let direction = Direction::new(Rate::from_mbps(mbps), Duration::from_millis(10), Limit::Packets(200));
        Link::symmetric(i, i + 1, direction)
    };
    let producer = Producer { node: 4, prefix: 0, payload: 1000, size: 1250, freshness: Duration::ZERO };
    let consumer = Consumer {
        node: 0,
        prefix: 0,
        object: 0,
        traffic: Traffic::Fetch { segments: None, consumer: None },
        start: Time::ZERO,
        start_jitter: None,
        stop: None,
        interest_size: 37,
        lifetime: Duration::from_millis(2000),
    };
    let network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 5],
        links: vec![link(0, 10.0), link(1, first), link(2, second), link(3, 10.0)],
        prefixes: 1,
        producers: vec![producer],
        consumers: vec![consumer],
        duration: Duration::from_secs_f64(DURATION),
        sampling: Duration::from_millis(1),
        ..Network::default()
    };
    let mut log = Log::default();
    let options = RunOptions { trace: true, ..RunOptions::default() };
    run(&network, &Scheme::named(scheme).unwrap(), 1, &mut log, options).unwrap();
    log
}

/// A row of the paper's text and tables: Data rate, then start and size of each burst as far as it names them.
struct Reported {
    rate: f64,
    within: f64,
    bursts: &'static [(f64, u64)],
}

fn compare(scheme: &str, first: f64, second: f64, reported: &Reported) {
    let log = line(scheme, first, second);
    let bursts = log.bursts();
    let context = format!("{scheme} {first}/{second}: {} packets/s, {bursts:?}", log.rate());
    assert!((log.rate() - reported.rate).abs() <= reported.within, "{context}");
    for (i, (&(at, count), &(expected_at, expected))) in bursts.iter().zip(reported.bursts).enumerate() {
        assert!((at - expected_at).abs() <= 0.1, "{context}: burst {i} at {expected_at}");
        let slack = if i == 0 { 2 } else { 0 };
        assert!(count.abs_diff(expected) <= slack, "{context}: burst {i} of {expected}");
    }
    assert!(bursts.len() >= reported.bursts.len(), "{context}");
}

#[test]
fn five_megabit_with_every_nack_counted_gives_the_papers_rate_and_bursts() {
    let bursts = &[(0.08, 11), (3.13, 4), (5.27, 4), (7.40, 4), (9.54, 4)];
    compare("stateful-consumer", 5.0, 10.0, &Reported { rate: 274.0, within: 5.48, bursts });
    let lowest = line("stateful-consumer", 5.0, 10.0).lowest();
    assert!((1.4..1.6).contains(&lowest), "the paper: around 1.5; {lowest}");
}

#[test]
fn five_megabit_with_one_reduction_per_congestion_gives_the_papers_rate_and_bursts() {
    let bursts = &[(0.08, 12), (1.35, 4), (2.23, 4), (3.09, 4)];
    compare("nack-once-consumer", 5.0, 10.0, &Reported { rate: 465.0, within: 9.3, bursts });
}

#[test]
fn one_megabit_with_every_nack_counted_gives_the_papers_rate_and_bursts() {
    let bursts = &[(0.03, 21), (4.05, 1), (4.74, 1), (5.42, 1)];
    compare("stateful-consumer", 1.0, 10.0, &Reported { rate: 73.0, within: 1.46, bursts });
    assert_eq!(line("stateful-consumer", 1.0, 10.0).lowest(), 1.0);
}

#[test]
fn one_megabit_with_one_reduction_per_congestion_gives_the_papers_rate_and_bursts() {
    let bursts = &[(0.03, 35), (1.10, 1), (1.98, 1), (2.84, 1)];
    compare("nack-once-consumer", 1.0, 10.0, &Reported { rate: 93.0, within: 1.86, bursts });
    assert_eq!(line("nack-once-consumer", 1.0, 10.0).lowest(), 62.5);
}

#[test]
fn two_bottlenecks_give_the_papers_rates() {
    let none = |rate: f64| Reported { rate, within: 0.02 * rate, bursts: &[] };
    compare("stateful-consumer", 5.0, 2.0, &none(102.0));
    compare("nack-once-consumer", 5.0, 2.0, &none(180.0));
}

#[test]
fn one_reduction_per_congestion_uses_90_to_95_percent_of_every_bottleneck_and_plain_50_to_73() {
    for bottleneck in 1..=9 {
        let mbps = f64::from(bottleneck);
        let used = |scheme| line(scheme, mbps, 10.0).rate() / (100.0 * mbps);
        let (plain, once) = (used("stateful-consumer"), used("nack-once-consumer"));
        assert!((0.49..0.74).contains(&plain) && (0.895..0.955).contains(&once), "{mbps}: {plain} {once}");
    }
}

#[test]
fn routers_that_adjust_as_well_give_other_numbers_only_where_they_receive_nacks() {
    // One bottleneck: NR1 rejects and no router receives a NACK. Two: NR1 receives those of NR2.
    assert_eq!(line("stateful", 5.0, 10.0).rate(), line("stateful-consumer", 5.0, 10.0).rate());
    let (everywhere, consumers) = (line("nack-once", 5.0, 2.0).rate(), line("nack-once-consumer", 5.0, 2.0).rate());
    assert!(everywhere < 0.8 * consumers, "{everywhere} {consumers}");
}

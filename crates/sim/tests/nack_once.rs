//! The linear topology of "NACK-based hop-by-hop rate control" (JIP 26, 2018), §4.2.1, against what the paper reports.
//!
//! Every link has 10 ms, fixed beforehand: with it the round trip and the first NACK bursts of the paper agree. Accepted:
//! Data rate within 2 %, first burst within 2 NACKs, times within 0.1 s.

use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Rate, Span, Time};
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
        let direction = Direction::new(Rate::from_mbps(mbps), Span::from_millis(10), Limit::Packets(200));
        Link::symmetric(i, i + 1, direction)
    };
    let producer = Producer { node: 4, prefix: 0, payload: 1000, size: 1250, freshness: Span::ZERO };
    let consumer = Consumer {
        node: 0,
        prefix: 0,
        object: 0,
        traffic: Traffic::Fetch { segments: None, consumer: None },
        start: Time::ZERO,
        stop: None,
        interest_size: 37,
        lifetime: Span::from_millis(2000),
    };
    let network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 5],
        links: vec![link(0, 10.0), link(1, first), link(2, second), link(3, 10.0)],
        prefixes: 1,
        producers: vec![producer],
        consumers: vec![consumer],
        duration: Span::from_secs_f64(DURATION),
        sampling: Span::from_millis(1),
        ..Network::default()
    };
    let mut log = Log::default();
    let options = RunOptions { trace: true, ..RunOptions::default() };
    run(&network, &Scheme::named(scheme).unwrap(), 1, &mut log, options).unwrap();
    log
}

#[test]
fn print_all() {
    for (scheme, first, second) in [
        ("stateful-consumer", 5.0, 10.0),
        ("nack-once-consumer", 5.0, 10.0),
        ("stateful-consumer", 1.0, 10.0),
        ("nack-once-consumer", 1.0, 10.0),
        ("stateful-consumer", 5.0, 2.0),
        ("nack-once-consumer", 5.0, 2.0),
        ("stateful", 5.0, 10.0),
        ("nack-once", 5.0, 10.0),
        ("stateful", 1.0, 10.0),
        ("nack-once", 1.0, 10.0),
        ("stateful", 5.0, 2.0),
        ("nack-once", 5.0, 2.0),
    ] {
        let log = line(scheme, first, second);
        println!("{scheme} {first} {second}: {} lowest {} {:?}", log.rate(), log.lowest(), log.bursts());
    }
}

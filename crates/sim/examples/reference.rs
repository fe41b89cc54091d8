//! The reference runs of ndnSIM 2.8 and of the PCON authors' simulator, measured here beside their published outcome:
//! `cargo run --release -p ndnweir-sim --example reference [start phases]`.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{consumer, dumbbell, link, producer};
use ndnweir_sim::network::{Consumer, Link, Network, NodeKind, Routes, Routing, Traffic};
use ndnweir_sim::observer::{ConsumerId, Delivery, DropCause, Observer, Snapshot};
use ndnweir_sim::{Outcome, RunOptions, run};

/// When forwarding shares are read, in s. The reference states thirteen values; the page says why for these times.
const SHARE_TIMES: [f64; 13] = [0.0, 1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0];

/// Bytes of a Data and of an Interest in the PCON authors' simulator, without the link's 2 B: see the page.
const PCON_DATA: u32 = 1056;
const PCON_INTEREST: u32 = 24;

/// A network with the packets of the PCON authors' simulator.
fn authors(mut network: Network) -> Network {
    for producer in &mut network.producers {
        producer.size = PCON_DATA;
    }
    for consumer in &mut network.consumers {
        consumer.interest_size = PCON_INTEREST;
    }
    network
}

/// A network with the packets of the simulator from which the scheme's reference comes.
fn of_its_simulator(network: Network, scheme: &str) -> Network {
    let network = Network { growing_sizes: true, ..network };
    if scheme == "pcon" { authors(network) } else { network }
}

/// Sums what the tables need.
#[derive(Default)]
struct Sums {
    bits: [f64; 2],
    rtt: (f64, u64),
    /// Longest of the RTTs, and of the times since a segment's first Interest.
    longest_rtt: f64,
    longest: f64,
    delay: f64,
    completed: Option<Time>,
    last: Time,
    /// When the first Interest was sent; start phases move it.
    first: Option<Time>,
    /// At each of [`SHARE_TIMES`]: the shares of the first node that splits.
    shares: Vec<Vec<f64>>,
    /// Payload bits per 5 s.
    bins: Vec<f64>,
}

impl Observer for Sums {
    fn delivered(&mut self, delivery: &Delivery) {
        self.first.get_or_insert(delivery.at - delivery.arrival.delay);
        self.bits[delivery.consumer.0 as usize % 2] += delivery.arrival.payload.bits() as f64;
        if let Some(rtt) = delivery.arrival.rtt {
            self.rtt = (self.rtt.0 + rtt.millis(), self.rtt.1 + 1);
            self.longest_rtt = self.longest_rtt.max(rtt.millis());
        }
        self.delay += delivery.arrival.delay.millis();
        self.longest = self.longest.max(delivery.arrival.delay.millis());
        self.last = delivery.at;
        let bin = (delivery.at.secs() / 5.0) as usize;
        self.bins.resize(self.bins.len().max(bin + 1), 0.0);
        self.bins[bin] += delivery.arrival.payload.bits() as f64;
    }
    fn completed(&mut self, at: Time, _: ConsumerId) {
        self.completed = Some(at);
    }
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        if SHARE_TIMES.contains(&snapshot.at.secs()) {
            self.shares.push(snapshot.shares.iter().map(|share| share.share).collect());
        }
    }
}

fn simulate(network: &Network, scheme: &str, seed: u64) -> Result<(Outcome, Sums), String> {
    let scheme = Scheme::named(scheme).map_err(|e| e.to_string())?;
    let mut sums = Sums::default();
    let outcome = run(network, &scheme, seed, &mut sums, RunOptions::full()).map_err(|e| e.to_string())?;
    outcome.check().map_err(|e| e.to_string())?;
    Ok((outcome, sums))
}

fn nodes(n: usize) -> Vec<NodeKind> {
    vec![NodeKind::Ndn { cache: 0 }; n]
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.drops()[DropCause::Overflow]
}

fn marks(outcome: &Outcome) -> u64 {
    outcome.links.iter().map(|l| l.data_marks + l.interest_marks).sum()
}

fn decreases(outcome: &Outcome) -> u64 {
    outcome.consumers.iter().map(|c| c.decreases).sum()
}

fn falls(outcome: &Outcome) -> u64 {
    outcome.consumers.iter().map(|c| c.falls).sum()
}

/// C – R1 – {R2, R3} – P: two paths whose first links are the bottlenecks.
fn two_paths() -> Network {
    let ms = Duration::from_millis;
    let fast = Rate::from_mbps(100.0);
    let mut links = vec![link(0, 1, fast, ms(10), 100)];
    for i in 0..2 {
        links.push(link(1, 3 + i, Rate::from_mbps(10.0), ms(10), 100));
        links.push(link(3 + i, 2, fast, ms(10), 100));
    }
    single(nodes(5), links, 0, 2, None, ms(60_000))
}

/// C – R – {P1, P2, P3}: three producers of one prefix behind 10 Mbit/s each (the PCON paper's EQUAL scenario).
fn three_paths() -> Network {
    let ms = Duration::from_millis;
    let mut links = vec![link(0, 1, Rate::from_mbps(100.0), ms(5), 1000)];
    links.extend((0..3).map(|i| link(1, 2 + i, Rate::from_mbps(10.0), ms(5), 1000)));
    let mut network = single(nodes(5), links, 0, 2, None, ms(60_000));
    network.producers = (2..5).map(|node| producer(node, 0)).collect();
    network
}

fn single(
    nodes: Vec<NodeKind>,
    links: Vec<Link>,
    from: usize,
    to: usize,
    segments: Option<u64>,
    duration: Duration,
) -> Network {
    Network {
        nodes,
        links,
        prefixes: 1,
        producers: vec![producer(to, 0)],
        consumers: vec![consumer(from, 0, Traffic::Fetch { segments, consumer: None })],
        routing: Routing { routes: Routes::LoopFree, ..Routing::default() },
        duration,
        sampling: Duration::from_millis(1000),
        ..Network::default()
    }
}

fn linear(queue: u32) -> Network {
    let links = (0..5).map(|i| {
        let rate = if i == 2 { 40.0 } else { 100.0 };
        link(i, i + 1, Rate::from_mbps(rate), Duration::from_millis(4), queue)
    });
    let mut network = single(nodes(6), links.collect(), 0, 5, Some(15_000), Duration::from_millis(60_000));
    network.consumers[0] = Consumer { start: Time::ZERO + Duration::from_millis(100), ..network.consumers[0].clone() };
    network
}

fn main() -> Result<(), String> {
    let phases: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let jitter = |network: Network| Network {
        start_jitter: if phases > 1 { Duration::from_millis(100) } else { Duration::ZERO },
        ..network
    };
    println!(
        "dumbbell: f0 f1 Mbit/s, Jain, mean and max RTT (first Interest to Data: mean, max) ms, drops, marks, cuts, falls of the window"
    );
    for (scheme, queue, published) in [
        ("aimd", 100, "5.009 4.544 0.9976  95.5 211  235   62"),
        ("bic", 100, "5.085 4.466 0.9958 111.5 148   22  153"),
        ("cubic", 100, "5.145 4.406 0.9940 110.6 256  837  131"),
        ("aimd", 500, "4.903 4.648 0.9993 101.9 502   62  167"),
        ("bic", 500, "5.097 4.454 0.9955 110.6 164    0  147"),
        ("cubic", 500, "5.785 3.768 0.9573 133.0 518  190  931"),
        ("pcon", 100, "4.539 4.222 0.9987  68.9   -    0 (183 falls)"),
    ] {
        println!("{scheme:6} {queue:4}  reference {published}");
        for seed in 1..=phases {
            let network =
                dumbbell(Rate::from_mbps(10.0), Duration::from_millis(10), queue, Duration::from_millis(60_000));
            let (outcome, s) = simulate(&jitter(of_its_simulator(network, scheme)), scheme, seed)?;
            let [a, b] = s.bits.map(|bits| bits / 60e6);
            let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
            let rtt = s.rtt.0 / s.rtt.1 as f64;
            let delay = s.delay * 8.0 * 1024.0 / (s.bits[0] + s.bits[1]);
            println!(
                "             measured  {a:.3} {b:.3} {jain:.4} {rtt:5.1} {:3.0} ({delay:5.1}, {:4.0}) {:4} {:4} {:4} {:4}   total {:.3}",
                s.longest_rtt,
                s.longest,
                drops(&outcome),
                marks(&outcome),
                decreases(&outcome),
                falls(&outcome),
                a + b
            );
        }
    }
    println!("linear, 15,000 Data: completion s, drops");
    for (scheme, queue, published) in [
        ("aimd", 100, "16.589 1018"),
        ("bic", 100, " 3.653 12"),
        ("cubic", 100, " 3.537 1531"),
        ("aimd", 500, " 3.681 504"),
        ("bic", 500, " 3.653 0"),
        ("cubic", 500, " 3.509 885"),
        ("pcon", 100, " 3.635 0 (mean RTT 43.0, 4 falls)"),
        ("pcon", 500, " 3.635 0 (mean RTT 43.0, 4 falls)"),
    ] {
        println!("{scheme:6} {queue:4}  reference {published}");
        for seed in 1..=phases {
            let (outcome, s) = simulate(&jitter(of_its_simulator(linear(queue), scheme)), scheme, seed)?;
            let took = s.completed.zip(s.first).map_or(f64::NAN, |(at, first)| at.secs() - first.secs());
            let rtt = s.rtt.0 / s.rtt.1 as f64;
            println!(
                "             measured  {took:6.3} {}   RTT {rtt:.1}, {} marks, {} cuts, {} falls, {} timeouts",
                drops(&outcome),
                marks(&outcome),
                decreases(&outcome),
                falls(&outcome),
                outcome.consumers[0].timeouts
            );
        }
    }
    for (paths, published) in [
        (
            2,
            "12.11 Mbit/s, RTT 63.7, 0 drops, 64 falls\n    shares 1.00 .98 .92 .85 .78 .72 .67 .62 .59 .55 .51 .51 .50\n    0-10 8.85, 10-20 10.07, 20-40 12.08, 40-50 14.53, 50-60 15.03",
        ),
        (3, "20.68 Mbit/s, final shares .333/.338/.329, no timeouts"),
    ] {
        println!("{paths} paths, pcon: reference {published}");
        for seed in 1..=phases {
            let network = if paths == 2 { two_paths() } else { three_paths() };
            let (outcome, s) = simulate(&jitter(of_its_simulator(network, "pcon")), "pcon", seed)?;
            let rtt = s.rtt.0 / s.rtt.1 as f64;
            println!(
                "  measured {:.2} Mbit/s, RTT {rtt:.1}, {} drops, {} cuts, {} falls, {} timeouts, {} marks",
                s.bits[0] / 60e6,
                drops(&outcome),
                decreases(&outcome),
                falls(&outcome),
                outcome.consumers[0].timeouts,
                marks(&outcome)
            );
            let shares: Vec<_> = s.shares.iter().map(|s| s.first().map_or("-".into(), |x| format!("{x:.2}"))).collect();
            println!("    shares {}; final {:?}", shares.join(" "), s.shares.last());
            let rate = |bins: std::ops::Range<usize>| {
                let n = bins.len() as f64;
                s.bins.iter().take(bins.end).skip(bins.start).sum::<f64>() / n / 5e6
            };
            let parts = [0..2, 2..4, 4..8, 8..10, 10..12].map(|r| format!("{:.2}", rate(r)));
            println!(
                "    0-10 {}, 10-20 {}, 20-40 {}, 40-50 {}, 50-60 {}",
                parts[0], parts[1], parts[2], parts[3], parts[4]
            );
        }
    }
    Ok(())
}

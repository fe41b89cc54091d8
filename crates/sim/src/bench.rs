//! Networks to measure the engine with. The clock belongs to the caller: nothing here reads one.

use crate::network::{Consumer, Direction, Impairment, Link, Network, NodeKind, Producer, Retry, Routing, Traffic};
use crate::observer::NoObserver;
use crate::{Outcome, RunOptions};
use ndnweir_core::ctx::Rng;
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::json;
use std::collections::BTreeSet;

/// Content bytes of a Data in all cases, as in the reference runs of ndnSIM.
pub const PAYLOAD: u32 = 1024;
/// Bytes of that Data on the wire in ndnSIM 2.8.
pub const DATA_SIZE: u32 = 1064;
/// Bytes of an Interest for it.
pub const INTEREST_SIZE: u32 = 30;
/// Bytes a point-to-point link of ndnSIM adds.
pub const FRAMING: Bytes = Bytes::new(2);

/// A network to run, with the scheme to run it under.
#[derive(Clone, Debug)]
pub struct Case {
    /// Short name for tables.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// The network.
    pub network: Network,
    /// The scheme.
    pub scheme: Scheme,
    /// Whether the caller should record everything that a result folder has.
    pub recorded: bool,
    /// Whether all cores work on it, not one.
    pub parallel: bool,
}

/// The counts of a case; the caller adds how long it took.
#[derive(Clone, Debug)]
pub struct Work {
    /// Packets that crossed one link.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Most packets in flight at once.
    pub peak_in_flight: u64,
    /// Most PIT entries, added up over nodes.
    pub peak_pending: u64,
    /// Segments delivered.
    pub segments: u64,
}

impl Case {
    /// Runs it with recording off on so many threads.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn run(&self, threads: usize) -> Result<Work, crate::NetworkError> {
        let options = RunOptions { threads, ..RunOptions::default() };
        let outcome = crate::run(&self.network, &self.scheme, 1, &mut NoObserver, options)?;
        Ok(Work::of(&outcome))
    }
}

impl Work {
    /// The counts of a run.
    pub fn of(outcome: &Outcome) -> Work {
        Work {
            packet_hops: outcome.packet_hops,
            events: outcome.events,
            peak_in_flight: outcome.peak_in_flight,
            peak_pending: outcome.nodes.iter().map(|n| n.pit_peak).sum(),
            segments: outcome.consumers.iter().map(|c| c.segments).sum(),
        }
    }
}

/// A link as ndnSIM's point-to-point ones, the same in both directions.
pub fn link(a: usize, b: usize, rate: Rate, delay: Duration, queue: u32) -> Link {
    let direction = Direction {
        framing: FRAMING,
        impairment: Impairment::default(),
        ..Direction::new(rate, delay, Limit::Packets(queue))
    };
    Link::symmetric(a, b, direction)
}

/// A producer with the sizes above.
pub fn producer(node: usize, prefix: u32) -> Producer {
    Producer { node, prefix, payload: PAYLOAD, size: DATA_SIZE, freshness: Duration::ZERO }
}

/// A consumer with the sizes above that starts immediately and requests until the end, with ndnSIM's lifetime of 2 s.
pub fn consumer(node: usize, prefix: u32, traffic: Traffic) -> Consumer {
    Consumer {
        node,
        prefix,
        object: 0,
        traffic,
        start: Time::ZERO,
        start_jitter: None,
        stop: None,
        interest_size: INTEREST_SIZE,
        lifetime: Duration::from_millis(2000),
    }
}

fn nodes(n: usize) -> Vec<NodeKind> {
    vec![NodeKind::Ndn { cache: 0 }; n]
}

/// Two consumers, two routers, two producers; consumer i is node i, its producer node 4 + i.
pub fn dumbbell(rate: Rate, delay: Duration, queue: u32, duration: Duration) -> Network {
    let ends = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
    let fetch = |i: usize| consumer(i, i as u32, Traffic::Fetch { segments: None, consumer: None });
    Network {
        nodes: nodes(6),
        links: ends.iter().map(|&(a, b)| link(a, b, rate, delay, queue)).collect(),
        prefixes: 2,
        producers: (0..2).map(|i| producer(4 + i, i as u32)).collect(),
        consumers: (0..2).map(fetch).collect(),
        duration,
        sampling: Duration::ZERO,
        ..Network::default()
    }
}

/// A square grid, 1 Gbit/s and 10 ms per link, with 20 consumers of constant rate: consumer i on node 5·i mod side²,
/// its producer on node (37·i + 13) mod side².
pub fn grid(side: usize, gap: Duration, duration: Duration) -> Network {
    let mut links = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let node = row * side + column;
            let rate = Rate::from_mbps(1000.0);
            if column + 1 < side {
                links.push(link(node, node + 1, rate, Duration::from_millis(10), 100));
            }
            if row + 1 < side {
                links.push(link(node, node + side, rate, Duration::from_millis(10), 100));
            }
        }
    }
    let count = side * side;
    let stream = Traffic::Stream { gap, segments: None, retry: Retry::Lifetime(u32::MAX) };
    Network {
        nodes: nodes(count),
        links,
        prefixes: 20,
        producers: (0..20).map(|i| producer((37 * i + 13) % count, i as u32)).collect(),
        consumers: (0..20).map(|i| consumer(5 * i % count, i as u32, stream.clone())).collect(),
        routing: Routing::default(),
        duration,
        sampling: Duration::ZERO,
        ..Network::default()
    }
}

/// A network of random links.
#[derive(Clone, Copy, Debug)]
pub struct RandomNetwork {
    /// Nodes.
    pub nodes: usize,
    /// Links: a random tree and others between random nodes, of 1 to 10 ms.
    pub links: usize,
    /// The rate of each.
    pub rate: Rate,
    /// Fetches without end, each of a prefix in turn.
    pub flows: usize,
    /// Prefixes, each with one producer.
    pub prefixes: u32,
}

/// The random network of this description: the same on every machine.
pub fn random(of: RandomNetwork, duration: Duration) -> Network {
    let mut rng = Rng::derive(1, &[of.nodes as u64, of.links as u64]);
    let mut draw = |below: usize| rng.below(below as u64) as usize;
    let mut ends: BTreeSet<(usize, usize)> = (1..of.nodes).map(|node| (draw(node), node)).collect();
    while ends.len() < of.links {
        let (a, b) = (draw(of.nodes), draw(of.nodes));
        if a != b {
            ends.insert((a.min(b), a.max(b)));
        }
    }
    let links = ends.into_iter().map(|(a, b)| {
        let delay = Duration::from_millis(1 + draw(10) as u64);
        link(a, b, of.rate, delay, 100)
    });
    let links = links.collect();
    let producers: Vec<Producer> = (0..of.prefixes).map(|prefix| producer(draw(of.nodes), prefix)).collect();
    let fetch = |i: usize| {
        let prefix = i % of.prefixes as usize;
        // On any other node than the producer.
        let node = (producers[prefix].node + 1 + draw(of.nodes - 1)) % of.nodes;
        consumer(node, prefix as u32, Traffic::Fetch { segments: None, consumer: None })
    };
    let consumers = (0..of.flows).map(fetch).collect();
    Network {
        nodes: nodes(of.nodes),
        links,
        prefixes: of.prefixes,
        producers,
        consumers,
        duration,
        start_jitter: Duration::from_millis(5),
        sampling: Duration::from_millis(100),
        ..Network::default()
    }
}

/// A chain of 8 long links with one fetch of a fixed window, so that about `packets` are in flight.
pub fn pipe(packets: u32, hops: u64) -> (Network, Scheme) {
    let rate = Rate::from_mbps(100_000.0);
    // The window is spread over a round trip by the rate of the first link.
    let round_trip = rate.transmission_time(Bytes::new(u64::from(DATA_SIZE) + FRAMING.get())) * u64::from(packets);
    let delay = round_trip / 16;
    let links: Vec<_> = (0..8).map(|i| link(i, i + 1, rate, delay, packets)).collect();
    let fetch = Traffic::Fetch { segments: None, consumer: None };
    let rounds = (hops / (16 * u64::from(packets))).max(2);
    let network = Network {
        nodes: nodes(9),
        links,
        prefixes: 1,
        producers: vec![producer(8, 0)],
        consumers: vec![Consumer { lifetime: Duration::from_millis(100_000), ..consumer(0, 0, fetch) }],
        duration: round_trip * rounds,
        pit_limit: 4 * packets as usize,
        sampling: Duration::ZERO,
        ..Network::default()
    };
    let composition = json!({ "consumer": { "name": "fixed", "window": f64::from(packets) } });
    let scheme = Scheme::resolve("fixed-window", &composition).unwrap_or_else(|_| fixed());
    (network, scheme)
}

fn fixed() -> Scheme {
    #[expect(clippy::expect_used, reason = "a scheme that comes with the product")]
    Scheme::named("fixed").expect("the scheme exists")
}

/// All cases; `scale` in (0, 1] shortens all of them.
pub fn cases(scale: f64) -> Vec<Case> {
    let plain =
        |name, summary, network| Case { name, summary, network, scheme: fixed(), recorded: false, parallel: false };
    let ms = Duration::from_millis;
    let window = json!({ "consumer": { "name": "fixed", "window": 60.0 } });
    let dumbbell = Case {
        name: "dumbbell",
        summary: "two fetches over 10 Mbit/s, 10 ms",
        network: dumbbell(Rate::from_mbps(10.0), ms(10), 100, Duration::from_millis(600_000).scale(scale)),
        scheme: Scheme::resolve("fixed-window", &window).unwrap_or_else(|_| fixed()),
        recorded: false,
        parallel: false,
    };
    let recorded_dumbbell = Case {
        name: "recorded-dumbbell",
        summary: "the same with everything recorded",
        network: Network { sampling: ms(100), ..dumbbell.network.clone() },
        recorded: true,
        ..dumbbell.clone()
    };
    let grid = |gap, duration: Duration| grid(10, gap, duration.scale(scale));
    let mut cases = vec![
        dumbbell,
        recorded_dumbbell,
        plain("grid", "10×10, 1 Gbit/s, 10 ms, 20 consumers at 1000 Interests/s", grid(ms(1), ms(20_000))),
    ];
    for (name, summary, packets) in [
        ("pipe-1e4", "10⁴ packets in flight on 8 links", 10_000),
        ("pipe-1e5", "10⁵ packets in flight on 8 links", 100_000),
        ("pipe-1e6", "10⁶ packets in flight on 8 links", 1_000_000),
    ] {
        let (network, scheme) = pipe(packets, (4.8e7 * scale) as u64);
        cases.push(Case { name, summary, network, scheme, recorded: false, parallel: false });
    }
    let mut busy = grid(Duration::from_micros(50), ms(1500));
    busy.links.iter_mut().flat_map(Link::directions_mut).for_each(|direction| direction.delay = ms(20));
    let summary = "10×10, 1 Gbit/s, 20 ms, 20 consumers at 20,000 Interests/s, on all cores";
    cases.push(Case { parallel: true, ..plain("parallel-grid", summary, busy) });
    let thousand = RandomNetwork { nodes: 1000, links: 2000, rate: Rate::from_mbps(100.0), flows: 1000, prefixes: 50 };
    let (few, many) = ("1,000 nodes, 2,000 links of 100 Mbit/s", "10,000 nodes, 20,000 links of 10 Mbit/s");
    let mut large = |name, summary, of, duration: Duration| {
        let scheme = Scheme::named("aimd").unwrap_or_else(|_| fixed());
        let network = random(of, duration.scale(scale));
        cases.push(Case { name, summary, network, scheme, recorded: true, parallel: false });
    };
    large("random-1000", few, thousand, ms(5000));
    let (rate, flows) = (Rate::from_mbps(10.0), 5000);
    let all = RandomNetwork { nodes: 10_000, links: 20_000, rate, flows, prefixes: 250 };
    large("random-10000", many, all, ms(2000));
    cases
}

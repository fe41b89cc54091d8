//! Plausible observations without a simulator: windows that grow and are cut, a queue they share, two paths.

use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_lab::metrics::Collector;
use ndnweir_lab::optimum::Problem;
use ndnweir_lab::results::{Comparison, ConsumerInfo, LinkInfo, NodeInfo, Repeat, ScenarioInfo};
use ndnweir_sim::observer::{
    Arrival, ConsumerCounters, ConsumerId, Delivery, DirectedLinkId, LinkCounters, NodeId, Observer, PathId, Share,
    Snapshot,
};
use std::collections::BTreeMap;

const STEP: f64 = 0.005;
const WIRE: f64 = 1080.0 * 8.0;

/// A small generator, enough for made-up numbers.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn link(scenario: &mut ScenarioInfo, a: &str, b: &str, rate: f64, delay: f64) {
    for (from, to) in [(a, b), (b, a)] {
        scenario.links.push(LinkInfo {
            name: format!("{from}>{to}"),
            from: from.into(),
            to: to.into(),
            rate_mbps: rate,
            delay_ms: delay,
            queue: "200 packets".into(),
            ..LinkInfo::default()
        });
    }
}

/// Consumers on R1, producers behind R2; with `detour` also a path over R3.
pub fn dumbbell(consumers: usize, detour: bool) -> ScenarioInfo {
    let mut scenario = ScenarioInfo {
        name: if detour { "two-paths".into() } else { "dumbbell".into() },
        description: "Long fetches share one bottleneck. Synthetic numbers that only show what a report looks like."
            .into(),
        duration_s: 60.0,
        warmup_s: 5.0,
        bin_s: 0.5,
        payload_bytes: 1024,
        data_wire_bytes: 1080,
        interest_wire_bytes: 40,
        ..ScenarioInfo::default()
    };
    let mut node = |name: &str, role: &str| {
        scenario.nodes.push(NodeInfo { name: name.into(), role: role.into(), host: false, x: None, y: None });
    };
    for i in 1..=consumers {
        node(&format!("C{i}"), "consumer");
    }
    node("R1", "router");
    node("R2", "router");
    node("P1", "producer");
    if detour {
        node("R3", "router");
    }
    for i in 1..=consumers {
        link(&mut scenario, &format!("C{i}"), "R1", 100.0, 5.0);
        scenario.consumers.push(ConsumerInfo {
            name: format!("C{i}"),
            node: format!("C{i}"),
            prefix: "/a".into(),
            start_s: if i % 3 == 2 { 4.0 } else { 0.0 },
            stop_s: None,
            long_lived: true,
            deadline_ms: None,
            flows: None,
        });
    }
    link(&mut scenario, "R1", "R2", 10.0, 10.0);
    link(&mut scenario, "R2", "P1", 100.0, 10.0);
    if detour {
        link(&mut scenario, "R1", "R3", 10.0, 15.0);
        link(&mut scenario, "R3", "R2", 10.0, 15.0);
    }
    scenario.prefixes = vec!["/a".into()];
    scenario
}

/// One made-up run: `temper` in [0, 1] makes a scheme gentler (longer-lived windows, shorter queues).
pub fn run(scenario: &ScenarioInfo, scheme: &str, temper: f64, seed: u64) -> ndnweir_lab::results::Run {
    let mut collector = Collector::new(scenario.setup(&["mark"]));
    let n = scenario.consumers.len();
    let at = |name: &str| scenario.links.iter().position(|l| l.name == name);
    let (direct, up) = (at("R2>R1").unwrap(), at("R1>R2").unwrap());
    let detour = at("R3>R1");
    let out = at("P1>R2").unwrap();
    let mut noise = Noise::new(seed + 1000);
    let mut links = vec![LinkCounters::default(); scenario.links.len()];
    let mut consumers = vec![ConsumerCounters::default(); n];
    let mut carry = vec![0.0; n];
    let mut segment = vec![0u64; n];
    let mut queue = [0.0f64; 2];
    let mut share = 1.0f64;
    for (i, c) in (0..n).enumerate() {
        consumers[c].window = 2.0 + noise.next();
        let inner = at(&format!("R1>C{}", i + 1)).unwrap() as u32;
        let ids = |list: &[usize]| list.iter().map(|l| DirectedLinkId(*l as u32)).collect::<Vec<_>>();
        let mut path = ids(&[out, direct]);
        path.push(DirectedLinkId(inner));
        collector.path(PathId(2 * i as u32), &path);
        if let Some(d) = detour {
            let mut path = ids(&[out, at("R2>R3").unwrap(), d]);
            path.push(DirectedLinkId(inner));
            collector.path(PathId(2 * i as u32 + 1), &path);
        }
    }
    let capacity = 10e6 / WIRE * STEP;
    let target = 8.0 + 70.0 * (1.0 - temper);
    let steps = (scenario.duration_s / STEP) as u64;
    for step in 0..steps {
        let now = step as f64 * STEP;
        let mut wanted = 0.0;
        let rtts = [0.06 + queue[0] / (capacity / STEP), 0.08 + queue[1] / (capacity / STEP)];
        let rtt = share * rtts[0] + (1.0 - share) * rtts[1];
        for (c, state) in consumers.iter_mut().enumerate() {
            if scenario.consumers[c].start_s <= now {
                wanted += state.window / rtt * STEP;
            }
        }
        let mut served = [0.0; 2];
        for (p, part) in [share, 1.0 - share].into_iter().enumerate() {
            let arrive = wanted * part;
            served[p] = (arrive + queue[p]).min(capacity);
            queue[p] = (queue[p] + arrive - served[p]).clamp(0.0, 200.0);
        }
        let total = served[0] + served[1];
        for c in 0..n {
            if scenario.consumers[c].start_s > now {
                continue;
            }
            carry[c] += total * (consumers[c].window / rtt * STEP) / wanted.max(1e-9);
            while carry[c] >= 1.0 {
                carry[c] -= 1.0;
                let path = usize::from(noise.next() > share);
                let delay = rtts[path] * (1.0 + 0.03 * noise.next()) + 0.0008;
                let mark = noise.next() < 0.02 * (queue[path] / target).powi(3);
                let state = &mut consumers[c];
                state.window += if temper > 0.9 { 0.6 } else { 1.0 } / state.window;
                if mark && noise.next() < 0.5 {
                    state.window = (state.window * (0.5 + 0.4 * temper)).max(1.0);
                    state.decreases += 1;
                    if detour.is_some() {
                        share = (share + if path == 0 { -0.02 } else { 0.02 }).clamp(0.02, 1.0);
                    }
                }
                let again = u32::from(queue[path] > 190.0 && noise.next() < 0.2);
                state.retransmissions += u64::from(again);
                state.interests += 1 + u64::from(again);
                state.segments += 1;
                state.marks += u64::from(mark);
                links[direct].data_marks += u64::from(mark);
                if again > 0 {
                    links[direct].drops.overflow += 1;
                    links[direct].overflow_data_bits += WIRE as u64;
                }
                collector.delivered(&Delivery {
                    at: Time::ZERO + Duration::from_secs_f64(now + STEP * noise.next() * 0.9),
                    consumer: ConsumerId(c as u32),
                    path: PathId((2 * c + path) as u32),
                    arrival: Arrival {
                        segment: segment[c],
                        payload: Bytes::new(1024),
                        delay: Duration::from_secs_f64(delay),
                        rtt: (again == 0).then(|| Duration::from_secs_f64(delay)),
                        mark: u8::from(mark),
                        retransmissions: again,
                        in_order: path == 0,
                        completed: false,
                    },
                });
                segment[c] += 1;
                let inner = at(&format!("R1>C{}", c + 1)).unwrap();
                links[inner].data_bits += WIRE as u64;
            }
        }
        for (p, l) in [Some(direct), detour].into_iter().enumerate() {
            let Some(l) = l else { continue };
            links[l].data_bits += (served[p] * WIRE) as u64;
            links[l].sojourn_count += served[p].ceil() as u64;
            let wait = Duration::from_secs_f64(queue[p] / (capacity / STEP));
            links[l].sojourn_sum += u128::from(wait.nanos()) * served[p].ceil() as u128;
            links[l].sojourn_max = wait;
            links[l].queue_packets = queue[p] as u32;
        }
        links[up].interest_bits += (total * 320.0) as u64;
        links[out].data_bits += (total * WIRE) as u64;
        if step % 20 == 19 {
            let shares = [
                Share { node: NodeId(n as u32), prefix: 0, link: DirectedLinkId(up as u32), share },
                Share {
                    node: NodeId(n as u32),
                    prefix: 0,
                    link: DirectedLinkId(detour.unwrap_or(up) as u32 ^ 1),
                    share: 1.0 - share,
                },
            ];
            collector.sample(&Snapshot {
                at: Time::ZERO + Duration::from_secs_f64(now + STEP),
                links: &links,
                consumers: &consumers,
                nodes: &[],
                shares: if detour.is_some() { &shares } else { &[] },
            });
        }
    }
    collector.finish(scheme, seed)
}

/// Schemes of growing temper over a scenario.
pub fn comparison(scenario: ScenarioInfo, schemes: &[&str], seeds: u64) -> Comparison {
    let producers = BTreeMap::from([("/a".to_owned(), vec!["P1".to_owned()])]);
    let optimum = Problem::new(&scenario, &producers).solve();
    let mut runs = Vec::new();
    for (k, scheme) in schemes.iter().enumerate() {
        for seed in 1..=seeds {
            runs.push(run(&scenario, scheme, k as f64 / schemes.len().max(2) as f64, seed + 100 * k as u64));
        }
    }
    for (i, run) in runs.iter_mut().enumerate() {
        run.seed = i as u64 % seeds + 1;
    }
    Comparison {
        repeat: Repeat {
            command: format!("ndnweir sim {} --scheme {} --seeds {seeds}", scenario.name, schemes.join(",")),
            version: "0.1.0".into(),
            notes: Vec::new(),
        },
        scenario,
        runs,
        optimum,
        partial: false,
    }
}

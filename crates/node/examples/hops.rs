//! Processor time per packet-hop of one node: full pipelines and egress, without a simulator around it.
//!
//! `cargo run --release -p ndnweir-node --example hops` prints, for each number of pending Interests, the time per
//! packet-hop (an Interest or Data that came in and left) and the PIT's memory per pending Interest. Arguments: a
//! scheme (default `fixed`), and one number of pending Interests for a short run under a profiler.

use ndnweir_core::ids::{FaceId, FlowId, NameId, PrefixId};
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::Limit;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::{FaceConfig, Node, NodeConfig};
use std::error::Error;

const FLOWS: u32 = 20;
/// Interests (and Data) per measurement; the best of many is what the code costs when nothing else disturbs it.
const CHUNK: u64 = 500_000;

fn packet(i: u64, kind: Kind) -> Packet {
    let name = NameId { flow: FlowId((i % u64::from(FLOWS)) as u32), segment: (i / u64::from(FLOWS)) as u32 };
    let size = if kind == Kind::Data { 1064 } else { 30 };
    Packet { name, nonce: i as u32, size, payload: 1024, lifetime_ms: 2000, kind, hop_limit: 255, ..Packet::default() }
}

fn node(scheme: &Scheme, force_events: bool) -> Result<Node, Box<dyn Error>> {
    let layout = scheme.layout();
    let mut node = Node::new(NodeConfig {
        number: 0,
        seed: 1,
        scheme,
        layout: &layout,
        pit_limit: 1 << 22,
        cache: 0,
        prefixes: 1,
        trace: false,
        force_events,
    })?;
    let link = FaceConfig::link(Rate::from_mbps(10_000.0), Limit::Packets(1000));
    let (_, up) = (node.add_face(link.clone())?, node.add_face(link)?);
    node.set_route(Time::ZERO, PrefixId(0), &[NextHop { face: up, cost: 1 }]);
    for flow in 0..FLOWS {
        node.bind_flow(FlowId(flow), Some(PrefixId(0)));
    }
    Ok(node)
}

fn drain(node: &mut Node, left: &mut u64, sum: &mut u64) {
    while let Some(transmit) = node.poll_transmit() {
        *left += 1;
        *sum = sum.wrapping_add(transmit.end.nanos() ^ u64::from(transmit.packet.name.segment));
    }
}

/// Nanoseconds this process has run on a processor (Linux), so that other load on the machine counts less.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(f64::NAN)
}

fn run(scheme: &Scheme, window: u64, rounds: u64, force_events: bool) -> Result<(), Box<dyn Error>> {
    let mut node = node(scheme, force_events)?;
    // One Interest and one Data per microsecond: the 10 Gbit/s of the downstream link are 85 % used.
    let step = Duration::from_nanos(1000.max(2000 * window / 1_900_000));
    let (mut now, mut left, mut sum) = (Time::ZERO, 0, 0);
    let (mut at, mut chunks) = (0.0, Vec::new());
    for i in 0..rounds + window {
        if i >= window && (i - window).is_multiple_of(CHUNK) {
            let then = std::mem::replace(&mut at, processor_time());
            if i > window {
                chunks.push((at - then) / left as f64);
            }
            left = 0;
        }
        now += step;
        if node.poll_timeout() <= now {
            node.handle_timeout(now);
        }
        node.handle(now, FaceId(0), packet(i, Kind::Interest));
        drain(&mut node, &mut left, &mut sum);
        if i >= window {
            node.handle(now, FaceId(1), packet(i - window, Kind::Data));
            drain(&mut node, &mut left, &mut sum);
        }
    }
    chunks.sort_by(f64::total_cmp);
    let (least, median) = (chunks[0], chunks[chunks.len() / 2]);
    let counters = node.counters();
    counters.check()?;
    let bytes = node.pit_memory() as f64 / counters.pit as f64;
    println!(
        "{:>9} pending: {least:6.1} ns per packet-hop in the best chunk, {median:6.1} in the median one, {bytes:5.1} B of PIT per pending Interest{} [{sum:x}]",
        counters.pit,
        if force_events { " (eventful egress)" } else { "" }
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let scheme = Scheme::named(args.first().map_or("fixed", String::as_str))?;
    if let Some(window) = args.get(1) {
        let window = window.parse().map_err(|_| "the second argument is the number of pending Interests")?;
        return run(&scheme, window, CHUNK + 1, false);
    }
    for window in [100, 10_000, 100_000, 1_000_000] {
        run(&scheme, window, 4_000_001, false)?;
    }
    run(&scheme, 10_000, 4_000_001, true)
}

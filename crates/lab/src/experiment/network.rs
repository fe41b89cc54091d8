//! A scenario as the simulator takes it, and as results describe it.

use crate::metrics::{MAX_BINS, bin_width};
use crate::results;
use crate::results::{ConsumerInfo, LinkInfo, NodeInfo};
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_scenario::{Arrivals, Change, Diagnostic, Direction, LinkDirection, NodeKind, Scenario, Traffic};
use ndnweir_sim::network as sim;

/// The instant `span` after the start.
fn at(span: Duration) -> Time {
    Time::ZERO + span
}

/// Distinct values of `texts`, in order of first appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The prefixes that producers serve; their positions number them in the simulator.
pub fn prefixes(scenario: &Scenario) -> Vec<&str> {
    distinct(scenario.producers.iter().map(|p| p.prefix.as_str()))
}

/// The objects that consumers fetch; their positions number them in the simulator.
pub fn objects(scenario: &Scenario) -> Vec<&str> {
    distinct(scenario.consumers.iter().map(|c| c.prefix.as_str()))
}

/// The prefix that serves a consumer: the longest of its producers'.
fn serving_prefix<'a>(scenario: &'a Scenario, consumer: &ndnweir_scenario::Consumer) -> &'a str {
    let serving = consumer.producers.iter().map(|&p| scenario.producers[p].prefix.as_str());
    serving.max_by_key(|prefix| prefix.len()).unwrap_or_default()
}

/// The nodes that serve each consumer, by the consumer's position.
pub(super) fn sources(scenario: &Scenario) -> Vec<Vec<usize>> {
    let serving = |consumer| {
        let prefix = serving_prefix(scenario, consumer);
        scenario.producers.iter().filter(|p| p.prefix == prefix).map(|p| p.node).collect()
    };
    scenario.consumers.iter().map(serving).collect()
}

/// The scenario as the simulator takes it.
pub fn network(scenario: &Scenario) -> sim::Network {
    let prefixes = prefixes(scenario);
    let number = |prefix: &str| prefixes.iter().position(|p| *p == prefix).unwrap_or_default() as u32;
    let objects = objects(scenario);
    let framing = scenario.run.framing;
    let link = |l: &ndnweir_scenario::Link| sim::Link {
        a: l.a,
        b: l.b,
        cost: l.cost,
        forth: direction(&l.forward, framing),
        back: direction(&l.backward, framing),
    };
    let producer = |p: &ndnweir_scenario::Producer| sim::Producer {
        node: p.node,
        prefix: number(&p.prefix),
        payload: bytes(p.payload),
        size: bytes(p.payload + scenario.run.data_overhead),
        freshness: p.freshness,
    };
    let consumer = |c: &ndnweir_scenario::Consumer| sim::Consumer {
        node: c.node,
        prefix: number(serving_prefix(scenario, c)),
        object: objects.iter().position(|o| *o == c.prefix).unwrap_or_default() as u32,
        traffic: traffic(c),
        start: at(c.start),
        stop: c.stop.map(at),
        interest_size: bytes(scenario.run.interest_size),
        lifetime: c.lifetime,
    };
    sim::Network {
        nodes: scenario.nodes.iter().map(node).collect(),
        links: scenario.links.iter().map(link).collect(),
        prefixes: prefixes.len() as u32,
        names: sim::Names {
            prefixes: prefixes.iter().map(|&prefix| prefix.to_owned()).collect(),
            objects: objects.iter().map(|&object| object.to_owned()).collect(),
        },
        producers: scenario.producers.iter().map(producer).collect(),
        consumers: scenario.consumers.iter().map(consumer).collect(),
        overlay: scenario.overlay.clone(),
        routing: sim::Routing {
            routes: scenario.routing.mode,
            metric: sim::Metric::Cost,
            reaction: scenario.routing.reaction,
        },
        changes: scenario
            .events
            .iter()
            .flat_map(|e| change(&e.change).into_iter().map(move |c| (at(e.at), c)))
            .collect(),
        start_jitter: scenario.run.start_jitter,
        duration: scenario.run.duration,
        sampling: scenario.run.sample,
        pit_limit: usize::try_from(scenario.run.pit_limit).unwrap_or(usize::MAX),
        control: scenario.control,
    }
}

fn bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

fn node(node: &ndnweir_scenario::Node) -> sim::NodeKind {
    let cache = usize::try_from(node.cache).unwrap_or(usize::MAX);
    match node.kind {
        NodeKind::Router => sim::NodeKind::Ndn { cache },
        NodeKind::Host => sim::NodeKind::Host { cache },
        NodeKind::Switch => sim::NodeKind::Switch,
    }
}

fn direction(direction: &Direction, framing: Bytes) -> sim::Direction {
    sim::Direction {
        rate: Some(direction.rate),
        delay: direction.delay,
        limit: direction.queue,
        framing,
        impairment: direction.impairment,
        marker: direction.marker.clone(),
    }
}

fn traffic(consumer: &ndnweir_scenario::Consumer) -> sim::Traffic {
    let own = consumer.component.clone();
    let gap = |rate: f64| Duration::from_secs_f64(1.0 / rate);
    match consumer.traffic {
        Traffic::Fetch => sim::Traffic::Fetch { segments: None, consumer: own },
        Traffic::Object { packets } => sim::Traffic::Fetch { segments: Some(packets), consumer: own },
        Traffic::Stream { rate, packets, retries } => {
            sim::Traffic::Stream { gap: gap(rate), segments: packets, retry: retry(retries) }
        }
        Traffic::Zipf { rate, arrivals, catalogue, exponent, retries } => sim::Traffic::Zipf {
            gap: gap(rate),
            poisson: arrivals == Arrivals::Poisson,
            objects: catalogue,
            exponent,
            retry: retry(retries),
        },
    }
}

fn retry(retries: u32) -> sim::Retry {
    match retries {
        0 => sim::Retry::Never,
        n => sim::Retry::Lifetime(n),
    }
}

/// A change for each direction it concerns.
fn change(change: &Change) -> Vec<sim::Change> {
    let directions = |direction: LinkDirection| match direction {
        LinkDirection::Forward => vec![true],
        LinkDirection::Backward => vec![false],
        LinkDirection::Both => vec![true, false],
    };
    match *change {
        Change::LinkDown(link) => vec![sim::Change::LinkDown { link }],
        Change::LinkUp(link) => vec![sim::Change::LinkUp { link }],
        Change::Rate(link, direction, rate) => {
            directions(direction).into_iter().map(|forth| sim::Change::Rate { link, forth, rate }).collect()
        }
        Change::Delay(link, direction, delay) => {
            directions(direction).into_iter().map(|forth| sim::Change::Delay { link, forth, delay }).collect()
        }
        Change::Loss(link, direction, loss) => {
            directions(direction).into_iter().map(|forth| sim::Change::Loss { link, forth, loss }).collect()
        }
        Change::NodeCrash(node) => vec![sim::Change::Crash { node }],
        Change::NodeRestart(node) => vec![sim::Change::Restart { node }],
    }
}

/// A note of the scenario's reader in one line.
fn in_one_line(note: &Diagnostic) -> String {
    let help = if note.help.is_empty() { String::new() } else { format!("; {}", note.help) };
    format!("{}: {}{help}", note.place, note.message)
}

/// The scenario as results describe it.
pub fn describe(scenario: &Scenario) -> results::ScenarioInfo {
    let run = &scenario.run;
    let payload = scenario.producers.first().map_or(Bytes::ZERO, |p| p.payload);
    let role = |i: usize, kind: NodeKind| match kind {
        NodeKind::Switch => "switch",
        _ if scenario.producers.iter().any(|p| p.node == i) => "producer",
        _ if scenario.consumers.iter().any(|c| c.node == i) => "consumer",
        _ => "router",
    };
    let nodes = scenario.nodes.iter().enumerate().map(|(i, node)| NodeInfo {
        name: node.name.clone(),
        role: role(i, node.kind).into(),
        host: node.kind == NodeKind::Host,
        x: node.position.map(|p| p.0),
        // Scenario files have y grow upwards, drawings downwards.
        y: node.position.map(|p| -p.1),
    });
    let name = |i: usize| scenario.nodes[i].name.clone();
    let direction = |from: usize, to: usize, direction: &Direction| LinkInfo {
        name: format!("{}>{}", name(from), name(to)),
        from: name(from),
        to: name(to),
        rate_mbps: direction.rate.mbps(),
        delay_ms: direction.delay.millis(),
        queue: direction.queue.to_string(),
    };
    let links = scenario.links.iter().flat_map(|l| [direction(l.a, l.b, &l.forward), direction(l.b, l.a, &l.backward)]);
    let consumers = scenario.consumers.iter().map(|c| ConsumerInfo {
        name: c.name.clone(),
        node: name(c.node),
        prefix: c.prefix.clone(),
        start_s: c.start.secs(),
        stop_s: c.stop.map(Duration::secs),
        long_lived: c.traffic == Traffic::Fetch,
    });
    let bin = bin_width(run.sample, run.duration);
    let mut notes: Vec<String> = scenario.notes.iter().map(in_one_line).collect();
    if bin != run.sample {
        notes.push(format!(
            "{} of series at one value every {} are more than {MAX_BINS}: there is one every {bin}",
            run.duration, run.sample
        ));
    }
    results::ScenarioInfo {
        name: scenario.name.clone(),
        description: scenario.about.clone(),
        duration_s: run.duration.secs(),
        warmup_s: run.warm_up.secs(),
        bin_s: bin.secs(),
        payload_bytes: payload.get(),
        data_wire_bytes: run.data_on_wire(payload).get(),
        interest_wire_bytes: run.interest_on_wire().get(),
        nodes: nodes.collect(),
        links: links.collect(),
        consumers: consumers.collect(),
        prefixes: prefixes(scenario).into_iter().map(str::to_owned).collect(),
        events: super::events::describe(scenario),
        notes,
    }
}

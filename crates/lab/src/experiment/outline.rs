//! The description of a scenario in results, but for what has to be computed from it.

use crate::metrics::{MAX_BINS, SERIES_BYTES, Subjects, bin_width};
use crate::results;
use crate::results::{ConsumerInfo, LinkInfo, NodeInfo};
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_scenario::{Change, Diagnostic, Direction, NodeKind, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// A diagnostic of the scenario's reader in one line.
fn in_one_line(note: &Diagnostic) -> String {
    let help = if note.help.is_empty() { String::new() } else { format!("; {}", note.help) };
    format!("{}: {}{help}", note.place, note.message)
}

/// By link and way the rates that events give it, in the order of time.
type RateChanges = BTreeMap<(usize, usize), Vec<(Duration, f64)>>;

fn rate_changes(scenario: &Scenario) -> RateChanges {
    let mut changes = RateChanges::new();
    for event in &scenario.events {
        if let Change::Rate { link, direction, rate } = event.change {
            for way in (0..2).filter(|way| direction.directions()[*way]) {
                changes.entry((link, way)).or_default().push((event.at, rate.mbps()));
            }
        }
    }
    changes.values_mut().for_each(|of| of.sort_by_key(|(at, _)| *at));
    changes
}

/// The mean over the measurement window of a rate in Mbit/s that changes.
fn mean_rate(scenario: &Scenario, first: f64, changes: &[(Duration, f64)]) -> f64 {
    let (from, to) = (scenario.run.warm_up, scenario.run.duration);
    let (mut now, mut last, mut sum) = (first, from, 0.0);
    for &(at, next) in changes.iter().chain([&(to, 0.0)]) {
        let at = at.max(from).min(to);
        sum += now * (at - last).secs();
        (now, last) = (next, at);
    }
    sum / (to - from).secs()
}

/// The description of the scenario in results, without reference values of flows that come and go.
pub(super) fn outline(scenario: &Scenario) -> results::ScenarioInfo {
    let run = &scenario.run;
    let payload = scenario.producers.first().map_or(Bytes::ZERO, |p| p.payload);
    let producers: BTreeSet<usize> = scenario.producers.iter().map(|p| p.node).collect();
    let consumers: BTreeSet<usize> = scenario.consumers.iter().map(|c| c.node).collect();
    let role = |i: usize, kind: NodeKind| match kind {
        NodeKind::Switch => "switch",
        _ if producers.contains(&i) => "producer",
        _ if consumers.contains(&i) => "consumer",
        _ => "router",
    };
    let nodes = scenario.nodes.iter().enumerate().map(|(i, node)| NodeInfo {
        name: node.name.clone(),
        role: role(i, node.kind).into(),
        host: node.kind.is_host(),
        x: node.position.map(|p| p.0),
        // In scenario files y points upwards, in drawings downwards.
        y: node.position.map(|p| -p.1),
    });
    let name = |i: usize| scenario.nodes[i].name.clone();
    let changes = rate_changes(scenario);
    let info = |link: usize, way: usize, from: usize, to: usize, direction: &Direction| {
        let rate_mbps = direction.rate.map_or(0.0, Rate::mbps);
        let mean_rate_mbps = changes.get(&(link, way)).map(|changes| mean_rate(scenario, rate_mbps, changes));
        LinkInfo {
            name: format!("{}>{}", name(from), name(to)),
            from: name(from),
            to: name(to),
            rate_mbps,
            mean_rate_mbps,
            delay_ms: direction.delay.millis(),
            queue: direction.limit.to_string(),
        }
    };
    let links = scenario
        .links
        .iter()
        .enumerate()
        .flat_map(|(i, l)| [info(i, 0, l.a, l.b, &l.forward), info(i, 1, l.b, l.a, &l.backward)]);
    let consumers = scenario.consumers.iter().map(|c| ConsumerInfo {
        name: c.name.clone(),
        node: name(c.node),
        prefix: c.prefix.clone(),
        start_s: c.start.secs(),
        stop_s: c.stop.map(Duration::secs),
        long_lived: c.traffic.is_long_lived(),
        deadline_ms: c.deadline.map(Duration::millis),
        flows: None,
    });
    let subjects =
        Subjects { links: 2 * scenario.links.len(), nodes: scenario.nodes.len(), consumers: scenario.consumers.len() };
    let bin = bin_width(run.sample, run.duration, subjects);
    let mut notes: Vec<String> = scenario.notes.iter().map(in_one_line).collect();
    if bin != run.sample {
        let reason = match bin == bin_width(run.sample, run.duration, Subjects::default()) {
            true => format!("more than {MAX_BINS}"),
            false => format!("more than the {} MiB of memory for the series of a run", SERIES_BYTES >> 20),
        };
        notes.push(format!(
            "{} of series at one value every {} are {reason}: there is one every {bin}",
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
        cross: scenario.cross.iter().map(|traffic| traffic.name.clone()).collect(),
        prefixes: scenario.prefixes().into_iter().map(str::to_owned).collect(),
        events: super::events::describe(scenario),
        notes,
    }
}

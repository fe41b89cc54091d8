//! The tree of a forwarder.

use super::schema::{CONGESTION, OPERATION, PERSISTENCY, SCOPE};
use super::tree::Node;
use super::value::Value;
use ndnweir_core::ids::PrefixId;
use ndnweir_core::meter::ndnsieve::{Params, State};
use ndnweir_core::units::Rate;
use ndnweir_net::daemon::telemetry::{EntryReport, FaceReport, RouterReport};
use std::collections::BTreeMap;

fn count(value: impl Into<u64>) -> Value {
    Value::Number(value.into())
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// A face's congestion state by its last report (ndnSieve, table 2).
fn congestion(face: &FaceReport, thresholds: &Params) -> Option<Value> {
    let (utilization, occupancy) = (face.interface.utilization?, face.interface.occupancy?);
    let state = State::of(utilization, occupancy, thresholds.utilization, thresholds.occupancy);
    Some(Value::Name(CONGESTION[state as usize]))
}

fn face_node(node: &mut Node, face: &FaceReport, thresholds: &Params) {
    let status = &face.status;
    node.set("id", count(status.face_id));
    let rate = face.rate.map(|rate| count(rate.bps()));
    if let Some(rate) = &rate {
        node.child("config", false).set("rate", rate.clone());
    }
    let state = node.child("state", false);
    state.set("id", count(status.face_id));
    state.set("remote-uri", text(&status.remote_uri));
    state.set("local-uri", text(&status.local_uri));
    state.set("scope", Value::Name(SCOPE[status.scope.number() as usize % SCOPE.len()]));
    let persistency = PERSISTENCY[status.persistency.number() as usize % PERSISTENCY.len()];
    state.set("persistency", Value::Name(persistency));
    state.set("oper-status", Value::Name(OPERATION[usize::from(!face.up)]));
    state.set_some("rate", rate);
    state.set_some("utilization", face.interface.utilization.map(Value::Decimal));
    state.set_some("occupancy", face.interface.occupancy.map(Value::Decimal));
    state.set_some("congestion-state", congestion(face, thresholds));
    state.set("signals", count(face.interface.signals));
    let nanos = |at: std::time::Duration| count(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
    state.set_some("measured", face.interface.measured.map(nanos));
    state.set("queue-packets", count(face.queue_packets));
    let counters = state.child("counters", false);
    let of = &status.counters;
    for (name, value) in [
        ("in-interests", of.in_interests),
        ("in-data", of.in_data),
        ("in-nacks", of.in_nacks),
        ("in-octets", of.in_bytes),
        ("out-interests", of.out_interests),
        ("out-data", of.out_data),
        ("out-nacks", of.out_nacks),
        ("out-octets", of.out_bytes),
        ("marks", face.marks),
        ("drops", face.drops),
    ] {
        counters.set(name, count(value));
    }
}

/// The FIB with Data rates by prefix number and face.
fn fib_node(fib: &mut Node, entries: &[EntryReport], rates: &BTreeMap<(PrefixId, u64), Rate>) {
    let list = fib.child("entry", true);
    for entry in entries {
        let prefix = entry.prefix.to_string();
        let node = list.entry(prefix.clone());
        node.set("prefix", text(prefix));
        let hops = node.child("next-hop", true);
        for hop in &entry.hops {
            let node = hops.entry(hop.face.to_string());
            node.set("face", count(hop.face));
            if let Some(cost) = hop.configured {
                node.child("config", false).set("cost", count(cost));
            }
            let state = node.child("state", false);
            state.set("cost", count(hop.cost));
            state.set_some("route-cost", hop.route_cost.map(count));
            state.set_some("data-rate", rates.get(&(entry.id, hop.face)).map(|rate| count(rate.bps())));
        }
    }
}

/// All that the model says of a forwarder.
pub fn tree(report: &RouterReport, fib: &[EntryReport]) -> Node {
    let mut root = Node::container();
    let ndn = root.child("ndn", false);
    let state = ndn.child("router", false).child("state", false);
    let status = &report.status;
    state.set("version", text(&status.version));
    state.set("scheme", text(&report.scheme));
    state.set("listen", Value::Texts(report.listen.clone()));
    state.set("signals", count(report.signals));
    for (name, value) in [
        ("in-interests", status.in_interests),
        ("in-data", status.in_data),
        ("in-nacks", status.in_nacks),
        ("out-interests", status.out_interests),
        ("out-data", status.out_data),
        ("out-nacks", status.out_nacks),
        ("satisfied-interests", status.satisfied_interests),
        ("unsatisfied-interests", status.unsatisfied_interests),
    ] {
        state.set(name, count(value));
    }
    let faces = ndn.child("faces", false).child("face", true);
    for face in &report.faces {
        face_node(faces.entry(face.status.face_id.to_string()), face, &report.thresholds);
    }
    let rates = report.rates.iter().map(|(prefix, face, rate)| ((*prefix, *face), *rate)).collect();
    fib_node(ndn.child("fib", false), fib, &rates);
    let pit = ndn.child("pit", false).child("state", false);
    pit.set("entries", count(status.pit_entries));
    pit.set("limit", count(report.pit_limit));
    let store = ndn.child("content-store", false);
    store.child("config", false).set("capacity", count(report.cs.capacity));
    let state = store.child("state", false);
    for (name, value) in [
        ("capacity", report.cs.capacity),
        ("entries", report.cs.entries),
        ("hits", report.cs.hits),
        ("misses", report.cs.misses),
    ] {
        state.set(name, count(value));
    }
    let strategies = ndn.child("strategies", false).child("strategy", true);
    for choice in &report.strategies {
        let (prefix, name) = (choice.name.to_string(), super::transaction::short_strategy(&choice.strategy));
        let node = strategies.entry(prefix.clone());
        node.set("prefix", text(prefix));
        node.child("config", false).set("name", text(&name));
        node.child("state", false).set("name", text(name));
    }
    root
}

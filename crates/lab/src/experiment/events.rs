//! The changes during a run, in words, for results.

use crate::results::EventInfo;
use ndnweir_core::units::{Duration, Time};
use ndnweir_scenario::{Change, LinkDirection, Scenario};

/// Every event of a scenario and of its planner, in the order of time.
pub(super) fn describe(scenario: &Scenario) -> Vec<EventInfo> {
    let mut list: Vec<(Duration, EventInfo)> = Vec::new();
    for event in &scenario.events {
        list.push((event.at, network_event(scenario, event.at, &event.change)));
    }
    let control = &scenario.control;
    let planner = [
        (control.fails, "planner-fails", "the planner fails"),
        (control.stand_by, "planner-stand-by", "a stand-by planner takes over"),
        (control.returns, "planner-returns", "the first planner works again"),
    ];
    for (at, what, text) in planner {
        if let Some(at) = at.map(|at| at.since(Time::ZERO)) {
            list.push((at, info(at, what, "planner", text.into())));
        }
    }
    list.sort_by_key(|(at, _)| *at);
    list.into_iter().map(|(_, info)| info).collect()
}

fn info(at: Duration, what: &str, target: &str, text: String) -> EventInfo {
    EventInfo { at_s: at.secs(), what: what.into(), target: target.into(), text }
}

fn network_event(scenario: &Scenario, at: Duration, change: &Change) -> EventInfo {
    let name = |i: usize| scenario.links.get(i).map_or("?", |link| link.name.as_str());
    let place = |i: usize| scenario.nodes.get(i).map_or("?", |node| node.name.as_str());
    let on_link = |what: &str, i: usize, text: String| info(at, what, name(i), format!("link {} {text}", name(i)));
    let on_node = |what: &str, i: usize, text: &str| info(at, what, place(i), format!("node {} {text}", place(i)));
    let towards = |i: usize, direction: LinkDirection| {
        let ends = scenario.links.get(i).map(|link| (place(link.a), place(link.b)));
        match (ends, direction) {
            (Some((a, b)), LinkDirection::Forward) => format!(" from {a} to {b}"),
            (Some((a, b)), LinkDirection::Backward) => format!(" from {b} to {a}"),
            _ => String::new(),
        }
    };
    match *change {
        Change::LinkDown { link } => on_link("link-down", link, "fails".into()),
        Change::LinkUp { link } => on_link("link-up", link, "works again".into()),
        Change::Rate { link, direction, rate } => {
            on_link("link-rate", link, format!("has a rate of {rate}{}", towards(link, direction)))
        }
        Change::Delay { link, direction, delay } => {
            on_link("link-delay", link, format!("has a delay of {delay}{}", towards(link, direction)))
        }
        Change::Loss { link, direction, loss } => {
            on_link("link-loss", link, format!("loses {} %{}", 100.0 * loss, towards(link, direction)))
        }
        Change::Crash { node } => on_node("node-crash", node, "crashes and loses its state"),
        Change::Restart { node } => on_node("node-restart", node, "starts again, empty"),
    }
}

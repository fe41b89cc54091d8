//! What the controller reports of itself: JSON for `ndnweir control status` and other controllers, and metrics.

use super::brain::Brain;
use super::config::ControlConfig;
use ndnweir_core::units::Time;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The whole state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Whether this controller gives orders: another one leads if not.
    pub leads: bool,
    /// The election with which it does.
    pub election: u64,
    /// Whether decisions are reported and not carried out.
    pub dry_run: bool,
    /// The scheme whose planner decides.
    pub scheme: String,
    /// Seconds since its start.
    pub uptime: f64,
    /// Whom it leads.
    pub routers: Vec<RouterStatus>,
    /// Links between them, by direction.
    pub links: Vec<LinkStatus>,
    /// Counts of what happened.
    pub counts: Counts,
    /// The latest decisions, latest first.
    pub decisions: Vec<DecisionStatus>,
}

/// A router.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RouterStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// `reporting`, `stale` (silent for three periods) or `lost`.
    pub state: String,
    /// Why it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkStatus {
    /// From.
    pub from: String,
    /// By its face.
    pub face: u64,
    /// To.
    pub to: String,
    /// In bit/s.
    pub rate: Option<u64>,
    /// Whether it is used in decisions.
    pub up: bool,
    /// As last reported.
    pub utilization: Option<f64>,
    /// As last reported.
    pub occupancy: Option<f64>,
}

/// Running counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Signals received.
    pub signals: u64,
    /// Of these, left to consumers, as congestion is severe.
    pub sieved: u64,
    /// Of these, from links whose state is not known or too old.
    pub unknown: u64,
    /// Of these, without a router that could lead traffic around.
    pub without_shunt: u64,
    /// Of these, without a better path.
    pub not_better: u64,
    /// Of these, held back by the least time between switches, a change of the topology or the danger of a loop.
    pub held: u64,
    /// Orders that change a best next hop.
    pub switches: u64,
    /// All orders.
    pub orders: u64,
    /// Of these, rejected or lost.
    pub rejected: u64,
    /// From the last order that was carried out to the router's answer, in seconds.
    pub last_latency: Option<f64>,
}

/// A decision with the numbers that led to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecisionStatus {
    /// Seconds since the controller's start.
    pub at: f64,
    /// To whom.
    pub router: String,
    /// The prefix.
    pub prefix: String,
    /// Face, cost before, cost after.
    pub costs: Vec<(u64, Option<u32>, u32)>,
    /// What led to it.
    pub reason: String,
}

/// Whether, why not, and with which counts the controller leads.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub(super) leads: bool,
    pub(super) election: u64,
    pub(super) counts: Counts,
    pub(super) lost: Vec<Option<String>>,
}

pub(super) fn status(now: Time, config: &ControlConfig, brain: &Brain, own: &Own) -> Status {
    let name = |router: usize| config.routers.get(router).map_or_else(String::new, |router| router.name.clone());
    let routers = config.routers.iter().enumerate().map(|(number, router)| {
        let why = own.lost.get(number).cloned().flatten();
        let state = match (&why, brain.is_reporting(now, number)) {
            (Some(_), _) => "lost",
            (None, true) => "reporting",
            (None, false) => "stale",
        };
        RouterStatus { name: router.name.clone(), address: router.address.clone(), state: state.into(), why }
    });
    let links = brain.links(now).into_iter().map(|link| LinkStatus {
        from: name(link.from),
        face: link.face,
        to: name(link.to),
        rate: link.rate,
        up: link.up,
        utilization: link.utilization,
        occupancy: link.occupancy,
    });
    let decisions = brain.decisions().rev().map(|decision| DecisionStatus {
        at: decision.at.secs(),
        router: name(decision.router),
        prefix: decision.prefix.to_string(),
        costs: decision.costs.clone(),
        reason: decision.reason.clone(),
    });
    let tally = brain.tally();
    let counts = Counts {
        signals: tally.signals,
        sieved: tally.sieved,
        unknown: tally.unknown,
        without_shunt: tally.without_shunt,
        not_better: tally.not_better,
        held: tally.held,
        switches: tally.switches,
        orders: tally.orders,
        ..own.counts
    };
    Status {
        leads: own.leads,
        election: own.election,
        dry_run: config.dry_run,
        scheme: config.scheme.name.clone(),
        uptime: now.secs(),
        routers: routers.collect(),
        links: links.collect(),
        counts,
        decisions: decisions.collect(),
    }
}

/// The state in Prometheus' text format.
pub(super) fn metrics(status: &Status) -> String {
    let mut text = String::new();
    let mut one = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(text, "# HELP ndnweir_control_{name} {help}");
        let _ = writeln!(text, "# TYPE ndnweir_control_{name} {kind}\nndnweir_control_{name} {value}");
    };
    let reported = status.routers.iter().filter(|router| router.state == "reporting").count();
    one("leads", "gauge", "Whether this controller gives orders.", f64::from(u8::from(status.leads)));
    one("routers", "gauge", "Routers of the configuration.", status.routers.len() as f64);
    one("routers_reporting", "gauge", "Routers whose reports are recent.", reported as f64);
    one("links", "gauge", "Links between routers, by direction.", status.links.len() as f64);
    one("signals_total", "counter", "Signals received.", status.counts.signals as f64);
    one("signals_sieved_total", "counter", "Signals left to consumers.", status.counts.sieved as f64);
    let counts = &status.counts;
    let ignored = counts.unknown + counts.without_shunt + counts.not_better + counts.held;
    one("signals_without_switch_total", "counter", "Signals without a better path, or held back.", ignored as f64);
    one("switches_total", "counter", "Orders that change a best next hop.", status.counts.switches as f64);
    one("orders_total", "counter", "Orders.", status.counts.orders as f64);
    one("orders_rejected_total", "counter", "Orders rejected or lost.", status.counts.rejected as f64);
    let latency = status.counts.last_latency.unwrap_or(f64::NAN);
    one("order_latency_seconds", "gauge", "From the last order that was carried out to its answer.", latency);
    let _ = writeln!(text, "# HELP ndnweir_control_link_utilization Arriving bits over capacity, as last reported.");
    let _ = writeln!(text, "# TYPE ndnweir_control_link_utilization gauge");
    for link in &status.links {
        let Some(utilization) = link.utilization else { continue };
        let (from, to) = (link.from.escape_default(), link.to.escape_default());
        let labels = format!("from=\"{from}\",to=\"{to}\",face=\"{}\"", link.face);
        let _ = writeln!(text, "ndnweir_control_link_utilization{{{labels}}} {utilization}");
    }
    text
}

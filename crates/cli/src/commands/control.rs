//! `ndnweir control`.

use super::inputs::settings;
use crate::control_args::{ControlArgs, ControlCommand, ControlRunArgs, ControlStatusArgs};
use crate::failure::Failure;
use ndnweir_control::controller::config::ControlConfig;
use ndnweir_control::controller::run::{ControlError, ask, start};
use ndnweir_control::controller::status::{Counts, DecisionStatus, LinkStatus, Status};
use ndnweir_core::plain;
use std::path::Path;
use std::time::Duration;

/// How long a controller's answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Decisions that are shown.
const SHOWN: usize = 10;

pub fn run(args: &ControlArgs) -> Result<(), Failure> {
    match &args.command {
        ControlCommand::Run(args) => lead(args),
        ControlCommand::Status(args) => show(args),
    }
}

pub(super) fn configuration(path: &Path) -> Result<ControlConfig, Failure> {
    let file = path.display().to_string();
    let text = settings(path)?;
    ControlConfig::read(&file, &text).map_err(Failure::input)
}

/// Leads the routers of a configuration and writes no log, as an emulation's controller.
pub fn lead_quietly(path: &Path) -> Result<(), String> {
    let config = configuration(path).map_err(|failure| failure.to_string())?;
    start(config).map_err(|error| error.to_string())
}

fn lead(args: &ControlRunArgs) -> Result<(), Failure> {
    ndnweir_net::log::start();
    let mut config = configuration(&args.config)?;
    config.dry_run = args.dry_run;
    start(config).map_err(|error| match error {
        ControlError::Config(_) => Failure::input(error),
        ControlError::System(..) => Failure::work(error),
    })
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{:.0} %", value * 100.0))
}

fn link_line(link: &LinkStatus) -> String {
    let rate = link.rate.map_or("-".into(), |rate| format!("{:.3} Mbit/s", rate as f64 / 1e6));
    let state = if link.up { "" } else { "  left out" };
    let (used, full) = (percent(link.utilization), percent(link.occupancy));
    format!("  {:<24} {rate:>16}  used {used:>6}  queue {full:>6}{state}", format!("{} to {}", link.from, link.to))
}

fn decision_line(decision: &DecisionStatus) -> String {
    let cost = |(face, before, after): &(u64, Option<u32>, u32)| {
        let before = before.map_or("none".into(), |cost| cost.to_string());
        format!("face {face}: {before} to {after}")
    };
    let costs: Vec<String> = decision.costs.iter().map(cost).collect();
    let DecisionStatus { at, router, prefix, reason, .. } = decision;
    format!("  {at:>9.3} s  {router} {prefix}: {} ({reason})", costs.join(", "))
}

/// The state as people read it.
fn text(status: &Status) -> String {
    let leads = match (status.leads, status.dry_run) {
        (true, false) => format!("leads with election {}", status.election),
        (true, true) => "decides and changes nothing (--dry-run)".into(),
        (false, _) => "stands by: another controller leads".into(),
    };
    let mut lines = vec![format!("{} {leads}, for {:.0} s", status.scheme, status.uptime), "routers".into()];
    for router in &status.routers {
        let why = router.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        lines.push(format!("  {:<24} {:<24} {}{why}", router.name, router.address, router.state));
    }
    lines.push("links".into());
    lines.extend(status.links.iter().map(link_line));
    let counts = &status.counts;
    let Counts { signals, sieved, unknown, without_shunt, not_better, held, orders, switches, rejected, .. } = counts;
    lines.push(format!(
        "{signals} signals: {sieved} left to consumers, {unknown} of links not known well enough, \
                        {without_shunt} without a way around, {not_better} without a better one, {held} held back"
    ));
    lines.push(format!("{orders} orders: {switches} switches, {rejected} rejected"));
    lines.extend(status.decisions.iter().take(SHOWN).map(decision_line));
    // What a controller says of a router is in one line, whatever is in it.
    lines.iter().map(|line| plain::line(line)).collect::<Vec<_>>().join("\n")
}

fn show(args: &ControlStatusArgs) -> Result<(), Failure> {
    let remedy = "is the controller running, with `listen` at this address?";
    let status = ask(args.address, PATIENCE).map_err(|why| Failure::Work(format!("{why} ({remedy})")))?;
    match args.json {
        true => super::print_document(&format!("{}\n", serde_json::to_string_pretty(&status).map_err(Failure::work)?)),
        false => super::print(&format!("{}\n", text(&status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_controller_says_of_a_router_is_one_line() {
        let router = json!({ "name": "west\nrogue\x1b[2J", "address": "", "state": "lost" });
        let counts: serde_json::Map<_, _> =
            ["signals", "sieved", "unknown", "without_shunt", "not_better", "held", "switches", "orders", "rejected"]
                .map(|name| (name.to_owned(), json!(0)))
                .into_iter()
                .collect();
        let status = json!({
            "leads": false, "election": 1, "dry_run": false, "scheme": "x", "uptime": 1.0, "routers": [router],
            "links": [], "counts": counts, "decisions": [],
        });
        let text = text(&serde_json::from_value(status).unwrap());
        assert!(text.contains("\n  west\\u{a}rogue\\u{1b}[2J"), "{text}");
    }
}

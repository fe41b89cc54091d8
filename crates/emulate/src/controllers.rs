//! The controllers of an emulated network, where the scheme plans: whom they lead, and what they report.

use super::plan::{Plan, other};
use super::processes::{Child, Fleet};
use super::relay::Relay;
use super::{Error, POLL_INTERVAL};
use crate::roles::{ControllerTask, Ready, Role};
use ndnweir_core::registry::Family;
use ndnweir_core::units::Duration;
use ndnweir_net::emulator::Running;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

/// The one that is there from the start, and the one that stands by.
pub(super) const FIRST: usize = 0;
pub(super) const SECOND: usize = 1;

/// How long a controller may take to reach all routers.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// How long its answer is waited for.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(2);

struct Router {
    name: String,
    /// Where a controller reaches it: its own address, or that of a relay.
    gnmi: SocketAddr,
    /// The URIs of its neighbours' faces to it.
    uris: Vec<String>,
}

/// The controllers.
pub(super) struct Controllers {
    routers: Vec<Router>,
    /// The planner as a composition in TOML, and its routers' period.
    scheme: String,
    period: Option<String>,
    listen: [SocketAddr; 2],
    /// The processes' own addresses, by node.
    agents: BTreeMap<usize, SocketAddr>,
    _relays: Vec<Relay>,
}

/// A value as TOML writes it in one line; keys and texts in quotation marks are the same in both.
fn inline(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(table) => {
            let entries = table.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), inline(value)));
            format!("{{ {} }}", list(entries.collect()))
        }
        Value::Array(values) => format!("[{}]", list(values.iter().map(inline).collect())),
        other => other.to_string(),
    }
}

/// A port of this machine that nobody uses now.
fn free() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

impl Controllers {
    /// Of the nodes that reported where they serve gNMI.
    pub(super) fn new(plan: &Plan<'_>, links: &Running, ready: &[(usize, Ready)]) -> io::Result<Controllers> {
        let delay = plan.scenario.control.delay;
        let (mut routers, mut relays, mut agents) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (node, ready) in ready {
            let Some(own) = ready.gnmi else { continue };
            agents.insert(*node, own);
            let mut gnmi = own;
            if delay > Duration::ZERO {
                let relay = Relay::start(own, std::time::Duration::from_nanos(delay.nanos()))?;
                gnmi = relay.address();
                relays.push(relay);
            }
            let uris = plan.ends_of(*node).map(|(link, end)| format!("udp4://{}", links.address(link, other(end))));
            let name = plan.scenario.nodes[*node].name.clone();
            routers.push(Router { name, gnmi, uris: uris.collect() });
        }
        let part = |family: Family| serde_json::to_value(plan.scheme.part(family)).unwrap_or_default();
        let scheme = format!("{{ planner = {} }}", inline(&part(Family::Planner)));
        let period = part(Family::Meter).get("report").and_then(|report| Some(report.as_str()?.to_owned()));
        Ok(Controllers { routers, scheme, period, listen: [free()?, free()?], agents, _relays: relays })
    }

    /// Where a node serves gNMI.
    pub(super) fn agent(&self, node: usize) -> Option<SocketAddr> {
        self.agents.get(&node).copied()
    }

    /// The task of a controller; with `peer` it stands by as long as the other one leads.
    pub(super) fn task(&self, number: usize, peer: bool, folder: &Path) -> io::Result<Role> {
        let mut text = format!("scheme = {}\nlisten = \"{}\"\n", self.scheme, self.listen[number]);
        if peer {
            let _ = writeln!(text, "peer = \"{}\"", self.listen[1 - number]);
        }
        if let Some(period) = &self.period {
            let _ = writeln!(text, "period = \"{period}\"");
        }
        for Router { name, gnmi, uris } in &self.routers {
            let (name, uris) = (Value::from(name.as_str()), Value::from(uris.clone()));
            let _ = writeln!(text, "[[router]]\nname = {name}\naddress = \"{gnmi}\"\nuris = {uris}");
        }
        let config = folder.join(format!("controller-{number}.toml"));
        std::fs::write(&config, text)?;
        Ok(Role::Controller(ControllerTask { config }))
    }

    /// The state that a controller serves, if it does.
    pub(super) fn status(&self, number: usize) -> Option<Value> {
        let address = self.listen[number];
        let mut stream = TcpStream::connect_timeout(&address, ANSWER).ok()?;
        stream.set_read_timeout(Some(ANSWER)).ok()?;
        write!(stream, "GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// Waits until a controller reaches all routers.
    pub(super) fn wait(&self, number: usize, fleet: &mut Fleet) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            fleet.check_running()?;
            let status = self.status(number).unwrap_or_default();
            let routers = status["routers"].as_array().cloned().unwrap_or_default();
            let missing = routers.iter().find(|router| router["state"] != "reporting");
            if !routers.is_empty() && missing.is_none() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let what = missing.map_or("does not answer".to_owned(), |router| format!("does not reach {router}"));
                return Err(fleet.failure(Child::Controller(number), &what));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Orders of the controllers that run, and of these, how many were rejected.
    pub(super) fn orders(&self) -> (u64, u64) {
        let counts = [FIRST, SECOND].map(|number| self.status(number).unwrap_or_default()["counts"].take());
        let sum = |key: &str| counts.iter().filter_map(|counts| counts[key].as_u64()).sum();
        (sum("orders"), sum("rejected"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composition_is_written_as_toml_reads_it() {
        let value = serde_json::json!({ "name": "x", "margin": 0.1, "on": true, "none": null, "list": [1, "a\"b"] });
        assert_eq!(inline(&value), r#"{ "list" = [1, "a\"b"], "margin" = 0.1, "name" = "x", "on" = true }"#);
    }
}

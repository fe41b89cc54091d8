//! The processes of an emulated scenario: a forwarder per node, a producer per object and place, a process per
//! consumer, which fetches or sends Interests at its own pace, and controllers where the scheme plans.
//!
//! The parent writes a [`Task`] as one line of JSON to their standard input and keeps that open: when it closes, they
//! end. They answer with one [`Ready`] line on standard output and record what they see, with times of one clock that
//! all processes of the machine share, as lines of JSON in a file.

mod consumer;
mod controller;
mod forwarder;
mod producer;
pub mod record;
mod requester;

pub use consumer::ConsumerTask;
pub use controller::ControllerTask;
pub use forwarder::{FaceTask, ForwarderTask, RateTask, RouteTask};
pub use producer::ProducerTask;
pub use requester::RequesterTask;

use ndnweir_core::scheme::Scheme;
use ndnweir_net::client::Stop;
use ndnweir_net::daemon::Daemon;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;
use std::path::Path;

/// What a process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The instant of [`ndnweir_net::clock::monotonic`] from which all processes count.
    pub origin: u64,
    /// Its part.
    pub role: Role,
}

/// The parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is its task")]
pub enum Role {
    Forwarder(ForwarderTask),
    Producer(ProducerTask),
    Consumer(ConsumerTask),
    Controller(ControllerTask),
    Requester(RequesterTask),
}

/// Reported once a process is ready.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    /// Where a forwarder receives UDP.
    pub udp: Option<SocketAddr>,
    /// Where it serves gNMI.
    pub gnmi: Option<SocketAddr>,
}

/// What leads nodes, as far as the program has it: a forwarder's agent and the controller, neither of them this
/// crate's.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Serves gNMI for a forwarder at an address; the one that it got.
    pub agent: fn(&mut Daemon, SocketAddr) -> Result<SocketAddr, String>,
    /// Leads the routers of a configuration until the process ends.
    pub controller: fn(&Path) -> Result<(), String>,
}

/// Why a process failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RoleError(String);

impl RoleError {
    fn new(error: impl std::fmt::Display) -> RoleError {
        RoleError(error.to_string())
    }
}

/// Reads the task from standard input and carries it out.
///
/// # Errors
/// [`RoleError`] if the task cannot be read, or fails.
pub fn run(control: Option<Control>) -> Result<(), RoleError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(RoleError::new)?;
    let task: Task = serde_json::from_str(&line).map_err(RoleError::new)?;
    match task.role {
        Role::Forwarder(forwarder) => forwarder::run(&forwarder, task.origin, control),
        Role::Producer(producer) => producer::run(&producer),
        Role::Consumer(consumer) => consumer::run(&consumer, task.origin),
        Role::Requester(requester) => requester::run(&requester, task.origin),
        Role::Controller(controller) => controller::run(&controller, control),
    }
}

/// Reports that the process is ready.
fn ready(ready: &Ready) -> Result<(), RoleError> {
    let line = serde_json::to_string(ready).map_err(RoleError::new)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(RoleError::new)
}

/// Calls `stop` when the parent closes the process's standard input.
fn when_abandoned(stop: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let mut waste = [0; 256];
        while io::stdin().lock().read(&mut waste).is_ok_and(|read| read > 0) {}
        stop();
    });
}

fn stop_when_abandoned(stop: Stop) {
    when_abandoned(move || {
        stop.stop();
    });
}

/// A scheme in the form that is passed to a process.
///
/// # Errors
/// If no such composition exists.
fn scheme(composition: &Value) -> Result<Scheme, RoleError> {
    serde_json::from_value(composition.clone()).map_err(RoleError::new)
}

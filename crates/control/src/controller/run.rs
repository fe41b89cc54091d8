//! The controller's process: sessions, the brain, elections, and what it reports.

use super::brain::{Brain, Costs};
use super::config::ControlConfig;
use super::managed;
use super::session::{FromRouter, Order, Wishes, endpoint, keep, tls};
use super::status::{Own, Status, metrics, status};
use ndnweir_core::units::{Duration, Time};
use ndnweir_net::daemon::telemetry::thresholds;
use ndnweir_net::exporter::Exporter;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, watch};
use tonic::Code;

/// Messages of all routers that may wait.
const WAITING: usize = 1024;
/// Orders that may wait for a router.
const ORDERS: usize = 256;
/// A router is left out after so many silent periods.
const STALE_PERIODS: u64 = 3;
/// Routers that are told in each period who leads; with more, each is told that much less often.
const CLAIMS: usize = 100;
/// A leading peer is gone after so many failed questions in a row.
const PEER_FAILURES: u32 = 3;
/// Bytes of a peer's state.
const MAX_STATUS: u64 = 64 << 20;

/// Why a controller ends.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The configuration cannot be used.
    #[error("{0}")]
    Config(String),
    /// A socket or thread cannot be had.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
}

/// Asks a controller for its state.
///
/// # Errors
/// Why there is no answer, for people.
pub fn ask(address: SocketAddr, patience: std::time::Duration) -> Result<Status, String> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect_timeout(&address, patience).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.take(MAX_STATUS).read_to_end(&mut answer).map_err(failed)?;
    let text = String::from_utf8_lossy(&answer);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body).map_err(|_| format!("{address}: this is not a controller's state"))
}

/// An election higher than those of controllers that were started before, as far as clocks agree.
fn election() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

struct Controller {
    config: ControlConfig,
    brain: Brain,
    start: Instant,
    own: Own,
    orders: Vec<mpsc::Sender<Order>>,
    /// What routers are told each period.
    claim: watch::Sender<Option<u64>>,
    exporter: Option<Exporter>,
}

impl Controller {
    fn now(&self) -> Time {
        Time::ZERO + Duration::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn lead(&mut self) {
        let election = election().max(self.own.election + 1);
        tracing::info!(election, "this controller leads");
        (self.own.leads, self.own.election) = (true, election);
        self.claim.send_replace(Some(election).filter(|_| !self.config.dry_run));
        let scheme = self.config.scheme.clone();
        self.brain.elect(&scheme, election);
        let now = self.now();
        let orders = self.brain.announce_all(now);
        self.give(orders);
    }

    /// Another controller leads.
    fn stand_by(&mut self) {
        if self.own.leads {
            tracing::warn!("another controller leads: this one stands by");
        }
        self.own.leads = false;
        self.claim.send_replace(None);
    }

    /// Sends orders, or reports what they would be.
    fn give(&mut self, all: Vec<Costs>) {
        if all.is_empty() {
            return;
        }
        if !self.own.leads {
            return;
        }
        let now = Instant::now();
        let decisions: Vec<_> = self.brain.decisions().rev().take(all.len()).cloned().collect();
        for decision in decisions.iter().rev() {
            let router = &self.config.routers[decision.router].name;
            let costs: Vec<String> = decision
                .costs
                .iter()
                .map(|(face, before, after)| {
                    let before = before.map_or("none".to_owned(), |cost| cost.to_string());
                    format!("{face}: {before} to {after}")
                })
                .collect();
            let (prefix, costs, reason) = (decision.prefix.to_string(), costs.join(", "), &decision.reason);
            let carried_out = !self.config.dry_run;
            tracing::info!(router, prefix, costs, reason, carried_out, "decided");
        }
        if self.config.dry_run {
            return;
        }
        for costs in all {
            let router = costs.router;
            let order = Order { costs, election: self.own.election, given: now };
            if let Err(mpsc::error::TrySendError::Full(order)) = self.orders[router].try_send(order) {
                self.own.counts.rejected += 1;
                let now = self.now();
                let more = self.brain.rejected(now, &order.costs);
                debug_assert!(more.is_empty(), "a rejection leads to no order at once");
            }
        }
    }

    fn take(&mut self, router: usize, message: FromRouter) {
        let now = self.now();
        let name = self.config.routers[router].name.clone();
        match message {
            FromRouter::Connected(mirror) => {
                tracing::info!(router = name, faces = mirror.faces.len(), prefixes = mirror.fib.len(), "connected");
                self.own.lost[router] = None;
                let orders = self.brain.connected(now, router, Some(*mirror));
                self.give(orders);
            }
            FromRouter::Lost(why) => {
                if self.own.lost[router].as_ref() != Some(&why) {
                    tracing::warn!(router = name, why, "not connected");
                }
                self.own.lost[router] = Some(why);
                let orders = self.brain.connected(now, router, None);
                self.give(orders);
            }
            FromRouter::Notification(notification) => {
                let orders = self.brain.notified(now, router, &notification);
                self.give(orders);
            }
            FromRouter::Overtaken(election) if election == self.own.election => self.stand_by(),
            FromRouter::Overtaken(_) => {}
            FromRouter::Answered(costs, given, Ok(at)) => {
                let orders = self.brain.accepted(now, &costs, at);
                self.give(orders);
                self.own.counts.last_latency = Some(given.elapsed().as_secs_f64());
            }
            FromRouter::Answered(costs, _, Err(status)) => {
                self.own.counts.rejected += 1;
                tracing::warn!(router = name, prefix = %costs.prefix, why = status.message(), "an order was rejected");
                if status.code() == Code::PermissionDenied {
                    self.stand_by();
                }
                let orders = self.brain.rejected(now, &costs);
                self.give(orders);
            }
        }
    }

    fn publish(&self) {
        if let Some(exporter) = &self.exporter {
            let status = status(self.now(), &self.config, &self.brain, &self.own);
            exporter.publish(metrics(&status));
            let json = serde_json::to_string_pretty(&status).unwrap_or_default();
            exporter.publish_at("/status", "application/json", json);
        }
    }
}

/// Asks a peer again and again; what it answered, or none.
fn watch_peer(peer: SocketAddr, period: Duration) -> mpsc::Receiver<Option<Status>> {
    let (send, answers) = mpsc::channel(1);
    let pause = std::time::Duration::from_nanos(period.nanos());
    std::thread::spawn(move || {
        while send.blocking_send(ask(peer, pause).ok()).is_ok() {
            std::thread::sleep(pause);
        }
    });
    answers
}

async fn run(config: ControlConfig, exporter: Option<Exporter>) -> Result<(), ControlError> {
    let period = config.period;
    let every = std::time::Duration::from_nanos(period.nanos());
    let secured = config.tls.as_ref().map(tls).transpose().map_err(ControlError::Config)?;
    let (send, mut from_routers) = mpsc::channel(WAITING);
    let mut orders = Vec::new();
    let (claim, claims) = watch::channel(None);
    let shares = u32::try_from(config.routers.len().div_ceil(CLAIMS)).unwrap_or(u32::MAX);
    for (number, router) in config.routers.iter().enumerate() {
        let failed = |error| ControlError::Config(format!("router {}: {error}", router.name));
        let (give, take) = mpsc::channel(ORDERS);
        orders.push(give);
        match &router.managed {
            Some(managed_by) => {
                let signer = managed::signer(managed_by).map_err(failed)?;
                let threshold = thresholds(&config.scheme).utilization;
                let view = managed::View::new(managed_by.rates.clone(), threshold);
                tokio::spawn(managed::keep(number, managed_by.uri.clone(), signer, view, every, send.clone(), take));
            }
            None => {
                let endpoint = endpoint(&router.address, secured.as_ref()).map_err(failed)?;
                let wishes = Wishes { orders: take, election: claims.clone(), claims: every * shares };
                tokio::spawn(keep(number, endpoint, every, send.clone(), wishes));
            }
        }
    }
    let mut peer = config.peer.map(|peer| watch_peer(peer, period));
    let mut brain = Brain::new(&config.scheme, config.routers.len(), period * STALE_PERIODS, election());
    for (number, router) in config.routers.iter().enumerate() {
        brain.reached_at(number, &router.uris);
    }
    let own = Own { lost: vec![Some("not connected yet".into()); config.routers.len()], ..Own::default() };
    let mut controller = Controller { config, brain, start: Instant::now(), own, orders, claim, exporter };
    if peer.is_none() {
        controller.lead();
    }
    let mut failures = 0_u32;
    let mut ticks = tokio::time::interval(every / 5);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some((router, message)) = from_routers.recv() => controller.take(router, message),
            _ = ticks.tick() => {
                let now = controller.now();
                let orders = controller.brain.tick(now);
                controller.give(orders);
                controller.publish();
            }
            answer = async { match &mut peer { Some(peer) => peer.recv().await, None => std::future::pending().await } } => {
                let other = answer.flatten();
                let led = other.as_ref().is_some_and(|other| other.leads);
                failures = if led { 0 } else { failures.saturating_add(1) };
                match other {
                    Some(other) if other.leads && controller.own.leads && other.election > controller.own.election => {
                        controller.stand_by();
                    }
                    _ if failures >= PEER_FAILURES && !controller.own.leads => controller.lead(),
                    _ => {}
                }
            }
        }
    }
}

/// Runs until the process ends.
///
/// # Errors
/// If it cannot start.
pub fn start(config: ControlConfig) -> Result<(), ControlError> {
    let open =
        |address| Exporter::open(address).map_err(|error| ControlError::System(format!("listen {address}"), error));
    let exporter = config.listen.map(open).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ControlError::System("runtime".into(), error))?;
    runtime.block_on(run(config, exporter))
}

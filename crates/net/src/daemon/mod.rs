//! The forwarder's process: sockets and the clock around `ndnweir_node::Forwarder`.
//!
//! One thread: it waits for sockets and for the time that the node requests, gives the node what has arrived in
//! batches, and sends what leaves. Where a face has a rate, the node's own egress queue with the scheme's marker holds
//! what waits; where it has none, packets go to the kernel and NFD's rule marks by what waits there and in the backlog
//! of a stream.

mod admission;
mod backlogs;
mod bucket;
pub mod changes;
pub mod config;
mod control;
mod dial;
mod events;
mod faces;
mod handle;
mod links;
mod listeners;
mod management;
mod metrics;
mod ports;
mod proof;
mod reload;
mod requests;
mod signals;
mod strategies;
pub mod telemetry;
mod timers;
mod unix;
mod users;

pub use config::{Config, ConfigError, FaceSpec, RouteSpec};
pub use handle::{Handle, Unreachable};
pub use reload::ReloadError;
pub use users::{Allowed, AllowedError};

use crate::clock::Clock;
use crate::exporter::Exporter;
use crate::face::sockets;
use crate::face_uri::FaceUri;
use crate::mgmt::{Management, Timestamps};
use crate::poll::{Poll, Ready};
use admission::Admission;
use backlogs::Backlogs;
use control::CsSettings;
use faces::{FaceTable, SocketFace};
use listeners::Listeners;
use management::ManagementFace;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::forwarder::{Frames, LinkCounters};
use ndnweir_node::{FaceCounters, Forwarder, ForwarderConfig, HashKey, NodeCounters};
use ndnweir_wire::{Name, NameView};
use ports::Ports;
use signals::Signals;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use telemetry::Telemetry;
use timers::Timers;
use users::Users;

/// For how long someone may be connected without having sent a packet.
const FIRST_PACKET_TIMEOUT: Duration = Duration::from_millis(30_000);

/// The likely cause when an address cannot be bound.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => " (is another forwarder running?)",
        ErrorKind::AddrNotAvailable => {
            " (no interface of this machine has this address; `ip address` lists those there are)"
        }
        ErrorKind::PermissionDenied => " (ports below 1024 and the folders of others need the rights of root)",
        ErrorKind::NotFound => " (there is no such folder)",
        _ => "",
    }
}

/// Descriptors in addition to those of faces: listeners, ports, readers of the metrics, the poll.
const SPARE_DESCRIPTORS: usize = 64;

/// Numbers under which sockets are waited for.
mod key {
    pub(super) const LISTENER: usize = 1 << 20;
    pub(super) const STREAM: usize = 1 << 21;
    pub(super) const STOP: usize = 1 << 22;
    pub(super) const RELOAD: usize = STOP + 1;
    pub(super) const JOBS: usize = STOP + 2;
}

/// Why the forwarder cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A socket cannot be had.
    #[error("{what}: {error}{remedy}")]
    Socket {
        /// Which.
        what: String,
        /// Why not.
        error: io::Error,
        /// What can be done.
        remedy: &'static str,
    },
    /// The kernel failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl RunError {
    fn socket(what: String, error: io::Error) -> RunError {
        let remedy = remedy(&error);
        RunError::Socket { what, error, remedy }
    }
}

/// Why the process stops running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonRequest {
    /// End.
    Stop,
    /// Read the configuration again.
    Reload,
}

/// The process.
pub struct Daemon {
    clock: Clock,
    poll: Poll,
    forwarder: Forwarder,
    config: Config,
    signals: Signals,
    timers: Timers,
    ports: Ports,
    listeners: Listeners,
    faces: FaceTable,
    /// Faces that are on demand.
    admission: Admission,
    users: Users,
    backlogs: Backlogs,
    management: ManagementFace,
    /// The settings of the content store from commands.
    cs: CsSettings,
    exporter: Option<Exporter>,
    totals: metrics::ProcessTotals,
    telemetry: Telemetry,
    jobs: Option<handle::Jobs>,
    /// Costs that a controller has set, by prefix and face.
    configured: BTreeMap<(Name, u64), u32>,
    /// Memory that is used again: for what the poll reports, what is read, and what is sent.
    ready: Vec<Ready>,
    buffer: Vec<u8>,
    frames: Frames,
}

/// A secret key: `RandomState` has 128 bits from the operating system, and its output does not reveal them.
fn secret() -> HashKey {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    HashKey::new([random.hash_one(0), random.hash_one(1)])
}

impl Daemon {
    /// Opens all sockets and faces.
    ///
    /// # Errors
    /// If a socket cannot be had or the configuration cannot be used.
    pub fn new(mut config: Config) -> Result<Daemon, RunError> {
        use std::hash::{BuildHasher, RandomState};
        config.complete()?;
        let clock = Clock::new();
        let now = clock.now();
        let mut peers = reload::Peers::new();
        config.faces.iter().try_for_each(|face| reload::resolve(face, &mut peers))?;
        let management = Management::new(config.authority.clone(), Timestamps { now, unix: clock.unix() });
        reload::check(&config, &peers, &management.prefixes(), config.prefixes)?;
        let forwarder = Forwarder::new(ForwarderConfig {
            number: 0,
            seed: RandomState::new().hash_one(0),
            hash_key: secret(),
            scheme: &config.scheme,
            pit_limit: config.pit,
            cache: config.cache,
            memory: config.memory,
            fragments: config.fragments,
            prefixes: config.prefixes,
            max_lifetime: config.max_lifetime,
            max_lifetime_on_demand: config.max_lifetime_on_demand,
        })
        .map_err(ConfigError::new)?;
        let poll = Poll::new()?;
        let signals = Signals::open(poll.sources())?;
        let exporter = config.metrics.map(Exporter::open).transpose();
        let exporter = exporter.map_err(|error| RunError::socket("metrics".into(), error))?;
        if !sockets::allow_descriptors(config.max_peers + config.faces.len() + SPARE_DESCRIPTORS) {
            tracing::warn!("fewer connections than max-peers can be held: raise the limit of open files");
        }
        let mut daemon = Daemon {
            clock,
            forwarder,
            config: Config::default(),
            signals,
            timers: Timers::new(now),
            ports: Ports::new(poll.sources().clone()),
            listeners: Listeners::new(poll.sources().clone()),
            faces: FaceTable::new(),
            admission: Admission::new(now, config.max_peers, config.limits),
            users: Users::default(),
            backlogs: Backlogs::new(config.limits.backlog.get()),
            management: ManagementFace::new(now, management),
            cs: CsSettings { capacity: config.cache, admits: true, serves: true },
            exporter,
            totals: metrics::ProcessTotals::default(),
            telemetry: Telemetry::default(),
            jobs: None,
            configured: BTreeMap::new(),
            ready: Vec::new(),
            buffer: vec![0; 256 << 10],
            frames: Frames::default(),
            poll,
        };
        daemon.listen(&config)?;
        daemon.forwarder.set_regions(config.regions.clone());
        let (faces, routes) = (config.faces.clone(), config.routes.clone());
        daemon.config = config;
        daemon.start_management(now)?;
        for face in &faces {
            daemon.add_configured(face, &peers)?;
        }
        for route in &routes {
            daemon.add_configured_route(route)?;
        }
        Ok(daemon)
    }

    fn listen(&mut self, config: &Config) -> Result<(), RunError> {
        for &address in &config.udp {
            let failed = |error| RunError::socket(format!("udp {address}"), error);
            self.ports.listen(address).map_err(failed)?;
        }
        for &address in &config.tcp {
            self.listeners.listen_on_tcp(address)?;
        }
        if let Some(path) = &config.unix {
            self.listeners.listen_on_unix(path)?;
        }
        Ok(())
    }

    /// The addresses that UDP is received on.
    pub fn udp_addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.ports.addresses()
    }

    /// Replaces the clock; the new one must not be behind.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The time since 1970 by the clock of its reports.
    pub fn unix_time(&self) -> std::time::Duration {
        self.clock.unix()
    }

    /// Counters of the face to `uri`, if there is one: of its link layer and its queue.
    pub fn face_counters(&mut self, uri: &FaceUri) -> Option<(LinkCounters, FaceCounters)> {
        let id = self.faces.with_uri(uri)?;
        Some(self.forwarder.face_counters(self.clock.now(), id))
    }

    /// The node's totals.
    pub fn node_counters(&self) -> NodeCounters {
        self.forwarder.node().counters()
    }

    /// Changes the rate of the face to `uri`, or the one at which its neighbour sends back.
    pub fn set_rates(&mut self, uri: &FaceUri, rate: Option<Rate>, return_rate: Option<Rate>) {
        let Some(id) = self.faces.with_uri(uri) else { return };
        if let Some(rate) = rate {
            self.set_rate(id, rate);
        }
        if let Some(rate) = return_rate {
            self.forwarder.set_return_rate(id, rate);
        }
    }

    fn set_rate(&mut self, id: FaceId, rate: Rate) {
        self.forwarder.set_rate(self.clock.now(), id, rate);
        if let Some(link) = self.faces.get_mut(id) {
            link.rate = Some(rate);
        }
    }

    /// The shares of a prefix's Interests that the strategy sends to each face, if it splits them.
    pub fn shares(&self, prefix: NameView<'_>) -> Vec<(FaceUri, f64)> {
        let mut shares = Vec::new();
        self.forwarder.shares(prefix, &mut shares);
        let uri = |id: FaceId| Some(self.faces.get(id)?.uri.clone());
        shares.into_iter().filter_map(|(id, share)| Some((uri(id)?, share))).collect()
    }

    /// The face of a prefix's cheapest next hop, if the FIB has the prefix.
    pub fn cheapest(&self, prefix: NameView<'_>) -> Option<FaceUri> {
        let route = self.forwarder.routes().find(|route| route.prefix == prefix)?;
        let hop = route.hops.iter().min_by_key(|hop| hop.cost)?;
        Some(self.faces.get(hop.face)?.uri.clone())
    }

    /// Runs until a request arrives.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn run(&mut self) -> Result<DaemonRequest, RunError> {
        loop {
            if let Some(request) = self.run_until(Time::NEVER)? {
                return Ok(request);
            }
        }
    }

    /// Runs until someone wishes something, or until an instant.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn run_until(&mut self, end: Time) -> Result<Option<DaemonRequest>, RunError> {
        loop {
            let management = self.management_due(self.clock.now());
            let due = self.forwarder.poll_timeout().min(self.timers.next()).min(management).min(end);
            self.poll.wait(self.clock.until(due), &mut self.ready)?;
            let ready = std::mem::take(&mut self.ready);
            let request = ready.iter().find_map(|&event| self.on_event(event));
            self.ready = ready;
            let now = self.clock.now();
            if self.forwarder.poll_timeout() <= now {
                self.forwarder.handle_timeout(now);
            }
            if self.timers.take_housekeeping(now) {
                self.run_housekeeping(now);
            }
            self.send_all(now);
            self.manage(now);
            self.take_reports();
            if request.is_some() || end <= now {
                return Ok(request);
            }
        }
    }

    fn on_event(&mut self, Ready { key, readable, writable }: Ready) -> Option<DaemonRequest> {
        match key {
            key::JOBS => self.run_jobs(),
            key::STOP | key::RELOAD => return Some(self.signals.take(key)),
            key if key >= key::STREAM => self.on_stream(FaceId((key - key::STREAM) as u16), readable, writable),
            key if key >= key::LISTENER => self.on_listener(key - key::LISTENER),
            port => self.on_port(port, readable, writable),
        }
        None
    }

    fn run_housekeeping(&mut self, now: Time) {
        self.close_idle(now);
        self.drop_stalled_backlogs(now);
        self.forwarder.expire_fragments(now);
        self.redial(now);
        self.listeners.resume();
        self.admission.forget(now);
        if self.exporter.is_some() {
            let text = self.metrics_text(now);
            if let Some(exporter) = &self.exporter {
                exporter.publish(text);
            }
        }
    }

    /// Removes idle on-demand faces. Those of the owner, and streams with routes, may be silent: producers receive
    /// nothing while there are no Interests.
    fn close_idle(&mut self, now: Time) {
        let idle = self.config.idle;
        let idle = |(id, link): (FaceId, &SocketFace)| {
            let silent = now.since(link.last_in);
            let unheard = !link.is_datagram() && silent > FIRST_PACKET_TIMEOUT && !self.has_spoken(id);
            (link.may_expire() && (silent > idle || unheard)).then_some(id)
        };
        let mut idle: Vec<FaceId> = self.faces.iter().filter_map(idle).collect();
        if idle.is_empty() {
            return;
        }
        let routed: HashSet<FaceId> =
            self.forwarder.routes().flat_map(|route| route.hops.iter().map(|hop| hop.face)).collect();
        idle.retain(|id| {
            let datagram = self.faces.get(*id).is_some_and(SocketFace::is_datagram);
            datagram || !routed.contains(id)
        });
        for id in idle {
            self.close(now, id, "idle");
        }
    }

    /// Whether a packet has ever arrived on a face.
    fn has_spoken(&self, id: FaceId) -> bool {
        self.forwarder.link_counters(id).packets_in() > 0
    }
}

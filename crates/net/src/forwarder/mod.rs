//! The forwarder's process: sockets and the clock around `ndnweir_node::Forwarder`.
//!
//! One thread: it waits for sockets and for the time that the node asks for, gives the node what has arrived in
//! batches, and sends what leaves. Where a face has a rate, the node's own egress queue with the scheme's marker holds
//! what waits; where it has none, packets go to the kernel and NFD's rule marks by what waits there and in the backlog
//! of a stream.

mod admission;
mod backlogs;
mod bucket;
pub mod config;
mod control;
mod dial;
mod events;
mod exporter;
mod links;
mod management;
mod metrics;
mod proof;
mod requests;
mod strategies;
mod unix;
mod users;

pub use config::{Config, ConfigError, FaceSpec, RouteSpec};
pub use users::Allowed;

use crate::clock::Clock;
use crate::face::sockets;
use crate::face::udp::UdpPort;
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{FaceEventKind, FaceStatus, Persistency};
use crate::mgmt::{Management, Moment};
use crate::poll::{Poll, Ready};
use admission::Admission;
use backlogs::Backlogs;
use control::CsSettings;
use links::SocketFace;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::forwarder::{Frames, LinkCounters};
use ndnweir_node::{FaceCounters, Forwarder, ForwarderConfig, HashKey, NodeCounters};
use ndnweir_wire::NameView;
use requests::Requests;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use unix::UnixPlace;
use users::Users;

/// How often idle faces are looked for and metrics are written.
const HOUSEKEEPING: Duration = Duration::from_millis(1000);
/// For how long somebody may be connected without having sent a packet.
const GREETING: Duration = Duration::from_millis(30_000);
/// What may be wrong when an address cannot be had.
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

/// Face numbers below are reserved, as NFD has it.
const FIRST_ID: u64 = 256;

/// Descriptors beside those of faces: listeners, ports, readers of the metrics, the poll.
const SPARE_DESCRIPTORS: usize = 64;

/// Numbers under which sockets are waited for.
mod key {
    pub(super) const LISTENER: usize = 1 << 20;
    pub(super) const STREAM: usize = 1 << 21;
    pub(super) const STOP: usize = 1 << 22;
    pub(super) const RELOAD: usize = STOP + 1;
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixPlace),
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

/// What came to an end or was asked for from outside.
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
    udp: Vec<UdpPort>,
    listeners: Vec<Listener>,
    /// Whether the listeners wait until the next housekeeping, as the system has no descriptors left.
    listeners_paused: bool,
    /// Connections rejected since the log said so.
    rejected: u64,
    /// By the number of the face in the node.
    links: Vec<Option<SocketFace>>,
    by_id: BTreeMap<u64, FaceId>,
    by_peer: HashMap<(usize, SocketAddr), FaceId>,
    next_id: u64,
    /// Ports that are not listened on: only named peers are heard there.
    outgoing: Vec<usize>,
    /// Faces that are on demand.
    admission: Admission,
    /// No face gives way to another until then, as none did just now.
    no_way_until: Time,
    users: Users,
    backlogs: Backlogs,
    management: Option<Management>,
    /// The face of the management.
    inside: FaceId,
    /// How commands want the content store.
    cs: CsSettings,
    /// Frames for the management.
    requests: Requests,
    /// What happened to faces since the management heard of it.
    face_events: VecDeque<(FaceEventKind, FaceStatus)>,
    stop: UnixStream,
    reload: UnixStream,
    metrics: Option<exporter::Exporter>,
    totals: metrics::ProcessTotals,
    next_housekeeping: Time,
    ready: Vec<Ready>,
    buffer: Vec<u8>,
    frames: Frames,
    /// Faces and ports that something was sent on since the last flush.
    touched: Vec<FaceId>,
    touched_ports: Vec<usize>,
}

/// A key that nobody else knows: `RandomState` has 128 bits from the operating system, and what it gives out does not
/// tell them.
fn secret() -> HashKey {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    HashKey::new([random.hash_one(0), random.hash_one(1)])
}

/// A pair whose first end becomes readable when one of `signals` arrives.
fn signals(signals: &[std::ffi::c_int]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
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
        let stop = signals(&[signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT])?;
        let reload = signals(&[signal_hook::consts::SIGHUP])?;
        poll.sources().add(&stop, key::STOP)?;
        poll.sources().add(&reload, key::RELOAD)?;
        let metrics = config.metrics.map(exporter::Exporter::open).transpose();
        let metrics = metrics.map_err(|error| RunError::socket("metrics".into(), error))?;
        if !sockets::allow_descriptors(config.max_peers + config.faces.len() + SPARE_DESCRIPTORS) {
            tracing::warn!("fewer connections than max-peers can be held: raise the limit of open files");
        }
        let now = clock.now();
        let next_housekeeping = now + HOUSEKEEPING;
        let mut daemon = Daemon {
            clock,
            poll,
            forwarder,
            config: Config::default(),
            udp: Vec::new(),
            listeners: Vec::new(),
            listeners_paused: false,
            rejected: 0,
            links: Vec::new(),
            by_id: BTreeMap::new(),
            by_peer: HashMap::new(),
            next_id: FIRST_ID,
            outgoing: Vec::new(),
            admission: Admission::new(now, config.max_peers, config.limits),
            no_way_until: now,
            users: Users::default(),
            backlogs: Backlogs::new(config.limits.backlog.get()),
            management: Some(Management::new(config.authority.clone(), Moment { now, unix: clock.unix() })),
            inside: FaceId::NONE,
            cs: CsSettings { capacity: config.cache, admits: true, serves: true },
            requests: Requests::new(now),
            face_events: VecDeque::new(),
            stop,
            reload,
            metrics,
            totals: metrics::ProcessTotals::default(),
            next_housekeeping,
            ready: Vec::new(),
            buffer: vec![0; 256 << 10],
            frames: Frames::default(),
            touched: Vec::new(),
            touched_ports: Vec::new(),
        };
        daemon.listen(&config)?;
        daemon.forwarder.set_regions(config.regions.clone());
        let (faces, routes) = (config.faces.clone(), config.routes.clone());
        daemon.config = config;
        daemon.start_management(now)?;
        for face in &faces {
            daemon.add_configured(face)?;
        }
        for route in &routes {
            daemon.add_configured_route(route)?;
        }
        Ok(daemon)
    }

    fn listen(&mut self, config: &Config) -> Result<(), RunError> {
        let fail = |what: String| move |error| RunError::socket(what, error);
        for &address in &config.udp {
            self.open_port(address).map_err(fail(format!("udp {address}")))?;
        }
        for &address in &config.tcp {
            let listener = TcpListener::bind(address).map_err(fail(format!("tcp {address}")))?;
            listener.set_nonblocking(true)?;
            tracing::info!(address = %listener.local_addr()?, "listening on tcp");
            self.poll.sources().add(&listener, key::LISTENER + self.listeners.len())?;
            self.listeners.push(Listener::Tcp(listener));
        }
        if let Some(path) = &config.unix {
            let what = format!("unix {}", path.display());
            let place = UnixPlace::open(path).map_err(|(error, remedy)| RunError::Socket { what, error, remedy })?;
            tracing::info!(path = %path.display(), "listening on unix");
            self.poll.sources().add(place.listener(), key::LISTENER + self.listeners.len())?;
            self.listeners.push(Listener::Unix(place));
        }
        Ok(())
    }

    fn open_port(&mut self, address: SocketAddr) -> io::Result<usize> {
        let port = UdpPort::open(address)?;
        tracing::info!(address = %port.local(), "listening on udp");
        self.poll.sources().add(port.socket(), self.udp.len())?;
        self.udp.push(port);
        Ok(self.udp.len() - 1)
    }

    /// The addresses that UDP is received on.
    pub fn udp_addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.udp.iter().map(UdpPort::local)
    }

    /// Another clock, which must not be behind the one so far.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// What passed the face that leads to `uri`, if there is one, at its link layer and at its queue.
    pub fn face_counters(&mut self, uri: &FaceUri) -> Option<(LinkCounters, FaceCounters)> {
        let id = self.face_of(uri)?;
        Some(self.forwarder.face_counters(self.clock.now(), id))
    }

    /// The node's totals.
    pub fn node_counters(&self) -> NodeCounters {
        self.forwarder.node().counters()
    }

    /// Changes the rate of the face that leads to `uri`, or the one at which its neighbour sends back.
    pub fn set_rates(&mut self, uri: &FaceUri, rate: Option<Rate>, return_rate: Option<Rate>) {
        let Some(id) = self.face_of(uri) else { return };
        if let Some(rate) = rate {
            self.forwarder.set_rate(self.clock.now(), id, rate);
        }
        if let Some(rate) = return_rate {
            self.forwarder.set_return_rate(id, rate);
        }
    }

    /// The shares of a prefix's Interests that the strategy sends to each face, if it splits them.
    pub fn shares(&self, prefix: NameView<'_>) -> Vec<(FaceUri, f64)> {
        let mut shares = Vec::new();
        self.forwarder.shares(prefix, &mut shares);
        let uri = |id: FaceId| Some(self.links.get(id.index())?.as_ref()?.uri.clone());
        shares.into_iter().filter_map(|(id, share)| Some((uri(id)?, share))).collect()
    }

    /// Runs until somebody wishes something.
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

    /// Runs until somebody wishes something, or until an instant.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn run_until(&mut self, end: Time) -> Result<Option<DaemonRequest>, RunError> {
        loop {
            let management = self.management_due(self.clock.now());
            let due = self.forwarder.poll_timeout().min(self.next_housekeeping).min(management).min(end);
            self.poll.wait(self.clock.until(due), &mut self.ready)?;
            let ready = std::mem::take(&mut self.ready);
            let request = ready.iter().find_map(|&event| self.on_event(event));
            self.ready = ready;
            let now = self.clock.now();
            if self.forwarder.poll_timeout() <= now {
                self.forwarder.handle_timeout(now);
            }
            if self.next_housekeeping <= now {
                self.next_housekeeping = now + HOUSEKEEPING;
                self.run_housekeeping(now);
            }
            self.send_all(now);
            self.manage(now);
            if request.is_some() || end <= now {
                return Ok(request);
            }
        }
    }

    fn on_event(&mut self, Ready { key, readable, writable }: Ready) -> Option<DaemonRequest> {
        match key {
            key::STOP | key::RELOAD => {
                let (socket, request) = match key {
                    key::STOP => (&mut self.stop, DaemonRequest::Stop),
                    _ => (&mut self.reload, DaemonRequest::Reload),
                };
                let mut waste = [0; 64];
                while socket.read(&mut waste).is_ok_and(|read| read == waste.len()) {}
                return Some(request);
            }
            key if key >= key::STREAM => self.on_stream(FaceId((key - key::STREAM) as u16), readable, writable),
            key if key >= key::LISTENER => self.on_listener(key - key::LISTENER),
            port => self.on_port(port, readable, writable),
        }
        None
    }

    /// Takes over what another configuration says about faces, routes, strategies and regions. The rest of the scheme,
    /// the sizes of tables and the addresses to listen on stay as they are until the next start.
    ///
    /// # Errors
    /// If the configuration cannot be used; then nothing has changed, but for faces that could not be made.
    pub fn reload(&mut self, mut config: Config) -> Result<(), RunError> {
        config.complete()?;
        self.check_strategies(&config.scheme)?;
        let now = self.clock.now();
        self.take_over_strategies(now, &config.scheme)?;
        let old = std::mem::take(&mut self.config);
        for route in old.routes.iter().filter(|route| !config.routes.contains(route)) {
            self.remove_configured_route(route);
        }
        for face in old.faces.iter().filter(|face| !config.faces.contains(face)) {
            if let Some(id) = self.face_of(&face.uri) {
                self.close(now, id, "no longer configured");
            }
        }
        self.forwarder.set_regions(config.regions.clone());
        let (faces, routes, regions) = (config.faces.clone(), config.routes.clone(), config.regions);
        let allow_local = config.allow_local;
        self.users.forget();
        self.config = Config { faces, routes, regions, allow_local, ..old };
        for face in &config.faces {
            match self.face_of(&face.uri) {
                Some(id) => self.adopt(id, Persistency::Permanent),
                None => drop(self.add_configured(face)?),
            }
        }
        for route in &config.routes {
            self.add_configured_route(route)?;
        }
        tracing::info!(faces = config.faces.len(), routes = config.routes.len(), "configuration read again");
        Ok(())
    }

    fn run_housekeeping(&mut self, now: Time) {
        self.close_idle(now);
        self.look_after_readers(now);
        self.forwarder.expire_fragments(now);
        self.redial(now);
        self.admit_again();
        self.admission.forget(now);
        if self.metrics.is_some() {
            let text = self.metrics_text(now);
            if let Some(metrics) = &self.metrics {
                metrics.publish(text);
            }
        }
    }

    /// Ends faces that are on demand and on which nothing comes. Those of the owner, and streams to which routes lead,
    /// may be silent: producers wait for as long as nobody asks.
    fn close_idle(&mut self, now: Time) {
        let idle = self.config.idle;
        let gone = |(id, link): (FaceId, &SocketFace)| {
            let silent = now.since(link.last_in);
            let unheard = !link.is_datagram() && silent > GREETING && !self.has_spoken(id);
            (link.may_expire() && (silent > idle || unheard)).then_some(id)
        };
        let mut gone: Vec<FaceId> = self.present().filter_map(gone).collect();
        if gone.is_empty() {
            return;
        }
        let routed: HashSet<FaceId> =
            self.forwarder.routes().flat_map(|route| route.hops.iter().map(|hop| hop.face)).collect();
        gone.retain(|id| {
            let datagram = self.links[id.index()].as_ref().is_some_and(SocketFace::is_datagram);
            datagram || !routed.contains(id)
        });
        for id in gone {
            self.close(now, id, "idle");
        }
    }

    /// Whether a packet has ever come over a face.
    fn has_spoken(&self, id: FaceId) -> bool {
        self.forwarder.link_counters(id).packets_in() > 0
    }

    fn present(&self) -> impl Iterator<Item = (FaceId, &SocketFace)> {
        self.links.iter().enumerate().filter_map(|(i, link)| Some((FaceId(i as u16), link.as_ref()?)))
    }
}

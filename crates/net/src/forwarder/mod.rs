//! The forwarder's process: sockets and the clock around `ndnweir_node::Forwarder`.
//!
//! One thread: it waits for sockets and for the time that the node asks for, gives the node what has arrived in
//! batches, and sends what leaves. Where a face has a rate, the node's own egress queue with the scheme's marker holds
//! what waits; where it has none, packets go to the kernel and NFD's rule marks by what waits there and in the backlog
//! of a stream.

pub mod config;
mod control;
mod dial;
mod events;
mod exporter;
mod links;
mod management;
mod metrics;
mod strategies;

pub use config::{Config, ConfigError, FaceSpec, RouteSpec};

use crate::clock::Clock;
use crate::face::sockets;
use crate::face::udp::UdpPort;
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{FaceEventKind, FaceStatus, Persistency};
use crate::mgmt::{Management, Moment};
use crate::poll::{Poll, Ready};
use control::CsSettings;
use links::Link;
use ndnweir_core::ids::FaceId;
use ndnweir_core::units::{Rate, Span, Time};
use ndnweir_node::forwarder::{Frames, LinkCounters};
use ndnweir_node::{FaceCounters, Forwarder, ForwarderConfig, NodeCounters};
use ndnweir_wire::NameView;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::Permissions;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// How often idle faces are looked for and metrics are written.
const HOUSEKEEPING: Span = Span::from_millis(1000);
/// What may be wrong when an address cannot be had.
const TAKEN: &str = " (is another forwarder running?)";
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
    Unix(UnixListener, PathBuf),
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

/// What came to an end or was asked for from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
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
    deaf: bool,
    /// Connections refused since the log said so.
    refused: u64,
    /// By the number of the face in the node.
    links: Vec<Option<Link>>,
    by_id: BTreeMap<u64, FaceId>,
    by_peer: HashMap<(usize, SocketAddr), FaceId>,
    next_id: u64,
    /// Faces that came by themselves.
    peers: usize,
    management: Option<Management>,
    /// The face of the management.
    inside: FaceId,
    /// How commands want the content store.
    cs: CsSettings,
    /// Frames for the management.
    requests: VecDeque<Vec<u8>>,
    /// What happened to faces since the management heard of it.
    face_events: VecDeque<(FaceEventKind, FaceStatus)>,
    stop: UnixStream,
    reload: UnixStream,
    metrics: Option<exporter::Exporter>,
    totals: metrics::Totals,
    next_housekeeping: Time,
    ready: Vec<Ready>,
    buffer: Vec<u8>,
    frames: Frames,
    /// Faces and ports that something was sent on since the last flush.
    touched: Vec<FaceId>,
    touched_ports: Vec<usize>,
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
            scheme: &config.scheme,
            pit_limit: config.pit,
            cache: config.cache,
            memory: config.memory,
            fragments: config.fragments,
            prefixes: config.prefixes,
            max_lifetime: config.max_lifetime,
        })
        .map_err(ConfigError::new)?;
        let poll = Poll::new()?;
        let stop = signals(&[signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT])?;
        let reload = signals(&[signal_hook::consts::SIGHUP])?;
        poll.sources().add(&stop, key::STOP)?;
        poll.sources().add(&reload, key::RELOAD)?;
        let metrics = config.metrics.map(exporter::Exporter::open).transpose();
        let metrics = metrics.map_err(|error| RunError::Socket { what: "metrics".into(), error, remedy: TAKEN })?;
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
            deaf: false,
            refused: 0,
            links: Vec::new(),
            by_id: BTreeMap::new(),
            by_peer: HashMap::new(),
            next_id: FIRST_ID,
            peers: 0,
            management: Some(Management::new(config.authority.clone(), Moment { now, unix: clock.unix() })),
            inside: FaceId::NONE,
            cs: CsSettings { capacity: config.cache, admits: true, serves: true },
            requests: VecDeque::new(),
            face_events: VecDeque::new(),
            stop,
            reload,
            metrics,
            totals: metrics::Totals::default(),
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
        let fail = |what: String| move |error| RunError::Socket { what, error, remedy: TAKEN };
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
            let listener = open_unix(path).map_err(fail(format!("unix {}", path.display())))?;
            listener.set_nonblocking(true)?;
            tracing::info!(path = %path.display(), "listening on unix");
            self.poll.sources().add(&listener, key::LISTENER + self.listeners.len())?;
            self.listeners.push(Listener::Unix(listener, path.clone()));
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
    pub fn run(&mut self) -> Result<Wish, RunError> {
        loop {
            if let Some(wish) = self.run_until(Time::NEVER)? {
                return Ok(wish);
            }
        }
    }

    /// Runs until somebody wishes something, or until an instant.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn run_until(&mut self, end: Time) -> Result<Option<Wish>, RunError> {
        loop {
            let due = self.forwarder.poll_timeout().min(self.next_housekeeping).min(end);
            self.poll.wait(self.clock.until(due), &mut self.ready)?;
            let ready = std::mem::take(&mut self.ready);
            let wish = ready.iter().find_map(|&event| self.on_event(event));
            self.ready = ready;
            let now = self.clock.now();
            if self.forwarder.poll_timeout() <= now {
                self.forwarder.handle_timeout(now);
            }
            if self.next_housekeeping <= now {
                self.next_housekeeping = now + HOUSEKEEPING;
                self.keep_house(now);
            }
            self.send_all(now);
            self.manage(now);
            if wish.is_some() || end <= now {
                return Ok(wish);
            }
        }
    }

    fn on_event(&mut self, Ready { key, readable, writable }: Ready) -> Option<Wish> {
        match key {
            key::STOP | key::RELOAD => {
                let (socket, wish) = match key {
                    key::STOP => (&mut self.stop, Wish::Stop),
                    _ => (&mut self.reload, Wish::Reload),
                };
                let mut waste = [0; 64];
                while socket.read(&mut waste).is_ok_and(|read| read == waste.len()) {}
                return Some(wish);
            }
            key if key >= key::STREAM => self.on_stream(FaceId((key - key::STREAM) as u16), readable, writable),
            key if key >= key::LISTENER => self.on_listener(key - key::LISTENER),
            port => self.on_port(port, readable, writable),
        }
        None
    }

    /// Takes over what another configuration says about faces, routes, strategies and regions. The rest of the scheme, the
    /// sizes of tables and the addresses to listen on stay as they are until the next start.
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
        self.config = Config { faces, routes, regions, ..old };
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

    fn keep_house(&mut self, now: Time) {
        let idle = self.config.idle;
        let gone = |link: &Link| link.is_on_demand() && link.is_datagram() && now.since(link.last_in) > idle;
        let gone: Vec<FaceId> = self.present().filter(|(_, link)| gone(link)).map(|(id, _)| id).collect();
        for id in gone {
            self.close(now, id, "idle");
        }
        self.forwarder.expire_fragments(now);
        self.redial(now);
        self.admit_again();
        if self.metrics.is_some() {
            let text = self.metrics_text(now);
            if let Some(metrics) = &self.metrics {
                metrics.publish(text);
            }
        }
    }

    fn present(&self) -> impl Iterator<Item = (FaceId, &Link)> {
        self.links.iter().enumerate().filter_map(|(i, link)| Some((FaceId(i as u16), link.as_ref()?)))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        for listener in &self.listeners {
            if let Listener::Unix(_, path) = listener {
                // Another process may have taken it away; then there is nothing to do.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A Unix socket at `path`, in place of one that a dead process left.
fn open_unix(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    // Applications of every user may use it, as with NFD; who may give commands is for the management to say.
    std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(listener)
}

//! A forwarder: the daemon, with its faces' counters recorded.

use super::record::{Record, Recorder, SampleTimes};
use super::{Control, Ready, RoleError, ready, scheme, when_abandoned};
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::MarkerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_net::clock::Clock;
use ndnweir_net::daemon::{Config, Daemon, DaemonRequest, FaceSpec, RouteSpec};
use ndnweir_net::face_uri::{FaceUri, IpFamily};
use ndnweir_wire::Name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What to forward.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForwarderTask {
    /// The socket for applications.
    pub socket: PathBuf,
    /// Where UDP is received; with port 0 at any free one.
    pub udp: SocketAddr,
    /// Where gNMI is served, if a controller leads the nodes; with port 0 at any free one.
    pub gnmi: Option<SocketAddr>,
    /// The scheme.
    pub scheme: Value,
    /// The content store's size in packets.
    pub cache: usize,
    /// Pending Interests at most.
    pub pit: usize,
    /// Faces to neighbours.
    pub faces: Vec<FaceTask>,
    /// Routes over them.
    pub routes: Vec<RouteTask>,
    /// Rates that change, in order of time.
    pub changes: Vec<RateTask>,
    /// Counters are recorded at this time, in nanoseconds since the origin,
    pub from: u64,
    /// and so often from then on.
    pub every: Duration,
    /// Where records go.
    pub record: PathBuf,
}

/// A face to a neighbour.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FaceTask {
    /// The near end of the link.
    pub remote: SocketAddr,
    /// The rate at which the node sends; none where the link below has the queue.
    pub rate: Option<Rate>,
    /// The neighbour's.
    pub return_rate: Option<Rate>,
    /// Packets that may wait, or bytes.
    pub queue_packets: Option<u32>,
    /// Bytes that may wait, if they are counted.
    pub queue_bytes: Option<Bytes>,
    /// The largest datagram; none sends packets whole.
    pub mtu: Option<usize>,
    /// A marker in place of the scheme's.
    pub marker: Option<ComponentChoice<MarkerParams>>,
}

/// A rate that changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RateTask {
    /// When, in nanoseconds since the origin.
    pub at: u64,
    /// The face's place in the task.
    pub face: usize,
    /// The rate at which the node sends from then on.
    pub rate: Option<Rate>,
    /// The neighbour's.
    pub return_rate: Option<Rate>,
}

/// A next hop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RouteTask {
    /// The prefix.
    pub prefix: String,
    /// The face's place in the task.
    pub face: usize,
    /// Its cost.
    pub cost: u32,
}

/// A datagram on loopback may be this long: links in a scenario that have no MTU carry packets whole.
const MTU: usize = 9000;

fn uri(remote: SocketAddr) -> FaceUri {
    FaceUri::Udp(IpFamily::V4, remote.ip().to_string(), remote.port())
}

fn config(task: &ForwarderTask) -> Result<Config, RoleError> {
    let mut config = Config {
        scheme: scheme(&task.scheme)?,
        unix: Some(task.socket.clone()),
        udp: vec![task.udp],
        cache: task.cache,
        pit: task.pit,
        // Losses of simulated links are not retransmitted.
        reliability: false,
        ..Config::default()
    };
    for face in &task.faces {
        let queue = match (face.queue_packets, face.queue_bytes) {
            (Some(packets), _) => Limit::Packets(packets),
            (None, Some(bytes)) => Limit::Bytes(bytes),
            (None, None) => Limit::Bytes(Bytes::new(1 << 20)),
        };
        let (rate, return_rate, marker) = (face.rate, face.return_rate, face.marker.clone());
        let spec = FaceSpec::new(uri(face.remote));
        config.faces.push(FaceSpec {
            rate,
            return_rate,
            queue,
            marker,
            mtu: face.mtu.unwrap_or(MTU),
            reliability: false,
            ..spec
        });
    }
    for route in &task.routes {
        let Some(face) = task.faces.get(route.face) else { continue };
        let prefix = route.prefix.parse().map_err(RoleError::new)?;
        config.routes.push(RouteSpec::new(prefix, uri(face.remote), route.cost));
    }
    Ok(config)
}

pub(super) fn run(task: &ForwarderTask, origin: u64, control: Option<Control>) -> Result<(), RoleError> {
    let mut recorder = Recorder::create(&task.record).map_err(RoleError::new)?;
    let mut daemon = Daemon::new(config(task)?).map_err(RoleError::new)?;
    let clock = Clock::since(origin);
    daemon.set_clock(clock);
    let loopback = |address: &SocketAddr| address.ip() == Ipv4Addr::LOCALHOST;
    let udp = daemon.udp_addresses().find(loopback);
    when_abandoned(|| {
        // The daemon ends as it does for the signal; if that fails, the process has no parent any more.
        if signal_hook::low_level::raise(signal_hook::consts::SIGTERM).is_err() {
            std::process::exit(1);
        }
    });
    let serve = |listen: SocketAddr| match control {
        Some(control) => (control.agent)(&mut daemon, listen).map_err(RoleError::new),
        None => Err(RoleError::new("this program has no gNMI")),
    };
    let gnmi = task.gnmi.map(serve).transpose()?;
    ready(&Ready { udp, gnmi })?;
    let names: Vec<Name> = prefixes(task).iter().filter_map(|prefix| prefix.parse().ok()).collect();
    let mut cheapest: Vec<Option<FaceUri>> = vec![None; names.len()];
    let mut changes = task.changes.iter().peekable();
    let mut grid = SampleTimes::new(Time::from_nanos(task.from), task.every, clock.now());
    loop {
        let change = changes.peek().map_or(Time::NEVER, |change| Time::from_nanos(change.at));
        let request = daemon.run_until(grid.next().min(change)).map_err(RoleError::new)?;
        let now = clock.now();
        while let Some(change) = changes.next_if(|change| Time::from_nanos(change.at) <= now) {
            let Some(face) = task.faces.get(change.face) else { continue };
            daemon.set_rates(&uri(face.remote), change.rate, change.return_rate);
        }
        if let Some(at) = grid.reached(now) {
            record(&mut daemon, task, &names, at, &mut recorder).map_err(RoleError::new)?;
            switches(&daemon, &names, at, &mut cheapest, &mut recorder).map_err(RoleError::new)?;
            // Each time, as the process may be killed.
            recorder.flush().map_err(RoleError::new)?;
        }
        if request == Some(DaemonRequest::Stop) {
            record(&mut daemon, task, &names, now, &mut recorder).map_err(RoleError::new)?;
            let problem = check_accounting(&mut daemon, task).err();
            recorder.add(&Record::Accounting { at: now.nanos(), problem }).map_err(RoleError::new)?;
            return recorder.flush().map_err(RoleError::new);
        }
    }
}

/// Records what the faces count and where the strategy sends.
fn record(
    daemon: &mut Daemon,
    task: &ForwarderTask,
    prefixes: &[Name],
    at: Time,
    recorder: &mut Recorder,
) -> io::Result<()> {
    for (place, face) in task.faces.iter().enumerate() {
        if let Some((link, egress)) = daemon.face_counters(&uri(face.remote)) {
            let (arrived, counters) = (link.packets_in(), Box::new(egress));
            recorder.add(&Record::Face { at: at.nanos(), face: place, counters, arrived })?;
        }
    }
    for (place, prefix) in prefixes.iter().enumerate() {
        for (to, share) in daemon.shares(prefix.as_view()) {
            let Some(face) = task.faces.iter().position(|face| uri(face.remote) == to) else { continue };
            recorder.add(&Record::Share { at: at.nanos(), prefix: place, face, share })?;
        }
    }
    Ok(())
}

/// Records for which prefixes another next hop has become the cheapest.
fn switches(
    daemon: &Daemon,
    prefixes: &[Name],
    at: Time,
    cheapest: &mut [Option<FaceUri>],
    recorder: &mut Recorder,
) -> io::Result<()> {
    for (prefix, before) in prefixes.iter().zip(cheapest) {
        let now = daemon.cheapest(prefix.as_view());
        if before.is_some() && now.is_some() && *before != now {
            recorder.add(&Record::Switch { at: at.nanos(), prefix: prefix.to_string() })?;
        }
        *before = now;
    }
    Ok(())
}

/// Whether every Interest that arrived was answered, rejected, dropped and counted, or is pending, and every packet for
/// a face was sent, dropped and counted, or waits.
fn check_accounting(daemon: &mut Daemon, task: &ForwarderTask) -> Result<(), String> {
    daemon.node_counters().check().map_err(|what| what.to_string())?;
    for (place, face) in task.faces.iter().enumerate() {
        if let Some((_, egress)) = daemon.face_counters(&uri(face.remote)) {
            egress.check().map_err(|what| format!("face {place}: {what}"))?;
        }
    }
    Ok(())
}

/// The prefixes that routes lead to, in order of first appearance.
pub fn prefixes(task: &ForwarderTask) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for route in &task.routes {
        if !found.contains(&route.prefix) {
            found.push(route.prefix.clone());
        }
    }
    found
}

//! How many routers one controller leads: a load of routers on loopback, in squares of four, each with a signal a second.
//!
//! `cargo test --release -p ndnweir-control --test scale -- --ignored --nocapture` with `NDNWEIR`, the command's whole path, and
//! `ROUTERS`, their number (a multiple of 4).

use ndnweir_control::proto::gnmi::g_nmi_server::{GNmi, GNmiServer};
use ndnweir_control::proto::gnmi::{
    CapabilityRequest, CapabilityResponse, GetRequest, GetResponse, Notification, Path, PathElem, ScalarArray,
    SetRequest, SetResponse, SubscribeRequest, SubscribeResponse, TypedValue, Update, subscribe_response::Response,
    typed_value::Value,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Status, Streaming};

const PERIOD: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(15);
/// Neighbours of the routers of a square; 0 is beside the consumer, 3 beside the producer.
const NEIGHBOURS: [[usize; 2]; 4] = [[1, 2], [0, 3], [0, 3], [1, 2]];

/// Four routers: which way Data take, and the signal that waits for its order.
#[derive(Default)]
struct Square {
    by_second: bool,
    signal: Option<Instant>,
}

#[derive(Clone)]
struct Router {
    square: usize,
    role: usize,
    shared: Arc<Mutex<Square>>,
    latencies: Arc<Mutex<Vec<Duration>>>,
    reported: broadcast::Sender<Notification>,
}

fn path(text: &str) -> Path {
    let elem = text.split('/').filter(|part| !part.is_empty()).map(|part| {
        let (name, key) = part.split_once('[').unwrap_or((part, ""));
        let key = key.strip_suffix(']').map(|key| ("key".to_owned(), key.replace('|', "/"))).into_iter().collect();
        PathElem { name: name.to_owned(), key }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

fn notification(place: &str, leaves: Vec<(String, Value)>) -> Notification {
    let update = leaves.into_iter().map(|(at, value)| {
        let val = Some(TypedValue { value: Some(value) });
        Update { path: Some(path(&at)), val, ..Update::default() }
    });
    Notification { prefix: Some(path(place)), update: update.collect(), ..Notification::default() }
}

fn text(text: String) -> Value {
    Value::StringVal(text)
}

impl Router {
    fn uri(&self, role: usize) -> String {
        format!("udp4://{}:{role}", self.square)
    }

    fn entry(&self, costs: &BTreeMap<usize, u64>) -> Notification {
        let leaves = costs.iter().flat_map(|(face, cost)| {
            ["cost", "route-cost"].map(|leaf| (format!("next-hop[{face}]/state/{leaf}"), Value::UintVal(*cost)))
        });
        // The costs of routes stay.
        let leaves = leaves.filter(|(at, _)| at.ends_with("/cost") || costs.values().all(|cost| *cost < 9));
        notification(&format!("/ndn/fib/entry[|p{}]", self.square), leaves.collect())
    }

    fn all(&self) -> Vec<Notification> {
        let element = vec![TypedValue { value: Some(text(self.uri(self.role))) }];
        let listen = vec![("listen".to_owned(), Value::LeaflistVal(ScalarArray { element }))];
        let mut all = vec![notification("/ndn/router/state", listen)];
        for face in NEIGHBOURS[self.role] {
            let leaves = [("remote-uri", self.uri(face)), ("oper-status", "UP".into())];
            let mut leaves: Vec<_> = leaves.into_iter().map(|(at, value)| (at.to_owned(), text(value))).collect();
            leaves.push(("rate".into(), Value::UintVal(10_000_000)));
            all.push(notification(&format!("/ndn/faces/face[{face}]/state"), leaves));
        }
        let costs: &[(usize, u64)] = [&[(1, 0), (2, 5)][..], &[(3, 0)], &[(3, 0)], &[(9, 0)]][self.role];
        all.push(self.entry(&costs.iter().copied().collect()));
        all
    }

    fn samples(&self) -> Vec<Notification> {
        let busy = 1 + usize::from(self.shared.lock().unwrap().by_second);
        let sample = |face: usize| {
            let used = if self.role == 3 && face == busy { 0.95 } else { 0.1 };
            let leaves = [("utilization", used), ("occupancy", 0.2)];
            let leaves = leaves.map(|(at, value)| (at.to_owned(), Value::DoubleVal(value)));
            notification(&format!("/ndn/faces/face[{face}]/state"), leaves.into())
        };
        NEIGHBOURS[self.role].into_iter().map(sample).collect()
    }

    /// The router beside the producer finds its busy link above the threshold.
    fn signal(&self, count: u64) -> Option<Notification> {
        let mut square = self.shared.lock().unwrap();
        let busy = 1 + usize::from(square.by_second);
        (self.role == 3).then(|| {
            square.signal = Some(Instant::now());
            let leaves = vec![("signals".to_owned(), Value::UintVal(count))];
            notification(&format!("/ndn/faces/face[{busy}]/state"), leaves)
        })
    }

    async fn live(self) {
        // Routers do not report all at once.
        tokio::time::sleep(Duration::from_millis((self.square * 37 + self.role * 11) as u64 % 500)).await;
        let mut ticks = tokio::time::interval(PERIOD);
        for count in 1_u64.. {
            ticks.tick().await;
            for sample in self.samples() {
                let _ = self.reported.send(sample);
            }
            if count % 2 == 0
                && let Some(signal) = self.signal(count)
            {
                let _ = self.reported.send(signal);
            }
        }
    }
}

#[tonic::async_trait]
impl GNmi for Router {
    async fn capabilities(&self, _: Request<CapabilityRequest>) -> Result<tonic::Response<CapabilityResponse>, Status> {
        Err(Status::unimplemented("not played"))
    }

    async fn get(&self, _: Request<GetRequest>) -> Result<tonic::Response<GetResponse>, Status> {
        Err(Status::unimplemented("not played"))
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<tonic::Response<SetResponse>, Status> {
        let updates = request.into_inner().update;
        if updates.is_empty() {
            // It only says who leads.
            return Ok(tonic::Response::new(SetResponse::default()));
        }
        let mut costs = BTreeMap::new();
        for update in updates {
            let Some(Value::UintVal(cost)) = update.val.and_then(|val| val.value) else { continue };
            let face = update.path.unwrap_or_default().elem[3].key["face"].parse().unwrap();
            costs.insert(face, cost);
        }
        let mut square = self.shared.lock().unwrap();
        let best = *costs.iter().min_by_key(|(_, cost)| **cost).unwrap().0 == 2;
        if best != square.by_second {
            square.by_second = best;
            self.latencies.lock().unwrap().extend(square.signal.take().map(|at| at.elapsed()));
        }
        drop(square);
        let _ = self.reported.send(self.entry(&costs));
        Ok(tonic::Response::new(SetResponse::default()))
    }

    type SubscribeStream = ReceiverStream<Result<SubscribeResponse, Status>>;

    async fn subscribe(
        &self,
        _: Request<Streaming<SubscribeRequest>>,
    ) -> Result<tonic::Response<Self::SubscribeStream>, Status> {
        let (send, receive) = mpsc::channel(64);
        let (mut reported, initial) = (self.reported.subscribe(), self.all());
        tokio::spawn(async move {
            let wrap = |response| Ok(SubscribeResponse { response: Some(response), ..SubscribeResponse::default() });
            for notification in initial {
                let _ = send.send(wrap(Response::Update(notification))).await;
            }
            let _ = send.send(wrap(Response::SyncResponse(true))).await;
            while let Ok(notification) = reported.recv().await {
                if send.send(wrap(Response::Update(notification))).await.is_err() {
                    return;
                }
            }
        });
        Ok(tonic::Response::new(ReceiverStream::new(receive)))
    }
}

/// CPU time in clock ticks, and the resident and highest resident memory in kB, of a process.
fn usage(process: u32) -> (u64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap().split_whitespace().nth(1).unwrap();
    (after[11].parse::<u64>().unwrap() + after[12].parse::<u64>().unwrap(), peak.parse().unwrap())
}

#[tokio::test]
#[ignore = "a measurement: NDNWEIR=target/release/ndnweir ROUTERS=100"]
async fn one_controller_leads_many_routers() {
    let command = std::env::var("NDNWEIR").expect("NDNWEIR=path of the command");
    let count: usize = std::env::var("ROUTERS").map_or(100, |text| text.parse().unwrap());
    let latencies = Arc::<Mutex<Vec<Duration>>>::default();
    // Only signals switch, so that what is measured is their way.
    let planner = "{ name = \"ndnsieve\", refresh-switches = false }";
    let mut config = format!("scheme = {{ base = \"ndnsieve\", planner = {planner} }}\n");
    for square in 0..count / 4 {
        let shared = Arc::<Mutex<Square>>::default();
        for role in 0..4 {
            let (reported, _) = broadcast::channel(64);
            let (shared, latencies) = (Arc::clone(&shared), Arc::clone(&latencies));
            let router = Router { square, role, shared, latencies, reported };
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            writeln!(config, "[[router]]\nname = \"{square}-{role}\"\naddress = \"{address}\"").unwrap();
            tokio::spawn(router.clone().live());
            let server = tonic::transport::Server::builder().add_service(GNmiServer::new(router));
            tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("control.toml");
    std::fs::write(&file, config).unwrap();
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let mut controller =
        std::process::Command::new(command).args(["control", "run"]).arg(&file).stderr(log).spawn().unwrap();
    tokio::time::sleep(Duration::from_secs(8)).await;
    latencies.lock().unwrap().clear();
    let (before, _) = usage(controller.id());
    tokio::time::sleep(MEASURED).await;
    let (after, peak) = usage(controller.id());
    controller.kill().unwrap();
    controller.wait().unwrap();
    let mut taken = std::mem::take(&mut *latencies.lock().unwrap());
    taken.sort_unstable();
    assert!(!taken.is_empty(), "no order came: {}", std::fs::read_to_string(dir.path().join("log")).unwrap());
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    // A clock tick is 10 ms.
    let cpu = (after - before) as f64 / 100.0 / MEASURED.as_secs_f64();
    println!(
        "{count} routers: {:.1} orders/s, {:.0} % of a core, {} MB; signal to order {:.1} ms (p50), {:.1} ms (p99)",
        taken.len() as f64 / MEASURED.as_secs_f64(),
        100.0 * cpu,
        peak / 1000,
        at(0.5),
        at(0.99)
    );
}

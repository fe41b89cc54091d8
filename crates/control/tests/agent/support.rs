//! A forwarder in a thread, its agent, and clients.

use ndnweir_control::agent::{Identity, Settings, StartError, start};
use ndnweir_control::proto::gnmi::g_nmi_client::GNmiClient;
use ndnweir_control::proto::gnmi::{Path, PathElem, SetRequest, TypedValue, Update, typed_value};
use ndnweir_core::units::Rate;
use ndnweir_net::daemon::{Config, Daemon, DaemonRequest, Handle, RouteSpec};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

pub type Client = GNmiClient<Channel>;

/// A forwarder with two faces of 10 Mbit/s, both next hops of `/a`.
pub struct Agent {
    address: SocketAddr,
    handle: Handle,
    ends: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    _dir: tempfile::TempDir,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.handle.post(|_| {});
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Agent {
    pub fn start() -> Agent {
        Agent::with("127.0.0.1:0", None, 0).unwrap()
    }

    /// With so many prefixes.
    pub fn wide(prefixes: usize) -> Agent {
        Agent::with("127.0.0.1:0", None, prefixes).unwrap()
    }

    pub fn secure(identity: Identity) -> Agent {
        Agent::with("127.0.0.1:0", Some(identity), 0).unwrap()
    }

    pub fn try_unprotected(listen: &str) -> Result<Agent, StartError> {
        Agent::with(listen, None, 0)
    }

    fn with(listen: &str, identity: Option<Identity>, prefixes: usize) -> Result<Agent, StartError> {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config { unix: Some(dir.path().join("s")), ..Config::default() };
        for port in [9, 10] {
            let uri: ndnweir_net::face_uri::FaceUri = format!("udp4://127.0.0.1:{port}").parse().unwrap();
            config.face(uri.clone()).rate = Some(Rate::from_bps(10_000_000));
            config.routes.push(RouteSpec::new("/a".parse().unwrap(), uri, 0));
        }
        let to = config.routes[0].clone();
        for i in 0..prefixes {
            config.routes.push(RouteSpec { prefix: format!("/many/{i}").parse().unwrap(), ..to.clone() });
        }
        let (send, receive) = std::sync::mpsc::channel();
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut daemon = Daemon::new(config).unwrap();
            send.send(daemon.handle().unwrap()).unwrap();
            while !end.load(Ordering::Relaxed) {
                let until = ndnweir_core::units::Time::ZERO;
                let asked: Option<DaemonRequest> = daemon.run_until(until).unwrap();
                assert_eq!(asked, None);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let handle: Handle = receive.recv().unwrap();
        let settings = Settings { listen: listen.parse().unwrap(), identity };
        let address = start(handle.clone(), &settings);
        let agent = |address| Agent { address, handle, ends, thread: Some(thread), _dir: dir };
        match address {
            Ok(address) => Ok(agent(address)),
            Err(error) => {
                drop(agent("127.0.0.1:1".parse().unwrap()));
                Err(error)
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Something of the forwarder itself.
    pub fn ask<T: Send + 'static>(&self, question: impl FnOnce(&mut Daemon) -> T + Send + 'static) -> T {
        let (send, receive) = std::sync::mpsc::channel();
        self.handle.post(move |daemon| send.send(question(daemon)).unwrap()).unwrap();
        receive.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    pub async fn client_or_error(&self) -> Result<Client, tonic::transport::Error> {
        Ok(GNmiClient::new(Endpoint::from_shared(format!("http://{}", self.address))?.connect().await?))
    }

    pub async fn client(&self) -> Client {
        self.client_or_error().await.unwrap()
    }

    /// A client with a certificate of a folder.
    pub fn secure_client(
        &self,
        authority: &std::path::Path,
        folder: &std::path::Path,
        who: &str,
    ) -> impl Future<Output = Result<Client, tonic::transport::Error>> + use<> {
        let read = |path: &std::path::Path| std::fs::read(path).unwrap();
        let key = read(&folder.join(format!("{who}-key.pem")));
        let identity = tonic::transport::Identity::from_pem(read(&folder.join(format!("{who}.pem"))), key);
        let authority = Certificate::from_pem(read(authority));
        let tls = ClientTlsConfig::new().identity(identity).ca_certificate(authority);
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address)).unwrap().tls_config(tls).unwrap();
        async move { Ok(GNmiClient::new(endpoint.connect().await?)) }
    }

    /// The faces' numbers.
    pub fn faces(&self) -> [u64; 2] {
        let report = self.ask(|daemon| daemon.report());
        [report.faces[0].status.face_id, report.faces[1].status.face_id]
    }

    /// Costs in force of `/a` by face, in the order of the faces.
    pub fn costs(&self) -> Vec<u32> {
        let fib = self.ask(|daemon| daemon.fib_report());
        let mut hops = fib[0].hops.clone();
        hops.sort_by_key(|hop| hop.face);
        hops.iter().map(|hop| hop.cost).collect()
    }
}

/// `/a/b[k=v]` as gNMI's message; `|` in a key is a slash.
pub fn path(text: &str) -> Path {
    let elem = text.split('/').filter(|part| !part.is_empty()).map(|part| {
        let (name, key) = part.split_once('[').unwrap_or((part, ""));
        let key = key.strip_suffix(']').and_then(|key| key.split_once('='));
        let key = key.map(|(key, value)| (key.to_owned(), value.replace('|', "/"))).into_iter().collect();
        PathElem { name: name.to_owned(), key }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

pub fn json_of(update: &Update) -> serde_json::Value {
    match update.val.as_ref().and_then(|val| val.value.as_ref()) {
        Some(typed_value::Value::JsonIetfVal(bytes) | typed_value::Value::JsonVal(bytes)) => {
            serde_json::from_slice(bytes).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// A cost of `/a` to be set.
pub fn cost(face: u64, cost: u64) -> Update {
    let at = format!("/ndn/fib/entry[prefix=|a]/next-hop[face={face}]/config/cost");
    let val = Some(TypedValue { value: Some(typed_value::Value::UintVal(cost)) });
    Update { path: Some(path(&at)), val, ..Update::default() }
}

pub fn set(update: Vec<Update>) -> SetRequest {
    SetRequest { update, ..SetRequest::default() }
}

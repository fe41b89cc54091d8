//! The agent's thread, its port and its certificates.

use super::Settings;
use super::entrance;
use super::room::{Bounded, Room};
use super::service::Service;
use crate::proto::gnmi::g_nmi_server::GNmiServer;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;
use tonic::transport::{Certificate, Server, ServerTlsConfig};

/// How long a connection may take for its handshake and the first frames after it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests of a connection at a time, those of subscribers among them.
const MAX_REQUESTS: usize = 64;
/// Of these, such as are worked on at a time; others go on in between.
const AT_WORK: usize = 8;
/// Bytes of the largest request.
const MAX_REQUEST: usize = 4 << 20;
/// For how long a connection may make no proof of life.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Files in PEM with which the agent proves who it is, and those of whom it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The agent's certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority that signs the certificates of controllers.
    pub clients: PathBuf,
    /// SHA-256 of the certificates that are accepted, in hexadecimal; if there are none, all of the authority's may read
    /// and none may change anything.
    pub fingerprints: Vec<String>,
}

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be used.
    #[error("gnmi: {0}: {1}")]
    Address(SocketAddr, io::Error),
    /// A file cannot be read.
    #[error("gnmi: {0}: {1}")]
    File(PathBuf, io::Error),
    /// The certificates cannot be used.
    #[error("gnmi: the certificates cannot be used: {0}; `ndnweir key certificates` makes such")]
    Certificates(String),
    /// Off loopback nobody may be trusted unproven.
    #[error("gnmi: {0} is not on loopback: give certificate, key and clients; `ndnweir key certificates` makes them")]
    Unprotected(SocketAddr),
    /// No thread.
    #[error("gnmi: {0}")]
    Thread(io::Error),
}

fn tls(identity: &Identity) -> Result<ServerTlsConfig, StartError> {
    let read = |path: &PathBuf| {
        ndnweir_files::read(path, ndnweir_files::SETTINGS).map_err(|error| StartError::File(path.clone(), error))
    };
    let own = tonic::transport::Identity::from_pem(read(&identity.certificate)?, read(&identity.key)?);
    Ok(ServerTlsConfig::new().identity(own).client_ca_root(Certificate::from_pem(read(&identity.clients)?)))
}

async fn serve(listener: TcpListener, mut server: Server, service: Service) -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (send, accepted) = tokio::sync::mpsc::channel(1);
    tokio::spawn(entrance::accept(listener, PATIENCE, send));
    let service = GNmiServer::new(service).max_decoding_message_size(MAX_REQUEST);
    let service = Bounded { service, room: Room::new() };
    let accepted = tokio_stream::wrappers::ReceiverStream::new(accepted);
    Ok(server.add_service(service).serve_with_incoming(accepted).await?)
}

/// Serves in a thread of its own; the address it listens on.
pub(super) fn start(service: Service, settings: &Settings) -> Result<SocketAddr, StartError> {
    let mut server = Server::builder()
        .concurrency_limit_per_connection(AT_WORK)
        .max_concurrent_streams(MAX_REQUESTS as u32)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .timeout(Duration::from_secs(3600 * 24 * 365));
    match &settings.identity {
        Some(identity) => {
            let failed = |error: tonic::transport::Error| {
                use std::error::Error;
                StartError::Certificates(error.source().map_or_else(|| error.to_string(), ToString::to_string))
            };
            server = server.tls_config(tls(identity)?).map_err(failed)?;
        }
        None if !settings.listen.ip().is_loopback() => return Err(StartError::Unprotected(settings.listen)),
        None => {}
    }
    let service = match &settings.identity {
        Some(identity) => service.accepting(&identity.fingerprints),
        None => service,
    };
    let address = |error| StartError::Address(settings.listen, error);
    let listener = TcpListener::bind(settings.listen).map_err(address)?;
    listener.set_nonblocking(true).map_err(address)?;
    let bound = listener.local_addr().map_err(address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Thread)?;
    let run = move || {
        if let Err(error) = runtime.block_on(serve(listener, server, service)) {
            tracing::error!(%error, "gNMI is not served any more");
        }
    };
    std::thread::Builder::new().name("gnmi".into()).spawn(run).map_err(StartError::Thread)?;
    tracing::info!(address = %bound, secure = settings.identity.is_some(), "serving gNMI");
    Ok(bound)
}

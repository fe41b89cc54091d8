//! Routers that speak NFD's management protocol (NFD, ndnd, and ndnweir's own): their lists are read each period and
//! become the notifications that a router with gNMI would send; orders become commands.
//!
//! What the protocol does not have: the lengths of queues, the rates of links (the configuration has them) and of
//! prefixes, signals as they happen, orders as one transaction, elections, and the forwarders' addresses (see
//! `docs/controller.md`).
//!
//! Source: NFD Management protocol, FaceMgmt, FibMgmt and RibMgmt.

mod orders;
mod view;

pub use view::{Lists, View};

use super::config::ManagedConfig;
use super::mirror::Mirror;
use super::session::{FIRST_PAUSE, FromRouter, Order, lost};
use ndnweir_net::face_uri::FaceUri;
use ndnweir_net::keys;
use ndnweir_net::mgmt::ControlParameters;
use ndnweir_net::remote::{Remote, RemoteError};
use ndnweir_wire::Name;
use ndnweir_wire::signature::{DigestSha256, KeyLocator, SignError, SignatureType, Signer};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tonic::Status;

/// How long each answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A key that several connections use, one after the other.
#[derive(Clone)]
pub(super) struct SharedSigner(Arc<dyn Signer + Send + Sync>);

impl Signer for SharedSigner {
    fn signature_type(&self) -> SignatureType {
        self.0.signature_type()
    }

    fn key_locator(&self) -> Option<KeyLocator<'_>> {
        self.0.key_locator()
    }

    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        self.0.sign(parts)
    }
}

/// What signs the commands.
pub(super) fn signer(config: &ManagedConfig) -> Result<SharedSigner, String> {
    let signer: Arc<dyn Signer + Send + Sync> = match &config.key {
        Some((file, name)) => keys::private(file, name.clone()).map_err(|error| error.to_string())?.into(),
        None => Arc::new(DigestSha256),
    };
    Ok(SharedSigner(signer))
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Does something with a connection in a thread that may wait.
async fn blocking<T: Send + 'static>(
    mut remote: Remote,
    job: impl FnOnce(&mut Remote) -> T + Send + 'static,
) -> Result<(Remote, T), Status> {
    let job = move || {
        let done = job(&mut remote);
        (remote, done)
    };
    tokio::task::spawn_blocking(job).await.map_err(|error| Status::internal(error.to_string()))
}

fn unreachable(error: &RemoteError) -> Status {
    match error {
        // The remedies of its message are for a command line.
        RemoteError::Connect(error) => Status::unavailable(format!("no forwarder listens there: {}", error.problem())),
        error => Status::unavailable(error.to_string()),
    }
}

/// Reads what there is.
fn lists(remote: &mut Remote) -> Result<Lists, RemoteError> {
    let at = unix_time();
    let (version, faces) = remote.versioned_list("faces", "list")?;
    Ok(Lists { at, version, faces, fib: remote.list("fib", "list")?, rib: remote.list("rib", "list")? })
}

/// Gives the commands of an order, one after the other, until one is rejected.
fn command(remote: &mut Remote, prefix: &Name, steps: &[(u64, u32)]) -> Result<(), Status> {
    for (face, cost) in steps {
        let parameters = ControlParameters {
            name: Some(prefix.clone()),
            face_id: Some(*face),
            cost: Some((*cost).into()),
            ..ControlParameters::default()
        };
        remote.command("fib", "add-nexthop", &parameters).map_err(|error| match error {
            RemoteError::Rejected(response) => Status::failed_precondition(format!(
                "{}/{face}: {} ({})",
                prefix.as_view(),
                response.text,
                response.code
            )),
            error => unreachable(&error),
        })?;
    }
    Ok(())
}

/// Keeps the connection as long as anybody listens.
pub(super) async fn keep(
    router: usize,
    uri: FaceUri,
    signer: SharedSigner,
    view: View,
    period: Duration,
    to_controller: mpsc::Sender<(usize, FromRouter)>,
    mut orders: mpsc::Receiver<Order>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let (uri, signer) = (uri.clone(), signer.clone());
        let connect = move || Remote::connect(&uri, Box::new(signer), PATIENCE);
        let why = match tokio::task::spawn_blocking(connect).await {
            Ok(Ok(remote)) => {
                let ended = serve(router, remote, view.clone(), period, &to_controller, &mut orders).await;
                match ended {
                    Ok(()) => return,
                    Err((served, status)) => {
                        if served {
                            pause = FIRST_PAUSE;
                        }
                        status
                    }
                }
            }
            Ok(Err(error)) => unreachable(&error),
            Err(error) => Status::internal(error.to_string()),
        };
        if !lost(router, &why, &mut pause, &to_controller, &mut orders).await {
            return;
        }
    }
}

/// Until the connection ends (whether lists were read, and why it ended), or the controller does.
async fn serve(
    router: usize,
    mut remote: Remote,
    mut view: View,
    period: Duration,
    to_controller: &mpsc::Sender<(usize, FromRouter)>,
    orders: &mut mpsc::Receiver<Order>,
) -> Result<(), (bool, Status)> {
    let mut served = false;
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let reported = tokio::select! {
            _ = ticks.tick() => {
                let found;
                (remote, found) = blocking(remote, lists).await.map_err(|status| (served, status))?;
                let notification = view.take(found.map_err(|error| (served, unreachable(&error)))?);
                if served {
                    FromRouter::Notification(Box::new(notification))
                } else {
                    served = true;
                    let mut mirror = Mirror::default();
                    mirror.take(&notification);
                    FromRouter::Connected(Box::new(mirror))
                }
            }
            order = orders.recv() => {
                let Some(Order { costs, given, .. }) = order else { return Ok(()) };
                let steps = match view.in_force(&costs.prefix) {
                    Some(now) if now.keys().eq(costs.costs.keys()) => orders::steps(&now, &costs.costs),
                    _ => {
                        let why = Status::failed_precondition("the router has other next hops than the order");
                        let rejected = FromRouter::Answered(costs, given, Err(why));
                        match to_controller.send((router, rejected)).await {
                            Ok(()) => continue,
                            Err(_) => return Ok(()),
                        }
                    }
                };
                let (prefix, done);
                prefix = costs.prefix.clone();
                (remote, done) = blocking(remote, move |remote| command(remote, &prefix, &steps))
                    .await
                    .map_err(|status| (served, status))?;
                let at = unix_time();
                // What was done of an order that failed half-way shows in the next list.
                view.ordered(&costs.prefix, done.is_ok().then_some(&costs.costs), at);
                FromRouter::Answered(costs, given, done.map(|()| nanos(at)))
            }
        };
        if to_controller.send((router, reported)).await.is_err() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod nfd;

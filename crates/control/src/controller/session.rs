//! The connection to one router: subscribed as long as it lasts, made again when it ends.

use super::brain::Costs;
use super::config::TlsConfig;
use super::mirror::Mirror;
use crate::proto::gnmi::g_nmi_client::GNmiClient;
use crate::proto::gnmi::{
    Encoding, Notification, Path, PathElem, SetRequest, SubscribeRequest, Subscription, SubscriptionList,
    SubscriptionMode, TypedValue, Update, subscribe_request, subscribe_response, subscription_list, typed_value,
};
use crate::proto::gnmi_ext::{Extension, MasterArbitration, Role, Uint128, extension};
use ndnweir_wire::Name;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};

/// Between attempts to connect, at first and at most.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// For how long a connection may be attempted, and a Set take.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of the largest message of a router.
pub(super) const MAX_MESSAGE: usize = 16 << 20;
/// Notifications before all present values are reported.
const MAX_INITIAL: usize = 1 << 20;

/// What comes from a router.
pub(super) enum FromRouter {
    /// Connected; all it reported at first.
    Connected(Box<Mirror>),
    /// Not connected any more.
    Lost(String),
    /// A notification since.
    Notification(Box<Notification>),
    /// What became of an order, and when it was given: when it was carried out, by the router's clock, in nanoseconds.
    Answered(Costs, Instant, Result<i64, Status>),
    /// A client with a higher election than this one was there.
    Overtaken(u64),
}

/// An order to a router.
pub(super) struct Order {
    pub(super) costs: Costs,
    pub(super) election: u64,
    /// When it was decided.
    pub(super) given: Instant,
}

/// The role of controllers of costs among gNMI's clients.
const ROLE: &str = "ndnweir-control";

pub(super) fn path(text: &str) -> Path {
    let elem = text.split('/').filter(|name| !name.is_empty());
    Path { elem: elem.map(|name| PathElem { name: name.into(), ..PathElem::default() }).collect(), ..Path::default() }
}

fn list(period: Duration) -> SubscriptionList {
    let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    let sampled = ["/ndn/faces/face/state", "/ndn/fib/entry/next-hop/state/data-rate"];
    let changing = [
        "/ndn/faces/face/state/signals",
        "/ndn/faces/face/state/remote-uri",
        "/ndn/faces/face/state/oper-status",
        "/ndn/fib/entry/next-hop/state/cost",
        "/ndn/fib/entry/next-hop/state/route-cost",
        "/ndn/router/state/listen",
    ];
    let subscription = |text: &&str, mode: SubscriptionMode, sample_interval| Subscription {
        path: Some(path(text)),
        mode: mode.into(),
        sample_interval,
        ..Subscription::default()
    };
    let samples = sampled.iter().map(|text| subscription(text, SubscriptionMode::Sample, nanos));
    let changes = changing.iter().map(|text| subscription(text, SubscriptionMode::OnChange, 0));
    SubscriptionList {
        subscription: samples.chain(changes).collect(),
        mode: subscription_list::Mode::Stream.into(),
        encoding: Encoding::Proto.into(),
        ..SubscriptionList::default()
    }
}

/// Reads the certificates once.
pub(super) fn tls(config: &TlsConfig) -> Result<ClientTlsConfig, String> {
    let read = |path: &std::path::PathBuf| {
        ndnweir_files::read(path, ndnweir_files::SETTINGS).map_err(|error| format!("{}: {error}", path.display()))
    };
    let identity = Identity::from_pem(read(&config.certificate)?, read(&config.key)?);
    Ok(ClientTlsConfig::new().identity(identity).ca_certificate(Certificate::from_pem(read(&config.authority)?)))
}

/// An endpoint of a router.
pub(super) fn endpoint(address: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, String> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).map_err(|error| error.to_string())?;
    let endpoint = endpoint
        .connect_timeout(PATIENCE)
        .http2_keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    match tls {
        Some(tls) => endpoint.tls_config(tls.clone()).map_err(|error| error.to_string()),
        None => Ok(endpoint),
    }
}

/// Why there is no connection.
pub(super) fn reason(error: &tonic::transport::Error) -> String {
    use std::error::Error;
    let source = error.source().map_or_else(String::new, |source| format!(": {source}"));
    format!("{error}{source}")
}

/// The cost of a next hop.
pub(super) fn cost_of(prefix: &Name, face: u64) -> Path {
    let mut path = path("/ndn/fib/entry/next-hop/config/cost");
    path.elem[2].key.insert("prefix".into(), prefix.to_string());
    path.elem[3].key.insert("face".into(), face.to_string());
    path
}

/// Sets the cost of a next hop.
pub(super) fn cost_update(prefix: &Name, face: u64, cost: u32) -> Update {
    let val = TypedValue { value: Some(typed_value::Value::UintVal(cost.into())) };
    Update { path: Some(cost_of(prefix, face)), val: Some(val), ..Update::default() }
}

/// A Set that changes nothing. A router rejects it if it knows a higher election; else it rejects lower ones from now on.
fn claim(election: u64) -> SetRequest {
    let election_id = Some(Uint128 { high: 0, low: election });
    let arbitration = MasterArbitration { role: Some(Role { id: ROLE.into() }), election_id };
    let extension = Extension { ext: Some(extension::Ext::MasterArbitration(arbitration)) };
    SetRequest { extension: vec![extension], ..SetRequest::default() }
}

/// The Set of one order: all costs of a prefix together.
fn set(order: &Order) -> SetRequest {
    let update = order.costs.costs.iter().map(|(face, cost)| cost_update(&order.costs.prefix, *face, *cost));
    SetRequest { update: update.collect(), ..claim(order.election) }
}

/// What a controller wants of a router.
pub(super) struct Wishes {
    /// Orders.
    pub(super) orders: mpsc::Receiver<Order>,
    /// The election with which it leads; none while it stands by.
    pub(super) election: watch::Receiver<Option<u64>>,
    /// How often the router is told it, as orders may be rare.
    pub(super) claims: Duration,
}

/// Keeps the connection as long as anybody listens.
pub(super) async fn keep(
    router: usize,
    endpoint: Endpoint,
    period: Duration,
    to_controller: mpsc::Sender<(usize, FromRouter)>,
    mut wishes: Wishes,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match endpoint.connect().await {
            Ok(channel) => {
                pause = FIRST_PAUSE;
                serve(router, channel, period, &to_controller, &mut wishes).await
            }
            Err(error) => Status::unavailable(reason(&error)),
        };
        if !lost(router, &why, &mut pause, &to_controller, &mut wishes.orders).await {
            return;
        }
    }
}

/// A connection is lost: says so, rejects what it was to carry, and pauses; whether anybody still listens.
pub(super) async fn lost(
    router: usize,
    why: &Status,
    pause: &mut Duration,
    to_controller: &mpsc::Sender<(usize, FromRouter)>,
    orders: &mut mpsc::Receiver<Order>,
) -> bool {
    while let Ok(order) = orders.try_recv() {
        let lost = Status::unavailable("the router is not connected");
        let _ = to_controller.send((router, FromRouter::Answered(order.costs, order.given, Err(lost)))).await;
    }
    if to_controller.send((router, FromRouter::Lost(why.message().to_owned()))).await.is_err() {
        return false;
    }
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(LONGEST_PAUSE);
    true
}

async fn serve(
    router: usize,
    channel: Channel,
    period: Duration,
    to_controller: &mpsc::Sender<(usize, FromRouter)>,
    Wishes { orders, election, claims }: &mut Wishes,
) -> Status {
    let mut client = GNmiClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let request = SubscribeRequest {
        request: Some(subscribe_request::Request::Subscribe(list(period))),
        ..SubscribeRequest::default()
    };
    let mut stream = match client.subscribe(tokio_stream::once(request)).await {
        Ok(response) => response.into_inner(),
        Err(status) => return status,
    };
    let mut initial = Some(Box::<Mirror>::default());
    let mut count = 0_usize;
    let mut ticks = tokio::time::interval(*claims);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let Some(election) = *election.borrow() else { continue };
                let mut request = tonic::Request::new(claim(election));
                request.set_timeout(PATIENCE);
                let answer = client.set(request).await.map_err(|status| status.code());
                if answer.as_ref().err() == Some(&Code::Unavailable) {
                    return Status::unavailable("the router does not answer");
                }
                let overtaken = answer.err() == Some(Code::PermissionDenied);
                if overtaken && to_controller.send((router, FromRouter::Overtaken(election))).await.is_err() {
                    return Status::cancelled("the controller ends");
                }
            }
            message = stream.message() => {
                let reported = match message {
                    Ok(Some(message)) => message.response,
                    Ok(None) => return Status::unavailable("the router ended the stream"),
                    Err(status) => return status,
                };
                let reported = match (reported, &mut initial) {
                    (Some(subscribe_response::Response::Update(notification)), Some(mirror)) => {
                        count += 1;
                        if count > MAX_INITIAL {
                            return Status::resource_exhausted("the router does not come to an end of its first values");
                        }
                        mirror.take(&notification);
                        continue;
                    }
                    (Some(subscribe_response::Response::Update(notification)), None) => {
                        FromRouter::Notification(Box::new(notification))
                    }
                    (Some(subscribe_response::Response::SyncResponse(_)), of) => match of.take() {
                        Some(mirror) => FromRouter::Connected(mirror),
                        None => continue,
                    },
                    _ => continue,
                };
                if to_controller.send((router, reported)).await.is_err() {
                    return Status::cancelled("the controller ends");
                }
            }
            order = orders.recv() => {
                let Some(order) = order else { return Status::cancelled("the controller ends") };
                let mut request = tonic::Request::new(set(&order));
                request.set_timeout(PATIENCE);
                let answer = client.set(request).await.map(|response| response.into_inner().timestamp);
                let unreachable = answer.as_ref().err().filter(|status| status.code() == Code::Unavailable).cloned();
                if to_controller.send((router, FromRouter::Answered(order.costs, order.given, answer))).await.is_err() {
                    return Status::cancelled("the controller ends");
                }
                if let Some(status) = unreachable {
                    return status;
                }
            }
        }
    }
}

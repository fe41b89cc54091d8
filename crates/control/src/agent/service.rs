//! The calls of gNMI.

use super::arbitration::Arbitration;
use super::commit::{Pending, Step, step};
use super::encode::{count, nanos, notifications, select, subtree};
use super::forwarder::Access;
use super::plan::encoding;
use super::room::{Account, LEAF, PATIENCE};
use super::stream::{Place, Responses, pair};
use super::subscribe;
use crate::model::path::Pattern;
use crate::model::tree::Selection;
use crate::model::{Answer, MODEL, transaction};
use crate::proto::gnmi::g_nmi_server::GNmi;
use crate::proto::gnmi::get_request::DataType;
use crate::proto::gnmi::{
    CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData, Notification, SetRequest,
    SetResponse, SubscribeRequest,
};
use crate::proto::gnmi_ext::{Commit, Extension, MasterArbitration, extension::Ext};
use ndnweir_net::daemon::Handle;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::Mutex;
use tonic::{Request, Response, Status, Streaming};

/// Streams of subscribers at a time.
const MAX_STREAMS: usize = 128;
/// Paths of one Get.
const MAX_PATHS: usize = 128;

/// What may change only one at a time.
#[derive(Default)]
struct Changing {
    arbitration: Arbitration,
    pending: Option<Pending>,
}

/// The agent.
pub(super) struct Service {
    access: Arc<Access>,
    changing: Arc<Mutex<Changing>>,
    streams: Arc<AtomicUsize>,
    clients: Clients,
}

/// Whose calls are carried out.
enum Clients {
    /// Everybody's: on loopback, where that was asked for.
    All,
    /// With a certificate of the authority, which routers have too: reading alone.
    Readers,
    /// With one of these certificates, by SHA-256.
    Listed(Vec<String>),
}

/// The extensions of a Set that are known.
fn extensions(all: &[Extension]) -> (Option<&MasterArbitration>, Option<&Commit>) {
    let mut known = (None, None);
    for extension in all {
        match &extension.ext {
            Some(Ext::MasterArbitration(arbitration)) => known.0 = Some(arbitration),
            Some(Ext::Commit(commit)) => known.1 = Some(commit),
            _ => {}
        }
    }
    known
}

/// Requests about the past, or to a depth, would be answered wrongly.
fn check_extensions(all: &[Extension]) -> Answer<()> {
    match all.iter().find(|extension| matches!(extension.ext, Some(Ext::History(_) | Ext::Depth(_)))) {
        Some(_) => Err(Status::unimplemented("extensions history and depth are not supported")),
        None => Ok(()),
    }
}

/// What a request and its answer may hold.
fn account<T>(request: &Request<T>) -> Answer<Arc<Account>> {
    request.extensions().get().cloned().ok_or_else(|| Status::internal("the request has no account"))
}

impl Service {
    pub(super) fn new(forwarder: Handle) -> Service {
        Service {
            access: Arc::new(Access::new(forwarder)),
            changing: Arc::default(),
            streams: Arc::default(),
            clients: Clients::All,
        }
    }

    /// Accepts only these certificates of those that the authority has signed; without any, all of them for reading.
    pub(super) fn accepting(mut self, fingerprints: &[String]) -> Service {
        let plain = |text: &String| text.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_lowercase();
        self.clients = match fingerprints {
            [] => Clients::Readers,
            all => Clients::Listed(all.iter().map(plain).collect()),
        };
        self
    }

    fn authorise<T>(&self, request: &Request<T>) -> Answer<()> {
        let Clients::Listed(accepted) = &self.clients else { return Ok(()) };
        let certificates = request.peer_certs();
        let own = certificates.as_ref().and_then(|chain| chain.first()).map(|certificate| {
            Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        match own {
            Some(own) if accepted.contains(&own) => Ok(()),
            Some(own) => Err(Status::permission_denied(format!("certificate {own} is not among those accepted"))),
            None => Err(Status::unauthenticated("no certificate")),
        }
    }

    fn authorise_change<T>(&self, request: &Request<T>) -> Answer<()> {
        self.authorise(request)?;
        match self.clients {
            // PermissionDenied would tell a controller that a later one leads.
            Clients::Readers => Err(Status::failed_precondition(
                "nobody may change this forwarder: its [gnmi] has no accept with the SHA-256 of a controller's certificate",
            )),
            Clients::All | Clients::Listed(_) => Ok(()),
        }
    }

    /// Takes back a commit that nobody confirms.
    fn watch(&self, id: String) {
        let (changing, access) = (Arc::clone(&self.changing), Arc::clone(&self.access));
        tokio::spawn(async move {
            loop {
                let until = match &changing.lock().await.pending {
                    Some(pending) if pending.is(&id) => pending.until,
                    _ => return,
                };
                tokio::time::sleep_until(until).await;
                let mut changing = changing.lock().await;
                let over = |pending: &Pending| pending.is(&id) && pending.until <= tokio::time::Instant::now();
                if changing.pending.as_ref().is_some_and(over)
                    && let Some(pending) = changing.pending.take()
                {
                    tracing::warn!(commit = id, "not confirmed in time: taken back");
                    if let Err(status) = access.apply(pending.back, &[]).await {
                        tracing::error!(commit = id, why = status.message(), "could not be taken back");
                    }
                    return;
                }
            }
        });
    }
}

#[tonic::async_trait]
impl GNmi for Service {
    async fn capabilities(&self, request: Request<CapabilityRequest>) -> Answer<Response<CapabilityResponse>> {
        self.authorise(&request)?;
        let (name, organization, version) = MODEL;
        let model = ModelData { name: name.into(), organization: organization.into(), version: version.into() };
        Ok(Response::new(CapabilityResponse {
            supported_models: vec![model],
            supported_encodings: [Encoding::JsonIetf, Encoding::Proto, Encoding::Json].map(Into::into).to_vec(),
            g_nmi_version: "0.10.0".into(),
            extension: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> Answer<Response<GetResponse>> {
        self.authorise(&request)?;
        let account = account(&request)?;
        let request = request.into_inner();
        check_extensions(&request.extension)?;
        let encoding = encoding(request.encoding, &request.use_models)?;
        let selection = match DataType::try_from(request.r#type) {
            Ok(DataType::All) => Selection::All,
            Ok(DataType::Config) => Selection::Config,
            Ok(DataType::State | DataType::Operational) => Selection::State,
            Err(_) => return Err(Status::invalid_argument(format!("there is no type {}", request.r#type))),
        };
        if request.path.len() > MAX_PATHS {
            return Err(Status::resource_exhausted(format!("a Get may have {MAX_PATHS} paths: use wildcards")));
        }
        let none = [crate::proto::gnmi::Path::default()];
        let paths = if request.path.is_empty() { &none[..] } else { &request.path };
        let prefix = request.prefix.as_ref();
        let patterns = paths.iter().map(|path| Pattern::read(prefix, path)).collect::<Answer<Vec<Pattern>>>()?;
        let target = prefix.map_or("", |prefix| &prefix.target);
        let snapshot = self.access.read(false).await?;
        let mut notification = Vec::new();
        for pattern in patterns {
            account.take(LEAF * count(&snapshot, &pattern, selection))?;
            // Other requests have their turn.
            tokio::task::yield_now().await;
            let before = notification.len();
            if encoding == Encoding::Proto {
                let leaves = select(&snapshot, &pattern, selection);
                notification.extend(notifications(&snapshot, &leaves, &[], encoding, 0, target));
            } else {
                let mut update = Vec::new();
                pattern.find(&snapshot.tree, &mut |path, node, schema| {
                    update.extend(subtree(path, node, schema, selection, encoding));
                });
                let about = crate::proto::gnmi::Path { target: target.to_owned(), ..Default::default() };
                let prefix = (!target.is_empty()).then_some(about);
                let timestamp = nanos(snapshot.at);
                let reported = Notification { timestamp, prefix, update, ..Notification::default() };
                notification.extend((!reported.update.is_empty()).then_some(reported));
            }
            if notification.len() == before && !pattern.is_wild() {
                return Err(Status::not_found(format!("{}: nothing is there", pattern.text())));
            }
        }
        Ok(Response::new(GetResponse { notification, ..GetResponse::default() }))
    }

    async fn set(&self, request: Request<SetRequest>) -> Answer<Response<SetResponse>> {
        self.authorise_change(&request)?;
        let request = request.into_inner();
        check_extensions(&request.extension)?;
        let (arbitration, commit) = extensions(&request.extension);
        let mut changing = self.changing.lock().await;
        changing.arbitration.check(arbitration)?;
        let step = step(commit, changing.pending.as_ref())?;
        // Controllers tell their elections each period: that needs no new values.
        let empty =
            request.delete.len() + request.replace.len() + request.update.len() + request.union_replace.len() == 0;
        let snapshot = self.access.read(empty).await?;
        let transaction = transaction::read(&request, &snapshot.tree)?;
        if !matches!(step, Step::Plain | Step::Begin(..)) && !transaction.results.is_empty() {
            return Err(Status::invalid_argument("a commit that is under way cannot be amended"));
        }
        let mut at = snapshot.at;
        match step {
            Step::Plain if empty => {}
            Step::Plain | Step::Begin(..) => {
                let count = transaction.changes.len();
                let (back, carried_out) = self.access.apply(transaction.changes, &transaction.about).await?;
                at = carried_out;
                if count > 0 {
                    tracing::info!(changes = count, "carried out a Set");
                }
                if let Step::Begin(id, wait) = step {
                    changing.pending = Some(Pending::new(id.clone(), wait, back));
                    drop(changing);
                    self.watch(id);
                }
            }
            Step::Confirm => changing.pending = None,
            Step::Cancel => {
                if let Some(pending) = changing.pending.take() {
                    (_, at) = self.access.apply(pending.back, &[]).await?;
                }
            }
            Step::Extend(wait) => {
                if let Some(pending) = &mut changing.pending {
                    pending.until = tokio::time::Instant::now() + wait;
                    let id = commit.map_or(String::new(), |commit| commit.id.clone());
                    drop(changing);
                    self.watch(id);
                }
            }
        }
        let (prefix, response, timestamp) = (request.prefix, transaction.results, nanos(at));
        Ok(Response::new(SetResponse { prefix, response, timestamp, ..SetResponse::default() }))
    }

    type SubscribeStream = Responses;

    async fn subscribe(&self, request: Request<Streaming<SubscribeRequest>>) -> Answer<Response<Responses>> {
        self.authorise(&request)?;
        let account = account(&request)?;
        let place = Place::take(&self.streams, MAX_STREAMS)?;
        let (sender, responses) = pair();
        let access = Arc::clone(&self.access);
        tokio::spawn(async move {
            subscribe::serve(request.into_inner(), access, sender, &account).await;
            drop(place);
            account.give_up_late(PATIENCE);
        });
        Ok(Response::new(responses))
    }
}

//! The server: loopback only, bounded in connections and bytes, in a thread of its own.

use crate::attach::{Attached, MAX_ATTACHED, Program};
use crate::feed::{Feed, NextEvent};
use crate::guard::{self, Guard, REPORT_POLICY};
use crate::request::RunRequest;
use crate::runs::{LiveRun, Runs};
use crate::{catalogue, connections, folders, page};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path as UrlPath, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Connections that may be streams of events.
const STREAMS: usize = 24;
/// How long a connection may take to send the head of a request, and then its body.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request's body.
const MAX_BODY: usize = 16 << 10;

/// What to serve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder with result folders, and for new ones.
    pub root: PathBuf,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// Programs to watch.
    pub attached: Vec<Attached>,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port cannot be had.
    #[error("127.0.0.1:{port}: {source}; choose another with --port")]
    Port {
        /// It.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// Too many programs.
    #[error("{0} programs to watch; at most {MAX_ATTACHED}")]
    Attached(usize),
    /// The system lacks something else.
    #[error("cannot serve a page: {0}")]
    System(io::Error),
}

/// Serves until it is dropped.
pub struct Server {
    guard: Arc<Guard>,
    runs: Arc<Runs>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    options: Options,
    guard: Arc<Guard>,
    runs: Arc<Runs>,
    attached: Vec<Program>,
    streams: Arc<Semaphore>,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(options: Options) -> Result<Server, Error> {
        if options.attached.len() > MAX_ATTACHED {
            return Err(Error::Attached(options.attached.len()));
        }
        let port = options.port;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = std::net::TcpListener::bind(address).map_err(|source| Error::Port { port, source })?;
        listener.set_nonblocking(true).map_err(Error::System)?;
        let port = listener.local_addr().map_err(Error::System)?.port();
        let guard = Guard::new(port).map_err(|e| Error::System(io::Error::other(e.to_string())))?;
        let (guard, runs) = (Arc::new(guard), Arc::new(Runs::new(options.root.clone())));
        let attached = options.attached.iter().cloned().map(Program::new).collect();
        let (guarded, streams) = (Arc::clone(&guard), Arc::new(Semaphore::new(STREAMS)));
        let shared = Arc::new(Shared { options, guard: guarded, runs: Arc::clone(&runs), attached, streams });
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::System)?;
        let serve = move || {
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => {
                        shared.attached.iter().for_each(Program::spawn);
                        let served = connections::serve(listener, router(shared), PATIENCE);
                        tokio::select! { () = served => {}, _ = ended => {} }
                    }
                    Err(error) => {
                        let _ = writeln!(std::io::stderr(), "error: the page is not served: {error}");
                    }
                }
            });
            // Files that are being read are not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("view".into()).spawn(serve).map_err(Error::System)?;
        Ok(Server { guard, runs, end: Some(end), thread: Some(thread) })
    }

    /// The address of a page, with the key.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}?key={}", self.guard.port, self.guard.key)
    }

    /// Shows a run of the command line; the path of its page.
    pub fn show(&self, run: Arc<LiveRun>) -> String {
        format!("/runs/{}", self.runs.add(run))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runs.cancel_all();
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let guard = Arc::clone(&shared.guard);
    let shell = async |State(shared): State<Arc<Shared>>| Html(page::shell(&shared.guard.key));
    let script = |text: &'static LazyLock<String>| async { ([(CONTENT_TYPE, "text/javascript")], text.as_str()) };
    Router::new()
        .route("/", get(shell))
        .route("/new", get(shell))
        .route("/runs/{id}", get(shell))
        .route("/attached", get(shell))
        .route("/assets/view.js", get(move || script(&page::SCRIPT)))
        .route("/assets/uplot.js", get(move || script(&page::PLOTTING)))
        .route("/assets/view.css", get(async || ([(CONTENT_TYPE, "text/css")], page::STYLE.as_str())))
        .route("/api/results", get(results))
        .route("/api/catalogue", get(catalogue))
        .route("/api/runs", get(async |State(shared): State<Arc<Shared>>| Json(shared.runs.describe())).post(start))
        .route("/api/runs/{id}", get(describe))
        .route("/api/runs/{id}/cancel", post(cancel))
        .route("/api/runs/{id}/events", get(run_events))
        .route("/api/attached", get(attached))
        .route("/api/attached/{at}/events", get(attached_events))
        .route("/results/{*path}", get(file))
        .fallback(async || (StatusCode::NOT_FOUND, "there is no such page\n"))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(axum::middleware::from_fn(in_time))
        .layer(axum::middleware::from_fn(connections::keep))
        .layer(axum::middleware::from_fn_with_state(guard, guard::check))
        .with_state(shared)
}

/// What a POST asks for is little: one that takes long has not sent its body.
async fn in_time(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the request did not come in time").into_response();
    tokio::time::timeout(PATIENCE, next.run(request)).await.unwrap_or_else(late)
}

/// An error in words for the page.
struct Problem(StatusCode, String);

impl Problem {
    fn new(status: StatusCode, why: impl ToString) -> Problem {
        Problem(status, why.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

/// Runs what reads files or computes beside the server.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    let unexpected = "the work ended unexpectedly; please report this";
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, unexpected);
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

async fn results(State(shared): State<Arc<Shared>>) -> Result<Json<Value>, Problem> {
    let root = shared.options.root.clone();
    let shown = root.display().to_string();
    let list = beside(move || folders::list(&root)).await?;
    Ok(Json(json!({ "root": shown, "folders": list })))
}

async fn catalogue() -> Result<Response, Problem> {
    static ALL: LazyLock<Value> = LazyLock::new(catalogue::catalogue);
    Ok(beside(|| Json(&*ALL)).await?.into_response())
}

async fn start(State(shared): State<Arc<Shared>>, body: String) -> Result<Response, Problem> {
    let wrong = |why: String| Problem::new(StatusCode::BAD_REQUEST, why);
    let request: RunRequest =
        serde_json::from_str(&body).map_err(|error| wrong(format!("no request for a run: {error}")))?;
    let runs = Arc::clone(&shared.runs);
    let started = beside(move || request.check().map(|checked| runs.start(checked))).await?.map_err(wrong)?;
    let id = started.map_err(|busy| Problem::new(StatusCode::TOO_MANY_REQUESTS, busy))?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))).into_response())
}

fn of_run(shared: &Shared, id: &str) -> Result<Arc<LiveRun>, Problem> {
    let run = id.parse().ok().and_then(|id| shared.runs.get(id));
    run.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "there is no such run any more"))
}

async fn describe(State(shared): State<Arc<Shared>>, UrlPath(id): UrlPath<String>) -> Result<Json<Value>, Problem> {
    Ok(Json(of_run(&shared, &id)?.describe()))
}

async fn cancel(State(shared): State<Arc<Shared>>, UrlPath(id): UrlPath<String>) -> Result<Json<Value>, Problem> {
    of_run(&shared, &id)?.cancel();
    Ok(Json(json!({})))
}

async fn run_events(
    State(shared): State<Arc<Shared>>,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = of_run(&shared, &id)?;
    events(&shared, run, |run| &run.feed, &headers)
}

async fn attached(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(shared.attached.iter().map(Program::describe).collect())
}

async fn attached_events(
    State(shared): State<Arc<Shared>>,
    UrlPath(at): UrlPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let watched = at.parse().ok().and_then(|at: usize| shared.attached.get(at));
    let watched = watched.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "there is no such program"))?;
    events(&shared, Arc::clone(&watched.feed), |feed| feed, &headers)
}

/// What a stream of events holds on to.
struct Reader<T> {
    of: T,
    next: u64,
    _room: OwnedSemaphorePermit,
}

/// A feed as server-sent events, from the first one on, or after the one that the reader had last.
fn events<T: Send + Sync + 'static>(
    shared: &Shared,
    of: T,
    feed_of: fn(&T) -> &Feed,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let full = |_| format!("{STREAMS} pages follow events already; close one");
    let room = Arc::clone(&shared.streams).try_acquire_owned();
    let room = room.map_err(|e| Problem::new(StatusCode::SERVICE_UNAVAILABLE, full(e)))?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<u64>().ok());
    let reader = Reader { of, next: last.map_or(0, |last| last.saturating_add(1)), _room: room };
    let stream = futures_util::stream::unfold(reader, move |mut reader| async move {
        let mut changes = feed_of(&reader.of).changes();
        loop {
            match feed_of(&reader.of).get(reader.next) {
                NextEvent::Event(number, line) => {
                    reader.next = number + 1;
                    let event = Event::default().id(number.to_string()).data(&*line);
                    return Some((Ok::<_, Infallible>(event), reader));
                }
                NextEvent::End => return None,
                NextEvent::Wait => changes.changed().await.ok()?,
            }
        }
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

async fn file(State(shared): State<Arc<Shared>>, UrlPath(path): UrlPath<String>) -> Result<Response, Problem> {
    let root = shared.options.root.clone();
    let Some((kind, bytes)) = beside(move || folders::file(&root, &path)).await? else {
        return Ok((StatusCode::NOT_FOUND, "there is no such file in a result folder\n").into_response());
    };
    let mut response = ([(CONTENT_TYPE, kind)], bytes).into_response();
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    Ok(response)
}

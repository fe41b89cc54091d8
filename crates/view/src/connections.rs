//! The connections that the server has open, and which of them are closed for others.

use axum::Router;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Connections at a time; for more, the oldest are closed on which nobody has shown the key.
const CONNECTIONS: usize = 64;

/// Connections on which nobody has shown the key, the oldest first.
#[derive(Clone, Default)]
struct Strangers(Arc<Mutex<BTreeMap<u64, AbortHandle>>>);

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them, as long as it is.
struct Stranger {
    number: u64,
    all: Strangers,
}

impl Stranger {
    fn is_known(&self) {
        self.all.lock().remove(&self.number);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.is_known();
    }
}

/// Called for requests that have shown the key: their connections stay.
pub(crate) async fn keep(request: Request, next: Next) -> Response {
    if let Some(stranger) = request.extensions().get::<Arc<Stranger>>() {
        stranger.is_known();
    }
    next.run(request).await
}

/// Accepts connections, each with so much time for the head of a request. Whoever has the key is not kept out by those
/// without.
pub(crate) async fn serve(listener: TcpListener, router: Router, patience: Duration) {
    let (room, strangers) = (Arc::new(Semaphore::new(CONNECTIONS)), Strangers::default());
    let service = TowerToHyperService::new(router);
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors: those of others are released.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if room.available_permits() == 0
            && let Some((_, oldest)) = strangers.lock().pop_first()
        {
            oldest.abort();
        }
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (service, stranger) = (service.clone(), Arc::new(Stranger { number, all: strangers.clone() }));
        let task = tokio::spawn(async move {
            let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
                request.extensions_mut().insert(Arc::clone(&stranger));
                service.call(request)
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(64 << 10);
            // A reader that goes away is no error.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            drop(permit);
        });
        // It has not begun: nothing was awaited since.
        strangers.lock().insert(number, task.abort_handle());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{self, Guard};
    use axum::routing::get;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// Far beyond what a loaded machine needs.
    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn whoever_has_the_key_is_answered_while_others_hold_more_connections_than_there_is_room_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let guard = Arc::new(Guard::new(port).unwrap());
        let router = Router::new()
            .route("/", get(async || "page"))
            .layer(axum::middleware::from_fn(keep))
            .layer(axum::middleware::from_fn_with_state(Arc::clone(&guard), guard::check));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { serve(TcpListener::from_std(listener).unwrap(), router, LONG).await });
        });
        let connect = || {
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream
        };
        let ask = |mut stream: &TcpStream, key: &str| {
            write!(stream, "GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncookie: ndnweir-{port}={key}\r\n\r\n").unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).unwrap();
            String::from_utf8_lossy(&head).into_owned()
        };
        let mine = connect();
        assert_eq!(ask(&mine, &guard.key), "HTTP/1.1 200");
        // Silent ones, and ones with another key.
        let mut others: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect()).collect();
        for _ in 0..CONNECTIONS {
            let stream = connect();
            assert!(!ask(&stream, "guessed").ends_with("200"));
            others.push(stream);
        }
        assert_eq!(ask(&connect(), &guard.key), "HTTP/1.1 200");
        // What was known is still there.
        let mut rest = [0; 65_536];
        let _ = (&mine).read(&mut rest).unwrap();
        assert_eq!(ask(&mine, &guard.key), "HTTP/1.1 200");
    }
}

//! The forwarder as the agent reads and changes it.

use crate::model::Answer;
use crate::model::router;
use crate::model::tree::Node;
use ndnweir_net::daemon::changes::{Change, Obstacle, Rejected};
use ndnweir_net::daemon::telemetry::{EntryReport, RouterReport};
use ndnweir_net::daemon::{Daemon, Handle, Unreachable};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot};
use tokio::time::Instant;
use tonic::Status;

/// The forwarder is not read more often than this, however many ask.
pub(super) const LEAST_SPACING: Duration = Duration::from_millis(20);
/// It is read for at most this part of its time.
const SHARE: u32 = 20;

/// A forwarder at an instant.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Since 1970.
    pub(super) at: Duration,
    pub(super) tree: Node,
}

#[derive(Default)]
struct Known {
    snapshot: Option<(Instant, Arc<Snapshot>)>,
    fib: Arc<Vec<EntryReport>>,
    version: Option<u64>,
    /// How long the forwarder was busy being read.
    cost: Duration,
}

/// Reads and changes a forwarder.
pub(super) struct Access {
    handle: Handle,
    known: Mutex<Known>,
}

fn unreachable(why: Unreachable) -> Status {
    Status::unavailable(why.to_string())
}

impl Access {
    pub(super) fn new(handle: Handle) -> Access {
        Access { handle, known: Mutex::default() }
    }

    async fn ask<T: Send + 'static>(&self, job: impl FnOnce(&mut Daemon) -> T + Send + 'static) -> Answer<T> {
        let (send, answer) = oneshot::channel();
        let job = move |daemon: &mut Daemon| drop(send.send(job(daemon)));
        self.handle.post(job).map_err(unreachable)?;
        answer.await.map_err(|_| unreachable(Unreachable::Ended))
    }

    /// The forwarder as it is, or was a moment ago.
    pub(super) async fn read(&self, may_be_old: bool) -> Answer<Arc<Snapshot>> {
        let mut known = self.known.lock().await;
        let spacing = LEAST_SPACING.max(known.cost * SHARE);
        if let Some((at, snapshot)) = known.snapshot.as_ref().filter(|_| may_be_old)
            && at.elapsed() < spacing
        {
            return Ok(Arc::clone(snapshot));
        }
        let version = known.version;
        let (report, fib, cost): (RouterReport, Option<Vec<EntryReport>>, Duration) = self
            .ask(move |daemon| {
                let start = std::time::Instant::now();
                let report = daemon.report();
                let fib = (version != Some(report.fib_version)).then(|| daemon.fib_report());
                (report, fib, start.elapsed())
            })
            .await?;
        if let Some(fib) = fib {
            (known.fib, known.version) = (Arc::new(fib), Some(report.fib_version));
        }
        known.cost = cost;
        let snapshot = Arc::new(Snapshot { at: report.at, tree: router::tree(&report, &known.fib) });
        known.snapshot = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// Carries out all changes or none; those that lead back, and when that was, since 1970. `about` says what each is
    /// for.
    pub(super) async fn apply(&self, changes: Vec<Change>, about: &[String]) -> Answer<(Vec<Change>, Duration)> {
        let (done, at) = self.ask(move |daemon| (daemon.apply(&changes), daemon.unix_time())).await?;
        self.known.lock().await.snapshot = None;
        done.map(|back| (back, at)).map_err(|Rejected { at, obstacle, text }| {
            let text = about.get(at).map_or(text.clone(), |about| format!("{about}: {text}; nothing has changed"));
            match obstacle {
                Obstacle::Missing => Status::not_found(text),
                Obstacle::Invalid => Status::invalid_argument(text),
                Obstacle::Full => Status::resource_exhausted(text),
                Obstacle::Forbidden => Status::failed_precondition(text),
            }
        })
    }
}

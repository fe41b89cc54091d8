//! A consumer: fetches an object from a given instant on, and records every segment.

use super::producer::VERSION;
use super::record::{Record, Recorder, SampleTimes};
use super::{Ready, RoleError, ready, scheme, stop_when_abandoned};
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_net::client::{Session, Waiter};
use ndnweir_net::clock::Clock;
use ndnweir_net::object::sink::NullSink;
use ndnweir_net::object::trust::Trust;
use ndnweir_net::transfer::{Download, DownloadConfig, DownloadObserver, OpenedSink};
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::{FetcherConfig, FetcherCounters};
use ndnweir_wire::{Component, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What to fetch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConsumerTask {
    /// The forwarder's socket.
    pub transport: PathBuf,
    /// The object's name, without version.
    pub object: String,
    /// Whose consumer decides.
    pub scheme: Value,
    /// The first Interest, in nanoseconds since the origin.
    pub start: u64,
    /// The end, likewise.
    pub stop: u64,
    /// InterestLifetime.
    pub lifetime: Duration,
    /// The rate of the node's fastest link, if it has one.
    pub link: Option<Rate>,
    /// Counters are recorded at this time, in nanoseconds since the origin,
    pub from: u64,
    /// and so often from then on.
    pub every: Duration,
    /// Where records go.
    pub record: PathBuf,
    /// Differs between processes.
    pub seed: u64,
    /// The consumer's number in the run.
    pub number: u32,
}

struct Witness {
    recorder: Recorder,
    failed: Option<std::io::Error>,
}

impl Witness {
    fn add(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.recorder.add(record).err();
        }
    }
}

impl DownloadObserver for Witness {
    fn arrived(&mut self, now: Time, arrival: &Arrival, _last: Option<u64>, _counters: &FetcherCounters) {
        self.add(&Record::Arrival { at: now.nanos(), arrival: *arrival });
    }
}

/// How long a consumer waits for anything: forever, as one in the simulator does.
const PATIENCE: Duration = Duration::from_millis(1_000_000_000);

pub(super) fn run(task: &ConsumerTask, origin: u64) -> Result<(), RoleError> {
    let clock = Clock::since(origin);
    let mut waiter = Waiter::new().map_err(RoleError::new)?;
    stop_when_abandoned(waiter.stop_handle());
    let uri = ndnweir_net::face_uri::FaceUri::Unix(task.transport.clone());
    let session = Session::connect(uri, &waiter, 0, task.seed).map_err(RoleError::new)?;
    let name: Name = task.object.parse().map_err(RoleError::new)?;
    let fetcher = FetcherConfig {
        seed: task.seed,
        number: task.number,
        lifetime: task.lifetime,
        // What a simulated consumer does: no pacing and no losses found before their timeout.
        ..FetcherConfig::default()
    };
    let config = DownloadConfig {
        name: name.with(Component::version(VERSION)),
        hint: Vec::new(),
        scheme: scheme(&task.scheme)?,
        trust: Trust::Any,
        patience: PATIENCE,
        fetcher,
        link: task.link,
    };
    let opener = Box::new(|_: &Name| Ok(OpenedSink::empty(Box::new(NullSink))));
    let mut download = Download::new(session, config, opener);
    let mut witness = Witness { recorder: Recorder::create(&task.record).map_err(RoleError::new)?, failed: None };
    ready(&Ready::default())?;
    let (start, stop) = (Time::from_nanos(task.start), Time::from_nanos(task.stop));
    while clock.now() < start && !waiter.stopped() {
        waiter.wait(clock.until(start)).map_err(RoleError::new)?;
    }
    let mut grid = SampleTimes::new(Time::from_nanos(task.from), task.every, start);
    let mut complete = false;
    while clock.now() < stop && !waiter.stopped() && witness.failed.is_none() {
        if !complete && download.step(&clock, &waiter, &mut witness).map_err(RoleError::new)? {
            complete = true;
            witness.add(&Record::Completed { at: clock.now().nanos() });
        }
        if let Some(at) = grid.reached(clock.now()) {
            witness.add(&Record::Consumer { at: at.nanos(), counters: download.finished().counters });
        }
        let due = if complete { stop } else { download.poll_timeout().min(stop) };
        waiter.wait(clock.until(due.min(grid.next()))).map_err(RoleError::new)?;
    }
    let at = clock.now().min(stop).nanos();
    witness.add(&Record::Consumer { at, counters: download.finished().counters });
    witness.failed.map_or(Ok(()), |error| Err(RoleError::new(error)))?;
    witness.recorder.flush().map_err(RoleError::new)
}

//! Fetching.

use super::ApplicationError;
use crate::client::{Session, Stop, Waiter, transport};
use crate::clock::{Clock, seed};
use crate::face_uri::FaceUri;
use crate::object::{Sink, SinkError, StreamSink, Trust};
use crate::transfer::download::{MAX_EARLY, Opener, run};
use crate::transfer::real_path::NOISE;
use crate::transfer::{Download, DownloadConfig, DownloadObserver, FinishedDownload, OpenedSink, real_path_scheme};
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::{FetcherConfig, FetcherCounters};
use ndnweir_wire::Name;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Segments that wait for a reader of a stream.
const UNREAD: usize = 64;
/// The scheme whose consumer fetches use unless another is named.
pub const SCHEME: &str = "weir";

/// What is counted of a fetch.
pub type Statistics = FinishedDownload;

type Progress = Box<dyn FnMut(&FetcherCounters, Option<u64>) + Send>;

/// A fetch to be made.
pub struct Get {
    name: Name,
    scheme: Option<Scheme>,
    uri: Option<FaceUri>,
    trust: Trust,
    patience: Duration,
    progress: Option<Progress>,
    waiter: Option<Waiter>,
}

/// An object in memory.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its name with version.
    pub object: Name,
    /// Its bytes.
    pub content: Vec<u8>,
    /// What was counted.
    pub statistics: Statistics,
}

impl Get {
    /// A fetch of the object of this name, its newest version unless the name ends in one: with the consumer of [`SCHEME`], any
    /// signature accepted, given up after 15 s without an answer.
    #[must_use]
    pub fn new(name: Name) -> Get {
        let (trust, patience) = (Trust::Any, Duration::from_millis(15_000));
        Get { name, scheme: None, uri: None, trust, patience, progress: None, waiter: None }
    }

    /// With the consumer of this scheme, as [`real_path_scheme`] adapts it.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn scheme(self, name: &str) -> Result<Get, ApplicationError> {
        Ok(Get { scheme: Some(real_path_scheme(name, NOISE, [])?), ..self })
    }

    /// Over this forwarder instead of this machine's.
    #[must_use]
    pub fn transport(self, uri: FaceUri) -> Get {
        Get { uri: Some(uri), ..self }
    }

    /// Accepts these signatures alone.
    #[must_use]
    pub fn trust(self, trust: Trust) -> Get {
        Get { trust, ..self }
    }

    /// Gives up after so long without any answer.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Get {
        Get { patience, ..self }
    }

    /// Calls `progress` for each segment that comes, with what is counted so far and the number of the last segment, once
    /// that is known.
    #[must_use]
    pub fn progress(self, progress: impl FnMut(&FetcherCounters, Option<u64>) + Send + 'static) -> Get {
        Get { progress: Some(Box::new(progress)), ..self }
    }

    /// What ends the fetch from another thread.
    ///
    /// # Errors
    /// If the system grants no poll.
    pub fn stop_handle(&mut self) -> Result<Stop, ApplicationError> {
        let waiter = self.waiter()?;
        Ok(self.waiter.insert(waiter).stop_handle())
    }

    /// Fetches the object into memory.
    ///
    /// # Errors
    /// [`ApplicationError`]; [`ApplicationError::Stopped`] once it was stopped.
    pub fn bytes(self) -> Result<Fetched, ApplicationError> {
        let content = SharedBytes::default();
        let (object, statistics) = self.connect()?.run(StreamSink::new(content.clone()))?;
        let content = std::mem::take(&mut *content.0.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Fetched { object, content, statistics })
    }

    /// Starts to fetch in a thread of its own; what comes is read in order. The fetch waits for a reader who is slow, and
    /// ends when the stream is dropped.
    ///
    /// # Errors
    /// If there is no forwarder.
    pub fn stream(mut self) -> Result<ObjectStream, ApplicationError> {
        let stop = self.stop_handle()?;
        // The connection's errors are those of this call.
        let connected = self.connect()?;
        let (sender, content) = sync_channel(UNREAD);
        let fetch = std::thread::spawn(move || connected.run(StreamSink::new(Sender(sender))));
        Ok(ObjectStream { content: Some(content), part: Vec::new(), at: 0, fetch: Some(fetch), stop, statistics: None })
    }

    /// Takes the waiter that can be stopped already, or a new one.
    fn waiter(&mut self) -> Result<Waiter, ApplicationError> {
        Ok(self.waiter.take().map_or_else(Waiter::new, Ok)?)
    }

    fn connect(mut self) -> Result<Connected, ApplicationError> {
        if self.name.is_empty() {
            return Err(ApplicationError::Name(self.name));
        }
        let waiter = self.waiter()?;
        let uri = self.uri.take().map_or_else(|| transport(None), Ok)?;
        let session = Session::connect(uri, &waiter, 0, seed())?;
        let scheme = match self.scheme.take() {
            Some(scheme) => scheme,
            None => real_path_scheme(SCHEME, NOISE, [])?,
        };
        Ok(Connected { get: self, session, waiter, scheme })
    }
}

/// A fetch with its connection.
struct Connected {
    get: Get,
    session: Session,
    waiter: Waiter,
    scheme: Scheme,
}

impl Connected {
    fn run(mut self, sink: impl Sink + 'static) -> Result<(Name, Statistics), ApplicationError> {
        let config = DownloadConfig {
            name: self.get.name,
            hint: Vec::new(),
            scheme: self.scheme,
            trust: self.get.trust,
            patience: self.get.patience,
            fetcher: FetcherConfig {
                seed: seed(),
                lifetime: Duration::from_millis(4000),
                loss: Some(Default::default()),
                pace: Some(1.25),
                max_window: MAX_EARLY,
                ..FetcherConfig::default()
            },
            link: None,
        };
        let opener: Opener = Box::new(move |_| Ok::<_, SinkError>(OpenedSink::empty(Box::new(sink))));
        let mut download = Download::new(self.session, config, opener);
        let mut watch = Watch { object: Name::new(), progress: self.get.progress };
        let finished = run(&mut download, &Clock::new(), &mut self.waiter, &mut watch)?;
        finished.map(|finished| (watch.object, finished)).ok_or(ApplicationError::Stopped)
    }
}

struct Watch {
    object: Name,
    progress: Option<Progress>,
}

impl DownloadObserver for Watch {
    fn found(&mut self, _now: Time, object: &Name, _stored: u64) {
        self.object = object.clone();
    }

    fn arrived(&mut self, _now: Time, _arrival: &Arrival, last: Option<u64>, counters: &FetcherCounters) {
        if let Some(progress) = &mut self.progress {
            progress(counters, last);
        }
    }
}

/// Bytes that a sink writes and its maker takes.
#[derive(Clone, Debug, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The end of a stream at which segments come in.
struct Sender(SyncSender<Vec<u8>>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An object that is read as it comes.
pub struct ObjectStream {
    content: Option<Receiver<Vec<u8>>>,
    part: Vec<u8>,
    at: usize,
    fetch: Option<JoinHandle<Result<(Name, Statistics), ApplicationError>>>,
    stop: Stop,
    statistics: Option<(Name, Statistics)>,
}

impl ObjectStream {
    /// Name and statistics of the object, once all of it has been read.
    pub fn statistics(&self) -> Option<&(Name, Statistics)> {
        self.statistics.as_ref()
    }

    /// What ends the fetch from another thread.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits so long for something to read; whether a read returns at once, with bytes, the end or an error.
    pub fn wait(&mut self, timeout: std::time::Duration) -> bool {
        if self.at < self.part.len() {
            return true;
        }
        match self.content.as_ref().map(|content| content.recv_timeout(timeout)) {
            Some(Ok(part)) => (self.part, self.at) = (part, 0),
            Some(Err(RecvTimeoutError::Timeout)) => return false,
            Some(Err(RecvTimeoutError::Disconnected)) | None => {}
        }
        true
    }
}

impl Read for ObjectStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.part.len() {
            match self.content.as_ref().map(Receiver::recv) {
                Some(Ok(part)) => (self.part, self.at) = (part, 0),
                // The fetch is over: its end is that of the stream, or its error.
                _ => match self.fetch.take().map(JoinHandle::join) {
                    Some(Ok(Ok(finished))) => self.statistics = Some(finished),
                    Some(Ok(Err(error))) => return Err(io::Error::other(error)),
                    Some(Err(_)) => return Err(io::Error::other("the fetch panicked")),
                    None => return Ok(0),
                },
            }
        }
        let count = buffer.len().min(self.part.len() - self.at);
        buffer[..count].copy_from_slice(&self.part[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl Drop for ObjectStream {
    fn drop(&mut self) {
        self.stop.stop();
        // A sender that waits for room notices.
        self.content = None;
        if let Some(fetch) = self.fetch.take() {
            let _ = fetch.join();
        }
    }
}

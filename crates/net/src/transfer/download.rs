//! The consumer: finds an object's version, fetches its segments, stores them.

use crate::client::{ConnectError, Session, SessionEvent, Waiter};
use crate::clock::Clock;
use crate::face_uri::FaceUri;
use crate::object::discovery::{Discovered, Discovery, DiscoveryError};
use crate::object::fetch::{FetchError, SegmentFetch, SegmentFetchConfig};
use crate::object::ranges::Ranges;
use crate::object::signals::Signals;
use crate::object::sink::{Sink, SinkError};
use crate::object::trust::{Trust, Verification};
use ndnweir_core::consumer::Consumer as _;
use ndnweir_core::ctx::Rng;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::{FetcherConfig, FetcherCounters};
use ndnweir_wire::{LpHeader, Name, PacketView};

/// Segments that may arrive early when they must be written in order: 4096 × 8 kB.
pub const MAX_EARLY: usize = 4096;

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is what its cause says")]
pub enum DownloadError {
    #[error("{0}")]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Discovery(#[from] DiscoveryError),
    #[error("{0}")]
    Fetch(#[from] FetchError),
    #[error("{0}")]
    Sink(#[from] SinkError),
    #[error("the connection to {0} was lost and did not come back within {1}")]
    Lost(FaceUri, Duration),
    #[error("waiting failed: {0}")]
    Wait(#[from] std::io::Error),
}

impl DownloadError {
    /// What went wrong with storing, if that was it.
    pub fn sink(&self) -> Option<&SinkError> {
        match self {
            DownloadError::Sink(error) | DownloadError::Fetch(FetchError::Sink(error)) => Some(error),
            _ => None,
        }
    }
}

/// What to download, and how.
#[derive(Clone, Debug)]
pub struct DownloadConfig {
    /// The object, with or without version.
    pub name: Name,
    /// The ForwardingHint of Interests: delegations, if the name alone is not routable.
    pub hint: Vec<Name>,
    /// The scheme whose consumer is used.
    pub scheme: Scheme,
    /// Whose signatures are accepted.
    pub trust: Trust,
    /// How long nothing may arrive, or the connection be away, before giving up.
    pub patience: Duration,
    /// How the fetcher works; its total is not used.
    pub fetcher: FetcherConfig,
    /// The rate of the host's link, where it is known, for consumers that start from it.
    pub link: Option<Rate>,
}

/// Gets the events of a download.
pub trait DownloadObserver {
    /// The object is known; this many bytes of it were stored by an earlier fetch.
    fn found(&mut self, _now: Time, _object: &Name, _stored: u64) {}
    /// A segment is requested with an Interest of so many bytes.
    fn requested(&mut self, _now: Time, _segment: u64, _bytes: u64) {}
    /// A segment arrived.
    fn arrived(&mut self, _now: Time, _arrival: &Arrival, _last: Option<u64>, _counters: &FetcherCounters) {}
    /// The connection was lost or made again.
    fn connection(&mut self, _event: &SessionEvent) {}
    /// Time passes, whether something arrives or not.
    fn waited(&mut self, _now: Time) {}
}

/// The destination of an object.
pub struct OpenedSink {
    /// Takes the segments.
    pub sink: Box<dyn Sink>,
    /// Segments that it has.
    pub had: Ranges,
    /// Bytes of these.
    pub stored: u64,
    /// The last segment, if known.
    pub last: Option<u64>,
}

impl OpenedSink {
    /// A sink that has nothing.
    pub fn empty(sink: Box<dyn Sink>) -> OpenedSink {
        OpenedSink { sink, had: Ranges::new(), stored: 0, last: None }
    }
}

/// Opens the sink once the object's versioned name is known.
pub type Opener = Box<dyn FnOnce(&Name) -> Result<OpenedSink, SinkError>>;

/// A download that is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FinishedDownload {
    /// Totals of the fetch.
    pub counters: FetcherCounters,
    /// Data rejected since they were not signed as demanded.
    pub rejected: u64,
    /// What the signatures of all segments showed at least.
    pub checked: Verification,
    /// When the first Interest for a segment was sent.
    pub started: Time,
    /// When the last segment arrived.
    pub ended: Time,
}

enum Stage {
    Searching(Box<Discovery>, Opener),
    Fetching(Box<SegmentFetch>, Box<dyn Sink>),
    Over,
}

/// The download of one object over one connection.
pub struct Download {
    session: Session,
    config: DownloadConfig,
    stage: Stage,
    nonces: Rng,
    finished: FinishedDownload,
    signals: Signals,
    lost: Option<Time>,
}

impl Download {
    /// A download over `session`.
    pub fn new(session: Session, config: DownloadConfig, opener: Opener) -> Download {
        let discovery = Discovery::new(config.name.clone(), config.trust.clone(), config.patience);
        let discovery = discovery.with_hint(config.hint.clone());
        let nonces = Rng::derive(config.fetcher.seed, &[u64::from(config.fetcher.number)]);
        let stage = Stage::Searching(Box::new(discovery), opener);
        let (finished, signals) = (FinishedDownload::default(), Signals::default());
        Download { session, config, stage, nonces, finished, signals, lost: None }
    }

    /// Does what is to do now; true once the object is complete and stored.
    ///
    /// # Errors
    /// [`DownloadError`]; the download is then over, and [`Download::save_partial`] may save what has arrived.
    pub fn step(
        &mut self,
        clock: &Clock,
        waiter: &Waiter,
        watch: &mut dyn DownloadObserver,
    ) -> Result<bool, DownloadError> {
        let now = clock.now();
        self.follow_connection(now, waiter, watch)?;
        if let (Stage::Searching(..), Some(found)) =
            (&self.stage, Discovery::from_versioned_name(self.config.name.as_view()))
        {
            self.begin(clock, found, watch)?;
        }
        self.receive(clock, watch)?;
        let now = clock.now();
        self.transmit(now, watch)?;
        self.session.flush(now);
        let Stage::Fetching(fetch, sink) = &mut self.stage else { return Ok(matches!(self.stage, Stage::Over)) };
        sink.tick(now);
        self.finished.counters = fetch.counters();
        self.finished.rejected = fetch.rejections();
        self.finished.checked = fetch.checked();
        if !fetch.is_complete() {
            return Ok(false);
        }
        self.finished.ended = now;
        if let Stage::Fetching(fetch, sink) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.signals = fetch.into_signals();
            sink.finish()?;
        }
        Ok(true)
    }

    fn follow_connection(
        &mut self,
        now: Time,
        waiter: &Waiter,
        watch: &mut dyn DownloadObserver,
    ) -> Result<(), DownloadError> {
        if let Some(event) = self.session.poll(now, waiter) {
            watch.connection(&event);
            let connected = matches!(event, SessionEvent::Reconnected);
            match &mut self.stage {
                Stage::Searching(discovery, _) => discovery.restart(),
                Stage::Fetching(fetch, _) if connected => fetch.resume(now),
                Stage::Fetching(fetch, _) => fetch.pause(now),
                Stage::Over => {}
            }
            self.lost = (!connected).then_some(now);
        }
        match self.lost {
            Some(lost) if now.since(lost) >= self.config.patience => {
                Err(DownloadError::Lost(self.session.uri().clone(), self.config.patience))
            }
            _ => Ok(()),
        }
    }

    fn receive(&mut self, clock: &Clock, watch: &mut dyn DownloadObserver) -> Result<(), DownloadError> {
        let mut result = Ok(None);
        let stage = &mut self.stage;
        self.session.receive(clock.now(), |header, packet| {
            if matches!(result, Ok(None)) {
                result = take(stage, clock.now(), header, packet, watch);
            }
        });
        match result? {
            Some(found) => self.begin(clock, found, watch),
            None => Ok(()),
        }
    }

    /// The object is known: opens the sink and starts to fetch.
    fn begin(
        &mut self,
        clock: &Clock,
        found: Discovered,
        watch: &mut dyn DownloadObserver,
    ) -> Result<(), DownloadError> {
        let Stage::Searching(_, opener) = std::mem::replace(&mut self.stage, Stage::Over) else { return Ok(()) };
        let now = clock.now();
        (self.finished.started, self.finished.ended) = (now, now);
        let object = match found {
            Discovered::Object(object) => object,
            Discovered::Whole(content) => {
                self.finished.checked = self.config.trust.weakest();
                let name = self.config.name.clone();
                let mut sink = opener(&name)?.sink;
                watch.found(now, &name, 0);
                self.finished.counters.segments = 1;
                self.finished.counters.payload_bits = content.len() as u64 * 8;
                sink.put(0, &content, Some(0))?;
                return Ok(sink.finish()?);
            }
        };
        let opened = opener(&object)?;
        // To check what an earlier fetch left may take a while.
        let now = clock.now();
        (self.finished.started, self.finished.ended) = (now, now);
        watch.found(now, &object, opened.stored);
        let mut layout = self.config.scheme.layout();
        let mut consumer = self.config.scheme.consumer(&mut layout);
        consumer.on_link(self.config.link);
        let config = SegmentFetchConfig {
            object,
            hint: self.config.hint.clone(),
            had: opened.had,
            last: opened.last,
            trust: self.config.trust.clone(),
            patience: self.config.patience,
            fetcher: self.config.fetcher.clone(),
        };
        let fetch = SegmentFetch::new(now, config, consumer, layout);
        self.stage = Stage::Fetching(Box::new(fetch), opened.sink);
        Ok(())
    }

    fn transmit(&mut self, now: Time, watch: &mut dyn DownloadObserver) -> Result<(), DownloadError> {
        if !self.session.is_connected() {
            return Ok(());
        }
        if let Stage::Fetching(fetch, _) = &mut self.stage
            && fetch.poll_timeout() <= now
        {
            fetch.handle_timeout(now)?;
        }
        while !self.session.is_congested() {
            let next = match &mut self.stage {
                Stage::Searching(discovery, _) => {
                    discovery.poll_transmit(now, self.nonces.bits())?.map(|bytes| (LpHeader::default(), bytes))
                }
                Stage::Fetching(fetch, _) => fetch.poll_transmit(now).inspect(|(_, interest)| {
                    watch.requested(now, fetch.latest_requested(), interest.len() as u64);
                }),
                Stage::Over => None,
            };
            let Some((header, interest)) = next else { break };
            self.session.send(&header, &interest);
        }
        Ok(())
    }

    /// When [`Download::step`] must be called, if nothing arrives before.
    pub fn poll_timeout(&self) -> Time {
        if let Some(lost) = self.lost {
            return self.session.poll_timeout().min(lost + self.config.patience);
        }
        let stage = match &self.stage {
            Stage::Searching(discovery, _) => discovery.poll_timeout(),
            Stage::Fetching(fetch, _) => fetch.poll_timeout(),
            Stage::Over => Time::NEVER,
        };
        stage.min(self.session.poll_timeout())
    }

    /// Ends the download early; saves what has arrived, if the sink can.
    ///
    /// # Errors
    /// [`SinkError`] if the disk fails.
    pub fn save_partial(&mut self) -> Result<(), SinkError> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Fetching(_, sink) => sink.save_partial(),
            _ => Ok(()),
        }
    }

    /// The signals of a download that is complete.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Totals and times so far.
    pub fn finished(&self) -> &FinishedDownload {
        &self.finished
    }
}

/// Hands a packet to whichever stage waits for it; the result is an object that was found.
fn take(
    stage: &mut Stage,
    now: Time,
    header: &LpHeader,
    packet: &[u8],
    watch: &mut dyn DownloadObserver,
) -> Result<Option<Discovered>, DownloadError> {
    match (PacketView::decode(packet), stage) {
        (Ok(PacketView::Data(data)), Stage::Searching(discovery, _)) => Ok(discovery.handle_data(now, &data)?),
        (Ok(PacketView::Data(data)), Stage::Fetching(fetch, sink)) => {
            if let Some(arrival) = fetch.handle_data(now, header, &data, &mut **sink)? {
                watch.arrived(now, &arrival, fetch.last_segment(), &fetch.counters());
            }
            Ok(None)
        }
        (Ok(PacketView::Interest(interest)), Stage::Searching(discovery, _)) if header.nack.is_some() => {
            discovery.handle_nack(header, &interest);
            Ok(None)
        }
        (Ok(PacketView::Interest(interest)), Stage::Fetching(fetch, _)) if header.nack.is_some() => {
            fetch.handle_nack(now, header, &interest);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// How often to check whether the user wants to stop, and to store progress, when nothing else happens.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs one download to its end; none if the user stopped it.
///
/// # Errors
/// [`DownloadError`]. What was fetched is kept for a later download, if the sink can.
pub fn run(
    download: &mut Download,
    clock: &Clock,
    waiter: &mut Waiter,
    watch: &mut dyn DownloadObserver,
) -> Result<Option<FinishedDownload>, DownloadError> {
    let result = run_until_done(download, clock, waiter, watch);
    match &result {
        Ok(Some(_)) => {}
        Ok(None) => download.save_partial()?,
        // The first error says more than one that follows from it.
        Err(_) => drop(download.save_partial()),
    }
    result
}

fn run_until_done(
    download: &mut Download,
    clock: &Clock,
    waiter: &mut Waiter,
    watch: &mut dyn DownloadObserver,
) -> Result<Option<FinishedDownload>, DownloadError> {
    while !waiter.stopped() {
        if download.step(clock, waiter, watch)? {
            return Ok(Some(*download.finished()));
        }
        let now = clock.now();
        watch.waited(now);
        let until = download.poll_timeout().min(now + POLL_INTERVAL);
        waiter.wait(clock.until(until))?;
    }
    Ok(None)
}

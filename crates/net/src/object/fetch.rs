//! Fetches the segments of one version of an object with a [`Fetcher`]: names, packets and signatures around it.

use super::naming;
use super::ranges::Ranges;
use super::signals::Signals;
use super::sink::{Sink, SinkError};
use super::trust::{Trust, Verification};
use super::wanted::Wanted;
use ndnweir_core::fields::{Field, FieldLayout};
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Duration, Time};
use ndnweir_node::fetcher::{Arrival, LossDetection};
use ndnweir_node::header::{self, LinkHeaderFields};
use ndnweir_node::{Fetcher, FetcherConfig, FetcherCounters};
use ndnweir_wire::data::content_type;
use ndnweir_wire::signature::VerifyError;
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, LpHeader, Name};
use std::collections::BTreeMap;

/// A time for people: of those above a millisecond no parts of one.
fn shown(time: Duration) -> Duration {
    const MILLISECOND: u64 = 1_000_000;
    match time.nanos() {
        nanos @ MILLISECOND.. => Duration::from_nanos(nanos - nanos % MILLISECOND),
        _ => time,
    }
}

/// Why a fetch cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nothing arrived for too long.
    #[error("no segment of {name} arrived for {}{}", shown(*.waited), if *.rejected { ": there is no route to it" } else { "" })]
    Unanswered {
        /// The versioned name.
        name: Name,
        /// How long was waited.
        waited: Duration,
        /// Whether the network answered with NoRoute.
        rejected: bool,
    },
    /// What comes for a segment is not signed as demanded, however often it is requested.
    #[error("{0}")]
    Untrusted(Box<Untrusted>),
    /// The producer answers that there is no such segment.
    #[error("the producer says that {0} does not exist")]
    Rejected(Name),
    /// FinalBlockId is not a segment number, one that cannot be, or not always the same.
    #[error("{name} names {found} as the last segment{}", .known.map_or(String::new(), |k| format!(", another named {k}")))]
    FinalBlock {
        /// The packet.
        name: Name,
        /// Its FinalBlockId.
        found: Component,
        /// The number that an earlier one had.
        known: Option<u64>,
    },
    /// A segment cannot be stored.
    #[error("{0}")]
    Sink(#[from] SinkError),
}

/// A segment for which only wrong Data came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is not signed as demanded: {problem}; {count} answers were rejected, the latest with the implicit digest \
     sha256digest={digest}. If --trust names the right key, a cache on the path holds a forged packet: have it erased \
     there (`ndnweir cs erase {name}`), fetch over another forwarder (--transport) or way (--hint), or wait until it \
     is no longer fresh; the same command continues from here"
)]
pub struct Untrusted {
    /// The packet's name.
    pub name: Name,
    /// What was wrong with the latest.
    pub problem: VerifyError,
    /// The implicit digest of the latest, in hexadecimal digits.
    pub digest: String,
    /// How many came.
    pub count: u32,
}

impl Untrusted {
    /// The `count`-th wrong Data of this name.
    pub(super) fn new(data: &DataView<'_>, problem: VerifyError, count: u32) -> Untrusted {
        let digest = data.implicit_digest().iter().map(|byte| format!("{byte:02x}")).collect();
        Untrusted { name: data.name().to_owned(), problem, digest, count }
    }

    /// How long to wait before the next Interest.
    pub(super) fn pause(&self) -> Duration {
        (FIRST_PAUSE * (1 << (self.count - 1).min(16))).min(LONGEST_PAUSE)
    }
}

/// What to fetch, and how.
#[derive(Clone, Debug)]
pub struct SegmentFetchConfig {
    /// The name that segment numbers are appended to.
    pub object: Name,
    /// The ForwardingHint of Interests: delegations, if the name alone is not routable.
    pub hint: Vec<Name>,
    /// What an earlier fetch has stored.
    pub had: Ranges,
    /// The last segment, if an earlier fetch learnt it.
    pub last: Option<u64>,
    /// Whose signatures are accepted.
    pub trust: Trust,
    /// How long nothing may arrive.
    pub patience: Duration,
    /// How the [`Fetcher`] works; `total` is set here.
    pub fetcher: FetcherConfig,
}

/// One fetch.
pub struct SegmentFetch {
    config: SegmentFetchConfig,
    fetcher: Fetcher,
    layout: FieldLayout,
    wanted: Wanted,
    last: Option<u64>,
    progressed: Time,
    arrived: bool,
    nacked: bool,
    /// Whether the first segment of all came back: those behind the last do so at the producer.
    first_nacked: bool,
    /// Segments that wait for the right Data after wrong ones, and whether the next Interest is to pass caches by; the
    /// fetcher's window bounds them.
    rejected: BTreeMap<u64, (Untrusted, bool)>,
    rejections: u64,
    checked: Verification,
    signals: Signals,
    /// The segment of the latest Interest.
    requested: u64,
}

/// This many wrong answers for one segment end the fetch. With the pauses between them that takes 3.3 s. Ours.
pub const MAX_REJECTED: u32 = 10;
/// The pause after the first of them; it doubles with each, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(1000);

/// How long a producer without a route may take to start, before anything arrived. Ours.
const WITHOUT_ROUTE: Duration = Duration::from_millis(1500);

/// Segments beyond this number cannot be distinguished by a [`Fetcher`].
const MAX_SEGMENTS: u64 = NameId::WHOLE as u64;

impl SegmentFetch {
    /// Starts a fetch at `now`; `layout` says where the consumer keeps its header fields. Loss detection gets one of its
    /// own if there is room.
    pub fn new(now: Time, config: SegmentFetchConfig, consumer: AnyConsumer, mut layout: FieldLayout) -> SegmentFetch {
        let wanted = Wanted::new(config.had.clone());
        let total = config.last.map(|last| wanted.below(last.saturating_add(1)));
        let longer_way = layout.slot(Field::LongerWay);
        let loss = config.fetcher.loss.map(|loss| LossDetection { longer_way, ..loss });
        let mut fetcher = Fetcher::new(FetcherConfig { total, loss, ..config.fetcher.clone() }, consumer);
        fetcher.start(now);
        let last = config.last;
        let strongest = if config.trust.proves_signer() { Verification::Signer } else { Verification::Digest };
        // What an earlier fetch stored was checked only as demanded.
        let checked = if last.is_none() && config.had.count() == 0 { strongest } else { config.trust.weakest() };
        SegmentFetch {
            config,
            fetcher,
            layout,
            wanted,
            last,
            progressed: now,
            arrived: false,
            nacked: false,
            first_nacked: false,
            rejected: BTreeMap::new(),
            rejections: 0,
            checked,
            signals: Signals::default(),
            requested: 0,
        }
    }

    /// Whether every segment has arrived.
    pub fn is_complete(&self) -> bool {
        self.fetcher.is_complete()
    }

    /// The number of the last segment, once it is known.
    pub fn last_segment(&self) -> Option<u64> {
        self.last
    }

    /// Totals and state of the fetcher.
    pub fn counters(&self) -> FetcherCounters {
        self.fetcher.counters()
    }

    /// The connection was lost: nothing is requested, and nothing times out.
    pub fn pause(&mut self, now: Time) {
        self.fetcher.stop(now);
    }

    /// The connection is up again.
    pub fn resume(&mut self, now: Time) {
        self.fetcher.start(now);
        self.progressed = now;
    }

    /// Takes a Data packet and stores its content; none if it answers no Interest, or is a duplicate.
    ///
    /// # Errors
    /// [`FetchError`]; the fetch is then over.
    pub fn handle_data(
        &mut self,
        now: Time,
        header: &LpHeader,
        data: &DataView<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Arrival>, FetchError> {
        let Some(segment) = naming::segment_of(self.config.object.as_view(), data.name()) else { return Ok(None) };
        let Some(index) = self.index(segment) else { return Ok(None) };
        let awaited = self.fetcher.is_outstanding(u64::from(index));
        let checked = if awaited { self.config.trust.check(data) } else { Ok(Verification::Nothing) };
        let checked = match checked {
            Ok(checked) => checked,
            Err(problem) => return self.reject(now, index, data, problem).map(|()| None),
        };
        let mut packet = self.packet(index, Kind::Data, header, data.wire().len());
        packet.payload = data.content().len() as u32;
        let arrival = self.fetcher.handle(now, &packet);
        self.record();
        let Some(mut arrival) = arrival else { return Ok(None) };
        self.signals.count(&self.layout, &packet.fields);
        let name = || data.name().to_owned();
        self.rejected.remove(&segment);
        self.checked = self.checked.min(checked);
        if data.content_type() == content_type::NACK {
            return Err(FetchError::Rejected(name()));
        }
        self.learn_last(data)?;
        sink.put_packet(segment, data, checked, self.last)?;
        (self.progressed, self.arrived, self.nacked) = (now, true, false);
        arrival.segment = segment;
        arrival.completed = self.is_complete();
        Ok(Some(arrival))
    }

    /// Wrong Data do not replace the right ones: the segment is requested again, past caches that hold what is no
    /// longer fresh, until it becomes clear that nothing else comes.
    fn reject(&mut self, now: Time, index: u32, data: &DataView<'_>, problem: VerifyError) -> Result<(), FetchError> {
        let segment = self.wanted.segment(u64::from(index));
        let count = self.rejected.get(&segment).map_or(0, |(earlier, _)| earlier.count);
        let untrusted = Untrusted::new(data, problem, count + 1);
        // One that came without an Interest, or in addition to another, is ignored and not counted.
        if !self.fetcher.reject(now, u64::from(index), untrusted.pause()) {
            return Ok(());
        }
        self.rejections += 1;
        if untrusted.count >= MAX_REJECTED {
            return Err(FetchError::Untrusted(Box::new(untrusted)));
        }
        self.rejected.insert(segment, (untrusted, true));
        Ok(())
    }

    /// How many Data were rejected because they were not signed as demanded.
    pub fn rejections(&self) -> u64 {
        self.rejections
    }

    /// What the signatures of all segments showed at least.
    pub fn checked(&self) -> Verification {
        self.checked
    }

    /// The header fields that came, and what the consumer recorded if [`FetcherConfig::trace`] is set.
    pub fn into_signals(self) -> Signals {
        self.signals
    }

    fn learn_last(&mut self, data: &DataView<'_>) -> Result<(), FetchError> {
        let Some(component) = data.final_block_id() else { return Ok(()) };
        let last = component.as_segment().filter(|last| *last < MAX_SEGMENTS);
        let consistent = self.last.is_none() || self.last == last;
        let Some(last) = last.filter(|_| consistent) else {
            let (name, found) = (data.name().to_owned(), component.to_owned());
            return Err(FetchError::FinalBlock { name, found, known: self.last });
        };
        if self.last.is_none() {
            self.last = Some(last);
            self.fetcher.limit(self.wanted.below(last + 1));
        }
        Ok(())
    }

    /// Takes a returned Interest: the latest for its segment, as only its receivers know its nonce.
    pub fn handle_nack(&mut self, now: Time, header: &LpHeader, interest: &InterestView<'_>) {
        let segment = naming::segment_of(self.config.object.as_view(), interest.name());
        let Some(index) = segment.and_then(|segment| self.index(segment)) else { return };
        let nonce = interest.nonce().map(u32::from_be_bytes);
        if nonce.is_none() || nonce != self.fetcher.latest_nonce(index.into()) {
            return;
        }
        let packet = self.packet(index, Kind::Nack, header, interest.wire().len());
        self.nacked |= packet.reason == NackReason::NoRoute;
        self.first_nacked |= packet.reason == NackReason::NoRoute && index == 0;
        self.fetcher.handle(now, &packet);
        self.record();
    }

    /// Keeps what the consumer has just recorded.
    fn record(&mut self) {
        self.fetcher.drain_trace().for_each(|event| self.signals.record(&event));
    }

    fn index(&self, segment: u64) -> Option<u32> {
        u32::try_from(self.wanted.index(segment)?).ok()
    }

    fn packet(&self, index: u32, kind: Kind, header: &LpHeader, size: usize) -> Packet {
        let link_fields = LinkHeaderFields::of_header(header, &self.layout, header::FieldTrust::Neighbour);
        let name = NameId { flow: FlowId(0), segment: index };
        let reason = link_fields.nack.unwrap_or_default();
        let (mark, fields, flags) = (
            link_fields.mark,
            link_fields.fields,
            if link_fields.link_retransmitted { flags::LINK_RETRANSMITTED } else { 0 },
        );
        Packet { name, kind, reason, size: size as u32, mark, fields, flags, ..Packet::default() }
    }

    /// The next Interest to send now, with its link header.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(LpHeader, Vec<u8>)> {
        let packet = self.fetcher.poll_transmit(now)?;
        let header = header::write(&packet, &self.layout);
        let segment = self.wanted.segment(u64::from(packet.name.segment));
        self.requested = segment;
        let name = self.config.object.clone().with(Component::segment(segment));
        // A producer whose Data are never fresh may leave such an Interest unanswered, so every other one is without.
        let fresh = self.rejected.get_mut(&segment).is_some_and(|(_, fresh)| std::mem::replace(fresh, !*fresh));
        let interest = InterestBuilder::new(name.as_view())
            .must_be_fresh(fresh)
            .forwarding_hint(self.config.hint.iter().map(Name::as_view))
            .nonce(packet.nonce.to_be_bytes())
            .lifetime(std::time::Duration::from_millis(u64::from(packet.lifetime_ms)));
        // A name with a segment is not empty, so this always encodes.
        interest.encode().ok().map(|bytes| (header, bytes))
    }

    /// The segment that the latest Interest requested.
    pub fn latest_requested(&self) -> u64 {
        self.requested
    }

    /// When the fetch is given up: soon where nothing ever arrived and the answer is NoRoute.
    fn end(&self) -> Time {
        let end = self.progressed + self.config.patience;
        if self.first_nacked && !self.arrived { end.min(self.progressed + WITHOUT_ROUTE) } else { end }
    }

    /// When [`SegmentFetch::handle_timeout`] must be called; may be early, never late.
    pub fn poll_timeout(&self) -> Time {
        self.fetcher.poll_timeout().min(self.end())
    }

    /// The time of [`SegmentFetch::poll_timeout`] has come. Poll for transmissions afterwards.
    ///
    /// # Errors
    /// [`FetchError::Unanswered`] when the time is over, [`FetchError::Untrusted`] if wrong Data came.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), FetchError> {
        if now >= self.end() {
            if let Some((_, (untrusted, _))) = self.rejected.pop_first() {
                return Err(FetchError::Untrusted(Box::new(untrusted)));
            }
            let (name, waited) = (self.config.object.clone(), now.since(self.progressed));
            return Err(FetchError::Unanswered { name, waited, rejected: self.nacked });
        }
        self.fetcher.handle_timeout(now);
        self.record();
        Ok(())
    }
}

//! Fetches the segments of one version of an object with a [`Fetcher`]: names, packets and signatures around it.

use super::naming;
use super::ranges::Ranges;
use super::sink::{Sink, SinkError};
use super::trust::Trust;
use super::wanted::Wanted;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::registry::AnyConsumer;
use ndnweir_core::units::{Span, Time};
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::header::{self, Beside};
use ndnweir_node::{Fetcher, FetcherConfig, FetcherCounters};
use ndnweir_wire::data::content_type;
use ndnweir_wire::signature::VerifyError;
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, LpHeader, Name};
use std::time::Duration;

/// Why a fetch cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nothing arrived for too long.
    #[error("no segment of {name} arrived for {waited}{}", if *.refused { ": there is no route to it" } else { "" })]
    Unanswered {
        /// The versioned name.
        name: Name,
        /// How long was waited.
        waited: Span,
        /// Whether the network said that it knows no route.
        refused: bool,
    },
    /// A segment is not signed as demanded.
    #[error("{name} is not signed as demanded: {problem}")]
    Untrusted {
        /// The packet.
        name: Name,
        /// What is wrong.
        problem: VerifyError,
    },
    /// The producer says that there is no such segment.
    #[error("the producer says that {0} does not exist")]
    Refused(Name),
    /// FinalBlockId is no segment number, one that cannot be, or not always the same.
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

/// What to fetch, and how.
#[derive(Clone, Debug)]
pub struct SegmentFetchConfig {
    /// The name that segment numbers are appended to.
    pub object: Name,
    /// The ForwardingHint of Interests: where to look, if not where the name leads.
    pub hint: Vec<Name>,
    /// What an earlier fetch has stored.
    pub had: Ranges,
    /// The last segment, if an earlier fetch learnt it.
    pub last: Option<u64>,
    /// Whose signatures are accepted.
    pub trust: Trust,
    /// How long nothing may arrive.
    pub patience: Span,
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
    refused: bool,
}

/// Segments beyond this number cannot be told apart by a [`Fetcher`].
const MOST_SEGMENTS: u64 = NameId::WHOLE as u64;

impl SegmentFetch {
    /// Starts a fetch at `now`; `layout` says where the consumer keeps its header fields.
    pub fn new(now: Time, config: SegmentFetchConfig, consumer: AnyConsumer, layout: FieldLayout) -> SegmentFetch {
        let wanted = Wanted::new(config.had.clone());
        let total = config.last.map(|last| wanted.below(last.saturating_add(1)));
        let mut fetcher = Fetcher::new(FetcherConfig { total, ..config.fetcher.clone() }, consumer);
        fetcher.start(now);
        let last = config.last;
        SegmentFetch { config, fetcher, layout, wanted, last, progressed: now, refused: false }
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

    /// The connection was lost: nothing is asked for, and nothing times out.
    pub fn pause(&mut self, now: Time) {
        self.fetcher.stop(now);
    }

    /// The connection is there again.
    pub fn resume(&mut self, now: Time) {
        self.fetcher.start(now);
        self.progressed = now;
    }

    /// Takes a Data packet and stores its content; none if it answers nothing that was asked, or came before.
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
        let mut packet = self.packet(index, Kind::Data, header, data.wire().len());
        packet.payload = data.content().len() as u32;
        let Some(mut arrival) = self.fetcher.handle(now, &packet) else { return Ok(None) };
        let name = || data.name().to_owned();
        self.config.trust.check(data).map_err(|problem| FetchError::Untrusted { name: name(), problem })?;
        if data.content_type() == content_type::NACK {
            return Err(FetchError::Refused(name()));
        }
        self.learn_last(data)?;
        sink.put(segment, data.content(), self.last)?;
        self.progressed = now;
        self.refused = false;
        arrival.segment = segment;
        arrival.completed = self.is_complete();
        Ok(Some(arrival))
    }

    fn learn_last(&mut self, data: &DataView<'_>) -> Result<(), FetchError> {
        let Some(component) = data.final_block_id() else { return Ok(()) };
        let last = component.as_segment().filter(|last| *last < MOST_SEGMENTS);
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

    /// Takes a returned Interest.
    pub fn handle_nack(&mut self, now: Time, header: &LpHeader, interest: &InterestView<'_>) {
        let segment = naming::segment_of(self.config.object.as_view(), interest.name());
        let Some(index) = segment.and_then(|segment| self.index(segment)) else { return };
        let packet = self.packet(index, Kind::Nack, header, interest.wire().len());
        self.refused |= packet.reason == NackReason::NoRoute;
        self.fetcher.handle(now, &packet);
    }

    fn index(&self, segment: u64) -> Option<u32> {
        u32::try_from(self.wanted.index(segment)?).ok()
    }

    fn packet(&self, index: u32, kind: Kind, header: &LpHeader, size: usize) -> Packet {
        let beside = Beside::of_header(header, &self.layout, header::Trust::Neighbour);
        let name = NameId { flow: FlowId(0), segment: index };
        let reason = beside.nack.unwrap_or_default();
        let (mark, fields, flags) = (beside.mark, beside.fields, if beside.repaired { flags::REPAIRED } else { 0 });
        Packet { name, kind, reason, size: size as u32, mark, fields, flags, ..Packet::default() }
    }

    /// The next Interest to send now, with its link header.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(LpHeader, Vec<u8>)> {
        let packet = self.fetcher.poll_transmit(now)?;
        let header = header::write(&packet, &self.layout);
        let segment = self.wanted.segment(u64::from(packet.name.segment));
        let name = self.config.object.clone().with(Component::segment(segment));
        let interest = InterestBuilder::new(name.as_view())
            .forwarding_hint(self.config.hint.iter().map(Name::as_view))
            .nonce(packet.nonce.to_be_bytes())
            .lifetime(Duration::from_millis(u64::from(packet.lifetime_ms)));
        // A name with a segment is not empty, so this always encodes.
        interest.encode().ok().map(|bytes| (header, bytes))
    }

    /// When [`SegmentFetch::handle_timeout`] wants to be called; may be early, never late.
    pub fn poll_timeout(&self) -> Time {
        self.fetcher.poll_timeout().min(self.progressed + self.config.patience)
    }

    /// Time has come for what [`SegmentFetch::poll_timeout`] named. Poll for transmissions afterwards.
    ///
    /// # Errors
    /// [`FetchError::Unanswered`] when patience has come to its end.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), FetchError> {
        if now >= self.progressed + self.config.patience {
            let (name, waited) = (self.config.object.clone(), self.config.patience);
            return Err(FetchError::Unanswered { name, waited, refused: self.refused });
        }
        self.fetcher.handle_timeout(now);
        Ok(())
    }
}

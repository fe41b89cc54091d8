//! The producer of one object: answers Interests for its segments, its metadata and its prefixes.

use super::naming;
use super::source::Source;
use ndnweir_wire::packet::MAX_PACKET_SIZE;
use ndnweir_wire::signature::Signer;
use ndnweir_wire::{Component, DataBuilder, DataView, EncodeError, InterestView, Name};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

/// How an object is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherConfig {
    /// The object's name, without version.
    pub name: Name,
    /// Its version. The same version must always mean the same bytes in segments of the same size.
    pub version: u64,
    /// Bytes of content in each segment but the last.
    pub chunk: usize,
    /// FreshnessPeriod of segments.
    pub freshness: Duration,
    /// FreshnessPeriod of metadata: how long a cache may return a version that is no longer the newest.
    pub metadata_freshness: Duration,
    /// The most signed segments kept in memory.
    pub cache: usize,
}

/// Bytes of content in a segment: ndnd's and ndn-tools' 8000, which leaves 800 for name and signature.
pub const CHUNK: usize = 8000;

impl PublisherConfig {
    /// 10 s of freshness (ndnputchunks), 1 s for metadata (ours), at most 2048 segments in memory (ours).
    pub fn new(name: Name, version: u64) -> PublisherConfig {
        PublisherConfig {
            name,
            version,
            chunk: CHUNK,
            freshness: Duration::from_secs(10),
            metadata_freshness: Duration::from_secs(1),
            cache: 2048,
        }
    }
}

/// Why an object cannot be published, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum PublisherError {
    /// The packets would exceed what the network carries.
    #[error(
        "a segment of {name} with {chunk} bytes makes a packet of {packet} bytes, more than {MAX_PACKET_SIZE}; give --chunk {fitting} or less"
    )]
    TooLarge {
        /// The versioned name.
        name: Name,
        /// Bytes of content requested.
        chunk: usize,
        /// Bytes of the packet.
        packet: usize,
        /// Bytes of content that would fit.
        fitting: usize,
    },
    /// The source failed.
    #[error("{0}")]
    Source(#[from] io::Error),
    /// Signing failed.
    #[error("{0}")]
    Encode(#[from] EncodeError),
}

/// What to answer an Interest with.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// A Data packet.
    Data(&'a [u8]),
    /// A NACK with reason NoRoute: a segment beyond the last.
    Beyond,
    /// Nothing: the Interest requests something else.
    Nothing,
}

/// Publishes one version of one object.
pub struct Publisher<S> {
    source: S,
    signer: Box<dyn Signer>,
    config: PublisherConfig,
    versioned: Name,
    last: u64,
    metadata: Vec<u8>,
    cached: HashMap<u64, Vec<u8>>,
    order: VecDeque<u64>,
    buffer: Vec<u8>,
    segments_read: u64,
}

impl<S: Source> Publisher<S> {
    /// Publishes what `source` holds.
    ///
    /// # Errors
    /// [`PublisherError`] if packets would be too large, or signing fails.
    pub fn new(config: PublisherConfig, source: S, signer: Box<dyn Signer>) -> Result<Self, PublisherError> {
        let config = PublisherConfig { chunk: config.chunk.max(1), cache: config.cache.max(1), ..config };
        let versioned = config.name.clone().with(Component::version(config.version));
        let metadata_name = naming::metadata_name(config.name.as_view(), config.version);
        let metadata = DataBuilder::new(metadata_name.as_view())
            .freshness_period(config.metadata_freshness)
            .final_block_id(Component::segment(0).as_view())
            .content(&naming::metadata_content(versioned.as_view()))
            .sign(&*signer)?;
        let last = source.size().saturating_sub(1) / config.chunk as u64;
        let (cached, order, buffer) = (HashMap::new(), VecDeque::new(), Vec::new());
        let mut publisher =
            Publisher { source, signer, config, versioned, last, metadata, cached, order, buffer, segments_read: 0 };
        publisher.check_size()?;
        Ok(publisher)
    }

    /// The versioned name.
    pub fn name(&self) -> &Name {
        &self.versioned
    }

    /// The number of the last segment.
    pub fn last_segment(&self) -> u64 {
        self.last
    }

    /// Bytes of content.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Segments read and signed so far; those answered from memory are not counted again.
    pub fn segments_read(&self) -> u64 {
        self.segments_read
    }

    fn check_size(&mut self) -> Result<(), PublisherError> {
        // Signatures differ by a few bytes from packet to packet (ECDSA in DER).
        const SLACK: usize = 8;
        self.buffer.resize(self.config.chunk, 0);
        let packet = self.encode(self.last)?.len() + SLACK;
        if packet <= MAX_PACKET_SIZE {
            return Ok(());
        }
        let fitting = self.config.chunk.saturating_sub(packet - MAX_PACKET_SIZE);
        Err(PublisherError::TooLarge { name: self.versioned.clone(), chunk: self.config.chunk, packet, fitting })
    }

    /// The answer to an Interest.
    ///
    /// # Errors
    /// [`PublisherError`] if the source has failed or was changed; nothing more should be published then.
    pub fn answer(&mut self, interest: &InterestView<'_>) -> Result<Answer<'_>, PublisherError> {
        let plain: Name = interest.name().components().filter(|c| c.as_implicit_digest().is_none()).collect();
        let requested = plain.as_view();
        let by_prefix = interest.can_be_prefix();
        if let Some(segment) = naming::segment_of(self.versioned.as_view(), requested) {
            if segment > self.last {
                return Ok(Answer::Beyond);
            }
            self.load(segment)?;
            return Ok(self.answer_if_matching(interest, self.cached.get(&segment)));
        }
        if by_prefix && requested.is_prefix_of(self.versioned.as_view()) {
            self.load(0)?;
            return Ok(self.answer_if_matching(interest, self.cached.get(&0)));
        }
        Ok(self.answer_if_matching(interest, Some(&self.metadata)))
    }

    fn answer_if_matching<'a>(&self, interest: &InterestView<'_>, packet: Option<&'a Vec<u8>>) -> Answer<'a> {
        let matching = packet.filter(|packet| DataView::decode(packet).is_ok_and(|data| interest.matches(&data)));
        matching.map_or(Answer::Nothing, |packet| Answer::Data(packet))
    }

    /// Ensures that a segment is in memory.
    fn load(&mut self, segment: u64) -> Result<(), PublisherError> {
        if self.cached.contains_key(&segment) {
            return Ok(());
        }
        let chunk = self.config.chunk as u64;
        let offset = segment * chunk;
        let len = self.source.size().saturating_sub(offset).min(chunk) as usize;
        self.buffer.resize(len, 0);
        self.source.read_at(&mut self.buffer, offset)?;
        let packet = self.encode(segment)?;
        self.segments_read += 1;
        if self.order.len() >= self.config.cache
            && let Some(oldest) = self.order.pop_front()
        {
            self.cached.remove(&oldest);
        }
        self.order.push_back(segment);
        self.cached.insert(segment, packet);
        Ok(())
    }

    fn encode(&self, segment: u64) -> Result<Vec<u8>, EncodeError> {
        let name = self.versioned.clone().with(Component::segment(segment));
        DataBuilder::new(name.as_view())
            .freshness_period(self.config.freshness)
            .final_block_id(Component::segment(self.last).as_view())
            .content(&self.buffer)
            .sign(&*self.signer)
    }
}

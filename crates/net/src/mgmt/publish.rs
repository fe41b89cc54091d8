//! Published datasets: versioned, segmented, and kept until they have been fetched.

use ndnweir_wire::error::EncodeError;
use ndnweir_wire::signature::Signer;
use ndnweir_wire::{Component, DataBuilder, Name, NameView};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of content in a segment, at most. With name and signature it stays below the limit of a packet.
const SEGMENT: usize = 7000;

/// The longest name of a dataset, in bytes.
pub const MAX_NAME: usize = 1000;

/// How many datasets are kept.
const MAX_DATASETS: usize = 16;

/// How many bytes of datasets are kept, besides the newest dataset.
const MAX_BYTES: usize = 32 << 20;

/// How long a dataset is kept, on the publisher's clock.
const DATASET_LIFETIME: Duration = Duration::from_secs(60);

/// A dataset changes at any time, so its Data are not to be taken from a cache but by version.
const FRESHNESS: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct PublishedDataset {
    /// Name with version.
    name: Name,
    content: Vec<u8>,
    at: Duration,
}

impl PublishedDataset {
    /// A dataset without items has one segment too.
    fn last_segment(&self) -> usize {
        self.content.len().saturating_sub(1) / SEGMENT
    }

    fn segment(&self, number: usize, signer: &dyn Signer) -> Result<Vec<u8>, EncodeError> {
        let start = number * SEGMENT;
        let content = &self.content[start..self.content.len().min(start + SEGMENT)];
        let name = self.name.clone().with(Component::segment(number as u64));
        let last = Component::segment(self.last_segment() as u64);
        DataBuilder::new(name.as_view())
            .freshness_period(FRESHNESS)
            .final_block_id(last.as_view())
            .content(content)
            .sign(signer)
    }
}

/// The datasets published recently.
#[derive(Debug, Default)]
pub struct DatasetPublisher {
    datasets: VecDeque<PublishedDataset>,
    bytes: usize,
    last_version: u64,
}

impl DatasetPublisher {
    /// Publishes a dataset under a new version and returns its first segment. `now` is the time since the Unix epoch;
    /// versions are microseconds of it, and always grow.
    ///
    /// # Errors
    /// As [`DataBuilder::sign`].
    pub fn publish(
        &mut self,
        name: NameView<'_>,
        content: Vec<u8>,
        now: Duration,
        signer: &dyn Signer,
    ) -> Result<Vec<u8>, EncodeError> {
        let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        self.last_version = micros.max(self.last_version.saturating_add(1));
        self.bytes += content.len();
        let name = name.to_owned().with(Component::version(self.last_version));
        let published = PublishedDataset { name, content, at: now };
        let first = published.segment(0, signer);
        self.datasets.push_back(published);
        while self.datasets.len() > 1
            && (self.datasets.len() > MAX_DATASETS
                || self.bytes > MAX_BYTES
                || self.datasets.front().is_some_and(|d| d.at + DATASET_LIFETIME < now))
        {
            self.bytes -= self.datasets.pop_front().map_or(0, |d| d.content.len());
        }
        first
    }

    /// The segment of this name, if its dataset is still kept and has it.
    #[must_use]
    pub fn segment(&self, name: NameView<'_>, signer: &dyn Signer) -> Option<Vec<u8>> {
        let number = usize::try_from(name.last()?.as_segment()?).ok()?;
        let dataset = name.parent()?;
        let published = self.datasets.iter().find(|d| d.name.as_view() == dataset)?;
        if number <= published.last_segment() { published.segment(number, signer).ok() } else { None }
    }
}

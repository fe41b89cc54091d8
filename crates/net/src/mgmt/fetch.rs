//! The consumer of a dataset: one Interest at a time until all segments have arrived.

use super::codec::CodecError;
use super::parameters::ControlResponse;
use ndnweir_wire::data::content_type;
use ndnweir_wire::error::EncodeError;
use ndnweir_wire::{Component, DataView, InterestBuilder, Name, NameView};
use std::time::Duration;

/// The largest dataset that is reassembled, in bytes.
const MAX_DATASET: usize = 64 << 20;

/// Why a dataset could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The forwarder rejected the request.
    #[error("the forwarder answered: {} ({})", .0.text, .0.code)]
    Rejected(ControlResponse),
    /// A Data packet that is not a segment of a dataset.
    #[error("the forwarder's answer is not a segment of a dataset")]
    NotASegment,
    /// More than `MAX_DATASET`.
    #[error("the dataset is larger than {MAX_DATASET} bytes")]
    TooLarge,
    /// The items are malformed.
    #[error("the dataset is {0}")]
    Malformed(#[from] CodecError),
}

/// A dataset being fetched.
#[derive(Debug)]
pub struct DatasetFetch {
    /// What to request next: the dataset's name, then segment after segment of one version.
    next: Name,
    versioned: Option<Name>,
    content: Vec<u8>,
    segments: u64,
}

impl DatasetFetch {
    /// Fetches the newest version of a dataset.
    #[must_use]
    pub fn new(dataset: NameView<'_>) -> DatasetFetch {
        DatasetFetch { next: dataset.to_owned(), versioned: None, content: Vec::new(), segments: 0 }
    }

    /// The name of the version that is being fetched, once one has answered: two of the same name are the same list.
    #[must_use]
    pub fn version(&self) -> Option<&Name> {
        self.versioned.as_ref()
    }

    /// The Interest to send next.
    ///
    /// # Errors
    /// As [`InterestBuilder::encode`].
    pub fn interest(&self, nonce: [u8; 4], lifetime: Duration) -> Result<Vec<u8>, EncodeError> {
        let first = self.versioned.is_none();
        InterestBuilder::new(self.next.as_view())
            .can_be_prefix(first)
            .must_be_fresh(first)
            .nonce(nonce)
            .lifetime(lifetime)
            .encode()
    }

    /// Takes the Data that answered [`Self::interest`], and returns the dataset when that was its last segment.
    ///
    /// # Errors
    /// [`DatasetError`]; the dataset cannot be fetched then.
    pub fn take(&mut self, data: &DataView<'_>) -> Result<Option<Vec<u8>>, DatasetError> {
        if data.content_type() == content_type::NACK {
            return Err(DatasetError::Rejected(ControlResponse::decode(data.content())?));
        }
        let segment = data.name().last().and_then(|c| c.as_segment());
        let versioned = data.name().parent();
        let (Some(segment), Some(versioned)) = (segment, versioned) else { return Err(DatasetError::NotASegment) };
        if self.versioned.get_or_insert_with(|| versioned.to_owned()).as_view() != versioned {
            return Err(DatasetError::NotASegment);
        }
        // The first answer may be of any segment that some cache had; then the first segment is requested by name.
        if segment == self.segments {
            self.segments += 1;
            if self.content.len() + data.content().len() > MAX_DATASET {
                return Err(DatasetError::TooLarge);
            }
            self.content.extend_from_slice(data.content());
            if data.final_block_id().and_then(|last| last.as_segment()) == Some(segment) {
                return Ok(Some(std::mem::take(&mut self.content)));
            }
        }
        self.next = versioned.to_owned().with(Component::segment(self.segments));
        Ok(None)
    }
}

//! The items of the status datasets.
//!
//! Source: NFD wiki, `ForwarderStatus`, `FaceMgmt`, `FibMgmt`, `RibMgmt`, `StrategyChoice`, `CsMgmt`. Unknown elements
//! are ignored, and counters that are absent count as zero: other forwarders leave some out.

mod face;
mod tables;

pub use face::{
    ChannelStatus, FaceCounters, FaceEvent, FaceEventKind, FaceQuery, FaceStatus, LinkType, Persistency, Scope,
};
pub use tables::{CsInfo, FibEntry, ForwarderStatus, NextHop, RibEntry, RouteRecord, StrategyChoice};

use super::codec::CodecResult;
use ndnweir_wire::tlv::{Element, Reader};

/// One item of a dataset.
pub trait Item: Sized {
    /// Appends the item.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads one item.
    ///
    /// # Errors
    /// [`super::CodecError`] when the element is not such an item or is malformed.
    fn read(element: &Element<'_>) -> CodecResult<Self>;
}

/// A dataset of many items as bytes, before it is cut into segments.
pub fn encode_all<T: Item>(items: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        item.write(&mut out);
    }
    out
}

/// The items of a reassembled dataset.
///
/// # Errors
/// [`super::CodecError`] at the first item that is malformed.
pub fn decode_all<T: Item>(bytes: &[u8]) -> CodecResult<Vec<T>> {
    let mut reader = Reader::new(bytes);
    let mut items = Vec::new();
    while !reader.is_empty() {
        items.push(T::read(&reader.element()?)?);
    }
    Ok(items)
}

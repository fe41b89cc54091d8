//! Segmented objects: how they are named, published, found, fetched, verified and stored.
//!
//! Everything but [`source`] and [`sink`] is free of I/O: packets and the time go in, packets and the next wake-up come
//! out, as in `ndnweir-node`.
//!
//! An object is `/name/v=VERSION/seg=NUMBER` (NDN naming conventions, revision 3): typed components, segments counted
//! from 0, all of one size but the last, FinalBlockId on every one. Its version is found by RDR: an Interest for
//! `/name/32=metadata` is answered by `/name/32=metadata/v=VERSION/seg=0`, whose content is the versioned name.

pub mod discovery;
pub mod fetch;
pub mod naming;
pub mod publisher;
pub mod ranges;
mod records;
pub mod resume;
pub mod signals;
pub mod sink;
pub mod source;
pub mod trust;
mod wanted;

pub use discovery::{Discovered, Discovery, DiscoveryError};
pub use fetch::{FetchError, SegmentFetch};
pub use publisher::{Publisher, PublisherConfig, PublisherError};
pub use sink::{FileSink, Sink, SinkError, StreamSink, partial_files};
pub use source::{FileSource, Source};
pub use trust::{Trust, signer};

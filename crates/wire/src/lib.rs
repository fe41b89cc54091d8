//! NDN packet format v0.3 and NDNLPv2 as bytes: names, Interest, Data, signatures, link headers, fragmentation.
//!
//! Nothing here does I/O, reads a clock or draws a random number. Decoding borrows from the caller's buffer
//! ([`NameView`], [`InterestView`], [`DataView`], [`LpPacketView`]); encoding writes into a `Vec<u8>`
//! ([`InterestBuilder`], [`DataBuilder`], [`LpHeader`]). Malformed input is a [`DecodeError`] that carries the byte
//! offset, never a panic. It contains no schemes, tables or links.
//!
//! | module | what it holds | source |
//! |---|---|---|
//! | [`tlv`] | type and length numbers, non-negative integers, the element reader and writer | packet specification, "TLV Encoding" |
//! | [`component`], [`name`], [`uri`] | typed name components, names, the `ndn:` URI form, canonical order | packet specification, "Name" |
//! | [`interest`], [`data`] | the two network-layer packets | packet specification, "Interest Packet", "Data Packet" |
//! | [`signature`] | signature elements, signers and verifiers | packet specification, "Signature", "Signed Interest" |
//! | [`lp`] | link headers, Nack, fragmentation and reassembly | NDNLPv2 |
//! | [`packet`] | one entry point for whichever packet a face delivers, and stream framing | |
//!
//! ```
//! use ndnweir_wire::{DataBuilder, DataView, InterestBuilder, InterestView, Name, signature::DigestSha256};
//!
//! let name: Name = "/example/video/seg=7".parse()?;
//! let interest = InterestBuilder::new(name.as_view()).nonce([1, 2, 3, 4]).encode()?;
//! let data = DataBuilder::new(name.as_view()).content(b"hello").sign(&DigestSha256)?;
//!
//! let (interest, data) = (InterestView::decode(&interest)?, DataView::decode(&data)?);
//! assert!(interest.matches(&data));
//! data.verify(&DigestSha256)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod component;
pub mod data;
mod elements;
pub mod error;
pub mod interest;
mod interest_builder;
pub mod lp;
pub mod name;
pub mod packet;
pub mod signature;
pub mod tlv;
pub mod uri;

pub use component::{Component, ComponentView};
pub use data::{DataBuilder, DataView, MetaInfo};
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use interest::{InterestBuilder, InterestView};
pub use lp::{LpHeader, LpPacketView, NackReason};
pub use name::{Name, NameView};
pub use packet::{PacketView, frame_len};
pub use uri::UriError;

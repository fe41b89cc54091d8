//! The NFD management protocol: how applications and people tell a forwarder what to do, and ask how it is.
//!
//! Nothing here does I/O or reads a clock.
//!
//! Source: the protocol's pages in the NFD wiki (<https://redmine.named-data.net/projects/nfd/wiki/Management>).
//!
//! - [`ControlParameters`], [`ControlResponse`]: what a command says and what the forwarder answers.
//! - [`command`]: command Interests, built, signed and taken apart.

pub mod codec;
pub mod command;
pub mod parameters;
pub mod types;

pub use codec::{CodecError, CodecResult};
pub use command::{CommandFormat, Freshness, LOCALHOP, LOCALHOST, SignedCommand, command_name, sign_command};
pub use parameters::{ControlParameters, ControlResponse, cs_flags, face_flags, route_flags};

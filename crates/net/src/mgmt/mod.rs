//! The NFD management protocol: how applications and operators control and monitor a forwarder.
//!
//! Nothing here does I/O or reads a clock.
//!
//! Source: the protocol's pages in the NFD wiki (<https://redmine.named-data.net/projects/nfd/wiki/Management>).
//!
//! - [`ControlParameters`], [`ControlResponse`]: the parameters of a command and its answer.
//! - [`command`]: command Interests, built, signed and taken apart.
//! - [`dataset`]: what the forwarder reports of itself.
//! - [`announcement`]: prefix announcements.
//! - [`rib`]: routes, and the resulting next hops.
//! - [`authority`]: who may give commands.
//! - [`Management`]: the forwarder's end, over the trait [`ManagedForwarder`] that a forwarder implements.

mod announce;
pub mod announcement;
pub mod authority;
pub mod codec;
pub mod command;
mod control;
pub mod dataset;
pub mod fetch;
mod fields;
mod manager;
pub mod parameters;
mod publish;
pub mod rib;
pub mod types;
mod verbs;

pub use announcement::Announcement;
pub use authority::{Denied, Requester, TrustAnchor};
pub use codec::{CodecError, CodecResult};
pub use command::{CommandFormat, Freshness, LOCALHOP, LOCALHOST, SignedCommand, command_name, sign_command};
pub use control::{CommandFailure, EraseOutcome, FaceCreated, FaceRequest, FaceSettings, ManagedForwarder};
pub use manager::{AnswerSigner, Counters, MAX_PREFIX_COMPONENTS, Management, ManagementConfig, Timestamps};
pub use parameters::{ControlParameters, ControlResponse, cs_flags, face_flags, route_flags};

//! The interface of a forwarder to its management.

use super::dataset::{ChannelStatus, CsInfo, FaceStatus, FibEntry, ForwarderStatus, Persistency, StrategyChoice};
use crate::face_uri::FaceUri;
use ndnweir_wire::{Name, NameView};
use std::time::Duration;

/// Why the forwarder rejected a command: the code and text of the answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} ({code})")]
pub struct CommandFailure {
    /// StatusCode, 400 or higher.
    pub code: u32,
    /// StatusText, for people.
    pub text: String,
}

impl CommandFailure {
    /// A failure with this code and text.
    #[must_use]
    pub fn new(code: u32, text: impl Into<String>) -> CommandFailure {
        CommandFailure { code, text: text.into() }
    }
}

/// What can be set on a face; an absent field leaves things as they are, or at the forwarder's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaceSettings {
    /// How long it lives.
    pub persistency: Option<Persistency>,
    /// The largest link packet, in bytes.
    pub mtu: Option<u64>,
    /// Shortest time between two marks.
    pub base_congestion_marking_interval: Option<Duration>,
    /// Queue, in bytes, above which packets are marked.
    pub default_congestion_threshold: Option<u64>,
    /// Whether local fields may be used; never on a face that is not local.
    pub local_fields: Option<bool>,
    /// Whether lost link packets are sent again.
    pub reliability: Option<bool>,
    /// Whether packets are marked.
    pub congestion_marking: Option<bool>,
}

/// A face to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceRequest {
    /// The other end. Its host is an address, never a name: [`super::Management`] rejects names.
    pub remote: FaceUri,
    /// How it is to be.
    pub settings: FaceSettings,
}

/// The result of a request for a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaceCreated {
    /// There is a new face, perhaps still connecting.
    New(u64),
    /// There already was a face to that URI.
    Existing(u64),
}

/// The result of erasing from the content store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EraseOutcome {
    /// How many packets.
    pub count: u64,
    /// Whether more match that were left because of the limit.
    pub more: bool,
}

/// A forwarder, as the management protocol sees it.
///
/// Prefixes have at most [`super::MAX_PREFIX_COMPONENTS`] components. Faces are named by the protocol's ids, never 0.
/// [`super::Management`] has checked the authorisation, that the fields fit the command, and that there is such a face
/// before it changes one or sets a next hop for a command.
pub trait ManagedForwarder {
    /// Counters and sizes. Version and numbers are the forwarder's; both times are filled in by the caller.
    fn status(&self) -> ForwarderStatus;

    /// All faces, in order of their ids.
    fn faces(&self) -> Vec<FaceStatus>;

    /// The sockets on which peers may open faces.
    fn channels(&self) -> Vec<ChannelStatus>;

    /// One face.
    fn face(&self, face_id: u64) -> Option<FaceStatus>;

    /// Makes a face.
    ///
    /// # Errors
    /// 406 when the protocol is not supported, 504 when it cannot be reached, 500 otherwise.
    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceCreated, CommandFailure>;

    /// Applies all of `settings`, or nothing.
    ///
    /// # Errors
    /// 409 when a setting is impossible.
    fn update_face(&mut self, face_id: u64, settings: &FaceSettings) -> Result<(), CommandFailure>;

    /// Closes a face and removes its next hops; nothing happens when there is none. Implementations report the end with
    /// [`super::Management::face_event`] as for any other face that ends.
    ///
    /// # Errors
    /// 409 for a face without which the forwarder cannot work.
    fn destroy_face(&mut self, face_id: u64) -> Result<(), CommandFailure>;

    /// Gives a prefix a next hop, or changes its cost.
    ///
    /// # Errors
    /// 500 when the FIB is full.
    fn set_next_hop(&mut self, prefix: NameView<'_>, face_id: u64, cost: u64) -> Result<(), CommandFailure>;

    /// Takes a next hop from a prefix, and the prefix from the FIB with its last one; nothing happens when there is
    /// none.
    fn remove_next_hop(&mut self, prefix: NameView<'_>, face_id: u64);

    /// The FIB.
    fn fib(&self) -> Vec<FibEntry>;

    /// Gives a prefix a strategy and returns the full name of what it has now.
    ///
    /// # Errors
    /// 404 when there is no such strategy.
    fn set_strategy(&mut self, prefix: NameView<'_>, strategy: NameView<'_>) -> Result<Name, CommandFailure>;

    /// Removes the strategy choice of a prefix, never the empty one.
    fn unset_strategy(&mut self, prefix: NameView<'_>);

    /// Which prefixes have which strategy.
    fn strategies(&self) -> Vec<StrategyChoice>;

    /// The content store.
    fn cs(&self) -> CsInfo;

    /// Changes capacity (in packets), admission and service.
    ///
    /// # Errors
    /// 409 when the content store does not support that.
    fn configure_cs(
        &mut self,
        capacity: Option<u64>,
        admit: Option<bool>,
        serve: Option<bool>,
    ) -> Result<(), CommandFailure>;

    /// Erases at most `limit` packets whose names start with `prefix`.
    fn erase_cs(&mut self, prefix: NameView<'_>, limit: u64) -> EraseOutcome;
}

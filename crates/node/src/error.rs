//! Errors of a node's configuration: faces and strategies that it cannot have.

use crate::fib_tree::FibError;
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::FaceId;
use ndnweir_core::scheme::Scheme;
use ndnweir_wire::UriError;

/// A face that a node cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaceError {
    /// All numbers are in use.
    #[error("a node has at most {} faces", FaceId::NONE.0)]
    TooMany,
    /// The face to be replaced is unknown or up.
    #[error("face {} cannot be replaced: it does not exist or is up", .0.0)]
    NotReplaceable(FaceId),
}

/// A strategy that names cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// The node has as many strategies as it may.
    #[error(
        "a node has at most 127 strategies beside that of all names, those whose Interests are still pending included"
    )]
    TooMany,
    /// Packets have no room for the header fields of this component.
    #[error("{0} needs a header field more than the {most} that packets carry beside the scheme's", most = Fields::SLOTS)]
    TooManyFields(&'static str),
    /// The strategy choice to be replaced is unknown.
    #[error("there is no such choice")]
    UnknownChoice,
    /// As many prefixes as may have a strategy of their own.
    #[error("there are {} prefixes with a strategy of their own", Scheme::MAX_CHOICES)]
    TooManyPrefixes,
    /// A prefix in a scheme is not a name.
    #[error("`{prefix}` is not a name: {error}")]
    Prefix {
        /// As it was written.
        prefix: String,
        /// Why not.
        error: UriError,
    },
    /// The table of prefixes has no room for this one.
    #[error(transparent)]
    Table(#[from] FibError),
}

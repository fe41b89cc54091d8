//! The YANG model `ndnweir-router` as data: which paths there are, their types, and the values of a forwarder.
//!
//! [`schema`] is the model in this program; a test compares it with `packaging/yang/`. [`tree`] holds values,
//! [`path`] finds them by gNMI paths with wildcards, [`value`] writes and reads them in gNMI's encodings, [`router`]
//! makes the tree of a forwarder, and [`transaction`] makes changes of a forwarder from a Set.

pub mod path;
pub mod router;
pub mod schema;
pub mod transaction;
pub mod tree;
pub mod value;

use tonic::Status;

/// Name, organisation and version of the model, as Capabilities report them.
pub const MODEL: (&str, &str, &str) = ("ndnweir-router", "ndnweir", "2026-11-24");

/// An answer, or the status that says why there is none.
pub type Answer<T> = Result<T, Status>;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

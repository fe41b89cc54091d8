//! ndnweir on real networks: faces over sockets, the clock, management, objects, and the link emulator.
//!
//! Nothing here decides anything about congestion: the pipelines are `ndnweir-node`'s and the schemes `ndnweir-core`'s,
//! the same code as in the simulator. This crate adds what they do not contain:
//!
//! - [`address`]: addresses of hosts.
//! - [`application`]: objects fetched and published in a few lines, for programs.
//! - [`client`]: an application's connection to its forwarder.
//! - [`clock`]: the only reader of the time.
//! - [`daemon`]: the forwarder's process.
//! - [`emulator`]: links on one machine.
//! - [`exporter`]: a text for those who ask over HTTP.
//! - [`face_uri`]: the URI of a face's other end, as `udp4://192.0.2.1:6363`.
//! - [`framing`]: packets extracted from a byte stream.
//! - [`face`]: the sockets under faces.
//! - [`log`]: messages on standard error.
//! - [`poll`]: waiting for sockets and instants.
//! - [`mgmt`]: the NFD management protocol.
//! - [`object`]: segmented objects, published and fetched.
//! - [`remote`]: a forwarder managed from outside.
//! - [`transfer`]: the producer and the consumer as programs around a client connection.
//!
//! It never holds scheme logic, or a second copy of a pipeline or queue; and it has no notion of scenarios.
//!
//! Everything runs in one thread per process around a poll with a precise timeout: pacing needs tens of
//! microseconds, which the millisecond timers of the common asynchronous runtimes do not give.

pub mod address;
pub mod application;
pub mod client;
pub mod clock;
pub mod daemon;
pub mod emulator;
pub mod exporter;
pub mod face;
pub mod face_uri;
pub mod framing;
pub mod keys;
pub mod log;
pub mod mgmt;
pub mod object;
pub mod poll;
pub mod remote;
pub mod transfer;

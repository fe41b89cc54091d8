//! ndnweir on real networks: faces over sockets, the clock, management, objects, and the link emulator.
//!
//! Nothing here decides anything about congestion: the pipelines are `ndnweir-node`'s and the schemes
//! `ndnweir-core`'s, the same code as in the simulator. This crate adds what they must not know:
//!
//! - [`clock`]: the only reader of the time.
//! - [`emulator`]: links on one machine.
//! - [`face_uri`]: where a face leads, as `udp4://192.0.2.1:6363`.
//! - [`framing`]: packets cut out of a byte stream.
//! - [`poll`]: waiting for sockets and instants.
//!
//! Everything runs in one thread per process around a poll with a precise timeout: pacing needs tens of
//! microseconds, which the millisecond timers of the common asynchronous runtimes do not give.

pub mod clock;
pub mod emulator;
pub mod face_uri;
pub mod framing;
pub mod poll;

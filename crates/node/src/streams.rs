//! The purposes of a node's random streams.
//!
//! A stream is `Rng::derive(seed, &[node number, purpose, instance])`, so changing one component leaves the draws of
//! all others alone.

use ndnweir_core::ctx::Rng;

/// A face's marker; the instance is the face.
pub const MARKER: u64 = 1;
/// A face's queue discipline; the instance is the face.
pub const DISCIPLINE: u64 = 2;
/// A face's shaper; the instance is the face.
pub const SHAPER: u64 = 3;
/// A strategy; instance 0 is the first, the others count up as they are added.
pub const STRATEGY: u64 = 4;
/// The meter; instance 0.
pub const METER: u64 = 5;
/// Nonces of probes; instance 0.
pub const NONCE: u64 = 6;

/// The stream of one component of one node.
pub(crate) fn stream(seed: u64, number: u32, purpose: u64, instance: u64) -> Rng {
    Rng::derive(seed, &[u64::from(number), purpose, instance])
}

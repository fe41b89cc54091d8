//! NDN routers led by a controller over gNMI.
//!
//! - [`model`]: the YANG model `ndnweir-router` as data, and a forwarder in its shape.
//! - [`agent`]: the gNMI server of a forwarder, in a thread of its own.
//! - [`certificates`]: how they know each other.
//! - [`controller`]: a planner over routers, as a process.
//! - [`proto`]: gNMI's messages.
//!
//! Nothing here decides anything about congestion: planners are `ndnweir-core`'s, the forwarder `ndnweir-net`'s.

#![allow(clippy::result_large_err, reason = "tonic says in a Status why a call failed")]

pub mod agent;
pub mod certificates;
pub mod controller;
pub mod model;
pub mod proto;

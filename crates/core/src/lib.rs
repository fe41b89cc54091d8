//! The schemes of NDN congestion control as small I/O-free components.
//!
//! Seven families, one trait each; a [`scheme::Scheme`] names one component of every family. The [`registry`] lists
//! them. Time, randomness and the recorder are arguments (see [`ctx::Ctx`]): nothing here reads a clock, spawns a
//! thread or keeps global state.
//!
//! It knows schemes, units and the table of header fields. It never knows packet bytes, sockets, clocks or the network
//! around a node.

mod check;
pub mod component;
pub mod consumer;
pub mod ctx;
mod dispatch;
pub mod error;
pub mod fields;
pub mod ids;
pub mod meter;
pub mod packet;
pub mod planner;
pub mod queue;
pub mod registry;
pub mod scheme;
pub mod shaper;
pub mod shared;
pub mod strategy;
pub mod suggest;
pub mod units;

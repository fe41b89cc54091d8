//! A deterministic packet-level simulator of NDN networks.

mod check;
pub mod link;
pub mod network;
pub mod observer;
pub mod path;
pub mod routing;
pub mod schedule;
pub mod topology;

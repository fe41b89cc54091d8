//! A deterministic packet-level simulator of NDN networks.

pub mod bench;
mod check;
pub mod engine;
pub mod link;
pub mod network;
pub mod observer;
pub mod outcome;
pub mod path;
pub mod pcap;
pub mod port;
pub mod requests;
pub mod routing;
pub mod schedule;
pub mod topology;

pub use engine::{PacketTap, RunOptions, run};
pub use network::{Network, NetworkError};
pub use outcome::{Account, Outcome};

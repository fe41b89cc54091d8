//! The gNMI server of a forwarder: in a thread of its own, beside the loop that forwards.
//!
//! It reads and changes the forwarder through its [`Handle`] alone. However many subscribe, the forwarder is read at
//! most once per [`forwarder::LEAST_SPACING`] and for at most a twentieth of its time; a reader that does not keep up
//! gets fewer values, and their number (`Update.duplicates`).
//!
//! Source: OpenConfig, gNMI specification 0.10.0; master arbitration 0.1.0; commit confirmed 0.1.0.

mod arbitration;
mod commit;
mod encode;
mod entrance;
mod forwarder;
mod listener;
mod plan;
mod room;
mod service;
mod stream;
mod subscribe;

pub use listener::{Identity, StartError};

use ndnweir_net::daemon::Handle;
use std::net::SocketAddr;

/// How an agent is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How both sides prove who they are; none only on loopback, where it was asked for.
    pub identity: Option<Identity>,
}

/// Starts an agent; the address it listens on.
///
/// # Errors
/// If the address or the certificates cannot be used.
pub fn start(forwarder: Handle, settings: &Settings) -> Result<SocketAddr, StartError> {
    listener::start(service::Service::new(forwarder), settings)
}

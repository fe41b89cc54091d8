//! Logs on standard error.

use tracing_subscriber::EnvFilter;

/// What says which messages are shown, as `info`, `debug` or `ndnweir_net::forwarder=trace`.
pub const VARIABLE: &str = "NDNWEIR_LOG";

/// Starts to write messages of level `info` and above, or as [`VARIABLE`] says.
pub fn start() {
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("info"));
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // A process that has a logger already keeps it.
    let _ = logger.try_init();
}

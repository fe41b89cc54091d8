//! Ctrl-C: the first ends the work with the results so far, the second ends the program at once.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Starts to watch for Ctrl-C and SIGTERM; the flag is set when one has come. Called once in a process.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let stop = STOP.get_or_init(Arc::default);
    for signal in SIGNALS {
        // In this order: the handler that ends the program checks whether an earlier signal set the flag.
        flag::register_conditional_shutdown(signal, 1, Arc::clone(stop)).map_err(Failure::work)?;
        flag::register(signal, Arc::clone(stop)).map_err(Failure::work)?;
    }
    Ok(stop.as_ref())
}

/// Calls `stop` when one comes; it returns whether it was called before. Called once in a process.
#[cfg(feature = "network")]
pub fn call(stop: impl Fn() -> bool + Send + 'static) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new(SIGNALS).map_err(Failure::work)?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if stop() {
                std::process::exit(1);
            }
        }
    });
    Ok(())
}

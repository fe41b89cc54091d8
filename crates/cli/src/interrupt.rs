//! Ctrl-C: the first asks the work to end with what it has, the second ends the program at once.

use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Starts to watch for Ctrl-C and SIGTERM; the flag tells whether one came. Called once in a process.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    call(|| STOP.swap(true, Ordering::Relaxed))?;
    Ok(&STOP)
}

/// Calls `stop` when one comes; it says whether it was called before. Called once in a process.
pub fn call(stop: impl Fn() -> bool + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        if stop() {
            std::process::exit(1);
        }
    })
    .map_err(Failure::work)
}

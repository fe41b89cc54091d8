//! Signals of the process.

use super::{DaemonRequest, key};
use crate::poll::Sources;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::c_int;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

/// Ends of pairs that become readable when a signal arrives.
pub(super) struct Signals {
    stop: UnixStream,
    reload: UnixStream,
}

impl Signals {
    pub(super) fn open(sources: &Sources) -> io::Result<Signals> {
        let signals = Signals { stop: readable_after(&[SIGTERM, SIGINT])?, reload: readable_after(&[SIGHUP])? };
        sources.add(&signals.stop, key::STOP)?;
        sources.add(&signals.reload, key::RELOAD)?;
        Ok(signals)
    }

    /// The request of the signal whose pair is readable.
    pub(super) fn take(&mut self, key: usize) -> DaemonRequest {
        let (socket, request) = match key {
            key::STOP => (&mut self.stop, DaemonRequest::Stop),
            _ => (&mut self.reload, DaemonRequest::Reload),
        };
        let mut waste = [0; 64];
        while socket.read(&mut waste).is_ok_and(|read| read == waste.len()) {}
        request
    }
}

/// A pair whose first end becomes readable when one of `signals` arrives.
fn readable_after(signals: &[c_int]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
}

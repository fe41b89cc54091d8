//! A client's wait until a socket is ready, a deadline has passed, or the user stops it.

use crate::poll::{Poll, Ready, Sources};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The key of the stop handle.
const STOP: usize = usize::MAX - 1;

/// A poll over sockets; its timeouts are as precise as the kernel's timers.
#[derive(Debug)]
pub struct Waiter {
    poll: Poll,
    ready: Vec<Ready>,
    stop: Stop,
}

/// Ends the waiting from another thread, such as a signal handler's.
#[derive(Clone, Debug)]
pub struct Stop {
    wake: Arc<EventFd>,
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Requests a stop; returns whether that had been requested before.
    pub fn stop(&self) -> bool {
        let before = self.stopped.swap(true, Ordering::Relaxed);
        // A poll that cannot be woken ends at its next timeout.
        let _ = self.wake.write(1);
        before
    }
}

/// A source that a [`Waiter`] watches for as long as this exists.
#[derive(Debug)]
pub struct Watched<S> {
    source: S,
    sources: Sources,
    key: usize,
    wanted: (bool, bool),
}

impl Waiter {
    /// A poll over nothing.
    ///
    /// # Errors
    /// If the system grants none.
    pub fn new() -> io::Result<Waiter> {
        let poll = Poll::new()?;
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        poll.sources().add(&*wake, STOP)?;
        Ok(Waiter { poll, ready: Vec::new(), stop: Stop { wake, stopped: Arc::default() } })
    }

    /// A handle to end the waiting.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Whether a stop was requested.
    pub fn stopped(&self) -> bool {
        self.stop.stopped.load(Ordering::Relaxed)
    }

    /// Watches a source for input; [`Waiter::ready`] returns it by `key`.
    ///
    /// # Errors
    /// If the system rejects.
    pub fn watch<S: AsFd>(&self, source: S, key: usize) -> io::Result<Watched<S>> {
        let sources = self.poll.sources().clone();
        sources.add(&source, key)?;
        Ok(Watched { source, sources, key, wanted: (true, false) })
    }

    /// Sleeps until a socket is ready or `timeout` has passed.
    ///
    /// # Errors
    /// If the poll fails.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.poll.wait(timeout, &mut self.ready)?;
        if self.ready.iter().any(|ready| ready.key == STOP) {
            // Read once, so that it does not wake the poll again.
            let _ = self.stop.wake.read();
        }
        Ok(())
    }

    /// The keys of the sockets that were ready when the last wait ended.
    pub fn ready(&self) -> impl Iterator<Item = usize> + '_ {
        self.ready.iter().map(|ready| ready.key).filter(|key| *key != STOP)
    }
}

impl<S: AsFd> Watched<S> {
    /// Sets whether to be woken when there is input, and when there is room for output.
    ///
    /// # Errors
    /// If the system rejects.
    pub fn set_readiness(&mut self, readable: bool, writable: bool) -> io::Result<()> {
        if self.wanted != (readable, writable) {
            self.sources.set_readiness(&self.source, self.key, readable, writable)?;
            self.wanted = (readable, writable);
        }
        Ok(())
    }
}

impl<S> Deref for Watched<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.source
    }
}

impl<S> DerefMut for Watched<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.source
    }
}

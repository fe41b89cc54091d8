//! Waiting for sockets and the time.

use polling::{Event, Events, PollMode, Poller};
use rustix::fd::{AsFd, AsRawFd};
use std::io;
use std::time::Duration;

/// What is waited for. Sockets stay until they are removed, and are reported as long as they are ready.
pub struct Poll {
    poller: Poller,
    events: Events,
}

impl Poll {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// If the kernel gives no poll.
    pub fn new() -> io::Result<Poll> {
        Ok(Poll { poller: Poller::new()?, events: Events::new() })
    }

    /// Waits for a socket to be readable, under a number. It must be removed before it is closed.
    ///
    /// # Errors
    /// If the kernel refuses.
    #[expect(unsafe_code, reason = "the poller cannot know that a socket is removed before it is closed")]
    pub fn add(&self, socket: impl AsFd, key: usize) -> io::Result<()> {
        let socket = socket.as_fd().as_raw_fd();
        // SAFETY: the caller removes the socket before it is closed. If it did not, the kernel would forget the socket
        // when it closes; no memory is at stake.
        unsafe { self.poller.add_with_mode(socket, Event::readable(key), PollMode::Level) }
    }

    /// Says whether it also waits for the socket to take more.
    ///
    /// # Errors
    /// If the socket was not added.
    pub fn want_writable(&self, socket: impl AsFd, key: usize, writable: bool) -> io::Result<()> {
        self.poller.modify_with_mode(socket, Event::new(key, true, writable), PollMode::Level)
    }

    /// Waits for it no longer.
    ///
    /// # Errors
    /// If the socket was not added.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        self.poller.delete(socket)
    }

    /// Waits for at most so long, and gives what is ready: number, readable, writable.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<(usize, bool, bool)>) -> io::Result<()> {
        self.events.clear();
        ready.clear();
        match self.poller.wait(&mut self.events, timeout) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        ready.extend(self.events.iter().map(|event| (event.key, event.readable, event.writable)));
        Ok(())
    }
}

//! Where a client sleeps: until a socket is ready, a time has come, or the user wants to stop.

use polling::{Event, Events, PollMode, Poller};
use socket2::Socket;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A poll over sockets; its timeouts are as precise as the kernel's timers.
#[derive(Debug)]
pub struct Waiter {
    poller: Arc<Poller>,
    events: Events,
    stopped: Arc<AtomicBool>,
}

/// Ends the waiting from another thread, such as a signal handler's.
#[derive(Clone, Debug)]
pub struct Stop {
    poller: Arc<Poller>,
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Asks to stop; says whether that had been asked before.
    pub fn stop(&self) -> bool {
        let before = self.stopped.swap(true, Ordering::Relaxed);
        // A poll that cannot be woken ends by itself at its next timeout.
        let _ = self.poller.notify();
        before
    }
}

/// A socket that a [`Waiter`] watches for as long as this exists.
#[derive(Debug)]
pub struct Watched {
    socket: Socket,
    poller: Arc<Poller>,
    key: usize,
    wanted: (bool, bool),
}

impl Waiter {
    /// A poll over nothing.
    ///
    /// # Errors
    /// If the system grants none.
    pub fn new() -> io::Result<Waiter> {
        Ok(Waiter { poller: Arc::new(Poller::new()?), events: Events::new(), stopped: Arc::default() })
    }

    /// A handle to end the waiting.
    pub fn stop_handle(&self) -> Stop {
        Stop { poller: self.poller.clone(), stopped: self.stopped.clone() }
    }

    /// Whether someone asked to stop.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Watches a socket for input; [`Waiter::ready`] will name it by `key`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn watch(&self, socket: Socket, key: usize) -> io::Result<Watched> {
        let interest = Event::readable(key);
        #[expect(unsafe_code, reason = "Watched takes the socket back from the poll before it is closed")]
        unsafe {
            self.poller.add_with_mode(&socket, interest, PollMode::Level)?;
        }
        Ok(Watched { socket, poller: self.poller.clone(), key, wanted: (true, false) })
    }

    /// Sleeps until a socket is ready or `timeout` has passed.
    ///
    /// # Errors
    /// If the poll fails.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.events.clear();
        match self.poller.wait(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map(|_| ()),
        }
    }

    /// The keys of the sockets that were ready when the last wait ended.
    pub fn ready(&self) -> impl Iterator<Item = usize> + '_ {
        self.events.iter().map(|event| event.key)
    }
}

impl Watched {
    /// Whether to be woken when there is input, and when there is room for output.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn want(&mut self, readable: bool, writable: bool) -> io::Result<()> {
        if self.wanted != (readable, writable) {
            let interest = Event::new(self.key, readable, writable);
            self.poller.modify_with_mode(&self.socket, interest, PollMode::Level)?;
            self.wanted = (readable, writable);
        }
        Ok(())
    }
}

impl Deref for Watched {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Fails only for a socket that the poll no longer knows.
        let _ = self.poller.delete(&self.socket);
    }
}

//! Waiting for sockets and for a precise instant: Linux's epoll with a timer descriptor, as epoll's own timeout counts
//! whole milliseconds and pacing needs tens of microseconds.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// What is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The source's key, as given to [`Sources::add`].
    pub key: usize,
    /// It can be read, has failed or was closed.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

/// The timer's own key.
const TIMER: u64 = u64::MAX;
/// The longest single wait, which timers can express on every machine.
const LONGEST: Duration = Duration::from_secs(3600);
/// The most sources reported at once.
const BATCH: usize = 256;

/// A set of sources. A source leaves it when it is closed.
#[derive(Clone, Debug)]
pub struct Sources {
    epoll: Arc<Epoll>,
}

impl Sources {
    /// Waits for a source to be readable.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, source: impl AsFd, key: usize) -> io::Result<()> {
        Ok(self.epoll.add(source, EpollEvent::new(EpollFlags::EPOLLIN, key as u64))?)
    }

    /// Sets what a source is waited for.
    ///
    /// # Errors
    /// The system's.
    pub fn set_readiness(&self, source: impl AsFd, key: usize, readable: bool, writable: bool) -> io::Result<()> {
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN, readable);
        flags.set(EpollFlags::EPOLLOUT, writable);
        Ok(self.epoll.modify(source, &mut EpollEvent::new(flags, key as u64))?)
    }

    /// Removes a source.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(source)?)
    }
}

/// Waits for a set of sources, which are reported as long as they are ready.
#[derive(Debug)]
pub struct Poll {
    sources: Sources,
    timer: TimerFd,
    events: Vec<EpollEvent>,
}

impl Poll {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Poll> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Poll { sources: Sources { epoll: Arc::new(epoll) }, timer, events: vec![EpollEvent::empty(); BATCH] })
    }

    /// The set, to add to it and to take from it.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Waits until a source is ready or `timeout` has passed; puts what is ready into `ready`, which may stay empty.
    ///
    /// # Errors
    /// The system's; an interruption by a signal is none.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let wait = match timeout {
            Some(Duration::ZERO) => EpollTimeout::ZERO,
            Some(timeout) => {
                let timeout = timeout.min(LONGEST);
                self.timer.set(Expiration::OneShot(TimeSpec::from(timeout)), TimerSetTimeFlags::empty())?;
                EpollTimeout::NONE
            }
            None => {
                self.timer.unset()?;
                EpollTimeout::NONE
            }
        };
        let count = match self.sources.epoll.wait(&mut self.events, wait) {
            Err(nix::Error::EINTR) => return Ok(()),
            other => other?,
        };
        for event in &self.events[..count] {
            if event.data() == TIMER {
                // The timer is set again before the next wait, which clears it as well.
                let _ = self.timer.unset();
                continue;
            }
            let flags = event.events();
            let failed = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
            let readable = failed || flags.contains(EpollFlags::EPOLLIN);
            let writable = flags.contains(EpollFlags::EPOLLOUT);
            ready.push(Ready { key: event.data() as usize, readable, writable });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    #[test]
    fn it_wakes_after_the_requested_time_and_not_before() {
        let mut poll = Poll::new().unwrap();
        let mut ready = Vec::new();
        for _ in 0..20 {
            let (start, wait) = (Instant::now(), Duration::from_micros(300));
            poll.wait(Some(wait), &mut ready).unwrap();
            assert!(ready.is_empty());
            assert!(start.elapsed() >= wait);
        }
    }

    #[test]
    fn a_source_is_ready_as_long_as_something_is_there() {
        let mut poll = Poll::new().unwrap();
        let (mut here, there) = UnixStream::pair().unwrap();
        poll.sources().add(&there, 7).unwrap();
        here.write_all(b"x").unwrap();
        let mut ready = Vec::new();
        for _ in 0..2 {
            poll.wait(None, &mut ready).unwrap();
            assert_eq!(ready, [Ready { key: 7, readable: true, writable: false }]);
        }
        poll.sources().set_readiness(&there, 7, false, true).unwrap();
        poll.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [Ready { key: 7, readable: false, writable: true }]);
        poll.sources().remove(&there).unwrap();
        poll.wait(Some(Duration::from_millis(1)), &mut ready).unwrap();
        assert!(ready.is_empty());
    }
}

//! Waiting for sockets and for a precise instant: Linux's epoll with a timer descriptor, as epoll's own timeout counts
//! whole milliseconds and pacing needs tens of microseconds.

use crate::clock::Clock;
use ndnweir_core::units::Time;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// What is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The source's key, as given to [`Poll::add`].
    pub key: u64,
    /// It can be read, has failed or was closed.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

/// The timer's own key.
const TIMER: u64 = u64::MAX;
/// Sources told at once.
const BATCH: usize = 256;

/// A set of sources to wait for, level-triggered. A source leaves the set when it is closed.
#[derive(Debug)]
pub struct Poll {
    epoll: Epoll,
    timer: TimerFd,
    /// What the timer is set to; none when it is off.
    armed: Option<Time>,
    events: Vec<EpollEvent>,
}

impl Poll {
    /// An empty set.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Poll> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Poll { epoll, timer, armed: None, events: vec![EpollEvent::empty(); BATCH] })
    }

    /// Waits for a source to be readable and, if asked for, writable.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, source: impl AsFd, key: u64, writable: bool) -> io::Result<()> {
        Ok(self.epoll.add(source, EpollEvent::new(flags(writable), key))?)
    }

    /// Changes whether a source is waited for to be writable.
    ///
    /// # Errors
    /// The system's.
    pub fn modify(&self, source: impl AsFd, key: u64, writable: bool) -> io::Result<()> {
        Ok(self.epoll.modify(source, &mut EpollEvent::new(flags(writable), key))?)
    }

    /// Takes a source out.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(source)?)
    }

    /// Waits until a source is ready or `until` has come; puts what is ready into `ready`, which may stay empty.
    ///
    /// # Errors
    /// The system's; an interruption by a signal is none.
    pub fn wait(&mut self, clock: &Clock, until: Time, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let timeout = match clock.until(until) {
            Some(Duration::ZERO) => EpollTimeout::ZERO,
            Some(wait) => {
                if self.armed != Some(until) {
                    let at = Expiration::OneShot(TimeSpec::from(wait));
                    self.timer.set(at, TimerSetTimeFlags::empty())?;
                    self.armed = Some(until);
                }
                EpollTimeout::NONE
            }
            None => {
                if self.armed.take().is_some() {
                    self.timer.unset()?;
                }
                EpollTimeout::NONE
            }
        };
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Err(nix::Error::EINTR) => return Ok(()),
            other => other?,
        };
        for event in &self.events[..count] {
            if event.data() == TIMER {
                self.armed = None;
                // Setting it again clears it as well, so a failure to read does no harm.
                let _ = self.timer.wait();
                continue;
            }
            let flags = event.events();
            let failed = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
            let readable = failed || flags.contains(EpollFlags::EPOLLIN);
            ready.push(Ready { key: event.data(), readable, writable: flags.contains(EpollFlags::EPOLLOUT) });
        }
        Ok(())
    }
}

fn flags(writable: bool) -> EpollFlags {
    if writable { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Span;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn it_wakes_at_the_instant_asked_for_and_not_before() {
        let clock = Clock::new();
        let mut poll = Poll::new().unwrap();
        let mut ready = Vec::new();
        for _ in 0..20 {
            let at = clock.now() + Span::from_micros(300);
            while clock.now() < at {
                poll.wait(&clock, at, &mut ready).unwrap();
                assert!(ready.is_empty());
            }
        }
    }

    #[test]
    fn a_source_is_ready_as_long_as_something_is_there() {
        let clock = Clock::new();
        let mut poll = Poll::new().unwrap();
        let (mut here, there) = UnixStream::pair().unwrap();
        poll.add(&there, 7, false).unwrap();
        here.write_all(b"x").unwrap();
        let mut ready = Vec::new();
        for _ in 0..2 {
            poll.wait(&clock, Time::NEVER, &mut ready).unwrap();
            assert_eq!(ready, [Ready { key: 7, readable: true, writable: false }]);
        }
        poll.modify(&there, 7, true).unwrap();
        poll.wait(&clock, Time::NEVER, &mut ready).unwrap();
        assert!(ready[0].writable);
        poll.remove(&there).unwrap();
        poll.wait(&clock, clock.now() + Span::from_millis(1), &mut ready).unwrap();
        assert!(ready.is_empty());
    }
}

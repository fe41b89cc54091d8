//! Work for the forwarder's thread from other threads of the process: a controller's agent reads and changes the
//! forwarder through this alone.

use super::{Daemon, key};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

/// Jobs that may wait.
const MAX_WAITING: usize = 64;
/// Jobs done before packets are served again.
const BATCH: usize = 4;

type Job = Box<dyn FnOnce(&mut Daemon) + Send>;

/// Why a job was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// As many jobs wait as may.
    #[error("the forwarder is busy with other requests")]
    Busy,
    /// The forwarder has ended.
    #[error("the forwarder has ended")]
    Ended,
}

/// Gives a forwarder work.
#[derive(Clone)]
pub struct Handle {
    jobs: SyncSender<Job>,
    wake: Arc<EventFd>,
}

impl Handle {
    /// Has the forwarder do something, soon, in its own thread, between packets: it should be short.
    ///
    /// # Errors
    /// [`Unreachable`]; the job is dropped then.
    pub fn post(&self, job: impl FnOnce(&mut Daemon) + Send + 'static) -> Result<(), Unreachable> {
        self.jobs.try_send(Box::new(job)).map_err(|error| match error {
            TrySendError::Full(_) => Unreachable::Busy,
            TrySendError::Disconnected(_) => Unreachable::Ended,
        })?;
        // It can only fail where 2^64 wake-ups are pending.
        let _ = self.wake.write(1);
        Ok(())
    }
}

/// The forwarder's end.
pub(super) struct Jobs {
    waiting: Receiver<Job>,
    handle: Handle,
}

impl Daemon {
    /// A handle for other threads.
    ///
    /// # Errors
    /// The system's.
    pub fn handle(&mut self) -> io::Result<Handle> {
        if let Some(jobs) = &self.jobs {
            return Ok(jobs.handle.clone());
        }
        let (jobs, waiting) = sync_channel(MAX_WAITING);
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        self.poll.sources().add(&*wake, key::JOBS)?;
        let handle = Handle { jobs, wake };
        self.jobs = Some(Jobs { waiting, handle: handle.clone() });
        Ok(handle)
    }

    /// Does some of the work that waits.
    pub(super) fn run_jobs(&mut self) {
        let Some(jobs) = self.jobs.take() else { return };
        // Before the queue is looked at, so that no wake-up is lost.
        let _ = jobs.handle.wake.read();
        for done in 0.. {
            if done == BATCH {
                let _ = jobs.handle.wake.write(1);
                break;
            }
            match jobs.waiting.try_recv() {
                Ok(job) => job(self),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        self.jobs = Some(jobs);
    }
}

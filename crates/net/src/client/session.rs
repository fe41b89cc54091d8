//! A connection that is made again after a loss: while the forwarder is away, it is tried repeatedly.

use super::link::{ConnectError, Connection};
use super::waiter::Waiter;
use crate::face_uri::FaceUri;
use ndnweir_core::ctx::Rng;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::LpHeader;
use std::io;

/// The first pause before a lost connection is tried again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(1000);

/// Events of a session's connection.
#[derive(Debug)]
pub enum SessionEvent {
    /// It was lost; it will be tried again.
    Lost(io::Error),
    /// It was made again; the forwarder has no state of this application.
    Reconnected,
}

/// A connection to a forwarder and what is needed to make it again.
pub struct Session {
    uri: FaceUri,
    key: usize,
    link: Option<Connection>,
    pause: Duration,
    retry: Time,
    rng: Rng,
    /// Why the connection was lost, until that is reported.
    lost: Option<io::Error>,
}

impl Session {
    /// Connects for the first time; `key` identifies it to the waiter, `seed` makes its sequence numbers.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(uri: FaceUri, waiter: &Waiter, key: usize, seed: u64) -> Result<Session, ConnectError> {
        let mut rng = Rng::derive(seed, &[key as u64]);
        let link = Connection::connect(&uri, waiter, key, u64::from(rng.bits()))?;
        let (pause, retry) = (FIRST_PAUSE, Time::NEVER);
        Ok(Session { uri, key, link: Some(link), pause, retry, rng, lost: None })
    }

    /// Where it leads.
    pub fn uri(&self) -> &FaceUri {
        &self.uri
    }

    /// Whether the forwarder treats this as a connection within its machine; false while there is none.
    pub fn is_local(&self) -> bool {
        self.link.as_ref().is_some_and(Connection::is_local)
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// When [`Session::poll`] must be called.
    pub fn poll_timeout(&self) -> Time {
        if self.lost.is_some() { Time::ZERO } else { self.retry }
    }

    /// Tries a lost connection again if it is time, and returns what happened to the connection since the last call.
    pub fn poll(&mut self, now: Time, waiter: &Waiter) -> Option<SessionEvent> {
        let lost = self.lost.take();
        if lost.is_some() || self.link.is_some() || now < self.retry {
            return lost.map(SessionEvent::Lost);
        }
        match Connection::connect(&self.uri, waiter, self.key, u64::from(self.rng.bits())) {
            Ok(link) => {
                self.link = Some(link);
                (self.pause, self.retry) = (FIRST_PAUSE, Time::NEVER);
                Some(SessionEvent::Reconnected)
            }
            Err(_) => {
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.retry = now + self.pause;
                None
            }
        }
    }

    /// Queues a packet; without a connection it is lost.
    pub fn send(&mut self, header: &LpHeader, packet: &[u8]) {
        if let Some(link) = &mut self.link {
            link.send(header, packet);
        }
    }

    /// Whether nothing should be sent now: output waits, or there is no connection.
    pub fn is_congested(&self) -> bool {
        self.link.as_ref().is_none_or(Connection::is_congested)
    }

    /// Whether input wakes the waiter, from the next [`Session::flush`] on.
    pub fn set_reading(&mut self, reading: bool) {
        if let Some(link) = &mut self.link {
            link.set_reading(reading);
        }
    }

    /// Sends what is queued, as far as the socket takes it.
    pub fn flush(&mut self, now: Time) {
        let result = self.link.as_mut().map_or(Ok(()), Connection::flush);
        self.lost_if(now, result);
    }

    /// Hands every packet that has arrived to `take`.
    pub fn receive(&mut self, now: Time, take: impl FnMut(&LpHeader, &[u8])) {
        let result = self.link.as_mut().map_or(Ok(()), |link| link.receive(now, take));
        self.lost_if(now, result);
    }

    fn lost_if(&mut self, now: Time, result: io::Result<()>) {
        if let Err(error) = result {
            self.link = None;
            self.retry = now + self.pause;
            self.lost = Some(error);
        }
    }
}

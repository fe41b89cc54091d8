//! Publishing.

use super::ApplicationError;
use crate::client::{Registration, Session, Stop, Waiter, transport};
use crate::clock::seed;
use crate::face_uri::FaceUri;
use crate::object::publisher::{Publisher, PublisherConfig};
use crate::object::{Source, naming};
use crate::transfer::{PublishError, PublishEvent, StopCondition, publish};
use ndnweir_wire::Name;
use ndnweir_wire::signature::{DigestSha256, Signer};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// An object to be published.
pub struct Put {
    name: Name,
    uri: Option<FaceUri>,
    signer: Box<dyn Signer + Send>,
    commands: Box<dyn Signer + Send>,
}

impl Put {
    /// Under this name, with the time as version unless the name ends in one; segments and commands to the forwarder
    /// are signed with a digest.
    #[must_use]
    pub fn new(name: Name) -> Put {
        Put { name, uri: None, signer: Box::new(DigestSha256), commands: Box::new(DigestSha256) }
    }

    /// Over this forwarder instead of this machine's.
    #[must_use]
    pub fn transport(self, uri: FaceUri) -> Put {
        Put { uri: Some(uri), ..self }
    }

    /// Signs segments with this.
    #[must_use]
    pub fn signer(self, signer: Box<dyn Signer + Send>) -> Put {
        Put { signer, ..self }
    }

    /// Signs commands to the forwarder with this, where a digest is not enough.
    #[must_use]
    pub fn command_signer(self, signer: Box<dyn Signer + Send>) -> Put {
        Put { commands: signer, ..self }
    }

    /// Publishes `source` in a thread of its own, until [`Published::end`] or until that is dropped. Returns once the
    /// forwarder has agreed.
    ///
    /// # Errors
    /// [`ApplicationError`] if there is no forwarder, or it does not agree.
    pub fn start<S: Source + Send + 'static>(self, source: S) -> Result<Published, ApplicationError> {
        let Put { mut name, uri, signer, commands } = self;
        let version = match naming::version_of(name.as_view()) {
            Some(version) => {
                name.pop();
                version
            }
            None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64,
        };
        if name.is_empty() {
            return Err(ApplicationError::Name(name));
        }
        let mut waiter = Waiter::new()?;
        let stop = waiter.stop_handle();
        let uri = uri.map_or_else(|| transport(None), Ok)?;
        let (agreed, answer) = sync_channel(1);
        let work = move || -> Result<(), ApplicationError> {
            let mut session = Session::connect(uri, &waiter, 0, seed())?;
            let mut publisher = Publisher::new(PublisherConfig::new(name.clone(), version), source, signer)?;
            let mut registration = Registration::new(name, commands, session.is_local());
            let object = publisher.name().clone();
            let mut watch = |event: PublishEvent| {
                if matches!(event, PublishEvent::Registered) {
                    // Only the first is waited for.
                    let _ = agreed.try_send(object.clone());
                }
            };
            let until = StopCondition::default();
            Ok(publish(&mut publisher, &mut registration, &mut session, &mut waiter, until, &mut watch)?)
        };
        let mut published = Published { object: Name::new(), stop, work: Some(std::thread::spawn(work)) };
        match answer.recv() {
            Ok(object) => published.object = object,
            Err(_) => published.join()?,
        }
        Ok(published)
    }
}

/// An object that is published as long as this exists.
#[derive(Debug)]
pub struct Published {
    object: Name,
    stop: Stop,
    work: Option<JoinHandle<Result<(), ApplicationError>>>,
}

impl Published {
    /// Its name with version.
    pub fn object(&self) -> &Name {
        &self.object
    }

    /// Whether it is still published; if not, [`Published::end`] gives the reason.
    pub fn is_active(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !work.is_finished())
    }

    /// Ends it.
    ///
    /// # Errors
    /// Why it had ended before.
    pub fn end(mut self) -> Result<(), ApplicationError> {
        self.stop.stop();
        self.join()
    }

    fn join(&mut self) -> Result<(), ApplicationError> {
        match self.work.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(PublishError::Wait(std::io::Error::other("publishing panicked")).into()),
        }
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.join();
    }
}

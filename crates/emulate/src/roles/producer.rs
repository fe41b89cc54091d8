//! A producer: publishes an object of zeros that is too long to end.

use super::{Ready, RoleError, ready, stop_when_abandoned};
use ndnweir_core::units::Duration;
use ndnweir_net::client::{Registration, Session, Waiter};
use ndnweir_net::object::publisher::{Publisher, PublisherConfig};
use ndnweir_net::object::source::Source;
use ndnweir_net::transfer::{PublishEvent, StopCondition, publish};
use ndnweir_wire::Name;
use ndnweir_wire::signature::DigestSha256;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// What to publish.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProducerTask {
    /// The forwarder's socket.
    pub transport: PathBuf,
    /// The object's name, without version.
    pub object: String,
    /// Segments it has; none for as many as can be numbered.
    pub segments: Option<u64>,
    /// Content bytes of a segment.
    pub payload: usize,
    /// How long segments count as fresh.
    pub freshness: Duration,
    /// Differs between processes.
    pub seed: u64,
}

/// The version of every object in an emulation.
pub(super) const VERSION: u64 = 1;

struct Zeros(u64);

impl Source for Zeros {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, buffer: &mut [u8], _offset: u64) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }
}

pub(super) fn run(task: &ProducerTask) -> Result<(), RoleError> {
    let mut waiter = Waiter::new().map_err(RoleError::new)?;
    stop_when_abandoned(waiter.stop_handle());
    let name: Name = task.object.parse().map_err(RoleError::new)?;
    let mut config = PublisherConfig::new(name.clone(), VERSION);
    config.chunk = task.payload.max(1);
    config.freshness = std::time::Duration::from_nanos(task.freshness.nanos());
    let size = task.segments.unwrap_or(u64::from(u32::MAX) - 1).saturating_mul(config.chunk as u64);
    let mut publisher = Publisher::new(config, Zeros(size), Box::new(DigestSha256)).map_err(RoleError::new)?;
    let uri = ndnweir_net::face_uri::FaceUri::Unix(task.transport.clone());
    let mut session = Session::connect(uri, &waiter, 0, task.seed).map_err(RoleError::new)?;
    let mut reported = false;
    let mut watch = |event| {
        if matches!(event, PublishEvent::Registered) && !reported {
            reported = ready(&Ready::default()).is_ok();
        }
    };
    let mut registration = Registration::new(name, Box::new(DigestSha256), session.is_local());
    publish(&mut publisher, &mut registration, &mut session, &mut waiter, StopCondition::default(), &mut watch)
        .map_err(RoleError::new)
}

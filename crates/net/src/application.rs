//! Objects fetched and published by programs, in a few lines and without a process of their own.
//!
//! What `ndnweir get` and `put` do, on the same [`transfer`](crate::transfer): any scheme's consumer, discovery of the
//! newest version, signatures, connections made again. The forwarder is that of this machine
//! ([`transport`](crate::client::transport())) unless another is named. Everything blocks; a [`Stop`] ends it from
//! another thread.
//!
//! ```no_run
//! use ndnweir_net::application::{Get, Put};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let published = Put::new("/example/greeting".parse()?).start(b"hello".to_vec())?;
//! let fetched = Get::new("/example/greeting".parse()?).scheme("pcon")?.bytes()?;
//! assert_eq!(fetched.content, b"hello");
//! println!("{} in {} Interests", fetched.object, fetched.statistics.counters.interests);
//! published.end()?;
//! # Ok(())
//! # }
//! ```
//!
//! Of an object of any size, in order as it comes:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut stream = ndnweir_net::application::Get::new("/example/video".parse()?).stream()?;
//! std::io::copy(&mut stream, &mut std::io::stdout())?;
//! # Ok(())
//! # }
//! ```

mod get;
mod put;

pub use get::{Fetched, Get, ObjectStream, SCHEME, Statistics};
pub use put::{Published, Put};

use crate::client::{ConnectError, TransportError};
use crate::object::publisher::PublisherError;
use crate::transfer::{DownloadError, PublishError, RealPathError};
use ndnweir_wire::Name;

pub use crate::client::Stop;

/// Why an object could not be fetched or published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is what its cause says")]
pub enum ApplicationError {
    #[error("{0}")]
    Transport(#[from] TransportError),
    #[error("{0}")]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Scheme(#[from] RealPathError),
    #[error("{0}")]
    Download(#[from] DownloadError),
    #[error("{0}")]
    Publisher(#[from] PublisherError),
    #[error("{0}")]
    Publish(#[from] PublishError),
    #[error("waiting failed: {0}")]
    Wait(#[from] std::io::Error),
    #[error("{0} is not the name of an object")]
    Name(Name),
    #[error("stopped")]
    Stopped,
}

//! An application's connection to its forwarder.
//!
//! [`transport`] determines where the forwarder is, [`Connection`] moves packets to and from it, [`Session`] connects
//! again after a loss, [`Registration`] registers a prefix. A client sleeps in [`Waiter`] only.

pub mod link;
pub mod register;
pub mod session;
pub mod transport;
pub mod waiter;

pub use link::{ConnectError, Connection};
pub use register::{Registration, RegistrationError, RegistrationUpdate};
pub use session::{Session, SessionEvent};
pub use transport::{TransportError, transport};
pub use waiter::{Stop, Waiter};

//! An application's connection to its forwarder.
//!
//! [`transport`] says where the forwarder is, [`Link`] moves packets to and from it, [`Session`] connects again when it
//! was away, [`Registration`] asks it for a prefix. [`Waiter`] is the one place where a client sleeps.

pub mod link;
pub mod register;
pub mod session;
pub mod transport;
pub mod waiter;

pub use link::{ConnectError, Connection};
pub use register::{Agreed, Registration, RegistrationError};
pub use session::{Session, SessionEvent};
pub use transport::{TransportError, transport};
pub use waiter::{Stop, Waiter};

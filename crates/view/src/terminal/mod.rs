//! The same in a terminal: sparklines of a run while it is simulated, and of a forwarder's faces.

mod faces;
mod run;
mod screen;

pub use faces::{FaceTotals, ForwarderSample, watch_faces};
pub use run::RunScreen;
pub use screen::{Error, check};

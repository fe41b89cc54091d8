//! What every component must satisfy: random operations, what is visible of a component after each, and the invariants.
//!
//! The tests of this crate run it over the registry; consumers, markers and strategies made elsewhere are checked by it
//! too.

mod consumer;
mod desk;
pub mod marker;
pub mod strategy;

pub use consumer::{Bench, Op, Seen, random_ops, standard_workload};
pub use desk::{Desk, PATIENCE, RATES, SEEDS};

use crate::consumer::MAX_WINDOW;

/// What a component must not do.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Broken {
    /// The window is no number from 1 to [`MAX_WINDOW`].
    #[error("the window is {0}; keep it from 1 to {MAX_WINDOW}")]
    Window(f64),
    /// A record of the future, or of no finite value.
    #[error("the record {key} is {value}, or of the future")]
    Record {
        /// What was recorded.
        key: &'static str,
        /// The value.
        value: f64,
    },
    /// Nothing is in flight, and nothing may be sent.
    #[error("nothing is in flight and nothing may be sent: it waits for ever")]
    Deadlock,
    /// Another rule, of markers and strategies.
    #[error("{0}")]
    Rule(&'static str),
}

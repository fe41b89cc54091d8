//! The definition of all measurements: from a run's observations to [`crate::results::Run`].
//!
//! Every metric's definition is in `docs/metrics.md`; the code here is its only implementation.
//! Rates are in 10⁶ bit/s, delays in ms, times in s. *Goodput* counts content bytes, *utilisation* wire bits.

mod bins;
mod collector;
mod counts;
mod episodes;
mod flows;
mod gather;
mod recovery;
mod setup;
mod stats;
mod tables;
mod video;
mod waits;

pub use bins::{MAX_BINS, SERIES_BYTES, Subjects, bin_width};
pub use collector::Collector;
pub use episodes::{Episode, convergence, episodes, rebin};
pub use setup::{ConsumerSetup, LinkSetup, Setup};
pub use stats::{Histogram, jain, worst_share};
pub use waits::Waits;

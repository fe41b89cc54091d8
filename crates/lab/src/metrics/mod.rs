//! What is measured, defined once: from a run's observations to [`crate::results::Run`].
//!
//! Every metric's definition is in `docs/metrics.md`; the code here is its only implementation.
//! Rates are in 10⁶ bit/s, delays in ms, times in s. *Goodput* counts content bytes, *utilisation* wire bits.

mod collector;
mod episodes;
mod gather;
mod stats;

pub use collector::Collector;
pub use episodes::{Episode, convergence, episodes, rebin};
pub use stats::{Histogram, jain, mean_sd};

use ndnweir_core::units::{Rate, Span, Time};

/// One direction of a link, at the position of its `LinkId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSetup {
    /// Its name in results, e.g. `R1>R2`.
    pub name: String,
    /// Index of the sending node in [`Setup::nodes`].
    pub from: u32,
    /// Index of the receiving node.
    pub to: u32,
    /// Nominal rate, the base of utilisation.
    pub rate: Rate,
}

/// A consumer, at the position of its `ConsumerId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerSetup {
    /// Its name in results.
    pub name: String,
    /// When it starts to ask.
    pub start: Time,
    /// When it stops; none means at the end of the run or of its object.
    pub stop: Option<Time>,
    /// Whether it always has more to ask for: only such flows count for fairness and the optimum.
    pub long_lived: bool,
}

/// What the collector must know about the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Node names by `NodeId`.
    pub nodes: Vec<String>,
    /// Directed links by `LinkId`.
    pub links: Vec<LinkSetup>,
    /// Consumers by `ConsumerId`.
    pub consumers: Vec<ConsumerSetup>,
    /// Prefix names by number.
    pub prefixes: Vec<String>,
    /// Start of the measurement window: the end of the warm-up.
    pub from: Time,
    /// End of the measurement window and of the series.
    pub to: Time,
    /// Width of the bins of every series; a multiple of the sampling interval. Widened so that a run has at most 20 000 bins.
    pub bin: Span,
    /// Keys of scheme events to keep.
    pub events: Vec<String>,
}

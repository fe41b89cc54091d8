//! When what happens next: one pending instant per source of events.
//!
//! A source is a directed link (its next arrival), a node (its next timeout) or an application. Each has at most one
//! pending event, so a schedule is as large as the network and not as the traffic in it. Sources are numbered so that
//! events of one instant are due in the order of their numbers.

pub mod tournament;

use ndnweir_core::units::Time;

/// Holds the next instant of every source.
pub trait Schedule {
    /// A schedule of `sources` sources with nothing pending.
    fn new(sources: usize) -> Self;

    /// Sets the next instant of `source`; [`Time::NEVER`] for none.
    fn set(&mut self, source: u32, at: Time);

    /// The next instant of `source`.
    fn get(&self, source: u32) -> Time;

    /// The earliest instant and its source (the lowest-numbered of those due then); [`Time::NEVER`] if none is.
    fn next(&self) -> (Time, u32);
}

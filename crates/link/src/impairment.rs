//! Random impairments of links.

use crate::arq::Arq;
use crate::burst::BurstLoss;
use ndnweir_core::units::Duration;
use serde::Serialize;

/// Random impairments of one direction of a link. Zero everywhere is a perfect link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ndnweir_state::Value)]
pub struct Impairment {
    /// Probability that a packet is lost, in [0, 1].
    pub loss: f64,
    /// Probability that a packet arrives twice, in [0, 1].
    pub duplicate: f64,
    /// Extra delay, uniform between zero and this.
    pub jitter: Duration,
    /// Whether jitter may change the order; otherwise a packet waits for the one before it.
    pub jitter_reorders: bool,
    /// Probability that a packet is held back by [`Impairment::reorder_delay`] while later ones pass, in [0, 1].
    pub reorder: f64,
    /// How long a reordered packet is held back.
    pub reorder_delay: Duration,
    /// Losses in bursts, in addition to `loss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstLoss>,
    /// Losses that the link layer recovers from by retransmission; those of `loss` and `burst` are not recovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arq: Option<Arq>,
}

impl Impairment {
    /// Whether it does nothing.
    pub fn is_none(&self) -> bool {
        self.loss == 0.0
            && self.duplicate == 0.0
            && self.jitter == Duration::ZERO
            && self.reorder == 0.0
            && self.burst.is_none()
            && self.arq.is_none()
    }

    /// Whether packets may overtake each other.
    pub fn reorders(&self) -> bool {
        (self.jitter > Duration::ZERO && self.jitter_reorders)
            || (self.reorder > 0.0 && self.reorder_delay > Duration::ZERO)
            || self.arq.is_some_and(|arq| !arq.in_order)
    }

    /// The longest extra delay of a packet.
    pub fn longest_delay(&self) -> Duration {
        self.jitter + self.reorder_delay + self.arq.map_or(Duration::ZERO, |arq| arq.longest())
    }
}

//! Retransmissions of the link layer, by which a wireless link turns losses into delay.

use ndnweir_core::ctx::Rng;
use ndnweir_core::units::Duration;
use serde::{Deserialize, Serialize};

/// Automatic repeat request, in the manner of LTE's HARQ: a packet that an attempt loses is sent again a slot later, up
/// to a number of attempts; then it is lost.
///
/// Attempts do not use the link's rate, which is that without retransmissions. Values are the user's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct Arq {
    /// Attempts for a packet, the first included, at least 1.
    pub attempts: u32,
    /// From one attempt to the next.
    pub slot: Duration,
    /// Probability that one attempt loses the packet, in [0, 1].
    pub loss: f64,
    /// Whether later packets wait for one that is sent again, as in RLC's acknowledged mode.
    pub in_order: bool,
}

impl Arq {
    /// The longest delay it adds.
    pub fn longest(&self) -> Duration {
        self.slot * u64::from(self.attempts.saturating_sub(1))
    }

    /// The part of packets that all attempts lose.
    pub fn residual_loss(&self) -> f64 {
        libm::pow(self.loss, f64::from(self.attempts))
    }

    /// The delay it adds to one packet, and whether the packet is lost after it.
    pub(crate) fn draw(&self, rng: &mut Rng) -> (Duration, bool) {
        let lost = (0..self.attempts).take_while(|_| rng.unit() < self.loss).count() as u64;
        if lost == u64::from(self.attempts) { (self.longest(), true) } else { (self.slot * lost, false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Half of the attempts fail: delays of 0, 8, 16 ms for 1/2, 1/4, 1/8 of the packets, 1/8 lost.
    #[test]
    fn delays_are_geometric_and_what_no_attempt_brings_is_lost() {
        let arq = Arq { attempts: 3, slot: Duration::from_millis(8), loss: 0.5, in_order: true };
        assert_eq!((arq.longest(), arq.residual_loss()), (Duration::from_millis(16), 0.125));
        let mut counts = [0u32; 4];
        for number in 0..40_000 {
            match arq.draw(&mut Rng::derive(3, &[number])) {
                (_, true) => counts[3] += 1,
                (delay, false) => counts[(delay.nanos() / 8_000_000) as usize] += 1,
            }
        }
        for (count, part) in counts.into_iter().zip([0.5, 0.25, 0.125, 0.125]) {
            assert!((f64::from(count) / 40_000.0 - part).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn attempts_that_never_fail_add_nothing() {
        let arq = Arq { attempts: 1, slot: Duration::from_millis(8), loss: 0.0, in_order: false };
        assert_eq!(arq.draw(&mut Rng::derive(3, &[1])), (Duration::ZERO, false));
    }
}

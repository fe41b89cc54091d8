//! Losses that are not congestion: of a path that loses packets without a queue.
//!
//! After TCP Veno (Fu, Liew, IEEE JSAC 2003), which treats a loss as random while the round trip shows little backlog.
//! Ours: the bound on the backlog, that such a loss is not reacted to at all, and the bound on their share, beyond
//! which a path with hardly any buffer is suspected.

use crate::units::Duration;

/// Round trips up to this many times the least one count as free of queue.
const NO_QUEUE: f64 = 1.25;
/// Segments over which the share of losses is averaged. With 1 % of datagrams and six of them in a segment, 6.6 % of
/// segments are lost; over 512 segments that share deviates by √(p(1 − p)/1023) = 0.8 percent points, over 128 by 1.6,
/// which is beyond a tenth once in most transfers of some thousand segments.
const MEMORY: f64 = 512.0;

/// Distinguishes losses of a noisy path from those of a full queue.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Noise {
    tolerated: f64,
    least: Option<Duration>,
    latest: Duration,
    share: f64,
}

impl Noise {
    /// `tolerated`: the largest share of lost segments that may be noise; 0 treats every loss as congestion.
    pub fn new(tolerated: f64) -> Noise {
        Noise { tolerated, least: None, latest: Duration::ZERO, share: 0.0 }
    }

    /// A segment arrived, `rtt` after its only Interest if there was but one.
    pub fn on_data(&mut self, rtt: Option<Duration>) {
        self.share -= self.share / MEMORY;
        if let Some(rtt) = rtt {
            self.latest = rtt;
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// A segment was found lost; whether that is noise.
    pub fn on_loss(&mut self) -> bool {
        self.share += (1.0 - self.share) / MEMORY;
        let no_queue = self.least.is_some_and(|least| self.latest <= least.scale(NO_QUEUE));
        no_queue && self.share <= self.tolerated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `losses`, each after `gap` Data with round trips of `ms`, how many are noise; the least round trip is 20 ms.
    fn excused(tolerated: f64, losses: u32, gap: u32, ms: u64) -> u32 {
        let mut noise = Noise::new(tolerated);
        noise.on_data(Some(Duration::from_millis(20)));
        let mut one = || {
            (0..gap).for_each(|_| noise.on_data(Some(Duration::from_millis(ms))));
            u32::from(noise.on_loss())
        };
        (0..losses).map(|_| one()).sum()
    }

    #[test]
    fn losses_without_a_queue_are_noise_up_to_a_share() {
        assert_eq!(excused(0.1, 1000, 15, 24), 1000);
        // One in four: the average passes a tenth with the 65th loss, as 512 · ln(1 / (1 - 0.1 / 0.25)) = 262 segments.
        assert_eq!(excused(0.1, 1000, 3, 24), 65);
    }

    #[test]
    fn losses_under_a_queue_or_without_tolerance_are_congestion() {
        assert_eq!(excused(0.1, 1000, 15, 26), 0);
        assert_eq!(excused(0.0, 1000, 15, 20), 0);
    }

    #[test]
    fn before_a_round_trip_is_known_a_loss_is_congestion() {
        let mut noise = Noise::new(0.1);
        noise.on_data(None);
        assert!(!noise.on_loss());
    }
}

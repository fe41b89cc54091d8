//! Shares that swing move slower.
//!
//! What a share does to levels shows after the round trips and the means of several nodes, which this node cannot know.
//! Where that takes longer than shares assume, they swing for good between ways, and each overflows in turn: of 128 drawn
//! networks twelve lost packets for that. A swing that dies away is none of these, and need not be slower.

/// A share turns once it has gone back by so much, so that noise is no swing.
const TURN: f64 = 0.02;
/// A swing lasts if it is at least this part of the one before, in the other direction.
const LASTING: f64 = 0.6;
/// Shares are slower by this factor at most, as a logarithm: a tenth.
const SLOWEST: f64 = 2.3;
/// Reactions in which the logarithm falls to 1/e.
const FORGOTTEN: f64 = 80.0;

/// How the shares of a prefix have swung. All constants are ours, fitted on drawn networks.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Swings {
    /// Of each next hop, in their order.
    of_shares: Vec<Swing>,
    /// The logarithm of the factor by which shares are slower.
    slower: f64,
}

/// How one share moves.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Swing {
    is_rising: bool,
    /// Where it turned last, and the farthest that it came since.
    from: f64,
    farthest: f64,
    /// How far it went in the other direction before; 0 if it has not turned yet.
    before: f64,
}

impl Swings {
    /// The part of their speed that shares have.
    pub(super) fn speed(&self) -> f64 {
        libm::exp(-self.slower)
    }

    /// Shares moved, `reactions` after they did last; if a swing lasts, `damping` of the speed is kept.
    pub(super) fn moved(&mut self, shares: impl ExactSizeIterator<Item = f64>, reactions: f64, damping: f64) {
        if self.of_shares.len() != shares.len() {
            self.of_shares = shares.map(Swing::new).collect();
            return;
        }
        let mut lasts = false;
        for (swing, share) in self.of_shares.iter_mut().zip(shares) {
            lasts |= swing.moved(share);
        }
        self.slower *= libm::exp(-reactions / FORGOTTEN);
        if lasts {
            self.slower = (self.slower - libm::log(damping)).min(SLOWEST);
        }
    }
}

impl Swing {
    fn new(share: f64) -> Swing {
        Swing { is_rising: false, from: share, farthest: share, before: 0.0 }
    }

    /// Whether the share turned after a swing that lasts.
    fn moved(&mut self, share: f64) -> bool {
        let back = if self.is_rising { self.farthest - share } else { share - self.farthest };
        if back <= 0.0 {
            self.farthest = share;
        }
        if back <= TURN {
            return false;
        }
        let size = (self.farthest - self.from).abs();
        let lasts = self.before > 0.0 && size > LASTING * self.before;
        *self = Swing { is_rising: !self.is_rising, from: self.farthest, farthest: share, before: size };
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The speed after one share went to each of these in turn, 8 steps of an eighth of a reaction each.
    fn after(turns: &[f64]) -> Swings {
        let mut swings = Swings::default();
        let mut at = 0.5;
        for &next in turns {
            for step in 0..=8 {
                let share = at + (next - at) * f64::from(step) / 8.0;
                swings.moved([share, 1.0 - share].into_iter(), 0.125, 0.7);
            }
            at = next;
        }
        swings
    }

    #[test]
    fn a_share_that_goes_one_way_or_swings_less_and_less_keeps_its_speed() {
        assert_eq!(after(&[0.6, 0.9, 0.95, 0.99]).speed(), 1.0);
        assert_eq!(after(&[0.9, 0.7, 0.8, 0.75]).speed(), 1.0);
    }

    // The first swing has none before it; that from 0.7 to 0.3 is larger than it, and shows with the next turn.
    #[test]
    fn each_turn_after_a_swing_as_large_as_the_one_before_takes_three_tenths_of_the_speed() {
        assert_eq!(after(&[0.7, 0.3]).speed(), 1.0);
        assert!((after(&[0.7, 0.3, 0.7]).speed() - 0.7).abs() < 0.01);
        assert!((after(&[0.7, 0.3, 0.7, 0.3]).speed() - 0.49).abs() < 0.01);
        let many = [0.7, 0.3].repeat(20);
        assert!((after(&many).speed() - 0.1).abs() < 0.02, "a tenth is the least");
    }

    #[test]
    fn noise_is_no_swing() {
        assert_eq!(after(&[0.508, 0.492].repeat(20)).speed(), 1.0);
    }

    #[test]
    fn once_a_swing_has_ended_shares_become_as_fast_as_before() {
        let mut swings = after(&[0.7, 0.3].repeat(20));
        (0..400).for_each(|_| swings.moved([0.3, 0.7].into_iter(), 1.0, 0.7));
        assert!(swings.speed() > 0.98, "{}", swings.speed());
    }

    #[test]
    fn other_next_hops_begin_anew() {
        let mut swings = after(&[0.7, 0.3].repeat(4));
        swings.moved([0.4, 0.3, 0.3].into_iter(), 0.1, 0.7);
        assert_eq!(swings.of_shares.len(), 3);
        assert!(swings.of_shares.iter().all(|swing| swing.before == 0.0));
    }
}

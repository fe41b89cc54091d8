//! Losses that come in bursts: the model of Gilbert (1960) and Elliott (1963).

use serde::{Deserialize, Serialize};

/// A chain of two states that moves once per packet, after it: most packets pass in the good one, many are lost in the
/// bad one. It begins in the good one.
///
/// Gilbert, "Capacity of a burst-noise channel", BSTJ 39(5), 1960; Elliott, BSTJ 42(5), 1963. The names p, r, h and k
/// are theirs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ndnweir_state::Value)]
pub struct BurstLoss {
    /// p: probability that the bad state follows a packet in the good one, in [0, 1].
    pub to_bad: f64,
    /// r: probability that the good state follows a packet in the bad one, in [0, 1].
    pub to_good: f64,
    /// 1 − h: probability that a packet is lost in the bad state, in [0, 1].
    pub loss_bad: f64,
    /// 1 − k: the same in the good state; Gilbert's model has none there.
    pub loss_good: f64,
}

/// The state at a packet.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub(crate) struct BurstState {
    pub(crate) number: u32,
    pub(crate) bad: bool,
}

/// How far back the state is sought.
const MAX_HISTORY: u32 = 1 << 20;

impl BurstLoss {
    /// The part of packets lost in the long run: [p(1 − h) + r(1 − k)] / (p + r).
    pub fn mean(&self) -> f64 {
        let BurstLoss { to_bad, to_good, loss_bad, loss_good } = *self;
        let moves = to_bad + to_good;
        if moves > 0.0 { (to_bad * loss_bad + to_good * loss_good) / moves } else { loss_good }
    }

    /// The state after a packet with this draw, whatever it was before; none if that matters, and whether it turns then.
    ///
    /// One draw serves both states: low ones lead to the bad state, high ones to the good one.
    fn next(&self, draw: f64) -> Result<bool, bool> {
        let (low, high) = (self.to_bad, 1.0 - self.to_good);
        if draw < low.min(high) {
            Ok(true)
        } else if draw >= low.max(high) {
            Ok(false)
        } else {
            // In between both stay as they are, or both turn.
            Err(low > high)
        }
    }

    /// The state at packet `number`, given each packet's draw and the state at some packet known.
    ///
    /// It is a function of the draws alone, so that a packet which is taken back and sent again finds the same state.
    pub(crate) fn state(&self, number: u32, draw: impl Fn(u32) -> f64, known: BurstState) -> bool {
        if number == known.number {
            return known.bad;
        }
        let mut turned = false;
        for back in 1..=MAX_HISTORY.min(number) {
            let before = number - back;
            match self.next(draw(before)) {
                Ok(bad) => return bad != turned,
                Err(turns) => turned ^= turns,
            }
            if before == known.number {
                return known.bad != turned;
            }
        }
        // At the first packet, or in a state that has lasted for so long that it was the known one, too.
        if number <= MAX_HISTORY { turned } else { known.bad != turned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::ctx::Rng;

    fn draw(number: u32) -> f64 {
        Rng::derive(7, &[number.into()]).unit()
    }

    /// The chain as in the paper, from the first packet on, with the same draws.
    fn chain(model: BurstLoss, n: u32) -> Vec<bool> {
        let mut bad = false;
        let mut states = Vec::new();
        for number in 0..n {
            states.push(bad);
            let draw = draw(number);
            bad = if bad { draw < 1.0 - model.to_good } else { draw < model.to_bad };
        }
        states
    }

    #[test]
    fn the_state_found_by_looking_back_is_that_of_the_chain() {
        for (to_bad, to_good) in [(0.01, 0.2), (0.3, 0.7), (0.8, 0.9), (1.0, 1.0), (0.0, 0.5), (0.001, 0.0)] {
            let model = BurstLoss { to_bad, to_good, loss_bad: 1.0, loss_good: 0.0 };
            let states = chain(model, 3000);
            let mut known = BurstState { number: 0, bad: false };
            for number in 0..3000 {
                // Onwards from packet to packet, and from the first one.
                let bad = model.state(number, draw, known);
                assert_eq!(bad, states[number as usize], "packet {number} with p = {to_bad}, r = {to_good}");
                assert_eq!(bad, model.state(number, draw, BurstState { number: 0, bad: false }));
                known = BurstState { number, bad };
            }
            // Back again, as when packets are taken back.
            assert_eq!(model.state(1500, draw, known), states[1500]);
        }
    }

    // p = 0.02, r = 0.25, all lost when bad, 1 % when good: (0.02 + 0.0025) / 0.27 = 1/12; bursts of 1/r = 4 packets.
    #[test]
    fn the_mean_loss_and_the_length_of_bursts_are_those_of_the_closed_form() {
        let model = BurstLoss { to_bad: 0.02, to_good: 0.25, loss_bad: 1.0, loss_good: 0.01 };
        assert!((model.mean() - 1.0 / 12.0).abs() < 1e-12);
        let states = chain(model, 200_000);
        let bad = states.iter().filter(|bad| **bad).count() as f64;
        let bursts = states.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((bad / 200_000.0 - 0.02 / 0.27).abs() < 0.003, "{bad}");
        assert!((bad / bursts - 4.0).abs() < 0.2, "{}", bad / bursts);
    }

    #[test]
    fn a_chain_that_never_moves_loses_as_in_the_good_state() {
        let model = BurstLoss { to_bad: 0.0, to_good: 0.0, loss_bad: 1.0, loss_good: 0.25 };
        assert_eq!(model.mean(), 0.25);
    }
}

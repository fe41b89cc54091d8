//! A draw in proportion to weights.

use crate::ctx::Rng;

/// The index of one of `weights`, drawn in proportion to them; the first if all are zero, none if there are none. The
/// weights must be finite and not negative. Takes one random number, whatever the weights.
pub fn by_weight(rng: &mut Rng, weights: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let total: f64 = weights.clone().sum();
    let mut left = rng.unit() * total;
    let drawn = weights.clone().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a remainder after the last.
    drawn.or_else(|| weights.clone().next().map(|_| 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_drawn_in_proportion_and_a_zero_never() {
        let (mut rng, mut counts) = (Rng::derive(5, &[]), [0_u32; 3]);
        for _ in 0..40_000 {
            counts[by_weight(&mut rng, [3.0, 0.0, 1.0].into_iter()).unwrap()] += 1;
        }
        // Standard deviation √(40000 · 3/4 · 1/4) = 87.
        assert!(counts[0].abs_diff(30_000) < 400 && counts[1] == 0, "{counts:?}");
    }

    #[test]
    fn weights_that_are_all_zero_give_the_first_and_no_weights_nothing() {
        let mut rng = Rng::derive(5, &[]);
        assert_eq!(by_weight(&mut rng, [0.0, 0.0].into_iter()), Some(0));
        assert_eq!(by_weight(&mut rng, std::iter::empty()), None);
    }
}

//! Zipf's law: the popularity of the objects of a catalogue.

use ndnweir_core::ctx::Rng;

/// Ranks, from 0 for the most popular object: rank r has the weight 1/(r + 1)^exponent.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// `cumulative[r]` is the probability of rank `r` or lower.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// The law for a number of objects, at least one.
    pub fn new(objects: u32, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=objects.max(1))
            .map(|rank| {
                sum += libm::pow(f64::from(rank), -exponent);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|p| *p /= sum);
        Zipf { cumulative }
    }

    /// Draws a rank.
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        let u = rng.unit();
        self.cumulative.partition_point(|&p| p <= u).min(self.cumulative.len() - 1) as u32
    }
}

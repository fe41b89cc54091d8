//! Pseudorandom numbers that are alike everywhere.

/// A linear congruential generator (Knuth's MMIX), of which the high bits are taken.
pub(super) struct Draws(pub(super) u64);

impl Draws {
    /// A number of 31 bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    /// A number from zero to one.
    pub(super) fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }
}

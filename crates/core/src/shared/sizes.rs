//! An estimate of packet sizes.

use crate::units::Bytes;

/// The first sample replaces the initial value, later ones weigh 1/8.
///
/// Source: the shaper of HIS (its authors' ndnSIM branch) and HoBHIS' sizes of sent packets.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
pub struct SizeEstimate {
    bytes: f64,
    sampled: bool,
}

impl SizeEstimate {
    /// `initial` until the first sample.
    pub fn new(initial: Bytes) -> SizeEstimate {
        SizeEstimate { bytes: (initial.get() as f64).max(1.0), sampled: false }
    }

    /// One more packet; empty ones do not count.
    pub fn sample(&mut self, size: Bytes) {
        let size = size.get() as f64;
        if size > 0.0 {
            self.bytes = if self.sampled { self.bytes + (size - self.bytes) / 8.0 } else { size };
            self.sampled = true;
        }
    }

    /// In bytes, at least 1.
    pub fn bytes(&self) -> f64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_replaces_the_guess_and_later_ones_weigh_an_eighth() {
        let mut size = SizeEstimate::new(Bytes::new(1250));
        assert_eq!(size.bytes(), 1250.0);
        size.sample(Bytes::ZERO);
        size.sample(Bytes::new(1000));
        assert_eq!(size.bytes(), 1000.0);
        size.sample(Bytes::new(1080));
        assert_eq!(size.bytes(), 1010.0);
    }
}

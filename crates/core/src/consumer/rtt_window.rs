//! The last round-trip times, with their extremes: what ICP sets its timer by and RAAQM its probabilities.

use crate::error::SchemeError;
use crate::units::Duration;

/// The largest size of a window, in samples.
pub const MAX_SAMPLES: u32 = 1000;

/// A sliding window of round-trip times.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct RttWindow {
    samples: Vec<Duration>,
    size: usize,
    next: usize,
    extremes: Option<(Duration, Duration)>,
}

impl RttWindow {
    /// Holds the last `size` samples, at least 1.
    pub fn new(size: u32) -> RttWindow {
        let size = size.clamp(1, MAX_SAMPLES) as usize;
        RttWindow { samples: Vec::new(), size, next: 0, extremes: None }
    }

    /// Adds a sample; the oldest is removed if there are too many.
    pub fn push(&mut self, rtt: Duration) {
        let oldest = if self.is_full() {
            let oldest = std::mem::replace(&mut self.samples[self.next], rtt);
            self.next = (self.next + 1) % self.size;
            Some(oldest)
        } else {
            self.samples.push(rtt);
            None
        };
        self.extremes = match self.extremes {
            Some((least, most)) if oldest.is_none_or(|oldest| oldest != least && oldest != most) => {
                Some((least.min(rtt), most.max(rtt)))
            }
            _ => self.samples.iter().min().copied().zip(self.samples.iter().max().copied()),
        };
    }

    /// Whether it holds as many as it can.
    pub fn is_full(&self) -> bool {
        self.samples.len() == self.size
    }

    /// The shortest and the longest; none while empty.
    pub fn extremes(&self) -> Option<(Duration, Duration)> {
        self.extremes
    }
}

/// Checks a number of samples.
pub fn check_samples(name: &str, samples: u32) -> Result<(), SchemeError> {
    if (1..=MAX_SAMPLES).contains(&samples) {
        return Ok(());
    }
    Err(SchemeError::value(name, samples, "is out of range", format!("give a number from 1 to {MAX_SAMPLES}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extremes_are_those_of_the_last_samples_only() {
        let mut window = RttWindow::new(3);
        assert_eq!(window.extremes(), None);
        let mut push = |ms| {
            window.push(Duration::from_millis(ms));
            let (least, most) = window.extremes().unwrap();
            (least.millis(), most.millis(), window.is_full())
        };
        assert_eq!(push(20), (20.0, 20.0, false));
        assert_eq!(push(50), (20.0, 50.0, false));
        assert_eq!(push(30), (20.0, 50.0, true));
        assert_eq!(push(40), (30.0, 50.0, true));
        assert_eq!(push(40), (30.0, 40.0, true));
    }
}

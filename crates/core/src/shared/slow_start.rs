//! Slow start: the window grows by a step per Data until it meets a threshold.

/// A slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq, ndnweir_state::Value)]
pub struct SlowStart {
    threshold: f64,
}

impl SlowStart {
    /// Slow start up to `threshold`.
    pub fn new(threshold: f64) -> SlowStart {
        SlowStart { threshold }
    }

    /// Whether `window` still grows by slow start (RFC 5681 §3.1; ndnSIM, ndn-tools): window < threshold.
    pub fn applies(&self, window: f64) -> bool {
        window < self.threshold
    }

    /// What a Data adds to `window`: a segment in slow start, else 1/window (RFC 5681 §3.1, equations 2 and 3).
    pub fn step(&self, window: f64) -> f64 {
        if self.applies(window) { 1.0 } else { 1.0 / window }
    }

    /// As [`SlowStart::applies`], the threshold itself included (the PCON authors' 2016 consumer).
    pub fn applies_up_to(&self, window: f64) -> bool {
        window <= self.threshold
    }

    /// Ends slow start at `threshold` from now on.
    pub fn end_at(&mut self, threshold: f64) {
        self.threshold = threshold;
    }

    /// The threshold.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_itself_belongs_to_congestion_avoidance_unless_configured_otherwise() {
        let mut start = SlowStart::new(8.0);
        assert!(start.applies(7.9) && !start.applies(8.0));
        assert_eq!((start.step(7.9), start.step(8.0)), (1.0, 0.125));
        assert!(start.applies_up_to(8.0) && !start.applies_up_to(8.1));
        start.end_at(4.0);
        assert!(!start.applies(7.9));
        assert_eq!(start.threshold(), 4.0);
    }
}

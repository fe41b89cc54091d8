//! How busy a link is: bits over consecutive windows of time against a capacity.

use crate::units::{Bytes, Duration, Rate, Time};

/// Counts bits in windows that follow each other without gap; reports the last complete one.
///
/// Fed with what arrives, the ratio may exceed 1; fed with what was sent, it cannot.
#[derive(Clone, Copy, Debug)]
pub struct UtilisationMeter {
    window: Duration,
    start: Time,
    bits: u64,
    last: Option<u64>,
}

impl UtilisationMeter {
    /// A meter whose first window starts now; a window of zero counts as one nanosecond.
    pub fn new(now: Time, window: Duration) -> UtilisationMeter {
        UtilisationMeter { window: window.max(Duration::from_nanos(1)), start: now, bits: 0, last: None }
    }

    /// Counts a packet.
    pub fn count(&mut self, now: Time, size: Bytes) {
        self.roll(now);
        self.bits = self.bits.saturating_add(size.bits());
    }

    /// The last complete window's bits per second; none during the first window.
    pub fn rate(&mut self, now: Time) -> Option<Rate> {
        self.roll(now);
        self.last.map(|bits| Rate::from_mbps(bits as f64 / self.window.secs() / 1e6))
    }

    /// The last complete window's share of `capacity`; none during the first window. Zero capacity counts as full.
    pub fn utilisation(&mut self, now: Time, capacity: Rate) -> Option<f64> {
        self.roll(now);
        let possible = capacity.bps() as f64 * self.window.secs();
        self.last.map(|bits| if possible > 0.0 { bits as f64 / possible } else { 1.0 })
    }

    /// When the present window ends.
    pub fn window_end(&self) -> Time {
        self.start + self.window
    }

    fn roll(&mut self, now: Time) {
        let passed = now.since(self.start).nanos() / self.window.nanos();
        if passed == 0 {
            return;
        }
        self.last = Some(if passed == 1 { self.bits } else { 0 });
        self.bits = 0;
        self.start += self.window * passed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn only_complete_windows_are_reported() {
        let mut meter = UtilisationMeter::new(at(0), Duration::from_millis(100));
        let capacity = Rate::from_mbps(10.0);
        // 100 packets of 1000 B in 100 ms are 8 Mbit/s: 0.8 of 10 Mbit/s.
        for i in 0..100 {
            meter.count(at(i), Bytes::new(1000));
        }
        assert_eq!(meter.utilisation(at(99), capacity), None);
        assert_eq!(meter.utilisation(at(100), capacity), Some(0.8));
        assert_eq!(meter.rate(at(150)), Some(Rate::from_mbps(8.0)));
        meter.count(at(150), Bytes::new(1000));
        assert_eq!(meter.rate(at(200)), Some(Rate::from_bps(80_000)));
        assert_eq!(meter.window_end(), at(300));
    }

    #[test]
    fn an_idle_window_reports_nothing_sent() {
        let mut meter = UtilisationMeter::new(at(5), Duration::from_millis(10));
        meter.count(at(6), Bytes::new(10_000));
        assert_eq!(meter.utilisation(at(864_000_000), Rate::from_mbps(1.0)), Some(0.0));
        assert_eq!(meter.utilisation(at(864_000_000), Rate::ZERO), Some(1.0));
        assert_eq!(UtilisationMeter::new(at(0), Duration::ZERO).window_end(), Time::from_nanos(1));
    }
}

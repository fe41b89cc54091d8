//! Round-trip time and retransmission timeout, in the two generations that NDN consumers use.

use crate::consumer::{Estimator, Timer};
use crate::units::{Duration, to_u64};

/// Smooths round-trip times and derives the retransmission timeout (RTO).
///
/// k is [`Timer::deviations`]. The caller keeps Karn's rule: a segment requested more than once gives no sample.
///
/// * [`Estimator::Ndnsim`] (`RttMeanDeviation`, also the PCON authors'): the estimate starts at [`Timer::initial`] with
///   no deviation; RTO = min(max, m · max(min, srtt + k·var)) with a multiplier m that doubles per back-off up to
///   [`Timer::backoff_cap`] and returns to 1 on a sample.
/// * [`Estimator::NdnCxx`] (`RttEstimator`): gains are divided by half the Interests in flight (RFC 7323, appendix G)
///   and the deviation is updated before the mean; RTO = srtt + k·var within [min, max]; a back-off doubles it. As
///   there, estimates are whole nanoseconds, rounded down.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct RttEstimator {
    timer: Timer,
    /// The timer's bounds, in nanoseconds as are the others.
    min: f64,
    max: f64,
    srtt: f64,
    deviation: f64,
    sampled: bool,
    multiplier: u32,
    /// Of the ndn-cxx generation; the other derives it from the rest.
    rto: f64,
    /// [`RttEstimator::rto`] and [`RttEstimator::srtt`], which are read several times for each sample.
    timeout: Duration,
    smoothed: Duration,
}

const MEAN_GAIN: f64 = 0.125;
const DEVIATION_GAIN: f64 = 0.25;
/// The clock's granularity G of RFC 6298 §2.3, 1 ns: a path with constant round trips must not time out at the instant
/// its Data arrives.
const GRANULARITY: f64 = 1.0;

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(timer: Timer) -> RttEstimator {
        let initial = timer.initial.nanos() as f64;
        let (timeout, smoothed) = (Duration::ZERO, Duration::ZERO);
        let (srtt, rto) = (initial, initial);
        let (min, max) = (timer.min.nanos() as f64, timer.max.nanos() as f64);
        let estimator = RttEstimator {
            timer,
            min,
            max,
            srtt,
            deviation: 0.0,
            sampled: false,
            multiplier: 1,
            rto,
            timeout,
            smoothed,
        };
        RttEstimator { timeout: estimator.derive_timeout(), ..estimator }
    }

    /// Takes a sample. `in_flight`: Interests outstanding once this one is answered (ndn-cxx's gains depend on it).
    pub fn sample(&mut self, rtt: Duration, in_flight: u32) {
        let rtt = rtt.nanos() as f64;
        self.multiplier = 1;
        if !self.sampled {
            self.sampled = true;
            self.srtt = rtt;
            self.deviation = rtt / 2.0;
        } else {
            match self.timer.estimator {
                Estimator::Ndnsim => {
                    let error = rtt - self.srtt;
                    self.srtt += error * MEAN_GAIN;
                    self.deviation += (error.abs() - self.deviation) * DEVIATION_GAIN;
                }
                Estimator::NdnCxx => {
                    let expected = f64::from((in_flight.saturating_add(1) >> 1).max(1));
                    let (mean, deviation) = (MEAN_GAIN / expected, DEVIATION_GAIN / expected);
                    let error = (self.srtt - rtt).abs();
                    self.deviation = libm::trunc((1.0 - deviation) * self.deviation + deviation * error);
                    self.srtt = libm::trunc((1.0 - mean) * self.srtt + mean * rtt);
                }
            }
        }
        self.rto = self.bounded(self.estimate());
        self.timeout = self.derive_timeout();
        self.smoothed = Duration::from_nanos(to_u64(self.srtt));
    }

    /// Doubles the timeout, up to the timer's bounds: after a timed-out segment (ndnSIM) or loss event (ndn-cxx).
    pub fn back_off(&mut self) {
        let doubled = self.multiplier.saturating_mul(2);
        if self.timer.estimator == Estimator::NdnCxx && doubled <= self.timer.backoff_cap {
            self.rto = self.bounded(self.rto * 2.0);
        }
        self.multiplier = doubled.min(self.timer.backoff_cap);
        self.timeout = self.derive_timeout();
    }

    /// The timeout now.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.timeout
    }

    fn derive_timeout(&self) -> Duration {
        let ns = match self.timer.estimator {
            Estimator::Ndnsim => self.at_most(f64::from(self.multiplier) * self.at_least(self.estimate())),
            Estimator::NdnCxx => self.rto,
        };
        Duration::from_nanos(to_u64(ns))
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        self.smoothed
    }

    /// By how much round-trip times deviate from the smoothed one; zero before the first sample.
    pub fn deviation(&self) -> Duration {
        Duration::from_nanos(to_u64(self.deviation))
    }

    /// The back-off multiplier, 1 after a sample.
    pub fn multiplier(&self) -> u32 {
        self.multiplier
    }

    fn estimate(&self) -> f64 {
        let granularity = if self.sampled { GRANULARITY } else { 0.0 };
        self.srtt + (self.timer.deviations * self.deviation).max(granularity)
    }

    // Comparisons, as `f64::max` and `min` take more where neither side is known to be a number; not a number is the least.
    fn at_least(&self, ns: f64) -> f64 {
        if ns > self.min { ns } else { self.min }
    }

    fn at_most(&self, ns: f64) -> f64 {
        if ns < self.max { ns } else { self.max }
    }

    fn bounded(&self, ns: f64) -> f64 {
        self.at_most(self.at_least(ns))
    }
}

/// The smoothed round-trip time of one path of several, with the gain of RFC 6298; no timeout hangs on it.
#[derive(Clone, Copy, Debug, Default, ndnweir_state::Value)]
pub struct SmoothedRtt(Option<Duration>);

impl SmoothedRtt {
    /// Takes a sample.
    pub fn sample(&mut self, rtt: Duration) {
        let before = self.0.unwrap_or(rtt).secs();
        self.0 = Some(Duration::from_secs_f64(before + MEAN_GAIN * (rtt.secs() - before)));
    }

    /// None before the first sample.
    pub fn get(&self) -> Option<Duration> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn ndnsim_follows_the_hand_computed_trace() {
        let mut rtt = RttEstimator::new(Timer::default());
        assert_eq!((rtt.rto(), rtt.srtt()), (ms(1000), Duration::ZERO));
        // 100 ms: mean 100, deviation 50, timeout 100 + 4·50.
        rtt.sample(ms(100), 0);
        assert_eq!((rtt.srtt(), rtt.deviation(), rtt.rto()), (ms(100), ms(50), ms(300)));
        // 180 ms: error 80; mean 100 + 10, deviation 50 + (80 − 50)/4 = 57.5, timeout 340.
        rtt.sample(ms(180), 0);
        assert_eq!((rtt.srtt(), rtt.deviation(), rtt.rto()), (ms(110), Duration::from_micros(57_500), ms(340)));
        // 30 ms: error −80; mean 100, deviation 57.5 + 22.5/4 = 63.125, timeout 352.5.
        rtt.sample(ms(30), 0);
        assert_eq!(
            (rtt.srtt(), rtt.deviation(), rtt.rto()),
            (ms(100), Duration::from_micros(63_125), Duration::from_micros(352_500))
        );
    }

    #[test]
    fn ndnsim_multiplies_the_bounded_estimate_and_resets_on_a_sample() {
        let mut rtt = RttEstimator::new(Timer { backoff_cap: 6, ..Timer::default() });
        for _ in 0..30 {
            rtt.sample(ms(10), 0);
        }
        assert_eq!(rtt.rto(), ms(200));
        let timeouts: Vec<_> = (0..4)
            .map(|_| {
                rtt.back_off();
                rtt.rto()
            })
            .collect();
        assert_eq!(timeouts, [ms(400), ms(800), ms(1200), ms(1200)]);
        rtt.sample(ms(10), 0);
        assert_eq!(rtt.rto(), ms(200));
        let mut late = RttEstimator::new(Timer { initial: ms(90_000), ..Timer::default() });
        for _ in 0..4 {
            late.back_off();
        }
        assert_eq!(late.rto(), ms(200_000));
    }

    #[test]
    fn ndn_cxx_divides_its_gains_by_half_the_interests_in_flight() {
        let mut rtt = RttEstimator::new(Timer::ndn_cxx());
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(ms(100), 9);
        assert_eq!((rtt.srtt(), rtt.deviation(), rtt.rto()), (ms(100), ms(50), ms(300)));
        // Five samples per round trip: gains 0.025 and 0.05. Deviation 0.95·50 + 0.05·80 = 51.5, mean 102, timeout 308.
        rtt.sample(ms(180), 9);
        assert_eq!((rtt.srtt(), rtt.deviation(), rtt.rto()), (ms(102), Duration::from_micros(51_500), ms(308)));
        // One: gains 1/8 and 1/4. Deviation 0.75·51.5 + 0.25·22 = 44.125, mean 99.25, timeout 275.75.
        rtt.sample(ms(80), 1);
        assert_eq!(
            (rtt.srtt(), rtt.deviation(), rtt.rto()),
            (Duration::from_micros(99_250), Duration::from_micros(44_125), Duration::from_micros(275_750))
        );
    }

    #[test]
    fn ndn_cxx_doubles_the_timeout_itself_up_to_its_maximum() {
        let mut rtt = RttEstimator::new(Timer::ndn_cxx());
        rtt.sample(ms(100), 0);
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(600));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), ms(60_000));
        rtt.sample(ms(100), 0);
        assert_eq!(rtt.rto(), Duration::from_micros(250_000));
    }

    #[test]
    fn the_timeout_stays_above_a_round_trip_that_never_varies() {
        for timer in [Timer::default(), Timer::ndn_cxx()] {
            let mut rtt = RttEstimator::new(timer);
            for _ in 0..1000 {
                rtt.sample(ms(300), 10);
            }
            assert!(rtt.rto() > ms(300) && rtt.rto() < ms(301), "{:?}", rtt.rto());
        }
    }

    #[test]
    fn absurd_samples_stay_within_the_bounds() {
        for timer in [Timer::default(), Timer::ndn_cxx()] {
            let mut rtt = RttEstimator::new(timer);
            for sample in [Duration::ZERO, Duration::MAX, Duration::from_nanos(1), Duration::MAX] {
                rtt.sample(sample, u32::MAX);
                assert!((timer.min..=timer.max).contains(&rtt.rto()), "{:?}", rtt.rto());
            }
        }
    }
}

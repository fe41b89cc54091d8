//! Packet pairs: the bandwidth of a hop's bottleneck from Data that entered it back to back.
//!
//! Source: the remedy that Ye, Lee, Qiao 2020 name for their first limitation (section V): with w known, the queue
//! follows from the delay, q = d·w (equation 5). The estimator is ours: passive, since windows that grow send pairs
//! anyway; the median of the last samples, since cross traffic between a pair lowers one and queues behind the
//! bottleneck raise another.

use crate::units::{Bytes, Duration, Rate, Time, to_u64};

/// Samples the median is taken of.
const SAMPLES: usize = 15;
/// Samples before there is an estimate.
const MIN_SAMPLES: usize = 3;

/// Estimates the bandwidth of one hop.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct PacketPair {
    last: Option<(Time, Time)>,
    samples: [f64; SAMPLES],
    taken: usize,
    next: usize,
    median: Option<Rate>,
}

impl PacketPair {
    /// A Data of `size` arrived at `now`; at `joined` (on this node's clock) it was at the far end of the hop.
    pub fn observe(&mut self, joined: Time, now: Time, size: Bytes) {
        let Some((last_joined, last_arrived)) = self.last.replace((joined, now)) else { return };
        let gap = now.since(last_arrived);
        // A pair that was not (nearly) together at the far end is spaced by its senders, not by the bottleneck.
        if joined < last_joined || gap == Duration::ZERO || joined.since(last_joined) * 2 > gap {
            return;
        }
        self.samples[self.next] = size.bits() as f64 / gap.secs();
        self.next = (self.next + 1) % SAMPLES;
        self.taken = (self.taken + 1).min(SAMPLES);
        if self.taken >= MIN_SAMPLES {
            let mut sorted = self.samples;
            let sorted = &mut sorted[..self.taken];
            sorted.sort_unstable_by(f64::total_cmp);
            self.median = Some(Rate::from_mbps(sorted[self.taken / 2] / 1e6));
        }
    }

    /// The next Data forms no pair with the last one, because one between them was not measured.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// w of equation (5); none before enough pairs were seen.
    pub fn bandwidth(&self) -> Option<Rate> {
        self.median
    }

    /// Equation (5): what is queued at the bottleneck when it delays by `delay`.
    pub fn queue(&self, delay: Duration) -> Option<Bytes> {
        self.median.map(|rate| Bytes::new(to_u64(delay.secs() * rate.bps() as f64 / 8.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    // 1250 B = 10⁴ bit; 1 ms apart: 10 Mbit/s. 5 ms of queue at 10 Mbit/s: 50 000 bit = 6250 B.
    #[test]
    fn pairs_one_millisecond_apart_with_1250_bytes_say_10_mbps_and_5_ms_of_delay_6250_bytes() {
        let mut pair = PacketPair::default();
        for i in 0..3 {
            pair.observe(at(i * 50_000), at(i * 50_000 + 10_000), Bytes::new(1250));
            assert_eq!(pair.queue(Duration::from_millis(5)), None);
            pair.observe(at(i * 50_000), at(i * 50_000 + 11_000), Bytes::new(1250));
        }
        assert_eq!(pair.bandwidth(), Some(Rate::from_mbps(10.0)));
        assert_eq!(pair.queue(Duration::from_millis(5)), Some(Bytes::new(6250)));
    }

    #[test]
    fn data_that_were_apart_at_the_far_end_are_not_a_pair() {
        let mut pair = PacketPair::default();
        for i in 0..100 {
            pair.observe(at(i * 1000), at(i * 1000 + 10_000), Bytes::new(1250));
        }
        assert_eq!(pair.bandwidth(), None);
    }

    #[test]
    fn an_interrupted_pair_gives_no_sample_and_outliers_do_not_move_the_median() {
        let mut pair = PacketPair::default();
        for (i, gap) in [1000, 1000, 10, 1000, 90_000, 1000, 1000].into_iter().enumerate() {
            let start = i as u64 * 1_000_000;
            pair.interrupt();
            pair.observe(at(start), at(start + 10_000), Bytes::new(1250));
            pair.observe(at(start), at(start + 10_000 + gap), Bytes::new(1250));
        }
        assert_eq!(pair.taken, 7);
        assert_eq!(pair.bandwidth(), Some(Rate::from_mbps(10.0)));
    }
}

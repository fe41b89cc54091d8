//! What is sent at once, and the room that windows have for it.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.2 and §4.2.3.2; in whole segments Linux's
//! `bbr_tso_segs_goal`, `bbr_quantization_budget` and `bbr_packets_in_net_at_edt` (`net/ipv4/tcp_bbr.c`, version 6).

/// Below this rate one segment leaves at once, in bit/s.
const LOW_RATE: f64 = 1.2e6;
/// The draft: below this rate two segments.
const MIDDLE_RATE: f64 = 24e6;
/// The most that leaves at once, in bytes.
const MOST: f64 = 65_536.0;

/// What it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// In segments per second.
    pub(super) pace: f64,
    /// Bytes of a segment.
    pub(super) size: f64,
    /// As Linux counts.
    pub(super) whole: bool,
}

impl Room {
    /// Segments that are sent at once: one or two at low rates, then those of 1 ms, with Linux of 1/1024 s, up to 64
    /// KiB.
    fn quantum(self) -> f64 {
        let bps = self.pace * self.size * 8.0;
        let least = if bps < LOW_RATE { 1.0 } else { 2.0 };
        if self.whole {
            return libm::floor((self.pace / 1024.0).min(MOST / self.size)).max(least);
        }
        if bps < MIDDLE_RATE { least } else { (self.pace * 1e-3).min(MOST / self.size).max(1.0) }
    }

    /// `product` segments and `extra` ones with room for three times what is sent at once; `probes` while more is sent
    /// than arrives.
    pub(super) fn target(self, product: f64, extra: f64, probes: bool) -> f64 {
        let room = extra + 3.0 * self.quantum();
        if !self.whole {
            return product + room;
        }
        let even = 2.0 * libm::ceil((libm::ceil(product) + room) / 2.0);
        even + if probes { 2.0 } else { 0.0 }
    }

    /// Of `in_flight` segments what is left as the next ones leave, until when `arrives` segments arrive; those that
    /// leave count where it `grows`. The draft looks at what is in flight now.
    pub(super) fn in_flight(self, in_flight: u32, arrives: f64, grows: bool) -> f64 {
        if !self.whole {
            return in_flight.into();
        }
        let leaves = if grows { self.quantum() } else { 0.0 };
        (f64::from(in_flight) + leaves - libm::floor(arrives)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(pace: f64, whole: bool) -> Room {
        Room { pace, size: 1500.0, whole }
    }

    // Segments of 12,000 bit: 1.188 Mbit/s are 99 a second. At 8,250 a second 8.25 leave in 1 ms and 8.06 in 1/1024 s;
    // 65,536 B are 43.7.
    #[test]
    fn sent_at_once_are_one_segment_two_or_those_of_a_millisecond() {
        let quanta = |pace| [false, true].map(|whole| room(pace, whole).quantum());
        assert_eq!(quanta(99.0), [1.0, 1.0]);
        assert_eq!(quanta(101.0), [2.0, 2.0]);
        assert_eq!(quanta(1_650.0), [2.0, 2.0]);
        assert_eq!(quanta(8_250.0), [8.25, 8.0]);
        assert_eq!(quanta(1e6), [65_536.0 / 1500.0, 43.0]);
    }

    // 66.67 segments and three times two: 72.67, or 67 + 6 = 73, of which Linux makes 74, and 76 as it probes; with one
    // more 74 stay.
    #[test]
    fn linux_rounds_to_an_even_number_of_segments_and_gives_two_more_to_probe() {
        let product = 200.0 / 3.0;
        assert!((room(1_650.0, false).target(product, 0.0, true) - 72.667).abs() < 1e-3);
        let target = |extra, probes| room(1_650.0, true).target(product, extra, probes);
        assert_eq!([target(0.0, false), target(1.0, false), target(2.0, false)], [74.0, 74.0, 76.0]);
        assert_eq!(target(0.0, true), 76.0);
    }

    // 1.6 segments arrive before the next two leave: one for certain.
    #[test]
    fn linux_counts_what_is_in_flight_as_the_next_segments_leave() {
        let counted = |whole, arrives, grows| room(1_650.0, whole).in_flight(80, arrives, grows);
        assert_eq!(
            [counted(true, 1.6, false), counted(true, 1.6, true), counted(false, 1.6, true)],
            [79.0, 81.0, 80.0]
        );
        assert_eq!(counted(true, 90.0, false), 0.0);
    }
}
